"""python -m tests.readme_table [--write]: README's tables of conventions and of known faults, from the code.

What a convention reads is what was seen when it read the spans and log records of tests/data/corpus.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator

from otel_runlog import conventions
from otel_runlog.conventions.known_faults import ANY, KNOWN_FAULTS, Effect, KnownFault
from otel_runlog.conventions.reading import Reading
from otel_runlog.counting import LAST_CALL_ONLY
from otel_runlog.log_content import distinct
from otel_runlog.logs import fill_from_logs
from otel_runlog.model import Span, StepKind
from otel_runlog.resolve import resolve
from otel_runlog.tree import node_of
from tests.corpus import Scenario, all_names, scenario
from tests.readme_block import print_or_write

BLOCK = "conventions"
"""The block of the README."""
COLUMNS = ("usage", "cache", "reasoning", "messages", "tools", "session", "cost")
SEEN, NEVER, NO_SPAN = "✓", "–", "n/a"  # noqa: RUF001
LEGEND = (
    f"{SEEN} seen in `tests/data/corpus`, {NEVER} never seen there; {NO_SPAN}: the corpus has no span of it, "
    "it is written from documentation. Messages are those of model calls; cost is what the emitter reports."
)
EFFECTS = {
    Effect.FLAG: "the number stays, with a warning",
    Effect.PARTIAL: "`usage_partial`",
    Effect.CUT: "`usage_partial`, the answer is `truncated`",
    Effect.REPAIR: "put right or left out, with a note",
    Effect.NOTE: "a note",
}
LAST_CALL = "one span for a loop of calls and their tools, with the usage of the last call"
PLACEHOLDER = re.compile(r"\{[^}]*\}")
SOURCE = re.compile(r" \(facts/[^)]*\)")


def seen_in_corpus() -> dict[str, set[str]]:
    """The columns that each convention was seen to fill; no entry where the corpus has no span of it."""
    seen: dict[str, set[str]] = defaultdict(set)
    for name in all_names():
        for span, reading in _readings(scenario(name)):
            seen[reading.convention] |= _columns(span, reading, without=seen[reading.convention])
    return seen


def _readings(found: Scenario) -> Iterator[tuple[Span, Reading]]:
    spans = list(resolve(found.spans()))
    nodes = [node_of(span) for span in spans]
    fill_from_logs(nodes, distinct(found.log_records()).values())
    for span, node in zip(spans, nodes, strict=True):
        if node.reading is not None:
            yield span, node.reading


def _columns(span: Span, reading: Reading, *, without: set[str]) -> set[str]:
    usage = reading.usage
    filled = {
        "usage": bool(usage),
        "cache": usage.cache_read_tokens is not None or usage.cache_write_tokens is not None,
        "reasoning": usage.reasoning_tokens is not None,
        "tools": reading.kind is StepKind.TOOL,
        "session": reading.session_id is not None,
        "cost": reading.reported_usd is not None,
    }
    found = {column for column, is_filled in filled.items() if is_filled}
    if "messages" not in without and reading.kind is StepKind.LLM and _has_messages(span):
        found.add("messages")
    return found


def _has_messages(span: Span) -> bool:
    found = conventions.messages(span)
    return bool(found.input or found.output)


def tables() -> str:
    """Both tables with what their marks mean."""
    return "\n".join((LEGEND, "", *_convention_rows(), "", "Known faults, applied to every reading:", "", *_faults()))


def _convention_rows() -> Iterator[str]:
    seen = seen_in_corpus()
    yield _row("convention", "what it is, and its marks", *COLUMNS)
    yield _row("---", "---", *[":-:"] * len(COLUMNS))
    for convention in conventions.CONVENTIONS:
        own = seen.get(convention.NAME)
        cells = [NO_SPAN if own is None else SEEN if column in own else NEVER for column in COLUMNS]
        yield _row(f"`{convention.NAME}`", _escaped(_first_line(convention)), *cells)


def _first_line(convention: conventions.Convention) -> str:
    return SOURCE.sub("", (convention.__doc__ or "").partition("\n")[0]).removesuffix(".")


def _faults() -> Iterator[str]:
    yield _row("fault", "scope", "what is wrong", "effect")
    yield _row(*["---"] * 4)
    for fault in KNOWN_FAULTS:
        yield _row(f"`{fault.name}`", _scope(fault), _escaped(PLACEHOLDER.sub("N", fault.wrong)), EFFECTS[fault.effect])
    for scope in sorted(LAST_CALL_ONLY):
        yield _row("`last_call_only`", f"`{scope}`", LAST_CALL, EFFECTS[Effect.PARTIAL])


def _scope(fault: KnownFault) -> str:
    if fault.scope is ANY:
        return "any"
    name = fault.scope.pattern.replace(".*", "*").replace("\\.", ".").replace("|", "\\|")
    first, before = fault.versions or ("", "")
    return f"`{name}`" + f" from {first}" * bool(first) + f" before {before}" * bool(before)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def main(arguments: list[str]) -> None:
    """Print the tables, or write them into the README."""
    print_or_write(BLOCK, tables, arguments, prog="python -m tests.readme_table", about=__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
