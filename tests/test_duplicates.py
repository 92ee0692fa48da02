"""Second views of one call: nested, beside each other, in traces of their own; and what only looks like one."""

from __future__ import annotations

import itertools

import pytest

from otel_runlog.duplicates import find_duplicates
from otel_runlog.model import Attributes, Resource, Span
from otel_runlog.testing import TraceBuilder
from otel_runlog.tree import link, node_of


def counted(*spans: Span) -> list[str]:
    """Names of the spans that count, in order of their start."""
    nodes = [node_of(s) for s in spans]
    link(nodes)
    duplicates = find_duplicates(nodes)
    return [n.name for n in sorted(nodes, key=lambda n: n.start) if n.reading and duplicates.counted(n) is None]


def call(t: TraceBuilder, name: str, attributes: Attributes | None = None, **more: object) -> Span:
    span = t.chat("m", attributes, **({"input_tokens": 10, "output_tokens": 1} | more))  # type: ignore[arg-type]
    span.name = name
    return span


def test_siblings_with_one_response_id_are_one_call() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    call(t, "x", {"gen_ai.response.id": "r1"}, parent=a, start_ms=1, scope="s1")
    call(t, "y", {"gen_ai.response.id": "r1"}, parent=a, start_ms=1, scope="s2", input_tokens=None, output_tokens=None)
    assert counted(*t.spans) == ["invoke_agent a", "x"]


def test_other_response_ids_are_other_calls_however_alike() -> None:
    t = TraceBuilder()
    call(t, "x", {"gen_ai.response.id": "r1"}, start_ms=1, scope="s1", parent="aa")
    call(t, "y", {"gen_ai.response.id": "r2"}, start_ms=1, scope="s2", parent="aa")
    assert counted(*t.spans) == ["x", "y"]


def test_without_ids_equal_numbers_in_the_same_time_tell() -> None:
    t = TraceBuilder()
    call(t, "x", start_ms=1, duration_ms=20, scope="s1", parent="aa")
    call(t, "y", start_ms=2, duration_ms=18, scope="s2", parent="aa")
    call(t, "later", start_ms=60, scope="s2", parent="aa")
    assert counted(*t.spans) == ["x", "later"]


def test_one_scope_never_sees_a_call_twice() -> None:
    t = TraceBuilder()
    call(t, "x", start_ms=1, parent="aa")
    call(t, "y", start_ms=1, parent="aa")
    assert counted(*t.spans) == ["x", "y"]


def test_two_alike_calls_at_once_that_two_scopes_see_are_two() -> None:
    t = TraceBuilder()
    for scope in ("s1", "s2"):
        for i in range(2):
            call(t, f"{scope}{i}", start_ms=1, scope=scope, parent="aa")
    assert len(counted(*t.spans)) == 2


def test_calls_that_fail_in_no_time_one_after_the_other_stay_calls_of_their_own() -> None:
    """Each is seen by a client and by the instrumentation around it; all of them overlap within the tolerance."""
    t = TraceBuilder()
    nothing = {"input_tokens": None, "output_tokens": None, "failed": True}
    for i in range(4):
        wrapper = call(t, f"wrapper{i}", parent="aa", start_ms=i, scope="s1", duration_ms=0.9, **nothing)
        call(t, f"client{i}", parent=wrapper, start_ms=i + 0.1, scope="s2", duration_ms=0.7, **nothing)
    assert len(counted(*t.spans)) == 4


def test_two_views_inside_a_third_are_one_call() -> None:
    t = TraceBuilder()
    outer = call(t, "outer", {"gen_ai.response.id": "r1"}, parent="aa", start_ms=0, duration_ms=9, scope="s0")
    for scope in ("s1", "s2"):
        call(t, scope, {"gen_ai.response.id": "r1"}, parent=outer, start_ms=1, scope=scope)
    assert len(counted(*t.spans)) == 1


def test_the_view_that_knows_more_counts() -> None:
    t = TraceBuilder()
    call(t, "blind", start_ms=1, scope="s1", parent="aa")
    call(t, "sees the cache", {"gen_ai.usage.cache_read.input_tokens": 5}, start_ms=1, scope="s2", parent="aa")
    assert counted(*t.spans) == ["sees the cache"]


