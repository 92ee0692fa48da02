"""The fingerprint of a model call's request, `f1`: one conversation has one, however it was sent or recorded. Pure.

    canonical = {"system": "...", "turns": [{"user": "..."}, {"assistant": "...", "calls": [[0, "weather", {...}]]},
                 {"tool": [[0, <value>]]}], "previous": "f1:..."}
    fingerprint = "f1:" + the first 32 hex digits of sha256(canonical as JSON, keys sorted, no spaces, UTF-8)

The rules, each with what was measured that forces it (spans of 5 instrumentations against the wire of 4 APIs, JSON and
streams; requests word for word were equal in 28 of 36 pairs, with rules c, b and a in 30, 32 and 36):

a. Maximal runs of one side are one turn, a user's texts joined by a line break: Responses splits an assistant's turn
   into several items, and Anthropic puts tool results into a user's message. An assistant's texts are joined without
   one: chats of google-genai keep a streamed answer as its chunks, and a replay streams it in other ones.
b. In an assistant's turn text comes first, then the calls in order: openai-v2 writes calls before text. Between two
   answers results come first, then what the user says: OpenInference writes that first for Gemini.
c. A call's id is its number in the conversation, for ids are made anew by every provider and Traceloop writes `fc_1`
   where the result says `call_1`. A result belongs to the call whose id it names, else to the oldest one unanswered
   (of its tool, where it names one: Gemini sends names and no ids, of which OTel makes `weather_0`). The results of a
   turn are in the calls' order.
d. Arguments are the value that their JSON text says. Results likewise, text blocks being their text: Anthropic's own
   spans write blocks where the wire has a text. (Reading does this: `conventions.turns`.) A result alone in an object
   of one key that says no more (`WRAPPERS`) is that result: Gemini takes objects only, so that pydantic-ai, Google's
   client and the AI SDK send there as {"return_value": text} or {"error": text} what their spans call by the text.
   No result is an empty text: OpenInference leaves that out.
e. Pictures, sounds and files are the sha256 of their bytes, else their address: spans keep no bytes.
f. Thoughts, signatures, cache marks, names and ids play no part, nor do streaming and parameters: most spans lack them.
   Model, tools and parameters are compared apart from this and reported as drift.
g. `developer` is system, `model` assistant, `function` a tool. All instructions are one text, wherever they stood:
   Chat has them among the messages, the other APIs beside them.
h. White space counts: an edit of a prompt is an edit.

Numbers are compared by value: 1 and 1.0 are one, NaN and infinities are their names as text (JSON has none). An answer
that the provider remembers (`previous_response_id`) is the fingerprint of the call that gave it. Embeddings are their
inputs: {"inputs": [...]}.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import is_
from typing import Final

import msgspec

from otel_runlog import apis
from otel_runlog.canonical_values import differences, normal, written
from otel_runlog.conventions import turns
from otel_runlog.conversation import CallPart, Json, LlmRequest, MediaPart, ResultPart, Role, TextPart, Turn
from otel_runlog.replaying.divergence import Cause

VERSION: Final = "f1"
DIGITS: Final = 32
LANE_DIGITS: Final = 8
WRAPPERS: Final = frozenset({"result", "output", "return_value", "error"})
"""Keys that clients put a tool's result under where an API takes objects only."""
CONVERSATIONS: Final = 16
"""Of how many conversations with the same instructions `Fingerprints` remembers how they went: of parallel agents."""
UNKNOWN_PREVIOUS: Final = "unknown"
"""`previous` of a request that goes on from an answer which nobody here gave."""


class Difference(msgspec.Struct, frozen=True):
    """The first place where two requests differ: `path` in canonical turns, and both values there (None: nothing)."""

    path: str
    recorded: Json
    got: Json
    cause: Cause


def fingerprint_of(request: LlmRequest) -> str:
    """The fingerprint of a request: `f1:` and 32 hex digits."""
    return f"{VERSION}:{_sha256(written(canonical(request)))[:DIGITS]}"


