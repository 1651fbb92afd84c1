"""Loops that end by themselves, in other loops: what is kept of them does not grow with the steps they may take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import primad
from primad.ir.array_types import ArrayType
from primad.ir.node import Leaf, Node, literal_value
from primad.ir.program import ClosedProgram
from primad.native.emit import op_table
from primad.native.llvm.compile_limits import BUDGET
from primad.recording.tracing import program_of
from primad.runtime.loops.loop_runs import run_while
from primad.runtime.loops.rematerialised_rows import Rows

X = np.linspace(0.1, 0.6, 6)


def sines(most: int) -> Callable[[Any], Any]:
    def step(state: Any) -> Any:
        return 0.5 * np.sin(state[0]), state[1] + 0.1 * state[0] ** 2

    return lambda b: primad.while_loop(lambda state: np.max(abs(state[0])) > 1e-4, step, (b, b), max_steps=most)[1]


def roots(most: int) -> Callable[[Any], Any]:
    def step(x: Any) -> Any:
        return 0.5 * (x + 1.0)

    return lambda b: b * primad.while_loop(lambda x: np.any(abs(x - 1.0) > 1e-3), step, b, max_steps=most)


def each_of(solved: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.sum(primad.scan(lambda u, _: (solved(u), None), x, np.arange(4.0))[0])


def while_inside(solved: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def outer(x: Any) -> Any:
        return primad.while_loop(lambda s: s[1] < 3.0, lambda s: (solved(s[0]), s[1] + 1.0), (x, 0.0), max_steps=9)[0]

    return lambda x: np.sum(primad.scan(lambda u, _: (outer(u), None), x, np.arange(2.0))[0])


@pytest.mark.parametrize("around", [each_of, while_inside])
@pytest.mark.parametrize("solver", [sines, roots])
def test_what_outer_loops_stack_does_not_grow_with_the_most_steps(solver: Any, around: Any) -> None:
    def largest(most: int) -> int:
        gradient = primad.lower(primad.trace(primad.grad(around(solver(most))))(X))
        outer = [node for node in gradient.nodes if _is_loop(node)]
        assert outer
        return max(node.type.nbytes for node in outer)

    assert largest(60) == largest(100_000)


def _is_loop(node: Node) -> bool:
    return not isinstance(node.op, Leaf) and node.op.programs.loop is not None


@pytest.mark.one_in(6)
@pytest.mark.parametrize("around", [each_of, while_inside])
@pytest.mark.parametrize("solver", [sines, roots])
@pytest.mark.parametrize("native", [True, False])
def test_derivatives_are_the_same_for_all_most_steps(
    solver: Any, around: Any, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not native:
        monkeypatch.setattr(op_table, "BUDGET", replace(BUDGET, stacks=0))
    short, long = (around(solver(most)) for most in (60, 4_000))
    assert np.array_equal(primad.grad(short)(X), primad.grad(long)(X))
    assert np.allclose(primad.hessian(short)(X), primad.hessian(long)(X))
    primad.check_grads(long, (X,))


def test_rows_that_no_step_wrote_are_zeros_to_whoever_reads_them() -> None:
    def step(x: Any) -> Any:
        return [x + 1.0, x < 3.0, x * 2.0]

    of = ClosedProgram(program_of([ArrayType((), np.dtype(float))], step))
    count, last, rows = run_while(of, [True, 0.0, *map(literal_value, of.program.sources)], 1, 1000, (0,), 1_000_000)
    assert isinstance(rows, Rows) and (count, last) == (4, 4.0)
    assert np.array_equal(np.asarray(rows), [0.0, 2.0, 4.0, 6.0, *[0.0] * 996])


def test_rows_that_only_loops_read_are_not_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op_table, "BUDGET", replace(BUDGET, stacks=0))
    gradients = [primad.jit(primad.grad(f)) for f in (lambda x: np.sum(sines(100_000)(x)), each_of(sines(100_000)))]
    expected = [gradient(X) for gradient in gradients]
    cleared: list[int] = []

    def zeros(shape: Any, dtype: Any = float) -> Any:
        cleared.append(int(np.prod(shape)))
        return original(shape, dtype)

    original = np.zeros
    monkeypatch.setattr(np, "zeros", zeros)
    found = [gradient(X) for gradient in gradients]
    monkeypatch.undo()
    assert all(map(np.array_equal, found, expected))
    assert max(cleared, default=0) < 1000
