"""Calls whose tokens stand on a span of their own below them. Pure.

Codex makes one span a sampling request and one for each event of its stream: the request knows model and time, the
last event the tokens. Together they are one call; an event whose request has not come is a call by itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from otel_runlog.tree import IN_ORDER, MODEL_KINDS, Node


def gather_parts(nodes: Iterable[Node]) -> None:
    """Give each call the usage that its parts tell; these are no steps then. Nodes must be linked."""
    parts = [n for n in nodes if n.reading and n.reading.is_part]
    for part in sorted(parts, key=IN_ORDER):
        _hand_up(part)


def _hand_up(part: Node) -> None:
    call = next((n for n in part.ancestors() if n.reading), None)
    if call is None or call.reading is None or part.reading is None or call.kind not in MODEL_KINDS:
        return
    if call.reading.is_part or call.reading.convention != part.reading.convention:
        return
    call.reading = msgspec.structs.replace(
        call.reading,
        usage=call.reading.usage + part.reading.usage,
        warnings=(*call.reading.warnings, *part.reading.warnings),
        notes=(*call.reading.notes, *part.reading.notes),
    )
    part.reading = None
