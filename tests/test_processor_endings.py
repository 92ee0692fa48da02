"""Spans that end by an interrupt or are abandoned are never taken for completed ones; limits cost no keys."""

import asyncio
import concurrent.futures
import contextlib
import gc
import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import otel_runlog
from otel_runlog.journal import journal_folder, read_segment, segments
from otel_runlog.loader import Loader
from otel_runlog.model import RunStatus
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.wire import Signal
from otel_runlog.processor import RunLogSpanExporter, RunLogSpanProcessor
from otel_runlog.runs import project
from otel_runlog.store.reader import StoreReader

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}


class Cancelled(BaseException):
    """As trio names it."""


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"


@pytest.fixture
def tracer(db):
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(RunLogSpanProcessor(db, loader="off"))
    yield provider.get_tracer("app")
    provider.shutdown()


def spans(db):
    records = [r for segment in segments(journal_folder(db)) for r in read_segment(segment.path).records]
    return [span for r in records if r.signal is Signal.TRACES for span in read_traces(r.body, r.encoding).spans]


def statuses(db):
    return {run.agent: run.status for run in project(spans(db))}


def throw(kind):
    raise kind


@pytest.mark.fault(13)
@pytest.mark.parametrize("how", ["with", "decorator", "finally", "except", "stack"])
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (asyncio.CancelledError, "CancelledError"),
        (KeyboardInterrupt, "KeyboardInterrupt"),
        (SystemExit, "SystemExit"),
        (GeneratorExit, "GeneratorExit"),
        (Cancelled, "CancelledError"),
    ],
)
def test_what_ends_by_a_base_exception_is_cancelled_however_it_was_opened(tracer, db, kind, told, how):
    @tracer.start_as_current_span("root", attributes=AGENT)
    def decorated():
        throw(kind)

    def run():
        if how == "decorator":
            decorated()
        if how == "with":
            with tracer.start_as_current_span("root", attributes=AGENT):
                throw(kind)
        if how == "stack":
            with contextlib.ExitStack() as stack:
                stack.enter_context(tracer.start_as_current_span("root", attributes=AGENT))
                throw(kind)
        span = tracer.start_span("root", attributes=AGENT)
        try:
            throw(kind)
        except BaseException:
            if how == "except":
                span.end()
            raise
        finally:
            if how == "finally":
                span.end()

    with pytest.raises(kind):
        run()
    (found,) = spans(db)
    assert found.attributes["error.type"] == told
    assert statuses(db) == {"a": RunStatus.CANCELLED}


@pytest.mark.fault(13)
def test_a_cancelled_task_cancels_the_spans_it_was_in_and_no_others(tracer, db):
    async def step():
        with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
            await asyncio.sleep(60)

    async def agent():
        with tracer.start_as_current_span("root", attributes=AGENT):
            with tracer.start_as_current_span("before"):
                pass
            await step()

    async def main():
        task = asyncio.create_task(agent())
        await asyncio.sleep(0.01)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        with tracer.start_as_current_span("other", attributes={**AGENT, "gen_ai.agent.name": "b"}):
            pass

    asyncio.run(main())
    told = {span.name: span.attributes.get("error.type") for span in spans(db)}
    assert told == {"before": None, "chat": "CancelledError", "root": "CancelledError", "other": None}
    assert statuses(db) == {"a": RunStatus.CANCELLED, "b": RunStatus.COMPLETED}


@pytest.mark.fault(13)
def test_a_timeout_that_the_agent_survives_cancels_the_step_only(tracer, db):
    async def main():
        with tracer.start_as_current_span("root", attributes=AGENT):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    with tracer.start_as_current_span("tool"):
                        await asyncio.sleep(60)
            with tracer.start_as_current_span("next"):
                pass

    asyncio.run(main())
    assert {s.name: s.attributes.get("error.type") for s in spans(db)} == {
        "tool": "CancelledError",
        "next": None,
        "root": None,
    }
    assert statuses(db) == {"a": RunStatus.COMPLETED}


@pytest.mark.fault(13)
def test_spans_opened_while_cleaning_up_are_not_cancelled(tracer, db):
    with contextlib.suppress(KeyboardInterrupt), tracer.start_as_current_span("root", attributes=AGENT):
        try:
            throw(KeyboardInterrupt)
        except KeyboardInterrupt:
            with tracer.start_as_current_span("clean-up"):
                pass
            with pytest.raises(SystemExit), tracer.start_as_current_span("broken clean-up"):
                throw(SystemExit)
            raise
    told = {span.name: span.attributes.get("error.type") for span in spans(db)}
    assert told == {"clean-up": None, "broken clean-up": "SystemExit", "root": "KeyboardInterrupt"}


@pytest.mark.fault(13)
@pytest.mark.parametrize("left", ["closed", "collected"])
def test_an_abandoned_generator_is_cancelled_and_an_exhausted_one_is_not(tracer, db, left):
    def stream(name):
        with tracer.start_as_current_span(name, attributes={**AGENT, "gen_ai.agent.name": name}):
            yield from range(3)

    assert list(stream("exhausted")) == [0, 1, 2]
    abandoned = stream("abandoned")
    next(abandoned)
    if left == "closed":
        abandoned.close()
    del abandoned
    gc.collect()
    assert statuses(db) == {"exhausted": RunStatus.COMPLETED, "abandoned": RunStatus.CANCELLED}


