"""The door of a program's own tools: what a decorated function does outside and inside a replay."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import functools
import pickle
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from recorded import capture as capture_of
from recorded import tool as recorded

from otel_runlog import replay_tool
from otel_runlog.capture import CapturedTool
from otel_runlog.conversation import CallError
from otel_runlog.errors import ConfigError, ReplayedToolError, ReplayError, ReplayMismatch
from otel_runlog.replaying.divergence import DivergenceKind, ReplayMode, Resolution
from otel_runlog.replaying.matching import Matcher
from otel_runlog.replaying.patching import Patch
from otel_runlog.replaying.policies import PoliciesLike, ToolPolicy
from otel_runlog.replaying.tool_door import ToolDoor
from otel_runlog.replaying.tool_words import ToolOutcome
from otel_runlog.server.budget import Budget
from otel_runlog.server.guard import Guard
from otel_runlog.server.http_door import HttpDoor

AT = dt.datetime(2026, 11, 29, tzinfo=dt.UTC)


class Replays:
    """Starts doors on loopback, and points the environment at the newest."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ends: contextlib.ExitStack) -> None:
        self._monkeypatch, self._ends = monkeypatch, ends

    def __call__(
        self, *tools: CapturedTool, policies: PoliciesLike = None, mode: ReplayMode = ReplayMode.STRICT
    ) -> SimpleNamespace:
        capture = capture_of(*tools)
        matcher = Matcher(capture, mode=mode)
        door = ToolDoor(capture, matcher, policies=policies, mode=mode)
        served = HttpDoor("127.0.0.1:0", door.routes("/s/one"), Guard(), Budget(1 << 30))
        url = f"http://{served.start()}/s/one"
        self._ends.callback(served.stop, 1.0)
        self._ends.callback(door.close)
        self._monkeypatch.setenv("OTEL_RUNLOG_REPLAY_URL", url)
        return SimpleNamespace(door=door, matcher=matcher, url=url, kinds=lambda: kinds(matcher))


def kinds(matcher: Matcher) -> list[DivergenceKind]:
    return [divergence.kind for divergence in matcher.report().divergences]


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch) -> Iterator[Replays]:
    with contextlib.ExitStack() as ends:
        yield Replays(monkeypatch, ends)


class Ran:
    """A tool's body that counts how often it ran."""

    def __init__(self, result: Any = "ran") -> None:
        self.calls: list[Any] = []
        self._result = result

    def __call__(self, *args: Any) -> Any:
        self.calls.append(args)
        return self._result


def test_outside_a_replay_a_tool_is_called_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_RUNLOG_REPLAY_URL", raising=False)

    @replay_tool
    def weather(city: str, *, unit: str = "C") -> str:
        """Of a city."""
        return f"{city} {unit}"

    assert weather("Paris", unit="F") == "Paris F"
    assert (weather.__name__, weather.__doc__) == ("weather", "Of a city.")


def test_a_recorded_result_is_given_and_the_tool_does_not_run(replay: Replays) -> None:
    session, ran = replay(recorded("weather", {"city": "Paris"}, "18C")), Ran()

    @replay_tool
    def weather(city: str) -> Any:
        return ran(city)

    assert weather("Paris") == "18C"
    assert ran.calls == []
    assert session.kinds() == []


def test_identical_calls_get_their_results_in_order_and_others_by_their_arguments(replay: Replays) -> None:
    replay(recorded("t", {"n": 1}, 10), recorded("t", {"n": 2}, 20), recorded("t", {"n": 1}, 11))

    @replay_tool
    def t(n: int) -> int:
        return -n

    assert [t(2), t(1), t(n=1.0)] == [20, 10, 11]  # type: ignore[arg-type]


def test_the_model_may_call_it_by_another_name(replay: Replays) -> None:
    replay(recorded("get_weather", {}, "18C"))

    @replay_tool(name="get_weather")
    def weather() -> str:
        return "real"

    assert weather() == "18C"


