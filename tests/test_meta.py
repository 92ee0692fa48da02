"""What the project promises about itself: names, layers, documentation, sizes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import otel_runlog
from otel_runlog import config
from otel_runlog.cli.main import main
from otel_runlog.store.reader import StoreReader

ROOT = Path(otel_runlog.__file__).parent
README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")

PURE = (
    *("model", "errors", "span", "tree", "duplicates", "partition", "parts", "counting", "steps", "agents", "runs"),
    *(
        "resolve",
        "logs",
        "log_calls",
        "log_content",
        "drops",
        "drop_event",
        "scores",
        "llm_io",
        "conventions",
        "conversation",
        "canonical_values",
        "fingerprint",
        "capture",
        "captures.building",
        "captures._calls",
        "captures._tools",
        "captures._told",
        "captures._given",
        "apis",
        "replaying.divergence",
        "replaying.requirements",
        "testing",
    ),
)
"""Modules that import no I/O, no duckdb, no grpc, no clock (DESIGN rule 1)."""
IMPURE = ("duckdb", "grpc", "time", "os", "subprocess", "socket", "threading", "requests", "click", "rich")
LAYERS = (
    {"model", "errors", "moment", "otlp.wire", "drop_event", "conversation", "capture"},
    {"replaying.divergence", "replaying.report", "replaying.excerpt", "replaying.comparing"},
    {"span", "conventions", "pricing"},
    {"apis"},
    {"tree", "parts", "resolve", "log_content", "log_calls", "logs", "drops", "scores", "duplicates"}
    | {"partition", "counting", "steps", "agents", "llm_io", "runs", "fingerprint", "canonical_values"},
    {"otlp", "journal", "config", "server_config", "content", "containment", "redaction", "span_copy", "span_weight"},
    {"captures.building", "captures._calls", "captures._tools", "captures._told", "captures._given"}
    | {"captures._hashed"},
    {"replaying.matching", "replaying.llm_matching", "replaying.tool_matching", "replaying.outcomes"}
    | {
        "replaying.recording",
        "replaying.normalising",
        "replaying.ledger",
        "replaying.drift",
        "replaying.partial",
        "replaying.telling",
    }
    | {"replaying.in_process", "replaying.asking_again", "replaying.answers", "replaying.doors"}
    | {"replaying.requirements", "replaying.tool_values", "replaying.tool_words", "testing"},
    {"store"},
    {"captures"},
    {"links", "traces", "assemble", "loader", "ingest", "metrics", "reprice", "maintenance"},
    {"door", "processor", "running", "demo", "demo_agent", "server_status", "doctor", "show"},
    {"server"},
    {"replaying"},
    {"cli", "__main__"},
)
"""Arrows point one way: a module imports from its own layer and those above it in this list."""


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        yield name, path


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def layer(name: str) -> int | None:
    for i, names in enumerate(LAYERS):
        if name in names:
            return i
    parent = name.rpartition(".")[0]
    return layer(parent) if parent else None


def test_all_is_sorted_complete_and_importable() -> None:
    assert otel_runlog.__all__ == sorted(otel_runlog.__all__)
    assert set(otel_runlog.__all__) == set(otel_runlog._HOMES)
    for name in otel_runlog.__all__:
        assert getattr(otel_runlog, name) is not None
    source = ast.parse((ROOT / "__init__.py").read_text("utf-8"))
    typed = {a.name for n in ast.walk(source) if isinstance(n, ast.ImportFrom) for a in n.names}
    assert set(otel_runlog.__all__) <= typed


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import otel_runlog", ("duckdb", "grpc", "genai_prices", "google.protobuf", "opentelemetry.sdk")),
        ("import otel_runlog.processor", ("duckdb", "grpc", "genai_prices")),
        ("import otel_runlog.cli.main", ("duckdb", "grpc", "genai_prices")),
    ],
)
def test_importing_stays_light(statement: str, unwanted: tuple[str, ...]) -> None:
    code = f"import sys; {statement}; print([m for m in {unwanted!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", PURE)
def test_pure_modules_import_no_io(name: str) -> None:
    paths = [p for n, p in modules() if n == name or n.startswith(f"{name}.")]
    assert paths
    for path in paths:
        assert not {i.partition(".")[0] for i in imports(path)} & set(IMPURE), path


def test_imports_point_one_way() -> None:
    wrong = []
    for name, path in modules():
        if name == "__init__":
            continue
        own = layer(name)
        assert own is not None, f"{name} has no layer"
        for target in imports(path):
            inner = target.removeprefix("otel_runlog.")
            other = layer(inner) if target.startswith("otel_runlog.") else None
            if other is not None and other > own:
                wrong.append(f"{name} imports {inner}")
    assert wrong == []


def test_only_config_reads_the_environment() -> None:
    readers = {n for n, p in modules() if re.search(r"os\.(environ|getenv)", p.read_text("utf-8"))}
    assert readers - {"demo_agent"} == {"config"}  # the demo's agent is a program that stands alone


def test_functions_and_files_stay_short() -> None:
    long = []
    for name, path in modules():
        text = path.read_text("utf-8")
        if text.count("\n") > 400:
            long.append(f"{name}: {text.count(chr(10))} lines")
        functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
        long += [f"{name}.{f.name}" for f in functions if (f.end_lineno or 0) - f.lineno >= 60]
    assert long == []


def commands() -> dict[str, click.Command]:
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def test_every_command_is_documented_and_shows_an_example() -> None:
    for name, command in commands().items():
        assert f"`{name}" in README or f"otel-runlog {name}" in README, name
        assert "Example" in command.get_help(click.Context(command, info_name=name)), name


def test_every_environment_name_is_documented() -> None:
    source = (ROOT / "config.py").read_text("utf-8")
    names = set(re.findall(r"\bOTEL_[A-Z_]*[A-Z]\b", source))
    assert config.DB_VARIABLE in names
    assert {n for n in names if f"`{n}`" not in README} == set()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture(scope="module")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("readme") / "demo.duckdb"
    done = subprocess.run(
        [sys.executable, "-m", "otel_runlog", "demo", "--db", str(db)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return db


@pytest.mark.parametrize("sql", blocks("sql"))
def test_every_sql_block_of_the_readme_answers_over_the_demo(sql: str, demo_store: Path) -> None:
    with StoreReader(demo_store) as reader:
        assert reader.query(sql).rows


@pytest.mark.parametrize("toml", blocks("toml"))
def test_every_price_table_of_the_readme_loads(toml: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(toml)
    assert otel_runlog.PriceTable.load([path], base=None).name == "acme"


def test_the_readme_names_nothing_that_does_not_exist() -> None:
    for name in re.findall(r"from otel_runlog import ([\w, ]+)", README):
        assert set(name.split(", ")) <= set(otel_runlog.__all__)
    for path in re.findall(r"`((?:tests|otel_runlog)/[\w/]+(?:\.py)?)/?`", README):
        assert (ROOT.parent / path).exists(), path


def test_test_files_have_names_of_their_own() -> None:
    names = [p.name for p in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
