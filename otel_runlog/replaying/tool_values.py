"""Arguments and results of Python functions as JSON, and back."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from otel_runlog.conversation import Json
from otel_runlog.replaying.comparing import same
from otel_runlog.replaying.tool_words import ToolQuestion

_RECEIVERS: Final = ("self", "cls")
_POSITIONAL: Final = "args"
_PLAIN: Final = (str, int, float, bool, type(None))


def to_json(value: object, *, only_set: bool = False) -> Json:
    """A value as JSON says it; data classes, pydantic models, dates, sets and the like by their content.

    Args:
        value: the value.
        only_set: leave out what a pydantic model was not given but has by default, as the arguments of a call.

    Raises:
        TypeError: JSON cannot say it.
    """

    def dumped(inner: object) -> object:
        dump = getattr(inner, "model_dump", None)  # pydantic
        if not callable(dump) or isinstance(inner, type):
            raise TypeError(f"{type(inner).__name__} is nothing that JSON can say")
        return dump(mode="json", exclude_unset=only_set)

    try:
        return _with_lists(msgspec.to_builtins(value, str_keys=True, enc_hook=dumped))
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise TypeError(str(error)) from None


def _with_lists(value: Any) -> Json:
    """JSON has no tuples, which msgspec leaves as they are."""
    if isinstance(value, list | tuple):
        return [_with_lists(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    found: Json = value
    return found


def question(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ToolQuestion:
    """What a tool is called with, by the names of its parameters.

    `self`, `cls` and what JSON cannot say (contexts, clients) are left out. Parameters that the call leaves to their
    defaults are told apart: a recording may hold them or not.
    """
    signature = _signature(function)
    given = _unnamed(args, kwargs) if signature is None else _named(signature, args, kwargs)
    defaults = {} if signature is None else _defaults(signature)
    arguments = _sayable(given)
    injected = frozenset(key for key in arguments if not isinstance(given[key], _PLAIN))
    return ToolQuestion(name=name, arguments=arguments, defaults=_sayable(defaults), injected=injected)


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # written in C, without one
        return None


def _unnamed(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {**({_POSITIONAL: list(args)} if args else {}), **kwargs}


def _named(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    try:
        bound = signature.bind_partial(*args, **kwargs)
    except TypeError:  # what wraps the function takes others than the function does, or the call is wrong
        return _unnamed(args, kwargs)
    for position, (key, value) in enumerate(bound.arguments.items()):
        if signature.parameters[key].kind is inspect.Parameter.VAR_KEYWORD:
            found |= value
        elif position or key not in _RECEIVERS:
            found[key] = value
    return found


def _defaults(signature: inspect.Signature) -> dict[str, Any]:
    parameters = signature.parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def _sayable(values: Mapping[str, Any]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in values.items():
        try:
            found[key] = to_json(value, only_set=True)
        except TypeError:
            continue
    return found


def loader_of(function: Callable[..., Any]) -> Callable[[Json], Any]:
    """What makes of a recorded result the type that a function says it returns.

    A recording holds what a text says where that is JSON, so a function that returns `str` gets its text back. Data
    classes and pydantic models are made again. Where that cannot be done, and for all other types, it is the JSON.
    """
    returned = _returned(function)
    if returned is str:
        return _as_text
    if isinstance(returned, type) and callable(validate := getattr(returned, "model_validate", None)):
        return lambda value: _tried(validate, value)
    if isinstance(returned, type) and (
        hasattr(returned, "__dataclass_fields__") or issubclass(returned, msgspec.Struct)
    ):
        return lambda value: _tried(lambda v: msgspec.convert(v, returned), value)
    return lambda value: value


def _returned(function: Callable[..., Any]) -> object:
    try:
        return typing.get_type_hints(inspect.unwrap(getattr(function, "func", function))).get("return")
    except Exception:  # noqa: BLE001 - names that exist for type checkers only, objects without annotations
        return None


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _tried(make: Callable[[Json], Any], value: Json) -> Any:
    try:
        return make(value)
    except Exception:  # noqa: BLE001 - whatever a class says to data that is not its own
        return value


def recorded_form(asked: ToolQuestion, recorded: Sequence[Json]) -> Json:
    """The arguments of a call in the form of a recording of that tool.

    A recording holds what the model sent. A framework adds defaults, contexts and states to that, so what a recording
    lacks plays no part where it is a default, None, or no plain value; a parameter that the recording has and the call
    does not counts with its default. Where no recording has the same arguments, what none of them names is left out by
    the same rule.

    Args:
        asked: the call.
        recorded: the arguments of the recorded calls of that tool.
    """
    exact = next((arguments for arguments in recorded if _is_call_of(asked, arguments)), None)
    if exact is not None:
        return exact
    named = {key for arguments in recorded if isinstance(arguments, dict) for key in arguments}
    return {key: value for key, value in asked.arguments.items() if key in named or not _may_be_added(asked, key)}


def _is_call_of(asked: ToolQuestion, recorded: Json) -> bool:
    if not isinstance(recorded, dict):
        values = list(asked.arguments.values())
        return len(values) == 1 and same(values[0], recorded)
    everything = {**asked.defaults, **asked.arguments}
    extra = asked.arguments.keys() - recorded.keys()
    return all(key in everything and same(everything[key], value) for key, value in recorded.items()) and all(
        _may_be_added(asked, key) for key in extra
    )


def _may_be_added(asked: ToolQuestion, key: str) -> bool:
    value = asked.arguments[key]
    is_default = key in asked.defaults and same(value, asked.defaults[key])
    return is_default or value is None or key in asked.injected
