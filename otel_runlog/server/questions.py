"""What can be asked of the store through the server, and how each question is answered.

A question goes to the process that answers it as msgpack, tagged; the answer comes back in the form that was asked for.
To add one: a Struct, a function, a line in ANSWERS.
"""

from __future__ import annotations

import enum
import io
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import msgspec

from otel_runlog.errors import AnswerSizeError
from otel_runlog.model import RunLogQuery
from otel_runlog.server import wire
from otel_runlog.store.reader import Result, RunOrder

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from otel_runlog.store.confined import ConfinedReader

ASK_PATH: Final = "/v1/ask"
TAIL_PATH: Final = "/v1/tail"
QUESTION_TYPE: Final = "application/vnd.otel-runlog.question+msgpack"
"""Between a server and commands of the same version; its form may change with every version."""
_ROWS_AT_A_TIME: Final = 1024


class Form(enum.StrEnum):
    """How an answer is written: for programs, for Arrow's readers, for runlog.v1, for this package's own commands."""

    JSON = "json"
    ARROW = "arrow"
    PROTOBUF = "protobuf"
    WIRE = "wire"


class Sql(msgspec.Struct, frozen=True, tag=True):
    """One statement that reads. Its WIRE is `wire.pack_result`'s."""

    sql: str
    form: Form = Form.WIRE


class Runs(msgspec.Struct, frozen=True, tag=True):
    """The runs that a query selects. Their WIRE is RunLogs, their JSON what `runs --format json` prints."""

    query: RunLogQuery = RunLogQuery()
    order: RunOrder = "started"
    with_steps: bool = False
    form: Form = Form.WIRE


class Run(msgspec.Struct, frozen=True, tag=True):
    """One run by a name (`last`, an id, a unique prefix). WIRE and JSON as in `Runs`, its JSON an object with steps."""

    name: str
    form: Form = Form.WIRE


class RunId(msgspec.Struct, frozen=True, tag=True):
    """The id of the run that a name means."""

    name: str


class Sessions(msgspec.Struct, frozen=True, tag=True):
    """The sessions, the newest first."""

    limit: int | None = None
    form: Form = Form.WIRE


class Previews(msgspec.Struct, frozen=True, tag=True):
    """The beginnings of what runs were asked and answered, by run id."""

    run_ids: tuple[str, ...]


class Parents(msgspec.Struct, frozen=True, tag=True):
    """The parents of the spans of a run's traces: (trace_id, span_id, parent span id)."""

    run_id: str


Question: TypeAlias = Sql | Runs | Run | RunId | Sessions | Previews | Parents


def answer(reader: ConfinedReader, question: Question, limit_bytes: int) -> bytes:
    """The answer to a question, in its form.

    Raises:
        AnswerSizeError: the answer is larger than `limit_bytes`.
        RunLogError: as the reader raises.
    """
    body = ANSWERS[type(question)](reader, cast("Any", question), limit_bytes)
    _require_size(len(body), limit_bytes)
    return body


def _sql(reader: ConfinedReader, question: Sql, limit_bytes: int) -> bytes:
    import duckdb

    try:
        return _SQL_FORMS[question.form](reader, question.sql, limit_bytes)
    except duckdb.Error as error:  # rows are worked out as they are fetched
        raise reader.error_of(error) from error


def _sql_wire(reader: ConfinedReader, sql: str, limit_bytes: int) -> bytes:
    cursor = reader.statement(sql)
    rows: list[tuple[object, ...]] = []
    size = 0
    for batch in _batches(cursor):
        size += sum(len(wire.pack_row(row)) for row in batch)
        _require_size(size, limit_bytes)
        rows += batch
    description = cursor.description or []
    columns, types = tuple(str(c[0]) for c in description), tuple(str(c[1]) for c in description)
    return wire.pack_result(Result(columns, types, rows))


