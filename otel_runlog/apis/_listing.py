"""Lists of models, in each provider's form: a replay knows those that its recording names."""

from __future__ import annotations

from collections.abc import Sequence

from otel_runlog.apis._asked import JsonObject
from otel_runlog.apis._wire import CREATED

_DAY_0 = "1970-01-01T00:00:00Z"


def openai_model(name: str) -> JsonObject:
    """One model."""
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "recorded"}


def openai_models(names: Sequence[str]) -> JsonObject:
    """All of them."""
    return {"object": "list", "data": [openai_model(name) for name in names]}


def anthropic_model(name: str) -> JsonObject:
    """One model."""
    return {"type": "model", "id": name, "display_name": name, "created_at": _DAY_0}


def anthropic_models(names: Sequence[str]) -> JsonObject:
    """All of them, on one page."""
    first, last = (names[0], names[-1]) if names else (None, None)
    data = [anthropic_model(name) for name in names]
    return {"data": [*data], "has_more": False, "first_id": first, "last_id": last}


def gemini_model(name: str) -> JsonObject:
    """One model."""
    methods = ["generateContent", "streamGenerateContent"]
    return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": [*methods]}


def gemini_models(names: Sequence[str]) -> JsonObject:
    """All of them, on one page."""
    return {"models": [gemini_model(name) for name in names]}
