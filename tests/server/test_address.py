"""Finding the living server of a store, and its token."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from otel_runlog.errors import ConfigError, ServerStartError
from otel_runlog.journal import journal_folder
from otel_runlog.server.address import ServerAddress, claim, find, read_token, token_of

SERVE = """
import sys, os
from otel_runlog.server.address import ServerAddress, claim
held = claim(sys.argv[1])
held.publish(ServerAddress("", "127.0.0.1:1", sys.argv[1], os.getpid(), "t"))
print("serving", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"


@pytest.fixture
def other(db):
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "serving\n"
        yield process
        process.kill()


def address(db):
    return ServerAddress("127.0.0.1:4317", "127.0.0.1:4318", str(db), os.getpid(), "secret")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_living_server_is_found_until_it_withdraws(db):
    with claim(db) as held:
        assert find(db) is None
        held.publish(address(db))
        assert find(db) == address(db)
    assert find(db) is None
    held.withdraw()


@pytest.mark.fault(52)
def test_nobody_else_can_read_the_token_whatever_the_umask(db):
    before = os.umask(0)
    try:
        with claim(db) as held:
            held.publish(address(db))
            folder = journal_folder(db)
            assert [mode(folder), *(mode(path) for path in folder.iterdir())] == [0o700, 0o600, 0o600]
            assert mode_of_new_token(db.with_name("token")) == 0o600
    finally:
        os.umask(before)


def mode_of_new_token(path):
    token_of(path)
    return mode(path)


def test_a_second_server_is_refused_in_one_sentence_with_the_pid(db, other):
    with pytest.raises(ServerStartError, match=rf"^.*runs\.duckdb is served by process {other.pid} already: .*$"):
        claim(db)
    assert find(db).pid == other.pid


def test_what_a_killed_server_left_behind_is_ignored(db, other):
    assert find(db).pid == other.pid
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert (journal_folder(db) / "server.json").exists()
    assert find(db) is None
    with claim(db):
        pass


def test_whoever_looks_for_a_server_does_not_keep_one_from_starting(db):
    with claim(db) as held:
        held.publish(address(db))
    for _ in range(3):
        assert find(db) is None
        with claim(db):
            pass


@pytest.mark.parametrize("text", [b"", b"{", b'{"grpc": 1}', b"\xff"])
def test_a_file_that_is_no_address_is_no_server(db, text):
    with claim(db):
        (journal_folder(db) / "server.json").write_bytes(text)
        assert find(db) is None


def test_a_token_file_is_made_once_and_then_read(tmp_path):
    file = tmp_path / "token"
    token = token_of(file)
    assert (len(token) >= 40, token_of(file), read_token(file)) == (True, token, token)


def test_the_first_line_of_a_token_file_is_the_token(tmp_path, db):
    file = tmp_path / "token"
    file.write_text("  s3cret \nnot this\n")
    assert token_of(file) == "s3cret"
    assert ServerAddress("", "", str(db), 1, token_file=str(file)).secret() == "s3cret"


def test_a_token_file_that_others_may_read_is_told(tmp_path, caplog):
    file = tmp_path / "token"
    token_of(file)
    assert caplog.messages == []
    file.chmod(0o644)
    token_of(file)
    assert caplog.messages == [f"others may read the token file {file} (mode 0644): chmod 600 it"]


@pytest.mark.parametrize("content", [b"", b"\nsecond", "käse".encode()])
def test_a_token_file_without_a_token_is_refused(tmp_path, content):
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="first line of the token file"):
        token_of(file)


def test_a_token_file_that_cannot_be_made_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="cannot make the token file"):
        token_of(tmp_path / "missing" / "token")
