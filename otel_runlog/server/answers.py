"""What a request is told, in the words of OTLP 1.11 over gRPC and HTTP.

Every refusal is a google.rpc.Status in the request's own encoding. What may be tried again says so in each form that
SDKs read: `Retry-After` (HTTP), the trailers `google.rpc.retryinfo-bin` (Python's exporter reads no other) and
`grpc-status-details-bin` (the specification's). The delay is 1 s: exporters with a budget of 10 s give up at once when
told to wait longer than what is left of it. Nothing that a client sends is answered with 500 or INTERNAL, because no
exporter tries those again.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from typing import Final, NamedTuple

import grpc
import msgspec
from google.protobuf.any_pb2 import Any as AnyMessage  # type: ignore[import-untyped]
from google.protobuf.duration_pb2 import Duration  # type: ignore[import-untyped]
from google.protobuf.message import Message  # type: ignore[import-untyped]
from google.rpc.error_details_pb2 import RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsPartialSuccess, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from otel_runlog.errors import ServerError
from otel_runlog.otlp.wire import Encoding, Signal

RETRY_AFTER_S: Final = 1
MAX_MESSAGE_CHARACTERS: Final = 1000
PROTOBUF_TYPE: Final = "application/x-protobuf"
JSON_TYPE: Final = "application/json"
TYPES: Final = {Encoding.PROTOBUF: PROTOBUF_TYPE, Encoding.JSON: JSON_TYPE}


class Outcome(enum.StrEnum):
    """What became of a request."""

    ACCEPTED = "accepted"
    MALFORMED = "malformed"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    WRONG_METHOD = "wrong_method"
    TIMED_OUT = "timed_out"
    TOO_LARGE = "too_large"
    UNSUPPORTED = "unsupported"
    UNAVAILABLE = "unavailable"
    GONE = "gone"


class Code(NamedTuple):
    """An outcome over HTTP, over gRPC, and whether the same request may be sent again."""

    http: int
    grpc: grpc.StatusCode
    may_retry: bool = False


CODES: Final = {
    Outcome.ACCEPTED: Code(200, grpc.StatusCode.OK),
    Outcome.MALFORMED: Code(400, grpc.StatusCode.INVALID_ARGUMENT),
    Outcome.UNAUTHENTICATED: Code(401, grpc.StatusCode.UNAUTHENTICATED),
    Outcome.FORBIDDEN: Code(403, grpc.StatusCode.PERMISSION_DENIED),
    Outcome.NOT_FOUND: Code(404, grpc.StatusCode.UNIMPLEMENTED),
    Outcome.WRONG_METHOD: Code(405, grpc.StatusCode.UNIMPLEMENTED),
    Outcome.TIMED_OUT: Code(408, grpc.StatusCode.DEADLINE_EXCEEDED),
    Outcome.TOO_LARGE: Code(413, grpc.StatusCode.RESOURCE_EXHAUSTED),
    Outcome.UNSUPPORTED: Code(415, grpc.StatusCode.INVALID_ARGUMENT),
    Outcome.UNAVAILABLE: Code(503, grpc.StatusCode.UNAVAILABLE, may_retry=True),
    Outcome.GONE: Code(503, grpc.StatusCode.UNAVAILABLE, may_retry=True),
}


class Answer(msgspec.Struct, frozen=True):
    """The outcome, why, and how many items of an accepted request were rejected.

    Attributes:
        headers: what HTTP has to say beside it, such as `Allow`.
    """

    outcome: Outcome
    message: str = ""
    rejected: int = 0
    headers: tuple[tuple[str, str], ...] = ()


ACCEPTED: Final = Answer(Outcome.ACCEPTED)


class RefusedError(ServerError):
    """A request goes no further; `answer` is what it is told."""

    def __init__(self, outcome: Outcome, message: str, *headers: tuple[str, str]) -> None:
        super().__init__(message)
        self.answer = Answer(outcome, message, headers=headers)


def export_response(answer: Answer, signal: Signal, encoding: Encoding) -> bytes:
    """The body of a request that was accepted, wholly or in part (OTLP 1.11, Full Success and Partial Success)."""
    if encoding is Encoding.JSON:
        return _json_response(answer, signal)
    if not answer.rejected:
        return b""
    made: bytes = _PARTIAL[signal](answer.rejected, _shortened(answer.message)).SerializeToString()
    return made


def _json_response(answer: Answer, signal: Signal) -> bytes:
    if not answer.rejected:
        return b"{}"
    partial = {_REJECTED[signal]: str(answer.rejected), "errorMessage": _shortened(answer.message)}
    return json.dumps({"partialSuccess": partial}).encode()


def _partial_traces(rejected: int, message: str) -> ExportTraceServiceResponse:
    partial = ExportTracePartialSuccess(rejected_spans=rejected, error_message=message)
    return ExportTraceServiceResponse(partial_success=partial)


def _partial_logs(rejected: int, message: str) -> ExportLogsServiceResponse:
    partial = ExportLogsPartialSuccess(rejected_log_records=rejected, error_message=message)
    return ExportLogsServiceResponse(partial_success=partial)


_PARTIAL: Final[dict[Signal, Callable[[int, str], Message]]] = {
    Signal.TRACES: _partial_traces,
    Signal.LOGS: _partial_logs,
}
_REJECTED: Final = {Signal.TRACES: "rejectedSpans", Signal.LOGS: "rejectedLogRecords"}


def status_body(answer: Answer, encoding: Encoding) -> bytes:
    """A refusal as google.rpc.Status."""
    number = grpc_number(answer.outcome)
    if encoding is Encoding.PROTOBUF:
        return _status(answer)
    body: dict[str, object] = {"code": number, "message": _shortened(answer.message)}
    if CODES[answer.outcome].may_retry:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        body["details"] = [{"@type": kind, "retryDelay": f"{RETRY_AFTER_S}s"}]
    return json.dumps(body).encode()


def grpc_number(outcome: Outcome) -> int:
    """The number of gRPC's status code."""
    number: int = CODES[outcome].grpc.value[0]
    return number


def trailers(answer: Answer) -> tuple[tuple[str, bytes], ...]:
    """GRPC's trailing metadata of a refusal."""
    details = ("grpc-status-details-bin", _status(answer))
    if not CODES[answer.outcome].may_retry:
        return (details,)
    return details, ("google.rpc.retryinfo-bin", _retry_info().SerializeToString())


def _status(answer: Answer) -> bytes:
    status = Status(code=grpc_number(answer.outcome), message=_shortened(answer.message))
    if CODES[answer.outcome].may_retry:
        detail = AnyMessage()
        detail.Pack(_retry_info())
        status.details.append(detail)
    made: bytes = status.SerializeToString()
    return made


def _retry_info() -> RetryInfo:
    return RetryInfo(retry_delay=Duration(seconds=RETRY_AFTER_S))


def _shortened(message: str) -> str:
    """At most so many characters, all of which are UTF-8."""
    return message[:MAX_MESSAGE_CHARACTERS].encode(errors="replace").decode()
