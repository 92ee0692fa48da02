"""Times as people write them: ISO 8601, or how long ago."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from otel_runlog.errors import ConfigError

_AGO: Final = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(text: str, now: dt.datetime) -> dt.datetime:
    """The time that a text means: ISO 8601, in UTC where it names no zone, or how long before `now`: 30m, 2h, 7d, 1w.

    Raises:
        ConfigError: it means none.
    """
    try:
        if ago := _AGO.fullmatch(text):
            return now - dt.timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        at = dt.datetime.fromisoformat(text)
        return at.replace(tzinfo=dt.UTC) if at.tzinfo is None else at.astimezone(dt.UTC)
    except (ValueError, OverflowError):  # also a year beyond 9999 once in UTC
        raise ConfigError(f"{text!r} is no time: write 2h, 7d, 2026-11-05 or 2026-11-05T12:00") from None
