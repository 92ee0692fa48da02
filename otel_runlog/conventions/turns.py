"""From a message in any dialect to turns: who spoke, and what, in the words of `conversation`.

One reader for all of it, telling about 25 shapes apart by their form: messages of OTel GenAI, OpenAI Chat, Anthropic,
Gemini, Bedrock, LangChain, Haystack and AI SDK, items of OpenAI Responses, and what instrumentations make of them. The
same readers serve spans, log records and the bodies that clients send, so that one conversation is one value however
it was seen. Thoughts are kept; ids are as they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from otel_runlog.conventions._content import MARKERS
from otel_runlog.conventions._definitions import definitions_of
from otel_runlog.conventions._embeddings import inputs_of
from otel_runlog.conventions._part_values import arguments_of, result_of, value_in
from otel_runlog.conventions._parts import (
    CALL_ID_KEYS,
    Object,
    Parts,
    call_of,
    first_text,
    part_of,
    parts_of,
    text_of,
)
from otel_runlog.conversation import (
    CallPart,
    FinishReason,
    Json,
    LlmAnswer,
    LlmRequest,
    Params,
    Part,
    ResultPart,
    Role,
    TextPart,
    ThinkingPart,
    Turn,
)
from otel_runlog.model import Attributes, Content, LlmIo, Message, Step, StepKind

__all__ = (
    "answer_of",
    "arguments_of",
    "definitions_of",
    "finish_reason_of",
    "request_of",
    "result_of",
    "side_of",
    "text_of",
    "turn_of",
    "turns_of",
)

ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "chatbot": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "tool-call": Role.ASSISTANT,
    "tool-response": Role.USER,
}
"""Every word for who speaks. smolagents sends its `tool-call` and `tool-response` as an assistant's and a user's."""
LANGCHAIN_ENDINGS = ("messagechunk", "message")
"""LangChain names a message by its class: AIMessageChunk, HumanMessage."""
AROUND = ("message", "body", "kwargs", "data", "output")
"""Keys of an object around a message: a choice's, a log record's, LangChain's serialised forms, Bedrock's answer."""
LISTS_AROUND = ("choices", "candidates", "generations", "output", "messages")
"""Keys of a whole answer that hold its messages: Chat, Gemini, LangChain's LLMResult, Responses."""
CONTENT_KEYS = ("parts", "content", "refusal", "message")
"""Keys of a message that hold what it says, the fullest first: GenAI and Gemini, Chat and Anthropic, Cohere."""
MAX_DEPTH = 8
FINISH_REASONS = {
    "stop": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "completed": FinishReason.STOP,
    "complete": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "max_output_tokens": FinishReason.LENGTH,
    "incomplete": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "tool_call": FinishReason.TOOL_CALL,
    "tool_calls": FinishReason.TOOL_CALL,
    "tool_use": FinishReason.TOOL_CALL,
    "function_call": FinishReason.TOOL_CALL,
    "content_filter": FinishReason.CONTENT_FILTER,
    "refusal": FinishReason.CONTENT_FILTER,
    "guardrail_intervened": FinishReason.CONTENT_FILTER,
    "safety": FinishReason.CONTENT_FILTER,
    "error": FinishReason.ERROR,
    "failed": FinishReason.ERROR,
}
"""Why an answer ended, in the words of OTel, OpenAI, Anthropic, Gemini and Bedrock, in lower case with underscores."""
PREVIOUS_RESPONSE = "previous_response_id"
"""The parameter that names the answer which a request goes on from (OpenAI Responses)."""


