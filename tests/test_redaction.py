"""Secrets found by their shape: what is found, what stays, and how long it takes."""

import json
import subprocess
import sys
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_runlog.errors import ConfigError

pytest.importorskip("re2")

from otel_runlog.capture import RedactionPattern, RedactionRules
from otel_runlog.redaction import BUILT_IN, SecretPatterns, holds_card_number, redactor_of, rules_of, told

SECRETS = {
    "sk-proj-abcdefghijklmnop1234": "api_key",
    "sk-1234567890abcdef1234567890abcdef": "api_key",
    "sk_live_51abcdefghijklmnop": "api_key",
    "sk-ant-api03-abcdefgh": "anthropic_key",
    "AKIAIOSFODNN7EXAMPLE": "aws_access_key",
    "aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": "aws_secret_key",
    "ghp_0123456789abcdefghij0123456789abcdef": "github_token",
    "gho_0123456789abcdefghij0123456789abcdef": "github_token",
    "github_pat_0123456789abcdefghij_0123456789": "github_token",
    "glpat-0123456789abcdefghij": "gitlab_token",
    "xoxb-123456789012-abcdef": "slack_token",
    "xoxp-123456789012-abcdef": "slack_token",
    "https://hooks.slack.com/services/T0/B0/abc": "slack_webhook",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv": "google_api_key",
    "ya29.a0AfH6SMBx-abcdefghijklmnop": "google_oauth_token",
    "hf_abcdefghijklmnopqrstuvwx": "huggingface_token",
    "npm_0123456789abcdefghij0123456789abcdef": "npm_token",
    "pypi-AgEIcHlwaS5vcmcCJDU": "pypi_token",
    "gsk_0123456789abcdefghij": "groq_key",
    "xai-0123456789abcdefghij": "xai_key",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-DEF_123": "jwt",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/=\nabc\n-----END RSA PRIVATE KEY-----": "private_key",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nMIIEow\ncut": "private_key",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ\n-----END PGP PRIVATE KEY BLOCK-----": "private_key",
    "Bearer abcdef1234567890==": "bearer_token",
    "bearer\tabcdef1234567890": "bearer_token",
    "Basic dXNlcjpwYXNzd29yZA==": "basic_auth",
    "://admin:hunter2@": "url_password",
    "jane.doe+x@mail.example.co.uk": "email",
    "jane%40example.com": "email",
    "4111111111111111": "card_number",
    "5500 0055 5555 5559": "card_number",
    "3782-822463-10005": "card_number",
}
HARMLESS = [
    "The quick brown fox jumps over the lazy dog.",
    "task-management-software-engineering, risk_assessment_of_everything",
    "4111111111111112",
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    "call_abc123 toolu_01A09q90qw90lq917835lq9 resp_0123456789",
    "gen_ai.usage.input_tokens",
    "2026-11-29T00:00:00Z",
    "the bearer of bad news; basic training",
    "https://example.com/a?b=c:d",
    "@dataclass, name@",
]


@pytest.fixture(scope="module")
def patterns():
    return SecretPatterns()


@pytest.mark.fault(56)
@pytest.mark.parametrize(("secret", "name"), SECRETS.items())
def test_a_secret_is_named_and_nothing_of_it_is_left(patterns, secret, name):
    assert patterns("k", f"before {secret}") == f"before [redacted:{name}]"


@pytest.mark.fault(56)
@pytest.mark.parametrize(("secret", "name"), SECRETS.items())
@pytest.mark.parametrize("around", ["\n{}\n", "é{}\t", "\\{}\n", '"{}"', "/{}", "key={}", "{0} {0}", "🙂{}"])
def test_json_stays_json_whatever_stands_before_a_secret(patterns, secret, name, around):
    written = json.dumps({"content": around.format(secret)})
    redacted = patterns("gen_ai.input.messages", written)
    assert f"[redacted:{name}]" in json.loads(redacted)["content"]
    assert secret not in json.loads(redacted)["content"]
    twice = patterns("k", json.dumps([written]))
    assert f"[redacted:{name}]" in json.loads(json.loads(twice)[0])["content"]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(patterns, text):
    assert patterns("k", text) == text


@pytest.mark.fault(47, 56)
@given(st.text(st.characters(exclude_categories=())), st.sampled_from(sorted(SECRETS)))
def test_any_text_around_a_secret_leaves_none_of_it(around, secret):
    redacted = SecretPatterns()("k", f"{around} {secret}\n{around}")
    assert secret not in redacted