def test_an_async_tool_is_async_in_a_replay(replay: Replays) -> None:
    session = replay(recorded("weather", {"city": "Paris"}, "18C"), policies={"clock": "real"})

    @replay_tool
    async def weather(city: str) -> str:
        raise AssertionError(city)

    @replay_tool
    async def clock() -> str:
        await asyncio.sleep(0)
        return "noon"

    async def agent() -> tuple[str, str]:
        return await weather("Paris"), await clock()

    assert asyncio.run(agent()) == ("18C", "noon")
    assert [(e.name, e.ran, e.result) for e in session.door.exchanges] == [
        ("weather", False, "18C"),
        ("clock", True, "noon"),
    ]


def test_a_recorded_error_is_raised_again_with_its_type_and_message(replay: Replays) -> None:
    replay(recorded("weather", {"city": "Atlantis"}, error=CallError("KeyError", "no such city")))

    @replay_tool
    def weather(city: str) -> str:
        return city

    with pytest.raises(ReplayedToolError, match=r"^no such city$") as raised:
        weather("Atlantis")
    assert (raised.value.name, raised.value.type, raised.value.message) == ("weather", "KeyError", "no such city")
    again = pickle.loads(pickle.dumps(raised.value))
    assert (again.name, again.type, str(again)) == ("weather", "KeyError", "no such city")


def test_a_call_that_was_not_recorded_is_refused_in_strict_mode_and_told(replay: Replays) -> None:
    session, ran = replay(recorded("weather", {"city": "Paris"}, "18C")), Ran()

    @replay_tool
    def weather(city: str) -> Any:
        return ran(city)

    with pytest.raises(ReplayMismatch) as raised:
        weather("Rome")
    assert (raised.value.call_index, raised.value.recorded, raised.value.got) == (1, "Paris", "Rome")
    assert ran.calls == []
    assert session.kinds() == [DivergenceKind.TOOL_ARGS_CHANGED]
    (exchange,) = session.door.exchanges
    assert (exchange.outcome, exchange.error.type) == (ToolOutcome.FAIL, "replay_refused")


def test_soft_gives_the_nearest_result_of_that_tool(replay: Replays) -> None:
    session = replay(recorded("weather", {"city": "Paris"}, "18C"), mode=ReplayMode.SOFT)

    @replay_tool
    def weather(city: str) -> str:
        return city

    assert weather("Rome") == "18C"
    assert session.kinds() == [DivergenceKind.TOOL_ARGS_CHANGED]


def test_live_runs_what_was_not_recorded_and_keeps_what_came_of_it(replay: Replays) -> None:
    session = replay(recorded("weather", {"city": "Paris"}, "18C"), mode=ReplayMode.LIVE)

    @replay_tool
    def weather(city: str) -> str:
        return f"real {city}"

    assert [weather("Rome"), weather("Paris")] == ["real Rome", "18C"]
    assert [(e.arguments, e.ran, e.result) for e in session.door.exchanges] == [
        ({"city": "Rome"}, True, "real Rome"),
        ({"city": "Paris"}, False, "18C"),
    ]
    report = session.matcher.report()
    assert (report.served, report.live) == (1, 1)
    assert [(d.kind, d.resolution) for d in report.divergences] == [(DivergenceKind.EXTRA_CALL, Resolution.LIVE)]


def test_a_tool_that_runs_for_real_is_compared_with_its_recording(replay: Replays) -> None:
    session = replay(
        recorded("same", {}, 1), recorded("other", {}, 1), recorded("fails", {}, 1), policies={"*": "real"}
    )

    @replay_tool
    def same() -> float:
        return 1.0

    @replay_tool
    def other() -> int:
        return 2

    @replay_tool
    def fails() -> int:
        raise ValueError("broken")

    assert (same(), other()) == (1.0, 2)
    with pytest.raises(ValueError, match="broken"):
        fails()
    report = session.matcher.report()
    assert [(d.kind, d.recorded, d.call_index) for d in report.divergences] == [
        (DivergenceKind.TOOL_RESULT_CHANGED, 1, 2),
        (DivergenceKind.TOOL_RESULT_CHANGED, 1, 3),
    ]
    assert report.divergences[0].got == 2


