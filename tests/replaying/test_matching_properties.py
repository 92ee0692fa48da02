"""Whatever was recorded: the same calls in any interleaving are identical, and one edit is one difference."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import asks, assistant, calls, capture, llm, result, tool

from otel_runlog.capture import Capture, CapturedLlm, CapturedTool
from otel_runlog.conversation import Json, LlmRequest
from otel_runlog.replaying.comparing import first_difference, key_of, same, shared_beginning
from otel_runlog.replaying.divergence import DivergenceKind, ReplayMode, ReproVerdict
from otel_runlog.replaying.in_process import replay, replay_with_divergence
from otel_runlog.replaying.matching import Matcher, Served, ToolServed
from otel_runlog.replaying.report import COLUMNS, as_json, text_of
from otel_runlog.testing import FakeLlmClient, FakeToolInvoker

modest = settings(derandomize=True, deadline=None, max_examples=25)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, width=32)
    | st.text("ab\n\u00e9", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("kl"), inner, max_size=2),
    max_leaves=4,
)
arguments = st.dictionaries(st.sampled_from(("city", "day")), values, max_size=2)


@st.composite
def threads_of_calls(draw: st.DrawFn) -> list[list[CapturedLlm | CapturedTool]]:
    """Independent conversations: each asks, calls a tool, and asks again with the result; prompts may be equal."""
    found: list[list[CapturedLlm | CapturedTool]] = []
    for number in range(draw(st.integers(1, 4))):
        prompt, given_to, gave = draw(st.sampled_from("pqr")), draw(arguments), draw(values)
        call = calls("t", given_to, f"c{number}")
        first, again = asks(prompt), asks(prompt, assistant("", call), result(gave, f"c{number}"))
        found.append(
            [llm(first, f"answer {number}"), tool("t", given_to, gave, id=f"c{number}"), llm(again, f"end {number}")]
        )
    return found


def interleaved(
    draw: st.DataObject, threads: list[list[CapturedLlm | CapturedTool]]
) -> list[CapturedLlm | CapturedTool]:
    """All calls, each conversation's in its order."""
    waiting = [list(thread) for thread in threads]
    order = draw.draw(st.permutations([n for n, thread in enumerate(threads) for _ in thread]))
    return [waiting[n].pop(0) for n in order]


def ask(matcher: Matcher, call: CapturedLlm | CapturedTool) -> bool:
    """Whether it was found."""
    if isinstance(call, CapturedTool):
        return isinstance(matcher.ask_tool(call.name, call.arguments), ToolServed)
    assert call.request is not None
    return isinstance(matcher.ask(call.request), Served)


def recorded(threads: list[list[CapturedLlm | CapturedTool]]) -> Capture:
    return capture(*(call for thread in threads for call in thread))


@modest
@given(st.data(), threads_of_calls())
def test_any_interleaving_of_independent_calls_is_identical(
    data: st.DataObject, threads: list[list[CapturedLlm | CapturedTool]]
) -> None:
    matcher = Matcher(recorded(threads))
    assert all(ask(matcher, call) for call in interleaved(data, threads))
    report = matcher.report()
    assert (report.verdict, report.divergences, report.served) == (ReproVerdict.IDENTICAL, (), 3 * len(threads))


@modest
@given(st.data(), threads_of_calls(), st.sampled_from(ReplayMode))
def test_a_call_left_out_is_missing_and_nothing_else(
    data: st.DataObject, threads: list[list[CapturedLlm | CapturedTool]], mode: ReplayMode
) -> None:
    matcher = Matcher(recorded(threads), mode=mode)
    matcher.tool_door("t")
    order = interleaved(data, threads)
    left_out = order.pop(data.draw(st.integers(0, len(order) - 1)))
    assert all(ask(matcher, call) for call in order)
    (divergence,) = matcher.report().divergences
    assert divergence.kind is DivergenceKind.MISSING_CALL
    assert divergence.step == ("tool" if isinstance(left_out, CapturedTool) else "llm")


@modest
@given(st.data(), threads_of_calls(), st.sampled_from(ReplayMode))
def test_a_call_added_is_one_too_many_and_nothing_else(
    data: st.DataObject, threads: list[list[CapturedLlm | CapturedTool]], mode: ReplayMode
) -> None:
    matcher = Matcher(recorded(threads), mode=mode)
    order = interleaved(data, threads)
    at = data.draw(st.integers(0, len(order)))
    added = data.draw(st.sampled_from((llm(asks("new"), "x"), tool("t", {"new": 1}), tool("new", {}))))
    found = [ask(matcher, call) for call in (*order[:at], added, *order[at:])]
    assert found == [True] * at + [False] + [True] * (len(order) - at)
    (divergence,) = matcher.report().divergences
    assert (divergence.kind, divergence.call_index) == (DivergenceKind.EXTRA_CALL, None)


@modest
@given(st.data(), threads_of_calls(), st.sampled_from(ReplayMode))
def test_a_call_changed_is_changed_and_nothing_else(
    data: st.DataObject, threads: list[list[CapturedLlm | CapturedTool]], mode: ReplayMode
) -> None:
    run = recorded(threads)
    matcher = Matcher(run, mode=mode)
    order = interleaved(data, threads)
    at = data.draw(st.integers(0, len(order) - 1))
    order[at] = changed(order[at])
    assert [ask(matcher, call) for call in order].count(False) == 1
    (divergence,) = matcher.report().divergences
    is_tool = isinstance(order[at], CapturedTool)
    assert divergence.kind is (DivergenceKind.TOOL_ARGS_CHANGED if is_tool else DivergenceKind.REQUEST_CHANGED)
    assert divergence.nearest == divergence.call_index
    assert all(len(line) <= COLUMNS for line in text_of(matcher.report()).splitlines())
    assert as_json(matcher.report())


def changed(call: CapturedLlm | CapturedTool) -> CapturedLlm | CapturedTool:
    if isinstance(call, CapturedTool):
        return tool(call.name, {"new": 1})
    assert call.request is not None
    return llm(
        LlmRequest(turns=(*call.request.turns, *asks("new").turns), model="gpt-5", tools=call.request.tools), "x"
    )


@modest
@given(threads_of_calls())
def test_a_run_replayed_by_its_own_doubles_is_identical(threads: list[list[CapturedLlm | CapturedTool]]) -> None:
    run = recorded(threads)
    last = threads[-1][-1]
    assert isinstance(last, CapturedLlm)
    assert last.answer is not None
    assert replay(run, FakeLlmClient.from_runlog(run), FakeToolInvoker.from_capture(run)) == last.answer.text
    report = replay_with_divergence(run, FakeLlmClient.from_runlog(run), FakeToolInvoker.from_capture(run))
    assert report.verdict is ReproVerdict.IDENTICAL


@settings(modest, max_examples=100)
@given(values, values)
def test_values_are_the_same_exactly_where_no_difference_is_found(one: Json, other: Json) -> None:
    assert same(one, one)
    assert same(one, other) is same(other, one) is (key_of(one) == key_of(other))
    assert (first_difference(one, other) is None) is same(one, other)


@settings(modest, max_examples=100)
@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_texts_share_their_beginning_up_to_the_first_letter_that_differs(one: str, other: str) -> None:
    length = shared_beginning(one, other)
    assert one[:length] == other[:length]
    assert one[length : length + 1] != other[length : length + 1] or length == len(one) == len(other)


def test_true_is_not_one_and_a_null_is_not_nothing() -> None:
    assert not same(True, 1)
    assert same({"a": [1, 2.0]}, {"a": [1.0, 2]})
    assert first_difference({"b": {"a": None}}, {"b": {}}) == ("b.a", None, None)
