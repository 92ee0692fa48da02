"""A small agent at work, recorded as any agent is: the OpenTelemetry SDK with RunLogSpanProcessor, and nothing else.

A planner with two tools of its own has a researcher, an agent too, as its third. One of the researcher's tools fails,
and it goes on without. Only the models are not real: each answers from a script, so that no network is needed. Loop,
tools and spans are: the spans carry what the GenAI semantic conventions ask for, messages included.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer

from otel_runlog.config import DISABLED_VARIABLES, ProcessorConfig
from otel_runlog.errors import ConfigError
from otel_runlog.processor import RunLogSpanProcessor

SERVICE: Final = "otel-runlog-demo"
SESSION: Final = "demo-session"
QUESTIONS: Final = (
    "How many Eiffel Towers would have to stand on each other to be as high as Mount Everest?",
    "And how high is Mount Everest in feet?",
)
FILE: Final = "runlog-demo.duckdb"

_CHARACTERS_PER_TOKEN: Final = 4
_MOST_CALLS: Final = 8
_FLUSH_MS: Final = 10_000

Message: TypeAlias = dict[str, object]
"""A message in the form of gen_ai.input.messages."""
Tool: TypeAlias = Callable[..., str]


class ToolCall(msgspec.Struct, frozen=True):
    """What a model wants done."""

    name: str
    arguments: dict[str, object]


class Reply(msgspec.Struct, frozen=True):
    """What a model says: a text, or calls of tools."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class Usage(msgspec.Struct, frozen=True):
    """What a call of a model used; `cached` is the part of `input` that the model had read before."""

    input: int
    output: int
    cached: int


class ScriptedModel:
    """Says the replies of a script one after another, and counts tokens as a provider would, cache included."""

    def __init__(self, provider: str, name: str, answered_by: str, script: Sequence[Reply]) -> None:
        self.provider, self.name, self.answered_by = provider, name, answered_by
        self._replies = iter(script)
        self._seen_tokens = 0

    def answer(self, messages: Sequence[Message]) -> tuple[Reply, Usage]:
        """The next reply of the script, and what it used."""
        reply = next(self._replies)
        said = _tokens(messages)
        usage = Usage(input=said, output=_tokens(_output(reply)), cached=min(self._seen_tokens, said))
        self._seen_tokens = said
        return reply, usage


