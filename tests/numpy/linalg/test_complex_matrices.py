"""Linear algebra of complex matrices: what is recorded is NumPy's and SciPy's, and so are three derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primad
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


@pytest.mark.one_in(2)
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
    whole = a @ a.conj().T + np.eye(3)
    for kind, lower in (("her", False), ("her", True), ("pos", False), ("pos", True), ("sym", True)):
        there = np.tril(whole) if lower else np.triu(whole)
        expected = np.linalg.solve(there + (there.T if kind == "sym" else there.conj().T) - np.diag(np.diag(there)), b)
        found = primad.jit(lambda a, k=kind, low=lower: linalg.solve(a, b, assume_a=k, lower=low))(there)
        np.testing.assert_allclose(found, expected, rtol=1e-10)
        if kind == "pos":
            factor = primad.jit(lambda a, low=lower: linalg.cho_factor(a, low)[0])(there)
            np.testing.assert_allclose(linalg.cho_solve((factor, lower), b), expected, rtol=1e-10)
            found = primad.jit(lambda c, low=lower: linalg.cho_solve((c, low), b))(factor)
            np.testing.assert_allclose(found, expected, rtol=1e-10)


# -- factorizations with adjoints --------------------------------------------------------------------------------------


def positive(a: Any) -> Any:
    """Return a matrix of which either triangle is that of a positive definite matrix."""
    return a @ a.conj().T + np.eye(a.shape[-1])


FACTORS: dict[str, tuple[Any, tuple[int, int]]] = {
    "eigh, lower": (lambda a: np.linalg.eigh(a), (3, 3)),
    "eigh, upper": (lambda a: np.linalg.eigh(a, "U"), (3, 3)),
    "eigvalsh": (lambda a: (np.linalg.eigvalsh(a),), (3, 3)),
    "svd, square": (lambda a: np.linalg.svd(a, full_matrices=False), (3, 3)),
    "svd, tall": (lambda a: np.linalg.svd(a, full_matrices=False), (4, 2)),
    "svd, a stack": (lambda a: np.linalg.svd(a, full_matrices=False), (2, 4, 3)),
    "svd, wide": (lambda a: np.linalg.svd(a, full_matrices=False), (2, 4)),
    "qr": (np.linalg.qr, (3, 3)),
    "qr, tall": (np.linalg.qr, (4, 2)),
    "cholesky": (lambda a: (np.linalg.cholesky(positive(a)),), (3, 3)),
    "cholesky, upper": (lambda a: (np.linalg.cholesky(positive(a) + np.tril(a, -1), upper=True),), (3, 3)),
    "pinv": (lambda a: (np.linalg.pinv(a), np.linalg.pinv(a, rcond=0.4)), (4, 2)),
    "lstsq": (lambda a: np.linalg.lstsq(a[:, :2], a[:, 2], rcond=None)[:2], (4, 3)),
    "eig": (np.linalg.eig, (3, 3)),
    "eig of real parts": (lambda a: [x.astype(complex) for x in np.linalg.eig(a.real)], (3, 3)),
    "eigvals": (lambda a: (np.linalg.eigvals(a),), (3, 3)),
    "roots": (lambda a: (np.roots(a[0]), np.roots(a[1].real).astype(complex)), (2, 4)),
    "sqrtm": (lambda a: (linalg.sqrtm(a), linalg.sqrtm(positive(a.real))), (3, 3)),
    "logm": (lambda a: (linalg.logm(a), linalg.logm(positive(a.real) + a.imag)), (3, 3)),
    "lu": (lambda a: linalg.lu(a), (3, 3)),
    "norms": (lambda a: tuple(np.linalg.norm(a, ord) for ord in (2, -2, "nuc", "fro", 1, np.inf)), (3, 3)),
    "cond": (lambda a: (np.linalg.cond(a), np.linalg.cond(a, -2)), (3, 3)),
    "power": (lambda a: (np.linalg.matrix_power(a, 3), np.linalg.matrix_power(a, -2)), (3, 3)),
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", FACTORS)
def test_factorizations_have_numpys_values_and_three_derivatives(name: str) -> None:
    function, shape = FACTORS[name]
    a, t = matrices(*shape), 0.3 * matrices(*shape)
    found = [np.asarray(x) for x in primad.jit(lambda a: tuple(function(a)))(a)]
    expected = [np.asarray(x) for x in function(a)]
    assert [x.dtype for x in found] == [x.dtype for x in expected]

    def joined(a: Any) -> Any:
        parts = [np.reshape(x, (-1,)) for x in function(a)]
        return np.concatenate(parts)

    for order in range(3):
        value, tangent = primad.jvp(joined, (a,), (t,))
        np.testing.assert_allclose(value, joined(a), rtol=1e-10, atol=1e-10, err_msg=str(order))
        size = max(1.0, np.max(np.abs(tangent)))
        np.testing.assert_allclose(tangent, derivative_along(joined, a, t), atol=1e-8 * size, err_msg=str(order))
        weights = RNG.standard_normal(value.shape) * (1 if value.dtype.kind == "f" else 1 - 0.5j)
        (pulled,) = primad.vjp(joined, a)[1](weights)
        np.testing.assert_allclose(np.sum(pulled * t).real, np.sum(weights * tangent).real, rtol=1e-8, atol=1e-8)
        joined = lambda a, before=joined: primad.jvp(before, (a,), (t,))[1]  # noqa: E731


def test_one_triangle_is_read_and_has_the_gradient() -> None:
    a = matrices(3, 3)
    for triangle, other in (("L", np.triu), ("U", np.tril)):
        gradient = primad.grad(lambda a, t=triangle: np.sum(np.linalg.eigvalsh(a, t) ** 3))(a)
        assert not np.any(other(gradient, 1 if triangle == "L" else -1))
        assert not np.any(np.diagonal(gradient).imag)


def test_phases_are_those_of_real_elements() -> None:
    """What does not depend on phases has derivatives where the element that is real is 0, but not at equal values."""
    diagonal, t = np.diag([1.0, 2.0, 4.0]).astype(complex), matrices(3, 3)

    def share(a: Any) -> Any:
        return np.sum(np.abs(np.linalg.eigh(a)[1][:, 1] @ np.array([1.0, 1.0j, 2.0])) ** 2)

    near = diagonal + 0.1 * positive(t)
    for a in (diagonal, near):
        change = np.sum(primad.grad(share)(a) * t).real
        np.testing.assert_allclose(change, derivative_along(share, a, t), rtol=1e-8)
    with pytest.raises(np.linalg.LinAlgError, match="equal"):
        primad.grad(share)(np.eye(3, dtype=complex))
    total = primad.grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2))(np.eye(3, dtype=complex))
    np.testing.assert_allclose(total, 2 * np.eye(3))
    with pytest.raises(np.linalg.LinAlgError):
        primad.jvp(lambda a: np.linalg.svd(a)[0], (np.diag([1.0, 0.0]).astype(complex),), (matrices(2, 2),))


def test_two_hermitian_matrices() -> None:
    a, b = matrices(3, 3), positive(matrices(3, 3))
    a = a + a.conj().T
    for lower in (True, False):
        w, v = primad.jit(lambda a, low=lower: linalg.eigh(a, b, lower=low))(a)
        np.testing.assert_allclose(w, scipy.linalg.eigh(a, b, eigvals_only=True))
        np.testing.assert_allclose(a @ v, b @ v * w, atol=1e-11)
        np.testing.assert_allclose(v.conj().T @ b @ v, np.eye(3), atol=1e-11)


def test_stacks_and_single_precision() -> None:
    a = matrices(5, 3, 3)
    for function in (np.linalg.eigh, np.linalg.svd, np.linalg.qr):
        stacked = primad.jit(primad.vmap(lambda a, f=function: tuple(f(a))))(a)
        for found, expected in zip(stacked, function(a), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12)
        found = primad.jit(lambda a, f=function: tuple(f(a)))(a.astype(np.complex64))
        assert [x.dtype for x in found] == [x.dtype for x in function(a.astype(np.complex64))]


# -- spectra of general matrices ---------------------------------------------------------------------------------------


def turn(angle: Any) -> Any:
    return np.stack([np.stack([np.cos(angle), -np.sin(angle)]), np.stack([np.sin(angle), np.cos(angle)])])


def test_eigenvalues_that_are_not_simple_have_no_derivatives() -> None:
    """Also where rounding moved those of a defective matrix apart; values are there, and a neighbour's derivatives."""
    basis = RNG.standard_normal((3, 3))
    jordan = np.diag([2.0] * 3) + np.diag([1.0, 1.0], 1)
    nilpotent = np.diag([1.0, 1.0], 1)
    alike = (np.eye(3), jordan, nilpotent, np.zeros((3, 3)), np.linalg.solve(basis, jordan @ basis), np.ones((3, 3)))
    for a in alike:
        for function in (lambda a: np.linalg.eigvals(a)[0].real, lambda a: np.linalg.eig(a)[1][0, 0].real):
            assert np.isfinite(primad.jit(function)(a))
            for derived in (primad.grad(function), primad.jit(primad.grad(function))):
                with pytest.raises(np.linalg.LinAlgError, match="equal to another"):
                    derived(a)
    with pytest.raises(np.linalg.LinAlgError, match=r"at \[1\] of"):
        primad.grad(lambda a: np.sum(np.linalg.eigvals(a)[:, 0].real))(np.stack([np.diag([1.0, 2.0]), np.eye(2)]))
    near = jordan + np.diag([1e-3, 0.0, -1e-3])
    slope = primad.grad(lambda a: np.sum(np.linalg.eigvals(a) ** 2).real)(near)
    np.testing.assert_allclose(slope, 2 * near.T, rtol=1e-5, atol=1e-5)


