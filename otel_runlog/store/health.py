"""What the doctor asks the store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec

from otel_runlog.store.connection import OpenStore, open_for_read

Condition: TypeAlias = Literal[
    "doctor_no_content",
    "doctor_no_usage",
    "doctor_no_model_calls",
    "doctor_double",
    "doctor_litellm_parent",
    "doctor_cut_content",
    "doctor_dropped",
    "doctor_no_session",
    "doctor_no_service",
    "doctor_unpriced",
    "doctor_no_root",
    "doctor_logs_only",
    "doctor_unbalanced",
    "doctor_unprojected",
]
"""Queries that each look for one thing that is not as it could be, by service."""


class Met(msgspec.Struct, frozen=True):
    """Where a condition is met: in which service, how often, in which run for example, and the names that matter."""

    service: str | None
    number: int
    example: str | None = None
    names: tuple[str, ...] = ()


class Service(msgspec.Struct, frozen=True):
    """What is captured of a service."""

    service: str | None
    runs: int
    runs_with_session: int
    model_calls: int
    calls_with_content: int
    calls_with_usage: int
    calls_with_cost: int
    conventions: tuple[str, ...]


class Book(msgspec.Struct, frozen=True):
    """A row of the view `books`; `rejected` and `dropped` are spans by reason."""

    source: str
    received: int
    stored: int
    duplicate: int
    conflict: int
    superseded: int
    id_reuse: int
    rejected: dict[str, int]
    dropped: dict[str, int]


class HealthReader(OpenStore):
    """A store open for the doctor's questions. Errors are those of `open_for_read`."""

    def __init__(self, path: str | os.PathLike[str], timeout_s: float = 0.0) -> None:
        self._store = open_for_read(path, timeout_s)

    def services(self) -> list[Service]:
        """What is captured, by service."""
        return [
            Service(**cast("dict[str, Any]", record | {"conventions": _texts(record["conventions"])}))
            for record in self._store.records("doctor_services")
        ]

    def met(self, condition: Condition, parameters: dict[str, object]) -> list[Met]:
        """Where a condition is met, most often first."""
        return [
            Met(**cast("dict[str, Any]", record | {"names": _texts(record.get("names"))}))
            for record in self._store.records(condition, parameters)
        ]

    def books(self) -> list[Book]:
        """Where every received span went."""
        return [
            Book(**cast("dict[str, Any]", record | {name: _reasons(record[name]) for name in ("rejected", "dropped")}))
            for record in self._store.records("list_books")
        ]


def _texts(value: object) -> tuple[str, ...]:
    return tuple(cast("Sequence[str]", value or ()))


def _reasons(value: object) -> dict[str, int]:
    return msgspec.json.decode(str(value), type=dict[str, int])
