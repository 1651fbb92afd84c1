"""Marching in time: a problem in window after window, each of which begins where the last one ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.numpy.shaping import expand_dims
from primad.pde.intervals import Time
from primad.pde.problem import Problem
from primad.pde.solution import Solution

__all__ = ["Marched", "march", "trigonometric"]

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def trigonometric(values: Array, low: float, high: float, accuracy: float = 1e-14) -> Function:
    """Return the function of period high − low that has given values at equidistant points, the first at low.

    It is a sum of sines and cosines, written with NumPy, so it can be differentiated.

    Args:
        values: at low, low + h, …, high − h.
        low: where the period begins.
        high: where it ends.
        accuracy: the largest size, relative to the largest one, of high frequencies that are left out.

    Example:
        >>> import numpy as np, primad
        >>> x = np.linspace(-1, 1, 16, endpoint=False)
        >>> f = primad.pde.trigonometric(np.sin(np.pi * x), -1, 1)
        >>> np.allclose([f(0.3), primad.grad(f)(0.3)], [np.sin(0.3 * np.pi), np.pi * np.cos(0.3 * np.pi)])
        True
    """
    count = len(values)
    c = np.fft.rfft(np.asarray(values, np.float64)) / count
    size = np.abs(c)
    last = int(np.max(np.flatnonzero(size > accuracy * np.max(size)), initial=1))
    last = min(last, (count - 1) // 2)
    k = 2 * np.pi / (high - low) * np.arange(1, last + 1)
    cosines, sines, mean = 2 * c[1 : last + 1].real, -2 * c[1 : last + 1].imag, float(c[0].real)

    def interpolant(x: Any) -> Any:
        phase = k * expand_dims(x - low, -1)
        return mean + np.cos(phase) @ cosines + np.sin(phase) @ sines

    return interpolant


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

        def unknown(x: Any, t: Any) -> Any:
            x, t = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(t, np.float64))
            window = np.clip(np.searchsorted(self.times, t, side="left") - 1, 0, len(parts) - 1)
            found = np.full(x.shape, np.nan)
            for i, part in enumerate(parts):
                chosen = window == i
                if np.any(chosen):
                    found[chosen] = part(x[chosen], t[chosen])
            return found[()]

        return unknown


def march(
    problem: Callable[[Time, dict[str, Function]], Problem],
    start: dict[str, Function],
    times: Array,
    *,
    points: int = 256,
    **settings: Any,
) -> Marched:
    """Solve a problem that is periodic in one coordinate of space, in window after window of time.

    Args:
        problem: a function that returns the problem in a window: of the time, and of what the unknowns are at its
            start, functions by name.
        start: what they are at the first time.
        times: where windows begin and end, increasing.
        points: how many values of each unknown the next window gets; it begins with the function through them.
        **settings: of `Problem.solve`; every window begins with the parameters of the last one.

    Returns:
        the solution in all windows; those that were reached, if Ctrl-C or a value that is not finite ended one.

    Raises:
        ProblemError: if the times do not increase, or the problem has more coordinates.
    """
    times = np.asarray(times, np.float64)
    if times.ndim != 1 or len(times) < 2 or np.any(np.diff(times) <= 0):
        raise ProblemError(
            "march: times are where windows begin and end, increasing", fix="pass np.linspace(0, 1, 11)."
        )
    found: list[Solution] = []
    for begin, end in pairwise(times):
        window = problem(Time(float(begin), float(end)), start)
        if window.domain.dimension != 2:
            raise ProblemError(f"march: one coordinate of space, got the problem in {', '.join(window.domain.names)}")
        solution = window.solve(**{**settings, **({"params": found[-1].params} if found else {})})
        found.append(solution)
        if solution.reason in ("interrupted", "diverged"):
            break
        low, high = window.domain.bounds[0]
        x = np.linspace(low, high, points, endpoint=False)
        start = {name: trigonometric(getattr(solution, name)(x, end), low, high) for name in window.unknowns}
    return Marched(found, times[: len(found) + 1])
