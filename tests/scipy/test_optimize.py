"""primad.scipy.optimize: SciPy's own on plain values; of traced functions the solutions with their derivatives."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse

import primad
import primad.scipy.optimize as mirror
from primad.recording.scipy_names import RECORDED
from primad.recording.traced_array import TracedArray

T = np.linspace(0.0, 1.0, 8)
Y = 2 * np.exp(-3 * T) + 0.1 * np.cos(9 * T)
SIGMA = 1 + 0.1 * T
COVARIANCE = np.diag(SIGMA**2) + 0.1
SIDE = np.cos(3 * T)


def decay(t: Any, size: Any, rate: Any) -> Any:
    return size * np.exp(-rate * t)


# -- roots -------------------------------------------------------------------------------------------------------------


def cubic(x: Any, a: Any) -> Any:
    """Its minimum is at the square root."""
    return np.sum(x**3 / 3 - a * x)


SQUARE_ROOTS: dict[str, Callable[[Any], Any]] = {
    **{name: lambda a, name=name: getattr(mirror, name)(lambda x: x**2 - a, 0, 10)
       for name in ("bisect", "brenth", "brentq", "ridder", "toms748")},
    "an end that moves": lambda a: mirror.brentq(lambda x, b: x**2 - b, 0.0, a, args=(a,)),
    "no value in the middle": lambda a: mirror.brentq(lambda x: np.where(x == 1.5, np.nan, x**2 - a), 0, 3.01),
    "secant": lambda a: mirror.newton(lambda x: x**2 - a, 1.0),
    "two starts": lambda a: mirror.newton(lambda x: x**2 - a, 1.0, x1=1.2),
    "newton": lambda a: mirror.newton(lambda x: x**2 - a, 1.0, fprime=lambda x: 2 * x),
    "newton, of many": lambda a: -mirror.newton(lambda x: x**2 - a, np.array([1.0, -1.0]))[1],
    "newton, complex": lambda a: np.imag(mirror.newton(lambda x: x**2 + a, 1 + 1j)),
    "root_scalar": lambda a: mirror.root_scalar(lambda x: x**2 - a, x0=1.0, x1=2.0).root,
    "root_scalar, bracket": lambda a: mirror.root_scalar(lambda x: x**2 - a, bracket=[0, a], method="brentq").root,
    "root_scalar, pair": lambda a: mirror.root_scalar(lambda x: (x**2 - a, 2 * x), x0=1.0, fprime=True).root,
    "fixed_point": lambda a: mirror.fixed_point(lambda x: 0.5 * (x + a / x), 1.0),
    "fsolve": lambda a: mirror.fsolve(lambda x, b: x**2 - b, 1.0, a)[0],
    "root": lambda a: mirror.root(lambda x: [x[0] ** 2 - a, x[1] - x[0]], [1, 1]).x[1],
    "root, lm": lambda a: mirror.root(lambda x: [x[0] ** 2 - a, x[1] - x[0]], [1, 1], method="lm").x[1],
    "root, krylov": lambda a: mirror.root(lambda x: x**2 - a, np.ones(3), method="krylov", tol=1e-8).x[2],
    "newton_krylov": lambda a: mirror.newton_krylov(lambda x: x**2 - a, np.ones((2, 3)), f_tol=1e-8)[1, 2],
    "newton_krylov, preconditioned": lambda a: mirror.newton_krylov(
        lambda x: x**2 - a, np.ones(3), inner_M=np.eye(3) / 3, method="gmres", f_tol=1e-8, maxiter=30)[0],
    "root, pair": lambda a: mirror.root(lambda x: (x**2 - a, np.diag(2 * x)), np.ones(2), jac=True).x[0],
    "minimize_scalar": lambda a: mirror.minimize_scalar(lambda x: x**3 / 3 - a * x, bracket=(0.5, 1.0)).x,
    "minimize_scalar, bounded": lambda a: mirror.minimize_scalar(lambda x: x**3 / 3 - a * x, bounds=(0, 9)).x,
    "minimize": lambda a: mirror.minimize(lambda x: cubic(x, a), np.ones(2)).x[1],
    "minimize, pair": lambda a: mirror.minimize(lambda x: (cubic(x, a), x**2 - a), np.ones(2), jac=True).x[1],
    **{f"minimize, {method}":
       lambda a, m=method: mirror.minimize(lambda x: cubic(x, a), np.ones(2), method=m).x[1]
       for method in ("Nelder-Mead", "Powell", "L-BFGS-B", "CG")},
    "minimize, bounds": lambda a: mirror.minimize(lambda x: cubic(x, a), np.ones(2), bounds=[(0, 9)] * 2).x[1],
    "least_squares": lambda a: mirror.least_squares(lambda x: x**2 - a, [1.0]).x[0],
}  # fmt: skip
"""Ways to the square root of a number."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SQUARE_ROOTS)
def test_square_roots_have_their_derivatives(name: str) -> None:
    f = SQUARE_ROOTS[name]
    np.testing.assert_allclose(f(2.0), 2**0.5, rtol=1e-4)
    value, slope = primad.value_and_grad(f)(2.0)
    np.testing.assert_allclose([value, slope], [2**0.5, 8**-0.5], rtol=1e-9)


