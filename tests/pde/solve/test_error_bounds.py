"""Proven bounds are above true errors, of good solutions and bad ones, and what has none is refused."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad.numpy as pnp
from primad import pde, stop_gradient
from primad.enclosures import IntervalArray
from primad.errors import EnclosureError, ProblemError
from primad.pde.solve.certified.bound_search import ROUNDS, BoundSearch
from primad.pde.solve.certified.box_budget import BoxBudget
from primad.pde.solve.certified.comparison_bounds import Barrier
from primad.pde.solve.certified.error_equation import ErrorEquation
from primad.pde.solve.certified.seams import Seam, Together
from primad.pde.solve.certified.weights import Weight, grown
from tests.sweeps import chosen

LINE, TIME = pde.Interval(0, 1), pde.Time(0, 0.5)
SQUARE = pde.Box(x=(0, 1), y=(0, 1))
START = pde.Initial(u=lambda x: pnp.sin(np.pi * x))
ZERO = pde.Dirichlet(u=0)
WAVE = pde.Interval(-1, 1) * pde.Time(0, 0.3)
SMALL = pde.MLP(4, 1)
POINTS = 500


def decaying(x, t):
    return np.exp(-0.1 * np.pi**2 * t) * np.sin(np.pi * x)


def bump(x, y):
    return np.sin(np.pi * x) * np.sin(np.pi * y)


EXACT: dict[str, tuple[Callable[..., Any], Any, list[Any], Callable[..., Any]]] = {
    "Poisson": (lambda u: u.xx + 2, LINE, [ZERO], lambda x: x * (1 - x)),
    "the other sign": (lambda u: -3.0 * u.xx - 6, LINE, [ZERO], lambda x: x * (1 - x)),
    "drift": (
        lambda u: 0.5 * u.xx - u.x,
        LINE,
        [pde.Dirichlet(u=0, on="x-"), pde.Dirichlet(u=1, on="x+")],
        lambda x: np.expm1(2 * x) / np.expm1(2.0),
    ),
    "feeding": (
        lambda u, x: u.xx + 4 * u + (np.pi**2 - 4) * pnp.sin(np.pi * x),
        LINE,
        [ZERO],
        lambda x: np.sin(np.pi * x),
    ),
    "Poisson on a square": (
        lambda u, x, y: pde.laplacian(u) + 2 * np.pi**2 * pnp.sin(np.pi * x) * pnp.sin(np.pi * y),
        SQUARE,
        [ZERO],
        bump,
    ),
    "heat": (lambda u: 2.0 * u.t - 0.2 * u.xx, LINE * TIME, [ZERO, START], decaying),
    "heat on a circle": (
        lambda u: u.t - 0.02 * u.xx,
        LINE * TIME,
        [pde.Periodic("x"), pde.Initial(u=lambda x: pnp.sin(2 * np.pi * x))],
        lambda x, t: np.exp(-0.08 * np.pi**2 * t) * np.sin(2 * np.pi * x),
    ),
    "a screened circle": (
        lambda u, x: u.xx - 5 * u + (4 * np.pi**2 + 5) * pnp.cos(2 * np.pi * x),
        LINE,
        [pde.Periodic("x")],
        lambda x: np.cos(2 * np.pi * x),
    ),
    "Poisson on a cylinder": (
        lambda u, x, y: pde.laplacian(u) + 5 * np.pi**2 * pnp.cos(2 * np.pi * x) * pnp.sin(np.pi * y),
        SQUARE,
        [pde.Periodic("x"), pde.Dirichlet(u=0, on=["y-", "y+"])],
        lambda x, y: np.cos(2 * np.pi * x) * np.sin(np.pi * y),
    ),
    "heat on a torus": (
        lambda u: u.t - 0.05 * pde.laplacian(u),
        SQUARE * TIME,
        [pde.Periodic("x y"), pde.Initial(u=lambda x, y: pnp.sin(2 * np.pi * x) * pnp.cos(2 * np.pi * y))],
        lambda x, y, t: np.exp(-0.4 * np.pi**2 * t) * np.sin(2 * np.pi * x) * np.cos(2 * np.pi * y),
    ),
    "heat on a square": (
        lambda u: u.t - 0.05 * pde.laplacian(u),
        SQUARE * TIME,
        [ZERO, pde.Initial(u=lambda x, y: pnp.sin(np.pi * x) * pnp.sin(np.pi * y))],
        lambda x, y, t: np.exp(-0.1 * np.pi**2 * t) * bump(x, y),
    ),
}


def solved(name: str, steps: int) -> tuple[pde.Solution, Callable[..., Any]]:
    equation, domain, conditions, exact = EXACT[name]
    problem = pde.Problem(equation, domain, conditions, network=SMALL)
    return problem.solve(steps=steps, points=80, progress=False), exact


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    "name", chosen(EXACT, {*EXACT} - {"heat on a square", "heat on a torus", "Poisson on a cylinder"})
)
@pytest.mark.parametrize("steps", [1, pytest.param(8, marks=pytest.mark.exhaustive)])
def test_a_bound_is_above_the_true_error(name: str, steps: int) -> None:
    """It holds whatever the parameters are, so also of a network that is hardly trained."""
    solution, exact = solved(name, steps)
    bound = solution.certify_error(factor=1.0, slabs=2, most=2000)
    at = solution.problem.domain.interior(POINTS).at
    wrong = np.abs(solution.at(at, "u") - exact(*at.T))
    assert np.all(wrong <= bound.at(at)) and np.max(bound.at(at)) <= bound.most
    assert f"{bound.most:.3g}" in str(bound)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", chosen(["Poisson on a square", "heat"], {"heat"}))
def test_work_is_bounded_and_what_is_proven_till_then_is_true(name: str) -> None:
    """All searches share the boxes; each looks at its whole box at least."""
    solution, exact = solved(name, 8)
    at = solution.problem.domain.interior(POINTS).at
    wrong = np.abs(solution.at(at, "u") - exact(*at.T))
    bounds = [solution.certify_error(factor=1e-3, slabs=2, most=most) for most in (1, 200, 1000)]
    for bound, most in zip(bounds, (1, 200, 1000), strict=True):
        assert not bound.finished and f"ended after {bound.boxes} boxes" in str(bound)
        assert bound.boxes <= most + 40  # searches
        assert np.all(wrong <= bound.at(at)) and np.max(bound.at(at)) <= bound.most
    assert bounds[0].most > bounds[1].most > bounds[2].most
    close = solution.certify_error(factor=3.0, slabs=1)
    assert close.finished and "ended" not in str(close)


@pytest.mark.exhaustive
def test_what_is_added_makes_a_function_repeat_with_its_slope() -> None:
    """In one coordinate or two; derivatives of the sum are those of its values, and the residual is that of the sum."""
    equation, domain, conditions, _ = EXACT["heat on a square"]
    problem = pde.Problem(equation, domain, conditions, network=SMALL)
    params = problem.solve(steps=2, points=40, progress=False).params
    added: Any = None
    for column in (0, 1):
        before = ErrorEquation(problem, params, correction=added)
        seam = Seam(before.derivative, column, 0.0, 1.0)
        added = seam if added is None else Together((added, seam))
    whole = ErrorEquation(problem, params, correction=added)
    at, step = np.array([0.3, 0.6, 0.2]), 1e-4
    for column in (0, 1):
        ends = [np.where(np.arange(3) == column, end, at) for end in (0.0, 1.0)]
        for along in ([], [column], [1 - column], [1 - column, 1 - column], [2]):
            jump = np.ptp([float(whole.derivative(end, along)) for end in ends])
            plain = np.ptp([float(ErrorEquation(problem, params).derivative(end, along)) for end in ends])
            assert jump < 1e-12 and (plain > 1e-3 or column not in along)
    for along in ([0], [1], [2], [0, 0], [0, 1], [1, 1]):
        *fewer, last = along
        moved = [float(whole.derivative(at + step * side * np.eye(3)[last], fewer)) for side in (-1, 1)]
        np.testing.assert_allclose(float(whole.derivative(at, along)), (moved[1] - moved[0]) / (2 * step), rtol=1e-5)
    slope, *curves = (float(whole.derivative(at, along)) for along in ([2], [0, 0], [1, 1]))
    np.testing.assert_allclose(float(whole.residual(at)), slope - 0.05 * sum(curves), rtol=1e-12)


@pytest.mark.exhaustive
def test_progress_is_shown_where_somebody_looks_on(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[str, int]] = []
    plain = BoxBudget.__init__

    def watched(self: BoxBudget, most: int, order: int, show: Callable[[str, int], None]) -> None:
        def both(what: str, boxes: int) -> None:
            shown.append((what, boxes))
            show(what, boxes)

        plain(self, most, order, both)

    solution, _ = solved("heat", 2)
    monkeypatch.setattr(BoxBudget, "__init__", watched)
    written = io.StringIO()
    monkeypatch.setattr(written, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", written)
    solution.certify_error(slabs=2, most=2000, progress=False)
    assert not written.getvalue()
    solution.certify_error(slabs=2, most=2000)
    counts = [boxes for _, boxes in shown[len(shown) // 2 :]]
    assert {"residual, time 1 of 2", "residual, time 2 of 2"} <= {what for what, _ in shown}
    assert counts == sorted(counts) and counts[-1] <= 2000
    assert "boxes" in written.getvalue()


def test_without_drift_the_bound_is_that_of_the_parabola() -> None:
    solution, _ = solved("Poisson", 2)
    bound = solution.certify_error()
    residual = solution.certify().residuals[0]
    np.testing.assert_allclose(bound.most, bound.residual / 8 + bound.mismatch, rtol=1e-12)
    assert residual.sampled <= bound.residual <= 2 * residual.sampled


EVOLVING = {
    "Burgers": (lambda u: u.t + u * u.x - 0.1 * u.xx, WAVE, pde.Initial(u=lambda x: -pnp.sin(np.pi * x))),
    "Allen and Cahn": (lambda u: u.t - 0.05 * u.xx - u + u**3, LINE * TIME, START),
    "diffusion that depends on the unknown": (lambda u: u.t - 0.1 * ((1 + u**2) * u.xx), LINE * TIME, START),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", chosen(EVOLVING, {"Allen and Cahn"}))
def test_bounds_of_nonlinear_equations_are_above_what_differences_say(name: str) -> None:
    equation, domain, start = EVOLVING[name]
    problem = pde.Problem(equation, domain, [ZERO, start], network=SMALL)
    solution = problem.solve(steps=12, points=100, progress=False)
    bound = solution.certify_error(factor=2.0, slabs=1, most=20_000)
    reference = problem.solve(method="differences", points=101, order=4)
    x = np.linspace(*domain.bounds[0], 41)
    at = np.stack([x, np.full(41, domain.bounds[1][1])], axis=1)
    wrong = np.abs(solution.at(at, "u") - reference.at(at, "u"))
    assert np.all(wrong <= bound.at(at)) and bound.growth > 0
    assert np.all(np.diff(bound.at(np.stack([np.full(9, 0.5), np.linspace(*domain.bounds[1], 9)], axis=1))) >= 0)


def test_a_source_may_jump_in_space_and_a_term_may_have_kinks() -> None:
    equation = lambda u, x: u.xx - pnp.where(x < 0.3, 1.0, 0.5)  # noqa: E731
    solution = pde.Problem(equation, LINE, ZERO, network=SMALL).solve(steps=5, points=40, progress=False)
    assert 0 < solution.certify_error(most=2000).most < 1
    kinked = pde.Problem(lambda u: u.t - 0.1 * u.xx - abs(u), LINE * TIME, [ZERO, START], network=SMALL)
    bound = kinked.solve(steps=5, points=40, progress=False).certify_error(factor=2.0, slabs=1, most=1000)
    np.testing.assert_allclose(bound.growth, 1.0)


@pytest.mark.exhaustive
def test_growth_depends_on_the_size_of_the_error() -> None:
    """A size is a hypothesis; where what follows from it is always more, nothing is proven, and that is said."""
    problem = pde.Problem(lambda u: u.t - 0.1 * u.xx - 8 * u**3, LINE * pde.Time(0, 1), [ZERO, START], network=SMALL)
    with pytest.raises(EnclosureError, match="no bound of the error is proven"):
        problem.solve(steps=1, points=40, progress=False).certify_error(slabs=1, most=500)


@pytest.mark.exhaustive
def test_a_bound_is_less_than_the_size_for_which_growth_was_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each slab; and where every size leads to a larger one, however finite, nothing is returned."""
    equation, domain, start = EVOLVING["Allen and Cahn"]
    problem = pde.Problem(equation, domain, [ZERO, start], network=SMALL)
    solution = problem.solve(steps=12, points=100, progress=False)
    plain, tried = BoundSearch._rate, dict[float, float]()

    def watched(self: BoundSearch, box: IntervalArray, error: float, width: float, weight: Weight) -> float:
        tried[float(box.high[1])] = error * (1 + 1e-15) / weight.most(box)
        return plain(self, box, error, width, weight)

    monkeypatch.setattr(BoundSearch, "_rate", watched)
    levels = solution.certify_error(factor=3.0, slabs=2, most=6_000).bound.levels
    assert len(tried) == 2 and np.all(levels[1:] < [tried[end] for end in sorted(tried)])
    assert np.all(np.diff(levels) > 0)

    def growing(self: BoundSearch, box: IntervalArray, error: float, width: float, weight: Weight) -> float:
        tried[error] = error
        return float(np.log(1e3 * error) / np.ptp([box.low[1], box.high[1]]))

    tried.clear()
    monkeypatch.setattr(BoundSearch, "_rate", growing)
    with pytest.raises(EnclosureError, match="no bound of the error is proven"):
        solution.certify_error(slabs=1, most=500)
    assert len(tried) == ROUNDS


