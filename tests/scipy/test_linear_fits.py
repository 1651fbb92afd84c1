"""nnls, lsq_linear and isotonic_regression: SciPy's values; derivatives of their free blocks, of both orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse
from scipy.sparse.linalg import aslinearoperator

import primad
import primad.scipy.optimize as mirror

R = np.random.default_rng(7)
A, B, TURNED, SIDE = R.normal(size=(9, 4)), R.normal(size=9), R.normal(size=(9, 4)), R.normal(size=9)
LOW, HIGH = np.array([-0.1, -np.inf, 0.0, -0.2]), np.array([0.3, 0.1, np.inf, 0.2])
Y, WEIGHTS = np.array([1.0, 3.0, 2.0, 2.5, 6.0, 5.0, 7.0]), np.array([1.0, 2.0, 1.0, 0.5, 1.0, 3.0, 1.0])
Fit = Callable[..., Any]

FITS: dict[str, tuple[Fit, tuple[Any, ...], tuple[Any, ...]]] = {
    "nnls": (lambda of, a, b: of.nnls(a, b)[0], (A, B), (TURNED, SIDE)),
    "nnls, norm": (lambda of, a, b: of.nnls(a, b)[1], (A, B), (TURNED, SIDE)),
    **{
        f"lsq_linear, {method}": (
            lambda of, a, b, low, high, m=method: of.lsq_linear(a, b, (low, high), method=m, tol=1e-14).x,
            (A, B, LOW, HIGH), (TURNED, SIDE, 0.0 * SIDE[:4] + [0.5, 0, 0.3, 0.1], 0.0 * SIDE[:4] + [0.5, 0.4, 0, 0.1]),
        )
        for method in ("trf", "bvls")
    },
    "lsq_linear, free": (lambda of, a, b: of.lsq_linear(a, b).cost, (A, B), (TURNED, SIDE)),
    "lsq_linear, residuals": (
        lambda of, a, b: of.lsq_linear(a, b, optimize.Bounds(LOW - 1, HIGH), tol=1e-14).fun, (A, B), (TURNED, SIDE),
    ),
    "isotonic": (lambda of, y, w: of.isotonic_regression(y, weights=w).x, (Y, WEIGHTS), (SIDE[:7], SIDE[2:])),
    "isotonic, falls": (lambda of, y: of.isotonic_regression(y, increasing=False).x, (Y,), (SIDE[:7],)),
}  # fmt: skip
"""Fits as functions of SciPy's module or ours, and of data; the data, and a direction of each."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FITS)
def test_values_are_scipys_and_derivatives_those_of_differences(name: str) -> None:
    fit, data, sides = FITS[name]

    def along(t: Any, of: Any = mirror) -> Any:
        return fit(of, *[x + t * side for x, side in zip(data, sides, strict=True)])

    h = 1e-4
    low, middle, high = (along(t, optimize) for t in (-h, 0.0, h))
    value, slope = primad.jvp(along, (0.0,), (1.0,))
    np.testing.assert_allclose(value, middle, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(slope, (high - low) / (2 * h), rtol=1e-5, atol=1e-7)
    bent = primad.jvp(lambda t: primad.jvp(along, (t,), (1.0,))[1], (0.0,), (1.0,))[1]
    np.testing.assert_allclose(bent, (high - 2 * middle + low) / h**2, rtol=1e-4, atol=1e-5)
    pulled = primad.jacobian(primad.jit(lambda *given: fit(mirror, *given)), tuple(range(len(data))))(*data)
    towards = sum(np.tensordot(J[...], side, np.ndim(side)) for J, side in zip(pulled, sides, strict=True))
    np.testing.assert_allclose(towards, slope, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", [(9, 4), (300, 7), (40, 60)], ids=str)
def test_free_columns_have_their_pseudoinverse(size: tuple[int, int]) -> None:
    a = np.abs(R.normal(size=size))
    b = a @ np.where(np.arange(size[1]) % 2, 3.0, -1.0) + 0.1 * R.normal(size=size[0])
    x = optimize.nnls(a, b)[0]
    inverse = np.zeros(size[::-1])
    inverse[x > 0] = np.linalg.pinv(a[:, x > 0])
    assert 0 < (x > 0).sum() < size[1]
    found = primad.jacobian(lambda b: mirror.nnls(sparse.csr_array(a), b)[0])(b)[:, :]
    np.testing.assert_allclose(found, inverse, rtol=1e-10, atol=1e-12)


def test_columns_that_are_nearly_dependent_are_solved_as_well_as_by_a_factorisation_of_theirs() -> None:
    """The square of this matrix is singular to rounding."""
    near = A.copy()
    near[:, 1] = near[:, 0] + 1e-8 * near[:, 1]
    b = near @ [1.0, 2.0, 3.0, 4.0] + 0.1 * B
    found, slope = primad.jvp(lambda b: mirror.lsq_linear(near, b).x, (b,), (B,))
    np.testing.assert_allclose(found, np.linalg.lstsq(near, b)[0], rtol=1e-6)
    np.testing.assert_allclose(slope, np.linalg.lstsq(near, B)[0], rtol=1e-6)
    long = np.tile(near, (40, 1))  # which has sparse factors
    with pytest.raises(primad.DomainError, match=r"have rank 3 \(to 1e-05\)"):
        primad.jvp(lambda b: mirror.lsq_linear(long, b).x, (np.tile(b, 40),), (np.tile(B, 40),))
    found = primad.jvp(lambda b: mirror.lsq_linear(np.tile(A, (40, 1)), b).x, (np.tile(b, 40),), (np.tile(B, 40),))[1]
    np.testing.assert_allclose(found, np.linalg.lstsq(A, B)[0], rtol=1e-10)


def test_units_of_unknowns_and_of_data_do_not_count() -> None:
    units = np.array([1e-9, 1.0, 1e7, 1e3])
    x, wanted = optimize.nnls(A, B)[0], primad.jacobian(lambda b: mirror.nnls(A, b)[0])(B)[:, :]
    for scale in (1e-8, 1e8):
        value, slope = primad.jvp(lambda b: mirror.nnls(A * units, b)[0], (scale * B,), (B,))
        np.testing.assert_allclose(value * units, scale * x, rtol=1e-12)
        np.testing.assert_allclose(slope * units, wanted @ B, rtol=1e-10)


def test_under_jit_and_vmap() -> None:
    many = np.stack([B, -B, SIDE])
    f = primad.jit(primad.vmap(lambda b: mirror.nnls(A, b)[0]))
    np.testing.assert_allclose(f(many), [optimize.nnls(A, b)[0] for b in many], rtol=1e-12, atol=1e-14)
    slopes = primad.jit(primad.vmap(primad.grad(lambda y: mirror.isotonic_regression(y).x @ Y)))(np.stack([Y, Y[::-1]]))
    np.testing.assert_allclose(slopes[1], np.full(7, Y.mean()), rtol=1e-12)
    mask = primad.jit(lambda b: mirror.lsq_linear(A, b, (LOW, HIGH)).active_mask)(B)
    np.testing.assert_array_equal(mask, optimize.lsq_linear(A, B, (LOW, HIGH), method="bvls").active_mask)


def test_long_rows_of_blocks_take_sparse_factors() -> None:
    y = np.arange(2000.0) + 40 * R.normal(size=2000)
    x = optimize.isotonic_regression(y).x
    blocks = np.unique(x, return_inverse=True)[1]
    means = np.bincount(blocks, np.cos(y)) / np.bincount(blocks)
    found, slope = primad.jvp(lambda y: mirror.isotonic_regression(y).x, (y,), (np.cos(y),))
    np.testing.assert_allclose(found, x, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(slope, means[blocks], rtol=1e-9, atol=1e-12)


def test_plain_values_are_scipys_own() -> None:
    for ours, scipys in zip(mirror.nnls(A, B), optimize.nnls(A, B), strict=True):
        np.testing.assert_array_equal(ours, scipys)
    assert mirror.lsq_linear(aslinearoperator(A), B, (-1, 1)).nit >= 0
    assert mirror.isotonic_regression(Y).blocks.tolist() == optimize.isotonic_regression(Y).blocks.tolist()


EYE = np.eye(3)
TWICE = np.stack([A[:, 0], A[:, 0], A[:, 1]], axis=1)


@pytest.mark.parametrize(("ask", "says"), [
    (lambda b: mirror.nnls(EYE, b)[0][0], "nnls: the solution is degenerate: bound of unknown 1 holds"),
    (lambda b: mirror.nnls(1e9 * EYE, b)[0][0], "degenerate: bound of unknown 1"),
    (lambda b: mirror.nnls(np.pad(EYE, ((0, 0), (0, 1))), b + 1)[0][0], "degenerate: bound of unknown 3"),
    (lambda b: mirror.lsq_linear(EYE, b, (-9, [1, 9, 9])).x[0], "degenerate: bound of unknown 0"),
    (lambda b: mirror.lsq_linear(EYE, b, (-9, [1, 9, 9]), method="bvls").x[0], "degenerate: bound of unknown 0"),
    (lambda b: mirror.lsq_linear(np.ones((3, 2)), b).x[0], "the 2 unknowns that are not at bounds have rank 1"),
    (lambda b: mirror.lsq_linear(np.ones((3, 2)), b, (-5, 5)).x[0], "have rank 1"),
    (lambda b: mirror.lsq_linear(np.eye(3, 4), b, (-5, 5)).x[0], "the 4 unknowns .* have rank 3"),
    (lambda b: mirror.lsq_linear(TWICE[:3], b, (-5, 5)).x[2], "have rank 2"),
    (lambda b: mirror.isotonic_regression(0 * b).x[1], "inequality 0 holds"),
    (lambda b: mirror.isotonic_regression(b[[0, 0, 2]]).x[0], "isotonic_regression: the solution is degenerate"),
    (lambda b: mirror.nnls(EYE, b[:2])[0][0], r"A has the shape \(3, 3\), and b \(2,\)"),
    (lambda b: mirror.nnls(EYE * 1j, b)[0][0], "join both parts"),
    (lambda b: mirror.lsq_linear(aslinearoperator(EYE), b).x[0], "give A as a matrix"),
    (lambda b: mirror.lsq_linear(EYE, b, (1, 0)).x[0], "strictly less"),
    (lambda b: mirror.lsq_linear(EYE, b, verbose=1).x[0], "leave verbose out"),
    (lambda b: mirror.isotonic_regression(b, weights=b[:2]).x[0], "a weight for each"),
])  # fmt: skip
def test_what_has_no_derivative_is_refused(ask: Any, says: str) -> None:
    with pytest.raises((primad.PrimadError, ValueError), match=says):
        primad.grad(ask)(np.array([1.0, 0.0, 2.0]))


@pytest.mark.filterwarnings("error")
def test_sets_near_kinks_are_right_to_the_side_where_they_are() -> None:
    for b, slope in ((1e-6, 1.0), (-1e-6, 0.0)):
        assert primad.grad(lambda t: mirror.nnls(EYE, t * np.ones(3))[0][0])(b) == slope
        for method in ("trf", "bvls"):
            bounded = lambda t, m=method: mirror.lsq_linear(EYE, t * np.ones(3), (0, 1), method=m).x[1]  # noqa: E731
            assert primad.grad(bounded)(b) == slope and primad.grad(bounded)(1 - b) == slope


@pytest.mark.parametrize("scale", [1.0, 1e9])
@pytest.mark.parametrize("most", [0.3, 1.0])
def test_which_bounds_are_active_does_not_depend_on_the_scale(scale: float, most: float) -> None:
    """Of a large matrix the rounding of the gradient is larger than how far x is from its bounds."""
    a, b = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]) * scale, np.array([0.15, 0.4, 0.7])
    bounds = (0.0, most / scale)
    wanted = optimize.lsq_linear(a / scale, b, (0.0, most))  # SciPy takes 3e-10 for a bound that is near
    found = primad.jit(lambda b: mirror.lsq_linear(a, b, bounds).active_mask)(b)
    np.testing.assert_array_equal(found, wanted.active_mask)