def test_transforms_and_second_derivatives() -> None:
    f = SQUARE_ROOTS["an end that moves"]
    a = np.array([2.0, 3.0, 5.0])
    np.testing.assert_allclose(primad.jit(primad.vmap(f))(a), a**0.5, rtol=1e-14)
    np.testing.assert_allclose(primad.jit(primad.vmap(primad.grad(primad.grad(f))))(a), -0.25 * a**-1.5, rtol=1e-12)


def test_plain_values_are_scipys_own() -> None:
    opaque = lambda x: float(x) ** 2 - 2  # noqa: E731
    for name in ("brentq", "bisect", "toms748"):
        assert getattr(mirror, name)(opaque, 0, 2) == getattr(optimize, name)(opaque, 0, 2)
    assert mirror.brentq(opaque, 0, 2, full_output=True)[1].converged
    assert mirror.newton(opaque, 1.0) == optimize.newton(opaque, 1.0)
    assert mirror.root(lambda x: x**2 - 2, np.ones(2)).nfev > 0
    assert mirror.minimize(lambda x: float(np.sum(x**2)), np.ones(2), method="BFGS").nit > 0
    np.testing.assert_array_equal(mirror.curve_fit(decay, T, Y)[1], optimize.curve_fit(decay, T, Y)[1])
    assert mirror.linprog([1.0], bounds=[(2, 3)]).x == [2]


def test_parameters_are_scipys() -> None:
    for name in mirror.__all__:
        ours, scipys = (inspect.signature(getattr(of, name)).parameters for of in (mirror, optimize))
        if name == "least_squares":  # further options of SciPy's go by name
            assert set(scipys) > set(ours) - {"others"}
        else:
            assert list(ours) == list(scipys), name


# -- minima ------------------------------------------------------------------------------------------------------------


