"""The Collector of collector-config/builder.yaml, and the files it is started with."""

from __future__ import annotations

import subprocess
from pathlib import Path

CONFIGS = Path(__file__).parents[2] / "collector-config"


def cached_binary() -> Path | str:
    """The Collector of the manifest where it was built, else why there is none."""
    done = subprocess.run([CONFIGS / "build", "--cached"], capture_output=True, text=True, check=False)
    return Path(done.stdout.strip()) if done.returncode == 0 else done.stderr.strip()
