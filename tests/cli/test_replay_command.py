"""`otel-runlog replay`: programs that run again, what is said of them, and what is kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import replay_agent
from provider import Answer, ScriptedProvider
from replay_captures import letters
from replays import RUN_ID, answer, call, capture, request

from otel_runlog import DuckDBRunLogStore
from otel_runlog.captures.document import write_capture
from otel_runlog.captures.keeping import load_capture, persist_capture
from otel_runlog.cli.main import main
from otel_runlog.conversation import LlmAnswer, LlmRequest
from otel_runlog.model import CostStatus, RunStatus
from otel_runlog.replaying.report import FOOTER

COMMAND = [sys.executable, "-m", "otel_runlog"]
AGENT = [sys.executable, replay_agent.__file__]
AMBIGUOUS = "  note      ambiguous: calls 1, 2 asked the same and were answered differently; served in that order\n"
TOOLS = "tools that run for real unless the program has @replay_tool before them: t (2 calls)\n"


class Ran(NamedTuple):
    """The exit code, stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> str:
        """What was said after the program's end, without the footer and where it is kept."""
        return self.err.partition(TOOLS)[2].partition(f"  {FOOTER}\n")[0]


Replay = Callable[..., Ran]


@pytest.fixture
def replay(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    """Runs the command in this process: its program is another one."""
    monkeypatch.setenv("OTEL_RUNLOG_DB", str(tmp_path / "runs.duckdb"))

    def run(*args: object) -> Ran:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["replay", *map(str, args)])
        out, err = capfd.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Ran(code, out, err)

    return run


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A store with the recorded run."""
    db = tmp_path / "runs.duckdb"
    persist_capture(db, letters())
    return db


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Its capture."""
    path = tmp_path / "letters.json"
    write_capture(path, letters())
    return path


@pytest.mark.parametrize("variant", ["same", "reordered", "other_spelling"])
def test_case_28_a_b_e_the_same_program_gets_its_answers_whatever_the_order_and_spelling(
    replay: Replay, file: Path, variant: str
) -> None:
    ran = replay(file, "--", *AGENT, variant)
    tools = "20\n10\n" if variant == "reordered" else "10\n20\n"
    assert (ran.code, ran.out) == (0, f"x\ny\n{tools}")
    assert ran.report == "replay of 3f2a9c00: identical\n" + AMBIGUOUS + "  served 4 of 4 · live 0 · not reached 0\n"


def test_case_28_c_one_call_more_is_exhausted(replay: Replay, file: Path) -> None:
    ran = replay(file, "--", *AGENT, "once_more")
    assert (ran.code, ran.out) == (1, "x\ny\n10\n20\n")
    assert "HTTP Error 400" in ran.report
    assert ran.report[ran.report.index("replay of") :] == GOLDEN_C


def test_case_28_d_one_word_changed_is_told_with_its_place_and_the_nearest_call(replay: Replay, file: Path) -> None:
    ran = replay(file, "--", *AGENT, "one_word")
    assert (ran.code, ran.out) == (1, "")
    assert ran.report[ran.report.index("replay of") :] == GOLDEN_D


def test_case_28_f_another_system_prompt_is_told(replay: Replay, file: Path) -> None:
    ran = replay(file, "--", *AGENT, "other_system")
    assert (ran.code, ran.out) == (1, "")
    assert ran.report[ran.report.index("replay of") :] == GOLDEN_F


def test_drift_is_noted_and_may_be_made_to_count(replay: Replay, file: Path) -> None:
    noted = replay(file, "--", *AGENT, "other_params")
    assert noted.code == 0
    assert "  drift     params.temperature of call 1: 1 -> 0.5\n" in noted.report
    assert replay(file, "--compare", "model,params", "--", *AGENT, "other_params").code == 1


def test_what_is_ignored_plays_no_part(replay: Replay, file: Path) -> None:
    ran = replay(file, "--ignore", "letter|number", "--", *AGENT, "one_word")
    assert (ran.code, ran.out) == (0, "x\ny\n10\n20\n")


