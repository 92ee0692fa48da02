"""What the Collector asks of its receivers (receivertest.CheckConsumeContract), asked of both doors.

Four senders send spans of unique ids while what is behind the door fails at random, for a time, and after it has
written all the same. Every span is accepted or rejected, and every accepted one is stored once.
"""

from __future__ import annotations

import random
import threading
from pathlib import Path

import grpc
import pytest
from doors import TRACE_METHOD, Doors, doors, request_of, span
from journalled import balanced_books
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_runlog.errors import JournalError
from otel_runlog.journal import JournalWriter, journal_folder
from otel_runlog.loader import Loader
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.store.reader import StoreReader

SENDERS, REQUESTS, SPANS = 4, 25, 4


class FailingJournal:
    """A journal that is away for a time, and one record in five fails: half of those are on the disk all the same."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._writer = JournalWriter(folder)
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._asked = 0

    def append(self, signal: Signal, encoding: Encoding, received_ns: int, body: bytes) -> None:
        with self._lock:
            self._asked += 1
            is_away, fails = 20 <= self._asked < 40, self._chance.random() < 0.2
            is_written = not is_away and (not fails or self._chance.random() < 0.5)
        if is_written:
            self._writer.append(signal, encoding, received_ns, body)
        if is_away or fails:
            raise JournalError("the disk failed")

    def close(self) -> None:
        self._writer.close()


class Sender:
    """Sends requests one after the other, each until it is answered for good; one span of each has no id."""

    def __init__(self, number: int, served: Doors) -> None:
        self._number, self._served = number, served
        self.accepted: list[int] = []
        self.rejected = 0
        self.later = 0

    def work(self) -> None:
        for request in range(REQUESTS):
            first = 1 + (self._number * REQUESTS + request) * SPANS
            good = list(range(first, first + SPANS - 1))
            body = request_of(*map(span, good), span(first + SPANS - 1, span_id=b""))
            while (rejected := self._send(body, over_http=request % 2 == 0)) is None:
                self.later += 1
            self.accepted += good
            self.rejected += rejected

    def _send(self, body: bytes, *, over_http: bool) -> int | None:
        """How many were rejected; None where it is to be sent again."""
        if over_http:
            reply = self._served.post(body)
            assert reply.status in {200, 503}
            answer = reply.body if reply.status == 200 else None
        else:
            answer = self._called(body)
        if answer is None:
            return None
        return int(ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans)

    def _called(self, body: bytes) -> bytes | None:
        with self._served.channel() as channel:
            call = channel.unary_unary(TRACE_METHOD).future(body, timeout=20)
            assert call.code() in {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
            return bytes(call.result()) if call.code() is grpc.StatusCode.OK else None


@pytest.mark.fault(29, 53)
@pytest.mark.parametrize("seed", range(3))
def test_every_span_is_accepted_or_rejected_and_none_is_stored_twice(tmp_path: Path, seed: int) -> None:
    db = tmp_path / "runs.duckdb"
    journal = FailingJournal(journal_folder(db), seed)
    with doors(journal_folder(db), journal=journal) as served:
        senders = [Sender(number, served) for number in range(SENDERS)]
        threads = [threading.Thread(target=sender.work) for sender in senders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    journal.close()
    Loader(db).turn()
    accepted = sorted(number for sender in senders for number in sender.accepted)
    assert sum(sender.later for sender in senders) >= 20
    assert len(accepted) + sum(sender.rejected for sender in senders) == SENDERS * REQUESTS * SPANS
    with StoreReader(db) as reader:
        stored = sorted(str(name) for (name,) in reader.query("select name from spans").rows)
    assert stored == sorted(f"span {number}" for number in accepted)
    book = balanced_books(db)
    assert (book.stored, book.conflict) == (len(accepted), 0)
    assert book.duplicate > 0
