"""The server's settings: file, options and environment, and what is wrong with them in words."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from otel_runlog.config import DestinationConfig, RunsForm
from otel_runlog.errors import ConfigError
from otel_runlog.server.forward.endpoint import endpoint_of
from otel_runlog.server_config import ServerConfig, Size, SqlConfig, host_and_port


def written(folder: Path, text: str) -> Path:
    file = folder / "serve.toml"
    file.write_text(text)
    return file


def test_without_any_settings_only_loopback_is_served() -> None:
    config = ServerConfig.load(environ={})
    assert (config.db, config.grpc, config.http) == (Path("runs.duckdb"), "127.0.0.1:4317", "127.0.0.1:4318")
    assert (config.memory, config.max_request, config.sql.time_s) == (512 << 20, 64 << 20, 30.0)
    assert config.forward == ()


def test_options_win_over_the_file_and_the_file_over_the_environment(tmp_path: Path) -> None:
    file = written(tmp_path, 'db = "file.duckdb"\nhttp = "127.0.0.1:1"\n[sql]\ntime_s = 5\nmemory = "256MiB"\n')
    environ = {"OTEL_RUNLOG_DB": "env.duckdb", "OTEL_RUNLOG_PRICES": "a.toml"}
    config = ServerConfig.load(file, {"http": "127.0.0.1:0", "sql.time_s": "2.5"}, environ)
    assert (config.db, config.http, config.prices) == (Path("file.duckdb"), "127.0.0.1:0", (Path("a.toml"),))
    assert config.sql == SqlConfig(time_s=2.5, memory=Size(256 << 20))


def test_destinations_come_as_tables_urls_or_tables_in_an_option(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        '[[forward]]\nurl = "https://a:4318"\nenrich = true\nruns = "logs"\n'
        'headers = { authorization = "Bearer ${env:TOKEN}" }\n',
    )
    (first,) = ServerConfig.load(file, environ={"TOKEN": "t1"}).forward
    assert first.headers == {"authorization": "Bearer t1"}
    assert (first.label, first.enrich, first.runs) == ("a:4318", True, RunsForm.LOGS)
    given = {"forward": ["grpc://b:4317", '{url = "http://c:1", compression = "none"}']}
    second, third = ServerConfig.load(file, given, {}).forward
    assert second == DestinationConfig(url="grpc://b:4317")
    assert third == DestinationConfig(url="http://c:1", compression="none")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("typo = 1", "unknown field `typo`"),
        ("[sql]\ntime = 1", "sql: unknown field `time`"),
        ('[[forward]]\nurl = "ftp://x"', "http://, https://, grpc://, grpcs://, not 'ftp://x'"),
        ('[[forward]]\nurl = "http://x:port"', "not 'http://x:port'"),
        ('[[forward]]\nurl = "http://[::1"', "not 'http://[::1'"),
        ('[[forward]]\nurl = "http://me:pw@x"', "the URL of x holds a user"),
        ('[[forward]]\nurl = "http://x"\ncert_file = "c.pem"', "x has only one of cert_file and key_file"),
        ('[[forward]]\nurl = "http://x"\n[[forward]]\nurl = "http://x"', "two destinations are called 'x'"),
        ('[[forward]]\nurl = "http://x"\nruns = "all"', "forward[0].runs: Invalid enum value 'all'"),
        ('memory = "lots"', "'lots' is no size"),
        ("memory = 0", "0 is no size"),
        ('memory = "1MiB"', "memory is 1MiB; the server needs 192MiB at least"),
        ('http = "localhost"', "http must be host:port"),
        ('http = "::1:80"', "http must be host:port"),
        ('http = ""\ngrpc = ""', "neither grpc nor http is served"),
        ("[sql]\ntime_s = 0", "sql.time_s must be above 0"),
        ('db = ":memory:"', "db must be the path of a file"),
        ('token_file = "${env:NOWHERE}"', "the variable NOWHERE is not set"),
        ("a = ", "is no TOML"),
        ("forward = 5", "forward must be a list of URLs or tables"),
        ('forward = "http://x"', "forward must be a list of URLs or tables"),
        ('[forward]\nurl = "http://x"', "forward must be a list of URLs or tables"),
        ("sql = 5", "sql: Expected `object`, got `int`"),
        ("load_every_s = nan", "load_every_s must be above 0 and at most 86400, not nan"),
        ("[sql]\ntime_s = inf", "sql.time_s must be above 0 and at most 86400, not inf"),
        ('[[forward]]\nurl = "http://x"\ntimeout_s = nan', "x: timeout_s must be above 0"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        ServerConfig.load(written(tmp_path, text), environ={})
    assert said in str(error.value)


def test_a_key_in_what_is_no_table_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="sql must be a table of settings, not 5"):
        ServerConfig.load(written(tmp_path, "sql = 5"), {"sql.time_s": "3"}, {})


def test_a_refused_url_is_shown_without_its_user() -> None:
    with pytest.raises(ConfigError, match=r"not 'ftp://x/y'") as error:
        ServerConfig.load(None, {"forward": ["ftp://me:p@ss@x/y"]}, {})
    assert "ss" not in str(error.value)


def test_a_destination_may_be_ipv6() -> None:
    (destination,) = ServerConfig.load(None, {"forward": ["http://[::1]:4399"]}, {}).forward
    assert endpoint_of(destination).name == "::1:4399"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the settings .*nowhere\.toml: No such file"):
        ServerConfig.load(tmp_path / "nowhere.toml", environ={})


def test_printed_settings_have_no_query_of_a_url_and_any_name(tmp_path: Path) -> None:
    config = ServerConfig.load(None, {"db": "\U0001f600.duckdb", "forward": ["https://c/v1?key=secret"]}, {})
    again = ServerConfig.load(written(tmp_path, config.to_toml()), environ={})
    assert again.db == config.db
    assert again.forward[0].url == "https://c/v1?..."


def test_printed_settings_load_again_without_the_values_of_headers(tmp_path: Path) -> None:
    given = {
        "forward": ['{url = "http://c:1", headers = {authorization = "secret"}, ca_file = "ca.pem"}'],
        "prices": ["p.toml"],
        "hosts": ["runlog.internal"],
        "sql.memory": "300MB",
    }
    config = ServerConfig.load(None, given, {})
    printed = config.to_toml()
    assert "secret" not in printed
    (destination,) = config.forward
    hidden = msgspec.structs.replace(destination, headers={"authorization": "..."})
    again = ServerConfig.load(written(tmp_path, printed), environ={})
    assert again == msgspec.structs.replace(config, forward=(hidden,))


@pytest.mark.parametrize(
    ("text", "size", "shown"),
    [
        ("512MiB", 512 << 20, "512MiB"),
        ("1.5 GiB", 3 << 29, "1536MiB"),
        ("300MB", 3 * 10**8, "300000000B"),
        ("7", 7, "7B"),
    ],
)
def test_sizes_are_read_with_units_and_shown_with_the_largest_that_fits(text: str, size: int, shown: str) -> None:
    assert Size.parse(text) == size
    assert str(Size(size)) == shown


def test_an_address_may_be_ipv6() -> None:
    assert host_and_port("http", "[::1]:4318") == ("::1", 4318)