def turns_of(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """The turns that messages of a span or log record hold, in order. What an emitter hid or left empty is no turn."""
    return tuple([_shown(turn) for m in messages for turn in turn_of(_read(m.raw), m.role) if _shown(turn).parts])


def _shown(turn: Turn) -> Turn:
    if not any(isinstance(p, TextPart) and p.text in MARKERS for p in turn.parts):
        return turn
    return Turn(turn.role, tuple([p for p in turn.parts if not (isinstance(p, TextPart) and p.text in MARKERS)]))


def _read(raw: str) -> Json:
    """What a message was written as: an object or a list; a text of its own is that text."""
    if raw[:1] not in ("{", "["):
        return raw
    value = value_in(raw)
    if isinstance(value, list):
        return value if value and all(isinstance(v, dict) and _is_known(v) for v in value) else raw
    return value if isinstance(value, dict) and _is_known(value) else raw


def _is_known(value: Object) -> bool:
    return _is_message(value) or _inner(value) is not None or part_of(value) is not None


def turn_of(value: Json, default_role: str = "user") -> tuple[Turn, ...]:
    """The turns that one message or item holds: several where results of tools stand beside what a user says."""
    return _turns(value, _role(default_role, Role.USER), 0)


def _turns(value: Json, role: Role, depth: int) -> tuple[Turn, ...]:
    if depth > MAX_DEPTH or value is None:
        return ()
    if isinstance(value, list):
        return tuple([turn for inner in value for turn in _turns(inner, role, depth + 1)])
    if not isinstance(value, dict):
        return _grouped(role, parts_of(value))
    if _is_message(value):
        return _message(value, role)
    inner = _inner(value)
    if inner is not None:
        return _turns(inner, _type_role(value, role), depth + 1)
    found = part_of(value)
    return _grouped(role, parts_of(value) if found is None else found)


def _is_message(value: Object) -> bool:
    kind = value.get("type")
    if "role" in value and ("content" in value or not isinstance(value.get("message"), dict)):
        return True
    if "parts" in value or "tool_calls" in value or kind == "message":
        return True
    return "content" in value and not isinstance(value["content"], dict) and (kind is None or _named(kind) is not None)


def _inner(value: Object) -> Json:
    """What stands inside an object around messages; None where the object is none."""
    for key in AROUND:
        if isinstance(inner := value.get(key), dict):
            return inner
    if isinstance(content := value.get("content"), dict) and "type" not in value:
        return content  # a candidate of Gemini
    for key in LISTS_AROUND:
        if isinstance(listed := value.get(key), list) and "type" not in value:
            return listed
    return None


def _named(word: Json) -> Role | None:
    if not isinstance(word, str):
        return None
    if (known := ROLES.get(word)) is not None:  # nearly always
        return known
    name = word.lower()
    for ending in LANGCHAIN_ENDINGS:
        name = name.removesuffix(ending) or name
    return ROLES.get(name)


def _role(word: Json, default: Role) -> Role:
    return _named(word) or default


def _type_role(value: Object, default: Role) -> Role:
    """Who speaks by an object around the message: LangChain's `type`, or the class at the end of its `id`."""
    named = value.get("id")
    last = named[-1] if isinstance(named, list) and named else None
    return _role(value.get("role"), _role(value.get("type"), _role(last, default)))


def _message(value: Object, default: Role) -> tuple[Turn, ...]:
    default = Role.ASSISTANT if value.get("tool_calls") else default
    role = _role(value.get("role"), _role(value.get("type"), default))
    said = _content(value, role)
    if role is Role.TOOL and not any(isinstance(p, ResultPart) for p in said):
        return (Turn(role, (_told_result(value),)),)
    if role is Role.ASSISTANT:
        said = _with_calls(value, said)
    return _grouped(role, said)


def _content(value: Object, role: Role) -> Parts:
    """The parts of a message: under the first key where something is."""
    for key in CONTENT_KEYS:
        if found := _parts(value.get(key), role):
            return found
    return ()


def _parts(value: Json, role: Role) -> Parts:
    """The parts of a content. Of an answer, what no part of ours can hold (a provider's own search) is left out.

    No replay can serve it again, and the provider, not the program, put it there.
    """
    if role is not Role.ASSISTANT or not isinstance(value, list):
        return parts_of(value)
    found: list[Part] = []
    for one in value:
        found += (part_of(one) or ()) if isinstance(one, dict) else parts_of(one, 1)
    return tuple(found)


def _told_result(value: Object) -> ResultPart:
    """The result of a message that names the call it answers: {"role": "tool", "tool_call_id", "content"}."""
    told = value.get("parts") or value.get("content")
    failed = value.get("status") == "error" or value.get("is_error") is True
    return ResultPart(result_of(told), first_text(value, CALL_ID_KEYS), first_text(value, ("name",)), failed)


def _with_calls(value: Object, said: Parts) -> Parts:
    """An answer's parts with the calls beside them, each call once, and without texts that only repeat a call."""
    beside = [c for call in _calls_beside(value) for c in (call_of(call) if isinstance(call, dict) else ())]
    known = {p.id for p in said if isinstance(p, CallPart)}
    calls = [c for c in beside if not isinstance(c, CallPart) or c.id is None or c.id not in known]
    thoughts = _thoughts_beside(value) if not any(isinstance(p, ThinkingPart) for p in said) else ()
    return _without_copies((*thoughts, *said, *calls))


def _calls_beside(value: Object) -> list[Json]:
    extra = value.get("additional_kwargs")  # LangChain's, where the message itself has none
    for holder in (value, extra if isinstance(extra, dict) else {}):
        if isinstance(calls := holder.get("tool_calls"), list) and calls:
            return calls
        if isinstance(call := holder.get("function_call"), dict):
            return [call]
    return []


def _thoughts_beside(value: Object) -> Parts:
    said = first_text(value, ("reasoning_content", "reasoning"))
    return (ThinkingPart(said),) if said else ()


def _without_copies(parts: Parts) -> Parts:
    """Parts without the texts that are JSON of a call in the same message (Traceloop's LangChain, facts/replay 2.4)."""
    calls = [p for p in parts if isinstance(p, CallPart)]
    if not calls:
        return parts
    return tuple([p for p in parts if not (isinstance(p, TextPart) and _repeats(p.text, calls))])


def _repeats(text: str, calls: list[CallPart]) -> bool:
    if text[:1] != "{" or text[-1:] != "}":
        return False
    value = value_in(text)
    found = part_of(value) if isinstance(value, dict) and "type" in value else None
    return bool(found) and all(isinstance(p, CallPart) and any(_same(p, c) for c in calls) for p in found or ())


def _same(a: CallPart, b: CallPart) -> bool:
    return a.name == b.name and (a.id == b.id if a.id and b.id else a.arguments == b.arguments)


def side_of(part: Part, role: Role) -> Role:
    """Whose a part is: results are a tool's and calls a model's, whoever's message they came in."""
    if isinstance(part, ResultPart):
        return Role.TOOL
    if isinstance(part, CallPart | ThinkingPart):
        return Role.ASSISTANT
    return Role.USER if role is Role.TOOL else role


def _grouped(role: Role, parts: Parts) -> tuple[Turn, ...]:
    """Parts as turns: results are a tool's and calls a model's, whoever's message they came in."""
    if len(parts) == 1:
        return (Turn(side_of(parts[0], role), parts),)
    return tuple([Turn(side, tuple(group)) for side, group in groupby(parts, lambda p: side_of(p, role))])


def request_of(
    io: LlmIo, step: Step, read: Callable[[Sequence[Message]], tuple[Turn, ...]] = turns_of
) -> LlmRequest | None:
    """What a step's model was asked; None where its telemetry carries no prompt, or only the end of one.

    `read` is `turns_of`, or one that remembers messages: each call of a run repeats all that was said before.
    """
    params = _params(step.params)
    previous = params.pop(PREVIOUS_RESPONSE, None)
    remembered = previous if isinstance(previous, str) else None
    # Where only the model that answered is known, as an alias was asked for, nobody knows what was.
    model = step.request_model or (step.model if step.response_model is None else None)
    tools = definitions_of(io.tools)
    if step.kind is StepKind.EMBEDDING:
        inputs = inputs_of(io.input)
        return LlmRequest(operation="embedding", inputs=inputs, model=model, params=params) if inputs else None
    asked = read(io.input)
    if io.completeness is Content.NONE or (io.completeness is Content.ANSWER and not remembered):
        return None
    if not asked and not (io.completeness is Content.FULL and _is_empty(io.input)):
        return None
    turns = read(io.system) + asked
    return LlmRequest(turns=turns, model=model, params=params, tools=tools, previous_response_id=remembered)


def _is_empty(asked: Sequence[Message]) -> bool:
    """Whether a prompt was sent that says nothing: an empty text, of which some emitters keep the role alone."""
    return bool(asked) and not any(m.text or any(marker in m.raw for marker in MARKERS) for m in asked)


def _params(params: Attributes) -> Params:
    return {k: v for k, v in params.items() if not isinstance(v, bytes)}  # type: ignore[misc]


def answer_of(io: LlmIo, step: Step) -> LlmAnswer | None:
    """What a step's model answered; None where its telemetry carries no answer, and for an embedding."""
    if not io.output or io.completeness is Content.NONE or step.kind is StepKind.EMBEDDING:
        return None
    return LlmAnswer(
        parts=tuple([p for turn in turns_of(io.output) for p in turn.parts]),
        finish_reason=finish_reason_of(step.finish_reason or _reason_in(io.output)),
        response_id=step.response_id,
        model=step.response_model or step.model,
        usage=step.usage,
    )


def _reason_in(messages: Sequence[Message]) -> str | None:
    """Why an answer ended, where only its message says so (OTel GenAI 1.37: an output message's `finish_reason`)."""
    for message in messages:
        value = value_in(message.raw) if '"finish_reason"' in message.raw else None
        if isinstance(value, dict) and isinstance(word := value.get("finish_reason"), str):
            return word
    return None


def finish_reason_of(word: str | None) -> FinishReason | None:
    """Why an answer ended, in OTel's words; None for a word that nobody is known to use."""
    return FINISH_REASONS.get(word.lower().replace("-", "_")) if word else None
