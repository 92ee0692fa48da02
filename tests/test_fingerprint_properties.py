"""What no instrumentation keeps does not change a fingerprint, and every edit of what was said does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from otel_runlog.conversation import (
    CallPart,
    Json,
    LlmRequest,
    MediaPart,
    Part,
    ResultPart,
    Role,
    TextPart,
    ThinkingPart,
    Turn,
)
from otel_runlog.fingerprint import canonical, fingerprint_of, first_difference, request_fingerprint

cheap = settings(max_examples=60, deadline=None, derandomize=True)

TEXTS = st.text(min_size=1, max_size=8)
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=True)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, min_size=1, max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> LlmRequest:
    """Rounds of a user's text, an answer with calls, and their results, under ids of their own."""
    turns = [Turn(Role.SYSTEM, (TextPart(draw(TEXTS)),))]
    calls = 0
    for _ in range(draw(st.integers(1, 3))):
        turns.append(Turn(Role.USER, tuple(draw(st.lists(TEXTS.map(TextPart), min_size=1, max_size=2)))))
        asked = [CallPart(draw(TEXTS), draw(OBJECTS), f"call_{calls + i}") for i in range(draw(st.integers(0, 3)))]
        calls += len(asked)
        turns.append(Turn(Role.ASSISTANT, (TextPart(draw(TEXTS)), *asked)))
        turns.append(Turn(Role.TOOL, tuple([ResultPart(draw(VALUES), c.id) for c in asked])))
    return LlmRequest(turns=tuple(turns))


def changed(request: LlmRequest, change: Callable[[Part], Iterable[Part]]) -> LlmRequest:
    """The request with every part put through `change`, which may give several."""
    return LlmRequest(
        turns=tuple([Turn(t.role, tuple([q for p in t.parts for q in change(p)])) for t in request.turns])
    )


@cheap
@given(conversations(), st.randoms())
def test_ids_key_order_thoughts_and_order_of_results_play_no_part(request: LlmRequest, random: Random) -> None:
    names: dict[str | None, str] = {}

    def renamed(part: Part) -> Iterator[Part]:
        if isinstance(part, CallPart):
            arguments = part.arguments
            assert isinstance(arguments, dict)
            yield ThinkingPart("hm", "signature")
            names[part.id] = f"toolu_of_{part.id}"
            yield CallPart(part.name, dict(reversed(arguments.items())), names[part.id])
        elif isinstance(part, ResultPart):
            yield ResultPart(part.value, names[part.id], "a name", is_error=True)
        else:
            yield part

    turns = changed(request, renamed).turns
    shuffled = [Turn(t.role, tuple(random.sample(t.parts, len(t.parts)))) if t.role is Role.TOOL else t for t in turns]
    other = LlmRequest(turns=tuple(shuffled), model="m")
    assert fingerprint_of(other) == fingerprint_of(request)
    assert first_difference(request, other) is None


@cheap
@given(conversations())
def test_it_is_one_however_parts_are_grouped_into_messages(request: LlmRequest) -> None:
    split = tuple([Turn(t.role, (part,)) for t in request.turns for part in t.parts])
    in_users = tuple([Turn(Role.USER if t.role is Role.TOOL else t.role, t.parts) for t in request.turns])
    system, *rest = request.turns
    for turns in (split, in_users, (*rest, system)):
        assert fingerprint_of(LlmRequest(turns=turns)) == fingerprint_of(request)
    assert turns_of(LlmRequest(turns=split)) == turns_of(request)


def turns_of(request: LlmRequest) -> list[Json]:
    found = canonical(request)
    assert isinstance(found, dict)
    turns = found["turns"]
    assert isinstance(turns, list)
    return turns


@cheap
@given(conversations(), st.data())
def test_every_edit_of_a_text_an_argument_or_a_result_changes_it_and_is_found(
    request: LlmRequest, data: st.DataObject
) -> None:
    places = [(i, j) for i, t in enumerate(request.turns) for j in range(len(t.parts))]
    i, j = data.draw(st.sampled_from(places))

    def edited(part: Part) -> Part:
        if isinstance(part, TextPart):
            return TextPart(part.text + data.draw(TEXTS))
        if isinstance(part, CallPart):
            assert isinstance(part.arguments, dict)
            return CallPart(part.name, {**part.arguments, "one more key": 1}, part.id)
        assert isinstance(part, ResultPart)
        return ResultPart([part.value], part.id)

    turns = list(request.turns)
    parts = list(turns[i].parts)
    parts[j] = edited(parts[j])
    turns[i] = Turn(turns[i].role, tuple(parts))
    other = LlmRequest(turns=tuple(turns))
    assert fingerprint_of(other) != fingerprint_of(request)
    found = first_difference(request, other)
    assert found is not None
    assert found.recorded != found.got
    assert found.path == "system" or found.path.startswith("turns[")


@cheap
@given(OBJECTS)
def test_arguments_are_the_same_as_a_value_and_as_json_text(arguments: dict[str, Json]) -> None:
    text = json.dumps(arguments)
    if "NaN" in text or "Infinity" in text:
        return

    def asked(value: Json) -> list[Json]:
        return [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": value}}]}]

    assert request_fingerprint(asked(text)) == request_fingerprint(asked(arguments))


@cheap
@given(st.integers(-(2**53), 2**53) | st.sampled_from((2**63, 2**64, -(2**63), 10**20, 2**80)))
def test_numbers_are_compared_by_value(number: int) -> None:
    def asked(value: Json) -> LlmRequest:
        return LlmRequest(turns=(Turn(Role.ASSISTANT, (CallPart("f", {"n": [value]}),)),))

    assert fingerprint_of(asked(number)) == fingerprint_of(asked(float(number)))
    assert fingerprint_of(asked(number)) != fingerprint_of(asked(number * 2 + 1))
    assert fingerprint_of(asked(number)) != fingerprint_of(asked(str(number)))


def test_what_json_cannot_say_has_a_fingerprint_of_its_own() -> None:
    deep: Json = []
    for _ in range(300):
        deep = [deep]
    strange: list[Json] = [float("nan"), float("inf"), 10**400, 10**5000, 2**64, True, 1, "", "\ud800", "\ud801", deep]
    found = {fingerprint_of(LlmRequest(turns=(Turn(Role.TOOL, (ResultPart(value),)),))) for value in strange}
    assert len(found) == len(strange)
    assert fingerprint_of(LlmRequest(turns=(Turn(Role.USER, (MediaPart(uri="file_1"),)),))).startswith("f1:")
