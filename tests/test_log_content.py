"""Messages that log records tell: in any form, order and number of deliveries, and never beside the span's."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from corpus import scenario
from hypothesis import given, settings
from hypothesis import strategies as st
from test_loader import load_items

from otel_runlog.log_content import content_of_calls, messages_in
from otel_runlog.model import Attributes, AttrValue, Content, LlmIo, LogRecord, Scope, Span
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project, project_with_llm_io
from otel_runlog.store.reader import StoreReader
from otel_runlog.testing import MS, START_NS, TraceBuilder

PRICES = PriceTable()
DETAILS = "gen_ai.client.inference.operation.details"


def call(**attributes: AttrValue) -> tuple[TraceBuilder, Span]:
    t = TraceBuilder("logged")
    return t, t.chat("m", attributes, parent=t.agent("a"), input_tokens=5, output_tokens=2)


def record(span: Span, name: str, body: AttrValue = None, *, at: int = 0, **attributes: AttrValue) -> LogRecord:
    return LogRecord(
        time_ns=START_NS + at * MS,
        trace_id=span.trace_id,
        span_id=span.span_id,
        event_name=name,
        body=body,
        attributes=attributes,
    )


def parts(role: str, text: str) -> AttrValue:
    return [{"role": role, "parts": [{"type": "text", "content": text}]}]


def details(span: Span, *, asked: str = "hi", said: str = "hello", at: int = 9) -> LogRecord:
    told: Attributes = {
        "gen_ai.input.messages": parts("user", asked),
        "gen_ai.output.messages": parts("assistant", said),
    }
    return record(span, DETAILS, at=at, **told, **{"gen_ai.usage.input_tokens": 5})


def conversation(span: Span) -> list[LogRecord]:
    calls: AttrValue = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    return [
        record(span, "gen_ai.system.message", {"content": "be brief"}, at=1),
        record(span, "gen_ai.user.message", {"content": "weather?"}, at=2),
        record(span, "gen_ai.assistant.message", {"tool_calls": calls}, at=3),
        record(span, "gen_ai.tool.message", {"id": "c1", "content": "sunny"}, at=4),
        record(span, "gen_ai.choice", {"index": 0, "message": {"role": "assistant", "content": "it is sunny"}}, at=5),
    ]


def io_of(t: TraceBuilder, logs: Sequence[LogRecord]) -> LlmIo:
    [(_, [io])] = project_with_llm_io(t.spans, logs=logs, prices=PRICES)
    return io


def told(io: LlmIo) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in (*io.system, *io.input, *io.output)]


def test_records_of_one_message_each_make_the_conversation_whatever_their_order() -> None:
    t, span = call()
    io = io_of(t, conversation(span)[::-1])
    assert [role for role, _ in told(io)] == ["system", "user", "assistant", "tool", "assistant"]
    assert [text for _, text in told(io)][3:] == ["sunny", "it is sunny"]
    assert json.loads(io.input[2].raw)["id"] == "c1"
    assert io.completeness is Content.FULL


def test_a_record_of_the_whole_call_tells_everything() -> None:
    t, span = call()
    io = io_of(t, [details(span)])
    assert (told(io), io.completeness) == ([("user", "hi"), ("assistant", "hello")], Content.FULL)


def test_usage_of_a_record_is_not_added_to_that_of_the_span() -> None:
    t, span = call()
    [run] = project(t.spans, logs=[details(span), details(span)], prices=PRICES)
    assert (run.tokens.input_tokens, run.tokens.output_tokens, run.llm_calls) == (5, 2, 1)


def test_a_direction_that_the_span_tells_stays_the_spans() -> None:
    t, span = call(**{"gen_ai.input.messages": json.dumps(parts("user", "from the span"))})
    assert told(io_of(t, [details(span)])) == [("user", "from the span"), ("assistant", "hello")]


def test_of_two_records_of_a_call_the_later_counts_and_messages_one_by_one_do_not() -> None:
    t, span = call()
    logs = [details(span, said="later", at=9), details(span, said="early", at=8), *conversation(span)]
    assert told(io_of(t, logs)) == [("system", "be brief"), ("user", "hi"), ("assistant", "later")]


def test_two_scopes_that_tell_the_same_conversation_tell_it_once() -> None:
    t, span = call()
    again = conversation(span)
    for copy in again:
        copy.scope = Scope("other")
    assert len(told(io_of(t, [*conversation(span), *again]))) == 5


@pytest.mark.parametrize(
    ("name", "body", "attributes"),
    [
        ("gen_ai.user.message", '{"content": "hi"}', {}),
        ("gen_ai.user.message", None, {"content": "hi", "gen_ai.system": "openai"}),
        ("gen_ai.user.message", None, {"gen_ai.event.content": '{"content": "hi"}'}),
        ("", {"content": "hi"}, {"event.name": "gen_ai.user.message"}),
        (DETAILS, {"gen_ai.input.messages": [{"role": "user", "content": "hi"}]}, {}),
        (DETAILS, None, {"gen_ai.input.messages": '[{"role": "user", "content": "hi"}]'}),
    ],
)
def test_a_message_is_found_wherever_emitters_put_it(name: str, body: AttrValue, attributes: Attributes) -> None:
    t, span = call()
    io = io_of(t, [record(span, name, body, **attributes)])
    assert (told(io), io.completeness) == ([("user", "hi")], Content.TRUNCATED)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("gen_ai.user.message", None),
        ("gen_ai.choice", {"index": 0, "message": {"role": "assistant"}}),
        ("gen_ai.choice", {"message": {"tool_calls": [{"id": "c1", "function": {"name": "f"}}]}}),
        ("gen_ai.tool.message", {"id": "c1"}),
        ("gen_ai.choice", [1, {"a": None}]),
        (DETAILS, None),
        ("other", {"content": "hi"}),
    ],
)
def test_records_without_content_tell_nothing(name: str, body: AttrValue) -> None:
    t, span = call()
    io = io_of(t, [record(span, name, body, **{"gen_ai.system": "openai"})])
    assert (told(io), io.completeness) == ([], Content.NONE)


def test_an_answer_alone_is_an_answer() -> None:
    t, span = call()
    assert io_of(t, conversation(span)[-1:]).completeness is Content.ANSWER


def test_a_prompt_that_begins_with_a_tools_result_is_not_all_of_it() -> None:
    t, span = call()
    io = io_of(t, conversation(span)[3:])
    assert (io.completeness, [m.text for m in io.input]) == (Content.ANSWER, ["sunny"])


def test_an_answer_that_was_cut_short_stays_so() -> None:
    t, span = call(**{"error.type": "ConnectionError"})
    span.status_code = 2
    assert io_of(t, conversation(span)).completeness is Content.TRUNCATED


def test_records_of_other_spans_and_of_no_span_tell_nothing() -> None:
    t, span = call()
    lost = details(span)
    lost.span_id = None
    assert told(io_of(t, [details(t.spans[0]), lost])) == []


# -- the store --------------------------------------------------------------------------------------------

SCENARIOS = (
    "otel-genai-openai@events/responses_tool_loop",
    "otel-openai-v2@legacy/tool_loop_in_span",
    "otel-openai-v2@events/streaming_chat",
    "otel-openai-v2@defaults/tool_loop_in_span",
    "otel-genai-anthropic@events/streaming_chat",
    "otel-google-genai/multi_turn",
    "agent-framework/tool_loop_responses_api",
    "google-adk@latest/tool_loop",
)


def rows_of(ios: Sequence[LlmIo]) -> set[tuple[object, ...]]:
    return {
        (io.run_id, direction, position, message.role, message.text)
        for io in ios
        for direction in ("system", "input", "output", "tools")
        for position, message in enumerate(getattr(io, direction))
    }


def stored_rows(db: Path) -> list[tuple[object, ...]]:
    with StoreReader(db) as reader:
        found = reader.query(
            "select m.run_id, m.span_id, direction, position, role, text from messages m "
            "join steps s on m.run_id = s.run_id and m.span_id = s.span_id where s.kind = 'llm'"
        )
        return [tuple(row) for row in found.rows]


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_the_store_has_the_messages_of_project_whatever_came_first(name: str, data: st.DataObject) -> None:
    found = scenario(name)
    spans, logs = found.spans(), found.log_records()
    again = data.draw(st.lists(st.sampled_from(logs), max_size=4), label="again")
    items = data.draw(st.permutations([*spans, *logs, *again]), label="order")
    cuts = data.draw(st.lists(st.integers(0, len(items)), max_size=2), label="cuts")
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "runs.duckdb"
        for number, (a, b) in enumerate(itertools.pairwise([0, *sorted(cuts), len(items)])):
            load_items(db, number + 1, items[a:b], PRICES)
        rows = stored_rows(db)
        with StoreReader(db) as reader:
            runs = {run.run_id: reader.run(run.run_id).steps for run in reader.runs()}
            previews = reader.query("select run_id, input is not null from runs").rows
    want = project_with_llm_io(spans, logs=logs, prices=PRICES)
    ios = [io for _, found_ios in want for io in found_ios]
    assert len(rows) == len(set(rows))
    assert {(run_id, *rest) for run_id, _, *rest in rows} == rows_of(ios)  # another view of a call may have them
    assert runs == {run.run_id: run.steps for run, _ in want}
    assert dict(map(tuple, previews)) == {
        run.run_id: any(m.role == "user" for io in found_ios for m in io.input) for run, found_ios in want
    }


def test_what_records_told_gives_way_to_the_span_in_the_store(tmp_path: Path) -> None:
    t, span = call(**{"gen_ai.input.messages": json.dumps(parts("user", "from the span"))})
    db = tmp_path / "runs.duckdb"
    load_items(db, 1, [details(span), *conversation(span)], PRICES)
    load_items(db, 2, t.spans, PRICES)
    assert sorted((d, p, x) for _, _, d, p, _, x in stored_rows(db)) == [
        ("input", 0, "from the span"),
        ("output", 0, "hello"),
        ("system", 0, "be brief"),
    ]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_no_body_is_too_hostile(body: AttrValue) -> None:
    _, span = call()
    for name in ("gen_ai.choice", "gen_ai.user.message", DETAILS):
        hostile = record(span, name, body, **{"gen_ai.output.messages": body})
        assert all(m.message.text for m in messages_in(hostile))
        content_of_calls([hostile])
