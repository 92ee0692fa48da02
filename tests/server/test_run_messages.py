"""proto/runlog.proto mirrors the model, the generated code mirrors it, and runs come back as they went."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from hypothesis import given
from hypothesis import strategies as st

from otel_runlog.model import (
    AgentUsage,
    Attributes,
    Content,
    Cost,
    CostStatus,
    RunLog,
    RunStatus,
    Step,
    StepKind,
    StepStatus,
    Usage,
    UsageSource,
)
from otel_runlog.server.messages import ENUMS, STRUCTS, message_of, run_of
from otel_runlog.server.pb.runlog.v1 import runlog_pb2 as pb

PROTO = Path(__file__).parents[2] / "proto"

WORDS = st.text(max_size=5)
COUNTS = st.none() | st.integers(0, 2**63 - 1)
NUMBERS = st.integers(0, 1000)
USD = st.none() | st.decimals(0, 10**6, places=12)
TEXTS = st.lists(WORDS, max_size=2).map(tuple)
TIMES = st.none() | st.integers(0, 2**52).map(lambda us: dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(0, 0, us))
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | WORDS | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
ATTRIBUTES: st.SearchStrategy[Attributes] = st.dictionaries(WORDS, VALUES, max_size=3)
USAGES = st.builds(Usage, *[COUNTS] * 7)
COSTS = st.builds(
    Cost,
    usd=USD,
    status=st.sampled_from(CostStatus),
    table=st.none() | WORDS,
    version=st.none() | WORDS,
    reported_usd=USD,
    estimated_usd=USD,
)
AGENTS = st.builds(
    AgentUsage,
    agent=WORDS,
    parent_agent=st.none() | WORDS,
    depth=NUMBERS,
    calls=NUMBERS,
    own=USAGES,
    own_cost_usd=USD,
    inclusive=USAGES,
    inclusive_cost_usd=USD,
)
OF_FIELD = {
    "step_index": NUMBERS,
    "started_ns": COUNTS,
    "ended_ns": COUNTS,
    "call_index": COUNTS,
    "fork_at": COUNTS,
    "time_to_first_token_ms": st.none() | st.floats(allow_nan=False),
    "streaming": st.none() | st.booleans(),
    "counted": st.booleans(),
    "complete": st.booleans(),
    "usage": USAGES,
    "tokens": USAGES,
    "cost": COSTS,
    "cost_estimate": st.none() | COSTS,
    "params": ATTRIBUTES,
    "attributes": ATTRIBUTES,
    "labels": st.dictionaries(WORDS, WORDS, max_size=2),
    "started_at": TIMES,
    "finished_at": TIMES,
    "agents": st.lists(AGENTS, max_size=2).map(tuple),
    "kind": st.sampled_from(StepKind),
    "usage_source": st.sampled_from(UsageSource),
    "content": st.sampled_from(Content),
}


def strategy(kind: type[msgspec.Struct], **given_: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Every field of a struct: by its name, else as its default tells."""
    known = OF_FIELD | given_
    by_type = {int: NUMBERS, tuple: TEXTS, str: WORDS}
    fields = msgspec.structs.fields(kind)
    by_default = {f.name: WORDS if f.required else by_type.get(type(f.default), st.none() | WORDS) for f in fields}
    return st.builds(kind, **{name: known.get(name, other) for name, other in by_default.items()})


STEPS = strategy(Step, status=st.sampled_from(StepStatus))
RUNS = strategy(RunLog, status=st.sampled_from(RunStatus), steps=st.lists(STEPS, max_size=2).map(tuple))


@given(RUNS)
def test_a_run_comes_back_from_its_message_as_it_went(run: RunLog) -> None:
    wire = message_of(run).SerializeToString()
    assert run_of(pb.RunLog.FromString(wire)) == run


def test_money_and_times_are_what_other_languages_read() -> None:
    at = dt.datetime(2026, 11, 29, 12, 0, 0, 250_000, tzinfo=dt.UTC)
    cost = Cost(Decimal("0.000000000001"), CostStatus.ESTIMATED)
    message = message_of(RunLog("r1", started_at=at, status=RunStatus.CANCELLED, cost_estimate=cost))
    assert message.started_at.ToJsonString() == "2026-11-29T12:00:00.250Z"
    assert message.cost_estimate.usd == "0.000000000001"
    assert message.status == pb.RUN_STATUS_CANCELLED
    assert not message.HasField("agent")
    assert not message.cost_estimate.HasField("reported_usd")


@pytest.mark.parametrize("name", STRUCTS)
def test_every_field_of_the_model_is_a_field_of_its_message(name: str) -> None:
    fields = [field.name for field in pb.DESCRIPTOR.message_types_by_name[name].fields]
    assert sorted(fields) == sorted(STRUCTS[name].__struct_fields__)


@pytest.mark.parametrize("name", ENUMS)
def test_every_member_of_an_enum_has_a_number(name: str) -> None:
    members = list(pb.DESCRIPTOR.enum_types_by_name[name].values_by_name)
    prefix = members[0].removesuffix("UNSPECIFIED")
    assert members[1:] == [prefix + member.upper() for member in ENUMS[name]]


def forget_json_names(message: DescriptorProto) -> None:
    """Newer compilers write them out, though they follow from the fields' names."""
    for field in message.field:
        field.ClearField("json_name")
    for nested in message.nested_type:
        forget_json_names(nested)


def test_the_generated_code_is_that_of_the_proto_file(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools", reason="grpcio-tools is not here (extra `test`)")
    out = tmp_path / "set.binpb"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--descriptor_set_out={out}"]
    subprocess.run([*command, "runlog/v1/runlog.proto"], check=True)
    (made,) = FileDescriptorSet.FromString(out.read_bytes()).file
    for message in made.message_type:
        forget_json_names(message)
    checked_in = FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(checked_in)
    assert made == checked_in
