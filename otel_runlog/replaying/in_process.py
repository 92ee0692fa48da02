"""Replays in process, without a server: recorded requests given to a client, or recorded answers given to an agent.

    replay(capture, llm=MyClient(), tools=MyTools())         # does the client still answer what was recorded?
    agent.run(client=ReplayLlmClient(capture))               # does the agent still ask what was recorded?

What does not pass a model or a tool (the clock, randomness, files, other network calls) is not replayed.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from otel_runlog.capture import Capture, CapturedLlm
from otel_runlog.conversation import CallError, LlmAnswer
from otel_runlog.errors import ConfigError, ReplayedLlmError
from otel_runlog.replaying.asking_again import Asserting, Reporting, ask_again
from otel_runlog.replaying.divergence import DivergenceReport, ReplayMode, error_for, mode_of
from otel_runlog.replaying.doors import (
    Asked,
    LlmClient,
    Steps,
    ToolInvoker,
    answer_from,
    request_from,
    run_async,
    run_sync,
)
from otel_runlog.replaying.llm_matching import answerable
from otel_runlog.replaying.matching import Key, Matcher, Missed, Redact
from otel_runlog.replaying.requirements import check_replayable

__all__ = (
    "LlmClient",
    "ReplayLlmClient",
    "ToolInvoker",
    "replay",
    "replay_async",
    "replay_with_divergence",
    "replay_with_divergence_async",
)


def replay(capture: Capture, llm: LlmClient, tools: ToolInvoker | None = None, *, redact: Redact | None = None) -> str:
    """Ask a client and tools again what was asked in a recorded run, in call order, and compare what they give.

    Texts must be the same to the byte, tool calls in name, arguments and (where recorded) id, tools' results as JSON.
    A call that failed must fail. What is async is awaited, in one event loop of its own.

    Args:
        capture: the recorded run.
        llm: gets every recorded request; `complete(request)` as in LlmClient.
        tools: gets every recorded tool call; None: those are left out.
        redact: changes what comes as the recorder's redactor did; None: by the capture's own rules.

    Returns:
        The text of the last answer.

    Raises:
        ReplayMismatch: what came is not what was recorded.
        ReplayExhausted: the client itself says that it has no more answers.
        NoLlmCall: the capture has no model call.
        CaptureMissingError: a model call was recorded without its request or answer.
        ConfigError: something is async and an event loop runs here: await `replay_async`.
    """
    return run_sync(ask_again(capture, llm, tools, Asserting(capture, redact), redact), instead="replay_async")


async def replay_async(
    capture: Capture, llm: LlmClient, tools: ToolInvoker | None = None, *, redact: Redact | None = None
) -> str:
    """As `replay`, in the running event loop."""
    return await run_async(ask_again(capture, llm, tools, Asserting(capture, redact), redact))


def replay_with_divergence(
    capture: Capture,
    llm: LlmClient,
    tools: ToolInvoker | None = None,
    mode: ReplayMode = ReplayMode.STRICT,
    *,
    redact: Redact | None = None,
) -> DivergenceReport:
    """As `replay`, but go on after a difference and tell all of them.

    Args:
        capture: the recorded run.
        llm: gets every recorded request.
        tools: gets every recorded tool call; None: those are not compared.
        mode: `live` where the client is the real model: its calls then count as live, not as served.
        redact: changes what comes as the recorder's redactor did; None: by the capture's own rules.

    Raises:
        NoLlmCall: the capture has no model call.
        ConfigError: something is async and an event loop runs here: await `replay_with_divergence_async`.
    """
    told = Reporting(capture, mode, redact)
    run_sync(ask_again(capture, llm, tools, told, redact), instead="replay_with_divergence_async")
    return told.report(has_tools=tools is not None)


async def replay_with_divergence_async(
    capture: Capture,
    llm: LlmClient,
    tools: ToolInvoker | None = None,
    mode: ReplayMode = ReplayMode.STRICT,
    *,
    redact: Redact | None = None,
) -> DivergenceReport:
    """As `replay_with_divergence`, in the running event loop."""
    told = Reporting(capture, mode, redact)
    await run_async(ask_again(capture, llm, tools, told, redact))
    return told.report(has_tools=tools is not None)


class ReplayLlmClient:
    """Answers an agent from a recording, whole: text, tool calls with ids and arguments, finish reason, usage.

    It may be shared by threads and tasks. `report()` says how the agent differed.

    Args:
        capture: the recorded run.
        key: `order` gives the answers in recorded order (within each agent's instructions, where those are known), for
            captures without prompts.
        mode: what a request gets that was not recorded: an error, the nearest answer, or `live`'s.
        live: answers those requests in live mode.
        compare: drift (`model`, `tools`, `params`) that counts as a difference.
        redact: changes the texts that are asked as the recorder's redactor did; None: by the capture's own rules.
        ignore: regular expressions whose finds play no part in any text, asked or recorded.

    Raises:
        NoLlmCall: the capture has no model call.
        CaptureMissingError: it lacks what this replay needs; the message says what would have recorded it.
        ConfigError: an argument that cannot be used.
    """

    def __init__(
        self,
        capture: Capture,
        key: Key = "fingerprint",
        *,
        mode: ReplayMode = ReplayMode.STRICT,
        live: LlmClient | None = None,
        compare: Sequence[str] = (),
        redact: Redact | None = None,
        ignore: Sequence[str] = (),
    ) -> None:
        check_replayable(capture, mode=mode_of(mode), key=key)
        if (mode_of(mode) is ReplayMode.LIVE) is (live is None):
            raise ConfigError("`live` is the client that answers in live mode, and in no other")
        self._live = live
        self._matcher = Matcher(capture, mode=mode, key=key, compare=compare, redact=redact, ignore=ignore)

    def complete(self, request: Asked) -> LlmAnswer:
        """The recorded answer to a request, to the body of one in any API's form, or to a list of messages.

        Raises:
            ReplayMismatch: strict: it was not recorded.
            ReplayExhausted: it was asked more often than it was recorded, or all recorded calls had come.
            ReplayedLlmError: the recorded call failed.
            ConfigError: this is no request.
        """
        return run_sync(self._steps(request), instead="acomplete")

    async def acomplete(self, request: Asked) -> LlmAnswer:
        """As `complete`, for async agents; an async `live` client is awaited."""
        return await run_async(self._steps(request))

    def report(self) -> DivergenceReport:
        """What the replay came to until now: recorded calls that have not come are missing."""
        return self._matcher.report()

    def _steps(self, asked: Asked) -> Steps[LlmAnswer]:
        found = self._matcher.ask(request_from(asked))
        if not isinstance(found, Missed):
            return _recorded(found.call, found.response_id)
        if self._live is not None:
            return (yield from self._live_answer(asked, found, self._live))
        if self._matcher.mode is ReplayMode.SOFT and found.nearest is not None and answerable(found.nearest):
            return _recorded(found.nearest, found.response_id)
        raise error_for(found.divergence, found.text)

    def _live_answer(self, asked: Asked, missed: Missed, live: LlmClient) -> Steps[LlmAnswer]:
        try:
            answer = answer_from((yield live.complete(request_from(asked))))
        except Exception as error:
            self._matcher.answered_live(missed, CallError(type(error).__name__, str(error)))
            raise
        self._matcher.answered_live(missed, answer)
        return answer


def _recorded(call: CapturedLlm, response_id: str) -> LlmAnswer:
    if call.answer is None:
        raise ReplayedLlmError(call.call_index, call.error or CallError())
    return msgspec.structs.replace(call.answer, response_id=response_id)
