"""Cases of loops, against the steps one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram
from primad.ops.record.primitive import one_or_all
from primad.programs.loops.scan import Form, scan
from primad.programs.loops.while_loop import while_loop
from primad.recording.tracing import trace
from primad.transforms import lower
from primad.verify.cases.drawn_cases import Case, Choices, Example, Operand, floats
from primad.verify.exact.number_systems import Numbers
from primad.verify.exact.object_arrays import Evaluator

Array = np.ndarray[Any, Any]


def _nonlinear(c: Any, k: Any, x: Any, p: Any) -> Any:
    """Carried: a vector, and a number that the vector does not change."""
    spread = ops.broadcast(x, shape=(2,), axes=(0,))
    return ops.flip(c, axes=(0,)) * p + ops.sin(c) * spread, k * k + x, c * c * p


def _linear(c: Any, x: Any, p: Any) -> Any:
    """Linear in the carried vector and the rows."""
    return ops.flip(c, axes=(0,)) * p + ops.sin(p) * c + x, c * p + x * p


def _draw(choose: Choices) -> Example:
    length = choose.integer(0, 3)
    counted, reverse = bool(choose.integer(0, 1)), bool(choose.integer(0, 1))
    is_linear = bool(choose.integer(0, 1))
    row = (2,) if is_linear else ()
    carried = [(2,)] if is_linear else [(2,), ()]
    body = _linear if is_linear else _nonlinear
    types = [ArrayType(shape, float) for shape in (*carried, row, (2,))]
    operands = [floats(shape, -1.5, 1.5) for shape in (*carried, (length, *row), (2,))]
    if counted:
        count = np.array(choose.integer(-1, length + 1), np.int64)  # of none, and of more than there are, too
        operands = [Operand(ArrayType((), np.int64), array=count), *operands]
    first = int(counted)
    form = Form(len(carried), 1, length, reverse, counted)
    linear = (first, first + 1) if is_linear else ()
    return Example(tuple(operands), {"of": ClosedProgram(trace(body)(*types)), **form._asdict()}, linear=linear)


def _steps(n: Numbers, *xs: Array, of: ClosedProgram, **params: Any) -> Any:
    """Take the steps; rows of results are zeros where none was taken."""
    form = Form(**params)
    count, carried, rows, fixed = form.parts(xs)
    results: list[Array]
    taken = min(max(int(count[0]), 0), form.length) if count else form.length
    evaluator, body = Evaluator(n), lower(of.hoisted)  # whose constants are literals: exact, as those outside
    found: list[list[Array]] = []
    for i in reversed(range(taken)) if form.reverse else range(taken):
        row = [np.asarray(x[i], object) for x in rows]
        carried, results = _cut(evaluator.run(body, [*carried, *row, *fixed]), form.carry)
        found.append(results)
    if form.reverse:
        found.reverse()
    stacks = _stacked(n, found, form.length, of.out_types[form.carry :])
    return one_or_all([*carried, *stacks])


def _stacked(n: Numbers, found: Sequence[Sequence[Array]], length: int, types: Sequence[ArrayType]) -> list[Array]:
    """Stack the results of steps, with zeros behind."""
    stacks = []
    for k, type in enumerate(types):
        whole = np.empty((length, *type.shape), object)
        whole[...] = n.number(0.0)
        for i, results in enumerate(found):
            whole[i] = results[k]
        stacks.append(whole)
    return stacks


def _cut(items: Sequence[Array], at: int) -> tuple[list[Array], list[Array]]:
    return list(items[:at]), list(items[at:])


def _draw_while(choose: Choices) -> Example:
    """A vector that turns until a number is reached; from the start, perhaps."""

    def body(c: Any, k: Any, x: Any, p: Any) -> Any:
        return ops.flip(c, axes=(0,)) * p + ops.sin(c) * x, k + 1, x, k < 2, c * p

    types = [ArrayType((2,), float), ArrayType((), np.int64), *[ArrayType((2,), float)] * 2]
    go = Operand(ArrayType((), np.bool_), array=np.array(bool(choose.integer(0, 3))))
    start = Operand(types[1], array=np.array(choose.integer(0, 2)))
    vectors = [floats((2,), -1.5, 1.5) for _ in range(3)]
    params = {"of": ClosedProgram(trace(body)(*types)), "carry": 3, "most": 3}
    return Example((go, vectors[0], start, *vectors[1:]), params)


def _while(n: Numbers, go: Array, *xs: Array, of: ClosedProgram, carry: int, most: int, separate: bool = False) -> Any:
    """Take the steps; the numbers that the condition compares are known."""
    evaluator, body = Evaluator(n), lower(of.hoisted)  # whose constants are literals: exact, as those outside
    carried, fixed = _cut(list(xs), carry)
    found: list[list[Array]] = []
    while bool(go):
        (*carried, go), results = _cut(evaluator.run(body, [*carried, *fixed]), carry + 1)
        found.append(results)
    return (np.array(len(found)), *carried, *_stacked(n, found, most, of.out_types[carry + 1 :]))


LOOP_CASES: tuple[Case, ...] = (Case(scan, _draw, 16, _steps), Case(while_loop, _draw_while, 8, _while))
