"""The environment of a program that is replayed: where its clients find the replay, and with which keys.

Each provider has a door of its own below the replay's address (`/s/<id>/openai/v1/...`), so that what a path is about
is known also where no API matches it, and a live replay knows where to send on what it was not recorded.

In strict and soft mode real keys of model providers are replaced, those of providers without a door too (OTHER_KEYS):
a program that ignores the addresses then gets a refusal from the provider, and cannot spend money. Credentials of
clouds (AWS, Google's application default) stay as they are: tools that run for real need them. Telemetry of the
program's own, such as LangSmith's, goes where it went, but for the OpenAI Agents SDK's: that sends all conversations
to OpenAI with the key of the client, wherever the client's address leads, so it is off.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, MutableMapping
from typing import Final
from urllib.parse import quote

import msgspec

from otel_runlog.config import REPLAY_URL_VARIABLE
from otel_runlog.replaying.divergence import ReplayMode

DUMMY_KEY: Final = "otel-runlog-replay-needs-no-key"
"""What stands in place of a key. A live replay knows by it that there is none to go on with."""
RESOURCE_VARIABLE: Final = "OTEL_RESOURCE_ATTRIBUTES"
PROXY_EXCEPTIONS: Final = ("127.0.0.1", "localhost")


class ProviderDoor(msgspec.Struct, frozen=True, kw_only=True):
    """One provider's door.

    Attributes:
        name: its segment of the path.
        apis: what it speaks, by the names in apis/; its errors have the form of the first.
        upstream: the provider's own public address, for live mode; empty where there is no common one.
        version: where the base URL ends without one, the segment that some clients expect in it and others add.
        variables: base URLs that are always set, `variables_if_set` those that are replaced where they are set.
        ends_with: what the base URL ends in.
        keys: set to a dummy where none of them is set.
        keys_if_set: more keys; all are replaced in strict and soft mode where they are set.
    """

    name: str
    apis: tuple[str, ...]
    upstream: str = ""
    version: str = ""
    variables: tuple[str, ...] = ()
    variables_if_set: tuple[str, ...] = ()
    ends_with: str = ""
    keys: tuple[str, ...] = ()
    keys_if_set: tuple[str, ...] = ()

    @property
    def all_variables(self) -> tuple[str, ...]:
        """Every base URL, those that are always set first."""
        return (*self.variables, *self.variables_if_set)

    @property
    def all_keys(self) -> tuple[str, ...]:
        """Every key."""
        return (*self.keys, *self.keys_if_set)


DOORS: Final = (
    ProviderDoor(
        name="openai",
        apis=("openai_chat", "openai_responses", "openai_embeddings"),
        upstream="https://api.openai.com/v1",
        variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"),  # LlamaIndex reads the second alone
        ends_with="/v1",
        keys=("OPENAI_API_KEY",),
    ),
    ProviderDoor(
        name="anthropic",
        apis=("anthropic_messages",),
        upstream="https://api.anthropic.com",
        version="v1",
        variables=("ANTHROPIC_BASE_URL",),
        variables_if_set=("ANTHROPIC_API_BASE", "ANTHROPIC_API_URL"),
        keys=("ANTHROPIC_API_KEY",),
        keys_if_set=("ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    ),
    ProviderDoor(
        name="gemini",
        apis=("gemini", "gemini_embeddings"),
        upstream="https://generativelanguage.googleapis.com",
        version="v1beta",
        variables=("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE"),  # LiteLLM reads the second alone
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        keys_if_set=("GOOGLE_GENERATIVE_AI_API_KEY",),
    ),
    ProviderDoor(
        name="vertex",
        apis=("gemini", "gemini_embeddings"),
        upstream="https://aiplatform.googleapis.com",
        version="v1beta1",
        variables=("GOOGLE_VERTEX_BASE_URL",),
    ),
    # Some programs choose Azure because its endpoint is set, so it is set only where it was.
    ProviderDoor(
        name="azure",
        apis=("openai_chat", "openai_responses", "openai_embeddings"),
        variables_if_set=("AZURE_OPENAI_ENDPOINT",),
        keys_if_set=("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
    ),
)
"""The doors. To add a provider is to add one."""
DOOR_NAMES: Final = {door.name: door for door in DOORS}

AZURES: Final = ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "OPENAI_API_VERSION")
NOT_BESIDE: Final = {"OPENAI_API_BASE": AZURES}
"""LangChain's AzureChatOpenAI does not start where OPENAI_API_BASE is set: beside Azure's it is set only if it was."""
OTHER_KEYS: Final = (
    *("MISTRAL_API_KEY", "GROQ_API_KEY", "CO_API_KEY", "COHERE_API_KEY", "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY"),
    *("XAI_API_KEY", "TOGETHER_API_KEY", "TOGETHERAI_API_KEY", "FIREWORKS_API_KEY", "PERPLEXITY_API_KEY"),
    *("CEREBRAS_API_KEY", "REPLICATE_API_TOKEN", "VOYAGE_API_KEY", "JINA_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"),
)
"""Keys of providers that have no door."""


LASTING: Final = "OPENAI_AGENTS_DISABLE_TRACING"
"""The Agents SDK looks at it once in a process: it is not set in one that goes on after the replay."""


def environment(
    env: Mapping[str, str], *, url: str, mode: ReplayMode, run_id: str, replay_run_id: str
) -> dict[str, str]:
    """The whole environment for a program that is replayed: `env` with what a replay changes.

    Args:
        env: the environment it would have had.
        url: of the replay's session.
        mode: live keeps real keys, which the model needs.
        run_id: the run that is replayed.
        replay_run_id: the replay's own id.
    """
    changed = dict(env)
    for door in DOORS:
        base = f"{url}/{door.name}{door.ends_with}"
        always = [name for name in door.variables if not any(env.get(other) for other in NOT_BESIDE.get(name, ()))]
        if_set = [name for name in door.all_variables if env.get(name)]
        changed.update(dict.fromkeys((*always, *if_set), base))
        if not any(env.get(name) for name in door.all_keys):
            changed.update(dict.fromkeys(door.keys, DUMMY_KEY))
        elif mode is not ReplayMode.LIVE:
            changed.update({name: DUMMY_KEY for name in door.all_keys if env.get(name)})
    if mode is not ReplayMode.LIVE:
        changed.update({name: DUMMY_KEY for name in OTHER_KEYS if env.get(name)})
        changed.setdefault(LASTING, "true")
    changed.update({name: _with_exceptions(env.get(name, "")) for name in ("NO_PROXY", "no_proxy")})
    own = {"runlog.replay_of": run_id, "runlog.run.id": replay_run_id}
    changed[RESOURCE_VARIABLE] = _with_attributes(env.get(RESOURCE_VARIABLE, ""), own)
    changed[REPLAY_URL_VARIABLE] = url
    changed.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it fetches its prices when it is imported
    return changed


def upstreams(env: Mapping[str, str]) -> dict[str, str]:
    """Where each door's requests would have gone, by its name; doors that lead nowhere are left out."""
    found = {}
    for door in DOORS:
        base = next((env[name] for name in door.all_variables if env.get(name)), door.upstream)
        if base:
            found[door.name] = base.rstrip("/")
    return found


