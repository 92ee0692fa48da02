"""The server as a whole: what starts before what, and how it ends.

The right to serve the store is claimed first. The parts then start from the back to the front, so that what is accepted
can go its way, and end from the front to the back, each within its share of the time.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NoReturn

from otel_runlog.door.loading import Loading
from otel_runlog.door.worker import HURRY_S
from otel_runlog.errors import JournalError, ServerStartError
from otel_runlog.ingest import rare_collections
from otel_runlog.journal import JournalWriter, journal_folder, make_folder
from otel_runlog.journal.cursors import configured
from otel_runlog.loader import Loader
from otel_runlog.metrics import RunMetrics
from otel_runlog.model import RunLog
from otel_runlog.otlp.scan import ScanLimits
from otel_runlog.pricing import PriceTable
from otel_runlog.redaction import SecretPatterns
from otel_runlog.server import address as addresses
from otel_runlog.server.address import ServerAddress
from otel_runlog.server.budget import Budget
from otel_runlog.server.counters import Counters
from otel_runlog.server.forward import Forwarder, cursor_names, forwarders_for
from otel_runlog.server.grpc_door import GrpcDoor
from otel_runlog.server.guard import Guard
from otel_runlog.server.health import Health, health_routes, metrics_provider
from otel_runlog.server.heap import give_back_large_blocks
from otel_runlog.server.http_door import HttpDoor
from otel_runlog.server.intake import Intake
from otel_runlog.server.loading import Lag, TurnTaker, count_books, make_store
from otel_runlog.server.loops import refuse_loops
from otel_runlog.server.otlp_routes import otlp_routes
from otel_runlog.server.query_child import ChildLimits
from otel_runlog.server.query_pool import QueryPool
from otel_runlog.server.query_routes import query_routes
from otel_runlog.server.redacting import RequestRedaction
from otel_runlog.server.routes import Route
from otel_runlog.server.run_service import RunService
from otel_runlog.server.tail import FinishedRuns, tail_routes
from otel_runlog.server.turns import StoreTurns
from otel_runlog.server_config import ServerConfig, host_and_port

STOP_S: Final = 4.0
"""CONTRACT: SIGTERM drains and exits 0 within 5 s. Python itself takes 0.3 to 0.6 s to end."""
DRAIN_PART: Final = 0.4
"""So much of that for loading before the doors close."""
DOORS_STOP_S: Final = 1.0
FORWARD_STOP_S: Final = 1.0
"""What destinations have taken by then is not sent again; the rest stays in the journal."""
MOST_FILES: Final = 65_536
"""A connection takes a file descriptor; most systems give a process 1,024 unless it asks for more."""
_EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - no names
_ENDINGS: Final = (signal.SIGTERM, signal.SIGINT)

logger = logging.getLogger("otel_runlog")


class Server:
    """All of `otel-runlog serve` but the process around it.

    Args:
        config: the settings.
        counters: told of all that happens.
        run_metrics: told of every run that finished.
    """

    def __init__(self, config: ServerConfig, counters: Counters, run_metrics: RunMetrics) -> None:
        self._config = config
        self._counters = counters
        self._run_metrics = run_metrics
        self._folder = journal_folder(config.db)
        self._turns = StoreTurns()
        self._lag = Lag()
        self._budget = Budget(int(config.memory))
        self._journal = JournalWriter(self._folder, fsync=True, max_bytes=int(config.journal_max))
        prices = PriceTable.load(config.prices) if config.prices else PriceTable.default()
        self._loading = Loading(
            lambda: TurnTaker(Loader(config.db, prices=prices), self._turns, partial(count_books, counters), self._lag),
            self._on_finished,
            config.load_every_s,
            rest_factor=0.0,
        )
        self._finished = FinishedRuns()
        self._forwarders: list[Forwarder] = []
        self._parts = contextlib.ExitStack()
        self._deadline = 0.0
        self._is_loader_gone = True

    def start(self) -> ServerAddress:
        """Serve; returns where.

        Raises:
            ServerStartError: another server has the store, an address cannot be used or must not be.
            ConfigError: the token's file or a destination's cannot be used, or a destination is this server itself.
            JournalError: the journal's folder cannot be used.
        """
        token, token_for_all = self._token(), not self._is_local()
        refuse_loops(self._config.forward, (self._config.grpc, self._config.http))
        with contextlib.ExitStack() as parts:
            claim = addresses.claim(self._config.db)
            parts.callback(claim.withdraw)
            self._start_behind(parts)
            guard = Guard(self._hosts(), token=token, token_for_all=token_for_all)
            grpc, http = self._start_doors(parts, guard)
            address = self._address(grpc, http, token)
            claim.publish(address)
            self._parts = parts.pop_all()
        self._loading.notify(urgent=True)  # what a killed server left
        return address

    def stop(self, timeout_s: float = STOP_S) -> bool:
        """Drain and end: nothing more is accepted, what was is journalled, and loaded and sent while there is time.

        Most is loaded while requests are still accepted: exporters try again for 7 s, so that the time without a server
        counts, and what is not loaded is loaded by the next one.

        Returns:
            False where the loader is still at work on a batch, which then is as if it had never been begun: the process
            must end by `leave`.
        """
        self._deadline = time.monotonic() + timeout_s
        self._loading.flush(timeout_s * DRAIN_PART)
        self._parts.close()
        return self._is_loader_gone

    def _start_behind(self, parts: contextlib.ExitStack) -> None:
        """What requests go to once they are on the disk."""
        make_folder(self._folder)
        config = self._config
        make_store(config.db)
        configured(self._folder, cursor_names(config.forward))
        free = partial(self._loading.notify, urgent=False)
        for destination in config.forward:
            self._forwarders += forwarders_for(destination, config.db, self._turns, self._counters.add, free)
        for forwarder in self._forwarders:
            forwarder.start()
        parts.callback(self._stop_forwarders)
        parts.callback(self._stop_loading)
        parts.callback(self._close_journal)

    def _start_doors(self, parts: contextlib.ExitStack, guard: Guard) -> tuple[str, str]:
        config, grpc, http = self._config, "", ""
        intake = self._intake()
        pool = self._start_pool(parts)
        if config.grpc:
            services = (RunService(pool, guard),)
            grpc_door = GrpcDoor(
                config.grpc, intake, guard, self._budget, max_request_bytes=int(config.max_request), handlers=services
            )
            grpc = grpc_door.start()
            parts.callback(grpc_door.stop, DOORS_STOP_S)
        if config.http:
            routes = (*otlp_routes(intake), *query_routes(pool), *tail_routes(self._finished), *self._health_routes())
            http_door = HttpDoor(config.http, routes, guard, self._budget, max_body_bytes=int(config.max_request))
            http = http_door.start()
            parts.callback(http_door.stop, DOORS_STOP_S)
        parts.callback(self._finished.close)
        parts.callback(pool.close)  # before the doors: what is asked is told, not cut off
        return grpc, http

    def _intake(self) -> Intake:
        config = self._config
        limits = ScanLimits(max_items=config.max_spans_per_request, max_attributes=config.max_attributes_per_span)
        return Intake(
            self._journal, self._counters, limits=limits, redact=self._redaction(), on_journalled=self._on_journalled
        )

    def _start_pool(self, parts: contextlib.ExitStack) -> QueryPool:
        sql = self._config.sql
        limits = ChildLimits(str(self._config.db), sql.time_s, int(sql.memory), int(sql.result))
        count = partial(self._counters.add, "questions", 1)
        pool = QueryPool(limits, self._turns, self._loading.flush, concurrent=sql.concurrent, count=count)
        parts.callback(pool.close)
        pool.start()
        return pool

    def _health_routes(self) -> tuple[Route, ...]:
        health = Health(self._folder, self._lag, self._budget, self._forwarders)
        health.watch(self._counters)
        return health_routes(health, self._counters)

    def _on_journalled(self) -> None:
        self._lag.journalled()
        self._loading.notify(urgent=False)
        for forwarder in self._forwarders:
            forwarder.notify()

    def _on_finished(self, runs: list[RunLog]) -> None:
        self._finished.add(runs)
        for run in runs:
            self._run_metrics.record(run)

    def _close_journal(self) -> None:
        try:
            self._journal.close()
        except JournalError as error:
            logger.warning("%s", error)

    def _stop_loading(self) -> None:
        self._loading.notify(urgent=True)  # the segment has its end now, so that it can go
        deadline = self._deadline - (FORWARD_STOP_S if self._forwarders else 0.0)
        self._loading.flush(deadline - HURRY_S - time.monotonic())
        self._is_loader_gone = self._loading.stop(deadline - time.monotonic(), native_s=HURRY_S)

    def _stop_forwarders(self) -> None:
        together([partial(f.stop, self._deadline - time.monotonic()) for f in self._forwarders])
        # A segment that was sent whole meanwhile woke the loader again, and an interpreter that ends while a thread is
        # in DuckDB aborts the process.
        left_s = max(self._deadline - time.monotonic(), HURRY_S)
        self._is_loader_gone &= self._loading.stop(left_s, native_s=HURRY_S)

    def _redaction(self) -> RequestRedaction | None:
        if not self._config.redact:
            return None
        return RequestRedaction(SecretPatterns(), lambda reason: self._counters.add("redacted", 1, reason))

    def _token(self) -> str:
        file = self._config.token_file
        return addresses.token_of(file) if file else addresses.new_token()

    def _is_local(self) -> bool:
        """Whether only loopback is served.

        Raises:
            ServerStartError: more is served, with neither a token nor the wish to have none.
        """
        binds = {name: getattr(self._config, name) for name in ("grpc", "http") if getattr(self._config, name)}
        open_binds = [f"{name} {bind}" for name, bind in binds.items() if not is_loopback(host_and_port(name, bind)[0])]
        if open_binds and not (self._config.token_file or self._config.insecure):
            raise ServerStartError(
                f"{' and '.join(open_binds)} can be reached from other machines: give --token-file FILE, or "
                "--insecure to serve them to everybody"
            )
        return not open_binds or (self._config.insecure and not self._config.token_file)

    def _hosts(self) -> list[str]:
        """The names that may stand in Host: those of the settings, and the one that is listened on if it is one."""
        host = self._config.http.rpartition(":")[0]
        return [*self._config.hosts, *([host] if host.strip("[]") not in _EVERYWHERE else [])]

    def _address(self, grpc: str, http: str, token: str) -> ServerAddress:
        file = self._config.token_file
        db = str(self._config.db)
        if file:
            return ServerAddress(grpc, http, db, os.getpid(), token_file=str(file.absolute()))
        return ServerAddress(grpc, http, db, os.getpid(), token)


def serve_until_told(config: ServerConfig, say: Callable[[ServerAddress], object]) -> None:
    """Serve in this process until SIGTERM or SIGINT; `say` is called with where, once everything listens.

    Raises:
        RunLogError: as Server.start.
    """
    with asked_to_end() as wait_until_asked:
        raise_file_limit()
        give_back_large_blocks()
        provider = metrics_provider()
        server = Server(config, Counters(provider), RunMetrics(provider))
        address = server.start()
        try:
            with rare_collections():
                say(address)
                wait_until_asked()
        finally:
            is_over = server.stop()
        if not is_over:
            leave()


def leave() -> NoReturn:
    """End the process now, and well: all that was accepted is on the disk.

    An interpreter that ends while a thread is inside DuckDB aborts the process instead.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # a process may be started without
            stream.flush()
    os._exit(0)


