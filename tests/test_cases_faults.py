"""Public bug reports on delivery, odd bytes, forks and shared files, with right answers: by file and in process."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from click.testing import CliRunner
from opentelemetry.sdk.trace import TracerProvider
from test_file_ingest import line
from test_loader import PRICES, books
from test_whole import AGENT, agent, facts

from otel_runlog.cli.main import main
from otel_runlog.loader import Loader
from otel_runlog.model import Span
from otel_runlog.otlp.export import encode_spans
from otel_runlog.processor import RunLogSpanProcessor
from otel_runlog.store.reader import StoreReader
from otel_runlog.testing import TraceBuilder

MIB = 1 << 20


class Store:
    """A store that files are ingested into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = folder / "runs.duckdb"

    def ingest(self, name: str, content: bytes | str) -> list[str]:
        """Ingest a file of that name; returns the reasons for what could not be read. The books must balance."""
        file = self.folder / name
        file.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        report = Loader(self.db, prices=PRICES).ingest([file])
        self.check()
        return [bad.reason for bad in report.bad]

    def check(self) -> dict[str, int]:
        """The books, which balance: what was rejected is counted in them by reason. There are none of no spans."""
        if not self.rows("SELECT 1 FROM books"):
            return {}
        kept = books(self.db)
        rejected, dropped = (sum(json.loads(str(kept[k])).values()) for k in ("rejected", "dropped"))
        known = [int(str(kept[k])) for k in ("stored", "duplicate", "conflict", "superseded")]
        assert kept["received"] == sum(known) + rejected + dropped
        return {"stored": known[0], "duplicate": known[1], "conflict": known[2], "rejected": rejected}

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """The answer to a query."""
        with StoreReader(self.db) as reader:
            return reader.query(sql).rows

    def cli(self, *arguments: str) -> str:
        """What a command prints."""
        done = CliRunner().invoke(main, [*arguments, "--db", str(self.db)])
        assert done.exit_code == 0, done.output
        return done.stdout


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def calls(number: int, *, parent: str | None = None, **attributes: Any) -> list[Span]:
    t = TraceBuilder()
    for _ in range(number):
        t.chat("gpt-4o-mini", attributes, parent=parent, input_tokens=100, output_tokens=10)
    return t.spans


# -- the same batch twice, and a fuller second copy (collector#11056, ccusage#901) ---------------------


@pytest.mark.fault(19)
def test_a_batch_counts_once_in_whatever_form_it_comes_again(store: Store) -> None:
    spans = calls(3)
    body = encode_spans(spans)
    for name, content in (
        ("a.binpb", body),
        ("again.binpb.gz", gzip.compress(body)),
        ("as_json.jsonl", line(spans)),
        ("twice.jsonl", line(spans) * 2),
    ):
        assert store.ingest(name, content) == []
        assert store.rows("SELECT sum(input_tokens), sum(output_tokens), sum(step_count) FROM runs") == [(300, 30, 3)]
    assert store.check() == {"stored": 3, "duplicate": 12, "conflict": 0, "rejected": 0}


@pytest.mark.fault(20)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_fuller_copy_of_a_span_wins_in_either_order(store: Store, reverse: bool) -> None:
    [first] = calls(1)
    full = {"gen_ai.usage.output_tokens": 159, "gen_ai.response.finish_reasons": ["tool_use"]}
    second = msgspec.structs.replace(first, ended_ns=(first.ended_ns or 0) + 1, attributes=first.attributes | full)
    for number, span in enumerate([second, first] if reverse else [first, second]):
        assert store.ingest(f"{number}.binpb", encode_spans([span])) == []
    assert store.rows("SELECT output_tokens, finish_reason FROM llm_calls") == [(159, "tool_use")]
    assert store.rows("SELECT sum(output_tokens), sum(llm_calls) FROM runs") == [(159, 1)]
    assert store.check() == {"stored": 1, "duplicate": 0, "conflict": 1, "rejected": 0}
    assert store.rows("SELECT count(*) FROM spans") == [(2,)]


