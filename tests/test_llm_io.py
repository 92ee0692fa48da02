"""The messages of llm steps, and the previews of a run."""

from __future__ import annotations

import json

import pytest

from otel_runlog import conventions
from otel_runlog.llm_io import StepMessages, llm_io_of, messages_of, previews_of
from otel_runlog.model import Attributes, Content, RunLog, Span
from otel_runlog.pricing import PriceTable
from otel_runlog.resolve import key_of
from otel_runlog.runs import project, project_with_llm_io
from otel_runlog.testing import TraceBuilder

PRICES = PriceTable()


def said(**texts: str) -> Attributes:
    """gen_ai messages: `user` goes in, `assistant` comes out."""

    def one(role: str) -> str:
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": texts[role]}]}])

    keys = {"user": "gen_ai.input.messages", "assistant": "gen_ai.output.messages"}
    return {keys[role]: one(role) for role in texts}


def previews(t: TraceBuilder) -> tuple[str | None, str | None]:
    [run] = project(t.spans, prices=PRICES)
    return previews_of(run, StepMessages({key_of(s): s for s in t.spans}))


def test_one_llm_io_a_counted_llm_step_in_order_also_without_content() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m", said(user="hi", assistant="hello"), parent=a)
    t.tool("x", parent=a)
    t.chat("m", parent=a)
    [(run, ios)] = project_with_llm_io(t.spans, prices=PRICES)
    assert [(io.run_id, io.call_index, io.completeness) for io in ios] == [
        (run.run_id, 1, Content.FULL),
        (run.run_id, 3, Content.NONE),
    ]
    assert [m.text for m in (*ios[0].input, *ios[0].output)] == ["hi", "hello"]


def test_a_call_without_content_takes_that_of_its_other_view() -> None:
    t = TraceBuilder()
    outer = t.chat("m", said(user="hi", assistant="hello"), input_tokens=1, output_tokens=1, duration_ms=9)
    inner = t.chat("m", parent=outer, input_tokens=1, output_tokens=1, scope="client")
    [(_, [io])] = project_with_llm_io(t.spans, prices=PRICES)
    assert (io.span_id, [m.text for m in io.input], io.completeness) == (inner.span_id, ["hi"], Content.FULL)


def test_a_prompt_whose_pictures_were_left_out_is_that_of_the_other_view() -> None:
    t = TraceBuilder()
    parts = [{"type": "blob", "content": "aGVsbG8="}], [{"type": "anthropic_image"}]
    seen, hollow = (json.dumps([{"role": "user", "parts": p}], separators=(",", ":")) for p in parts)
    outer = t.chat("m", {"gen_ai.input.messages": seen}, input_tokens=1, output_tokens=1, duration_ms=9)
    t.chat("m", {"gen_ai.input.messages": hollow}, parent=outer, input_tokens=1, output_tokens=1, scope="client")
    [(_, [io])] = project_with_llm_io(t.spans, prices=PRICES)
    assert "aGVsbG8=" in io.input[0].raw


def test_two_calls_of_one_span_id_keep_their_own_messages() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m", said(user="one"), parent=a)
    t.chat("m", said(user="two"), parent=a).span_id = t.spans[1].span_id
    [run] = project(t.spans, prices=PRICES)
    ios = llm_io_of(run, StepMessages({key_of(s): s for s in t.spans}))
    assert [io.input[0].text for io in ios] == ["one", "two"]


def test_previews_are_the_first_question_and_the_last_answer() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m", said(user="first?", assistant="wait"), parent=a)
    t.chat("m", said(user="second?", assistant="done"), parent=a)
    assert previews(t) == ("first?", "done")


def test_an_agent_without_calls_shows_what_it_says_itself() -> None:
    t = TraceBuilder()
    t.agent("a", said(user="hi", assistant="hello"))
    assert previews(t) == ("hi", "hello")


def test_previews_are_cut_to_200_characters() -> None:
    t = TraceBuilder()
    t.chat("m", said(user="x" * 201, assistant="y" * 200))
    assert previews(t) == ("x" * 199 + "…", "y" * 200)


def test_a_run_without_content_has_no_previews() -> None:
    assert previews_of(RunLog("r"), StepMessages({})) == (None, None)


def test_messages_that_cannot_be_read_cost_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(span: Span) -> None:
        raise RecursionError(span.name)

    monkeypatch.setattr(conventions, "messages", broken)
    t = TraceBuilder()
    assert messages_of(t.chat("m")).input == ()
    assert previews(t) == (None, None)
