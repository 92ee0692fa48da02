"""One thread for each destination: it follows the journal at its own pace and holds up nobody else.

A request is sent until it is answered for good. Requests that cannot be taken yet are tried again with a jittered
backoff for hours, bounded by what the journal keeps (`journal_max`): what it dropped is counted. Requests that are
refused are dropped and counted by reason; where a part may be at fault, or all of it too large, its records are sent
once more alone, and the request of one record in halves.

At least once: what was answered but not yet noted in the cursor when the process was killed is sent again.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from otel_runlog.config import DestinationConfig
from otel_runlog.containment import describe
from otel_runlog.door.worker import Worker
from otel_runlog.errors import JournalError
from otel_runlog.server.forward.answers import Answer, Later, Refused, Taken
from otel_runlog.server.forward.batches import Batch, Source
from otel_runlog.server.forward.endpoint import endpoint_of
from otel_runlog.server.forward.pause import Backoff, Note, Pause
from otel_runlog.server.forward.progress import Progress
from otel_runlog.server.forward.requests import AsReceived, Outgoing, Prepared, Preparing
from otel_runlog.server.forward.senders import Sender, sender_for
from otel_runlog.server.forward.telling import Count, Reached, Telling

POLL_S: Final = 1.0
"""So often the journal is looked at without a note: other processes write to it too."""
LINGER_S: Final = 0.05
"""After a small request so long is waited for more records to join."""
SMALL_BYTES: Final = 256 << 10
READY_POLL_S: Final = 0.5
"""So often it is looked whether a request that waits for the store is ready."""
STOP_MARGIN_S: Final = 0.3
MOST_REFUSED_ALONE: Final = 8
"""Of records that were refused together so many are tried alone; where all of them are refused, so is the rest."""
MOST_DIVISIONS: Final = 32
"""So often one record's request is divided: enough for one bad span of 100,000, or 64 MiB for a limit of 4 MiB."""
MOST_FAILURES: Final = 5
"""So often it is tried to make a request of records; a failure may come from elsewhere and pass."""


class _Step(enum.Enum):
    SENT_MUCH = enum.auto()
    SENT_LITTLE = enum.auto()
    REFUSED = enum.auto()
    NOT_READY = enum.auto()
    IDLE = enum.auto()


_GOES_ON: Final = frozenset({_Step.SENT_MUCH, _Step.SENT_LITTLE, _Step.REFUSED})
_RESTS_S: Final = {
    _Step.SENT_MUCH: 0.0,
    _Step.SENT_LITTLE: LINGER_S,
    _Step.REFUSED: LINGER_S,
    _Step.NOT_READY: READY_POLL_S,
}


