"""Solutions that are found again and again, in loops or mapped, are found by native code; elsewhere SciPy is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import primad
from primad import implicit
from primad.implicit import solution_ops
from primad.implicit.equations import ImplicitEquation
from primad.ir.law_families import SOLVERS, without
from primad.runtime.executors.executor import tries
from tests.sweeps import thinned

Step = Callable[[Any, Any, Any], Any]
ROW = np.array([1.0, 0.5, -0.3])
TIMES = np.linspace(0.1, 1.0, 12)


def of_trees(y: Any, t: Any, p: Any) -> Any:
    start = {"a": y, "b": 0.5}
    found = implicit.root(lambda d: {"a": d["a"] + 0.1 * d["b"] ** 2 - y - t, "b": d["b"] - p * np.tanh(d["a"])}, start)
    return found["a"] + 0.1 * found["b"]


def nested(y: Any, t: Any, p: Any) -> Any:
    inner = lambda z: implicit.root(lambda u: u + 0.2 * np.sin(u * p) - z, z)  # noqa: E731
    return implicit.root(lambda z: z - 0.3 * inner(z) - y * 0.5 - t, y)


STEPS: dict[str, tuple[Step, Any]] = {
    "number": (lambda y, t, p: implicit.root(lambda z: z + p * np.sin(z) - y - t, y), 1.0),
    "far away": (lambda y, t, p: implicit.root(lambda z: np.exp(z) - p * y - 5 * t, 0.0), 1.0),
    "row": (lambda y, t, p: implicit.root(lambda z: z + 0.1 * p * np.roll(z, 1) ** 2 - y * (1 - 0.1 * t), y), ROW),
    "units": (
        lambda y, t, p: implicit.root(
            lambda z: np.stack([1e8 * (z[0] - p * y[0]) + z[1], 1e-6 * (z[1] ** 3 + z[1] - y[1] * t)]), y),
        np.array([1.0, 0.7]),
    ),
    "tree": (of_trees, 1.0),
    "complex": (lambda y, t, p: np.real(implicit.root(lambda z: z * z + z - (p * y + 1j * t), 1.0 + 1j)), 1.0),
    "nested": (nested, 1.0),
    "fixed point": (lambda y, t, p: implicit.fixed_point(lambda z: np.cos(p * z) * 0.5 + 0.1 * (t + y), y), 1.0),
    "linear": (lambda y, t, p: implicit.linear_solve(lambda z: 3 * z + p * np.roll(z, 1) + t * z[0], y), ROW),
    "minimum": (lambda y, t, p: implicit.minimize(lambda z: np.sum((z - y) ** 2 + p * t * np.cosh(z)), y), ROW),
    "fit": (
        lambda y, t, p: implicit.least_squares(lambda z: np.concatenate([z - y * p, 0.1 * np.sin(z) + t]), y), ROW,
    ),
}  # fmt: skip


def in_a_scan(step: Step, y: Any) -> Callable[[Any], Any]:
    def march(p: Any) -> Any:
        return np.sum(primad.scan(lambda y, t: (step(y, t, p), y), y, TIMES)[0] ** 2)

    return march


def in_python(step: Step, y: Any) -> Callable[[Any], Any]:
    def march(p: Any) -> Any:
        u, total = y, 0.0
        for t in TIMES:
            u = step(u, t, p)
            total = total + np.sum(u**2)
        return total

    return march


def mapped(step: Step, y: Any) -> Callable[[Any], Any]:
    return lambda p: np.sum(primad.vmap(lambda t: step(y, t, p))(TIMES) ** 2)


PLACES: dict[str, Callable[[Step, Any], Callable[[Any], Any]]] = {
    "scan": in_a_scan, "Python": in_python, "vmap": mapped,
}  # fmt: skip
WAYS: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "grad": primad.grad,
    "jvp": lambda f: lambda p: primad.jvp(f, (p,), (1.0,))[1],
    "grad of grad": lambda f: primad.grad(primad.grad(f)),
}


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the functions whose solvers, or factors, Python is asked for."""
    names: list[str] = []
    solve, factors = solution_ops.solve, ImplicitEquation.factors

    def noted_solve(of: Any, *args: Any) -> Any:
        names.append(of.name)
        return solve(of, *args)

    def noted_factors(self: Any, *args: Any) -> Any:
        names.append(f"factors of {self.name}")
        return factors(self, *args)

    monkeypatch.setattr(solution_ops, "solve", noted_solve)
    monkeypatch.setattr(ImplicitEquation, "factors", noted_factors)
    yield names