def test_a_static_tool_gives_its_value_and_one_that_fails_says_by_what_policy(replay: Replays) -> None:
    session = replay(
        recorded("clock", {}, {"hour": 9}), policies={"clock": ToolPolicy.static({"hour": 12}), "mail": "fail"}
    )
    ran = Ran()

    @replay_tool
    def clock() -> Any:
        return ran()

    @replay_tool
    def mail(to: str) -> Any:
        return ran(to)

    assert clock() == {"hour": 12}
    with pytest.raises(ReplayError, match=r"^the tool mail was called, and its policy in this replay is fail$"):
        mail("all")
    assert ran.calls == []
    (changed,) = session.matcher.report().divergences
    assert (changed.path, changed.recorded, changed.got, changed.detail) == (
        "result.hour",
        9,
        12,
        "its policy gave it this result",
    )


def test_a_replay_that_does_not_answer_lets_no_tool_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RUNLOG_REPLAY_URL", "http://127.0.0.1:1/s/gone")
    ran = Ran()

    @replay_tool
    def weather() -> Any:
        return ran()

    with pytest.raises(ReplayError, match="does not answer, so the tool was not run"):
        weather()
    assert ran.calls == []


class Weather:
    """Tools as methods."""

    unit = "C"

    @replay_tool
    def at(self, city: str) -> str:
        return f"{city} {self.unit}"

    @replay_tool
    @classmethod
    def units(cls, of: str) -> str:
        return cls.unit + of

    @staticmethod
    @replay_tool
    def static(city: str) -> str:
        return city

    @replay_tool
    @staticmethod
    def outer_static(city: str) -> str:
        return city


def test_methods_leave_their_receiver_out(replay: Replays, monkeypatch: pytest.MonkeyPatch) -> None:
    replay(
        recorded("at", {"city": "Paris"}, "then"),
        recorded("units", {"of": "x"}, "then"),
        recorded("static", {"city": "Paris"}, "then"),
        recorded("outer_static", {"city": "Paris"}, "then"),
    )
    tools = Weather()
    assert [tools.at("Paris"), Weather.units("x"), Weather.static("Paris"), tools.outer_static("Paris")] == ["then"] * 4
    monkeypatch.delenv("OTEL_RUNLOG_REPLAY_URL")
    assert [tools.at("Paris"), tools.units("x"), tools.outer_static("Rome")] == ["Paris C", "Cx", "Rome"]


def test_a_partial_is_called_by_its_functions_name_and_keeps_its_arguments(replay: Replays) -> None:
    replay(recorded("weather", {"city": "Paris", "unit": "F"}, "64F"))

    def weather(city: str, unit: str) -> str:
        return city + unit

    assert replay_tool(functools.partial(weather, unit="F"))("Paris") == "64F"


