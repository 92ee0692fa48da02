"""A weather agent by each API's own client, as a user writes it: instructions, two tools asked for at once, an answer.

Base URLs and keys come from the environment, as the clients read them. Each loop takes whether to stream and gives the
last text. Pydantic AI's, which traces itself, takes its tracer provider too.
"""

import asyncio
import json
from functools import partial

from provider import Answer, ToolCall

INSTRUCTIONS = "You know the weather. Answer in one sentence, no more."
QUESTION = 'Is "Zürich" warmer than Paris? 🌦'
RESULTS = {"Paris": "18C, rain", "Zürich": {"celsius": 21, "sky": ["clear", "calm"]}}
SCRIPT = [
    Answer(
        "Let me look both up.",
        (
            ToolCall("weather", {"city": "Paris", "days": 1}, id="call_a"),
            ToolCall("weather", {"city": "Zürich", "days": 1}, id="call_b"),
        ),
        input_tokens=211,
        output_tokens=47,
    ),
    Answer("Yes: 21 °C in Zürich, 18 °C in Paris.", input_tokens=307, output_tokens=23),
]
DESCRIPTION = "The weather of a city."
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}


def as_text(result):
    return result if isinstance(result, str) else json.dumps(result)


def openai_chat(*, stream):
    import openai

    messages = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": QUESTION}]
    function = {"name": "weather", "description": DESCRIPTION, "parameters": SCHEMA}
    asked = {"model": "gpt-5", "tools": [{"type": "function", "function": function}], "temperature": 1}
    with openai.OpenAI(max_retries=0) as client:
        while True:
            message = (_chat_streamed if stream else _chat_whole)(client, messages=messages, **asked)
            messages.append(message)
            if "tool_calls" not in message:
                return message["content"]
            for call in message["tool_calls"]:
                city = json.loads(call["function"]["arguments"])["city"]
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": as_text(RESULTS[city])})


def _chat_whole(client, **asked):
    return client.chat.completions.create(**asked).choices[0].message.model_dump(exclude_none=True)


def _chat_streamed(client, **asked):
    text, calls = "", {}
    options = {"include_usage": True}
    with client.chat.completions.create(stream=True, stream_options=options, **asked) as chunks:
        for chunk in chunks:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for piece in choice.delta.tool_calls or ():
                    call = calls.setdefault(
                        piece.index, {"type": "function", "function": {"name": "", "arguments": ""}}
                    )
                    call["id"] = piece.id or call["id"]
                    call["function"]["name"] += piece.function.name or ""
                    call["function"]["arguments"] += piece.function.arguments or ""
    message = {"role": "assistant", "content": text}
    return message | {"tool_calls": list(calls.values())} if calls else message


def openai_responses(*, stream):
    import openai

    items = [{"role": "user", "content": QUESTION}]
    function = {"type": "function", "name": "weather", "description": DESCRIPTION, "parameters": SCHEMA}
    asked = {"model": "gpt-5", "instructions": INSTRUCTIONS, "tools": [function]}
    with openai.OpenAI(max_retries=0) as client:
        while True:
            response = (_response_streamed if stream else _response_whole)(client, input=items, **asked)
            items += [item.model_dump(exclude_none=True) for item in response.output]
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                return response.output_text
            for call in calls:
                output = as_text(RESULTS[json.loads(call.arguments)["city"]])
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})


def _response_whole(client, **asked):
    return client.responses.create(**asked)


def _response_streamed(client, **asked):
    with client.responses.create(stream=True, **asked) as events:
        return [event.response for event in events if event.type == "response.completed"][-1]


def anthropic_messages(*, stream):
    import anthropic

    messages = [{"role": "user", "content": QUESTION}]
    tool = {"name": "weather", "description": DESCRIPTION, "input_schema": SCHEMA}
    asked = {"model": "claude-sonnet-5", "max_tokens": 200, "system": INSTRUCTIONS, "tools": [tool]}
    with anthropic.Anthropic(max_retries=0) as client:
        while True:
            message = _message(client, stream, messages=messages, **asked)
            messages.append(
                {"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in message.content]}
            )
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in message.content if block.type == "text")
            results = [(call.id, as_text(RESULTS[call.input["city"]])) for call in calls]
            blocks = [{"type": "tool_result", "tool_use_id": i, "content": result} for i, result in results]
            messages.append({"role": "user", "content": blocks})


def _message(client, stream, **asked):
    if not stream:
        return client.messages.create(**asked)
    with client.messages.stream(**asked) as events:
        return events.get_final_message()


def gemini(*, stream):
    from google import genai
    from google.genai import types

    declared = types.FunctionDeclaration(name="weather", description=DESCRIPTION, parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(
        system_instruction=INSTRUCTIONS, tools=[types.Tool(function_declarations=[declared])]
    )
    contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
    client = genai.Client()
    try:
        while True:
            asked = {"model": "gemini-2.5-pro", "contents": contents, "config": config}
            parts = _gemini_streamed(client, asked) if stream else _gemini_whole(client, asked)
            contents.append(types.Content(role="model", parts=parts))
            calls = [part.function_call for part in parts if part.function_call]
            if not calls:
                return "".join(part.text or "" for part in parts)
            results = [(call, RESULTS[call.args["city"]]) for call in calls]
            answers = [types.Part.from_function_response(name=c.name, response={"result": r}) for c, r in results]
            contents.append(types.Content(role="user", parts=answers))
    finally:
        client.close()


def _gemini_whole(client, asked):
    return client.models.generate_content(**asked).candidates[0].content.parts


def _gemini_streamed(client, asked):
    chunks = client.models.generate_content_stream(**asked)
    return [part for chunk in chunks for part in chunk.candidates[0].content.parts]


def pydantic_ai(model, *, stream, tracer_provider=None):
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import Instrumentation
    from pydantic_ai.models.instrumented import InstrumentationSettings

    settings = InstrumentationSettings(tracer_provider=tracer_provider)
    traced = Instrumentation(settings=settings)
    agent = Agent(model, name="forecaster", instructions=INSTRUCTIONS, capabilities=[traced])

    @agent.tool_plain
    def weather(city: str, days: int) -> object:
        """The weather of a city."""
        return RESULTS[city]

    async def read(_context, events):
        async for _ in events:
            pass

    async def ask():
        async with agent:  # closes the model's client
            return (await agent.run(QUESTION, event_stream_handler=read if stream else None)).output

    return asyncio.run(ask())


MODELS = {
    "chat": "openai-chat:gpt-5",
    "responses": "openai-responses:gpt-5",
    "messages": "anthropic:claude-sonnet-5",
    "gemini": "google:gemini-2.5-pro",
}
"""Pydantic AI's names of a model behind each API."""
PYDANTIC_AI_LOOPS = {api: partial(pydantic_ai, model) for api, model in MODELS.items()}
LOOPS = {"chat": openai_chat, "responses": openai_responses, "messages": anthropic_messages, "gemini": gemini}