def test_an_error_that_the_program_swallows_is_told_all_the_same(replay: Replay, file: Path) -> None:
    ran = replay(file, "--json", "--", *AGENT, "swallows")
    assert ran.code == 1
    *program, last = ran.out.splitlines()
    assert program == ["x", "400", "10", "20", ""]
    report = json.loads(last)
    assert (report["verdict"], report["program_failed"], report["not_compared"]) == ("diverged", None, [])
    (divergence,) = report["divergences"]
    assert {name: divergence[name] for name in ("call_index", "kind", "path", "recorded", "got", "nearest")} == {
        "call_index": 2,
        "kind": "request_changed",
        "path": "turns[0].user",
        "recorded": "Say a letter.",
        "got": "Say a number.",
        "nearest": 2,
    }


def test_soft_serves_the_nearest_and_tells_it(replay: Replay, file: Path) -> None:
    ran = replay(file, "--mode", "soft", "--", *AGENT, "one_word")
    assert (ran.code, ran.out) == (1, "x\ny\n10\n20\n")
    assert "  answered  with what was recorded for call 2 (soft)\n" in ran.report


@pytest.mark.parametrize(
    ("variant", "failure"), [("fails", "exit status 3"), ("killed", "ended by SIGKILL")], ids=["fails", "killed"]
)
def test_a_program_that_fails_as_the_recorded_run_did_not_is_no_repetition(
    replay: Replay, file: Path, variant: str, failure: str
) -> None:
    ran = replay(file, "--", *AGENT, variant)
    assert (ran.code, ran.out) == (1, "x\ny\n10\n20\n")
    assert ran.report.startswith(
        f"replay of 3f2a9c00: diverged\n  program   failed ({failure}); the recorded run did not\n"
    )


def test_json_is_a_line_of_its_own_whatever_the_program_wrote_last(replay: Replay, file: Path) -> None:
    ran = replay(file, "--json", "--", *AGENT, "unfinished_line")
    assert ran.out.splitlines()[0] == "no line break"
    assert json.loads(ran.out.splitlines()[-1])["verdict"] == "identical"


def test_tools_run_for_real_where_they_are_told_to_and_are_compared(replay: Replay, file: Path) -> None:
    ran = replay(file, "--tools", "real", "--", *AGENT, "reordered")
    assert (ran.code, ran.out) == (1, "x\ny\n200\n100\n")
    assert "tools that run for real: t (2 calls)\n" in ran.err
    assert "diverged at call 4 of 4: tool result changed (tool t, agent speller)\n" in ran.err
    static = replay(file, "--tool", "t=static:7", "--", *AGENT, "same")
    assert static.out == "x\ny\n7\n7\n"


def test_tools_that_may_not_run_must_be_known_to_have_a_door(replay: Replay, file: Path) -> None:
    ran = replay(file, "--tools", "fail", "--", *AGENT, "same")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: the run called t (2 calls), and a tool without @replay_tool before it runs for real whatever --tools "
        "says: name each tool that has one by --tool NAME=recorded\n"
    )
    assert replay(file, "--tools", "fail", "--tool", "t=recorded", "--", *AGENT, "same").code == 0


def test_what_is_about_to_happen_is_said_before_it_does(replay: Replay, file: Path) -> None:
    ran = replay(file, "--", sys.executable, "-c", "import sys; sys.stderr.write('the program\\n')")
    assert ran.err.splitlines()[:3] == [
        (
            "replaying run 3f2a9c00 of speller (2 model calls, 2 tool calls), strict: "
            f"{sys.executable} -c 'import sys; sys.stderr.write('\"'\"'the program\\n'\"'\"')'"
        ),
        TOOLS.rstrip(),
        "the program",
    ]


def test_the_programs_input_is_ours(replay: Replay, file: Path) -> None:
    ours, theirs = os.dup(0), os.pipe()
    os.write(theirs[1], b"from stdin\n")
    os.close(theirs[1])
    os.dup2(theirs[0], 0)
    try:
        ran = replay(file, "--", sys.executable, "-c", "print(input() + '!')")
    finally:
        os.dup2(ours, 0)
        os.close(ours)
        os.close(theirs[0])
    assert (ran.code, ran.out) == (1, "from stdin!\n")  # it asked for nothing: calls are missing


