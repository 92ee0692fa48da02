"""The real program on a terminal and in a pipe."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

ANSI = re.compile(r"\x1b\[[0-9;]*m")
COMMAND = [sys.executable, "-m", "otel_runlog"]


def on_a_terminal(columns, *args):
    """What the program writes to a terminal of so many columns."""
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    env |= {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen(
        [*COMMAND, *args], stdout=writer, stderr=writer, stdin=subprocess.DEVNULL, env=env
    ) as process:
        os.close(writer)
        output = read_to_the_end(reader)
    os.close(reader)
    assert process.returncode == 0
    return output.decode().replace("\r\n", "\n")


def read_to_the_end(fd):
    chunks = []
    while True:
        try:
            chunk = os.read(fd, 65_536)
        except OSError:  # Linux says so when the last writer has closed a terminal
            break
        if not chunk:
            break
        chunks.append(chunk)
    return b"".join(chunks)


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_a_table_fits_the_terminal(db, columns):
    lines = ANSI.sub("", on_a_terminal(columns, "runs", "--db", str(db))).splitlines()
    rows = [line for line in lines if re.match(r"RUN|[0-9a-f]{8} ", line)]
    assert [row[:8].strip() for row in rows] == ["RUN", "b2b2b2b2", "a1a1a1a1", "c3c3c3c3"]
    assert max(len(row.rstrip()) for row in rows) <= columns


def test_a_terminal_has_colours_and_only_ours(db):
    output = on_a_terminal(120, "runs", "--db", str(db))
    assert "\x1b[31mfailed" in output
    assert set(re.findall(r"\x1b.", output)) == {"\x1b["}
    assert "\x07" not in output


def test_numbers_are_whole_or_not_there(db):
    for columns in range(30, 120, 15):
        output = ANSI.sub("", on_a_terminal(columns, "runs", "--db", str(db)))
        assert ("TOKENS IN" in output.split("\n")[0]) == ("12,445" in output)
        assert "~$0.0124" in output


def test_a_tree_is_drawn_on_a_terminal(db):
    output = ANSI.sub("", on_a_terminal(100, "show", "a1a1", "--db", str(db)))
    assert "├─ chat m-std" in output
    assert "│  └─ " not in output
    assert "└─ invoke_agent" in output


def test_a_pipe_gets_every_text_whole_and_plain(db):
    done = subprocess.run([*COMMAND, "show", "a1a1", "--db", str(db)], capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stdout
    assert not re.search("[─-╿…]", done.stdout)
    assert "failed: TimeoutError: no answer in 10 s" in done.stdout


def test_a_reader_that_stops_early_is_no_error(db):
    program = subprocess.Popen(
        [*COMMAND, "sql", "select range, repeat('x', 1000) as x from range(5000)", "--db", str(db)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    program.stdout.read(10)
    program.stdout.close()
    error = program.stderr.read()
    program.stderr.close()
    assert (program.wait(), error) == (0, b"")


def test_one_wide_row_stands_upright(db):
    query = "from runs where session_id = 's1'"
    lines = ANSI.sub("", on_a_terminal(80, "sql", query, "--db", str(db))).splitlines()
    assert [" ".join(line.split()) for line in lines[:2]] == ["COLUMN VALUE", f"run_id {'a1' * 16}"]
    assert max(map(len, lines)) <= 80


def test_errors_are_whole_below_a_tree_that_shortens_them(db):
    output = ANSI.sub("", on_a_terminal(60, "show", "a1a1", "--db", str(db)))
    assert "errors\n  execute_tool look_up: TimeoutError: no answer in 10 s\n" in output


def test_ingest_clears_its_bar_away(tmp_path):
    file = tmp_path / "empty.json"
    file.write_text('{"resourceSpans": []}')
    output = on_a_terminal(80, "ingest", str(file), "--db", str(tmp_path / "runs.duckdb"))
    assert ANSI.sub("", output).endswith(f"0 spans stored, 0 runs in {tmp_path}/runs.duckdb\n")
