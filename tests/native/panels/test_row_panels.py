"""Programs in panels of rows: each element has the same bits, and little lies in memory at a time."""

import numpy as np
import pytest
from msgspec.structs import replace

import primad
import primad.numpy as pnp
from primad import ops
from primad.native.llvm.compiler import compiler
from primad.native.loops.body_programs import bodies_in, step_program
from primad.native.module.outlined_text import bodies_of
from primad.native.panels import row_panels, stages
from primad.native.panels.row_panels import CutProgram, in_panels_of
from primad.native.panels.stages import in_panels
from primad.native.schedule.joined_slices import with_slices_of_parts
from primad.native.schedule.layout import layout_of
from primad.native.schedule.shared_pads import with_shared_pads
from primad.runtime.executors.dispatch import REFERENCE, prepare
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.native_regions import Partition
from primad.runtime.tiling.middle_programs import middle_plan
from primad.simplify import simplify
from primad.system.machine import ASSUMED
from primad.transforms.lowering import lower, unrolled


def program_of(function, *arguments):
    return simplify(primad.lower(primad.trace(function)(*arguments)))


def both(u, v, rows):
    """Return the rows that both have, the first ones."""
    n = min(len(u), len(v), rows)
    return u[:n], v[:n]


STEPS = {
    "apart": lambda u, v, k: u[k:] - u[:-k],
    "beside": lambda u, v, k: np.concatenate([u[:, k:], u[:, :k]], axis=1) * u,
    "rolled": lambda u, v, k: np.roll(u, k, axis=0) - u,
    "rolled back": lambda u, v, k: np.roll(u, -k, axis=0) * 0.5,
    "padded": lambda u, v, k: pnp.pad(u, ((k, 1), (0, 0))),
    "padded all around": lambda u, v, k: pnp.pad(u[:, k:-1], ((1, k), (k, 1))),
    "repeated edge": lambda u, v, k: pnp.pad(u, ((k, k), (0, 0)), mode="edge"),
    "product": lambda u, v, k: np.multiply(*both(u, v, 1000)),
    "chosen": lambda u, v, k: np.where(np.less(*both(u, v, 1000)), 0.5, both(u, v, 1000)[0]),
    "function": lambda u, v, k: np.tanh(u),
    "means of rows": lambda u, v, k: u - np.mean(u, axis=1, keepdims=True),
    "a row": lambda u, v, k: u * np.arange(1.0, 10.0),
    "every second": lambda u, v, k: u * np.concatenate([u[:, ::2], u[:, 1::2]], axis=1),
    "joined": lambda u, v, k: np.concatenate([u[:k], v, u[-k:]]),
}
REFUSED = {
    "reversed": lambda u: np.sum(((u * u)[::-1] - u) ** 2),
    "every second row": lambda u: np.sum((u * u)[::2]),
    "running": lambda u: np.sum(np.cumsum(u * u, axis=0) ** 2),
    "exchanged": lambda u: np.sum((u * u).T @ u),
    "means": lambda u: np.sum((u * u - np.mean(u * u)) ** 2),
    "means of columns": lambda u: np.sum((u * u - np.mean(u * u, axis=0)) ** 2),
}


def with_cache(monkeypatch, size):
    """Have a second cache of so many bytes."""
    for module in (row_panels, stages):
        monkeypatch.setattr(module, "SECOND_CACHE", replace(ASSUMED[2], size=size))


def drawn(rng):
    """Return a function of two grids and a number: steps that read rows of the last grids, and sums."""
    names = [str(name) for name in rng.choice(sorted(STEPS), 6)]
    places = rng.integers(1, 4, (6, 3))

    def run(x, y, scale):
        values = [x, y]
        for name, (k, i, j) in zip(names, places, strict=True):
            values.append(scale * STEPS[name](values[-min(i, len(values))], values[-min(j, len(values))], int(k)))
        return values[-1], values[-2] - 1.0, np.sum(values[-1] ** 2), np.sum(values[-3], axis=0)

    return run


def test_random_programs_in_panels_have_the_same_bits():
    """Sums over rows are sums of panels' sums; a gradient by rows runs in panels as well."""
    count = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        function = drawn(rng)
        if seed % 2:
            function = primad.grad(lambda *given, of=function: of(*given)[2], (0, 1))
        given = [*rng.uniform(-1, 1, (2, 60, 9)), 0.7]
        program = program_of(function, *given)
        rows = int(rng.integers(7, 16))
        changed = in_panels_of(program, rows)
        if changed is None:
            continue
        count += 1
        changed.check()
        before, after = (prepare(lower(unrolled(p)), executor=REFERENCE).run(given) for p in (program, changed))
        for ours, theirs in zip(after, before, strict=True):
            if np.ndim(theirs) == 2:
                np.testing.assert_array_equal(ours, theirs, err_msg=str(seed))
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    assert count > 30


@pytest.mark.parametrize("which", REFUSED)
def test_what_rows_near_do_not_give_is_not_in_panels(which):
    """Rows from far away, sums that all rows need again, products of matrices."""
    assert in_panels_of(program_of(REFUSED[which], np.ones((60, 9))), 8) is None


def residuals(u, weight):
    return weight * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])


def squares(u, weight):
    return np.sum(residuals(u, weight) ** 2)


def units_of(program, edges=True):
    """Return the loops of a program in panels, and those of the panels, at edges too."""
    steps = [step_program(of) for of in bodies_in(program) if edges or not of.is_edge]
    layouts = [layout_of(program, bodies=bodies_of(program)), *map(layout_of, steps)]
    return [unit for layout in layouts for unit in layout.units]


