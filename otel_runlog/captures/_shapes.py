"""Structs out of plain JSON, types checked. Pure.

msgspec checks all but the fields that may hold any value, whose types it does not know; those are named here. Fields
that are not there have their defaults, names that nobody knows are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from otel_runlog.capture import CapturedLlm, CapturedTool
from otel_runlog.captures._values import Plain, packed, unpacked
from otel_runlog.conversation import (
    CallPart,
    LlmAnswer,
    LlmRequest,
    MediaPart,
    Part,
    ResultPart,
    Role,
    TextPart,
    ThinkingPart,
    ToolDefinition,
    Turn,
)
from otel_runlog.model import RunLog, Step

S = TypeVar("S", bound=msgspec.Struct)
Reader: TypeAlias = Callable[..., S]
"""From plain JSON to a struct; fields given by name are taken as they are. Raises msgspec.ValidationError."""
Named: TypeAlias = dict[str, Any]
"""An object of any values."""


def reader(struct: type[S], **loose: Any) -> Reader[S]:
    """A reader of `struct`; the fields of `loose` are checked by the types given here."""
    fields = []
    for f in msgspec.structs.fields(struct):
        default = {} if f.required else {"default": f.default, "default_factory": f.default_factory}
        fields.append((f.name, loose.get(f.name, f.type), msgspec.field(**default)))
    checked = msgspec.defstruct(struct.__name__, fields)

    def read(value: Plain, **ready: Any) -> S:
        found = msgspec.convert(value, checked)
        return struct(**{name: ready.get(name, getattr(found, name)) for name in checked.__struct_fields__})

    return read


read_run: Final = reader(RunLog, attributes=Named, steps=Any)
read_step: Final = reader(Step, params=Named)
read_llm: Final = reader(CapturedLlm, params=Named, request=Any, answer=Any)
read_request: Final = reader(LlmRequest, params=Named, turns=Any, tools=Any)
read_answer: Final = reader(LlmAnswer, parts=Any)
read_tool: Final = reader(CapturedTool, arguments=Any, result=Any)
read_definition: Final = reader(ToolDefinition, parameters=Any)

_PARTS: Final[Mapping[str, Reader[Part]]] = {
    "text": reader(TextPart),
    "call": reader(CallPart, arguments=Any),
    "result": reader(ResultPart, value=Any),
    "media": reader(MediaPart),
    "thinking": reader(ThinkingPart),
}


class _Turn(msgspec.Struct):
    role: Role
    parts: list[Named] = []


def read_turn(value: Plain) -> Turn:
    """A turn with its parts; parts of kinds that nobody knows are an error, for a turn without them is another one."""
    found = msgspec.convert(value, _Turn)
    return Turn(found.role, tuple([_part(part) for part in found.parts]))


def _part(value: Named) -> Part:
    read = _PARTS.get(str(value.get("type")))
    if read is None:
        raise msgspec.ValidationError(f"a part of type {value.get('type')!r:.40} is not known")
    return read(value)


def checked_request(request: LlmRequest) -> LlmRequest:
    """A request that an application made, its fields of the types that they should have.

    Raises:
        msgspec.ValidationError: some are not, and cannot be.
        CaptureError: it holds what no capture can.
    """
    value = unpacked(packed(msgspec.to_builtins(request, builtin_types=(bytes,))))
    turns = tuple(map(read_turn, msgspec.convert(value["turns"], list[Named])))
    tools = msgspec.convert(value["tools"], list[Named] | None)
    return read_request(value, turns=turns, tools=None if tools is None else tuple(map(read_definition, tools)))


def checked_answer(answer: LlmAnswer) -> LlmAnswer:
    """The same for an answer."""
    value = unpacked(packed(msgspec.to_builtins(answer, builtin_types=(bytes,))))
    return read_answer(value, parts=tuple(map(_part, msgspec.convert(value["parts"], list[Named]))))
