"""What the loader pays for a span: CPU of the whole process, by stage and from a journal or files to a closed store."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import msgspec

from otel_runlog.ingest import ingest
from otel_runlog.journal import JournalWriter, journal_folder
from otel_runlog.loader import Loader
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.pricing import PriceTable

from .bare_store import append_bare, recorded
from .measure import Sample, Scale, Timer, Variant, interleaved
from .report import RATE, Line
from .stages import Stages, parse
from .workload import START_NS, MadeSpan, Workload, json_body, protobuf_body, requests

SECTION = "ingest"
BARE_PROTOBUF, BARE_JSON = "upb parse and DuckDB", "msgspec parse and DuckDB"
JOURNAL, SINGLE = "journal of 512-span requests", "journal of 1-span records"
PROTOBUF_FILES, JSON_LINES = "ingest of protobuf files", "ingest of OTLP/JSON lines"
FIGURES: tuple[tuple[str, str, float | None], ...] = (
    (JOURNAL, BARE_PROTOBUF, 10_000),
    (SINGLE, BARE_PROTOBUF, None),
    (PROTOBUF_FILES, BARE_PROTOBUF, 10_000),
    (JSON_LINES, BARE_JSON, 8_000),
)
"""Name, floor and goal in spans per core-second (issue `Small and fast`; the aim for protobuf is 20,000)."""
BYTES_GOAL = 600


def lines(scale: Scale) -> list[Line]:
    """The section's figures."""
    with tempfile.TemporaryDirectory(prefix="runlog-bench-") as folder:
        stages = Stages(Path(folder), Workload().spans(scale.spans_per_stage))
        found = stages.lines(SECTION, interleaved(stages.variants(), scale.repeats, warm_up=scale.warm_up))
    with tempfile.TemporaryDirectory(prefix="runlog-bench-") as folder:
        whole = _EndToEnd(Path(folder), Workload().spans(scale.spans_end_to_end))
        return found + whole.lines(interleaved(whole.variants(), scale.repeats_end_to_end, warm_up=False))


class _EndToEnd:
    """From bytes on disk to a closed store; every time a new store in a folder of its own."""

    def __init__(self, folder: Path, made: list[MadeSpan]) -> None:
        self._made = made
        self._folders = (folder / f"load-{number}" for number in itertools.count())
        self._prices = PriceTable.default()
        self._protobuf = [protobuf_body(spans) for spans in requests(made)]
        self._single = [protobuf_body([span]) for span in made]
        self._json = [json_body(spans) for spans in requests(made)]
        self._protobuf_files = folder / "protobuf"
        self._protobuf_files.mkdir()
        for number, body in enumerate(self._protobuf):
            (self._protobuf_files / f"{number:04}.pb").write_bytes(body)
        self._json_file = folder / "traces.jsonl"
        self._json_file.write_bytes(b"\n".join(self._json))
        self._bytes_on_disk: dict[str, int] = {}
        with recorded() as self._rows:
            ingest(Loader(self._new_db(), prices=self._prices), [self._protobuf_files])

    def variants(self) -> dict[str, Variant]:
        return {
            BARE_PROTOBUF: self._bare_protobuf,
            BARE_JSON: self._bare_json,
            JOURNAL: lambda timer: self._from_journal(JOURNAL, self._protobuf, timer),
            SINGLE: lambda timer: self._from_journal(SINGLE, self._single, timer),
            PROTOBUF_FILES: lambda timer: self._from_files(PROTOBUF_FILES, self._protobuf_files, timer),
            JSON_LINES: lambda timer: self._from_files(JSON_LINES, self._json_file, timer),
        }

    def lines(self, samples: dict[str, Sample]) -> list[Line]:
        rates = [self._rate(name, floor, goal, samples) for name, floor, goal in FIGURES]
        return [*rates, *(self._size(name) for name in (JOURNAL, PROTOBUF_FILES, JSON_LINES))]

    def _rate(self, name: str, floor: str, goal: float | None, samples: dict[str, Sample]) -> Line:
        return Line(
            section=SECTION,
            figure=name,
            unit=RATE,
            ours=1e6 / samples[name].us_each(len(self._made)),
            best=1e6 / samples[name].best_us_each(len(self._made)),
            floor=1e6 / samples[floor].us_each(len(self._made)),
            floor_is=floor,
            target=goal,
            target_text=f">= {goal:,}" if goal else "",
            cpu_s=samples[name].cpu_s,
        )

    def _size(self, name: str) -> Line:
        encoded = sum(map(len, self._json if name == JSON_LINES else self._protobuf))
        return Line(
            section=SECTION,
            figure=f"on disk after {name}",
            unit="bytes/span",
            ours=self._bytes_on_disk[name] / len(self._made),
            floor=encoded / len(self._made),
            floor_is="as sent, not compressed",
            target=BYTES_GOAL,
            target_text=f"<= {BYTES_GOAL}",
        )

    def _new_db(self) -> Path:
        folder = next(self._folders)
        folder.mkdir()
        return folder / "runs.duckdb"

    def _from_journal(self, name: str, bodies: list[bytes], timer: Timer) -> None:
        db = self._new_db()
        journal = JournalWriter(journal_folder(db))
        for body in bodies:
            journal.append(Signal.TRACES, Encoding.PROTOBUF, START_NS, body)
        journal.close()
        with timer:
            report = Loader(db, prices=self._prices).turn()
        self._check(name, report.spans, db)

    def _from_files(self, name: str, path: Path, timer: Timer) -> None:
        db = self._new_db()
        with timer:
            report = ingest(Loader(db, prices=self._prices), [path])
        self._check(name, report.stored, db)

    def _check(self, name: str, stored: int, db: Path) -> None:
        """A figure of spans that were not all stored would be none."""
        assert stored == len(self._made), f"{name}: {stored} of {len(self._made)} spans"
        self._bytes_on_disk[name] = sum(f.stat().st_size for f in db.parent.rglob("*") if f.is_file())

    def _bare_protobuf(self, timer: Timer) -> None:
        with timer:
            for body in self._protobuf:
                parse(body)
            append_bare(self._new_db(), self._rows)

    def _bare_json(self, timer: Timer) -> None:
        with timer:
            for body in self._json:
                msgspec.json.decode(body)
            append_bare(self._new_db(), self._rows)
