"""What the scripted provider got and gave when tests/data/corpus was recorded, against what the spans say of it.

tests/data/served: a file a variant that carries content, {scenario: [call]}, a call as `Served`, in order of arrival.
The requests are the bodies that the clients sent, word for word.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from otel_runlog import apis
from otel_runlog.conventions.turns import answer_of, request_of
from otel_runlog.conversation import Json, LlmAnswer, LlmRequest
from otel_runlog.fingerprint import fingerprint_of, first_difference
from otel_runlog.llm_io import StepMessages, llm_io_of
from otel_runlog.model import Content, LlmIo, RunLog, Step, StepKind
from otel_runlog.pricing import PriceTable
from otel_runlog.resolve import key_of, resolve
from otel_runlog.runs import project

if TYPE_CHECKING:
    from corpus import Scenario

FOLDER = Path(__file__).parent / "data" / "served"
PRICES = PriceTable()
ITEM = re.compile(r"fc_(\d+)_(\d+)")
"""The provider's id of a call: the digits of the response's id and the call's place in it."""


class Wanted(NamedTuple):
    """A tool call that the provider's answer asked for."""

    name: str
    args: Json


class Served(NamedTuple):
    """One HTTP call. `input_tokens` include cached ones; they are unique in a scenario: 1000 + 13n."""

    response_id: str | None
    n: int
    api: str
    path: str
    stream: bool
    status: int
    input_tokens: int | None
    request: dict[str, Json]
    response_text: str
    requested_tools: list[Wanted]


class Call(NamedTuple):
    """A counted model call: what its spans say, and what went over the wire where that is known.

    `request_differs` and `answer_differs`: the first difference; None where there is none, or nothing to compare.
    """

    scenario: str
    step: Step
    content: Content
    request: LlmRequest | None
    answer: LlmAnswer | None
    served: Served | None = None
    request_differs: str | None = None
    answer_differs: str | None = None


@functools.cache
def served_in(variant: str) -> dict[str, list[Served]]:
    """What was served in the scenarios of a variant; empty where nobody kept it."""
    path = FOLDER / f"{variant}.json.gz"
    if not path.exists():
        return {}
    found = json.loads(gzip.decompress(path.read_bytes()))
    return {name: [_row(**call) for call in calls] for name, calls in found.items()}


def _row(requested_tools: list[dict[str, str]], **rest: Any) -> Served:
    return Served(**rest, requested_tools=[Wanted(**tool) for tool in requested_tools])


def wire_requests(rows: Iterable[Served]) -> list[LlmRequest]:
    """The requests as the wire has them, each with the fingerprint of the call that it goes on from."""
    rows = list(rows)
    given = {re.sub(r"\D", "", row.response_id or ""): row for row in rows}
    known: dict[str, str] = {}
    found = []
    for row in rows:
        api = apis.find(row.path)
        assert api is not None, row.path
        request = api.parse(row.path, _with_items(row.request, given)).request
        found.append(_chained(request, row.response_id, known))
    return found


def _chained(request: LlmRequest, response_id: str | None, known: dict[str, str]) -> LlmRequest:
    """A request with the fingerprint of the call that it goes on from; its own is then known by its answer's id."""
    chained = msgspec.structs.replace(request, previous=known.get(request.previous_response_id or ""))
    if response_id:
        known[response_id] = fingerprint_of(chained)
    return chained


def _with_items(body: dict[str, Json], given: Mapping[str, Served]) -> dict[str, Json]:
    """A body of Responses with the items that it names by id (Vercel AI SDK) in their place; thoughts are left out."""
    items = body.get("input")
    if not isinstance(items, list):
        return body
    whole = [_item(i["id"], given) if isinstance(i, dict) and i.get("type") == "item_reference" else i for i in items]
    return {**body, "input": [i for i in whole if i is not None]}


def _item(name: Json, given: Mapping[str, Served]) -> Json:
    found = ITEM.fullmatch(str(name))
    if found is None:
        return None
    call = given[found[1]].requested_tools[int(found[2])]
    ids = {"id": found[0], "call_id": found[0].replace("fc_", "call_")}
    return {"type": "function_call", "name": call.name, "arguments": call.args, **ids}


def calls_of(variant: str, scenarios: Mapping[str, Scenario]) -> Iterator[Call]:
    """Every counted model call of a variant's scenarios."""
    for name, scenario in scenarios.items():
        rows = served_in(variant).get(name, [])
        wire = list(zip(rows, wire_requests(rows), strict=True))
        known: dict[str, str] = {}
        for step, io in _ios(scenario):
            request = request_of(io, step)
            if request is not None:
                request = _chained(request, step.response_id, known)
            told = Call(scenario.name, step, io.completeness, request, answer_of(io, step))
            yield _compared(told, wire)


def _ios(scenario: Scenario) -> Iterator[tuple[Step, LlmIo]]:
    spans = scenario.spans()
    records = scenario.log_records()
    messages = StepMessages({key_of(s): s for s in resolve(spans)}, records)
    for run in project(spans, logs=records, prices=PRICES):
        ios = {io.step_index: io for io in llm_io_of(run, messages)}
        for step in run.steps:
            if step.step_index in ios:
                yield step, ios[step.step_index]
            elif step.counted and step.kind is StepKind.EMBEDDING:
                yield step, _embedding_io(run, step, messages)


def _embedding_io(run: RunLog, step: Step, messages: StepMessages) -> LlmIo:
    found = messages.of(step)
    return LlmIo(
        run.run_id, step.trace_id, step.span_id, input=found.input, output=found.output, completeness=step.content
    )


def _compared(call: Call, wire: list[tuple[Served, LlmRequest]]) -> Call:
    row, sent = _match(call.step, call.request, wire) or (None, None)
    if row is None:
        return call
    asked = first_difference(call.request, sent) if call.request is not None and sent is not None else None
    return call._replace(
        served=row,
        request_differs=f"{asked.path}: {asked.recorded!r} for {asked.got!r}" if asked else None,
        answer_differs=_answer_difference(call.answer, row) if call.answer is not None else None,
    )


def _match(
    step: Step, request: LlmRequest | None, wire: list[tuple[Served, LlmRequest]]
) -> tuple[Served, LlmRequest] | None:
    """The HTTP call of a step: of the same response id, else of the same tokens, else (refused) of the same request."""
    for row, sent in wire:
        if row.status == 200 and step.response_id is not None and row.response_id == step.response_id:
            return row, sent
    for row, sent in wire:
        if row.input_tokens is not None and row.input_tokens == step.usage.input_tokens:
            return row, sent
    own = fingerprint_of(request) if request else None
    return next(((row, sent) for row, sent in wire if fingerprint_of(sent) == own), None)


def _answer_difference(answer: LlmAnswer, row: Served) -> str | None:
    if row.status != 200 or not (answer.parts or row.response_text):
        return None
    calls = [Wanted(c.name, c.arguments) for c in answer.tool_calls]
    if calls != row.requested_tools:
        return f"calls: {calls} for {row.requested_tools}"
    return None if answer.text == row.response_text else f"text: {answer.text[-40:]!r} for {row.response_text[-40:]!r}"
