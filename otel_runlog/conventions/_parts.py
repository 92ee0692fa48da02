"""From one part of a message, in any dialect, to Part: told apart by its shape, never by who wrote it.

A part names its kind under `type` (OTel GenAI, OpenAI, Anthropic, AI SDK, LangChain) or is an object around what it
holds (Gemini, Bedrock, Haystack). One that is neither is None here.
"""

from __future__ import annotations

from collections.abc import Callable

from otel_runlog.conventions._attrs import dump
from otel_runlog.conventions._part_values import (
    MEDIA_KEYS,
    TEXT_TYPES,
    arguments_of,
    block_text,
    media_of,
    result_of,
)
from otel_runlog.conversation import CallPart, Json, MediaPart, Part, ResultPart, TextPart, ThinkingPart

Object = dict[str, Json]
Parts = tuple[Part, ...]

CALL_TYPES = frozenset(
    {"tool_call", "tool_use", "function_call", "tool-call", "function", "custom_tool_call"}
    | {"local_shell_call", "computer_call", "non_standard_tool_call"}
)
"""OTel GenAI and LangChain; Anthropic; Responses; AI SDK; Chat's entries of tool_calls."""
RESULT_TYPES = frozenset(
    {"tool_call_response", "tool_result", "tool-result", "function_call_output", "custom_tool_call_output"}
    | {"local_shell_call_output", "computer_call_output"}
)
PROVIDERS_OWN = frozenset(
    {"server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"}
    | {"bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result"}
    | {"mcp_tool_use", "mcp_tool_result", "server_tool_call", "server_tool_call_response"}
    | {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"}
    | {"mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "tool_search_call", "tool_search_output"}
)
"""Tools that a provider runs itself, of Anthropic, OTel GenAI and Responses: nothing that the program is asked to do,
and nothing that can be served again."""
THINKING_TYPES = frozenset({"reasoning", "thinking", "redacted_thinking"})
MEDIA_TYPES = frozenset(
    {"blob", "uri", "file", "image", "audio", "video", "document", "media", "binary", "image_url", "input_image"}
    | {"input_audio", "input_file", "image-url", "audio-url", "video-url", "document-url", "input_video"}
    | {"anthropic_image", "anthropic_document"}
)
"""The last two are Anthropic's client's own spans: a type, and neither bytes nor address."""
REFERENCE = "item_reference"
"""Responses: an item that the provider remembers by its id; who knows the items puts them in its place first."""
PROVIDERS_KEYS = ("executableCode", "executable_code", "codeExecutionResult", "code_execution_result")
"""The same in Gemini's parts."""
CALLS_AROUND = ("toolUse", "functionCall", "function_call", "tool_call")
RESULTS_AROUND = ("toolResult", "functionResponse", "function_response", "tool_call_result")
THINKING_AROUND = ("reasoningContent", "reasoningText", "reasoning", "thinking")
NAME_KEYS = ("name", "toolName", "tool_name")
ARGUMENT_KEYS = ("arguments", "args", "input", "parameters")
CALL_ID_KEYS = ("call_id", "tool_call_id", "toolCallId", "toolUseId", "tool_use_id", "id")
"""The id that a result names comes first: in Responses `id` is the item's own (fc_1 for call_1)."""
RESULT_KEYS = ("response", "result", "output", "content", "value")
MAX_DEPTH = 8


def parts_of(value: Json, depth: int = 0) -> Parts:
    """The parts in a message's content: a text, a part, or a list of them. What cannot be read is its JSON as text."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (TextPart(value),)
    if isinstance(value, list) and depth < MAX_DEPTH:
        return tuple([part for inner in value for part in parts_of(inner, depth + 1)])
    if isinstance(value, dict):
        found = part_of(value)
        return found if found is not None else (TextPart(text_of(value)),)
    return (TextPart(text_of(value)),)


def part_of(part: Object) -> Parts | None:
    """What one part holds: nothing where it is hollow; None where it is no part that is known."""
    kind = part.get("type")
    if isinstance(kind, str):
        if kind in TEXT_TYPES:
            return _text_part(part)
        read = _BY_TYPE.get(kind)
        return _around(part) if read is None else read(part)
    return _around(part)


def _around(part: Object) -> Parts | None:
    """A part without a type: what it holds stands under a key of its own."""
    for key, read in () if _BY_KEY.keys().isdisjoint(part) else _BY_KEY.items():
        if isinstance(inner := part.get(key), dict):
            return read(inner)
    if isinstance(said := part.get("text"), str):
        if part.get("thought") is True:  # Gemini
            return (ThinkingPart(said, first_text(part, ("thoughtSignature", "thought_signature"))),)
        return (TextPart(said),) if said else ()
    if any(key in part for key in PROVIDERS_KEYS):
        return ()
    return _media(part) if any(key in part for key in MEDIA_KEYS) else None


def _text_part(part: Object) -> Parts:
    said = block_text(part)
    return (TextPart(said),) if said else ()


def call_of(part: Object) -> Parts:
    """A tool call in any spelling; none where it is hollow, without the tool's name."""
    function = part.get("function")
    inner = function if isinstance(function, dict) else part
    name = first_text(inner, NAME_KEYS) or first_text(part, NAME_KEYS)
    if not name:
        return ()
    arguments = next((inner[k] for k in ARGUMENT_KEYS if inner.get(k) is not None), None)
    return (CallPart(name, arguments_of(arguments), first_text(part, CALL_ID_KEYS)),)


def _result(part: Object) -> Parts:
    origin = part.get("origin")  # Haystack's: the call that it answers
    named = origin if isinstance(origin, dict) else part
    value = next((part[k] for k in RESULT_KEYS if part.get(k) is not None), None)
    if isinstance(value, dict) and value.keys() == {"name", "content"} and value["name"] == part.get("name"):
        value = value["content"]  # what the AI SDK makes of a result for Gemini; its spans have the result alone
    failed = part.get("is_error") is True or part.get("error") is True or part.get("status") == "error"
    return (ResultPart(result_of(value), first_text(named, CALL_ID_KEYS), first_text(named, NAME_KEYS), failed),)


def _thinking(part: Object) -> Parts:
    inner = next((i for k in THINKING_AROUND if isinstance(i := part.get(k), dict)), part)
    said = next((t for k in ("thinking", "text", "content", "reasoning", "summary") if (t := _said(inner.get(k)))), "")
    signature = first_text(inner, ("signature", "encrypted_content", "data"))
    return (ThinkingPart(said, signature),) if said or signature else ()


def _said(value: Json) -> str:
    """The text of a text, or of a list of texts or of parts that say something."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    return "\n".join(t for v in value if (t := v if isinstance(v, str) else block_text(v)))


def _media(part: Object) -> Parts:
    if isinstance(source := part.get("source"), dict) and source.get("type") == "text":
        return parts_of(source.get("data"))  # an Anthropic document of plain text
    return (media_of(part) or MediaPart(),)


def _nothing(_part: Object) -> Parts:
    return ()


def first_text(part: Object, keys: tuple[str, ...]) -> str | None:
    """The first non-empty text under `keys`."""
    for key in keys:
        value = part.get(key)
        if isinstance(value, str) and value:
            return value
    return None


def text_of(value: Json) -> str:
    """A value that is no part, as a person would read it: compact JSON."""
    return dump(value)  # type: ignore[arg-type]


_Read = Callable[[Object], "Parts"]
_KINDS: tuple[tuple[frozenset[str], _Read], ...] = (
    (CALL_TYPES, call_of),
    (RESULT_TYPES, _result),
    (THINKING_TYPES, _thinking),
    (MEDIA_TYPES, _media),
    (PROVIDERS_OWN | {REFERENCE}, _nothing),
)
_AROUND: tuple[tuple[tuple[str, ...], _Read], ...] = (
    (CALLS_AROUND, call_of),
    (RESULTS_AROUND, _result),
    (THINKING_AROUND, _thinking),
)
_BY_TYPE = {kind: read for kinds, read in _KINDS for kind in kinds}
_BY_KEY = {key: read for keys, read in _AROUND for key in keys}
"""One look-up each: a long conversation has thousands of parts."""