class Fingerprints:
    """`fingerprint_of` for the requests of a run, of which each repeats the one before: it takes time by what is new.

    Turns are known again by identity, so whoever reads a message once should hand on the same turn.
    """

    def __init__(self) -> None:
        self._tips: dict[tuple[str, str | None], deque[_Tip]] = {}

    def of(self, request: LlmRequest) -> str:
        """The fingerprint of a request."""
        if request.operation == "embedding":
            return fingerprint_of(request)
        system, previous = request.system, _previous(request)
        tips = self._tips.setdefault((system, previous), deque(maxlen=CONVERSATIONS))
        tip = max((t for t in tips if t.is_before(request.turns)), key=lambda t: len(t.turns), default=None)
        if tip is None:
            tips.append(tip := _Tip(system, previous))
        tip.go_on(request.turns)
        return f"{VERSION}:{tip.digest()[:DIGITS]}"


class _Tip:
    """A conversation as far as it was asked: its canonical turns hashed, but for the last, which may go on."""

    def __init__(self, system: str, previous: str | None) -> None:
        self.turns: tuple[Turn, ...] = ()
        head: dict[str, Json] = {"system": system} if previous is None else {"previous": previous, "system": system}
        self._hash = hashlib.sha256(written(head)[:-1] + b',"turns":[')
        self._numbers = _CallNumbers()
        self._between = b""
        self._run: list[_Said] = []

    def is_before(self, turns: tuple[Turn, ...]) -> bool:
        return len(self.turns) <= len(turns) and all(map(is_, self.turns, turns))

    def go_on(self, turns: tuple[Turn, ...]) -> None:
        for said in _said(turns[len(self.turns) :]):
            if self._run and _is_answer(said) is not _is_answer(self._run[0]):
                self._hash.update(self._last(self._numbers))
                self._between = b","
                self._run = []
            self._run.append(said)
        self.turns = turns

    def digest(self) -> str:
        whole = self._hash.copy()
        whole.update(self._last(self._numbers.copy()) + b"]}")
        return whole.hexdigest()

    def _last(self, numbers: _CallNumbers) -> bytes:
        turns = b",".join(map(written, _side_turns(self._run, numbers)))
        return self._between + turns if turns else b""


def request_fingerprint(request: LlmRequest | Mapping[str, Json] | Sequence[Json]) -> str:
    """The fingerprint of a request, of a request's body as an API takes it, or of the messages in one.

    Raises RequestError for a body that is no request of a known API.
    """
    if isinstance(request, Mapping):
        request = apis.request_of_body(request)
    if not isinstance(request, LlmRequest):
        request = LlmRequest(turns=turns.turn_of([request] if isinstance(request, str) else list(request)))
    return fingerprint_of(request)


def lane_of(request: LlmRequest) -> str:
    """8 hex digits that the calls of one agent share: those of its instructions."""
    return _sha256(request.system.encode("utf-8", "backslashreplace"))[:LANE_DIGITS]


def canonical(request: LlmRequest) -> Json:
    """The value that is hashed. Every string in it is as it was said."""
    if request.operation == "embedding":
        return {"inputs": list(request.inputs)}
    found: dict[str, Json] = {"system": request.system, "turns": list(_turns(request.turns))}
    if (previous := _previous(request)) is not None:
        found["previous"] = previous
    return found


def _previous(request: LlmRequest) -> str | None:
    return request.previous or (UNKNOWN_PREVIOUS if request.previous_response_id else None)


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _turns(given: Sequence[Turn]) -> Iterator[Json]:
    numbers = _CallNumbers()
    for _, run in groupby(_said(given), _is_answer):
        yield from _side_turns(run, numbers)


def _side_turns(run: Iterable[_Said], numbers: _CallNumbers) -> Iterator[Json]:
    """What is said before another speaks: a model's answer, or the results of tools and then what a user says."""
    sides: dict[Role, list[_Part]] = {}
    for side, part in run:
        sides.setdefault(side, []).append(part)
    if results := sides.pop(Role.TOOL, None):
        found = [(numbers.of_result(p), _result(p.value)) for p in results if isinstance(p, ResultPart)]
        yield {"tool": [[n, value] for n, value in sorted(found, key=_call_number)]}
    for side, parts in sides.items():
        yield _turn(side, parts, numbers)


