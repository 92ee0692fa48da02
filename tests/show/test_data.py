"""Rows for programs."""

import csv
import datetime as dt
import io
import json
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_runlog.show.data import Json, plain_decimal, to_csv, to_json, to_json_array

PLUS_TWO = dt.timezone(dt.timedelta(hours=2))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("0.001230000000"), "0.00123"),
        (Decimal("0E-12"), "0"),
        (Decimal("1E+3"), "1000"),
        (Decimal("NaN"), "null"),
        (float("inf"), "null"),
        (2**80, "1208925819614629174706176"),
        (dt.datetime(2026, 11, 5, 14, 0, tzinfo=PLUS_TWO), '"2026-11-05T12:00:00Z"'),
        (dt.datetime(2026, 11, 5, 14, 0), '"2026-11-05T14:00:00"'),  # noqa: DTZ001
        (dt.date(2026, 11, 5), '"2026-11-05"'),
        (dt.timedelta(hours=1), '"PT3600S"'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (b"\x00\xff", '"AP8="'),
        (Json('{"a": 1}'), '{"a": 1}'),
        (("a", None), '["a",null]'),
        ({1: "a"}, '{"1":"a"}'),
        ("\x1b\x7f\x9b\u2028", '"\\u001b\\u007f\\u009b\\u2028"'),
        ("half \ud800", '"half ?"'),
    ],
)
def test_json_keeps_what_a_value_is(value, text):
    assert to_json(value) == text


@given(values)
def test_json_reads_back_as_it_was(value):
    assert json.loads(to_json(value)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12))
def test_a_decimal_keeps_its_value_and_has_no_exponent(number):
    assert Decimal(plain_decimal(number)) == number
    assert "E" not in plain_decimal(number)


def test_rows_are_one_array_with_a_row_a_line():
    assert to_json_array([{"a": 1}, {"a": None}]) == '[\n{"a":1},\n{"a":null}\n]'
    assert to_json_array([]) == "[]"


@given(st.lists(st.tuples(st.text("a,\"'; é漢\n"), st.none() | st.integers()), max_size=4))
def test_csv_reads_back(rows):
    text = to_csv(["text", "number"], [{"text": text, "number": number} for text, number in rows])
    expected = [[text, "" if number is None else str(number)] for text, number in rows]
    assert list(csv.reader(io.StringIO(text))) == [["text", "number"], *expected]