def test_minima_at_bounds_move_with_them() -> None:
    def least(b: Any, top: Any) -> Any:
        return mirror.minimize(lambda x: np.sum((x - b) ** 2) + x[0] * x[1], [0.5, 0.1], bounds=[(0, 1), (None, top)]).x

    b = np.array([0.3, 0.9])
    np.testing.assert_allclose(primad.jacobian(least)(b, 0.2)[:, :], [[1, 0], [0, 0]], atol=1e-12)
    np.testing.assert_allclose(primad.jacobian(least, 1)(b, 0.2)[:], [-0.5, 1], atol=1e-12)
    inside = mirror.minimize_scalar
    at_end = lambda b: inside(lambda x: np.exp(x) - 2 * x, bounds=(b, 3), method="bounded").x  # noqa: E731
    assert primad.grad(at_end)(1.0) == 1.0 and primad.grad(at_end)(0.2) == 0.0
    box = optimize.Bounds(0, 1)
    slope = primad.jacobian(lambda b: mirror.minimize(lambda x: np.sum((x - b) ** 2), [0.5, 0.5], bounds=box).x)
    assert np.array_equal(slope(1.2)[:], [0, 0]) and np.allclose(slope(0.7)[:], [1, 1])
    envelope = primad.grad(lambda b: mirror.minimize(lambda x: np.sum((x - b) ** 2) + b, [0.5, 0.5]).fun)
    np.testing.assert_allclose(envelope(1.2), 1.0, rtol=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("options", [
    {}, {"method": "lm"}, {"bounds": ([0, 0], [1.9, 10])}, {"bounds": ([0, 0], [9, 10])},
    *({"loss": loss, "f_scale": 0.05} for loss in ("soft_l1", "huber", "cauchy", "arctan")),
], ids=str)  # fmt: skip
def test_fits_by_every_loss_move_with_the_data(options: Any) -> None:
    def fit(y: Any, **more: Any) -> Any:
        return mirror.least_squares(lambda p: decay(T, p[0], p[1]) - y, [1.5, 3.0], **options, **more).x

    exact = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}
    step = 1e-5
    differences = (fit(Y + step * SIDE, **exact) - fit(Y - step * SIDE, **exact)) / (2 * step)
    x, slope = primad.jvp(fit, (Y,), (SIDE,))
    np.testing.assert_allclose(x, fit(Y, **exact), rtol=1e-5)
    np.testing.assert_allclose(slope, differences, rtol=1e-2, atol=1e-6)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("options", [
    {}, {"sigma": SIGMA}, {"sigma": COVARIANCE}, {"sigma": SIGMA, "absolute_sigma": True}, {"method": "trf"},
    {"bounds": ([0, 0], [1.9, 10])}, {"p0": [1, 2]}, {"bounds": optimize.Bounds([0, 0], [3, 10])},
], ids=lambda x: ",".join(x))  # fmt: skip
def test_curves_and_their_covariance_move_with_the_data(options: Any) -> None:
    def plain(y: Any) -> Any:
        return primad.optimize.curve_fit(decay, T, y, **options)

    step = 1e-4
    values, slopes = primad.jvp(lambda y: mirror.curve_fit(decay, T, y, **options), (Y,), (SIDE,))
    for value, wanted in zip(values, plain(Y), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=2e-4, atol=1e-7)
    for slope, high, low in zip(slopes, plain(Y + step * SIDE), plain(Y - step * SIDE), strict=True):
        np.testing.assert_allclose(slope, (high - low) / (2 * step), rtol=1e-2, atol=1e-5)


def test_curves_move_with_places_deviations_and_models() -> None:
    exact = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
    ways = {
        "places": (lambda x, fit, **k: fit(decay, x, Y, **k)[0], T),
        "deviations": (lambda s, fit, **k: fit(decay, T, Y, sigma=s, **k)[0], SIGMA),
        "model": (lambda c, fit, **k: fit(lambda t, a, b: decay(t, a, b) + c, T, Y, **k)[0], 0.0 * T),
        "lists": (lambda c, fit, **k: fit(lambda t, a, b: a + b * t + c[:3], [0.0, 1, 2], [1.0, 2, 3.5], **k)[0], T),
    }
    for name, (way, x) in ways.items():
        slope = primad.jvp(lambda x, f=way: f(x, mirror.curve_fit), (x,), (SIDE,))[1]
        ends = [way(x + s * SIDE, optimize.curve_fit, method="lm", **exact) for s in (1e-5, -1e-5)]
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-5, rtol=1e-3, atol=1e-6, err_msg=name)


# -- linear programs ---------------------------------------------------------------------------------------------------

A, B, C = np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([4.0, 6.0]), np.array([-2.0, -1.5])


