"""NumPy's vectorize, r_, c_ and its series in orthogonal polynomials: values as NumPy's, and derivatives."""

from __future__ import annotations

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
