"""Minima under constraints: their derivatives against differences, in SciPy's forms and by its methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse

import primad
import primad.scipy.optimize as mirror
from primad import implicit
from tests.sweeps import thinned

A = np.array([2.0, 1.5])
START = np.array([0.5, 0.4])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "on a circle": lambda a: implicit.argmin(
        lambda x, a: np.sum((x - a) ** 4) + np.sum((x - a) ** 2), START, a, equal=lambda x, a: x @ x - 1
    ),
    "an active and an inactive inequality": lambda a: implicit.argmin(
        lambda x: np.sum((x - a) ** 2), START, positive=lambda x: [1 - x @ x, 5 - x[0] * a[1]]
    ),
    "equations and inequalities": lambda a: implicit.argmin(
        lambda x: np.sum(np.exp(x) - a[0] * x), np.full(3, 0.2),
        equal=lambda x: np.sum(x) - 1, positive=lambda x: {"x": x - a[1] / 5, "y": 0.6 * a[1] - x[0]},
    ),
    "none": lambda a: implicit.argmin(lambda x: np.sum((x - a) ** 2 * (1 + x**2)), START),
    "a tree": lambda a: implicit.argmin(
        lambda x: np.sum((x["u"] - a) ** 2) + x["v"] ** 2, {"u": START, "v": 1.0}, equal=lambda x: x["v"] - x["u"]
    )["u"],
}  # fmt: skip
CONSTRAINTS: dict[str, Callable[[Any], Any]] = {
    "a function": lambda a: {"type": "ineq", "fun": lambda x: 1 - x @ x},
    "with arguments": lambda a: [{"type": "ineq", "fun": lambda x, r: r - x @ x, "args": (a[0],)}],
    "an equation": lambda a: {"type": "eq", "fun": lambda x: x[0] + x[1] ** 2 - a[0] / 2},
    "between": lambda a: optimize.NonlinearConstraint(
        lambda x: np.stack([x[0] * x[1], x[0] - x[1] + a[1]]), [-np.inf, -5.0], [1.0, 3.0]
    ),
    "linear": lambda a: [
        optimize.LinearConstraint([[1.0, 1.0]], 1.5, 1.5), {"type": "ineq", "fun": lambda x: 1 - x[0]}
    ],
    "sparse": lambda a: optimize.LinearConstraint(sparse.csr_array([[1.0, 0.5]]), -1.0, 1.5),
    "traced limits": lambda a: optimize.NonlinearConstraint(lambda x: x @ x, 0.1, a[0] / 3) if plain(a) else {
        "type": "ineq", "fun": lambda x: a[0] / 3 - x @ x,
    },
}  # fmt: skip


def plain(a: Any) -> bool:
    return isinstance(a, np.ndarray)


def check_slopes(f: Callable[[Any], Any], tolerance: float = 1e-6) -> None:
    at = primad.jit(f)
    slopes = np.asarray(primad.jacobian(f)(A))
    steps = 1e-5 * np.eye(2)
    differences = np.stack([(at(A + step) - at(A - step)) / 2e-5 for step in steps], axis=1)
    np.testing.assert_allclose(slopes, differences, rtol=tolerance, atol=1e-8)
    back = primad.vjp(f, A)[1](np.arange(1.0, len(slopes) + 1))[0]
    np.testing.assert_allclose(back, np.arange(1.0, len(slopes) + 1) @ slopes, rtol=1e-10, atol=1e-12)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_minima_under_constraints(name: str) -> None:
    f = FUNCTIONS[name]
    check_slopes(f)
    first = primad.jit(primad.grad(lambda a: np.sum(f(a) ** 2)))
    steps = 1e-5 * np.eye(2)
    differences = np.stack([(first(A + step) - first(A - step)) / 2e-5 for step in steps])
    second = primad.hessian(lambda a: np.sum(f(a) ** 2))(A)
    np.testing.assert_allclose(np.asarray(second), differences, rtol=1e-5, atol=1e-6)
    rows = primad.vmap(f)(np.stack([A, A + 0.1]))
    np.testing.assert_allclose(rows[1], f(A + 0.1), rtol=1e-9, atol=1e-12)


@pytest.mark.one_in(4)
@thinned(3, name=list(CONSTRAINTS), method=["SLSQP", "trust-constr"], bounds=[None, [(0.0, 0.45), (None, None)]])
@pytest.mark.filterwarnings("ignore:delta_grad")
def test_scipys_minimize_with_constraints(name: str, method: str, bounds: Any) -> None:
    def f(a: Any) -> Any:
        found = mirror.minimize(
            lambda x: np.sum((x - a) ** 2) + 0.1 * x[0] * x[1], START, method=method, bounds=bounds,
            constraints=CONSTRAINTS[name](a), tol=1e-10,
        )  # fmt: skip
        return found.x

    check_slopes(f)
    np.testing.assert_allclose(primad.jit(f)(A), f(A), atol=2e-3)  # of numbers it is SciPy's, with its differences


def test_plain_numbers_are_scipys_own() -> None:
    given = {"constraints": CONSTRAINTS["a function"](A), "method": "SLSQP"}
    for function in (lambda x: np.sum((x - A) ** 2),):
        ours, scipys = (of.minimize(function, START, **given) for of in (mirror, optimize))
        np.testing.assert_array_equal(ours.x, scipys.x)
        assert ours.nit == scipys.nit


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("ask", "says"), [
    (lambda a: implicit.argmin(lambda x: np.sum(x**2) * a[0], START, positive=lambda x: x), "multiplier is 0"),
    (lambda a: implicit.argmin(lambda x: np.sum(x**2) * a[0], START, equal=lambda x: x[0] ** 2 + 1), "no solution"),
    (lambda a: implicit.argmin(lambda x: (x - a) @ x, START, equal=lambda x: [x - 1, x - a]), "no solution"),
    (lambda a: implicit.argmin(lambda x: x, START, equal=3), "takes a function"),
    (lambda a: mirror.minimize(lambda x: x @ x * a[0], START, constraints={"type": "eq"}).x, "none of SciPy's"),
    (lambda a: mirror.minimize(lambda x: x @ x * a[0], START, constraints=[lambda x: x]).x, "none of SciPy's"),
])  # fmt: skip
def test_what_is_refused_says_why(ask: Any, says: str) -> None:
    with pytest.raises(primad.PrimadError, match=says):
        primad.grad(lambda a: np.sum(ask(a)))(A)
