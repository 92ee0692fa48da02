"""The agents of a run: which one a call belongs to, own figures and those with all agents below. Pure."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from otel_runlog.counting import sum_of, sum_of_usd
from otel_runlog.duplicates import Duplicates
from otel_runlog.model import AgentUsage, RunLog, Usage
from otel_runlog.steps import agent_of
from otel_runlog.tree import CALL_KINDS, FROM_THE_TOP, Node

UNNAMED = "(unnamed)"


class _Parts(msgspec.Struct):
    """What is to be added up."""

    usages: list[Usage] = []
    costs_usd: list[Decimal] = []

    def extend(self, others: _Parts) -> None:
        self.usages += others.usages
        self.costs_usd += others.costs_usd


class _Agent(msgspec.Struct):
    parent: str | None
    depth: int
    calls: int
    own: _Parts
    inclusive: _Parts


def agents_of(nodes: list[Node], run: RunLog, duplicates: Duplicates) -> tuple[AgentUsage, ...]:
    """Own and inclusive figures, the root's agent first. Own figures over all agents add up to the run's."""
    steps, top = run.steps, run.agent or UNNAMED
    found = {top: _new(None, 0)}
    if not {step.agent for step in steps} <= {top, None}:
        for node in sorted(nodes, key=FROM_THE_TOP):
            _meet(agent_of(node, duplicates) or top, node, found, top)
    for step in steps:
        if step.counted:
            agent = found[step.agent or top]
            agent.calls += step.kind in CALL_KINDS
            agent.own.usages.append(step.usage)
            if step.cost.usd is not None:
                agent.own.costs_usd.append(step.cost.usd)
    if len(found) == 1:
        return (_only(top, found[top], run.tokens),)
    _sum_up(found)
    return tuple(_figures(name, found[name]) for name in sorted(found, key=lambda n: found[n].depth))


def _only(name: str, a: _Agent, tokens: Usage) -> AgentUsage:
    """The figures of an agent that did all."""
    usd = sum_of_usd(a.own.costs_usd)
    return AgentUsage(name, None, 0, a.calls, tokens, usd, tokens, usd)


def _new(parent: str | None, depth: int) -> _Agent:
    return _Agent(parent, depth, 0, _Parts(), _Parts())


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
        agent.inclusive.extend(agent.own)
        if agent.parent is not None:
            found[agent.parent].inclusive.extend(agent.inclusive)


def _figures(name: str, a: _Agent) -> AgentUsage:
    own, own_usd = sum_of(a.own.usages), sum_of_usd(a.own.costs_usd)
    if len(a.inclusive.usages) == len(a.own.usages):
        inclusive, inclusive_usd = own, own_usd
    else:
        inclusive, inclusive_usd = sum_of(a.inclusive.usages), sum_of_usd(a.inclusive.costs_usd)
    return AgentUsage(name, a.parent, a.depth, a.calls, own, own_usd, inclusive, inclusive_usd)
