"""Secrets found by their shape and replaced before anything is written: `redact=SecretPatterns()`.

The engine is RE2, whose time grows with the text alone, never with the pattern: `(a+)+$` on 30,000 letters is as quick
as any other. It needs the extra `redact` (`pip install 'otel-runlog[redact]'`) and is imported when a SecretPatterns is
made.

What shapes cannot find: passwords and tokens without a prefix of their own, names, addresses and telephone numbers,
secrets split over several attributes or stream chunks, encoded (base64, URL escapes beyond those of an e-mail's @) or
broken over lines, pictures, and the keys of attributes and maps. Who must keep such things out adds patterns, writes a
redactor of their own, or sets `content="off"`.

What was redacted is told with the run, as the resource attribute `runlog.redaction`: a replay redacts what it is asked
by the same rules before it compares. It holds the application's patterns, which so describe shapes and never name a
secret; where one has no class of characters, and thus spells out what it finds, none of them is told.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from otel_runlog.capture import RedactionPattern, RedactionRules
from otel_runlog.config import Redactor
from otel_runlog.errors import ConfigError

TOLD_AS: Final = "runlog.redaction"
"""The resource attribute that says by which rules the telemetry was redacted, as JSON: {version, extra, without}."""
OWN: Final = "own"
"""The version of a redactor that says none of itself."""
LONGEST_VERSION: Final = 64
LONGEST_TOLD: Final = 1 << 16

BUILT_IN: Final[Mapping[str, str]] = {
    # PEM, RFC 7468; in JSON the line ends are escapes. Of a key that was cut all goes that looks like one.
    "private_key": (
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]|-[^-]|--[^-]|---[^-]|----[^-])*-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:[A-Za-z0-9+/=\s]|\\+[nrt])*)"
    ),
    # RFC 7519: header and payload are base64url of JSON objects, so both begin with the letters of `{"`.
    "jwt": r"eyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*",
    "anthropic_key": r"sk-ant-[A-Za-z0-9_-]{8,}",
    # OpenAI's and those of the many services that copied its form (sk-proj-, sk-or-v1-, sk_live_ of Stripe).
    "api_key": r"\b(?:sk|rk|pk)[-_][A-Za-z0-9_-]{12,}",
    "aws_access_key": r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    "aws_secret_key": r"(?i:aws_?secret_?(?:access_?)?key)[\"'\\ ]{0,4}[:=][\"'\\ ]{0,4}[A-Za-z0-9/+]{40}",
    "github_token": r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{22,}",
    "gitlab_token": r"gl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_-]{20,}",
    "slack_token": r"xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}",
    "slack_webhook": r"https://hooks\.slack\.com/[A-Za-z0-9/_-]+",
    "google_api_key": r"AIza[A-Za-z0-9_-]{35}",
    "google_oauth_token": r"ya29\.[A-Za-z0-9_-]{20,}",
    "huggingface_token": r"\bhf_[A-Za-z0-9]{20,}",
    "npm_token": r"npm_[A-Za-z0-9]{36}",
    "pypi_token": r"pypi-[A-Za-z0-9_-]{16,}",
    "groq_key": r"gsk_[A-Za-z0-9]{20,}",
    "xai_key": r"\bxai-[A-Za-z0-9]{20,}",
    "bearer_token": r"(?i:bearer)(?:[ \t]|\\+t)+[A-Za-z0-9._~+/-]{8,}=*",  # RFC 6750
    "basic_auth": r"(?i:basic)(?:[ \t]|\\+t)+[A-Za-z0-9+/]{16,}={0,2}",  # RFC 7617
    "url_password": r"://[^\s/:@\"'\\]*:[^\s/@\"'\\]+@",  # RFC 3986's userinfo
    # RFC 5322's dot-atom from its first letter or digit, with a domain that ends in letters; %40 is the @ of a URL.
    "email": r"\b[A-Za-z0-9_][A-Za-z0-9.!#$&'*+/=?^_`{|}~-]*(?:@|%40)(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24}",
    # ISO/IEC 7812: 13 to 19 digits, together or grouped as on cards; only those whose last digit checks are cards.
    "card_number": (
        r"\b(?:[0-9]{13,19}|[0-9]{4}(?:[ -][0-9]{4}){3,}(?:[ -][0-9]{1,3})?|[0-9]{4}[ -][0-9]{6}[ -][0-9]{4,5})\b"
    ),
}
"""The patterns by name, in the order in which they are looked for; RE2 syntax.

