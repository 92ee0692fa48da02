"""Values of options."""

import datetime as dt

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_runlog.cli.options import Label, Moment

NOW = dt.datetime(2026, 11, 5, 12, 0, tzinfo=dt.UTC)
MOMENT = Moment(now=lambda: NOW)


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("2h", dt.datetime(2026, 11, 5, 10, 0, tzinfo=dt.UTC)),
        ("7d", dt.datetime(2026, 10, 29, 12, 0, tzinfo=dt.UTC)),
        ("1w", dt.datetime(2026, 10, 29, 12, 0, tzinfo=dt.UTC)),
        ("90s", dt.datetime(2026, 11, 5, 11, 58, 30, tzinfo=dt.UTC)),
        ("30m", dt.datetime(2026, 11, 5, 11, 30, tzinfo=dt.UTC)),
        ("2026-11-01", dt.datetime(2026, 11, 1, 0, 0, tzinfo=dt.UTC)),
        ("2026-11-01T08:00", dt.datetime(2026, 11, 1, 8, 0, tzinfo=dt.UTC)),
        ("2026-11-01T08:00:00+02:00", dt.datetime(2026, 11, 1, 6, 0, tzinfo=dt.UTC)),
        ("2026-11-01T08:00:00Z", dt.datetime(2026, 11, 1, 8, 0, tzinfo=dt.UTC)),
    ],
)
def test_a_time_is_absolute_or_ago(value, at):
    assert MOMENT.convert(value, None, None) == at


@pytest.mark.parametrize("value", ["9999-12-31T23:59:59-23:00", "0001-01-01T00:00:00+23:00"])
def test_a_time_that_is_none_in_utc_is_refused(value):
    with pytest.raises(click.BadParameter, match="is no time"):
        MOMENT.convert(value, None, None)


@given(st.text(max_size=12))
def test_any_text_is_a_time_or_refused(value):
    try:
        assert MOMENT.convert(value, None, None).tzinfo is not None
    except click.BadParameter as error:
        assert "is no time: write 2h" in error.message  # noqa: PT017


@pytest.mark.parametrize(("value", "pair"), [("a=b", ("a", "b")), ("a=b=c", ("a", "b=c")), ("a=", ("a", ""))])
def test_a_label_is_split_at_the_first_equals_sign(value, pair):
    assert Label().convert(value, None, None) == pair
