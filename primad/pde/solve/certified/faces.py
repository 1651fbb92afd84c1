"""What is said of the unknown on each face of a box: α u + β ∂u/∂n is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.intervals import time_of
from primad.pde.networks.hard_constraints import Function, as_function
from primad.pde.problem.conditions import Dirichlet, Initial, Neumann, Robin

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

FACTORS: dict[type, tuple[float, float]] = {Dirichlet: (1.0, 0.0), Initial: (1.0, 0.0), Neumann: (0.0, 1.0)}
"""α and β of conditions that say them by their kind. Values come first: where there are some, slopes are not needed."""


@dataclass(frozen=True)
class Face:
    """A face of a box, or the start, and what is given there.

    Attributes:
        part: its name.
        column: the place of the coordinate that is constant on it.
        side: −1 at its lower end, 1 at its upper one.
        value: α, the factor of the unknown.
        slope: β, that of its derivative along the outward normal, not negative.
        given: what they add up to, as a function of a point.
    """

    part: str
    column: int
    side: float
    value: float
    slope: float
    given: Function


def faces_of(problem: Problem, unknown: str) -> list[Face]:
    """Return all faces on which something is said of an unknown.

    Raises:
        ProblemError: if the factors of a condition vary.
    """
    found: dict[str, Face] = {}
    for kind in (*FACTORS, Robin):
        said: list[Any] = [one for one in problem.statement.conditions if type(one) is kind]
        for condition in said:
            if unknown not in condition.values or (kind is Initial and condition.order):
                continue
            for part in condition.parts(problem.domain):
                if part not in found:
                    found[part] = _face(problem, part, condition, unknown)
    return list(found.values())


def _side(part: str) -> float:
    return 1.0 if part.endswith("+") else -1.0


def _face(problem: Problem, part: str, condition: Any, unknown: str) -> Face:
    time = time_of(problem.domain)
    column = problem.domain.names.index(time if part == "initial" and time else part[:-1])
    value, slope = FACTORS.get(type(condition), (0.0, 0.0))
    sign = 1.0
    if isinstance(condition, Robin):
        if callable(condition.a) or callable(condition.b) or np.iscomplexobj([condition.a, condition.b]):
            raise ProblemError(
                f"certify_error: the factors of {condition.what} vary",
                fix="give numbers for a and b; or bound the residuals alone: solution.certify().",
            )
        value, slope = float(np.real(condition.a)), float(np.real(condition.b))
        sign = -1.0 if slope < 0 else 1.0
    given = as_function(condition.values[unknown])
    return Face(part, column, _side(part), sign * value, sign * slope, lambda point: sign * given(point))
