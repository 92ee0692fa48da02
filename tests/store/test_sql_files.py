"""The SQL stands in .sql files, keeps to what DuckLake has, and appends only."""

import ast
import hashlib
import re
from pathlib import Path

import pytest

import otel_runlog.store
from otel_runlog.store import statements

FOLDER = Path(otel_runlog.store.__file__).parent
SQL_FILES = sorted(FOLDER.rglob("*.sql"))
NOT_IN_DUCKLAKE = (
    r"primary\s+key",
    r"unique",
    r"foreign\s+key",
    r"references",
    r"check\s*\(",
    r"on\s+conflict",
    r"insert\s+or",
    r"returning",
    r"enum",
    r"create\s+type",
    r"sequence",
    r"nextval",
    r"generated",
    r"index",
    r"autoincrement",
)


def code(path):
    """The file without comments, in small letters."""
    return re.sub(r"--.*", "", path.read_text()).lower()


def name(path):
    return str(path.relative_to(FOLDER))


@pytest.mark.parametrize("path", SQL_FILES, ids=name)
def test_a_statement_uses_nothing_that_ducklake_lacks(path):
    assert [word for word in NOT_IN_DUCKLAKE if re.search(rf"\b{word}", code(path))] == []


MAINTENANCE = ("compact_", "gc_")
"""What statements are called that may take rows out for good (DESIGN rule 4): only store/maintenance.py runs them."""


def test_maintenance_is_asked_for_in_one_place():
    statements = {p.stem for p in SQL_FILES if p.name.startswith(MAINTENANCE)}
    users = [p.name for p in FOLDER.parent.rglob("*.py") if not statements.isdisjoint(strings_of(p))]
    assert users == ["maintenance.py"]


@pytest.mark.parametrize("path", [p for p in SQL_FILES if not p.name.startswith(MAINTENANCE)], ids=name)
def test_only_open_tables_lose_rows(path):
    assert (
        re.findall(r"delete\s+from\s+(?!open_)\w+|truncate\b|drop\s+table|update\s+(?!meta\b|open_)\w+", code(path))
        == []
    )


@pytest.mark.parametrize("path", sorted((FOLDER / "views").glob("*.sql")), ids=name)
def test_views_never_use_a_window_over_history(path):
    assert re.findall(r"\bover\s*\(|\bqualify\b|distinct\s+on", code(path)) == []


def test_every_view_file_is_registered_and_the_other_way_round():
    assert sorted(statements.VIEWS) == sorted(path.stem for path in (FOLDER / "views").glob("*.sql"))


def test_every_schema_file_is_registered_in_order():
    assert list(statements.SCHEMA_SCRIPTS) == sorted(path.stem for path in (FOLDER / "schema").glob("*.sql"))


def strings_of(path):
    tree = ast.parse(path.read_text())
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def test_every_query_file_is_used():
    used = {text for path in FOLDER.parent.rglob("*.py") for text in strings_of(path)}
    assert [path.stem for path in sorted((FOLDER / "queries").glob("*.sql")) if path.stem not in used] == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=name)
def test_python_holds_no_sql(path):
    verb = re.compile(r"\s*(select|insert|delete|update|create|attach|from|with|alter|drop)\s+\S+\s+\S", re.IGNORECASE)
    assert [text for text in strings_of(path) if verb.match(text)] == []


def test_the_version_of_the_views_goes_up_when_a_view_changes():
    text = "".join(statements.view(name) for name in statements.VIEWS)
    assert (statements.VIEWS_VERSION, hashlib.sha256(text.encode()).hexdigest()[:16]) == (8, "6ce2f6cfd5bdd22e"), (
        "raise VIEWS_VERSION, or stores that exist keep the old views; then write both here"
    )
