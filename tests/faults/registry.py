"""The faults of the project's matrix that nothing may be lost under, and the scenarios that make them happen."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from . import disks, forks, hosts, kills, loaders, servers
from .work import Outcome, Work


class Scenario(msgspec.Struct, frozen=True):
    """One line of the table.

    Attributes:
        faults: the numbers of the faults it shows.
        name: what it is called on the command line.
        what: what happens, in a few words.
        function: makes it happen.
    """

    faults: tuple[int, ...]
    name: str
    what: str
    function: Callable[[Work], Outcome]


FAULTS: dict[int, str] = {
    1: "kill -9 after a burst",
    2: "kill -9 at random instants",
    3: "kill -9 inside an open run",
    4: "os._exit, SIGTERM, SIGINT, unhandled exception, sys.exit",
    5: "os.fork",
    6: "multiprocessing, ProcessPoolExecutor, pre-forking servers",
    7: "fork with the store open",
    8: "kill -9 during rotation, commit and checkpoint",
    9: "a sink raises an Exception or BaseException, fails, hangs",
    10: "a bug of our own",
    11: "the backend is down at exit",
    12: "flush with a hung sink",
    13: "asyncio cancellation, KeyboardInterrupt, abandoned generator",
    14: "a stalled sink and big prompts",
    15: "seeded id generator",
    16: "span limits",
    17: "kill -9 of the server after an acknowledgement",
    18: "the server restarts while exporters send",
    19: "duplicate delivery",
    20: "same ids, other content",
    21: "out of order, cycles, strange times",
    22: "ids that are zero or of a wrong length",
    23: "one poison span in 512",
    24: "malformed bodies",
    25: "empty requests and envelopes",
    26: "quirks of OTLP/JSON",
    27: "content types and encodings",
    28: "requests that are too large",
    29: "overload",
    30: "slow clients, half-open and idle connections",
    31: "decompression bombs",
    32: "millions of empty spans",
    33: "deep nesting",
    34: "a million attributes, keys of 10 MB",
    35: "DNS rebinding",
    36: "cross-site requests",
    37: "an address beyond loopback without a token",
    38: "a token that is missing, wrong, empty or cut",
    40: "SQL that writes, reads files, attaches or sets",
    41: "SQL that takes too much",
    42: "SQL in names and filters",
    43: "path traversal on export, import and replay",
    44: "hostile input files",
    45: "forward targets that are none, redirects, huge answers",
    47: "patterns that backtrack for ever",
    48: "disk full",
    49: "flipped and missing bytes in the journal",
    50: "the store is damaged or replaced",
    51: "a second process opens the store",
    52: "permissions under any umask",
    53: "fdatasync fails",
    54: "clocks that jump",
    55: "killed while the schema is upgraded; a newer schema",
    56: "secrets in prompts",
}
"""By number."""

REQUIRED = frozenset({*range(1, 39), *range(40, 46), *range(47, 57)})
"""Each of these has a test that carries its number."""

SCENARIOS: tuple[Scenario, ...] = (
    Scenario((1,), "burst", "kill -9 after 1000 spans", kills.killed_after_a_burst),
    Scenario((2,), "random-kill", "kill -9 of a writer at random instants", kills.killed_at_random),
    Scenario((3,), "open-run", "kill -9 inside an open run", kills.killed_inside_a_run),
    Scenario((4,), "leave", "every way to leave", kills.every_way_to_leave),
    Scenario((5,), "fork", "os.fork", forks.forked),
    Scenario((6,), "multiprocessing", "multiprocessing fork, forkserver, spawn", forks.multiprocessed),
    Scenario((6,), "pool", "ProcessPoolExecutor", forks.pooled),
    Scenario((6,), "server", "pre-forking server", forks.served_by_forked_workers),
    Scenario((7,), "open-store", "os.fork with the store open", forks.forked_with_the_store_open),
    Scenario((8,), "turnover", "kill -9 in rotation, commit, checkpoint", kills.killed_while_turning_over),
    Scenario((2, 8), "loader-kill", "kill -9 of a loader at random instants", loaders.killed_while_loading),
    Scenario((2,), "left-behind", "segments of killed processes beside a living one", loaders.left_by_killed_processes),
    Scenario((9,), "raising-sink", "sink raises Exception, BaseException", hosts.sink_that_raises),
    Scenario((11,), "nowhere", "nothing can be written at exit", hosts.nowhere_to_write),
    Scenario((12,), "hung-flush", "flush of 1 s with a hung sink", hosts.flush_of_a_hung_sink),
    Scenario((13,), "cancelled", "cancelled, interrupted, abandoned", hosts.cancelled),
    Scenario((14,), "big-prompts", "stalled sink, prompts of 1 MB", hosts.stalled_with_big_prompts),
    Scenario((15,), "seeded", "random.seed(42) in two runs", loaders.seeded_ids),
    Scenario((16,), "limits", "203 attributes, 300 events", hosts.over_the_limits),
    Scenario((17,), "server-kill", "kill -9 of the server under load from both exporters", servers.killed_under_load),
    Scenario((18,), "server-restart", "the server is away for 4 s under load", servers.restarted_under_load),
    Scenario((19,), "again", "delivered four times more", loaders.delivered_again),
    Scenario((20,), "conflict", "same ids, other content", loaders.in_another_version),
    Scenario((21,), "times", "strange times", hosts.strange_times),
    Scenario((23,), "poison", "poison among 512 spans", hosts.poison_among_512),
    Scenario((48,), "full-disk", "no file beyond 200 kB for a while", disks.full_disk),
    Scenario((49,), "flipped", "flipped and missing bytes", disks.flipped_bytes),
    Scenario((50, 11), "text", "the store is a text", disks.store_of_text),
    Scenario((51,), "two-loaders", "two loaders, two writers, a holder", loaders.two_at_once),
    Scenario((52,), "umask", "umask 0", disks.under_umask_0),
    Scenario((53,), "fdatasync", "fdatasync fails", disks.failing_fdatasync),
)
