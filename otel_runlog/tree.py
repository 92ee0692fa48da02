"""Spans as nodes of their traces: read once, linked to parents and children, whatever is missing or wrong.

A node keeps what the projection needs and not the attributes, so that a long trace stays small in memory. Parents may
be missing, be remote, form cycles or share an id with another span (a seeded id generator); none of it raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from otel_runlog import conventions
from otel_runlog.conventions._attrs import dump, items, text
from otel_runlog.conventions._fields import session, user
from otel_runlog.conventions.reading import Reading
from otel_runlog.model import Attributes, Span, StepKind

REMOTE_PARENT = 0x300
"""OTLP span flags: bit 8 says that bit 9 is known, bit 9 that the parent is remote (OTLP 1.11, SpanFlags)."""
SERVER, CONSUMER = 2, 5
"""Span kinds whose parent is in another process, for emitters that set no flags."""
RUN_ID = "runlog.run.id"
LABEL_PREFIX = "runlog.label."
RUN_ATTRIBUTES = ("runlog.launch.id", "runlog.replay_of", "runlog.fork_of", "runlog.fork_at")
MODEL_KINDS = frozenset({StepKind.LLM, StepKind.EMBEDDING})
CALL_KINDS = MODEL_KINDS | {StepKind.TOOL}
AGENT_KINDS = frozenset({StepKind.AGENT, StepKind.WORKFLOW})


class Node(msgspec.Struct, eq=False):
    """A span in its trace.

    `own` is what the span says, `reading` that with what log records add. `parent`, `children` and `depth` are set by
    `link`. `given_run_id` is the run named on this very span, `run_id` that or the inherited one.
    """

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str = ""
    span_kind: int = 0
    started_ns: int | None = None
    ended_ns: int | None = None
    flags: int = 0
    scope: str = ""
    service: str | None = None
    service_version: str | None = None
    environment: str | None = None
    failed: bool = False
    status_message: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    given_run_id: str | None = None
    own: Reading | None = None
    reading: Reading | None = None
    labels: dict[str, str] = {}
    tags: tuple[str, ...] = ()
    run_attributes: Attributes = {}
    dropped: int = 0
    notes: tuple[str, ...] = ()
    parent: Node | None = None
    children: list[Node] = []
    depth: int = 0
    run_id: str | None = None

    @property
    def kind(self) -> StepKind | None:
        """The step's kind; None where no convention reads the span."""
        return self.reading.kind if self.reading else None

    @property
    def orphan(self) -> bool:
        """Whether the parent is named, missing, and not in another process."""
        return self.parent is None and self.parent_id is not None and not self.remote

    @property
    def remote(self) -> bool:
        """Whether the parent is in another process (CONTRACT, run identity 6)."""
        if self.flags & REMOTE_PARENT == REMOTE_PARENT:
            return True
        return not self.flags & 0x100 and self.span_kind in (SERVER, CONSUMER)

    @property
    def start(self) -> int:
        """Start for sorting: unknown sorts by the end, else first."""
        return self.started_ns if self.started_ns is not None else (self.ended_ns or 0)

    @property
    def end(self) -> int:
        """End for comparing: an open span ends at its start."""
        return self.ended_ns if self.ended_ns is not None else self.start

    def ancestors(self) -> Iterator[Node]:
        """From the parent up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def below(self) -> Iterator[Node]:
        """All descendants, without recursion: traces may be deep."""
        stack = list(self.children)
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.children)


def node_of(span: Span) -> Node:
    """Read a span through its convention. Reading errors of ours must not cost the span: it then is no step, noted."""
    try:
        reading, notes = conventions.read(span), span.repairs
    except Exception as error:  # noqa: BLE001  # whatever a hostile attribute does, the span stays
        reading, notes = None, (*span.repairs, f"repaired: unreadable by its convention ({type(error).__name__})")
    return _node(span, reading, notes)


def _node(span: Span, reading: Reading | None, notes: tuple[str, ...]) -> Node:
    a, resource = span.attributes, span.resource
    return Node(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_span_id,
        name=span.name,
        span_kind=span.kind,
        started_ns=span.started_ns,
        ended_ns=span.ended_ns,
        flags=span.flags,
        scope=span.scope.name,
        service=span.service,
        service_version=resource.text("service.version"),
        environment=resource.text("deployment.environment.name") or resource.text("deployment.environment"),
        failed=span.status_code == 2,  # noqa: PLR2004  # OTLP STATUS_CODE_ERROR
        status_message=span.status_message or None,
        session_id=reading.session_id if reading else session(a),
        user_id=reading.user_id if reading else user(a),
        given_run_id=text(a, (RUN_ID,)),
        own=reading,
        reading=reading,
        labels={k.removeprefix(LABEL_PREFIX): dump(v) for k, v in a.items() if k.startswith(LABEL_PREFIX)},
        tags=tuple(str(t) for t in items(a.get("runlog.tags") or a.get("tag.tags"))),
        run_attributes={k: a[k] for k in RUN_ATTRIBUTES if k in a},
        dropped=span.dropped_attributes_count + span.dropped_events_count,
        notes=notes,
        children=[],
    )


def link(nodes: Iterable[Node]) -> list[Node]:
    """Link nodes to their parents and give the tops, in order of time. Links of an earlier call are undone first."""
    ordered = sorted(nodes, key=lambda n: (n.start, n.trace_id, n.span_id, n.end))
    index: dict[tuple[str, str], list[Node]] = {}
    for node in ordered:
        node.parent, node.children, node.depth, node.run_id = None, [], 0, node.given_run_id
        index.setdefault((node.trace_id, node.span_id), []).append(node)
    for node in ordered:
        parent = _parent(node, index)
        if parent is not None and not _is_above(node, parent):
            node.parent = parent
            parent.children.append(node)
    tops = [n for n in ordered if n.parent is None]
    for top in tops:
        _inherit(top)
    return tops


def _parent(node: Node, index: dict[tuple[str, str], list[Node]]) -> Node | None:
    if node.parent_id is None:
        return None
    found = [n for n in index.get((node.trace_id, node.parent_id), ()) if n is not node]
    earlier = [n for n in found if n.start <= node.start]
    return earlier[-1] if earlier else (found[0] if found else None)


def _is_above(node: Node, other: Node) -> bool:
    return node is other or any(a is node for a in other.ancestors())


def _inherit(top: Node) -> None:
    """Hand run ids and depths down."""
    stack = [top]
    while stack:
        node = stack.pop()
        for child in node.children:
            child.run_id = child.run_id or node.run_id
            child.depth = node.depth + 1
            stack.append(child)
