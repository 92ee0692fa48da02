"""Public test doubles: spans as instrumentations write them, without an SDK; models and tools that answer as recorded.

trace = TraceBuilder("one")
boss = trace.agent("boss")
trace.chat("gpt-4o-mini", parent=boss, input_tokens=1000, output_tokens=100)
runs = project(trace.spans)

llm, tools = FakeLlmClient.from_runlog(capture), FakeToolInvoker.from_capture(capture)
my_agent.run(llm, tools)
assert llm.requests[0].system == "You are a planner."
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterable, Sequence
from typing import Self

import msgspec

from otel_runlog.capture import Capture, CapturedLlm
from otel_runlog.conventions.turns import answer_of, request_of
from otel_runlog.conversation import CallError, Json, LlmAnswer, LlmRequest
from otel_runlog.errors import CaptureMissingError, ReplayedLlmError, ReplayedToolError
from otel_runlog.fingerprint import fingerprint_of, lane_of
from otel_runlog.model import (
    Attributes,
    AttrValue,
    Content,
    LlmIo,
    Resource,
    RunLog,
    Scope,
    Span,
    Step,
    StepKind,
    StepStatus,
)
from otel_runlog.replaying.divergence import DivergenceKind, ReplayMode, error_for
from otel_runlog.replaying.doors import Asked, request_from
from otel_runlog.replaying.llm_matching import answerable
from otel_runlog.replaying.matching import Matcher, Missed, ToolMissed

START_NS = 1_795_910_400_000_000_000
"""2026-11-29T00:00:00Z."""
MS = 1_000_000
CLIENT, INTERNAL = 3, 1
STATUS_ERROR = 2


class TraceBuilder:
    """Builds the spans of one trace in OTel GenAI words; each starts 1 ms after the one before it.

    `name` makes the trace id, so that equal names give equal ids; `resource` is what the process says beside its name.
    """

    def __init__(
        self,
        name: str = "trace",
        *,
        start_ns: int = START_NS,
        service: str = "tests",
        resource: Attributes | None = None,
    ) -> None:
        self.trace_id = hashlib.sha256(name.encode()).hexdigest()[:32]
        self.resource = Resource({"service.name": service, **(resource or {})})
        self.spans: list[Span] = []
        self._start_ns = start_ns

    def span(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        parent: Span | str | None = None,
        kind: int = INTERNAL,
        duration_ms: float = 1,
        start_ms: float | None = None,
        scope: str = "tests",
        failed: bool = False,
        flags: int = 0x101,
    ) -> Span:
        """Any span. `parent` is a span or a span id; `start_ms` counts from the trace's start."""
        number = len(self.spans)
        started_ns = self._start_ns + int((number if start_ms is None else start_ms) * MS)
        built = Span(
            trace_id=self.trace_id,
            span_id=hashlib.sha256(f"{self.trace_id}{number}".encode()).hexdigest()[:16],
            parent_span_id=parent.span_id if isinstance(parent, Span) else parent,
            name=name,
            kind=kind,
            started_ns=started_ns,
            ended_ns=started_ns + int(duration_ms * MS),
            status_code=STATUS_ERROR if failed else 0,
            attributes=attributes or {},
            scope=Scope(scope),
            resource=self.resource,
            flags=flags,
        )
        self.spans.append(built)
        return built

    def agent(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        parent: Span | str | None = None,
        duration_ms: float = 100,
        failed: bool = False,
    ) -> Span:
        """An `invoke_agent` span."""
        own: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        return self.span(
            f"invoke_agent {name}", own | (attributes or {}), parent=parent, duration_ms=duration_ms, failed=failed
        )

    def chat(
        self,
        model: str | None,
        attributes: Attributes | None = None,
        *,
        parent: Span | str | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        provider: str | None = None,
        duration_ms: float = 1,
        start_ms: float | None = None,
        scope: str = "tests",
        failed: bool = False,
    ) -> Span:
        """A `chat` span of a client."""
        values: dict[str, AttrValue] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "gen_ai.usage.input_tokens": input_tokens,
            "gen_ai.usage.output_tokens": output_tokens,
        }
        own: Attributes = {k: v for k, v in values.items() if v is not None}
        return self.span(
            f"chat {model}",
            own | (attributes or {}),
            parent=parent,
            kind=CLIENT,
            duration_ms=duration_ms,
            start_ms=start_ms,
            scope=scope,
            failed=failed,
        )

    def tool(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        parent: Span | str | None = None,
        duration_ms: float = 1,
        failed: bool = False,
    ) -> Span:
        """An `execute_tool` span."""
        own: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        return self.span(
            f"execute_tool {name}", own | (attributes or {}), parent=parent, duration_ms=duration_ms, failed=failed
        )


