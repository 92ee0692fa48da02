"""What a backend's answer means for the request it was sent: taken, to be sent again later, or refused for good.

The rules are those of OTLP 1.11 (opentelemetry-proto, docs/specification.md). Sent again is what HTTP answers with 429,
502, 503 or 504, and gRPC with CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE or DATA_LOSS, or with
RESOURCE_EXHAUSTED where it comes with RetryInfo; nothing else is. A redirect is refused: following it would send spans
where nobody said they go.
"""

from __future__ import annotations

import datetime as dt
import email.utils
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

import grpc
import msgspec

from otel_runlog.errors import OtlpError
from otel_runlog.otlp.protowire import BYTES, VARINT, fields, read_varint

MAX_ANSWER_BYTES: Final = 4 << 20
"""A longer answer is not read (OTLP 1.11 on the size of responses)."""
LONGEST_HINT_S: Final = 3600.0
"""A backend that asks for a longer rest is asked again after this time."""


class Taken(msgspec.Struct, frozen=True):
    """It was taken, but for so many spans or records; `message` is the backend's."""

    rejected: int = 0
    message: str = ""


class Later(msgspec.Struct, frozen=True):
    """It is to be sent again, not before `after_s` where the backend said so."""

    why: str
    after_s: float | None = None


class Refused(msgspec.Struct, frozen=True):
    """It is never to be sent again. `in_parts`: only a part of it may be at fault, or all of it too large."""

    reason: str
    why: str
    in_parts: bool = False


Answer: TypeAlias = Taken | Later | Refused

_RETRIED_STATUSES: Final = frozenset({429, 502, 503, 504})
_STATUSES_OF_CONTENT: Final = frozenset({400, 413, 422, 500})
_RETRIED_CODES: Final = frozenset(
    {
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
_CODES_OF_CONTENT: Final = frozenset(
    {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL}
)
"""INTERNAL is what a generated servicer says of a message that it cannot parse."""
_OWN_LIMIT: Final = "CLIENT: Received message larger than max"
_RETRY_INFO: Final = b"type.googleapis.com/google.rpc.RetryInfo"
_OK, _REDIRECTS, _CLIENT_ERRORS = 200, 300, 400
_SHOWN_CHARACTERS: Final = 200
_LARGEST_NUMBER: Final = (1 << 63) - 1


def http_answer(status: int, headers: Mapping[str, str], body: bytes | None, now: dt.datetime) -> Answer:
    """What an HTTP response means. `body` is None where it could not be read, or was too long."""
    if _OK <= status < _REDIRECTS:
        return read_success(body, headers.get("content-type", ""))
    said = f"HTTP {status}"
    if status in _RETRIED_STATUSES:
        return Later(said, _retry_after_s(headers.get("retry-after"), now))
    if _REDIRECTS <= status < _CLIENT_ERRORS:
        return Refused(f"http_{status}", f"{said}: a redirect, which is never followed")
    return Refused(f"http_{status}", said, in_parts=status in _STATUSES_OF_CONTENT)


def grpc_answer(code: grpc.StatusCode, details: str, trailers: Iterable[tuple[str, str | bytes]]) -> Answer:
    """What a gRPC status other than OK means."""
    after_s = _retry_info_s(dict(trailers))
    said = f"gRPC {code.name}: {details[:_SHOWN_CHARACTERS]}"
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and _OWN_LIMIT in details:
        return Taken(message=f"its answer was over {MAX_ANSWER_BYTES} bytes and was not read")
    if code in _RETRIED_CODES or (code is grpc.StatusCode.RESOURCE_EXHAUSTED and after_s is not None):
        return Later(said, after_s)
    return Refused(f"grpc_{code.name.lower()}", said, in_parts=code in _CODES_OF_CONTENT)


class _JsonPartial(msgspec.Struct, rename="camel"):
    rejected_spans: int | str = 0
    rejected_log_records: int | str = 0
    error_message: str = ""


class _JsonSuccess(msgspec.Struct, rename="camel"):
    partial_success: _JsonPartial | None = None


def read_success(body: bytes | None, content_type: str = "application/x-protobuf") -> Taken:
    """What the body of a success says of partial success, in either encoding; one that says nothing legible is one."""
    if body is None:
        return Taken(message=f"its answer could not be read, or was over {MAX_ANSWER_BYTES} bytes")
    try:
        return _read_json(body) if "json" in content_type else _read_protobuf(body)
    except (OtlpError, msgspec.DecodeError, ValueError):
        return Taken()


def _read_json(body: bytes) -> Taken:
    partial = msgspec.json.decode(body, type=_JsonSuccess).partial_success if body else None
    if partial is None:
        return Taken()
    rejected = int(partial.rejected_spans) + int(partial.rejected_log_records)
    return Taken(max(rejected, 0), partial.error_message)


def _read_protobuf(body: bytes) -> Taken:
    """Field 1 is partial_success, in it 1 is the number and 2 the text, for traces and logs alike."""
    partial = _texts(body).get(1, b"")
    rejected = _numbers(partial).get(1, 0)
    message = _texts(partial).get(2, b"").decode(errors="replace")
    return Taken(rejected if rejected <= _LARGEST_NUMBER else 0, message)  # above, it is a negative number


def _retry_after_s(value: str | None, now: dt.datetime) -> float | None:
    """Seconds, or a date (RFC 9110, 10.2.3); None where it is neither."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return min(float(value), LONGEST_HINT_S)
    try:
        at = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=dt.UTC)
    return min(max((at - now).total_seconds(), 0.0), LONGEST_HINT_S)


def _retry_info_s(trailers: Mapping[str, str | bytes]) -> float | None:
    """The delay of a google.rpc.RetryInfo: in the status's details, as OTLP has it, or in a trailer of its own."""
    try:
        if isinstance(own := trailers.get("google.rpc.retryinfo-bin"), bytes):
            return _delay_s(own)
        if isinstance(status := trailers.get("grpc-status-details-bin"), bytes):
            for number, wire_type, start, end in fields(status, 0, len(status)):
                detail = _texts(status[start:end]) if (number, wire_type) == (3, BYTES) else {}
                if detail.get(1) == _RETRY_INFO:
                    return _delay_s(detail.get(2, b""))
    except OtlpError:
        pass
    return None


def _delay_s(retry_info: bytes) -> float:
    """Its retry_delay, a Duration."""
    delay = _numbers(_texts(retry_info).get(1, b""))
    seconds = delay.get(1, 0) if delay.get(1, 0) <= _LARGEST_NUMBER else 0
    return min(seconds + delay.get(2, 0) / 1e9, LONGEST_HINT_S)


def _texts(message: bytes) -> dict[int, bytes]:
    """The texts and messages in a message, by field number."""
    found = fields(message, 0, len(message))
    return {number: message[start:end] for number, wire_type, start, end in found if wire_type == BYTES}


def _numbers(message: bytes) -> dict[int, int]:
    """The varints in a message, by field number."""
    found = fields(message, 0, len(message))
    return {number: read_varint(message, start, end)[0] for number, kind, start, end in found if kind == VARINT}
