"""A capture as a replay looks things up in it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import msgspec

from otel_runlog.capture import Capture, CapturedLlm, CapturedTool
from otel_runlog.conventions._errors import is_local
from otel_runlog.conversation import CallError, CallPart, Json, LlmAnswer, LlmRequest, ResultPart, Role, Turn
from otel_runlog.fingerprint import VERSION, canonical, fingerprint_of
from otel_runlog.model import Content
from otel_runlog.replaying.comparing import key_of, shared_beginning
from otel_runlog.replaying.normalising import Normaliser


class Recording:
    """The calls of a capture with their keys, as `normaliser` leaves them.

    Attributes:
        calls: the model calls, in the order they were started; `keys` their fingerprints.
        tools: the tool calls; `tool_keys` name and arguments, None where no arguments are known.
        known_params: names of parameters that some call was recorded with.
    """

    def __init__(self, capture: Capture, normaliser: Normaliser) -> None:
        self.capture = capture
        self.calls: tuple[CapturedLlm, ...] = capture.llm_io
        self.tools: tuple[CapturedTool, ...] = capture.tool_io
        if normaliser.changes_recorded or any(call.fingerprint and not _is_current(call) for call in self.calls):
            self.calls = _normalised(self.calls, normaliser)
            self.tools = tuple(
                msgspec.structs.replace(tool, arguments=normaliser.recorded_value(tool.arguments))
                for tool in self.tools
            )
        self.keys = tuple(call.fingerprint for call in self.calls)
        self.tool_keys = tuple(tool_key(tool.name, tool.arguments) for tool in self.tools)
        self.lanes = frozenset(call.lane for call in self.calls)
        self.operations = frozenset(call.operation for call in self.calls)
        self.known_params = frozenset(name for call in self.calls for name in _params(call))
        self._turns: dict[int, list[str]] = {}

    @cached_property
    def cut(self) -> dict[int, LlmRequest]:
        """The requests that were recorded in part, by number."""
        cut = ((number, call) for number, call in enumerate(self.calls) if call.completeness is Content.TRUNCATED)
        return {number: call.request for number, call in cut if call.request is not None}

    @cached_property
    def has_links(self) -> bool:
        """Whether some call says which answer, remembered by the provider, it went on from."""
        return any(call.request.previous_response_id for call in self.calls if call.request is not None)

    @cached_property
    def unsent(self) -> frozenset[int]:
        """Calls that failed in the client before anything was sent: a replay sees as little of them."""
        failed = ((number, call.error) for number, call in enumerate(self.calls) if call.answer is None)
        return frozenset(n for n, error in failed if error and error.http_status is None and is_local(error.type))

    @cached_property
    def agents(self) -> dict[int, str]:
        """Agents' names by step_index."""
        return {step.step_index: step.agent for step in self.capture.run.steps if step.agent is not None}

    def agent_of_lane(self, lane: str) -> str | None:
        """The agent whose calls have this lane, where the recorded run says it."""
        names = (self.agents.get(call.step_index) for call in self.calls if call.lane == lane)
        return next((name for name in names if name is not None), None)

    @cached_property
    def ambiguous(self) -> dict[str, str]:
        """What to say of keys that several answers were recorded for."""
        answers: dict[str, set[bytes]] = {}
        for call in self.calls:
            if call.fingerprint is not None:
                answers.setdefault(call.fingerprint, set()).add(said_by(call.answer, call.error))
        return {
            key: f"ambiguous: {self._indexes(key)} asked the same and were answered differently; served in that order"
            for key, said in answers.items()
            if len(said) > 1
        }

    def _indexes(self, key: str) -> str:
        return "calls " + ", ".join(str(call.call_index) for call in self.calls if call.fingerprint == key)

    @property
    def size(self) -> int:
        """How many calls were recorded."""
        return len(self.calls) + len(self.tools)

    def nearest(self, request: LlmRequest, lane: str | None, among: Iterable[int]) -> int | None:
        """The number of the call most like a request; None where there is none to choose from.

        The same lane first, then the most turns in common, then the most alike in the turn that differs, then the
        first.
        """
        asked = turns_of(request)
        best: tuple[bool, int, float, int] | None = None
        for number in among:
            recorded = self._turns_of(number)
            shared = _shared(recorded, asked)
            alike = _likeness(recorded[shared : shared + 1], asked[shared : shared + 1])
            rank = (self.calls[number].lane == lane, shared, alike, -number)
            best = rank if best is None else max(best, rank)
        return None if best is None else -best[-1]

    def shared_turns(self, number: int, request: LlmRequest) -> int:
        """How many turns from the beginning on a recorded call and a request have in common."""
        return _shared(self._turns_of(number), turns_of(request))

    def _turns_of(self, number: int) -> list[str]:
        if number not in self._turns:
            request = self.calls[number].request
            self._turns[number] = [] if request is None else turns_of(request)
        return self._turns[number]

    def tool_of_result(self, request: LlmRequest, path: str) -> CapturedTool | None:
        """The tool call whose result a path such as `turns[2].tool[0]` of a recorded request is."""
        asked_for = _nth_call(request, path)
        if asked_for is None:
            return None
        by_id = (tool for tool in self.tools if tool.call_id is not None and tool.call_id == asked_for.id)
        key = tool_key(asked_for.name, asked_for.arguments)
        alike = (tool for tool, own in zip(self.tools, self.tool_keys, strict=True) if own == key)
        return next(by_id, None) or next(alike, None) or CapturedTool(name=asked_for.name)


