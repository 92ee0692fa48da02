"""Which model and tool steps are second views of one call, and which view counts.

One call can be seen by a framework, by a client instrumentation and by the client itself. The views are nested, or
siblings, or in traces of their own; a shared response id tells, else nesting, else equal numbers inside the same time
(facts/semconv trap 2, corpus README). A sub-agent's calls under an LLM span are calls of their own: the path to them
leads through an agent or a tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from otel_runlog.conventions.reading import Reading
from otel_runlog.model import StepKind
from otel_runlog.tree import AGENT_KINDS, IN_ORDER, MODEL_KINDS, Node, nearest_above

CLOCK_TOLERANCE_NS = 5_000_000
"""Two views of one call may start and end this far apart: measured up to 3 ms between a client's and its wrapper's."""
OWN_WORK = AGENT_KINDS | {StepKind.TOOL}
"""Kinds between two model calls that make the inner one a call of its own."""
MODELS_AND_OWN_WORK = MODEL_KINDS | OWN_WORK
TRANSPORT = frozenset({"anthropic_sdk"})
"""Conventions of the client itself: they saw the provider's numbers first."""

Found = dict[int, Node]
"""id(node) of a view that does not count -> a node that counts for it, or leads to the one that does."""


class Duplicates:
    """The groups of views of one call: in each, one node counts."""

    def __init__(self, nodes: Iterable[Node], found: Found) -> None:
        self._counted: Found = {}
        self._views: dict[int, list[Node]] = {}
        self._agents: dict[int, str | None] = {}
        for node in nodes:
            if id(node) in found:
                keep = _end_of_chain(node, found)
                self._counted[id(node)] = keep
                self._views.setdefault(id(keep), []).append(node)

    def __bool__(self) -> bool:
        return bool(self._counted)

    def counted(self, node: Node) -> Node | None:
        """The node that counts for `node`; None where it counts itself."""
        return self._counted.get(id(node))

    def views(self, node: Node) -> list[Node]:
        """The nodes that `node` counts for."""
        return self._views.get(id(node), [])

    def twins(self, node: Node) -> Iterator[Node]:
        """All other views of the call that `node` sees, the one that counts first."""
        keep = self._counted.get(id(node), node)
        return (n for n in (keep, *self.views(keep)) if n is not node)

    def agent(self, node: Node) -> str | None:
        """The agent that some view of the call belongs to, that of the one that counts first."""
        keep = self._counted.get(id(node), node)
        if id(keep) not in self._agents:
            self._agents[id(keep)] = next((n.agent for n in (keep, *self.views(keep)) if n.agent), None)
        return self._agents[id(keep)]


def find_duplicates(nodes: Iterable[Node]) -> Duplicates:
    """Every model or tool node that another node counts for, over all given (linked) traces."""
    nodes = list(nodes)
    steps = sorted((n for n in nodes if n.reading), key=IN_ORDER)
    calls = [n for n in steps if n.kind in MODEL_KINDS]
    above = nearest_above(nodes, lambda n: n.kind in MODELS_AND_OWN_WORK)
    found = _peers(calls, above)
    _nested(calls, above, found)
    _tools([n for n in steps if n.kind is StepKind.TOOL], nearest_above(nodes, lambda n: n.reading is not None), found)
    return Duplicates(steps, found)


def _end_of_chain(node: Node, found: Found) -> Node:
    while id(node) in found:
        node = found[id(node)]
    return node


def quality(node: Node) -> tuple[bool, bool, bool, bool, int]:
    """How far a view's usage can be trusted; the larger counts."""
    r = _reading(node)
    usage = r.usage
    complete = usage.input_tokens is not None and (usage.output_tokens is not None or r.kind is StepKind.EMBEDDING)
    known = sum(1 for name in usage.__struct_fields__ if getattr(usage, name))
    return complete, not r.usage_cut, not r.usage_fault, r.convention in TRANSPORT, known


