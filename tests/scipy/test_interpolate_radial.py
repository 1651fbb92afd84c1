"""RBFInterpolator against SciPy: kernels, options, derivatives in values and in both kinds of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.interpolate

import primad
from primad import numpy as pn
from primad.errors import MatrixError
from primad.scipy.interpolate import RBFInterpolator

DRAWN = np.random.default_rng(7)
Y, D, X = DRAWN.uniform(-1, 1, (9, 2)), DRAWN.normal(size=9), DRAWN.uniform(-1.2, 1.2, (4, 2))
KERNELS = {
    "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2, "multiquadric": 0, "inverse_multiquadric": -1,
    "inverse_quadratic": -1, "gaussian": -1,
}  # fmt: skip
SMOOTH = [name for name in KERNELS if name.startswith(("multi", "inverse", "gauss"))]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kernel", KERNELS)
def test_values_are_scipys_with_every_option(kernel: str) -> None:
    """Of any degree from the least one on, smoothed or not, of several values and complex ones."""
    options: list[tuple[Any, Any, dict[str, Any]]] = [
        (Y, D, {}),
        (Y, D, {"smoothing": 0.3, "degree": 2}),
        (Y, np.stack([D, D**2, D + 1]).T.reshape(9, 3, 1), {"smoothing": np.linspace(0.1, 0.5, 9)}),
        (Y[:, :1], D + 1j * D[::-1], {"degree": KERNELS[kernel]}),
        (np.ones((9, 1)) * Y[:, 0:1] * [1.0, 0.0], D, {"degree": 0 if KERNELS[kernel] < 1 else -1}),
    ]
    for y, d, more in options:
        given = {"kernel": kernel.upper(), "epsilon": 3.0} | more
        expected = scipy.interpolate.RBFInterpolator(y, d, **given)(X[:, : y.shape[1]])
        of_values = primad.jit(lambda d, y=y, given=given: RBFInterpolator(y, d, **given)(X[:, : y.shape[1]]))
        np.testing.assert_allclose(of_values(d), expected, rtol=1e-8, atol=1e-10)
        plain = RBFInterpolator(y, d, **given)
        np.testing.assert_array_equal(plain(X[:, : y.shape[1]]), expected)
        at_points = primad.vmap(lambda x, plain=plain: plain(x[None])[0])(X[:, : y.shape[1]])
        np.testing.assert_allclose(at_points, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("kernel", KERNELS)
def test_derivatives_in_all_that_may_be_traced(kernel: str) -> None:
    def value(x: Any, y: Any, d: Any, smoothing: Any, epsilon: Any) -> Any:
        return RBFInterpolator(y, d, smoothing=smoothing, kernel=kernel, epsilon=epsilon)(x)

    primad.check_grads(value, (X[:2], Y, D, 0.2, 1.3), order=1, rtol=1e-4)
    primad.check_grads(lambda x: value(x, Y, D, 0.2, 1.3), (X[:2],), order=2, rtol=1e-3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_derivatives_at_data_points(kernel: str) -> None:
    """There the kernel's own gradient is 0, and a smooth kernel has its second derivatives."""
    slopes = primad.jacobian(lambda x: RBFInterpolator(Y, D, kernel=kernel, epsilon=1.3)(x[None])[0])
    step = 1e-5
    fit = scipy.interpolate.RBFInterpolator(Y, D, kernel=kernel, epsilon=1.3)
    around = [fit(Y[:1] + sign * step * np.eye(2)) for sign in (1, -1)]
    np.testing.assert_allclose(slopes(Y[0]), (around[0] - around[1]) / (2 * step), rtol=1e-4, atol=1e-4)
    values = primad.grad(lambda d: RBFInterpolator(Y, d, kernel=kernel, epsilon=1.3)(Y[:1])[0])(D)
    np.testing.assert_allclose(values, np.eye(9)[0], atol=1e-8)
    if kernel in SMOOTH:
        curvature = np.array(primad.jacobian(slopes)(Y[0]))
        differences = [(slopes(Y[0] + step * e) - slopes(Y[0] - step * e)) / (2 * step) for e in np.eye(2)]
        np.testing.assert_allclose(curvature, differences, rtol=1e-5, atol=1e-6)


def test_a_fit_may_go_on_inside_of_another_derivative() -> None:
    """Coefficients are found where the values are traced, and not again in each derivative inside."""

    def value(d: Any) -> Any:
        fit = RBFInterpolator(Y, d)
        slope = primad.grad(lambda x: fit(x[None])[0])(X[0])
        return pn.sum(slope) + fit(X)[0]

    primad.check_grads(value, (D,), order=1)
    plain = RBFInterpolator(Y, D)
    np.testing.assert_allclose(primad.jit(plain)(X), plain(X))
    np.testing.assert_allclose(primad.vmap(lambda x: plain(x[None])[0])(X), plain(X))


def test_errors_say_what_to_do() -> None:
    calls: dict[str, Any] = {
        "leave neighbors out": lambda d: RBFInterpolator(Y, d, neighbors=4),
        "give one of 'linear'": lambda d: RBFInterpolator(Y, d, kernel="cubical"),
        "give epsilon": lambda d: RBFInterpolator(Y, d, kernel="gaussian"),
        "give −1": lambda d: RBFInterpolator(Y, d, degree=-2),
        "give more points": lambda d: RBFInterpolator(Y, d, degree=3),
        "give points": lambda d: RBFInterpolator(Y[:4], d),
        "give points (points, axes), one": lambda d: RBFInterpolator(np.array(1.0), d),
        "give points (points, axes), x": lambda d: RBFInterpolator(Y, d)(X[0]),
    }
    for fix, call in calls.items():
        with pytest.raises(primad.PrimadError) as raised:
            primad.trace(call)(D)
        assert f"Fix: {fix}" in str(raised.value)
    with pytest.raises(primad.NotDifferentiableError, match="jump where another point"):
        primad.grad(lambda x: RBFInterpolator(Y, D, neighbors=4)(x[None])[0])(X[0])
    with pytest.warns(UserWarning, match="degree"):
        primad.trace(lambda d: RBFInterpolator(Y, d, kernel="quintic", degree=1)(X))(D)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kernel", KERNELS)
def test_points_that_are_given_twice_are_refused_or_nan(kernel: str) -> None:
    """SciPy finds a pivot of 0 by chance; smoothed values may be given twice, as there."""
    twice, options = np.concatenate([Y, Y[3:5]]), {"kernel": kernel, "epsilon": 2.0}
    values = np.concatenate([D, D[3:5]])
    with pytest.raises(MatrixError, match="a point is given twice"):
        primad.grad(lambda y: RBFInterpolator(y, values, **options)(X)[0])(twice)
    assert np.isnan(primad.jit(lambda y: RBFInterpolator(y, values, **options)(X))(twice)).all()
    smooth = primad.jit(lambda y: RBFInterpolator(y, values, smoothing=0.1, **options)(X))(twice)
    expected = scipy.interpolate.RBFInterpolator(twice, values, smoothing=0.1, **options)(X)
    np.testing.assert_allclose(smooth, expected, rtol=1e-8, atol=1e-10)


def test_points_on_a_line_have_no_polynomial_of_degree_1() -> None:
    line = Y[:, :1] * np.array([1.0, 2.0])
    with pytest.raises(MatrixError, match="degree 1 are not distinct"):
        primad.jit(lambda d: RBFInterpolator(line, d)(X))(D)
