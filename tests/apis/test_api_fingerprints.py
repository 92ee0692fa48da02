"""One conversation has one fingerprint, whichever API's wire it is read from."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from wire_requests import WRITERS, Exchange

from otel_runlog import apis
from otel_runlog.fingerprint import canonical, fingerprint_of

WORDS = st.text(min_size=1, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=5,
)
OBJECTS = st.dictionaries(st.text("ab", min_size=1, max_size=2), VALUES, max_size=2)


@st.composite
def exchanges(draw: st.DrawFn, results: st.SearchStrategy[Any]) -> Exchange:
    calls = draw(st.lists(st.tuples(st.sampled_from("fg"), OBJECTS), max_size=3))
    return Exchange(draw(WORDS), draw(WORDS), calls, [draw(results) for _ in calls])


def shuffled(body: Any, random: Random) -> Any:
    """The same JSON with the keys of its objects in another order."""
    if isinstance(body, dict):
        items = [(key, shuffled(value, random)) for key, value in body.items()]
        random.shuffle(items)
        return dict(items)
    return [shuffled(value, random) for value in body] if isinstance(body, list) else body


def canonicals(bodies: Sequence[Any]) -> set[str]:
    return {json.dumps(canonical(apis.request_of_body(body)), sort_keys=True) for body in bodies}


@settings(max_examples=30, deadline=None)
@given(WORDS, st.lists(exchanges(OBJECTS), min_size=1, max_size=2), st.integers(0, 99))
def test_a_conversation_is_one_over_all_apis_and_orders_of_keys(system, said, seed):
    bodies = [write(system, said) for write in WRITERS]
    assert len(canonicals(bodies + [shuffled(body, Random(seed)) for body in bodies])) == 1


@settings(max_examples=20, deadline=None)
@given(WORDS, st.lists(exchanges(VALUES | WORDS), min_size=1, max_size=3))
def test_results_of_any_type_are_one_over_the_apis_that_take_them_as_text(system, said):
    assert len(canonicals([write(system, said) for write in WRITERS[:3]])) == 1


def test_the_fingerprint_of_a_loop_is_pinned_for_each_api():
    said = [Exchange("Weather?", "Let me see.", [("weather", {"city": "Paris"})], [{"temp": 18}])]
    found = [fingerprint_of(apis.request_of_body(write("Be brief.", said))) for write in WRITERS]
    assert found == ["f1:92f302d38cd3e01e6edc2359a5a8384c"] * 4
