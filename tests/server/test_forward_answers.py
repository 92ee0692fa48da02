"""What answers of backends mean, by OTLP's rules."""

import datetime as dt

import grpc
import pytest

from otel_runlog.server.forward.answers import (
    LONGEST_HINT_S,
    Later,
    Refused,
    Taken,
    grpc_answer,
    http_answer,
    read_success,
)
from otel_runlog.server.forward.pause import FIRST_RETRY_S, LONGEST_RETRY_S, Backoff

NOW = dt.datetime(2026, 11, 29, 12, 0, tzinfo=dt.UTC)


@pytest.mark.parametrize("status", range(200, 600))
def test_of_http_four_statuses_are_sent_again(status):
    answer = http_answer(status, {}, b"", NOW)
    expected = Taken if status < 300 else Later if status in {429, 502, 503, 504} else Refused
    assert isinstance(answer, expected)


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_of_grpc_six_codes_are_sent_again(code):
    again = {"CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS"}
    assert isinstance(grpc_answer(code, "", ()), Later if code.name in again else Refused)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        (" 3 ", 3.0),
        ("999999999999", LONGEST_HINT_S),
        ("Sun, 29 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 29 Nov 2026 11:00:00 GMT", 0.0),
        ("Sun, 29 Nov 2099 11:00:00 GMT", LONGEST_HINT_S),
        ("-1", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
@pytest.mark.fault(45)
def test_retry_after_is_seconds_or_a_date_and_never_for_ever(value, seconds):
    headers = {} if value is None else {"retry-after": value}
    answer = http_answer(503, headers, b"", NOW)
    assert isinstance(answer, Later)
    assert answer.after_s == seconds


@pytest.mark.parametrize("trailer", ["google.rpc.retryinfo-bin", "grpc-status-details-bin"])
@pytest.mark.parametrize("value", [b"", b"\xff", b"\x0a", b"\x0a\xff\xff\xff\xff\x7f", b"\x0a\x02\x08\x01", "text"])
@pytest.mark.fault(45)
def test_retry_info_that_is_none_is_no_hint(trailer, value):
    answer = grpc_answer(grpc.StatusCode.UNAVAILABLE, "", ((trailer, value),))
    assert isinstance(answer, Later)
    assert answer.after_s in {None, 0.0, 1.0}


def test_a_delay_beyond_all_sense_is_bounded():
    huge = b"\x0a\x0a\x08" + b"\xff" * 7 + b"\x7f\x10\x00"
    answer = grpc_answer(grpc.StatusCode.UNAVAILABLE, "", (("google.rpc.retryinfo-bin", huge[: 2 + huge[1]]),))
    assert isinstance(answer, Later)
    assert (answer.after_s or 0.0) <= LONGEST_HINT_S


@pytest.mark.parametrize(
    ("body", "content_type", "rejected", "message"),
    [
        (b"", "application/x-protobuf", 0, ""),
        (b"\x0a\x00", "application/x-protobuf", 0, ""),
        (b"\x0a\x02\x08\x05", "application/x-protobuf", 5, ""),
        (b"\x0a\x04\x12\x02no", "application/x-protobuf", 0, "no"),
        (b"\x0a\x0b\x08" + b"\xff" * 9 + b"\x01", "application/x-protobuf", 0, ""),
        (b"", "application/json", 0, ""),
        (b"{}", "application/json; charset=utf-8", 0, ""),
        (b'{"partialSuccess": {}}', "application/json", 0, ""),
        (b'{"partialSuccess": null, "x": 1}', "application/json", 0, ""),
        (b'{"partialSuccess": {"rejectedLogRecords": "3", "errorMessage": "no"}}', "application/json", 3, "no"),
        (b'{"partialSuccess": {"rejectedSpans": 3}}', "application/json", 3, ""),
        (b'{"partialSuccess": {"rejectedSpans": "x"}}', "application/json", 0, ""),
        (b'{"partialSuccess": {"rejectedSpans": -4}}', "application/json", 0, ""),
        (b"[" * 100_000, "application/json", 0, ""),
        (b"<html>", "text/html", 0, ""),
    ],
)
@pytest.mark.fault(45)
def test_partial_success_is_read_from_whatever_comes(body, content_type, rejected, message):
    assert read_success(body, content_type) == Taken(rejected, message)


def test_waits_grow_to_a_limit_and_are_never_the_same_for_all():
    least, most = Backoff(chance=lambda: 0.0), Backoff(chance=lambda: 1.0)
    low, high = [least.next_s() for _ in range(40)], [most.next_s() for _ in range(40)]
    assert high[:4] == [FIRST_RETRY_S * 2**n for n in range(4)]
    assert high[-1] == LONGEST_RETRY_S
    assert low == [wait / 2 for wait in high]
    most.reset()
    assert most.next_s() == FIRST_RETRY_S


def test_a_hint_is_the_least():
    backoff = Backoff(chance=lambda: 0.0)
    assert backoff.next_s(5.0) == 5.0
    assert backoff.next_s(0.0) > 0.0
