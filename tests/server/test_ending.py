"""How the server's process learns that it is to end."""

import subprocess
import sys

import pytest

LATE = """
import os, signal, threading
from otel_runlog.server.app import asked_to_end

def send():
    while not is_about_to_wait:
        pass
    os.kill(os.getpid(), signal.{name})
    sent.append(True)  # within the same turn of the interpreter's lock

for _ in range(20):
    is_about_to_wait, sent = [], []
    with asked_to_end() as wait_until_asked:
        sending = threading.Thread(target=send)
        sending.start()
        is_about_to_wait.append(True)
        while not sent:
            pass
        wait_until_asked()
        sending.join()
print("ended")
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_that_comes_just_before_it_is_waited_for_is_not_missed(name: str) -> None:
    code = LATE.format(name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
