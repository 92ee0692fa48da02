"""What OpenAI's APIs share: names of parameters, errors, the model in the path of a deployment."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from otel_runlog.apis._asked import JsonObject
from otel_runlog.apis._wire import as_text
from otel_runlog.conversation import Json, ToolDefinition

PARAMS: Final = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "top_k": ("top_k",),
    "max_tokens": ("max_completion_tokens", "max_tokens", "max_output_tokens"),
    "stop_sequences": ("stop",),
    "frequency_penalty": ("frequency_penalty",),
    "presence_penalty": ("presence_penalty",),
    "seed": ("seed",),
    "choice_count": ("n",),
    "reasoning_effort": ("reasoning_effort",),
}
OUTPUT_TYPES: Final = {"text": "text", "json_object": "json", "json_schema": "json"}
"""OTel's word for each kind of response format."""
ERROR_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_DEPLOYMENT: Final = re.compile(r"/deployments/([^/]+)/")


def model_of(path: str, body: JsonObject) -> str | None:
    """The model asked for: the body's, else Azure's deployment in the path."""
    deployment = _DEPLOYMENT.search(path)
    return as_text(body.get("model")) or (unquote(deployment[1]) if deployment else None)


def output_type(response_format: Json) -> str | None:
    """OTel's output type of a response format; None where it is not told."""
    kind = response_format.get("type") if isinstance(response_format, dict) else None
    return OUTPUT_TYPES.get(kind) if isinstance(kind, str) else None


def definition(tool: JsonObject) -> ToolDefinition:
    """A function's definition; a tool of the provider's own goes by its type."""
    name = as_text(tool.get("name")) or as_text(tool.get("type")) or ""
    return ToolDefinition(name, as_text(tool.get("description")), tool.get("parameters"))


def error(status: int, type_: str | None, message: str) -> JsonObject:
    """OpenAI's error object, in all of its APIs."""
    kind = type_ or ERROR_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")  # noqa: PLR2004
    return {"error": {"message": message, "type": kind, "param": None, "code": type_}}