@given(st.text(st.characters(exclude_categories=())) | st.binary())
def test_any_text_and_bytes_come_back_in_their_type_and_a_second_time_changes_nothing(value):
    once = SecretPatterns()("k", value)
    assert type(once) is type(value)
    assert SecretPatterns()("k", once) == once


def test_bytes_are_searched_too(patterns):
    assert patterns("k", b"\xff sk-1234567890abcdef") == b"\xff [redacted:api_key]"


@pytest.mark.fault(47)
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}", "(a|a?)+$"])
def test_a_pattern_that_explodes_elsewhere_is_quick(pattern):
    redact = SecretPatterns({"evil": pattern})
    text = "a" * 30_000 + "!"
    started = time.monotonic()
    redact("k", text)
    assert time.monotonic() - started < 1


@pytest.mark.fault(47)
@pytest.mark.parametrize("part", ["a", "sk-", "a@", "a.", "1 ", "eyJa.", "-----BEGIN PRIVATE KEY-----", "://a:", "\\n"])
def test_no_text_makes_the_built_in_patterns_slow(patterns, part):
    text = part * (1_000_000 // len(part))
    started = time.monotonic()
    patterns("k", text)
    assert time.monotonic() - started < 5


def test_own_patterns_come_first_and_may_replace_built_in_ones():
    redact = SecretPatterns({"badge": r"B-[0-9]{6}", "api_key": r"never\b", "mine": r"sk-mine-\w+"})
    assert redact("k", "B-123456 sk-1234567890abcdef sk-mine-1234567890") == (
        "[redacted:badge] sk-1234567890abcdef [redacted:mine]"
    )


def test_built_in_patterns_can_be_left_out():
    assert SecretPatterns(without=("email",))("k", "a@example.com AKIAIOSFODNN7EXAMPLE") == (
        "a@example.com [redacted:aws_access_key]"
    )
    assert SecretPatterns(without=BUILT_IN)("k", "a@example.com") == "a@example.com"


def test_the_version_changes_with_the_patterns():
    versions = {SecretPatterns().version, SecretPatterns({"a": "b"}).version, SecretPatterns(without=["jwt"]).version}
    assert len(versions) == 3
    assert SecretPatterns().version == SecretPatterns().version


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"extra": {"x": "(?=a)"}}, "'x' is none that RE2 knows"),
        ({"extra": {"x": "("}}, "'x' is none that RE2 knows"),
        ({"extra": {"x": 5}}, "extra must map names to patterns"),
        ({"extra": {"": "a"}}, "extra must map names to patterns"),
        ({"without": ["jwts"]}, "there is no pattern 'jwts'"),
    ],
)
def test_a_wrong_pattern_is_refused_by_name(arguments, message):
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        SecretPatterns(**arguments)


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ConfigError, match=r"pip install 'otel-runlog\[redact\]'"):
        SecretPatterns()


def test_the_engine_is_imported_when_it_is_used():
    script = "import sys, otel_runlog.redaction, otel_runlog.processor; print('re2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("4111111111111111", True),
        ("4111 1111 1111 1111", True),
        ("12 4111111111111111", True),
        ("4111111111111111 99", True),
        ("4111111111111112", False),
        ("411111111111", False),
        ("41111111111111111111", False),
        ("", False),
    ],
)
def test_a_card_number_is_told_by_its_check_digit(text, holds):
    assert holds_card_number(text) is holds


OWN = {"badge": r"B-[0-9]{6}", "email": r"\b\w+@acme", "card_number": r"\b[0-9]{4}\b", "jwt": BUILT_IN["jwt"]}
RULES = [{}, {"extra": OWN}, {"without": ["email", "jwt"]}, {"extra": OWN, "without": ["email", "api_key"]}]
PIECES = [*SECRETS, *HARMLESS, "B-123456", "jo@acme", "\\njo@acme", "1234", "\\n4111111111111111", "4111111111111112"]


@pytest.mark.parametrize("arguments", RULES)
@given(
    texts=st.lists(st.sampled_from(PIECES) | st.text(max_size=9), max_size=6), glue=st.sampled_from(["", " ", "\\n"])
)
def test_a_redactor_made_of_the_rules_that_a_run_tells_answers_the_same(arguments, texts, glue):
    redact = SecretPatterns(**arguments)
    rules = msgspec.json.decode(msgspec.json.encode(rules_of(told(redact))), type=RedactionRules)
    again = redactor_of(rules)
    text = glue.join(texts)
    assert again("k", text) == redact("k", text)
    assert (again.version, again.rules, rules) == (redact.version, redact.rules, redact.rules)


