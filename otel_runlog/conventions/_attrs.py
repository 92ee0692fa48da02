"""Reading single values out of attributes that may have any type.

Emitters send numbers as strings, whole numbers as floats, JSON inside strings and lists of one. Each function returns
None for what it cannot read with certainty: a convention never guesses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

import msgspec

from otel_runlog.model import Attributes, AttrValue

USD_DECIMALS = Decimal("1e-12")
MAX_USD = 10**6
"""The store's money is DECIMAL(18, 12)."""
MAX_TOKENS = 10**12
"""More tokens than this in one call is a broken number."""


def text(attributes: Attributes, keys: Iterable[str]) -> str | None:
    """The first non-empty string among `keys`."""
    for key in keys:
        value = attributes.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return None


def whole(value: AttrValue) -> int | None:
    """A count: an int, a whole float, or a string of digits; None for anything else, negatives included."""
    if isinstance(value, str):
        value = int(value) if value.strip().isdecimal() else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_TOKENS else None


def count(attributes: Attributes, keys: Iterable[str]) -> int | None:
    """The first readable count among `keys`."""
    for key in keys:
        if key in attributes and (n := whole(attributes[key])) is not None:
            return n
    return None


def number(value: AttrValue) -> float | None:
    """A finite number, also where it comes as a string."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        n = float(value)  # type: ignore[arg-type]  # whatever it is, float() says so
    except (TypeError, ValueError, OverflowError):
        return None
    return n if abs(n) != float("inf") and n == n else None  # noqa: PLR0124  # NaN


def money(value: AttrValue) -> Decimal | None:
    """A cost in USD, not negative, rounded to the 12 decimals that the store holds; None beyond a million."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    if not amount.is_finite() or not 0 <= amount < MAX_USD:
        return None
    return amount.quantize(USD_DECIMALS)


def flag(value: AttrValue) -> bool | None:
    """A boolean, also as the strings true and false in any case."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return None


def parsed(value: AttrValue) -> AttrValue:
    """A value with the JSON (else the Python literal) inside its string parsed; the value itself where it is neither."""
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
    if "'" not in value:
        return value
    try:
        return ast.literal_eval(value)  # type: ignore[no-any-return]
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
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
    return msgspec.json.encode(value).decode()
