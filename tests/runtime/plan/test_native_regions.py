"""Small programs in which something has no native code: native parts with NumPy's steps between them."""

import random
import threading

import numpy as np
import pytest

import primad
from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import Leaf
from primad.native.emit import op_table
from primad.native.emit.emit_context import Missing, Written
from primad.native.llvm import compiler as native
from primad.runtime.plan import compiled_program, native_regions
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.native_regions import partitioned
from primad.runtime.plan.native_steps import NativePart
from primad.simplify import simplify
from primad.transforms import vjp
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program
from tests.sweeps import WIDTHS, thinned

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")


def parts_of(plan):
    return [unit for unit in plan.units if isinstance(unit, NativePart)]


@pytest.mark.usefixtures("width")
@thinned(2, width=WIDTHS)
def test_random_programs_in_which_some_ops_have_no_native_code(monkeypatch):
    """Whatever has no native code: values are those of the reference, and each part runs after what it reads."""
    mixed = 0
    for seed in range(40):
        program = draw_program(Seeded(seed))
        arguments = [np.random.default_rng(seed).uniform(0.2, 0.8, type.shape) for type in program.in_types]
        for transformed in (program, vjp(program)):
            lowered = simplify(transformed)
            extra = [np.ones(type.shape, type.dtype) for type in transformed.in_types[len(arguments) :]]
            names = {node.op.name for node in lowered.nodes if node.op.name in ops.BY_NAME}
            used = sorted(names - {"project"})  # which is written by the op that it is a result of
            lacking = random.Random(seed).sample(used, max(1, len(used) // 3)) if used else []
            left_out = Missing("it is left out")
            with monkeypatch.context() as patch:
                patch.setattr(native_regions, "FEWEST_STEPS", 1 + seed % 3)
                for name in lacking:
                    patch.setitem(op_table.NATIVE, ops.BY_NAME[name], Written(left_out, left_out))
                plan = partitioned(lowered)
            if plan is None:
                continue
            mixed += len(plan.units) > len(parts_of(plan)) > 0
            known = {*plan.program.inputs, *(x for x in plan.program.nodes if isinstance(x.op, Leaf))}
            for unit in plan.units:
                assert known.issuperset(unit.inputs)
                known.update(unit.results if isinstance(unit, NativePart) else [unit])
            wanted = Plan(lowered).run([*arguments, *extra])
            for _ in range(2):
                for got, want in zip(plan.run([*arguments, *extra]), wanted, strict=True):
                    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}, {lacking}")
    assert mixed > 12


@primad.opaque(result=lambda x: x)
def ordered(x):
    assert isinstance(x, (np.ndarray, np.float64))
    return np.sort(x) if np.ndim(x) else x


@primad.opaque(result=lambda x: ArrayType((), np.float64))
def largest(x):
    return np.max(x)


def test_results_of_an_op_stay_with_it():
    """What is too short for a part moves to a later one, but for results of an op that stays where it is."""

    def function(x):
        last, rows = primad.scan(lambda c, _: (c * 0.5 + 1.0, c * c), x, None, length=3)
        found = rows[1] * ordered(last)
        return np.sin(found) + np.cos(found) * np.exp(found)

    x = np.linspace(0.1, 0.5, 5)
    plan = partitioned(simplify(primad.lower(primad.trace(function)(x))))
    assert len(parts_of(plan)) == 1
    np.testing.assert_allclose(plan.run([x])[0], function(x), rtol=1e-12)


def opaque_between(x):
    y = np.sin(x) * x
    for _ in range(5):
        y = y * 1.1 + np.cos(y)
    z = ordered(y[::-1])
    m = largest(z * 2.0)
    for _ in range(5):
        z = z * 0.9 + np.sin(z) * m
    return z, np.sum(z * z) + ordered(m * 0.5), y[2:]


def test_one_op_of_a_users_own_leaves_two_parts():
    """Of a program with opaque functions what lies between them is native, and in few parts."""
    program = primad.trace(opaque_between)(np.ones(40))
    plan = partitioned(simplify(primad.lower(program)))
    alone = [unit for unit in plan.units if not isinstance(unit, NativePart) and not unit.op.memory.views]
    assert len(parts_of(plan)) == 2 and len(alone) <= 6
    x = np.linspace(0.1, 2.0, 40)
    f = primad.jit(opaque_between)
    for got, want in zip(f(x), opaque_between(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_a_long_loop_leaves_parts_around_it(monkeypatch):
    """What is beside a loop that is too much work for one function is native all the same, in few parts."""

    def f(x):
        y = np.tanh(np.sin(x) * 2.0) + np.cos(x * x)
        z = primad.scan(lambda c, _: (np.sin(c[::-1]) * 0.9, None), y, length=50)[0]
        return np.sum(np.exp(z) * np.sin(z) + z)

    monkeypatch.setattr(compiled_program, "ALONE_WORK", 40 * 50)
    plan = partitioned(simplify(primad.lower(primad.trace(f)(np.ones(40)))))
    assert len(parts_of(plan)) == 2
    monkeypatch.setattr(compiled_program, "ALONE_WORK", 40)
    assert partitioned(simplify(primad.lower(primad.trace(f)(np.ones(40))))) is None


def test_threads_that_run_the_same_parts_at_once():
    f = primad.jit(opaque_between)
    inputs = [np.linspace(0.1, k + 1.0, 40) for k in range(4)]
    wanted = [f(x) for x in inputs]
    failures = []

    def work(x, want):
        for _ in range(100):
            if not all(np.array_equal(a, b) for a, b in zip(f(x), want, strict=True)):
                failures.append(x)

    threads = [threading.Thread(target=work, args=item) for item in zip(inputs, wanted, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_equal_parts_are_compiled_once():
    """A loop with a step that has no native code compiles one part for all its turns."""

    def run(x):
        for _ in range(6):
            x = ordered(np.tanh(x) * 1.5 + np.cos(x) * x - 0.25)
        return x

    program = primad.trace(run)(np.ones(7))
    parts = parts_of(partitioned(simplify(primad.lower(program))))
    assert len(parts) == 6 and len({part.kernel for part in parts}) == 1


def test_what_fails_in_a_part_is_said_as_elsewhere():
    """An index out of range in a native part: the error names the value and its place."""

    def run(x, i):
        y = np.sin(x) * 2.0 + np.cos(x) * x
        return ordered(y)[i] * 2.0 + np.sum(y) * y[i] - 1.0

    x, i = np.arange(5.0), np.array([[1, 2], [3, 7]])
    assert parts_of(partitioned(simplify(primad.lower(primad.trace(run)(x, i)))))
    found = []
    for backend in ("native", "reference"):
        with pytest.raises(primad.PrimadError, match="7") as caught:
            primad.jit(run, backend=backend)(x, i)
        found.append(caught.value.failure.place)
    assert found[0] == found[1]


def test_a_result_goes_where_the_op_goes_that_has_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short run that is needed late only moves there as a whole."""
    monkeypatch.setattr(native_regions, "FEWEST_STEPS", 4)
    monkeypatch.setattr(native_regions, "WORTHWHILE_WORK", 10**9)

    def f(x, y):
        values, _ = np.linalg.eigh(x)
        middle = ordered(y)
        z = np.sin(middle) * values
        return np.cos(z) * np.exp(z) + z * middle

    x, y = np.diag([1.0, 2.0, 3.0]), np.array([3.0, 1.0, 2.0])
    program = simplify(primad.trace(f)(x, y).hoisted())
    plan = partitioned(program)
    np.testing.assert_allclose(plan.run([x, y])[0], f(x, y), rtol=1e-12)
    steps = [unit.op.name if not isinstance(unit, NativePart) else "part" for unit in plan.units]
    assert steps[0] != "part", steps