@pytest.mark.exhaustive
def test_what_is_off_at_the_boundary_counts() -> None:
    for name in ("Poisson", "heat"):
        equation, domain, conditions, _ = EXACT[name]
        zero = pde.Dirichlet(u=0)
        problem = pde.Problem(equation, domain, [zero, *conditions[1:]], network=SMALL)
        solution = problem.solve(steps=3, points=60, progress=False)
        before = solution.certify_error(slabs=1, most=2000)
        zero.values["u"] = 0.25  # what the network has is 0 still
        after = solution.certify_error(slabs=1, most=2000)
        assert before.mismatch < 0.01 and after.mismatch >= 0.25 and after.most >= before.most + 0.2


@pytest.mark.parametrize(
    ("drift", "growth"), [(0.0, 0.0), (1e-9, 0.0), (0.7, 0.0), (5.0, 0.0), (0.0, 1e-9), (0.0, 3.0), (0.0, 7.0)]
)
def test_barriers_obey_their_inequality(drift: float, growth: float) -> None:
    """−a v″ − B|v′| − g v ≥ ρ inside, and v ≥ m at both ends; differences of v tell."""
    low, high, a, residual, mismatch = -0.5, 1.5, 3.0, 0.3, 0.02
    barrier = Barrier(0, low, high, a, drift, growth, residual, mismatch)
    x = np.linspace(low, high, 401)
    v, step = barrier.at(x[:, None]), x[1] - x[0]
    second, first = np.diff(v, 2) / step**2, (v[2:] - v[:-2]) / (2 * step)
    left = -a * second - drift * np.abs(first) - growth * v[1:-1]
    assert np.all(left >= residual * (1 - 2e-3 * (1 + drift))) and np.max(left) <= residual * (1 + 2e-2 * (1 + drift))
    assert min(v[0], v[-1]) >= mismatch and np.argmax(v) == 200