@pytest.mark.one_in(2)
@thinned(14, name=list(STEPS), place=list(PLACES), way=list(WAYS))
def test_solutions_in_loops_are_found_natively_with_their_derivatives(
    name: str, place: str, way: str, called: list[str]
) -> None:
    f = WAYS[way](PLACES[place](*STEPS[name]))
    found = primad.jit(f)(0.3)
    assert not called
    with without(SOLVERS):
        np.testing.assert_allclose(found, primad.jit(f)(0.3), rtol=1e-11)
    assert called


def test_solutions_of_short_floats_in_loops_stay_short(called: list[str]) -> None:
    y = np.float32(1.0)

    def march(p: Any) -> Any:
        return primad.scan(lambda y, _: (implicit.root(lambda z: z + p * np.sin(z) - y, y), None), y, length=9)[0]

    found = primad.jit(march)(np.float32(0.3))
    assert found.dtype == np.float32 and not called
    with without(SOLVERS):
        np.testing.assert_allclose(found, primad.jit(march)(np.float32(0.3)), rtol=1e-6)


def test_what_runs_once_calls_its_solver_and_is_tried_no_second_time(called: list[str]) -> None:
    root = lambda p: implicit.root(lambda z: z + p * np.sin(z) - 1.0, 1.0)  # noqa: E731
    branch = lambda p: primad.cond(p > 0, root, lambda p: p * 0.5, p)  # noqa: E731
    for f in (root, branch):
        primad.jit(f)(0.3)
        assert called == ["root"]
        called.clear()
    assert not tries(primad.trace(root)(0.3))
    assert not tries(primad.trace(lambda x: primad.scan(lambda c, x: (c + x, c), 0.0, x)[0])(TIMES))


# -- steps that lead nowhere, or somewhere else ------------------------------------------------------------------------