@pytest.mark.fault(19, 51)
def test_two_processes_that_ingest_one_file_at_once_count_it_once(store: Store) -> None:
    file = store.folder / "a.binpb"
    file.write_bytes(encode_spans(calls(5)))
    command = [sys.executable, "-m", "otel_runlog", "ingest", str(file), "--db", str(store.db)]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    assert store.rows("SELECT sum(input_tokens), sum(llm_calls) FROM runs") == [(500, 5)]
    assert store.check()["stored"] == 5


# -- the root never exported, a remote parent, a killed agent (langwatch#6250, phoenix#2069) -----------


@pytest.mark.fault(3, 21)
def test_missing_roots_remote_parents_and_ends_that_are_0(store: Store) -> None:
    nowhere = "00000000000000aa"
    remote, killed = TraceBuilder("remote"), TraceBuilder("killed")
    remote.agent("b", parent=nowhere).flags = 0x300
    killed.agent("c").ended_ns = None
    spans = [*calls(3, parent=nowhere, **{"session.id": "s1"}), *remote.spans, *killed.spans]
    assert store.ingest("a.jsonl", line(spans).replace('"None"', '"0"')) == []
    found = store.rows(
        "SELECT agent, status, complete, input_tokens, session_id, finished_at IS NULL FROM runs ORDER BY agent"
    )
    assert sorted(found, key=str) == sorted(
        [
            ("b", "completed", True, None, None, False),
            ("c", "incomplete", False, None, None, True),
            (None, "incomplete", False, 300, "s1", False),
        ],
        key=str,
    )
    last = max(s.ended_ns or 0 for s in spans[:3])
    assert store.rows("SELECT epoch_ns(finished_at) FROM runs WHERE session_id = 's1'") == [(last,)]


# -- OTLP/JSON edges (collector#8720, Logflare#3683) ---------------------------------------------------


def edged(change: dict[str, object] | None = None, **more: object) -> str:
    """A JSON body of one call, some fields of the span changed, and fields of the request added."""
    request = json.loads(line(calls(1)))
    request["resourceSpans"][0]["scopeSpans"][0]["spans"][0].update(change or {})
    return json.dumps(request | more)


def upper() -> str:
    [span] = calls(1)
    return edged({"traceId": span.trace_id.upper(), "spanId": span.span_id.upper()})


@pytest.mark.parametrize(
    "body",
    [
        edged(),
        upper(),
        edged({"startTimeUnixNano": calls(1)[0].started_ns, "endTimeUnixNano": calls(1)[0].ended_ns}),
        edged({"kind": "SPAN_KIND_CLIENT"}),
        edged({"kind": 3, "aFieldOfTomorrow": {"deep": [1]}}, another="one"),
        "\ufeff" + edged(),
        gzip.compress(edged().encode()),
    ],
    ids=["lower", "upper", "numbers", "kind by name", "unknown fields", "byte order mark", "gzip"],
)
def test_a_span_is_the_same_in_every_spelling(store: Store, body: str | bytes) -> None:
    store.ingest("proto.binpb", encode_spans(calls(1)))
    assert store.ingest("a.json", body) == []
    assert store.rows("SELECT length(trace_id), length(span_id), kind FROM spans") == [(32, 16, "client")]
    assert store.check() == {"stored": 1, "duplicate": 1, "conflict": 0, "rejected": 0}


def test_an_empty_request_is_fine(store: Store) -> None:
    assert store.ingest("a.json", '{"resourceSpans": []}') == []
    assert store.ingest("b.binpb", encode_spans(calls(1))) == []
    assert store.check()["stored"] == 1


@pytest.mark.fault(22)
@pytest.mark.parametrize(
    "bad",
    [
        {"traceId": base64.b64encode(bytes(range(18))).decode()},
        {"spanId": "0" * 16},
        {"traceId": "0" * 32},
        {"spanId": "abc"},
        {"spanId": "zz" * 8},
        {"traceId": ""},
    ],
    ids=["base64", "zero span id", "zero trace id", "odd", "no hex", "empty"],
)
def test_of_three_spans_the_one_with_a_bad_id_is_rejected_and_two_are_stored(store: Store, bad: dict[str, str]) -> None:
    request = json.loads(line(calls(3)))
    request["resourceSpans"][0]["scopeSpans"][0]["spans"][1].update(bad)
    [reason] = store.ingest("a.json", json.dumps(request))
    assert "1" in reason
    assert store.check() == {"stored": 2, "duplicate": 0, "conflict": 0, "rejected": 1}
    assert store.rows("SELECT DISTINCT length(trace_id), length(span_id) FROM spans") == [(32, 16)]


