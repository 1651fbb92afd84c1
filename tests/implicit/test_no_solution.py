"""An equation without a solution is an error, or NaN in a row of a batch; a question that is none says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import primad
from primad import implicit

RUNAWAYS = {
    "exp(-x)": lambda x: np.exp(-x),
    "1/x": lambda x: 1 / x,
    "exp(-x²)": lambda x: np.exp(-(x**2)),
    "x exp(-x)": lambda x: (x + 2) * np.exp(-x),
    "tanh": lambda x: np.tanh(x) - 1,
    "arctan": lambda x: np.arctan(x) - np.pi / 2,
    "log(x)/x": lambda x: np.log(x + 4) / (x + 4),
    "logistic": lambda x: 1 / (1 + np.exp(x)),
}
"""Functions that vanish at infinity only."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", RUNAWAYS)
def test_what_vanishes_at_infinity_has_no_root(name: str) -> None:
    with pytest.raises(primad.DomainError, match="no solution was found"):
        implicit.root(RUNAWAYS[name], 1.0)


@pytest.mark.parametrize("way", [lambda f, x: 1e6 + x, lambda f, x: f(x) * 1e300 * x + 1e6])
def test_residuals_that_overflow_are_no_solutions(way: Any) -> None:
    """Their terms are infinite too."""
    root: Any = lambda a: implicit.root(lambda x: np.exp(x) - a, np.array([0.5]), solver=way)  # noqa: E731
    for f in (root, primad.jit(root), primad.grad(lambda a: root(a)[0])):
        with pytest.raises(primad.DomainError, match="no solution was found"):
            f(1.0)


