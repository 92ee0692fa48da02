"""Captures in a few words."""

from made_captures import RUN, a_capture

from otel_runlog.show.captures import summary


def test_a_summary_counts_calls_as_people_do() -> None:
    whole = a_capture()
    one = a_capture(llm_io=whole.llm_io[:1], tool_io=whole.tool_io[:1])
    assert summary(whole) == f"run {RUN} of planner: 4 model calls, 2 tool calls, without content"
    assert summary(one) == f"run {RUN} of planner: 1 model call, 1 tool call, without content"
