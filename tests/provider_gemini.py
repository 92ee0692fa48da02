"""Gemini's wire format: generateContent as JSON, streamGenerateContent as server-sent events."""

from collections.abc import Iterator

from provider_script import Answer, Event, Json, Served, ToolCall


def _usage(answer: Answer) -> Json:
    """Gemini's candidates leave the thoughts out; its total has them. Cached tokens are part of the prompt."""
    return {
        "promptTokenCount": answer.input_tokens,
        "candidatesTokenCount": answer.output_tokens - answer.reasoning_tokens,
        "thoughtsTokenCount": answer.reasoning_tokens,
        "cachedContentTokenCount": answer.cache_read_tokens,
        "totalTokenCount": answer.input_tokens + answer.output_tokens,
    }


def _text(text: str) -> Json:
    return {"text": text}


def _call(call: ToolCall) -> Json:
    return {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}


def _chunk(served: Served, parts: list[Json], **candidate: str) -> Json:
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"index": 0, "content": content, **candidate}],
        "modelVersion": served.model,
        "responseId": served.response_id,
    }


def generate_json(served: Served) -> Json:
    answer = served.answer
    parts = [_text(answer.text)] if answer.text else []
    whole = _chunk(served, parts + [_call(call) for call in answer.tool_calls], finishReason="STOP")
    return {**whole, "usageMetadata": _usage(answer)}


def generate_events(served: Served) -> Iterator[Event]:
    """Each chunk has usage so far; only the last one's output count is whole."""
    answer = served.answer
    half = len(answer.text) // 2
    so_far = _usage(answer)
    so_far = {key: so_far[key] for key in ("promptTokenCount", "cachedContentTokenCount")}
    so_far["totalTokenCount"] = answer.input_tokens
    for text in filter(None, (answer.text[:half], answer.text[half:])):
        yield None, {**_chunk(served, [_text(text)]), "usageMetadata": so_far}
    calls = [_call(call) for call in answer.tool_calls]
    yield None, {**_chunk(served, calls or [_text("")], finishReason="STOP"), "usageMetadata": _usage(answer)}