@pytest.mark.parametrize("start", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("factor", [1.0, 1e-3, 1e6])
def test_residuals_that_rounding_makes_zero_are_no_solutions(start: float, factor: float) -> None:
    """Of tanh(x) - 1 from 19 on: its derivative there says that it is no constant."""
    for x0 in (start, -start):
        with pytest.raises(primad.DomainError, match="no solution was found"):
            implicit.root(
                lambda x, x0=x0: factor * (np.tanh(x) - np.sign(x0)), x0, solver=lambda f, x: np.sign(x) * 20.0
            )


def meeting(x: Any) -> Any:
    """(x − 1)⁴ as it is multiplied out, which rounding makes 0 near 1."""
    return x**4 - 4 * x**3 + 6 * x**2 - 4 * x + 1


@pytest.mark.parametrize("factor", [1e-14, 1e10, 1e14])
@pytest.mark.parametrize("start", [(1.0, 1.0), (0.5, 1.0), (0.5, 3.0), (1.0, 3.0)])
def test_equations_of_very_different_sizes_have_their_roots(factor: float, start: tuple[float, float]) -> None:
    """Each is 0 to the rounding of its own terms, not of those of the others; a straight one changes nowhere less."""

    def equations(x: Any, bent: float) -> Any:
        return np.stack([x[0] - 1.0 + bent * (x[0] - 1.0) ** 3, factor * (x[1] - 3.0)])

    at, exact = np.array(start), np.array([1.0, 3.0])
    np.testing.assert_allclose(implicit.root(lambda x: equations(x, 0.0), at), exact, rtol=1e-12)
    found = implicit.root(lambda x: equations(x, 1.0), at, solver=lambda f, x: exact)
    np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_slopes_that_fall_behind_a_root_that_is_known_are_none_of_a_runaway() -> None:
    """Not where another equation is large, nor beside one whose solutions meet; and what stays does not fall."""
    half, near = float(np.arctanh(0.5)), 1.0 + 2.0**-14
    for other, at in ((lambda x: 1e12 * (x - 3.0), 3.0), (meeting, near)):
        exact = np.array([half, at])
        found = implicit.root(
            lambda x, other=other: np.stack([np.tanh(x[0]) - 0.5, other(x[1])]),
            np.array([0.0, 3.5]), solver=lambda f, x, exact=exact: exact,
        )  # fmt: skip
        np.testing.assert_allclose(found, exact, atol=1e-3)
    shallow = implicit.root(lambda x: np.where(x < 0, 1.0 - x, 1e-13 * (x - 3.0)), -1.0, solver=lambda f, x: 3.0)
    assert shallow == 3.0


def test_zeros_by_rounding_where_solutions_meet_are_solutions() -> None:
    """Behind them the residual changes faster again."""
    near = 1.0 + 2.0**-14  # where rounding makes it 0, and the slope is 1e-12
    assert meeting(near) == 0.0 and primad.grad(meeting)(near) != 0.0
    for start in (3.0, -1.0):
        assert abs(implicit.root(meeting, start, solver=lambda f, x: near) - 1.0) < 1e-3


def test_one_of_several_unknowns_may_run_away() -> None:
    with pytest.raises(primad.DomainError, match="element 1 of 2"):
        implicit.root(lambda x: np.stack([x[0] - 1e5, np.exp(-x[1])]), np.array([1.0, 1.0]))
    with pytest.raises(primad.DomainError, match="no solution was found"):
        implicit.minimize(lambda x: np.exp(-x), 1.0)


@pytest.mark.parametrize(("function", "root", "start"), [
    (lambda x: x**3, 0.0, 1.0),
    (lambda x: (x - 1) ** 8, 1.0, 2.0),
    (lambda x: x**4 - 4 * x**3 + 6 * x**2 - 4 * x + 1, 1.0, 2.0),
    (lambda x: np.sin(x), 0.0, 0.5),
    (lambda x: 1e-30 * (x - 1e-20), 1e-20, 0.0),
    (lambda x: np.tanh(1e3 * (x - 0.5)), 0.5, 0.501),
])  # fmt: skip
def test_where_solutions_meet_or_are_zero_there_are_roots(function: Any, root: float, start: float) -> None:
    assert abs(implicit.root(function, start) - root) < 1e-3


def test_systems_without_a_single_solution_have_a_value() -> None:
    x = implicit.root(lambda x: np.stack([x[0] + x[1] - 1, 2 * x[0] + 2 * x[1] - 2]), np.array([0.3, 0.1]))
    np.testing.assert_allclose(np.sum(x), 1.0)


def by_root(a: Any) -> Any:
    return implicit.root(lambda x: x**2 + a, 1.0)


def by_bracket(a: Any) -> Any:
    return implicit.root(lambda x: x**2 + a, 1.0, solver=lambda f, x0: optimize.brentq(f, 0.0, 10.0))


@pytest.mark.parametrize("solve", [by_root, by_bracket])
def test_rows_that_take_the_other_branch_need_no_solution(solve: Any) -> None:
    a = np.array([-1.0, -4.0, 1.0])
    np.testing.assert_array_equal(np.isnan(primad.vmap(solve)(a)), [False, False, True])
    branch = lambda a: primad.cond(a < 0, solve, lambda a: 3 * a, a)  # noqa: E731
    chosen = lambda a: primad.numpy.where(a < 0, np.log(1 + solve(a) ** 2), 3 * a)  # noqa: E731
    np.testing.assert_allclose(primad.vmap(branch)(a), [1, 2, 3], rtol=1e-14)
    np.testing.assert_allclose(primad.jvp(primad.vmap(branch), (a,), (a,))[1], [0.5, 1, 3], rtol=1e-14)
    np.testing.assert_allclose(primad.jit(primad.vmap(primad.grad(branch)))(a), [-0.5, -0.25, 3], rtol=1e-14)
    np.testing.assert_allclose(primad.grad(lambda a: np.sum(primad.vmap(branch)(a)))(a), [-0.5, -0.25, 3], rtol=1e-14)
    np.testing.assert_allclose(primad.vmap(primad.grad(chosen))(a), [-0.5, -0.2, 3], rtol=1e-14)
    np.testing.assert_allclose(primad.vmap(primad.grad(primad.grad(branch)))(a), [-1 / 4, -1 / 32, 0], rtol=1e-13)


def square(x: Any) -> Any:
    return x**2 - 4


@pytest.mark.parametrize(("ask", "says"), [
    (lambda: implicit.root(square, 1.0, tolerance="a"), "positive number, got 'a'"),
    (lambda: implicit.root(square, 1.0, tolerance=-1), "positive number, got -1"),
    (lambda: implicit.root(square, 1.0, tolerance=np.nan), "positive number, got nan"),
    (lambda: implicit.root(square, 1.0, solver="brentq"), r"solver=lambda f, x0: scipy.optimize.brentq\(f, …\)"),
    (lambda: implicit.linear_solve(square, 1.0, solver="cg"), r"solver=primad.implicit.cg\."),
    (lambda: implicit.linear_solve(square, 1.0, solver="best"), r"solver=lambda f, x0: …\."),
    (lambda: implicit.root(square, 1.0, solver=["cg"]), r"solver=lambda f, x0: …\."),
    (lambda: implicit.root(square, 1.0, solver=lambda f, x0: None), "the solver returned NoneType"),
    (lambda: implicit.root(square, 1.0, solver=lambda f, x0: "2"), "the solver returned str"),
    (lambda: implicit.root(square, 1.0, solver=lambda f, x0: (x0, "found")), "the solver returned tuple"),
    (lambda: implicit.root(square, {}), "no unknowns"),
    (lambda: implicit.root(lambda x: None, 1.0), "returns None"),
    (lambda: implicit.root(1.0, square), "takes a function"),
    (lambda: implicit.root(lambda z: z**2 - 1j, 1.0), r"x0 is real(.|\n)*x0 \+ 0j"),
    (lambda: implicit.root(lambda z: np.abs(z) - 1, 1 + 0j), "1 result for 2 unknowns"),
    (lambda: implicit.linear_solve(lambda x: x[0], (1.0, 2.0)), "for right hand sides of the shapes"),
    (lambda: implicit.fixed_point(lambda x: (x, x), 1.0), "for unknowns of the shapes"),
])  # fmt: skip
def test_questions_that_are_none_say_so(ask: Any, says: str) -> None:
    with pytest.raises(primad.ShapeError, match=says):
        ask()
