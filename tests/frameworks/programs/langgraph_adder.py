"""LangGraph's agent over ChatOpenAI, under OpenInference."""

import sys

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor
from traced import QUESTION, add, double, traced

LangChainInstrumentor().instrument(tracer_provider=traced())
agent = create_agent(ChatOpenAI(model="gpt-5", streaming="stream" in sys.argv), [add, double], name="adder")
print(agent.invoke({"messages": [("user", QUESTION)]})["messages"][-1].text)
