"""Attributes are plain JSON to a reader and come back exactly."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from otel_runlog.store.plain_json import dumps, loads, loads_attributes

INT64 = st.integers(-(2**63), 2**63 - 1)
KEYS = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(["$bytes", "$float", "$dict"])
SCALARS = st.none() | st.booleans() | INT64 | st.floats() | st.text(st.characters(codec="utf-8")) | st.binary()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4))


def exact(value):
    """The value with its types, so that 1, 1.0 and True differ, and NaN equals itself."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else value.hex())
    return (type(value).__name__, value)


@given(VALUES)
def test_every_value_comes_back_exactly(value):
    assert exact(loads(dumps(value))) == exact(value)


@given(VALUES)
def test_the_text_is_standard_json(value):
    json.loads(dumps(value), parse_constant=refuse)


def refuse(name):
    raise AssertionError(f"{name} is no JSON")


def test_what_json_knows_stands_as_it_is():
    assert dumps({"a": 1, "b": 1.0, "c": [True, None, "x"]}) == '{"a":1,"b":1.0,"c":[true,null,"x"]}'


def test_what_json_does_not_know_is_marked():
    assert (
        dumps([b"\x00\xff", math.inf, -math.inf]) == '[{"$bytes":"AP8="},{"$float":"Infinity"},{"$float":"-Infinity"}]'
    )


def test_a_dict_that_looks_marked_is_escaped():
    assert dumps({"$bytes": "AP8="}) == '{"$dict":{"$bytes":"AP8="}}'
    assert loads(dumps({"$bytes": "AP8="})) == {"$bytes": "AP8="}


def test_a_lone_surrogate_becomes_a_question_mark():
    assert loads(dumps({"a\ud800": ["b\udfff"]})) == {"a?": ["b?"]}


def test_a_null_column_is_no_attributes():
    assert loads_attributes(None) == {}
