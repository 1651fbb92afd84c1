"""Slices of padded and joined arrays are slices of their parts: the same bits from fewer loops, and no copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
from primad import ops
from primad.ir.program import Program
from primad.native.llvm import compiler as native
from primad.native.schedule import joined_slices
from primad.native.schedule.joined_slices import with_slices_of_parts
from primad.native.schedule.layout import layout_of
from primad.native.schedule.shared_pads import with_shared_pads
from primad.runtime.executors.dispatch import REFERENCE
from primad.runtime.executors.executor import PLAIN
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling import middle_programs
from primad.simplify import simplify
from primad.transforms.lowering import lower

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="llvmlite is not installed")
MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]


def lowered(function: Any, *args: Any) -> Program:
    return with_shared_pads(simplify(lower(primad.trace(function)(*args))))


def laplacian(u: Any, mode: str) -> Any:
    p = np.pad(u, 1, mode=mode)
    return u + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * u)


def loops(program: Program) -> int:
    layout = layout_of(program)
    assert layout is not None
    return len(layout.units)


@pytest.mark.parametrize("mode", MODES)
def test_a_stencil_on_a_padded_array_is_one_loop(mode: str) -> None:
    u = np.random.default_rng(0).normal(size=(40, 50))
    program = lowered(lambda u: laplacian(u, mode), u)
    changed = with_slices_of_parts(program)
    assert (loops(changed), loops(with_slices_of_parts(changed))) == (1, 1)
    assert loops(program) > 1
    (found,), (wanted,) = Plan(changed).run([u]), REFERENCE.prepare(program, PLAIN).run([u])
    np.testing.assert_array_equal(found, wanted)


def test_its_transpose_reads_what_is_padded_where_it_lies() -> None:
    u, w = np.random.default_rng(1).normal(size=(2, 40, 50))
    program = lowered(primad.grad(lambda u: np.sum(w * laplacian(u, "constant") ** 2)), u)
    changed = with_slices_of_parts(program)
    assert loops(changed) < loops(program)
    assert not any(all(dict(node.params)["low"]) for node in changed.nodes if node.op is ops.pad)
    (found,), (wanted,) = Plan(changed).run([u]), REFERENCE.prepare(program, PLAIN).run([u])
    np.testing.assert_array_equal(found, wanted)


def test_a_program_stays_where_no_loop_is_saved() -> None:
    """Corners join along two axes and would be copied; what is read as a whole lies in memory anyway."""
    u = np.ones((40, 50))

    def corners(u: Any) -> Any:
        p = np.pad(u, 1)
        return p[2:, 2:] + p[:-2, 2:] + p[2:, :-2] + p[:-2, :-2]

    def whole(u: Any) -> Any:
        p = np.pad(u, 1)
        return p, p[2:, 1:-1] + p[:-2, 1:-1]

    def of_functions(u: Any) -> Any:
        return np.exp(laplacian(u, "edge"))

    for function in (corners, whole, of_functions, np.sin):
        program = lowered(function, u)
        assert with_slices_of_parts(program) is program
    program = lowered(lambda u: laplacian(u * (1.0 + 2.0j), "edge"), u)
    assert with_slices_of_parts(program) is program
    for columns, stays in ((22, True), (26, False)):  # loops read arrays of 1024 elements in parts
        program = lowered(lambda u: laplacian(u, "edge"), np.ones((40, columns)))
        assert (with_slices_of_parts(program) is program) == stays


@pytest.mark.parametrize("shape", [(48, 50), (16, 16, 16)])
def test_loops_beside_stencils(shape: tuple[int, ...]) -> None:
    """Steps that Python repeats are found to be a loop, and what is before and after them reads padded arrays."""
    inner = (slice(1, -1),) * len(shape)

    def step(u: Any) -> Any:
        c, total = u[inner], -2.0 * len(shape) * u[inner]
        for axis in range(len(shape)):
            for near in (slice(2, None), slice(None, -2)):
                total = total + u[(*inner[:axis], near, *inner[axis + 1 :])]
        return np.pad(c + 0.1 * total, 1)

    def loss(u: Any) -> Any:
        for _ in range(24):
            u = step(u)
        return np.sum(u**2)

    u = np.random.default_rng(4).normal(size=shape)
    for found, wanted in zip(primad.jit(primad.value_and_grad(loss))(u), primad.value_and_grad(loss)(u), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


shifts = st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from(["plain", "square", "column", "zeros"]))


@settings(max_examples=40)
@given(
    st.sampled_from(MODES), st.lists(shifts, min_size=1, max_size=5), st.booleans(), st.booleans(),
    st.sampled_from([36, 36, 1, 0]),
)  # fmt: skip
def test_random_slices_keep_their_bits(mode: str, taken: list[Any], twice: bool, gradient: bool, rows: int) -> None:
    """Of arrays padded once or twice, through ops on elements, a repeated row and parts that are zeros alone."""
    u = np.random.default_rng(len(taken)).normal(size=(36, 37))

    def function(u: Any) -> Any:
        p = np.pad(np.pad(u, 1, mode=mode), 1) if twice else np.pad(u, 2, mode=mode)
        total = 0.0
        for i, j, how in taken:
            forms = {"plain": p, "square": p * p, "column": p * p[:, :1], "zeros": np.pad(p * p, ((40, 0), (0, 0)))}
            total = total + forms[how][i : i + rows, j : j + 37]
        return total * total

    program = lowered(primad.grad(lambda u: np.sum(function(u))) if gradient else function, u)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joined_slices, "layout_of", layout_that_saves)
        changed = with_slices_of_parts(program)
    (found,), (wanted,) = (REFERENCE.prepare(x, PLAIN).run([u]) for x in (changed, program))
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(Plan(changed).run([u])[0], Plan(program).run([u])[0])


def test_slices_without_rows_beside_others() -> None:
    def function(u: Any) -> Any:
        p = np.pad(u, 1, mode="edge")
        return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:], p[5:5, 3:], np.roll(u, 2, 0)[3:3]

    u = np.random.default_rng(3).normal(size=(100, 110))
    for found, wanted in zip(primad.jit(function)(u), function(u), strict=True):
        np.testing.assert_array_equal(found, wanted)


def layout_that_saves(program: Program) -> Any:
    """Return a layout that has fewer loops each time that one is asked for."""
    layout = layout_of(program)
    assert layout is not None
    layout_that_saves.loops -= 1  # type: ignore[attr-defined]
    layout.units = [*layout.units[:1]] * layout_that_saves.loops  # type: ignore[attr-defined]
    return layout


layout_that_saves.loops = 1 << 20  # type: ignore[attr-defined]


@pytest.mark.parametrize("shape", [(300, 310), (40, 44, 48)])
def test_large_stencils_have_nothing_in_memory_beside_inputs_and_results(shape: tuple[int, ...]) -> None:
    def rolled(u: Any) -> Any:
        near = [np.roll(u, by, axis) for axis in range(u.ndim) for by in (1, -1)]
        return u + 0.1 * (sum(near) - 2.0 * u.ndim * u)

    u = np.random.default_rng(2).normal(size=shape)
    program = simplify(lower(primad.trace(rolled)(u)))
    plan = middle_programs.middle_plan(program, PLAIN)
    assert plan is not None and plan.peak_bytes < 2 * u.nbytes
    np.testing.assert_allclose(plan.run([u])[0], rolled(u), rtol=1e-13, atol=1e-14)
