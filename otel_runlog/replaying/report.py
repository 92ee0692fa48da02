"""What a replay came to: on one screen for people, and as JSON for programs. Pure."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

import msgspec

from otel_runlog.replaying.comparing import key_of, plain
from otel_runlog.replaying.divergence import (
    DRIFT,
    DivergenceKind,
    DivergenceReport,
    ReproVerdict,
    Resolution,
    StepDivergence,
)
from otel_runlog.replaying.excerpt import cut, pair, safe

COLUMNS: Final = 100
FOOTER: Final = "a replay does not bring back the clock, randomness, files or other network calls"
_LABEL: Final = 10
_INDENT: Final = "  "
_ROOM: Final = COLUMNS - len(_INDENT) - _LABEL
_RUN_DIGITS: Final = 8
_MOST_LINES: Final = 3
"""Of further differences, of drift, and of what was not compared."""

_WORDS: Final = {
    DivergenceKind.REQUEST_CHANGED: "request changed",
    DivergenceKind.EXTRA_CALL: "extra call",
    DivergenceKind.REPEATED: "repeated call",
    DivergenceKind.MISSING_CALL: "missing call",
    DivergenceKind.TOOL_ARGS_CHANGED: "tool arguments changed",
    DivergenceKind.TOOL_RESULT_CHANGED: "tool result changed",
    DivergenceKind.KIND_CHANGED: "another kind of call",
    DivergenceKind.ANSWER_CHANGED: "answer changed",
    DivergenceKind.MODEL: "another model",
    DivergenceKind.TOOLS: "other tool schemas",
    DivergenceKind.PARAMS: "other parameters",
}
_CAME_UNEXPECTED: Final = {DivergenceKind.EXTRA_CALL, DivergenceKind.REPEATED}
_VERDICTS: Final = {
    ReproVerdict.IDENTICAL: "identical",
    ReproVerdict.EQUIVALENT: "equivalent: the same conversations, and the differences below",
    ReproVerdict.INCOMPLETE: "incomplete: no difference was seen, and not all could be compared",
    ReproVerdict.DIVERGED: "diverged",
}


def text_of(report: DivergenceReport) -> str:
    """The report as a person reads it: about a dozen lines of at most 100 columns."""
    serious = [d for d in report.divergences if d.kind not in DRIFT]
    missing = [d for d in serious if d.kind is DivergenceKind.MISSING_CALL]
    came = [d for d in serious if d.kind is not DivergenceKind.MISSING_CALL]
    lines = [_title(report, serious)]
    if report.program_failed is not None:
        lines += _prose("program", f"failed ({report.program_failed}); the recorded run did not")
    lines += _block((came or missing)[0]) if serious else ()
    lines += _also(came)
    if missing[0 if came else 1 :]:
        lines += _prose("missing", _names(missing[0 if came else 1 :]))
    lines += _drift_lines(report.divergences)
    lines += _some([line for note in report.notes for line in _prose("note", note)])
    lines.append(_counts(report))
    lines += _some([line for unseen in report.not_compared for line in _wrapped("not compared: ", unseen)])
    return "\n".join([*lines, _INDENT + FOOTER])


def head_of(divergence: StepDivergence, run_id: str, recorded: int) -> str:
    """One divergence in a few lines, as the asker of a call is told it; `recorded` calls are in the capture."""
    title = f"replay of {_run(run_id)}: diverged{_at(divergence, recorded)}"
    return "\n".join([cut(title, COLUMNS), *_block(divergence)])


def as_json(report: DivergenceReport) -> bytes:
    """The same facts as one JSON object on one line: verdict, divergences, not_compared and all else."""
    facts = {"verdict": report.verdict, "divergences": report.divergences, "not_compared": report.not_compared}
    facts |= {name: getattr(report, name) for name in report.__struct_fields__ if name not in facts}
    try:
        return msgspec.json.encode(facts)
    except (UnicodeEncodeError, RecursionError):  # lone surrogates, which UTF-8 does not have; values nested too deep
        facts["divergences"] = [_plain(divergence) for divergence in report.divergences]
        return json.dumps(msgspec.to_builtins(facts), separators=(",", ":")).encode("ascii")


def _plain(divergence: StepDivergence) -> StepDivergence:
    recorded, got = plain(divergence.recorded), plain(divergence.got)
    return msgspec.structs.replace(divergence, recorded=recorded, got=got)


def calls_named(indexes: Iterable[int | None]) -> str:
    """Calls by their numbers, as `call 3` or `calls 1-4, 7`."""
    known = sorted({index for index in indexes if index is not None})
    runs = [[i for _, i in run] for _, run in groupby(enumerate(known), key=lambda item: item[1] - item[0])]
    said = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"call{'' if len(known) == 1 else 's'} {said}"


def _title(report: DivergenceReport, serious: Sequence[StepDivergence]) -> str:
    said = _VERDICTS[report.verdict]
    if report.verdict is ReproVerdict.DIVERGED and (serious or report.divergences):
        said += _at((serious or report.divergences)[0], report.recorded)
    return cut(f"replay of {_run(report.run_id)}: {said}", COLUMNS)


def _run(run_id: str) -> str:
    return safe(run_id[:_RUN_DIGITS])


def _at(divergence: StepDivergence, recorded: int) -> str:
    place = "" if divergence.call_index is None else f" at call {divergence.call_index} of {recorded}"
    return f"{place}: {_WORDS[divergence.kind]} ({_subject(divergence)})"


def _subject(divergence: StepDivergence) -> str:
    words = [_name(divergence)]
    if divergence.agent is not None:
        words.append(f"agent {divergence.agent}")
    elif divergence.lane is not None:
        words.append(f"lane {divergence.lane}")
    return safe(", ".join(words))


def _block(divergence: StepDivergence) -> Iterator[str]:
    """All that is known of a difference, a row for each fact."""
    if divergence.path:
        yield _row("path", safe(divergence.path))
    recorded, got = pair(divergence.recorded, divergence.got, _ROOM)
    is_known = divergence.recorded is not None or divergence.got is not None
    if is_known and divergence.kind not in _CAME_UNEXPECTED:
        yield _row("recorded", recorded)
    if is_known and divergence.kind is not DivergenceKind.MISSING_CALL:
        yield _row("got", got)
    reason = ": ".join(text for text in (divergence.cause, divergence.detail) if text)
    if reason:
        yield from _prose("cause" if divergence.cause else "note", reason)
    if divergence.nearest is not None:
        shared = divergence.shared_turns
        turns = "" if shared is None else f", {shared} turn{'' if shared == 1 else 's'} in common"
        yield _row("nearest", f"call {divergence.nearest}{turns}")
    if (answered := _answered(divergence)) is not None:
        yield _row("answered", answered)


def _answered(divergence: StepDivergence) -> str | None:
    if divergence.resolution is Resolution.NEAREST:
        nearest = "the nearest call" if divergence.nearest is None else f"call {divergence.nearest}"
        return f"with what was recorded for {nearest} (soft)"
    real = "tool itself" if divergence.step == "tool" else "real model"
    return {Resolution.REFUSED: "with an error", Resolution.LIVE: f"by the {real}"}.get(divergence.resolution)


def _short(divergence: StepDivergence) -> str:
    """A difference in one line."""
    where = "" if divergence.call_index is None else f"call {divergence.call_index}: "
    path = f" at {safe(divergence.path)}" if divergence.path else ""
    head = f"{where}{_WORDS[divergence.kind]} ({_subject(divergence)}){path}"
    if divergence.kind in _CAME_UNEXPECTED or (divergence.recorded is None and divergence.got is None):
        return head
    room = (_ROOM - len(head) - len(":  -> ")) // 2
    return head if room < _LABEL else f"{head}: {' -> '.join(pair(divergence.recorded, divergence.got, room))}"


def _also(came: Sequence[StepDivergence]) -> list[str]:
    """All but the first one, in a line each; those that differ just as the first one does share a line."""
    first, rest = came[:1], came[1:]
    alike = [d for d in rest if _change(d) == _change(first[0]) and d.call_index is not None]
    others = _some([_row("also", _short(divergence)) for divergence in rest if divergence not in alike])
    if not alike:
        return others
    return [*_prose("also", f"the same at {calls_named(d.call_index for d in alike)}"), *others]


def _change(divergence: StepDivergence) -> str:
    return key_of([divergence.kind, divergence.path, divergence.recorded, divergence.got])


def _names(missing: Sequence[StepDivergence]) -> str:
    calls = [f"call {'?' if d.call_index is None else d.call_index} ({_name(d)})" for d in missing]
    return ", ".join(calls)


def _name(divergence: StepDivergence) -> str:
    return divergence.step if divergence.name is None else f"{divergence.step} {divergence.name}"


def _drift_lines(divergences: Sequence[StepDivergence]) -> list[str]:
    """Drift, each one once, with the calls that have it."""
    alike: dict[str, list[StepDivergence]] = {}
    for divergence in divergences:
        if divergence.kind in DRIFT:
            same = key_of([divergence.path, divergence.recorded, divergence.got])
            alike.setdefault(same, []).append(divergence)
    rows = []
    for group in alike.values():
        head = f"{safe(group[0].path)} of {calls_named(d.call_index for d in group)}: "
        room = max((_ROOM - len(head) - len(" -> ")) // 2, _LABEL)
        rows.append(_row("drift", head + " -> ".join(pair(group[0].recorded, group[0].got, room))))
    return _some(rows)


def _counts(report: DivergenceReport) -> str:
    return (
        f"{_INDENT}served {report.served} of {report.recorded} · live {report.live} · not reached {report.not_reached}"
    )


def _row(label: str, said: str) -> str:
    return cut(f"{_INDENT}{label:<{_LABEL}}{said}", COLUMNS)


def _prose(label: str, said: str) -> list[str]:
    """A sentence, over two lines where it has to be."""
    return _wrapped(f"{label:<{_LABEL}}", said)


def _wrapped(head: str, said: str) -> list[str]:
    indent = " " * (len(_INDENT) + _LABEL)
    lines = textwrap.wrap(
        safe(said), COLUMNS, initial_indent=_INDENT + head, subsequent_indent=indent, max_lines=2, placeholder=" …"
    )
    return [cut(line, COLUMNS) for line in lines]


def _some(lines: Sequence[str]) -> list[str]:
    """The first lines, and how many more there are."""
    if len(lines) <= _MOST_LINES + 1:
        return list(lines)
    return [*lines[:_MOST_LINES], f"{_INDENT}{'':<{_LABEL}}and {len(lines) - _MOST_LINES} more like this"]
