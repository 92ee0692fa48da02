"""python -m tests.replayable [--write]: README's table of how much of what each instrumentation records replays.

Counted over the model calls of tests/data/corpus. A request counts as equal where the fingerprint of what the spans
say is that of what the client sent (tests/data/served).
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from otel_runlog.model import Content

if TYPE_CHECKING:
    from served import Call

NOT_KEPT = "–"  # noqa: RUF001
HEAD = ("recorded by", "model calls", "whole", "answer alone", "cut short", "nothing", "equal to the wire")
BLOCK = "replayable"
"""The block of the README."""
BARE = "Content switched off, or never sent, so that nothing replays (`replay` names the setting):"
WIDTH = 120
ORDER = (Content.FULL, Content.ANSWER, Content.TRUNCATED, Content.NONE)
LEGEND = (
    "Whole: prompt and answer are there. Equal to the wire: of the prompts that are there, those whose fingerprint is "
    f"that of the request the client sent; {NOT_KEPT} where nobody kept the requests. `@` names settings or versions."
)


def table(calls: Mapping[str, Sequence[Call]]) -> str:
    """The table of the calls of each variant, with what its columns mean.

    Variants that carry nothing of any call are named below it; those without calls are left out.
    """
    rows = [HEAD, ("---", *["--:"] * (len(HEAD) - 1))]
    rows += [_row(variant, made) for variant, made in calls.items() if _carries_any(made)]
    bare = [f"`{variant}`" for variant, made in calls.items() if made and not _carries_any(made)]
    lines = [_filled(LEGEND), "", *(f"| {' | '.join(cells)} |" for cells in rows)]
    return "\n".join([*lines, "", _filled(f"{BARE} {', '.join(bare)}.") if bare else ""]).rstrip()


def _filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _carries_any(calls: Sequence[Call]) -> bool:
    return any(call.told.completeness is not Content.NONE for call in calls)


def _row(variant: str, calls: Sequence[Call]) -> tuple[str, ...]:
    found = [call.told.completeness for call in calls]
    return f"`{variant}`", str(len(calls)), *[str(found.count(content)) for content in ORDER], _equal(calls)


def _equal(calls: Sequence[Call]) -> str:
    compared = [call for call in calls if call.told.request is not None and call.served is not None]
    return f"{sum(c.request_differs is None for c in compared)} of {len(compared)}" if compared else NOT_KEPT


def whole_table() -> str:
    """The table of the whole corpus."""
    from tests.corpus import scenarios, variants
    from tests.served import calls_of

    return table({variant: list(calls_of(variant, scenarios(variant))) for variant in variants()})


if __name__ == "__main__":
    from tests.readme_block import print_or_write

    print_or_write(BLOCK, whole_table, sys.argv[1:], prog="python -m tests.replayable", about=__doc__)
