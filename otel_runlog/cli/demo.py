"""`otel-runlog demo`."""

from __future__ import annotations

from pathlib import Path

import click

from otel_runlog.cli.opened import reading
from otel_runlog.cli.options import path_of_db
from otel_runlog.demo import FILE, QUESTIONS, fresh_file, run_demo, write_agent
from otel_runlog.show import text
from otel_runlog.show.answer import show_answer
from otel_runlog.show.run import show_run
from otel_runlog.show.screen import Screen
from otel_runlog.show.table import Cell
from otel_runlog.store.details import demo_query

NEXT_COMMANDS = (
    ("runs", "both runs, one a line"),
    ("show last", "the second one"),
    ('sql "from models"', "what each model cost, day by day"),
    ("doctor", "what your own agents could record"),
)
SHOWN_DIGITS = 8


@click.command(epilog="Example: otel-runlog demo")
@click.option("--db", metavar="FILE", help=f"Where to record.  [default: a new file, {FILE}]")
@click.option("--keep", is_flag=True, help=f"Add to {FILE} where it is there, instead of making a new file.")
@click.option("--agent", metavar="FILE", help="Also write the agent to FILE, a program to change and replay.")
def demo(db: str | None, *, keep: bool, agent: str | None) -> None:
    """Run a small agent and look at what was recorded.

    A planner and its researcher answer two questions. Their models are scripted, so nothing leaves this machine.
    """
    if agent is not None:
        write_agent(Path(agent))
    path = path_of_db(db) if db is not None else Path(FILE) if keep else fresh_file(Path())
    answers = run_demo(path)
    screen = Screen()
    for question, answer in zip(QUESTIONS, answers, strict=True):
        screen.line(Cell("user     ", "dim"), question)
        screen.line(Cell("planner  ", "dim"), answer)
    screen.line()
    first = _show_record(screen, path)
    screen.line()
    screen.line(f"What to try next ({text.clean(str(path))} has it all):")
    commands = _next_commands(path, first, agent)
    width = max(len(command) for command, _ in commands) + 3
    for command, what in commands:
        screen.line(f"  otel-runlog {command:<{width}}", Cell(f"# {what}", "dim"))


def _next_commands(db: Path, run_id: str, agent: str | None) -> list[tuple[str, str]]:
    found = [(f"{command} --db {db}", what) for command, what in NEXT_COMMANDS]
    if agent is not None:
        found.append((f"replay {run_id[:SHOWN_DIGITS]} --db {db} -- python {agent}", "the first again, offline"))
    return found


def _show_record(screen: Screen, db: Path) -> str:
    """Show the first of the two runs, whose id it returns, and one answer in SQL."""
    query = demo_query()
    with reading(db) as reader:
        _, first = reader.runs()[:2]
        run, parents = reader.run(first.run_id), reader.parents(first.run_id)
        answer = reader.query(query)
    show_run(screen, run, parents)
    screen.line()
    for line in query.strip().splitlines():
        screen.line(Cell(line, "cyan"))
    show_answer(screen, answer.columns, answer.types, answer.rows)
    return run.run_id
