"""A store that cannot be read is refused by name, stays byte for byte what it was, and costs nothing of the journal."""

import logging
import os
import random
import sqlite3
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from journalled import balanced_books, calls, write

from otel_runlog.cli.main import main
from otel_runlog.door.loading import Loading
from otel_runlog.errors import StoreDamagedError, StoreError
from otel_runlog.loader import Loader
from otel_runlog.store.batch import Batch, RunVersion
from otel_runlog.store.connection import open_for_write
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.writer import StoreWriter

SPANS = 3


@pytest.fixture
def made(db, run):
    with StoreWriter(db) as writer:
        writer.append(Batch(closed=[RunVersion(run(f"{n:032x}")) for n in range(50)]))
    return db


def run_command(db: Path):
    return CliRunner().invoke(main, ["runs", "--db", str(db)])


def as_text(db: Path) -> None:
    db.write_text("this was a database\n" * 999)


def as_sqlite(db: Path) -> None:
    db.unlink()
    with sqlite3.connect(db) as other:
        other.execute("create table t (x)")
    other.close()


def cut(db: Path) -> None:
    os.truncate(db, db.stat().st_size // 3)


def header_flipped(db: Path) -> None:
    content = bytearray(db.read_bytes())
    content[4100] ^= 1
    db.write_bytes(content)


@pytest.mark.fault(50)
@pytest.mark.parametrize("spoil", [as_text, as_sqlite, cut, header_flipped])
def test_a_command_says_in_one_sentence_what_to_do_and_touches_neither_file_nor_journal(made, spoil):
    segment = write(made, calls(SPANS))[1]
    spoil(made)
    before = made.read_bytes(), segment.read_bytes()
    for _ in range(2):
        result = run_command(made)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert result.stderr.startswith(f"error: {made} is no readable DuckDB database and was left as it is")
        assert "move it away" in result.stderr
    assert (made.read_bytes(), segment.read_bytes()) == before
    made.rename(made.with_name("damaged.duckdb"))
    assert run_command(made).exit_code == 0
    assert balanced_books(made).stored == SPANS


@pytest.mark.fault(50)
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_refused_and_never_waited_for(db, make):
    make(db)
    write(db, calls(SPANS))
    for command in ("runs", "doctor"):
        result = CliRunner().invoke(main, [command, "--db", str(db)])
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert f"{db} is " in result.stderr
        assert "choose another file" in result.stderr
    with pytest.raises(StoreError, match="left as it is"):
        open_for_write(db)


@pytest.mark.fault(50)
def test_any_changed_byte_is_an_error_that_names_the_file_or_changes_nothing(made):
    content = made.read_bytes()
    with StoreReader(made) as store:
        expected = store.query("select * from steps order by all").rows
    chance, said = random.Random(50), []
    for _ in range(40):
        at = chance.randrange(len(content))
        made.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            with StoreReader(made) as store:
                found = store.query("select * from steps order by all").rows
        except StoreDamagedError as error:
            said.append(str(error))
        else:
            assert found == expected
    assert len(said) > 10
    assert all(str(made) in message and "move it away" in message for message in said)


@pytest.mark.fault(50)
def test_the_thread_of_a_process_keeps_journaling_and_says_it_once(db, caplog):
    as_text(db)
    writer, segment = write(db, calls(SPANS), close=False)
    loading = Loading(lambda: Loader(db), lambda _: None, every_s=0.01)
    for _ in range(3):
        loading.notify(urgent=True)
        assert not loading.flush(5.0)
    loading.stop(5.0)
    told = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert str(db) in told[0]
    before = segment.read_bytes()
    writer.close()
    assert segment.read_bytes().startswith(before)
    db.unlink()
    assert Loader(db).turn().records == SPANS
    assert balanced_books(db).stored == SPANS


@pytest.mark.fault(52)
def test_a_store_that_others_can_read_is_closed_to_them(made, caplog):
    made.chmod(0o644)
    StoreWriter(made).close()
    assert made.stat().st_mode & 0o777 == 0o600
    assert caplog.messages == [f"{made} could be read by others; its mode is now 0600"]
    caplog.clear()
    StoreWriter(made).close()
    assert caplog.messages == []


@pytest.mark.fault(52)
def test_a_write_ahead_log_that_others_can_read_is_closed_to_them(made, run):
    with StoreWriter(made) as writer:
        wal = made.with_name(made.name + ".wal")
        wal.touch(0o644)
        wal.chmod(0o644)
        writer.append(Batch(closed=[RunVersion(run("0" * 32))]))
        assert wal.stat().st_mode & 0o777 == 0o600


@pytest.mark.fault(52)
def test_what_spills_to_the_disk_is_closed_to_others(made):
    old = os.umask(0)
    try:
        with open_for_write(made) as store:
            store.duck.execute("set memory_limit = '40MB'")
            store.duck.execute("create temp table t as select md5(range::varchar) as x from range(2000000)")
            folder = made.with_name(made.name + ".tmp")
            assert any(folder.iterdir())
            assert folder.stat().st_mode & 0o777 == 0o700
        assert not folder.exists()
    finally:
        os.umask(old)


@pytest.mark.fault(52)
def test_symlinks_to_the_store_and_to_the_journal_are_followed(tmp_path):
    real = tmp_path / "elsewhere"
    (real / "journal").mkdir(parents=True)
    db = tmp_path / "runs.duckdb"
    Path(f"{db}.journal").symlink_to(real / "journal")
    StoreWriter(real / "store.duckdb").close()
    db.symlink_to(real / "store.duckdb")
    segment = write(db, calls(SPANS))[1]
    assert (real / "journal" / segment.name).exists()
    assert (real / "journal").stat().st_mode & 0o777 == 0o700
    assert Loader(db).turn().records == SPANS
    assert balanced_books(db).stored == SPANS
    assert db.is_symlink()


@pytest.mark.fault(8)
def test_half_made_stores_of_killed_processes_go_and_those_of_living_ones_stay(db):
    dead, living = db.with_name(".runs.duckdb.dead0000"), db.with_name(".runs.duckdb.living00")
    fresh = db.with_name(".runs.duckdb.fresh000")
    for folder in (dead, living, fresh):
        folder.mkdir(0o700)
    for folder in (dead, living):
        (folder / "runs.duckdb").write_bytes(b"half")
    from otel_runlog.store import connection

    lock = connection._lock(living)
    StoreWriter(db).close()
    assert (dead.exists(), living.exists(), fresh.exists()) == (False, True, True)
    os.close(lock)
    os.utime(fresh, (time.time() - 3600,) * 2)
    db.unlink()
    StoreWriter(db).close()
    assert [path.name for path in db.parent.iterdir()] == ["runs.duckdb"]