class Overlays:
    """Changes to an environment that lie over each other and go in any order: what was there before comes back.

    Sessions may be nested, and those of several threads end as they like; the newest that is left is what holds.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._below: dict[str, str | None] = {}
        self._layers: list[dict[str, str]] = []

    def below(self, environ: Mapping[str, str]) -> dict[str, str]:
        """`environ` as it is without the overlays."""
        with self._lock:
            found = {**environ, **{name: value for name, value in self._below.items() if value is not None}}
            return {name: value for name, value in found.items() if self._below.get(name, "") is not None}

    def put(self, environ: MutableMapping[str, str], changes: dict[str, str]) -> None:
        """Lay changes over all that is there."""
        with self._lock:
            for name in changes:
                self._below.setdefault(name, environ.get(name))
            self._layers.append(changes)
            environ.update(changes)

    def take(self, environ: MutableMapping[str, str], changes: dict[str, str]) -> None:
        """Take the same object away again."""
        with self._lock:
            self._layers = [layer for layer in self._layers if layer is not changes]
            for name in changes:
                holding = next((layer for layer in reversed(self._layers) if name in layer), None)
                value = self._below.pop(name) if holding is None else holding[name]
                if value is None:
                    environ.pop(name, None)
                else:
                    environ[name] = value


def _with_exceptions(value: str) -> str:
    there = [part.strip() for part in value.split(",") if part.strip()]
    return ",".join([*there, *(host for host in PROXY_EXCEPTIONS if host not in there)])


def _with_attributes(value: str, own: Mapping[str, str]) -> str:
    """Attributes as OTEL_RESOURCE_ATTRIBUTES holds them: values percent-encoded, names once."""
    kept = [pair for pair in value.split(",") if pair.strip() and pair.partition("=")[0].strip() not in own]
    return ",".join([*kept, *(f"{name}={quote(text, safe='')}" for name, text in own.items())])