def test_rules_are_the_own_patterns_then_the_built_in_ones_in_their_order():
    rules = SecretPatterns({"badge": "B-[0-9]"}, without=BUILT_IN.keys() - {"jwt", "email"}).rules
    assert rules.patterns == (
        RedactionPattern("badge", "B-[0-9]"),
        RedactionPattern("jwt", BUILT_IN["jwt"], built_in=True),
        RedactionPattern("email", BUILT_IN["email"], built_in=True),
    )


def test_an_own_pattern_that_is_a_built_in_one_of_the_same_name_is_that_one():
    redact = SecretPatterns({"email": BUILT_IN["email"]}, without=["email"])
    assert redact.version == SecretPatterns().version
    assert redact("k", r"\nx@example.com") == r"\n[redacted:email]"


def test_built_in_patterns_of_another_version_are_rebuilt_as_a_capture_spells_them():
    rules = RedactionRules("0" * 12, (RedactionPattern("card_number", r"\b[0-9]{13,16}", built_in=True),))
    assert (
        redactor_of(rules)("k", r"\n4111111111111111 4111111111111112") == r"\n[redacted:card_number] 4111111111111112"
    )


@pytest.mark.fault(56)
@pytest.mark.parametrize("pattern", ["hunter2", r"\bhunter2\b", "(?i:hunter2)", "hunter2|swordfish"])
def test_a_pattern_that_spells_a_secret_out_is_not_told(pattern):
    redact = SecretPatterns({"password": pattern, "badge": "B-[0-9]"})
    assert "hunter2" not in told(redact)
    assert rules_of(told(redact)) == redact.rules == RedactionRules(redact.version)


class Broken:
    @property
    def version(self):
        raise ValueError


class Versioned:
    def __init__(self, version):
        self.version = version

    def __call__(self, key, value):
        return value


@pytest.mark.parametrize(
    ("redact", "version"),
    [
        (lambda key, value: value, "own"),
        (Broken(), "own"),
        (Versioned("names-3"), "names-3"),
        (Versioned(3), "own"),
        (Versioned("x" * 100), "x" * 64),
        (Versioned("a\ud800"), "a?"),
    ],
)
def test_a_redactor_of_the_applications_own_is_told_by_its_version(redact, version):
    assert json.loads(told(redact)) == {"version": version}
    assert rules_of(told(redact)) == RedactionRules(version)


def test_a_redactor_that_nobody_can_make_again_is_asked_for():
    with pytest.raises(ConfigError, match=r"version 'names-3': the application's own redactor.*as `redact=`"):
        redactor_of(RedactionRules("names-3"))


def test_patterns_of_a_capture_that_re2_does_not_know_are_refused():
    with pytest.raises(ConfigError, match="'x' is none that RE2 knows"):
        redactor_of(RedactionRules("1", (RedactionPattern("x", "(?=a)"),)))


def test_a_capture_with_rules_names_the_missing_extra(monkeypatch):
    rules = SecretPatterns().rules
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ConfigError, match=r"pip install 'otel-runlog\[redact\]'"):
        redactor_of(rules)


def test_rules_of_a_version_with_other_patterns_are_not_guessed():
    assert rules_of('{"version":"0123456789ab","extra":{},"without":["a_pattern_to_come"]}') == RedactionRules(
        "0123456789ab"
    )


@pytest.mark.parametrize(
    "text", [None, 5, "", "{", "[]", "{}", '{"version":1}', '{"version":"1","extra":[]}', "\ud800"]
)
def test_what_tells_no_rules_gives_none(text):
    assert rules_of(text) is None


def test_rules_too_long_to_be_ours_give_none():
    assert rules_of('{"version":"' + "1" * 70_000 + '"}') is None


AROUND = ["\n", " ", "\t", '"', "\\", "\\n", "é", "/", "🙂", "}", "'", "\r\n", "=", ".", "\x00"]
WHOLE = sorted(SECRETS.keys() - {"-----BEGIN OPENSSH PRIVATE KEY-----\nMIIEow\ncut"})
"""Of a key that was cut, what follows it goes too, and an escape ends that sooner than the character does."""


@given(
    st.lists(st.sampled_from(WHOLE) | st.sampled_from(HARMLESS) | st.sampled_from(AROUND), max_size=8),
    st.booleans(),
)
def test_a_text_is_redacted_alike_before_and_after_it_is_written_as_json(pieces, ascii_only):
    """A span's messages are redacted as JSON, what a replay is asked as the texts in it."""
    redact, text = SecretPatterns(), "".join(pieces)
    assert json.loads(redact("k", json.dumps([text], ensure_ascii=ascii_only))) == [redact("k", text)]
