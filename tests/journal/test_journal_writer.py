"""The writing end: files, modes, rotation, faults of the disk, interrupts."""

import errno
import fcntl
import os
import resource
import stat
import threading
import time
from pathlib import Path

import pytest

from otel_runlog.errors import JournalError
from otel_runlog.journal import (
    DamageKind,
    JournalWriter,
    damaged,
    journal_folder,
    read_segment,
    retire,
    segments,
    set_aside,
)
from otel_runlog.journal.folder import sweep
from otel_runlog.otlp.wire import Encoding, Signal


def put(writer, body, received_ns=1):
    writer.append(Signal.TRACES, Encoding.PROTOBUF, received_ns, body)


def descriptor(path):
    """The number of this process's descriptor of `path`."""
    return next(int(link.name) for link in Path("/proc/self/fd").iterdir() if os.path.realpath(link) == str(path))


def stored(folder):
    """Every body in the folder, oldest segment first; fails on any damage but a missing footer."""
    found = []
    for segment in segments(folder):
        read = read_segment(segment.path)
        assert [damage for damage in read.damage if damage.loses_data] == []
        found += [record.body for record in read.records]
    return found


@pytest.fixture
def folder(tmp_path):
    return journal_folder(tmp_path / "runs.duckdb")


@pytest.fixture
def writer(folder):
    made = JournalWriter(folder)
    yield made
    made.close()


def test_the_folder_lies_beside_the_store_and_does_not_move_with_chdir(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert journal_folder("runs.duckdb") == tmp_path / "runs.duckdb.journal"


def test_nothing_is_made_before_the_first_record(folder, writer):
    assert writer.path is None
    assert not folder.exists()
    assert segments(folder) == []


@pytest.mark.fault(52)
@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_modes_hold_whatever_the_umask(folder, writer, umask):
    before = os.umask(umask)
    try:
        put(writer, b"secret")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(writer.path.stat().st_mode) == 0o600


@pytest.mark.fault(52)
def test_an_open_folder_is_closed_to_others(folder, writer):
    folder.mkdir(mode=0o755)
    put(writer, b"secret")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.fault(52)
@pytest.mark.parametrize(
    "use", [lambda folder, writer: put(writer, b"secret"), lambda folder, writer: segments(folder)]
)
def test_the_folder_of_another_user_is_neither_written_nor_read(folder, writer, monkeypatch, use):
    folder.mkdir()
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 12345)
    with pytest.raises(JournalError, match=f"belongs to uid {owner}, not to uid {owner + 12345}: use another --db"):
        use(folder, writer)


@pytest.mark.fault(52)
def test_a_file_in_the_folders_place_is_refused(folder, writer):
    folder.write_text("not a folder")
    with pytest.raises(JournalError, match="is no folder"):
        put(writer, b"a")


def test_a_missing_parent_is_a_journal_error(tmp_path):
    with pytest.raises(JournalError, match="No such file"):
        put(JournalWriter(tmp_path / "missing" / "j"), b"a")


def test_a_segment_lives_until_it_is_closed(folder, writer):
    put(writer, b"a")
    (living,) = segments(folder)
    assert (living.path, living.name, living.living) == (writer.path, writer.path.name, True)
    assert living.size_bytes == living.path.stat().st_size
    writer.close()
    assert [segment.living for segment in segments(folder)] == [False]


def test_the_name_says_pid_start_and_a_random_part(writer):
    put(writer, b"a")
    pid, started_ns, random = writer.path.stem.split("-")
    assert (int(pid), len(random)) == (os.getpid(), 8)
    assert int(started_ns) > 1_700_000_000_000_000_000


def test_the_descriptor_is_not_inherited_by_other_programs(writer):
    put(writer, b"a")
    assert not os.get_inheritable(descriptor(writer.path))


def test_closing_twice_and_appending_again_opens_a_new_segment(folder, writer):
    put(writer, b"a")
    writer.close()
    writer.close()
    put(writer, b"b")
    writer.close()
    assert stored(folder) == [b"a", b"b"]
    assert len(segments(folder)) == 2


def test_a_full_segment_is_closed_and_the_next_one_begun(folder):
    writer = JournalWriter(folder, segment_bytes=1_000)
    for number in range(10):
        put(writer, b"%03d" % number * 100)
    writer.close()
    reads = [read_segment(segment.path) for segment in segments(folder)]
    assert [len(read.records) for read in reads] == [2, 2, 2, 2, 2]
    assert all(read.ended and not read.damage for read in reads)


def test_a_record_larger_than_a_segment_gets_one_of_its_own(folder):
    writer = JournalWriter(folder, segment_bytes=100)
    for body in (b"x" * 500, b"y", b"z" * 500):
        put(writer, body)
    writer.close()
    assert stored(folder) == [b"x" * 500, b"y", b"z" * 500]


def test_threads_lose_and_double_nothing(folder, writer):
    def work(name):
        for number in range(300):
            put(writer, b"%d-%d" % (name, number))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(stored(folder)) == sorted(b"%d-%d" % (a, b) for a in range(6) for b in range(300))


