"""NumPy's vectorize, r_, c_ and its series in orthogonal polynomials: values as NumPy's, and derivatives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp

X = np.array([0.3, -0.7, 1.1])
A = np.array([[1.0, 2.0, -1.0], [3.0, 4.5, 0.25]])
FAMILIES = {
    "polynomial": ("polyval", "Polynomial"), "chebyshev": ("chebval", "Chebyshev"), "legendre": ("legval", "Legendre"),
    "hermite": ("hermval", "Hermite"), "hermite_e": ("hermeval", "HermiteE"), "laguerre": ("lagval", "Laguerre"),
}  # fmt: skip


def compared(f: Callable[..., Any], *args: Any) -> None:
    """Compare with NumPy: plain, under jit and where it is differentiated."""
    expected = f(np, *args)
    for found in (
        f(pnp, *args),
        primad.jit(lambda *xs: f(pnp, *xs))(*args),
        primad.vjp(lambda *xs: f(pnp, *xs), *args)[0],
    ):
        assert np.shape(found) == np.shape(expected) and np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    primad.check_grads(lambda *xs: pnp.sin(f(pnp, *xs) / (2.0 + 2.0 * np.abs(expected))), args, order=2, rtol=1e-5)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", FAMILIES)
def test_series(name: str) -> None:
    function, kind = FAMILIES[name]

    def of(n: Any) -> Any:
        return getattr(getattr(n.polynomial, name), function)

    for count in (1, 2, 5):
        compared(lambda n, x, c: of(n)(x, c), X, np.linspace(0.5, -1.0, count))
    compared(lambda n, c: of(n)(0.5, c), X)
    compared(lambda n, x: of(n)(x, [1, 2, 3]), X)
    compared(lambda n, x, c: of(n)(x, c), X[:2], A.T)
    compared(lambda n, x, c: of(n)(x, c, tensor=False), X, A)
    compared(lambda n, x: getattr(n.polynomial, kind)([1.0, 2.0, 3.0], domain=[0.0, 3.0])(x), X)
    fitted = getattr(pnp.polynomial, kind).fit(X, [1.0, 2.0, 0.5], 2)
    assert isinstance(fitted + fitted, getattr(pnp.polynomial, kind)) and np.isclose(fitted(X[0]), 1.0)
    assert getattr(pnp.polynomial, name).__all__ == getattr(np.polynomial, name).__all__


def test_rows_and_columns() -> None:
    calls = [
        lambda n, x, a: n.r_[x, 1.0, x[0], 0:3, x],
        lambda n, x, a: n.r_[0:1:4j, x],
        lambda n, x, a: n.r_["-1", a, a],
        lambda n, x, a: n.r_["0,2,0", x, x[:2].sum() * x],
        lambda n, x, a: n.c_[x, a.T],
        lambda n, x, a: n.c_[a, [[1.0], [2.0]], a],
        lambda n, x, a: n.r_[x],
    ]
    for call in calls:
        compared(call, X, A)
    names = [node.op.name for node in primad.trace(lambda x: pnp.r_[x, 1.0, x])(X).nodes]
    assert "gather" not in names and names.count("concatenate") == 1
    assert np.array_equal(pnp.r_[0:3, 5], np.r_[0:3, 5])


def test_vectorize() -> None:
    def hinge(x: Any, slope: Any = 2.0) -> Any:
        return x * x if x > 0 else slope * x

    assert np.array_equal(pnp.vectorize(hinge)(X), np.vectorize(hinge)(X))

    def f(x: Any, y: Any) -> Any:
        return pnp.sin(pnp.vectorize(hinge)(x[:, None], slope=y))

    np.testing.assert_allclose(primad.vjp(f, X, A[0])[0], np.sin(np.vectorize(hinge)(X[:, None], slope=A[0])))
    primad.check_grads(f, (X, A[0]))

    @pnp.vectorize(excluded={0}, otypes="d")
    def horner(c: Any, x: Any) -> Any:
        """Sum a polynomial."""
        return c[0] + x * c[1]

    assert horner.__doc__ == "Sum a polynomial."
    np.testing.assert_allclose(primad.jit(horner)(A[0], X), A[0, 0] + A[0, 1] * X)
    both = primad.jit(pnp.vectorize(lambda x: (x + 1.0, 2.0)))(A)
    assert np.array_equal(both[0], A + 1.0) and np.array_equal(both[1], np.full((2, 3), 2.0))
    closed = primad.grad(lambda z: pnp.sum(pnp.vectorize(lambda k: z**k)(np.arange(3))))(2.0)
    assert closed == 5.0
    with pytest.raises(primad.PrimadError, match=r"vmap"):
        primad.grad(lambda x: pnp.vectorize(lambda v: v, signature="(n)->(n)")(x)[0])(X)
    with pytest.raises(primad.PrimadError, match="no elements"):
        primad.jit(pnp.vectorize(hinge))(np.zeros(0))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_series_at_large_numbers(name: str) -> None:
    """What overflows is what overflows in NumPy, and a series without coefficients is refused as there."""
    function = FAMILIES[name][0]
    plain, ours = (getattr(getattr(n.polynomial, name), function) for n in (np, pnp))
    x = np.array([np.inf, -np.inf, np.nan, 1e200, -1e200, 1e155, 0.0])
    for c in (*(np.arange(1.0, 1.0 + n) for n in range(1, 6)), [1, 0, 0, -2], [0.0, np.inf, 1.0]):
        np.testing.assert_allclose(primad.jit(ours)(x, np.asarray(c)), plain(x, c), rtol=1e-14)
        np.testing.assert_allclose(primad.vjp(lambda z, c=c: ours(z, c), x)[0], plain(x, c), rtol=1e-14)
    with pytest.raises(IndexError):
        plain(X, np.zeros(0))
    with pytest.raises(primad.PrimadError, match="without coefficients"):
        primad.jit(ours)(X, np.zeros(0))


@pytest.mark.parametrize("name", FAMILIES)
def test_series_hold_plain_coefficients(name: str) -> None:
    """Arithmetic with traced numbers, and traced coefficients, name the function that does it."""
    function, kind = FAMILIES[name]
    series = getattr(pnp.polynomial, kind)
    p = series([1.0, 2.0])
    for f in (
        lambda y: series([y, 1.0])(0.5), lambda y: series(pnp.stack([y, y]))(0.5), lambda y: (p + y)(0.5),
        lambda y: (y + p)(0.5), lambda y: (y - p)(0.5), lambda y: (p * y)(0.5), lambda y: (y * p)(0.5),
        lambda y: (p / y)(0.5), lambda y: (p // y)(0.5), lambda y: (p % y)(0.5), lambda y: divmod(y, p)[0](0.5),
    ):  # fmt: skip
        assert np.isfinite(f(2.0))
        with pytest.raises(primad.PrimadError, match=function):
            primad.grad(f)(2.0)
    assert primad.grad(lambda y: p(y) * y)(2.0) != 0.0


def test_joined_numbers_are_cast_as_numpys() -> None:
    """A number of Python's adopts the dtype of the arrays that it is joined with, one of NumPy's does not."""
    items = [
        1,
        2.5,
        True,
        np.float64(2.0),
        np.float32(1.0),
        np.int64(3),
        [1.0, 2.0],
        np.zeros(2, np.int32),
        slice(0, 3),
    ]
    for dtype in ("float32", "float64", "int64", "bool"):
        x = np.array([1, 0], dtype)
        for item in items:
            for call in (lambda n, x, i: n.r_[x, i], lambda n, x, i: n.r_[i, x, x[0]], lambda n, x, i: n.c_[x, x]):
                expected = call(np, x, item)
                found = primad.jit(lambda x, c=call, i=item: c(pnp, x, i))(x)
                assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist()), (dtype, item)


def test_every_option_of_vectorize() -> None:
    """Types that are given are those of the results, as many as there are results; the first result's else."""
    functions = {
        "one": lambda x: 2 * x, "plain": lambda x: 1.5, "integer": lambda x: 3, "truth": lambda x: x > 0.5,
        "two": lambda x: (x, 1), "mixed": lambda x: x if x > 0.5 else 1,
    }  # fmt: skip
    types = (None, "f", "d", "l", "fd", "dl", [np.float32], [np.float64, np.int64], ["float32", "bool"])
    for name, f in functions.items():
        for otypes in types:
            for x in (np.array([0.75, 0.25]), np.array([0.25, 0.75]), np.array(0.75), np.zeros(0)):
                plain, ours = (n.vectorize(f, otypes=otypes, doc="Says.") for n in (np, pnp))
                assert ours.__doc__ == plain.__doc__ == "Says."
                try:
                    expected: Any = plain(x)
                except (ValueError, TypeError, IndexError):
                    with pytest.raises(primad.PrimadError):
                        primad.vjp(ours, x)
                    continue
                try:
                    found = primad.vjp(ours, x)[0]
                except primad.PrimadError as error:
                    assert "otypes" in str(error)
                    if otypes is None:
                        assert name == "mixed"
                    else:  # NumPy makes something of another number of results
                        assert len(otypes) != (2 if name == "two" else 1)
                    continue
                parts = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
                for mine, its in parts:
                    assert np.asarray(mine).dtype == np.asarray(its).dtype, (name, otypes, x)
                    assert np.array_equal(mine, its), (name, otypes, x)


