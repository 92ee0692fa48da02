"""Disks that are full, fail, or give back other bytes than they were given; and who may read what lies there."""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import stat
from pathlib import Path

from otel_runlog.errors import StoreDamagedError
from otel_runlog.journal import journal_folder, segments
from otel_runlog.loader import Loader
from otel_runlog.store.reader import StoreReader

from .acks import Acknowledged
from .agent import Agent
from .work import Outcome, Work

SEED = 49
FULL_AT_BYTES = 200_000


def flipped_bytes(work: Work) -> Outcome:
    """One byte of a closed segment is another, or its end is missing: what that costs is counted, never silent."""
    chance = random.Random(SEED)
    work.finish("loaders:write_some", "writer", spans=20)
    [segment] = segments(journal_folder(work.db))
    sound = segment.path.read_bytes()
    segment.path.unlink()
    acknowledged = len(Acknowledged(work.folder / "acks" / "writer").numbers)
    silent = tried = 0
    for tried in work.times(150, 6):
        db = work.folder / f"trial{tried}" / "runs.duckdb"
        journal_folder(db).mkdir(parents=True)
        (journal_folder(db) / segment.name).write_bytes(_spoilt(sound, chance))
        silent += _lost_in_silence(work, db, acknowledged)
    return Outcome(
        tried=tried + 1,
        acknowledged=acknowledged,
        lost=silent,
        doubled=0,
        block_ms=0.0,
        growth_mb=0.0,
        wrong=work.wrong,
        notes=["lost: without a word"],
    )


def _spoilt(sound: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(sound))
    if chance.random() < 0.3:
        return sound[:at]
    return sound[:at] + bytes([sound[at] ^ (1 << chance.randrange(8))]) + sound[at + 1 :]


def _lost_in_silence(work: Work, db: Path, acknowledged: int) -> int:
    """How many spans are missing although nothing says so."""
    report = Loader(db).turn()
    with StoreReader(db) as reader:
        ended = reader.query("SELECT count(*) FROM spans WHERE ended_ns IS NOT NULL").rows[0][0]
        said = reader.query("SELECT count(*) FROM books WHERE CAST(dropped AS VARCHAR) <> '{}'").rows[0][0]
    missing = acknowledged - int(str(ended))
    kept = [*journal_folder(db).glob("*.damaged*")]
    work.expect(f"{missing} spans are missing and the segment is gone", holds=not missing or bool(kept))
    shutil.rmtree(db.parent)
    return 0 if (report.damaged and said) or not missing else missing


def store_of_text(work: Work) -> Outcome:
    """The store was replaced by a text: the application goes on, the text stays, and all loads when it is away."""
    work.db.write_text("this is no database", "ascii")
    work.finish("disks:write_beside_text", "writer")
    try:
        Loader(work.db).turn()
        work.wrong.append("a text was opened as a store")
    except StoreDamagedError as error:
        work.expect(f"{error} does not name the file", holds=str(work.db) in str(error))
    work.expect("the text is not what it was", holds=work.db.read_text("ascii") == "this is no database")
    work.db.rename(work.folder / "away")
    return work.outcome(1)


def write_beside_text(folder: str, who: str) -> None:
    agent = Agent(folder, who, loader="thread")
    agent.write(200)
    assert not agent.processor.force_flush(1000), "a flush into a text was called good"


def full_disk(work: Work) -> Outcome:
    """No file may grow beyond 200 kB, then it may: what did not fit is counted as dropped, all else is there."""
    work.finish("disks:write_until_full", "writer")
    tried = Acknowledged(work.folder / "acks" / "writer").tried
    outcome = work.outcome(1)
    work.notes.append(f"{tried - outcome.acknowledged} of {tried} spans were counted as dropped")
    return outcome


def write_until_full(folder: str, who: str) -> None:
    agent = Agent(folder, who)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FULL_AT_BYTES, resource.RLIM_INFINITY))
    agent.processor._door._journal._segment_bytes = 2 * FULL_AT_BYTES
    agent.write(1000)
    dropped = agent.processor.dropped
    assert not dropped or not agent.processor.force_flush(1000), "a flush after a loss was called good"
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    agent.write(100)
    assert agent.processor.dropped == dropped, "spans were dropped after there was room again"


def failing_fdatasync(work: Work) -> Outcome:
    """With `power`, an fdatasync fails: that span is not acknowledged, and the next ones go to another segment."""
    work.finish("disks:write_unsynced", "writer")
    work.expect("no second segment", holds=len(segments(journal_folder(work.db))) > 1)
    outcome = work.outcome(5)
    work.expect(f"{outcome.acknowledged} of 200 acknowledged", holds=outcome.acknowledged == 195)
    return outcome


def write_unsynced(folder: str, who: str) -> None:
    agent = Agent(folder, who, durability="power")
    sync, calls = os.fdatasync, [0]

    def failing(fd: int) -> None:
        calls[0] += 1
        if calls[0] % 40 == 0:
            raise OSError(errno.EIO, "Input/output error")
        sync(fd)

    os.fdatasync = failing
    agent.run(199)
    os.fdatasync = sync
    assert sum(agent.processor.dropped.values()) == 5, agent.processor.dropped


def under_umask_0(work: Work) -> Outcome:
    """A process with umask 0, killed while it loads, leaves nothing that others may read."""
    pid = work.start("disks:write_openly", "writer")
    work.wait_for(work.db.exists, "the store")
    work.nursery.kill(pid)
    ours = [work.db, *work.folder.glob("runs.duckdb.*"), *journal_folder(work.db).iterdir()]
    for path in ours:
        mode, wanted = stat.S_IMODE(path.stat().st_mode), 0o700 if path.is_dir() else 0o600
        work.expect(f"{path.name} has mode {mode:o}", holds=mode == wanted)
    return work.outcome(len(ours))


def write_openly(folder: str, who: str) -> None:
    os.umask(0)
    agent = Agent(folder, who, loader="thread")
    while True:
        agent.write(100)
        agent.processor.force_flush(1000)
