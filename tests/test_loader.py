"""The store says what project() says, whatever the order, split and repetition of arrival; the books balance."""

from __future__ import annotations

import contextlib
import itertools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from corpus import scenario
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from journalled import calls, write

from otel_runlog import loader as loading
from otel_runlog.assemble import Assembler
from otel_runlog.doctor import examine
from otel_runlog.door.loss_records import Loss, encode_losses
from otel_runlog.errors import StoreInterruptedError
from otel_runlog.journal.folder import journal_folder
from otel_runlog.journal.layout import FOOTER_BYTES
from otel_runlog.journal.writer import JournalWriter
from otel_runlog.loader import Loader
from otel_runlog.model import Attributes, LogRecord, RunLog, RunStatus, Span
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project, project_nodes
from otel_runlog.store.batch import Position
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.writer import StoreWriter
from otel_runlog.testing import MS, START_NS, TraceBuilder
from otel_runlog.tree import Node

PRICES = PriceTable.default()
SCENARIOS = (
    "pydantic-ai/tool_loop",
    "openinference-anthropic/streaming_helper",  # two views in two traces
    "traceloop-anthropic/tool_loop",  # siblings, a trace each
    "claude-code/prompt_cache",  # cost comes in log records
    "openinference-langchain/tool_loop_anthropic_cache",  # client spans in traces of their own
    "openinference-langchain/distributed_two_services",
    "vercel-ai-v7/tool_loop_parallel",
    "otel-genai-openai/killed_midway",
    "gemini-cli/cache_reasoning",  # one run of five traces, joined by the prompt's id
    "codex-cli/multi_turn",  # a turn's id is the run's, tokens stand below their calls
)


def load(loader: Loader, number: int, spans: Sequence[Span], logs: Sequence[LogRecord] = ()) -> None:
    with loader.open() as writer:
        assembler = loader.assembler(writer)
        assembler.add_spans("test", number, spans, {})
        assembler.add_logs("test", number, logs)
        loader.commit(writer, assembler, [Position("test", number)])


def load_items(db: Path, number: int, items: Sequence[Span | LogRecord], prices: PriceTable = PRICES) -> None:
    """By a loader that starts anew."""
    spans, logs = [x for x in items if isinstance(x, Span)], [x for x in items if isinstance(x, LogRecord)]
    load(Loader(db, prices=prices), number, spans, logs)


def stored(db: Path) -> dict[str, RunLog]:
    with StoreReader(db) as reader:
        return {run.run_id: reader.run(run.run_id) for run in reader.runs()}


def books(db: Path) -> dict[str, object]:
    with StoreReader(db) as reader:
        found = reader.query("select * from books")
    return dict(zip(found.columns, found.rows[0], strict=True))


def open_ended(run: RunLog) -> RunLog:
    """The view closes quiet runs by today's clock; compare them as they are without it."""
    if run.status is not RunStatus.INCOMPLETE:
        return run
    return msgspec.structs.replace(run, status=RunStatus.RUNNING, finished_at=None)


@pytest.mark.parametrize("name", SCENARIOS)
@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_the_store_agrees_with_project_in_any_order_split_and_repetition(name: str, data: st.DataObject) -> None:
    found = scenario(name)
    spans, logs = found.spans(), found.log_records()
    repeated = data.draw(st.lists(st.sampled_from(spans), max_size=4), label="repeated")
    items = data.draw(st.permutations([*spans, *repeated, *logs]), label="order")
    cuts = data.draw(st.lists(st.integers(0, len(items)), max_size=3), label="cuts")
    restarts = data.draw(st.sets(st.integers(0, 5)), label="restarts")
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "runs.duckdb"
        loader = Loader(db, prices=PRICES)
        edges = [0, *sorted(cuts), len(items)]
        for i, (a, b) in enumerate(itertools.pairwise(edges)):
            loader = Loader(db, prices=PRICES) if i in restarts else loader
            part = items[a:b]
            load(
                loader,
                i + 1,
                [x for x in part if isinstance(x, Span)],
                [x for x in part if isinstance(x, LogRecord)],
            )
        want = {r.run_id: r for r in project(spans, logs=logs, prices=PRICES)}
        assert {k: open_ended(r) for k, r in stored(db).items()} == want
        kept = books(db)
        assert kept["received"] == len(spans) + len(repeated)
        assert kept["received"] == sum(int(str(kept[k])) for k in ("stored", "duplicate", "conflict", "superseded"))


