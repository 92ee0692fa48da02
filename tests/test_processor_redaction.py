"""Redaction from the span to every file: canaries in every place a span has are in none of them."""

import contextlib
import json
import logging
import subprocess
import sys

import pytest
from opentelemetry import baggage
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Link, SpanContext, StatusCode

pytest.importorskip("re2")

from otel_runlog.loader import Loader
from otel_runlog.processor import RunLogSpanProcessor
from otel_runlog.redaction import SecretPatterns
from otel_runlog.store.reader import StoreReader

CANARIES = {
    "openai": "sk-proj-CANARYabcdefghijklmnop12",
    "aws": "AKIACANARYCANARY1234",
    "github": "ghp_CANARY0123456789abcdefghij0123456789",
    "slack": "xoxb-123456789012-CANARYabc",
    "google": "AIzaCANARY890abcdefghijklmnopqrstuvwx12",
    "jwt": "eyJDQU5BUlkiOiJIUzI1NiJ9.eyJDQU5BUlkiOiIxMjM0NTY3ODkwIn0.CANARYc2lnbmF0dXJl",
    "pem": "-----BEGIN PRIVATE KEY-----\nMIIECANARYMIIECANARY\nCANARY/+=\n-----END PRIVATE KEY-----",
    "bearer": "Bearer CANARYabcdef1234567890",
    "email": "canary.person@example.com",
    "card": "4111 1111 1111 1111",
}
NEEDLES = [
    *("CANARY", "MIIEC", "canary.person", "4111 1111", "4111111", "DQU5BUlk"),
    *(value for value in CANARIES.values() if "\n" not in value),
]


def messages(text):
    return json.dumps([{"role": "user", "parts": [{"type": "text", "content": f"look:\n{text}\nend"}]}])


def emit(tracer, canary, run_id):
    """One run with a canary in every place."""
    context = baggage.set_baggage("runlog.run.id", run_id)
    context = baggage.set_baggage("runlog.label.task", f"task {canary}", context)
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": f"agent {canary}", "session.id": canary}
    with tracer.start_as_current_span(f"root {canary}", context=context, attributes=agent):
        chat = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": messages(canary),
            "gen_ai.output.messages": messages(json.dumps({"nested": canary})),
            "http.request.header.authorization": (f"Authorization: {canary}",),
            "bytes": canary.encode(),
            "map": {"inner": [{"deep": canary}]},
        }
        link = Link(SpanContext(1, 2, is_remote=False), {"why": canary})
        with tracer.start_as_current_span("chat", attributes=chat, links=[link]) as span:
            span.add_event(f"event {canary}", {"text": canary, "list": [canary, "b"]})
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": canary}
        with contextlib.suppress(ValueError), tracer.start_as_current_span("tool", attributes=tool):
            raise ValueError(f"cannot use {canary}")
        failed = tracer.start_span("status")
        failed.set_status(StatusCode.ERROR, f"failed for {canary}")
        failed.end()
        tracer.start_span(canary, attributes={"text": canary}).end()


def files_with(folder, needles):
    found = []
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        found += [(path.name, needle) for needle in needles if needle.encode() in data]
    return found


def process(db, canary, **arguments):
    resource = Resource.create({"service.name": f"service {canary}", "env": f"KEY={canary}"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(RunLogSpanProcessor(db, **arguments))
    return provider, provider.get_tracer(f"scope {canary}", "1.0", attributes={"scope": canary})


@pytest.mark.fault(56)
@pytest.mark.parametrize("durability", ["process", "queue"])
def test_no_canary_is_in_journal_store_exports_or_logs(tmp_path, caplog, durability):
    caplog.set_level(logging.DEBUG, "otel_runlog")
    db = tmp_path / "out" / "runs.duckdb"
    db.parent.mkdir()
    for name, canary in CANARIES.items():
        provider, tracer = process(db, canary, redact=SecretPatterns(), loader="off", durability=durability)
        emit(tracer, canary, f"run-{name}")
        provider.force_flush()
        assert files_with(db.parent, NEEDLES) == []
        provider.shutdown()
    Loader(db).turn()
    assert files_with(db.parent, NEEDLES) == []
    for command in (["runs", "--format", "json"], ["show", "run-aws"], ["sql", "from spans", "--format", "json"]):
        done = subprocess.run(
            [sys.executable, "-m", "otel_runlog", *command, "--db", str(db)],
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        (db.parent / f"{command[0]}.txt").write_bytes(done.stdout + done.stderr)
    (db.parent / "log.txt").write_text(caplog.text)
    assert files_with(db.parent, NEEDLES) == []
    with StoreReader(db) as reader:
        (books,) = reader.query("select received, stored, duplicate, conflict, superseded from books").rows
        (redacted,) = reader.query("select count(*) from spans where contains(attributes::varchar, '[redacted:')").rows
    assert books == (60, 50, 0, 0, 10)
    assert redacted[0] >= 4 * len(CANARIES)


@pytest.mark.fault(56)
def test_without_redaction_they_would_all_be_there(tmp_path):
    db = tmp_path / "runs.duckdb"
    provider, tracer = process(db, CANARIES["openai"], loader="off")
    emit(tracer, CANARIES["openai"], "run-1")
    provider.shutdown()
    assert {needle for _, needle in files_with(tmp_path, NEEDLES)} == {"CANARY", CANARIES["openai"]}


@pytest.mark.fault(56)
@pytest.mark.parametrize("answer", [None, 5, object(), {"a": "sk"}, ["sk"], True])
def test_an_answer_that_is_no_text_leaves_the_value_out(tmp_path, answer):
    db = tmp_path / "runs.duckdb"
    provider, tracer = process(db, CANARIES["aws"], loader="off", redact=lambda key, text: answer)
    emit(tracer, CANARIES["aws"], "run-1")
    provider.shutdown()
    assert files_with(tmp_path, NEEDLES) == []


@pytest.mark.fault(56)
def test_a_span_that_must_be_salvaged_is_redacted_too(tmp_path, monkeypatch):
    db = tmp_path / "runs.duckdb"
    provider, tracer = process(db, CANARIES["aws"], loader="off", redact=SecretPatterns())
    from otel_runlog.otlp.encode import SpanEncoder

    original = SpanEncoder.encode_span

    def refuse(encoder, span, **arguments):
        if "poison" in span.attributes:
            raise RecursionError(CANARIES["aws"])
        return original(encoder, span, **arguments)

    monkeypatch.setattr(SpanEncoder, "encode_span", refuse)
    span = tracer.start_span("a", attributes={"poison": 1, "key": CANARIES["aws"]})
    span.add_event("e", {"key": CANARIES["aws"]})
    span.end()
    provider.shutdown()
    assert files_with(tmp_path, NEEDLES) == []
    Loader(db).turn()
    with StoreReader(db) as reader:
        (row,) = reader.query("select dropped_attributes_count, attributes::varchar from spans").rows
    assert row[0] == 1
    assert "[redacted:aws_access_key]" in str(row[1])
