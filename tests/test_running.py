"""`run(...)`: what is on its span, in baggage, and how it ends."""

import asyncio
import concurrent.futures

import pytest
from opentelemetry import baggage, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from otel_runlog.errors import ConfigError
from otel_runlog.model import RunStatus
from otel_runlog.processor import RunLogSpanProcessor
from otel_runlog.running import run
from otel_runlog.runs import project
from otel_runlog.span import from_sdk


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter):
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("otel_runlog")


def only(exporter):
    (span,) = exporter.get_finished_spans()
    return span


def test_everything_that_is_said_about_the_run_is_on_its_span(tracer, exporter):
    with run(
        "nightly",
        run_id="run-1",
        session_id="s1",
        user_id="u1",
        tags=["a", "b"],
        labels={"task": "W2-71", "x": "y"},
        repo="r",
        wave="3",
        task="overridden",
        tracer=tracer,
    ) as active:
        assert active.run_id == "run-1"
        assert active.span is trace.get_current_span()
    span = only(exporter)
    assert (span.name, span.instrumentation_scope.name) == ("invoke_agent nightly", "otel_runlog")
    assert dict(span.attributes) == {
        "runlog.run.id": "run-1",
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "nightly",
        "session.id": "s1",
        "gen_ai.conversation.id": "s1",
        "user.id": "u1",
        "runlog.tags": ("a", "b"),
        "runlog.repo": "r",
        "runlog.wave": "3",
        "runlog.task": "overridden",
        "runlog.label.repo": "r",
        "runlog.label.wave": "3",
        "runlog.label.task": "W2-71",
        "runlog.label.x": "y",
    }
    assert span.status.status_code is StatusCode.UNSET


def test_a_run_without_arguments_has_an_id_of_its_own(tracer, exporter):
    with run(tracer=tracer) as first, run(tracer=tracer) as second:
        assert first.run_id != second.run_id
        assert len(first.run_id) == 32
    assert {span.name for span in exporter.get_finished_spans()} == {"invoke_agent"}


def test_only_the_run_id_goes_into_baggage_and_only_inside(tracer):
    with run("n", run_id="r 1", session_id="secret", user_id="u", labels={"a": "b"}, tracer=tracer):
        assert dict(baggage.get_all()) == {"runlog.run.id": "r 1"}
        headers = {}
        W3CBaggagePropagator().inject(headers)
        assert headers == {"baggage": "runlog.run.id=r+1"}
    assert dict(baggage.get_all()) == {}
    assert not trace.get_current_span().get_span_context().is_valid


def test_spans_of_another_process_carry_the_run(tracer, tmp_path):
    headers = {}
    with run(run_id="r1", tracer=tracer):
        W3CBaggagePropagator().inject(headers)
    there = TracerProvider(shutdown_on_exit=False)
    there.add_span_processor(RunLogSpanProcessor(tmp_path / "there.duckdb", loader="off"))
    span = there.get_tracer("t").start_span("call", context=W3CBaggagePropagator().extract(headers))
    assert span.attributes["runlog.run.id"] == "r1"
    there.shutdown()


def test_labels_may_come_while_it_goes_on(tracer, exporter):
    with run(tracer=tracer) as active:
        active.set_label("outcome", "merged")
    assert only(exporter).attributes["runlog.label.outcome"] == "merged"


def test_an_exception_fails_the_run_and_goes_on(tracer, exporter):
    with pytest.raises(ValueError, match="no good"), run(tracer=tracer):
        raise ValueError("no good")
    span = only(exporter)
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "ValueError: no good")
    assert span.attributes["error.type"] == "ValueError"
    assert [event.name for event in span.events] == ["exception"]
    assert dict(baggage.get_all()) == {}


@pytest.mark.parametrize(
    "kind", [asyncio.CancelledError, KeyboardInterrupt, GeneratorExit, SystemExit, concurrent.futures.CancelledError]
)
def test_an_interrupt_cancels_the_run_and_goes_on(tracer, exporter, kind):
    with pytest.raises(kind), run("n", tracer=tracer):
        raise kind
    span = only(exporter)
    assert span.status.status_code is StatusCode.UNSET
    assert span.attributes["error.type"] == kind.__name__
    (projected,) = project([from_sdk(span)])
    assert projected.status is RunStatus.CANCELLED


@pytest.mark.fault(13)
def test_a_base_exception_of_any_name_cancels_the_run(tracer, exporter):
    class Cancelled(BaseException):
        """As trio names it."""

    with pytest.raises(Cancelled), run("n", tracer=tracer):
        raise Cancelled
    assert only(exporter).attributes["error.type"] == "CancelledError"
    (projected,) = project([from_sdk(only(exporter))])
    assert projected.status is RunStatus.CANCELLED