def _reading(node: Node) -> Reading:
    assert node.reading is not None
    return node.reading


def _peers(calls: list[Node], above: dict[int, Node]) -> Found:
    """Views beside each other: same response id, or the same numbers in the same time, from different scopes.

    Of one call each scope has one view: two alike calls at the same time are not taken for one. What has a view of a
    scope around it or inside it has no other of that scope beside it: calls that fail in 1 ms, one after the other,
    overlap within the tolerance.
    """
    found: Found = {}
    if len({n.scope for n in calls}) <= 1:
        return found
    scopes: dict[int, frozenset[str]] = {id(n): frozenset((n.scope,)) for n in calls}
    nested = _nested_scopes(calls, above)
    for alike in _buckets(calls):
        everywhere = frozenset(n.scope for n in alike)
        for i, node in enumerate(alike):
            for other in _overlapping(alike, i):
                if id(node) in found or scopes[id(node)] >= everywhere:
                    break
                x, y = id(node), id(other)
                seen = scopes[x] & (scopes[y] | nested[y]) or nested[x] & scopes[y]
                if y in found or seen or not same_call(node, other):
                    continue
                keep, drop = (node, other) if quality(node) >= quality(other) else (other, node)
                found[id(drop)] = keep
                scopes[id(keep)] |= scopes[id(drop)]
                nested[id(keep)] |= nested[id(drop)]
    return found


def _nested_scopes(calls: list[Node], above: dict[int, Node]) -> dict[int, frozenset[str]]:
    """The scopes of the views that each call has around it and inside it."""
    found: dict[int, frozenset[str]] = {id(n): frozenset() for n in calls}
    for node in calls:
        outer = above.get(id(node))
        if outer is not None and outer.kind is node.kind:
            found[id(node)] |= {outer.scope}
            found[id(outer)] |= {node.scope}
    return found


def _buckets(calls: list[Node]) -> Iterator[list[Node]]:
    """Calls that could be views of one, where scopes differ: by response id, then by numbers, then the failed ones.

    The order of the buckets must not depend on calls that have nothing to do with each other: the store knows only
    some of them.
    """
    buckets: dict[tuple[int, str, int], list[Node]] = {}
    for node in calls:
        r = _reading(node)
        if r.response_id:
            buckets.setdefault((0, r.response_id, 0), []).append(node)
        if r.usage.input_tokens is not None:
            output = r.usage.output_tokens
            buckets.setdefault((1, str(r.usage.input_tokens), -1 if output is None else output), []).append(node)
        elif r.failed:
            buckets.setdefault((2, "", 0), []).append(node)
    return (b for _, b in sorted(buckets.items(), key=lambda kb: kb[0]) if len({n.scope for n in b}) > 1)


def _overlapping(calls: list[Node], i: int) -> Iterator[Node]:
    """Later calls that start before call `i` ends; the list is in order of start."""
    limit = calls[i].end + CLOCK_TOLERANCE_NS
    for other in calls[i + 1 :]:
        if other.start > limit:
            return
        yield other


def _related(a: Node, b: Node) -> bool:
    return any(n is b for n in a.ancestors()) or any(n is a for n in b.ancestors())


def same_call(a: Node, b: Node) -> bool:
    """Whether two model spans of different scopes, neither above the other, see one call.

    With response ids these tell, and it is enough that the times overlap: an abandoned stream's views end apart.
    """
    if not may_be_same_call(a, b):
        return False
    x, y = _reading(a), _reading(b)
    if x.response_id and y.response_id:
        return x.response_id == y.response_id and not _related(a, b)
    return _within(a, b) and _same_words(x, y) and not _related(a, b)


def may_be_same_call(a: Node, b: Node) -> bool:
    """Whether scopes, times and places allow that two model spans see one call.

    Of two in different traces one must have no parent: a client's span that found no context to belong to. Calls whose
    times or processes are known to differ are two, whatever else they share; so are those without a start or an end.
    """
    if a.scope == b.scope or a.kind is not b.kind or not _overlap(a, b) or not _same_process(a, b):
        return False
    return a.trace_id == b.trace_id or not a.parent_id or not b.parent_id


