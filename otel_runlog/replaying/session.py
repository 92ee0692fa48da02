"""A replay while it goes on: `ReplaySession` for a program of its own, `replay_session` for this one.

    with replay_session("runs.duckdb", run="3f2a9c") as session:
        agent.main()                      # unmodified; its clients find the replay by their variables

Only what passes a model or a tool door comes back. The clock, randomness, files and other network calls do not.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from otel_runlog.capture import Capture
from otel_runlog.config import process_environment
from otel_runlog.redaction import redactor_of
from otel_runlog.replaying.answering import Answering
from otel_runlog.replaying.divergence import DivergenceReport, ReplayMode, ReproVerdict, mode_of
from otel_runlog.replaying.environment import LASTING, Overlays, environment
from otel_runlog.replaying.exchanges import Exchange, Exchanges
from otel_runlog.replaying.kept import Kept
from otel_runlog.replaying.matching import Key, Matcher
from otel_runlog.replaying.patching import Patch
from otel_runlog.replaying.policies import PoliciesLike, PolicyLike, ToolPolicies
from otel_runlog.replaying.report import text_of
from otel_runlog.replaying.requirements import check_replayable
from otel_runlog.replaying.server import ReplayServer
from otel_runlog.replaying.tool_door import ToolDoor, ToolExchange
from otel_runlog.replaying.tools import Load

if TYPE_CHECKING:
    from otel_runlog.replaying.live import Forwarder
    from otel_runlog.store.duckdb_store import DuckDBRunLogStore

Redact = Callable[[str, Any], Any]
_OVERLAYS: Final = Overlays()
"""The environment is one for the whole process, and so is what lies over it."""


class ReplaySession:
    """One replay of one capture, served on a port of loopback from `start` (or `with`) to `close`.

    Several may run in one process, each on its own port.

    Args:
        capture: what was recorded.
        mode: what a call gets that was not recorded. strict: an error that no client tries again. soft: the nearest
            recorded answer. live: it goes to the model, with the caller's own key, and is noted.
        key: `order` serves calls in their order, for captures without prompts.
        tools: what each tool does (`policies_of`); recorded unless said.
        compare: drift (`model`, `tools`, `params`) that makes the replay diverged, not only equivalent.
        redact: what the recording was redacted with; None: by its own rules.
        ignore: regular expressions whose finds play no part, as a date in a prompt.
        replay_run_id: the replay's id as a run; a new one unless given.
        environ: where a live replay's calls go: the base URLs of this environment, else each provider's public one.

    Raises:
        ConfigError: an argument that cannot be used, or a redactor of the application's that has to be given.
        CaptureMissingError: the capture lacks what this mode needs.
        NoLlmCall: it has no model call.

    Attributes:
        capture: as given.
        mode: as given.
        matcher: what was asked of the recording.
        replay_run_id: see above.
        url: the session's address, once it is started.
    """

    def __init__(
        self,
        capture: Capture,
        *,
        mode: ReplayMode | str = ReplayMode.STRICT,
        key: Key = "fingerprint",
        tools: PoliciesLike = None,
        compare: Sequence[str] = (),
        redact: Redact | None = None,
        ignore: Sequence[str] = (),
        replay_run_id: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.capture = capture
        self.mode = mode_of(mode)
        check_replayable(capture, mode=self.mode, key=key)
        redact = redact or _own_redactor(capture, self.mode)
        self.matcher = Matcher(capture, mode=self.mode, key=key, compare=compare, redact=redact, ignore=ignore)
        self.replay_run_id = replay_run_id or uuid.uuid4().hex
        self.url = ""
        self._asked = Exchanges()
        self._kept = Kept(redact)
        self._tools = ToolDoor(capture, self.matcher, policies=tools, mode=self.mode, number=self._asked.number)
        self._way_out = _way_out(self.mode, environ)
        prefix = f"/s/{uuid.uuid4().hex}"
        self._server = ReplayServer(
            prefix,
            Answering(self.matcher, self._asked, self.mode, self._way_out),
            self._asked,
            models=_models(capture),
            forwards=self._way_out,
            routes=self._tools.routes(prefix),
        )

    def start(self) -> Self:
        """Listen.

        Raises:
            ServerStartError: there is no port to be had.
        """
        self.url = self._server.start()
        return self

    def close(self) -> None:
        """Answer what is under way, end, and take patches away. Again is fine."""
        self._tools.close()
        self._server.stop()
        if self._way_out is not None:
            self._way_out.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """What was asked of models and answered, in the order it was asked, redacted as the recording is."""
        return tuple(map(self._kept.exchange, self._asked.all))

    @property
    def tool_exchanges(self) -> tuple[ToolExchange, ...]:
        """The calls of tools that have a door, in the order they were asked, redacted as the recording is."""
        return tuple(map(self._kept.tool, self._tools.exchanges))

    @property
    def policies(self) -> ToolPolicies:
        """What each tool does."""
        return self._tools.policies

    def patch(
        self, target: str, *, name: str | None = None, policy: PolicyLike | None = None, load: Load | None = None
    ) -> Patch:
        """Put a door before a function of this process, `"package.module:function"`, until the session is closed.

        Raises:
            ConfigError: there is no such function, or `policy` is none.
        """
        return self._tools.patch(target, name=name, policy=policy, load=load)

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The whole environment for a program to be replayed, from the one that it would have had."""
        return environment(
            env, url=self.url, mode=self.mode, run_id=self.capture.run_id, replay_run_id=self.replay_run_id
        )

    @property
    def report(self) -> DivergenceReport:
        """What the replay came to until now, as if nothing more were asked."""
        return self.report_of()

    def report_of(self, program_failed: str | None = None) -> DivergenceReport:
        """The same, knowing how the program ended.

        Args:
            program_failed: how it failed, as "exit status 3".
        """
        report = self.matcher.report(replay_run_id=self.replay_run_id, program_failed=program_failed)
        unserved = tuple(f"{u.method} {u.path}: {u.why}" for u in self._asked.unserved)
        if not unserved:
            return report
        failed = any(u.failed for u in self._asked.unserved)
        verdict = ReproVerdict.INCOMPLETE if failed and report.same else report.verdict
        return msgspec.structs.replace(report, verdict=verdict, not_compared=(*report.not_compared, *unserved))


