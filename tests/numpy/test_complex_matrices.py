"""Linear algebra of complex matrices: what is recorded is NumPy's and SciPy's; what lacks a right rule is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primad
from primad import PrimadError
from primad.scipy import linalg

RNG = np.random.default_rng(3)
B = RNG.standard_normal((3, 1)) + 1j * RNG.standard_normal((3, 1))


def matrices(*shape: int) -> Any:
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


FUNCTIONS = {
    "solve": lambda a: np.linalg.solve(a, B),
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "sign": lambda a: np.linalg.slogdet(a)[0],
    "logabsdet": lambda a: np.linalg.slogdet(a)[1],
    "norm": lambda a: np.linalg.norm(a, axis=(-2, -1)),
}


def derivative_along(function: Any, a: Any, t: Any) -> Any:
    h = 1e-4
    near = [function(a + k * h * t) for k in (-2, -1, 1, 2)]
    return (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * h)


def check(function: Any, a: Any, plain: Any = None) -> None:
    found = primad.jit(function)(a)
    expected = (plain or function)(a)
    assert found.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    t = matrices(*a.shape)
    value, tangent = primad.jvp(function, (a,), (t,))
    np.testing.assert_allclose(tangent, derivative_along(plain or function, a, t), rtol=1e-7, atol=1e-8)
    weights = RNG.standard_normal(np.shape(value)) * (1 if found.dtype.kind == "f" else 1 - 0.5j)
    (pulled,) = primad.vjp(function, a)[1](weights if np.ndim(value) else weights[()])
    np.testing.assert_allclose(np.sum(pulled * t).real, np.sum(weights * tangent).real, rtol=1e-10)


@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_matrices(name: str, count: int) -> None:
    check(FUNCTIONS[name], matrices(count, 3, 3))


def test_exponentials_and_singular_determinants() -> None:
    a = matrices(3, 3)
    check(linalg.expm, a, scipy.linalg.expm)
    rank_one = B @ B.T
    np.testing.assert_allclose(primad.grad(np.linalg.det, holomorphic=True)(rank_one), np.zeros((3, 3)), atol=1e-12)
    t = matrices(3, 3)
    second = primad.jvp(primad.grad(np.linalg.det, holomorphic=True), (rank_one,), (t,))[1]
    exact = derivative_along(primad.grad(np.linalg.det, holomorphic=True), rank_one, t)
    np.testing.assert_allclose(second, exact, atol=1e-9)
    column = a[0]
    np.testing.assert_allclose(primad.jit(linalg.toeplitz)(column), scipy.linalg.toeplitz(column))
    expected = scipy.linalg.solve_toeplitz(column, np.arange(column.size))
    np.testing.assert_allclose(primad.jit(linalg.solve_toeplitz)(column, np.arange(column.size)), expected)


def test_systems_of_conjugated_matrices() -> None:
    a, b = matrices(3, 3), B[:, 0]
    for trans in (0, 1, 2, "C"):
        expected = scipy.linalg.solve_triangular(a, b, trans)
        np.testing.assert_allclose(primad.jit(lambda a, t=trans: linalg.solve_triangular(a, b, t))(a), expected)
        expected = scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b, {"C": 2}.get(trans, trans))
        found = primad.jit(lambda a, t=trans: linalg.lu_solve(linalg.lu_factor(a), b, t))(a)
        np.testing.assert_allclose(found, expected)
    for kind in ("her", "pos"):
        with pytest.raises(PrimadError, match="complex"):
            primad.jit(lambda a, k=kind: linalg.solve(a, b, assume_a=k))(a)


@pytest.mark.parametrize(
    "function",
    [
        np.linalg.eigh, np.linalg.eigvalsh, np.linalg.svd, np.linalg.qr, np.linalg.cholesky, np.linalg.pinv,
        linalg.sqrtm, lambda a: np.linalg.norm(a, 2), lambda a: np.linalg.norm(a, "nuc"), np.linalg.cond,
    ],
)  # fmt: skip
def test_what_needs_adjoints_is_refused(function: Any) -> None:
    with pytest.raises(PrimadError, match="complex"):
        primad.jit(function)(matrices(3, 3))
