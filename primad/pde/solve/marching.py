"""Marching in time: a problem in window after window, each of which begins where the last one ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import Time, time_of
from primad.pde.problem.pde_problem import Problem
from primad.pde.report.interpolation import Basis, ChebyshevBasis, TrigonometricBasis, near, through
from primad.pde.solve.solution import Solution
from primad.recording.foreign import plain
from primad.system.tracebacks import entrance

__all__ = ["Marched", "march"]

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
MOST = {1: 64, 2: 33, 3: 17}
"""Points of a polynomial in one coordinate, by how many coordinates there are."""
MOST_WAVES = {1: 2**16, 2: 64, 3: 24}
"""Points of a period in one coordinate, likewise."""
FITTED = {1: 40, 2: 22, 3: 9}
"""Polynomials in one coordinate, likewise, where a domain is no box and values are fitted."""
ACCURACY = 1e-14
"""Size of what is left out of a function through values, relative to the largest part."""


class Marched:
    """The solutions of all windows of a march as one: unknowns are functions of space and time.

    Attributes:
        solutions: one for each window.
        times: where windows begin and end.
    """

    def __init__(self, solutions: Sequence[Solution], times: Array) -> None:
        self.solutions, self.times = list(solutions), times

    def __getattr__(self, name: str) -> Function:
        if name.startswith("_") or "solutions" not in self.__dict__:
            raise AttributeError(name)
        parts = [getattr(solution, name) for solution in self.solutions]

        domain = self.solutions[0].problem.domain
        place = domain.names.index(time_of(domain) or domain.names[-1])

        def unknown(*coordinates: Any, **named: Any) -> Any:
            given = [*coordinates, *[named[name] for name in domain.names[len(coordinates) :] if name in named]]
            if len(given) != len(domain.names) or len(coordinates) + len(named) != len(given):
                raise ProblemError(f"{name} is a function of {', '.join(domain.names)}", fix="pass each of them once.")
            arrays = np.broadcast_arrays(*[plain(each, np.float64) for each in given])
            t = arrays[place]
            window = np.clip(np.searchsorted(self.times, t, side="left") - 1, 0, len(parts) - 1)
            found = np.full(t.shape, np.nan)
            for i, part in enumerate(parts):
                chosen = window == i
                if np.any(chosen):
                    found[chosen] = part(*[array[chosen] for array in arrays])
            return found[()]

        return unknown


@entrance
def march(
    problem: Callable[[Time, dict[str, Function]], Problem],
    start: dict[str, Function],
    times: Array,
    *,
    nodes: int = 2048,
    **settings: Any,
) -> Marched:
    """Solve a problem with up to three coordinates of space in window after window of time.

    A window begins with the function through values at the end of the last one: products of sines and cosines where the
    problem is periodic, else of polynomials through Chebyshev's points. In a domain that is no box, polynomials are
    fitted to the values at points of it.

    Args:
        problem: a function that returns the problem in a window: of the time, and of what the unknowns are at its
            start, functions by name.
        start: what they are at the first time.
        times: where windows begin and end, increasing.
        nodes: how many values of each unknown the next window gets along a coordinate, at most; with several
            coordinates, and where the problem is not periodic, fewer are taken.
        **settings: of `Problem.solve`; every window begins with the parameters of the last one, and has a checkpoint in
            a folder of its own.

    Returns:
        the solution in all windows; those that were reached, if Ctrl-C or a value that is not finite ended one.

    Raises:
        ProblemError: if the times do not increase, or the problem has no time or more coordinates.
    """
    times = plain(times, np.float64)
    if times.ndim != 1 or len(times) < 2 or np.any(np.diff(times) <= 0):
        raise ProblemError(
            "march: times are where windows begin and end, increasing", fix="pass np.linspace(0, 1, 11)."
        )
    found: list[Solution] = []
    for number, (begin, end) in enumerate(pairwise(times)):
        window = problem(Time(float(begin), float(end)), start)
        if window.domain.dimension - 1 not in MOST or time_of(window.domain) is None:
            raise ProblemError(
                f"march: time and one to three coordinates of space, got {', '.join(window.domain.names)}"
            )
        own: dict[str, Any] = {"params": found[-1].params} if found else {}
        if settings.get("checkpoint") is not None:
            own["checkpoint"] = Path(settings["checkpoint"]) / f"window {number}"
        solution = window.solve(**{**settings, **own})
        found.append(solution)
        if solution.reason in ("interrupted", "diverged"):
            break
        start = {name: _continued(window, solution, name, float(end), nodes) for name in window.unknowns}
    return Marched(found, times[: len(found) + 1])


def _continued(window: Problem, solution: Solution, name: str, end: float, nodes: int) -> Function:
    """Return what an unknown is at the end of a window, as a function."""
    domain = window.domain
    time = domain.names.index(time_of(domain) or "")
    names = [each for i, each in enumerate(domain.names) if i != time]
    repeats = next(group.inputs.periodic for group in window.groups if name in group.names)
    bounds = {each: pair.tolist() for each, pair in zip(domain.names, domain.bounds, strict=True)}
    bases: list[Basis] = [(TrigonometricBasis if each in repeats else ChebyshevBasis)(*bounds[each]) for each in names]

    def values(at: Array) -> Array:
        return solution.at(np.insert(at, time, end, axis=1), name)

    most = {TrigonometricBasis: MOST_WAVES[len(names)], ChebyshevBasis: MOST[len(names)]}
    grid = np.meshgrid(*[basis.nodes(min(nodes, most[type(basis)])) for basis in bases], indexing="ij")
    at = np.stack([line.ravel() for line in grid], axis=1)
    if np.all(domain.contains(np.insert(at, time, end, axis=1))):
        return through(names, bases, values(at).reshape(grid[0].shape), ACCURACY)
    counts = [FITTED[len(names)]] * len(names)
    at = np.delete(_spread(domain, 6 * int(np.prod(counts))), time, axis=1)
    return near(names, bases, at, values(at), counts, ACCURACY)


def _spread(domain: Domain, count: int) -> Array:
    """Return points in a domain and on its boundary."""
    inside = domain.interior(count).at
    parts = [part for part in domain.parts if part != "initial"]
    edges = [domain.boundary(part, max(20, count // (4 * len(parts)))).at for part in parts]
    return np.concatenate([inside, *edges])
