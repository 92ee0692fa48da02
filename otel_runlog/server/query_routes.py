"""Questions over HTTP: SQL, runs and sessions for programs, and what this package's own commands ask.

`GET /v1/runs` takes the options of `otel-runlog runs` as its query (agent, status, session, label=key=value or
label.<key>=value, since, until, limit, sort) and answers what `runs --format json` prints.
"""

from __future__ import annotations

import datetime as dt
import functools
import importlib.util
import json
from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeAlias, get_args

import msgspec

from otel_runlog.errors import ConfigError, RunLogError, ServerBusyError
from otel_runlog.model import RunLogQuery, RunStatus
from otel_runlog.moment import moment
from otel_runlog.server.failures import name_of, status_of
from otel_runlog.server.questions import ASK_PATH, QUESTION_TYPE, Form, Question, Run, Runs, Sessions, Sql
from otel_runlog.server.routes import Request, Response, Route
from otel_runlog.store.reader import RunOrder

JSON_TYPE: Final = "application/json"
ARROW_TYPE: Final = "application/vnd.apache.arrow.stream"
SQL_FORMS: Final = {JSON_TYPE: Form.JSON, ARROW_TYPE: Form.ARROW}
_ANYTHING: Final = frozenset({"", "*/*", "application/*"})
_LABEL: Final = "label."
RETRY_AFTER_S: Final = 1


class Asks(Protocol):
    """What these routes need: see otel_runlog.server.query_pool.QueryPool."""

    def ask(self, question: Question) -> bytes:
        """The answer to a question."""
        ...


_Handle: TypeAlias = Callable[[Asks, Request], Response]


def query_routes(pool: Asks) -> tuple[Route, ...]:
    """The routes over a pool. All of them need the token, on loopback too."""
    return tuple(
        Route(
            method=method,
            path=path,
            handle=functools.partial(with_errors, functools.partial(handle, pool)),
            content_types=types,
        )
        for method, path, handle, types in ROUTES
    )


def with_errors(handle: Callable[[Request], Response], request: Request) -> Response:
    """The response of a handler, or of the error that it raised."""
    try:
        return handle(request)
    except RunLogError as error:
        body = {"error": name_of(error), "message": str(error)}
        again = (("Retry-After", str(RETRY_AFTER_S)),) if isinstance(error, ServerBusyError) else ()
        return Response(status_of(error), json.dumps(body).encode(), JSON_TYPE, again)


class _SqlBody(msgspec.Struct, frozen=True):
    sql: str


def _sql(pool: Asks, request: Request) -> Response:
    kind = accepted(request.headers.get("accept", ""))
    if kind is None:
        return _not_acceptable(f"answers are {' or '.join(SQL_FORMS)}: name one of them in Accept")
    if kind == ARROW_TYPE and importlib.util.find_spec("pyarrow") is None:
        return _not_acceptable("Arrow streams need pyarrow in the server: pip install 'otel-runlog[fast]'")
    try:
        asked = msgspec.json.decode(request.body, type=_SqlBody)
    except msgspec.DecodeError as error:
        raise ConfigError(f'the body must be {{"sql": "..."}}: {error}') from None
    return Response(200, pool.ask(Sql(asked.sql, SQL_FORMS[kind])), kind)


def accepted(accept: str) -> str | None:
    """The type of an answer that Accept prefers; JSON where it takes anything, None where it takes neither.

    RFC 9110, 12.5.1: the highest weight first, 0 is "not acceptable".
    """
    weighed = [_weighed(part) for part in accept.lower().split(",")]
    for weight, kind in sorted(weighed, key=lambda item: -item[0]):
        if weight > 0 and (kind in SQL_FORMS or kind in _ANYTHING):
            return JSON_TYPE if kind in _ANYTHING else kind
    return None


def _weighed(part: str) -> tuple[float, str]:
    kind, *parameters = (piece.strip() for piece in part.split(";"))
    weight = next((p.removeprefix("q=") for p in parameters if p.startswith("q=")), "1")
    try:
        return float(weight), kind
    except ValueError:
        return 0.0, kind


