"""What the loader knows of the traces it works on: their distinct spans, log records and nodes, bounded in memory.

Everything here can be read back from the store, so a trace that was let go costs time and nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from otel_runlog.model import LogRecord, Span
from otel_runlog.resolve import Key, Resolver, key_of
from otel_runlog.store.writer import StoreWriter
from otel_runlog.tree import Node, node_of

MAX_SPANS = 50_000
"""How many spans are kept between turns: about 200 MB of spans of 4 KB."""


class TraceState(msgspec.Struct):
    """One trace as far as it has come."""

    resolver: Resolver
    logs: list[LogRecord]
    nodes: dict[Key, tuple[Span, Node]] = {}

    @classmethod
    def empty(cls) -> TraceState:
        """A trace of which nothing is known."""
        return cls(Resolver(), [], {})

    def current_nodes(self) -> list[Node]:
        """A node for each distinct span; those whose span did not change since are not read again."""
        nodes: dict[Key, tuple[Span, Node]] = {}
        for span in self.resolver.spans():
            key = key_of(span)
            known = self.nodes.get(key)
            nodes[key] = known if known is not None and known[0] == span else (span, node_of(span))
        self.nodes = nodes
        return [node for _, node in nodes.values()]

    def spans(self) -> dict[Key, Span]:
        """The spans behind the nodes."""
        return {key: span for key, (span, _) in self.nodes.items()}


class Traces:
    """The traces in memory, the least recently used let go first."""

    def __init__(self, max_spans: int = MAX_SPANS) -> None:
        self._states: OrderedDict[str, TraceState] = OrderedDict()
        self._max_spans = max_spans

    def clear(self) -> None:
        """Forget everything: another process wrote to the store."""
        self._states.clear()

    def load(self, writer: StoreWriter, trace_ids: Iterable[str]) -> set[str]:
        """Have these traces in memory. Returns those that the store knew before."""
        wanted = set(trace_ids)
        missing = wanted - self._states.keys()
        known = writer.known_traces(missing) if missing else set()
        for trace_id in missing:
            self._states[trace_id] = TraceState.empty()
        for stored in writer.spans_of(known) if known else ():
            self._states[stored.span.trace_id].resolver.offer(stored.span, stored.digest)
        for log in writer.logs_of(known) if known else ():
            self._states[str(log.record.trace_id)].logs.append(log.record)
        for trace_id in wanted:
            self._states.move_to_end(trace_id)
        return known | (wanted - missing)

    def __getitem__(self, trace_id: str) -> TraceState:
        return self._states[trace_id]

    def trim(self) -> None:
        """Let go of the oldest traces over the bound."""
        kept = sum(len(s.resolver.entries) for s in self._states.values())
        while kept > self._max_spans and len(self._states) > 1:
            _, state = self._states.popitem(last=False)
            kept -= len(state.resolver.entries)
