"""Values, callbacks and spans that no instrumentation should make, and some do."""

import sys

from hypothesis import strategies as st


class Given(BaseException):
    """A BaseException that is no Exception."""


BASE_EXCEPTIONS = (ValueError, RecursionError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit, Given)


def _raises(*arguments):
    raise Given


class Raising:
    """Everything one may ask of it raises."""

    __str__ = __repr__ = __eq__ = __len__ = __bool__ = __iter__ = __getitem__ = __int__ = __index__ = _raises
    __hash__ = _raises


class RaisingText(str):
    """Text whose methods raise, in a subclass as lazy translations are."""

    __slots__ = ()
    __str__ = __repr__ = __eq__ = __len__ = __bool__ = __iter__ = encode = isascii = _raises
    __hash__ = str.__hash__


class RaisingInt(int):
    __str__ = __repr__ = __eq__ = __bool__ = __index__ = __int__ = __mod__ = __le__ = _raises
    __hash__ = int.__hash__


class RaisingDict(dict):
    items = keys = values = __iter__ = __len__ = __bool__ = copy = _raises


def nested(depth):
    value = "core"
    for _ in range(depth):
        value = [value]
    return value


def cycle():
    value = {"a": 1}
    value["self"] = [value]
    return value


def odd_values():
    """Values of all sorts, made when called: hostile objects must not be seen by a test's reporting."""
    return [
        *("\ud800", "a\udfff\x00b", "", "x" * 1_000_000, b"\xff\x00", b"", bytearray(b"x"), memoryview(b"x")),
        *(2**70, -(2**70), 2**63, 10**5000, float("nan"), float("inf"), -0.0, True, None, 1j),
        *(nested(30), nested(300), nested(2_000), cycle(), [cycle()], {1: 2}, {None: "x"}, {"a": {"b": "c"}}, []),
        *(("a", 1, None, b"x"), {"": "x"}, object(), sys, Raising(), [Raising()], {"k": Raising()}),
        *(RaisingText("sub"), RaisingInt(5), RaisingDict(a=1), {1, 2}, range(3), lambda: None, Given()),
    ]


HOW_MANY_ODD = len(odd_values())
odd = st.integers(0, HOW_MANY_ODD - 1)
text = st.text(st.characters(exclude_categories=()), max_size=30)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text | st.integers(), inner, max_size=4),
    max_leaves=20,
)
