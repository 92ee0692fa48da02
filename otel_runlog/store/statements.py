"""Where SQL comes from: the .sql files of this package, and nowhere else."""

from __future__ import annotations

import functools
from importlib import resources

SCHEMA_SCRIPTS = (
    "001_tables",
    "002_log_places",
    "003_segment_ends",
    "004_message_places",
    "005_cost_changes",
    "006_places_and_versions",
    "008_closed_models",
    "009_traces",
    "010_captures",
)
"""Schema versions in order: the n-th script takes a store from version n-1 to n. Scripts that shipped never change."""

VIEWS = (
    "spans",
    "logs",
    "runs",
    "steps",
    "llm_calls",
    "tool_calls",
    "messages",
    "scores",
    "sessions",
    "agents",
    "models",
    "books",
    "cost_changes",
    "captures",
    "llm_io",
    "tool_io",
    "divergences",
)
"""The views, in the order in which they can be created."""

VIEWS_VERSION = 8
"""Goes up with every change of a view: the next opening for writing creates all views anew."""


@functools.cache
def _text(folder: str, name: str) -> str:
    return resources.files(__package__).joinpath(folder, f"{name}.sql").read_text("utf-8")


def query(name: str) -> str:
    """The statement in `queries/<name>.sql`."""
    return _text("queries", name)


def schema_script(name: str) -> str:
    """The statements of one of `SCHEMA_SCRIPTS`."""
    return _text("schema", name)


def view(name: str) -> str:
    """The statement that creates one of `VIEWS`."""
    return _text("views", name)