class Forwarder:
    """Sends the journal on to one destination.

    Args:
        folder: the journal's.
        destination: where to; its settings are looked at here.
        count: called for everything that is sent or dropped.
        preparing: makes the requests; None sends them as they were received.
        on_past: called when a segment may be free to go.
        suffix: distinguishes the cursors of two forwarders to one destination.

    Raises:
        ConfigError: the destination's settings cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        destination: DestinationConfig,
        count: Count,
        *,
        preparing: Preparing | None = None,
        on_past: Callable[[], None] = lambda: None,
        suffix: str = "",
    ) -> None:
        endpoint = endpoint_of(destination)
        self.name = endpoint.name + suffix
        self._destination = destination
        self._preparing = preparing or AsReceived(destination.signals, takes_json=not endpoint.is_grpc)
        self._source = Source(folder, self._preparing.kind_of, self._preparing.gather_bytes)
        self._progress = Progress(folder, self.name, on_past)
        self._telling = Telling(self.name, count)
        self._worker: Worker[Note] = Worker(f"otel-runlog-forward-{self.name}", self._body)
        self._is_noted = False
        self._is_stopped = False
        self._deadline = 0.0
        self._failures = 0
        self._tries_parts = True
        self._taken = 0
        sender_for(destination).close()  # certificates that cannot be used are told now

    def start(self) -> None:
        """Begin to send."""
        self._is_stopped = False
        self.notify()

    def notify(self) -> None:
        """Something was journalled, or loaded. Any thread may call it."""
        if not (self._is_noted or self._is_stopped):
            self._is_noted = self._worker.send(Note.NEWS)

    def stop(self, timeout_s: float) -> bool:
        """Send what is pending, as long as it is taken, and end; False where that took longer than `timeout_s`.

        What is not sent stays in the journal for the next start.
        """
        self._is_stopped = True
        self._deadline = time.monotonic() + timeout_s - STOP_MARGIN_S
        return self._worker.stop(timeout_s)

    def reached(self) -> Reached:
        """How it stands with the destination."""
        return self._telling.reached()

    def pending_bytes(self) -> int:
        """How much of the journal the destination has yet to get."""
        return self._progress.pending_bytes()

    def _body(self, inbox: SimpleQueue[Note | None]) -> None:
        pause = Pause(inbox)
        sender = sender_for(self._destination)
        try:
            self._try(self._progress.begin)
            self._follow(Delivery(sender, self._telling, pause), pause)
        finally:
            self._try(self._progress.note)
            self._telling.end()
            sender.close()

    def _follow(self, delivery: Delivery, pause: Pause) -> None:
        while not (pause.stopping and time.monotonic() >= self._deadline):
            self._is_noted = False  # before looking: what is journalled from now on is another note
            step = self._send_next(delivery)
            self._try(self._progress.note_if_due if step in _GOES_ON else self._progress.note)
            if pause.stopping and step not in _GOES_ON:
                return
            if step is _Step.IDLE:
                pause.until_news(POLL_S)
            else:
                pause.for_s(_RESTS_S[step])

    def _send_next(self, delivery: Delivery) -> _Step:
        try:
            batch = self._source.gather(self._progress.places)
        except JournalError as error:
            self._telling.trouble(str(error))
            return _Step.IDLE
        return _Step.IDLE if batch is None else self._send(delivery, batch)

    def _send(self, delivery: Delivery, batch: Batch) -> _Step:
        if not batch.pieces:
            self._done(batch)
            return _Step.SENT_MUCH
        try:
            prepared = self._preparing.prepare(batch)
        except Exception as error:  # noqa: BLE001 - a record that nobody foresaw must not hold up those behind it
            return self._unprepared(delivery, batch, describe(error))
        self._failures = 0
        return _Step.NOT_READY if prepared is None else self._deliver(delivery, prepared)

    def _deliver(self, delivery: Delivery, prepared: Prepared) -> _Step:
        answer = delivery.send(prepared.outgoing)
        if answer is None:
            return _Step.IDLE
        if isinstance(answer, Taken) or not (answer.in_parts and self._tries_parts):
            return self._settle(prepared, answer)
        self._tries_parts = False  # until something is taken: a backend that refuses everything is not asked for more
        if len(prepared.batch.pieces) > 1:
            return self._send_parts(delivery, prepared.batch, answer)
        return self._send_divided(delivery, prepared, answer)

    def _send_divided(self, delivery: Delivery, prepared: Prepared, refused: Refused) -> _Step:
        """One record's request in halves, and these again: it was too large for this backend, or a span is at fault.

        Where the end is asked for in between, all of it is sent again at the next start.
        """
        pending, divisions = [*prepared.outgoing.halves()], 1
        if not pending:
            return self._settle(prepared, refused)
        while pending:
            part = pending.pop()
            answer = delivery.send(part)
            if answer is None:
                return _Step.IDLE
            is_divided = isinstance(answer, Refused) and answer.in_parts and divisions < MOST_DIVISIONS
            halves = part.halves() if is_divided else ()
            if halves:
                divisions += 1
                pending += halves
            else:
                self._count(part, answer)
        return self._settled(prepared)

    def _send_parts(self, delivery: Delivery, batch: Batch, refused: Refused) -> _Step:
        """Each record by itself; where the first are refused too, the rest is not tried."""
        taken_before = self._taken
        for number, piece in enumerate(batch.pieces):
            is_hopeless = number >= MOST_REFUSED_ALONE and self._taken == taken_before
            if is_hopeless:
                self._tries_parts = False
                rest = self._preparing.prepare(batch.of(batch.pieces[number:]))
                return self._settle(rest, refused) if rest else _Step.NOT_READY
            self._tries_parts = True  # of this record as well
            step = self._send(delivery, batch.of([piece]))
            if step not in _GOES_ON:
                return step
        return _Step.SENT_MUCH

    def _unprepared(self, delivery: Delivery, batch: Batch, why: str) -> _Step:
        """No request could be made: after some tries the record at fault is dropped."""
        self._telling.trouble(f"a record cannot be made a request: {why}")
        self._failures += 1
        if self._failures < MOST_FAILURES:
            return _Step.NOT_READY
        if len(batch.pieces) > 1:
            return self._send_parts(delivery, batch, Refused("unsendable", why))
        self._failures = 0
        self._telling.dropped("unsendable", 1, why)
        self._done(batch)
        return _Step.SENT_LITTLE

    def _settle(self, prepared: Prepared, answer: Taken | Refused) -> _Step:
        """A request was answered for good."""
        self._count(prepared.outgoing, answer)
        step = self._settled(prepared)
        return _Step.REFUSED if isinstance(answer, Refused) else step

    def _count(self, outgoing: Outgoing, answer: Taken | Refused) -> None:
        if isinstance(answer, Refused):
            self._telling.dropped(answer.reason, outgoing.items, answer.why)
            return
        self._tries_parts, self._taken = True, self._taken + 1
        rejected = min(answer.rejected, outgoing.items)
        self._telling.taken(outgoing.items - rejected)
        self._telling.dropped("rejected", rejected, answer.message or "the backend rejected them")

    def _settled(self, prepared: Prepared) -> _Step:
        for reason, number in prepared.outgoing.unsendable.items():
            self._telling.dropped(f"unsendable_{reason}", number, "they cannot be written as protobuf")
        self._try(partial(self._preparing.answered, prepared))
        self._done(prepared.batch)
        return _Step.SENT_MUCH if len(prepared.outgoing.body) >= SMALL_BYTES else _Step.SENT_LITTLE

    def _done(self, batch: Batch) -> None:
        self._progress.move(batch.places)
        for reason, records in batch.lost.items():
            self._telling.dropped(reason, records, "records of the journal that cannot be read any more")

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except JournalError as error:
            self._telling.trouble(str(error))


class Delivery:
    """Sends one request until it is answered for good, or the end is asked for."""

    def __init__(self, sender: Sender, telling: Telling, pause: Pause) -> None:
        self._sender = sender
        self._telling = telling
        self._pause = pause
        self._backoff = Backoff()

    def send(self, outgoing: Outgoing) -> Taken | Refused | None:
        """The answer; None where there is none before the end. A request that holds nothing is taken as it is."""
        while outgoing.items:
            answer = self._send(outgoing)
            if not isinstance(answer, Later):
                self._backoff.reset()
                return answer
            self._telling.later(answer.why)
            self._pause.for_s(self._backoff.next_s(answer.after_s))
            if self._pause.stopping:
                return None
        return Taken()

    def _send(self, outgoing: Outgoing) -> Answer:
        try:
            return self._sender.send(outgoing.signal, outgoing.encoding, outgoing.body)
        except Exception as error:  # noqa: BLE001 - what a library raises beside its own errors is no answer
            return Later(describe(error))
