"""What is proven of a solution: how large the residuals of its equations are at most, over the whole domain."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from primad import numpy as pnp
from primad.enclosures import IntervalArray, Range
from primad.errors import ProblemError
from primad.pde.problem.named_arguments import arguments
from primad.pde.problem.terms import Row, Term
from primad.pde.solve.certified.box_budget import BoxBudget, box_budget
from primad.recording import tree

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem
    from primad.pde.solve.solution import Solution

SAMPLES = 4096
"""Points at which residuals are looked at first, to know how close bounds are worth to be. Chosen: a fraction of a
second."""
FACTOR = 0.5
"""By which part of the largest sampled residual a bound may be above what is taken, if nothing else is asked."""
MOST = 500_000
"""Boxes that a search looks at, if not said otherwise. Chosen: minutes for a network of a few hundred parameters."""


@dataclass(frozen=True)
class CertifiedResidual:
    """What is proven of one equation.

    Attributes:
        label: the equation.
        most: |residual| is at most so large, at every point of the domain.
        sampled: the largest one that was seen at points.
        where: the box around the point where it was seen to be largest, an interval for each coordinate.
        range: bounds of the residual itself, and how they were found.
    """

    label: str
    most: float
    sampled: float
    where: IntervalArray
    range: Range


@dataclass(frozen=True)
class Certificate:
    """What is proven of a solution.

    What is meant is the network with its weights as they are in float64, in exact arithmetic, on the box around the
    domain. It says how well the equations hold, not how far the solution is from the true one.

    Attributes:
        residuals: of each equation.
        fitted: the conditions that are fitted at points, of which nothing is proven; all others hold by construction.
        seconds: how long it took.
    """

    residuals: list[CertifiedResidual]
    fitted: list[str]
    seconds: float

    def __str__(self) -> str:
        lines = [
            f"|{one.label}| <= {one.most:.3g} everywhere (largest seen {one.sampled:.3g}"
            f"{'' if one.range.finished else '; the search ended early'}; boxes looked at: {one.range.boxes})"
            for one in self.residuals
        ]
        if self.fitted:
            lines.append(f"fitted, nothing is proven: {', '.join(self.fitted)}")
        return "\n".join(lines)


def certified(solution: Solution, inputs: Row, factor: float, order: int, most: int, progress: bool) -> Certificate:
    """Return bounds of the residuals of all equations; see `Solution.certify`.

    Args:
        solution: of which.
        inputs: the function of a family that it is given, as arrays of a term.
        factor: how far a bound may be above values that are taken.
        order: of the Taylor models.
        most: how many boxes are looked at.
        progress: whether to show how far it has come.

    Raises:
        EnclosureError: for an op of an equation that has no bounds.
        ProblemError: if an equation has an integral, or an input function of a family.
    """
    problem = solution.problem
    bounds = np.asarray(problem.domain.bounds, float)
    terms = [term for term in problem.terms.values() if term.kind == "equation"]
    if summed := [term.name for term in terms if term.name in problem.integrals]:
        raise ProblemError(
            f"certify: there is an integral in {summed[0]!r}",
            why="It is computed as a sum over nodes: what would be proven is a bound with that sum in the place of the "
            "integral.",
            fix="look at solution.residuals(), at points; an integral from the beginning to t may be an unknown of its "
            "own, with an equation w.t - u and pde.Initial(w=0).",
        )
    for one in problem.statement.equations:
        if functions := [name for name in arguments(one.function, one.name) if name in problem.family.inputs]:
            raise ProblemError(
                f"certify: {one.name!r} asks for the input function {functions[0]}",
                why="Between its sensors that is a spline, whose pieces change inside of a box.",
                fix="look at solution.residuals(), at points. Where input functions stand in conditions alone, as "
                "states at the start do, equations are certified.",
            )
    begun = time.monotonic()
    box = IntervalArray(bounds[:, 0], bounds[:, 1])
    found = []
    for term in terms:
        for place, label in enumerate(problem.labels[term.name]):
            with box_budget(most, order, progress) as budget:
                how = factor, budget
                found.append(_certified_residual(problem, solution.params, term, place, label, box, inputs, how))
    fitted = [name for name, term in problem.terms.items() if term.kind != "equation"]
    return Certificate(found, fitted, time.monotonic() - begun)


def _certified_residual(
    problem: Problem,
    params: Any,
    term: Term,
    place: int,
    label: str,
    box: IntervalArray,
    inputs: Row,
    how: tuple[float, BoxBudget],
) -> CertifiedResidual:
    factor, budget = how
    points = np.random.default_rng(0).uniform(box.low, box.high, (SAMPLES, box.low.size))
    sampled = np.asarray(problem.values(params, {term.name: {"at": points, **inputs}})[term.name])[:, place]
    largest = float(np.max(np.abs(sampled)))
    at = points[int(np.argmax(np.abs(sampled)))]
    width = max(factor * largest, float(np.finfo(float).tiny))
    found = budget.range(label, _residual_at(problem, params, term, place, inputs), box, width=width, share=1.0)
    size = max(abs(float(found.bounds.low)), abs(float(found.bounds.high)))
    return CertifiedResidual(label, size, largest, IntervalArray(at, at), found)


def _residual_at(problem: Problem, params: Any, term: Term, place: int, inputs: Row) -> Callable[[Any], Any]:
    """Return a residual as a function of one point."""

    def residual(at: Any) -> Any:
        leaves = tree.leaves(problem.raw(params, term, {"at": pnp.reshape(at, (1, -1)), **inputs}))
        return pnp.reshape(leaves[place], ())

    return residual
