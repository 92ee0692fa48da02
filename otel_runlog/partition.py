"""Which spans make which run: CONTRACT, run identity, rules 1 to 4, 6 and 7. Pure.

Rule 1: spans with a run id given by name. Rule 2: the topmost agent, or workflow or chain around calls. Rule 3: calls
outside of those, under their topmost ancestor that is not above another run. Rule 4: what has no root yet is one
provisional run of its trace. Rule 7: a trace that only sees what another run sees is none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from otel_runlog.duplicates import Duplicates
from otel_runlog.model import StepKind
from otel_runlog.tree import CALL_KINDS, Node

ROOT_KINDS = frozenset({StepKind.AGENT, StepKind.WORKFLOW, StepKind.CHAIN})


class Members(msgspec.Struct, eq=False):
    """The nodes of one run. `root` is None while it is missing; `tops` are the nodes without a parent in the run."""

    run_id: str
    root: Node | None
    tops: list[Node]
    nodes: list[Node]

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
    for region in _regions(tops):
        if region.orphan:
            orphans.setdefault(region.trace_id, []).append(region)
        else:
            runs.extend(_rooted(region))
    for trace_id, regions in orphans.items():
        _adopt(trace_id, regions, runs)
    runs = _without_satellites([r for r in runs if r.steps], duplicates)
    return sorted(runs, key=lambda r: (min(n.start for n in r.nodes), r.run_id))


def _named(tops: list[Node]) -> list[Members]:
    """Rule 1: one run an id, over all traces."""
    found: dict[str, Members] = {}
    for node in _walk(tops):
        if node.run_id is None:
            continue
        members = found.setdefault(node.run_id, Members(node.run_id, None, [], []))
        members.nodes.append(node)
        if node.parent is None or node.parent.run_id != node.run_id:
            members.tops.append(node)
    for members in found.values():
        members.tops.sort(key=lambda n: (n.orphan, n.start, n.span_id))
        members.root = members.tops[0]
    return list(found.values())


def _walk(tops: Iterable[Node]) -> Iterable[Node]:
    for top in tops:
        yield top
        yield from top.below()


def _regions(tops: list[Node]) -> Iterable[Node]:
    """Tops of what no named run holds: unnamed tops (a named run below them keeps its own nodes)."""
    return (n for n in tops if n.run_id is None)


def _rooted(top: Node) -> list[Members]:
    """Rules 2 and 3 under one top."""
    roots: list[Node] = []
    above: set[int] = set()
    stack = [top]
    while stack:
        node = stack.pop()
        if _roots_a_run(node):
            roots.append(node)
            above.update(id(a) for a in node.ancestors())
        else:
            stack.extend(c for c in node.children if c.run_id is None)
    roots += _roots_of_bare_calls(top, {id(r) for r in roots}, above)
    return [_members(root) for root in roots]


def _roots_a_run(node: Node) -> bool:
    if node.kind not in ROOT_KINDS or (node.reading and node.reading.rootless):
        return False
    return node.kind is StepKind.AGENT or any(_is_call(n) for n in _inside(node))


def _is_call(node: Node) -> bool:
    return node.kind in CALL_KINDS and not (node.reading and node.reading.rootless)


def _inside(root: Node) -> Iterable[Node]:
    """`root` and all below it that no named run holds."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(c for c in node.children if c.run_id is None)


def _roots_of_bare_calls(top: Node, roots: set[int], above: set[int]) -> list[Node]:
    """Rule 3. A node is above a run when one of rule 2's roots is below it."""
    found: dict[int, Node] = {}
    stack = [(top, top)]
    while stack:
        node, highest = stack.pop()
        if id(node) in roots:
            continue
        if id(highest) in above:
            highest = node
        if _is_call(node):
            found.setdefault(id(highest), highest)
        stack.extend((c, highest) for c in node.children if c.run_id is None)
    return list(found.values())


def _members(root: Node) -> Members:
    return Members(run_id_of(root.trace_id, root.span_id, root.started_ns), root, [root], list(_inside(root)))


def _adopt(trace_id: str, regions: list[Node], runs: list[Members]) -> None:
    """Rule 4: orphans join their trace's only run, for a span between is missing; else they are one provisional run."""
    nodes = [n for r in regions for n in _inside(r)]
    rooted = [r for r in runs if r.root and r.root.trace_id == trace_id and r.root.parent_id is None]
    if len(rooted) == 1:
        rooted[0].nodes.extend(nodes)
        rooted[0].tops.extend(regions)
    else:
        runs.append(Members(provisional_id(trace_id), None, list(regions), nodes))


def _without_satellites(runs: list[Members], duplicates: Duplicates) -> list[Members]:
    """Rule 7: a run whose every call is another run's call too is no run; its steps go there.

    Of two runs that see just the same call, the one that knows an agent or came first stays.
    """
    home = {id(n): run for run in runs for n in run.nodes}
    gone: set[int] = set()
    for run in sorted(runs, key=_weight):
        calls = [n for n in run.nodes if n.kind in CALL_KINDS]
        others = [_elsewhere(n, run, duplicates, home, gone) for n in calls]
        if not calls or any(o is None for o in others) or any(n.kind in ROOT_KINDS for n in run.nodes):
            continue
        gone.add(id(run))
        for node in run.nodes:
            target = _elsewhere(node, run, duplicates, home, gone) or others[0]
            assert target is not None
            target.nodes.append(node)
            home[id(node)] = target
    return [r for r in runs if id(r) not in gone]


def _weight(run: Members) -> tuple[int, int, str]:
    """Small runs first, later ones before earlier ones."""
    first = min(run.nodes, key=lambda n: (n.start, n.span_id))
    return len(run.steps), -first.start, first.span_id


def _elsewhere(
    node: Node, run: Members, duplicates: Duplicates, home: dict[int, Members], gone: set[int]
) -> Members | None:
    """The other run that sees the same call as `node`."""
    for other in duplicates.twins(node):
        found = home.get(id(other))
        if found is not None and found is not run and id(found) not in gone:
            return found
    return None