def test_linear_programs_move_with_all_their_numbers() -> None:
    vertex = lambda c, a, b: mirror.linprog(c, a, b).x  # noqa: E731
    np.testing.assert_allclose(primad.jacobian(vertex, 2)(C, A, B)[:, :], np.linalg.inv(A), rtol=1e-12)
    np.testing.assert_array_equal(primad.jacobian(vertex)(C, A, B)[:, :], np.zeros((2, 2)))
    turned = np.array([[0.3, -0.2], [0.1, 0.5]])
    along = primad.jvp(lambda a: vertex(C, a, B), (A,), (turned,))[1]
    np.testing.assert_allclose(along, -np.linalg.solve(A, turned @ np.linalg.solve(A, B)), rtol=1e-12)
    prices = optimize.linprog(C, A, B).ineqlin.marginals
    np.testing.assert_allclose(primad.grad(lambda b: mirror.linprog(C, A, b).fun)(B), prices, rtol=1e-12)
    marginals = primad.jvp(lambda c: mirror.linprog(c, A, B).ineqlin.marginals, (C,), (np.ones(2),))
    np.testing.assert_allclose(marginals, (prices, np.linalg.solve(A.T, np.ones(2))), rtol=1e-12)
    bound = primad.jacobian(lambda u: mirror.linprog(C, A, B, bounds=[(0, u), (0, None)]).x)
    np.testing.assert_allclose(bound(1.0)[:], [1, -0.5], rtol=1e-12)
    equal = primad.jacobian(lambda d: mirror.linprog([1, 2, 3.0], A_eq=[[1, 1, 1]], b_eq=d).x)
    np.testing.assert_allclose(equal(np.array([2.0]))[:], [[1], [0], [0]], atol=1e-12)
    many = primad.vmap(lambda b: mirror.linprog(C, sparse.csr_array(A), b).fun)(np.stack([B, 2 * B]))
    np.testing.assert_allclose(many, [-5, -10], rtol=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("ask", "says"), [
    (lambda b: mirror.linprog(C, np.vstack([A, A[:1] + A[1:]]), np.append(b, b.sum())).fun, "degenerate"),
    (lambda b: mirror.linprog([-1.0, -2.0], A, b).fun, "degenerate"),
    (lambda b: mirror.linprog([1.0, 1.0], [[1.0, 1.0]], -b[:1]).fun, "infeasible"),
    (lambda b: mirror.linprog([-1.0, 1.0], [[-1.0, 1.0]], b[:1]).fun, "unbounded"),
    (lambda b: mirror.brentq(lambda x: b[0] / (x - 0.1), -1, 2), "singular"),
    (lambda b: mirror.brentq(lambda x: x**2 + b[0], -1, 2), "different signs"),
    (lambda b: mirror.brentq(lambda x: x - b[0], 0, 9, xtol=1e-6 * b[0]), "xtol of a solver is traced"),
    (lambda b: mirror.brentq(lambda x: x - b[0], 0, 9, full_output=True)[0], "leave full_output out"),
    (lambda b: mirror.newton(lambda x: x**2 + b[0], 1.0), "converge"),
    (lambda b: mirror.root_scalar(lambda x: x - b[0]).root, "neither bracket"),
    (lambda b: mirror.minimize(lambda x: np.sum(x * b), [0.0, 0.0]).fun, "no solution"),
    (lambda b: mirror.minimize(cubic, [1.0, 1.0], b[0], constraints={"type": "eq"}).fun, "none of SciPy's"),
    (lambda b: mirror.curve_fit(lambda t, *p: p[0] * t + b[0], T, Y)[0][0], "give p0"),
])  # fmt: skip
def test_what_has_no_derivative_is_refused(ask: Any, says: str) -> None:
    with pytest.raises((primad.PrimadError, ValueError, RuntimeError), match=says):
        primad.grad(ask)(B)


SCIPYS_OWN: dict[str, Callable[[Any], Any]] = {
    "bisect": lambda a: optimize.bisect(lambda x: x**2 - a, 0, 9),
    "brenth": lambda a: optimize.brenth(lambda x: x**2 - a, 0, 9),
    "brentq": lambda a: optimize.brentq(lambda x: x**2 - a, 0, 9),
    "curve_fit": lambda a: optimize.curve_fit(decay, T, a * Y)[0][0],
    "fixed_point": lambda a: optimize.fixed_point(lambda x: 0.5 * (x + a / x), 1.0),
    "fsolve": lambda a: optimize.fsolve(lambda x: x**2 - a, 1.0)[0],
    "isotonic_regression": lambda a: optimize.isotonic_regression(a * Y).x[0],
    "least_squares": lambda a: optimize.least_squares(lambda x: x**2 - a, [1.0]).x[0],
    "linprog": lambda a: optimize.linprog(a * np.ones(2)).fun,
    "lsq_linear": lambda a: optimize.lsq_linear(np.eye(2), a * np.ones(2)).x[0],
    "minimize": lambda a: optimize.minimize(lambda x: cubic(x, a), [1.0]).x[0],
    "minimize_scalar": lambda a: optimize.minimize_scalar(lambda x: np.exp(x) - a * x).x,
    "newton": lambda a: optimize.newton(lambda x: x**2 - a, 1.0),
    "newton_krylov": lambda a: optimize.newton_krylov(lambda x: x**2 - a, np.ones(2))[0],
    "nnls": lambda a: optimize.nnls(np.eye(2), a * np.ones(2))[0][0],
    "ridder": lambda a: optimize.ridder(lambda x: x**2 - a, 0, 9),
    "root": lambda a: optimize.root(lambda x: x**2 - a, [1.0]).x[0],
    "root_scalar": lambda a: optimize.root_scalar(lambda x: x**2 - a, x0=1.0, x1=1.5).root,
    "toms748": lambda a: optimize.toms748(lambda x: x**2 - a, 0, 9),
}