A leading `\\b` also holds after an escape such as the `\\n` of JSON, whose letter would else belong to the word.
"""

CHECKED: Final = frozenset({"card_number"})
"""Patterns whose finds must pass the Luhn check too."""
_WORD_START: Final = r"\b"
_AFTER_ESCAPE: Final = r"(\b|\\+(?:[nrtbf/\"]|u[0-9A-Fa-f]{4})[.!#$&'*+/=?^`{|}~-]*)"
"""A word's start, or an escape and marks after it that an e-mail may hold: else its letter would be the e-mail's."""
_LEAST_CARD_DIGITS: Final = 13
_MOST_CARD_DIGITS: Final = 19
_CLASS: Final = re.compile(r"[\[.]|\\[dDsSwWpPC]")
"""What a pattern needs to find more than the texts that it spells out."""


class _Match(Protocol):
    def group(self, number: int = 0) -> bytes: ...


class _Pattern(NamedTuple):
    replacement: bytes
    compiled: Any  # re2 has no types
    keeps_left: bool
    checked: bool

    def replace(self, match: _Match) -> bytes:
        """What stands in place of a find."""
        kept = match.group(1) if self.keeps_left else b""
        found = match.group()[len(kept) :]
        return kept + (found if self.checked and not holds_card_number(found.decode()) else self.replacement)


class SecretPatterns:
    """A redactor: every find becomes `[redacted:<name>]`, the rest of the text stays.

        RunLogSpanProcessor("runs.duckdb", redact=SecretPatterns(extra={"badge": r"B-[0-9]{6}"}))

    The application's own patterns are looked for first. It may be shared by threads.

    Args:
        extra: names and patterns in RE2's syntax, which has neither look-around nor back-references.
        without: names of built-in patterns that are not wanted.

    Attributes:
        version: changes whenever the patterns do; 12 hex digits.
        rules: what a capture keeps of it, and `redactor_of` makes it of again.

    Raises:
        ConfigError: the extra `redact` is not installed, a pattern is none that RE2 knows, or a name is unknown.
    """

    version: str
    rules: RedactionRules

    def __init__(
        self,
        extra: Mapping[str, str] | None = None,
        *,
        without: Collection[str] = (),
        _patterns: tuple[RedactionPattern, ...] | None = None,
    ) -> None:
        unknown = sorted(set(without) - set(BUILT_IN))
        if unknown:
            raise ConfigError(f"there is no pattern {unknown[0]!r} to do without: {', '.join(BUILT_IN)}")
        patterns = _wanted(extra or {}, without) if _patterns is None else _patterns
        known = [p for p in patterns if p.built_in]
        self._own = tuple(_pattern(p.name, p.pattern) for p in patterns if not p.built_in)
        self._known = tuple(_known_pattern(p.name, p.pattern) for p in known)
        anything = "|".join(f"(?:{p.pattern.removeprefix(_WORD_START)})" for p in known)
        self._any_known = _compile("built in", anything or r"[^\x00-\x{10FFFF}]")
        self.version = _version_of(patterns)
        self.rules = RedactionRules(self.version, patterns if _can_be_told(patterns) else None)

    def __call__(self, key: str, value: str | bytes) -> str | bytes:  # noqa: ARG002 - redactors are called with it
        """`value` without its secrets, in the type it came in. `key` plays no part."""
        if isinstance(value, bytes):
            return self._redacted(value)
        data = value.encode("utf-8", "surrogatepass")
        redacted = self._redacted(data)
        return value if redacted is data else redacted.decode("utf-8", "surrogatepass")

    def _redacted(self, data: bytes) -> bytes:
        data = _replaced(data, self._own)
        # One pass over all patterns: most texts hold no secret, and 20 passes take 20 times as long.
        return _replaced(data, self._known) if self._any_known.search(data) is not None else data


def redactor_of(rules: RedactionRules) -> SecretPatterns:
    """The redactor that a run was redacted with, made of the rules in its capture: it answers the same to any text.

    Raises:
        ConfigError: the rules do not say the patterns, one of them is none that RE2 knows, or the extra `redact` is not
            installed.
    """
    if rules.patterns is None:
        raise ConfigError(
            f"this run was redacted by rules that are not told with it (version {rules.version!r}: the application's "
            "own redactor, or another version of otel-runlog): give that redactor, as `redact=`, or to commands as "
            "--redact MODULE:NAME"
        )
    return SecretPatterns(_patterns=rules.patterns)


class _Told(msgspec.Struct, omit_defaults=True):
    """The value of the attribute TOLD_AS. `extra` None: the patterns are not told."""

    version: str
    extra: dict[str, str] | None = None
    without: tuple[str, ...] = ()


def told(redact: Redactor, before: object = None) -> str:
    """What the resource attribute TOLD_AS says of a redactor; never raises.

    Args:
        redact: the redactor.
        before: what the attribute said when the telemetry came. Who redacts with other rules what was redacted before
            is told by a version of both, and by no patterns.
    """
    text = _told(redact)
    if before is None or before == text:
        return text
    mark = hashlib.sha256(str(before).encode("utf-8", "replace")).hexdigest()[:12]
    return _encoded(_Told(f"{mark}+{_version(redact)}"[:LONGEST_VERSION]))


def rules_of(text: object) -> RedactionRules | None:
    """The rules that a resource attribute TOLD_AS tells; None where it tells none. Never raises.

    The patterns are spelled out where they and the built-in ones of this version are those that were used.
    """
    if not isinstance(text, str) or len(text) > LONGEST_TOLD:
        return None
    try:
        said = msgspec.json.decode(text.encode(), type=_Told)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    version = said.version[:LONGEST_VERSION]
    if said.extra is None:
        return RedactionRules(version)
    patterns = _wanted(said.extra, said.without)
    return RedactionRules(version, patterns if _version_of(patterns) == version else None)


def _told(redact: Redactor) -> str:
    if type(redact) is not SecretPatterns or redact.rules.patterns is None:
        return _encoded(_Told(_version(redact)))
    patterns = redact.rules.patterns
    own = {p.name: p.pattern for p in patterns if not p.built_in}
    left_out = BUILT_IN.keys() - {p.name for p in patterns}
    return _encoded(_Told(redact.version, own, tuple(name for name in BUILT_IN if name in left_out)))


def _version(redact: Redactor) -> str:
    try:
        version = getattr(redact, "version", OWN)
    except Exception:  # noqa: BLE001 - it is the application's
        version = OWN
    return version[:LONGEST_VERSION].encode("utf-8", "replace").decode() if isinstance(version, str) else OWN


def _encoded(said: _Told) -> str:
    return msgspec.json.encode(said).decode()


def _wanted(extra: Mapping[str, str], without: Collection[str]) -> tuple[RedactionPattern, ...]:
    """Own ones first, then the built-in ones that are wanted. An own one that equals a built-in one is that one."""
    own = {name: pattern for name, pattern in extra.items() if BUILT_IN.get(name) != pattern}
    gone = {name for name in without if name not in extra} | own.keys()
    known = [RedactionPattern(name, pattern, built_in=True) for name, pattern in BUILT_IN.items() if name not in gone]
    return (*(RedactionPattern(name, pattern) for name, pattern in own.items()), *known)


def _version_of(patterns: Iterable[RedactionPattern]) -> str:
    return hashlib.sha256(repr([(p.name, p.pattern) for p in patterns]).encode("utf-8", "replace")).hexdigest()[:12]


def _can_be_told(patterns: Iterable[RedactionPattern]) -> bool:
    return all(p.built_in or (_CLASS.search(p.pattern) and p.name.isprintable()) for p in patterns)


def holds_card_number(text: str) -> bool:
    """Whether some neighbouring groups of digits in `text` are a card's number: long enough, and passing Luhn."""
    groups = text.replace("-", " ").split()
    most = _MOST_CARD_DIGITS // min(map(len, groups), default=1)
    pieces = (groups[start : start + length] for start in range(len(groups)) for length in range(1, most + 1))
    return any(_is_card_number("".join(piece)) for piece in pieces)


