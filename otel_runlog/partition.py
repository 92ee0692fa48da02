"""Which spans make which run: CONTRACT, run identity, rules 1 to 4, 6 and 7. Pure.

Rule 1: spans with a run id given by name. Rule 2: the topmost agent, or workflow or chain around calls. Rule 3: calls
outside of those, under their topmost ancestor that is not above another run. Rule 4: what has no root yet is one
provisional run of its trace. Rule 7: a trace that only sees what another run sees is none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import msgspec

from otel_runlog.duplicates import Duplicates
from otel_runlog.model import StepKind
from otel_runlog.tree import CALL_KINDS, IN_ORDER, MODEL_KINDS, RUN_SCOPE, Node, mark_above

ROOT_KINDS = frozenset({StepKind.AGENT, StepKind.WORKFLOW, StepKind.CHAIN})


class Members(msgspec.Struct, eq=False):
    """The nodes of one run.

    `roots` is empty while the root is missing; a named run may have several, the first of them stands for it.
    `adopted` counts the subtrees that are here because the run is the only one of their trace.
    """

    run_id: str
    roots: list[Node]
    nodes: list[Node]
    named: bool = False
    adopted: int = 0

    @property
    def root(self) -> Node | None:
        """The root that gives the run its name and start; None while it is missing."""
        return self.roots[0] if self.roots else None

    @property
    def steps(self) -> list[Node]:
        """The nodes that are steps."""
        return [n for n in self.nodes if n.reading]


def run_id_of(trace_id: str, span_id: str, started_ns: int | None) -> str:
    """The id of the run under that root (CONTRACT, run identity 4)."""
    return hashlib.sha256(f"{trace_id}:{span_id}:{started_ns or 0}".encode()).hexdigest()[:32]


def provisional_id(trace_id: str) -> str:
    """The id of a trace's run while its root is missing."""
    return hashlib.sha256(f"{trace_id}:provisional".encode()).hexdigest()[:32]


def partition(tops: list[Node], duplicates: Duplicates) -> list[Members]:
    """The runs under `tops` (linked nodes of one or more traces), in order of their first start."""
    runs = _named(tops)
    orphans: dict[str, list[Node]] = {}
    for region in (t for t in tops if t.run_id is None):
        if region.orphan:
            orphans.setdefault(region.trace_id, []).append(region)
        else:
            runs.extend(_rooted(region))
    for trace_id, regions in orphans.items():
        _adopt(trace_id, regions, runs)
    runs = _without_satellites([r for r in runs if any(n.reading for n in r.nodes)], duplicates)
    return sorted(runs, key=lambda r: (min([n.order[0] for n in r.nodes]), r.run_id))


def _named(tops: list[Node]) -> list[Members]:
    """Rule 1: one run an id, over all traces in which it has steps.

    A trace that has none is left out: the store finds the traces of a run by its steps.
    """
    found: dict[tuple[str, str], list[Node]] = {}
    for node in (n for top in tops for n in top.walk()):
        if node.run_id is not None:
            found.setdefault((node.run_id, node.trace_id), []).append(node)
    runs: dict[str, Members] = {}
    for (run_id, _), nodes in found.items():
        if any(n.reading for n in nodes):
            runs.setdefault(run_id, Members(run_id, [], [], named=True)).nodes.extend(nodes)
    for run in runs.values():
        run.roots = _roots_of_named([n for n in run.nodes if n.parent is None or n.parent.run_id != run.run_id])
    return list(runs.values())


def _roots_of_named(tops: list[Node]) -> list[Node]:
    """`otel_runlog.run`'s own spans, else tops that have no parent elsewhere, else those with one in another process.

    The run's id travels as baggage, so a top whose parent has not come may be any of its spans, and is no root.
    """
    own = [n for n in tops if n.scope == RUN_SCOPE and n.given_run_id]
    known = own or [n for n in tops if not n.orphan]
    return sorted([n for n in known if n.parent or n.parent_id is None] or known, key=IN_ORDER)


def _rooted(top: Node) -> list[Members]:
    """Rules 2 and 3 under one top; where it is a root itself, all below it is its run."""
    around_calls: set[int] = set()
    inside = list(_inside(top))
    for node in inside:
        if _is_call(node):
            mark_above(node, around_calls)
    if _roots_a_run(top, around_calls):
        return [_members(top, inside)]
    roots: dict[int, Node] = {}
    above: set[int] = set()
    stack = [top]
    while stack:
        node = stack.pop()
        if _roots_a_run(node, around_calls):
            roots[id(node)] = node
            mark_above(node, above)
        else:
            stack.extend(_unnamed(node))
    roots |= {id(r): r for r in _roots_of_bare_calls(top, roots, above)}
    return [_members(root, _own_nodes(root, roots)) for root in roots.values()]


def _unnamed(node: Node) -> list[Node]:
    """The children that no named run holds."""
    return [c for c in node.children if c.run_id is None]


