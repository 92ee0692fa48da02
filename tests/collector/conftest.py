"""What needs the Collector of collector-config/builder.yaml is skipped where that was not built."""

from __future__ import annotations

from pathlib import Path

import pytest
from otelcol import cached_binary


@pytest.fixture(scope="session")
def otelcol() -> Path:
    """The Collector's binary."""
    found = cached_binary()
    if isinstance(found, str):
        pytest.skip(found)
    return found
