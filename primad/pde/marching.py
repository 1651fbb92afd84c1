"""Marching in time: a problem in window after window, each of which begins where the last one ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.numpy.shaping import expand_dims
from primad.pde.intervals import Time
from primad.pde.problem import Problem
from primad.pde.solution import Solution

__all__ = ["Marched", "chebyshev", "march", "trigonometric"]

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
MOST = 64
"""Points of a polynomial: each is a step of its recurrence."""


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


def chebyshev(values: Array, low: float, high: float, accuracy: float = 1e-14) -> Function:
    """Return the polynomial that has given values at Chebyshev's points, the highest first, both ends included.

    It is a sum of Chebyshev's polynomials, written with NumPy, so it can be differentiated.

    Args:
        values: at the points (low + high)/2 + (high − low)/2·cos(iπ/n), i = 0, …, n.
        low: where the interval begins.
        high: where it ends.
        accuracy: the largest size, relative to the largest one, of high orders that are left out.

    Example:
        >>> import numpy as np, primad
        >>> s = np.cos(np.linspace(0, np.pi, 25))
        >>> f = primad.pde.chebyshev(np.exp(1 + s), 0.0, 2.0)
        >>> np.allclose([f(0.3), primad.grad(f)(2.0)], [np.exp(0.3), np.exp(2.0)])
        True
    """
    from scipy.fft import dct  # loads when a march goes on

    c = dct(np.asarray(values, np.float64), type=1) / (len(values) - 1)
    c[[0, -1]] /= 2
    last = int(np.max(np.flatnonzero(np.abs(c) > accuracy * np.max(np.abs(c))), initial=1))
    coefficients = c[: last + 1]

    def interpolant(x: Any) -> Any:
        s = (x - (low + high) / 2) * (2 / (high - low))
        before, now = 1.0 + 0.0 * s, s
        total = float(coefficients[0]) * before + float(coefficients[1]) * now
        for coefficient in coefficients[2:]:
            before, now = now, 2.0 * s * now - before
            total = total + float(coefficient) * now
        return total

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
    """Solve a problem with one coordinate of space in window after window of time.

    A window begins with the function through values at the end of the last one: a sum of sines and cosines where the
    problem is periodic, else a polynomial through Chebyshev's points.

    Args:
        problem: a function that returns the problem in a window: of the time, and of what the unknowns are at its
            start, functions by name.
        start: what they are at the first time.
        times: where windows begin and end, increasing.
        points: how many values of each unknown the next window gets; 64 at most where the problem is not periodic.
        **settings: of `Problem.solve`; every window begins with the parameters of the last one, and has a checkpoint in
            a folder of its own.

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
    for number, (begin, end) in enumerate(pairwise(times)):
        window = problem(Time(float(begin), float(end)), start)
        if window.domain.dimension != 2:
            raise ProblemError(f"march: one coordinate of space, got the problem in {', '.join(window.domain.names)}")
        own: dict[str, Any] = {"params": found[-1].params} if found else {}
        if settings.get("checkpoint") is not None:
            own["checkpoint"] = Path(settings["checkpoint"]) / f"window {number}"
        solution = window.solve(**{**settings, **own})
        found.append(solution)
        if solution.reason in ("interrupted", "diverged"):
            break
        start = {name: _continued(window, solution, name, float(end), points) for name in window.unknowns}
    return Marched(found, times[: len(found) + 1])


def _continued(window: Problem, solution: Solution, name: str, end: float, points: int) -> Function:
    """Return what an unknown is at the end of a window, as a function."""
    low, high = (float(bound) for bound in window.domain.bounds[0])
    unknown = getattr(solution, name)
    if window.domain.names[0] in next(group.inputs.periodic for group in window.groups if name in group.names):
        return trigonometric(unknown(np.linspace(low, high, points, endpoint=False), end), low, high)
    s = np.cos(np.linspace(0.0, np.pi, min(points, MOST)))
    return chebyshev(unknown((low + high) / 2 + (high - low) / 2 * s, end), low, high)
