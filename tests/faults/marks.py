"""Which tests carry which fault: read from the tests' source, so that nothing has to be collected."""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
_SKIPPED = frozenset({"node_modules", "__pycache__"})


@functools.cache
def marked_tests() -> dict[int, list[str]]:
    """The tests that carry `@pytest.mark.fault(N)`, by N."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        if _SKIPPED.isdisjoint(path.parts):
            for number, name in _marks(ast.parse(path.read_text("utf-8"))):
                found[number].append(f"{path.relative_to(TESTS.parent)}::{name}")
    return dict(found)


def _marks(module: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            marked, name = node.decorator_list, node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):  # a hypothesis state machine
            marked, name = [node.value], node.targets[0].id
        else:
            continue
        yield from ((number, name) for expression in marked for number in _numbers(expression))


def _numbers(expression: ast.expr) -> Iterator[int]:
    """Those of a `fault(...)` anywhere in it, also in the marks of one parameter."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fault":
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, int))
