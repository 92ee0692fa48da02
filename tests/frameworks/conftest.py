"""Real clients against the scripted provider, looked at through both of the package's in-process paths.

Each test of this folder runs twice: over `project([...])` of its finished spans, and over the rows that
`RunLogSpanProcessor` brought into a DuckDB file. Both must tell the same.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from client_tracing import Projected, Stored, Tracing


@pytest.fixture(params=[Projected, Stored], ids=["projection", "store"])
def tracing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tracing]:
    one = request.param(tmp_path)
    yield one
    one.provider.shutdown()
