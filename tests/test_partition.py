"""Which spans make which run (CONTRACT, run identity 1 to 4, 6 and 7)."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from otel_runlog.model import Resource, RunLog, RunStatus, Span
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project
from otel_runlog.testing import START_NS, TraceBuilder

PRICES = PriceTable()
NOWHERE = "00000000000000aa"
SERVER = 2
REMOTE = 0x301


def runs(*traces: TraceBuilder | list[Span]) -> list[RunLog]:
    return project([s for t in traces for s in (t if isinstance(t, list) else t.spans)], prices=PRICES)


def summary(*traces: TraceBuilder | list[Span]) -> list[tuple[str | None, int, int]]:
    """(agent, model calls, tool calls) of each run, in order."""
    return [(r.agent, r.llm_calls, r.tool_calls) for r in runs(*traces)]


# -- rule 1 --------------------------------------------------------------------------------------


def test_one_id_in_several_traces_is_one_run() -> None:
    one, two = TraceBuilder("one"), TraceBuilder("two", start_ns=START_NS + 10**9)
    for t in (one, two):
        t.chat("m", parent=t.agent("a", {"runlog.run.id": "nightly"}))
    [run] = runs(one, two)
    assert (run.run_id, run.llm_calls, run.trace_id) == ("nightly", 2, one.trace_id)


def test_several_ids_in_one_trace_are_several_runs() -> None:
    t = TraceBuilder()
    outer = t.agent("a", {"runlog.run.id": "r1"})
    t.chat("m", parent=outer)
    t.chat("m", parent=t.agent("b", {"runlog.run.id": "r2"}, parent=outer))
    assert [(r.run_id, r.llm_calls) for r in runs(t)] == [("r1", 1), ("r2", 1)]


def test_what_is_below_a_named_span_is_of_its_run_in_whatever_service() -> None:
    t, other = TraceBuilder(), TraceBuilder(service="other")
    root = t.agent("a", {"runlog.run.id": "r1"})
    server = other.span("POST /", parent=root, kind=SERVER, flags=REMOTE)
    other.spans[0] = server = msgspec.structs.replace(server, span_id="00000000000000bb")
    other.chat("m", parent=other.agent("b", parent=server))
    assert [(r.run_id, r.agent, r.llm_calls) for r in runs(t, other)] == [("r1", "a", 1)]


def test_a_named_run_below_an_unnamed_agent_takes_its_steps_out_of_that_run() -> None:
    t = TraceBuilder()
    outer = t.agent("outer")
    t.chat("m", parent=outer)
    t.chat("m", parent=t.agent("inner", {"runlog.run.id": "r2"}, parent=outer))
    assert summary(t) == [("outer", 1, 0), ("inner", 1, 0)]


def test_an_unnamed_agent_below_a_named_run_is_its_sub_agent() -> None:
    t = TraceBuilder()
    outer = t.agent("outer", {"runlog.run.id": "r1"})
    t.chat("m", parent=t.agent("inner", parent=outer))
    assert summary(t) == [("outer", 1, 0)]


def test_a_workflow_around_nothing_but_named_runs_is_no_run() -> None:
    t = TraceBuilder()
    flow = t.span("flow", {"gen_ai.operation.name": "invoke_workflow"})
    t.chat("m", parent=t.agent("a", {"runlog.run.id": "r1"}, parent=flow))
    assert [r.run_id for r in runs(t)] == ["r1"]


def test_a_named_run_whose_own_span_has_not_come_has_no_root() -> None:
    """Baggage puts the id on every span: the first of them to come is not the run's root."""
    t = TraceBuilder()
    t.chat("m", {"runlog.run.id": "r1"}, parent=NOWHERE)
    [run] = runs(t)
    assert (run.status, run.root_span_id, run.complete) == (RunStatus.RUNNING, None, False)


def test_the_own_span_of_a_named_run_is_its_root_also_below_a_span_that_has_not_come() -> None:
    t = TraceBuilder()
    own = t.span(
        "invoke_agent nightly",
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "nightly", "runlog.run.id": "r1"},
        parent=NOWHERE,
        scope="otel_runlog",
    )
    t.chat("m", {"runlog.run.id": "r1"}, parent=own)
    [run] = runs(t)
    assert (run.status, run.root_span_id, run.agent) == (RunStatus.COMPLETED, own.span_id, "nightly")


