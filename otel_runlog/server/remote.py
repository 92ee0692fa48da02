"""The store as a command sees it through its server: the questions of a StoreReader, asked over HTTP."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Sequence
from typing import Any, Final, Self, TypeVar

import msgspec

from otel_runlog.errors import AnswerSizeError, ServerError
from otel_runlog.model import RunLog, RunLogQuery
from otel_runlog.server import wire
from otel_runlog.server.address import ServerAddress
from otel_runlog.server.failures import error_named
from otel_runlog.server.questions import (
    ASK_PATH,
    QUESTION_TYPE,
    TAIL_PATH,
    Parents,
    Previews,
    Question,
    Run,
    RunId,
    Runs,
    Sessions,
    Sql,
)
from otel_runlog.server_status import ServerStatus
from otel_runlog.store import details
from otel_runlog.store.details import Preview, Session
from otel_runlog.store.reader import Result, RunOrder, StoreReader

STATUS_PATH: Final = "/readyz"
CONNECT_TIMEOUT_S: Final = 2.0
ANSWER_TIMEOUT_S: Final = 120.0
"""A question waits for others, for a turn and for what is pending, and then has its own time."""
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - where to reach what listens everywhere
_AnswerT = TypeVar("_AnswerT")


class _Refusal(msgspec.Struct, frozen=True):
    """The body of an answer that is none: of the questions' routes, or google.rpc.Status of the door."""

    message: str = ""
    error: str = ServerError.__name__


class _Finished(msgspec.Struct, frozen=True):
    """What is read here of an answer of TAIL_PATH."""

    next: int


class RemoteReader:
    """A reader of a store that a server holds; see StoreReader for what its methods mean and raise.

    Args:
        address: of the living server.
        open_file: opens the store beside the server, for an answer that is too large to be sent.

    Raises:
        OSError: nothing listens there.
        ConfigError: the token's file cannot be read.
    """

    def __init__(self, address: ServerAddress, open_file: Callable[[], StoreReader]) -> None:
        self._address = address
        self._open_file = open_file
        self._token = address.secret()
        host, _, port = address.http.rpartition(":")
        host = _EVERYWHERE.get(host, host).strip("[]")
        self._connection = http.client.HTTPConnection(host, int(port), timeout=CONNECT_TIMEOUT_S)
        self._connection.connect()
        self._connection.sock.settimeout(ANSWER_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def runs(
        self, query: RunLogQuery | None = None, *, order: RunOrder = "started", with_steps: bool = False
    ) -> list[RunLog]:
        """The runs that a query selects."""
        question = Runs(query or RunLogQuery(), order, with_steps)
        return self._ask(question, wire.unpack_runs, lambda file: file.runs(query, order=order, with_steps=with_steps))

    def run(self, run_id: str) -> RunLog:
        """One run with its steps and agents."""
        return self._ask(Run(run_id), lambda body: wire.unpack_runs(body)[0], lambda file: file.run(run_id))

    def find(self, name: str) -> str:
        """The id of the run that a name means."""
        found: str = self._ask(RunId(name), _unpacked(str), lambda file: file.find(name))
        return found

    def query(self, sql: str) -> Result:
        """The answer to a statement that reads."""
        return self._ask(Sql(sql), wire.unpack_result, lambda file: file.query(sql))

    def previews(self, run_ids: Sequence[str]) -> dict[str, Preview]:
        """The previews of runs by run id."""
        question = Previews(tuple(run_ids))
        return self._ask(question, _unpacked(dict[str, Preview]), lambda file: file.previews(run_ids))

    def parents(self, run_id: str) -> details.Parents:
        """The parent span id of each span in the run's traces that has one."""
        return self._ask(Parents(run_id), _parents, lambda file: file.parents(run_id))

    def sessions(self) -> list[Session]:
        """All sessions, the newest first."""
        return self._ask(Sessions(), _unpacked(list[Session]), lambda file: file.sessions())

    def status(self) -> ServerStatus:
        """How it stands with the server itself.

        Raises:
            ServerError: it does not answer.
        """
        _, body = self._exchange("GET", STATUS_PATH)
        try:
            return msgspec.json.decode(body, type=ServerStatus)
        except msgspec.DecodeError as error:
            raise ServerError(f"{self._server} does not say how it is: {error}") from None

    def finished(self, after: int | None, wait_s: int) -> int:
        """How many runs the server has seen finish; waits until that is another number than `after`, or time is up.

        Raises:
            ServerError: it does not answer, or too many wait.
        """
        path = TAIL_PATH if after is None else f"{TAIL_PATH}?after={after}&wait_s={wait_s}"
        return msgspec.json.decode(self._good(*self._exchange("GET", path)), type=_Finished).next

    def _ask(
        self, question: Question, unpack: Callable[[bytes], _AnswerT], read: Callable[[StoreReader], _AnswerT]
    ) -> _AnswerT:
        try:
            return unpack(self._answer(question))
        except AnswerSizeError:
            with self._open_file() as file:
                return read(file)

    def _answer(self, question: Question) -> bytes:
        return self._good(*self._exchange("POST", ASK_PATH, msgspec.msgpack.encode(question), QUESTION_TYPE))

    def _exchange(self, method: str, path: str, body: bytes | None = None, content_type: str = "") -> tuple[int, bytes]:
        headers = {"Host": "localhost"} | ({"Content-Type": content_type} if content_type else {})
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ServerError(f"{self._server} did not answer: {error or type(error).__name__}") from error

    def _good(self, status: int, body: bytes) -> bytes:
        """The body of an answer, unless it is a refusal, which is raised."""
        if status == http.HTTPStatus.OK:
            return body
        try:
            refusal = msgspec.json.decode(body, type=_Refusal)
        except msgspec.DecodeError:
            refusal = _Refusal(f"{self._server} answers {status}")
        raise error_named(refusal.error, refusal.message or f"{self._server} answers {status}")

    @property
    def _server(self) -> str:
        return f"the server of {self._address.db} (process {self._address.pid}, {self._address.http})"


def _unpacked(kind: Any) -> Callable[[bytes], Any]:
    return msgspec.msgpack.Decoder(kind).decode


def _parents(body: bytes) -> details.Parents:
    found = msgspec.msgpack.decode(body, type=list[tuple[str, str, str]])
    return {(trace_id, span_id): parent for trace_id, span_id, parent in found}
