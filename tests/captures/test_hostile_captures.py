"""Captures from strangers: refused with a reason, nothing executed, nothing written outside the folder."""

from __future__ import annotations

import datetime as dt
import json
import os
import pickle
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from otel_runlog.capture import Capture, CapturedLlm, CapturedTool
from otel_runlog.captures import _reading
from otel_runlog.captures.document import dumps, loads, read_capture, write_capture
from otel_runlog.conversation import CallPart, LlmAnswer, LlmRequest, Role, TextPart, Turn
from otel_runlog.errors import CaptureError
from otel_runlog.model import Content, RunLog, Step, StepKind

NOON = dt.datetime(2026, 11, 29, 12, tzinfo=dt.UTC)
USER = Turn(Role.USER, (TextPart("hi"),))
CALL = Turn(Role.ASSISTANT, (CallPart("f", {"a": [1, {"$ref": b"x"}]}, "c"),))


def capture(run_id: str = "r1") -> Capture:
    calls = (
        CapturedLlm(step_index=1, call_index=1, request=LlmRequest(turns=(USER,)), answer=LlmAnswer(parts=CALL.parts)),
        CapturedLlm(step_index=2, call_index=2, request=LlmRequest(turns=(USER, CALL))),
    )
    run = RunLog(run_id, steps=(Step("t", "s", StepKind.LLM),))
    tools = (CapturedTool(name="f"),)
    return Capture(run_id=run_id, captured_at=NOON, completeness=Content.FULL, run=run, llm_io=calls, tool_io=tools)


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(dumps(capture()))
    return found


def changed(**fields: Any) -> bytes:
    return json.dumps(document() | fields).encode()


def with_call(number: int, **fields: Any) -> bytes:
    found = document()
    found["llm_io"][number] |= fields
    return json.dumps(found).encode()


def with_request(number: int, **fields: Any) -> bytes:
    found = document()
    found["llm_io"][number]["request"] |= fields
    return json.dumps(found).encode()


def with_tool(**fields: Any) -> bytes:
    found = document()
    found["tool_io"][0] |= fields
    return json.dumps(found).encode()


