"""Gemini generateContent and streamGenerateContent, of the Developer API and of Vertex AI, in camel and snake case.

The path says model and stream. A stream here is one event that holds the whole answer.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from otel_runlog.apis import _gathering, _listing, _reading
from otel_runlog.apis._asked import Asked, JsonObject, Recall, nothing_recalled
from otel_runlog.apis._wire import (
    as_object,
    as_text,
    bare,
    event,
    kind_of,
    objects,
    params_of,
    pick,
    request_body,
    turns_in,
)
from otel_runlog.conversation import (
    CallError,
    CallPart,
    FinishReason,
    Json,
    LlmAnswer,
    LlmRequest,
    Part,
    TextPart,
    ThinkingPart,
    ToolDefinition,
    Turn,
)
from otel_runlog.errors import RequestError
from otel_runlog.model import Usage

NAME: Final = "gemini"
PARAMS: Final = {
    "temperature": ("temperature",),
    "top_p": ("topP", "top_p"),
    "top_k": ("topK", "top_k"),
    "max_tokens": ("maxOutputTokens", "max_output_tokens"),
    "stop_sequences": ("stopSequences", "stop_sequences"),
    "frequency_penalty": ("frequencyPenalty", "frequency_penalty"),
    "presence_penalty": ("presencePenalty", "presence_penalty"),
    "seed": ("seed",),
    "choice_count": ("candidateCount", "candidate_count"),
}
OUTPUT_TYPES: Final = {"application/json": "json", "text/plain": "text"}
FINISH: Final = {
    FinishReason.STOP: "STOP",
    FinishReason.LENGTH: "MAX_TOKENS",
    FinishReason.TOOL_CALL: "STOP",
    FinishReason.CONTENT_FILTER: "SAFETY",
    FinishReason.ERROR: "OTHER",
}
"""The API's word for each; an answer that wants tools has just stopped."""
STATUSES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""google.rpc.Code by HTTP status."""
_PATH: Final = re.compile(r"/(?:models|tunedModels|endpoints)/([^/:]+):(generateContent|streamGenerateContent)$")

model, models = _listing.gemini_model, _listing.gemini_models


def matches(path: str) -> bool:
    """Whether a POST to this path asks for content."""
    return _PATH.search(unquote(bare(path))) is not None


def claims(body: JsonObject) -> bool:
    """Whether a body has contents."""
    return "contents" in body


def parse(path: str, body: Json, recall: Recall = nothing_recalled) -> Asked:  # noqa: ARG001 - it repeats all it needs
    """Read a request."""
    sent = request_body(body, NAME)
    config = as_object(pick(sent, "generationConfig", "generation_config"))
    found = _PATH.search(unquote(bare(path)))
    request = LlmRequest(
        turns=(*_instructions(sent), *_contents(sent)),
        model=found[1] if found else as_text(sent.get("model")),
        params=_params(config),
        tools=tuple(_tools(sent)),
    )
    return Asked(request=request, body=sent, stream=found is not None and found[2] == "streamGenerateContent")


def _params(config: JsonObject) -> dict[str, Json]:
    params = params_of(config, PARAMS)
    mime = pick(config, "responseMimeType", "response_mime_type")
    if isinstance(mime, str) and mime in OUTPUT_TYPES:
        params["output_type"] = OUTPUT_TYPES[mime]
    thinking = as_object(pick(config, "thinkingConfig", "thinking_config"))
    level = pick(thinking, "thinkingLevel", "thinking_level")
    if isinstance(level, str):
        params["reasoning_effort"] = level.lower()
    return params


def _instructions(body: JsonObject) -> tuple[Turn, ...]:
    """A text, a content with parts, or a list of either."""
    told = pick(body, "systemInstruction", "system_instruction")
    if told is None:
        return ()
    return tuple(turn for one in (told if isinstance(told, list) else [told]) for turn in _turns(one, "system"))


def _contents(body: JsonObject) -> tuple[Turn, ...]:
    given = body.get("contents")
    if not isinstance(given, str | list | dict):
        raise RequestError(f"{NAME}: `contents` is {'missing' if 'contents' not in body else kind_of(given)}")
    contents = given if isinstance(given, list) else [given]
    return tuple(turn for content in contents for turn in _turns(content, "user"))


def _turns(content: Json, role: str) -> tuple[Turn, ...]:
    """One content; what stands there alone is its only part. Instructions are that whatever role they name."""
    if not isinstance(content, dict) or "parts" not in content:
        content = {"parts": [{"text": content} if isinstance(content, str) else content]}
    told = role if role == "system" else content.get("role") or role
    return turns_in({**content, "role": told}, role)


def _tools(body: JsonObject) -> Iterator[ToolDefinition]:
    for tool in objects(body.get("tools")):
        functions = pick(tool, "functionDeclarations", "function_declarations")
        for function in objects(functions):
            schema = pick(function, "parametersJsonSchema", "parameters_json_schema", "parameters")
            yield ToolDefinition(as_text(function.get("name")) or "", as_text(function.get("description")), schema)
        if functions is None:
            yield from (ToolDefinition(name) for name in tool)


def render(answer: LlmAnswer, asked: Asked, response_id: str) -> JsonObject:
    """An answer as one candidate."""
    parts = [wire for part in answer.parts if (wire := _part(part)) is not None]
    candidate: JsonObject = {
        "content": {"role": "model", "parts": list(parts) or [{"text": ""}]},
        "finishReason": FINISH[answer.finish_reason or FinishReason.STOP],
        "index": 0,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(answer.usage or Usage()),
        "modelVersion": answer.model or asked.request.model or "",
        "responseId": response_id,
    }


def stream(answer: LlmAnswer, asked: Asked, response_id: str) -> Iterator[bytes]:
    """The same as one event."""
    yield event(render(answer, asked, response_id))


def _part(part: Part) -> JsonObject | None:
    """The API's part; None for what it cannot say without its bytes. Ids are given where they were recorded only."""
    match part:
        case TextPart(text):
            return {"text": text}
        case CallPart(name, arguments, key):
            given: Json = {} if arguments is None else arguments
            call: JsonObject = {"name": name, "args": given if isinstance(given, dict) else {"arguments": given}}
            return {"functionCall": {"id": key, **call} if key else call}
        case ThinkingPart(text, signature):
            signed: JsonObject = {"thoughtSignature": signature} if signature and _is_base64(signature) else {}
            return {"text": text, "thought": True, **signed}
        case _:
            return None


def _is_base64(text: str) -> bool:
    """Clients decode signatures, and refuse an answer whose signature they cannot."""
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _usage(usage: Usage) -> JsonObject:
    """Candidates leave the thoughts out, the total has them; the cache is part of the prompt."""
    thought = usage.reasoning_tokens or 0
    return {
        "promptTokenCount": usage.input_tokens or 0,
        "candidatesTokenCount": max((usage.output_tokens or 0) - thought, 0),
        "thoughtsTokenCount": thought,
        "cachedContentTokenCount": usage.cache_read_tokens or 0,
        "totalTokenCount": usage.total_tokens or 0,
    }


def error(status: int, type_: str | None, message: str) -> JsonObject:
    """Google's error object; `type_` stands in its details, for its status is one of a list."""
    word = STATUSES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")  # noqa: PLR2004
    details: list[Json] = []
    if type_:
        details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": type_, "domain": "runlog"})
    return {"error": {"code": status, "message": message, "status": word, "details": details}}


def read(status: int, content_type: str, body: bytes) -> LlmAnswer | CallError:
    """What the provider answered."""
    return _reading.read(status, content_type, body, _gathering.contents, _reading.contents)