@pytest.mark.parametrize(("parents", "calls"), [((None, "aa"), 1), ((None, None), 1), (("aa", "bb"), 2)])
def test_views_in_two_traces_need_one_that_found_no_parent(parents: tuple[str | None, str | None], calls: int) -> None:
    one, two = TraceBuilder("one"), TraceBuilder("two")
    call(one, "x", start_ms=1, scope="s1", parent=parents[0])
    call(two, "y", start_ms=1, scope="s2", parent=parents[1])
    assert len(counted(*one.spans, *two.spans)) == calls


def test_processes_that_differ_make_calls_of_their_own() -> None:
    one, two = TraceBuilder("one"), TraceBuilder("two")
    two.resource = Resource({"service.name": "tests", "process.pid": 2})
    one.resource = Resource({"service.name": "tests", "process.pid": 1})
    call(one, "x", start_ms=1, scope="s1")
    call(two, "y", start_ms=1, scope="s2")
    assert counted(*one.spans, *two.spans) == ["x", "y"]


def test_calls_of_unknown_time_are_never_taken_for_one() -> None:
    t = TraceBuilder()
    x = call(t, "x", start_ms=1, scope="s1", parent="aa")
    call(t, "y", start_ms=1, scope="s2", parent="aa")
    x.started_ns = None
    assert counted(*t.spans) == ["y", "x"]


def test_a_wrapper_around_a_retry_counts_by_its_last_attempt() -> None:
    t = TraceBuilder()
    outer = call(t, "outer", duration_ms=20)
    failed = {"error.type": "RateLimitError", "http.response.status_code": 429}
    call(t, "refused", failed, parent=outer, scope="s", input_tokens=None, output_tokens=None, failed=True)
    call(t, "answered", parent=outer, scope="s")
    assert counted(*t.spans) == ["refused", "answered"]


def test_views_inside_that_know_no_usage_leave_it_to_the_wrapper() -> None:
    t = TraceBuilder()
    outer = call(t, "outer", duration_ms=20)
    call(t, "inner", parent=outer, scope="s", input_tokens=None, output_tokens=None)
    assert counted(*t.spans) == ["outer"]


def test_calls_of_a_tool_or_agent_inside_a_call_are_their_own() -> None:
    t = TraceBuilder()
    outer = call(t, "outer", duration_ms=20)
    call(t, "of tool", parent=t.tool("ask", parent=outer, duration_ms=9))
    call(t, "of agent", parent=t.agent("b", parent=outer, duration_ms=9))
    assert set(counted(*t.spans)) == {"outer", "execute_tool ask", "of tool", "invoke_agent b", "of agent"}


def test_an_embedding_inside_a_chat_is_a_call_of_its_own() -> None:
    t = TraceBuilder()
    outer = call(t, "outer", duration_ms=20)
    inner = {"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 3}
    t.span("embed", inner, parent=outer)
    assert counted(*t.spans) == ["outer", "embed"]


def test_a_tool_inside_a_tool_of_another_scope_with_its_name_is_the_same_call() -> None:
    t = TraceBuilder()
    outer = t.tool("add", duration_ms=9)
    inner = t.tool("add", parent=outer)
    other = t.tool("look_up", parent=outer)
    assert outer.scope == inner.scope
    assert counted(*t.spans) == ["execute_tool add", "execute_tool add", "execute_tool look_up"]
    t.spans[1] = t.span(inner.name, inner.attributes, parent=outer, scope="mcp")
    t.spans.remove(other)
    assert counted(*t.spans[:2]) == ["execute_tool add"]


def test_tools_with_one_call_id_are_one_call_in_one_trace_only() -> None:
    one, two = TraceBuilder("one"), TraceBuilder("two")
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "call_0", "gen_ai.tool.name": "add"}
    one.span("x", named, start_ms=1, scope="s1", parent="aa")
    one.span("y", named, start_ms=1, scope="s2", parent="aa")
    two.span("z", named, start_ms=1, scope="s2", parent="aa")
    assert counted(*one.spans, *two.spans) in (["x", "z"], ["z", "x"])


def test_the_order_of_arrival_changes_nothing() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    for i, scope in enumerate(("s1", "s2", "s3", "s1")):
        call(t, f"{scope}-{i}", parent=a, start_ms=1, duration_ms=5, scope=scope)
    answers = {tuple(sorted(counted(*order))) for order in itertools.permutations(t.spans)}
    assert len(answers) == 1
