"""Pydantic AI, which traces itself."""

import asyncio
import sys

from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings
from traced import QUESTION, add, double, traced

settings = InstrumentationSettings(tracer_provider=traced())
agent = Agent(
    "openai-chat:gpt-5",
    name="adder",
    instructions="Use your tools.",
    tools=[add, double],
    capabilities=[Instrumentation(settings=settings)],
)


async def streamed() -> str:
    async with agent.run_stream(QUESTION) as result:
        return await result.get_output()


print(asyncio.run(streamed()) if "stream" in sys.argv else agent.run_sync(QUESTION).output)
