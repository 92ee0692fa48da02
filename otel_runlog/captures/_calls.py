"""The model calls of a run as a capture holds them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from otel_runlog.capture import CapturedLlm
from otel_runlog.captures._told import NOTHING, Told, ToldLlm
from otel_runlog.conventions._base import CUT_NOTE
from otel_runlog.conventions._call_facts import embedding_vectors, previous_response, provider_version
from otel_runlog.conventions._errors import error_status
from otel_runlog.conventions.turns import answer_of, definitions_of, request_of, turns_of
from otel_runlog.conversation import (
    CallError,
    CallPart,
    LlmAnswer,
    LlmRequest,
    MediaPart,
    Params,
    ResultPart,
    Role,
    ToolDefinition,
    Turn,
)
from otel_runlog.fingerprint import Fingerprints, lane_of
from otel_runlog.llm_io import StepMessages, io_of
from otel_runlog.model import Attributes, Content, LlmIo, Message, RunLog, Step, StepKind, StepStatus
from otel_runlog.tree import MODEL_KINDS

BAD = frozenset({StepStatus.FAILED, StepStatus.CANCELLED})


def calls_of(run: RunLog, messages: StepMessages, told: Told = NOTHING) -> list[CapturedLlm]:
    """One entry for each counted llm and embedding step, in order."""
    reading = _Reading(told)
    return [reading.call(step, io, _attributes(step, messages)) for step, io in io_of(run, messages, MODEL_KINDS)]


def error_of(step: Step, attributes: Attributes) -> CallError | None:
    """How a step failed; None where it did not."""
    if step.status not in BAD:
        return None
    status = error_status(attributes, step.error_type, step.error_message)
    return CallError(step.error_type, step.error_message, status)


def _attributes(step: Step, messages: StepMessages) -> Attributes:
    span = messages.span_of(step)
    return span.attributes if span else {}


class _Turns:
    """Messages as turns, each message read once: a call repeats all that was said before."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, str], tuple[Turn, ...]] = {}
        self._tools: dict[tuple[str, ...], tuple[ToolDefinition, ...] | None] = {}

    def of(self, messages: Sequence[Message]) -> tuple[Turn, ...]:
        found: list[Turn] = []
        for message in messages:
            key = message.role, message.raw
            turns = self._turns.get(key)
            if turns is None:
                turns = self._turns[key] = turns_of((message,))
            found += turns
        return tuple(found)

    def definitions(self, messages: Sequence[Message]) -> tuple[ToolDefinition, ...] | None:
        key = tuple([m.raw for m in messages])
        if key not in self._tools:
            self._tools[key] = definitions_of(messages)
        return self._tools[key]


