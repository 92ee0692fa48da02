"""Every recorded call of the corpus is asked again, as its client sent it, and gets the answer that it got."""

from __future__ import annotations

import functools
import http.client
import json
from collections import defaultdict
from urllib.parse import urlsplit

import pytest
from corpus import scenarios
from served import KEPT, Call, Served, Wanted, by_number, calls_of, with_items

from otel_runlog import apis
from otel_runlog.capture import Capture
from otel_runlog.captures.building import captures_of
from otel_runlog.conversation import CallError
from otel_runlog.model import Content
from otel_runlog.pricing import PriceTable
from otel_runlog.replaying.report import text_of
from otel_runlog.replaying.session import ReplaySession

CALLS_ASKED = 883
"""Of the corpus, those whose prompt the spans hold whole and whose requests were kept."""


@functools.cache
def replayable(variant: str) -> dict[tuple[str, str], list[Call]]:
    """The calls of runs that hold all their prompts, by scenario and run; without what is known to differ."""
    runs: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in calls_of(variant, scenarios(variant)):
        runs[call.scenario, call.run_id].append(call)
    return {run: calls for run, calls in runs.items() if all(map(_is_whole, calls))}


def _is_whole(call: Call) -> bool:
    told = call.told
    if call.served is None or told.request is None or call.request_differs or call.answer_differs:
        return False
    return call.served.status != 200 or (told.completeness is Content.FULL and told.answer is not None)


def captures(variant: str) -> dict[tuple[str, str], Capture]:
    found: dict[tuple[str, str], Capture] = {}
    for scenario in scenarios(variant).values():
        made = captures_of(scenario.spans(), logs=scenario.log_records(), prices=PriceTable())
        found |= {(scenario.name, capture.run_id): capture for capture in made}
    return found


def ask(session: ReplaySession, served: Served, given: dict[str, Served]) -> tuple[int, str, bytes]:
    url = urlsplit(session.url)
    connection = http.client.HTTPConnection(url.hostname or "", url.port)
    body = json.dumps(with_items(served.request, given)).encode()
    connection.request("POST", f"{url.path}{served.path}", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    found = response.status, response.getheader("Content-Type", ""), response.read()
    connection.close()
    return found


def told(served: Served, answered: tuple[int, str, bytes]) -> tuple[str, list[Wanted]] | int:
    """What an answer said; of an error its status."""
    api = apis.find(served.path)
    assert api is not None
    answer = api.read(*answered)
    if isinstance(answer, CallError):
        return answered[0]
    return answer.text, [Wanted(call.name, call.arguments) for call in answer.tool_calls]


def wanted(served: Served) -> tuple[str, list[Wanted]] | int:
    return (served.response_text, served.requested_tools) if served.status == 200 else served.status


@pytest.mark.parametrize("variant", KEPT)
def test_each_call_gets_its_recorded_answer(variant: str) -> None:
    made = captures(variant)
    wrong = []
    for run, calls in replayable(variant).items():
        rows = [call.served for call in calls if call.served]
        given = by_number(rows)
        with ReplaySession(made[run]) as session:
            got = [told(row, ask(session, row, given)) for row in rows]
        wrong += [(calls[0].scenario, g) for g, row in zip(got, rows, strict=True) if g != wanted(row)]
        if not session.report.same or session.report.served < len(rows):
            wrong.append((calls[0].scenario, text_of(session.report)))
    assert wrong == []


def test_nearly_all_calls_of_the_corpus_are_asked_again() -> None:
    asked = {v: sum(map(len, replayable(v).values())) for v in KEPT}
    assert sum(asked.values()) == CALLS_ASKED
    assert all(asked.values()), asked
