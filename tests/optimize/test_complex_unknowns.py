"""Complex unknowns: every method finds what linear algebra says, of complex residuals and of losses, in any tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
from scipy.optimize import LinearConstraint, NonlinearConstraint

import primad
from primad import optimize
from primad.errors import ShapeError, TracingError
from primad.optimize.scipy_solvers.derivatives import BY_VALUES, METHODS

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(6, 2)) + 1j * RNG.normal(size=(6, 2))
RIGHT = RNG.normal(size=6) + 1j * RNG.normal(size=6)
SOLUTION = np.linalg.lstsq(MATRIX, RIGHT)[0]
START = np.array([0.3 + 0.1j, -0.2j])


def residuals(z: Any) -> Any:
    return MATRIX @ z - RIGHT


def loss(z: Any) -> Any:
    return np.sum(np.abs(residuals(z)) ** 2)


def in_tree(p: Any) -> Any:
    """A loss of a complex number, a real array and a complex array in single precision."""
    far = np.sum((p["b"] - np.abs(p["a"])) ** 2) + np.sum(np.abs(p["c"] - 1j * p["b"]) ** 2)
    return np.abs(p["a"] - 1j) ** 2 + far


TREE = {"a": np.array(0.3 + 0.1j), "b": np.array([1.0, 2.0]), "c": np.zeros(2, np.complex64)}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("method", [*METHODS, "LBFGS", "NewtonCG", "SelfScaledBroyden"])
def test_methods_of_minimize(method: str) -> None:
    options = {"maxiter": 4000} if method in BY_VALUES else {}
    found = optimize.minimize(loss, START, method=method, options=options)
    assert found.x.dtype == complex
    assert np.abs(found.x - SOLUTION).max() < (5e-3 if method in BY_VALUES else 1e-5)


@pytest.mark.parametrize(
    "rule",
    [
        optimize.LevenbergMarquardt(),
        optimize.LevenbergMarquardt(space="residuals", acceleration=0.0),
        optimize.GaussNewtonCG(),
        optimize.LBFGS(),
        optimize.NewtonCG(),
        optimize.SelfScaledBroyden(),
        optimize.Descent(primad.nn.Adam(0.1), schedule=lambda step: 0.1 * 0.97**step),
    ],
    ids=lambda rule: f"{type(rule).__name__}-{getattr(rule, 'space', '')}",
)
def test_rules(rule: Any) -> None:
    """They see the parts; what users see is complex, in callbacks too, and a resumed run is the same run."""
    of_residuals = isinstance(rule, (optimize.LevenbergMarquardt, optimize.GaussNewtonCG))
    function = residuals if of_residuals else loss
    seen: list[Any] = []
    first = optimize.solve(rule, function, START, steps=3, callback=lambda z, state: seen.append(z))
    assert all(z.dtype == complex and z.shape == START.shape for z in seen)
    again = optimize.solve(rule, function, first.params, state=first.state, steps=200)
    assert np.abs(again.params - SOLUTION).max() < 1e-4
    whole = optimize.solve(rule, function, START, steps=200)
    assert np.allclose(whole.params, again.params, rtol=0, atol=1e-6)


def test_trees_keep_their_dtypes() -> None:
    found = optimize.solve(optimize.LBFGS(), in_tree, TREE).params
    assert np.allclose(found["a"], 1j) and np.allclose(found["b"], 1) and np.allclose(found["c"], 1j)
    assert [found[name].dtype for name in "abc"] == [np.complex128, np.float64, np.complex64]


@pytest.mark.parametrize("options", [{}, {"method": "dogbox"}, {"method": "lm"}, {"products": True}])
def test_least_squares(options: Any) -> None:
    found = optimize.least_squares(residuals, START, **options)
    assert np.abs(found.x - SOLUTION).max() < 1e-8 and np.allclose(found.fun, residuals(found.x))
    assert found.grad.dtype == complex and found.active_mask.shape == (2, 2)
    assert found.cost == pytest.approx(0.5 * loss(found.x))


def test_gradients_are_those_of_grad() -> None:
    """Stopped on the way, results tell the gradient that `grad` has."""
    stopped = optimize.minimize(loss, START, method="L-BFGS-B", options={"maxiter": 1})
    assert np.allclose(stopped.jac, primad.grad(loss)(stopped.x)) and np.abs(stopped.jac).max() > 1e-3
    stopped = optimize.least_squares(residuals, START, max_nfev=1)
    assert np.allclose(stopped.grad, 0.5 * primad.grad(loss)(stopped.x))


def test_covariance_is_that_of_the_parts() -> None:
    def of_parts(p: Any) -> Any:
        r = residuals(p[:, 0] + 1j * p[:, 1])
        return np.stack([r.real, r.imag])

    parts = np.stack([SOLUTION.real, SOLUTION.imag], axis=-1)
    assert np.allclose(optimize.covariance(residuals, SOLUTION), optimize.covariance(of_parts, parts))


@pytest.mark.parametrize(("method", "start"), [("hybr", 0.5 + 0.5j), ("lm", 0.5 + 0.5j), ("krylov", 0.2 + 0.8j)])
def test_roots(method: str, start: complex) -> None:
    assert np.allclose(optimize.root(lambda z: z**2 + 1, start, method=method).x, 1j, atol=1e-5)


def far(z: Any) -> Any:
    return np.sum(np.abs(z - 2 - 2j) ** 2)


DISK = {"type": "ineq", "fun": lambda z: 1 - np.abs(z) ** 2}


@pytest.mark.parametrize(
    ("constraint", "wanted"),
    [
        (DISK, [(1 + 1j) / np.sqrt(2)] * 2),
        (NonlinearConstraint(lambda z: np.abs(z) ** 2, 0, 1), [(1 + 1j) / np.sqrt(2)] * 2),
        ({"type": "eq", "fun": lambda z: z[0] - 1j * z[1]}, [2j, 2]),
        (LinearConstraint([[1, 0, 0, 1]], 0, 0), [2j, 2]),  # x of the first is −y of the second
    ],
    ids=["disk", "nonlinear", "equation", "columns"],
)
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints(constraint: Any, wanted: Any, method: str) -> None:
    found = optimize.minimize(far, np.array([0.1j, 0.2]), method=method, constraints=constraint)
    assert np.allclose(found.x, wanted, atol=2e-3)


def test_bounds_of_parts() -> None:
    start = np.array([0.1j, 1])
    for bounds in ((complex(-1, -2), complex(1, np.inf)), (-np.inf, np.array([1 + 2j, 1 + 3j]))):
        assert np.allclose(optimize.minimize(far, start, bounds=bounds).x, 1 + 2j)
        assert np.allclose(optimize.least_squares(lambda z: z - 2 - 2j, start, bounds=bounds).x, 1 + 2j, atol=1e-3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: optimize.minimize(lambda z: z[0], START), ShapeError, "no least one"),
        (lambda: optimize.minimize(loss, START, jac=lambda z: z), TracingError, "leave it out"),
        (lambda: optimize.minimize(lambda z: (loss(z), z), START, jac=True), TracingError, "leave it out"),
        (lambda: optimize.minimize(loss, START, bounds=(-1, 1)), ShapeError, "no order"),
        (
            lambda: optimize.minimize(loss, START, constraints={"type": "ineq", "fun": lambda z: z}),
            TracingError,
            "Real",
        ),
        (lambda: optimize.LBFGS().init(START), ShapeError, "primad.optimize.solve"),
        (lambda: optimize.solve(optimize.LBFGS(), optimize.Loss(loss), START), TracingError, "the function itself"),
    ],
)
def test_what_has_no_meaning_is_refused(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def spiral(t: Any, y: Any) -> Any:
    return np.stack([(-2 + 1j) * y[0] + np.conj(y[1]), 1j * y[0].real * y[1]])


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "BDF", "Radau", "LSODA"])
def test_initial_value_problems(method: str) -> None:
    """Explicit methods take SciPy's steps of complex numbers; stiff ones integrate the parts."""
    passes = lambda t, y: y[0].real - 0.4  # noqa: E731
    options: dict[str, Any] = {"rtol": 1e-7, "atol": [1e-9, 1e-8], "events": passes, "dense_output": True}
    found = optimize.solve_ivp(spiral, (0, 1), START + 0.5, method, **options)
    exact = method if method in ("RK23", "RK45", "DOP853") else "DOP853"
    expected = scipy.integrate.solve_ivp(spiral, (0, 1), START + 0.5, exact, **options)
    assert found.y.dtype == complex and found.y.shape == (2, found.t.size)
    if method == exact:
        np.testing.assert_allclose(found.t, expected.t, rtol=1e-9)
    np.testing.assert_allclose(found.y[:, -1], expected.y[:, -1], rtol=1e-5)
    np.testing.assert_allclose(found.y_events[0].T, expected.y_events[0], rtol=1e-5)
    np.testing.assert_allclose(found.sol([0.2, 0.7]), expected.sol([0.2, 0.7]), rtol=1e-5)
    np.testing.assert_allclose(found.sol(0.2), expected.sol(0.2), rtol=1e-5)