def test_vectors_whose_largest_elements_are_equal() -> None:
    """The eigenvectors of a rotation are (1, ±i)/√2 whatever its angle: they do not turn."""
    w, v = primad.jacfwd(lambda t: tuple(np.linalg.eig(turn(t))))(0.3)
    np.testing.assert_allclose(sorted(w.imag), [-np.cos(0.3), np.cos(0.3)])
    np.testing.assert_allclose(v, 0, atol=1e-15)


def test_general_spectra_of_stacks_and_of_what_is_not_finite() -> None:
    a = matrices(12, 3, 3).real
    w, v = primad.jit(primad.vmap(lambda a: tuple(np.linalg.eig(a))))(a)
    np.testing.assert_allclose(a @ v, v * w[:, None, :], atol=1e-12)
    np.testing.assert_allclose(w, np.linalg.eig(a)[0].astype(complex))
    assert primad.jit(np.linalg.eigvals)(a.astype(np.float32)).dtype == np.complex64
    assert primad.jit(np.linalg.eigvals)(np.diag([1.0, 2.0])).dtype == np.complex128
    a[3, 0, 0] = np.nan
    found = primad.jit(primad.grad(lambda a: np.sum(np.abs(np.linalg.eigvals(a)))))(a)
    assert np.isnan(found[3]).all() and np.isfinite(found[:3]).all() and np.isfinite(found[4:]).all()
    assert primad.jit(lambda a: np.linalg.eig(a)[1])(np.zeros((0, 0))).shape == (0, 0)