@pytest.mark.fault(13)
def test_an_abandoned_async_generator_is_cancelled(tracer, db):
    async def stream():
        with tracer.start_as_current_span("root", attributes=AGENT):
            for number in range(3):
                yield number

    async def main():
        async for _ in stream():
            break
        await asyncio.sleep(0)

    asyncio.run(main())
    assert statuses(db) == {"a": RunStatus.CANCELLED}


@pytest.mark.fault(13)
@pytest.mark.parametrize(
    "kind", [asyncio.CancelledError, KeyboardInterrupt, SystemExit, concurrent.futures.CancelledError]
)
def test_a_run_that_an_interrupt_passes_through_is_cancelled(tracer, db, kind):
    with pytest.raises(kind), otel_runlog.run("a", tracer=tracer):
        throw(kind)
    assert statuses(db) == {"a": RunStatus.CANCELLED}


def test_an_error_is_still_a_failure_and_what_the_span_says_itself_stays(tracer, db):
    with pytest.raises(ValueError, match="no"), tracer.start_as_current_span("root", attributes=AGENT):
        raise ValueError("no")
    with pytest.raises(SystemExit), tracer.start_as_current_span("own", attributes={"error.type": "mine"}):
        throw(SystemExit)
    with contextlib.suppress(SystemExit), tracer.start_as_current_span("fine") as span:
        span.set_status(trace.StatusCode.OK)
        throw(SystemExit)
    assert [span.attributes.get("error.type") for span in spans(db)] == [None, "mine", None]
    assert statuses(db)["a"] is RunStatus.FAILED


def test_an_exporter_sees_no_exception_of_its_own_thread(db):
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(RunLogSpanExporter(db, loader="off")))
    with contextlib.suppress(KeyboardInterrupt), provider.get_tracer("t").start_as_current_span("a"):
        throw(KeyboardInterrupt)
    assert [span.name for span in spans(db)] == ["a"]


# limits of the SDK


@pytest.mark.fault(16)
def test_keys_pushed_out_by_the_limit_are_put_back_and_the_run_says_it_is_not_whole(db):
    provider = TracerProvider(shutdown_on_exit=False, span_limits=SpanLimits(max_attributes=128, max_events=10))
    provider.add_span_processor(RunLogSpanProcessor(db, loader="off"))
    key = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "session.id": "s1",
        "gen_ai.provider.name": "p",
    }
    tracer = provider.get_tracer("t")
    with tracer.start_as_current_span("root", attributes=AGENT):
        span = tracer.start_span("chat", attributes=key)
        for number in range(199):
            span.set_attribute(f"llm.input_messages.{number}.message.content", "x")
            span.add_event("e")
        span.end()
    provider.shutdown()
    found, _ = spans(db)
    assert {name: found.attributes.get(name) for name in key} == key
    assert (len(found.attributes), found.dropped_attributes_count, found.dropped_events_count) == (132, 75, 189)
    report = Loader(db).turn()
    assert report.spans == 3
    with StoreReader(db) as reader:
        (run,) = reader.query("from runs").rows
        names = list(reader.query("from runs").columns)
        told = dict(zip(names, run, strict=True))
        assert (told["session_id"], told["complete"], told["llm_calls"]) == ("s1", False, 1)
        assert "attributes_dropped" in str(told["warnings"]) + str(told["notes"])
        (books,) = reader.query("select received, stored, superseded from books").rows
        assert books == (3, 2, 1)


@pytest.mark.fault(16)
def test_nothing_is_added_where_nothing_was_pushed_out(tracer, db):
    span = tracer.start_span("a", attributes={"k": 1})
    span.set_attribute("k", 2)
    span.end()
    assert spans(db)[0].attributes == {"k": 2}


# seeds

SEEDED = """
import random, sys
from opentelemetry.sdk.trace import TracerProvider
from otel_runlog.processor import RunLogSpanProcessor

random.seed(42)
provider = TracerProvider()
provider.add_span_processor(RunLogSpanProcessor(sys.argv[1], loader=sys.argv[2]))
tracer = provider.get_tracer("t")
with tracer.start_as_current_span("root", attributes={"gen_ai.operation.name": "invoke_agent"}):
    for number in range(3):
        tracer.start_span("chat", attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}).end()
"""


@pytest.mark.fault(15)
@pytest.mark.parametrize("loader", ["off", "thread"])
def test_runs_of_one_seed_are_runs_of_their_own(db, loader):
    for _ in range(2):
        subprocess.run([sys.executable, "-c", SEEDED, str(db), loader], check=True, timeout=60)
    Loader(db).turn()
    with StoreReader(db) as reader:
        (ids,) = reader.query("select count(distinct run_id), count(distinct trace_id), sum(llm_calls) from runs").rows
        assert tuple(map(int, ids)) == (2, 1, 6)
        (books,) = reader.query("select received, stored, duplicate, conflict, superseded, id_reuse from books").rows
    received, stored, duplicate, conflict, superseded, id_reuse = books
    assert (received, stored, duplicate, conflict) == (10, 8, 0, 0)
    assert received == stored + duplicate + conflict + superseded
    assert id_reuse == 4
