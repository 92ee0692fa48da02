"""The agents of a run: which one a call belongs to, own figures and those with all agents below. Pure."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from otel_runlog.duplicates import Duplicates
from otel_runlog.model import AgentUsage, Step, StepKind, Usage
from otel_runlog.steps import agent_of
from otel_runlog.tree import CALL_KINDS, Node

UNNAMED = "(unnamed)"


class Own(msgspec.Struct):
    """What one agent did itself."""

    parent: str | None = None
    calls: int = 0
    usage: Usage = Usage()
    cost_usd: Decimal | None = None


def agents_of(nodes: list[Node], steps: list[Step], top: str | None, duplicates: Duplicates) -> tuple[AgentUsage, ...]:
    """Own and inclusive figures, the root's agent (`top`) first. Own figures over all agents add up to the run's."""
    top = top or UNNAMED
    own: dict[str, Own] = {top: Own()}
    for node, step in zip(nodes, steps, strict=True):
        name = step.agent or top
        _know(name, node, own, top, duplicates)
        if step.counted:
            _add(own[name], step)
    return tuple(_figures(name, own) for name in sorted(own, key=lambda n: (_depth(n, own), list(own).index(n))))


def _know(name: str, node: Node, own: dict[str, Own], top: str, duplicates: Duplicates) -> None:
    """An agent's parent is the agent of the nearest span above that belongs to another one, else the run's."""
    if name in own:
        return
    above = (a for a in node.ancestors() if a.reading)
    names = (agent_of(a, duplicates) for a in above)
    parent = next((n for n in names if n is not None and n != name), top)
    own[name] = Own(parent=parent if parent in own else top)


def _add(own: Own, step: Step) -> None:
    own.calls += step.kind in CALL_KINDS or step.kind is StepKind.AGENT
    own.usage += step.usage
    if step.cost.usd is not None:
        own.cost_usd = (own.cost_usd or Decimal(0)) + step.cost.usd


def _depth(name: str, own: dict[str, Own]) -> int:
    depth, parent = 0, own[name].parent
    while parent is not None and depth <= len(own):
        depth, parent = depth + 1, own[parent].parent
    return depth


def _figures(name: str, own: dict[str, Own]) -> AgentUsage:
    me = own[name]
    usage, cost = Usage(), None
    for other, theirs in own.items():
        if other == name or _is_below(other, name, own):
            usage += theirs.usage
            cost = theirs.cost_usd if cost is None else cost + (theirs.cost_usd or 0)
    return AgentUsage(name, me.parent, _depth(name, own), me.calls, me.usage, me.cost_usd, usage, cost)


def _is_below(name: str, above: str, own: dict[str, Own]) -> bool:
    parent, left = own[name].parent, len(own)
    while parent is not None and left:
        if parent == above:
            return True
        parent, left = own[parent].parent, left - 1
    return False