@pytest.mark.fault(48)
def test_a_write_that_fits_only_in_part_is_taken_back(folder, writer):
    put(writer, b"first")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (writer.path.stat().st_size + 50, limits[1]))
    try:
        with pytest.raises(JournalError, match="cannot write 100 bytes"):
            put(writer, b"x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    put(writer, b"second")
    writer.close()
    assert stored(folder) == [b"first", b"second"]
    assert len(segments(folder)) == 1


def test_an_interrupt_after_the_system_call_does_not_lose_count(folder, writer, monkeypatch):
    def interrupted(fd, buffers):
        os_writev(fd, buffers)
        raise KeyboardInterrupt

    os_writev = os.writev
    put(writer, b"a")
    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", interrupted)
        with pytest.raises(KeyboardInterrupt):
            put(writer, b"b")
    put(writer, b"c")
    writer.close()
    assert stored(folder) == [b"a", b"b", b"c"]


def test_an_append_that_interrupts_an_append_is_kept_too(folder, writer, monkeypatch):
    def handler_runs_first(fd, buffers):
        monkeypatch.setattr(os, "writev", os_writev)
        put(writer, b"from the handler")
        return os_writev(fd, buffers)

    os_writev = os.writev
    put(writer, b"a")
    monkeypatch.setattr(os, "writev", handler_runs_first)
    put(writer, b"b")
    writer.close()
    assert sorted(stored(folder)) == [b"a", b"b", b"from the handler"]


def test_a_close_that_interrupts_an_append_waits_for_it(folder, writer, monkeypatch):
    def handler_closes(fd, buffers):
        monkeypatch.setattr(os, "writev", os_writev)
        writer.close()
        return os_writev(fd, buffers)

    os_writev = os.writev
    monkeypatch.setattr(os, "writev", handler_closes)
    put(writer, b"a")
    assert writer.path is None
    (segment,) = segments(folder)
    read = read_segment(segment.path)
    assert ([record.body for record in read.records], read.damage) == ([b"a"], ())


def test_a_descriptor_that_became_another_file_is_not_written_to(folder, writer, tmp_path):
    put(writer, b"a")
    other = tmp_path / "database"
    other.write_bytes(b"precious")
    fd = descriptor(writer.path)
    with other.open("r+b") as file:
        os.dup2(file.fileno(), fd)
        put(writer, b"b")
        writer.close()
        assert other.read_bytes() == b"precious"
        os.close(fd)
    assert stored(folder) == [b"a", b"b"]


def test_a_removed_folder_is_made_again(folder, writer):
    put(writer, b"a")
    writer.path.unlink()
    folder.rmdir()
    put(writer, b"b")
    assert stored(folder) == [b"b"]


def test_fsync_reaches_the_disk_before_append_returns(folder, monkeypatch):
    synced = []
    fdatasync = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda fd: (fdatasync(fd), synced.append(os.fstat(fd).st_size))[0])
    writer = JournalWriter(folder, fsync=True)
    for body in (b"a", b"b"):
        put(writer, body)
        assert synced[-1] == writer.path.stat().st_size
    writer.close()
    assert len(synced) == 3


@pytest.mark.fault(53)
def test_a_failed_fdatasync_is_never_tried_again_on_the_same_file(folder, monkeypatch):
    writer = JournalWriter(folder, fsync=True)
    put(writer, b"a")
    first = writer.path
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", _raise_eio)
        with pytest.raises(JournalError, match="Input/output error"):
            put(writer, b"b")
    put(writer, b"c")
    assert writer.path != first
    assert [record.body for record in read_segment(writer.path).records] == [b"c"]
    writer.close()
    assert [damage.kind for damage in read_segment(first).damage] == [DamageKind.NO_FOOTER]


def _raise_eio(fd):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_threads_that_wait_share_one_fdatasync(folder, monkeypatch):
    calls = []
    fdatasync = os.fdatasync

    def slow(fd):
        calls.append(fd)
        barrier.wait(5) if len(calls) == 1 else None
        fdatasync(fd)

    writer = JournalWriter(folder, fsync=True)
    put(writer, b"0")
    barrier = threading.Barrier(2)
    monkeypatch.setattr(os, "fdatasync", slow)
    threads = [threading.Thread(target=put, args=(writer, b"%d" % n)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    while len(read_segment(writer.path).records) < 9:
        pass
    barrier.wait(5)
    for thread in threads:
        thread.join()
    assert len(calls) == 2
    writer.close()
    assert len(stored(folder)) == 9


@pytest.mark.fault(8)
def test_what_killed_processes_left_unfinished_is_removed_and_never_a_segment(folder, writer):
    put(writer, b"a")
    begun, fresh, living = (folder / f"1-2-0000000{n}.new" for n in range(3))
    begun.write_bytes(b"a header")
    fresh.touch()
    living.write_bytes(b"a header")
    with living.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert [segment.path for segment in segments(folder)] == [writer.path]
        sweep(folder)
        assert (begun.exists(), fresh.exists(), living.exists()) == (False, True, True)
    os.utime(fresh, (time.time() - 3600,) * 2)
    sweep(folder)
    assert [path.name for path in folder.iterdir()] == [writer.path.name]


def test_segments_are_listed_oldest_first(folder):
    names = []
    for body in (b"a", b"b", b"c"):
        writer = JournalWriter(folder)
        put(writer, body)
        names.append(writer.path.name)
        writer.close()
    (folder / "server.json").write_text("{}")
    assert [segment.name for segment in segments(folder)] == names


def test_a_retired_segment_is_gone_and_a_damaged_one_is_kept_apart(folder, writer):
    put(writer, b"a")
    first = writer.path
    writer.close()
    put(writer, b"b")
    second = writer.path
    writer.close()
    retire(first)
    retire(first)
    aside = set_aside(second)
    assert aside == Path(f"{second}.damaged")
    assert (segments(folder), damaged(folder)) == ([], [aside])
    assert [record.body for record in read_segment(aside).records] == [b"b"]


def test_a_missing_segment_is_a_journal_error(folder):
    with pytest.raises(JournalError, match="cannot open"):
        read_segment(folder / "1-2-3.seg")
