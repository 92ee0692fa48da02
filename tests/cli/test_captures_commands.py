"""`otel-runlog capture`, `export`, `import`, `verify`, and `gc` for captures."""

import shutil
import stat
from pathlib import Path

import msgspec
import pytest
from journalled import calls, write
from made_captures import RUN, a_capture, a_run

from otel_runlog.captures.document import dumps, loads, write_capture
from otel_runlog.captures.keeping import load_capture, persist_capture
from otel_runlog.store.duckdb_store import DuckDBRunLogStore
from otel_runlog.store.writer import StoreWriter

OTHER = "cd" * 16
SAID = f"run {RUN} of planner: 4 model calls, 2 tool calls, without content"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    db = tmp_path_factory.mktemp("made") / "kept.duckdb"
    persist_capture(db, a_capture())
    return db


@pytest.fixture
def kept(made, tmp_path):
    """A store with one capture and its run."""
    return Path(shutil.copy(made, tmp_path / "kept.duckdb"))


@pytest.fixture
def new(tmp_path):
    """Where a store can be made."""
    return tmp_path / "new.duckdb"


def test_export_writes_the_document_to_stdout(call, kept):
    result = call("export", RUN[:6], "--db", kept)
    assert (result.exit_code, result.stdout_bytes) == (0, dumps(a_capture()))
    assert call("export", RUN[:6], "-o", "-", "--db", kept).stdout_bytes == dumps(a_capture())


def test_export_makes_no_folder_and_no_file_in_place_of_one(call, kept, tmp_path):
    result = call("export", "last", "-o", f"{tmp_path}/out/", "--db", kept)
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [kept])
    assert "there is no folder" in result.stderr


def test_export_writes_a_private_file_and_replaces_one_only_when_told(call, kept, tmp_path):
    file = tmp_path / "run.json"
    result = call("export", "last", "-o", file, "--db", kept)
    assert (result.exit_code, result.stdout) == (0, f"{SAID}, written to {file}\n")
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (dumps(a_capture()), 0o600)
    file.write_text("mine")
    again = call("export", "last", "-o", file, "--db", kept)
    assert (again.exit_code, file.read_text()) == (2, "mine")
    assert "is there already" in again.stderr
    assert "--force" in again.stderr
    assert call("export", "last", "-o", file, "--force", "--db", kept).exit_code == 0
    assert file.read_bytes() == dumps(a_capture())


