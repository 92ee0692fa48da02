"""What a replayed program finds in its environment."""

from __future__ import annotations

import pytest

from otel_runlog.replaying.divergence import ReplayMode
from otel_runlog.replaying.environment import DUMMY_KEY, Overlays, environment, upstreams

URL = "http://127.0.0.1:1234/s/ab"


def replayed(env: dict[str, str], mode: ReplayMode = ReplayMode.STRICT) -> dict[str, str]:
    return environment(env, url=URL, mode=mode, run_id="run,1", replay_run_id="r2")


def test_an_empty_environment_gets_addresses_and_dummy_keys() -> None:
    assert replayed({}) == {
        "OPENAI_BASE_URL": f"{URL}/openai/v1",
        "OPENAI_API_BASE": f"{URL}/openai/v1",
        "OPENAI_API_KEY": DUMMY_KEY,
        "ANTHROPIC_BASE_URL": f"{URL}/anthropic",
        "ANTHROPIC_API_KEY": DUMMY_KEY,
        "GOOGLE_GEMINI_BASE_URL": f"{URL}/gemini",
        "GEMINI_API_BASE": f"{URL}/gemini",
        "GOOGLE_API_KEY": DUMMY_KEY,
        "GEMINI_API_KEY": DUMMY_KEY,
        "GOOGLE_VERTEX_BASE_URL": f"{URL}/vertex",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "OTEL_RESOURCE_ATTRIBUTES": "runlog.replay_of=run%2C1,runlog.run.id=r2",
        "OTEL_RUNLOG_REPLAY_URL": URL,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OPENAI_AGENTS_DISABLE_TRACING": "true",
    }


@pytest.mark.parametrize("mode", [ReplayMode.STRICT, ReplayMode.SOFT])
def test_real_keys_are_replaced_so_that_no_program_can_spend_money(mode: ReplayMode) -> None:
    keys = {
        name: f"real-{name}" for name in ("OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GROQ_API_KEY")
    }
    found = replayed({**keys, "AWS_SECRET_ACCESS_KEY": "stays"}, mode)
    assert {name: found[name] for name in keys} == dict.fromkeys(keys, DUMMY_KEY)
    assert found["AWS_SECRET_ACCESS_KEY"] == "stays"
    # A program that had one of two keys is not given the other: google-genai takes GOOGLE_API_KEY before the other.
    assert "GOOGLE_API_KEY" not in found
    assert "ANTHROPIC_API_KEY" not in found
    assert not any(value.startswith("real-") for value in found.values())


def test_a_live_replay_keeps_real_keys_and_gives_dummies_for_those_that_are_not_there() -> None:
    found = replayed({"OPENAI_API_KEY": "real", "GROQ_API_KEY": "real"}, ReplayMode.LIVE)
    assert (found["OPENAI_API_KEY"], found["GROQ_API_KEY"]) == ("real", "real")
    assert found["ANTHROPIC_API_KEY"] == DUMMY_KEY


def test_what_was_there_is_added_to() -> None:
    found = replayed(
        {
            "NO_PROXY": "internal, localhost",
            "OTEL_RESOURCE_ATTRIBUTES": "service.name=agent,runlog.run.id=old",
            "LITELLM_LOCAL_MODEL_COST_MAP": "False",
        }
    )
    assert found["NO_PROXY"] == "internal,localhost,127.0.0.1"
    assert found["OTEL_RESOURCE_ATTRIBUTES"] == "service.name=agent,runlog.replay_of=run%2C1,runlog.run.id=r2"
    assert found["LITELLM_LOCAL_MODEL_COST_MAP"] == "False"


def test_azure_is_led_here_where_it_was_set_and_openais_second_variable_stays_away_from_it() -> None:
    azure = {"AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com", "AZURE_OPENAI_API_KEY": "real"}
    found = replayed(azure)
    assert (found["AZURE_OPENAI_ENDPOINT"], found["AZURE_OPENAI_API_KEY"]) == (f"{URL}/azure", DUMMY_KEY)
    assert "OPENAI_API_BASE" not in found
    assert replayed({**azure, "OPENAI_API_BASE": "https://x/v1"})["OPENAI_API_BASE"] == f"{URL}/openai/v1"
    assert "AZURE_OPENAI_ENDPOINT" not in replayed({})


def test_requests_go_on_to_where_they_would_have_gone() -> None:
    found = upstreams({"OPENAI_BASE_URL": "http://gateway/v1/", "ANTHROPIC_API_URL": "http://other"})
    assert found == {
        "openai": "http://gateway/v1",
        "anthropic": "http://other",
        "gemini": "https://generativelanguage.googleapis.com",
        "vertex": "https://aiplatform.googleapis.com",
    }


def test_overlays_go_in_any_order_and_leave_what_was_there() -> None:
    environ = {"A": "own", "C": "own"}
    overlays = Overlays()
    first, second = {"A": "1", "B": "1"}, {"A": "2", "B": "2", "D": "2"}
    overlays.put(environ, first)
    assert overlays.below(environ) == {"A": "own", "C": "own"}
    overlays.put(environ, second)
    assert environ == {"A": "2", "B": "2", "C": "own", "D": "2"}
    overlays.take(environ, first)
    assert environ == {"A": "2", "B": "2", "C": "own", "D": "2"}
    assert overlays.below(environ) == {"A": "own", "C": "own"}
    overlays.take(environ, second)
    assert environ == {"A": "own", "C": "own"}


def test_nested_overlays_show_the_outer_one_again() -> None:
    environ = {"A": "own"}
    overlays = Overlays()
    outer, inner = {"A": "1"}, {"A": "2", "B": "2"}
    overlays.put(environ, outer)
    overlays.put(environ, inner)
    overlays.take(environ, inner)
    assert environ == {"A": "1"}
    overlays.take(environ, outer)
    assert environ == {"A": "own"}
