"""Instants to UTC days, without a clock. What a datetime cannot hold is clamped."""

from __future__ import annotations

import datetime as dt

DAY_NS = 86_400_000_000_000
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
NEWEST = dt.datetime.max.replace(tzinfo=dt.UTC)
"""Stands for a call of unknown time: the newest rates hold."""


def instant_of(at_ns: int | None) -> dt.datetime:
    """Nanoseconds since the epoch as an aware UTC datetime; `NEWEST` for None."""
    if at_ns is None:
        return NEWEST
    try:
        return _EPOCH + dt.timedelta(microseconds=at_ns // 1000)
    except OverflowError:
        return NEWEST if at_ns > 0 else dt.datetime.min.replace(tzinfo=dt.UTC)


def day_of(at_ns: int | None) -> dt.date:
    """The UTC day of an instant in nanoseconds since the epoch; the last day there is for None."""
    return instant_of(at_ns).date()


def midnight_ns(day: dt.date) -> int:
    """The start of a UTC day in nanoseconds since the epoch."""
    return (day - _EPOCH.date()).days * DAY_NS
