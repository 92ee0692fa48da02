"""A program that is replayed in tests: an agent over OpenAI's chat API, without an SDK, with a tool of its own.

Usage: replay_agent.py VARIANT. It prints what it was answered, one line each.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request

from otel_runlog import replay_tool

SYSTEM = "You are brief."
PROMPT = "Say a letter."


@replay_tool
def t(n: int) -> int:
    """A tool whose results are others today."""
    return n * 100


def ask(prompt: str = PROMPT, system: str = SYSTEM, **more: object) -> str:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    body = {"model": "m-1", "messages": messages, "temperature": 1, **more}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
    )
    with urllib.request.urlopen(request) as response:
        answer: str = json.load(response)["choices"][0]["message"]["content"]
        return answer


def tools() -> list[int]:
    """Both calls at once."""
    found: dict[int, int] = {}
    threads = [threading.Thread(target=lambda n=n: found.update({n: t(n)})) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[1], found[2]]


def say(*lines: object) -> None:
    for line in lines:
        print(line, flush=True)


def same() -> None:
    say(ask(), ask(), *tools())


def reordered() -> None:
    say(ask(), ask(), t(2), t(1))


def once_more() -> None:
    same()
    ask()


def one_word() -> None:
    say(ask(), ask("Say a number."), *tools())


def other_spelling() -> None:
    """1 and 1.0, and the keys of the messages the other way round."""
    messages = [{"content": SYSTEM, "role": "system"}, {"content": PROMPT, "role": "user"}]
    say(ask(temperature=1.0, messages=messages), ask(messages=messages), *tools())


def other_system() -> None:
    say(ask(system="You are verbose."))


def other_params() -> None:
    say(ask(temperature=0.5), ask(), *tools())


def swallows() -> None:
    say(ask())
    try:
        ask("Say a number.")
    except urllib.error.HTTPError as error:
        with error:
            say(error.status)
    say(*tools())


def fails() -> None:
    same()
    sys.exit(3)


def killed() -> None:
    same()
    os.kill(os.getpid(), 9)


def waits() -> None:
    try:
        say(ask(), ask(), *tools())
        for _ in range(1200):  # a signal that comes just before a wait is seen after it
            time.sleep(0.05)
    except KeyboardInterrupt:
        say("interrupted")


def unfinished_line() -> None:
    ask(), ask(), tools()
    print("no line break", end="")


def records_itself() -> None:
    """With telemetry of its own, into the store of OTEL_RUNLOG_DB."""
    from opentelemetry.sdk.trace import TracerProvider

    from otel_runlog import RunLogSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(RunLogSpanProcessor(os.environ["OTEL_RUNLOG_DB"]))
    tracer = provider.get_tracer("replay_agent")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "speller"}
    with tracer.start_as_current_span("invoke_agent speller", attributes=agent):
        for _ in range(2):
            call = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"}
            with tracer.start_as_current_span("chat m-1", attributes=call):
                say(ask())
        say(*tools())
    provider.shutdown()


VARIANTS = {f.__name__: f for f in (same, reordered, once_more, one_word, other_spelling, other_system, other_params)}
ENDINGS = {f.__name__: f for f in (swallows, fails, killed, waits, unfinished_line, records_itself)}

if __name__ == "__main__":
    (VARIANTS | ENDINGS)[sys.argv[1]]()
