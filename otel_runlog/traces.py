"""What the loader knows of the traces it works on: their distinct spans, log records and nodes, bounded in memory.

Everything here can be read back from the store, so a trace that was let go costs time and nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from otel_runlog.conventions.log_events import place_of
from otel_runlog.log_content import encoded, mark_of
from otel_runlog.logs import fills
from otel_runlog.model import LogRecord, Span
from otel_runlog.resolve import Key, Resolver, Verdict, key_of
from otel_runlog.span import neutral_form
from otel_runlog.store.writer import StoreWriter
from otel_runlog.tree import Node, node_of

MAX_BYTES = 96 << 20
"""How much of spans is kept between turns; a single trace may be larger."""
BYTES_PER_SPAN = 6000
"""What a span, its node and their dicts take beside its texts."""
BYTES_PER_LOG = 200


class TraceState:
    """One trace as far as it has come, or one place of log records without a trace. `knows_logs`: they are here."""

    def __init__(self, trace_id: str) -> None:
        self.trace_id = trace_id
        self.resolver = Resolver()
        self._places: set[str] = set()
        self.size_bytes = BYTES_PER_SPAN
        self.knows_logs = True
        self._logs: list[LogRecord] = []
        self._log_marks: set[bytes] = set()
        self._nodes: dict[Key, tuple[Span, Node]] = {}
        self._is_known = False

    def offer(self, span: Span, mark: bytes, size_bytes: int) -> Verdict:
        """Take a span in, and say what it is; see `Resolver.offer`. `size_bytes`: of its neutral form."""
        verdict = self.resolver.offer(span, mark)
        if verdict in (Verdict.STORED, Verdict.CONFLICT):
            self.size_bytes += BYTES_PER_SPAN + size_bytes
            self._is_known = False
        return verdict

    def new_places(self, places: set[str]) -> list[tuple[str, str]]:
        """The places where records of the trace's runs may be kept, with the trace; those told before are left out."""
        new = sorted(places - self._places)
        self._places.update(new)
        return [(place, self.trace_id) for place in new]

    def offer_log(self, record: LogRecord) -> bool:
        """Take a log record in; False where it came before. Only what can fill a span, or stand for one, is kept."""
        content = encoded(record)
        mark = mark_of(content)
        if mark in self._log_marks:
            return False
        self._log_marks.add(mark)
        self.size_bytes += BYTES_PER_LOG
        if fills(record):
            self._logs.append(record)
            self.size_bytes += len(content)
        return True

    def node(self, span: Span) -> Node:
        """The node of a span that was just taken in."""
        key = key_of(span)
        known = self._nodes.get(key)
        if known is None or known[0] is not span:
            known = self._nodes[key] = (span, node_of(span))
        return known[1]

    def nodes(self) -> list[Node]:
        """A node for each distinct span; those whose span did not change since are not read again."""
        if not self._is_known:
            spans = self.resolver.spans()
            self._nodes = {key: self._node(key, span) for key, span in spans.items()}
            self._is_known = True
        return [node for _, node in self._nodes.values()]

    def _node(self, key: Key, span: Span) -> tuple[Span, Node]:
        known = self._nodes.get(key)
        if known is not None and (known[0] is span or known[0] == span):
            return known
        return span, node_of(span)

    def spans(self) -> dict[Key, Span]:
        """The spans behind the nodes."""
        return {key: span for key, (span, _) in self._nodes.items()}

    def logs(self) -> list[LogRecord]:
        """The log records that can fill spans or stand for them."""
        return self._logs


class Traces:
    """The traces in memory, the least recently used let go first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._states: OrderedDict[str, TraceState] = OrderedDict()
        self._max_bytes = max_bytes

    def clear(self) -> None:
        """Forget everything: another process wrote to the store, or a commit failed."""
        self._states.clear()

    def load(self, writer: StoreWriter, trace_ids: Iterable[str]) -> set[str]:
        """Have these traces in memory. Returns those that the store knew before."""
        wanted = set(trace_ids)
        missing = wanted - self._states.keys()
        known = writer.known_traces(missing) if missing else set()
        logged = writer.logged_traces(missing) if missing else set()
        for trace_id in missing:
            self._states[trace_id] = state = TraceState(trace_id)
            state.knows_logs = trace_id not in logged
        for stored in writer.spans_of(known) if known else ():
            size_bytes = len(neutral_form(stored.span))
            self._states[stored.span.trace_id].offer(stored.span, stored.digest, size_bytes)
        for trace_id in sorted(wanted):
            self._states.move_to_end(trace_id)
        return known | logged | (wanted - missing)

    def load_logs(self, writer: StoreWriter, trace_ids: Iterable[str]) -> None:
        """Have the log records of these traces in memory, which must be there themselves."""
        missing = [t for t in trace_ids if not self._states[t].knows_logs]
        for log in writer.logs_of(missing) if missing else ():
            self._states[str(place_of(log.record))].offer_log(log.record)
        for trace_id in missing:
            self._states[trace_id].knows_logs = True

    def __getitem__(self, trace_id: str) -> TraceState:
        return self._states[trace_id]

    def trim(self) -> None:
        """Let go of the oldest traces over the bound. Not while a batch is being gathered: it looks at its traces."""
        kept = sum(s.size_bytes for s in self._states.values())
        while kept > self._max_bytes and len(self._states) > 1:
            _, state = self._states.popitem(last=False)
            kept -= state.size_bytes
