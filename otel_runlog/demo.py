"""A small agent at work, recorded as any agent is: the OpenTelemetry SDK with RunLogSpanProcessor, and nothing else.

A planner with two tools of its own has a researcher, an agent too, as its third. One of the researcher's tools fails,
and it goes on without. Only the models are not real: each answers from a script, so that no network is needed. Loop,
tools and spans are: the spans carry what the GenAI semantic conventions ask for, messages included.
"""

from __future__ import annotations

import inspect
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Tracer

from otel_runlog import demo_agent
from otel_runlog.config import DISABLED_VARIABLES, ProcessorConfig
from otel_runlog.demo_agent import QUESTION, Agent, Message, Model, Reply, Tool, ToolCall, planner_of, said_in
from otel_runlog.errors import ConfigError
from otel_runlog.processor import RunLogSpanProcessor

SERVICE: Final = "otel-runlog-demo"
QUESTIONS: Final = (QUESTION, "And how high is Mount Everest in feet?")
FILE: Final = "runlog-demo.duckdb"

_CHARACTERS_PER_TOKEN: Final = 4
_FLUSH_MS: Final = 10_000


class ScriptedModel:
    """Says the replies of a script one after another, and counts tokens as a provider would, cache included."""

    def __init__(self, answered_by: str, ids: Iterator[int], script: Sequence[Reply]) -> None:
        self._answered_by, self._ids = answered_by, ids
        self._replies = iter(script)
        self._seen_tokens = 0

    def ask(self, _name: str, instructions: str, history: Sequence[Message], _tools: Mapping[str, Tool]) -> Reply:
        """The next reply of the script, and what it used."""
        reply = next(self._replies)
        calls = tuple(replace(call, id=f"call-{next(self._ids)}") for call in reply.calls)
        asked = _tokens([instructions, *history])
        cached, self._seen_tokens = min(self._seen_tokens, asked), asked
        reply = replace(reply, calls=calls, id=f"demo-{next(self._ids)}-{time.time_ns():x}", model=self._answered_by)
        return replace(reply, input=asked, output=_tokens(said_in(reply)), cached=cached)


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


def write_agent(path: Path) -> None:
    """Write the agent as a program of its own to `path`.

    Raises:
        ConfigError: there is such a file, or it cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(inspect.getsource(demo_agent))
    except OSError as error:
        raise ConfigError(f"cannot write the agent to {path}: {error.strerror}; choose another name") from error


def _planner(tracer: Tracer, sleep: Callable[[float], None]) -> Agent:
    ids = itertools.count(1)
    planner = ScriptedModel("gpt-4o-mini-2024-07-18", ids, PLANNER_SCRIPT)
    researcher = ScriptedModel("claude-sonnet-4-5-20250929", ids, RESEARCHER_SCRIPT)
    return planner_of(
        Model("openai", "gpt-4o-mini", planner.ask),
        Model("anthropic", "claude-sonnet-4-5", researcher.ask),
        tracer,
        sleep,
    )


def _tokens(value: object) -> int:
    return len(json.dumps(value)) // _CHARACTERS_PER_TOKEN
