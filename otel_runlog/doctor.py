"""What is captured, what is missing, and the setting that turns it on: checks over the store, its journal and books."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from otel_runlog.errors import JournalError
from otel_runlog.journal.folder import Segment, damaged, journal_folder, segments
from otel_runlog.journal.reader import DamageKind, read_segment
from otel_runlog.server_status import ServerStatus
from otel_runlog.store.connection import orphan_logs
from otel_runlog.store.health import Book, Condition, HealthReader, Met, Service


class Check(msgspec.Struct, frozen=True):
    """One thing to look for.

    Attributes:
        name: how the finding is called.
        condition: the query that looks for it.
        text: what is found, without its number.
        setting: what changes it.
        parameters: the query's.
    """

    name: str
    condition: Condition
    text: str
    setting: str
    parameters: dict[str, object] = {}


def _no_content(convention: str, setting: str, scope: str = "") -> Check:
    """Content is switched by whoever makes the spans: a convention, or one scope (by its beginning) that follows it."""
    text = f"model calls without prompt and answer ({scope.rstrip('.') or convention})"
    return Check("no_content", "doctor_no_content", text, setting, {"convention": convention, "scope": scope})


def _no_usage(text: str, setting: str, *, emitters: str, among: bool = True, streaming: bool | None = None) -> Check:
    """Usage is asked for by whoever sends the request: the framework, or the application."""
    name = "no_usage_in_streams" if streaming else "no_usage"
    return Check(name, "doctor_no_usage", text, setting, {"emitters": emitters, "among": among, "streaming": streaming})


OPENAI_AGENTS, HAYSTACK, LANGCHAIN = "openai_agents", "haystack", "langchain"
"""Patterns of conventions and scopes whose framework sends the request, so that its own option asks for usage."""
GENAI_CONTENT = (
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only (or span_and_event) with "
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental; =true in instrumentations without that opt-in"
)
REPORT_IT = "none: this is a fault of otel-runlog, please report it"
CHECKS = (
    _no_content("otel_genai", GENAI_CONTENT, scope="opentelemetry."),
    _no_content("otel_genai", GENAI_CONTENT, scope="gcp.vertex.agent"),
    _no_content("otel_genai", "ENABLE_SENSITIVE_DATA=true", scope="agent_framework"),
    _no_content("otel_genai", "litellm.turn_off_message_logging = False", scope="litellm"),
    _no_content("otel_genai", "telemetry.logPrompts in the settings of Gemini CLI", scope="gemini-cli"),
    _no_content("traceloop", "TRACELOOP_TRACE_CONTENT=true (unset is true)"),
    _no_content(
        "openinference", "OPENINFERENCE_HIDE_INPUTS=false and OPENINFERENCE_HIDE_OUTPUTS=false (unset is false)"
    ),
    _no_content("anthropic_sdk", "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE=content"),
    _no_content("claude_code", "OTEL_LOG_USER_PROMPTS=1, OTEL_LOG_TOOL_DETAILS=1 and OTEL_LOG_TOOL_CONTENT=1"),
    _no_content("pydantic_ai", "InstrumentationSettings(include_content=True)"),
    _no_content("vercel", "recordInputs and recordOutputs of the AI SDK's telemetry settings"),
    Check(
        "no_spans",
        "doctor_logs_only",
        "log records of Claude Code, and not one span: its runs have no end and no sub-agents",
        "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1 and OTEL_TRACES_EXPORTER=otlp",
    ),
    _no_usage(
        "streamed model calls without token counts (openai-agents on chat completions)",
        "ModelSettings(include_usage=True) of the agent or of RunConfig",
        emitters=OPENAI_AGENTS,
        streaming=True,
    ),
    _no_usage(
        "model calls without token counts (Haystack tells them in content alone)",
        "HAYSTACK_CONTENT_TRACING_ENABLED=true; of streams "
        'generation_kwargs={"stream_options": {"include_usage": True}} of the generator too',
        emitters=HAYSTACK,
    ),
    _no_usage(
        "streamed model calls without token counts (LangChain)",
        "ChatOpenAI(stream_usage=True) (OpenAI and compatible servers)",
        emitters=LANGCHAIN,
        streaming=True,
    ),
    _no_usage(
        "streamed model calls without token counts",
        'stream_options={"include_usage": true} in the request (OpenAI and compatible servers)',
        emitters=f"{OPENAI_AGENTS}|{HAYSTACK}|{LANGCHAIN}",
        among=False,
        streaming=True,
    ),
    _no_usage(
        "model calls without token counts",
        "a newer instrumentation of the model's client, or one that reports usage",
        emitters=HAYSTACK,
        among=False,
        streaming=False,
    ),
    Check(
        "no_model_calls",
        "doctor_no_model_calls",
        "runs of agents or tools without a model call, in none of their runs",
        "an instrumentation of the model's client beside the framework's: pip install "
        "opentelemetry-instrumentation-genai-openai (OpenAI and compatible servers), "
        "opentelemetry-instrumentation-genai-anthropic or opentelemetry-instrumentation-google-genai",
    ),
    Check(
        "litellm_on_parent",
        "doctor_litellm_parent",
        "spans of the application that LiteLLM wrote its calls on, each over the one before",
        "USE_OTEL_LITELLM_REQUEST_SPAN=true",
    ),
    Check(
        "double",
        "doctor_double",
        "model calls that the Anthropic SDK reports too (each counts once)",
        "ANTHROPIC_OPEN_TELEMETRY=false",
        {"native": True},
    ),
    Check(
        "double",
        "doctor_double",
        "model calls that two instrumentations report (each counts once)",
        "remove one of the two, under opentelemetry-instrument by OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=NAME: "
        "it costs time and space",
        {"native": False},
    ),
    Check(
        "dropped_attributes",
        "doctor_dropped",
        "spans that lost attributes or events to the SDK's limits",
        "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=4096 and OTEL_SPAN_EVENT_COUNT_LIMIT=4096 (unset is 128)",
    ),
    Check(
        "cut_content",
        "doctor_cut_content",
        "model calls whose messages were cut at a length",
        "no OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT and no OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT (unset is no limit)",
    ),
    Check(
        "no_root",
        "doctor_no_root",
        "runs without a root span (killed, or the process ended before its exporter had sent all)",
        "provider.shutdown() at the end of the process; RunLogSpanProcessor in it, which survives being killed",
    ),
    Check(
        "no_session",
        "doctor_no_session",
        "runs without a session",
        'with otel_runlog.run(session_id="..."), or gen_ai.conversation.id on a span of the run',
    ),
    Check("no_service", "doctor_no_service", "runs of a service without a name", "OTEL_SERVICE_NAME"),
    Check(
        "unpriced",
        "doctor_unpriced",
        "model calls without a price",
        "--prices FILE or OTEL_RUNLOG_PRICES with a table that has these models",
    ),
    Check(
        "books",
        "doctor_unbalanced",
        "spans that are in no column of the books of this source",
        REPORT_IT,
    ),
    Check("unprojected", "doctor_unprojected", "traces that are stored and could not be made runs", REPORT_IT),
)
"""In the order in which they are shown. A condition is one .sql file in store/queries."""


class Finding(msgspec.Struct, frozen=True):
    """A check that found something."""

    check: str
    service: str | None
    number: int
    text: str
    setting: str
    example: str | None = None
    names: tuple[str, ...] = ()


class Journal(msgspec.Struct, frozen=True):
    """The journal's state after loading: what is pending, and what was set aside because it lost something.

    `newer`: segments that only a newer otel-runlog can read; they are pending too.
    """

    folder: str
    segments: int
    living: int
    pending_bytes: int
    damaged: tuple[str, ...]
    newer: tuple[str, ...] = ()


class Examination(msgspec.Struct, frozen=True):
    """What the doctor found.

    `server` is what the store's living server says, None where there is none; `orphans` are the write-ahead logs of
    stores that were deleted without them.
    """

    db: str
    db_bytes: int
    services: list[Service]
    findings: list[Finding]
    journal: Journal
    books: list[Book]
    server: ServerStatus | None = None
    orphans: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether no part of the journal is damaged."""
        return not self.journal.damaged


