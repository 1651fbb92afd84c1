"""Who computes at the points of a problem: this process at all of them, or the processes of a job at their shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.functional.export.distribute import distribute
from primad.functional.jit import jit
from primad.parallel.job import ranks
from primad.parallel.shares import Share
from primad.pde.geometry.sampling import Array
from primad.recording import tree

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem

Tree = Any
Drawn = Mapping[str, Mapping[str, Any]]


class OneProcess:
    """This process computes at all points.

    Attributes:
        leads: whether this process decides, and writes files: it does.
        alone: whether nobody waits for it: nobody does.

    Args:
        problem: whose points.
    """

    leads = alone = True

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of parameters and points, compiled: it takes points as `given` returns them."""
        return jit(function)

    def given(self, points: Drawn) -> Drawn:
        """Return the points of terms as compiled functions take them."""
        return points

    def values(self, params: Tree, points: Drawn) -> dict[str, Array]:
        """Return the residuals of terms at all points, without their scale."""
        found: dict[str, Array] = self.problem.evaluated(params, points)
        return found

    def means(self, params: Tree, points: Drawn) -> dict[str, Array]:
        """Return the mean squares of the residuals of terms, without their scale."""
        return _mean_squares(self.values(params, points))

    def led(self, work: Callable[[], Any]) -> Any:
        """Return what the process that leads finds."""
        return work()

    def agreed(self, values: Tree) -> Tree:
        """Return arrays that all processes computed, as all are to have them."""
        return values


class SharedPoints(OneProcess):
    """The processes of a job share the points of all terms but integrals, of which each knows all.

    Points are arrays as before, which every process draws; what is computed at them, it computes at its own.

    Args:
        problem: whose points.
        chunks: into how many chunks they are cut.

    Raises:
        ShapeError: if there are fewer chunks than processes.
        TracingError: if mpi4py is not installed.
    """

    def __init__(self, problem: Problem, chunks: int) -> None:
        super().__init__(problem)
        self._team, self._chunks = ranks(), chunks
        self._team.own(chunks)
        self.leads, self.alone = self._team.rank == 0, self._team.size == 1
        self._values = distribute(problem.values)
        self._means = distribute(lambda params, points: _mean_squares(problem.values(params, points)))

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that all processes compute together; it takes points as `given` returns them."""
        return distribute(function)

    def given(self, points: Drawn) -> Drawn:
        """Return the points of terms as Shares."""
        return {name: self._shared(name, row) for name, row in points.items()}

    def _shared(self, name: str, row: Mapping[str, Array]) -> Mapping[str, Any]:
        if self.problem.terms[name].kind == "integral":
            return row
        return {key: Share.of(column, chunks=self._chunks) for key, column in row.items()}

    def values(self, params: Tree, points: Drawn) -> dict[str, Array]:
        """Return the residuals of terms at the points of all processes, in each of them."""
        found = self._values(params, self.given(points))
        return {name: value.whole() if isinstance(value, Share) else value for name, value in found.items()}

    def means(self, params: Tree, points: Drawn) -> dict[str, Array]:
        """Return the mean squares over the points of all processes."""
        found: dict[str, Array] = self._means(params, self.given(points))
        return found

    def led(self, work: Callable[[], Any]) -> Any:
        """Return in every process what process 0 finds; raise there what it raises."""
        return self._team.led(work)

    def agreed(self, values: Tree) -> Tree:
        """Return arrays as process 0 has them, if the machines may compute others."""
        leaves, structure = tree.flatten(values)
        return tree.unflatten(structure, self._team.agreed(leaves))


def _mean_squares(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.mean(value**2, axis=0) for name, value in values.items()}
