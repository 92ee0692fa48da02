"""Spans as nodes of their traces: read once, linked to parents and children, whatever is missing or wrong.

A node keeps what the projection needs and not the attributes, so that a long trace stays small in memory. Parents may
be missing, be remote, form cycles or share an id with another span (a seeded id generator); none of it raises, and a
walk over a trace takes time in proportion to its spans.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter

import msgspec

from otel_runlog import conventions
from otel_runlog.conventions._attrs import dump, items, text
from otel_runlog.conventions._errors import Failure, failure
from otel_runlog.conventions._fields import session, user
from otel_runlog.conventions._index import shape_of
from otel_runlog.conventions.reading import Reading
from otel_runlog.model import Attributes, Resource, Span, StepKind

REMOTE_KNOWN, REMOTE_PARENT = 0x100, 0x300
"""OTLP span flags: bit 8 says that bit 9 is known, bit 9 that the parent is remote (OTLP 1.11, SpanFlags)."""
SERVER, CONSUMER = 2, 5
"""Span kinds whose parent is in another process, for emitters that set no flags."""
IN_ORDER, FROM_THE_TOP = attrgetter("order"), attrgetter("depth", "order")
"""Keys to sort linked nodes by: as steps are numbered; parents before their children."""
RUN_ID = "runlog.run.id"
JOINING = frozenset({"codex", "gemini_cli"})
"""Conventions whose own run id joins traces (CONTRACT, run identity 1): one run of theirs is many traces. What names no
run of theirs goes by its session.

Gemini CLI puts it on model calls only; its tools name the conversation and follow the call before them.
"""
BY_CONVERSATION = frozenset({"gemini_cli"})
"""Those of them whose traces do not all have that id."""
RUN_SCOPE = "otel_runlog"
"""The scope of the span that `otel_runlog.run` opens."""
OWN_PREFIX, LABEL_PREFIX = "runlog.", "runlog.label."
OTHER_TAGS = "tag.tags"
"""OpenInference's name for tags."""
RUN_ATTRIBUTES = ("runlog.launch.id", "runlog.replay_of", "runlog.fork_of", "runlog.fork_at", "runlog.memory_ref")
"""What says how a run came to be: on its spans, else on the resource of a process that was started for the one run.

`runlog.memory_ref` is what the agent's memory was at the start, in the application's own words.
"""
PROCESS_ATTRIBUTES = ("service.name", "service.instance.id", "host.name", "process.pid")
MODEL_KINDS = frozenset({StepKind.LLM, StepKind.EMBEDDING})
CALL_KINDS = MODEL_KINDS | {StepKind.TOOL}
AGENT_KINDS = frozenset({StepKind.AGENT, StepKind.WORKFLOW})