@pytest.mark.parametrize("method", ["RK45", "BDF"])
def test_initial_value_problems_of_trees(method: str) -> None:
    """A real number and complex ones in single precision; the slope of these may be real."""

    def slope(t: Any, y: Any) -> Any:
        return {"a": -y["a"], "c": np.abs(y["c"]) * y["a"]}

    tolerances: dict[str, Any] = {"rtol": 1e-6, "atol": {"a": 1e-8, "c": np.full((2, 1), 1e-8)}}
    start = {"a": 1.0, "c": np.array([[1j], [2 + 1j]], np.complex64)}
    found = optimize.solve_ivp(slope, (0, 1), start, method, t_eval=[0.5, 1.0], **tolerances)
    assert found.y["c"].dtype == np.complex64 and found.y["c"].shape == (2, 1, 2)
    np.testing.assert_allclose(found.y["a"], np.exp([-0.5, -1.0]), rtol=1e-5)
    of_numbers = lambda t, y: np.stack([-y[0], np.abs(y[1]) * y[0], np.abs(y[2]) * y[0]])  # noqa: E731
    expected = scipy.integrate.solve_ivp(of_numbers, (0, 1), [1.0 + 0j, 1j, 2 + 1j], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.y["c"][:, 0, -1], expected.y[1:, -1], rtol=1e-5)