def test_series_are_made_when_they_are_asked_for() -> None:
    code = "import sys, primad; assert 'numpy.polynomial' not in sys.modules; primad.numpy.polynomial.Legendre([1.0])"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_asked_of_arrays_is_said_of_traced_ones() -> None:
    """Requirements on memory are met, axes and what is not finite are looked at where they can be."""

    def f(x: Any) -> Any:
        y = pnp.require([x[0], 2.0], None, "W")
        y[1] = x[1]
        rows = pnp.zeros((2, 3))
        rows[0] = x[2]
        shared = np.shares_memory(rows[0], rows), np.may_share_memory(rows[0], rows[1]), np.shares_memory(rows, x)
        assert shared == (True, False, False)
        assert pnp.isfortran(rows.T) and not pnp.isfortran(x)
        return pnp.asfortranarray([y, y], np.float32) * pnp.array(x[:2], ndmax=1)

    x = np.array([3.0, 4.0, 5.0])
    np.testing.assert_array_equal(primad.jit(f)(x), [[9.0, 16.0]] * 2)
    np.testing.assert_array_equal(primad.jacobian(lambda x: f(x)[1])(x)[:], [[6.0, 0.0, 0.0], [0.0, 8.0, 0.0]])
    assert primad.grad(lambda x: pnp.asarray_chkfinite([x, x]).sum())(x[0]) == 2.0
    refused = {
        "infs or NaNs": lambda: primad.grad(lambda x: pnp.asarray_chkfinite([x, 1.0 / x]).sum())(0.0),
        "whether all elements are finite": lambda: primad.jit(pnp.asarray_chkfinite)(x),
        "ndmax=1": lambda: primad.jit(lambda x: pnp.array([x, x], ndmax=1))(x),
    }
    for said, call in refused.items():
        with np.errstate(all="ignore"), pytest.raises(primad.PrimadError, match=said):
            call()
    with pytest.raises(ValueError, match="Cannot specify both"):
        primad.jit(lambda x: pnp.require(x, None, ["C", "F"]))(x)