def key_or_none(request: LlmRequest) -> str | None:
    """The fingerprint; None where the request holds what JSON cannot say, and so was never recorded."""
    try:
        return fingerprint_of(request)
    except (ValueError, TypeError, RecursionError):
        return None


def tool_key(name: str, arguments: Json) -> str | None:
    """What a tool call is found by: its name and arguments."""
    return None if arguments is None else f"{name} {key_of(arguments)}"


def turns_of(request: LlmRequest) -> list[str]:
    """The turns of a canonical request, each as a text; of an embedding its inputs."""
    if request.operation == "embedding":
        return list(request.inputs)
    try:
        whole = canonical(request)
    except (ValueError, TypeError, RecursionError):
        return []
    turns = whole.get("turns") if isinstance(whole, dict) else None
    return [key_of(turn) for turn in turns] if isinstance(turns, list) else []


def said_by(answer: LlmAnswer | None, error: CallError | None = None) -> bytes:
    """All that an answer says, so that two of them can be told apart; ids say nothing."""
    parts = () if answer is None else answer.parts
    plain = [msgspec.structs.replace(part, id=None) if isinstance(part, CallPart) else part for part in parts]
    return msgspec.json.encode([plain, answer and answer.vectors, error])


def last_said(request: LlmRequest | None) -> Json:
    """What a request ends with, to tell it by: the text or the tools' results of its last turn."""
    if request is None:
        return None
    if request.operation == "embedding":
        return list(request.inputs)
    last = request.turns[-1] if request.turns else Turn(Role.USER)
    results = [part.value for part in last.parts if isinstance(part, ResultPart)]
    return last.text or (results[0] if len(results) == 1 else results) or None


def _is_current(call: CapturedLlm) -> bool:
    """Whether a fingerprint is of this version: others are made anew."""
    return call.fingerprint is not None and call.fingerprint.startswith(f"{VERSION}:")


def _normalised(calls: Iterable[CapturedLlm], normaliser: Normaliser) -> tuple[CapturedLlm, ...]:
    """The calls with their requests changed and fingerprinted anew; chains of `previous` are kept."""
    renamed: dict[str | None, str | None] = {}
    done = []
    for call in calls:
        request = call.request
        if request is not None:
            previous = renamed.get(request.previous, request.previous)
            request = msgspec.structs.replace(normaliser.recorded(request), previous=previous)
            renamed[call.fingerprint] = fingerprint = key_or_none(request)
            call = msgspec.structs.replace(call, request=request, fingerprint=fingerprint)  # noqa: PLW2901
        done.append(call)
    return tuple(done)


def _params(call: CapturedLlm) -> Iterable[str]:
    return call.params if call.request is None else call.request.params


def _shared(recorded: list[str], asked: list[str]) -> int:
    both = zip(recorded, asked, strict=False)
    return next((i for i, (one, other) in enumerate(both) if one != other), min(len(recorded), len(asked)))


def _likeness(recorded: list[str], asked: list[str]) -> float:
    """How much of two texts is the same at both ends, 0 to 1."""
    if not recorded or not asked:
        return 0.0
    one, other = recorded[0], asked[0]
    head = shared_beginning(one, other)
    tail = shared_beginning(one[head:][::-1], other[head:][::-1])
    return (head + tail) / max(len(one), len(other), 1)


def _nth_call(request: LlmRequest, path: str) -> CallPart | None:
    number = _number_of_result(canonical(request), path)
    calls = [part for turn in request.turns for part in turn.parts if isinstance(part, CallPart)]
    return calls[number] if number is not None and number < len(calls) else None


def _number_of_result(whole: Json, path: str) -> int | None:
    """Which call of the conversation a result belongs to: canonical results stand beside that number."""
    turn, _, result = path.removeprefix("turns[").partition("].tool[")
    try:
        number = whole["turns"][int(turn)]["tool"][int(result.partition("]")[0])][0]  # type: ignore[index,call-overload]
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return number if isinstance(number, int) else None
