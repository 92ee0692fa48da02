"""Spans become nodes of trees, whatever is missing or wrong with their parents."""

from __future__ import annotations

import msgspec
import pytest

from otel_runlog import conventions
from otel_runlog.conventions._index import Shape
from otel_runlog.model import Span
from otel_runlog.testing import TraceBuilder
from otel_runlog.tree import link, nearest_above, node_of

NO_FLAGS, LOCAL, REMOTE = 0, 0x101, 0x301
SERVER = 2


def linked(spans: list[Span]) -> dict[str, str | None]:
    """Name -> name of the parent that was found."""
    nodes = [node_of(s) for s in spans]
    link(nodes)
    return {n.name: n.parent.name if n.parent else None for n in nodes}


def test_children_find_their_parents_in_any_order() -> None:
    t = TraceBuilder()
    a = t.span("a")
    b = t.span("b", parent=a)
    t.span("c", parent=b)
    assert linked(t.spans[::-1]) == {"a": None, "b": "a", "c": "b"}


def test_linking_again_forgets_the_first_time() -> None:
    t = TraceBuilder()
    t.span("b", parent=t.span("a"))
    nodes = [node_of(s) for s in t.spans]
    link(nodes)
    [top] = link(nodes)
    assert [n.name for n in top.children] == ["b"]


def test_a_span_that_is_its_own_parent_is_a_root_and_says_so() -> None:
    t = TraceBuilder()
    a = t.span("a")
    a.parent_span_id = a.span_id
    node = node_of(a)
    assert link([node]) == [node]
    assert (node.looped, node.orphan) == (True, False)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_of_a_circle_of_parents_the_earliest_is_the_root(order: tuple[int, ...]) -> None:
    t = TraceBuilder()
    a = t.span("a")
    b = t.span("b", parent=a)
    c = t.span("c", parent=b)
    a.parent_span_id = c.span_id
    t.span("below", parent=b)
    assert linked([t.spans[i] for i in order] + t.spans[3:]) == {"a": None, "b": "a", "c": "b", "below": "b"}


def test_a_reused_id_means_the_last_span_that_started_before() -> None:
    t = TraceBuilder()
    first = t.span("first", start_ms=0)
    again = msgspec.structs.replace(t.span("again", start_ms=100), span_id=first.span_id)
    t.spans[1] = again
    t.span("early", parent=first.span_id, start_ms=50)
    t.span("late", parent=first.span_id, start_ms=150)
    assert linked(t.spans) == {"first": None, "again": None, "early": "first", "late": "again"}


def test_a_child_that_starts_before_its_parent_still_is_its_child() -> None:
    t = TraceBuilder()
    a = t.span("a", start_ms=10)
    t.span("b", parent=a, start_ms=5)
    assert linked(t.spans) == {"a": None, "b": "a"}


@pytest.mark.parametrize(
    ("flags", "kind", "service", "orphan"),
    [
        (LOCAL, 1, "tests", True),
        (REMOTE, 1, "tests", False),
        (NO_FLAGS, 1, "tests", True),
        (NO_FLAGS, SERVER, "tests", False),
        (LOCAL, SERVER, "tests", True),
        (NO_FLAGS, 1, "other", False),
        (LOCAL, 1, "other", True),
    ],
    ids=["local", "remote", "unknown", "server", "local server", "other service", "other service says local"],
)
def test_a_missing_parent_is_remote_by_flags_else_by_kind_or_service(
    flags: int, kind: int, service: str, orphan: bool
) -> None:
    t, other = TraceBuilder("one"), TraceBuilder("one", service=service, start_ns=10**18)
    t.span("root")
    found = other.span("b", parent="00000000000000aa", flags=flags, kind=kind)
    node = node_of(found)
    link([node_of(t.spans[0]), node])
    assert node.orphan is orphan


def test_a_deep_trace_is_linked_without_recursion() -> None:
    t = TraceBuilder()
    parent = t.span("0")
    for i in range(5000):
        parent = t.span(str(i + 1), parent=parent)
    [top] = link([node_of(s) for s in reversed(t.spans)])
    assert max(n.depth for n in top.walk()) == 5000


