"""Names: what a provider and a model are called in a price table, given what the telemetry calls them. Pure text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

MAX_NAME_CHARS = 256
"""Longer model names are no model's; they are not looked up, so that caches stay small."""
MAX_SPELLINGS = 16
"""Of a name with more prefixes and suffixes than any real one has, only the first forms are tried."""

NOT_A_PROVIDER = frozenset(
    {
        "",
        "ag2",
        "agent-framework",
        "agno",
        "autogen",
        "crewai",
        "custom",
        "gcp.vertex.agent",
        "google-adk",
        "haystack",
        "langchain",
        "langgraph",
        "litellm",
        "llamaindex",
        "llama-index",
        "mastra",
        "microsoft.agent-framework",
        "none",
        "openai-agents",
        "other",
        "pydantic-ai",
        "semantic-kernel",
        "smolagents",
        "strands",
        "strands-agents",
        "unknown",
        "vercel-ai",
    }
)
"""Frameworks and client libraries that write their own name where the provider's belongs; they sell no tokens."""

LOCAL_SERVERS = frozenset(
    {"ollama", "vllm", "hosted-vllm", "lmstudio", "lm-studio", "llamacpp", "llama.cpp", "localai", "sglang", "tgi"}
)
"""Servers of one's own: no provider's price list holds for them, whatever model they serve."""

GATEWAYS = frozenset({"anthropic", "cloudflare", "openai", "openrouter"})
"""Ids of genai-prices under which somebody else's model may answer: two gateways, and two providers whose clients speak
to any compatible server. A provider that genai-prices does not know is taken for a gateway as well."""

ALIASES = {
    "amazon-bedrock": "aws",
    "amazon.bedrock": "aws",
    "aws-bedrock": "aws",
    "aws.bedrock": "aws",
    "bedrock": "aws",
    "bedrock-converse": "aws",
    "az.ai.inference": "azure",
    "az.ai.openai": "azure",
    "azure-ai": "azure",
    "azure-openai": "azure",
    "azure.ai.inference": "azure",
    "azure.ai.openai": "azure",
    "azurechatopenai": "azure",
    "azureopenai": "azure",
    "microsoft.foundry": "azure",
    "gcp.gemini": "google",
    "gcp.gen-ai": "google",
    "gcp.vertex-ai": "google",
    "gemini": "google",
    "google-genai": "google",
    "google-gla": "google",
    "google-vertex": "google",
    "google-vertexai": "google",
    "google.generative-ai": "google",
    "google.vertex": "google",
    "vertex": "google",
    "vertex-ai": "google",
    "vertex-ai-beta": "google",
    "vertexai": "google",
    "vertex.anthropic": "google",
    "fireworks-ai": "fireworks",
    "grok": "x-ai",
    "x.ai": "x-ai",
    "xai": "x-ai",
    "mistral-ai": "mistral",
    "mistralai": "mistral",
    "moonshot": "moonshotai",
    "moonshot-ai": "moonshotai",
    "perplexity-ai": "perplexity",
    "together-ai": "together",
    "togetherai": "together",
    "voyage": "voyageai",
    "z-ai": "zai",
    "z.ai": "zai",
}
"""Names of providers in OpenTelemetry (gen_ai.provider.name), OpenInference, Vercel AI SDK, LangChain and LiteLLM,
lower case and with `-` for `_`, to the ids of genai-prices."""

API_SUFFIX = re.compile(r"[.-](?:chat|responses|messages|completions?|embeddings?|text)$")
"""The API that the Vercel AI SDK and others put behind the provider: `openai.responses`."""


def provider_id(raw: str | None) -> str | None:
    """A provider's id in genai-prices, or its own name in lower case; None where the telemetry names no provider."""
    name = (raw or "").strip().lower().replace("_", "-")
    short = API_SUFFIX.sub("", name)
    if name in NOT_A_PROVIDER or short in NOT_A_PROVIDER:
        return None
    return ALIASES.get(name) or ALIASES.get(short) or short


def provider_names(raw: str | None) -> frozenset[str]:
    """The names by which a provider may stand in a table: as written and as `provider_id` has it; empty for none."""
    normal = provider_id(raw)
    return frozenset() if normal is None or raw is None else frozenset({raw.strip().lower(), normal})


_VENDOR_PATH = re.compile(r"^[^/]+/(?=.)")
_BEDROCK = re.compile(r"^(?:(?:us|us-gov|eu|apac|ap|jp|au|ca|sa|global)\.)?([a-z][a-z0-9]*)\.(?=[a-z])")
_BEDROCK_REVISION = re.compile(r"-v?\d+:\d+(?::\d+k)?$")
_DATED = re.compile(r"-20\d{2}-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])$")
_VERTEX_REVISION = re.compile(r"@(?:20\d{6}|\d{3}|default|latest)$")

RULES: tuple[Callable[[str], str], ...] = (
    lambda name: name.removesuffix("-latest"),
    lambda name: _DATED.sub("", name),
    lambda name: _VERTEX_REVISION.sub("", name),
    lambda name: _BEDROCK_REVISION.sub("", name),
    lambda name: _VENDOR_PATH.sub("", name),
    lambda name: _BEDROCK.sub("", name),
)
"""What may be taken off a model's name: `-latest`, `-2026-03-15`, `@20260315`, `-v1:0`, `vendor/`, `us.vendor.`.
Variants that cost differently (`:free`, `:batch`, `-mini`) stay."""


def spellings(model: str) -> tuple[str, ...]:
    """A model's name in lower case, then ever shorter forms of it by `RULES`, the least changed first."""
    found = {model.strip().lower(): None}
    layer = list(found)
    while layer and len(found) < MAX_SPELLINGS:
        layer = [short for name in layer for rule in RULES if (short := rule(name)) and short not in found]
        found.update(dict.fromkeys(layer))
    return tuple(found)[:MAX_SPELLINGS]


def vendors(model: str) -> Iterator[str]:
    """The providers that a model's own name points to: `aws` for Bedrock ids, then the vendor written before it."""
    name = model.strip().lower()
    if "/" in name:
        yield from (provider for part in name.split("/")[:-1] if (provider := provider_id(part)))
    last = name.rsplit("/", 1)[-1]
    if found := _BEDROCK.match(last):
        yield "aws"
        yield found[1]