def _turn(role: Role, parts: list[_Part], numbers: _CallNumbers) -> Json:
    between = "" if role is Role.ASSISTANT else "\n"
    turn: dict[str, Json] = {role.value: between.join([p.text for p in parts if isinstance(p, TextPart)])}
    if calls := [numbers.of_call(p) for p in parts if isinstance(p, CallPart)]:
        turn["calls"] = calls
    if media := [p for p in parts if isinstance(p, MediaPart)]:
        turn["media"] = [p.sha256 or p.uri for p in media]
    return turn


def _call_number(result: tuple[int | None, Json]) -> int:
    return -1 if result[0] is None else result[0]


_Part = TextPart | CallPart | ResultPart | MediaPart
_SAID = (TextPart, CallPart, ResultPart, MediaPart)
_Said = tuple[Role, _Part]


def _is_answer(said: _Said) -> bool:
    return said[0] is Role.ASSISTANT


def _said(given: Iterable[Turn]) -> Iterator[_Said]:
    """All that was said, in order, with who said it; no instructions and no thoughts."""
    for turn in given:
        for part in turn.parts if turn.role is not Role.SYSTEM else ():
            if isinstance(part, _SAID):
                yield turns.side_of(part, turn.role), part


class _CallNumbers:
    """Which call of the conversation a call is, and which one a result answers."""

    def __init__(self) -> None:
        self._by_id: dict[str, int] = {}
        self._waiting: dict[int, str] = {}
        self._count = 0

    def copy(self) -> _CallNumbers:
        twin = _CallNumbers()
        twin._by_id, twin._waiting, twin._count = self._by_id.copy(), self._waiting.copy(), self._count
        return twin

    def of_call(self, call: CallPart) -> Json:
        """A call as its number in the conversation, the tool and the arguments."""
        number = self._count
        self._count += 1
        if call.id:
            self._by_id[call.id] = number
        self._waiting[number] = call.name
        return [number, call.name, normal(call.arguments)]

    def of_result(self, result: ResultPart) -> int | None:
        """The number of the call that is answered; None where no call is left that it could answer."""
        number = self._by_id.get(result.id) if result.id else None
        if number is None and (of := result.name or (result.id or "").rpartition("_")[0]):
            number = next((n for n, name in self._waiting.items() if name == of), None)
        if number is None:
            number = next(iter(self._waiting), None)
        if number is not None:
            self._waiting.pop(number, None)
        return number


def _result(value: Json) -> Json:
    """A tool's result, out of the object that a client put around it because Gemini takes nothing else."""
    while isinstance(value, dict) and len(value) == 1 and not WRAPPERS.isdisjoint(value):
        value = turns.result_of(next(iter(value.values())))
    return "" if value is None else normal(value)


def first_difference(recorded: LlmRequest, got: LlmRequest) -> Difference | None:
    """Where two requests part, by what their fingerprints are of; None where those are equal."""
    old, new = canonical(recorded), canonical(got)
    assert isinstance(old, dict)
    assert isinstance(new, dict)
    for key in ("system", "previous", "inputs", "turns"):
        found = next(differences(key, old.get(key), new.get(key)), None)
        if found is not None:
            path, one, other = found
            return Difference(path, one, other, _cause(path))
    return None


_CAUSES = {"system": Cause.PROMPT, "user": Cause.INPUT, "inputs": Cause.INPUT, "tool": Cause.TOOL_RESULT}


def _cause(path: str) -> Cause:
    """What changed, by where: an agent that sends other assistant turns than it got has rewritten its history."""
    place = path.split(".", 2)[1] if path.startswith("turns[") else path
    return _CAUSES.get(place.split("[")[0], Cause.HISTORY)
