"""A capture as one JSON document, `runlog.capture/1`: the only form in which one is kept, exported and read.

    {"schema": "runlog.capture/1", "run_id": ..., "captured_at": ..., "completeness": ..., "memory_ref": ...,
     "price_table": ..., "redaction": ..., "llm_io": [...], "tool_io": [...], "run": {...}, "contents": {...}}

Field names are those of the structs in capture.py, conversation.py and model.py; what is unknown is null. `contents`
holds each message and each tool's definition once, by the sha256 of its bytes as they stand here. A request's `turns`
are digests; where `continues` is a number, those of the request of that entry of llm_io (from 0) come before them, for
each call of an agent repeats the conversation so far. An answer's `message` is a digest too. Values that JSON cannot
say are marked (see _values.py).

The same capture gives the same bytes, and `dumps(loads(data)) == data` for what `dumps` wrote. Nothing in a document is
code, and nothing in it names a file.
"""

from __future__ import annotations

from otel_runlog.captures._files import read_capture, write_capture
from otel_runlog.captures._problems import problems_of
from otel_runlog.captures._reading import MAX_BYTES, loads
from otel_runlog.captures._writing import dumps, plain

__all__ = ["MAX_BYTES", "dumps", "loads", "plain", "problems_of", "read_capture", "write_capture"]
