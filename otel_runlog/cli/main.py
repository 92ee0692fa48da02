"""The group of all commands. Errors are one sentence on stderr: exit 1 the answer is no, 2 usage or environment."""

from __future__ import annotations

from typing import Final, NamedTuple

import click

from otel_runlog.cli.group import LazyGroup


class Command(NamedTuple):
    """Where a command stands, and what the list of commands says of it."""

    place: str
    summary: str


COMMANDS: Final = {
    "demo": Command("demo:demo", "Run a small agent and look at what was recorded."),
    "ingest": Command("ingest:ingest", "Load OTLP files or folders."),
    "serve": Command("serve:serve", "Take OTLP over gRPC and HTTP, and send it on."),
    "runs": Command("runs:runs", "List runs, the newest first."),
    "show": Command("runs:show", "Show one run: its steps, agents and cost."),
    "sessions": Command("runs:sessions", "List sessions, the newest first."),
    "sql": Command("sql:sql", "Answer a query over the views."),
    "tail": Command("tail:tail", "Print runs as they finish."),
    "capture": Command("captures:capture", "Keep what replays a run in the store, or pin it."),
    "export": Command("captures:export", "Write a run as one file, which replays without a store."),
    "import": Command("captures:import_", "Keep the captures in files, with their runs."),
    "verify": Command("captures:verify", "Check captures: form, digests and fingerprints."),
    "replay": Command("replay:replay", "Run a program on recorded answers, and say where it differs."),
    "prices": Command("prices:prices", "Show what a model costs and which price table says so."),
    "reprice": Command("reprice:reprice", "Estimate the cost of stored calls again, with today's price tables."),
    "compact": Command("maintenance:compact", "Remove earlier versions of runs from the store."),
    "gc": Command("maintenance:gc", "Remove old runs with all that belongs to them, or old captures."),
    "doctor": Command("doctor:doctor", "Check what is captured, what is missing, and what turns it on."),
}
"""By name, in the order of the help: `place` is module and name in otel_runlog.cli."""


@click.group(
    "otel-runlog",
    cls=LazyGroup,
    commands_at={name: f"{__package__}.{command.place}" for name, command in COMMANDS.items()},
    summaries={name: command.summary for name, command in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: otel-runlog demo",
)
@click.version_option(package_name="otel-runlog", prog_name="otel-runlog")
def main() -> None:
    """What one run of an AI agent did, what it cost and why it failed."""
