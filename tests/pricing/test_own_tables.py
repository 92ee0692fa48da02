import datetime as dt
from decimal import Decimal

import pytest

from otel_runlog.errors import RatesError
from otel_runlog.pricing import PriceTable
from otel_runlog.pricing.tables import read_table

HEAD = 'name = "acme"\nversion = "1"\n'
MODEL = HEAD + '[[model]]\nmatch = "m"\ninput = "1"\noutput = "2"\n'
DAY = dt.date(2026, 11, 20)


@pytest.fixture
def write(tmp_path):
    def write(text, name="acme.toml"):
        file = tmp_path / name
        file.write_text(text)
        return file

    return write


def lookup(path, model, provider=None, day=DAY):
    return PriceTable.load([path], base=None).lookup(provider, model, day)


def test_every_key_of_the_contract_is_read(write):
    file = write(
        HEAD
        + """
        [[model]]
        provider = "acme"
        match = "m-std"
        from = 2026-11-05
        input = "2.50"
        output = 10
        cache_read = 1.25
        cache_write_5m = "3.75"
        cache_write_1h = "6.00"
        request = "0.01"
        [[model.tier]]
        above_input_tokens = 200000
        input = "2.50"
        output = "15.00"
        [[model.tier]]
        at_least_input_tokens = 400000
        cache_read = "1"
        [model.service_tier]
        flex = "0.5"
        Priority = 2
        """
    )
    quote = lookup(file, "m-std", "acme")
    assert (quote.table, quote.version, quote.provider, quote.entry) == ("acme", "1", "acme", "m-std")
    assert quote.first_day == dt.date(2026, 11, 5)
    rates = quote.rates
    assert (rates.input, rates.output, rates.cache_read) == (Decimal("2.50"), Decimal(10), Decimal("1.25"))
    assert (rates.cache_write_5m, rates.cache_write_1h, rates.request) == (
        Decimal("3.75"),
        Decimal(6),
        Decimal("0.01"),
    )
    assert [(t.threshold, t.inclusive, t.input, t.output, t.cache_read) for t in rates.tiers] == [
        (200_000, False, Decimal("2.5"), Decimal(15), None),
        (400_000, True, Decimal("2.5"), Decimal(10), Decimal(1)),
    ]
    assert rates.service_tiers == {"flex": Decimal("0.5"), "priority": Decimal(2)}


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ('version = "1"', "name", "missing"),
        ('name = "acme"', "version", "missing"),
        ('name = "acme"\nversion = 1', "version", "expected a text"),
        (HEAD + "modle = []", "modle", "unknown key"),
        (HEAD + "model = 1", "model", "[[model]]"),
        (HEAD + "model = [1]", "model[1]", "expected a table"),
        (HEAD + '[[model]]\ninput = "1"', "model[1].match", "missing"),
        (HEAD + '[[model]]\nmatch = "m"', "model[1].input", "missing"),
        (MODEL + 'cached = "1"', "model[1].cached", "unknown key"),
        (MODEL + 'request = "-0.01"', "model[1].request", "'-0.01'"),
        (MODEL + "request = true", "model[1].request", "True"),
        (MODEL + "request = nan", "model[1].request", "nan"),
        (MODEL + 'request = "1e99"', "model[1].request", "1e99"),
        (MODEL + 'request = "1e-19"', "model[1].request", "18 decimals"),
        (MODEL + 'request = "1e-999999"', "model[1].request", "18 decimals"),
        (MODEL + 'request = "one"', "model[1].request", "'one'"),
        (MODEL + "from = 2026-11-05T00:00:00Z", "model[1].from", "expected a day"),
        (MODEL + 'from = "2026-13-05"', "model[1].from", "2026-13-05"),
        (MODEL + "from = 20261105", "model[1].from", "20261105"),
        (MODEL + MODEL.removeprefix(HEAD) + "input_ = 1", "model[2].input_", "unknown key"),
        (MODEL + "[[model.tier]]\ninput = 1", "model[1].tier[1].above_input_tokens", "exactly one"),
        (
            MODEL + "[[model.tier]]\nabove_input_tokens = 1\nat_least_input_tokens = 1",
            "model[1].tier[1].above_input_tokens",
            "exactly one",
        ),
        (MODEL + '[[model.tier]]\nabove_input_tokens = "1"', "model[1].tier[1].above_input_tokens", "'1'"),
        (MODEL + "[[model.tier]]\nabove_input_tokens = 1\nrequest = 1", "model[1].tier[1].request", "unknown key"),
        (MODEL + "[model.service_tier]\nflex = -1", "model[1].service_tier.flex", "-1"),
        (MODEL + "service_tier = 2", "model[1].service_tier", "expected a table"),
    ],
)
def test_what_cannot_be_right_is_refused_naming_file_table_and_key(write, text, place, reason):
    file = write(text)
    with pytest.raises(RatesError) as refused:
        read_table(file)
    assert f"{file}: {place}: " in str(refused.value)
    assert reason in str(refused.value)


