"""How much the terms of a problem, and their points, count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.functional.derivatives.gradients import grad
from primad.functional.jit import jit
from primad.optimize.parameter_vectors import Space
from primad.pde.families.family import folded
from primad.pde.geometry.intervals import clock
from primad.pde.geometry.sampling import Array, generator

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem
    from primad.pde.solve.shared_points import OneProcess

Tree = Any
Drawn = Mapping[str, Mapping[str, Array]]
BINS = 16
"""Pieces of time that wait for each other."""
KEPT = 0.9
"""How much of the old weights stays."""


class Balance:
    """Weights that make the gradients of all terms equally long (Wang, Teng & Perdikaris 2021).

    Args:
        problem: whose terms.
        by: who computes at their points.
    """

    def __init__(self, problem: Problem, by: OneProcess) -> None:
        self._by = by
        self._slopes: dict[str, Callable[..., Tree]] = {
            name: (jit if term.kind == "integral" else by.compiled)(grad(self._mean_square(problem, name)))
            for name, term in problem.terms.items()
        }

    @staticmethod
    def _mean_square(problem: Problem, name: str) -> Callable[..., Any]:
        def found(params: Tree, row: Mapping[str, Any]) -> Any:
            return 0.5 * np.sum(problem.values(params, {name: row})[name] ** 2) / len(row["scale"])

        return found

    def balanced(self, params: Tree, points: Drawn, weights: Mapping[str, float]) -> dict[str, float]:
        """Return new weights, near the old ones."""
        space, points = Space.of(params), self._by.given(points)
        lengths = {
            name: float(np.linalg.norm(space.vector(slope(params, points[name]))))
            for name, slope in self._slopes.items()
        }
        total = sum(lengths.values())
        wanted = {name: total / length if length else weights[name] for name, length in lengths.items()}
        found = {name: KEPT * weights[name] + (1 - KEPT) * wanted[name] for name in weights}
        least = min(found.values())
        return {name: weight / least for name, weight in found.items()}


def causal_weights(problem: Problem, name: str, row: Mapping[str, Array], values: Array, amount: float) -> Array:
    """Return weights of an equation's points: later times count as far as earlier ones are solved.

    exp(−ε Σ of the mean squares in earlier pieces of time), S. Wang, S. Sankaran & P. Perdikaris, Comput. Methods Appl.
    Mech. Engrg. 421 (2024) 116813.

    Args:
        problem: the problem.
        name: of the term.
        row: its arrays.
        values: its residuals, a row for each point; of a family for each function and point.
        amount: ε.
    """
    if problem.terms[name].kind != "equation":
        return np.ones(len(row["at"]))
    time = clock(problem.domain)
    t = row["at"][:, problem.domain.names.index(time.names[0])]
    bins = np.minimum(((t - time.low) / time.measure * BINS).astype(int), BINS - 1)
    counts = np.maximum(np.bincount(bins, minlength=BINS), 1)
    losses = np.bincount(bins, folded(values, len(t)), minlength=BINS) / counts
    earlier = np.concatenate([[0.0], np.cumsum(losses)[:-1]])
    found: Array = np.exp(-amount * earlier)[bins]
    return found


def scaled(points: Drawn, weights: Mapping[str, float], each: Mapping[str, Array]) -> dict[str, dict[str, Array]]:
    """Return points with the scales that weights of terms, and of single points, give."""
    found = {}
    for name, row in points.items():
        rows, labels = row["scale"].shape
        many = np.resize(weights[name] * each.get(name, np.ones(1)) / rows, rows)  # for each function the same
        found[name] = {**row, "scale": np.repeat(np.sqrt(many)[:, None], labels, axis=1)}
    return found


def refined(
    problem: Problem,
    params: Tree,
    points: Drawn,
    share: float,
    seed: Sequence[int],
    values: Callable[[Tree, Drawn], Mapping[str, Array]],
) -> dict[str, dict[str, Array]]:
    """Return points of which a share lies where residuals are large, drawn with a chance like their squares.

    Args:
        problem: the problem.
        params: where the residuals are computed.
        points: as they were drawn.
        share: of the points of each equation.
        seed: decides the draw.
        values: returns the residuals of terms at points.
    """
    found = {name: dict(row) for name, row in points.items()}
    for place, (name, term) in enumerate(problem.terms.items()):
        count = round(share * len(points[name]["at"]))
        if term.kind != "equation" or not count:
            continue
        candidates = {**term.draw(8 * count, (*seed, place, 1))}
        kept = {key: column for key, column in points[name].items() if key not in (*candidates, "scale")}
        scale = np.ones((len(candidates["at"]) * problem.family.members(kept), points[name]["scale"].shape[1]))
        found_there = values(params, {name: {**candidates, **kept, "scale": scale}})[name]
        size = folded(found_there, len(candidates["at"]))
        chance = size / np.mean(size) + 1.0 if np.all(np.isfinite(size)) and np.any(size) else np.ones(len(size))
        chosen = generator(*seed, place, 2).choice(len(size), count, replace=False, p=chance / np.sum(chance))
        for key, column in candidates.items():
            found[name][key] = np.concatenate([found[name][key][count:], column[chosen]])
    return found
