"""Rows for programs: JSON and CSV. Money is exact, times are ISO 8601 in UTC, JSON columns are JSON."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

import msgspec

from otel_runlog.show.text import clean

Value: TypeAlias = object
"""What DuckDB or a RunLog may hold: text, numbers, Decimal, times, UUIDs, bytes, lists and dicts of these."""
Record: TypeAlias = Mapping[str, Value]

_LARGEST_INT = 2**63 - 1
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that JSON may hold as they are and a terminal would obey."""


class Json(msgspec.Struct, frozen=True):
    """A text that is JSON already."""

    text: str


def to_json(value: Value) -> str:
    """JSON on one line. What no JSON number can be (NaN, infinities) is null; bytes are base64."""
    text = msgspec.json.encode(_plain(value)).decode()
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def to_json_array(records: Iterable[Record]) -> str:
    """A JSON array with one object a line."""
    lines = ",\n".join(to_json(record) for record in records)
    return f"[\n{lines}\n]" if lines else "[]"


def to_csv(columns: Sequence[str], records: Iterable[Record]) -> str:
    """CSV with a line of titles. Unknown is empty; lists, dicts and JSON columns are JSON."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([clean(column) for column in columns])
    writer.writerows([_csv_text(record[column]) for column in columns] for record in records)
    return out.getvalue().removesuffix("\n")


def plain_decimal(number: Decimal) -> str:
    """All digits of a number and no trailing zeros: 0.00123, never 1.23E-3."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plain(value: Value) -> Value:  # noqa: PLR0911 - one line a type
    """What msgspec writes as this module promises."""
    if isinstance(value, Json):
        return msgspec.Raw(value.text.encode())
    if isinstance(value, Decimal):
        return msgspec.Raw(plain_decimal(value).encode()) if value.is_finite() else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dt.datetime):
        return _iso(value)
    if isinstance(value, int) and abs(value) > _LARGEST_INT:
        return msgspec.Raw(str(value).encode())
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _iso(at: dt.datetime) -> str:
    """A time without a zone stays one: nobody said which it is in."""
    if at.tzinfo is None:
        return at.isoformat()
    return at.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def _key(key: Value) -> str:
    return key if isinstance(key, str) else str(key)


def _csv_text(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return "\n".join(clean(line) for line in value.split("\n"))
    if isinstance(value, Json):
        return to_json(value)
    text = to_json(value)
    return text[1:-1] if text.startswith('"') else text
