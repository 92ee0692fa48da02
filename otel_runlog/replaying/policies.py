"""What a tool does in a replay: a policy for each name and one for all others."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

import msgspec

from otel_runlog.conversation import Json
from otel_runlog.errors import ConfigError


class PolicyKind(enum.StrEnum):
    """recorded: it gives what it gave then. real: it runs. static: it gives one value. fail: its call is an error.

    A call that was not recorded is, under `recorded`, an error where the replay is strict; soft gives the nearest
    recorded result of that tool; live runs it.
    """

    RECORDED = "recorded"
    REAL = "real"
    STATIC = "static"
    FAIL = "fail"


class ToolPolicy(msgspec.Struct, frozen=True):
    """What a tool does in a replay. `value` is what a static one gives."""

    kind: PolicyKind = PolicyKind.RECORDED
    value: Json = None

    @classmethod
    def static(cls, value: Json) -> ToolPolicy:
        """Gives `value` whatever it is called with."""
        return cls(PolicyKind.STATIC, value)

    @classmethod
    def parse(cls, text: str) -> ToolPolicy:
        """Read `recorded`, `real`, `fail` or `static:JSON`.

        Raises:
            ConfigError: it is none of them, or what follows `static:` is no JSON.
        """
        if text.startswith(_STATIC):
            return cls.static(_json(text.removeprefix(_STATIC)))
        if text not in _PLAIN:
            raise ConfigError(f"a tool's policy is recorded, real, fail or static:JSON, not {text!r}")
        return cls(PolicyKind(text))


_STATIC: Final = "static:"
_PLAIN: Final = (PolicyKind.RECORDED, PolicyKind.REAL, PolicyKind.FAIL)

PolicyLike: TypeAlias = ToolPolicy | str
"""A policy, or its name as in `ToolPolicy.parse`."""


class ToolPolicies(msgspec.Struct, frozen=True):
    """The policies of a replay: `default` for every tool that `by_name` does not hold."""

    default: ToolPolicy = ToolPolicy()
    by_name: Mapping[str, ToolPolicy] = {}

    def of(self, name: str) -> ToolPolicy:
        """The policy of a tool."""
        return self.by_name.get(name, self.default)

    def replaced(self, name: str, policy: PolicyLike) -> ToolPolicies:
        """The same with another policy for one tool.

        Raises:
            ConfigError: `policy` is none.
        """
        return ToolPolicies(self.default, {**self.by_name, name: policy_of(policy)})


PoliciesLike: TypeAlias = ToolPolicies | PolicyLike | Mapping[str, PolicyLike] | None
"""One policy for all tools, or one for each by name, `*` for the others; None: recorded."""


def policy_of(policy: object) -> ToolPolicy:
    """A policy from what a program says.

    Raises:
        ConfigError: it is none.
    """
    if isinstance(policy, ToolPolicy):
        return policy
    if isinstance(policy, str):
        return ToolPolicy.parse(policy)
    raise ConfigError(f"a tool's policy is a text or a ToolPolicy, not {type(policy).__name__}")


def policies_of(tools: PoliciesLike) -> ToolPolicies:
    """Policies from what a program says: `"real"`, or `{"weather": "recorded", "clock": ToolPolicy.static("noon")}`.

    Raises:
        ConfigError: something in it is no policy.
    """
    if tools is None:
        return ToolPolicies()
    if isinstance(tools, ToolPolicies):
        return tools
    if not isinstance(tools, Mapping):
        return ToolPolicies(policy_of(tools))
    named = {name: policy_of(policy) for name, policy in tools.items()}
    return ToolPolicies(named.pop("*", ToolPolicy()), named)


def parse_policies(default: str, named: Iterable[str]) -> ToolPolicies:
    """Policies from a command line: `--tools recorded` and, of any number, `--tool NAME=POLICY`.

    Raises:
        ConfigError: one of them has no name or no policy.
    """
    found: dict[str, ToolPolicy] = {}
    for text in named:
        name, equals, policy = text.partition("=")
        if not (name and equals):
            raise ConfigError(f"{text!r} gives no tool a policy: write NAME=recorded, real, fail or static:JSON")
        found[name] = ToolPolicy.parse(policy)
    return ToolPolicies(ToolPolicy.parse(default), found)


def _json(text: str) -> Json:
    try:
        value: Json = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ConfigError(f"what follows static: must be JSON, not {text!r}: {error}") from None
    return value
