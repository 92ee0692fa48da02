"""Loading: killed at any instant, by two at once, and of what came before in one form or another."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from otel_runlog.errors import StoreLockedError
from otel_runlog.journal import JournalWriter, Record, journal_folder, read_segment, segments
from otel_runlog.loader import Loader
from otel_runlog.model import Span
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.store.connection import open_for_write

from .agent import Agent
from .kills import tiny
from .work import Outcome, Work

SEED = 51
LEFT_SEGMENTS = 24
TWO_LOADERS_S = (6.0, 1.5)


def killed_while_loading(work: Work) -> Outcome:
    """A writer lives; a process that only loads is killed within 150 ms, over and over."""
    chance = random.Random(SEED)
    writer = work.start("loaders:write_steadily", "writer")
    kills = 0
    for _ in work.times(100, 8):
        loader = work.start("loaders:load_for_ever")
        time.sleep(chance.uniform(0, 0.15))
        work.expect_code("the loader", work.nursery.kill(loader), -signal.SIGKILL)
        kills += 1
    work.nursery.kill(writer)
    return work.outcome(kills)


def write_steadily(folder: str, who: str, every_s: float = 0.02) -> None:
    """A run of 20 spans every so often, in segments of 64 kB."""
    agent = Agent(folder, who)
    agent.processor._door._journal._segment_bytes = 64 << 10
    while True:
        agent.write(20)
        time.sleep(every_s)


def load_for_ever(folder: str) -> None:
    tiny(16 << 10)
    loader = Loader(Path(folder, "runs.duckdb"))
    while True:
        loader.turn(1.0)


def left_by_killed_processes(work: Work) -> Outcome:
    """The next command loads what 24 killed processes left, once, while another process goes on writing."""
    writer = work.start("loaders:write_steadily", "writer", every_s=0.2)
    for number in range(LEFT_SEGMENTS):
        work.finish("kills:burst_and_die", f"killed{number}", code=-signal.SIGKILL, spans=40)
    left = len(segments(journal_folder(work.db)))
    work.expect(f"{left} segments were left", holds=left > LEFT_SEGMENTS)
    command = [sys.executable, "-m", "otel_runlog", "runs", "--db", str(work.db), "--format", "json"]
    shown = [subprocess.run(command, stdout=subprocess.PIPE, check=False) for _ in range(2)]
    for done in shown:
        work.expect_code("otel-runlog runs", done.returncode, 0)
        runs = len(json.loads(done.stdout or b"[]"))
        work.expect(f"a command shows {runs} runs", holds=runs >= 2 * LEFT_SEGMENTS)
    work.nursery.kill(writer)
    return work.outcome(LEFT_SEGMENTS)


def two_at_once(work: Work) -> Outcome:
    """Two writers that load, two processes that only load, and one that reads: they take turns."""
    writers = [work.start("loaders:write_and_load", f"writer{i}") for i in range(2)]
    loaders = [work.start("loaders:load_for_ever") for _ in range(2)]
    time.sleep(TWO_LOADERS_S[work.short])
    for pid in (*loaders, *writers):
        work.nursery.kill(pid)
    _second_writer_is_told(work)
    return work.outcome(4)


def write_and_load(folder: str, who: str) -> None:
    agent = Agent(folder, who, loader="thread")
    while True:
        agent.write(20)
        time.sleep(0.02)


def _second_writer_is_told(work: Work) -> None:
    """A process that wants the store while another has it open hears which one, and loses nothing."""
    holder = work.start("loaders:hold")
    work.wait_for((work.folder / "held").exists, "the store to be held")
    report = Loader(work.db).turn()
    said = report.held_by or ""
    work.expect(f"the loader was told {said!r}, not pid {holder}", holds=f"process {holder}" in said)
    try:
        open_for_write(work.db).close()
        work.wrong.append("a second writer opened the store")
    except StoreLockedError as error:
        work.expect(f"{error} does not name pid {holder}", holds=f"process {holder}" in str(error))
    work.nursery.kill(holder)


def hold(folder: str) -> None:
    with open_for_write(Path(folder, "runs.duckdb"), 5.0):
        Path(folder, "held").touch()
        time.sleep(60)


def seeded_ids(work: Work) -> Outcome:
    """`random.seed(42)` at the start of two processes: the ids are the same, the runs are two."""
    for who in ("first", "second"):
        work.finish("loaders:write_seeded", who)
        work.load()
    outcome = work.outcome(2)
    reused = work.books().id_reuse
    work.expect(f"{reused} reused ids were counted, not 200", holds=reused == 200)
    noted = work.rows("SELECT count(*) FROM runs WHERE len(list_filter(notes, lambda n: n LIKE 'id_reuse%')) > 0")
    work.expect("no run says that its ids were used again", holds=noted[0][0] > 0)
    return outcome


def write_seeded(folder: str, who: str) -> None:
    agent = Agent(folder, who)
    random.seed(42)
    agent.write(200)


def delivered_again(work: Work) -> Outcome:
    """The same segment three times more, before and after a restart, and once as a file."""
    work.finish("loaders:write_some", "writer", spans=200)
    [segment] = segments(journal_folder(work.db))
    kept = Path(shutil.copy(segment.path, work.folder))
    requests = [record.body for record in read_segment(kept).records if record.signal is Signal.TRACES]
    work.load()
    for again in range(3):
        shutil.copy(kept, segment.path.with_name(f"{os.getpid()}-{again + 1}-{again:08x}.seg"))
        work.load()
    files = work.folder / "again"
    files.mkdir()
    for number, body in enumerate(requests):
        (files / f"{number}.binpb").write_bytes(body)
    Loader(work.db).ingest([files])
    outcome = work.outcome(4)
    books = work.books()
    work.expect(f"200 spans four times more: {books}", holds=(books.stored, books.duplicate) == (200, 800))
    return outcome


def write_some(folder: str, who: str, spans: int) -> None:
    Agent(folder, who).write(spans)


def in_another_version(work: Work) -> Outcome:
    """The same ids with another answer, before and after what they contradict: both are kept, the later end counts."""
    work.finish("loaders:write_some", "writer", spans=100)
    [segment] = segments(journal_folder(work.db))
    calls = [s for r in read_segment(segment.path).records for s in _calls(r)]
    writer = JournalWriter(journal_folder(work.db))
    _append(writer, [_longer(s) for s in calls[::2]])
    work.load()
    _append(writer, [_longer(s) for s in calls[1::2]])
    writer.close()
    outcome = work.outcome(len(calls), conflicts=len(calls))
    books = work.books()
    work.expect(f"{len(calls)} conflicts: {books}", holds=books.conflict == len(calls))
    [(counted, tokens)] = work.rows("SELECT sum(llm_calls), sum(output_tokens) FROM runs")
    wanted = (len(calls), 159 * len(calls))
    work.expect(f"the runs count {counted} calls, {tokens} tokens, not {wanted}", holds=(counted, tokens) == wanted)
    return outcome


def _calls(record: Record) -> list[Span]:
    if record.signal is not Signal.TRACES:
        return []
    return [s for s in read_traces(record.body, record.encoding).spans if s.name.startswith("chat")]


def _longer(span: Span) -> Span:
    span.attributes = span.attributes | {"gen_ai.usage.output_tokens": 159}
    span.ended_ns = (span.ended_ns or 0) + 1
    return span


def _append(writer: JournalWriter, spans: list[Span]) -> None:
    for span in spans:
        writer.append(Signal.TRACES, Encoding.PROTOBUF, time.time_ns(), encode_spans([span]))