def test_run_ids_and_agents_are_handed_down_until_another_is_named() -> None:
    t = TraceBuilder()
    a = t.agent("boss", {"runlog.run.id": "r1"})
    b = t.span("plain", parent=a)
    c = t.agent("helper", {"runlog.run.id": "r2"}, parent=b)
    t.chat("m", parent=c)
    nodes = [node_of(s) for s in t.spans]
    link(nodes)
    assert [n.run_id for n in nodes] == ["r1", "r1", "r2", "r2"]
    assert [n.agent for n in nodes] == ["boss", "boss", "helper", "helper"]


def test_nearest_above_skips_what_is_not_wanted() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m", parent=t.span("plain", parent=a))
    nodes = [node_of(s) for s in t.spans]
    link(nodes)
    assert nearest_above(nodes, lambda n: n.reading is not None) == {id(nodes[1]): nodes[0], id(nodes[2]): nodes[0]}


def test_a_span_that_cannot_be_read_stays_and_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(span: Span, _shape: Shape) -> None:
        raise KeyError(span.name)

    monkeypatch.setattr(conventions, "read", broken)
    node = node_of(TraceBuilder().agent("a"))
    assert node.reading is None
    assert node.notes == ("repaired: unreadable by its convention (KeyError)",)


def test_gemini_cli_joins_its_traces_by_the_prompt_else_the_conversation() -> None:
    one, two = TraceBuilder("one"), TraceBuilder("two")
    gemini = {"gen_ai.conversation.id": "p1"}
    call = one.span(
        "llm_call", {"gen_ai.operation.name": "llm_call", "gen_ai.prompt.name": "p1", **gemini}, scope="gemini-cli"
    )
    tool = two.span("tool_call", {"gen_ai.operation.name": "tool_call", **gemini}, scope="gemini-cli")
    assert node_of(call).given_run_id == node_of(tool).given_run_id != None  # noqa: E711  # one chain says both
    assert node_of(TraceBuilder().agent("a", {"gen_ai.agent.call.id": "c1"})).given_run_id is None


def test_a_native_run_id_gives_way_to_the_run_above() -> None:
    trace = TraceBuilder("launched")
    root = trace.span("nightly", {"runlog.run.id": "night-1"}, duration_ms=9, scope="otel_runlog")
    trace.span("session_task.turn", {"turn.id": "t-1", "model": "m"}, parent=root, scope="codex_exec")
    nodes = [node_of(s) for s in trace.spans]
    link(nodes)
    assert {n.run_id for n in nodes} == {"night-1"}


def gemini(number: int, operation: str, start_ms: float, prompt: str | None = None) -> Span:
    """A trace of one span of Gemini CLI."""
    attributes = {"gen_ai.operation.name": operation, "gen_ai.conversation.id": "s1"}
    named = {"gen_ai.prompt.name": prompt} if prompt else {}
    trace = TraceBuilder(f"gemini {number}")
    return trace.span(operation, attributes | named, start_ms=start_ms, scope="gemini-cli")


def test_tools_that_name_only_the_conversation_follow_the_call_before_them() -> None:
    spans = [
        gemini(0, "schedule_tool_calls", 0),
        gemini(1, "llm_call", 10, "s1########1"),
        gemini(2, "schedule_tool_calls", 20),
        gemini(3, "llm_call", 30, "s1########1"),
        gemini(4, "llm_call", 40, "s1########2"),
        gemini(5, "schedule_tool_calls", 50),
    ]
    nodes = [node_of(s) for s in spans]
    link(nodes[::-1])
    ids = [n.run_id for n in nodes]
    assert len(set(ids)) == 2
    assert ids == [ids[1]] * 4 + [ids[4]] * 2


def test_tools_of_a_conversation_without_a_call_are_together() -> None:
    nodes = [node_of(gemini(n, "schedule_tool_calls", n)) for n in range(2)]
    link(nodes)
    assert nodes[0].run_id == nodes[1].run_id == nodes[0].given_run_id
