"""Values, derivatives to third order in each argument and their conditions, by differences at high precision."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mpmath
import numpy as np

from tests.accuracy.tails import NoReferenceError

ORDERS = 3
PRECISIONS = ((120, 25), (900, 60))
"""Digits of the numbers and of the step: what the first ones cannot tell from noise is asked of the second ones."""
NOISE = 15
"""Digits by which a derivative must be above what rounding makes of it."""
BINOMIAL = {  # central differences of five points, which are exact up to the square of the step
    1: {-1: -0.5, 1: 0.5},
    2: {-1: 1.0, 0: -2.0, 1: 1.0},
    3: {-2: -0.5, -1: 1.0, 1: -1.0, 2: 0.5},
    4: {-2: 1.0, -1: -4.0, 0: 6.0, 1: -4.0, 2: 1.0},
}
LOST = (ArithmeticError, ValueError, TypeError, AttributeError, mpmath.libmp.NoConvergence, MemoryError)


class _LateError(Exception):
    """A reference takes too long."""


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _LateError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _Differences:
    """Differences of a function around a point.

    Args:
        meaning: the function, of an mpmath context and of numbers.
        at: the point, without zeros: distances are relative.
        digits: of the numbers.
        step: the digits of the distance between points, relative to each argument.
    """

    def __init__(self, meaning: Callable[..., Any], at: Sequence[float], digits: int, step: int) -> None:
        self.m = m = mpmath.MPContext()
        m.dps = digits
        self.meaning, self.digits, self.h = meaning, digits, m.mpf(10) ** -step
        self.centre = [m.mpf(float(x)) for x in at]
        self.scales = [abs(x) for x in self.centre]
        self.known: dict[tuple[int, ...], Any] = {}

    def value(self, moved: tuple[int, ...]) -> Any:
        """Return the function some steps away in each argument.

        Raises:
            NoReferenceError: where it is no real number.
        """
        if moved not in self.known:
            m, places = self.m, zip(self.centre, moved, self.scales, strict=True)
            y = m.convert(self.meaning(m, *[x + k * s * self.h for x, k, s in places]))
            if not m.isfinite(y) or abs(m.im(y)) > m.mpf(10) ** (5 - self.digits) * abs(y):
                raise NoReferenceError
            self.known[moved] = m.re(y)
        return self.known[moved]

    def scaled(self, orders: dict[int, int]) -> Any:
        """Return a derivative times the scales of its arguments, of orders by argument; None where it is noise.

        What is below all floats is no noise.
        """
        m, terms = self.m, [((0,) * len(self.centre), self.m.mpf(1))]
        for i, order in orders.items():
            terms = [
                ((*moved[:i], moved[i] + k, *moved[i + 1 :]), w * c)
                for moved, w in terms
                for k, c in BINOMIAL[order].items()
            ]
        total = sum([w * self.value(moved) for moved, w in terms], m.mpf(0))
        least = max([abs(self.value(moved)) for moved, _ in terms]) * m.mpf(10) ** (NOISE - self.digits)
        power = self.h ** sum(orders.values())
        size = power * m.fprod([self.scales[i] ** n for i, n in orders.items()])
        noise = not least or least / size > LEAST  # what is 0 everywhere has lost all digits
        return None if abs(total) <= least and noise else total / power

    def derivative(self, i: int, order: int) -> Any:
        """Return a derivative in an argument, NaN where it is not known."""
        found = self.scaled({i: order})
        return self.m.nan if found is None else found / self.scales[i] ** order

    def condition(self, orders: dict[int, int]) -> float:
        """Return Σ |xᵢ ∂ᵢg/g| of a derivative g, or of the function."""
        base = self.scaled(orders)
        if base is None:
            return float("nan")
        above = [self.scaled({**orders, i: orders.get(i, 0) + 1}) for i in range(len(self.centre))]
        total = sum([abs(x) for x in above if x is not None], self.m.mpf(0))
        return float(f"{float(min(total / abs(base), LARGEST)):.1e}") if base else 0.0


LEAST, LARGEST = mpmath.mpf(10) ** -340, mpmath.mpf(10) ** 30
"""What is below all floats, and a condition of which nothing is right."""


def reference(meaning: Callable[..., Any], at: Sequence[float], seconds: float) -> np.ndarray | None:
    """Return value, derivatives by argument and order, and the condition of each; None where they are not known.

    A derivative is NaN where no precision tells it from noise.
    """

    def row(of: _Differences) -> list[Any]:
        wanted = [{}, *[{i: order} for i in range(len(at)) for order in range(1, ORDERS + 1)]]
        exact = [of.derivative(*next(iter(orders.items()))) if orders else of.scaled({}) for orders in wanted]
        return exact + [of.condition(orders) for orders in wanted]

    return _found(row, meaning, at, seconds)


def slopes(
    meaning: Callable[..., Any], at: Sequence[float], places: Sequence[int], seconds: float
) -> np.ndarray | None:
    """Return first derivatives in some arguments; None where they are not known."""
    return _found(lambda of: [of.derivative(i, 1) for i in places], meaning, at, seconds)


def _found(row: Callable[[_Differences], list[Any]], *at: Any) -> np.ndarray | None:
    """Return numbers by the least precision that tells all of them from noise."""
    meaning, point, seconds = at
    try:
        with _within(seconds):
            for digits, step in PRECISIONS:
                found = np.array([float(x) for x in row(_Differences(meaning, point, digits, step))])
                if not np.isnan(found).any():
                    break
    except (_LateError, *LOST):
        return None
    return found
