"""Which texts are ids, and names of files made of them. Pure."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from otel_runlog.errors import CaptureError

MAX_ID_CHARS: Final = 256
MAX_NAME_CHARS: Final = 100
FILE_END: Final = ".capture.json"


def check_id(field: str, value: str | None) -> None:
    """An id is text that a person can read, and no way out of a folder. `runlog.run.id` may have slashes inside.

    Raises:
        CaptureError: it is none.
    """
    if value is None:
        return
    if not value.isprintable() or "\\" in value or len(value) > MAX_ID_CHARS:
        raise CaptureError(f"{field} is no id: {value!r:.80}")
    if any(part in ("", ".", "..") for part in value.split("/")):
        raise CaptureError(f"{field} is a path: {value!r:.80}")


def file_name_of(run_id: str) -> str:
    """The file of a run's capture: letters, digits, `_`, `-` and inner dots of its id; what else it had, as a hash."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", run_id).lstrip(".")[:MAX_NAME_CHARS]
    if name != run_id:
        name = f"{name}-{hashlib.sha256(run_id.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return name + FILE_END
