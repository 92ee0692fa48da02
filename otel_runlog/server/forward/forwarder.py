"""One thread for each destination: it follows the journal at its own pace and holds up nobody else.

A request is sent until it is answered for good. Requests that cannot be taken yet are tried again with a jittered
backoff for hours, bounded by what the journal keeps (`journal_max`): what it dropped is counted. Requests that are
refused are dropped and counted by reason; where one record of several may be at fault, each is sent once more alone.

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
from otel_runlog.door.worker import Worker
from otel_runlog.errors import JournalError
from otel_runlog.server.forward.answers import Later, Refused, Taken
from otel_runlog.server.forward.batches import Batch, Source
from otel_runlog.server.forward.endpoint import endpoint_of
from otel_runlog.server.forward.pause import Backoff, Note, Pause
from otel_runlog.server.forward.progress import Progress
from otel_runlog.server.forward.requests import AsReceived, Outgoing, Preparing
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


class _Step(enum.Enum):
    SENT_MUCH = enum.auto()
    SENT_LITTLE = enum.auto()
    NOT_READY = enum.auto()
    IDLE = enum.auto()


_GOES_ON: Final = frozenset({_Step.SENT_MUCH, _Step.SENT_LITTLE})
_RESTS_S: Final = {_Step.SENT_MUCH: 0.0, _Step.SENT_LITTLE: LINGER_S, _Step.NOT_READY: READY_POLL_S}


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
        self._deadline = 0.0
        sender_for(destination).close()  # certificates that cannot be used are told now

    def start(self) -> None:
        """Begin to send."""
        self.notify()

    def notify(self) -> None:
        """Something was journalled, or loaded. Any thread may call it."""
        if not self._is_noted:
            self._is_noted = self._worker.send(Note.NEWS)

    def stop(self, timeout_s: float) -> bool:
        """Send what is pending, as long as it is taken, and end; False where that took longer than `timeout_s`.

        What is not sent stays in the journal for the next start.
        """
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
        prepared = self._preparing.prepare(batch)
        if prepared is None:
            return _Step.NOT_READY
        batch = prepared.batch
        outcome = delivery.send(prepared.outgoing, has_parts=len(batch.pieces) > 1)
        if outcome is Outcome.UNSENT:
            return _Step.IDLE
        if outcome is Outcome.IN_PARTS:
            steps = (self._send(delivery, batch.of([piece])) for piece in batch.pieces)
            return next((step for step in steps if step not in _GOES_ON), _Step.SENT_MUCH)
        self._try(partial(self._preparing.answered, prepared))
        self._done(batch)
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


class Outcome(enum.Enum):
    """What became of a request. UNSENT: the end was asked for. IN_PARTS: refused whole, a part of it may be taken."""

    ANSWERED = enum.auto()
    IN_PARTS = enum.auto()
    UNSENT = enum.auto()


class Delivery:
    """Sends one request until it is answered for good, or the end is asked for."""

    def __init__(self, sender: Sender, telling: Telling, pause: Pause) -> None:
        self._sender = sender
        self._telling = telling
        self._pause = pause
        self._backoff = Backoff()

    def send(self, outgoing: Outgoing, *, has_parts: bool) -> Outcome:
        """Send a request, unless it holds nothing. IN_PARTS, for one that has parts, counts nothing."""
        while outgoing.items:
            answer = self._sender.send(outgoing.signal, outgoing.encoding, outgoing.body)
            if not isinstance(answer, Later):
                self._backoff.reset()
                if isinstance(answer, Refused) and answer.in_parts and has_parts:
                    return Outcome.IN_PARTS
                self._count(outgoing, answer)
                break
            self._telling.later(answer.why)
            self._pause.for_s(self._backoff.next_s(answer.after_s))
            if self._pause.stopping:
                return Outcome.UNSENT
        for reason, number in outgoing.unsendable.items():
            self._telling.dropped(f"unsendable_{reason}", number, "they cannot be written as protobuf")
        return Outcome.ANSWERED

    def _count(self, outgoing: Outgoing, answer: Taken | Refused) -> None:
        if isinstance(answer, Refused):
            self._telling.dropped(answer.reason, outgoing.items, answer.why)
            return
        rejected = min(answer.rejected, outgoing.items)
        self._telling.taken(outgoing.items - rejected)
        self._telling.dropped("rejected", rejected, answer.message or "the backend rejected them")
