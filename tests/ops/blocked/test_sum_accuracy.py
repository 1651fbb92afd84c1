"""Sums are as accurate as sums in pairs: whatever is summed, along any axes, in any layout, and however it runs.

The arrays are nearly constant: then the errors of a running sum do not cancel, and grow with what is summed. Bounds are
in units of the last place of the sum of all sizes; what a running sum loses stands beside them
(`test_a_running_sum_is_beyond_the_bounds`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
from primad.ir.program import Program
from primad.native.emit import grouped_sums, kernels
from primad.ops.blocked import groups
from primad.parallel.threads import on_threads
from primad.runtime.executors import native_executor
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling import tile_choice, tiled_plan
from primad.simplify import simplify

Array = Any
Axes = tuple[int, ...]


def bound(n: int, ulps: float = 0.0) -> float:
    """Return how many units a sum of n numbers may err that each err by some units."""
    return 3 + math.log2(n) / 4 + ulps


class Form(NamedTuple):
    """A sum.

    Attributes:
        function: (array, axes) -> sum.
        terms: what is summed, of exact numbers.
        finish: (exact sum, count) -> exact result.
        ulps: how far the terms, and what is made of their sum, are from exact ones.
    """

    function: Callable[[Array, Axes], Array]
    terms: Callable[[Array], Array] = lambda x: x
    finish: Callable[[Array, int], Array] = lambda total, n: total
    ulps: float = 0.0


def _variance(x: Array, axes: Axes) -> Array:
    return np.var(np.concatenate([x, -x], axis=axes[0]), axis=axes)


def _deviation(x: Array, axes: Axes) -> Array:
    return np.std(np.concatenate([x, -x], axis=axes[0]), axis=axes)


def _loss_gradient(x: Array, axes: Axes) -> Array:
    kept = [1 if axis in axes else n for axis, n in enumerate(x.shape)]
    slope = primad.grad(lambda scale: np.sum(np.exp(scale * x)))(np.ones(kept, x.dtype))
    return np.reshape(slope, [n for axis, n in enumerate(kept) if axis not in axes])


def _in_a_step(x: Array, axes: Axes) -> Array:
    def step(carry: Array, _: Any) -> tuple[Array, Array]:
        return carry, np.sum(x * (1 + carry), axis=axes)

    return primad.scan(step, x.dtype.type(0), length=2)[1][1]


FORMS = {
    "sum": Form(lambda x, axes: np.sum(x, axis=axes)),
    "mean": Form(lambda x, axes: np.mean(x, axis=axes), finish=lambda total, n: total / n, ulps=1),
    "squares": Form(lambda x, axes: np.sum(x * x, axis=axes), lambda x: x * x, ulps=1),
    "exponentials": Form(lambda x, axes: np.sum(np.exp(x), axis=axes), np.exp, ulps=2),
    "norm": Form(
        lambda x, axes: np.sqrt(np.sum(np.abs(x) ** 2, axis=axes)), np.square, lambda t, n: np.sqrt(t), ulps=1
    ),
    "logsumexp": Form(
        lambda x, axes: np.exp(primad.numpy.special.logsumexp(x - 1, axis=axes) - math.log(x.size)) * x.size,
        lambda x: np.exp(x - 1),
        ulps=12,
    ),
    "var": Form(_variance, np.square, lambda total, n: total / n, ulps=3),
    "std": Form(_deviation, np.square, lambda total, n: np.sqrt(total / n), ulps=3),
    "products": Form(lambda x, axes: np.sum(x * x[::-1][::-1] * x, axis=axes), lambda x: x**3, ulps=2),
    "gradient": Form(_loss_gradient, lambda x: x * np.exp(x), ulps=3),
    "step": Form(_in_a_step),
}
LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "sliced": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "rows": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: x[::-1],
    "turned": lambda x: np.ascontiguousarray(x.swapaxes(0, -1)).swapaxes(0, -1),
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
}
EDGES = sorted({edge + off for edge in (8, 64, 160, 256, 1024, 2560, 4096, 16384, 65536) for off in (-1, 0, 1, 5)})
"""Lengths around lanes, groups, groups of groups, and tiles."""


def exact_sum(x: Array, axes: Axes) -> Array:
    """Return a sum in extended precision, along memory, where NumPy adds in pairs."""
    last = np.moveaxis(np.asarray(x, np.longdouble), axes, range(-len(axes), 0))
    rest = last.shape[: last.ndim - len(axes)]
    return np.ascontiguousarray(last.reshape(*rest, -1)).sum(axis=-1)


def units(found: Array, exact: Array, dtype: Any) -> float:
    """Return the largest error, in units of the last place of the exact value."""
    assert np.shape(found) == np.shape(exact) and np.asarray(found).dtype == dtype
    return float(np.max(np.abs(np.asarray(found, np.longdouble) - exact) / exact) / np.finfo(dtype).eps)


def planned(function: Any, *arguments: Array) -> tuple[Program, list[Array]]:
    """Return a lowered program, and what it is applied to."""
    program = primad.trace(function)(*arguments)
    return simplify(program.hoisted()), [*arguments, *program.source_values]


def in_steps(function: Any, *arguments: Array) -> Array:
    """Run step by step, with kernels."""
    program, given = planned(function, *arguments)
    return Plan(program, fused=1).run(given)[0]


def in_tiles(lengths: tuple[int, ...]) -> Callable[..., Array]:
    """Return what runs in short tiles, native ones where some lengths are allowed."""

    def run(function: Any, *arguments: Array) -> Array:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tile_choice, "NATIVE_LENGTHS", lengths)
            patch.setattr(tiled_plan, "WORTHWHILE_BYTES", 1)
            patch.setattr(native_executor, "WORTHWHILE_BYTES", 1)
            patch.setattr(tiled_plan, "tile_length", lambda dimension: max(8, dimension.length // 500))
            program, given = planned(function, *arguments)
            return tiled_plan.make_plan(program).run(given)[0]

    return run


WAYS: dict[str, Callable[..., Array]] = {
    "whole": lambda function, *arguments: primad.jit(function)(*arguments),
    "reference": lambda function, *arguments: primad.jit(function, backend="reference")(*arguments),
    "steps": in_steps,
    "native tiles": in_tiles((8,)),
    "interpreted tiles": in_tiles(()),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=12, deadline=None)
@given(choose=st.data())
def test_sums_are_as_accurate_as_sums_in_pairs(way: str, choose: st.DataObject) -> None:
    form = FORMS[choose.draw(st.sampled_from(sorted(FORMS)), "form")]
    others = choose.draw(st.lists(st.sampled_from((1, 2, 3, 7, 17)), max_size=2), "other axes")
    place = choose.draw(st.integers(0, len(others)), "the place of the long axis")
    long = choose.draw(st.sampled_from(EDGES), "length")
    shape = (*others[:place], long, *others[place:])
    more = choose.draw(st.sets(st.integers(0, len(others))), "further axes that are summed")
    axes = tuple(sorted({place, *more}))
    dtype = np.dtype(choose.draw(st.sampled_from(("float32", "float32", "float64")), "dtype"))
    number = choose.draw(st.floats(0.125, 1), "number")
    layout = LAYOUTS[choose.draw(st.sampled_from(sorted(LAYOUTS)), "layout")]
    x = layout(np.full(shape, number, dtype))
    threads = choose.draw(st.integers(1, 3), "threads")
    found = on_threads(threads, lambda: WAYS[way](lambda x: form.function(x, axes), x))
    count = math.prod(shape[axis] for axis in axes)
    exact = form.finish(exact_sum(form.terms(np.asarray(x, np.longdouble)), axes), count)
    assert units(found, exact, dtype) <= bound(count, form.ulps)


@pytest.mark.parametrize("way", ["whole", "reference"])
@pytest.mark.parametrize("shape, axes", [((5000,), (0,)), ((3000, 5), (0,)), ((5, 3000), (1,)), ((40, 9, 50), (0, 2))])
def test_sums_of_short_floats(way: str, shape: tuple[int, ...], axes: Axes) -> None:
    x = np.full(shape, 0.37, np.float16)
    found = WAYS[way](lambda x: np.sum(x, axis=axes), x)
    assert units(found, exact_sum(x, axes), x.dtype) <= bound(math.prod(shape[axis] for axis in axes))


LARGE: dict[str, tuple[Callable[[Array], Array], tuple[int, ...], float]] = {
    "sum": (np.sum, (3_000_017,), 0.37 * 3_000_017),
    "rows": (lambda x: np.sum(x, axis=0), (300_007, 9), 0.37 * 300_007),
    "squares": (lambda x: np.sum(x * x), (3_000_017,), 0.37**2 * 3_000_017),
    "dense layer": (
        primad.grad(lambda w, x: np.sum(x @ w * (x @ w))), (300_007, 4), 8 * 0.37**2 * 0.5 * 300_007,
    ),
}  # fmt: skip
"""Sums over many tiles: of an array of a shape, whose elements are 0.37, and what they are."""


@pytest.mark.parametrize("name", LARGE)
def test_large_sums_are_the_same_on_any_number_of_threads(name: str) -> None:
    function, shape, exact = LARGE[name]
    number = np.float32(0.37)
    x = np.full(shape, number)
    given = (np.full(4, 0.5, np.float32), x) if name == "dense layer" else (x,)
    exact *= (float(number) / 0.37) ** (1 if name in ("sum", "rows") else 2)
    jitted = primad.jit(function)
    found = [on_threads(threads, lambda: np.asarray(jitted(*given))) for threads in (1, 2, 3)]
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    assert units(found[0], np.full(found[0].shape, exact), x.dtype) <= bound(x.size, 3)


PRODUCTS: dict[str, tuple[str, Callable[[int], tuple[tuple[int, ...], tuple[int, ...]]]]] = {
    "vectors": ("k,k->", lambda k: ((k,), (k,))),
    "matrix and vector": ("ik,k->i", lambda k: ((5, k), (k,))),
    "vector and matrix": ("k,kj->j", lambda k: ((k,), (k, 5))),
    "matrices": ("ik,kj->ij", lambda k: ((7, k), (k, 9))),
    "turned matrices": ("ki,jk->ij", lambda k: ((k, 7), (9, k))),
    "rows of two": ("ik,ik->i", lambda k: ((3, k), (3, k))),
    "columns of two": ("kj,kj->j", lambda k: ((k, 3), (k, 3))),
    "two axes": ("ikl,lk->i", lambda k: ((3, k, 5), (5, k))),
    "stacks": ("bik,bkj->bij", lambda k: ((2, 3, k), (2, k, 4))),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("way", ["whole", "reference", "steps"])
@pytest.mark.parametrize("name", PRODUCTS)
@settings(max_examples=3, deadline=None)
@given(length=st.sampled_from([*EDGES, 100_003]), number=st.floats(0.125, 1))
def test_sums_of_products(way: str, name: str, length: int, number: float) -> None:
    """BLAS multiplies matrices with errors of its own, of some hundred products, and where it does they do not grow."""
    labels, shapes = PRODUCTS[name]
    x, y = (np.full(shape, number, np.float32) for shape in shapes(length))
    found = WAYS[way](lambda x, y: np.einsum(labels, x, y), x, y)
    count = length * (5 if name == "two axes" else 1)
    exact = np.full(found.shape, float(x.flat[0]) ** 2 * count)
    more = 40 if way != "whole" else math.log2(count) if found.ndim >= 2 else 0
    assert units(found, exact, x.dtype) <= bound(count, more)


def test_a_running_sum_is_beyond_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds would find sums without groups, in every way."""
    for module in (groups, grouped_sums, kernels):
        monkeypatch.setattr(module, "GROUP", 2**40)
    x = np.repeat(np.linspace(0.1, 0.9, 7, dtype=np.float32)[None], 70_001, axis=0)
    exact = exact_sum(np.exp(x.astype(np.longdouble)), (0,))
    for way, run in WAYS.items():
        found = run(lambda x: np.sum(np.exp(x), axis=0), x)
        assert units(found, exact, x.dtype) > 1.2 * bound(len(x), 2), way


def test_running_sums_keep_one_array_for_a_group() -> None:
    sums = groups.RunningSums(2)
    for i in range(5000):
        sums.add(0, np.full(3, 0.37, np.float32))
        if i % 2:
            sums.add(1, np.ones(2, int))
        sums.turn()
        assert sum(array is not None for level in sums._levels for array in level) <= 2 * 4
    first, second = sums.ended()
    assert units(first, np.full(3, 5000 * float(np.float32(0.37))), np.float32) <= bound(5000)
    assert second.tolist() == [2500, 2500]


@pytest.mark.parametrize("operands", [1, 2])
def test_groups_are_longer_in_blocks_of_several_rows_and_columns_alone(operands: int) -> None:
    """There they fill the registers, so that to begin anew takes longer."""
    form: Any = SimpleNamespace(operands=[None] * operands)
    for rows, columns in ((1, 1), (1, 4), (4, 1), (2, 2), (3, 4)):
        cells = [(i, j) for i in range(rows) for j in range(columns)]
        loops = grouped_sums.SummedLoops(None, form, None, cells)  # type: ignore[arg-type]
        assert loops.group == (groups.PRODUCTS if operands > 1 and min(rows, columns) > 1 else groups.GROUP)
