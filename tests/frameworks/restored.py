"""Takes off the wrappers that an instrumentation leaves on its targets at uninstrument(), as Traceloop's do."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

Owner = type | ModuleType
"""What a wrapped function is an attribute of."""


def _owners(packages: tuple[str, ...]) -> list[Owner]:
    """The imported modules of these packages and the classes that they define."""
    names = [name for name in sys.modules if name.partition(".")[0] in packages]
    modules = [sys.modules[name] for name in names]
    found = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    return [*modules, *(one for one in found if one.__module__.partition(".")[0] in packages)]


@contextmanager
def restored(*packages: str) -> Iterator[None]:
    """Puts back what was wrapped in these packages while it was open."""
    before = {id(owner): (owner, dict(vars(owner))) for owner in _owners(packages)}
    try:
        yield
    finally:
        for owner, attributes in before.values():
            _restore(owner, attributes)


def _restore(owner: Owner, attributes: dict[str, object]) -> None:
    for name, value in attributes.items():
        now = vars(owner).get(name)
        if now is not value and hasattr(now, "__wrapped__"):
            setattr(owner, name, value)