@pytest.mark.fault(10)
def test_an_error_that_cannot_be_shown_still_fails_the_run_and_goes_on_as_it_is(tracer, exporter):
    class MuteError(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    with pytest.raises(MuteError), run("n", tracer=tracer):
        raise MuteError
    span = only(exporter)
    assert span.status.status_code is StatusCode.ERROR
    assert dict(baggage.get_all()) == {}


@pytest.mark.fault(10)
@pytest.mark.parametrize("when", ["on_start", "on_end"])
@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_other_processors_that_raise_do_not_reach_into_the_run(when, kind):
    class Broken(SpanProcessor):
        pass

    def bug(*arguments, **named):
        raise kind("a bug of theirs")

    broken, provider = Broken(), TracerProvider(shutdown_on_exit=False)
    setattr(broken, when, bug)
    provider.add_span_processor(broken)
    with run("n", tracer=provider.get_tracer("t")) as active:
        assert dict(baggage.get_all()) == {"runlog.run.id": active.run_id}
    assert dict(baggage.get_all()) == {}
    with pytest.raises(LookupError), run("n", tracer=provider.get_tracer("t")):
        raise LookupError


def test_the_projection_sees_the_run(tracer, exporter):
    with run("nightly", run_id="r1", session_id="s1", user_id="u1", tags="t", labels={"k": "v"}, tracer=tracer):
        tracer.start_span("chat m", attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}).end()
    (found,) = project([from_sdk(span) for span in exporter.get_finished_spans()])
    assert (found.run_id, found.agent, found.session_id, found.user_id) == ("r1", "nightly", "s1", "u1")
    assert (found.tags, found.labels, found.llm_calls) == (("t",), {"k": "v"}, 1)


def test_every_call_of_a_decorated_function_is_a_run(tracer, exporter):
    @run(session_id="s1", tracer=tracer)
    def summarise(text, *, limit=3):
        """Cut it."""
        return text[:limit]

    assert [summarise("abcdef"), summarise("abcdef", limit=1)] == ["abc", "a"]
    assert (summarise.__name__, summarise.__doc__) == ("summarise", "Cut it.")
    first, second = exporter.get_finished_spans()
    assert first.attributes["runlog.run.id"] != second.attributes["runlog.run.id"]
    assert (first.name, first.attributes["session.id"]) == ("invoke_agent summarise", "s1")


def test_coroutine_functions_are_decorated_too(tracer, exporter):
    @run("worker", tracer=tracer)
    async def work(number):
        await asyncio.sleep(0)
        return trace.get_current_span().get_span_context().span_id, number

    async def both():
        return await asyncio.gather(work(1), work(2))

    results = asyncio.run(both())
    assert [number for _, number in results] == [1, 2]
    assert {span_id for span_id, _ in results} == {s.context.span_id for s in exporter.get_finished_spans()}
    assert asyncio.iscoroutinefunction(work)


def test_a_cancelled_task_is_a_cancelled_run(tracer, exporter):
    @run(tracer=tracer)
    async def wait():
        await asyncio.sleep(60)

    async def main():
        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert only(exporter).attributes["error.type"] == "CancelledError"


def test_async_with(tracer, exporter):
    async def main():
        async with run("n", tracer=tracer) as active:
            return active.run_id

    assert asyncio.run(main()) == only(exporter).attributes["runlog.run.id"]


def test_a_recursive_function_opens_a_run_in_a_run(tracer, exporter):
    @run(tracer=tracer)
    def down(depth):
        return down(depth - 1) if depth else 0

    down(2)
    assert len({span.attributes["runlog.run.id"] for span in exporter.get_finished_spans()}) == 3


def test_it_works_without_any_provider():
    with run("n") as active:
        active.set_label("a", "b")
        assert dict(baggage.get_all()) == {"runlog.run.id": active.run_id}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": 5}, "name must be a non-empty str or None, not 5"),
        ({"name": print}, r"write @run\(\) with parentheses"),
        ({"run_id": ""}, "run_id must be a non-empty str"),
        ({"session_id": 1}, "session_id must be"),
        ({"tags": [1]}, "each of tags must be"),
        ({"labels": {"a": 1}}, "labels must map str to str"),
        ({"skill": 1}, "skill must be"),
    ],
)
def test_a_wrong_argument_raises(wrong, message):
    with pytest.raises(ConfigError, match=message):
        run(**wrong)


def test_generator_functions_are_refused():
    def steps():
        yield 1

    async def async_steps():
        yield 1

    for function in (steps, async_steps):
        with pytest.raises(ConfigError, match="is a generator"):
            run()(function)
