"""The model calls of a replay: which recorded call each one is, and what is different. For one thread. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from otel_runlog.capture import CapturedLlm
from otel_runlog.conversation import CallError, LlmAnswer, LlmRequest, Role, Turn
from otel_runlog.fingerprint import Fingerprints, lane_of
from otel_runlog.replaying.divergence import ReplayMode, Resolution, StepDivergence
from otel_runlog.replaying.drift import drift_of, not_compared
from otel_runlog.replaying.ledger import Ledger, settle
from otel_runlog.replaying.normalising import Normaliser
from otel_runlog.replaying.outcomes import Missed, Served, Settled
from otel_runlog.replaying.partial import can_be
from otel_runlog.replaying.recording import Recording, key_or_none, said_by
from otel_runlog.replaying.report import calls_named, head_of
from otel_runlog.replaying.telling import Telling

Key = Literal["fingerprint", "order"]
NOTHING_ASKED: Final = (
    "no model call came to this replay: the program's client may have another address for its provider"
)
_NO_ID: Final = re.compile(r"[^0-9A-Za-z]")
_RUN_DIGITS: Final = 8


class _Miss(msgspec.Struct, kw_only=True):
    """A request that found nothing. `at`: its place among all differences. `tries`: how often it was asked.

    `nearest`: the recorded call most like it when it came. `settled` and `lacking` are those of `ledger.Unfound`.
    `answered`: what came of it in live mode; `refused`: nothing, it could not be sent on.
    """

    asked: LlmRequest
    lane: str
    divergence: StepDivergence
    at: int = 0
    tries: int = 1
    nearest: int | None = None
    settled: bool = False
    lacking: bool = False
    answered: str | None = None
    refused: bool = False


class LlmMatching:
    """See `otel_runlog.replaying.matching.Matcher`, which lets one thread in at a time.

    `telling` says differences, `places` numbers them.
    """

    def __init__(
        self,
        recording: Recording,
        normaliser: Normaliser,
        telling: Telling,
        key: Key,
        places: Iterator[int],
    ) -> None:
        self._recording, self._normaliser, self._telling = recording, normaliser, telling
        self._mode, self._key, self._places = telling.mode, key, places
        self._ledger = Ledger(recording.keys)
        self._fingerprints = Fingerprints()
        self._keys_of_ids: dict[str, str | None] = {}
        self._times: Counter[int] = Counter()
        self._calls_of_ids: dict[str, CapturedLlm] = {}
        self._refused: dict[str, Missed] = {}
        self._misses: list[_Miss] = []
        self._unseen: dict[str, None] = {}
        self._unseen_params: set[str] = set()
        self._in_order: set[int] = set()
        self._in_part: set[int] = set()
        self._unlinked: set[int] = set()
        self._lacking: set[int] = set()
        self.drift: list[StepDivergence] = []
        self._ambiguous: dict[str, None] = {}
        self._asked = False
        self._live: set[int] = set()

    # -- while the program runs ---

    def ask(self, request: LlmRequest) -> Served | Missed:
        """Find the recorded call of a request."""
        self._asked = True
        given = self._normaliser.asked(request)
        asked = self._linked(given)
        key, lane = self._key_of(asked), lane_of(asked)
        if self._key == "order":
            return self._ask_in_order(asked, key, lane)
        number = self._ledger.take(key)
        if number is None:
            number = self._take_in_part(asked, key)
        if number is None:
            number = self._take_unlinked(given, key)
        if number is None and self._mode is ReplayMode.SOFT:
            number = self._take_unrecorded(asked, key, lane)
        return self._missed(asked, key, lane) if number is None else self._found(asked, lane, number)

    def _take_unlinked(self, given: LlmRequest, key: str | None) -> int | None:
        """The next call that a request can be where the recording never says what a call went on from (Traceloop)."""
        known = given.previous_response_id in self._keys_of_ids
        if not known or self._recording.has_links or self._ledger.numbers(key):
            return None
        number = self._ledger.take(key_or_none(msgspec.structs.replace(given, previous_response_id=None)))
        if number is not None:
            self._unlinked.add(number)
        return number

    def _take_in_part(self, asked: LlmRequest, key: str | None) -> int | None:
        """The next call that a request can be of those that were recorded in part."""
        if not self._recording.cut or self._ledger.numbers(key):
            return None
        free = frozenset(self._ledger.free())
        for number, request in self._recording.cut.items():
            if number in free and can_be(request, asked):
                self._ledger.take_number(number)
                self._in_part.add(number)
                return number
        return None

    def _take_unrecorded(self, asked: LlmRequest, key: str | None, lane: str) -> int | None:
        """The next call whose request nobody recorded, where none that was recorded is nearer: it may be the same."""
        place = None if self._ledger.numbers(key) else self._place(asked, lane, self._ledger.free())
        if place is None or self._recording.keys[place] is not None:
            return None
        self._ledger.take_number(place)
        self._in_order.add(place)
        return place

    def answered_live(self, number: int, answer: LlmAnswer | CallError) -> None:
        """Keep what the real model answered to the miss of this number."""
        self._live.add(number)
        answer = self._normaliser.answered(answer)
        miss = self._misses[number]
        nearest = None if miss.nearest is None else self._recording.calls[miss.nearest].answer
        miss.answered = _compared_live(nearest, answer)
        if isinstance(answer, LlmAnswer) and answer.response_id is not None:
            self._keys_of_ids[answer.response_id] = key_or_none(miss.asked)

    def not_answered(self, number: int, why: str) -> None:
        """Keep why the miss of this number did not go on to the real model."""
        miss = self._misses[number]
        miss.answered, miss.refused = why, True

    def _key_of(self, asked: LlmRequest) -> str | None:
        """As `key_or_none`, in time that grows with what is new: clients send the whole conversation every time."""
        try:
            return self._fingerprints.of(asked)
        except (ValueError, TypeError, RecursionError):
            self._fingerprints = Fingerprints()  # it may have stopped in the middle of a conversation
            return None

    def _linked(self, asked: LlmRequest) -> LlmRequest:
        """The request with the call that it goes on from, where we served that one's answer.

        Some recordings have such a request with all that came before: then it is asked for in that form.
        """
        before = asked.previous_response_id or ""
        previous = self._keys_of_ids.get(before)
        if previous is None:
            return asked
        linked = msgspec.structs.replace(asked, previous=previous)
        if self._ledger.numbers(key_or_none(linked)):
            return linked
        whole = self._whole(asked, before)
        return whole if whole is not None and self._ledger.numbers(key_or_none(whole)) else linked

    def _whole(self, asked: LlmRequest, before: str) -> LlmRequest | None:
        """A request after the conversation that it goes on from; None where that is not known."""
        call = self._calls_of_ids.get(before)
        if call is None or call.request is None or call.answer is None:
            return None
        new = [turn for turn in asked.turns if turn.role is not Role.SYSTEM]
        turns = (*call.request.turns, Turn(Role.ASSISTANT, call.answer.parts), *new)
        return msgspec.structs.replace(asked, turns=turns, previous_response_id=None)

    def _ask_in_order(self, asked: LlmRequest, key: str | None, lane: str) -> Served | Missed:
        calls = self._recording.calls
        free = [number for number in self._ledger.free() if calls[number].operation == asked.operation]
        own = [number for number in free if calls[number].lane == lane]
        own = own or [number for number in free if calls[number].lane is None]
        if not own and lane not in self._recording.lanes:
            own = free
        if not own:
            return self._missed(asked, key, lane)
        recorded = calls[own[0]].fingerprint
        if recorded is not None and recorded != key:
            return self._missed(asked, key, lane, place=own[0])
        self._ledger.take_number(own[0])
        if recorded is None:
            self._in_order.add(own[0])
        return self._found(asked, lane, own[0])

    def _found(self, asked: LlmRequest, lane: str, number: int) -> Served | Missed:
        call = self._recording.calls[number]
        if not answerable(call):
            return self._lacks(asked, lane, number)
        if (note := self._recording.ambiguous.get(call.fingerprint or "")) is not None:
            self._ambiguous[note] = None
        drift = self._drift(asked, call)
        self.drift.extend(drift)
        served = self._recording.capture.llm_io[number]
        return Served(call=served, response_id=self._new_id(call), drift=tuple(drift))

    def _drift(self, asked: LlmRequest, call: CapturedLlm) -> list[StepDivergence]:
        if call.request is None:
            return []
        known = self._recording.known_params
        self._unseen |= dict.fromkeys(not_compared(call.request, asked))
        self._unseen_params |= asked.params.keys() - known
        return [self._telling.drifted(call, drift) for drift in drift_of(call.request, asked, known)]

    def _lacks(self, asked: LlmRequest, lane: str, number: int) -> Missed:
        self._lacking.add(number)
        divergence = self._telling.lacking(number)
        return self._noted(_Miss(asked=asked, lane=lane, divergence=divergence, nearest=number, lacking=True), number)

    def _missed(self, asked: LlmRequest, key: str | None, lane: str, place: int | None = None) -> Missed:
        before = self._refused.get(key or "")
        if before is not None and not self._stands_for_more(before):
            return self._asked_again(before)
        missed = self._missed_first(asked, key, lane, place)
        if key is not None and self._mode is ReplayMode.STRICT:
            self._refused[key] = missed
        return missed

    def _stands_for_more(self, missed: Missed) -> bool:
        """Whether the call in whose place it came was recorded more often: then it comes as often."""
        place = self._misses[missed.number].nearest
        alike = () if place is None else self._ledger.numbers(self._recording.keys[place])
        return not frozenset(alike).isdisjoint(self._ledger.free())

    def _asked_again(self, missed: Missed) -> Missed:
        """The same refused request once more is a client or framework that tries again, and no other difference."""
        self._misses[missed.number].tries += 1
        return missed

    def _missed_first(self, asked: LlmRequest, key: str | None, lane: str, place: int | None) -> Missed:
        used_up = self._ledger.numbers(key)
        if used_up and place is None:
            divergence = self._telling.repeated(asked, used_up)
            return self._noted(_Miss(asked=asked, lane=lane, divergence=divergence, settled=True), used_up[-1])
        if place is None:
            place = self._place(asked, lane, self._ledger.free())
        if place is None:
            nearest = self._recording.nearest(asked, lane, filter(self._can_be_served, self._alike(asked)))
            divergence = self._telling.one_more(asked, lane, nearest)
            return self._noted(_Miss(asked=asked, lane=lane, divergence=divergence, nearest=nearest), nearest)
        self._ledger.claim(place, len(self._misses))
        divergence = self._telling.changed(asked, lane, place)
        return self._noted(_Miss(asked=asked, lane=lane, divergence=divergence, nearest=place), place)

    def _place(self, asked: LlmRequest, lane: str, free: Iterable[int]) -> int | None:
        """The recorded call in whose place a request stands: of those that have not come the one most like it."""
        left = frozenset(free)
        alike = [number for number in self._alike(asked) if number in left]
        if not alike and asked.operation not in self._recording.operations:
            alike = sorted(left)  # a model call of another kind came in its place
        if self._mode is ReplayMode.SOFT:
            alike = list(filter(self._can_be_served, alike)) or alike
        return self._recording.nearest(asked, lane, alike)

    def _alike(self, asked: LlmRequest) -> list[int]:
        return [n for n, call in enumerate(self._recording.calls) if call.operation == asked.operation]

    def _can_be_served(self, number: int) -> bool:
        return answerable(self._recording.calls[number])

    def _noted(self, miss: _Miss, nearest: int | None) -> Missed:
        miss.at = next(self._places)
        self._misses.append(miss)
        call = None if nearest is None else self._recording.capture.llm_io[nearest]
        if self._mode is ReplayMode.SOFT and nearest is not None:
            response_id = self._new_id(self._recording.calls[nearest])
        else:
            response_id = ""
        return Missed(
            divergence=miss.divergence,
            nearest=call,
            response_id=response_id,
            text=head_of(miss.divergence, self._recording.capture.run_id, self._recording.size),
            number=len(self._misses) - 1,
        )

    def _new_id(self, call: CapturedLlm) -> str:
        """An id that no answer of this replay has, so that clients tell the answers apart."""
        recorded = call.response_id or (None if call.answer is None else call.answer.response_id)
        run = _NO_ID.sub("", self._recording.capture.run_id)[:_RUN_DIGITS]
        self._times[call.call_index] += 1
        own = f"rl_{run}_{call.call_index}_{self._times[call.call_index]}"
        while own in self._keys_of_ids:  # somebody recorded an id of that form
            own += "_"
        given = own if recorded is None or recorded in self._keys_of_ids else recorded
        self._keys_of_ids[given], self._calls_of_ids[given] = call.fingerprint, call
        return given

    # -- afterwards ---

    def settled(self) -> Settled:
        """What is different, as if nothing more were asked."""
        free = list(self._ledger.free())
        found = settle(
            self._ledger, self._misses, free, lambda miss, left: self._place(miss.asked, miss.lane, left), self._told
        )
        came = tuple((miss.at, _with(divergence, miss)) for miss, divergence in found)
        missing = [self._telling.missing(number) for number in free if number not in self._recording.unsent]
        return Settled(came, tuple(missing))

    def _told(self, miss: _Miss, place: int | None) -> StepDivergence:
        if place is None:
            return self._telling.one_more(miss.asked, miss.lane, miss.nearest)
        return self._telling.changed(miss.asked, miss.lane, place)

    @property
    def live(self) -> int:
        """Calls that the real model answered."""
        return len(self._live)

    @property
    def served(self) -> int:
        """Calls that were answered from the capture."""
        claimed = filter(self._can_be_served, self._ledger.claims().values()) if self._mode is ReplayMode.SOFT else ()
        return self._ledger.taken - len(self._lacking) + len(list(claimed))

    @property
    def notes(self) -> list[str]:
        """What is no difference and should be known."""
        unsent = sorted(self._recording.unsent.intersection(self._ledger.free()))
        if len(unsent) < len(self._recording.calls) and not self._asked:
            return [NOTHING_ASKED]
        told = [f"{self._named(unsent)} failed before anything was sent, so nothing came"] if unsent else []
        return [*self._ambiguous, *told]

    @property
    def is_incomplete(self) -> bool:
        """Whether a call came whose request or answer is not, or not whole, in the capture."""
        return bool(self._in_order or self._in_part or self._lacking)

    def not_compared(self) -> list[str]:
        """What could not be compared, and why."""
        lines = list(self._unseen)
        if self._unseen_params:
            lines.append(f"parameters {', '.join(sorted(self._unseen_params))}: not recorded")
        if self._in_order:
            lines.append(f"requests of {self._named(self._in_order)}: not recorded, answered in recorded order")
        if self._in_part:
            lines.append(f"requests of {self._named(self._in_part)}: recorded in part, compared as far as they go")
        if self._unlinked:
            lines.append(f"the answers that {self._named(self._unlinked)} went on from: not recorded")
        if self._lacking:
            lines.append(f"answers of {self._named(self._lacking)}: not recorded")
        return lines

    def _named(self, numbers: Iterable[int]) -> str:
        return calls_named(self._recording.calls[number].call_index for number in numbers)


def answerable(call: CapturedLlm) -> bool:
    """Whether the capture has what a call was answered. Vectors are not made up: an embedding needs its own."""
    if call.answer is None:
        return call.error is not None
    return call.operation != "embedding" or call.answer.vectors is not None


def _compared_live(recorded: LlmAnswer | None, answer: LlmAnswer | CallError) -> str | None:
    if isinstance(answer, CallError):
        return f"the model failed: {answer.message or answer.type or 'an error'}"
    if recorded is None:
        return None
    return "the model answered the same" if said_by(recorded) == said_by(answer) else "the model answered differently"


def _with(divergence: StepDivergence, miss: _Miss) -> StepDivergence:
    """A divergence with what is known of its answer."""
    tries = f"asked {miss.tries} times" if miss.tries > 1 else None
    details = "; ".join(filter(None, (divergence.detail, miss.answered, tries))) or None
    resolution = Resolution.REFUSED if miss.refused else divergence.resolution
    return msgspec.structs.replace(divergence, detail=details, resolution=resolution)
