"""Programs in panels stage by stage, where panels of the whole would compute too much twice: the bits stay the same."""

import numpy as np
import pytest
from msgspec.structs import replace

import primad
import primad.numpy as pnp
from primad.native.llvm.compiler import compiler
from primad.native.loops.body_programs import bodies_in
from primad.native.panels import row_panels, stages
from primad.native.panels.row_panels import CutProgram, NotInPanelsError
from primad.native.panels.stages import in_panels
from primad.native.schedule.shared_pads import with_shared_pads
from primad.runtime.executors.dispatch import REFERENCE, prepare
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.native_regions import Partition
from primad.runtime.tiling.middle_programs import middle_plan
from primad.simplify import simplify
from primad.system.machine import ASSUMED
from primad.transforms.lowering import lower, unrolled
from tests.sweeps import thinned


def program_of(function, *arguments):
    return simplify(primad.lower(primad.trace(function)(*arguments)))


def with_cache(monkeypatch, size):
    """Have a second cache of so many bytes."""
    for module in (row_panels, stages):
        monkeypatch.setattr(module, "SECOND_CACHE", replace(ASSUMED[2], size=size))


def run(program, *arrays):
    """Return what a program computes: as native code where there is any, else step after step."""
    if compiler() is None:
        return prepare(lower(unrolled(program)), executor=REFERENCE).run(list(arrays))
    return Plan(program, units=Partition(program).units()).run(list(arrays))


def rolled(u, k, axis):
    return np.roll(u, k, axis)


def shifted(u, k, axis):
    """Return what lies beside, and zeros beyond the edge."""
    widths = [(1, 1) if i == axis else (0, 0) for i in range(u.ndim)]
    places = [slice(1 - k, u.shape[i] + 1 - k) if i == axis else slice(None) for i in range(u.ndim)]
    return pnp.pad(u, widths)[tuple(places)]


def mirrored(u, k, axis):
    """Return what lies beside, and at an edge the same once more."""
    edge, rest = [slice(None)] * u.ndim, [slice(None)] * u.ndim
    edge[axis], rest[axis] = (slice(0, 1), slice(0, -1)) if k > 0 else (slice(-1, None), slice(1, None))
    parts = u[tuple(edge)], u[tuple(rest)]
    return np.concatenate(parts if k > 0 else parts[::-1], axis=axis)


def burgers(near):
    def rate(u, v):
        def along(a, axis):
            return (near(a, -1, axis) - near(a, 1, axis)) / 0.2

        def spread(a):
            return sum(near(a, k, axis) for axis in (0, 1) for k in (1, -1)) - 4.0 * a

        return tuple(-u * along(a, 0) - v * along(a, 1) + 0.01 * spread(a) for a in (u, v))

    return rate


def waves(near):
    """Shallow water."""

    def rate(h, u):
        flux = h * u
        return -(near(flux, -1, 0) - near(flux, 1, 0)), -(near(0.5 * u * u + h, -1, 1) - near(0.5 * u * u + h, 1, 1))

    return rate


def limited(near):
    """Slopes that are chosen, as of methods that do not oscillate."""

    def rate(u, v):
        left, right = u - near(u, 1, 0), near(u, -1, 0) - u
        slope = np.where(left * right > 0, 2.0 * left * right / (np.abs(left + right) + 1e-3), 0.0)
        return -(slope - near(slope, 1, 0)) * v, near(u * v, 1, 1) - u

    return rate


RATES = {"burgers": burgers, "waves": waves, "limited": limited}
SHIFTS = {"rolled": rolled, "shifted": shifted, "mirrored": mirrored}


def loss(rate, steps):
    """Return the sum of squares after steps of Heun's method."""

    def of(u, v):
        for _ in range(steps):
            a, b = rate(u, v)
            c, d = rate(u + 0.01 * a, v + 0.01 * b)
            u, v = u + 0.005 * (a + c), v + 0.005 * (b + d)
        return np.sum(u**2) + np.sum(u * v)

    return of


