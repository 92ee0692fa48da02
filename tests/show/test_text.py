"""Values as people read them."""

import datetime as dt
import unicodedata
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_runlog.show import text


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("plain, with ä and 漢字", "plain, with ä and 漢字"),
        ("two\nlines\tand a tab\r\n", "two lines and a tab "),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;never ended", ""),
        ("\x1bc reset, \x1b(B charset", " reset,  charset"),
        ("\x9b31m c1", "31m c1"),
        ("right\u202eleft", "rightleft"),
        ("half a pair \ud800", "half a pair "),
        ("nul\0bell\a", "nulbell"),
    ],
)
def test_clean_leaves_nothing_that_a_terminal_obeys(given_text, shown):
    assert text.clean(given_text) == shown


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_clean_text_has_no_controls_and_can_be_written(anything):
    cleaned = text.clean(anything)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in cleaned)
    cleaned.encode()
    assert text.clean(cleaned) == cleaned


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (None, ""),
        (0, "0 ms"),
        (0.04, "0.0 ms"),
        (0.42, "0.4 ms"),
        (35.4, "35 ms"),
        (999.4, "999 ms"),
        (999.6, "1.0 s"),
        (12_345, "12.3 s"),
        (59_940, "59.9 s"),
        (59_960, "1m 00s"),
        (125_000, "2m 05s"),
        (3_599_600, "1h 00m"),
        (7_380_000, "2h 03m"),
        (93_600_000, "1d 02h"),
        (-1_500, "-1.5 s"),
    ],
)
def test_durations_have_the_unit_that_fits(ms, shown):
    assert text.duration(ms) == shown


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (None, ""),
        ("0", "$0"),
        ("0.000000000001", "$0.0000000000010"),
        ("0.00042", "$0.00042"),
        ("0.009996", "$0.0100"),
        ("0.0123456", "$0.0123"),
        ("0.5", "$0.5000"),
        ("1.005", "$1.00"),
        ("1234567.891", "$1,234,567.89"),
        ("-0.25", "-$0.2500"),
    ],
)
def test_dollars_show_two_digits_at_least(amount, shown):
    assert text.usd(None if amount is None else Decimal(amount)) == shown


@given(st.decimals(min_value=0, max_value=1_000_000, places=12))
def test_dollars_are_right_to_two_digits(amount):
    shown = Decimal(text.usd(amount).removeprefix("$").replace(",", ""))
    assert abs(shown - amount) <= max(amount * Decimal("0.05"), Decimal(0))


def test_moments_are_utc():
    zone = dt.timezone(dt.timedelta(hours=2))
    assert text.moment(dt.datetime(2026, 11, 5, 14, 0, 1, 999_999, tzinfo=zone)) == "2026-11-05 12:00:01"


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (64 << 20, "64.0 MiB"), (5 << 40, "5,120.0 GiB")],
)
def test_sizes(number, shown):
    assert text.size(number) == shown
