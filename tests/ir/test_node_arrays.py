"""The arrays of a program say of its nodes what one finds by walking from node to node."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import primad
from primad.ir.node import Leaf, Node, Trace, params_key
from primad.ir.node_arrays import NodeArrays
from primad.ir.program import Program
from primad.programs.compacting import compact
from primad.recording.traced_array import TracedArray


def mixed(x: Any) -> Any:
    """Return something of views of views, joined arrays, numbers, captured arrays and several results."""
    rows = [np.sin(x[i, 1:][::-1]) * float(i) + np.arange(3.0) for i in range(5)]
    q, r = np.linalg.qr(np.stack([*rows[:3]]))
    return np.sum(np.concatenate([q, r]).T[0]) + np.sum(np.stack(rows)[2:, 0])


def over_an_older_trace() -> Program:
    """Return a program that takes nodes of another one, among them a view."""
    outer = Trace()
    x = TracedArray(outer.input(primad.ArrayType((3, 4), np.float64)))
    inner = Trace()
    y = TracedArray(inner.input(primad.ArrayType((4,), np.float64)))
    return Program(inner, [y.node], [(np.cos(y[::-1]) * x[1] + x[1][::-1] * np.sum(x)).node])


def root(node: Node, program: Program) -> Node:
    while is_view(node) and node.trace is program.trace:
        (node,) = node.inputs
    return node


def is_view(node: Node) -> bool:
    return not isinstance(node.op, Leaf) and node.op.memory.views and node.op.name != "project"


@pytest.mark.parametrize("program", [primad.trace(mixed)(np.ones((5, 4))), over_an_older_trace()], ids=["mixed", "two"])
def test_columns_are_what_a_walk_finds(program: Program) -> None:
    """Kinds, operands and what views show, node by node."""
    arrays = NodeArrays(program)
    own = program.nodes
    assert arrays.nodes == [*own, *program.captured] and arrays.own == len(own)
    assert [arrays.place(node) for node in arrays.nodes] == list(range(len(arrays.nodes)))
    assert arrays.places(own).tolist() == list(range(len(own)))
    stranger = Node(own[-1].op, own[-1].inputs, own[-1].params, own[-1].type, program.trace, own[-1].index)
    assert arrays.place(stranger) == -1
    for i, node in enumerate(own):
        taken = arrays.operands[arrays.first[i] :][: arrays.count[i]]
        assert tuple(arrays.nodes[j] for j in taken) == node.inputs
    backwards = np.arange(len(own))[::-1]
    flat = [x for i in backwards for x in own[i].inputs]
    assert [arrays.nodes[j] for j in arrays.operands_of(backwards)] == flat
    forms = [
        (x.op, x.type, len(x.inputs), None if isinstance(x.op, Leaf) else params_key(x.params)) for x in arrays.nodes
    ]
    for form, kind in zip(forms, arrays.kinds, strict=True):
        assert [other == form for other in forms] == (arrays.kinds == kind).tolist()
    views = arrays.of_kinds(is_view)
    views[arrays.own :] = False
    assert views.any() and [arrays.nodes[i] for i in arrays.roots(views)] == [root(x, program) for x in arrays.nodes]


def calls_of(steps: int) -> tuple[int, int]:
    """Return how many Python functions are called to find the loop of a function, and how many nodes it has."""
    data = np.random.default_rng(0).normal(size=(steps, 3))

    def loop(p: Any) -> Any:
        y, total = p, 0.0
        for n in range(steps):
            y = y + 0.01 * np.stack([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])
            total = total + np.sum((y - data[n]) ** 2)
        return total

    program = primad.trace(loop)(np.ones(3))
    calls = 0

    def count(frame: Any, event: str, _: Any) -> None:
        nonlocal calls
        calls += event == "call"

    compact(program)
    del program._walk
    sys.setprofile(count)
    try:
        found = compact(program)
    finally:
        sys.setprofile(None)
    assert "are one scan" in found.notes[0]
    return calls, len(program.nodes)


def test_a_loop_is_found_in_few_calls_for_each_node() -> None:
    """What is asked of each node is asked of all at once: only rows of data, one in 25 nodes, are looked at alone."""
    (few, short), (many, long) = calls_of(100), calls_of(400)
    assert (many - few) / (long - short) <= 0.6, (few, short, many, long)
