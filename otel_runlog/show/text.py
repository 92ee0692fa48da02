"""Values as people read them. Unknown is an empty text, never 0."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # OSC and its kin: titles, links, clipboard
    r"|\x1b[ -/]*[0-~]?",  # all other escapes
    re.DOTALL,
)
_SPACES = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0, DEL, C1, what turns the direction of text, and lone surrogates, which no output can hold."""

_SHOWN_DIGITS = 2
_CENT = Decimal("0.01")
_MS_PER_S, _S_PER_MINUTE, _MINUTES_PER_HOUR, _HOURS_PER_DAY = 1000, 60, 60, 24


def clean(text: str) -> str:
    """A text from telemetry on one line, without anything that a terminal would obey."""
    return _CONTROLS.sub("", _SPACES.sub(" ", _ESCAPES.sub("", text)))


def count(number: float | None) -> str:
    """A number with thousands separators."""
    return "" if number is None else f"{number:,}"


def usd(amount: Decimal | None) -> str:
    """Dollars: cents from a dollar up, four decimals below, and below a cent two digits that say something."""
    if amount is None:
        return ""
    if not amount:
        return "$0"
    places = 2 if abs(amount) >= 1 else 4
    if abs(amount) < _CENT:
        places = max(places, _SHOWN_DIGITS - 1 - amount.adjusted())
    return f"{'-' if amount < 0 else ''}${abs(amount):,.{places}f}"


def duration(ms: float | None) -> str:
    """How long something took, in the two largest units."""
    if ms is None:
        return ""
    if abs(ms) < 1:
        return f"{ms:.1f} ms" if ms else "0 ms"
    if round(abs(ms)) < _MS_PER_S:
        return f"{ms:.0f} ms"
    seconds = ms / _MS_PER_S
    return f"{seconds:.1f} s" if round(abs(seconds), 1) < _S_PER_MINUTE else _minutes(round(seconds))


def _minutes(seconds: int) -> str:
    minutes, seconds = divmod(seconds, _S_PER_MINUTE)
    if minutes < _MINUTES_PER_HOUR:
        return f"{minutes}m {seconds:02}s"
    hours, minutes = divmod(minutes, _MINUTES_PER_HOUR)
    if hours < _HOURS_PER_DAY:
        return f"{hours}h {minutes:02}m"
    days, hours = divmod(hours, _HOURS_PER_DAY)
    return f"{days:,}d {hours:02}h"


def moment(at: dt.datetime | None) -> str:
    """A time in UTC, to the second."""
    return "" if at is None else f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}"


def size(number: int) -> str:
    """Bytes in the unit that leaves one to three digits."""
    amount = float(number)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:  # noqa: PLR2004
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} GiB"
