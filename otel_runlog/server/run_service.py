"""runlog.v1.RunLogService: runs over gRPC for programs in other languages (proto/runlog/v1/runlog.proto)."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NoReturn

import grpc
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped]

from otel_runlog.errors import (
    ConfigError,
    LimitError,
    RunLogError,
    RunNotFoundError,
    ServerError,
    StoreError,
)
from otel_runlog.model import RunLogQuery
from otel_runlog.server.answers import RefusedError
from otel_runlog.server.guard import Guard
from otel_runlog.server.pb.runlog.v1 import runlog_pb2 as pb
from otel_runlog.server.query_pool import QueryPool
from otel_runlog.server.questions import Form, Question, Run, Runs

SERVICE: Final = "/runlog.v1.RunLogService/"
RUNS_BY_DEFAULT: Final = 50
CODES: Final = (
    (RunNotFoundError, grpc.StatusCode.NOT_FOUND),
    (ConfigError, grpc.StatusCode.INVALID_ARGUMENT),
    (LimitError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (ServerError, grpc.StatusCode.UNAVAILABLE),
    (StoreError, grpc.StatusCode.UNAVAILABLE),
)
"""By error, the first that fits."""

logger = logging.getLogger("otel_runlog")


class RunService(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """The methods of RunLogService; the answers are written by the process that reads the store.

    Args:
        pool: answers questions.
        guard: who may ask: with the token, on loopback too.
    """

    def __init__(self, pool: QueryPool, guard: Guard) -> None:
        questions: Mapping[str, Callable[[bytes], Question]] = {"ListRuns": list_runs, "GetRun": get_run}
        self._pool, self._guard = pool, guard
        self._methods = {
            SERVICE + name: grpc.unary_unary_rpc_method_handler(partial(self._answer, question))
            for name, question in questions.items()
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """What answers a call."""
        return self._methods.get(handler_call_details.method)

    def _answer(self, question: Callable[[bytes], Question], body: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            self._guard.check_metadata(context.invocation_metadata(), needs_token=True)
            return self._pool.ask(question(body))
        except RefusedError as refused:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, refused.answer.message)
        except DecodeError:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the message is none of this method's")
        except RunLogError as error:
            _abort(context, error)
        raise AssertionError("abort raises")


def list_runs(body: bytes) -> Runs:
    """What a ListRunsRequest asks.

    Raises:
        DecodeError: the body is none.
    """
    asked = pb.ListRunsRequest.FromString(body)
    query = RunLogQuery(
        agent=asked.agent if asked.HasField("agent") else None,
        status=asked.status if asked.HasField("status") else None,
        session_id=asked.session_id if asked.HasField("session_id") else None,
        labels=dict(asked.labels) or None,
        since=_time(asked.since) if asked.HasField("since") else None,
        until=_time(asked.until) if asked.HasField("until") else None,
        limit=asked.limit if asked.HasField("limit") else RUNS_BY_DEFAULT,
        offset=asked.offset,
    )
    return Runs(query, form=Form.PROTOBUF)


def get_run(body: bytes) -> Run:
    """What a GetRunRequest asks.

    Raises:
        DecodeError: the body is none.
    """
    return Run(pb.GetRunRequest.FromString(body).run_id, form=Form.PROTOBUF)


def _time(timestamp: Timestamp) -> dt.datetime:
    try:
        return timestamp.ToDatetime(tzinfo=dt.UTC)  # type: ignore[no-any-return]  # protobuf has no types
    except ValueError:
        raise ConfigError("since and until must be times between the years 1 and 9999") from None


def _abort(context: grpc.ServicerContext, error: RunLogError) -> NoReturn:
    code = next((code for kind, code in CODES if isinstance(error, kind)), grpc.StatusCode.UNKNOWN)
    context.abort(code, str(error))
    raise AssertionError("abort raises")
