"""Tools of frameworks with @replay_tool below the framework's own decorator.

Their schemas stay as they are; what a framework adds to the model's arguments, defaults, contexts and states, plays no
part.
"""

import asyncio
import json
from contextlib import contextmanager
from typing import Annotated, Any

import pytest
from client_tracing import NEEDS_FRAMEWORKS, NEEDS_MORE_FRAMEWORKS
from replays import answer, call, capture, request

from otel_runlog import replay_session, replay_tool
from otel_runlog.capture import CapturedTool, ToolSource

pytestmark = pytest.mark.frameworks


@contextmanager
def replaying(arguments, result):
    """A replay of a run in which `weather` was called so."""
    tool = CapturedTool(name="weather", call_index=2, arguments=arguments, result=result, source=ToolSource.SPAN)
    with replay_session(capture(call(1, request("p"), answer("a")), tool_io=(tool,)), mode="soft") as session:
        yield session


def only_the_model_call_is_missing(session):
    return [d.kind for d in session.report.divergences] == ["missing_call"] and session.report.divergences[
        0
    ].step == "llm"


def test_a_tool_of_langchain_in_threads_and_async():
    tools = pytest.importorskip("langchain_core.tools", reason=NEEDS_MORE_FRAMEWORKS)
    injected = pytest.importorskip("langgraph.prebuilt", reason=NEEDS_MORE_FRAMEWORKS).InjectedState

    @tools.tool
    @replay_tool
    def weather(city: str, state: Annotated[dict, injected], unit: str = "C") -> str:
        """Of a city."""
        return f"real {city} {unit} {len(state)}"

    state = {"messages": [{"role": "user", "content": "?"}]}
    assert set(weather.tool_call_schema.model_json_schema()["properties"]) == {"city", "unit"}
    assert weather.invoke({"city": "Paris", "state": state}) == "real Paris C 1"
    with replaying({"city": "Paris"}, "18C") as session:
        assert asyncio.run(weather.ainvoke({"city": "Paris", "state": state})) == "18C"
        assert only_the_model_call_is_missing(session)


def test_a_tool_of_the_agents_sdk_with_its_context():
    agents = pytest.importorskip("agents", reason=NEEDS_MORE_FRAMEWORKS)
    from agents.tool_context import ToolContext

    @replay_tool
    def weather(ctx: agents.RunContextWrapper[Any], city: str, unit: str = "C") -> str:
        """Of a city."""
        return f"real {city} {unit}"

    tool = agents.function_tool(weather)
    sent = json.dumps({"city": "Paris"})
    context = ToolContext(context={"user": "ann"}, tool_name="weather", tool_call_id="1", tool_arguments=sent)
    assert set(tool.params_json_schema["properties"]) == {"city", "unit"}
    assert asyncio.run(tool.on_invoke_tool(context, sent)) == "real Paris C"
    with replaying({"city": "Paris"}, "18C") as session:
        assert asyncio.run(tool.on_invoke_tool(context, sent)) == "18C"
        assert only_the_model_call_is_missing(session)


def test_a_tool_of_pydantic_ai_with_models_as_argument_and_result():
    pydantic_ai = pytest.importorskip("pydantic_ai", reason=NEEDS_FRAMEWORKS)
    from pydantic import BaseModel
    from pydantic_ai.models.test import TestModel

    class Where(BaseModel):
        city: str
        day: int = 1

    class Weather(BaseModel):
        degrees: int

    agent = pydantic_ai.Agent(TestModel(), deps_type=str)

    @agent.tool
    @replay_tool
    def weather(ctx: pydantic_ai.RunContext[str], where: Where, unit: str = "C") -> Weather:
        """Of a city."""
        return Weather(degrees=len(where.city))

    assert json.loads(asyncio.run(agent.run("?", deps="ann")).output) == {"weather": {"degrees": 1}}
    with replaying({"where": {"city": "a"}}, {"degrees": 18}) as session:
        assert json.loads(asyncio.run(agent.run("?", deps="ann")).output) == {"weather": {"degrees": 18}}
        assert only_the_model_call_is_missing(session)
