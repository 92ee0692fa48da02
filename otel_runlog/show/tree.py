"""Steps as a tree: each under the step that started it, with its place in the drawing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from otel_runlog.model import Step

SpanKey: TypeAlias = tuple[str, str]
"""(trace_id, span_id)."""
Parents: TypeAlias = Mapping[SpanKey, str]
"""Span to the span id of its parent in the same trace, also of spans that are no steps and stand between steps."""


class Node(msgspec.Struct, frozen=True):
    """A step at its place: under how many others, and for each of these levels whether more follows on it."""

    step: Step
    follows: tuple[bool, ...] = ()

    def branch(self, *, draws: bool) -> str:
        """What stands before the step's name: lines that lead to it, or indentation."""
        if not draws:
            return "  " * len(self.follows)
        if not self.follows:
            return ""
        above = "".join("│  " if more else "   " for more in self.follows[:-1])
        return above + ("├─ " if self.follows[-1] else "└─ ")


def tree(steps: Sequence[Step], parents: Parents) -> list[Node]:
    """The steps, each after its parent, siblings in their order. A step whose parent is unknown stands at the top."""
    known = {key_of(step) for step in steps}
    above = [_step_above(step, known, parents) for step in steps]
    below: defaultdict[SpanKey, list[Step]] = defaultdict(list)
    for step, key in zip(steps, above, strict=True):
        if key is not None:
            below[key].append(step)
    tops = [step for step, key in zip(steps, above, strict=True) if key is None]
    nodes = list(_walk(tops, below))
    placed = {id(node.step) for node in nodes}
    circled = [Node(step) for step in steps if id(step) not in placed]  # only ids that were used twice make circles
    return nodes + circled


def key_of(step: Step) -> SpanKey:
    """The ids of a step's span."""
    return step.trace_id, step.span_id


def _step_above(step: Step, known: set[SpanKey], parents: Parents) -> SpanKey | None:
    """The nearest step above, over spans that are none; no span is passed twice."""
    seen = {key_of(step)}
    parent = step.parent_span_id
    while parent and (at := (step.trace_id, parent)) not in seen:
        if at in known:
            return at
        seen.add(at)
        parent = parents.get(at)
    return None


def _walk(tops: Sequence[Step], below: Mapping[SpanKey, list[Step]]) -> Iterator[Node]:
    """Depth first, with a stack of its own: a chain of spans may be deeper than Python's."""
    stack = [Node(step) for step in reversed(tops)]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node.step) in seen:
            continue
        seen.add(id(node.step))
        yield node
        children = below.get(key_of(node.step), [])
        last = len(children) - 1
        stack += [Node(child, (*node.follows, i < last)) for i, child in enumerate(children)][::-1]