ERRORS: dict[str, tuple[type[Exception], str, Callable[[Any, Any], Any]]] = {
    "none": (primad.DomainError, "no solution", lambda t, p: implicit.root(lambda z: z * z + 1 + t * p, 1.0)),
    "runaway": (primad.DomainError, "lead on and on", lambda t, p: implicit.root(lambda z: np.exp(-z * (t + p)), 1.0)),
    "rounded": (primad.DomainError, "no solution", lambda t, p: implicit.root(lambda z: np.tanh(z) - 1, p + t)),
    "NaN": (primad.DomainError, "nan", lambda t, p: implicit.root(lambda z: np.log(z) - p * t, -1.0)),
    "infinite": (primad.DomainError, "inf", lambda t, p: implicit.root(lambda z: np.exp(z + p * t) / 0.0, 1.0)),
    "singular": (
        primad.DomainError, "no solution",
        lambda t, p: implicit.linear_solve(lambda z: z * np.array([t, 0.0]), np.ones(2) + p)[0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_an_equation_without_a_solution_is_the_error_that_it_is_outside_of_loops(name: str) -> None:
    error, said, step = ERRORS[name]
    with np.errstate(all="ignore"), pytest.raises(error, match=said):
        primad.jit(lambda p: primad.scan(lambda c, t: (c + step(t, p), None), 0.0, TIMES)[0])(0.3)


def test_rows_without_a_solution_are_nan_and_others_are_found() -> None:
    found = primad.jit(primad.vmap(lambda a: implicit.root(lambda z: z * z - a, 1.5)))(np.array([4.0, -1.0, 9.0]))
    np.testing.assert_allclose(found, [2, np.nan, 3], rtol=1e-14)


def chosen(step: Callable[[Any], Any], starts: Any) -> tuple[Any, Any]:
    """What a step finds in a loop, and outside."""
    inside = primad.jit(lambda xs: primad.scan(lambda c, x: (c, step(x)), 0.0, xs)[1])(starts)
    return inside, np.array([step(x) for x in starts])


def test_of_several_solutions_the_same_is_found_as_outside_of_loops(called: list[str]) -> None:
    starts = np.linspace(-2.0, 2.0, 12)
    for step in (
        lambda x: implicit.root(lambda z: np.sin(3 * z) + 0.4 * z - 0.2, x),
        lambda x: implicit.root(lambda z: z**3 - 2 * z + 0.3, x),
        lambda x: implicit.minimize(lambda z: np.cos(z), 0.05 * x + 0.2),  # Newton's steps lead to the maximum
        lambda x: implicit.root(
            lambda z: np.stack([z[0] ** 2 - z[1], z[1] - 2.0 + 0.1 * z[0]]), np.stack([x + np.sign(x), 0 * x])
        ),
        lambda x: implicit.root(lambda z: np.exp(1e9 - z), 1e9 + x) - 1e9,  # which has none, but for the tolerance
    ):
        np.testing.assert_allclose(*chosen(step, starts), rtol=1e-7, atol=1e-9)


FOUND: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], float]] = {
    "steps that overflow": (
        lambda t: implicit.root(lambda z: np.exp(z) - 1e4 * t, 0.0), lambda t: np.log(1e4 * t), 1e-14,
    ),
    "steps that grow": (lambda t: implicit.root(lambda z: np.arctan(z - t), 4.0), lambda t: t, 1e-14),
    "rounded terms": (
        lambda t: implicit.root(lambda z: 1.6 * (1e4 + z) - (1.6e4 + 1.6 * t), 2 * t), lambda t: t, 1e-11,
    ),
    "there already": (lambda t: implicit.root(lambda z: z**3 - t**3, t), lambda t: t, 1e-15),
    "noise": (
        lambda t: implicit.root(lambda z: z - t + 1e-12 * np.sign(np.sin(3e12 * z)), 2 * t), lambda t: t, 1e-11,
    ),
    "rounded to zero": (
        lambda t: implicit.root(lambda z: 1.6 * (1e4 + z) - np.nextafter(1.6e4, 2e4), t), lambda t: 0 * t, 1e-11,
    ),
    "units of rows": (
        lambda t: implicit.root(
            lambda z: np.stack([1e8 * (z[0] - t) + z[1], 1e-6 * (z[1] ** 3 + z[1] - t)]), np.stack([t, 0.7])
        )[1],
        lambda t: implicit.root(lambda z: z**3 + z - t, 0.7), 1e-13,
    ),
    "units of unknowns": (
        lambda t: implicit.root(
            lambda z: np.stack([z[0] - 1e6 * t, z[1] + 1e5 * z[1] ** 2 - 1e-5 * t]), np.stack([1e6 + t, 1e-4])
        )[1] * 1e5,
        lambda t: (np.sqrt(1 + 4 * t) - 1) / 2, 1e-12,
    ),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", FOUND)
def test_steps_arrive_and_their_results_are_exact(name: str, called: list[str]) -> None:
    step, exact, error = FOUND[name]
    starts = np.linspace(0.3, 1.1, 7)
    expected = np.array([exact(t) for t in starts])
    called.clear()
    found = primad.jit(lambda xs: primad.scan(lambda c, t: (c, step(t)), 0.0, xs)[1])(starts)
    assert not called
    np.testing.assert_allclose(found, expected, rtol=error, atol=error)


def test_where_two_solutions_meet_in_a_loop_one_is_found_and_has_no_derivative() -> None:
    """Steps halve the distance there, up to rounding, and do not end before they arrive."""

    def march(p: Any) -> Any:
        return primad.scan(lambda c, t: (c, implicit.root(lambda z: (z - p) ** 2, p + 0.01 * t)), 0.0, TIMES)[1]

    np.testing.assert_allclose(primad.jit(march)(0.3), 0.3, rtol=1e-12)
    with pytest.raises(primad.MatrixError, match="two solutions meet here"):
        primad.jit(primad.grad(lambda p: np.sum(march(p))))(0.3)


def test_a_tolerance_says_how_large_terms_may_have_been_at_the_start(called: list[str]) -> None:
    """Rounding of the first residual may hide what is left at the solution, by more than the tolerance."""

    def march(ts: Any, by: float) -> Any:
        step = lambda c, t: (c + implicit.root(lambda z: np.exp(z) - 2.0 - t, 30.0, tolerance=by), None)  # noqa: E731
        return primad.scan(step, 0.0, ts)[0]

    for _ in range(2):
        np.testing.assert_allclose(primad.jit(lambda ts: march(ts, 1e-3))(TIMES), np.sum(np.log(2 + TIMES)), rtol=1e-14)
        assert not called
    with pytest.raises(primad.DomainError, match="by rounding"):
        primad.jit(lambda ts: march(ts, 1e-6))(TIMES)