# -- lone surrogates, NUL, bytes that are no UTF-8 (mlflow#24123, langwatch#6078) ------------------------


def readable_everywhere(store: Store, spans: int) -> None:
    """Every span comes out as JSON, CSV and Parquet, and can be asked for."""
    query = "SELECT name, attributes FROM spans ORDER BY started_ns"
    assert len(json.loads(store.cli("sql", query, "--format", "json"))) == spans
    assert len(list(csv.reader(io.StringIO(store.cli("sql", query, "--format", "csv"))))) == spans + 1
    parquet = store.folder / "out.parquet"
    with duckdb.connect(str(store.db), read_only=True) as duck:
        duck.execute(f"COPY ({query}) TO '{parquet}' (FORMAT parquet)")
        assert duck.execute(f"SELECT count(*) FROM '{parquet}'").fetchall() == [(spans,)]


@pytest.mark.fault(23)
def test_code_points_that_are_none_cost_no_span(store: Store) -> None:
    spans = calls(3)
    spans[1].attributes |= {"x": "SURROGATE", "SURROGATE": 1, "nul": "a\x00b"}
    body = (
        line(spans).replace("SURROGATE", "\\ud83e").replace('{"stringValue": "\\ud83e"}', '{"stringValue": "a\\ud83e"}')
    )
    assert store.ingest("a.json", body) == []
    assert store.rows("SELECT attributes ->> 'x' FROM spans WHERE attributes ->> 'x' IS NOT NULL") == [("a\ufffd",)]
    assert store.rows("SELECT sum(llm_calls) FROM runs") == [(3,)]
    readable_everywhere(store, 3)


@pytest.mark.fault(23)
def test_a_byte_that_is_no_utf_8_in_protobuf_costs_no_span(store: Store) -> None:
    spans = calls(3)
    spans[1].attributes |= {"x": "MARK"}
    assert store.ingest("a.binpb", encode_spans(spans).replace(b"MARK", b"M\xffRK")) == []
    assert store.rows("SELECT attributes ->> 'x' FROM spans WHERE attributes ->> 'x' IS NOT NULL") == [("M\ufffdRK",)]
    readable_everywhere(store, 3)


@pytest.mark.fault(23)
def test_code_points_that_are_none_cost_no_span_in_process(store: Store) -> None:
    provider = TracerProvider()
    processor = RunLogSpanProcessor(store.db, loader="off")
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("t")
    for value in ("plain", "a\ud83e", "a\x00b"):
        with tracer.start_as_current_span("chat m", attributes={"gen_ai.operation.name": "chat"}) as span:
            span.set_attribute("x", value)
            span.set_attribute("key \ud83e", 1)
    provider.shutdown()
    assert Loader(store.db, prices=PRICES).turn().spans == 6
    assert store.check()["stored"] == 3
    assert store.rows("SELECT sum(llm_calls) FROM runs") == [(3,)]
    assert {row[0] for row in store.rows("SELECT attributes ->> 'x' FROM spans")} >= {"plain", "a\ufffd"}
    readable_everywhere(store, 3)


# -- fork, exit, kill (opentelemetry-python#4215, azure-sdk#46154) -----------------------------------------

LEAVE = {
    "returns": "pass",
    "os._exit": "processor.force_flush(); os._exit(0)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
}


@pytest.mark.fault(1, 4, 5)
@pytest.mark.parametrize("leave", list(LEAVE))
def test_forked_children_leave_five_runs_each_however_they_leave(tmp_path: Path, leave: str) -> None:
    agent(
        tmp_path,
        f"""
        run(1)
        children = []
        for _ in range(2):
            if (pid := os.fork()) == 0:
                for _ in range(5):
                    run(1)
                {LEAVE[leave]}
                sys.exit(0)
            children.append(pid)
        for pid in children:
            os.waitpid(pid, 0)
        run(1)
        """,
    )
    assert facts(tmp_path) == {"runs": 12, "completed": 12, "running": 0, "calls": 12, "input_tokens": 120}


