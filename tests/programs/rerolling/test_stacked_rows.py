"""Values of equal types that become rows of one array, or stand one behind the other, are what they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import Trace
from primad.ir.program import Program
from primad.programs.rerolling.stacked_rows import concatenated, stacked_rows
from primad.recording.traced_array import TracedArray
from primad.runtime.executors.dispatch import REFERENCE, prepare

X = np.arange(96.0).reshape(4, 6, 4)
Y = 100 + X
EACH: dict[str, Callable[[Any, Any], list[Any]]] = {
    "rows": lambda x, y: [x[i] for i in range(4)],
    "rows from the end": lambda x, y: [x[3 - i] for i in range(4)],
    "some rows": lambda x, y: [x[i] for i in (0, 3, 1)],
    "transposed rows": lambda x, y: [x[i].T for i in range(4)],
    "columns": lambda x, y: [x[:, i, 1] for i in range(6)],
    "rows and columns": lambda x, y: [x[1, :4, 0], x[:, 1, 2], x[:, 2, 2]],
    "squares, some transposed": lambda x, y: [x[0, :4], x[1, :4].T, x[2, :4]],
    "parts that overlap": lambda x, y: [x[i : i + 2] for i in range(3)],
    "rows of several": lambda x, y: [x[0], y[0], x[1]],
    "rows of another": lambda x, y: [x[0], y[1], y[2]],
    "whole ones": lambda x, y: [x, x],
    "a whole one and another": lambda x, y: [x, y],
    "elements of a copy": lambda x, y: [x.T.reshape(96)[i] for i in range(5)],
    "an element and those of a copy": lambda x, y: [x[0, 0, 1], x.T.reshape(96)[3], x.T.reshape(96)[5]],
    "elements": lambda x, y: [x[i, i, 1] for i in range(4)],
    "a number": lambda x, y: [ops.reshape(ops.sum(x, axes=(0, 1, 2)), shape=(1,))] * 2,
    "a repeated number": lambda x, y: [ops.broadcast(ops.sum(x, axes=(0, 1, 2)), shape=(3,), axes=(0,))] * 3,
    "of nothing": lambda x, y: [ops.sin(x[:0]).reshape(0, 24)[:, i] for i in range(3)],
    "repeated rows": lambda x, y: [ops.broadcast(x[i], shape=(2, 6, 4), axes=(0,)) for i in range(4)],
    "numbers of a table": lambda x, y: [Y[0], x[0], Y[1]],
    "tables": lambda x, y: [Y[0], Y[2], Y[1]],
    "windows anywhere": lambda x, y: [x.reshape(96)[i : i + 5] for i in (7, 60, 3, 7, 91)],
    "windows backwards": lambda x, y: [x.reshape(96)[i : i + 5][::-1] for i in (7, 60, 3)],
    "windows at equal distances": lambda x, y: [x.reshape(96)[i : i + 5] for i in (20, 17, 14)],
    "every other element": lambda x, y: [x.reshape(96)[i : i + 9 : 2] for i in (7, 60, 3)],
    "patches": lambda x, y: [x[k, i : i + 2, j : j + 3].T for k, i, j in ((1, 0, 1), (3, 4, 0), (1, 2, 1))],
    "repeated windows": lambda x, y: [
        ops.broadcast(x.reshape(96)[i : i + 5], shape=(5, 2), axes=(1,)) for i in (7, 60, 3)
    ],
    "padded windows": lambda x, y: [
        ops.windows(x[:, 0, 0], axes=(0,), count=(4,), size=(3,), step=(1,), dilation=(1,), low=(1,))[i]
        for i in range(4)
    ],
}


def result(each: Callable[[Any, Any], list[Any]], join: Callable[[list[Any], Trace], Any]) -> Any:
    """Return what values are after they are joined in a program, and what they are."""
    trace = Trace()
    inputs = [trace.input(ArrayType(X.shape, X.dtype)) for _ in range(2)]
    nodes = [
        value.node if isinstance(value, TracedArray) else trace.capture(value)
        for value in each(*map(TracedArray, inputs))
    ]
    program = Program(trace, inputs, [join(nodes, trace), *nodes])
    trace.close()
    joined, *values = prepare(program.hoisted(), executor=REFERENCE).run([X, Y, *program.source_values])
    return joined, values


@pytest.mark.parametrize("name", EACH)
def test_rows_are_the_values(name: str) -> None:
    joined, values = result(EACH[name], stacked_rows)
    np.testing.assert_array_equal(joined, np.stack(values))


@pytest.mark.parametrize("name", ["windows anywhere", "windows at equal distances", "patches"])
def test_windows_take_as_many_ops_however_many_they_are(name: str) -> None:
    def count(times: int) -> int:
        trace = Trace()
        nodes = [value.node for value in EACH[name](*[TracedArray(trace.input(ArrayType(X.shape, X.dtype)))] * 2)]
        before = trace.size
        stacked_rows(nodes * times, trace)
        return trace.size - before

    assert count(1) == count(5) < 6


IN_TURNS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "one array": lambda x, y: [x[i] for i in range(4)],
    "two by turns": lambda x, y: [z[i] for i in range(4) for z in (x, y)],
    "one that overlaps by turns": lambda x, y: [z for i in range(3) for z in (x[i : i + 2, 0], y[i, :2])],
    "halves": lambda x, y: [x[i] for i in (0, 1, 2, 3)] + [y[i] for i in (3, 2, 1)],
    "different ones": lambda x, y: [x[0], y[0], ops.sin(x[1]), x[2]],
}


@pytest.mark.parametrize("name", IN_TURNS)
def test_pieces_come_one_behind_the_other(name: str) -> None:
    for axis in (0, 1):
        joined, values = result(IN_TURNS[name], lambda nodes, trace, axis=axis: concatenated(nodes, axis, trace))
        np.testing.assert_array_equal(joined, np.concatenate(values, axis))


@pytest.mark.parametrize("each", [ops.stop_gradient, lambda x: ops.stop_gradient(x) * 1.0])
def test_rows_of_what_has_no_derivative_have_none(each: Callable[[Any], Any]) -> None:
    """It shows an array's elements as a view does, but is none through which to look."""
    for rows in (lambda x: [each(x)[i] for i in range(3)], lambda x: [each(x[i]) for i in range(3)]):

        def f(x: Any, rows: Callable[[Any], list[Any]] = rows) -> Any:
            joined = stacked_rows([row.node for row in rows(x)], x.node.trace)
            return ops.sum(TracedArray(joined), axes=(0, 1)) + ops.sum(x, axes=(0, 1))

        np.testing.assert_array_equal(primad.grad(f)(X[0]), np.ones(X[0].shape))
