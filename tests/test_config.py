"""Settings: defaults, environment names, and what is refused."""

import os
from pathlib import Path

import pytest

from otel_runlog.config import ContentMode, Durability, LoaderMode, ProcessorConfig, StoreConfig, is_true
from otel_runlog.errors import ConfigError


def test_the_store_is_runs_duckdb_unless_the_environment_names_one():
    assert StoreConfig.from_env({}) == StoreConfig(db=Path("runs.duckdb"), prices=())
    assert StoreConfig.from_env({"OTEL_RUNLOG_DB": ""}).db == Path("runs.duckdb")
    assert StoreConfig.from_env({"OTEL_RUNLOG_DB": "/data/x.duckdb"}).db == Path("/data/x.duckdb")


def test_price_files_are_separated_like_path_entries():
    env = {"OTEL_RUNLOG_PRICES": os.pathsep.join(["a.toml", "", "b.toml"])}
    assert StoreConfig.from_env(env).prices == (Path("a.toml"), Path("b.toml"))


def test_the_real_environment_is_read(monkeypatch):
    monkeypatch.setenv("OTEL_RUNLOG_DB", "from-env.duckdb")
    monkeypatch.setenv("OTEL_RUNLOG_DISABLED", "true")
    assert StoreConfig.from_env().db == Path("from-env.duckdb")
    assert ProcessorConfig.from_arguments("a.duckdb").disabled


def test_the_processors_defaults():
    config = ProcessorConfig.from_arguments("a.duckdb", {})
    assert (config.durability, config.loader, config.content) == ("process", "thread", "full")
    assert (config.redact, config.on_run, config.labels, config.disabled) == (None, None, {}, False)


@pytest.mark.parametrize("name", ["OTEL_RUNLOG_DISABLED", "OTEL_SDK_DISABLED"])
@pytest.mark.parametrize(("value", "disabled"), [("true", True), ("TRUE", True), ("1", False), ("", False)])
def test_the_environment_switches_the_door_off(name, value, disabled):
    assert ProcessorConfig.from_arguments("a.duckdb", {name: value}).disabled is disabled


def test_the_environment_does_not_change_what_a_program_says():
    env = {"OTEL_RUNLOG_DURABILITY": "power", "OTEL_RUNLOG_DB": "other.duckdb"}
    config = ProcessorConfig.from_arguments("a.duckdb", env)
    assert (config.db, config.durability) == (Path("a.duckdb"), Durability.PROCESS)


def test_the_journals_limit_comes_from_the_environment():
    name = "OTEL_RUNLOG_JOURNAL_MAX_BYTES"
    assert ProcessorConfig.from_arguments("a.duckdb", {name: ""}).journal_max_bytes == 4 << 30
    assert ProcessorConfig.from_arguments("a.duckdb", {name: " 1000 "}).journal_max_bytes == 1000
    for wrong in ("0", "-1", "4GiB", "1e9", "\u0661"):
        with pytest.raises(ConfigError, match=f"{name} must be a number of bytes above 0"):
            ProcessorConfig.from_arguments("a.duckdb", {name: wrong})


def test_the_exporter_takes_what_is_not_given_from_the_environment():
    env = {
        "OTEL_RUNLOG_DB": "e.duckdb",
        "OTEL_RUNLOG_DURABILITY": "power",
        "OTEL_RUNLOG_LOADER": "off",
        "OTEL_RUNLOG_CONTENT": "hash",
    }
    config = ProcessorConfig.from_env(environ=env)
    assert (config.db, config.durability) == (Path("e.duckdb"), Durability.POWER)
    assert (config.loader, config.content) == (LoaderMode.OFF, ContentMode.HASH)
    assert ProcessorConfig.from_env("given.duckdb", env, content="off").content is ContentMode.OFF
    assert ProcessorConfig.from_env("given.duckdb", env).db == Path("given.duckdb")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"db": None}, "db must be a path, not NoneType"),
        ({"db": 5}, "db must be a path, not int"),
        ({"db": b"runs.duckdb"}, "db must be a path, not bytes"),
        ({"db": ""}, "db must be the path of a file, not ''"),
        ({"db": ":memory:"}, "db must be the path of a file, not ':memory:'"),
        ({"durability": "disk"}, "durability must be one of 'process', 'queue', 'power', not 'disk'"),
        ({"durability": None}, "durability must be one of 'process', 'queue', 'power', not None"),
        ({"loader": True}, "loader must be one of 'thread', 'off', not True"),
        ({"content": ["off"]}, r"content must be one of 'full', 'hash', 'off', not \['off'\]"),
        ({"redact": "secret"}, "redact must be callable or None, not str"),
        ({"on_run": 1}, "on_run must be callable or None, not int"),
        ({"labels": ["a"]}, "labels must map str to str, not be list"),
        ({"labels": {"a": 1}}, "labels must map str to str: 'a' maps to 1"),
        ({"labels": {"": "x"}}, "labels must map str to str: '' maps to 'x'"),
    ],
)
def test_a_wrong_argument_is_refused_with_its_value(arguments, message):
    with pytest.raises(ConfigError, match=message):
        ProcessorConfig.from_arguments(**{"db": "a.duckdb", "environ": {}, **arguments})


def test_a_wrong_variable_is_refused():
    with pytest.raises(ConfigError, match="not 'sometimes'"):
        ProcessorConfig.from_env(environ={"OTEL_RUNLOG_LOADER": "sometimes"})


@pytest.mark.parametrize(("value", "expected"), [("true", True), (" True ", True), ("yes", False), ("false", False)])
def test_only_true_is_true(value, expected):
    assert is_true(value) is expected