def test_a_function_that_others_decorated_keeps_what_they_put_on_it(replay: Replays) -> None:
    replay(recorded("weather", {"city": "Paris"}, "18C"))

    def traced(function: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> str:
            return function("context", *args, **kwargs)

        wrapper.is_traced = True  # type: ignore[attr-defined]
        return wrapper

    @replay_tool
    @traced
    def weather(context: str, city: str) -> str:
        return context + city

    assert weather(city="Paris") == "18C"
    assert weather.is_traced  # type: ignore[attr-defined]


def test_a_sync_function_in_front_of_an_async_one_is_told_when_it_is_done(replay: Replays) -> None:
    session = replay(policies="real")

    @replay_tool
    def slow() -> Any:
        async def inside() -> int:
            await asyncio.sleep(0)
            return 7

        return inside()

    async def agent() -> Any:
        return await slow()

    assert asyncio.run(agent()) == 7
    assert [e.result for e in session.door.exchanges] == [7]


@dataclasses.dataclass
class Context:
    """What a framework injects."""

    user: str


def test_contexts_defaults_and_states_play_no_part_where_the_model_did_not_send_them(replay: Replays) -> None:
    session = replay(recorded("find", {"q": "x"}, "found"), recorded("find", {"q": "y", "limit": 5}, "five"))

    @replay_tool
    def find(ctx: Any, q: str, limit: int = 5, state: dict[str, Any] | None = None) -> str:
        return "ran"

    client = threading.Lock()  # nothing that JSON can say
    assert find(client, "x") == "found"
    assert find(Context("ann"), q="y", state={"messages": ["a", "b"]}) == "five"
    assert session.kinds() == []
    assert [e.arguments for e in session.door.exchanges] == [{"q": "x"}, {"q": "y", "limit": 5}]


def test_an_argument_that_the_program_added_is_a_difference(replay: Replays) -> None:
    session = replay(recorded("find", {"q": "x"}, "found"))

    @replay_tool
    def find(q: str, limit: int = 5) -> str:
        return q

    with pytest.raises(ReplayMismatch):
        find("x", limit=6)
    assert session.kinds() == [DivergenceKind.TOOL_ARGS_CHANGED]


def test_keyword_arguments_are_arguments_by_their_own_names(replay: Replays) -> None:
    replay(recorded("find", {"q": "x", "lang": "fr"}, "trouvé"))

    @replay_tool
    def find(q: str, **more: str) -> str:
        return q

    assert find("x", lang="fr") == "trouvé"


@dataclasses.dataclass
class Reading:
    """What a tool returns."""

    degrees: int
    at: dt.date


def test_a_result_becomes_what_the_function_says_it_returns(replay: Replays) -> None:
    replay(
        recorded("as_text", {}, {"degrees": 18}),
        recorded("as_data", {}, {"degrees": 18, "at": "2026-11-29"}),
        recorded("as_other", {}, {"other": 1}),
        recorded("by_load", {}, [1, 1, 2]),
    )

    @replay_tool
    def as_text() -> str:
        return ""

    @replay_tool
    def as_data() -> Reading:
        return Reading(0, AT.date())

    @replay_tool(name="as_other")
    def other_data() -> Reading:
        return Reading(0, AT.date())

    @replay_tool(load=set)  # type: ignore[arg-type]
    def by_load() -> set[int]:
        return set()

    assert as_text() == '{"degrees": 18}'
    assert as_data() == Reading(18, AT.date())
    assert other_data() == {"other": 1}
    assert by_load() == {1, 2}


def test_a_result_that_json_cannot_say_is_returned_and_not_compared(replay: Replays) -> None:
    session = replay(recorded("opened", {}, "handle"), policies="real")

    @replay_tool
    def opened() -> Any:
        return threading

    assert opened() is threading
    (exchange,) = session.door.exchanges
    assert (exchange.ran, exchange.is_known) == (True, False)
    report = session.matcher.report()
    assert report.divergences == ()
    assert report.not_compared == ("results of tool opened: this replay's are nothing that JSON can say",)


def test_many_threads_get_the_results_of_their_own_arguments(replay: Replays) -> None:
    session = replay(*(recorded("t", {"n": n % 8}, n) for n in range(40)))
    found: dict[int, list[int]] = {}

    @replay_tool
    def t(n: int) -> int:
        return -1

    def agent(n: int) -> None:
        found[n] = [t(n) for _ in range(5)]

    threads = [threading.Thread(target=agent, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: [n, n + 8, n + 16, n + 24, n + 32] for n in range(8)}
    assert session.kinds() == []


def test_generators_and_frameworks_objects_are_refused_with_the_way_out() -> None:
    def lines() -> Iterator[str]:
        yield "a"

    async def events() -> AsyncIterator[str]:
        yield "a"

    class FunctionTool:
        name = "weather"

    with pytest.raises(ConfigError, match="the tool lines is a generator"):
        replay_tool(lines)
    with pytest.raises(ConfigError, match="the tool events is a generator"):
        replay_tool(events)
    with pytest.raises(ConfigError, match="no function but a FunctionTool: put @replay_tool below the decorator"):
        replay_tool(FunctionTool())  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="no function but a type"):
        replay_tool(FunctionTool)


MODULE = """
def weather(city): return "real " + city
async def later(city): return "real " + city
class Tools:
    def at(self, city): return "real " + city
    @staticmethod
    def fixed(city): return "real " + city
    @classmethod
    def made(cls, city): return cls.__name__ + city
class More(Tools): pass
tools = Tools()
number = 3
"""


@pytest.fixture
def module(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "patched_tools_of_a_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "patched_tools_of_a_test"
    sys.modules.pop("patched_tools_of_a_test", None)


def test_functions_of_a_program_get_a_door_until_the_replay_ends(replay: Replays, module: str) -> None:
    session = replay(
        recorded("weather", {"city": "Paris"}, "then"),
        recorded("at", {"city": "Paris"}, "then at"),
        recorded("fixed", {"city": "Paris"}, "then fixed"),
        recorded("made", {"city": "Paris"}, "then made"),
        recorded("get", {"city": "Paris"}, "then get"),
    )
    session.door.patch(f"{module}:weather")
    for name in ("Tools.at", "More.fixed", "More.made"):
        session.door.patch(f"{module}:{name}")
    session.door.patch(f"{module}:later", name="get")
    program: Any = sys.modules[module]
    assert program.weather("Paris") == "then"
    assert [program.Tools().at("Paris"), program.More.fixed("Paris"), program.More().made("Paris")] == [
        "then at",
        "then fixed",
        "then made",
    ]
    assert asyncio.run(program.later("Paris")) == "then get"
    assert program.Tools.fixed("Paris") == "real Paris"
    session.door.close()
    assert [program.weather("a"), program.Tools().at("a"), program.More.fixed("a"), program.More.made("a")] == [
        "real a",
        "real a",
        "real a",
        "Morea",
    ]
    assert set(vars(program.More)) & {"fixed", "made"} == set()


def test_a_patch_may_end_earlier_and_bring_its_own_policy(replay: Replays, module: str) -> None:
    session = replay()
    with session.door.patch(f"{module}:tools.at", name="weather", policy=ToolPolicy.static("always")):
        assert sys.modules[module].tools.at("Paris") == "always"  # type: ignore[attr-defined]
    assert sys.modules[module].tools.at("Paris") == "real Paris"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("weather", "'weather' names no function: a target is written \"package.module:function\""),
        ("no_such_module_here:f", "'no_such_module_here:f' names no function: No module named 'no_such_module_here'"),
        ("MODULE:nothing", "names no function: patched_tools_of_a_test has no nothing"),
        ("MODULE:Absent.at", "names no function: patched_tools_of_a_test has no Absent"),
        ("MODULE:Tools.nothing", "names no function: Tools has no nothing"),
        ("MODULE:number", "the tool number is no function but a int"),
        ("builtins:str.upper", "'builtins:str.upper' cannot be changed"),
    ],
)
def test_a_wrong_target_is_refused_with_what_is_wrong(module: str, target: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Patch(target.replace("MODULE", module))
    assert message in str(raised.value)


def test_a_body_that_is_no_question_is_refused(replay: Replays) -> None:
    session = replay()
    import urllib.error
    import urllib.request

    request = urllib.request.Request(
        f"{session.url}/tools", b'{"name": 3}', {"Content-Type": "application/json"}, method="POST"
    )
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(request)
    with raised.value as answer:
        assert answer.status == 400
        assert b"this is no ToolQuestion" in answer.read()