@pytest.mark.fault(4)
def test_a_script_without_shutdown_keeps_its_run(tmp_path: Path) -> None:
    script = textwrap.dedent(AGENT) + "\nrun(3)\n"
    db = tmp_path / "runs.duckdb"
    subprocess.run([sys.executable, "-c", script, str(db)], check=True, timeout=60)
    assert facts(tmp_path)["runs"] == 1


# -- a reader and a second writer while the store is in use (duckdb#13079, tradeblocks#446) -----------------


@pytest.mark.fault(51)
def test_readers_and_a_second_agent_beside_a_living_one_that_is_then_killed(tmp_path: Path) -> None:
    script = tmp_path / "for_ever.py"
    script.write_text(textwrap.dedent(AGENT) + "\nwhile True:\n    run(2)\n    time.sleep(0.05)\n")
    db = tmp_path / "runs.duckdb"
    first = subprocess.Popen([sys.executable, str(script), str(db)])
    try:
        agent(tmp_path, "for _ in range(10):\n    run(3)\n    time.sleep(0.02)\nassert processor.force_flush(10_000)")
        seen = [_count(db) for _ in range(2)]
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    assert 10 <= seen[0] <= seen[1]
    told = facts(tmp_path)
    assert told["completed"] >= seen[1]
    assert told["input_tokens"] == 10 * told["calls"]


def _count(db: Path) -> int:
    """What `sql` says of the runs, as somebody asks beside living agents: again where these are busy for 2 s."""
    for _ in range(5):
        command = [sys.executable, "-m", "otel_runlog", "sql", "SELECT count(*) AS n FROM runs", "--db", str(db)]
        done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode == 0:
            return int(json.loads(done.stdout)[0]["n"])
        assert "is held by process" in done.stderr
    raise AssertionError(done.stderr)


# -- one huge span among small ones (mezmo/aura#124, opik#7468) ------------------------------------------------


def with_a_huge_one() -> list[Span]:
    spans = calls(10)
    image = "data:image/png;base64," + base64.b64encode(b"x" * (6 * MIB)).decode()
    said = [{"role": "user", "parts": [{"type": "text", "content": image}]}]
    spans[4].attributes |= {"gen_ai.input.messages": json.dumps(said), "huge": "h" * (11 * MIB)}
    return spans


@pytest.mark.fault(14)
@pytest.mark.parametrize("form", ["protobuf", "json"])
def test_a_huge_span_costs_none_of_its_nine_neighbours(store: Store, form: str) -> None:
    spans = with_a_huge_one()
    assert store.ingest("a.binpb" if form == "protobuf" else "a.json", _written(spans, form)) == []
    assert store.rows("SELECT sum(llm_calls), sum(input_tokens) FROM runs") == [(10, 1000)]
    lengths = "SELECT max(length(attributes ->> 'huge')), count(*) FILTER (WHERE json_valid(attributes)) FROM spans"
    assert store.rows(lengths) == [(11 * MIB, 10)]
    assert store.rows("SELECT count(*) FROM messages WHERE bytes > 6 * 1024 * 1024") == [(1,)]


def _written(spans: Iterable[Span], form: str) -> bytes:
    return encode_spans(list(spans)) if form == "protobuf" else line(list(spans)).encode()


@pytest.mark.fault(14)
def test_a_huge_span_costs_none_of_its_nine_neighbours_in_process(store: Store) -> None:
    provider = TracerProvider()
    provider.add_span_processor(RunLogSpanProcessor(store.db, loader="off"))
    tracer = provider.get_tracer("t")
    for span in with_a_huge_one():
        with tracer.start_as_current_span(span.name, attributes=span.attributes) as made:
            made.add_event("e" * (11 * MIB) if "huge" in span.attributes else "small")
    provider.shutdown()
    Loader(store.db, prices=PRICES).turn()
    assert store.check()["stored"] == 10
    assert store.rows("SELECT sum(llm_calls), sum(input_tokens) FROM runs") == [(10, 1000)]
    assert store.rows("SELECT count(*) FROM messages WHERE bytes > 6 * 1024 * 1024") == [(1,)]
