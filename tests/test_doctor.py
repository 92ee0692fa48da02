"""What the doctor sees, and what it says to do."""

import json

import pytest
from click.testing import CliRunner

from otel_runlog.cli.main import main
from otel_runlog.doctor import CHECKS, examine
from otel_runlog.journal import JournalWriter, journal_folder, layout
from otel_runlog.loader import Loader
from otel_runlog.otlp.wire import Encoding, Signal

START_NS = 1_793_880_000_000_000_000
GENAI = "opentelemetry.instrumentation.genai.openai"
AGENTS_BRIDGE = "opentelemetry.instrumentation.genai.openai_agents"
WHOLE = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-4o-mini",
    "gen_ai.usage.input_tokens": 1000,
    "gen_ai.usage.output_tokens": 100,
    "gen_ai.conversation.id": "s1",
    "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]',
    "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"ho"}]}]',
}


def value_of(value):
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def attributes(values):
    return [{"key": key, "value": value_of(value)} for key, value in values.items() if value is not None]


def span(number=1, parent=None, *, scope=GENAI, service="shop", dropped=0, name="chat", trace="7a" * 16, **changes):
    """A model call with all there can be, some of it changed; None takes an attribute away."""
    body = {
        "traceId": trace,
        "spanId": f"{number:016x}",
        "parentSpanId": parent and f"{parent:016x}",
        "name": name,
        "kind": 3,
        "startTimeUnixNano": str(START_NS + number * 1000),
        "endTimeUnixNano": str(START_NS + 1_000_000_000 - number * 1000),
        "attributes": attributes(WHOLE | changes),
        "droppedAttributesCount": dropped,
    }
    resource = {"attributes": attributes({"service.name": service})}
    return {"resource": resource, "scopeSpans": [{"scope": {"name": scope}, "spans": [body]}]}


def store_of(tmp_path, *spans):
    db = tmp_path / "runs.duckdb"
    journal = JournalWriter(journal_folder(db))
    body = json.dumps({"resourceSpans": list(spans)}).encode()
    journal.append(Signal.TRACES, Encoding.JSON, START_NS, body)
    journal.close()
    Loader(db).turn()
    return db


def found(tmp_path, *spans):
    return [(f.check, f.service, f.number) for f in examine(store_of(tmp_path, *spans)).findings]


def test_a_call_with_all_there_can_be_misses_nothing(tmp_path):
    examination = examine(store_of(tmp_path, span()))
    assert examination.findings == []
    [service] = examination.services
    assert (service.service, service.runs, service.runs_with_session, service.model_calls) == ("shop", 1, 1, 1)
    assert (service.calls_with_content, service.calls_with_usage, service.calls_with_cost) == (1, 1, 1)
    assert service.conventions == ("otel_genai",)