@pytest.mark.one_in(2)
@thinned(3, rate=list(RATES), shift=list(SHIFTS))
def test_stages_have_the_bits_of_whole_arrays(rate, shift, monkeypatch):
    """Of values that are handed on, and of sums but for the last digits; few texts, however many rows there are."""
    with_cache(monkeypatch, 2000)
    u, v = np.random.default_rng(0).uniform(0.5, 1.5, (2, 160, 12))
    program = program_of(primad.value_and_grad(loss(RATES[rate](SHIFTS[shift]), 2), argnums=(0, 1)), u, v)
    with pytest.raises(NotInPanelsError):
        CutProgram(program).rows()
    changed = in_panels(program, 10**9)
    changed.check()
    assert 3 < len(bodies_in(changed)) < 40
    before, after = (run(each, u, v) for each in (program, changed))
    np.testing.assert_allclose(after[0], before[0], rtol=1e-13)
    for ours, theirs in zip(after[1:], before[1:], strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.skipif(compiler() is None, reason="llvmlite is not installed")
def test_stages_need_little_memory(monkeypatch):
    with_cache(monkeypatch, 2000)
    u, v = np.random.default_rng(0).uniform(0.5, 1.5, (2, 1500, 12))
    program = program_of(primad.value_and_grad(loss(burgers(rolled), 1), argnums=(0, 1)), u, v)
    (part,) = middle_plan(program).units
    assert part.scratch < Partition(with_shared_pads(program)).scratch / 2


def test_means_between_are_stages_of_their_own(monkeypatch):
    """What all rows need again is there when the next stage begins."""
    with_cache(monkeypatch, 2000)

    def of(u):
        w = np.tanh(u) * np.roll(u, 1, 0)
        w = w - np.mean(w)
        w = w * np.roll(w, 1, 0)
        return np.sum((w - np.mean(w, axis=0)) ** 2)

    u = np.random.default_rng(0).normal(size=(400, 20))
    program = program_of(primad.grad(of), u)
    changed = in_panels(program, 10**9)
    assert changed is not None
    before, after = (run(each, u) for each in (program, changed))
    np.testing.assert_allclose(after[0], before[0], rtol=1e-12, atol=1e-13)


def spread(u):
    return sum(rolled(u, k, axis) for axis in range(u.ndim) for k in (1, -1)) - 4.0 * u


def masked(u, mask):
    w = np.where(mask, spread(u), 0.0)
    return np.sum(np.where(np.roll(mask, 1, 0), spread(w) * w, u) ** 2)


def scaled(u, count):
    return np.sum((spread(spread(u) * count) * np.roll(count, 1, 0)) ** 2)


def along_axes(u, column, row):
    w = spread(spread(u) * column + row) * row
    return np.sum(spread(w * w) * column) + np.sum(w[0])


def half_away(u):
    return np.sum((np.roll(u, 60, 0) * spread(u) * spread(u * u)) ** 2)


DRAWN = np.random.default_rng(1)
GRID = DRAWN.normal(size=(121, 13))
KINDS = {
    "a mask": (masked, (GRID, DRAWN.random((121, 13)) > 0.5)),
    "integers": (scaled, (GRID, DRAWN.integers(1, 4, (121, 13)))),
    "one axis": (lambda u: np.sum((spread(spread(u) * u)) ** 2), (DRAWN.normal(size=3001),)),
    "a column and a row": (along_axes, (GRID, DRAWN.normal(size=(121, 1)), DRAWN.normal(size=13))),
    "rows far away": (half_away, (GRID,)),
    "float32": (lambda u: np.sum((spread(spread(u) * u)) ** 2), (GRID.astype("f"),)),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", KINDS)
def test_operands_of_all_kinds(kind, monkeypatch):
    """Truth values, integers, arrays of one axis and of one row, values from the other half of a grid."""
    with_cache(monkeypatch, 2000)
    function, given = KINDS[kind]
    program = program_of(primad.value_and_grad(function), *given)
    changed = in_panels(program, 10**9)
    assert changed is not None and bodies_in(changed)
    before, after = (run(each, *given) for each in (program, changed))
    np.testing.assert_allclose(after[0], before[0], rtol=1e-4 if kind == "float32" else 1e-12)
    np.testing.assert_array_equal(after[1], before[1])