def test_a_trace_in_which_a_named_run_has_no_step_adds_nothing_to_it() -> None:
    one, two = TraceBuilder("one"), TraceBuilder("two")
    one.agent("a", {"runlog.run.id": "r1"})
    two.span("GET /", {"runlog.run.id": "r1", "session.id": "s1"}, duration_ms=5000)
    assert runs(one, two) == runs(one)


def test_a_process_that_was_started_for_a_run_names_it_in_all_its_traces() -> None:
    one, two = (TraceBuilder(name, resource={"runlog.run.id": "launched"}) for name in ("one", "two"))
    one.chat("m", parent=one.agent("a"))
    two.chat("m")
    assert [(r.run_id, r.agent, r.llm_calls) for r in runs(one, two)] == [("launched", "a", 2)]


def test_a_span_that_names_its_run_wins_over_its_process_also_for_what_is_below_it() -> None:
    t = TraceBuilder(resource={"runlog.run.id": "launched"})
    job = t.span("job", duration_ms=50)
    t.chat("m", parent=job)
    t.chat("m", parent=t.agent("a", {"runlog.run.id": "own"}, parent=job))
    assert [(r.run_id, r.llm_calls) for r in runs(t)] == [("launched", 1), ("own", 1)]


def test_a_process_started_for_a_run_is_no_part_of_the_run_that_started_it() -> None:
    t = TraceBuilder()
    boss = t.agent("boss", {"runlog.run.id": "own"})
    t.chat("m", parent=boss)
    launch = t.tool("launch", parent=boss, duration_ms=50)
    t.resource = Resource({"runlog.run.id": "launched"})
    t.chat("m", parent=t.agent("worker", parent=launch))
    assert [(r.run_id, r.agent, r.llm_calls) for r in runs(t)] == [("own", "boss", 1), ("launched", "worker", 1)]


def test_the_run_that_a_coding_agent_was_launched_for_wins_over_its_turns() -> None:
    spans: list[Span] = []
    for turn in ("t1", "t2"):
        t = TraceBuilder(turn, resource={"runlog.run.id": "launched"})
        t.span("session_task.turn", {"turn.id": turn}, scope="codex_exec", duration_ms=50)
        spans += t.spans
    assert [r.run_id for r in runs(spans)] == ["launched"]


def test_how_a_run_came_to_be_is_read_from_its_spans_else_from_the_process_of_its_root() -> None:
    t = TraceBuilder(
        resource={"runlog.replay_of": "r0", "runlog.launch.id": "l1", "runlog.fork_of": "f", "runlog.fork_at": "4"}
    )
    t.chat("m", {"runlog.launch.id": "l2"}, parent=t.agent("a"))
    [run] = runs(t)
    assert (run.replay_of, run.launch_id, run.fork_of, run.fork_at) == ("r0", "l2", "f", 4)


def test_a_replaying_process_below_a_run_makes_no_replay_of_the_whole() -> None:
    t = TraceBuilder()
    root = t.agent("a")
    t.resource = Resource({"runlog.replay_of": "r0"})
    t.chat("m", parent=root)
    assert [(r.agent, r.llm_calls, r.replay_of) for r in runs(t)] == [("a", 1, None)]


def test_native_run_ids_join_nothing() -> None:
    one, two = TraceBuilder("one"), TraceBuilder("two")
    for t in (one, two):
        t.agent("a", {"gen_ai.agent.call.id": "c1"})
    found = runs(one, two)
    assert [r.native_run_id for r in found] == ["c1", "c1"]
    assert len({r.run_id for r in found}) == 2


# -- rule 2 --------------------------------------------------------------------------------------


def test_the_topmost_agent_is_the_run_and_those_below_are_its_sub_agents() -> None:
    t = TraceBuilder()
    boss = t.agent("boss")
    t.chat("m", parent=t.agent("helper", parent=t.tool("ask", parent=boss)))
    assert summary(t) == [("boss", 1, 1)]


def test_an_agent_without_calls_is_a_run_a_chain_is_not() -> None:
    t, u = TraceBuilder("one"), TraceBuilder("two")
    t.agent("a")
    u.span("c", {"openinference.span.kind": "CHAIN"})
    assert summary(t, u) == [("a", 0, 0)]


def test_agents_under_one_request_are_runs_of_their_own() -> None:
    t = TraceBuilder()
    request = t.span("POST /ask", kind=SERVER, duration_ms=99)
    for name in ("a", "b"):
        t.chat("m", parent=t.agent(name, parent=request))
    assert summary(t) == [("a", 1, 0), ("b", 1, 0)]