NOT_CAPTURES = {
    "empty": (b"", "not JSON"),
    "text": (b"hello", "not JSON"),
    "not UTF-8": (b'{"schema": "\xff"}', "not JSON"),
    "UTF-16": ('{"schema": "runlog.capture/1"}'.encode("utf-16"), "not JSON"),
    "cut short": (dumps(capture())[:-20], "not JSON"),
    "two documents": (dumps(capture()) * 2, "not JSON"),
    "pickle": (pickle.dumps({"schema": "runlog.capture/1"}), "not JSON"),
    "NaN": (b'{"schema": NaN}', "not JSON"),
    "list": (b"[1, 2]", "no capture"),
    "null": (b"null", "no capture"),
    "no schema": (b"{}", "it has no schema"),
    "another schema": (b'{"schema": "acme.trace/1"}', "its schema is 'acme.trace/1'"),
    "an older schema": (b'{"schema": "runlog.capture/0"}', "its schema is 'runlog.capture/0'"),
    "a schema that is a list": (b'{"schema": ["runlog.capture/1"]}', "its schema is"),
    "a newer schema": (b'{"schema": "runlog.capture/2"}', "runlog.capture/2: upgrade otel-runlog"),
    "schema alone": (b'{"schema": "runlog.capture/1"}', "missing required field"),
    "deep nesting": (b'{"schema":' * 50_000, "nested"),
    "deep nesting elsewhere": (b'{"schema":"runlog.capture/1","x":' + b"[" * 50_000 + b"]" * 50_000 + b"}", "nested"),
    "deep arguments": (with_tool(arguments=json.loads("[" * 300 + "]" * 300)), "nested more than 200 deep"),
    "NUL in the id": (changed(run_id="r\x001"), "run_id is no id"),
    "newline in the id": (changed(run_id="r\n1"), "run_id is no id"),
    "id of nothing": (changed(run_id=""), "run_id is a path"),
    "id that is a path": (changed(run_id="../../etc/passwd"), "run_id is a path"),
    "id that is absolute": (changed(run_id="/etc/passwd"), "run_id is a path"),
    "id that is a folder": (changed(run_id=".."), "run_id is a path"),
    "id with backslashes": (changed(run_id="..\\..\\x"), "run_id is no id"),
    "long id": (changed(run_id="x" * 10_000), "run_id is no id"),
    "id that is a number": (changed(run_id=7), "Expected `str`"),
    "another run inside": (changed(run_id="r2"), "run_id is 'r2', and run.run_id 'r1'"),
    "time without a zone": (changed(captured_at="2026-11-29T12:00:00"), "has no zone"),
    "time that is none": (changed(captured_at="yesterday"), "captured_at"),
    "time before all times": (changed(captured_at="0001-01-01T00:00:00+14:00"), "out of range"),
    "unknown completeness": (changed(completeness="nearly"), "completeness"),
    "run that is a list": (changed(run=[]), "run: Expected `object`"),
    "step of a wrong kind": (changed(run={"run_id": "r1", "steps": [{"kind": "x"}]}), r"run.steps\[0\]"),
    "steps that are a number": (changed(run={"run_id": "r1", "steps": 7}), "run: Expected `array`"),
    "llm_io that is a text": (changed(llm_io="x"), "llm_io"),
    "call that is a number": (changed(llm_io=[1]), r"llm_io\[0\]: Expected `object`"),
    "call of a wrong type": (
        with_call(1, step_index="1"),
        r"llm_io\[1\]: Expected `int`, got `str` - at `\$.step_index`",
    ),
    "missing content": (changed(contents={}), r"llm_io\[0\]: there is no content '44c6"),
    "wrong content": (changed(contents={"0" * 64: USER.text}), "not what its sha256 says"),
    "turns that are numbers": (with_request(0, turns=[1]), r"llm_io\[0\]: Expected `str`"),
    "conversation of itself": (
        with_request(0, continues=0),
        r"llm_io\[0\]: it continues entry 0, which is none before",
    ),
    "conversation of a later call": (with_request(0, continues=1), "continues entry 1"),
    "conversation of call -1": (with_request(1, continues=-1), "continues entry -1"),
    "arguments of no kind": (with_tool(arguments={"$eval": "1"}), "a value marked '\\$eval' cannot be read"),
    "bytes that are none": (with_tool(arguments={"$bytes": "?"}), "a value marked '\\$bytes' cannot be read"),
    "integer that is none": (with_tool(arguments={"$int": [1]}), "a value marked '\\$int' cannot be read"),
    "integer beyond all": (with_tool(arguments={"$int": "0x" + "f" * 5000}), "a value marked '\\$int' cannot be read"),
    "object that is none": (with_tool(arguments={"$object": [1]}), "a value marked '\\$object' cannot be read"),
    "number beyond all": (b'{"schema":"runlog.capture/1","captured_at":1e999}', "capture"),
}


@pytest.mark.fault(44)
@pytest.mark.parametrize(("data", "reason"), NOT_CAPTURES.values(), ids=NOT_CAPTURES)
def test_what_is_no_capture_is_refused_with_its_name_and_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(CaptureError, match=reason) as error:
        loads(data, name="stranger.json")
    assert str(error.value).startswith("stranger.json: ")
    assert len(str(error.value)) < 400


@pytest.mark.fault(44)
def test_a_document_that_is_too_large_is_not_looked_at(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="it has 101 bytes, more than the 100 that are read"):
        loads(b"x" * 101, max_bytes=100)
    sparse = tmp_path / "huge.json"
    with sparse.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(CaptureError, match=r"huge.json: it has 1099511627776 bytes, more than the 268435456"):
        read_capture(sparse)


@pytest.mark.fault(44)
def test_a_small_document_with_endless_conversations_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_reading, "MAX_TURNS", 1000)
    found = document()
    [digest] = found["llm_io"][0]["request"]["turns"]
    found["llm_io"] = [
        {"step_index": i, "call_index": i, "request": {"continues": i - 1 if i else None, "turns": [digest]}}
        for i in range(100)
    ]
    with pytest.raises(CaptureError, match="the requests have more than 1000 turns together"):
        loads(json.dumps(found).encode())


@pytest.mark.fault(44)
@given(st.binary(max_size=200))
@example(b"")
def test_any_bytes_are_refused_with_a_capture_error(data: bytes) -> None:
    with pytest.raises(CaptureError):
        loads(data)


