"""Boolean indices whose values are not known under `jit`: what is written at them, and what is refused."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import numpy as np
import pytest

import primad
import primad.numpy as pnp

Statement = Callable[[Any, Any, Any, Any], None]


def _known_from(y: Any, x: Any, v: Any, n: Any) -> None:
    hit = y > 0
    y[hit] = n.sqrt(y[hit]) + v[hit]
    y[~hit] -= 2.0


def _twice(y: Any, x: Any, v: Any, n: Any) -> None:
    y[y > 0.5] *= 2.0
    y[y < 0.5] = 0.5


def _rows(y: Any, x: Any, v: Any, n: Any) -> None:
    hit = x[:, 0] > 0
    y[hit] = v[0]
    y[hit, 1] += x[hit, 2] * v[0, 0]
    y[~hit, 1:] = [[3.0, 4.0]]
    y[-1, y[-1] > 1] = 7


def _columns(y: Any, x: Any, v: Any, n: Any) -> None:
    hit = v[1] > 0
    y[:, hit] = 1.5 * v[:, :1]
    y[..., hit] += v[:, hit] / (x[0, 0] ** 2 + 1)
    y[::2, hit] = -y[::2, hit]


def _other_calls(y: Any, x: Any, v: Any, n: Any) -> None:
    n.copyto(y, v, where=x > 0)
    n.putmask(y, y > 0.5, 0.5)
    n.place(y, v < 0, 2.0 * v[0, 0])
    y.T[x.T < -0.5] = 9.0


# (written array, x, v, NumPy or its like): each changes y
STATEMENTS: dict[str, Statement] = {
    "scalar": lambda y, x, v, n: y.__setitem__(y > 0, 0.0),
    "traced scalar": lambda y, x, v, n: y.__setitem__(x > 0, v[0, 1]),
    "whole": lambda y, x, v, n: y.__setitem__(x > 0, v[x > 0]),
    "add": lambda y, x, v, n: y.__setitem__(x > 0, y[x > 0] + v[x > 0] * 2.0),
    "ufuncs": lambda y, x, v, n: y.__setitem__(
        x > 0, n.maximum(v[0, 0], n.log(x[x > 0])) - numpy.float64(2) * n.exp(-x[x > 0])
    ),
    "functions": lambda y, x, v, n: y.__setitem__(x > 0, n.where(v[x > 0] > 0, 1.0 / x[x > 0], n.clip(x[x > 0], 0, 1))),
    "in place": _known_from,
    "twice": _twice,
    "rows": _rows,
    "columns": _columns,
    "other calls": _other_calls,
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_as_numpys_and_as_with_known_values(name: str, seed: int) -> None:
    """Values as NumPy's; derivatives as those of a recording in which the mask is known, to second order."""
    rng = numpy.random.default_rng(seed)
    x, v = rng.normal(size=(2, 4, 3)) * (1.0 if seed else 0.0) + (0.0 if seed else 0.7)  # at first all are chosen

    def f(x: Any, v: Any, n: Any = pnp) -> Any:
        y = n.copy(x)
        STATEMENTS[name](y, x, v, n)
        return y

    def loss(x: Any, v: Any) -> Any:
        return (f(x, v) ** 2).sum() + (f(x, v) * v).sum()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of elements that are not chosen
        numpy.testing.assert_allclose(primad.jit(f)(x, v), f(x, v, numpy), rtol=1e-14)
        both = primad.grad(loss, argnums=(0, 1))
        compiled = primad.jit(both)(x, v)
        for own, expected in zip(compiled, both(x, v), strict=True):
            numpy.testing.assert_allclose(own, expected, rtol=1e-12, atol=1e-12)
        along = lambda x: primad.grad(lambda x: (primad.grad(loss)(x, v) * v).sum())(x)  # noqa: E731
        numpy.testing.assert_allclose(primad.jit(along)(x), along(x), rtol=1e-10, atol=1e-10)


def test_stacks_and_dtypes() -> None:
    def f(x: Any) -> Any:
        y = pnp.zeros(3, numpy.float32)
        hit = x > 0
        y[hit] = x[hit]
        counts = pnp.array([2**60 + 1, 5, 7])
        counts[hit] += 1
        counts[~hit] = 2.9
        return y, counts

    stack = numpy.array([[0.1, -1.0, 2.0], [-3.0, -1.0, -2.0], [1.0, 1.0, 1.0]])
    found = primad.vmap(f)(stack)
    for row, (y, counts) in zip(stack, zip(*found, strict=True), strict=True):
        expected = f(row)
        assert y.dtype == np.float32 and counts.dtype == np.int64
        numpy.testing.assert_array_equal(y, expected[0])
        numpy.testing.assert_array_equal(counts, expected[1])