def examine(db: str | os.PathLike[str], timeout_s: float = 0.0) -> Examination:
    """Look at the store `db`, its journal and books. Nothing is loaded or changed.

    Raises:
        StoreLockedError: another process holds the store for longer than `timeout_s`.
        StoreError: there is no store, or it cannot be read.
        JournalError: the journal cannot be read.
    """
    with HealthReader(db, timeout_s) as store:
        return Examination(
            db=os.fspath(db),
            db_bytes=Path(db).stat().st_size,
            services=store.services(),
            findings=list(_findings(store)),
            journal=_journal(journal_folder(db)),
            books=store.books(),
            orphans=tuple(map(str, orphan_logs(db))),
        )


def _findings(store: HealthReader) -> Iterator[Finding]:
    for check in CHECKS:
        for met in store.met(check.condition, check.parameters):
            yield _finding(check, met)


def _finding(check: Check, met: Met) -> Finding:
    return Finding(
        check=check.name,
        service=met.service,
        number=met.number,
        text=check.text,
        setting=check.setting,
        example=met.example,
        names=met.names,
    )


def _journal(folder: Path) -> Journal:
    pending = segments(folder)
    return Journal(
        folder=str(folder),
        segments=len(pending),
        living=sum(segment.living for segment in pending),
        pending_bytes=sum(segment.size_bytes for segment in pending),
        damaged=tuple(str(path) for path in damaged(folder)),
        newer=tuple(str(segment.path) for segment in pending if _is_newer(segment)),
    )


def _is_newer(segment: Segment) -> bool:
    try:
        read = read_segment(segment.path, max_bytes=1)
    except JournalError:
        return False
    return any(damage.kind is DamageKind.NEWER_VERSION for damage in read.damage)
