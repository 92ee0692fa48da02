"""A process with both doors over the journal of a store: `python door_process.py FOLDER`, to be killed.

The first line on stdout is the two addresses, HTTP's first.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from doors import doors

from otel_runlog.server.heap import give_back_large_blocks


def main() -> None:
    give_back_large_blocks()
    with doors(Path(sys.argv[1])) as served:
        print(served.http, served.grpc, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
