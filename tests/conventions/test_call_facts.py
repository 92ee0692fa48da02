"""What captures want to know of a call's span beside its messages."""

from __future__ import annotations

import pytest

from otel_runlog.conventions._call_facts import embedding_vectors, previous_response, provider_version
from otel_runlog.conventions._errors import error_status
from otel_runlog.model import Attributes


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"openai.response.system_fingerprint": "fp_1"}, "fp_1"),
        ({"gen_ai.openai.response.system_fingerprint": "fp_2"}, "fp_2"),
        ({"gen_ai.openai.system_fingerprint": "fp_3"}, "fp_3"),
        ({"llm.openai.system_fingerprint": "fp_4"}, "fp_4"),
        ({"output.value": '{"id": "x", "system_fingerprint": "fp_5"}'}, "fp_5"),
        ({"output.value": 'the "system_fingerprint" is'}, None),
        ({"openai.response.system_fingerprint": 7}, None),
        ({}, None),
    ],
)
def test_the_system_that_answered_goes_by_several_names(attributes: Attributes, expected: str | None) -> None:
    assert provider_version(attributes) == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"gen_ai.conversation.id": "resp_1"}, "resp_1"),
        ({"gen_ai.conversation.id": "conv_1"}, None),
        ({"gen_ai.conversation.id": ["resp_1"]}, None),
        ({}, None),
    ],
)
def test_an_answers_id_in_place_of_the_conversations_is_the_one_before(
    attributes: Attributes, expected: str | None
) -> None:
    assert previous_response(attributes) == expected


@pytest.mark.parametrize(
    ("attributes", "count", "expected"),
    [
        ({"embedding.embeddings.0.embedding.vector": [1, 2.5]}, 1, ((1.0, 2.5),)),
        ({"embedding.embeddings.0.embedding.vector": "[1, 2.5]"}, 1, ((1.0, 2.5),)),
        ({"ai.embeddings": ["[1]", "[2]"]}, 2, ((1.0,), (2.0,))),
        ({"ai.embedding": "[1, 2]"}, 1, ((1.0, 2.0),)),
        ({"ai.embeddings": ["[1]"]}, 2, None),
        ({"ai.embeddings": ["[1]", '["x"]']}, 2, None),
        ({"ai.embeddings": ["[1]", "[true]"]}, 2, None),
        ({"ai.embedding": "[]"}, 1, None),
        ({}, 1, None),
    ],
)
def test_vectors_are_there_for_each_input_or_not_at_all(
    attributes: Attributes, count: int, expected: tuple[tuple[float, ...], ...] | None
) -> None:
    assert embedding_vectors(attributes, count) == expected


@pytest.mark.parametrize(
    ("attributes", "error_type", "message", "expected"),
    [
        ({"http.response.status_code": 429}, "X", "status 500", 429),
        ({"http.status_code": "503"}, None, None, 503),
        ({}, "429", None, 429),
        ({}, "RateLimitError", "Error code: 429 - {'error': {}}", 429),
        ({}, "ModelHTTPError", "status_code: 529, model_name: m", 529),
        ({}, "ClientError", "404 NOT_FOUND. {}", 404),
        ({}, "ClientError", "ClientError: 429 RESOURCE_EXHAUSTED. {}", 429),
        ({}, "HTTPStatusError", "HTTP 502 Bad Gateway", 502),
        ({"http.response.status_code": 200}, "APIError", "the stream was cut", None),
        ({}, "200", "code 4290 of 500", None),
        ({}, None, None, None),
    ],
)
def test_a_refusals_status_stands_in_one_of_three_places(
    attributes: Attributes, error_type: str | None, message: str | None, expected: int | None
) -> None:
    assert error_status(attributes, error_type, message) == expected