def test_roots() -> None:
    assert primad.jit(np.roots)(np.array([3.0])).shape == (0,)
    coefficients = np.array([1.0, -6.0, 11.0, -6.0])  # (x − 1)(x − 2)(x − 3)
    hessian = primad.hessian(lambda c: np.max(np.roots(c).real))(coefficients)
    # With x(c) implicit, 2 x₀ = −12 + … : the last coefficient alone moves it by −1/p′, and that by p″/p′³.
    np.testing.assert_allclose(hessian[3, 3], -12 * (1 / 2) ** 3 / 2, rtol=1e-9)
    with pytest.raises(np.linalg.LinAlgError, match="equal"):
        primad.grad(lambda c: np.max(np.roots(c).real))(np.array([1.0, -2.0, 1.0]))


def test_roots_and_logarithms_that_are_complex_or_do_not_exist() -> None:
    negative, nilpotent = np.array([[-1.0, 2.0], [0.5, -3.0]]), np.array([[0.0, 1.0], [0.0, 0.0]])
    for function, own in ((linalg.sqrtm, scipy.linalg.sqrtm), (linalg.logm, scipy.linalg.logm)):
        found = primad.jit(lambda a, f=function: f(a.astype(complex)))(negative)
        np.testing.assert_allclose(found, own(negative))
        for a in (negative, nilpotent, nilpotent + 0j):
            with pytest.raises(np.linalg.LinAlgError, match=r"no (real )?principal"):
                primad.jit(function)(a)
    with pytest.raises(np.linalg.LinAlgError, match="no real principal"):
        primad.grad(lambda a: linalg.logm(a)[0, 0])(np.diag([1.0, 0.0]))
    a = matrices(3, 3)
    for found, expected in zip(primad.jit(linalg.eig)(a), scipy.linalg.eig(a), strict=True):
        np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(primad.jit(linalg.eigvals)(a), scipy.linalg.eigvals(a))
    for options in ({"left": True}, {"b": a}, {"homogeneous_eigvals": True}):
        with pytest.raises(primad.PrimadError, match="left=True"):
            primad.jit(lambda a, o=options: linalg.eig(a, **o))(a)