def test_a_replay_is_kept_as_a_run_that_costs_nothing(replay: Replay, db: Path) -> None:
    ran = replay(RUN_ID[:6], "--", *AGENT, "one_word")
    assert ran.code == 1
    store = DuckDBRunLogStore(db)
    (kept,) = [run for run in store.list() if run.replay_of]
    assert ran.err.endswith(f"kept as run {kept.run_id[:8]}\n")
    assert (kept.replay_of, kept.agent, kept.status) == (RUN_ID, "speller", RunStatus.FAILED)
    assert kept.cost_estimate is not None
    assert (kept.cost_estimate.usd, kept.cost_estimate.status) == (0, CostStatus.REPLAYED)
    divergences = store.sql("select replay_run_id, call_index, kind, path, recorded, got, resolution from divergences")
    assert divergences.fetchall() == [
        (kept.run_id, 2, "request_changed", "turns[0].user", '"Say a letter."', '"Say a number."', "refused"),
        (kept.run_id, 3, "missing_call", "", '{"n":1}', None, "none"),
        (kept.run_id, 4, "missing_call", "", '{"n":2}', None, "none"),
    ]
    assert store.sql("select sum(cost_usd) from runs").fetchall() in [[(0,)], [(None,)]]
    assert len(load_capture(db, kept.run_id).llm_io) == 2


