"""The agents of a run: which one a call belongs to, own figures and those with all agents below. Pure."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from otel_runlog.duplicates import Duplicates
from otel_runlog.model import AgentUsage, Step, Usage
from otel_runlog.steps import agent_of
from otel_runlog.tree import CALL_KINDS, Node

UNNAMED = "(unnamed)"


class _Sum(msgspec.Struct):
    usage: Usage = Usage()
    cost_usd: Decimal | None = None

    def add(self, usage: Usage, cost_usd: Decimal | None) -> None:
        self.usage += usage
        if cost_usd is not None:
            self.cost_usd = (self.cost_usd or Decimal(0)) + cost_usd


class _Agent(msgspec.Struct):
    parent: str | None
    depth: int
    calls: int
    own: _Sum
    inclusive: _Sum


def agents_of(nodes: list[Node], steps: list[Step], top: str | None, duplicates: Duplicates) -> tuple[AgentUsage, ...]:
    """Own and inclusive figures, the root's agent (`top`) first. Own figures over all agents add up to the run's."""
    top = top or UNNAMED
    found = {top: _new(None, 0)}
    for node in sorted(nodes, key=lambda n: (n.depth, n.order)):
        _meet(agent_of(node, duplicates) or top, node, found, top)
    for step in steps:
        if step.counted:
            agent = found[step.agent or top]
            agent.calls += step.kind in CALL_KINDS
            agent.own.add(step.usage, step.cost.usd)
    _sum_up(found)
    return tuple(_figures(name, found[name]) for name in sorted(found, key=lambda n: found[n].depth))


def _new(parent: str | None, depth: int) -> _Agent:
    return _Agent(parent, depth, 0, _Sum(), _Sum())


def _meet(name: str, node: Node, found: dict[str, _Agent], top: str) -> None:
    """An agent's parent is the nearest other agent above its topmost step, else the run's."""
    if name in found:
        return
    above = node.parent
    while above is not None and above.agent == name:
        above = above.parent
    parent = above.agent if above is not None and above.agent in found else top
    assert parent is not None
    found[name] = _new(parent, found[parent].depth + 1)


def _sum_up(found: dict[str, _Agent]) -> None:
    """Add every agent's own figures to its own inclusive ones, and these to its parent's: the deepest first."""
    for agent in sorted(found.values(), key=lambda a: -a.depth):
        agent.inclusive.add(agent.own.usage, agent.own.cost_usd)
        if agent.parent is not None:
            found[agent.parent].inclusive.add(agent.inclusive.usage, agent.inclusive.cost_usd)


def _figures(name: str, a: _Agent) -> AgentUsage:
    own, inclusive = a.own, a.inclusive
    return AgentUsage(name, a.parent, a.depth, a.calls, own.usage, own.cost_usd, inclusive.usage, inclusive.cost_usd)
