"""OTLP/JSON as types: the fields this package reads, in lowerCamelCase as the specification has them.

Unknown fields are ignored, 64-bit integers may be texts or numbers, enums numbers or names, bytes base64, ids hex.
gc=False: the collector would go through the 50 objects of every span, which takes as long as making them.
Source: opentelemetry-proto 1.11.0, docs/specification.md, "JSON Protobuf Encoding".
"""

from __future__ import annotations

import msgspec


class JsonAnyValue(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """A value: the one field that is not None. An integer may come as a text, a double as "NaN"."""

    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | float | str | None = None
    double_value: float | str | None = None
    array_value: JsonArray | None = None
    kvlist_value: JsonKeyValueList | None = None
    bytes_value: str | None = None


class JsonArray(msgspec.Struct, frozen=True, gc=False):
    """ArrayValue."""

    values: list[JsonAnyValue] = []


class JsonKeyValue(msgspec.Struct, frozen=True, gc=False):
    """KeyValue."""

    key: str = ""
    value: JsonAnyValue | None = None


class JsonKeyValueList(msgspec.Struct, frozen=True, gc=False):
    """KeyValueList."""

    values: list[JsonKeyValue] = []


class JsonResource(msgspec.Struct, frozen=True, gc=False):
    """Resource."""

    attributes: list[JsonKeyValue] = []


class JsonScope(msgspec.Struct, frozen=True, gc=False):
    """InstrumentationScope."""

    name: str = ""
    version: str = ""


class JsonEvent(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """Span.Event."""

    time_unix_nano: int = 0
    name: str = ""
    attributes: list[JsonKeyValue] = []
    dropped_attributes_count: int = 0


class JsonLink(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """Span.Link."""

    trace_id: str = ""
    span_id: str = ""
    trace_state: str = ""
    attributes: list[JsonKeyValue] = []
    dropped_attributes_count: int = 0
    flags: int = 0


class JsonStatus(msgspec.Struct, frozen=True, gc=False):
    """Status."""

    message: str = ""
    code: int | str = 0


class JsonSpan(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """Span."""

    trace_id: str = ""
    span_id: str = ""
    trace_state: str = ""
    parent_span_id: str = ""
    flags: int = 0
    name: str = ""
    kind: int | str = 0
    start_time_unix_nano: int = 0
    end_time_unix_nano: int = 0
    attributes: list[JsonKeyValue] = []
    dropped_attributes_count: int = 0
    events: list[JsonEvent] = []
    dropped_events_count: int = 0
    links: list[JsonLink] = []
    dropped_links_count: int = 0
    status: JsonStatus = JsonStatus()


class JsonLogRecord(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """LogRecord."""

    time_unix_nano: int = 0
    observed_time_unix_nano: int = 0
    severity_number: int | str = 0
    severity_text: str = ""
    body: JsonAnyValue | None = None
    attributes: list[JsonKeyValue] = []
    dropped_attributes_count: int = 0
    flags: int = 0
    trace_id: str = ""
    span_id: str = ""
    event_name: str = ""


class JsonScopeSpans(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """ScopeSpans."""

    scope: JsonScope = JsonScope()
    spans: list[JsonSpan] = []


class JsonResourceSpans(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """ResourceSpans."""

    resource: JsonResource = JsonResource()
    scope_spans: list[JsonScopeSpans] = []


class JsonScopeLogs(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """ScopeLogs."""

    scope: JsonScope = JsonScope()
    log_records: list[JsonLogRecord] = []


class JsonResourceLogs(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """ResourceLogs."""

    resource: JsonResource = JsonResource()
    scope_logs: list[JsonScopeLogs] = []


class JsonTracesRequest(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """ExportTraceServiceRequest."""

    resource_spans: list[JsonResourceSpans] | msgspec.UnsetType = msgspec.UNSET


class JsonLogsRequest(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """ExportLogsServiceRequest."""

    resource_logs: list[JsonResourceLogs] | msgspec.UnsetType = msgspec.UNSET


class JsonEnvelope(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """Any request, unopened, to see which signals it carries."""

    resource_spans: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    resource_logs: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    resource_metrics: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


SPAN_KINDS = {
    "SPAN_KIND_UNSPECIFIED": 0,
    "SPAN_KIND_INTERNAL": 1,
    "SPAN_KIND_SERVER": 2,
    "SPAN_KIND_CLIENT": 3,
    "SPAN_KIND_PRODUCER": 4,
    "SPAN_KIND_CONSUMER": 5,
}
STATUS_CODES = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
SEVERITY_NUMBERS = {"SEVERITY_NUMBER_UNSPECIFIED": 0} | {
    f"SEVERITY_NUMBER_{level}{step if step > 1 else ''}": 4 * place + step
    for place, level in enumerate(("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"))
    for step in (1, 2, 3, 4)
}
"""The specification wants numbers; older emitters write the names."""