class FakeLlmClient:
    """A model that answers as in a recorded run, for unit tests.

    A request that was recorded gets its answer; another one gets that of the recorded call most like it, and where no
    prompts were recorded the answers come in their order. Once all were given, it raises.

    Attributes:
        requests: what it was asked, in order.
    """

    def __init__(self, capture: Capture) -> None:
        has_prompts = any(call.request is not None for call in capture.llm_io)
        self._matcher = Matcher(capture, mode=ReplayMode.SOFT, key="fingerprint" if has_prompts else "order")
        self.requests: list[LlmRequest] = []

    @classmethod
    def from_runlog(cls, run: RunLog | Capture, llm_io: Sequence[LlmIo] = ()) -> Self:
        """Made of a capture, or of a run and what `project_with_llm_io` gives beside it.

        Raises:
            CaptureMissingError: nothing says what the models answered.
        """
        capture = run if isinstance(run, Capture) else _capture(run, llm_io)
        if not any(map(answerable, capture.llm_io)):
            raise CaptureMissingError(
                f"nothing says what the models of the run {capture.run_id} answered: a RunLog alone holds no texts, "
                "give the LlmIo beside it (project_with_llm_io), or a capture of a run recorded with its contents"
            )
        return cls(capture)

    def complete(self, request: Asked) -> LlmAnswer:
        """The recorded answer.

        Raises:
            ReplayExhausted: it was asked more often than the run asked its models.
            ReplayedLlmError: the recorded call failed.
        """
        asked = request_from(request)
        self.requests.append(asked)
        found = self._matcher.ask(asked)
        call = found.nearest if isinstance(found, Missed) else found.call
        if isinstance(found, Missed) and (found.divergence.kind in _USED_UP or call is None or not answerable(call)):
            raise error_for(found.divergence, found.text)
        assert call is not None
        if call.answer is None:
            raise ReplayedLlmError(call.call_index, call.error or CallError())
        return msgspec.structs.replace(call.answer, response_id=found.response_id)

    async def acomplete(self, request: Asked) -> LlmAnswer:
        """As `complete`, for async agents."""
        return self.complete(request)


class FakeToolInvoker:
    """Tools that give what they gave in a recorded run, for unit tests.

    Attributes:
        calls: what was called, in order: names and arguments.
    """

    def __init__(self, capture: Capture) -> None:
        self._matcher = Matcher(capture)
        self.calls: list[tuple[str, Json]] = []

    @classmethod
    def from_capture(cls, capture: Capture) -> Self:
        """Made of a capture."""
        return cls(capture)

    def invoke(self, name: str, arguments: Json) -> Json:
        """The recorded result of a tool called by this name with these arguments.

        Raises:
            ReplayMismatch: it was called with other arguments.
            ReplayExhausted: it was called more often, or not at all.
            ReplayedToolError: the recorded call failed.
        """
        self.calls.append((name, arguments))
        found = self._matcher.ask_tool(name, arguments)
        if isinstance(found, ToolMissed):
            raise error_for(found.divergence, found.text)
        if found.call.error is not None:
            raise ReplayedToolError(name, found.call.error)
        return found.call.result

    async def ainvoke(self, name: str, arguments: Json) -> Json:
        """As `invoke`, for async agents."""
        return self.invoke(name, arguments)


_USED_UP = frozenset({DivergenceKind.REPEATED, DivergenceKind.EXTRA_CALL})
_EPOCH = dt.datetime.fromtimestamp(0, dt.UTC)


def _capture(run: RunLog, llm_io: Iterable[LlmIo]) -> Capture:
    """As much of a capture as a run's contents make: its model calls."""
    steps = {step.step_index: step for step in run.steps}
    known = [(io, steps[io.step_index]) for io in llm_io if io.step_index in steps]
    calls = tuple(_call(io, step) for io, step in known)
    completeness = max((io.completeness for io, _ in known), key=list(Content).index, default=Content.NONE)
    at = run.finished_at or _EPOCH
    return Capture(run_id=run.run_id, captured_at=at, completeness=completeness, run=run, llm_io=calls)


def _call(io: LlmIo, step: Step) -> CapturedLlm:
    request = request_of(io, step)
    failed = step.status in {StepStatus.FAILED, StepStatus.CANCELLED}
    return CapturedLlm(
        step_index=step.step_index,
        call_index=step.call_index or 0,
        operation="embedding" if step.kind is StepKind.EMBEDDING else "chat",
        fingerprint=None if request is None else fingerprint_of(request),
        lane=None if request is None else lane_of(request),
        request=request,
        answer=answer_of(io, step),
        error=CallError(step.error_type, step.error_message) if failed else None,
        completeness=io.completeness,
        response_id=step.response_id,
    )
