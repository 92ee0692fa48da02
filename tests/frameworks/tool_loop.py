"""The tool loop that every agent of this folder runs: two tools, three model calls, with known usage."""

from provider import Answer, ToolCall

QUESTION = "2 * (19 + 23)?"
SCRIPT = [
    Answer(
        "",
        (ToolCall("add", {"a": 19, "b": 23}, id="call_a"),),
        input_tokens=811,
        output_tokens=47,
        cache_read_tokens=384,
        reasoning_tokens=17,
    ),
    Answer(
        "",
        (ToolCall("double", {"a": 42}, id="call_b"),),
        input_tokens=853,
        output_tokens=31,
        cache_read_tokens=512,
        reasoning_tokens=7,
    ),
    Answer("It is 84.", input_tokens=907, output_tokens=29, cache_read_tokens=768, reasoning_tokens=5),
]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def double(a: int) -> int:
    """Double a number."""
    return 2 * a