def _sql_json(reader: ConfinedReader, sql: str, limit_bytes: int) -> bytes:
    from otel_runlog.show.answer import records, unique_names
    from otel_runlog.show.data import to_json

    cursor = reader.statement(sql)
    description = cursor.description or []
    names, types = unique_names([str(c[0]) for c in description]), [str(c[1]) for c in description]
    lines: list[str] = []
    size = 0
    for batch in _batches(cursor):
        more = [to_json(record) for record in records(names, types, batch)]
        size += sum(map(len, more))
        _require_size(size, limit_bytes)
        lines += more
    return _json_array(lines)


def _sql_arrow(reader: ConfinedReader, sql: str, limit_bytes: int) -> bytes:
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())  # the others reserve more address space than a question has
    stream = io.BytesIO()
    batches: pa.RecordBatchReader = reader.statement(sql).to_arrow_reader(_ROWS_AT_A_TIME)
    with pa.ipc.new_stream(stream, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            _require_size(stream.tell(), limit_bytes)
    return stream.getvalue()


_SQL_FORMS: Final = {Form.WIRE: _sql_wire, Form.JSON: _sql_json, Form.ARROW: _sql_arrow}


def _batches(cursor: duckdb.DuckDBPyConnection) -> Iterator[list[tuple[object, ...]]]:
    while batch := cursor.fetchmany(_ROWS_AT_A_TIME):
        yield batch


def _runs(reader: ConfinedReader, question: Runs, _limit_bytes: int) -> bytes:
    found = reader.runs(question.query, order=question.order, with_steps=question.with_steps)
    if question.form is Form.WIRE:
        return wire.encode(found)
    if question.form is Form.PROTOBUF:
        from otel_runlog.server.messages import list_response

        return list_response(found)
    from otel_runlog.show.data import to_json
    from otel_runlog.show.records import run_record

    previews = reader.previews([run.run_id for run in found])
    return _json_array([to_json(run_record(run, previews.get(run.run_id))) for run in found])


def _run(reader: ConfinedReader, question: Run, _limit_bytes: int) -> bytes:
    found = reader.run(reader.find(question.name))
    if question.form is Form.WIRE:
        return wire.encode([found])
    if question.form is Form.PROTOBUF:
        from otel_runlog.server.messages import get_response

        return get_response(found)
    from otel_runlog.show.data import to_json
    from otel_runlog.show.records import run_with_steps

    return to_json(run_with_steps(found, reader.previews([found.run_id]).get(found.run_id))).encode()


def _run_id(reader: ConfinedReader, question: RunId, _limit_bytes: int) -> bytes:
    return wire.encode(reader.find(question.name))


def _sessions(reader: ConfinedReader, question: Sessions, _limit_bytes: int) -> bytes:
    found = reader.sessions()[: question.limit]
    if question.form is Form.WIRE:
        return wire.encode(found)
    from otel_runlog.show.data import to_json

    return _json_array([to_json(msgspec.structs.asdict(session)) for session in found])


def _previews(reader: ConfinedReader, question: Previews, _limit_bytes: int) -> bytes:
    return wire.encode(reader.previews(question.run_ids))


def _parents(reader: ConfinedReader, question: Parents, _limit_bytes: int) -> bytes:
    parents = reader.parents(question.run_id)
    return wire.encode([(trace_id, span_id, parent) for (trace_id, span_id), parent in parents.items()])


ANSWERS: Final[dict[type, Callable[[ConfinedReader, Any, int], bytes]]] = {
    Sql: _sql,
    Runs: _runs,
    Run: _run,
    RunId: _run_id,
    Sessions: _sessions,
    Previews: _previews,
    Parents: _parents,
}


def _json_array(lines: Sequence[str]) -> bytes:
    joined = ",\n".join(lines)
    return f"[\n{joined}\n]".encode() if lines else b"[]"


def _require_size(size: int, limit_bytes: int) -> None:
    if size > limit_bytes:
        raise AnswerSizeError(
            f"the answer is larger than {limit_bytes:,} bytes: ask for fewer rows or columns, or let the server give "
            "more (sql.result)"
        )
