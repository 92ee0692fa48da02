"""Usage objects of providers in the normal form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_runlog.conventions._provider_usage import filled, usage_of
from otel_runlog.model import Usage

RESPONSES = (
    '{"input_tokens": 90, "output_tokens": 25, "input_tokens_details": {"cached_tokens": 60}, '
    '"output_tokens_details": {"reasoning_tokens": 5}}'
)
COUNTS = st.integers(0, 10**9)


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        (
            {"prompt_tokens": 90, "completion_tokens": 25, "prompt_tokens_details": {"cached_tokens": 60}},
            Usage(90, 25, 60),
        ),
        (
            RESPONSES,
            Usage(90, 25, 60, None, 5),
        ),
        (
            {
                "input_tokens": 30,
                "output_tokens": 20,
                "cache_read_input_tokens": 60,
                "cache_creation_input_tokens": 10,
                "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 6},
            },
            Usage(100, 20, 60, 10, None, 4, 6),
        ),
        (
            {
                "input_tokens": 100,
                "output_tokens": 20,
                "input_token_details": {"cache_read": 60, "cache_creation": 0, "ephemeral_1h_input_tokens": 10},
                "output_token_details": {"reasoning": 5},
            },
            Usage(100, 20, 60, 10, 5, None, 10),
        ),
        ("no object", Usage()),
        ({"input_tokens": "many"}, Usage()),
    ],
)
def test_each_provider_in_its_own_words(told, usage) -> None:
    assert usage_of(told) == usage


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_anthropic_leaves_the_cache_out_and_openai_does_not(fresh, read, write, output) -> None:
    anthropic = {"input_tokens": fresh, "output_tokens": output}
    anthropic |= {"cache_read_input_tokens": read, "cache_creation_input_tokens": write}
    details = {"cached_tokens": read, "cache_write_tokens": write}
    openai = {"input_tokens": fresh + read + write, "output_tokens": output, "input_tokens_details": details}
    assert usage_of(anthropic) == usage_of(openai)


def test_only_what_is_lacking_is_filled_and_only_from_the_same_call() -> None:
    assert filled(Usage(90, 25), Usage(90, 24, 60, None, 5)) == Usage(90, 25, 60, None, 5)
    assert filled(Usage(90, 25), Usage(91, 25, 60)) == Usage(90, 25)
    assert filled(Usage(), Usage(91, 25)) == Usage(91, 25)
