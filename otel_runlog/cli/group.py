"""A click group that imports a command when it is called, and says every error in one sentence."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, cast

import click

from otel_runlog.errors import RunLogError, RunNotFoundError, StoreInterruptedError
from otel_runlog.show.text import clean

ANSWER_IS_NO: Final = 1
USAGE_OR_ENVIRONMENT: Final = 2
INTERRUPTED: Final = 130
"""128 + SIGINT, as shells have it."""


class LazyGroup(click.Group):
    """A group of commands in other modules.

    Args:
        commands_at: "module:name" of each command, in the order of the help.
        summaries: what the list of commands says, so that it needs no import.
    """

    def __init__(self, *, commands_at: Mapping[str, str], summaries: Mapping[str, str], **settings: Any) -> None:
        super().__init__(**settings)
        self._commands_at = commands_at
        self._summaries = summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the help."""
        del ctx
        return list(self._commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        place = self._commands_at.get(cmd_name)
        if place is None:
            return None
        module, name = place.split(":")
        return cast("click.Command", getattr(importlib.import_module(module), name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command of a context. A reader that has seen enough (`| head`) is no error; click would exit 1."""
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:  # a process may be started without one
                sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        return result

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit with its code."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        _accept_any_text()
        with _said_in_one_sentence(), warnings_said():
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        sys.exit(code if isinstance(code, int) else 0)


def _accept_any_text() -> None:
    """A path or a name that the terminal's encoding lacks is written escaped: no answer fails for it."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def _said_in_one_sentence() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        _fail(_with_help(error), error.exit_code)
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code)
    except RunNotFoundError as error:
        _fail(str(error), ANSWER_IS_NO)
    except StoreInterruptedError as error:  # by Ctrl-C
        _fail(str(error), INTERRUPTED)
    except RunLogError as error:
        _fail(str(error), USAGE_OR_ENVIRONMENT)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", INTERRUPTED)
    except OSError as error:
        _fail(_of_the_system(error), USAGE_OR_ENVIRONMENT)


class _Warnings(logging.Handler):
    """Says what the package logs, on one line and without what a terminal would obey; of a bug of ours where it is."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(f"warning: {clean(record.getMessage())}", err=True)
        if record.exc_info:
            lines = logging.Formatter().formatException(record.exc_info).splitlines()
            click.echo("\n".join(f"  {clean(line)}" for line in lines), err=True)


@contextlib.contextmanager
def warnings_said() -> Iterator[None]:
    """Have what the package logs said on stderr."""
    logger, handler = logging.getLogger("otel_runlog"), _Warnings(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _with_help(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "otel-runlog"
    return f"{error.format_message().rstrip('.')} (see {path} --help)"


def _of_the_system(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}"


def _fail(sentence: str, code: int) -> NoReturn:
    first, *_ = sentence.split("\n\n")  # DuckDB shows the place in the statement below
    click.echo(f"error: {clean(first)}", err=True)
    sys.exit(code)
