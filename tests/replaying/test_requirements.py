"""What a capture must hold to be replayed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from replays import answer, call, capture, request

from otel_runlog.conventions import BY_NAME
from otel_runlog.errors import CaptureMissingError, NoLlmCall
from otel_runlog.model import Content, RunLog, Step, StepKind
from otel_runlog.replaying.divergence import ReplayMode
from otel_runlog.replaying.requirements import SETTINGS, check_replayable

FULL = call(1, request("one"), answer("1"))
NO_PROMPT = call(2, None, answer("2"))
NO_ANSWER = call(2, request("two"), None)
NOTHING = call(2, None, None)
STRICT, SOFT, LIVE = ReplayMode


@pytest.mark.parametrize(
    ("calls", "mode", "key"),
    [
        ([FULL], STRICT, "fingerprint"),
        ([FULL, NO_ANSWER], STRICT, "fingerprint"),  # a killed run: it replays as far as it came
        ([NO_PROMPT], SOFT, "fingerprint"),
        ([NO_PROMPT], STRICT, "order"),
        ([FULL, NO_PROMPT], LIVE, "fingerprint"),
        ([FULL, NOTHING], SOFT, "fingerprint"),
    ],
)
def test_these_can(calls: list, mode: ReplayMode, key: str) -> None:
    check_replayable(capture(*calls), mode=mode, key=key)


@pytest.mark.parametrize(
    ("calls", "mode", "said"),
    [
        ([NOTHING], SOFT, "1 model call, 0 recorded with content. To record it: "),
        ([NO_ANSWER], STRICT, "1 model call, 0 recorded with its answer. To record it: "),
        ([FULL, NOTHING], STRICT, "2 model calls, 1 recorded with its prompt (not: call 2). To record it: "),
        ([FULL, NO_PROMPT], STRICT, "2 model calls, 1 recorded with its prompt (not: call 2). To record it: "),
        ([NO_PROMPT], LIVE, "it can be replayed with --mode soft"),
    ],
)
def test_these_cannot(calls: list, mode: ReplayMode, said: str) -> None:
    with pytest.raises(CaptureMissingError) as raised:
        check_replayable(capture(*calls), mode=mode)
    assert str(raised.value).startswith("run 3f2a9c00 cannot be replayed: ")
    assert said in str(raised.value)


def test_no_model_call() -> None:
    with pytest.raises(NoLlmCall, match="has no model call to replay"):
        check_replayable(capture())


def test_the_setting_is_that_of_what_recorded_the_run() -> None:
    step = Step(trace_id="t", span_id="s", kind=StepKind.LLM, counted=True, convention="traceloop")
    with pytest.raises(
        CaptureMissingError, match=r"To record it: TRACELOOP_TRACE_CONTENT=true, with content=\"full\", "
    ):
        check_replayable(capture(NOTHING, completeness=Content.NONE, run=RunLog("r" * 32, steps=(step,))))


def test_a_run_of_hashes_names_the_setting_that_wrote_them() -> None:
    step = Step(trace_id="t", span_id="s", kind=StepKind.LLM, counted=True, step_index=2, content=Content.FULL)
    with pytest.raises(CaptureMissingError, match='To record it: content="full" of RunLogSpanProcessor: hashes'):
        check_replayable(
            capture(
                replace(NOTHING, completeness=Content.NONE),
                completeness=Content.NONE,
                run=RunLog("r" * 32, steps=(step,)),
            )
        )


def test_settings_are_of_conventions_there_are() -> None:
    assert set(SETTINGS) <= set(BY_NAME)
