"""Reading single values out of attributes that may have any type.

Emitters send numbers as strings, whole numbers as floats, JSON inside strings and lists of one. Each function returns
None for what it cannot read with certainty: a convention never guesses.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable
from decimal import Context, Decimal, InvalidOperation

import msgspec

from otel_runlog.model import Attributes, AttrValue

USD_DECIMALS = Decimal("1e-12")
MAX_USD = 10**6
"""The store's money is DECIMAL(18, 12)."""
MONEY = Context(prec=40)
"""Its own, so that an application's decimal context changes nothing."""
MAX_TOKENS = 10**12
"""More tokens than this in one call is a broken number."""
MAX_DIGITS = 18
"""Longer strings of digits are no count; int() refuses those over 4300 with an error."""
MAX_LITERAL_CHARS = 100_000
"""Python literals beyond this are left as text: parsing them costs 2 ms a 10 000 characters."""


def text(attributes: Attributes, keys: Iterable[str]) -> str | None:
    """The first non-empty string among `keys`."""
    for key in keys:
        value = attributes.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return None


def whole(value: AttrValue) -> int | None:
    """A count: an int, a whole float, or a string of digits; None for anything else, negatives included."""
    if type(value) is int:  # nearly always
        return value if 0 <= value <= MAX_TOKENS else None
    if isinstance(value, str):
        digits = value.strip()
        value = int(digits) if len(digits) <= MAX_DIGITS and digits.isdecimal() else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_TOKENS else None


def number(value: AttrValue) -> float | None:
    """A finite number, also where it comes as a string."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        n = float(value)
    except (ValueError, OverflowError):
        return None
    return n if math.isfinite(n) else None


def money(value: AttrValue) -> Decimal | None:
    """A cost in USD, not negative, rounded to the 12 decimals that the store holds; None beyond a million."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value).strip())
    except (InvalidOperation, ValueError):  # ValueError: an int of more digits than str() writes
        return None
    if not amount.is_finite() or not 0 <= amount < MAX_USD:
        return None
    return amount.quantize(USD_DECIMALS, context=MONEY)


def flag(value: AttrValue) -> bool | None:
    """A boolean, also as the strings true and false in any case."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return None


def parsed(value: AttrValue) -> AttrValue:
    """A value with the JSON (else the Python literal) inside its string parsed; itself where it is neither."""
    if not isinstance(value, str):
        return value
    head = value.lstrip()[:1]
    if head not in '[{"' or not head:
        return value
    try:
        return msgspec.json.decode(value)  # type: ignore[no-any-return]
    except (msgspec.DecodeError, RecursionError):
        return _python_literal(value) if head in "[{" else value


def _python_literal(value: str) -> AttrValue:
    """What repr() of a dict or list says, in JSON's types (tuples and sets become lists); else the text itself."""
    if "'" not in value or len(value) > MAX_LITERAL_CHARS:
        return value
    try:
        return msgspec.json.decode(msgspec.json.encode(ast.literal_eval(value)))  # type: ignore[no-any-return]
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError, OverflowError):
        return value


def mapping(value: AttrValue) -> Attributes:
    """A dict, also where it comes as a JSON or repr string; empty where it is none."""
    value = parsed(value)
    return value if isinstance(value, dict) else {}


def items(value: AttrValue) -> list[AttrValue]:
    """A list, also where it comes as a JSON string; empty where it is none."""
    value = parsed(value)
    return value if isinstance(value, list) else []


def path(value: AttrValue, *keys: str) -> AttrValue:
    """The value under nested `keys`, parsing JSON strings on the way; None where the path ends early."""
    for key in keys:
        value = mapping(value).get(key)
    return value


def dump(value: AttrValue) -> str:
    """A value as text: strings as they are, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (ValueError, TypeError, OverflowError, RecursionError):
        return _dump_slowly(value)


def _dump_slowly(value: AttrValue) -> str:
    """For what msgspec refuses: lone surrogates (escaped here), integers beyond 64 bits; empty where nothing helps."""
    try:
        return json.dumps(value, default=repr, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError):
        return ""
