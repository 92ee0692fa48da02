"""A loop over Google's client, under the official instrumentation; one span around the loop."""

import sys

from google import genai
from google.genai import types
from opentelemetry.instrumentation.google_genai import GoogleGenAiSdkInstrumentor
from traced import QUESTION, add, double, traced

provider = traced()
GoogleGenAiSdkInstrumentor().instrument(tracer_provider=provider)
TOOLS = {"add": add, "double": double}
declared = [types.FunctionDeclaration.from_callable_with_api_option(callable=tool) for tool in TOOLS.values()]
config = types.GenerateContentConfig(
    system_instruction="Use your tools.", tools=[types.Tool(function_declarations=declared)]
)
client = genai.Client()
contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]


def ask():
    asked = {"model": "gemini-2.5-pro", "contents": contents, "config": config}
    if "stream" not in sys.argv:
        return client.models.generate_content(**asked).candidates[0].content.parts
    chunks = client.models.generate_content_stream(**asked)
    return [part for chunk in chunks for part in chunk.candidates[0].content.parts]


with provider.get_tracer("adder").start_as_current_span(
    "invoke_agent adder", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "adder"}
):
    parts = ask()
    while calls := [part.function_call for part in parts if part.function_call]:
        contents.append(types.Content(role="model", parts=parts))
        results = [(call.name, {"result": TOOLS[call.name](**call.args)}) for call in calls]
        answers = [types.Part.from_function_response(name=name, response=result) for name, result in results]
        contents.append(types.Content(role="user", parts=answers))
        parts = ask()
print("".join(part.text or "" for part in parts))