def test_panels_are_loops_of_their_own():
    """A number that all read makes no loop of several: what lies in memory has the rows of a panel."""
    u = np.ones((400, 30))
    program = with_shared_pads(program_of(primad.value_and_grad(squares), u, 2.0))
    changed = in_panels_of(program, 20)
    loops = [unit.nodes[0] for unit in units_of(changed) if unit.nodes[0].op.axes.pointwise]
    assert len(loops) > 6 and max(node.type.size for node in loops) <= 46 * 32


@pytest.mark.skipif(compiler() is None, reason="llvmlite is not installed")
def test_zeros_around_panels_are_in_no_memory():
    """Panels are alike, so that boxes of one are written once, however many there are."""

    def energy(u):
        p = np.pad(u, 1)
        near = [p[2:, 1:-1, 1:-1], p[:-2, 1:-1, 1:-1], p[1:-1, 2:, 1:-1], p[1:-1, :-2, 1:-1], p[1:-1, 1:-1, 2:]]
        return np.sum((sum(near) + p[1:-1, 1:-1, :-2] - 6.0 * u) ** 2)

    u = np.random.default_rng(0).normal(size=(300, 20, 22))
    program = with_slices_of_parts(with_shared_pads(program_of(primad.grad(energy), u)))
    panels = in_panels_of(program, 5)
    assert not [unit for unit in units_of(panels, edges=False) if unit.nodes[0].op is ops.pad]
    assert sum(len(step_program(of).nodes) for of in bodies_in(panels)) < 4 * len(program.nodes)
    np.testing.assert_array_equal(Plan(panels).run([u])[0], Plan(program).run([u])[0])


@pytest.mark.skipif(compiler() is None, reason="llvmlite is not installed")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients_of_stencils_take_memory_of_panels(dtype, monkeypatch):
    """Of a grid that caches do not hold, about a cache lies in memory between: with the bits of whole arrays."""
    with_cache(monkeypatch, 200_000)
    u = np.random.default_rng(0).normal(size=(600, 500)).astype(dtype)
    program = program_of(primad.value_and_grad(squares), u, dtype(0.5))
    plan = middle_plan(program)
    (part,) = plan.units
    assert part.scratch < 250_000 < Partition(with_shared_pads(program)).scratch / 8
    given = [u, dtype(0.5)]
    for _ in range(2):
        value, slope = plan.run(given)
        expected = Plan(program).run(given)
        np.testing.assert_allclose(value, expected[0], rtol=1e-5 if dtype is np.float32 else 1e-13)
        np.testing.assert_array_equal(slope, expected[1])


def test_where_panels_pay(monkeypatch):
    """Not where a cache holds all, and not where much would be computed again; there are not too many to compile."""
    with_cache(monkeypatch, 100_000)
    program = program_of(primad.value_and_grad(squares), np.ones((300, 40)), 2.0)
    held = Partition(with_shared_pads(program)).scratch if compiler() else 300_000
    assert held > 275_000 and in_panels(program, held) is not None
    assert in_panels(program, 275_000) is None
    rows = []
    for size in (100_000, 200_000, 400_000):
        with_cache(monkeypatch, size)
        rows.append(CutProgram(program).rows())
    assert 4 < rows[0] < rows[1] < rows[2] < 300

    def steps(u):
        for _ in range(12):
            u = np.roll(u, 1, axis=0) + u * np.roll(u, -1, axis=0)
        return u

    assert in_panels_of(program_of(steps, np.ones((300, 40))), 10) is None
    assert in_panels_of(program_of(steps, np.ones((300, 40))), 75) is not None


def test_panels_are_counted_along_what_is_cut():
    """Also where that is summed, and results are few rows or others."""
    for of in (
        lambda u: np.sum(np.tanh(u[1:] - u[:-1]) ** 2, axis=0),
        lambda u: (np.sum(u[1:] - u[:-1], axis=0), u[:3]),
    ):
        changed = in_panels(program_of(of, np.ones((2000, 20))), 10**9)
        assert changed is not None and len(changed.nodes) < 64 * 12


@pytest.mark.parametrize("rows", [slice(5, 5), slice(0, 0)], ids=str)
def test_arrays_without_elements_are_not_in_panels(rows, monkeypatch):
    with_cache(monkeypatch, 1000)
    u = np.linspace(0.0, 1.0, 300 * 40).reshape(300, 40)
    for of in (lambda u: (residuals(u, 2.0), (u * 2.0)[rows]), lambda u: (residuals(u, 2.0), np.sum((u * 2.0)[rows]))):
        found, empty = primad.jit(of)(u)
        np.testing.assert_array_equal(found, residuals(u, 2.0))
        assert np.shape(empty) in ((0, 40), ())
        assert in_panels_of(program_of(of, u), 30) is None


def test_what_can_fail_is_not_in_panels():
    """An error tells the place in the whole array, and the line."""
    given = np.ones((300, 40)), np.arange(3.0), np.array([1])
    plain = program_of(lambda u, w, i: squares(u, w[1]), *given)
    failing = program_of(lambda u, w, i: squares(u, w[i][0]), *given)
    assert in_panels(plain, 10**9) is not None and in_panels(failing, 10**9) is None
    complex_ = program_of(lambda u, w, i: residuals(u * 1j, w[1]), *given)  # it has no native code as it is
    assert in_panels(complex_, 10**9) is None