def _is_card_number(digits: str) -> bool:
    """ISO/IEC 7812-1: 13 to 19 digits, of which the last checks the others (annex B)."""
    numbers = [int(digit) for digit in reversed(digits) if digit.isdecimal()]
    doubled = (number * 2 - 9 if number > 4 else number * 2 for number in numbers[1::2])  # noqa: PLR2004 - two digits
    right_length = _LEAST_CARD_DIGITS <= len(numbers) <= _MOST_CARD_DIGITS
    return right_length and (sum(numbers[::2]) + sum(doubled)) % 10 == 0


def _replaced(data: bytes, patterns: tuple[_Pattern, ...]) -> bytes:
    for pattern in patterns:
        if pattern.compiled.search(data) is not None:
            data = pattern.compiled.sub(pattern.replace, data)
    return data


def _known_pattern(name: str, pattern: str) -> _Pattern:
    if not pattern.startswith(_WORD_START):
        return _pattern(name, pattern)
    expanded = f"{_AFTER_ESCAPE}(?:{pattern.removeprefix(_WORD_START)})"
    return _pattern(name, expanded)._replace(keeps_left=True, checked=name in CHECKED)


def _pattern(name: object, pattern: object) -> _Pattern:
    if not (isinstance(name, str) and name and isinstance(pattern, str) and pattern):
        raise ConfigError(f"extra must map names to patterns, str to str: {name!r} maps to {pattern!r}")
    replacement = f"[redacted:{name}]".encode("utf-8", "replace")
    return _Pattern(replacement, _compile(name, pattern), keeps_left=False, checked=False)


def _compile(name: str, pattern: str) -> Any:
    try:
        import re2
    except ImportError as error:
        raise ConfigError("SecretPatterns needs the extra `redact`: pip install 'otel-runlog[redact]'") from error
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise ConfigError(f"the pattern {name!r} is none that RE2 knows: {error}") from error