class Node(msgspec.Struct, eq=False):
    """A span in its trace.

    `own` is what the span says, `reading` that with what log records add. From `parent` on everything is set by `link`:
    `orphan` says that the parent is named, missing and not in another process; `looped` that the parent named is the
    span itself or below it; `order` is that of steps: start, then depth, then span id (CONTRACT), the rest tells equal
    ids apart; `agent` is the agent the span names, else the nearest named above. `given_run_id` is the run named on
    this very span or, as `by_process` says, by its resource; `run_id` that or the inherited one. `logged`: a log record
    told of it, and no span.
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
    resource: Resource = Resource()
    failed: bool = False
    cancelled: bool = False
    error_message: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    given_run_id: str | None = None
    joins: bool = False
    by_process: bool = False
    own: Reading | None = None
    reading: Reading | None = None
    labels: dict[str, str] = {}
    tags: tuple[str, ...] = ()
    run_attributes: Attributes = {}
    dropped: int = 0
    notes: tuple[str, ...] = ()
    logged: bool = False
    parent: Node | None = None
    children: list[Node] = []
    depth: int = 0
    order: tuple[int, int, str, str, bool] = (0, 0, "", "", False)
    run_id: str | None = None
    agent: str | None = None
    orphan: bool = False
    looped: bool = False

    @property
    def kind(self) -> StepKind | None:
        """The step's kind; None where no convention reads the span."""
        return self.reading.kind if self.reading else None

    @property
    def service(self) -> str | None:
        """The resource's service.name."""
        return self.resource.text("service.name")

    @property
    def service_version(self) -> str | None:
        """The resource's service.version."""
        return self.resource.text("service.version")

    @property
    def environment(self) -> str | None:
        """The resource's deployment environment, by its name of today or its older one."""
        return self.resource.text("deployment.environment.name") or self.resource.text("deployment.environment")

    @property
    def process(self) -> tuple[str | None, ...]:
        """What the resource says of the process, in the order of PROCESS_ATTRIBUTES."""
        told = map(self.resource.attributes.get, PROCESS_ATTRIBUTES)
        return tuple(str(value) if value is not None else None for value in told)

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

    def walk(self) -> Iterator[Node]:
        """The node and all below it, parents before children."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.children)


def node_of(span: Span) -> Node:
    """Read a span through its convention. Reading errors of ours must not cost the span: it then is no step, noted."""
    shape = shape_of(span.attributes)
    try:
        reading, notes = conventions.read(span, shape), span.repairs
    except Exception as error:  # noqa: BLE001  # whatever a hostile attribute does, the span stays
        reading, notes = None, (*span.repairs, f"repaired: unreadable by its convention ({type(error).__name__})")
    node = _node(span, reading, notes)
    if shape.starting(OWN_PREFIX) or OTHER_TAGS in span.attributes:
        _read_own(node, span.attributes)
    if (process_run := span.resource.text(RUN_ID)) and node.joins:
        node.given_run_id, node.joins, node.by_process = process_run, False, True
    return node


def _node(span: Span, reading: Reading | None, notes: tuple[str, ...]) -> Node:
    says = reading or failure(span)
    return Node(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_span_id or None,
        name=span.name,
        span_kind=span.kind,
        started_ns=span.started_ns,
        ended_ns=span.ended_ns,
        flags=span.flags,
        scope=span.scope.name,
        resource=span.resource,
        failed=says.failed,
        cancelled=says.cancelled,
        error_message=span.status_message or _error(says),
        session_id=reading.session_id if reading else session(span.attributes),
        user_id=reading.user_id if reading else user(span.attributes),
        given_run_id=_joining_id(reading),
        joins=True,
        own=reading,
        reading=reading,
        dropped=span.dropped_attributes_count + span.dropped_events_count + span.dropped_links_count,
        notes=notes,
        children=[],
    )


def _read_own(node: Node, a: Attributes) -> None:
    """What `otel_runlog.run` and other attributes of ours say; few spans have any."""
    named = text(a, (RUN_ID,))
    node.given_run_id, node.joins = named or node.given_run_id, named is None
    node.labels = {k.removeprefix(LABEL_PREFIX): dump(v) for k, v in a.items() if k.startswith(LABEL_PREFIX)}
    node.tags = tuple(str(t) for t in items(a.get("runlog.tags") or a.get(OTHER_TAGS)))
    node.run_attributes = {k: a[k] for k in RUN_ATTRIBUTES if k in a}


def _error(says: Reading | Failure) -> str | None:
    if isinstance(says, Reading):
        return says.error_message or says.error_type
    return says.message or says.type


def _joining_id(reading: Reading | None) -> str | None:
    """A run id out of the native one, where that names the run over several traces."""
    if reading is None or reading.convention not in JOINING:
        return None
    native = reading.native_run_id or reading.session_id
    return hashlib.sha256(f"{reading.convention}:{native}".encode()).hexdigest()[:32] if native else None


def node_of_log(span: Span, agent: str | None, session_id: str | None) -> Node:
    """A node for the span that a log record stands for; what is above it is not known, unless the record says so."""
    node = node_of(span)
    node.logged = True
    if node.own is not None:
        node.session_id = node.session_id or session_id
        node.own = node.reading = msgspec.structs.replace(
            node.own,
            usage_logged=True,
            is_part=False,
            agent=node.own.agent or agent,
            session_id=node.session_id,
        )
        node.given_run_id = _joining_id(node.own) if node.joins else node.given_run_id
    return node


def link(nodes: Iterable[Node]) -> list[Node]:
    """Link nodes to their parents and give the tops, in order of time. Links of an earlier call are undone first."""
    ordered = sorted(nodes, key=_by_time)
    for node in ordered:
        node.parent, node.children, node.depth, node.looped = None, [], 0, False
    index = _Index(ordered)
    for node in ordered:
        node.parent = index.parent(node)
    _cut_loops(ordered)
    for node in ordered:
        if node.parent is not None:
            node.parent.children.append(node)
    tops = [n for n in ordered if n.parent is None]
    _mark_orphans(ordered, tops)
    followed = _follow_calls(tops)
    for top in tops:
        top.run_id = followed.get(id(top), top.given_run_id)
        _hand_down(top)
    return tops


def is_joining(node: Node) -> bool:
    """Whether the node's convention names runs that are many traces."""
    return node.own is not None and node.own.convention in JOINING


def conversation(node: Node) -> str | None:
    """The conversation that may tie a node's trace to other traces of a run."""
    own = node.own
    return own.session_id if own and node.joins and own.convention in BY_CONVERSATION else None


