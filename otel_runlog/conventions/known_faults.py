"""What emitters are known to get wrong: one table, applied once to every reading.

No number that is known to be wrong stands unflagged, and none is flagged without need: a row names the scope, the
versions of it and the condition under which something is wrong. What is certain is repaired, an estimate that poses as
a count is taken away (unknown is None), the rest is flagged. What only a whole trace can tell (tools under a model span
that reports its last call) stands in `counting`. Sources: facts/semconv sections 3, 6 and 7, and the corpus.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable
from typing import NamedTuple

from otel_runlog.conventions import _fault_conditions as on
from otel_runlog.conventions.reading import Reading
from otel_runlog.model import Content, Span

ANY = re.compile(r".*", re.DOTALL)
NUMBERS = re.compile(r"\d+")


class Effect(enum.StrEnum):
    """What a row does with a reading that it is true of."""

    FLAG = "flag"
    """The number stays, with a warning: emitter_fault."""
    PARTIAL = "partial"
    """The numbers are a part of what was served: usage_partial or usage_missing."""
    CUT = "cut"
    """The same, and the answer is a part too."""
    REPAIR = "repair"
    """The value is put right, or taken away where it was invented, with a note."""
    NOTE = "note"
    """What is there is right; what is missing is NULL, and the note says why."""


class Versions(NamedTuple):
    """A range of scope versions: from `first` on, before `before`; "" leaves that side open."""

    first: str = ""
    before: str = ""

    def __contains__(self, version: object) -> bool:
        """Whether a version lies in the range; one without numbers does not."""
        found = _numbers(str(version))
        return bool(found) and _numbers(self.first) <= found and (not self.before or found < _numbers(self.before))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n[:9]) for n in NUMBERS.findall(version)[:4])


class KnownFault(NamedTuple):
    """One row. `scope` is matched whole; `versions` None: every version that was seen; `wrong` may use {reading}."""

    name: str
    scope: re.Pattern[str]
    versions: Versions | None
    condition: Callable[[Span, Reading], bool]
    wrong: str
    effect: Effect
    repair: Callable[[Span, Reading], None] | None = None

    def holds(self, span: Span, reading: Reading) -> bool:
        """Whether the row, which is one of the span's scope, is true of a span's reading."""
        return self.condition(span, reading) and (self.versions is None or span.scope.version in self.versions)


KNOWN_FAULTS: tuple[KnownFault, ...] = (
    KnownFault(
        "traceloop_anthropic_stream",
        re.compile(r"opentelemetry\.instrumentation\.anthropic"),
        None,
        on.is_traceloop_stream,
        "Traceloop's Anthropic streams count message_start's output_tokens twice",
        Effect.FLAG,
    ),
    KnownFault(
        "gemini_cli_thoughts",
        re.compile(r"gemini-cli"),
        None,
        on.says_no_thoughts,
        "output_tokens of Gemini CLI leave the thoughts out",
        Effect.FLAG,
    ),
    KnownFault(
        "openinference_google_loop",
        re.compile(r"openinference\.instrumentation\.google_genai"),
        None,
        on.is_google_loop,
        "Google's automatic function calling: one span for several calls, with the usage of the last",
        Effect.PARTIAL,
    ),
    KnownFault(
        "strands_lifetime",
        re.compile(r"strands\.telemetry\.tracer"),
        None,
        on.is_agent_total,
        "Strands' invoke_agent says what its Agent object used since it was made, not in this run",
        Effect.FLAG,
    ),
    KnownFault(
        "smolagents_lifetime",
        re.compile(r"openinference\.instrumentation\.smolagents"),
        None,
        on.is_agent_total,
        "smolagents' agents say what they used since their last reset, not in this run",
        Effect.FLAG,
    ),
    KnownFault(
        "crewai_lifetime",
        re.compile(r"opentelemetry\.instrumentation\.crewai"),
        None,
        on.is_agent_total,
        "CrewAI's agents count on over all their tasks and crews, not over this run",
        Effect.FLAG,
    ),
    KnownFault(
        "litellm_on_parent",
        ANY,
        None,
        on.is_litellm_on_anothers_span,
        "LiteLLM leaves the last of perhaps several calls on the application's span",
        Effect.PARTIAL,
    ),
    KnownFault(
        "litellm_estimate",
        ANY,
        None,
        on.is_litellm_estimate,
        "LiteLLM estimated {reading.usage.input_tokens} and {reading.usage.output_tokens} tokens itself, "
        "the stream told none",
        Effect.REPAIR,
        on.drop_usage_and_cost,
    ),
    KnownFault(
        "openlit_estimate",
        re.compile(r"openlit\..*"),
        None,
        on.is_openlit_estimate,
        "OpenLIT estimated {reading.usage.input_tokens} and {reading.usage.output_tokens} tokens itself, "
        "the stream told none",
        Effect.REPAIR,
        on.drop_usage_and_cost,
    ),
    KnownFault(
        "openlit_cost_zero",
        re.compile(r"openlit\..*"),
        None,
        on.costs_nothing,
        "OpenLIT writes a cost of 0 for models that it has no price of",
        Effect.REPAIR,
        on.drop_cost,
    ),
    KnownFault(
        "openlit_defaults",
        re.compile(r"openlit\..*"),
        None,
        on.has_openlit_defaults,
        "OpenLIT writes defaults for parameters that were never sent; those are left out",
        Effect.REPAIR,
        on.drop_openlit_defaults,
    ),
    KnownFault(
        "langfuse_defaults",
        re.compile(r"langfuse-sdk"),
        None,
        on.has_langfuse_defaults,
        "Langfuse writes defaults for parameters that were never sent; those are left out",
        Effect.REPAIR,
        on.drop_langfuse_defaults,
    ),
    KnownFault(
        "openai_agents_zeros",
        re.compile(r"(logfire|(openinference|opentelemetry)\.instrumentation(\.genai)?)\.openai_agents"),
        None,
        on.is_answered_for_nothing,
        "openai-agents says 0 tokens of a stream that told none, and its bridges pass that on",
        Effect.REPAIR,
        on.drop_usage,
    ),
    KnownFault(
        "abandoned_stream",
        ANY,
        None,
        on.is_message_start_only,
        "a stream without finish reason has the output_tokens of message_start, made before any answer",
        Effect.CUT,
    ),
    KnownFault(
        "vercel_5_cache",
        re.compile(r"ai"),
        None,
        on.is_old_vercel_without_cache,
        "generateText of AI SDK 5 and before tells no cached and no reasoning tokens: a cost may be estimated too high",
        Effect.NOTE,
    ),
)
"""In the order in which they are applied: what takes numbers away comes before what judges them."""


def apply(span: Span, reading: Reading) -> None:
    """Let every row that is true of `reading` have its effect on it."""
    for fault in _rows_of_scope(span.scope.name):
        if fault.holds(span, reading):
            _take_effect(fault, span, reading)


@functools.lru_cache(maxsize=256)
def _rows_of_scope(scope: str) -> tuple[KnownFault, ...]:
    return tuple(fault for fault in KNOWN_FAULTS if fault.scope.fullmatch(scope))


def _take_effect(fault: KnownFault, span: Span, reading: Reading) -> None:
    words = f"emitter_fault: {fault.wrong.format(reading=reading)}"
    if fault.effect is Effect.FLAG:
        reading.usage_fault = True
        reading.warnings += (words,)
    elif fault.effect in (Effect.PARTIAL, Effect.CUT):
        reading.usage_cut = True
        if fault.effect is Effect.CUT and reading.content in (Content.FULL, Content.ANSWER):
            reading.content = Content.TRUNCATED
    else:
        reading.notes += (words,)
    if fault.repair is not None:
        fault.repair(span, reading)
