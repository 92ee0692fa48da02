"""Attributes by field: for every field its names in order of preference, all looked up in one pass.

Emitters write few sets of names. What names alone tell is worked out once a set (a shape), and then looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from otel_runlog.conventions._attrs import text, whole
from otel_runlog.model import Attributes, AttrValue

Found: TypeAlias = dict[str, list[AttrValue]]
"""The values of each field that a span carries, the preferred name's first."""
MAX_NAMES, MAX_CHARS = 128, 4_096
"""Shapes of more names, or of longer ones altogether, are not remembered: nobody may fill the memory with them."""
SHAPES_REMEMBERED = 512


class Names(NamedTuple):
    """The fields of an index that stand in a shape: those that have one name there, and those that have several."""

    single: tuple[tuple[str, str], ...]
    several: tuple[tuple[str, tuple[str, ...]], ...]


NOTHING = Names((), ())


class Shape:
    """The names of some attributes. `is_common`: it is remembered, so that it may be a key of what depends on it."""

    def __init__(self, names: Sequence[str], *, is_common: bool) -> None:
        self.names = names
        self.is_common = is_common
        self._fields: dict[Index, Names] = {}
        self._starting: dict[str, tuple[str, ...]] = {}

    def fields(self, index: Index) -> Names:
        """The fields of an index that stand in it."""
        found = self._fields.get(index)
        if found is None:
            found = self._fields[index] = index.fields_in(self.names)
        return found

    def starting(self, prefix: str) -> tuple[str, ...]:
        """The names that start with a prefix."""
        found = self._starting.get(prefix)
        if found is None:
            found = self._starting[prefix] = tuple(name for name in self.names if name.startswith(prefix))
        return found


_SHAPES: dict[tuple[str, ...], Shape] = {}


def shape_of(attributes: Attributes) -> Shape:
    """The shape of some attributes, the same object for the same names in the same order."""
    names = tuple(attributes)
    shape = _SHAPES.get(names)
    return _new_shape(names) if shape is None else shape


def _new_shape(names: tuple[str, ...]) -> Shape:
    if len(names) > MAX_NAMES or sum(map(len, names)) > MAX_CHARS:
        return Shape(names, is_common=False)
    if len(_SHAPES) >= SHAPES_REMEMBERED:
        _SHAPES.clear()
    return _SHAPES.setdefault(names, Shape(names, is_common=True))


class Index:
    """A registry of names turned around: asking for each name by itself takes three times as long."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        self._names_of = fields
        self._field_of = {name: field for field, names in fields.items() for name in names}

    def __iter__(self) -> Iterator[str]:
        return iter(self._field_of)

    def fields_in(self, names: Sequence[str]) -> Names:
        """The fields that stand among some names, each with those it has there, the preferred first."""
        present = self._field_of.keys() & names
        if not present:
            return NOTHING
        found = [(field, tuple(n for n in own if n in present)) for field, own in self._names_of.items()]
        single = tuple((field, own[0]) for field, own in found if len(own) == 1)
        return Names(single, tuple((field, own) for field, own in found if len(own) > 1))

    def gather(self, attributes: Attributes, shape: Shape | None = None) -> Found:
        """The values in `attributes` by field. `shape`: theirs, where it is known already."""
        fields = (shape or shape_of(attributes)).fields(self)
        found: Found = {field: [attributes[name]] for field, name in fields.single}
        for field, names in fields.several:
            found[field] = [attributes[name] for name in names]
        return found

    def texts(self, attributes: Attributes, shape: Shape) -> dict[str, str]:
        """The first non-empty string of each field."""
        fields = shape.fields(self)
        found = {field: v for field, name in fields.single if isinstance(v := attributes[name], str) and v.strip()}
        for field, names in fields.several:
            if (value := text(attributes, names)) is not None:
                found[field] = value
        return found

    def known(self, attributes: Attributes, shape: Shape) -> Attributes:
        """The first value of each field that is not None, in the order of the fields."""
        fields = shape.fields(self)
        found: Attributes = {field: v for field, name in fields.single if (v := attributes[name]) is not None}
        if not fields.several:
            return found
        for field, names in fields.several:
            if (value := next((v for name in names if (v := attributes[name]) is not None), None)) is not None:
                found[field] = value
        return {field: found[field] for field in self._names_of if field in found}

    def counts(self, attributes: Attributes, shape: Shape) -> dict[str, int]:
        """The first whole number of each field."""
        fields = shape.fields(self)
        if fields is NOTHING:
            return {}
        found = {field: n for field, name in fields.single if (n := whole(attributes[name])) is not None}
        for field, names in fields.several:
            numbers = (whole(attributes[name]) for name in names)
            if (n := next((n for n in numbers if n is not None), None)) is not None:
                found[field] = n
        return found


def first_text(found: Found, field: str) -> str | None:
    """The first non-empty string of a field."""
    for value in found.get(field, ()):
        if isinstance(value, str) and value.strip():
            return value
    return None