def test_in_a_folder_the_file_is_called_after_the_run(call, kept, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    assert call("export", "last", "--format", "capture", "-o", folder, "--db", kept).exit_code == 0
    assert [file.name for file in folder.iterdir()] == [f"{RUN}.capture.json"]


@pytest.mark.fault(43)
def test_no_run_id_leads_out_of_the_folder(call, new, tmp_path):
    run_id = "up/and/away"
    persist_capture(new, a_capture(run_id))
    folder = tmp_path / "out"
    folder.mkdir()
    assert call("export", run_id, "-o", folder, "--db", new).exit_code == 0
    [file] = folder.iterdir()
    assert file.name.startswith("up_and_away-")


@pytest.mark.parametrize(
    ("form", "said"),
    [("otlp", "otlp is not written by this version yet, only capture"), ("pdf", "'pdf' is no format, only capture")],
)
def test_a_format_that_is_not_there_is_told(call, kept, form, said):
    result = call("export", "last", "--format", form, "--db", kept)
    assert result.exit_code == 2
    assert said in result.stderr


def test_export_loads_what_is_pending_first(call, new):
    write(new, calls(3))
    result = call("export", "last", "--db", new)
    assert result.exit_code == 0
    assert len(loads(result.stdout_bytes).llm_io) == 1


@pytest.mark.parametrize(("name", "said"), [("zzzz", "no run has an id that starts"), ("z", "takes 4 characters")])
def test_an_unknown_run_is_told(call, kept, name, said):
    for command in ("export", "capture", "verify"):
        result = call(command, name, "--db", kept)
        assert result.exit_code == 1
        assert said in result.stderr


def test_a_store_that_is_not_there_is_told(call, new):
    result = call("export", "last", "--db", new)
    assert result.exit_code == 2
    assert "there is no store" in result.stderr
    assert not new.exists()


def test_what_was_exported_is_imported_with_its_run_and_exported_the_same(call, kept, new, tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    call("export", "last", "-o", first, "--db", kept)
    result = call("import", first, "--db", new)
    assert (result.exit_code, result.stdout) == (0, f"{SAID}, imported\n")
    assert call("import", first, "--db", new).stdout == f"{SAID}, known already\n"
    assert DuckDBRunLogStore(new).list() == [a_run()]
    call("export", RUN, "-o", second, "--db", new)
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.fault(44)
def test_what_is_no_capture_is_named_and_the_rest_is_imported(call, new, tmp_path):
    good = write_capture(tmp_path / "good.json", a_capture())
    evil = tmp_path / "evil\x1b[31m.json"
    evil.write_bytes(b'{"schema": "runlog.capture/1", "run_id": "../../etc/passwd"}')
    traces = tmp_path / "traces.jsonl"
    traces.write_text('{"resourceSpans": []}\n')
    result = call("import", evil, tmp_path / "absent.json", traces, good, "--db", new)
    assert (result.exit_code, result.stdout) == (1, f"{SAID}, imported\n")
    errors = result.stderr.splitlines()
    assert len(errors) == 3
    assert "evil.json: " in errors[0]
    assert "\x1b" not in errors[0]
    assert "absent.json" in errors[1]
    assert "it is no capture: it has no schema" in errors[2]
    assert [run.run_id for run in DuckDBRunLogStore(new).list()] == [RUN]


def test_verify_says_what_is_well_and_what_is_not(call, kept, tmp_path):
    good = write_capture(tmp_path / "good.json", a_capture())
    bad = tmp_path / "bad.json"
    bad.write_bytes(dumps(a_capture()).replace(b"How warm is Paris?", b"How cold is Paris?"))
    result = call("verify", good, RUN[:8], bad, "--db", kept)
    assert result.exit_code == 1
    assert result.stdout == f"{good}: {SAID}\n{RUN[:8]}: {SAID}\n"
    assert result.stderr.startswith(f"{bad}: the content ")
    assert "is not what its sha256 says" in result.stderr
    assert call("verify", good, "--db", kept).exit_code == 0


def test_verify_needs_no_store(call, new, tmp_path):
    good = write_capture(tmp_path / "good.json", a_capture())
    assert call("verify", good, "--db", new).exit_code == 0
    absent = call("verify", "absent.json", "--db", new)
    assert (absent.exit_code, new.exists()) == (1, False)
    assert "absent.json" in absent.stderr


def test_capture_keeps_pins_and_unpins(call, new):
    write(new, calls(3))
    result = call("capture", "last", "--pin", "--memory-ref", "notes@3", "--db", new)
    assert result.exit_code == 0
    assert result.stdout.endswith(f", kept in {new}\n")
    pinned = "select pinned, memory_ref from captures"
    assert DuckDBRunLogStore(new).sql(pinned).fetchall() == [(True, "notes@3")]
    assert call("capture", "last", "--db", new).exit_code == 0
    assert DuckDBRunLogStore(new).sql(pinned).fetchall() == [(True, "notes@3")]
    assert call("capture", "last", "--unpin", "--db", new).exit_code == 0
    assert DuckDBRunLogStore(new).sql(pinned).fetchall() == [(False, "notes@3")]


def test_a_held_store_is_told_in_one_sentence(call, kept, monkeypatch):
    monkeypatch.setattr("otel_runlog.cli.captures.patience_s", lambda _db: 0.0)
    with StoreWriter(kept):
        for command in ("export", "capture"):
            result = call(command, "last", "--db", kept)
            assert result.exit_code == 2
            assert "is held by process" in result.stderr


def test_gc_takes_captures_by_limits_of_their_own(call, kept):
    persist_capture(kept, a_capture(OTHER), pinned=True)
    size = f"{len(dumps(a_capture())) / 1024:.1f} KiB"
    dry = call("gc", "--captures-keep", "0", "--dry-run", "--db", kept)
    assert (dry.exit_code, dry.stdout) == (0, f"1 captures ({size}) would be removed from {kept}\n")
    assert load_capture(kept, RUN) == a_capture()
    done = call("gc", "--captures-max-bytes", "1KB", "--captures-older-than", "2020-01-01", "--yes", "--db", kept)
    assert (done.exit_code, done.stdout) == (0, f"1 captures ({size}) removed from {kept}\n")
    assert DuckDBRunLogStore(kept).sql("select run_id, pinned from captures").fetchall() == [(OTHER, True)]
    assert len(DuckDBRunLogStore(kept).list()) == 2


def test_gc_takes_runs_and_captures_at_once(call, kept):
    result = call("gc", "--older-than", "2027-01-01", "--captures-older-than", "2027-01-01", "--yes", "--db", kept)
    assert result.exit_code == 0
    assert result.stdout.startswith("1 runs, 5 steps, 0 spans, 0 messages, 0 log records, 1 captures (")


def test_gc_wants_to_know_what_is_old(call, kept):
    result = call("gc", "--yes", "--db", kept)
    assert result.exit_code == 2
    assert "nothing says what is old: --older-than for runs, --captures-... for captures" in result.stderr
    wrong = call("gc", "--captures-max-bytes", "much", "--yes", "--db", kept)
    assert (wrong.exit_code, "'much' is no size" in wrong.stderr) == (2, True)


def test_a_capture_of_a_later_field_is_read(call, new, tmp_path):
    document = msgspec.json.decode(dumps(a_capture()))
    file = tmp_path / "later.json"
    file.write_bytes(msgspec.json.encode(document | {"invented_later": {"x": 1}}))
    assert call("import", file, "--db", new).exit_code == 0
    assert call("export", RUN, "--db", new).stdout_bytes == dumps(a_capture())
