"""Values of the wrong type: each reader takes what is certain and nothing else."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from captured import made, said

from otel_runlog import conventions
from otel_runlog.conventions._attrs import dump, flag, items, mapping, money, number, parsed, path, whole

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, 7),
        ("7", 7),
        (" 7 ", 7),
        (7.0, 7),
        (0, 0),
        (10**12, 10**12),
        (7.5, None),
        ("7.0", None),
        (-1, None),
        ("-1", None),
        (True, None),
        (NAN, None),
        (INFINITY, None),
        (10**12 + 1, None),
        ("9" * 5000, None),
        ("", None),
        (None, None),
        ([7], None),
        (b"7", None),
    ],
)
def test_a_count(value, expected) -> None:
    assert whole(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.5, 0.5),
        ("0.5", 0.5),
        (2, 2.0),
        (NAN, None),
        ("inf", None),
        (10**400, None),
        (True, None),
        (b"1", None),
        ([], None),
        ("x", None),
    ],
)
def test_a_number(value, expected) -> None:
    assert number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, "1.000000000000"),
        (0.00018614999999999997, "0.000186150000"),
        ("2.5e-7", "2.50000E-7"),
        (0, "0E-12"),
        (-1, None),
        (1e6, None),
        (NAN, None),
        (INFINITY, None),
        ("1,5", None),
        (True, None),
        ([1], None),
    ],
)
def test_money(value, expected) -> None:
    with localcontext() as context:
        context.prec = 3
        amount = money(value)
    assert amount == (None if expected is None else Decimal(expected))


def test_integers_of_more_digits_than_python_prints() -> None:
    huge = 10**5000
    assert (whole(huge), number(huge), money(huge)) == (None, None, None)
    assert dump({"a": huge}) == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), ("true", True), ("False", False), (" TRUE ", True), ("yes", None), (1, None), (None, None)],
)
def test_a_boolean(value, expected) -> None:
    assert flag(value) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("{'a': None, 'b': (1, 2)}", {"a": None, "b": [1, 2]}),
        ("['x']", ["x"]),
        ('"said"', "said"),
        ("said", "said"),
        ("{'a': 1j}", "{'a': 1j}"),
        ("{'a'", "{'a'"),
        ("[" * 5000, "[" * 5000),
        ('"cut off', '"cut off'),
        ("", ""),
        (5, 5),
    ],
)
def test_json_or_a_repr_inside_a_string(value, expected) -> None:
    assert parsed(value) == expected


def test_lists_dicts_and_paths_through_strings() -> None:
    assert items('[1, "2"]') == [1, "2"]
    assert items("{}") == []
    assert mapping("[1]") == {}
    assert path('{"a": "{\\"b\\": 3}"}', "a", "b") == 3
    assert path({"a": 1}, "a", "b") is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("as it is", "as it is"),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (["\ud800"], '["\\ud800"]'),
        ({"a": 2**70}, '{"a":1180591620717411303424}'),
        (b"\x00", '"AA=="'),
    ],
)
def test_a_value_as_text(value, expected) -> None:
    assert dump(value) == expected


@pytest.mark.parametrize(
    "reasons",
    [["stop"], ("stop",), '["stop"]', "['stop']", "stop", ["", "stop"], ["stop", "length"]],
)
def test_finish_reasons_as_lists_strings_and_strings_of_lists(reasons) -> None:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": list(reasons)}
    if isinstance(reasons, str):
        attributes["gen_ai.response.finish_reasons"] = reasons
    assert said(conventions.read(made(attributes)))["finish_reason"] == "stop"


@pytest.mark.parametrize("reasons", ["", [], [""], "[]", 7, None, [7]])
def test_no_finish_reason(reasons) -> None:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": reasons}
    assert "finish_reason" not in said(conventions.read(made(attributes)))


@pytest.mark.parametrize(("value", "expected"), [("True", True), ("false", False), (True, True), ("maybe", None)])
def test_streaming_as_text(value, expected) -> None:
    attributes = {"gen_ai.operation.name": "chat", "llm.is_streaming": value}
    assert said(conventions.read(made(attributes))).get("streaming") is expected


def test_numbers_as_strings_and_floats() -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": "1013",
        "gen_ai.usage.output_tokens": 57.0,
        "gen_ai.usage.cost": "0.5",
        "gen_ai.response.time_to_first_chunk": "0.25",
    }
    reading = said(conventions.read(made(attributes)))
    assert reading["usage"] == (1013, 57, None, None, None)
    assert (reading["reported_usd"], reading["time_to_first_token_ms"]) == ("0.500000000000", 250.0)


def test_an_unreadable_preferred_name_gives_way_to_the_next() -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": "many",
        "gen_ai.usage.prompt_tokens": 12,
        "gen_ai.provider.name": "",
        "gen_ai.system": "openai",
    }
    reading = said(conventions.read(made(attributes)))
    assert (reading["usage"], reading["provider"]) == ((12, None, None, None, None), "openai")
