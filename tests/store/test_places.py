"""The text of a message is where its span says, however it is spelled there, and nowhere twice."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_runlog.model import Span
from otel_runlog.store.batch import Batch, StoredSpan
from otel_runlog.store.places import SpanMessage, pack_messages
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.writer import StoreWriter

KEY = "gen_ai.input.messages"
TEXT = 'It says "no" \\ and\nthat\tis /all/ there is: {"a": [1, 2]}, {"b": 3} \u2013 élan 🎉'


def read_back(messages: list[SpanMessage], attributes: dict[str, str]) -> list[tuple[object, ...]]:
    span = Span("7a" * 16, "51" * 8, started_ns=1, ended_ns=2, attributes=dict(attributes))
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "runs.duckdb"
        with StoreWriter(db) as writer:
            writer.append(Batch(spans=[StoredSpan(span, b"d", 1, "test", pack_messages(messages, span.attributes))]))
            [stored] = writer.spans_of([span.trace_id])
        assert stored.span == span
        with StoreReader(db) as reader:
            found = reader.query("select direction, position, role, text, bytes from messages order by all").rows
    return [tuple(row) for row in found]


def rows_of(messages: list[SpanMessage]) -> list[tuple[object, ...]]:
    return sorted((m.direction, m.position, m.role, m.text, len(m.text.encode())) for m in messages)


@pytest.mark.parametrize(
    "spelled",
    [
        json.dumps([{"content": TEXT}], ensure_ascii=False),
        json.dumps([{"content": TEXT}]),
        json.dumps([{"content": TEXT}], separators=(",", ":")),
        TEXT,
    ],
    ids=["JSON", "ASCII JSON", "compact JSON", "as it is"],
)
def test_a_text_is_found_in_its_attribute_and_not_written_again(spelled: str) -> None:
    message = SpanMessage("input", 0, "user", TEXT)
    packed = pack_messages([message], {KEY: spelled})
    assert packed is not None
    assert "It says" not in packed
    assert read_back([message], {KEY: spelled}) == rows_of([message])


@pytest.mark.parametrize("key", ["a.b", 'say "hi"', "$", "a b", "päth", "x'y", "back\\slash"])
def test_any_name_of_an_attribute_will_do(key: str) -> None:
    message = SpanMessage("output", 0, "assistant", "a" * 40)
    assert read_back([message], {key: "a" * 40}) == rows_of([message])


def test_a_conversation_that_repeats_itself_is_found_piece_by_piece() -> None:
    messages = [SpanMessage("input", n, "user", f"message {n % 3} " + "x" * 40) for n in range(9)]
    value = json.dumps([{"content": m.text} for m in messages])
    assert read_back(messages, {KEY: value, "other": "y" * 99}) == rows_of(messages)


@pytest.mark.parametrize("text", ["nul \0 in a text that is long enough", "in no attribute, though it is long enough"])
def test_what_cannot_be_read_there_is_kept_as_it_is(text: str) -> None:
    message = SpanMessage("input", 0, "user", text)
    assert read_back([message], {KEY: json.dumps([{"content": "else"}])}) == rows_of([message])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), min_size=1, max_size=5),
    st.booleans(),
    st.text(max_size=12),
)
def test_every_text_comes_back_exactly(texts: list[str], ascii_only: bool, key: str) -> None:
    messages = [SpanMessage("input", n, "user", text) for n, text in enumerate(texts)]
    name = key.encode("utf-8", "replace").decode()
    value = json.dumps([{"role": "user", "content": text} for text in texts], ensure_ascii=ascii_only)
    assert read_back(messages, {name: value}) == rows_of(messages)