class _Reading:
    """Reads the calls of one run in order, for a call may go on from one before."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._turns = _Turns()
        self._fingerprints = Fingerprints()
        self._answered: dict[str, CapturedLlm] = {}
        self._askers: dict[str, CapturedLlm] = {}
        self._occurrences = Counter[str]()

    def call(self, step: Step, io: LlmIo, attributes: Attributes) -> CapturedLlm:
        """The next call."""
        embeds = step.kind is StepKind.EMBEDDING
        told = self._told.get((step.trace_id, step.span_id))
        if isinstance(told, ToldLlm):
            request, answer, error = told.request and self._after_previous(told.request), told.answer, told.error
        else:
            request = self._request(step, io, attributes)
            error = error_of(step, attributes)
            # What a span says beside a provider's refusal is that refusal once more (LangChain's dump of it).
            refused = error is not None and error.http_status is not None
            answer = None if refused else answer_of(io, step) or _vectors(step, request, attributes)
        fingerprint = self._fingerprints.of(request) if request else None
        call = CapturedLlm(
            step_index=step.step_index,
            call_index=step.call_index or 0,
            operation="embedding" if embeds else "chat",
            fingerprint=fingerprint,
            occurrence=self._occurrence(fingerprint),
            lane=lane_of(request) if request else None,
            request=request,
            answer=answer,
            error=error,
            completeness=_completeness(step, io, request, answer, error),
            response_id=step.response_id,
            provider=step.provider,
            model=step.request_model or step.model,
            model_version=step.response_model,
            provider_version=provider_version(attributes),
            seed=_seed(step.params),
            params=request.params if request else _params(step),
        )
        self._remember(call)
        return call

    def _occurrence(self, fingerprint: str | None) -> int:
        if fingerprint is None:
            return 1
        self._occurrences[fingerprint] += 1
        return self._occurrences[fingerprint]

    def _remember(self, call: CapturedLlm) -> None:
        if call.response_id:
            self._answered[call.response_id] = call
        for part in call.answer.tool_calls if call.answer else ():
            if part.id:
                self._askers[part.id] = call

    def _request(self, step: Step, io: LlmIo, attributes: Attributes) -> LlmRequest | None:
        if io.completeness is Content.ANSWER:  # its prompt may be the end of one, whose beginning is known here
            io = msgspec.structs.replace(io, completeness=Content.TRUNCATED)
        tools = self._turns.definitions(io.tools)
        request = request_of(msgspec.structs.replace(io, tools=()), step, self._turns.of)
        if request is None or request.operation == "embedding":
            return request
        previous = request.previous_response_id or previous_response(attributes)
        request = msgspec.structs.replace(request, tools=tools, previous_response_id=previous)
        return self._continued(request)

    def _continued(self, request: LlmRequest) -> LlmRequest:
        """A request with the fingerprint of the call it goes on from: named, or the one that asked for its results.

        Anthropic's tool runner names the message before on the wire (`thread`), and no span says so.
        """
        if request.previous_response_id:
            return self._after_previous(request)
        before = next((c for p in _results_at_start(request) if (c := self._askers.get(p.id or ""))), None)
        return msgspec.structs.replace(request, previous=before.fingerprint) if before else request

    def _after_previous(self, request: LlmRequest) -> LlmRequest:
        """A request with the fingerprint of the call whose answer it says it goes on from."""
        before = self._answered.get(request.previous_response_id or "")
        return msgspec.structs.replace(request, previous=before.fingerprint) if before else request


def _results_at_start(request: LlmRequest) -> Iterator[ResultPart]:
    """The results with which a conversation begins that began before."""
    for turn in request.turns:
        for part in turn.parts if turn.role is not Role.SYSTEM else ():
            if not isinstance(part, ResultPart):
                return
            yield part


def _vectors(step: Step, request: LlmRequest | None, attributes: Attributes) -> LlmAnswer | None:
    """An embedding call's answer out of attributes that are no messages."""
    if request is None or not request.inputs:
        return None
    vectors = embedding_vectors(attributes, len(request.inputs))
    model = step.response_model or step.model
    return LlmAnswer(response_id=step.response_id, model=model, usage=step.usage, vectors=vectors) if vectors else None


def _params(step: Step) -> Params:
    return {name: value for name, value in step.params.items() if not isinstance(value, bytes)}  # type: ignore[misc]


def _seed(params: Attributes) -> int | None:
    seed = params.get("seed")
    return seed if isinstance(seed, int) and not isinstance(seed, bool) else None


def _completeness(
    step: Step, io: LlmIo, request: LlmRequest | None, answer: LlmAnswer | None, error: CallError | None
) -> Content:
    """How much of a call is here, for a replay: what the span says of itself, and what became of it."""
    if request is None:
        return (Content.TRUNCATED if _is_cut(step, io) else Content.ANSWER) if answer else Content.NONE
    if answer is None and (error is None or step.status is StepStatus.CANCELLED):
        return Content.TRUNCATED
    if _begins_later(request) or _lacks_media(request):
        return Content.TRUNCATED
    if answer and (_is_cut(step, io) or any(_is_cut_short(call) for call in answer.tool_calls)):
        return Content.TRUNCATED
    return Content.TRUNCATED if CUT_NOTE in step.notes else Content.FULL


def _is_cut(step: Step, io: LlmIo) -> bool:
    return io.completeness is Content.TRUNCATED or CUT_NOTE in step.notes


def _is_cut_short(call: CallPart) -> bool:
    """Arguments that were JSON once; a tool that takes text has any other."""
    return isinstance(call.arguments, str) and call.arguments[:1] in ("{", "[")


def _lacks_media(request: LlmRequest) -> bool:
    """Whether a picture or a file was sent of which neither bytes nor address are known."""
    parts = [part for turn in request.turns for part in turn.parts]
    results = (part.value for part in parts if isinstance(part, ResultPart) and isinstance(part.value, list))
    return any(isinstance(part, MediaPart) and not (part.sha256 or part.uri) for part in parts) or any(
        {"media": None} in blocks for blocks in results
    )


def _begins_later(request: LlmRequest) -> bool:
    """Whether the conversation began before, and nobody knows where."""
    if request.previous_response_id and request.previous is None:
        return True
    return request.previous is None and next(_results_at_start(request), None) is not None
