"""What every scenario works with: its folder, its children, and the comparison of the store with the side files."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from otel_runlog.journal import journal_folder, segments
from otel_runlog.loader import Loader
from otel_runlog.store.reader import StoreReader

from .acks import Acknowledged, so_far
from .agent import FILL_REPEATS
from .nursery import Nursery

BEGIN_WAIT_S = 20.0
IDS = """
    SELECT attributes ->> 'fault.who', CAST(attributes ->> 'fault.sequence' AS BIGINT),
        count(*), bool_and(attributes ->> 'fault.fill' =
            repeat((attributes ->> 'fault.who') || ':' || (attributes ->> 'fault.sequence') || ' ', $repeats))
    FROM spans
    WHERE ended_ns IS NOT NULL AND attributes ->> 'fault.who' IS NOT NULL
    GROUP BY ALL
"""
OPEN_BUT_COMPLETED = """
    SELECT count(*) FROM runs AS r JOIN spans AS s ON r.trace_id = s.trace_id AND r.root_span_id = s.span_id
    WHERE s.ended_ns IS NULL AND r.status = 'completed'
"""
CALLS = """
    SELECT
        (SELECT sum(llm_calls) FROM runs),
        (
            SELECT count(DISTINCT (trace_id, span_id, started_ns)) FROM spans
            WHERE attributes ->> '$."gen_ai.operation.name"' = 'chat'
        )
"""


class Books(msgspec.Struct, frozen=True):
    """The sums over all sources."""

    received: int
    stored: int
    duplicate: int
    conflict: int
    superseded: int
    id_reuse: int
    rejected: dict[str, int]
    dropped: dict[str, int]

    @property
    def balance(self) -> bool:
        """Whether every span that was received is accounted for."""
        known = self.stored + self.duplicate + self.conflict + self.superseded
        return self.received == known + sum(self.rejected.values()) + sum(self.dropped.values())


class Outcome(msgspec.Struct, kw_only=True):
    """What a scenario showed.

    Attributes:
        tried: how often the fault was made to happen.
        acknowledged: spans for which `on_end` had returned and nothing was counted as dropped.
        lost: of those, the ones that are not in the store whole.
        doubled: spans that are in the store more than once.
        block_ms: the longest that ending a span, or what else is named, held up the application's thread.
        growth_mb: by how much the memory of the largest application grew.
        wrong: what else was not as required.
        notes: figures that have no column.
    """

    tried: int
    acknowledged: int
    lost: int
    doubled: int
    block_ms: float
    growth_mb: float
    wrong: list[str] = []
    notes: list[str] = []

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost, doubled or wrong."""
        return not (self.lost or self.doubled or self.wrong)


