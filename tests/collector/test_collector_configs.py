"""The files of collector-config: complete, and such that a Collector takes them as they are."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from otelcol import CONFIGS

FILES = sorted(path for path in CONFIGS.glob("*.yaml") if path.name != "builder.yaml")


def test_there_is_a_file_for_every_job() -> None:
    assert [path.stem for path in FILES] == ["dev", "fan-out", "gateway", "processor", "tail-sampling"]


def test_all_modules_are_of_one_release() -> None:
    manifest = (CONFIGS / "builder.yaml").read_text()
    modules = re.findall(r"gomod: (\S+) v(\S+)", manifest)
    release = re.search(r"^  version: 0\.(\d+)\.(\d+)$", manifest, re.MULTILINE)
    assert release
    minor, patch = map(int, release.groups())
    # The stable modules of a release are numbered 1.(n - 94): 0.161.0 goes with 1.67.0.
    allowed = {f"0.{minor}.{patch}", f"1.{minor - 94}.{patch}"}
    assert modules
    assert {version for _, version in modules} == allowed


@pytest.mark.collector
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_collector_takes_it(path: Path, otelcol: Path) -> None:
    done = subprocess.run([otelcol, "validate", "--config", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_server_takes_the_command_that_goes_with_it(path: Path, tmp_path: Path) -> None:
    comment = re.sub(r"\\\n# *", "", path.read_text())
    command = re.search(r"^#   otel-runlog (serve .*)$", comment, re.MULTILINE)
    assert command
    done = subprocess.run(
        [sys.executable, "-m", "otel_runlog", *shlex.split(command[1]), "--print-config"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_listens_on_this_machine_only(path: Path) -> None:
    addresses = re.findall(r"^\s+endpoint: (.*)$", path.read_text(), re.MULTILINE)
    assert addresses
    assert [a for a in addresses if not re.search(r":-(http://)?127\.0\.0\.1:\d+\}$", a)] == []
