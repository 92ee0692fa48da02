"""Large requests to several of a few MiB each, before they are journalled.

A record of the journal is decoded whole, and a span takes three times its bytes then: of a request of 60 MB the loader
would make 600 MB, and it could not be asked to end in the middle of it. Resource and scope are repeated in every part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from otel_runlog.errors import OtlpError
from otel_runlog.otlp.from_json import BOM
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.forward.span_wire import items_between

PART_BYTES: Final = 4 << 20
_PATHS: Final = {
    Signal.TRACES: ("resourceSpans", "scopeSpans", "spans"),
    Signal.LOGS: ("resourceLogs", "scopeLogs", "logRecords"),
}
_object: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_objects: Final = msgspec.json.Decoder(list[dict[str, msgspec.Raw]] | None)
_items: Final = msgspec.json.Decoder(list[msgspec.Raw] | None)
_encode: Final = msgspec.json.Encoder().encode
_NONE: Final = msgspec.Raw(b"null")


def divided(body: bytes, signal: Signal, encoding: Encoding, items: int, part_bytes: int = PART_BYTES) -> list[bytes]:
    """The request as requests of about `part_bytes` with all its items, in order; as it is where it is not larger.

    Args:
        body: a request.
        signal: TRACES or LOGS.
        encoding: how it is written.
        items: how many spans or log records it holds.
        part_bytes: how large a part is to be; a single item may be larger.
    """
    number = min(-(-len(body) // part_bytes), items)
    if number <= 1:
        return [body]
    parts_of = _json_parts if encoding is Encoding.JSON else _protobuf_parts
    try:
        return list(parts_of(body, signal, items, -(-items // number)))
    except (OtlpError, msgspec.DecodeError):
        return [body]


def _protobuf_parts(body: bytes, _signal: Signal, items: int, each: int) -> Iterator[bytes]:
    for low in range(0, items, each):
        yield items_between(body, low, min(low + each, items))


def _json_parts(body: bytes, signal: Signal, items: int, each: int) -> Iterator[bytes]:
    blocks_key, scopes_key, items_key = _PATHS[signal]
    request = _object.decode(body.removeprefix(BOM))
    found = [
        (block, scope, _items.decode(scope.get(items_key, _NONE)) or [])
        for block in _objects.decode(request.get(blocks_key, _NONE)) or []
        for scope in _objects.decode(block.get(scopes_key, _NONE)) or []
    ]
    if sum(len(raw) for _, _, raw in found) != items:
        raise OtlpError("the request has items where this does not look for them")
    blocks: list[object] = []
    room = each
    for block, scope, raw in found:
        low = 0
        while low < len(raw):
            some = raw[low : low + room]
            blocks.append({**block, scopes_key: [{**scope, items_key: some}]})
            low, room = low + len(some), room - len(some)
            if not room:
                yield _encode({**request, blocks_key: blocks})
                blocks, room = [], each
    if blocks:
        yield _encode({**request, blocks_key: blocks})