class Work:
    """One scenario at work in a folder of its own."""

    def __init__(self, folder: Path, nursery: Nursery, *, short: bool, progress: Callable[[int, int], None]) -> None:
        self.folder, self.nursery, self.short = folder, nursery, short
        self.wrong: list[str] = []
        self.notes: list[str] = []
        self.load_s = 0.0
        self._progress = progress
        (folder / "acks").mkdir()

    @property
    def db(self) -> Path:
        """The store."""
        return self.folder / "runs.duckdb"

    def times(self, full: int, short: int) -> Iterator[int]:
        """Count to the first number, or the second in the short form, showing how far it has come."""
        total = short if self.short else full
        for number in range(total):
            self._progress(number, total)
            yield number
        self._progress(total, total)

    def start(self, target: str, who: str | None = None, **arguments: Any) -> int:
        """Start a child; with `who`, return once it has tried its first span."""
        named = {} if who is None else {"who": who}
        pid = self.nursery.start(target, folder=str(self.folder), **named, **arguments)
        if who is not None:
            self.wait_for(lambda: so_far(self.folder / "acks" / who) > 0, f"{who} to write a span")
        return pid

    def finish(self, target: str, who: str | None = None, *, code: int = 0, **arguments: Any) -> None:
        """Run a child to its end; any other exit code than `code` is wrong."""
        pid = self.nursery.start(target, folder=str(self.folder), **({} if who is None else {"who": who}), **arguments)
        self.expect_code(target, self.nursery.wait(pid), code)

    def expect_code(self, what: str, got: int, wanted: int) -> None:
        """Note an exit code that is not the application's own."""
        self.expect(f"{what} ended with {got}, not {wanted}", holds=got == wanted)

    def expect(self, otherwise: str, *, holds: bool) -> None:
        """Note what is wrong unless it holds."""
        if not holds:
            self.wrong.append(otherwise)

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Poll until something came true."""
        deadline = time.monotonic() + BEGIN_WAIT_S
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {BEGIN_WAIT_S} s for {what}: {self.nursery.errors.read_text('utf-8')}")
            time.sleep(0.0005)

    def load(self) -> None:
        """Load what is pending, as the next command would; remembers the longest it took."""
        started = time.perf_counter()
        report = Loader(self.db).turn(10.0)
        self.load_s = max(self.load_s, time.perf_counter() - started)
        self.expect(f"the store was held: {report.held_by}", holds=report.held_by is None)

    def rows(self, sql: str, parameters: dict[str, object] | None = None) -> list[tuple[Any, ...]]:
        """The answer to a query."""
        with StoreReader(self.db, 10.0) as reader:
            return reader._store.duck.execute(sql, parameters or {}).fetchall()

    def books(self) -> Books:
        """The sums of the books."""
        columns = ", ".join(Books.__struct_fields__)
        found = self.rows(f"SELECT {columns} FROM books")
        totals = [sum(row[i] for row in found) for i in range(6)]
        reasons = [Counter[str](), Counter[str]()]
        for row in found:
            for reason, text in zip(reasons, row[6:], strict=True):
                reason.update(msgspec.json.decode(text, type=dict[str, int]))
        return Books(*totals, *(dict(r) for r in reasons))

    def outcome(self, tried: int, *, conflicts: int = 0, allowed_losses: int = 0) -> Outcome:
        """Load the rest and compare. `conflicts`: spans of which two versions must be there, both kept."""
        self.load()
        left = [s.name for s in segments(journal_folder(self.db))]
        self.expect(f"segments stay after loading: {left}", holds=not left)
        stored, torn = self._stored()
        said = [Acknowledged(path) for path in sorted((self.folder / "acks").iterdir())]
        lost = sum((a.who, n) not in stored for a in said for n in a.numbers)
        doubled = sum(count - 1 for count in stored.values()) - conflicts
        self._check(torn)
        return Outcome(
            tried=tried,
            acknowledged=sum(len(a.numbers) for a in said),
            lost=max(lost - allowed_losses, 0),
            doubled=doubled,
            block_ms=max((a.longest_s for a in said), default=0.0) * 1000,
            growth_mb=max((a.growth_bytes for a in said), default=0) / (1 << 20),
            wrong=self.wrong,
            notes=self.notes,
        )

    def _stored(self) -> tuple[dict[tuple[str, int], int], int]:
        found = self.rows(IDS, {"repeats": FILL_REPEATS})
        return {(who, number): count for who, number, count, _ in found}, sum(not whole for *_, whole in found)

    def _check(self, torn: int) -> None:
        books = self.books()
        self.expect(f"the books do not balance: {books}", holds=books.balance)
        self.expect(f"{torn} spans are in the store, but not whole", holds=torn == 0)
        [(wrongly,)] = self.rows(OPEN_BUT_COMPLETED)
        self.expect(f"{wrongly} runs whose root never ended are completed", holds=wrongly == 0)
        [(counted, calls)] = self.rows(CALLS)
        self.expect(f"the runs count {counted} calls, there are {calls}", holds=(counted or 0) == calls)


@contextmanager
def at_work(
    nursery: Nursery, *, short: bool, progress: Callable[[int, int], None] = lambda _done, _all: None
) -> Iterator[Work]:
    """A scenario's folder, gone when it is over."""
    with TemporaryDirectory(prefix="runlog-faults-") as folder:
        yield Work(Path(folder), nursery, short=short, progress=progress)
