"""The model as protobuf messages (proto/runlog/v1/runlog.proto) and back; fields go by the same names in both.

A field that is None is not set, and one that is not set is what the struct has by default. Money is text, an enum's
member `cancelled` is RUN_STATUS_CANCELLED.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, TypeVar, cast

import msgspec
from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]
from google.protobuf.message import Message  # type: ignore[import-untyped]
from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped]

from otel_runlog.model import (
    AgentUsage,
    Attributes,
    AttrValue,
    Content,
    Cost,
    CostStatus,
    RunLog,
    RunStatus,
    Step,
    StepKind,
    StepStatus,
    Usage,
    UsageSource,
)
from otel_runlog.server.pb.runlog.v1 import runlog_pb2 as pb

_Struct = TypeVar("_Struct", bound=msgspec.Struct)

STRUCTS: Final[dict[str, type[msgspec.Struct]]] = {
    "RunLog": RunLog,
    "Step": Step,
    "Usage": Usage,
    "Cost": Cost,
    "AgentUsage": AgentUsage,
}
ENUMS: Final[dict[str, type[StrEnum]]] = {
    "RunStatus": RunStatus,
    "StepStatus": StepStatus,
    "StepKind": StepKind,
    "UsageSource": UsageSource,
    "CostStatus": CostStatus,
    "Content": Content,
}
_INT64: Final = range(-(2**63), 2**63)
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def message_of(struct: RunLog) -> pb.RunLog:
    """A run as a message."""
    message = pb.RunLog()
    _fill(message, struct)
    return message


def run_of(message: pb.RunLog) -> RunLog:
    """The run that a message tells of; `run_of(message_of(run)) == run`."""
    return _struct(message, RunLog)


def list_response(runs: Iterable[RunLog]) -> bytes:
    """A ListRunsResponse."""
    response = pb.ListRunsResponse()
    for run in runs:
        _fill(response.runs.add(), run)
    return cast("bytes", response.SerializeToString())


def get_response(run: RunLog) -> bytes:
    """A GetRunResponse."""
    return cast("bytes", pb.GetRunResponse(run=message_of(run)).SerializeToString())


def _fill(message: Message, struct: msgspec.Struct) -> None:
    for field in message.DESCRIPTOR.fields:
        value = getattr(struct, field.name)
        if value is not None:
            _put(message, field, value)


def _put(message: Message, field: FieldDescriptor, value: Any) -> None:
    place = getattr(message, field.name)
    if field.enum_type is not None:
        setattr(message, field.name, _number(field, value))
    elif field.message_type is None and field.is_repeated:
        place.extend(value)
    elif field.message_type is None:
        setattr(message, field.name, format(value, "f") if isinstance(value, Decimal) else value)
    elif isinstance(value, tuple):
        for item in value:
            _fill(place.add(), item)
    elif field.message_type.GetOptions().map_entry:
        place.update(value)
    else:
        _put_message(place, value)


def _put_message(place: Message, value: Any) -> None:
    place.SetInParent()  # a Usage without any number is not the same as none
    if isinstance(place, Timestamp):
        place.FromDatetime(value)
    elif isinstance(place, pb.Attributes):
        _fill_attributes(place, value)
    else:
        _fill(place, value)


def _fill_attributes(place: pb.Attributes, attributes: Attributes) -> None:
    for key, value in attributes.items():
        _fill_value(place.values[key], value)


def _fill_value(place: pb.Value, value: AttrValue) -> None:
    if isinstance(value, bool):
        place.bool_value = value
    elif isinstance(value, int):
        if value in _INT64:
            place.int_value = value
        else:
            place.big_int_value = str(value)
    elif isinstance(value, float):
        place.double_value = value
    elif isinstance(value, str):
        place.string_value = value
    elif isinstance(value, bytes):
        place.bytes_value = value
    elif isinstance(value, list):
        place.list_value.SetInParent()
        for item in value:
            _fill_value(place.list_value.values.add(), item)
    elif value is not None:
        place.map_value.SetInParent()
        _fill_attributes(place.map_value, value)


def _struct(message: Message, kind: type[_Struct]) -> _Struct:
    return kind(**{f.name: _value(message, f) for f in message.DESCRIPTOR.fields if _is_set(message, f)})


def _is_set(message: Message, field: FieldDescriptor) -> bool:
    return not field.has_presence or bool(message.HasField(field.name))


def _value(message: Message, field: FieldDescriptor) -> Any:
    value = getattr(message, field.name)
    if field.enum_type is not None:
        name = field.enum_type.values_by_number[value].name
        return ENUMS[field.enum_type.name](name.removeprefix(_prefix(field)).lower())
    if field.message_type is None:
        return _scalar(field, value)
    if field.message_type.GetOptions().map_entry:
        return dict(value)
    return tuple(map(_from_message, value)) if field.is_repeated else _from_message(value)


def _from_message(message: Message) -> Any:
    if isinstance(message, Timestamp):
        return message.ToDatetime(tzinfo=dt.UTC)
    if isinstance(message, pb.Attributes):
        return _attributes(message)
    return _struct(message, STRUCTS[message.DESCRIPTOR.name])


def _scalar(field: FieldDescriptor, value: Any) -> Any:
    if field.is_repeated:
        return tuple(cast("Iterable[str]", value))
    return Decimal(value) if field.name.endswith("usd") else value


def _attributes(message: pb.Attributes) -> Attributes:
    return {key: _attribute(value) for key, value in message.values.items()}


def _attribute(message: pb.Value) -> AttrValue:
    name = message.WhichOneof("value")
    if name is None:
        return None
    value = getattr(message, name)
    if isinstance(value, pb.Values):
        return [_attribute(item) for item in value.values]
    if isinstance(value, pb.Attributes):
        return _attributes(value)
    return int(value) if name == "big_int_value" else cast("AttrValue", value)


def _number(field: FieldDescriptor, value: StrEnum) -> int:
    number: int = field.enum_type.values_by_name[_prefix(field) + value.upper()].number
    return number


def _prefix(field: FieldDescriptor) -> str:
    return _WORD.sub("_", field.enum_type.name).upper() + "_"