@given(st.permutations(range(4)), st.lists(st.integers(0, 3), max_size=4))
@settings(max_examples=6, deadline=None)
def test_versions_of_a_span_agree_too(order: list[int], again: list[int]) -> None:
    """A start record, its end, a fuller copy, and a span that reuses the ids."""
    t = TraceBuilder()
    end = t.agent("a")
    assert end.ended_ns is not None
    start = msgspec.structs.replace(end, ended_ns=None, start_record=True)
    fuller = msgspec.structs.replace(end, ended_ns=end.ended_ns + 5)
    reused = msgspec.structs.replace(end, started_ns=end.ended_ns + 10**9, ended_ns=end.ended_ns + 2 * 10**9)
    versions = [start, end, fuller, reused]
    arriving = [versions[i] for i in (*order, *again)]
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "runs.duckdb"
        for i, span in enumerate(arriving):
            load(Loader(db, prices=PRICES), i + 1, [span])
        assert stored(db) == {r.run_id: r for r in project(arriving, prices=PRICES)}
        kept = books(db)
    assert kept["received"] == len(arriving)
    assert (kept["stored"], kept["conflict"], kept["id_reuse"]) == (2, 1, 1)
    assert kept["received"] == sum(int(str(kept[k])) for k in ("stored", "duplicate", "conflict", "superseded"))


def test_a_run_that_gets_its_root_keeps_its_old_name(tmp_path: Path) -> None:
    t = TraceBuilder()
    root = t.agent("a")
    t.chat("gpt-4o-mini", parent=root, input_tokens=10, output_tokens=1)
    loader = Loader(tmp_path / "runs.duckdb", prices=PRICES)
    load(loader, 1, t.spans[1:])
    [old] = stored(tmp_path / "runs.duckdb")
    load(loader, 2, [root])
    with StoreReader(tmp_path / "runs.duckdb") as reader:
        assert reader.find(old) == project(t.spans, prices=PRICES)[0].run_id
        assert len(reader.runs()) == 1


@pytest.mark.parametrize(
    "told_by", [("span", "span"), ("span", "process"), ("process", "span"), ("process", "process")]
)
def test_named_runs_join_traces_that_arrive_apart(tmp_path: Path, told_by: tuple[str, str]) -> None:
    named: Attributes = {"runlog.run.id": "nightly"}
    one, two = (TraceBuilder(f"{n}", resource=named if by == "process" else None) for n, by in enumerate(told_by))
    for t, by in zip((one, two), told_by, strict=True):
        t.agent("a", named if by == "span" else None)
        t.chat("gpt-4o-mini", parent=t.spans[0], input_tokens=10, output_tokens=1)
    load(Loader(tmp_path / "runs.duckdb", prices=PRICES), 1, one.spans)
    load(Loader(tmp_path / "runs.duckdb", prices=PRICES), 2, two.spans)
    runs = stored(tmp_path / "runs.duckdb")
    assert list(runs) == ["nightly"]
    assert runs["nightly"].tokens.input_tokens == 20


def test_what_a_process_tells_of_its_run_is_kept_in_the_store(tmp_path: Path) -> None:
    t = TraceBuilder(resource={"runlog.run.id": "again", "runlog.replay_of": "first", "runlog.launch.id": "l1"})
    t.chat("gpt-4o-mini", parent=t.agent("a"), input_tokens=10, output_tokens=1)
    load(Loader(tmp_path / "runs.duckdb", prices=PRICES), 1, t.spans)
    [run] = stored(tmp_path / "runs.duckdb").values()
    assert run == project(t.spans, prices=PRICES)[0]
    assert (run.run_id, run.replay_of, run.launch_id) == ("again", "first", "l1")