class Agent(msgspec.Struct):
    """A loop around a model: ask it, do what it wants done, tell it what came of that, until it has the answer."""

    name: str
    instructions: str
    model: ScriptedModel
    tools: dict[str, Tool]
    tracer: Tracer
    sleep: Callable[[float], None]
    ids: Iterator[int]
    history: list[Message] = []

    def run(self, question: str) -> str:
        """The answer to a question."""
        with self.tracer.start_as_current_span(f"invoke_agent {self.name}") as span:
            span.set_attributes(self._about("invoke_agent"))
            self.history.append(_message("user", question))
            for _ in range(_MOST_CALLS):
                reply = self._ask()
                if not reply.calls:
                    return reply.text
                self.history += [self._do(call) for call in reply.calls]
        raise RuntimeError(f"{self.name} found no answer in {_MOST_CALLS} calls")

    def _ask(self) -> Reply:
        model = self.model
        with self.tracer.start_as_current_span(f"chat {model.name}", kind=SpanKind.CLIENT) as span:
            span.set_attributes(self._about("chat"))
            span.set_attribute("gen_ai.input.messages", json.dumps(self.history))
            reply, usage = model.answer([_message("system", self.instructions), *self.history])
            self.sleep(0.01 + usage.output / 4000)
            span.set_attributes(
                {
                    "gen_ai.response.model": model.answered_by,
                    "gen_ai.response.id": f"demo-{next(self.ids)}-{time.time_ns():x}",
                    "gen_ai.response.finish_reasons": ["tool_call" if reply.calls else "stop"],
                    "gen_ai.usage.input_tokens": usage.input,
                    "gen_ai.usage.output_tokens": usage.output,
                    "gen_ai.usage.cache_read.input_tokens": usage.cached,
                    "gen_ai.output.messages": json.dumps(_output(reply)),
                }
            )
        self.history += _output(reply)
        return reply

    def _do(self, call: ToolCall) -> Message:
        """Call a tool. What goes wrong is told to the model, which may find another way."""
        call_id = f"call-{next(self.ids)}"
        with self.tracer.start_as_current_span(f"execute_tool {call.name}") as span:
            span.set_attributes(
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": call.name,
                    "gen_ai.tool.call.id": call_id,
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
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": result}]}

    def _about(self, operation: str) -> dict[str, str]:
        instructions = [{"type": "text", "content": self.instructions}]
        definitions = [
            {"type": "function", "name": name, "description": tool.__doc__} for name, tool in self.tools.items()
        ]
        return {
            "gen_ai.operation.name": operation,
            "gen_ai.agent.name": self.name,
            "gen_ai.conversation.id": SESSION,
            "gen_ai.provider.name": self.model.provider,
            "gen_ai.request.model": self.model.name,
            "gen_ai.system_instructions": json.dumps(instructions),
            "gen_ai.tool.definitions": json.dumps(definitions),
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


RESEARCHER_SCRIPT: Final = (
    Reply(calls=(ToolCall("search", {"query": "Eiffel Tower height"}),)),
    Reply(calls=(ToolCall("read_page", {"url": "https://example.org/everest"}),)),
    Reply(calls=(ToolCall("search", {"query": "Mount Everest height"}),)),
    Reply("The Eiffel Tower is 330 m high, Mount Everest 8,849 m."),
)
PLANNER_SCRIPT: Final = (
    Reply(calls=(ToolCall("researcher", {"question": "How high are the Eiffel Tower and Mount Everest?"}),)),
    Reply(calls=(ToolCall("divide", {"dividend": 8849, "divisor": 330}),)),
    Reply("About 27: Mount Everest is 8,849 m high, the Eiffel Tower 330 m, which makes 26.8."),
    Reply(calls=(ToolCall("metres_to_feet", {"metres": 8849}),)),
    Reply("Mount Everest is 29,032 feet high."),
)


def run_demo(db: Path, *, sleep: Callable[[float], None] = time.sleep) -> list[str]:
    """Ask the planner two questions in one session and record it in `db`; returns its answers.

    Args:
        db: the store.
        sleep: stands for the time that models and tools take.

    Raises:
        ConfigError: the environment switches recording off.
    """
    if ProcessorConfig.from_arguments(db).disabled:
        raise ConfigError(f"nothing is recorded while {' or '.join(DISABLED_VARIABLES)} is true: unset it")
    processor = RunLogSpanProcessor(db)
    try:
        return converse(processor, sleep=sleep)
    finally:
        processor.force_flush(_FLUSH_MS)
        processor.shutdown()


def converse(processor: SpanProcessor, *, sleep: Callable[[float], None] = time.sleep) -> list[str]:
    """The same with a span processor of one's own."""
    resource = Resource.create({"service.name": SERVICE})
    provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(processor)
    planner = _planner(provider.get_tracer(__name__), sleep)
    return [planner.run(question) for question in QUESTIONS]


def fresh_file(folder: Path) -> Path:
    """A name in a folder that no store or journal has: runlog-demo.duckdb, else runlog-demo-2.duckdb and so on."""
    stem, suffix = FILE.rsplit(".", 1)
    names = itertools.chain([FILE], (f"{stem}-{number}.{suffix}" for number in itertools.count(2)))
    paths = (folder / name for name in names)
    return next(path for path in paths if not path.exists() and not path.with_name(f"{path.name}.journal").exists())


def _planner(tracer: Tracer, sleep: Callable[[float], None]) -> Agent:
    ids = itertools.count(1)
    researcher = Agent(
        name="researcher",
        instructions="You look facts up and answer in one sentence.",
        model=ScriptedModel("anthropic", "claude-sonnet-4-5", "claude-sonnet-4-5-20250929", RESEARCHER_SCRIPT),
        tools={"search": search, "read_page": read_page},
        tracer=tracer,
        sleep=sleep,
        ids=ids,
    )

    def ask_researcher(question: str) -> str:
        """Ask the researcher, who looks facts up."""
        return researcher.run(question)

    return Agent(
        name="planner",
        instructions="You answer questions. Let the researcher look facts up, and calculate with your tools.",
        model=ScriptedModel("openai", "gpt-4o-mini", "gpt-4o-mini-2024-07-18", PLANNER_SCRIPT),
        tools={"researcher": ask_researcher, "divide": divide, "metres_to_feet": metres_to_feet},
        tracer=tracer,
        sleep=sleep,
        ids=ids,
    )


def _message(role: str, content: str) -> Message:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def _output(reply: Reply) -> list[Message]:
    parts: list[dict[str, object]] = [{"type": "text", "content": reply.text}] if reply.text else []
    parts += [{"type": "tool_call", "name": call.name, "arguments": call.arguments} for call in reply.calls]
    return [{"role": "assistant", "parts": parts, "finish_reason": "tool_call" if reply.calls else "stop"}]


def _tokens(value: object) -> int:
    return len(json.dumps(value)) // _CHARACTERS_PER_TOKEN
