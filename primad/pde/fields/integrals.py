"""Integrals in equations: sums over the nodes of Gauss and Legendre, mapped to the limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ProblemError, ShapeError, TracingError
from primad.recording.traced_array import is_traced

NODES = 16
"""Nodes of an integral, if not said otherwise: polynomials of degree 31 are integrated exactly."""


class Quadrature:
    """How the integrals of equations are computed while a block runs, and what was asked for.

    Attributes:
        nodes: of an integral that does not say how many.
        times: by which number those of all integrals are multiplied.
        members: how many functions a family has, of which values have an axis; 0 of no family. There are never as many
            nodes, nor one: an axis of functions that meets that of nodes is an error, and no sum over the wrong one.
        ends: whether integrands are asked at the limits, too: so it is seen whether these lie in the domain.
        used: how many integrals were computed.
        places: at how many other places fields were asked.
        depth: how many integrals the one that is computed lies in.
        written: what integrals are instead, a function of (integrand, low, high): where formulas are written down.
    """

    def __init__(
        self,
        nodes: int = NODES,
        times: int = 1,
        ends: bool = False,
        members: int = 0,
        written: Callable[[Callable[[Any], Any], Any, Any], Any] | None = None,
    ) -> None:
        self.written = written
        self.nodes, self.times, self.ends, self.members = nodes, times, ends, members
        self.used = self.places = self.depth = 0

    def count(self, points: int | None) -> int:
        """Return how many nodes an integral has, which may say how many."""
        found = self.times * (self.nodes if points is None else checked_nodes(points, "integral: points"))
        while self.members and found in (1, self.members):
            found += 1
        return found


_NOW: ContextVar[Quadrature | None] = ContextVar("quadrature", default=None)


def quadrature() -> Quadrature:
    """Return how integrals are computed here."""
    return _NOW.get() or Quadrature()


@contextmanager
def integrating(how: Quadrature) -> Iterator[Quadrature]:
    """Compute integrals in a given way while a block runs."""
    before = _NOW.set(how)
    try:
        yield how
    finally:
        _NOW.reset(before)


def integral(function: Callable[[Any], Any], low: Any, high: Any, points: int | None = None) -> Any:
    """Return the integral of a function between limits, as a sum over the nodes of Gauss and Legendre.

    In an equation of a `Problem`, unknowns are functions there: `pde.integral(lambda s: np.exp(s - t) * u(s), 0, t)`.
    Other coordinates stay those of the point, `u(x=s)`. What is differentiated is the sum, in all that it is made of,
    the limits included.

    Args:
        function: of the variable, an array with an axis of nodes first, that returns the integrand; for several
            variables it has an integral in it.
        low: the lower limit: a number, or one for each point.
        high: the upper limit, likewise.
        points: how many nodes there are; by default as many as the `Problem` says, 16.

    Returns:
        the integral, a number for each point; one number where neither limits nor integrand depend on points.

    Raises:
        ProblemError: if a limit is infinite, or the number of nodes is none.
        ShapeError: if limits are other arrays.

    Example:
        >>> import numpy as np
        >>> from primad import pde
        >>> t = np.array([0.5, 1.0])
        >>> np.allclose(pde.integral(lambda s: np.exp(s - t), 0, t), 1 - np.exp(-t))
        True
    """
    if not callable(function):
        raise TracingError(
            f"integral: the integrand is a function of the variable, got {type(function).__name__}",
            fix="write pde.integral(lambda s: np.exp(s - t) * u(s), 0, t).",
        )
    how = _NOW.get()
    if how is None:
        with integrating(Quadrature()):
            return integral(function, low, high, points)
    low, high = _limit(low), _limit(high)
    if how.written is not None:
        return how.written(function, low, high)
    own = how.depth + 1
    if max(pnp.ndim(low), pnp.ndim(high)) > own:
        raise ShapeError(
            f"integral: limits of shapes {pnp.shape(low)} and {pnp.shape(high)}",
            why="The points of an equation are one axis; variables of integrals around it have an axis each before.",
            fix="pass numbers, or one for each point: points of a grid raveled.",
        )
    shape = np.broadcast_shapes(pnp.shape(low), pnp.shape(high), (1,) * own)
    places, weights = (np.reshape(one, (-1,) + (1,) * own) for one in _rule(how.count(points)))
    middle, half = (high + low) / 2, (high - low) / 2
    how.used += 1
    how.depth += 1
    try:
        if how.ends:
            _tried(function, pnp.broadcast_to(low, (1, *shape)), pnp.broadcast_to(high, (1, *shape)))
        at = pnp.reshape(middle, _filled(middle, own)) + pnp.reshape(half, _filled(half, own)) * places
        values = _plain(function(at))
    finally:
        how.depth -= 1
    values = pnp.broadcast_to(values, np.broadcast_shapes(pnp.shape(values), pnp.shape(at)))
    found = half * np.sum(weights * values, axis=-own - 1)
    alone = not how.depth and pnp.ndim(low) == pnp.ndim(high) == 0 and pnp.shape(found) == (1,)
    return found[0] if alone else found


def _tried(function: Callable[[Any], Any], *ends: Any) -> None:
    """Ask an integrand at its limits, where it may be infinite."""
    with np.errstate(all="ignore"):
        for end in ends:
            function(end)


def _filled(limit: Any, axes: int) -> tuple[int, ...]:
    """Return the shape of a limit, with axes of length one before it."""
    return (*(1,) * (axes - pnp.ndim(limit)), *pnp.shape(limit))


def _plain(found: Any) -> Any:
    return found.value if hasattr(found, "shape_of_points") else found


def _limit(given: Any) -> Any:
    """Return a limit as an array; raise where it is infinite."""
    found = _plain(given)
    if is_traced(found):
        return found
    found = np.asarray(found, np.float64)
    if not np.all(np.isfinite(found)):
        raise ProblemError(
            f"integral: a limit is {found.ravel()[~np.isfinite(found.ravel())][0]}",
            why="The nodes of Gauss and Legendre lie between finite limits.",
            fix="end where the integrand is negligible, or substitute a variable: s = r / (1 - r).",
        )
    return found


def checked_nodes(given: Any, what: str) -> int:
    """Return how many nodes an integral has.

    Raises:
        ProblemError: if it is no positive integer.
    """
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 1:
        raise ProblemError(f"{what} must be a positive integer, got {given!r}", fix="leave it out, or ask for 16.")
    return int(given)


@lru_cache(maxsize=64)
def _rule(nodes: int) -> tuple[Any, Any]:
    """Return places between -1 and 1, and weights."""
    return np.polynomial.legendre.leggauss(nodes)
