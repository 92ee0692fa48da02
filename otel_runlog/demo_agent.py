"""A planner and its researcher: a small agent over two providers' APIs, traced as any agent is.

It is the agent of `otel-runlog demo`, and stands alone: `otel-runlog demo --agent agent.py` writes it to a file. With
keys it asks the real models. Under `otel-runlog replay RUN -- python agent.py` it gets the answers that were recorded,
without network or keys. Change a prompt, the question or a tool, replay it again, and read what is different.
"""

import inspect
import itertools
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer, get_tracer

QUESTION = "How many Eiffel Towers would have to stand on each other to be as high as Mount Everest?"
PLANNER = "You answer questions. Let the researcher look facts up, and calculate with your tools."
RESEARCHER = "You look facts up and answer in one sentence."
SESSION = "demo-session"

MOST_CALLS = 8
MAX_TOKENS = 1024
TIMEOUT_S = 60

Json = dict[str, Any]
Message = Json
"""A message in the form of gen_ai.input.messages."""
Tool = Callable[..., str]


@dataclass(frozen=True)
class ToolCall:
    """What a model wants done."""

    name: str
    arguments: Json
    id: str = ""


@dataclass(frozen=True)
class Reply:
    """What a model says, a text or calls of tools, and what that used; `cached` is the part of `input` read before."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    id: str = ""
    model: str = ""
    input: int = 0
    output: int = 0
    cached: int = 0


@dataclass(frozen=True)
class Model:
    """A model, and how it is asked: with instructions, the conversation so far and the tools it may call."""

    provider: str
    name: str
    ask: Callable[[str, str, Sequence[Message], Mapping[str, Tool]], Reply]


@dataclass
class Agent:
    """A loop around a model: ask it, do what it wants done, tell it what came of that, until it has the answer."""

    name: str
    instructions: str
    model: Model
    tools: dict[str, Tool]
    tracer: Tracer
    sleep: Callable[[float], None] = time.sleep
    history: list[Message] = field(default_factory=list)

    def run(self, question: str) -> str:
        """The answer to a question."""
        with self.tracer.start_as_current_span(f"invoke_agent {self.name}") as span:
            span.set_attributes(self._about("invoke_agent"))
            self.history.append({"role": "user", "parts": [{"type": "text", "content": question}]})
            for _ in range(MOST_CALLS):
                reply = self._ask()
                if not reply.calls:
                    return reply.text
                self.history.append({"role": "tool", "parts": [self._do(call) for call in reply.calls]})
        raise RuntimeError(f"{self.name} found no answer in {MOST_CALLS} calls")

    def _ask(self) -> Reply:
        with self.tracer.start_as_current_span(f"chat {self.model.name}", kind=SpanKind.CLIENT) as span:
            span.set_attributes(self._about("chat"))
            span.set_attribute("gen_ai.request.max_tokens", MAX_TOKENS)
            span.set_attribute("gen_ai.input.messages", json.dumps(self.history))
            reply = self.model.ask(self.model.name, self.instructions, self.history, self.tools)
            self.sleep(0.01 + reply.output / 4000)
            said = said_in(reply)
            span.set_attributes(
                {
                    "gen_ai.response.model": reply.model,
                    "gen_ai.response.id": reply.id,
                    "gen_ai.response.finish_reasons": [said["finish_reason"]],
                    "gen_ai.usage.input_tokens": reply.input,
                    "gen_ai.usage.output_tokens": reply.output,
                    "gen_ai.usage.cache_read.input_tokens": reply.cached,
                    "gen_ai.output.messages": json.dumps([said]),
                }
            )
        self.history.append(said)
        return reply

    def _do(self, call: ToolCall) -> Json:
        """Call a tool. What goes wrong is told to the model, which may find another way."""
        with self.tracer.start_as_current_span(f"execute_tool {call.name}") as span:
            span.set_attributes(
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": call.name,
                    "gen_ai.tool.call.id": call.id,
                    "gen_ai.tool.call.arguments": json.dumps(call.arguments),
                }
            )
            self.sleep(0.01)
            try:
                result = self.tools[call.name](**call.arguments)
            except Exception as error:  # noqa: BLE001 - whatever a tool raises is the model's to deal with
                result = f"{type(error).__name__}: {error}"
                span.record_exception(error)
                span.set_attribute("error.type", type(error).__qualname__)
                span.set_status(Status(StatusCode.ERROR, str(error)))
            span.set_attribute("gen_ai.tool.call.result", result)
        return {"type": "tool_call_response", "id": call.id, "response": result}

    def _about(self, operation: str) -> dict[str, str]:
        return {
            "gen_ai.operation.name": operation,
            "gen_ai.agent.name": self.name,
            "gen_ai.conversation.id": SESSION,
            "gen_ai.provider.name": self.model.provider,
            "gen_ai.request.model": self.model.name,
            "gen_ai.system_instructions": json.dumps([{"type": "text", "content": self.instructions}]),
            "gen_ai.tool.definitions": json.dumps(definitions_of(self.tools)),
        }


def search(query: str) -> str:
    """Search the web."""
    known = {"eiffel tower height": "The Eiffel Tower is 330 m high.", "mount everest height": "8,849 m (2020 survey)."}
    return known[query.lower()]


def read_page(url: str) -> str:
    """Read a page of the web."""
    raise TimeoutError(f"{url} did not answer within 10 s")


def divide(dividend: float, divisor: float) -> str:
    """Divide two numbers."""
    return f"{dividend / divisor:.1f}"


def metres_to_feet(metres: float) -> str:
    """Convert metres to feet."""
    return f"{metres / 0.3048:,.0f}"


def planner_of(planner: Model, researcher: Model, tracer: Tracer, sleep: Callable[[float], None] = time.sleep) -> Agent:
    """The planner, with the researcher as one of its tools."""
    tools: dict[str, Tool] = {"search": search, "read_page": read_page}
    colleague = Agent("researcher", RESEARCHER, researcher, tools, tracer, sleep)

    def ask_researcher(question: str) -> str:
        """Ask the researcher, who looks facts up."""
        return colleague.run(question)

    own: dict[str, Tool] = {"researcher": ask_researcher, "divide": divide, "metres_to_feet": metres_to_feet}
    return Agent("planner", PLANNER, planner, own, tracer, sleep)


def definitions_of(tools: Mapping[str, Tool]) -> list[Json]:
    """The tools as models are told of them."""
    return [
        {"type": "function", "name": n, "description": t.__doc__, "parameters": _schema(t)} for n, t in tools.items()
    ]


def said_in(reply: Reply) -> Message:
    """A reply as a message of the conversation."""
    parts: list[Json] = [{"type": "text", "content": reply.text}] if reply.text else []
    parts += [{"type": "tool_call", "id": c.id, "name": c.name, "arguments": c.arguments} for c in reply.calls]
    return {"role": "assistant", "parts": parts, "finish_reason": "tool_call" if reply.calls else "stop"}


def ask_openai(model: str, instructions: str, history: Sequence[Message], tools: Mapping[str, Tool]) -> Reply:
    """Ask by OpenAI's Chat Completions API."""
    base = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
    messages = [{"role": "system", "content": instructions}, *itertools.chain(*map(_chat_messages, history))]
    functions = [{"type": d.pop("type"), "function": d} for d in definitions_of(tools)]
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    body = {"model": model, "max_completion_tokens": MAX_TOKENS, "messages": messages, "tools": functions}
    answer = _post(f"{base}/chat/completions", headers, body)
    said, usage = answer["choices"][0]["message"], answer["usage"]
    asked = [(call["id"], call["function"]) for call in said.get("tool_calls") or ()]
    return Reply(
        said["content"] or "",
        tuple(ToolCall(f["name"], json.loads(f["arguments"]), call_id) for call_id, f in asked),
        answer["id"],
        answer["model"],
        usage["prompt_tokens"],
        usage["completion_tokens"],
        (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
    )


def ask_anthropic(model: str, instructions: str, history: Sequence[Message], tools: Mapping[str, Tool]) -> Reply:
    """Ask by Anthropic's Messages API."""
    base = os.environ.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com")
    schemas = [
        {"name": d["name"], "description": d["description"], "input_schema": d["parameters"]}
        for d in definitions_of(tools)
    ]
    messages = [{"role": "assistant" if m["role"] == "assistant" else "user", "content": _blocks(m)} for m in history]
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    body = {"model": model, "max_tokens": MAX_TOKENS, "system": instructions, "messages": messages, "tools": schemas}
    answer = _post(f"{base}/v1/messages", headers, body)
    blocks, usage = answer["content"], answer["usage"]
    cached = usage.get("cache_read_input_tokens") or 0
    return Reply(
        "".join(b["text"] for b in blocks if b["type"] == "text"),
        tuple(ToolCall(b["name"], b["input"], b["id"]) for b in blocks if b["type"] == "tool_use"),
        answer["id"],
        answer["model"],
        usage["input_tokens"] + cached + (usage.get("cache_creation_input_tokens") or 0),
        usage["output_tokens"],
        cached,
    )


def _schema(tool: Tool) -> Json:
    words = {str: "string", float: "number"}
    parameters = {name: {"type": words[p.annotation]} for name, p in inspect.signature(tool).parameters.items()}
    return {"type": "object", "properties": parameters, "required": list(parameters)}


def _chat_messages(message: Message) -> Iterator[Json]:
    parts = message["parts"]
    if message["role"] == "tool":
        yield from ({"role": "tool", "tool_call_id": p["id"], "content": p["response"]} for p in parts)
        return
    text = "".join(p["content"] for p in parts if p["type"] == "text")
    calls = [p for p in parts if p["type"] == "tool_call"]
    functions = [(c["id"], {"name": c["name"], "arguments": json.dumps(c["arguments"])}) for c in calls]
    asked = {"tool_calls": [{"id": i, "type": "function", "function": f} for i, f in functions]} if calls else {}
    yield {"role": message["role"], "content": text or None, **asked}


def _blocks(message: Message) -> list[Json]:
    written = {
        "text": lambda p: {"type": "text", "text": p["content"]},
        "tool_call": lambda p: {"type": "tool_use", "id": p["id"], "name": p["name"], "input": p["arguments"]},
        "tool_call_response": lambda p: {"type": "tool_result", "tool_use_id": p["id"], "content": p["response"]},
    }
    return [written[part["type"]](part) for part in message["parts"]]


def _post(url: str, headers: Mapping[str, str], body: Json) -> Json:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})  # noqa: S310 - the provider's, or the replay's
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310
        answer: Json = json.load(response)
    return answer


def main() -> None:
    """Ask the question."""
    models = Model("openai", "gpt-4o-mini", ask_openai), Model("anthropic", "claude-sonnet-4-5", ask_anthropic)
    try:
        print(planner_of(*models, get_tracer(__name__)).run(QUESTION))  # noqa: T201
    except urllib.error.HTTPError as error:
        sys.exit(f"the model answered {error.code} {error.reason}")


if __name__ == "__main__":
    main()