def test_create_agent_is_no_run() -> None:
    t = TraceBuilder()
    t.span("create_agent a", {"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "a"})
    assert runs(t) == []


@pytest.mark.parametrize(
    ("build", "agent"),
    [
        (lambda t: t.chat("m", parent=t.agent("root")), "root"),
        (lambda t: t.agent("inner", parent=t.agent("", {"gen_ai.request.model": ""})), "inner"),
        (lambda t: t.agent("x", parent=t.agent("inner", parent=plain_chain(t))), "inner"),
        (lambda t: [t.agent("x", parent=p) for p in [plain_chain(t)] for _ in range(2)], "x"),
        (lambda t: [t.agent(n, parent=p) for p in [plain_chain(t)] for n in "xy"], "flow"),
        (lambda t: t.chat("m", parent=t.span("job")), "job"),
    ],
    ids=["root names itself", "root has no name", "one below", "one twice", "two below", "no agent at all"],
)
def test_the_agent_of_a_run_is_the_root_s_else_the_one_below_else_the_root_s_name(build, agent: str) -> None:
    t = TraceBuilder()
    build(t)
    for span in t.spans:
        if not span.attributes.get("gen_ai.agent.name"):
            span.attributes.pop("gen_ai.agent.name", None)
    assert [r.agent for r in runs(t)] == [agent]


def plain_chain(t: TraceBuilder) -> Span:
    """A root of rule 2 without an agent's name."""
    root = t.span("flow", {"openinference.span.kind": "CHAIN"}, duration_ms=99)
    t.chat("m", parent=root)
    return root


# -- rule 3 --------------------------------------------------------------------------------------


def test_bare_calls_run_under_their_topmost_common_ancestor() -> None:
    t = TraceBuilder()
    job = t.span("job", duration_ms=99)
    t.chat("m", parent=t.span("part 1", parent=job))
    t.chat("m", parent=t.span("part 2", parent=job))
    [run] = runs(t)
    assert (run.agent, run.llm_calls, run.root_span_id) == ("job", 2, job.span_id)


def test_a_request_over_agents_never_swallows_them_nor_the_calls_beside_them() -> None:
    t = TraceBuilder()
    request = t.span("POST /ask", kind=SERVER, duration_ms=99)
    for name in ("a", "b"):
        t.chat("m", parent=t.agent(name, parent=request))
    t.chat("m", parent=request)
    part = t.span("part", parent=request)
    t.chat("m", parent=part)
    t.chat("m", parent=part)
    assert summary(t) == [("a", 1, 0), ("b", 1, 0), ("chat m", 1, 0), ("part", 2, 0)]


def test_a_lone_model_call_is_a_run_of_one_step() -> None:
    t, u = TraceBuilder("one"), TraceBuilder("two")
    t.chat("m")
    u.span("embeddings e", {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e"})
    assert [(r.llm_calls, len(r.steps)) for r in runs(t, u)] == [(1, 1), (1, 1)]


def test_a_lone_tool_is_no_run_but_one_under_a_job_is() -> None:
    t, u = TraceBuilder("one"), TraceBuilder("two")
    t.tool("add")
    u.tool("add", parent=u.span("job"))
    assert summary(t, u) == [("job", 0, 1)]


def test_a_tool_around_a_model_call_is_a_root() -> None:
    t = TraceBuilder()
    t.chat("m", parent=t.tool("summarize"))
    assert summary(t) == [("execute_tool summarize", 1, 1)]


def test_mcp_servers_are_never_runs_but_the_calls_they_make_are() -> None:
    t, u = TraceBuilder("one"), TraceBuilder("two")
    mcp = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}
    t.span("tools/call add", mcp, kind=SERVER)
    u.chat("m", parent=u.span("tools/call add", mcp, kind=SERVER))
    assert summary(t, u) == [("chat m", 1, 0)]


# -- rule 4 --------------------------------------------------------------------------------------


def test_run_ids_are_made_of_trace_root_and_start() -> None:
    t = TraceBuilder()
    root = t.agent("a")
    text = f"{t.trace_id}:{root.span_id}:{root.started_ns}"
    assert [r.run_id for r in runs(t)] == [hashlib.sha256(text.encode()).hexdigest()[:32]]


def test_all_subtrees_of_a_missing_root_are_one_provisional_run() -> None:
    t = TraceBuilder()
    for missing in (NOWHERE, "00000000000000bb"):
        t.chat("m", parent=missing)
    t.chat("m", parent=t.agent("helper", parent=NOWHERE))
    [run] = runs(t)
    assert run.run_id == hashlib.sha256(f"{t.trace_id}:provisional".encode()).hexdigest()[:32]
    assert (run.llm_calls, run.root_span_id, run.agent, run.complete) == (3, None, "helper", False)


def test_orphans_join_the_only_run_of_their_trace_and_the_run_says_so() -> None:
    t = TraceBuilder()
    t.chat("m", parent=t.agent("a"))
    t.chat("m", parent=NOWHERE)
    [run] = runs(t)
    assert (run.llm_calls, run.status, run.complete) == (2, RunStatus.COMPLETED, True)
    assert run.notes == ("repaired: 1 of its spans, whose parents have not come, were put here",)


def test_orphans_join_the_only_run_also_where_a_request_is_above_it() -> None:
    t = TraceBuilder()
    t.agent("a", parent=t.span("POST /", kind=SERVER))
    t.chat("m", parent=NOWHERE)
    assert summary(t) == [("a", 1, 0)]


def test_orphans_beside_several_runs_are_a_provisional_run() -> None:
    t = TraceBuilder()
    request = t.span("POST /", kind=SERVER)
    t.agent("a", parent=request)
    t.agent("b", parent=request)
    t.chat("m", parent=NOWHERE)
    assert [(r.agent, r.root_span_id is None) for r in runs(t)] == [("a", False), ("b", False), (None, True)]


# -- rule 6 --------------------------------------------------------------------------------------


def test_a_remote_parent_that_has_not_come_makes_a_local_root_at_once() -> None:
    t = TraceBuilder()
    server = t.span("POST /", parent=NOWHERE, kind=SERVER, flags=REMOTE)
    t.agent("b", parent=server)
    assert [(r.agent, r.status, r.complete) for r in runs(t)] == [("b", RunStatus.COMPLETED, True)]


def test_a_remote_parent_that_has_come_makes_a_sub_agent() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    remote = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "b"}
    t.chat("m", parent=t.span("invoke_agent b", remote, parent=a, flags=REMOTE))
    assert summary(t) == [("a", 1, 0)]


# -- rule 7 --------------------------------------------------------------------------------------


def client_view(t: TraceBuilder, **more: object) -> Span:
    numbers = {"input_tokens": 10, "output_tokens": 1, "start_ms": 5, "scope": "client"}
    return t.chat("m", {"gen_ai.response.id": "r1", "session.id": "s1"}, **(numbers | more))  # type: ignore[arg-type]


def test_a_client_that_traces_itself_beside_an_instrumentation_is_no_run() -> None:
    t, lone = TraceBuilder("one"), TraceBuilder("two")
    a = t.agent("a")
    t.chat("m", {"gen_ai.response.id": "r1"}, parent=a, input_tokens=10, output_tokens=1, start_ms=5)
    client_view(lone)
    [run] = runs(t, lone)
    assert (run.agent, run.llm_calls, run.tokens.input_tokens, len(run.steps)) == ("a", 1, 10, 3)
    assert run.session_id == "s1"


def test_of_two_lone_views_the_first_is_the_run() -> None:
    one, two = TraceBuilder("one"), TraceBuilder("two")
    client_view(two, start_ms=5)
    one.chat("m", {"gen_ai.response.id": "r1"}, start_ms=4, duration_ms=3)
    [run] = runs(two, one)
    assert (run.trace_id, run.llm_calls) == (one.trace_id, 1)


def test_a_run_with_a_chain_of_its_own_is_no_satellite() -> None:
    chained, lone = TraceBuilder("one"), TraceBuilder("two")
    chain = chained.span("c", {"openinference.span.kind": "CHAIN"}, start_ms=4, duration_ms=9)
    client_view(chained, scope="wrapper", parent=chain)
    client_view(lone)
    assert summary(chained, lone) == [("c", 1, 0)]


def test_a_named_run_is_never_swallowed() -> None:
    named, lone = TraceBuilder("one"), TraceBuilder("two")
    client_view(named, start_ms=6, scope="wrapper").attributes["runlog.run.id"] = "r1"
    client_view(lone, start_ms=5, duration_ms=4)
    assert [(r.run_id, r.llm_calls) for r in runs(named, lone)] == [("r1", 1)]


def test_a_session_id_alone_makes_no_run() -> None:
    t = TraceBuilder()
    t.span("GET /", {"session.id": "s1"})
    assert runs(t) == []
