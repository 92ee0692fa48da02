"""A loop over Anthropic's client, which traces itself; one span around the loop."""

import sys

import anthropic
from traced import QUESTION, add, double, traced

tracer = traced().get_tracer("adder")
TOOLS = {"add": add, "double": double}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
DEFINED = [{"name": name, "description": tool.__doc__, "input_schema": SCHEMA} for name, tool in TOOLS.items()]
client = anthropic.Anthropic()
messages = [{"role": "user", "content": QUESTION}]


def ask():
    asked = {"model": "claude-sonnet-5", "max_tokens": 200, "system": "Use your tools.", "tools": DEFINED}
    if "stream" not in sys.argv:
        return client.messages.create(messages=messages, **asked)
    with client.messages.stream(messages=messages, **asked) as events:
        return events.get_final_message()


with tracer.start_as_current_span(
    "invoke_agent adder", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "adder"}
):
    while (message := ask()).stop_reason == "tool_use":
        messages.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        results = [(call.id, str(TOOLS[call.name](**call.input))) for call in calls]
        blocks = [{"type": "tool_result", "tool_use_id": call_id, "content": result} for call_id, result in results]
        messages.append({"role": "user", "content": blocks})
print(message.content[0].text)
