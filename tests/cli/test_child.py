"""A program of the user's in the foreground: its end, and the signals that it gets."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from otel_runlog.cli.child import failure_of, run_child
from otel_runlog.errors import ConfigError

WAITS = """
import signal, sys, time
def got(number, frame):
    print(signal.Signals(number).name, flush=True)
    sys.exit(7)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, got)
print("waits", flush=True)
for _ in range(1200):
    time.sleep(0.05)  # a signal that comes just before a sleep is seen after it
"""
PARENT = """
import os, sys
from otel_runlog.cli.child import failure_of, run_child
print("parent says", failure_of(run_child([sys.executable, "-c", sys.argv[1]], os.environ)), flush=True)
"""


def test_the_exit_status_of_a_program_is_told_as_a_person_would() -> None:
    environ = {"PATH": os.environ["PATH"], "CODE": "3"}
    assert failure_of(run_child(["sh", "-c", "exit $CODE"], environ)) == "exit status 3"
    assert failure_of(run_child(["sh", "-c", "kill -9 $$"], environ)) == "ended by SIGKILL"
    assert failure_of(run_child(["true"], environ)) is None
    assert failure_of(-40) == "ended by signal 40"


def test_a_program_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^cannot run no-such-program: No such file or directory$"):
        run_child(["no-such-program"], {"PATH": ""})
    with pytest.raises(ConfigError, match="Permission denied"):
        run_child([str(tmp_path)], {})
    with pytest.raises(ConfigError, match="embedded null byte"):
        run_child(["a\0b"], {})


def test_handlers_of_signals_are_afterwards_as_they_were() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    run_child(["true"], {"PATH": os.environ["PATH"]})
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_the_programs_and_its_end_is_waited_for(number: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PARENT), WAITS],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "waits\n"
        parent.send_signal(number)
        assert parent.stdout.read() == f"{number.name}\nparent says exit status 7\n"
        assert parent.wait(10) == 0


COUNTS = """
import signal, sys, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print("waits", flush=True)
while not got:
    time.sleep(0.01)
time.sleep(0.2)
print("signals:", len(got), flush=True)
"""


IN_A_TERMINAL = "import fcntl, termios; fcntl.ioctl(1, termios.TIOCSCTTY, 0)\n"


def test_ctrl_c_in_a_terminal_reaches_the_program_once() -> None:
    ours, theirs = pty.openpty()
    parent = subprocess.Popen(
        [sys.executable, "-c", IN_A_TERMINAL + PARENT, COUNTS],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    said = b""
    with parent:
        while b"waits" not in said:
            said += os.read(ours, 1024)
        os.write(ours, b"\x03")
        while b"parent says" not in said:
            said += os.read(ours, 1024)
    os.close(ours)
    assert b"signals: 1\r\n" in said
