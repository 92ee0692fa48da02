"""The messages of model calls that log records tell. Pure.

Two forms: one record a message (OTel GenAI up to 1.36: `gen_ai.user.message` and its like), and one a call with all of
them (`gen_ai.client.inference.operation.details`). Both name the call's span. What the span says itself wins; of what
records say, each direction comes from one origin: the latest record of a whole call, else the messages of one scope.
The view `messages` decides the same way, so it does not matter what comes first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from otel_runlog.conventions._attrs import dump, mapping
from otel_runlog.conventions._base import CUT_NOTE, GENERIC
from otel_runlog.conventions._content import ABSENT, CUT, DETAILS_EVENT, WHOLE, presences, state
from otel_runlog.conventions._genai_messages import EVENT_ROLES, event_messages, from_attributes
from otel_runlog.conventions._index import Found
from otel_runlog.conventions._names import INDEX
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, Content, LogRecord, Message, Span

DIRECTIONS = ("system", "input", "output", "tools")
PER_CALL, PER_MESSAGE = "call", "message"
"""The two forms of origins; the first in the alphabet wins, of several records of a call the latest."""
EVENT_CONTENT = "gen_ai.event.content"
"""Where emitters whose records have no structured body put it, as JSON."""
CallKey: TypeAlias = tuple[str, str]
"""trace id and span id of a call."""
_ENCODER = msgspec.msgpack.Encoder(order="sorted")
_LARGEST_NS = 2**63 - 1
_RANKS = {name: rank for rank, name in enumerate(EVENT_ROLES)}


class LoggedMessage(msgspec.Struct, frozen=True):
    """A message that a record tells. `origin` and `place` sort: the smallest origin counts, places give the order."""

    direction: str
    origin: str
    place: str
    position: int
    message: Message


class LoggedContent(msgspec.Struct):
    """What the records of one call tell, and how much of prompt and answer that is (see `_content.presence`)."""

    messages: SpanMessages
    asked: int = ABSENT
    said: int = ABSENT


def event_name(record: LogRecord) -> str:
    """The name of the event that a record is; SDKs before 1.32 have it among the attributes."""
    return record.event_name or str(record.attributes.get("event.name") or "")


def tells_messages(record: LogRecord) -> bool:
    """Whether a record may tell messages of a call that it names."""
    if record.trace_id is None or record.span_id is None:
        return False
    name = event_name(record)
    return name in EVENT_ROLES or name == DETAILS_EVENT


def encoded(record: LogRecord) -> bytes:
    """A record's canonical bytes, the same in every delivery."""
    try:
        return _ENCODER.encode(record)
    except (ValueError, OverflowError, TypeError, RecursionError):  # lone surrogates, integers beyond 64 bits
        return repr(record).encode("utf-8", "replace")


def mark_of(content: bytes) -> bytes:
    """What stands for a record, given its canonical bytes."""
    return hashlib.sha256(content).digest()


def distinct(records: Iterable[LogRecord]) -> dict[bytes, LogRecord]:
    """Records by their marks, in order of time; one that was given twice is there once."""
    marked = [(mark_of(encoded(record)), record) for record in records]
    return dict(sorted(marked, key=lambda mr: (_time_ns(mr[1]), mr[0])))


def messages_in(record: LogRecord) -> Iterator[LoggedMessage]:
    """The messages that one record tells; none where they cannot be read, which costs nothing else."""
    try:
        found = _messages(record)
    except Exception:  # noqa: BLE001  # whatever a hostile body does, the record stays
        return
    origin, place = _origin(record), _place(record)
    for direction in DIRECTIONS:
        for position, message in enumerate(getattr(found, direction)):
            if message.text and not _is_hollow(message):
                yield LoggedMessage(direction, origin, place, position, message)


def _messages(record: LogRecord) -> SpanMessages:
    if event_name(record) == DETAILS_EVENT:
        return from_attributes(_details(record))
    return event_messages([(event_name(record), _body(record))])


