"""Whatever happens between the door and the store, in any order: every span is there once, and `project` agrees."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from models_of_steps import assert_models_are_their_steps
from test_loader import PRICES

from otel_runlog.journal import JournalWriter, journal_folder, segments
from otel_runlog.loader import Loader
from otel_runlog.model import Span
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.runs import project
from otel_runlog.store.reader import StoreReader
from otel_runlog.testing import START_NS, TraceBuilder


def _spans() -> list[Span]:
    """Two traces of one named run, one of them named by its process, and one of its own."""
    found: list[Span] = []
    named = {"runlog.run.id": "r1"}
    for name, resource, attributes in (("one", None, named), ("two", named, None), ("three", None, None)):
        t = TraceBuilder(name, resource=resource)
        root = t.agent("a", attributes)
        t.chat("gpt-4o-mini", parent=root, input_tokens=10, output_tokens=1)
        found += t.spans
    return found


BOOKS = """
    SELECT
        CAST(sum(received) AS BIGINT),
        CAST(sum(stored + duplicate + conflict + superseded) AS BIGINT),
        CAST(sum(stored) AS BIGINT),
        CAST(sum(stored + conflict) AS BIGINT)
    FROM books
"""
SPANS = _spans()
ANY_SPAN = st.sampled_from(range(len(SPANS)))


def _ended(span: Span) -> int:
    assert span.ended_ns is not None
    return span.ended_ns


FORMS = {
    "whole": lambda s: s,
    "begun": lambda s: msgspec.structs.replace(s, ended_ns=None, start_record=True),
    "longer": lambda s: msgspec.structs.replace(s, ended_ns=_ended(s) + 5, attributes=s.attributes | {"more": 1}),
    "other": lambda s: msgspec.structs.replace(s, attributes=s.attributes | {"less": 1}),
    "reused": lambda s: msgspec.structs.replace(s, started_ns=_ended(s) + 10**9, ended_ns=_ended(s) + 2 * 10**9),
}


class ExactlyOnce(RuleBasedStateMachine):
    """A journal, two loaders that take turns, and a list of what was sent: the store must be its projection."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="runlog-once-"))
        self.db = self.folder / "runs.duckdb"
        self.journal = JournalWriter(journal_folder(self.db))
        self.loaders = [Loader(self.db, prices=PRICES), Loader(self.db, prices=PRICES)]
        self.sent: list[Span] = []
        self.loaded = 0
        self.files = 0
        self.looked_at = True

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.journal.close()
            shutil.rmtree(self.folder)

    @rule(number=ANY_SPAN, form=st.sampled_from(sorted(FORMS)), times=st.integers(1, 3))
    def journal_a_span(self, number: int, form: str, times: int) -> None:
        span = FORMS[form](SPANS[number])
        for _ in range(times):
            self._send(span)

    @rule()
    def close_the_segment(self) -> None:
        self.journal.close()

    @rule(which=st.integers(0, 1))
    def load(self, which: int) -> None:
        report = self.loaders[which].turn()
        assert (report.held_by, report.damaged) == (None, [])
        self.loaded = len(self.sent)
        self.looked_at = False

    @rule(which=st.integers(0, 1))
    def restart_a_loader(self, which: int) -> None:
        self.loaders[which] = Loader(self.db, prices=PRICES)

    @rule(which=st.integers(0, 1))
    def die_between_commit_and_retirement(self, which: int) -> None:
        """The rows are committed, the segment is still there when the next loader comes."""
        self.journal.close()
        kept = [(s.path, s.path.read_bytes()) for s in segments(journal_folder(self.db))]
        self.load(which)
        for path, content in kept:
            path.write_bytes(content)
        self.loaders[which] = Loader(self.db, prices=PRICES)

    @precondition(lambda self: self.loaded == len(self.sent))
    @rule(which=st.integers(0, 1), numbers=st.lists(ANY_SPAN, min_size=1, max_size=3), again=st.booleans())
    def ingest_a_file(self, which: int, numbers: list[int], again: bool) -> None:
        """Given twice, a file is known the second time."""
        spans = [SPANS[n] for n in numbers]
        body = encode_spans(spans)
        file = self.folder / f"{self.files}.binpb"
        self.files += 1
        file.write_bytes(body)
        fresh = not any(file.read_bytes() == f.read_bytes() for f in self.folder.glob("*.binpb") if f != file)
        for _ in range(1 + again):
            assert self.loaders[which].ingest([file]).bad == []
        if fresh:
            self._sent(body, spans)
        self.loaded = len(self.sent)
        self.looked_at = False

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        if self.looked_at or not self.loaded or self.loaded < len(self.sent):
            return
        self.looked_at = True
        with StoreReader(self.db) as reader:
            found = {run.run_id: run for run in reader.runs(with_steps=True)}
            [kept] = reader.query(BOOKS).rows
            assert_models_are_their_steps(reader)
            spans = reader.query("SELECT count(*), count(DISTINCT (trace_id, span_id, started_ns)) FROM spans").rows
        assert found == {r.run_id: r for r in project(self.sent, prices=PRICES, now=dt.datetime.now(dt.UTC))}
        received, entries, distinct, rows = kept
        assert received == entries == len(self.sent)
        assert spans == [(rows, distinct)]

    def _send(self, span: Span) -> None:
        body = encode_spans([span])
        signal = Signal.STARTS if span.start_record else Signal.TRACES
        self.journal.append(signal, Encoding.PROTOBUF, START_NS, body)
        self._sent(body, [span])

    def _sent(self, body: bytes, spans: list[Span]) -> None:
        read = read_traces(body, Encoding.PROTOBUF).spans
        starts = {s.span_id for s in spans if s.start_record}
        self.sent += [msgspec.structs.replace(s, start_record=s.span_id in starts) for s in read]


TestExactlyOnce = pytest.mark.fault(19, 20, 51)(ExactlyOnce.TestCase)
TestExactlyOnce.settings = settings(
    max_examples=12, stateful_step_count=14, deadline=None, suppress_health_check=list(HealthCheck)
)
