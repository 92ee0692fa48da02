"""OTLP over HTTP as routes: /v1/traces and /v1/logs, protobuf and JSON on one path (OTLP 1.11, OTLP/HTTP)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.answers import (
    JSON_TYPE,
    PROTOBUF_TYPE,
    TYPES,
    Answer,
    Outcome,
    export_response,
)
from otel_runlog.server.intake import Intake
from otel_runlog.server.routes import Request, Response, Route, refusal

ENCODINGS: Final[Mapping[str, Encoding]] = {PROTOBUF_TYPE: Encoding.PROTOBUF, JSON_TYPE: Encoding.JSON}
NO_METRICS: Final = Answer(
    Outcome.NOT_FOUND,
    "otel-runlog takes traces and logs, no metrics: set OTEL_METRICS_EXPORTER=none or send metrics elsewhere",
)


def otlp_routes(intake: Intake) -> tuple[Route, ...]:
    """The routes of OTLP/HTTP. Requests with metrics are told that there is no place for them, which ends retries."""
    return (
        _taking(intake, Signal.TRACES),
        _taking(intake, Signal.LOGS),
        Route(
            method="POST",
            path="/v1/metrics",
            handle=lambda _: refusal(NO_METRICS),
            needs_token=False,
            refused=NO_METRICS,
            on_refused=partial(intake.refused, Signal.METRICS, "http"),
        ),
    )


def _taking(intake: Intake, signal: Signal) -> Route:
    return Route(
        method="POST",
        path=f"/v1/{signal}",
        handle=partial(_export, intake, signal),
        on_refused=partial(intake.refused, signal, "http"),
        needs_token=False,
        content_types=frozenset(ENCODINGS),
        max_body_bytes=None,
    )


def _export(intake: Intake, signal: Signal, request: Request) -> Response:
    encoding = ENCODINGS[request.content_type]
    answer = intake.take(signal, encoding, request.body, "http")
    if answer.outcome is not Outcome.ACCEPTED:
        return refusal(answer, request.content_type)
    return Response(200, export_response(answer, signal, encoding), TYPES[encoding])
