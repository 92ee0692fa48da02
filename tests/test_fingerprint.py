"""f1: what is one conversation has one fingerprint, and what is not has another."""

from __future__ import annotations

import pytest

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
from otel_runlog.fingerprint import canonical, fingerprint_of, first_difference, lane_of, request_fingerprint
from otel_runlog.replaying.divergence import Cause


def said(role: str, *parts: Part | str) -> Turn:
    return Turn(Role(role), tuple([TextPart(p) if isinstance(p, str) else p for p in parts]))


def asked(*turns: Turn) -> LlmRequest:
    return LlmRequest(turns=turns)


LOOP = asked(
    said("system", "Be brief."),
    said("user", "Weather?"),
    said("assistant", "Let me look.", CallPart("weather", {"city": "Paris", "days": 1}, "call_1")),
    said("tool", ResultPart("18 C", "call_1")),
)


def test_the_canonical_form_and_its_fingerprint_are_what_is_documented() -> None:
    assert canonical(LOOP) == {
        "system": "Be brief.",
        "turns": [
            {"user": "Weather?"},
            {"assistant": "Let me look.", "calls": [[0, "weather", {"city": "Paris", "days": 1}]]},
            {"tool": [[0, "18 C"]]},
        ],
    }
    assert fingerprint_of(LOOP) == "f1:26624b12b7b9de75edbecc9161dbe1a9"
    assert lane_of(LOOP) == "213c22ed"


def test_messages_have_the_fingerprint_of_their_request() -> None:
    messages: list[Json] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [{"id": "x", "function": {"name": "weather", "arguments": '{"days": 1.0, "city": "Paris"}'}}],
        },
        {"role": "tool", "tool_call_id": "x", "content": "18 C"},
    ]
    assert request_fingerprint(messages) == fingerprint_of(LOOP)


def test_results_belong_to_the_call_they_name_else_to_the_oldest_unanswered() -> None:
    calls = (CallPart("a", {}, "fc_1"), CallPart("b", {}, "fc_2"))
    by_id = asked(said("assistant", *calls), said("tool", ResultPart(2, "fc_2"), ResultPart(1, "fc_1")))
    by_name = asked(said("assistant", *calls), said("tool", ResultPart(2, name="b"), ResultPart(1, name="a")))
    by_order = asked(said("assistant", *calls), said("tool", ResultPart(1, "call_1"), ResultPart(2, "call_2")))
    assert fingerprint_of(by_id) == fingerprint_of(by_name) == fingerprint_of(by_order)
    crossed = asked(said("assistant", *calls), said("tool", ResultPart(2, "fc_1"), ResultPart(1, "fc_2")))
    assert fingerprint_of(crossed) != fingerprint_of(by_id)


def test_an_id_made_of_a_tools_name_names_the_tool() -> None:
    calls = said("assistant", CallPart("f", {}, "f_3"), CallPart("get_g", {}, "get_g_4"))
    made = asked(calls, said("tool", ResultPart(2, "get_g_0"), ResultPart(1, "f_1")))
    assert fingerprint_of(made) == fingerprint_of(
        asked(calls, said("tool", ResultPart(1, "f_3"), ResultPart(2, "get_g_4")))
    )


def test_results_come_before_what_the_user_says_with_them() -> None:
    call, result = said("assistant", CallPart("f", {}, "c")), said("tool", ResultPart(1, "c"))
    before, after = asked(call, said("user", "go on"), result), asked(call, result, said("user", "go on"))
    assert fingerprint_of(before) == fingerprint_of(after)
    assert canonical(before) == canonical(after)


def test_thoughts_models_and_parameters_play_no_part_and_pictures_do() -> None:
    thought = said("assistant", ThinkingPart("hm", "sig"), "Yes.")
    plain = LlmRequest(turns=(said("user", "?"), said("assistant", "Yes.")), model="m", params={"temperature": 1})
    assert fingerprint_of(asked(said("user", "?"), thought)) == fingerprint_of(plain)
    pictures = {fingerprint_of(asked(said("user", "?", MediaPart("image/png", sha)))) for sha in ("aa", "bb")}
    assert len(pictures | {fingerprint_of(asked(said("user", "?")))}) == 3


def test_an_answer_is_one_text_in_whatever_chunks_a_client_kept_it() -> None:
    whole = asked(said("user", "Weather?"), said("assistant", "It is fine."), said("user", "And", "now?"))
    chunks = asked(said("user", "Weather?"), said("assistant", "It is "), said("assistant", "fine."), whole.turns[2])
    assert fingerprint_of(chunks) == fingerprint_of(whole)
    assert fingerprint_of(asked(*whole.turns[:2], said("user", "Andnow?"))) != fingerprint_of(whole)


@pytest.mark.parametrize(
    ("turn", "path", "recorded", "got", "cause"),
    [
        (said("system", "Be kind."), "system", "Be brief.", "Be kind.", Cause.PROMPT),
        (said("user", "Rain?"), "turns[0].user", "Weather?", "Rain?", Cause.INPUT),
        (
            said("assistant", "Let me look.", CallPart("weather", {"city": "Rome", "days": 1}, "x")),
            "turns[1].assistant.calls[0].args.city",
            "Paris",
            "Rome",
            Cause.HISTORY,
        ),
        (said("tool", ResultPart("19 C", "call_1")), "turns[2].tool[0]", "18 C", "19 C", Cause.TOOL_RESULT),
    ],
)
def test_the_first_difference_names_path_values_and_cause(
    turn: Turn, path: str, recorded: Json, got: Json, cause: Cause
) -> None:
    changed = asked(*(turn if turn.role is t.role else t for t in LOOP.turns))
    found = first_difference(LOOP, changed)
    assert found is not None
    assert (found.path, found.recorded, found.got, found.cause) == (path, recorded, got, cause)
    assert first_difference(LOOP, LOOP) is None
