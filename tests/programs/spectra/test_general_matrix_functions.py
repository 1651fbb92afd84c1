"""Functions of general matrices by eig have the derivatives that they have without: also at equal eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad.errors import MatrixError
from primad.scipy import linalg

RNG = np.random.default_rng(1)
BASIS = np.eye(4) + 0.3 * RNG.normal(size=(4, 4))
CHANGES = [RNG.normal(size=(4, 4)) for _ in range(3)]
SPECTRA = {
    "a pair": [2.0, 2.0, 1.0, 3.0],
    "two pairs": [2.0, 1.0, 2.0, 1.0],
    "all": [2.0] * 4,
    "near": [2.0, 2.0 + 1e-9, 2.0 + 2e-9, 1.0],
    "close": [2.0, 2.001, 2.002, 1.0],
    "apart": [1.0, 2.0, 3.0, 4.0],
    "complex pairs": [1 + 2j, 1 - 2j, 1 + 2j, 1 - 2j],
    "equal beside one above it": [1.0 + 1j, 1.0, 1.0 + 1j, 1.0 - 1j],
}


def with_values(w: Any) -> Any:
    return BASIS @ np.diag(w) @ np.linalg.inv(BASIS)


def along(function: Any, a: Any, changes: Any) -> Any:
    if not changes:
        return function(a)
    return along(lambda a: primad.jvp(function, (a,), (changes[0].astype(a.dtype),))[1], a, changes[1:])


PAIRS = {
    "exponential": (np.exp, linalg.expm),
    "inverse": (lambda w: 1 / (w + 0.5), lambda a: np.linalg.inv(a + 0.5 * np.eye(4))),
    "root": (np.sqrt, linalg.sqrtm),
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("where", SPECTRA)
@pytest.mark.parametrize("name", PAIRS)
def test_derivatives_are_those_without_eigenvalues(name: str, where: str) -> None:
    """To the third order; of values in any order in the plane, where those that are equal must meet."""
    f, direct = PAIRS[name]
    a = with_values(np.array(SPECTRA[where])) + 0j
    for order in (1, 3):
        found = along(lambda a: linalg.funm(a, f), a, CHANGES[:order])
        expected = along(direct, a, CHANGES[:order])
        assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


FORMS = {
    "columns": lambda w, v: (v * np.exp(w)) @ np.linalg.inv(v),
    "diag": lambda w, v: v @ np.diag(np.exp(w)) @ np.linalg.inv(v),
    "rows": lambda w, v: v @ (np.exp(w)[:, None] * np.linalg.inv(v)),
    "quotient": lambda w, v: (v / np.exp(-w)) @ np.linalg.inv(v),
    "einsum": lambda w, v: np.einsum("ij,j,jk->ik", v, np.exp(w), np.linalg.inv(v)),
    "a system": lambda w, v: (v * np.exp(w)) @ np.linalg.solve(v, np.eye(4)),
    "a transposed system": lambda w, v: np.linalg.solve(v.T, (v * np.exp(w)).T).T,
    "a transposed inverse": lambda w, v: (np.linalg.inv(v.T) @ (np.exp(w)[:, None] * v.T)).T,
    "to vectors": lambda w, v: np.stack([v @ (np.exp(w) * np.linalg.solve(v, e)) for e in np.eye(4)], axis=1),
    "powers": lambda w, v: (v * (np.exp(w / 2) * np.exp(w) ** 0.5)) @ np.linalg.inv(v),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", FORMS)
def test_forms_are_found(name: str) -> None:
    """Of a real matrix; gradients and Hessian-vector products."""
    a = with_values(SPECTRA["a pair"])

    def loss(a: Any) -> Any:
        return np.sum(np.cos(FORMS[name](*np.linalg.eig(a)).real))

    def direct(a: Any) -> Any:
        return np.sum(np.cos(linalg.expm(a)))

    assert np.isclose(loss(a), direct(a))
    assert np.allclose(primad.grad(loss)(a), primad.grad(direct)(a), atol=1e-9)
    assert np.allclose(primad.hvp(loss, a, CHANGES[0]), primad.hvp(direct, a, CHANGES[0]), rtol=1e-7, atol=1e-7)


TRACES = {
    "sum": (lambda w: np.sum(np.exp(w)).real, lambda a: np.trace(linalg.expm(a))),
    "real parts": (lambda w: np.sum(np.exp(w).real), lambda a: np.trace(linalg.expm(a))),
    "logarithms": (lambda w: np.sum(np.log(w)).real, lambda a: np.log(np.linalg.det(a))),
    "mean": (lambda w: np.mean(w**2).real, lambda a: np.trace(a @ a) / 4),
}


@pytest.mark.parametrize("name", TRACES)
def test_sums_over_all_eigenvalues(name: str) -> None:
    by_values, direct = TRACES[name]
    for where in ("a pair", "all", "apart"):
        a, found = with_values(SPECTRA[where]), lambda a: by_values(np.linalg.eigvals(a))
        assert np.allclose(primad.grad(found)(a), primad.grad(direct)(a), atol=1e-10)
        assert np.allclose(primad.hvp(found, a, CHANGES[0]), primad.hvp(direct, a, CHANGES[0]), atol=1e-8)


def test_transforms_and_stacks() -> None:
    base = with_values(SPECTRA["two pairs"])

    def loss(t: Any, function: Any = linalg.funm) -> Any:
        return np.sum(CHANGES[1] * function(base + t * CHANGES[0], np.exp).real)

    expected = primad.grad(lambda t: np.sum(CHANGES[1] * linalg.expm(base + t * CHANGES[0])))
    for backend in ("native", "jax", "reference"):
        assert np.isclose(primad.jit(primad.grad(loss), backend=backend)(0.0), expected(0.0))
    assert np.allclose(primad.vmap(primad.grad(loss))(np.array([0.0, 0.1])), [expected(0.0), expected(0.1)])

    def of_stack(t: Any) -> Any:
        return np.sum(CHANGES[1] * linalg.funm(np.stack([base, base + t * CHANGES[0]]), np.exp)[1].real)

    assert np.isclose(primad.grad(of_stack)(0.0), expected(0.0))
    closed_over = primad.grad(lambda t: linalg.funm(base, lambda w: np.exp(t * w))[0, 1].real)(0.5)
    assert np.isclose(closed_over, (base @ linalg.expm(0.5 * base))[0, 1])
    apart = with_values(SPECTRA["apart"])  # SciPy's own is wrong in the third digit at equal eigenvalues
    assert np.allclose(linalg.funm(apart, np.exp), linalg.expm(apart))


def test_numbers_for_each_value_have_derivatives_where_values_differ() -> None:
    """The first order by the resolvent, and the second by differences of the first: weights tell values apart."""
    a, weights = with_values([3.0, 1.0, 4.0, 2.0]), np.array([1.0, -2.0, 0.5 + 1j, 3.0])

    def loss(t: Any) -> Any:
        w, v = np.linalg.eig(a + t * CHANGES[0])
        return np.sum(CHANGES[1] * ((v * weights * w) @ np.linalg.inv(v)).real) + np.sum(weights * w).real

    step = 1e-4
    near = [primad.grad(loss)(t) for t in (-step, step)]
    assert np.isclose(primad.grad(loss)(0.0), (loss(step) - loss(-step)) / (2 * step), rtol=1e-6)
    assert np.isclose(primad.grad(primad.grad(loss))(0.0), (near[1] - near[0]) / (2 * step), rtol=1e-5)


REFUSED = {
    "a vector": lambda w, v: v[:, 0],
    "sizes of values": lambda w, v: np.sum(np.abs(w) ** 2),
    "a function that is not analytic": lambda w, v: (v * w.real) @ np.linalg.inv(v),
    "adjoints": lambda w, v: (v * np.exp(w)) @ v.conj().T,
    "transposes": lambda w, v: (v * np.exp(w)) @ v.T,
    "numbers for each value": lambda w, v: (v * np.arange(4)) @ np.linalg.inv(v),
    "a part of a group": lambda w, v: v[:, :2] @ np.linalg.inv(v)[:2],
    "a part of the sum": lambda w, v: np.sum(w[:2]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_the_basis_is_refused(name: str) -> None:
    a = with_values(SPECTRA["all"])
    with pytest.raises(MatrixError, match=r"Fix: (.|\n)*np.linalg.inv"):
        primad.grad(lambda a: np.sum(np.sin(REFUSED[name](*np.linalg.eig(a)).real)))(a)


@pytest.mark.parametrize("a", [[[1.0, 1.0], [0.0, 1.0]], [[2.0, 1.0], [-1.0, 0.0]]])
def test_matrices_that_are_not_diagonalizable_are_refused(a: Any) -> None:
    """Also where rounding has moved their eigenvalues apart, and vectors with them."""
    with pytest.raises(MatrixError, match="not diagonalizable"):
        primad.grad(lambda t: linalg.funm(t * np.array(a), np.exp)[0, 0].real)(1.0)
    with pytest.raises(MatrixError, match="not diagonalizable"):  # no digit of a value is left either
        primad.jit(lambda a: linalg.funm(a, np.exp))(np.array(a))
    with pytest.raises(primad.ShapeError, match="leave disp out"):
        primad.jit(lambda a: linalg.funm(a, np.exp, disp=False))(np.eye(2))
    assert np.isclose(primad.grad(lambda t: linalg.expm(t * np.array(a))[0, 0])(1.0), np.e * (a[0][0] + a[0][0] - 1))
