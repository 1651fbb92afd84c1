"""SciPy's documented forms: each is run through SciPy and through primad, and gives the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as theirs
from scipy.optimize import BFGS, SR1, Bounds, LinearConstraint, NonlinearConstraint, rosen, rosen_der, rosen_hess
from scipy.sparse import csr_matrix

from primad import optimize as ours
from primad.optimize.scipy_solvers.derivatives import derivatives
from primad.optimize.scipy_solvers.flat_functions import Plain
from primad.optimize.scipy_solvers.limits import constraint_of

Case = dict[str, Any]


def valley(x: Any, a: Any = 1.0, b: Any = 100.0) -> Any:
    return (a - x[0]) ** 2 + b * (x[1] - x[0] ** 2) ** 2


def slope(x: Any, a: Any = 1.0, b: Any = 100.0) -> Any:
    return np.array([-2 * (a - x[0]) - 4 * b * x[0] * (x[1] - x[0] ** 2), 2 * b * (x[1] - x[0] ** 2)])


def bend(x: Any) -> Any:
    return np.array([[2 - 400 * (x[1] - 3 * x[0] ** 2), -400 * x[0]], [-400 * x[0], 200]])


DOCS: Case = {  # of SciPy's tutorial
    "x0": np.array([0.5, 0]),
    "bounds": Bounds([0, -0.5], [1.0, 2.0]),
}
HALF_PLANES = LinearConstraint([[1, 2], [2, 1]], [-np.inf, 1], [1, 1])


def parabolas(x: Any) -> Any:
    return [x[0] ** 2 + x[1], x[0] ** 2 - x[1]]


def parabolas_slopes(x: Any) -> Any:
    return [[2 * x[0], 1], [2 * x[0], -1]]


def parabolas_bends(x: Any, v: Any) -> Any:
    return v[0] * np.array([[2, 0], [0, 0]]) + v[1] * np.array([[2, 0], [0, 0]])


TWO = [0.3, 0.2]
FIVE = [1.3, 0.7, 0.8, 1.9, 1.2]
MINIMIZE: dict[str, Case] = {
    "a list": {"x0": [1.3, 0.7]},
    "a tuple of integers": {"x0": (2, 0), "method": "CG"},
    "an array of integers": {"x0": np.array([2, 0]), "method": "TNC", "tol": 1e-9},
    "a number": {"fun": lambda x: (x - 3) ** 2, "x0": 0},
    "a number, indexed": {"fun": lambda x: (x[0] - 3) ** 2, "x0": 0.5},
    "a result of one element": {"fun": lambda x: (x - 3) ** 2, "x0": [0.0]},
    "a list as result": {"fun": lambda x: [(x[0] - 3) ** 2], "x0": [0.0]},
    "the docs: Nelder-Mead": {
        "fun": rosen, "x0": np.array(FIVE), "method": "nelder-mead", "options": {"xatol": 1e-8, "disp": False},
    },
    "the docs: BFGS": {"fun": rosen, "x0": FIVE, "method": "BFGS", "jac": rosen_der, "options": {"disp": False}},
    "the docs: Newton-CG": {
        "fun": rosen, "x0": FIVE, "method": "Newton-CG", "jac": rosen_der, "hess": rosen_hess,
        "options": {"xtol": 1e-8},
    },
    "Newton-CG without a Hessian": {"fun": rosen, "x0": FIVE, "method": "Newton-CG", "jac": rosen_der},
    "the docs: trust-krylov": {
        "fun": rosen, "x0": FIVE, "method": "trust-krylov", "jac": rosen_der, "hessp": theirs.rosen_hess_prod,
    },
    "the docs: trust-exact": {
        "fun": rosen, "x0": FIVE, "method": "trust-exact", "jac": rosen_der, "hess": rosen_hess,
    },
    "the docs: trust-constr": {
        "fun": rosen, "method": "trust-constr", "jac": rosen_der, "hess": rosen_hess, **DOCS,
        "constraints": [
            HALF_PLANES,
            NonlinearConstraint(parabolas, -np.inf, 1, jac=parabolas_slopes, hess=parabolas_bends),
        ],
    },
    "the docs: trust-constr by updates": {
        "fun": rosen, "method": "trust-constr", "jac": rosen_der, "hess": SR1(), **DOCS,
        "constraints": [HALF_PLANES, NonlinearConstraint(parabolas, -np.inf, 1, jac="2-point", hess=BFGS())],
    },
    "the docs: SLSQP": {
        "fun": rosen, "method": "SLSQP", "jac": rosen_der, **DOCS, "options": {"ftol": 1e-9},
        "constraints": [
            {
                "type": "ineq",
                "fun": lambda x: np.array([1 - x[0] - 2 * x[1], 1 - x[0] ** 2 - x[1], 1 - x[0] ** 2 + x[1]]),
                "jac": lambda x: np.array([[-1.0, -2.0], [-2 * x[0], -1.0], [-2 * x[0], 1.0]]),
            },
            {
                "type": "eq",
                "fun": lambda x: np.array([2 * x[0] + x[1] - 1]),
                "jac": lambda x: np.array([2.0, 1.0]),
            },
        ],
    },
    "the docs: inequalities": {
        "fun": lambda x: (x[0] - 1) ** 2 + (x[1] - 2.5) ** 2, "x0": (2, 0), "method": "SLSQP",
        "bounds": ((0, None), (0, None)),
        "constraints": (
            {"type": "ineq", "fun": lambda x: x[0] - 2 * x[1] + 2},
            {"type": "ineq", "fun": lambda x: -x[0] - 2 * x[1] + 6},
            {"type": "ineq", "fun": lambda x: -x[0] + 2 * x[1] + 2},
        ),
    },
    "jac": {"x0": [1.3, 0.7], "jac": slope},
    "jac as a list": {"x0": [1.3, 0.7], "jac": lambda x: list(slope(x)), "method": "CG"},
    "jac with args": {"x0": [1.3, 0.7], "jac": slope, "args": (1.5, 10.0)},
    "jac with fun": {"fun": lambda x: (valley(x), slope(x)), "x0": [1.3, 0.7], "jac": True},
    "jac with fun, Newton": {
        "fun": lambda x: (valley(x), slope(x)), "x0": [1.3, 0.7], "jac": True, "method": "newton-cg",
    },
    "jac by differences": {"x0": [1.3, 0.7], "jac": "2-point", "method": "L-BFGS-B"},
    "jac not given": {"x0": [1.3, 0.7], "jac": False},
    "jac and no use for it": {"x0": [1.3, 0.7], "jac": slope, "method": "Powell"},
    "hess": {"x0": [1.3, 0.7], "jac": slope, "hess": bend, "method": "dogleg"},
    "hessp": {"x0": [1.3, 0.7], "jac": slope, "hessp": lambda x, v: bend(x) @ v, "method": "trust-ncg"},
    "hess by updates": {"x0": [1.3, 0.7], "hess": BFGS(), "jac": "3-point", "method": "trust-constr"},
    "args": {"fun": lambda x, a, b: valley(x) * a + b, "x0": [1.3, 0.7], "args": (2, 3)},
    "args without a tuple": {"fun": lambda x, a: valley(x) * a, "x0": [1.3, 0.7], "args": 2.0},
    "args as an array": {"fun": lambda x, a: np.sum((x - a) ** 2), "x0": [1.3, 0.7], "args": np.array([3.0, 4.0])},
    "args as a list": {"fun": lambda x, a: (x[0] - a[0]) ** 2 + (x[1] - a[1]) ** 2, "x0": TWO, "args": [3.0, 4.0]},
    "pairs": {"x0": TWO, "bounds": [(None, 0.5), (0, 1)]},
    "pairs of a number": {"fun": lambda x: (x - 3) ** 2, "x0": 0.5, "bounds": [(0, 1)]},
    "pairs for three": {"fun": lambda x: np.sum((x - 1) ** 2), "x0": [0.0] * 3, "bounds": [(0, 0.5)] * 3},
    "pairs as a matrix": {"x0": TWO, "bounds": np.array([[0, 0.5], [0, 1]])},
    "pairs of a zip": {"x0": TWO, "bounds": list(zip([0, 0], [0.5, 1], strict=True))},
    "Bounds": {"x0": TWO, "bounds": Bounds([0, 0], [0.5, 1])},
    "Bounds kept": {
        "x0": TWO, "bounds": Bounds([0, -0.5], [0.5, 2.0], keep_feasible=[True, False]), "method": "trust-constr",
    },
    "Bounds of numbers": {"x0": TWO, "bounds": Bounds(0, 0.5), "method": "TNC"},
    "Bounds of Nelder-Mead": {"x0": TWO, "bounds": Bounds(0, 0.5), "method": "Nelder-Mead"},
    "pairs of Powell": {"x0": TWO, "bounds": [(0, 0.5), (0, 0.5)], "method": "Powell"},
    "a variable that is fixed": {"x0": TWO, "bounds": [(0.3, 0.3), (0, 1)]},
    "no bounds, no constraints": {"x0": TWO, "bounds": None, "constraints": []},
    "nonlinear, SLSQP": {"x0": TWO, "constraints": NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, 0, 0.5)},
    "nonlinear, as a list": {
        "x0": TWO, "method": "trust-constr",
        "constraints": [NonlinearConstraint(parabolas, [-1.0, -np.inf], [0.5, 0.1])],
    },
    "nonlinear, an equation": {
        "x0": TWO, "constraints": NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, 0.5, 0.5),
        "method": "trust-constr",
    },
    "linear, sparse": {
        "x0": TWO, "constraints": LinearConstraint(csr_matrix([[1, 1.0]]), 0, 0.5), "method": "trust-constr",
    },
    "linear, SLSQP": {"x0": TWO, "constraints": LinearConstraint([1, 1.0], 0, 0.5)},
    "linear, COBYQA": {"x0": TWO, "constraints": LinearConstraint([1, 1.0], 0, 0.5), "method": "COBYQA"},
    "a dict, COBYLA": {
        "x0": TWO, "constraints": ({"type": "ineq", "fun": lambda x: np.array([0.5 - x[0] - x[1]])},),
        "method": "COBYLA",
    },
    "a dict with args": {
        "fun": lambda x, a: valley(x) * a, "x0": TWO, "args": (2.0,),
        "constraints": {"type": "eq", "fun": lambda x, c: x[0] - c, "args": (0.2,)},
    },
    "dicts beside args": {
        "fun": lambda x, a: valley(x) * a, "x0": TWO, "args": (2.0,),
        "constraints": [{"type": "ineq", "fun": lambda x: 0.2 - x[0]}, {"type": "eq", "fun": lambda x: x[1] - 0.1}],
    },
    "tol and options": {"x0": [1.3, 0.7], "tol": 1e-6, "options": {"maxiter": 200}, "callback": lambda xk: None},
}  # fmt: skip


def both(call: Callable[..., Any], case: Case) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(**case)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", MINIMIZE)
def test_minimize_takes_what_scipys_takes(name: str) -> None:
    case = {"fun": valley, **MINIMIZE[name]}
    found, expected = both(ours.minimize, case), both(theirs.minimize, case)
    assert found.success and found.x.shape == expected.x.shape and set(found) == set(expected)
    np.testing.assert_allclose(found.x, expected.x, atol=2e-3)
    np.testing.assert_allclose(found.fun, expected.fun, atol=1e-5)


T = np.linspace(0, 4, 40)
Y = 2.5 * np.exp(-1.3 * T) + 0.5 + 0.05 * np.random.default_rng(2).normal(size=40)


def misfit(x: Any, t: Any = T, y: Any = Y) -> Any:
    return x[0] * np.exp(-x[1] * t) + x[2] - y


def misfit_slopes(x: Any, t: Any = T, y: Any = Y) -> Any:
    return np.stack([np.exp(-x[1] * t), -x[0] * t * np.exp(-x[1] * t), np.ones_like(t)], axis=1)


def tridiagonal(x: Any) -> Any:
    return (3 - x) * x + 1 - np.concatenate([[0.0], x[:-1]]) - 2 * np.concatenate([x[1:], [0.0]])


LEAST_SQUARES: dict[str, Case] = {
    "a list": {},
    "a tuple of integers": {"x0": (1, 1, 0)},
    "a number": {"fun": lambda x: np.stack([x[0] - 2, 3 * x[0]]), "x0": 1},
    "a list of residuals": {"fun": lambda x: [10 * (x[1] - x[0] ** 2), 1 - x[0]], "x0": [2, 2]},
    "one residual": {"fun": lambda x: (x[0] - 2) ** 3, "x0": 1.0},
    "the docs: jac": {
        "fun": lambda x: np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]), "x0": np.array([2, 2]),
        "jac": lambda x: np.array([[-20 * x[0], 10], [-1, 0]]), "bounds": ([-np.inf, 1.5], np.inf),
    },
    "the docs: a large system": {"fun": tridiagonal, "x0": -np.ones(50)},
    "jac with args": {"jac": misfit_slopes, "args": (T, Y)},
    "jac by differences": {"jac": "3-point", "diff_step": 1e-4},
    "args": {"args": (T, Y + 1)},
    "args as a list": {"args": [T, Y + 1]},
    "kwargs": {"kwargs": {"y": Y + 1}},
    "lists as bounds": {"x0": [1, 1, 1], "bounds": ([0, 0, 0.6], [3, 2, np.inf])},
    "numbers as bounds": {"bounds": (0, 2.0)},
    "Bounds": {"x0": [1, 1, 1], "bounds": Bounds([0, 0, 0.6], [3, 2, np.inf])},
    "lm": {"method": "lm"},
    "dogbox": {"method": "dogbox", "bounds": (0, 3)},
    "tolerances": {"ftol": 1e-12, "xtol": None, "gtol": 1e-12, "max_nfev": 50, "verbose": 0},
    "a loss": {"loss": "soft_l1", "f_scale": 0.1},
    "a loss of the user's": {"loss": lambda z: np.stack([np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2])},
    "scales": {"x_scale": [1.0, 2.0, 0.1]},
    "a scale": {"x_scale": 2.0},
    "scales of the Jacobian": {"x_scale": "jac"},
    "lsmr": {"tr_solver": "lsmr", "tr_options": {"maxiter": 20}},
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_least_squares_takes_what_scipys_takes(name: str) -> None:
    case = {"fun": misfit, "x0": [1.0, 1.0, 0.0], **LEAST_SQUARES[name]}
    found, expected = both(ours.least_squares, case), both(theirs.least_squares, case)
    assert found.success and found.x.shape == expected.x.shape and set(found) == set(expected)
    np.testing.assert_allclose(found.x, expected.x, atol=1e-4 if name != "one residual" else 0.1)
    np.testing.assert_allclose(found.fun, expected.fun, atol=1e-4)
    np.testing.assert_allclose(found.active_mask, expected.active_mask)


def coupled(x: Any) -> Any:
    return [x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]]


def coupled_slopes(x: Any) -> Any:
    steep = 1.5 * (x[0] - x[1]) ** 2
    return np.array([[1 + steep, -steep], [-steep, 1 + steep]])


ROOT: dict[str, Case] = {
    "the docs": {"jac": coupled_slopes, "method": "hybr"},
    "a list": {},
    "a tuple of integers": {"x0": (1, 0)},
    "a number": {"fun": lambda x: x + 2 * np.cos(x), "x0": 0.3},
    "an integer": {"fun": lambda x: x**3 - 8, "x0": 1},
    "jac with fun": {"fun": lambda x: (np.array(coupled(x)), coupled_slopes(x)), "jac": True, "method": "LM"},
    "jac not given": {"jac": False, "method": "lm", "x0": (1.0, 0.5)},
    "args": {"fun": lambda x, a, b: [x[0] ** 2 - a, x[1] - b], "args": (2.0, 1.0), "x0": [1.0, 0.5]},
    "args without a tuple": {"fun": lambda x, a: x**2 - a, "args": np.array([2.0, 3.0]), "x0": [1.0, 1.0]},
    "broyden1": {"method": "broyden1", "tol": 1e-9, "callback": lambda x, f: None},
    "krylov": {"method": "krylov", "options": {"fatol": 1e-9}, "x0": np.array([1.0, 0.5])},
    "anderson": {"method": "anderson", "tol": 1e-9, "options": {"maxiter": 60}},
    "a matrix": {"fun": lambda p: p**3 + np.mean(p) - 10, "x0": np.ones((3, 2)), "method": "krylov", "tol": 1e-9},
    "df-sane": {"method": "df-sane", "options": {"fatol": 1e-10}},
    "a function that branches": {
        "fun": lambda x: np.array([x[0] - 1, 2 * x[1]]) if x[0] > 0 else np.array([x[0], 1.0]), "x0": [0.5, 0.5],
        "method": "broyden2", "tol": 1e-9,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ROOT)
def test_root_takes_what_scipys_takes(name: str) -> None:
    case = {"fun": coupled, "x0": [0, 0], **ROOT[name]}
    found, expected = both(ours.root, case), both(theirs.root, case)
    assert found.success and found.x.shape == expected.x.shape and set(found) >= set(expected) - {"fjac", "r", "qtf"}
    np.testing.assert_allclose(found.x, expected.x, atol=1e-6)
    np.testing.assert_allclose(np.ravel(found.fun), expected.fun, atol=1e-6)


def decay(t: Any, size: Any, rate: Any, rest: Any) -> Any:
    return size * np.exp(-rate * t) + rest


def decay_slopes(t: Any, size: Any, rate: Any, rest: Any) -> Any:
    return misfit_slopes((size, rate, rest), t)


class Decay:
    """A model that is an object."""

    def __call__(self, t: Any, size: Any, rate: Any) -> Any:
        return size * np.exp(-rate * t) + 0.5

    def method(self, t: Any, size: Any, rate: Any) -> Any:
        return self(t, size, rate)


ERRORS = 0.05 + 0.02 * T
NAN = np.where(np.arange(40) == 3, np.nan, Y)
CURVE_FIT: dict[str, Case] = {
    "by inspection": {},
    "lists": {"xdata": T.tolist(), "ydata": Y.tolist(), "p0": [2, 1, 0]},
    "p0 of a number": {"f": lambda t, a: a * np.exp(-1.3 * t), "p0": 1},
    "trf": {"method": "trf", "p0": (1.0, 1.0, 1.0)},
    "dogbox": {"method": "dogbox"},
    "lists as bounds": {"bounds": (0, [3.0, 1.0, 0.5])},
    "Bounds": {"bounds": Bounds(0, [3.0, 1.0, 0.5])},
    "sigma": {"sigma": ERRORS},
    "absolute sigma": {"sigma": ERRORS, "absolute_sigma": True},
    "a number as sigma": {"sigma": 0.05, "absolute_sigma": True},
    "a matrix as sigma": {"sigma": np.diag(ERRORS**2) + 1e-4, "absolute_sigma": True},
    "a matrix as sigma, trf": {"sigma": np.diag(ERRORS**2) + 1e-4, "method": "trf"},
    "full output": {"full_output": True},
    "full output, trf": {"full_output": True, "bounds": (0, 3)},
    "jac": {"jac": decay_slopes},
    "jac by differences": {"jac": "2-point", "method": "trf"},
    "jac with sigma": {"jac": decay_slopes, "sigma": ERRORS, "method": "trf"},
    "check_finite": {"check_finite": False},
    "omitted": {"ydata": NAN, "nan_policy": "omit", "sigma": ERRORS},
    "maxfev": {"maxfev": 500, "ftol": 1e-10},
    "options of least_squares": {"method": "trf", "max_nfev": 50, "loss": "soft_l1", "x_scale": [1.0, 2.0, 1.0]},
    "an object": {"f": Decay()},
    "a method": {"f": Decay().method},
    "two variables": {
        "f": lambda x, a, b: a * x[0] + np.sin(b * x[1]), "xdata": (T, T**2 / 20), "p0": [1.0, 1.0],
        "ydata": 2 * T + np.sin(1.1 * T**2 / 20) + 0.01 * np.cos(9 * T),
    },
    "data that are no array": {"f": lambda d, a, b: a * d["t"] + b * d["s"], "xdata": {"t": T, "s": np.sin(T)}},
    "as many data as parameters": {"xdata": T[:3], "ydata": Y[:3]},
    "a parameter too many": {"f": lambda t, a, b: (a + b) * np.exp(-t), "method": "trf"},
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CURVE_FIT)
def test_curve_fit_takes_what_scipys_takes_and_returns_what_it_returns(name: str) -> None:
    case = {"f": decay, "xdata": T, "ydata": Y, **CURVE_FIT[name]}
    found, expected = both(ours.curve_fit, case), both(theirs.curve_fit, case)
    assert len(found) == len(expected)
    if name == "a parameter too many":  # their sum is determined; each of them, and the covariance, is rounding
        np.testing.assert_allclose(np.sum(found[0]), np.sum(expected[0]), rtol=1e-4)
    else:
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-4)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-3, atol=1e-7)
    if len(found) > 2:
        assert set(found[2]) >= set(expected[2]) and isinstance(found[3], str)
        np.testing.assert_allclose(found[2]["fvec"], expected[2]["fvec"], atol=1e-6)


@pytest.mark.parametrize(
    "method", ["bfgs", "newton-cg", "trust-ncg", "trust-constr", "trust-exact", "dogleg", "custom"]
)
@pytest.mark.parametrize("named", [None, "2-point", "cs"])
def test_what_methods_get_is_exact(method: str, named: str | None) -> None:
    """Whether or not differences are asked for by their name."""
    x, v = np.array([0.4, -0.3]), np.array([0.7, 0.2])
    target, given = derivatives(Plain(valley, TWO, (), "minimize", True), method, hess=named)
    np.testing.assert_allclose(target(x)[0], valley(x), rtol=1e-14)
    np.testing.assert_allclose(target(x)[1], slope(x), rtol=1e-13)
    second = {"dogleg": "hess", "trust-exact": "hess", "bfgs": None}.get(method, "hessp")
    assert set(given) == {"jac", second} - {None}
    if second == "hess":
        np.testing.assert_allclose(given["hess"](x), bend(x), rtol=1e-13)
    if second == "hessp":
        np.testing.assert_allclose(given["hessp"](x, v), bend(x) @ v, rtol=1e-13)


@pytest.mark.parametrize("method", ["slsqp", "trust-constr"])
def test_what_constraints_give_is_exact(method: str) -> None:
    x, v = np.array([0.4, -0.3]), np.array([0.7, 0.2])
    for given in (NonlinearConstraint(parabolas, -1, [1, 2]), {"type": "ineq", "fun": parabolas}):
        made = constraint_of(given, x, True, method)
        found = made if isinstance(made, dict) else vars(made)
        np.testing.assert_allclose(found["fun"](x), parabolas(x), rtol=1e-14)
        np.testing.assert_allclose(found["jac"](x), parabolas_slopes(x), rtol=1e-14)
        if method == "trust-constr":
            np.testing.assert_allclose(found["hess"](x, v) @ x, parabolas_bends(x, v) @ x, rtol=1e-13)