def _not_acceptable(message: str) -> Response:
    return Response(406, json.dumps({"error": "NotAcceptable", "message": message}).encode(), JSON_TYPE)


def _ask(pool: Asks, request: Request) -> Response:
    try:
        question: Question = msgspec.msgpack.decode(request.body, type=Question)
    except msgspec.DecodeError as error:
        raise ConfigError(f"this server knows no such question, it may be of another version: {error}") from None
    return Response(200, pool.ask(question), QUESTION_TYPE)


def _runs(pool: Asks, request: Request) -> Response:
    query, order = query_of(request.query, dt.datetime.now(dt.UTC))
    return Response(200, pool.ask(Runs(query, order, form=Form.JSON)), JSON_TYPE)


def _run(pool: Asks, request: Request) -> Response:
    refuse_unknown(request.query, ())
    return Response(200, pool.ask(Run(request.path_values["run_id"], Form.JSON)), JSON_TYPE)


def _sessions(pool: Asks, request: Request) -> Response:
    refuse_unknown(request.query, ("limit",))
    return Response(200, pool.ask(Sessions(whole_number(request.query, "limit"), Form.JSON)), JSON_TYPE)


def query_of(parameters: Mapping[str, str], now: dt.datetime) -> tuple[RunLogQuery, RunOrder]:
    """What the parameters of `/v1/runs` select, and their order.

    Raises:
        ConfigError: there is no such parameter, or it cannot have such a value.
    """
    labels = {name.removeprefix(_LABEL): value for name, value in parameters.items() if name.startswith(_LABEL)}
    named = {name: value for name, value in parameters.items() if not name.startswith(_LABEL)}
    refuse_unknown(named, _CONDITIONS)
    if (label := named.get("label")) is not None:
        labels |= _label(label)
    query = RunLogQuery(
        agent=named.get("agent"),
        status=_one_of("status", named.get("status"), tuple(RunStatus)),
        session_id=named.get("session"),
        labels=labels or None,
        since=moment(named["since"], now) if "since" in named else None,
        until=moment(named["until"], now) if "until" in named else None,
        limit=whole_number(named, "limit"),
    )
    return query, msgspec.convert(_one_of("sort", named.get("sort", "started"), _ORDERS), RunOrder)


_CONDITIONS: Final = ("agent", "status", "session", "label", "since", "until", "limit", "sort")
_ORDERS: Final = get_args(RunOrder)


def refuse_unknown(parameters: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Raise ConfigError where the query has a parameter that is not known."""
    if unknown := sorted(parameters.keys() - set(known)):
        raise ConfigError(f"there is no parameter {unknown[0]!r} here, only {', '.join(known) or 'none'}")


def _one_of(name: str, value: str | None, known: tuple[str, ...]) -> str | None:
    if value is not None and value not in known:
        raise ConfigError(f"{name} is one of {', '.join(known)}, not {value!r}")
    return value


def whole_number(parameters: Mapping[str, str], name: str) -> int | None:
    """The number that a parameter of the query is; None where it is not there.

    Raises:
        ConfigError: it is no whole number from 0.
    """
    text = parameters.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < _DIGITS):
        raise ConfigError(f"{name} is a whole number from 0, not {text[:_DIGITS]!r}")
    return int(text)


_DIGITS: Final = 18


def _label(text: str) -> dict[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise ConfigError(f"{text!r} is no label: write label=key=value")
    return {key: value}


ROUTES: Final[tuple[tuple[str, str, _Handle, frozenset[str]], ...]] = (
    ("POST", "/v1/sql", _sql, frozenset({JSON_TYPE})),
    ("POST", ASK_PATH, _ask, frozenset({QUESTION_TYPE})),
    ("GET", "/v1/runs", _runs, frozenset()),
    ("GET", "/v1/runs/{run_id}", _run, frozenset()),
    ("GET", "/v1/sessions", _sessions, frozenset()),
)
"""Method, path, what answers, and the types that a body may have."""
