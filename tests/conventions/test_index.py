"""Attributes by field, and the shapes that remember where the fields are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from otel_runlog.conventions._index import MAX_CHARS, Index, shape_of
from otel_runlog.conventions._names import TEXT_FIELDS
from otel_runlog.conventions.reading import Reading

FIELDS = {"name": ("a", "b", "c"), "count": ("n", "m"), "other": ("o",)}
INDEX = Index(FIELDS)
VALUES = st.sampled_from((None, "", " ", "text", 0, 7, -1, "12", True, 2.0, ["text"]))
ATTRIBUTES = st.dictionaries(st.sampled_from("abcnmoxyz"), VALUES)


@given(ATTRIBUTES)
def test_values_are_gathered_by_field_the_preferred_name_first(attributes) -> None:
    found = {field: [attributes[n] for n in names if n in attributes] for field, names in FIELDS.items()}
    assert INDEX.gather(attributes) == {field: values for field, values in found.items() if values}


@given(ATTRIBUTES)
def test_the_first_text_and_the_first_count_of_a_field_are_read(attributes) -> None:
    shape = shape_of(attributes)
    told = {field: [v for v in values if isinstance(v, str) and v.strip()] for field, values in found(attributes)}
    assert INDEX.texts(attributes, shape) == {field: values[0] for field, values in told.items() if values}
    numbers = {0: 0, 7: 7, "12": 12, 2.0: 2}
    told = {f: [numbers[v] for v in vs if type(v) in (int, float, str) and v in numbers] for f, vs in found(attributes)}
    assert INDEX.counts(attributes, shape) == {field: values[0] for field, values in told.items() if values}


def found(attributes):
    return INDEX.gather(attributes).items()


def test_the_same_names_have_one_shape() -> None:
    assert shape_of({"a": 1, "b": 2}) is shape_of({"a": 3, "b": 4})
    assert shape_of({"a": 1, "runlog.x": 2}).starting("runlog.") == ("runlog.x",)


def test_names_with_line_ends_are_not_taken_for_others() -> None:
    assert list(shape_of({"a": 1, "b": 2}).names) == ["a", "b"]
    assert list(shape_of({"a\nb": 1}).names) == ["a\nb"]
    assert list(shape_of({}).names) == []


def test_a_shape_of_long_names_is_not_remembered() -> None:
    long = {"n" * (MAX_CHARS + 1): 1, "a": "text"}
    assert not shape_of(long).is_common
    assert shape_of(long) is not shape_of(long)
    assert INDEX.gather(long) == {"name": ["text"]}


def test_the_texts_of_a_reading_are_called_like_its_fields() -> None:
    assert set(TEXT_FIELDS) <= set(Reading.__struct_fields__)