def test_levels_grow_at_least_as_the_equation_says() -> None:
    for rate in (0.0, 0.3, 5.0):
        factor = np.expm1(0.5 * rate) / rate if rate else 0.5
        exact = 0.1 * np.exp(0.5 * rate) + 2.0 * factor
        assert exact <= grown(0.1, 2.0, rate, 1.0, 1.5) <= exact * np.exp(0.5 * rate) * (1 + 1e-12)


def steps_of(x: Any) -> Any:
    """Return x up to a millionth, in steps whose derivatives are zero."""
    return np.floor(1e6 * x) / 1e6


REFUSED: dict[str, tuple[Callable[[], pde.Problem], str]] = {
    "a nonlinear one": (lambda: pde.Problem(lambda u: u.xx - u**3 + 1, LINE, ZERO), "nonlinear equation without time"),
    "backward heat": (
        lambda: pde.Problem(lambda u: u.t + 0.1 * u.xx, LINE * TIME, [ZERO, START], network=SMALL),
        "to smooth in time",
    ),
    "a wave": (
        lambda: pde.Problem(lambda u: u.tt - u.xx, LINE * TIME, [ZERO, START, pde.Initial(u=0, order=1)]),
        "order above two in space, or one in time|initial velocity",
    ),
    "a beam": (lambda: pde.Problem(lambda u: u.xxxx - 1, LINE, [ZERO, pde.Neumann(u=0)]), "an order above two"),
    "resonance": (lambda: pde.Problem(lambda u: u.xx + 10 * u + 1, LINE, ZERO, network=SMALL), "may feed itself"),
    "a hyperbolic one": (
        lambda: pde.Problem(lambda u: u.xx - u.yy + 1, SQUARE, ZERO, network=SMALL),
        "proven to be elliptic",
    ),
    "a fully nonlinear one": (
        lambda: pde.Problem(lambda u: u.t - u.xx - u.xx**3, LINE * TIME, [ZERO, START]),
        "factors have derivatives",
    ),
    "a rate that varies": (
        lambda: pde.Problem(lambda u, x: (2 + x) * u.t - u.xx, LINE * TIME, [ZERO, START]),
        "factor varies",
    ),
    "a slope in steps": (
        lambda: pde.Problem(lambda u: u.xx + 60 * steps_of(u.x) + 1.0, LINE, ZERO, network=SMALL),
        "a term that jumps",
    ),
    "a hidden slope": (
        lambda: pde.Problem(lambda u: u.xx + 60 * stop_gradient(u.x) + 1.0, LINE, ZERO, network=SMALL),
        "hides its own derivative",
    ),
    "heat backwards in steps": (
        lambda: pde.Problem(lambda u: u.t + steps_of(u.xx), LINE * TIME, [ZERO, START], network=SMALL),
        "a term that jumps",
    ),
    "a source that jumps": (
        lambda: pde.Problem(lambda u: u.xx - pnp.where(u.value > 0.1, 1.0, 0.0), LINE, ZERO),
        "a term that jumps",
    ),
    "a remainder": (
        lambda: pde.Problem(lambda u: u.t - u.xx + pnp.remainder(u.value, 1.0), LINE * TIME, [ZERO, START]),
        "a term that jumps",
    ),
    "periodic ends that leave a constant open": (
        lambda: pde.Problem(lambda u, x: u.xx - pnp.sin(2 * np.pi * x), LINE, [pde.Periodic("x")], network=SMALL),
        "may feed itself",
    ),
    "a period that is rounded": (
        lambda: pde.Problem(
            lambda u: u.t - u.xx, pde.Interval(0.1, 0.7) * TIME, [pde.Periodic("x"), pde.Initial(u=1)], network=SMALL
        ),
        "is rounded",
    ),
    "a free end": (
        lambda: pde.Problem(lambda u: u.x - 1, LINE, [pde.Dirichlet(u=0, on="x-"), pde.Free("u", on="x+")]),
        "condition of the kind 'freedom'",
    ),
    "a condition of one's own": (
        lambda: pde.Problem(lambda u: u.xx + 1, LINE, pde.Condition(lambda u: u.value - 1)),
        "condition of the kind 'condition'",
    ),
    "slopes that feed": (
        lambda: pde.Problem(lambda u: u.xx + 2 + 0.1 * u, LINE, pde.Neumann(u=-1), network=SMALL),
        "may feed itself",
    ),
    "a factor that varies": (
        lambda: pde.Problem(lambda u: u.xx + 2, LINE, pde.Robin(u=0, a=lambda x: x, b=1.0), network=SMALL),
        "factors of the Robin condition",
    ),
    "a disk": (lambda: pde.Problem(lambda u: pde.laplacian(u) + 1, pde.Disk((0, 0), 1), ZERO), "the domain"),
    "two unknowns": (
        lambda: pde.Problem([lambda u: u.xx + 1, lambda v: v.xx], LINE, pde.Dirichlet(u=0, v=0), unknowns="u v"),
        "several unknowns",
    ),
}