# (shape of x, shape of v, the index of a mask x > 0 or of a part of it)
UPDATES: dict[str, tuple[tuple[int, ...], tuple[int, ...], Callable[[Any], Any]]] = {
    "number": ((4, 3), (), lambda hit: hit),
    "one": ((4, 3), (1,), lambda hit: hit),
    "rows": ((4, 3), (3,), lambda hit: hit[:, 0]),
    "columns": ((4, 3), (4, 1), lambda hit: (slice(None), hit[0])),
    "last axis": ((2, 4, 3), (), lambda hit: (..., hit[0, 0])),
    "part of a row": ((4, 3), (), lambda hit: (-1, hit[0])),
    "every second": ((4, 3), (), lambda hit: (slice(None, None, -2), hit[0])),
    "of no element": ((0, 3), (), lambda hit: hit),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("update", [pnp.add_at, pnp.set_at])
def test_updates_that_return_arrays_take_them(update: Callable[..., Any], name: str) -> None:
    """Under `jit` and `vmap`, values and gradients are those of masks that are known."""
    shape, given, index = UPDATES[name]
    x, v = (numpy.random.default_rng(seed).normal(size=(2, *each)) for seed, each in enumerate((shape, given)))

    def f(x: Any, v: Any) -> Any:
        return update(pnp.sin(x), index(x > 0), v**2)

    def expected(x: Any, v: Any) -> Any:
        hit, y = index(x > 0), numpy.sin(x)
        y[hit] = v**2 + (y[hit] if update is pnp.add_at else 0)
        return y

    for own, one, other in zip(primad.vmap(f)(x, v), x, v, strict=True):
        numpy.testing.assert_allclose(own, expected(one, other), rtol=1e-14)
        numpy.testing.assert_allclose(primad.jit(f)(one, other), expected(one, other), rtol=1e-14)
        slopes = primad.grad(lambda x, v: (f(x, v) ** 3).sum(), argnums=(0, 1))
        for compiled, eager in zip(primad.jit(slopes)(one, other), slopes(one, other), strict=True):
            numpy.testing.assert_allclose(compiled, eager, rtol=1e-12, atol=1e-12)


def test_updates_take_elements_that_the_same_mask_chooses() -> None:
    x, v = numpy.random.default_rng(0).normal(size=(2, 4, 3))
    for update, total in ((pnp.add_at, x + v), (pnp.set_at, v)):
        found = primad.jit(lambda x, v, update=update: update(x, x > 0, v[x > 0]))(x, v)
        numpy.testing.assert_array_equal(found, numpy.where(x > 0, total, x))
        with pytest.raises(primad.PrimadError, match="boolean index chooses"):
            primad.jit(lambda x, v, update=update: update(x, x > 0, v[0, :2]))(x, v)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "returned": (lambda x: x[x > 0], "elements that a boolean index chooses.*where"),
    "summed": (lambda x: x[x > 0].sum(), r"x\.sum of the elements that a boolean index"),
    "by function": (lambda x: np.sum(x[x > 0]), r"np\.sum of the elements that a boolean index"),
    "by method": (lambda x: np.add.reduce(x[x > 0]), r"np\.add\.reduce"),
    "multiplied": (lambda x: x[x > 0] @ x[x > 0], "np.matmul of the elements"),
    "counted": (lambda x: len(x[x > 0]), "the number of the elements"),
    "in order": (lambda x: list(x[x > 0]), "each of the elements"),
    "picked": (lambda x: x[x > 0][0], "some of the elements"),
    "stacked": (lambda x: pnp.stack([x[x > 0], x]), "boolean index"),
    "compared": (lambda x: x == x[x > 0], "has as many"),
    "two masks": (lambda x: x[x > 0] + x[x > 1], "two different boolean indices"),
    "with the whole": (lambda x: x[x > 0] + x, r"a value of shape \(3,\).*has as many"),
    "of as many": (lambda x: pnp.copy(x).__setitem__(x > 0, x[:2]), r"a value of shape \(2,\).*y\[mask\] = v\[mask\]"),
    "elsewhere": (lambda x: pnp.copy(x).__setitem__(slice(2), x[x > 0]), "written elsewhere"),
    "of another shape": (lambda x: x[x[:2] > 0], r"a boolean index of shape \(2,\) does not fit shape \(3,\)"),
    "of another kind": (lambda x: operator.iadd(pnp.array([1, 2, 3])[x > 0], 0.5), "Cannot cast"),
    "placed": (lambda x: np.place(pnp.copy(x), x > 0, x[:2]), "np.place of 2 values at a mask"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_the_number_is_refused(name: str) -> None:
    call, said = REFUSED[name]
    with pytest.raises(primad.PrimadError, match=f"(?s){said}"):
        primad.jit(call)(numpy.array([1.0, 2.0, -3.0]))


def test_single_booleans_choose_all_or_nothing_along_a_new_axis() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    items = [True, np.False_, np.array(True), None, ..., 0, slice(1, None), [0, 1], x[:, 0, 0] > 0]
    single = items[:3]
    indices: list[Any] = [*single, *[(a, b) for a in single for b in items], *[(b, a) for a in single for b in items]]
    indices += [(a, b, True) for a in items for b in items] + [(a, True, b, False) for a in items for b in items]
    tried = 0
    for index in indices:
        try:
            wanted = x[index]
        except IndexError:
            with pytest.raises(IndexError):
                primad.trace(lambda x, i=index: x[i])(x)
            continue
        (found,) = primad.trace(lambda x, i=index: x[i])(x).out_types
        assert found.shape == wanted.shape, index
        tried += 1
        if tried % 12 == 0:
            np.testing.assert_array_equal(primad.jit(lambda x, i=index: x[i])(x), wanted)
    assert tried > 100
    J = primad.jacobian(lambda x: x**2)(x[0, 0])
    np.testing.assert_array_equal(J[True, 1], np.asarray(J)[True, 1])
    np.testing.assert_array_equal(primad.grad(lambda x: np.sum(x[x[0, 0, 1] > 0] ** 2))(x), 2 * x)
    np.testing.assert_array_equal(primad.grad(lambda x: np.sum(x[x[0, 0, 1] < 0] ** 2))(x), 0 * x)
