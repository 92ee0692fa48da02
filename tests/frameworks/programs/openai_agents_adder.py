"""OpenAI Agents over the Responses API, under OpenInference."""

import asyncio
import sys

from agents import Agent, Runner, function_tool, set_trace_processors
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from traced import QUESTION, add, double, traced

set_trace_processors([])  # no upload to OpenAI
OpenAIAgentsInstrumentor().instrument(tracer_provider=traced())
agent = Agent("adder", "Use your tools.", model="gpt-5", tools=[function_tool(add), function_tool(double)])


async def streamed() -> str:
    result = Runner.run_streamed(agent, QUESTION)
    async for _ in result.stream_events():
        pass
    return result.final_output


print(asyncio.run(streamed()) if "stream" in sys.argv else Runner.run_sync(agent, QUESTION).final_output)
