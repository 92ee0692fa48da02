"""A capture as a document: see document.py. Pure."""

from __future__ import annotations

import datetime as dt
import hashlib
from decimal import Decimal
from typing import Final

import msgspec

from otel_runlog.capture import Capture, CapturedLlm
from otel_runlog.captures._names import check_id
from otel_runlog.captures._shapes import Named
from otel_runlog.captures._values import TOO_DEEP, Plain, packed
from otel_runlog.conversation import LlmAnswer, LlmRequest, Role, ToolDefinition, Turn
from otel_runlog.errors import CaptureError

_AS_THEY_ARE: Final = (dt.datetime, Decimal, bytes)


def plain(value: msgspec.Struct) -> Plain:
    """A struct of captures as JSON with everything in its place: messages written out, unknown null.

    Raises:
        CaptureError: it is nested too deeply.
    """
    try:
        return packed(msgspec.to_builtins(value, builtin_types=_AS_THEY_ARE))
    except RecursionError:
        raise CaptureError(TOO_DEEP) from None


def dumps(capture: Capture) -> bytes:
    """The document, with a line end.

    Raises:
        CaptureError: it holds what `loads` would refuse: values nested too deeply, an id that is none.
    """
    check_id("run_id", capture.run_id)
    try:
        return msgspec.json.encode(_document(capture, _Contents())) + b"\n"
    except RecursionError:
        raise CaptureError(TOO_DEEP) from None


def _document(capture: Capture, contents: _Contents) -> Named:
    return {
        "schema": capture.schema,
        "run_id": capture.run_id,
        "captured_at": packed(capture.captured_at),
        "completeness": capture.completeness,
        "memory_ref": packed(capture.memory_ref),
        "price_table": plain(capture.price_table) if capture.price_table else None,
        "redaction": plain(capture.redaction) if capture.redaction else None,
        "llm_io": [_call_as_json(call, contents) for call in capture.llm_io],
        "tool_io": [plain(tool) for tool in capture.tool_io],
        "run": _in_order(capture.run),
        "contents": contents.written,
    }


def _in_order(value: msgspec.Struct) -> Named:
    """As `plain`, names of attributes sorted: their order says nothing."""
    found: Named = packed(msgspec.to_builtins(value, builtin_types=_AS_THEY_ARE, order="deterministic"))
    return found


class _Contents:
    """The contents of a document that is being written, and which conversations it holds."""

    def __init__(self) -> None:
        self.written: dict[str, msgspec.Raw] = {}
        self._digests: dict[int, tuple[object, str]] = {}
        self._nodes: dict[tuple[int, str], int] = {}
        self._ends: dict[int, int] = {}
        self._calls = 0

    def digest(self, content: Turn | ToolDefinition) -> str:
        """The name of a message or definition in `written`."""
        known = self._digests.get(id(content))
        if known is not None:
            return known[1]
        encoded = msgspec.json.encode(plain(content))
        digest = hashlib.sha256(encoded).hexdigest()
        self._digests[id(content)] = content, digest  # kept, so that no other one gets its id
        self.written.setdefault(digest, msgspec.Raw(encoded))
        return digest

    def next_call(self, turns: list[str]) -> tuple[int | None, list[str]]:
        """The earlier call with the longest conversation that `turns` go on from, and the turns after it.

        Conversations are a tree whose branches are digests; the first call to end at a node has it.
        """
        node, continues, known = 0, None, 0
        for count, digest in enumerate(turns, 1):
            node = self._nodes.setdefault((node, digest), len(self._nodes) + 1)
            if node in self._ends:
                continues, known = self._ends[node], count
        if turns:
            self._ends.setdefault(node, self._calls)
        self._calls += 1
        return continues, turns[known:]


def _call_as_json(call: CapturedLlm, contents: _Contents) -> Named:
    found = _in_order(msgspec.structs.replace(call, request=None, answer=None))
    found["request"] = _request_as_json(call.request, contents)
    found["answer"] = _answer_as_json(call.answer, contents)
    return found


def _request_as_json(request: LlmRequest | None, contents: _Contents) -> Named | None:
    turns = [contents.digest(turn) for turn in request.turns] if request else []
    continues, own = contents.next_call(turns)
    if request is None:
        return None
    found = _in_order(msgspec.structs.replace(request, turns=(), tools=None))
    found["continues"], found["turns"] = continues, own
    if request.tools is not None:
        found["tools"] = [contents.digest(tool) for tool in request.tools]
    return found


def _answer_as_json(answer: LlmAnswer | None, contents: _Contents) -> Named | None:
    if answer is None:
        return None
    found = _in_order(msgspec.structs.replace(answer, parts=()))
    del found["parts"]
    found["message"] = contents.digest(Turn(Role.ASSISTANT, answer.parts)) if answer.parts else None
    return found
