"""The tool calls of a replay: which recorded call each one is, and what is different. For one thread. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from otel_runlog.capture import CapturedTool
from otel_runlog.conversation import CallError, Json
from otel_runlog.replaying.answers import error_text
from otel_runlog.replaying.comparing import first_difference
from otel_runlog.replaying.divergence import Cause, DivergenceKind, ReplayMode, Resolution, StepDivergence
from otel_runlog.replaying.ledger import Ledger, settle
from otel_runlog.replaying.normalising import Normaliser
from otel_runlog.replaying.outcomes import Settled, ToolMissed, ToolServed
from otel_runlog.replaying.recording import Recording, tool_key
from otel_runlog.replaying.report import head_of
from otel_runlog.replaying.telling import RESOLUTIONS

Origin = Literal["the tool ran for real", "its policy gave it this result"]
How = Literal["was served from the recording", "ran for real"]


class _Miss(msgspec.Struct, kw_only=True):
    """A tool call that found nothing. `at`: its place among all differences; the others as in `ledger.Unfound`."""

    name: str
    arguments: Json
    divergence: StepDivergence
    resolution: Resolution
    at: int = 0
    settled: bool = False
    lacking: bool = False


class ToolMatching:
    """See `otel_runlog.replaying.matching.Matcher`, which lets one thread in at a time."""

    def __init__(self, recording: Recording, normaliser: Normaliser, mode: ReplayMode, places: Iterator[int]) -> None:
        self._recording, self._normaliser, self._mode, self._places = recording, normaliser, mode, places
        self._ledger = Ledger(recording.tool_keys)
        self._doors: set[str] = set()
        self._misses: list[_Miss] = []
        self._results: list[tuple[int, StepDivergence]] = []
        self._unseen: dict[str, None] = {}
        self._served: set[int] = set()
        self.live = 0

    # -- while the program runs ---

    def door(self, name: str) -> None:
        """Calls of this tool are going to be told."""
        self._doors.add(name)

    def ask(self, name: str, arguments: Json) -> ToolServed | ToolMissed:
        """Find the recorded call that is to be served."""
        self._doors.add(name)
        asked = self._normaliser.asked_value(arguments)
        number = self._take(name, asked)
        if number is not None and self._recording.tools[number].source is not None:
            self._served.add(number)
            return ToolServed(call=self._recording.capture.tool_io[number])
        self.live += self._mode is ReplayMode.LIVE
        if number is None:
            return self._missed(name, asked, RESOLUTIONS[self._mode])
        return self._lacks(name, asked, number)

    def ran(self, name: str, arguments: Json, result: Json, error: CallError | None, origin: Origin) -> None:
        """Compare a call that was not asked for."""
        self.live += origin == "the tool ran for real"
        number = self._came(name, arguments)
        if number is not None:
            self._compare(number, self._normaliser.asked_value(result), error, origin)

    def ran_unseen(self, name: str, arguments: Json) -> None:
        """Take a call that ran for real with a result that nothing can say."""
        self.live += 1
        if self._came(name, arguments) is not None:
            self._unseen[f"results of tool {name}: this replay's are nothing that JSON can say"] = None

    def _came(self, name: str, arguments: Json) -> int | None:
        self._doors.add(name)
        asked = self._normaliser.asked_value(arguments)
        number = self._take(name, asked)
        if number is None:
            self._missed(name, asked, Resolution.LIVE)
        return number

    def how(self, tool: CapturedTool) -> How:
        """What became of a recorded call in this replay."""
        is_served = any(self._recording.tools[number] is tool for number in self._served)
        return "was served from the recording" if is_served else "ran for real"

    def _take(self, name: str, arguments: Json) -> int | None:
        number = self._ledger.take(tool_key(name, arguments))
        if number is None:
            number = next((n for n in self._free(name) if self._recording.tool_keys[n] is None), None)
            if number is not None:
                self._ledger.take_number(number)
                self._unseen[f"arguments of tool {name}: not recorded"] = None
        return number

    def _free(self, name: str) -> list[int]:
        return [number for number in self._ledger.free() if self._recording.tools[number].name == name]

    def _compare(self, number: int, result: Json, error: CallError | None, origin: Origin) -> None:
        tool = self._recording.tools[number]
        if tool.source is None:
            self._unseen[f"results of tool {tool.name}: not recorded"] = None
        elif error is not None or tool.error is not None:
            if error is None or tool.error is None:
                then, now = tool.error, error
                recorded: Json = self._normaliser.recorded_value(tool.result) if then is None else error_text(then)
                got: Json = result if now is None else error_text(now)
                self._result_changed(tool, "result" if now is None else "error", recorded, got, origin)
        elif (found := first_difference(self._normaliser.recorded_value(tool.result), result)) is not None:
            self._result_changed(tool, _path("result", found.path), found.recorded, found.got, origin)

    def _result_changed(self, tool: CapturedTool, path: str, recorded: Json, got: Json, origin: Origin) -> None:
        divergence = self._about(
            tool,
            DivergenceKind.TOOL_RESULT_CHANGED,
            Resolution.LIVE,
            path=path,
            recorded=recorded,
            got=got,
            cause=Cause.TOOL_RESULT,
            detail=origin,
        )
        self._results.append((next(self._places), divergence))

    def _lacks(self, name: str, asked: Json, number: int) -> ToolMissed:
        tool = self._recording.tools[number]
        self._unseen[f"results of tool {name}: not recorded"] = None
        resolution = Resolution.LIVE if self._mode is ReplayMode.LIVE else Resolution.REFUSED
        divergence = self._about(
            tool,
            DivergenceKind.TOOL_RESULT_CHANGED,
            resolution,
            path="result",
            detail="the capture does not have its result",
        )
        miss = _Miss(name=name, arguments=asked, divergence=divergence, resolution=resolution, lacking=True)
        return self._noted(miss, number)

    def _missed(self, name: str, asked: Json, resolution: Resolution) -> ToolMissed:
        used_up = self._ledger.numbers(tool_key(name, asked))
        if used_up:
            divergence = self._repeated(used_up, asked, resolution)
            miss = _Miss(name=name, arguments=asked, divergence=divergence, resolution=resolution, settled=True)
            return self._noted(miss, used_up[-1])
        free = self._free(name)
        if not free:
            divergence = self._one_more(name, asked, resolution)
            miss = _Miss(name=name, arguments=asked, divergence=divergence, resolution=resolution)
            same_name = [n for n, tool in enumerate(self._recording.tools) if tool.name == name]
            return self._noted(miss, same_name[-1] if same_name else None)
        self._ledger.claim(free[0], len(self._misses))
        divergence = self._changed(free[0], asked, resolution)
        miss = _Miss(name=name, arguments=asked, divergence=divergence, resolution=resolution)
        return self._noted(miss, free[0])

    def _noted(self, miss: _Miss, nearest: int | None) -> ToolMissed:
        miss.at = next(self._places)
        self._misses.append(miss)
        return ToolMissed(
            divergence=miss.divergence,
            nearest=None if nearest is None else self._recording.capture.tool_io[nearest],
            text=head_of(miss.divergence, self._recording.capture.run_id, self._recording.size),
        )

    # -- what is different ---

    def _about(
        self, tool: CapturedTool, kind: DivergenceKind, resolution: Resolution, **facts: object
    ) -> StepDivergence:
        divergence = StepDivergence(
            kind=kind,
            call_index=tool.call_index,
            agent=self._recording.agents.get(tool.step_index or 0),
            step="tool",
            name=tool.name,
            resolution=resolution,
        )
        return msgspec.structs.replace(divergence, **facts)

    def _changed(self, number: int, asked: Json, resolution: Resolution) -> StepDivergence:
        tool = self._recording.tools[number]
        found = first_difference(tool.arguments, asked)
        return self._about(
            tool,
            DivergenceKind.TOOL_ARGS_CHANGED,
            resolution,
            path=_path("args", found.path if found else ""),
            recorded=found.recorded if found else tool.arguments,
            got=found.got if found else asked,
            nearest=tool.call_index,
        )

    def _repeated(self, numbers: Sequence[int], asked: Json, resolution: Resolution) -> StepDivergence:
        last = self._recording.tools[numbers[-1]]
        detail = f"exhausted: already served {len(numbers)} of {len(numbers)}"
        nearest = last.call_index
        return self._about(last, DivergenceKind.REPEATED, resolution, got=asked, nearest=nearest, detail=detail)

    def _one_more(self, name: str, asked: Json, resolution: Resolution) -> StepDivergence:
        count = sum(1 for tool in self._recording.tools if tool.name == name)
        return StepDivergence(
            kind=DivergenceKind.EXTRA_CALL,
            got=asked,
            step="tool",
            name=name,
            resolution=resolution,
            detail=f"exhausted: all {count} recorded calls of it had come" if count else "no call of it was recorded",
        )

    def _missing(self, number: int) -> StepDivergence:
        tool = self._recording.tools[number]
        return self._about(tool, DivergenceKind.MISSING_CALL, Resolution.NONE, recorded=tool.arguments)

    # -- afterwards ---

    def settled(self) -> Settled:
        """What is different, as if nothing more were asked."""
        free = [number for number in self._ledger.free() if self._recording.tools[number].name in self._doors]
        found = settle(self._ledger, self._misses, free, self._place, self._told)
        came = ((miss.at, divergence) for miss, divergence in found)
        return Settled((*came, *self._results), tuple(map(self._missing, free)))

    def _place(self, miss: _Miss, free: list[int]) -> int | None:
        return next((number for number in free if self._recording.tools[number].name == miss.name), None)

    def _told(self, miss: _Miss, place: int | None) -> StepDivergence:
        if place is None:
            return self._one_more(miss.name, miss.arguments, miss.resolution)
        return self._changed(place, miss.arguments, miss.resolution)

    @property
    def served(self) -> int:
        """Calls that were answered from the capture."""
        claimed = 0
        if self._mode is ReplayMode.SOFT:
            refused_or_live = Resolution.NEAREST
            claimed = sum(self._misses[claimant].resolution is refused_or_live for claimant in self._ledger.claims())
        return len(self._served) + claimed

    @property
    def is_incomplete(self) -> bool:
        """Whether a call came whose result is not in the capture."""
        return any(miss.lacking for miss in self._misses)

    def not_compared(self) -> list[str]:
        """What could not be compared, and why."""
        counts: dict[str, int] = {}
        for tool in self._recording.tools:
            if tool.name not in self._doors:
                counts[tool.name] = counts.get(tool.name, 0) + 1
        if not counts:
            return list(self._unseen)
        names = ", ".join(f"{name} ({count} call{'' if count == 1 else 's'})" for name, count in counts.items())
        return [*self._unseen, f"tools: no door for {names}, so they ran for real, or not at all"]


def _path(side: str, path: str) -> str:
    return side + (path if not path or path.startswith("[") else f".{path}")
