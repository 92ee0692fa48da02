"""Fingerprints of requests that go on from each other are those that each has alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_runlog import fingerprint
from otel_runlog.conversation import CallPart, LlmRequest, MediaPart, ResultPart, Role, TextPart, ThinkingPart, Turn
from otel_runlog.fingerprint import Fingerprints, fingerprint_of

NAMES, IDS = st.sampled_from(["f", "g"]), st.sampled_from([None, "c1", "c2", ""])
PARTS = st.one_of(
    st.builds(TextPart, st.sampled_from(["", "a", "Zürich", "\ud800", '","turns":['])),
    st.builds(CallPart, NAMES, st.sampled_from([{}, {"b": 1.0, "a": "\udfff"}, "text"]), IDS),
    st.builds(ResultPart, st.sampled_from([None, 1, {"error": "x"}, ["y"]]), IDS, st.none() | NAMES),
    st.builds(MediaPart, sha256=st.just("00")),
    st.builds(ThinkingPart, st.just("hm")),
)
TURNS = st.lists(st.builds(Turn, st.sampled_from(Role), st.lists(PARTS, max_size=3).map(tuple)), max_size=8)
ENDS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8), st.sampled_from([None, "f1:0", "resp"])), max_size=8)


@given(TURNS, TURNS, ENDS)
@settings(max_examples=80)
def test_they_are_those_that_each_request_has_alone(
    one: list[Turn], other: list[Turn], ends: list[tuple[int, int, str | None]]
) -> None:
    together = Fingerprints()
    other = one[: len(one) // 2] + other  # two conversations that part somewhere
    for which, end, previous in ends:
        request = LlmRequest(
            turns=tuple((one, other)[which][:end]),
            previous=previous if previous != "resp" else None,
            previous_response_id=previous,
        )
        assert together.of(request) == fingerprint_of(request)


def test_an_embeddings_is_that_of_its_inputs() -> None:
    request = LlmRequest(operation="embedding", inputs=("a", "b"))
    assert Fingerprints().of(request) == fingerprint_of(request)


def test_what_was_said_before_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[Turn] = []
    said = fingerprint._said
    monkeypatch.setattr(fingerprint, "_said", lambda turns: said([looked_at.append(t) or t for t in turns]))
    turns = tuple(Turn(Role.USER if i % 2 else Role.ASSISTANT, (TextPart(str(i)),)) for i in range(100))
    together = Fingerprints()
    for end in range(0, 101, 10):
        together.of(LlmRequest(turns=turns[:end]))
    assert len(looked_at) == 100


def test_agents_that_take_turns_are_each_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[Turn] = []
    said = fingerprint._said
    monkeypatch.setattr(fingerprint, "_said", lambda turns: said([looked_at.append(t) or t for t in turns]))
    agents = [tuple(Turn(Role.USER, (TextPart(f"{a} {i}"),)) for i in range(20)) for a in range(8)]
    together = Fingerprints()
    for end in range(1, 21):
        for turns in agents:
            together.of(LlmRequest(turns=turns[:end]))
    assert len(looked_at) == 8 * 20
