"""What a tool does in a replay, as command lines and programs say it."""

from __future__ import annotations

import pytest

from otel_runlog.errors import ConfigError
from otel_runlog.replaying.policies import PolicyKind, ToolPolicies, ToolPolicy, parse_policies, policies_of


def test_a_command_line_gives_a_policy_to_all_tools_and_others_to_some() -> None:
    policies = parse_policies("real", ["weather=recorded", 'clock=static:{"hour": 12}', "mail=fail"])
    assert policies.of("anything") == ToolPolicy(PolicyKind.REAL)
    assert policies.of("weather") == ToolPolicy(PolicyKind.RECORDED)
    assert policies.of("clock") == ToolPolicy.static({"hour": 12})
    assert policies.of("mail") == ToolPolicy(PolicyKind.FAIL)


def test_a_name_with_an_equals_sign_in_its_value_is_read_to_the_first_one() -> None:
    assert parse_policies("recorded", ['q=static:"a=b"']).of("q") == ToolPolicy.static("a=b")


@pytest.mark.parametrize(
    ("default", "named", "message"),
    [
        ("sometimes", [], "a tool's policy is recorded, real, fail or static:JSON, not 'sometimes'"),
        ("static", [], "a tool's policy is recorded, real, fail or static:JSON, not 'static'"),
        ("real", ["weather"], "'weather' gives no tool a policy: write NAME=recorded, real, fail or static:JSON"),
        ("real", ["=real"], "'=real' gives no tool a policy: write NAME=recorded, real, fail or static:JSON"),
        ("real", ["clock=static:noon"], "what follows static: must be JSON, not 'noon'"),
    ],
)
def test_what_is_no_policy_is_refused_with_what_is_one(default: str, named: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_policies(default, named)
    assert str(raised.value).startswith(message)


def test_a_program_gives_one_for_all_or_one_for_each() -> None:
    assert policies_of(None) == ToolPolicies()
    assert policies_of("real").of("weather") == ToolPolicy(PolicyKind.REAL)
    policies = policies_of({"weather": "recorded", "clock": ToolPolicy.static("noon"), "*": "fail"})
    assert policies.of("clock").value == "noon"
    assert policies.of("weather") == ToolPolicy()
    assert policies.of("other") == ToolPolicy(PolicyKind.FAIL)
    assert policies_of(policies) is policies


def test_one_more_tool_leaves_the_others_as_they_were() -> None:
    policies = policies_of({"weather": "real"}).replaced("clock", "fail")
    assert (policies.of("weather").kind, policies.of("clock").kind) == (PolicyKind.REAL, PolicyKind.FAIL)


def test_a_policy_of_another_type_is_refused() -> None:
    with pytest.raises(ConfigError, match="a tool's policy is a text or a ToolPolicy, not int"):
        policies_of({"weather": 3})  # type: ignore[dict-item]
