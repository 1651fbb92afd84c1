"""Loops whose steps are too large for a function that Python calls, and native all the same."""

import numpy as np
import pytest

import primad
from primad.ir.node import leaf_value
from primad.ir.program import ClosedProgram
from primad.native.llvm import compiler as native
from primad.runtime.executors.dispatch import prepared_call
from primad.runtime.loops.driven_loops import DrivenLoop
from primad.runtime.loops.loop_executables import steps_of
from primad.runtime.plan.compiled_program import CompiledProgram

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")


def near(u):
    p = np.pad(u, 1)
    return u + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * u)


def step(u, row):
    v = near(near(near(u))) * (1.0 + row)
    return v, v[0] - row


def sorting(u, row):
    """Sorts of matrices have no native code, so that Python takes the step."""
    v = np.sort(near(near(u)), axis=0) * (1.0 + row)
    return v, v[0] - row


@pytest.mark.one_in(6)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("function", [step, sorting])
def test_steps_that_are_one_native_part_are_taken_by_a_native_loop(function, dtype, reverse):
    """Results are those of steps one by one, bit for bit, and rows are read and written from either end."""
    rng = np.random.default_rng(0)
    u, rows = rng.normal(size=(300, 360)).astype(dtype), rng.normal(size=(4, 360)).astype(dtype)
    of = ClosedProgram(primad.trace(function)(u, rows[0]))
    numbers = [leaf_value(node) for node in of.program.sources]
    executable = prepared_call(of)
    assert not isinstance(executable, CompiledProgram)
    steps = steps_of(of, 1, 1, reverse, False)
    assert isinstance(steps, DrivenLoop) is (function is step)
    state, found = [u.copy()], [np.zeros_like(rows)]
    assert steps.run(state, [rows], numbers, found, 4) == 4
    value, expected = u, np.zeros_like(rows)
    for i in reversed(range(4)) if reverse else range(4):
        value, expected[i] = executable.run([value, rows[i], *numbers])
    np.testing.assert_array_equal(state[0], value)
    np.testing.assert_array_equal(found[0], expected)
