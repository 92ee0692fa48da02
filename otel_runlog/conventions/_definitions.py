"""Tool definitions of any API as ToolDefinition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from otel_runlog.conventions._part_values import value_in
from otel_runlog.conversation import Json, ToolDefinition
from otel_runlog.model import Message

AROUND = ("function", "toolSpec", "tool", "data")
"""Keys that hold a definition: OpenAI Chat, Bedrock, OpenInference, Haystack."""
LISTS_AROUND = ("functionDeclarations", "function_declarations")
"""Gemini's tools hold several functions."""
SCHEMA_KEYS = (
    *("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema"),
    *("parameters_schema", "schema"),
)
MAX_DEPTH = 4


def definitions_of(messages: Sequence[Message]) -> tuple[ToolDefinition, ...] | None:
    """The tools in the definitions that a span carries; None where it carries none, for nobody knows what was sent."""
    if not messages:
        return None
    return tuple([tool for m in messages for tool in definitions_in(value_in(m.raw))])


def definitions_in(value: Json, depth: int = 0) -> Iterator[ToolDefinition]:
    """The tools in one definition, or in a list of them; a bare text is a tool's name."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for inner in value:
            yield from definitions_in(inner, depth + 1)
    elif isinstance(value, str) and value:
        yield ToolDefinition(value)
    elif isinstance(value, dict):
        yield from _of_object(value, depth)


def _of_object(value: dict[str, Json], depth: int) -> Iterator[ToolDefinition]:
    inner = next((i for k in (*AROUND, *LISTS_AROUND) if isinstance(i := value.get(k), dict | list)), None)
    if inner is not None:
        yield from definitions_in(inner, depth + 1)
        return
    name = value.get("name") or value.get("type")  # a provider's own tool has only a type
    if isinstance(name, str) and name:
        said = value.get("description")
        yield ToolDefinition(name, said if isinstance(said, str) else None, _schema(value))


def _schema(value: dict[str, Json]) -> Json:
    found = next((value[k] for k in SCHEMA_KEYS if value.get(k) is not None), None)
    if isinstance(found, str):
        found = value_in(found)
    return found["json"] if isinstance(found, dict) and found.keys() == {"json"} else found
