"""What the scripted provider got and gave when tests/data/corpus was recorded, against what the spans say of it.

tests/data/served: a file a variant that carries content, {scenario: [call]}, a call as `Served`, in order of arrival.
The requests are the bodies that the clients sent, word for word.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from otel_runlog import apis
from otel_runlog.capture import CapturedLlm
from otel_runlog.captures.building import captures_of
from otel_runlog.conversation import Json, LlmAnswer, LlmRequest
from otel_runlog.fingerprint import fingerprint_of, first_difference
from otel_runlog.model import Step
from otel_runlog.pricing import PriceTable

if TYPE_CHECKING:
    from corpus import Scenario

FOLDER = Path(__file__).parent / "data" / "served"
KEPT = sorted(f.name.removesuffix(".json.gz") for f in FOLDER.glob("*.json.gz"))
"""Variants of which the requests were kept as they were sent."""
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
    """A model call as the capture of its run has it, and what went over the wire, where that is known.

    `request_differs` and `answer_differs`: the first difference; None where there is none, or nothing to compare.
    """

    scenario: str
    run_id: str
    told: CapturedLlm
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


def by_number(rows: Iterable[Served]) -> dict[str, Served]:
    """Calls by the digits of their responses' ids, which the ids of their items repeat."""
    return {re.sub(r"\D", "", row.response_id or ""): row for row in rows}


def wire_requests(rows: Sequence[Served], answered: Collection[str | None]) -> list[LlmRequest]:
    """The requests as the wire has them, those that go on from one of the answers `answered` with that one's print."""
    given = by_number(rows)
    known: dict[str, str] = {}
    found = []
    for row in rows:
        api = apis.find(row.path)
        assert api is not None, row.path
        request = api.parse(row.path, with_items(row.request, given)).request
        request = msgspec.structs.replace(request, previous=known.get(request.previous_response_id or ""))
        if row.response_id and row.response_id in answered:
            known[row.response_id] = fingerprint_of(request)
        found.append(request)
    return found


def with_items(body: dict[str, Json], given: Mapping[str, Served]) -> dict[str, Json]:
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
        for capture in captures_of(scenario.spans(), logs=scenario.log_records(), prices=PRICES):
            wire = list(zip(rows, wire_requests(rows, {told.response_id for told in capture.llm_io}), strict=True))
            steps = {step.step_index: step for step in capture.run.steps}
            for told in capture.llm_io:
                call = Call(scenario.name, capture.run_id, told)
                yield _compared(call, _match(told, steps[told.step_index], wire))


def _compared(call: Call, found: tuple[Served, LlmRequest] | None) -> Call:
    if found is None:
        return call
    row, sent = found
    asked = first_difference(call.told.request, sent) if call.told.request is not None else None
    assert (asked is None) == (call.told.fingerprint in (None, fingerprint_of(sent)))
    return call._replace(
        served=row,
        request_differs=f"{asked.path}: {asked.recorded!r} for {asked.got!r}" if asked else None,
        answer_differs=_answer_difference(call.told.answer, row) if call.told.answer is not None else None,
    )


def _match(told: CapturedLlm, step: Step, wire: list[tuple[Served, LlmRequest]]) -> tuple[Served, LlmRequest] | None:
    """The HTTP call of a step: of the same response id, else of the same tokens, else (refused) of the same request."""
    for row, sent in wire:
        if row.status == 200 and told.response_id is not None and row.response_id == told.response_id:
            return row, sent
    for row, sent in wire:
        if row.input_tokens is not None and row.input_tokens == step.usage.input_tokens:
            return row, sent
    return next(((row, sent) for row, sent in wire if fingerprint_of(sent) == told.fingerprint), None)


def _answer_difference(answer: LlmAnswer, row: Served) -> str | None:
    if row.status != 200 or not (answer.parts or row.response_text):
        return None
    calls = [Wanted(c.name, c.arguments) for c in answer.tool_calls]
    if calls != row.requested_tools:
        return f"calls: {calls} for {row.requested_tools}"
    return None if answer.text == row.response_text else f"text: {answer.text[-40:]!r} for {row.response_text[-40:]!r}"