@pytest.mark.parametrize("name", SCIPYS_OWN)
def test_scipys_own_name_it(name: str) -> None:
    """Also those that are written in Python, whose steps would be differentiated to their tolerance only."""
    with pytest.raises(primad.TracingError, match=f"call primad.scipy.optimize.{name}, "):
        primad.grad(SCIPYS_OWN[name])(2.0)


@pytest.mark.parametrize("solver", ["bisect", "brenth", "brentq", "ridder"])
@pytest.mark.parametrize("function", [
    lambda x, a: x**2 - a,
    lambda x, a: np.exp(a - x) - 1,
    lambda x, a: a * x,
    lambda x, a: -a,
    lambda x, a: np.sin(a),
    lambda x, a: a[()],
    lambda x, a: np.add(x, a, dtype=float),
    lambda x, a: a.reshape(1).sum(),
    lambda x, a: (a * x).sum() - a.shape[0:0].__len__(),
    lambda x, a: np.where(x > a, x, a) - abs(a),
])  # fmt: skip
def test_a_call_beside_a_pending_exception_ends_in_that_exception(
    solver: str, function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SciPy's compiled solvers call on after a result was refused, and Python finds no inherited attribute then.

    What is in its cache of attributes it does find: so refusals empty that.
    """
    refuse = TracedArray.__bool__

    def refuse_with_cold_cache(self: TracedArray) -> bool:
        try:
            return refuse(self)
        finally:
            sys._clear_type_cache()

    monkeypatch.setattr(TracedArray, "__bool__", refuse_with_cold_cache)
    with pytest.raises(primad.TracingError, match=r"needs the numbers of a traced array|in Python is asked for"):
        primad.grad(lambda a: getattr(optimize, solver)(function, 0.0, 9.0, args=(a,)))(2.0)


@pytest.mark.parametrize("call", [
    lambda a: optimize.newton(lambda x: x**2 - a, 1.0, fprime=lambda x: 2 * x),
    lambda a: optimize.newton(lambda x: x**2 - a, 1.0, fprime=lambda x: 2 * x, fprime2=lambda x: 2.0),
    lambda a: optimize.newton(lambda x: x**2 - a, np.ones(2))[0],
    lambda a: optimize.minimize_scalar(lambda x: np.exp(x) - a * x, bounds=(0, 3)).x,
    lambda a: optimize.minimize_scalar(lambda x: np.exp(x) - a * x, method="golden").x,
    lambda a: optimize.root_scalar(lambda x: (x**2 - a, 2 * x), x0=1.0, fprime=True).root,
])  # fmt: skip
@pytest.mark.parametrize("transform", [primad.grad, primad.jit, lambda f: lambda a: primad.jvp(f, (a,), (1.0,))])
def test_none_is_recorded_step_by_step(call: Any, transform: Any) -> None:
    with pytest.raises(primad.TracingError, match=r"call primad\.scipy\.optimize\."):
        transform(call)(2.0)


def test_names_that_there_are_not() -> None:
    assert set(mirror.__all__) == RECORDED["scipy.optimize"] == set(SCIPYS_OWN)
    with pytest.raises(AttributeError, match="did you mean brentq"):
        mirror.brentqq  # noqa: B018


def test_complex_fits_say_how_to_fit_both_parts() -> None:
    """SciPy drops imaginary parts of data, and says of the rest what it cannot cast."""
    turning = lambda t, rate: np.exp(1j * rate * t)  # noqa: E731
    both = lambda t, rate: np.concatenate([np.cos(rate * t), np.sin(rate * t)])  # noqa: E731
    for fit in (mirror.curve_fit, primad.optimize.curve_fit):
        for data, start in ((turning(T, 0.5), [1.0]), (T, [1.0 + 0j])):
            with pytest.raises(primad.ShapeError, match=r"are complex(.|\n)*np\.concatenate.*least_squares"):
                fit(turning, T, data, p0=start)
        assert np.isclose(fit(both, T, both(T, 0.5), p0=[0.6])[0][0], 0.5)
    with pytest.raises(primad.ShapeError, match="values of the model are complex"):
        primad.grad(lambda s: mirror.curve_fit(turning, T, s * Y, p0=[1.0])[0][0])(1.0)