def _follow_calls(tops: list[Node]) -> dict[int, str]:
    """The runs (by the node's `id`) of tops that name their conversation alone: that of the call before each."""
    named: dict[str, list[Node]] = {}
    loose: list[tuple[str, Node]] = []
    for top in tops:
        if (session := conversation(top)) is not None:
            if top.own and top.own.native_run_id:
                named.setdefault(session, []).append(top)
            else:
                loose.append((session, top))
    found: dict[int, str] = {}
    for session, top in loose:
        calls = named.get(session, [])
        if calls:
            call = calls[max(bisect_right(calls, top.start, key=lambda n: n.start) - 1, 0)]
            found[id(top)] = call.given_run_id or ""
    return found


def _by_time(node: Node) -> tuple[int, str, str, bool, int]:
    start = node.start
    end = node.ended_ns if node.ended_ns is not None else start
    return start, node.trace_id, node.span_id, node.started_ns is None, end


class _Index:
    """Nodes by their ids: several, in order of start, where an id was used again."""

    def __init__(self, ordered: list[Node]) -> None:
        self._nodes: dict[tuple[str, str], list[Node]] = {}
        for node in ordered:
            self._nodes.setdefault((node.trace_id, node.span_id), []).append(node)

    def parent(self, node: Node) -> Node | None:
        """The parent; of several the last that started before the node."""
        if node.parent_id is None:
            return None
        if node.parent_id == node.span_id:
            node.looped = True
            return None
        found = self._nodes.get((node.trace_id, node.parent_id))
        if found is None:
            return None
        if len(found) == 1:
            return found[0]
        return found[max(bisect_right(found, node.start, key=lambda n: n.start) - 1, 0)]


def _cut_loops(ordered: list[Node]) -> None:
    """Make the earliest span of each circle of parents a top."""
    state: dict[int, int] = {}
    for number, node in enumerate(ordered, 1):
        if node.parent is None or id(node.parent) in state:
            state.setdefault(id(node), number)  # as nearly all are: parents start before their children
            continue
        path: list[Node] = []
        step: Node | None = node
        while step is not None and id(step) not in state:
            state[id(step)] = number
            path.append(step)
            step = step.parent
        if step is not None and state[id(step)] == number:
            first = min(path[path.index(step) :], key=_by_time)
            first.parent, first.looped = None, True


def _mark_orphans(ordered: list[Node], tops: list[Node]) -> None:
    homes: dict[str, set[str | None]] = {}
    for top in tops:
        if top.parent_id is None:
            homes.setdefault(top.trace_id, set()).add(top.service)
    for node in ordered:
        named = node.parent_id is not None or node.logged
        missing = node.parent is None and named and not node.looped
        node.orphan = missing and not _has_remote_parent(node, homes.get(node.trace_id))


def _has_remote_parent(node: Node, home: set[str | None] | None) -> bool:
    """Whether a missing parent is in another process (CONTRACT, run identity 6).

    The flags say so. Without them, a server's or consumer's parent is, and so is that of a span whose service is none
    of those (`home`) that the trace began in.
    """
    if node.flags & REMOTE_KNOWN:
        return node.flags & REMOTE_PARENT == REMOTE_PARENT
    elsewhere = bool(home) and node.service is not None and node.service not in (home or ())
    return node.span_kind in (SERVER, CONSUMER) or elsewhere


def _hand_down(top: Node) -> None:
    """Hand run ids, agents and depths down; the top has its run id already."""
    for node in top.walk():
        above = node.parent
        if above is not None:
            node.run_id = _inherited(node, above)
        node.agent = (node.reading.agent if node.reading else None) or (above.agent if above else None)
        node.depth = above.depth + 1 if above else 0
        node.order = (node.start, node.depth, node.span_id, node.trace_id, node.started_ns is None)


def _inherited(node: Node, above: Node) -> str | None:
    """The run of a node below another.

    What a process was started for is said of all that it does: a parent in there knows better, elsewhere it does not.
    """
    told = node.joins or (node.by_process and above.resource.text(RUN_ID) == node.given_run_id)
    return above.run_id if above.run_id and told else node.given_run_id or above.run_id


def nearest_above(nodes: Iterable[Node], wanted: Callable[[Node], bool]) -> dict[int, Node]:
    """For each of the linked nodes (by `id`) that has one, the nearest node above it that is `wanted`."""
    found: dict[int, Node] = {}
    for node in sorted(nodes, key=attrgetter("depth")):
        above = node.parent
        if above is not None:
            nearest = above if wanted(above) else found.get(id(above))
            if nearest is not None:
                found[id(node)] = nearest
    return found


def mark_above(node: Node, marked: set[int]) -> None:
    """Mark all nodes above one (by `id`). What is above a marked node is marked already."""
    above = node.parent
    while above is not None and id(above) not in marked:
        marked.add(id(above))
        above = above.parent
