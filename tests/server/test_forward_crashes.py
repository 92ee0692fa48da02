"""Killed forwarders, a journal that lets go, damaged segments: whatever does not arrive is counted."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from backends import GrpcBackend, HttpBackend, Reply
from forwarding import Counted, append, cursor, forwarder, spans
from journalled import ends

from otel_runlog.journal import JournalWriter, cursors, journal_folder, segments
from otel_runlog.journal.limit import keep_below
from otel_runlog.loader import Loader
from otel_runlog.server.forward import pause

PROCESS = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from forwarding import forwarder
forwarder(Path({folder!r}), {url!r})
print("begun", flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch):
    monkeypatch.setattr(pause, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(pause, "LONGEST_RETRY_S", 0.05)


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"


@pytest.fixture
def folder(db):
    return journal_folder(db)


@pytest.fixture
def backend(request):
    made = getattr(request, "param", HttpBackend)()
    yield made
    made.close()


def begun(folder, url):
    code = PROCESS.format(tests=str(Path(__file__).parents[1]), folder=str(folder), url=url)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    return process


def kill(process):
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


@pytest.mark.fault(2, 9)
@pytest.mark.parametrize("backend", [HttpBackend, GrpcBackend], indirect=True)
def test_killed_again_and_again_a_forwarder_loses_nothing(folder, backend):
    """What was sent and not yet noted is sent again: at least once."""
    them = spans(300)
    writer = JournalWriter(folder, segment_bytes=20_000)
    backend.answer = lambda request: Reply(delay_s=0.02)
    cursors.configured(folder, ["there"])
    for cycle in range(3):
        process = begun(folder, backend.url)
        append(writer, them[cycle * 100 : cycle * 100 + 100], per_record=2)
        before = len(backend.requests)
        assert backend.wait_for(lambda before=before: len(backend.requests) > before)
        kill(process)
    writer.close()
    made = forwarder(folder, backend.url)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 300)
    assert made.stop(5.0)
    assert set(backend.span_ids()) == {span.span_id for span in them}
    assert all(place["ended"] for place in cursor(folder).values())


@pytest.mark.fault(2)
def test_killed_during_a_retry_a_forwarder_loses_nothing(folder, backend):
    writer = JournalWriter(folder)
    them = spans(5)
    append(writer, them)
    backend.answer = lambda request: Reply(status=503, keeps=False)
    process = begun(folder, backend.url)
    assert backend.wait_for(lambda: len(backend.requests) >= 2)
    kill(process)
    backend.answer = lambda request: Reply()
    made = forwarder(folder, backend.url)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 5)
    made.stop(5.0)
    writer.close()
    assert set(backend.span_ids().values()) == {1}


@pytest.mark.fault(14)
def test_over_its_limit_the_journal_drops_the_oldest_for_a_dead_backend_and_each_is_counted(db, folder, backend):
    backend.answer = lambda request: Reply(status=503, keeps=False)
    count = Counted()
    cursors.configured(folder, ["there"])
    made = forwarder(folder, backend.url, count)
    writer = JournalWriter(folder, segment_bytes=12_000, max_bytes=40_000)
    append(writer, spans(300))
    writer.close()
    assert sum(segment.size_bytes for segment in segments(folder)) < 60_000
    backend.answer = lambda request: Reply()
    assert backend.wait_for(lambda: count.total("forwarded") + count.total("forward_dropped") == 300)
    made.stop(5.0)
    assert len(backend.span_ids()) == count.total("forwarded") > 50
    assert set(backend.span_ids().values()) == {1}
    assert count.dropped() == {"journal_full": 300 - len(backend.span_ids())}
    Loader(db).turn()
    assert segments(folder) == []


def test_what_is_let_go_while_it_is_being_retried_is_still_sent(folder, backend):
    writer = JournalWriter(folder)
    append(writer, spans(5))
    writer.close()
    backend.answer = lambda request: Reply(status=503, keeps=False)
    count = Counted()
    made = forwarder(folder, backend.url, count)
    assert backend.wait_for(lambda: len(backend.requests) >= 1)
    assert keep_below(folder, 1) == 5
    backend.answer = lambda request: Reply()
    assert backend.wait_for(lambda: len(backend.span_ids()) == 5)
    time.sleep(0.2)
    made.stop(5.0)
    assert count.dropped() == {}
    assert all(place["ended"] for place in cursor(folder).values())


@pytest.mark.fault(49)
def test_a_damaged_record_is_counted_once_and_costs_no_other(folder, backend):
    writer = JournalWriter(folder)
    them = spans(6)
    append(writer, them)
    path = writer.path
    writer.close()
    content = bytearray(path.read_bytes())
    content[ends(path)[3] - 1] ^= 0xFF
    path.write_bytes(content)
    count = Counted()
    made = forwarder(folder, backend.url, count)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 5)
    made.stop(5.0)
    assert sum(count.dropped().values()) == 1
    assert them[2].span_id not in backend.span_ids()


def test_a_record_that_is_half_written_is_waited_for(folder, backend):
    writer = JournalWriter(folder)
    them = spans(2)
    append(writer, them[:1])
    path, whole = writer.path, None
    append(writer, them[1:])
    whole = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(len(whole) - 7)
    count = Counted()
    made = forwarder(folder, backend.url, count)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 1)
    path.write_bytes(whole)
    made.notify()
    assert backend.wait_for(lambda: len(backend.span_ids()) == 2)
    made.stop(5.0)
    writer.close()
    assert count.dropped() == {}


def test_a_cursor_that_cannot_be_written_is_told_and_nothing_stops(folder, backend, caplog):
    writer = JournalWriter(folder)
    append(writer, spans(3))
    (folder / "cursors").write_text("in the way")
    made = forwarder(folder, backend.url)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 3)
    made.stop(5.0)
    writer.close()
    assert [record for record in caplog.records if "cannot" in record.getMessage()]


def test_with_a_cursor_that_cannot_be_read_all_is_sent_again(folder, backend, caplog):
    writer = JournalWriter(folder)
    append(writer, spans(3))
    (folder / "cursors").mkdir()
    (folder / "cursors" / "there.json").write_text("{")
    made = forwarder(folder, backend.url)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 3)
    made.stop(5.0)
    writer.close()
    assert "cannot read the cursor" in caplog.text
    assert cursor(folder)[segments(folder)[0].name]["sequence"] == 3
