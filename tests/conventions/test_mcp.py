"""MCP: client and server around one tool call, beside the agent's own span for it."""

from __future__ import annotations

from captured import made, said

from otel_runlog import conventions
from otel_runlog.runs import project
from otel_runlog.testing import TraceBuilder

CLIENT = {"mcp.method.name": "tools/call"}
SERVER = {
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "add",
    "mcp.session.id": "m1",
    "jsonrpc.request.id": "1",
}


def test_client_and_server_name_the_tool_and_root_nothing() -> None:
    client = conventions.read(made(CLIENT, name="MCP send tools/call add", scope="mcp-python-sdk"))
    server = conventions.read(made(SERVER, name="tools/call add", scope="mcp-python-sdk"))
    expected = {"convention": "mcp", "kind": "tool", "tool_name": "add", "rootless": True}
    assert said(client) == expected
    assert said(server) == expected


def test_the_protocols_own_noise_is_other() -> None:
    reading = conventions.read(made({"mcp.method.name": "initialize"}, name="MCP send initialize"))
    assert said(reading) == {"convention": "mcp", "kind": "other", "rootless": True}


def test_an_error_the_tool_reports_fails_the_call() -> None:
    reading = said(conventions.read(made({**SERVER, "error.type": "tool_error"}, name="tools/call add")))
    assert (reading["failed"], reading["error_type"]) == (True, "tool_error")


def test_one_call_seen_by_agent_client_and_server_counts_once() -> None:
    trace = TraceBuilder("mcp")
    agent = trace.agent("boss")
    tool = trace.tool("add", parent=agent, duration_ms=9)
    client = trace.span("MCP send tools/call add", dict(CLIENT), parent=tool, duration_ms=7, scope="mcp-python-sdk")
    trace.span("tools/call add", dict(SERVER), parent=client, kind=2, duration_ms=5, scope="mcp-python-sdk")
    (run,) = project(trace.spans)
    assert (run.tool_calls, run.agent) == (1, "boss")


def test_a_server_alone_is_no_run() -> None:
    trace = TraceBuilder("mcp server")
    trace.span("tools/call add", dict(SERVER), kind=2, scope="mcp-python-sdk")
    assert project(trace.spans) == []
