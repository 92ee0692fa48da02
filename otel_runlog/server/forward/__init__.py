"""Spans and log records on to other backends: as many as there are, each with a cursor and a thread of its own.

names = cursor_names(config.forward)
cursors.configured(folder, names)
forwarders = [f for d in config.forward for f in forwarders_for(d, db, turns, counters.add, on_past=...)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from otel_runlog.config import DestinationConfig, RunsForm
from otel_runlog.errors import ConfigError
from otel_runlog.journal.folder import journal_folder
from otel_runlog.server.forward.endpoint import endpoint_of
from otel_runlog.server.forward.enriching import Enriched
from otel_runlog.server.forward.finished_runs import FinishedRuns
from otel_runlog.server.forward.forwarder import Forwarder
from otel_runlog.server.forward.reading import ReadTurns
from otel_runlog.server.forward.requests import AsReceived, Preparing
from otel_runlog.server.forward.telling import Count, Reached

RUNS_SUFFIX: Final = ".runs"
"""Finished runs have a cursor of their own: spans do not wait until their run is loaded."""


def cursor_names(destinations: Iterable[DestinationConfig]) -> list[str]:
    """What the cursors of all destinations are called, for `otel_runlog.journal.cursors.configured`.

    Raises:
        ConfigError: a destination's settings cannot be used, or two would have the same cursor.
    """
    names = []
    for destination in destinations:
        name = endpoint_of(destination).name
        names += [name] if destination.runs is RunsForm.NONE else [name, name + RUNS_SUFFIX]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two destinations are called {name!r}: give one of them another `name`")
    return names


def forwarders_for(
    destination: DestinationConfig, db: Path, turns: ReadTurns, count: Count, on_past: Callable[[], None]
) -> list[Forwarder]:
    """What sends the journal of a store on to one destination: the spans and logs, and the finished runs if asked for.

    Args:
        destination: where to, and how.
        db: the store.
        turns: when the store can be read.
        count: called with what was sent and dropped; see `otel_runlog.server.counters`.
        on_past: called when a segment may be free to go, so that the loader looks.

    Raises:
        ConfigError: the destination's settings cannot be used.
    """
    folder, endpoint = journal_folder(db), endpoint_of(destination)
    received = AsReceived(destination.signals, takes_json=not endpoint.is_grpc)
    spans: Preparing = received
    if destination.enrich:
        spans = Enriched(received, db, turns, destination.enrich_wait_s)
    found = [Forwarder(folder, destination, count, preparing=spans, on_past=on_past)]
    if destination.runs is not RunsForm.NONE:
        runs = FinishedRuns(folder, endpoint.name + RUNS_SUFFIX, destination.runs, db, turns)
        found.append(Forwarder(folder, destination, count, preparing=runs, on_past=on_past, suffix=RUNS_SUFFIX))
    return found


__all__ = ["Count", "Forwarder", "Reached", "ReadTurns", "cursor_names", "forwarders_for"]
