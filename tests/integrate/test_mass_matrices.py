"""Systems with a mass matrix, which may be singular: differential-algebraic equations of index 1."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import primad
from primad.integrate import solve_ivp

RATES = np.array([0.04, 1e4, 3e7])
START = np.array([1.0, 0.0, 0.0])
SINGULAR = np.diag([1.0, 1.0, 0.0])


def robertson(t: Any, y: Any, k: Any) -> Any:
    first, second, third = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
    return np.array([second - first, first - second - third, third])


def conserved(t: Any, y: Any, k: Any) -> Any:
    """The same with the sum of all, which is 1, in place of the last equation."""
    slope = robertson(t, y, k)
    return np.array([slope[0], slope[1], y[0] + y[1] + y[2] - 1.0])


def last(k: Any, fun: Any = conserved, mass: Any = SINGULAR, y0: Any = START, method: str = "RODAS4") -> Any:
    tight = 1e-8 if method == "RODAS4" else 1e-5
    found = solve_ivp(fun, (0.0, 40.0), y0, method, t_eval=[40.0], args=(k,), rtol=tight, atol=1e-11, mass=mass)
    return found.y[:, 0]


def heated(capacity: Any, n: int = 220, end: float = 1.0) -> Any:
    """Return the last temperatures of a rod of some capacity, whose ends are kept, by a sparse matrix."""

    def slope(t: Any, y: Any) -> Any:
        return np.concatenate([y[:1] - end, y[:-2] - 2 * y[1:-1] + y[2:], y[-1:]])

    inside = np.concatenate([np.zeros(1), np.ones(n - 2), np.zeros(1)])
    mass = csr_array(np.diag(inside)) * capacity if np.ndim(capacity) == 0 else capacity
    start = np.linspace(1.0, 0.0, n) ** 2
    return solve_ivp(slope, (0.0, 1.0), start, "RODAS4", t_eval=[1.0], rtol=1e-6, atol=1e-8, mass=mass).y[:, 0]


def test_a_sparse_matrix_stays_sparse_and_is_differentiated() -> None:
    """A rod of twice the capacity is where another one is after half of the time."""
    weights = np.cos(np.arange(220))
    slope = primad.grad(lambda c: heated(c) @ weights)(2.0)
    step = 1e-3
    assert slope == pytest.approx((heated(2 + step) @ weights - heated(2 - step) @ weights) / (2 * step), rel=1e-4)


def test_a_start_that_does_not_fit_is_refused_of_sparse_matrices_too() -> None:
    with pytest.raises(primad.errors.ShapeError, match=r"y0\[0\] = 1 is off by about 0.5"):
        heated(1.0, end=1.5)
    whole = np.diag([0.0, *np.ones(218), 0.0])
    with pytest.raises(primad.errors.ShapeError, match="the index is above 1"):
        solve_ivp(lambda t, y: np.roll(y, 5), (0.0, 1.0), np.zeros(220), "RODAS4", mass=csr_array(whole))
    with pytest.raises(primad.errors.ShapeError, match="for a y0 of 220 elements"):
        heated(csr_array(np.eye(219)))


def test_values_and_gradients_are_those_of_the_differential_equations() -> None:
    found, wanted = last(RATES), last(RATES, robertson, None)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert abs(found.sum() - 1) < 1e-12
    np.testing.assert_allclose(last(RATES, method="ROS23"), wanted, rtol=1e-3)
    weights = np.array([1.0, 1e4, 0.0])
    slope = primad.grad(lambda k: last(k) @ weights)(RATES)
    np.testing.assert_allclose(slope, primad.grad(lambda k: last(k, robertson, None) @ weights)(RATES), rtol=2e-4)


def test_large_systems_are_sparse() -> None:
    """The diffusion of heat on a rod whose ends are kept at a temperature: two equations without derivatives."""
    n = 220

    def ends(t: Any, y: Any) -> Any:
        return np.concatenate([y[:1] - 1.0, y[:-2] - 2 * y[1:-1] + y[2:] - y[1:-1] ** 3, y[-1:]])

    def inner(t: Any, y: Any) -> Any:
        return ends(t, np.concatenate([np.ones(1), y, np.zeros(1)]))[1:-1]

    start = np.linspace(1.0, 0.0, n)
    mass = np.diag([0.0, *np.ones(n - 2), 0.0])
    options: dict[str, Any] = {"t_eval": [3.0], "rtol": 1e-7, "atol": 1e-9}
    found = primad.jit(lambda y: solve_ivp(ends, (0.0, 3.0), y, "RODAS4", mass=csr_array(mass), **options).y[:, 0])(
        start
    )
    wanted = solve_ivp(inner, (0.0, 3.0), start[1:-1], "RODAS4", **options).y[:, 0]
    np.testing.assert_allclose(found, [1.0, *wanted, 0.0], atol=1e-8)


def test_an_invertible_matrix_is_a_system_solved_for_the_slope() -> None:
    mass = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 4.0]])
    start = np.array([1.0, 0.5, -0.2])

    def fun(t: Any, y: Any, k: Any) -> Any:
        return k * np.sin(y[::-1]) - y + t

    def solved(t: Any, y: Any, k: Any) -> Any:
        return np.linalg.solve(mass, fun(t, y, k))

    def total(k: Any, fun: Any, mass: Any, method: str = "RODAS4") -> Any:
        options: dict[str, Any] = {"t_eval": [0.7, 2.0], "rtol": 1e-6, "atol": 1e-9, "max_steps": 20_000}
        return np.sum(solve_ivp(fun, (0.0, 2.0), start, method, args=(k,), mass=mass, **options).y)

    k = np.array([0.3, 1.2, -0.4])
    found, wanted = (
        primad.value_and_grad(partial(total, fun=of, mass=m))(k) for of, m in ((fun, mass), (solved, None))
    )
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(total(k, fun, csr_array(mass), "ROS23"), wanted[0], rtol=1e-5)


def test_initial_values_that_are_not_consistent_are_refused() -> None:
    with pytest.raises(
        primad.errors.ShapeError, match=r"y0\[2\] = 0.1 is off by about -0.1(.|\n)*begin at about"
    ) as refused:
        last(RATES, y0=np.array([1.0, 0.0, 0.1]))
    assert "implicit.root" in str(refused.value)
    with pytest.raises(primad.errors.ShapeError, match="not consistent"):
        primad.grad(lambda k: np.sum(last(k, y0=np.array([1.0, 0.0, 0.1]))))(RATES)


def test_a_higher_index_is_refused() -> None:
    """A pendulum whose length is kept by a force: an equation without the force."""

    def pendulum(t: Any, y: Any) -> Any:
        return np.array([y[2], y[3], -y[4] * y[0], -y[4] * y[1] - 9.81, y[0] ** 2 + y[1] ** 2 - 1.0])

    with pytest.raises(primad.errors.ShapeError, match="index is above 1"):
        solve_ivp(pendulum, (0.0, 1.0), [1.0, 0.0, 0.0, 0.0, 0.0], "RODAS4", mass=np.diag([1.0, 1, 1, 1, 0]))


@pytest.mark.parametrize(
    ("mass", "method", "said"),
    [
        (SINGULAR, "RK45", "takes no mass matrix"),
        (SINGULAR, "RK4", "takes no"),
        (np.eye(2), "RODAS4", r"shape \(2, 2\)"),
    ],
)
def test_what_is_refused(mass: Any, method: str, said: str) -> None:
    with pytest.raises(primad.PrimadError, match=said):
        solve_ivp(conserved, (0.0, 1.0), START, method, args=(RATES,), mass=mass, steps=5)


def test_a_traced_matrix_is_refused() -> None:
    with pytest.raises(primad.TracingError, match="constant"):
        primad.grad(lambda m: np.sum(last(RATES, mass=m * SINGULAR)))(1.0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shift", [0.0, 0.25])
@pytest.mark.parametrize("order", ["pairs", "mixed"])
def test_sparse_matrices_that_are_singular_without_empty_rows_are_checked(shift: float, order: str) -> None:
    """Of each pair (y + z)′ = −(y + z) holds, and 2 (y + z)′ = −2 (y + z) + y − z cos t: at the start y is z."""
    n = 240
    places = np.random.default_rng(0).permutation(n) if order == "mixed" else np.arange(n)
    block = np.array([[1.0, 1.0], [2.0, 2.0]])
    mass = csr_array(np.kron(np.eye(n // 2), block)[np.ix_(places, places)])
    back = np.argsort(places)

    def slope(t: Any, y: Any) -> Any:
        first, second = y[back][::2], y[back][1::2]
        total, apart = -(first + second), first - second * np.cos(t)
        return np.stack([total, 2 * total + apart], axis=1).ravel()[places]

    start = np.full(n, 0.5)
    start[back[6]] += shift
    if shift:
        with pytest.raises(primad.errors.ShapeError, match="is not consistent"):
            solve_ivp(slope, (0.0, 1.0), start, "RODAS4", t_eval=[1.0], rtol=1e-7, atol=1e-9, mass=mass)
        return
    found = solve_ivp(slope, (0.0, 1.0), start, "RODAS4", t_eval=[1.0], rtol=1e-7, atol=1e-9, mass=mass).y[:, 0][back]
    total = np.exp(-1.0)
    np.testing.assert_allclose(found[1::2], total / (1 + np.cos(1.0)), rtol=1e-6)
    np.testing.assert_allclose(found[::2], total * np.cos(1.0) / (1 + np.cos(1.0)), rtol=1e-6)
