"""What is wrong with a capture, found by deriving again what can be derived. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from otel_runlog.capture import SCHEMA, Capture, CapturedLlm
from otel_runlog.captures._names import check_id
from otel_runlog.captures.building import completeness_of
from otel_runlog.errors import CaptureError
from otel_runlog.fingerprint import Fingerprints, lane_of
from otel_runlog.model import Content, Step, StepKind
from otel_runlog.tree import MODEL_KINDS

OPERATIONS = {StepKind.LLM: "chat", StepKind.EMBEDDING: "embedding"}


def problems_of(capture: Capture) -> list[str]:
    """What is wrong with a capture, a sentence each; empty where all is well.

    Fingerprints, occurrences, lanes and what a call goes on from are derived again; calls are counted against the run's
    steps. Digests of contents and the types of all values are `loads`' to check.
    """
    return [*_of_the_whole(capture), *_of_steps(capture), *_of_calls(capture), *_of_tools(capture)]


def _of_the_whole(capture: Capture) -> Iterator[str]:
    if capture.schema != SCHEMA:
        yield f"The schema is {capture.schema!r}, not {SCHEMA!r}."
    if capture.run.run_id != capture.run_id:
        yield f"It is of the run {capture.run_id!r}, and holds the run {capture.run.run_id!r}."
    try:
        check_id("run_id", capture.run_id)
    except CaptureError as error:
        yield f"The {error}."
    if (said := completeness_of(capture.llm_io)) is not capture.completeness:
        yield f"Its completeness is {capture.completeness}, and that of its calls {said}."


def _counted(capture: Capture, kinds: frozenset[StepKind]) -> list[Step]:
    return [step for step in capture.run.steps if step.counted and step.kind in kinds]


def _of_steps(capture: Capture) -> Iterator[str]:
    """Whether llm_io runs beside the run's model calls, one entry each."""
    steps = _counted(capture, MODEL_KINDS)
    if len(steps) != len(capture.llm_io):
        yield f"llm_io has {len(capture.llm_io)} entries, and the run {len(steps)} model calls."
    if len(steps) != capture.run.llm_calls:
        yield f"The run says that it has {capture.run.llm_calls} model calls, and has {len(steps)}."
    for number, (call, step) in enumerate(zip(capture.llm_io, steps, strict=False)):
        said = call.step_index, call.call_index, call.operation
        if said != (step.step_index, step.call_index, OPERATIONS[step.kind]):
            kind = OPERATIONS[step.kind]
            yield (
                f"llm_io[{number}] is the {call.operation} of step {call.step_index} and call {call.call_index}, "
                f"and there the run has the {kind} of step {step.step_index} and call {step.call_index}."
            )


def _of_calls(capture: Capture) -> Iterator[str]:
    derive, occurrences = Fingerprints(), Counter[str]()
    answered: dict[str, str | None] = {}
    for call in capture.llm_io:
        occurrences.update([call.fingerprint] if call.fingerprint else [])
        expected = occurrences[call.fingerprint] if call.fingerprint else 1
        if call.occurrence != expected:
            said = f"occurrence {call.occurrence} of its fingerprint"
            yield f"Call {call.call_index} says that it is {said}, and is {expected}."
        yield from _of_request(call, derive, answered)
        if call.completeness is Content.FULL and (call.request is None or (call.answer or call.error) is None):
            yield f"Call {call.call_index} says that it is full, and lacks its request or what came of it."
        if call.response_id:
            answered[call.response_id] = call.fingerprint


def _of_request(call: CapturedLlm, derive: Fingerprints, answered: dict[str, str | None]) -> Iterator[str]:
    request = call.request
    fingerprint = derive.of(request) if request else None
    if call.fingerprint != fingerprint:
        yield f"Call {call.call_index} has the fingerprint {call.fingerprint}, and its request {fingerprint}."
    lane = lane_of(request) if request else None
    if call.lane not in (lane, None):
        yield f"Call {call.call_index} is in the lane {call.lane}, and its instructions say {lane}."
    if request and request.previous_response_id:
        previous = answered.get(request.previous_response_id)
        if request.previous != previous:
            yield (
                f"Call {call.call_index} goes on from {request.previous}, and {request.previous_response_id!r} is the "
                f"answer of {previous}."
            )


def _of_tools(capture: Capture) -> Iterator[str]:
    steps = {step.step_index: step for step in _counted(capture, frozenset({StepKind.TOOL}))}
    if len(steps) != capture.run.tool_calls:
        yield f"The run says that it has {capture.run.tool_calls} tool calls, and has {len(steps)}."
    calls = {call.call_index for call in capture.llm_io}
    entries = Counter(tool.step_index for tool in capture.tool_io if tool.step_index is not None)
    for number, tool in enumerate(capture.tool_io):
        step = steps.get(tool.step_index) if tool.step_index is not None else None
        if tool.step_index is not None and (step is None or step.call_index != tool.call_index):
            said = f"step {tool.step_index} and call {tool.call_index}"
            yield f"tool_io[{number}] is of {said}, which is no tool call of the run."
        if tool.after_call is not None and tool.after_call not in calls:
            yield f"tool_io[{number}] was asked for by call {tool.after_call}, which is no model call of the run."
        if tool.source is None and (tool.result is not None or tool.error is not None):
            yield f"tool_io[{number}] has a result, and does not say from where."
    for index in steps:
        if entries[index] != 1:
            yield f"tool_io has {entries[index]} entries of step {index}."
