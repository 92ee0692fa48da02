"""What is left of a span's content, and that redaction fails closed."""

import hashlib

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.trace import Link, SpanContext, Status, StatusCode

from otel_runlog.config import ContentMode
from otel_runlog.content import Filter, hash_marker, is_content
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.encode import SpanEncoder
from otel_runlog.otlp.wire import Encoding


def make_span(**arguments):
    provider = TracerProvider(resource=Resource({"service.name": "s", "env": "sk-1"}), shutdown_on_exit=False)
    span = provider.get_tracer("t").start_span("call sk-1", **arguments)
    span.end()
    return span


def make_filter(content="full", redact=None, failures=None):
    return Filter(ContentMode(content), redact, (failures if failures is not None else []).append)


def written(span):
    """The span as a reader of the journal sees it."""
    (found,) = read_traces(SpanEncoder().encode_span(span), Encoding.PROTOBUF).spans
    return found


@pytest.mark.parametrize(
    "key",
    [
        "gen_ai.input.messages",
        "gen_ai.prompt.0.content",
        "llm.input_messages.3.message.content",
        "input.value",
        "ai.prompt.messages",
        "ai.toolCall.result",
        "traceloop.entity.output",
        "gcp.vertex.agent.llm_request",
        "pydantic_ai.all_messages",
        "haystack.component.input",
        "haystack.agent.step.llm.output",
        "raw_input",
        "gen_ai.task.output",
        "gen_ai.tool.args",
    ],
)
def test_prompts_answers_and_tool_data_are_content(key):
    assert is_content(key)


@pytest.mark.parametrize(
    "key",
    [
        "gen_ai.request.model",
        "gen_ai.usage.input_tokens",
        "gen_ai.prompt.name",
        "llm.token_count.prompt",
        "llm.model_name",
        "input.mime_type",
        "ai.response.id",
        "ai.usage.promptTokens",
        "session.id",
        "error.type",
    ],
)
def test_what_the_numbers_need_is_no_content(key):
    assert not is_content(key)


def test_off_leaves_content_out_and_nothing_else():
    span = make_span(attributes={"gen_ai.input.messages": "secret", "gen_ai.usage.input_tokens": 7})
    assert written(make_filter("off").span(span)).attributes == {"gen_ai.usage.input_tokens": 7}


def test_hash_keeps_a_marker_that_says_equal_from_different():
    span = make_span(attributes={"gen_ai.input.messages": "secret", "gen_ai.prompt": ("a", "b"), "n": 7})
    assert written(make_filter("hash").span(span)).attributes == {
        "gen_ai.input.messages": "sha256:" + hashlib.sha256(b"secret").hexdigest(),
        "gen_ai.prompt": "sha256:" + hashlib.sha256(b'["a", "b"]').hexdigest(),
        "n": 7,
    }


def test_a_lone_surrogate_is_hashed():
    assert hash_marker("\ud800").startswith("sha256:")


def test_events_are_filtered_too():
    provider = TracerProvider(shutdown_on_exit=False)
    span = provider.get_tracer("t").start_span("call")
    span.add_event("gen_ai.user.message", {"content": "secret", "role": "user"}, timestamp=5)
    span.end()
    (event,) = written(make_filter("off").span(span)).events
    assert (event.name, event.attributes, event.time_ns) == ("gen_ai.user.message", {"role": "user"}, 5)


def test_a_resource_says_once_by_which_rules_it_was_redacted_and_nobody_redacts_that():
    kept = make_filter(redact=lambda key, text: text.replace("own", "***"))
    first, second = make_span(), make_span()
    resource = Resource({"env": "my own", "runlog.redaction": '{"version":"own"}'})
    for span in (first, second):
        span._resource = resource
    one, two = kept.span(first), kept.span(second)
    assert dict(one.resource.attributes) == {"env": "my ***", "runlog.redaction": '{"version":"own"}'}
    assert one.resource is two.resource


def test_a_resource_says_nothing_of_redaction_where_there_was_none():
    assert "runlog.redaction" not in make_filter("hash").span(make_span()).resource.attributes


def test_the_redactor_sees_every_text_that_is_written():
    provider = TracerProvider(resource=Resource({"env": "sk-1"}), shutdown_on_exit=False)
    link = Link(SpanContext(1, 2, is_remote=False), {"why": "sk-1"})
    span = provider.get_tracer("t").start_span(
        "call sk-1", attributes={"a": "sk-1", "list": ["sk-1", "b"]}, links=[link]
    )
    span.add_event("sk-1 said", {"text": "sk-1"})
    span.set_status(Status(StatusCode.ERROR, "bad key sk-1"))
    span.end()
    kept = make_filter(redact=lambda key, text: text.replace("sk-1", "***")).span(span)
    assert b"sk-1" not in SpanEncoder().encode_span(kept)
    found = written(kept)
    assert (found.name, found.status_message, found.status_code) == ("call ***", "bad key ***", 2)
    assert found.attributes == {"a": "***", "list": ["***", "b"]}
    assert found.resource.attributes == {"env": "***", "runlog.redaction": '{"version":"own"}'}
    assert (found.events[0].name, found.links[0].attributes) == ("*** said", {"why": "***"})


