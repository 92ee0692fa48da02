"""LangChain's create_agent: whose step a span is stands in metadata, where an agent asks another one through a tool."""

import pytest

from otel_runlog.conventions import openinference, traceloop
from otel_runlog.model import Scope, Span, StepKind

OPENINFERENCE = Scope("openinference.instrumentation.langchain", "0.1.80")
TRACELOOP = Scope("opentelemetry.instrumentation.langchain", "0.62.4")


def span(name: str, scope: Scope, **attributes: str) -> Span:
    return Span("5" * 32, "1" * 16, name=name, scope=scope, attributes=attributes)


def openinference_span(name: str, kind: str, metadata: str) -> Span:
    return span(name, OPENINFERENCE, **{"openinference.span.kind": kind, "metadata": metadata})


@pytest.mark.parametrize(("name", "kind"), [("ChatOpenAI", "LLM"), ("add", "TOOL"), ("adder", "CHAIN")])
def test_openinference_has_the_agent_in_metadata(name, kind):
    metadata = '{"ls_integration": "langchain_chat_model", "lc_agent_name": "adder", "thread_id": "conv-7"}'
    reading = openinference.read(openinference_span(name, kind, metadata))
    assert (reading.agent, reading.kind) == ("adder", StepKind(kind.lower()))


@pytest.mark.parametrize(
    "metadata",
    ["", '{"thread_id": "conv-7"}', '{"lc_agent_name": ""}', '{"lc_agent_name": 7}', '{"lc_agent_name": "adder"', "[]"],
)
def test_metadata_without_a_readable_agent_names_none(metadata):
    assert openinference.read(openinference_span("model", "CHAIN", metadata)).agent is None


def test_an_agents_own_name_goes_before_metadata():
    read = openinference_span("adder", "AGENT", '{"lc_agent_name": "other"}')
    read.attributes["agent.name"] = "adder"
    assert openinference.read(read).agent == "adder"


@pytest.mark.parametrize(
    ("name", "operation", "kind"),
    [("ChatOpenAI.chat", "chat", StepKind.LLM), ("execute_tool add", "execute_tool", StepKind.TOOL)],
)
def test_traceloop_has_the_agent_in_an_association_property(name, operation, kind):
    # The declaring span `invoke_agent adder` stands beside these spans, not above them.
    attributes = {"gen_ai.operation.name": operation, "traceloop.association.properties.lc_agent_name": "adder"}
    reading = traceloop.read(span(name, TRACELOOP, **attributes))
    assert reading is not None
    assert (reading.agent, reading.kind) == ("adder", kind)


def test_openinferences_gemini_answer_of_text_alone_has_a_response_id():
    answer = '{"candidates": [{"content": {"parts": [{"text": "It is 42."}]}}], "response_id": "gen_1"}'
    attributes = {"openinference.span.kind": "LLM", "output.value": answer, "llm.model_name": "gemini-2.5-pro"}
    gemini = Scope("openinference.instrumentation.google_genai", "1.4.14")
    assert openinference.read(span("GenerateContent", gemini, **attributes)).response_id == "gen_1"
