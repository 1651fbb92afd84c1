"""A solution by finite elements, which is asked as every other one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from primad.pde.geometry.sampling import Array
from primad.pde.solve.answers import Answers

if TYPE_CHECKING:
    from primad.pde.elements.discretisation import Elements

__all__ = ["ElementSolution"]


class ElementSolution(Answers):
    """What finite elements found: `solution.u(x, y)`, `at`, `error`, `plot`, as of a `Solution`.

    Derivatives are those of the polynomials on each element.

    Attributes:
        problem: the problem.
        elements: the elements.
        nodal: the values at their nodes.
    """

    def __init__(self, elements: Elements, nodal: Array) -> None:
        self.problem, self.elements, self.nodal = elements.problem, elements, nodal

    def evaluated(
        self, points: Any, unknown: str, derivative: str, extrapolate: bool, functions: Mapping[str, Any]
    ) -> Any:
        """Return what `at` does."""
        at = self._asked_at(points, unknown, extrapolate)
        return self.elements.interpolation(at, derivative) @ self.nodal

    def __repr__(self) -> str:
        return f"<solution of {', '.join(self.unknowns)}: {self.elements.size}>"
