"""`otel-runlog replay`."""

from __future__ import annotations

import importlib
import shlex
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from otel_runlog.capture import Capture
from otel_runlog.captures.keeping import keep_report, load_capture
from otel_runlog.cli.child import failure_of, run_child
from otel_runlog.cli.group import ANSWER_IS_NO, INTERRUPTED
from otel_runlog.cli.opened import load_pending, patience_s
from otel_runlog.cli.options import db_option
from otel_runlog.config import process_environment
from otel_runlog.errors import ConfigError, ReplayError, RunLogError, RunNotFoundError
from otel_runlog.journal.folder import journal_folder, segments
from otel_runlog.replaying.divergence import DRIFT, DivergenceReport, ReplayMode, ReproVerdict
from otel_runlog.replaying.llm_matching import answerable
from otel_runlog.replaying.policies import PolicyKind, ToolPolicies, parse_policies
from otel_runlog.replaying.replay_run import Ending, run_of_replay
from otel_runlog.replaying.report import as_json, calls_named, text_of
from otel_runlog.replaying.session import ReplaySession
from otel_runlog.show.screen import Screen
from otel_runlog.show.table import Cell
from otel_runlog.show.text import clean
from otel_runlog.store.duckdb_store import DuckDBRunLogStore
from otel_runlog.store.replays import last_recorded, telemetry_run

STYLES: Final = {
    ReproVerdict.IDENTICAL: "bold green",
    ReproVerdict.EQUIVALENT: "bold green",
    ReproVerdict.DIVERGED: "bold red",
    ReproVerdict.INCOMPLETE: "bold yellow",
}
INTERRUPTED_STATUSES: Final = (-signal.SIGINT, INTERRUPTED)
"""How a program ends that Ctrl-C ended: by the signal, or saying so as shells do."""
_SHORT_ID: Final = 8
_DRIFT: Final = tuple(sorted(DRIFT))


def _compared(_ctx: click.Context, _option: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    for name in names:
        if name not in _DRIFT:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(_DRIFT)}")
    return names


class ReplayCommand(click.Command):
    """Takes for RUN what stands before `--` only: else `replay -- python agent.py` would replay a run named python."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments."""
        if "--" in args:
            own = args[: args.index("--")]
            values, _, _ = self.make_parser(ctx).parse_args(list(own))
            if not isinstance(values.get("what"), str) and "--help" not in own:
                raise click.UsageError("the run is missing: otel-runlog replay RUN|FILE -- CMD", ctx)
        return super().parse_args(ctx, args)


@click.command(cls=ReplayCommand, epilog="Example: otel-runlog replay last -- python agent.py")
@click.argument("what", metavar="RUN|FILE")
@click.argument("command", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--mode",
    type=click.Choice([str(mode) for mode in ReplayMode]),
    default=str(ReplayMode.STRICT),
    show_default=True,
    help="What a call gets that was not recorded: an error, the nearest answer, or the real model's.",
)
@click.option("--json", "as_json_", is_flag=True, help="Print the report as JSON, as the last line of stdout.")
@click.option(
    "--compare",
    metavar="LIST",
    default="",
    callback=_compared,
    help=f"What else must be the same, of {', '.join(_DRIFT)}; another one is otherwise noted only.",
)
@click.option("--ignore", metavar="REGEX", multiple=True, help="What it finds plays no part in any text, repeatable.")
@click.option(
    "--tools",
    type=click.Choice([str(kind) for kind in (PolicyKind.RECORDED, PolicyKind.REAL, PolicyKind.FAIL)]),
    default=str(PolicyKind.RECORDED),
    show_default=True,
    help="What tools do that the program put @replay_tool before. All others run for real.",
)
@click.option("--tool", "named", metavar="NAME=POLICY", multiple=True, help="One tool's, also static:JSON; repeatable.")
@click.option("--redact", metavar="MODULE:NAME", help="What the run was redacted with, if by the application's own.")
@db_option
@click.pass_context
def replay(  # noqa: PLR0917 - one argument an option
    ctx: click.Context,
    what: str,
    command: tuple[str, ...],
    mode: str,
    as_json_: bool,
    compare: tuple[str, ...],
    ignore: tuple[str, ...],
    tools: str,
    named: tuple[str, ...],
    redact: str | None,
    db: Path,
) -> None:
    """Run a program again with the model's recorded answers, and say exactly where it differs.

    RUN is a run of the store (`last`: the newest one that is no replay), FILE a capture that `export --format capture`
    wrote. The program is not changed: it finds the replay by the variables that it finds its provider by, needs no key,
    and reaches no provider except in mode live. Only what passes a model or a tool comes back: the clock, randomness,
    files and other network calls do not.

    Exit: 0 the same, 1 not, also where the program swallows the error or fails as the recorded run did not; 2 it could
    not be replayed. The report goes to stderr.
    """
    capture = _capture(what, db)
    policies = parse_policies(tools, named)
    _check_doors(capture, policies)
    session = ReplaySession(
        capture,
        mode=mode,
        tools=policies,
        compare=compare,
        redact=None if redact is None else _imported(redact),
        ignore=ignore,
    )
    screen = Screen(sys.stderr)
    for line in _notice(capture, session.mode, policies, command):
        screen.note(clean(line))
    report, ending = _replayed(session, command)
    report, kept = _kept(db, session, report, ending)
    _say(screen, report, kept)
    if as_json_:
        _print_last(as_json(report))
    ctx.exit(0 if report.same else ANSWER_IS_NO)