NO_CONTENT = {"gen_ai.input.messages": None, "gen_ai.output.messages": None}
NO_USAGE = {"gen_ai.usage.input_tokens": None, "gen_ai.usage.output_tokens": None}
NO_ANSWERED_TOKENS = {"gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0}
CUT_MESSAGES = '[{"role":"assistant","parts":[{"type":"text","content":"The answer is cut after a lengt'
LITELLM = {"litellm.call_id": "c1", "gen_ai.cost.total_cost": "0.1"}


@pytest.mark.parametrize(
    ("seen", "check", "setting"),
    [
        (span(**NO_CONTENT), "no_content", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
        (span(**NO_CONTENT, **{"traceloop.workflow.name": "w"}), "no_content", "TRACELOOP_TRACE_CONTENT"),
        (span(scope="com.anthropic.sdk.python", **NO_CONTENT), "no_content", "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT"),
        (span(**NO_USAGE, **{"gen_ai.request.stream": True}), "no_usage_in_streams", "include_usage"),
        (span(**NO_USAGE), "no_usage", "instrumentation"),
        (
            span(scope=AGENTS_BRIDGE, **NO_ANSWERED_TOKENS),
            "no_usage_in_streams",
            "ModelSettings(include_usage=True)",
        ),
        (
            span(scope="opentelemetry.instrumentation.langchain", **NO_USAGE, **{"gen_ai.request.stream": True}),
            "no_usage_in_streams",
            "ChatOpenAI(stream_usage=True)",
        ),
        (span(scope="haystack.tracing", **NO_USAGE), "no_usage", "HAYSTACK_CONTENT_TRACING_ENABLED=true"),
        (span(**{"gen_ai.output.messages": CUT_MESSAGES}), "cut_content", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
        (span(name="agent run", scope="app", **LITELLM), "litellm_on_parent", "USE_OTEL_LITELLM_REQUEST_SPAN=true"),
        (span(**{"gen_ai.conversation.id": None}), "no_session", "otel_runlog.run(session_id="),
        (span(service=None), "no_service", "OTEL_SERVICE_NAME"),
        (span(service="unknown_service:python"), "no_service", "OTEL_SERVICE_NAME"),
        (span(**{"gen_ai.request.model": "m-unheard-of"}), "unpriced", "--prices"),
        (span(dropped=3), "dropped_attributes", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"),
        (span(parent=99), "no_root", "provider.shutdown()"),
        (span(**{"gen_ai.operation.name": "invoke_agent"}, **NO_USAGE), "no_model_calls", "instrumentation"),
    ],
)
def test_what_is_missing_is_found_with_what_turns_it_on(tmp_path, seen, check, setting):
    findings = {finding.check: finding for finding in examine(store_of(tmp_path, seen)).findings}
    assert check in findings
    assert findings[check].number == 1
    assert setting in findings[check].setting


def test_content_in_span_events_of_others_is_not_said_to_be_missing(tmp_path):
    assert found(tmp_path, span(scope="strands.telemetry.tracer", **NO_CONTENT)) == []


def test_one_call_seen_by_the_sdk_and_by_an_instrumentation_is_double(tmp_path):
    outer, inner = span(1), span(2, parent=1, scope="com.anthropic.sdk.python")
    [double] = examine(store_of(tmp_path, outer, inner)).findings
    assert (double.check, double.number, double.setting) == ("double", 1, "ANTHROPIC_OPEN_TELEMETRY=false")
    assert sorted(double.names[0].split(" and ")) == ["com.anthropic.sdk.python", GENAI]


def test_one_call_seen_by_two_instrumentations_is_double(tmp_path):
    assert found(tmp_path, span(1), span(2, parent=1, scope="other.instrumentation")) == [("double", "shop", 1)]


def test_litellms_raw_span_below_the_applications_is_no_double(tmp_path):
    raw = {key: None for key in WHOLE if key != "gen_ai.conversation.id"} | {
        "llm.openai.usage": "{'prompt_tokens': 1000, 'completion_tokens': 100}",
        "llm.openai.id": "chatcmpl-1",
    }
    parent = span(1, name="agent run", scope="app", **LITELLM, **{"gen_ai.response.id": "chatcmpl-1"})
    child = span(2, parent=1, name="raw_gen_ai_request", scope="litellm", **raw)
    findings = {check: number for check, _, number in found(tmp_path, parent, child)}
    assert findings["litellm_on_parent"] == 1
    assert "double" not in findings


AGENT = {"gen_ai.operation.name": "invoke_agent", **NO_USAGE}


def test_an_agent_whose_other_runs_have_model_calls_is_instrumented(tmp_path):
    silent = span(1, trace="7b" * 16, **AGENT, **{"gen_ai.agent.name": "planner"})
    told = span(1, **AGENT, **{"gen_ai.agent.name": "planner"}), span(2, parent=1)
    assert "no_model_calls" not in {check for check, _, _ in found(tmp_path, silent, *told)}


def test_agents_without_a_model_call_in_any_run_are_named_with_their_runs(tmp_path):
    mute = {**AGENT, "gen_ai.agent.name": "crew"}
    spans = [span(1, trace="7b" * 16, **mute), span(1, trace="7c" * 16, **mute), span(1)]
    [finding] = [f for f in examine(store_of(tmp_path, *spans)).findings if f.check == "no_model_calls"]
    assert (finding.service, finding.number, finding.names) == ("shop", 2, ("crew",))
    assert "opentelemetry-instrumentation-genai-openai" in finding.setting


def test_a_chain_without_model_calls_may_need_none(tmp_path):
    chain = dict.fromkeys(WHOLE) | {"openinference.span.kind": "CHAIN", "session.id": "s1"}
    tool = dict.fromkeys(WHOLE) | {"openinference.span.kind": "RETRIEVER"}
    spans = [span(1, **chain), span(2, parent=1, **tool)]
    assert "no_model_calls" not in {check for check, _, _ in found(tmp_path, *spans)}


def test_each_call_without_usage_is_found_once(tmp_path):
    scopes = (GENAI, AGENTS_BRIDGE, "opentelemetry.instrumentation.langchain", "haystack.tracing")
    calls = [{"scope": scope, "gen_ai.request.stream": stream} for scope in scopes for stream in (None, True, False)]
    spans = [span(trace=f"{i:032x}", **NO_USAGE, **call) for i, call in enumerate(calls, 1)]
    numbers = [number for check, _, number in found(tmp_path, *spans) if check.startswith("no_usage")]
    assert sorted(numbers) == [1, 1, 1, 3, 6]


def test_every_check_has_a_query_and_says_what_to_do():
    for check in CHECKS:
        assert check.condition.startswith("doctor_")
        assert check.text
        assert check.setting


def doctor(db, *options):
    return CliRunner().invoke(main, ["doctor", "--db", str(db), *options])


def test_the_command_says_what_is_missing_and_what_turns_it_on(tmp_path):
    result = doctor(store_of(tmp_path, span(**NO_CONTENT)))
    assert (result.exit_code, result.stderr) == (0, "")
    what, remedy, where = result.stdout.splitlines()[6:9]
    assert what == "model calls without prompt and answer (opentelemetry)"
    assert remedy.startswith("  remedy  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only")
    assert where.startswith("       1  shop  such as run ")


def test_json_carries_the_books(tmp_path):
    db = store_of(tmp_path, span(), span())
    result = doctor(db, "--format", "json")
    [book] = json.loads(result.stdout)["books"]
    assert book == {
        "source": "journal",
        "received": 2,
        "stored": 1,
        "duplicate": 1,
        "conflict": 0,
        "superseded": 0,
        "id_reuse": 0,
        "rejected": {},
        "dropped": {},
    }


def test_a_damaged_segment_is_named_and_is_exit_1(tmp_path):
    db = store_of(tmp_path, span())
    segment = journal_folder(db) / "1-2-00000003.seg"
    segment.write_bytes(b"no segment at all")
    result = doctor(db)
    assert result.exit_code == 1
    assert f"damaged  {segment}.damaged" in result.stdout
    assert json.loads(doctor(db, "--format", "json").stdout)["journal"]["damaged"] == [f"{segment}.damaged"]


def test_a_segment_that_is_being_written_is_pending(tmp_path):
    db = store_of(tmp_path, span())
    journal = JournalWriter(journal_folder(db))
    journal.append(Signal.TRACES, Encoding.JSON, START_NS, b'{"resourceSpans": []}')
    state = examine(db).journal
    journal.close()
    assert (state.segments, state.living, state.damaged) == (1, 1, ())
    assert state.pending_bytes > 0


def test_what_cannot_be_loaded_here_and_what_a_deleted_store_left_are_named(tmp_path):
    db = store_of(tmp_path, span())
    header = layout.Header(1, START_NS, 5, version=layout.VERSION + 1)
    newer = journal_folder(db) / f"1-{START_NS}-00000005.seg"
    newer.write_bytes(layout.pack_header(header) + b"what only a newer version can read")
    assert (examine(db).journal.newer, examine(db).orphans) == ((str(newer),), ())
    wal = db.with_name(f"{db.name}.wal")
    db.unlink()
    wal.write_bytes(b"what was not in the file yet")
    Loader(db).turn()
    [orphan] = examine(db).orphans
    assert orphan.startswith(f"{wal}.orphan-")
    result = doctor(db)
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()[2:4]] == ["newer", "orphan"]