def test_a_live_replay_goes_on_with_the_model_and_is_a_fork_that_replays_itself(
    replay: Replay, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedProvider([Answer("7", input_tokens=9, output_tokens=1)]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "real")
        ran = replay(RUN_ID, "--mode", "live", "--", *AGENT, "one_word")
        assert (ran.code, ran.out) == (1, "x\n7\n10\n20\n")
        assert len(provider.served) == 1
        (fork,) = [run for run in DuckDBRunLogStore(db).list() if run.fork_of]
        assert (fork.replay_of, fork.fork_of, fork.fork_at, fork.llm_calls) == (RUN_ID, RUN_ID, 2, 2)
        again = replay(fork.run_id, "--", *AGENT, "one_word")
        assert (again.code, again.out) == (0, "x\n7\n10\n20\n")
        assert len(provider.served) == 1


def test_last_is_the_last_run_that_is_no_replay(replay: Replay, db: Path) -> None:
    assert replay("last", "--", *AGENT, "swallows").code == 1
    again = replay("last", "--", *AGENT, "same")
    assert (again.code, again.out) == (0, "x\ny\n10\n20\n")
    assert again.err.startswith("replaying run 3f2a9c00 of speller")


def test_a_program_with_telemetry_of_its_own_in_the_same_store_is_one_replay(replay: Replay, db: Path) -> None:
    ran = replay("last", "--", *AGENT, "records_itself")
    assert (ran.code, ran.out) == (0, "x\ny\n10\n20\n")
    store = DuckDBRunLogStore(db)
    (kept,) = [run for run in store.list() if run.run_id != RUN_ID]
    assert (kept.replay_of, kept.llm_calls, [step.convention for step in kept.steps]) == (
        RUN_ID,
        2,
        ["otel_genai"] * 3,
    )
    assert ran.err.endswith(f"kept as run {kept.run_id[:8]}\n")


def test_a_file_replays_without_a_store_and_makes_none(replay: Replay, file: Path, tmp_path: Path) -> None:
    ran = replay(file, "--", *AGENT, "same")
    assert ran.err.endswith(f"not kept: there is no store at {tmp_path}/runs.duckdb\n")
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_what_cannot_be_replayed_is_one_sentence_and_exit_2(replay: Replay, file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    for args, sentence in [
        ((file, "--", "no-such-program"), "error: cannot run no-such-program: No such file or directory\n"),
        ((file, "--compare", "colour", "--", "true"), "'colour' is not one of model, params, tools"),
        ((file, "--ignore", "(", "--", "true"), "ignore holds what is no regular expression"),
        ((file, "--tool", "t", "--", "true"), "'t' gives no tool a policy"),
        ((file, "--redact", "json:nothing", "--", "true"), "--redact json:nothing: module 'json' has no attribute"),
        ((file,), "Missing argument '-- CMD...'"),
        ((broken, "--", "true"), "broken.json"),
        (("abcd", "--", "true"), "there is no store at"),
    ]:
        ran = replay(*args)
        assert (ran.code, ran.out) == (2, ""), args
        assert sentence in ran.err
        assert "Traceback" not in ran.err


def test_a_redactor_of_the_applications_own_is_applied_to_what_is_asked(
    replay: Replay, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "redactor_of_a_test.py").write_text(
        "def hide(key, value): return value.replace('number', 'letter') if isinstance(value, str) else value\n"
    )
    monkeypatch.chdir(tmp_path)
    assert replay(file, "--redact", "redactor_of_a_test:hide", "--", *AGENT, "one_word").code == 0
    assert "" not in sys.path


def test_ctrl_c_ends_the_program_and_the_report_still_comes(file: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "OTEL_RUNLOG_DB": str(tmp_path / "runs.duckdb")}
    replaying = subprocess.Popen(
        [*COMMAND, "replay", str(file), "--", *AGENT, "waits"],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with replaying:
        assert replaying.stdout is not None
        assert [replaying.stdout.readline() for _ in range(4)] == ["x\n", "y\n", "10\n", "20\n"]
        replaying.send_signal(signal.SIGINT)
        out, err = replaying.communicate(timeout=20)
    assert (replaying.returncode, out) == (0, "interrupted\n")
    assert "replay of 3f2a9c00: identical\n" in err


GOLDEN_C = """\
replay of 3f2a9c00: diverged at call 2 of 4: repeated call (llm, agent speller)
  program   failed (exit status 1); the recorded run did not
  got       "Say a letter."
  note      exhausted: already served 2 of 2
  nearest   call 2
  answered  with an error
  note      ambiguous: calls 1, 2 asked the same and were answered differently; served in that order
  served 4 of 4 · live 0 · not reached 0
"""
GOLDEN_D = """\
replay of 3f2a9c00: diverged at call 2 of 4: request changed (llm, agent speller)
  program   failed (exit status 1); the recorded run did not
  path      turns[0].user
  recorded  "Say a letter."
  got       "Say a number."
  cause     input
  nearest   call 2, 0 turns in common
  answered  with an error
  missing   call 3 (tool t), call 4 (tool t)
  note      ambiguous: calls 1, 2 asked the same and were answered differently; served in that order
  served 1 of 4 · live 0 · not reached 2
"""
GOLDEN_F = """\
replay of 3f2a9c00: diverged at call 1 of 4: request changed (llm, agent speller)
  program   failed (exit status 1); the recorded run did not
  path      system
  recorded  "You are brief."
  got       "You are verbose."
  cause     prompt
  nearest   call 1, 1 turn in common
  answered  with an error
  missing   call 2 (llm), call 3 (tool t), call 4 (tool t)
  served 0 of 4 · live 0 · not reached 3
"""


def test_what_cannot_be_served_is_said_before_the_program_starts(replay: Replay, tmp_path: Path) -> None:
    """As an embedding whose vectors no span has."""
    asked = LlmRequest(operation="embedding", inputs=("a",), model="m")
    run = capture(call(1, request("hi"), answer("hello")), call(2, asked, LlmAnswer()), call(3, asked, LlmAnswer()))
    write_capture(tmp_path / "run.json", run)
    _, _, err = replay(tmp_path / "run.json", "--", "true")
    assert err.splitlines()[1] == "answers that were not recorded, so that these cannot be served: calls 2-3"


def test_a_run_that_is_not_there_could_not_be_replayed(replay: Replay, db: Path) -> None:
    assert replay("zzzz", "--", *AGENT, "same") == (2, "", "error: no run has an id that starts with 'zzzz'\n")
    assert db.exists()


@pytest.mark.parametrize("command", [[*AGENT, "same"], ["agent"]])
@pytest.mark.parametrize("options", [[], ["--json", "--mode", "soft"]])
def test_a_forgotten_run_is_said_so(replay: Replay, db: Path, options: list[str], command: list[str]) -> None:
    code, out, err = replay(*options, "--", *command)
    assert (code, out, db.exists()) == (2, "", True)
    assert err.startswith("error: the run is missing: otel-runlog replay RUN|FILE -- CMD (see ")