def _capture(what: str, db: Path) -> Capture:
    if Path(what).is_file() or "/" in what or what.endswith(".json"):
        return load_capture(Path(what))
    load_pending(db)
    try:
        return load_capture(_store(db), last_recorded(db, timeout_s=patience_s(db)) if what == "last" else what)
    except RunNotFoundError as error:  # 1 is the answer of a replay that came out differently
        raise ReplayError(str(error)) from None


def _store(db: Path) -> DuckDBRunLogStore:
    return DuckDBRunLogStore(db, timeout_s=patience_s(db))


def _imported(place: str) -> Callable[[str, Any], Any]:
    """The redactor that is named as `package.module:name`; modules of the working folder are found too."""
    module, colon, name = place.partition(":")
    if not (module and colon and name):
        raise ConfigError(f"--redact takes MODULE:NAME, not {place!r}")
    sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"--redact {place}: {error}") from None
    finally:
        sys.path.remove("")
    if not callable(found):
        raise ConfigError(f"--redact {place} is no function but a {type(found).__name__}")
    redactor: Callable[[str, Any], Any] = found
    return redactor


def _check_doors(capture: Capture, policies: ToolPolicies) -> None:
    """Refuse to start where tools may not run, and nothing is known that keeps them from it."""
    if policies.default.kind is not PolicyKind.FAIL:
        return
    open_ = Counter(tool.name for tool in capture.tool_io if tool.name not in policies.by_name)
    if open_:
        raise ConfigError(
            f"the run called {_names(open_.items())}, and a tool without @replay_tool before it runs for real whatever "
            "--tools says: name each tool that has one by --tool NAME=recorded"
        )


def _notice(capture: Capture, mode: ReplayMode, policies: ToolPolicies, command: Sequence[str]) -> Iterable[str]:
    """What is about to be done, before it is."""
    agent = f" of {capture.run.agent}" if capture.run.agent else ""
    calls = f"{_calls(len(capture.llm_io), 'model call')}, {_calls(len(capture.tool_io), 'tool call')}"
    yield f"replaying run {capture.run_id[:_SHORT_ID]}{agent} ({calls}), {mode}: {shlex.join(command)}"
    lacking = [call.call_index for call in capture.llm_io if not answerable(call)]
    if lacking:
        yield f"answers that were not recorded, so that these cannot be served: {calls_named(lacking)}"
    counts = Counter(tool.name for tool in capture.tool_io)
    real = [(name, n) for name, n in counts.items() if policies.of(name).kind is PolicyKind.REAL]
    others = [(name, n) for name, n in counts.items() if policies.of(name).kind is not PolicyKind.REAL]
    if real:
        yield f"tools that run for real: {_names(real)}"
    if others:
        yield f"tools that run for real unless the program has @replay_tool before them: {_names(others)}"


def _names(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} ({_calls(n, 'call')})" for name, n in counts)


def _calls(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _replayed(session: ReplaySession, command: Sequence[str]) -> tuple[DivergenceReport, Ending]:
    """Run the program to its end. The store is not held meanwhile: the program may write to it."""
    started_ns = time.time_ns()
    with session:
        status = run_child(command, session.environment(process_environment()))
    failed = failure_of(status)
    ending = Ending(
        started_ns=started_ns, ended_ns=time.time_ns(), failed=failed, cancelled=status in INTERRUPTED_STATUSES
    )
    return session.report_of(failed), ending


def _kept(db: Path, session: ReplaySession, report: DivergenceReport, ending: Ending) -> tuple[DivergenceReport, str]:
    """Keep the replay where there is a store; the report with the id that it is kept under, and what to say of it."""
    if not (db.exists() or segments(journal_folder(db))):
        return msgspec.structs.replace(report, replay_run_id=None), f"not kept: there is no store at {db}"
    try:
        return _keep(db, session, report, ending)
    except RunLogError as error:
        return msgspec.structs.replace(report, replay_run_id=None), f"not kept: {error}"


def _keep(db: Path, session: ReplaySession, report: DivergenceReport, ending: Ending) -> tuple[DivergenceReport, str]:
    load_pending(db)
    own = telemetry_run(db, session.replay_run_id, ending.started_ns, timeout_s=patience_s(db))
    if own is not None:  # the program's own telemetry is here: the replay is not kept twice
        report = msgspec.structs.replace(report, replay_run_id=own)
        keep_report(_store(db), report, None, None)
    else:
        run, capture = run_of_replay(
            session.capture,
            session.replay_run_id,
            session.exchanges,
            session.tool_exchanges,
            ending,
            differences=report.divergences,
        )
        keep_report(_store(db), report, run, capture)
    return report, f"kept as run {str(report.replay_run_id)[:_SHORT_ID]}"


def _say(screen: Screen, report: DivergenceReport, kept: str) -> None:
    head, *rest = text_of(report).splitlines()
    screen.line(Cell(clean(head), STYLES[report.verdict]))
    for line in rest:
        screen.line(clean(line))
    screen.note(clean(kept))


def _print_last(line: bytes) -> None:
    """The program may have ended its output without a line break, and this line is to be one of its own."""
    click.echo(b"\n" + line.strip())