def test_a_file_that_is_missing_or_no_toml_is_refused(write, tmp_path):
    with pytest.raises(RatesError, match=r"none\.toml: the price table cannot be read: No such file"):
        PriceTable.load([tmp_path / "none.toml"])
    with pytest.raises(RatesError, match="is no TOML: "):
        PriceTable.load([str(write("name = "))])
    file = tmp_path / "latin.toml"
    file.write_bytes(b'name = "\xff"')
    with pytest.raises(RatesError, match="is no TOML: "):
        PriceTable.load([file])


def test_globs_and_the_order_of_the_file(write):
    entries = [
        f'[[model]]\nmatch = "{match}"\ninput = {rate}\n' for match, rate in (("m-mini", 1), ("M-*", 2), ("m-std", 3))
    ]
    file = write(HEAD + "".join(entries))
    assert lookup(file, "m-mini").rates.input == 1
    assert lookup(file, "m-std").rates.input == 2
    assert lookup(file, "m") is None
    assert lookup(file, "xm-std") is None


def test_an_exact_dated_name_wins_over_the_undated_one(write):
    file = write(HEAD + '[[model]]\nmatch = "m"\ninput = 1\n[[model]]\nmatch = "m-2026-03-15"\ninput = 2')
    assert lookup(file, "m-2026-03-15").rates.input == 2
    assert lookup(file, "m-2026-03-16").rates.input == 1


def test_an_entry_for_a_provider_holds_for_its_aliases_and_for_calls_that_name_none(write):
    file = write(HEAD + '[[model]]\nprovider = "aws.bedrock"\nmatch = "m"\ninput = 1')
    for provider in (None, "", "aws", "aws.bedrock", "amazon_bedrock", "AWS.Bedrock", "strands-agents", "langchain"):
        assert lookup(file, "m", provider) is not None, provider
    for provider in ("openai", "acme"):
        assert lookup(file, "m", provider) is None, provider


def test_the_newest_entry_in_force_holds_whatever_the_order_of_the_file(write):
    entries = [f'[[model]]\nmatch = "m"\nfrom = 2026-11-{day:02}\ninput = {day}\n' for day in (15, 5, 25)]
    file = write(HEAD + "".join(entries))
    found = [lookup(file, "m", day=dt.date(2026, 11, day)) for day in (4, 5, 14, 15, 24, 25, 30)]
    assert [quote and int(quote.rates.input) for quote in found] == [None, 5, 5, 15, 15, 25, 25]


def test_the_first_file_lies_uppermost_and_the_base_below(write):
    upper = write(HEAD + '[[model]]\nmatch = "gpt-4o"\nfrom = 2026-11-20\ninput = 7', "upper.toml")
    lower = write(HEAD.replace("acme", "lower") + '[[model]]\nmatch = "gpt-*"\nfrom = 2026-11-10\ninput = 8')
    table = PriceTable.load([upper, lower])
    found = [table.lookup("openai", "gpt-4o", dt.date(2026, 11, day)) for day in (20, 10, 9)]
    assert [quote.table for quote in found] == ["acme", "lower", "genai-prices"]
    assert table.name == "acme+lower+genai-prices"
    assert table.version.startswith("1+1+")


def test_quotes_are_all_entries_for_a_model(write):
    file = write(
        HEAD
        + '[[model]]\nprovider = "a"\nmatch = "m"\ninput = 1\n[[model]]\nmatch = "m*"\nfrom = 2026-11-05\ninput = 2\n'
        + '[[model]]\nmatch = "n"\ninput = 3'
    )
    quotes = PriceTable.load([file], base=None).quotes("vendor/m-latest")
    assert [(q.provider, q.entry, q.first_day) for q in quotes] == [
        ("a", "m", None),
        (None, "m*", dt.date(2026, 11, 5)),
    ]
