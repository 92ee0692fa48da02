"""Steps as a tree."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from otel_runlog.model import Step, StepKind
from otel_runlog.show.tree import tree

TRACE = "7a" * 16


def step(span_id, parent=None, trace_id=TRACE):
    return Step(trace_id, span_id, StepKind.OTHER, name=span_id, parent_span_id=parent)


def drawn(steps, parents=None):
    return [node.branch(draws=True) + node.step.name for node in tree(steps, parents or {})]


def test_steps_stand_under_their_parents():
    steps = [step("root"), step("a", "root"), step("b", "root"), step("a1", "a"), step("a2", "a"), step("b1", "b")]
    assert drawn(steps) == ["root", "├─ a", "│  ├─ a1", "│  └─ a2", "└─ b", "   └─ b1"]


def test_indentation_stands_for_lines_in_a_pipe():
    nodes = tree([step("root"), step("a", "root"), step("a1", "a")], {})
    assert [node.branch(draws=False) + node.step.name for node in nodes] == ["root", "  a", "    a1"]


def test_spans_that_are_no_steps_are_passed_over():
    assert drawn([step("root"), step("call", "http")], {(TRACE, "http"): "app", (TRACE, "app"): "root"}) == [
        "root",
        "└─ call",
    ]


def test_a_step_whose_parent_never_came_stands_at_the_top():
    assert drawn([step("a", "gone"), step("b")]) == ["a", "b"]


def test_the_same_span_id_in_another_trace_is_no_parent():
    assert drawn([step("a"), step("b", "a", trace_id="8b" * 16)]) == ["a", "b"]


def test_a_circle_of_reused_ids_loses_no_step():
    assert drawn([step("a", "b"), step("b", "a"), step("c", "c")]) == ["c", "a", "b"]


def test_a_chain_may_be_deeper_than_the_stack():
    steps = [step(str(i), str(i - 1)) for i in range(5000)]
    assert len(tree(steps, {})) == 5000


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12)), max_size=15))
def test_every_step_stands_once_and_after_its_parent(pairs):
    steps = [step(str(span), str(parent)) for span, parent in pairs]
    nodes = tree(steps, {})
    assert sorted(map(id, (node.step for node in nodes))) == sorted(map(id, steps))
    for above, node in itertools.pairwise(nodes):
        assert len(node.follows) <= len(above.follows) + 1