@contextlib.contextmanager
def asked_to_end() -> Iterator[Callable[[], None]]:
    """What is yielded waits for SIGTERM or SIGINT, whichever was the first since the block began.

    Python's handlers run between two steps of the main thread: a signal that comes as the thread waits for the
    interpreter's lock, and then begins to wait for a queue or an event, would be handled when that wait is over. So
    what is waited for is the byte that the handler in C writes at once. Supervisors and shells send several signals:
    while the process ends, more change nothing. Afterwards they are ignored, as the process ends now, with its own
    exit code.
    """
    told, telling = socket.socketpair()
    with told, telling:
        telling.setblocking(False)
        signal.set_wakeup_fd(telling.fileno(), warn_on_full_buffer=False)
        for number in _ENDINGS:
            signal.signal(number, lambda *_: None)
        try:
            yield partial(_wait_for_ending, told)
        finally:
            for number in _ENDINGS:
                signal.signal(number, signal.SIG_IGN)
            signal.set_wakeup_fd(-1)


def _wait_for_ending(told: socket.socket) -> None:
    while told.recv(1)[0] not in _ENDINGS:  # Python tells of every signal that it handles
        pass


def is_loopback(host: str) -> bool:
    """Whether a host to listen on can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def together(actions: list[Callable[[], object]]) -> None:
    """Call them all at once, and wait for the last."""
    threads = [threading.Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def raise_file_limit() -> None:
    """Have as many file descriptors as the system gives, up to MOST_FILES."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