def _same_words(x: Reading, y: Reading) -> bool:
    """Without ids: the same model, and the same numbers or both failed."""
    if not _same_model(x, y):
        return False
    if x.failed and y.failed:
        return True
    same = (x.usage.input_tokens, x.usage.output_tokens) == (y.usage.input_tokens, y.usage.output_tokens)
    return same and x.usage.input_tokens is not None


def _overlap(a: Node, b: Node) -> bool:
    """Whether both are known to have run at some moment, give or take the clock tolerance."""
    if None in (a.started_ns, a.ended_ns, b.started_ns, b.ended_ns):
        return False
    return max(a.start, b.start) <= min(a.end, b.end) + CLOCK_TOLERANCE_NS


def _within(a: Node, b: Node) -> bool:
    """Whether one lies inside the other, give or take the clock tolerance."""
    t = CLOCK_TOLERANCE_NS
    return (a.start - t <= b.start and b.end <= a.end + t) or (b.start - t <= a.start and a.end <= b.end + t)


def _same_process(a: Node, b: Node) -> bool:
    """Two views of a call are made in one process; what is not told of a process may be anything."""
    return all(x is None or y is None or x == y for x, y in zip(a.process, b.process, strict=False))


def _same_model(x: Reading, y: Reading) -> bool:
    ours = {m for m in (x.request_model, x.response_model) if m}
    theirs = {m for m in (y.request_model, y.response_model) if m}
    return not ours or not theirs or any(m.startswith(n) or n.startswith(m) for m in ours for n in theirs)


def _nested(calls: list[Node], above: dict[int, Node], found: Found) -> None:
    """A model span around other model spans is a wrapper: from the inside out, the better view counts.

    `above` has the nearest model call or work of its own above each: an inner call of a tool is no view of the outer.
    """
    inners: dict[int, list[Node]] = {}
    for node in calls:
        outer = above.get(id(node))
        if outer is not None and outer.kind is node.kind:
            inners.setdefault(id(outer), []).append(node)
    for outer in sorted((n for n in calls if id(n) in inners), key=lambda n: -n.depth):
        _resolve(outer, inners[id(outer)], found)


def _resolve(outer: Node, inside: list[Node], found: Found) -> None:
    outer = _end_of_chain(outer, found)
    counted = list({id(n): n for n in (_end_of_chain(i, found) for i in inside)}.values())
    counted = [n for n in counted if n is not outer]
    if not counted:
        return
    sent = [n for n in counted if not _reading(n).refused]
    if len(counted) == 1:
        inner_wins = quality(counted[0]) >= quality(outer)
    else:
        inner_wins = all(_reading(n).usage for n in sent) or not _reading(outer).usage
    if inner_wins:
        found[id(outer)] = (sent or counted)[-1]
    else:
        found.update((id(n), outer) for n in counted)


def _tools(tools: list[Node], above: dict[int, Node], found: Found) -> None:
    """A tool span right under another with its call id or name, or beside it with its call id, is the same call."""
    by_call: dict[tuple[str, str], Node] = {}
    for node in tools:
        outer = above.get(id(node))
        if outer is not None and outer.kind is StepKind.TOOL and _same_tool(outer, node):
            found[id(node)] = outer
            continue
        call_id = _reading(node).tool_call_id
        other = by_call.setdefault((node.trace_id, call_id), node) if call_id else node
        if other.scope != node.scope and _within(other, node):
            found[id(node)] = other


def _same_tool(outer: Node, inner: Node) -> bool:
    x, y = _reading(outer), _reading(inner)
    if x.tool_call_id and y.tool_call_id:
        return x.tool_call_id == y.tool_call_id
    return x.tool_name == y.tool_name and (outer.scope != inner.scope or y.rootless)