@pytest.mark.one_in(12)
@pytest.mark.filterwarnings("ignore:a constant may be added")
@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_bound_is_refused_with_the_reason(name: str) -> None:
    problem, words = REFUSED[name]
    solution = problem().solve(steps=1, points=20, progress=False)
    with pytest.raises(ProblemError, match=words) as error:
        solution.certify_error(slabs=1, most=500)
    assert "certify()" in str(error.value)


def test_learned_coefficients_are_said_with_the_bound() -> None:
    """The bound is of the solution with what was found."""
    with pytest.warns(UserWarning, match="nothing tells the value of k"):
        problem = pde.Problem(lambda u, k: u.xx + 2 * k, LINE, ZERO, network=SMALL, coefficients={"k": 1.5})
        solution = problem.solve(steps=1, points=20, progress=False)
    assert str(solution.certify_error(most=2000)).startswith(f"with k = {solution.coefficients['k']:.6g} as found: |u")


def test_the_bound_is_drawn_and_asked_inside() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    solution, _ = solved("Poisson", 1)
    bound = solution.certify_error()
    axes = bound.plot()
    x, y = axes.lines[0].get_data()
    assert abs(x[np.argmax(y)] - 0.5) < 0.01 and "proven" in axes.get_title()
    np.testing.assert_allclose(y, bound.at(x[:, None]))
    with pytest.raises(ProblemError, match="outside"):
        bound.at([[1.5]])
    matplotlib.pyplot.close("all")
    with pytest.raises(ProblemError, match="0 slabs"):
        solution.certify_error(slabs=0)
