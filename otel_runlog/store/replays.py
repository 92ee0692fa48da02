"""Which runs of the store are replays, and which are what can be replayed."""

from __future__ import annotations

import os

from otel_runlog.errors import RunNotFoundError
from otel_runlog.store.connection import open_for_read


def telemetry_run(
    path: str | os.PathLike[str], replay_run_id: str, since_ns: int, *, timeout_s: float = 2.0
) -> str | None:
    """The run that the telemetry of a replayed program made; None where it sent none to this store.

    Its spans say on their resource which replay they are of. Where they made several runs it is the largest.

    Args:
        path: the store.
        replay_run_id: the replay's id, as the program's environment had it.
        since_ns: when the replay began (Unix time).
        timeout_s: how long to wait for another process to let go of the file.

    Raises:
        StoreLockedError: it still holds it.
        StoreError: the store cannot be read.
    """
    with open_for_read(path, timeout_s) as store:
        found = store.rows("run_of_replay", {"replay_run_id": replay_run_id, "since_ns": since_ns})
    return next((str(run_id) for (run_id,) in found), None)


def last_recorded(path: str | os.PathLike[str], *, timeout_s: float = 2.0) -> str:
    """The id of the newest run that is no replay of another one.

    Raises:
        RunNotFoundError: there is none.
        StoreLockedError: another process still holds the store.
        StoreError: the store cannot be read.
    """
    with open_for_read(path, timeout_s) as store:
        found = store.rows("last_recorded_run", {})
    for (run_id,) in found:
        return str(run_id)
    raise RunNotFoundError(f"{os.fspath(path)} has no runs yet that are no replays")