def journalled(db: Path, *traces: TraceBuilder) -> JournalWriter:
    writer = JournalWriter(journal_folder(db))
    for t in traces:
        for span in t.spans:
            writer.append(Signal.TRACES, Encoding.PROTOBUF, 1, encode_spans([span]))
    return writer


def test_segments_load_once_and_go_when_their_writer_is_gone(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    t = TraceBuilder()
    t.chat("gpt-4o-mini", parent=t.agent("a"), input_tokens=10, output_tokens=1)
    writer = journalled(db, t)
    first, again = Loader(db, prices=PRICES).turn(), Loader(db, prices=PRICES).turn()
    assert (first.spans, len(first.finished), again.spans) == (2, 1, 0)
    writer.close()
    assert Loader(db, prices=PRICES).turn().spans == 0
    assert list(journal_folder(db).glob("*.seg")) == []
    assert books(db)["received"] == 2


def test_a_damaged_segment_is_set_aside_and_counted(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    t = TraceBuilder()
    for i in range(5):
        t.chat("gpt-4o-mini", parent=None, input_tokens=i, output_tokens=1)
    journalled(db, t).close()
    [segment] = journal_folder(db).glob("*.seg")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    report = Loader(db, prices=PRICES).turn()
    assert len(report.damaged) == 1
    assert Path(report.damaged[0]).exists()
    kept = books(db)
    assert kept["dropped"] == '{"journal_bad_record":1}'
    assert (kept["received"], kept["stored"]) == (5, 4)


def test_a_segment_whose_writer_was_killed_is_reported_though_nothing_is_lost(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    t = TraceBuilder()
    t.agent("a")
    journalled(db, t).close()
    [segment] = journal_folder(db).glob("*.seg")
    killed = segment.read_bytes()[:-FOOTER_BYTES]
    segment.write_bytes(killed)
    assert len(Loader(db, prices=PRICES).turn().finished) == 1
    assert books(db)["dropped"] == '{"journal_no_footer":0}'
    assert list(journal_folder(db).glob("*.seg*")) == []


def test_undecodable_bodies_are_counted_and_cost_nothing_else(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    t = TraceBuilder()
    t.agent("a")
    with_junk = journalled(db, t)
    with_junk.append(Signal.TRACES, Encoding.PROTOBUF, 1, b"\xff\xff\xff")
    with_junk.close()
    assert len(Loader(db, prices=PRICES).turn().finished) == 1
    assert books(db)["rejected"] == '{"undecodable":1}'


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_tools_of_an_interactive_session_find_their_prompt_whatever_came_first(data: st.DataObject) -> None:
    """Gemini CLI: prompts `<session>########<n>` on calls alone; each call and each batch of tools is a trace."""
    spans = _two_prompts(scenario("gemini-cli/cache_reasoning").spans())
    expected = project(spans, prices=PRICES)
    traces = data.draw(st.permutations(sorted({s.trace_id for s in spans})), label="order")
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "runs.duckdb"
        loader = Loader(db, prices=PRICES)
        for number, trace_id in enumerate(traces):
            load(loader, number, [s for s in spans if s.trace_id == trace_id])
        found = stored(db)
    assert sorted((r.llm_calls, r.tool_calls) for r in expected) == [(1, 1), (2, 1)]
    assert {name: run.steps for name, run in found.items()} == {r.run_id: r.steps for r in expected}


def _two_prompts(spans: list[Span]) -> list[Span]:
    """The session's first model call as one prompt, what came after the first tools as another."""
    calls = sorted((s for s in spans if s.name == "llm_call"), key=lambda s: s.started_ns or 0)
    for number, span in enumerate(calls):
        session = span.attributes["gen_ai.conversation.id"]
        span.attributes = {**span.attributes, "gen_ai.prompt.name": f"{session}########{min(number, 1)}"}
    return spans


def test_lost_spans_stand_in_the_books_where_nothing_else_came(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    journal = JournalWriter(journal_folder(db))
    journal.append(Signal.LOGS, Encoding.PROTOBUF, 1, encode_losses([Loss("journal", 5, 7)], START_NS))
    journal.close()
    Loader(db, prices=PRICES).turn()
    kept = books(db)
    assert (kept["received"], kept["dropped"]) == (7, '{"journal":7}')


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_a_conflict_one_version_speaks(tmp_path: Path, order: tuple[int, int]) -> None:
    def asked(text: str) -> Attributes:
        said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])
        return {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": said}

    first = TraceBuilder().span("chat m", asked("the first version of a long question"), duration_ms=5)
    assert first.ended_ns is not None
    second = msgspec.structs.replace(
        first, ended_ns=first.ended_ns + MS, attributes=asked("and the second version of it")
    )
    db = tmp_path / "runs.duckdb"
    load(Loader(db, prices=PRICES), 1, [[first, second][i] for i in order])
    with StoreReader(db) as reader:
        assert reader.query("SELECT position, text FROM messages").rows == [(0, "and the second version of it")]


@pytest.mark.fault(10)
def test_a_trace_that_cannot_be_projected_costs_no_other_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    traces, db = [TraceBuilder(f"trace {n}") for n in range(3)], tmp_path / "runs.duckdb"
    for t in traces:
        t.span("chat m", {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, parent=t.agent("a"))
    bad = traces[1].trace_id

    def failing(nodes: Sequence[Node], *arguments: object, **options: object) -> object:
        assert not any(n.trace_id == bad for n in nodes), "a bug"
        return project_nodes(nodes, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("otel_runlog.assemble.project_nodes", failing)
    load(Loader(db, prices=PRICES), 1, [s for t in traces for s in t.spans])
    assert {run.trace_id for run in stored(db).values()} == {traces[0].trace_id, traces[2].trace_id}
    assert books(db)["stored"] == 6
    assert f"trace {bad} is stored and makes no run" in caplog.text
    [found] = [f for f in examine(db).findings if f.check == "unprojected"]
    assert (found.number, found.names) == (1, (bad,))
    monkeypatch.undo()
    load(Loader(db, prices=PRICES), 1, [traces[1].span("later")])
    assert len(stored(db)) == 3
    assert [f.check for f in examine(db).findings if f.check == "unprojected"] == []


@pytest.mark.parametrize("asked", [False, True])
def test_what_a_signal_interrupts_is_no_turn_that_somebody_asked_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    """Ctrl-C is not to be taken for `interrupt`: the turn would end as if all were well."""
    db, t = tmp_path / "runs.duckdb", TraceBuilder()
    t.agent("a")
    journalled(db, t).close()
    loader = Loader(db, prices=PRICES)

    def interrupted(*_: object) -> None:
        if asked:
            loader.interrupt()
        raise StoreInterruptedError("interrupted")

    monkeypatch.setattr(StoreWriter, "append", interrupted)
    with contextlib.nullcontext() if asked else pytest.raises(StoreInterruptedError):
        assert loader.turn().more


def test_a_read_of_many_spans_is_several_commits_and_each_keeps_its_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = tmp_path / "runs.duckdb"
    write(db, calls(10))
    monkeypatch.setattr(loading, "SPANS_PER_COMMIT", 3)
    loader = loading.Loader(db)
    seen: list[int] = []
    commit = loading.Loader.commit

    def counted(self: loading.Loader, writer: StoreWriter, assembler: Assembler, positions: list[Position]) -> object:
        seen.append(assembler.span_count)
        if len(seen) == 3:
            raise StoreInterruptedError("the end of the process")
        return commit(self, writer, assembler, positions)

    monkeypatch.setattr(loading.Loader, "commit", counted)
    with pytest.raises(StoreInterruptedError):
        loader.turn()
    monkeypatch.setattr(loading.Loader, "commit", commit)
    assert loading.Loader(db).turn().spans == 4, "what the first two commits held is not loaded again"
    assert seen == [3, 3, 3]
    assert (books(db)["received"], books(db)["stored"]) == (10, 10)
