"""A capture out of a document, which may be a stranger's: see document.py. Pure."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import msgspec

from otel_runlog.capture import SCHEMA, Capture, CapturedLlm, PriceTableRef, RedactionRules
from otel_runlog.captures._names import check_id
from otel_runlog.captures._shapes import (
    Named,
    read_answer,
    read_definition,
    read_llm,
    read_request,
    read_run,
    read_step,
    read_tool,
    read_turn,
)
from otel_runlog.captures._values import TOO_DEEP, Plain, unpacked
from otel_runlog.conversation import LlmAnswer, LlmRequest, ToolDefinition, Turn
from otel_runlog.errors import CaptureError
from otel_runlog.model import Content, RunLog, Step

MAX_BYTES: Final = 256 * 2**20
MAX_TURNS: Final = 5_000_000
"""Of all requests of a document together, those that `continues` brings counted too."""
MAX_VERSION_DIGITS: Final = 9
FAMILY, _, VERSION = SCHEMA.rpartition("/")
T = TypeVar("T")


class _Document(msgspec.Struct):
    """The outermost object, its parts not yet looked at."""

    run_id: str
    captured_at: dt.datetime
    completeness: Content
    run: msgspec.Raw
    memory_ref: Any = None
    price_table: Any = None
    redaction: Any = None
    llm_io: list[msgspec.Raw] = []
    tool_io: list[msgspec.Raw] = []
    contents: dict[str, msgspec.Raw] = {}


class _Labelled(msgspec.Struct):
    schema: Any = None


def loads(data: bytes, *, name: str = "capture", max_bytes: int = MAX_BYTES) -> Capture:
    """The capture in a document, which may be a stranger's: all is checked before it is used, nothing is executed.

    Args:
        data: the document.
        name: of its file, for errors.
        max_bytes: what is larger is not looked at.

    Raises:
        CaptureError: it is no capture, one of a newer version, or damaged; the message says `name` and the reason.
    """
    try:
        return _Reading(_document(data, max_bytes)).capture()
    except CaptureError as error:
        raise CaptureError(f"{name}: {error}") from None
    except RecursionError:
        raise CaptureError(f"{name}: {TOO_DEEP}") from None
    except (msgspec.MsgspecError, ValueError, TypeError, ArithmeticError) as error:
        raise CaptureError(f"{name}: {error}") from None


def _document(data: bytes, max_bytes: int) -> _Document:
    if len(data) > max_bytes:
        raise CaptureError(f"it has {len(data)} bytes, more than the {max_bytes} that are read")
    try:
        labelled = msgspec.json.decode(data, type=_Labelled)
    except msgspec.ValidationError:
        raise CaptureError("it is JSON, but no capture") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CaptureError(f"it is not JSON: {error}") from None
    _check_schema(labelled.schema)
    return msgspec.json.decode(data, type=_Document)


def _check_schema(schema: object) -> None:
    if schema == SCHEMA:
        return
    family, _, version = schema.rpartition("/") if isinstance(schema, str) else ("", "", "")
    if family == FAMILY and version.isdecimal() and len(version) <= MAX_VERSION_DIGITS and int(version) > int(VERSION):
        raise CaptureError(f"it is a {schema}: upgrade otel-runlog, which reads {SCHEMA}")
    said = "it has no schema" if schema is None else f"its schema is {schema!r:.80}"
    raise CaptureError(f"it is no capture: {said}, and not {SCHEMA!r}")


class _Reading:
    """A document that is being read."""

    def __init__(self, document: _Document) -> None:
        self._document = document
        self._turns: dict[str, Turn] = {}
        self._definitions: dict[str, ToolDefinition] = {}
        self._conversations: list[tuple[Turn, ...]] = []
        self._count = 0

    def capture(self) -> Capture:
        document = self._document
        check_id("run_id", document.run_id)
        for digest, content in document.contents.items():
            _check_digest(digest, content)
        return Capture(
            run_id=document.run_id,
            captured_at=_utc(document.captured_at),
            completeness=document.completeness,
            run=self._run(),
            llm_io=tuple(_each("llm_io", document.llm_io, self._call)),
            tool_io=tuple(_each("tool_io", document.tool_io, read_tool)),
            memory_ref=_optional("memory_ref", document.memory_ref, str),
            price_table=_optional("price_table", document.price_table, PriceTableRef),
            redaction=_optional("redaction", document.redaction, RedactionRules),
        )

    def _run(self) -> RunLog:
        value = _plain("run", self._document.run, Named)
        steps = value.get("steps") or []
        run = _made("run", value, lambda v: read_run(v, steps=tuple(_steps(steps))))
        if run.run_id != self._document.run_id:
            raise CaptureError(f"run_id is {self._document.run_id!r}, and run.run_id {run.run_id!r:.80}")
        run.started_at = run.started_at and _utc(run.started_at)
        run.finished_at = run.finished_at and _utc(run.finished_at)
        return run

    def _call(self, value: Named) -> CapturedLlm:
        request, answer = value.get("request"), value.get("answer")
        self._conversations.append(())
        return read_llm(
            value,
            request=None if request is None else self._request(msgspec.convert(request, Named)),
            answer=None if answer is None else self._answer(msgspec.convert(answer, Named)),
        )

    def _request(self, value: Named) -> LlmRequest:
        own = tuple(map(self._turn, msgspec.convert(value.get("turns", []), list[str])))
        turns = (*self._before(value.get("continues")), *own)
        self._count += len(turns)
        if self._count > MAX_TURNS:
            raise CaptureError(f"the requests have more than {MAX_TURNS} turns together")
        self._conversations[-1] = turns
        tools = msgspec.convert(value.get("tools"), list[str] | None)
        return read_request(value, turns=turns, tools=None if tools is None else tuple(map(self._definition, tools)))

    def _before(self, continues: object) -> tuple[Turn, ...]:
        """The turns of the call that a request goes on from, which must come before it."""
        if continues is None:
            return ()
        position = msgspec.convert(continues, int)
        if not 0 <= position < len(self._conversations) - 1:
            raise CaptureError(f"it continues entry {position}, which is none before it")
        return self._conversations[position]

    def _answer(self, value: Named) -> LlmAnswer:
        digest = msgspec.convert(value.get("message"), str | None)
        return read_answer(value, parts=() if digest is None else self._turn(digest).parts)

    def _turn(self, digest: str) -> Turn:
        if digest not in self._turns:
            self._turns[digest] = self._content(digest, read_turn)
        return self._turns[digest]

    def _definition(self, digest: str) -> ToolDefinition:
        if digest not in self._definitions:
            self._definitions[digest] = self._content(digest, read_definition)
        return self._definitions[digest]

    def _content(self, digest: str, read: Callable[[Plain], T]) -> T:
        raw = self._document.contents.get(digest)
        if raw is None:
            raise CaptureError(f"there is no content {digest!r:.80}")
        return _made(f"contents[{digest:.80}]", _plain("contents", raw), read)


def _check_digest(digest: str, content: msgspec.Raw) -> None:
    """A content goes by its own sha256, also where somebody made the document pretty."""
    if hashlib.sha256(content).hexdigest() == digest:
        return
    compact = msgspec.json.encode(msgspec.json.decode(content))
    if hashlib.sha256(compact).hexdigest() != digest:
        raise CaptureError(f"the content {digest!r:.80} is not what its sha256 says")


def _steps(values: object) -> Iterable[Step]:
    for number, value in enumerate(msgspec.convert(values, list[Any])):
        yield _made(f"run.steps[{number}]", value, read_step)


def _each(field: str, raws: list[msgspec.Raw], read: Callable[[Plain], T]) -> Iterable[T]:
    for number, raw in enumerate(raws):
        label = f"{field}[{number}]"
        yield _made(label, _plain(label, raw, Named), read)


def _optional(field: str, value: Plain, kind: type[T]) -> T | None:
    return None if value is None else _made(field, unpacked(value), lambda v: msgspec.convert(v, kind))


def _plain(label: str, raw: msgspec.Raw, kind: Any = Any) -> Plain:
    return _made(label, unpacked(msgspec.json.decode(raw)), lambda v: msgspec.convert(v, kind))


def _made(label: str, value: Plain, read: Callable[[Plain], T]) -> T:
    """What `read` makes of a value; errors say where it stood."""
    try:
        return read(value)
    except msgspec.ValidationError as error:
        raise CaptureError(f"{label}: {error}") from None
    except CaptureError as error:
        raise CaptureError(f"{label}: {error}") from None


def _utc(moment: dt.datetime) -> dt.datetime:
    if moment.tzinfo is None:
        raise CaptureError(f"the time {moment.isoformat()} has no zone")
    return moment.astimezone(dt.UTC)