GOOD = dumps(capture())
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("r1"),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["type", "turns", "$int", "$object", "parts", "role"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@pytest.mark.fault(44)
@settings(max_examples=60)
@given(st.integers(0, len(GOOD) - 1), st.binary(max_size=3))
def test_a_damaged_capture_loads_or_is_refused(place: int, instead: bytes) -> None:
    try:
        loads(GOOD[:place] + instead + GOOD[place + len(instead) :])
    except CaptureError:
        return


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [p for k, v in value.items() for p in [(*path, k), *places(v, (*path, k))]]
    if isinstance(value, list):
        return [p for i, v in enumerate(value) for p in [(*path, i), *places(v, (*path, i))]]
    return []


PLACES = places(document())


@pytest.mark.fault(44)
@settings(max_examples=60)
@given(st.sampled_from(PLACES), ODD)
def test_any_value_in_any_place_loads_or_is_refused(place: tuple[Any, ...], value: Any) -> None:
    found = document()
    *outer, last = place
    inner: Any = found
    for key in outer:
        inner = inner[key]
    inner[last] = value
    try:
        back = loads(json.dumps(found).encode())
    except CaptureError:
        return
    assert loads(dumps(back)) == back or "NaN" in json.dumps(value)


@pytest.mark.fault(43)
@pytest.mark.parametrize(
    ("run_id", "name"),
    [
        ("3f2a9c", "3f2a9c.capture.json"),
        ("W2-71_a.b", "W2-71_a.b.capture.json"),
        ("nightly/2026", "nightly_2026-8e2404eb.capture.json"),
        ("Lauf 7 ä", "Lauf_7__-39b997f5.capture.json"),
        (".hidden", "hidden-16924190.capture.json"),
        ("x" * 200, "x" * 100 + "-aa20c23e.capture.json"),
    ],
)
def test_a_file_in_a_folder_is_named_by_letters_of_the_run_id(run_id: str, name: str, tmp_path: Path) -> None:
    assert write_capture(tmp_path, capture(run_id)) == tmp_path / name
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert read_capture(tmp_path / name) == capture(run_id)


@pytest.mark.fault(43)
@pytest.mark.parametrize(
    "run_id", ["../x", "/etc/x", "a/../../x", "..", ".", "a\x00b", "a\\..\\x", "", "a//b", "\u202egpj"]
)
def test_a_run_whose_id_is_a_way_out_of_the_folder_is_not_written(run_id: str, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    with pytest.raises(CaptureError, match="run_id is"):
        write_capture(inside, capture(run_id))
    assert [p.name for p in tmp_path.rglob("*")] == ["inside"]


@pytest.mark.fault(43)
@pytest.mark.parametrize("replace", [False, True])
def test_what_a_link_points_to_is_never_written(replace: bool, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    link = tmp_path / "a.json"
    link.symlink_to(precious)
    if replace:
        write_capture(link, capture(), replace=True)
        assert not link.is_symlink()
        assert read_capture(link) == capture()
    else:
        with pytest.raises(CaptureError, match="it is there already"):
            write_capture(link, capture())
    assert precious.read_text() == "mine"


@pytest.mark.fault(43)
def test_a_link_to_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to(tmp_path / "new")
    with pytest.raises(CaptureError, match="it is there already"):
        write_capture(tmp_path / "a.json", capture())
    assert not (tmp_path / "new").exists()


@pytest.mark.fault(43)
@pytest.mark.parametrize("replace", [False, True])
def test_a_pipe_or_device_is_never_replaced(replace: bool, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(CaptureError, match="it is no file"):
        write_capture(pipe, capture(), replace=replace)
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_only_the_owner_reads_a_file_that_was_written(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = write_capture(tmp_path / "a.json", capture())
        write_capture(path, capture(), replace=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_file_that_is_there_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_capture(tmp_path / "a.json", capture())
    with pytest.raises(CaptureError, match=r"a.json: it is there already"):
        write_capture(path, capture("r2"))

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(CaptureError, match=r"a.json: No space left on device"):
        write_capture(path, capture("r2"), replace=True)
    assert read_capture(path) == capture()
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_what_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"missing.json: No such file or directory"):
        read_capture(tmp_path / "missing.json")
    with pytest.raises(CaptureError, match=r"Is a directory"):
        read_capture(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CaptureError, match=r"pipe: it is no file"):
        read_capture(tmp_path / "pipe")
    with pytest.raises(CaptureError, match="null byte"):
        read_capture("a\x00b")
    with pytest.raises(CaptureError, match=r"no.folder/a.json: No such file or directory"):
        write_capture(tmp_path / "no.folder" / "a.json", capture())