@contextmanager
def replay_session(
    source: Capture | DuckDBRunLogStore | str | PathLike[str],
    *,
    run: str | None = None,
    mode: ReplayMode | str = ReplayMode.STRICT,
    tools: PoliciesLike = None,
    redact: Redact | None = None,
    compare: Sequence[str] = (),
    ignore: Sequence[str] = (),
    key: Key = "fingerprint",
    set_environment: bool = True,
) -> Iterator[ReplaySession]:
    """Replay a run in this process: what it asks of models inside the block is answered from the recording.

    The variables that clients find their providers by are set inside the block and are afterwards as they were; make
    clients inside it. Sessions may be nested. Of sessions in several threads at once the newest has the variables: give
    them `set_environment=False`, and clients `session.environment({})["OPENAI_BASE_URL"]` and the like. In a test of
    pytest's it needs nothing else: a replay that diverged fails the test, and the failure's text is the report.

    The OpenAI Agents SDK sends its own traces to OpenAI wherever its client is led. It can be told not to once in a
    process only (OPENAI_AGENTS_DISABLE_TRACING), so that is left to the program; `otel-runlog replay` does it.

    Args:
        source: a capture, the path of a capture's file, or a store or its path.
        run: in a store: the run's id, a unique prefix of it, or `last`.
        mode: `strict`, `soft` or `live`.
        tools: what each tool does (`policies_of`); recorded unless said.
        redact: what the recording was redacted with; None: by its own rules.
        compare: drift (`model`, `tools`, `params`) that makes the replay diverged, not only equivalent.
        ignore: regular expressions whose finds play no part, as a date in a prompt.
        key: `order` serves calls in their order, for captures without prompts.
        set_environment: whether the process's variables are set.

    Raises:
        ConfigError, CaptureError, CaptureMissingError, RunNotFoundError, NoLlmCall: before the block.
        ReplayMismatch, ReplayExhausted: at the end of the block, where it is strict and the run came out as another
            one, also if the program caught what it was answered. An error that left the block goes on as it is, with
            the report as a note.
    """
    capture = source if isinstance(source, Capture) else _loaded(source, run)
    environ = process_environment()
    below = _OVERLAYS.below(environ)
    with ReplaySession(
        capture, mode=mode, key=key, tools=tools, compare=compare, redact=redact, ignore=ignore, environ=below
    ) as session:
        changes = _changes(session, environ, below) if set_environment else {}
        _OVERLAYS.put(environ, changes)
        try:
            yield session
        except Exception as error:
            _note(session, error)
            raise
        finally:
            _OVERLAYS.take(environ, changes)
        report = session.report
        if session.mode is ReplayMode.STRICT and report.verdict is ReproVerdict.DIVERGED:
            report.raise_for_divergence()


def _changes(session: ReplaySession, environ: Mapping[str, str], below: Mapping[str, str]) -> dict[str, str]:
    """What is to lie over the environment, of which `below` is what other sessions' changes lie on."""
    over = session.environment(below)
    over.pop(LASTING, None)
    return {name: value for name, value in over.items() if (environ.get(name), below.get(name)) != (value, value)}


def _loaded(source: DuckDBRunLogStore | str | PathLike[str], run: str | None) -> Capture:
    from otel_runlog.captures.keeping import load_capture  # and with it DuckDB, which a capture at hand does not need

    return load_capture(source, run)


def _note(session: ReplaySession, error: Exception) -> None:
    """Say with an error of the program what had become of the replay."""
    report = session.report
    if report.verdict is ReproVerdict.DIVERGED:
        error.add_note(text_of(report))


def _own_redactor(capture: Capture, mode: ReplayMode) -> Redact | None:
    """The recording's redactor. Where its rules are not known a strict replay could only fail."""
    if capture.redaction is None:
        return None
    if mode is not ReplayMode.STRICT and capture.redaction.patterns is None:
        return None
    return redactor_of(capture.redaction)


def _way_out(mode: ReplayMode, environ: Mapping[str, str] | None) -> Forwarder | None:
    """The only place where something is made that connects to anything: live mode alone has it."""
    if mode is not ReplayMode.LIVE:
        return None
    from otel_runlog.replaying.live import Forwarder

    return Forwarder(process_environment() if environ is None else environ)


def _models(capture: Capture) -> tuple[str, ...]:
    """The models that the recording knows: those asked for and those that answered."""
    found = [name for call in capture.llm_io for name in (call.model, call.model_version) if name]
    return tuple(dict.fromkeys(found))
