"""Matches what a replay is asked with what was recorded, and keeps what came of it. Starts nothing, reads no clock.

A model call is found by (fingerprint, occurrence): of equal requests the first one recorded is served first, whatever
else is asked in between, so that threads and reordered independent calls get what they got then. Order decides only
with key="order", for captures without prompts. What is not found is never served silently.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Final, get_args

from otel_runlog.capture import Capture
from otel_runlog.conversation import CallError, Json, LlmAnswer, LlmRequest
from otel_runlog.errors import ConfigError
from otel_runlog.model import RunStatus
from otel_runlog.replaying.divergence import DRIFT, DivergenceReport, ReplayMode, ReproVerdict, StepDivergence, mode_of
from otel_runlog.replaying.llm_matching import Key, LlmMatching
from otel_runlog.replaying.normalising import Normaliser, Redact, redaction_unknown, redactor_for
from otel_runlog.replaying.outcomes import Missed, Served, ToolMissed, ToolServed
from otel_runlog.replaying.recording import Recording
from otel_runlog.replaying.telling import Telling
from otel_runlog.replaying.tool_matching import Origin, ToolMatching

__all__ = ("Key", "Matcher", "Missed", "Redact", "Served", "ToolMissed", "ToolServed")

_COMPARABLE: Final = {str(kind): kind for kind in sorted(DRIFT)}


class Matcher:
    """One replay of one capture. It may be asked by any number of threads, and asking never raises.

    Args:
        capture: what was recorded.
        mode: what the asker of a call that was not recorded is going to get.
        key: `order` serves each agent's calls, else all calls, in the order in which they were recorded, for captures
            without prompts; prompts that are there must be the recorded ones all the same.
        compare: drift (`model`, `tools`, `params`) that makes a replay diverged, not only equivalent.
        redact: changes the texts that are asked as the recorder's redactor did; None: by the capture's own rules.
        ignore: regular expressions whose finds play no part in any text, asked or recorded.

    Raises:
        ConfigError: an argument that cannot be used, or rules of redaction that cannot be applied here.
    """

    def __init__(
        self,
        capture: Capture,
        *,
        mode: ReplayMode = ReplayMode.STRICT,
        key: Key = "fingerprint",
        compare: Sequence[str] = (),
        redact: Redact | None = None,
        ignore: Sequence[str] = (),
    ) -> None:
        if key not in get_args(Key):
            raise ConfigError(f"key must be one of {', '.join(get_args(Key))}: {key!r}")
        unknown = sorted(set(compare) - set(_COMPARABLE))
        if unknown:
            raise ConfigError(f"compare must be of {', '.join(_COMPARABLE)}: {unknown[0]!r}")
        self.capture, self.mode = capture, mode_of(mode)
        self._is_fatal = frozenset(_COMPARABLE[name] for name in compare)
        normaliser = Normaliser(redactor_for(capture, redact), ignore)
        unknown_rules = redaction_unknown(capture, redact)
        self._unseen = [] if unknown_rules is None else [f"redacted texts: {unknown_rules}"]
        recording = Recording(capture, normaliser)
        self._size = recording.size
        places = itertools.count()
        self._tools = ToolMatching(recording, normaliser, self.mode, places)
        telling = Telling(recording, self.mode, self._tools.how, unknown_rules)
        self._calls = LlmMatching(recording, normaliser, telling, key, places)
        self._lock = threading.Lock()

    def ask(self, request: LlmRequest) -> Served | Missed:
        """Find the recorded call of a request, which is then used up."""
        with self._lock:
            return self._calls.ask(request)

    def answered_live(self, missed: Missed, answer: LlmAnswer | CallError) -> None:
        """Tell what the real model answered to a call that was not recorded. The last one told counts."""
        with self._lock:
            self._calls.answered_live(missed.number, answer)

    def not_answered(self, missed: Missed, why: str) -> None:
        """Tell that a call that was not recorded could not go on to the real model."""
        with self._lock:
            self._calls.not_answered(missed.number, why)

    def tool_door(self, name: str) -> None:
        """Tell that calls of this tool are going to be asked for: recorded ones that never come are then missing."""
        with self._lock:
            self._tools.door(name)

    def ask_tool(self, name: str, arguments: Json) -> ToolServed | ToolMissed:
        """Find the recorded call of a tool, which is then used up."""
        with self._lock:
            return self._tools.ask(name, arguments)

    def tool_ran(
        self,
        name: str,
        arguments: Json,
        *,
        result: Json = None,
        error: CallError | None = None,
        origin: Origin = "the tool ran for real",
    ) -> None:
        """Tell that a tool got its result elsewhere, and which: it is compared with the recording.

        Args:
            name: the tool's.
            arguments: of the call.
            result: what came of it.
            error: how it failed.
            origin: where the result is from.
        """
        with self._lock:
            self._tools.ran(name, arguments, result, error, origin)

    def tool_result_unknown(self, name: str, arguments: Json) -> None:
        """Tell that a tool ran for real, and that nothing can say what came of it."""
        with self._lock:
            self._tools.ran_unseen(name, arguments)

    def report(self, *, replay_run_id: str | None = None, program_failed: str | None = None) -> DivergenceReport:
        """What the replay came to until now, as if nothing more were asked.

        Args:
            replay_run_id: the run that the replay itself was recorded as.
            program_failed: how the program failed, as "exit status 3"; it is said where the recorded run did not.
        """
        failed = None if self.capture.run.status is RunStatus.FAILED else program_failed
        with self._lock:
            calls, tools = self._calls.settled(), self._tools.settled()
            missing = sorted((*calls.missing, *tools.missing), key=lambda divergence: divergence.call_index or 0)
            came = sorted((*calls.came, *tools.came), key=lambda placed: placed[0])
            found = (*(divergence for _, divergence in came), *missing)
            return DivergenceReport(
                run_id=self.capture.run_id,
                verdict=self._verdict((*found, *self._calls.drift), failed),
                mode=self.mode,
                replay_run_id=replay_run_id,
                divergences=(*found, *self._calls.drift),
                recorded=self._size,
                served=self._calls.served + self._tools.served,
                live=self._calls.live + self._tools.live,
                not_reached=len(missing),
                not_compared=(*self._unseen, *self._calls.not_compared(), *self._tools.not_compared()),
                notes=tuple(self._calls.notes),
                program_failed=failed,
            )

    def _verdict(self, divergences: Sequence[StepDivergence], failed: str | None) -> ReproVerdict:
        kinds = {divergence.kind for divergence in divergences}
        if kinds - DRIFT or kinds & self._is_fatal or failed is not None:
            return ReproVerdict.DIVERGED
        if self._calls.is_incomplete or self._tools.is_incomplete:
            return ReproVerdict.INCOMPLETE
        return ReproVerdict.EQUIVALENT if kinds else ReproVerdict.IDENTICAL