def _inside(root: Node) -> Iterator[Node]:
    """`root` and all below it that no named run holds."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if node.children:
            stack += _unnamed(node)


def _rootless(node: Node) -> bool:
    """Whether the node is never a run's root: MCP servers, create_agent."""
    return node.reading is not None and node.reading.rootless


def _roots_a_run(node: Node, around_calls: set[int]) -> bool:
    """Rule 2."""
    if node.kind not in ROOT_KINDS or _rootless(node):
        return False
    return node.kind is StepKind.AGENT or id(node) in around_calls


def _is_lone_tool(run: Members) -> bool:
    """Whether a run is none: a tool without a root of its own and without a model call."""
    return not run.named and run.root is not None and run.root.kind is StepKind.TOOL and not _has_model_call(run)


def _has_model_call(run: Members) -> bool:
    return any(n.kind in MODEL_KINDS for n in run.nodes)


def _is_call(node: Node) -> bool:
    r = node.reading
    return r is not None and r.kind in CALL_KINDS and not r.rootless


def _roots_of_bare_calls(top: Node, roots: dict[int, Node], above: set[int]) -> list[Node]:
    """Rule 3: the topmost node over bare calls that is above no run of rule 2.

    A tool alone is no run, but may turn out to be another view of a run's tool; see `_without_satellites`.
    """
    found: dict[int, Node] = {}
    alone: list[tuple[Node, Node]] = []
    stack = [(top, top)]
    while stack:
        node, highest = stack.pop()
        if id(node) in roots:
            continue
        if id(highest) in above or _rootless(highest):
            highest = node
        if _is_call(node):
            found[id(highest)] = highest
        elif node.kind in CALL_KINDS:
            alone.append((node, highest))
        stack.extend((c, highest) for c in _unnamed(node))
    return [*found.values(), *(node for node, highest in alone if id(highest) not in found)]


def _own_nodes(root: Node, roots: Mapping[int, Node]) -> list[Node]:
    """A call that is above another run has only itself and what leads there."""
    nodes: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        nodes.append(node)
        stack.extend(c for c in _unnamed(node) if id(c) not in roots)
    return nodes


def _members(root: Node, nodes: list[Node]) -> Members:
    return Members(run_id_of(root.trace_id, root.span_id, root.started_ns), [root], nodes)


def _adopt(trace_id: str, regions: list[Node], runs: list[Members]) -> None:
    """Rule 4: orphans join their trace's only run, for a span between is missing; else they are one provisional run."""
    nodes = [n for r in regions for n in _inside(r)]
    rooted = [r for r in runs if r.root and r.root.trace_id == trace_id and _top(r.root).parent_id is None]
    if len(rooted) == 1:
        rooted[0].nodes.extend(nodes)
        rooted[0].adopted = len(regions)
    else:
        runs.append(Members(provisional_id(trace_id), [], nodes))


def _top(node: Node) -> Node:
    for above in node.ancestors():
        node = above
    return node


def _without_satellites(runs: list[Members], duplicates: Duplicates) -> list[Members]:
    """Rule 7: a run whose every call is another run's call too is no run; its steps go there.

    Of two runs that see just the same call, the one that knows an agent or came first stays. Tools alone go to the run
    that sees one of them, or nowhere.
    """
    home = {id(n): run for run in runs for n in run.nodes} if duplicates else {}
    gone: set[int] = set()
    for run in sorted(runs, key=_weight) if duplicates else ():
        targets = _elsewhere(run, duplicates, home)
        if targets:
            gone.add(id(run))
            for node in run.nodes:
                target = targets.get(id(node)) or next(iter(targets.values()))
                target.nodes.append(node)
                home[id(node)] = target
    return [r for r in runs if id(r) not in gone and not _is_lone_tool(r)]


def _elsewhere(run: Members, duplicates: Duplicates, home: dict[int, Members]) -> dict[int, Members]:
    """For each call of a satellite the other run that sees it too; empty where the run is none."""
    found: dict[int, Members] = {}
    if any(n.kind in ROOT_KINDS for n in run.nodes):
        return found
    some_will_do = _is_lone_tool(run)
    for node in run.nodes:
        if node.kind in CALL_KINDS:
            homes = (home.get(id(twin)) for twin in duplicates.twins(node))
            other = next((r for r in homes if r is not None and r is not run), None)
            if other is not None:
                found[id(node)] = other
            elif not some_will_do:
                return {}
    return found


def _weight(run: Members) -> tuple[bool, bool, int, int, str, str]:
    """What goes first: tools alone, runs that nobody named and whose root is known, small ones, later ones."""
    first = min(run.nodes, key=IN_ORDER)
    unknown = run.named or not run.roots
    return not _is_lone_tool(run), unknown, len(run.steps), -first.start, first.trace_id, first.span_id