def _is_hollow(message: Message) -> bool:
    """Whether only the names of called tools are left of a message: content is off."""
    if '"tool_calls"' not in message.raw or '"arguments"' in message.raw:
        return False
    return not mapping(message.raw).get("content")


def _details(record: LogRecord) -> Attributes:
    return {**mapping(record.body), **record.attributes}


def _body(record: LogRecord) -> Attributes:
    return mapping(record.body) or mapping(record.attributes.get(EVENT_CONTENT)) or record.attributes


def _origin(record: LogRecord) -> str:
    if event_name(record) == DETAILS_EVENT:
        return f"{PER_CALL} {_LARGEST_NS - _time_ns(record):020d} {mark_of(encoded(record)).hex()}"
    return f"{PER_MESSAGE} {record.scope.name}"


def _place(record: LogRecord) -> str:
    """Time, then the roles' usual order, then anything that is the same in every delivery."""
    rank = _RANKS.get(event_name(record), 0)
    return f"{_time_ns(record):020d} {record.observed_ns or 0:020d} {rank} {mark_of(encoded(record)).hex()}"


def _time_ns(record: LogRecord) -> int:
    return record.time_ns or record.observed_ns or 0


def content_of_calls(records: Iterable[LogRecord]) -> dict[CallKey, LoggedContent]:
    """What the records tell of each call, whatever their order; a record given twice tells once."""
    told: dict[CallKey, dict[str, list[tuple[LoggedMessage, LogRecord]]]] = {}
    for record in distinct(r for r in records if tells_messages(r)).values():
        call = told.setdefault((str(record.trace_id), str(record.span_id)), {})
        for message in messages_in(record):
            call.setdefault(message.direction, []).append((message, record))
    return {key: _content(call) for key, call in told.items() if call}


def _content(call: dict[str, list[tuple[LoggedMessage, LogRecord]]]) -> LoggedContent:
    found = LoggedContent(SpanMessages())
    for direction, told in call.items():
        origin = min(m.origin for m, _ in told)
        chosen = sorted(((m, r) for m, r in told if m.origin == origin), key=lambda mr: (mr[0].place, mr[0].position))
        setattr(found.messages, direction, tuple(m.message for m, _ in chosen))
        if direction == "input":
            found.asked = _presences(*chosen[0])[0]
        elif direction == "output":
            found.said = _presences(*chosen[0])[1]
    return found


def _presences(first: LoggedMessage, record: LogRecord) -> tuple[int, int]:
    """How much of prompt and answer is told, by the first message and its record.

    A prompt that begins with a tool's result begins in the middle of a conversation (see `_content.LATER_START`).
    """
    if event_name(record) != DETAILS_EVENT:
        return ABSENT if first.message.role == "tool" else WHOLE, WHOLE
    attributes: Attributes = {k: dump(v) if isinstance(v, list | dict) else v for k, v in _details(record).items()}
    found: Found = INDEX.gather(attributes)
    return presences(Span("", "", attributes=attributes), found, *GENERIC)


def with_logged(own: SpanMessages, logged: LoggedContent | None) -> SpanMessages:
    """The messages of a span; each direction that it lacks is the records'."""
    if logged is None:
        return own
    return SpanMessages(*(getattr(own, d) or getattr(logged.messages, d) for d in DIRECTIONS))


def content_with_logged(reading: Reading, logged: LoggedContent) -> Content:
    """How much of a call's content there is, with what the records add; an answer cut short stays so."""
    own = reading.content
    if own is Content.FULL or CUT_NOTE in reading.notes:
        return own
    asked = WHOLE if own is Content.TRUNCATED else logged.asked
    said = WHOLE if own is Content.ANSWER else logged.said
    if own is Content.TRUNCATED and not said:
        return own
    return state(asked, CUT if said and reading.usage_cut else said)