def test_the_redactor_is_given_keys_and_never_numbers():
    seen = []
    span = make_span(attributes={"a": "x", "n": 1, "f": 2.0, "b": True})
    make_filter(redact=lambda key, text: seen.append((key, text)) or text).span(span)
    assert ("a", "x") in seen
    assert ("span.name", "call sk-1") in seen
    assert {type(text) for _, text in seen} == {str}


def test_none_leaves_the_value_out():
    span = make_span(attributes={"a": "x", "b": "y", "list": ["x", "y"]})
    kept = make_filter(redact=lambda key, text: None if text == "x" else text).span(span)
    assert written(kept).attributes == {"b": "y", "list": ["y"]}


@pytest.mark.fault(56)
@pytest.mark.parametrize("answer", [ValueError, object(), {"a": 1}, 5, True, 1.5, ["x"]])
def test_a_redactor_that_fails_costs_the_value_and_is_counted(answer):
    def redact(key, text):
        if key != "a":
            return text
        if answer is ValueError:
            raise ValueError(text)
        return answer

    failures = []
    kept = make_filter(redact=redact, failures=failures).span(make_span(attributes={"a": "secret", "b": "y"}))
    assert (written(kept).attributes, failures) == ({"b": "y"}, ["redaction_failed"])
    assert b"secret" not in SpanEncoder().encode_span(kept)


def test_values_of_any_depth_are_redacted_down_to_where_they_are_cut():
    value = "sk-1"
    for _ in range(150):
        value = {"k": [value]}
    kept = make_filter(redact=lambda key, text: text.replace("sk-1", "***")).span(make_span(attributes={"a": value}))
    assert b"sk-1" not in SpanEncoder().encode_span(kept)
    assert written(kept).attributes["a"] != {}


def test_maps_bytes_and_texts_in_lists_are_redacted_and_numbers_stay():
    seen = []

    def redact(key, text):
        seen.append((key, text))
        return "***" if text in ("x", b"x") else text

    value = {"inner": ["x", 1, {"deep": b"x"}], "y": "y", "n": 2.5, "none": None}
    kept = make_filter(redact=redact).span(make_span(attributes={"a": value}))
    assert written(kept).attributes == {"a": {"inner": ["***", 1, {"deep": "***"}], "y": "y", "n": 2.5}}
    assert {("a.inner", "x"), ("a.inner.deep", b"x"), ("a.y", "y")} <= set(seen)


def test_the_scope_is_redacted_and_stays_the_same_object_where_nothing_changes():
    provider = TracerProvider(shutdown_on_exit=False)
    secret = provider.get_tracer("sk-1", "v sk-1", attributes={"a": "sk-1"}).start_span("s")
    plain = provider.get_tracer("scope", "1.0").start_span("s")
    wanted = make_filter(redact=lambda key, text: text.replace("sk-1", "***"))
    scope = wanted.span(secret).instrumentation_scope
    assert (scope.name, scope.version, scope.attributes) == ("***", "v ***", {"a": "***"})
    assert wanted.span(plain).instrumentation_scope is plain.instrumentation_scope


def test_a_text_of_a_subclass_comes_to_the_redactor_as_plain_text():
    class Text(str):
        __slots__ = ()

        def replace(self, *arguments):
            raise AssertionError

    kept = make_filter(redact=lambda key, text: text.replace("sk-1", "***")).span(
        make_span(attributes={"a": Text("sk-1")})
    )
    assert written(kept).attributes == {"a": "***"}


@pytest.mark.parametrize("value", [{"b": 1, 2: "mixed"}, [float("nan")], 2**70, b"x", [[["deep"]]]])
def test_anything_can_be_hashed(value):
    assert len(hash_marker(value)) == len("sha256:") + 64


def test_content_off_comes_before_the_redactor():
    seen = []
    span = make_span(attributes={"gen_ai.input.messages": "secret"})
    make_filter("off", redact=lambda key, text: seen.append(key) or text).span(span)
    assert "gen_ai.input.messages" not in seen


def test_everything_else_of_the_span_stays():
    provider = TracerProvider(shutdown_on_exit=False, span_limits=SpanLimits(max_attributes=2, max_events=1))
    with provider.get_tracer("scope", "1.0").start_as_current_span("parent") as parent:
        span = provider.get_tracer("scope", "1.0").start_span("child", attributes={"a": 1, "b": 2, "c": 3})
        span.add_event("one")
        span.add_event("two")
        span.end()
    kept, plain = written(make_filter("off").span(span)), written(span)
    assert kept == plain
    assert (kept.dropped_attributes_count, kept.dropped_events_count) == (1, 1)
    assert kept.parent_span_id == format(parent.get_span_context().span_id, "016x")


def test_the_resource_is_filtered_once_for_all_its_spans():
    wanted = make_filter(redact=lambda key, text: text.upper())
    span = make_span()
    assert wanted.span(span).resource is wanted.span(span).resource


def test_full_without_a_redactor_needs_no_filter():
    assert not make_filter().is_needed
    assert make_filter("hash").is_needed
    assert make_filter(redact=str).is_needed
