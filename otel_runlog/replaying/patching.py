"""Puts a tool's door before a function of a program that does not know of replays, and takes it away again."""

from __future__ import annotations

import importlib
import inspect
from types import TracebackType
from typing import Any, Final, Self

from otel_runlog.errors import ConfigError
from otel_runlog.replaying.tools import Load, replay_tool

_HOW: Final = 'a target is written "package.module:function" or "package.module:Class.method"'
_ABSENT: Final = object()


class Patch:
    """One function with a door before it, until `undo` or the end of the `with` block.

    Names that other modules took with `from module import function` before are theirs and are not changed: name the
    module that calls it.

    Args:
        target: `"package.module:function"` or `"package.module:Class.method"`; the module is imported.
        name: what the model calls the tool; the function's own name unless given.
        load: see `replay_tool`.

    Raises:
        ConfigError: there is no such module, class or function, or a door cannot stand before it.
    """

    def __init__(self, target: str, *, name: str | None = None, load: Load | None = None) -> None:
        module, colon, path = target.partition(":")
        if not (module and colon and path):
            raise ConfigError(f"{target!r} names no function: {_HOW}")
        *outer, self._attribute = path.split(".")
        self.name = name or self._attribute
        self._owner = _inside(target, _module(target, module), outer)
        look = inspect.getattr_static if isinstance(self._owner, type) else getattr  # static methods stay what they are
        current: Any = look(self._owner, self._attribute, _ABSENT)
        if current is _ABSENT:
            raise ConfigError(f"{target!r} names no function: {_said(self._owner)} has no {self._attribute}")
        door = replay_tool(name=self.name, load=load)(current)
        self._before = getattr(self._owner, "__dict__", {}).get(self._attribute, _ABSENT)
        try:
            setattr(self._owner, self._attribute, door)
        except (AttributeError, TypeError) as error:  # classes written in C
            raise ConfigError(f"{target!r} cannot be changed: {error}") from None
        self._is_on = True

    def undo(self) -> None:
        """Take the door away. Once is enough."""
        if not self._is_on:
            return
        self._is_on = False
        if self._before is _ABSENT:
            delattr(self._owner, self._attribute)
        else:
            setattr(self._owner, self._attribute, self._before)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.undo()


def _module(target: str, name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(f"{target!r} names no function: {error}") from None


def _inside(target: str, module: Any, names: list[str]) -> Any:
    found = module
    for name in names:
        inner = getattr(found, name, _ABSENT)
        if inner is _ABSENT:
            raise ConfigError(f"{target!r} names no function: {_said(found)} has no {name}")
        found = inner
    return found


def _said(owner: Any) -> str:
    return str(getattr(owner, "__qualname__", getattr(owner, "__name__", owner)))
