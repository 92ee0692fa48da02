"""Settings, one class per component: defaults, environment names, validation. Nothing else reads the environment.

| variable | means | default |
|---|---|---|
| OTEL_RUNLOG_DB | the store's file | runs.duckdb |
| OTEL_RUNLOG_PRICES | price table files, separated by os.pathsep, first match wins | none |
| OTEL_RUNLOG_DISABLED, OTEL_SDK_DISABLED | `true`: the in-process door does nothing | false |
| OTEL_RUNLOG_DURABILITY | process, queue or power (exporter) | process |
| OTEL_RUNLOG_LOADER | thread or off (exporter) | thread |
| OTEL_RUNLOG_CONTENT | full, hash or off (exporter) | full |
| OTEL_RUNLOG_REPLAY_URL | a replay sets it for its program: whom tools ask what to do | none |
| OTEL_RUNLOG_JOURNAL_MAX_BYTES | over it the journal drops its oldest records, and counts them | 4294967296 |
"""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Final, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec

from otel_runlog.errors import ConfigError
from otel_runlog.model import RunLog

DB_VARIABLE: Final = "OTEL_RUNLOG_DB"
PRICES_VARIABLE: Final = "OTEL_RUNLOG_PRICES"
JOURNAL_MAX_BYTES_VARIABLE: Final = "OTEL_RUNLOG_JOURNAL_MAX_BYTES"
REPLAY_URL_VARIABLE: Final = "OTEL_RUNLOG_REPLAY_URL"
DISABLED_VARIABLES: Final = ("OTEL_RUNLOG_DISABLED", "OTEL_SDK_DISABLED")
DEFAULT_DB: Final = "runs.duckdb"
JOURNAL_MAX_BYTES: Final = 4 << 30
"""DESIGN rule 2."""
DESTINATION_SCHEMES: Final = ("http", "https", "grpc", "grpcs")

LONGEST_S: Final = 86_400
"""No wait is longer than a day: locks and timers take no infinite time, and no comparison refuses NaN."""
_USER: Final = re.compile(r"//[^/]*@")
_VARIABLE: Final = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")

_Choice = TypeVar("_Choice", bound=enum.StrEnum)


class Durability(enum.StrEnum):
    """What on_end waits for.

    `process`: the record is with the kernel and outlives the process. `power`: it is on the disk. `queue`: nothing; a
    thread writes, and what it has not written when the process is killed is lost.
    """

    PROCESS = "process"
    QUEUE = "queue"
    POWER = "power"


class LoaderMode(enum.StrEnum):
    """Who loads the journal into the store: a thread of this process, or (`off`) whoever opens the store next."""

    THREAD = "thread"
    OFF = "off"


class ContentMode(enum.StrEnum):
    """What is kept of prompts, answers and tool arguments: all, a sha256 of each value, or nothing."""

    FULL = "full"
    HASH = "hash"
    OFF = "off"


class StoreConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Which store, and the price tables that lie over the default one."""

    db: Path = Path(DEFAULT_DB)
    prices: tuple[Path, ...] = ()

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> StoreConfig:
        """Read OTEL_RUNLOG_DB and OTEL_RUNLOG_PRICES; an empty variable is an unset one."""
        env = os.environ if environ is None else environ
        paths = env.get(PRICES_VARIABLE, "").split(os.pathsep)
        config = cls(db=Path(env.get(DB_VARIABLE) or DEFAULT_DB), prices=tuple(Path(path) for path in paths if path))
        config.validate()
        return config

    def validate(self) -> None:
        """Raises ConfigError where the store cannot be a file."""
        require_db(self.db)


Redactor = Callable[[str, Any], Any]
"""Takes a key and one value of it; returns what is to be kept, None to keep nothing."""


class ProcessorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The in-process door.

    Attributes:
        db: the store's file; the journal lies beside it.
        durability: what on_end waits for.
        loader: who loads the journal.
        content: what is kept of prompts and answers.
        redact: called for every value before it is written; see `otel_runlog.content`.
        on_run: called in the loader's thread with every run that finished.
        labels: put on every run.
        disabled: the door does nothing.
        turn_every_s: pending records are loaded so often.
        exit_load_s: the longest that shutdown and process exit wait for loading.
        exit_write_s: the longest that they wait for writing.
        queue_bytes: durability `queue` keeps so much in memory; more waits for the disk, and is dropped and counted
            where that stands still.
        journal_max_bytes: over this the journal drops its oldest records, and counts them.
    """

    db: Path
    durability: Durability = Durability.PROCESS
    loader: LoaderMode = LoaderMode.THREAD
    content: ContentMode = ContentMode.FULL
    redact: Redactor | None = None
    on_run: Callable[[RunLog], object] | None = None
    labels: dict[str, str] = {}
    disabled: bool = False
    turn_every_s: float = 1.0
    exit_load_s: float = 3.0
    exit_write_s: float = 2.0
    queue_bytes: int = 64 << 20
    journal_max_bytes: int = JOURNAL_MAX_BYTES

    @classmethod
    def from_arguments(cls, db: object, environ: Mapping[str, str] | None = None, **given: object) -> ProcessorConfig:
        """Check the arguments of RunLogSpanProcessor; of the environment only what is no argument counts.

        Raises:
            ConfigError: an argument has the wrong type or value.
        """
        env = os.environ if environ is None else environ
        return cls(
            db=require_db(db),
            durability=_choice(Durability, "durability", given.get("durability", Durability.PROCESS)),
            loader=_choice(LoaderMode, "loader", given.get("loader", LoaderMode.THREAD)),
            content=_choice(ContentMode, "content", given.get("content", ContentMode.FULL)),
            redact=_callable("redact", given.get("redact")),
            on_run=_callable("on_run", given.get("on_run")),
            labels=check_labels(given.get("labels")),
            disabled=any(is_true(env.get(name, "")) for name in DISABLED_VARIABLES),
            journal_max_bytes=_bytes(env, JOURNAL_MAX_BYTES_VARIABLE, JOURNAL_MAX_BYTES),
        )

    @classmethod
    def from_env(cls, db: object = None, environ: Mapping[str, str] | None = None, **given: object) -> ProcessorConfig:
        """As `from_arguments`, with what is not given taken from the environment: the exporter's way.

        Raises:
            ConfigError: an argument or a variable has the wrong type or value.
        """
        env = os.environ if environ is None else environ
        names = ("durability", "loader", "content")
        found = {name: env[variable] for name in names if env.get(variable := f"OTEL_RUNLOG_{name.upper()}")}
        chosen = {name: value for name, value in given.items() if value is not None}
        return cls.from_arguments(StoreConfig.from_env(env).db if db is None else db, env, **{**found, **chosen})


class RunsForm(enum.StrEnum):
    """In which form a destination gets finished runs: not at all, as log records, or as spans of their own."""

    NONE = "none"
    LOGS = "logs"
    SPANS = "spans"


class DestinationConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where spans go on to.

    Attributes:
        url: http(s)://host:port, to which /v1/traces is added unless it is there, or grpc(s)://host:port.
        name: what its cursor, metrics and warnings are called; host and port unless given.
        headers: sent with every request; values are never logged.
        compression: gzip or none.
        timeout_s: how long one request may take.
        ca_file: the authorities its certificate must come from, PEM; those of the system unless given.
        cert_file: this client's certificate, PEM, with `key_file`.
        key_file: the certificate's key.
        enrich: spans get runlog.run.id, runlog.step.kind, runlog.cost_usd and normalised gen_ai.usage.*.
        enrich_wait_s: how long a span waits, from when it came, for its run to be over, so that these are final.
        runs: in which form finished runs are sent as well.
        signals: `traces`, `logs` or both.
    """

    url: str
    name: str = ""
    headers: dict[str, str] = {}
    compression: Literal["gzip", "none"] = "gzip"
    timeout_s: float = 10.0
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    enrich: bool = False
    enrich_wait_s: float = 30.0
    runs: RunsForm = RunsForm.NONE
    signals: tuple[Literal["traces", "logs"], ...] = ("traces", "logs")

    @property
    def label(self) -> str:
        """What it goes by: its name, else its host and port. Never what may be a secret in the URL."""
        return self.name or urlsplit(self.url).netloc.rpartition("@")[2].replace("[", "").replace("]", "")

    def validate(self) -> None:
        """Raises ConfigError where nothing could ever be sent there."""
        try:
            parts = urlsplit(self.url)
            is_whole = parts.scheme in DESTINATION_SCHEMES and bool(parts.hostname) and parts.port != 0
        except ValueError:  # brackets or a port that are none
            is_whole = False
        if not is_whole:
            known = ", ".join(f"{scheme}://" for scheme in DESTINATION_SCHEMES)
            shown = _USER.sub("//", self.url)
            raise ConfigError(f"forward needs a URL of a host and a port, beginning with {known}, not {shown!r}")
        if parts.username is not None:
            raise ConfigError(f"the URL of {self.label} holds a user: put it into `headers` as authorization")
        if (self.cert_file is None) is not (self.key_file is None):
            raise ConfigError(f"{self.label} has only one of cert_file and key_file: a certificate needs both")
        if not (0 < self.timeout_s <= LONGEST_S and 0 <= self.enrich_wait_s <= LONGEST_S and self.signals):
            raise ConfigError(
                f"{self.label}: timeout_s must be above 0, enrich_wait_s 0 or more, both at most {LONGEST_S}, and "
                "signals not empty"
            )


def process_environment() -> MutableMapping[str, str]:
    """The variables of this process, to be handed to who reads or sets them by other names than the above."""
    return os.environ


def replay_url() -> str:
    """Where the replay that this program is part of answers; empty outside a replay."""
    return os.environ.get(REPLAY_URL_VARIABLE, "")


def expand(text: str, environ: Mapping[str, str] | None = None) -> str:
    """A text with every `${env:NAME}` replaced by that variable's value.

    Raises:
        ConfigError: the variable is not set.
    """
    env = os.environ if environ is None else environ

    def value_of(found: re.Match[str]) -> str:
        if found[1] not in env:
            raise ConfigError(f"the variable {found[1]} is not set, but the settings say ${{env:{found[1]}}}")
        return env[found[1]]

    return _VARIABLE.sub(value_of, text)


def require_db(db: object) -> Path:
    """The store's path.

    Raises:
        ConfigError: it is no path, empty, or a store in memory (the journal and other processes need a file).
    """
    if not isinstance(db, str | os.PathLike):
        raise ConfigError(f"db must be a path, not {type(db).__name__}: RunLogSpanProcessor('runs.duckdb')")
    path = os.fspath(db)
    if not isinstance(path, str) or not path or path.startswith(":memory:"):
        raise ConfigError(f"db must be the path of a file, not {path!r}: give one, as in 'runs.duckdb'")
    return Path(path)


def is_true(value: str) -> bool:
    """As the OTel specification reads booleans: only `true`, in any case, is true."""
    return value.strip().lower() == "true"


def _choice(kind: type[_Choice], name: str, value: object) -> _Choice:
    try:
        return kind(value)  # type: ignore[arg-type]  # a wrong type is a wrong value
    except ValueError:
        known = ", ".join(repr(str(member)) for member in kind)
        raise ConfigError(f"{name} must be one of {known}, not {value!r}") from None


def _bytes(env: Mapping[str, str], variable: str, default: int) -> int:
    value = env.get(variable, "").strip()
    if not value:
        return default
    if not (value.isascii() and value.isdecimal() and int(value)):
        raise ConfigError(f"{variable} must be a number of bytes above 0, not {value!r}")
    return int(value)


def _callable(name: str, value: object) -> Callable[..., Any] | None:
    if value is not None and not callable(value):
        raise ConfigError(f"{name} must be callable or None, not {type(value).__name__}")
    return value


def check_labels(value: object) -> dict[str, str]:
    """Labels as a dict; none for None.

    Raises:
        ConfigError: it maps anything but non-empty str to str.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"labels must map str to str, not be {type(value).__name__}")
    for key, label in value.items():
        if not (isinstance(key, str) and key and isinstance(label, str)):
            raise ConfigError(f"labels must map str to str: {key!r} maps to {label!r}")
    return dict(value)
