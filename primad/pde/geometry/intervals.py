"""Intervals, boxes, time, and families of parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.domains import Domain, Image, Product
from primad.pde.geometry.point_arguments import Point, moved
from primad.pde.geometry.sampling import Array, Points
from primad.pde.written_names import check_names

__all__ = ["Box", "Interval", "Parameters", "Time"]

NAMES = ("x", "y", "z")
"""Of coordinates without a name."""


class Interval(Domain):
    """An interval of one coordinate, whose ends are the parts "x-" and "x+" of its boundary.

    Args:
        low: the lower end.
        high: the upper end.
        name: of the coordinate.

    Raises:
        ProblemError: if the interval is empty, or an end is not finite.

    Example:
        >>> from primad import pde
        >>> pde.Interval(0, 1).parts
        ('x-', 'x+')
    """

    spread = 1
    vanishes_alone = True

    def __init__(self, low: float, high: float | None = None, name: str = "x") -> None:
        try:
            self.low, self.high = float(low), float(high)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise ProblemError(
                f"the ends of the interval of {name} are two numbers, got {low!r} and {high!r}",
                fix=f"write {type(self).__name__}(0, 1).",
            ) from None
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ProblemError(
                f"the interval of {name} from {low} to {high} has no end",
                fix="give finite numbers; far ends stand for infinity, and Dirichlet conditions there for decay.",
            )
        if not self.low < self.high:
            raise ProblemError(
                f"the interval of {name} from {low} to {high} is empty", fix="write the lower end first."
            )
        check_names((name,))
        self.names, self.parts = (name,), self._ends(name)
        self.bounds = np.array([[self.low, self.high]])
        self.measure = self.high - self.low

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.names[0]}=({self.low:g}, {self.high:g}))"

    @staticmethod
    def _ends(name: str) -> tuple[str, ...]:
        return (f"{name}-", f"{name}+")

    def inside(self, at: Array) -> Array:
        """Say which points lie between the ends, both included."""
        found: Array = (at[:, 0] >= self.low) & (at[:, 0] <= self.high)
        return found

    def inner(self, unit: Array) -> Image:
        """Map the unit interval to this one."""
        return Image(self.low + self.measure * unit)

    def edge(self, part: str, unit: Array) -> Image:
        """Return an end."""
        upper = part == f"{self.names[0]}+"
        at = np.full((len(unit), 1), self.high if upper else self.low)
        return Image(at, np.full_like(at, 1.0 if upper else -1.0))

    def edge_spread(self, part: str) -> int:
        """Return 0: an end is a point."""
        return 0

    def part_measure(self, part: str) -> float:
        """Return 1."""
        return 1.0

    def quadrature(self, order: int = 20) -> Points:
        """Return the points and weights of Gauss and Legendre."""
        nodes, weights = np.polynomial.legendre.leggauss(order)
        return Points(self.names, self.inner((nodes[:, None] + 1) / 2).at, None, weights * self.measure / 2)

    def vanishing(self, parts: Collection[str], point: Point) -> Any:
        """Return a product of distances from the ends, at most about 1."""
        lower, upper = (part in parts for part in self._both())
        s = (point[self.names[0]] - self.low) / self.measure
        if lower and upper:
            return 4.0 * s * (1.0 - s)
        return s if lower else 1.0 - s if upper else 1.0

    def _both(self) -> tuple[str, str]:
        return (f"{self.names[0]}-", f"{self.names[0]}+")

    def extended(self, values: Mapping[str, Callable[[Point], Any]], point: Point) -> Any:
        """Interpolate between the values at the ends."""
        name = self.names[0]
        lower, upper = self._both()
        at_low = values[lower](moved(point, name, self.low)) if lower in values else None
        at_high = values[upper](moved(point, name, self.high)) if upper in values else None
        if at_low is None or at_high is None:
            return at_low if at_high is None else at_high
        s = (point[name] - self.low) / self.measure
        return (1.0 - s) * at_low + s * at_high


class Time(Interval):
    """An interval of time: its beginning is the part "initial" of the boundary; its end wants no condition.

    Args:
        start: when it begins.
        end: when it ends.
        name: of the coordinate.

    Example:
        >>> from primad import pde
        >>> (pde.Interval(-1, 1) * pde.Time(0, 1)).parts
        ('x-', 'x+', 'initial')
    """

    def __init__(self, start: float, end: float | None = None, name: str = "t") -> None:
        super().__init__(start, end, name)

    @staticmethod
    def _ends(name: str) -> tuple[str, ...]:
        return ("initial",)

    def _both(self) -> tuple[str, str]:
        return ("initial", "")


class Parameters(Domain):
    """Ranges of parameters of a family of problems: coordinates of the unknowns in which nothing is differentiated.

    Args:
        **ranges: the lowest and highest value of each parameter.

    Raises:
        ProblemError: if there are none, a range has no name, or it is empty or no pair of numbers.

    Example:
        >>> from primad import pde
        >>> domain = pde.Interval(-1, 1) * pde.Time(0, 1) * pde.Parameters(nu=(0.01, 0.1))
        >>> domain.names, domain.parts
        (('x', 't', 'nu'), ('x-', 'x+', 'initial'))
    """

    def __init__(self, *unnamed: Any, **ranges: tuple[float, float]) -> None:
        if unnamed or not ranges:
            raise ProblemError("the parameters of a family need names", fix="write Parameters(nu=(0.01, 0.1)).")
        self._box = Box(**ranges)
        self.names, self.parts = self._box.names, ()
        self.bounds, self.measure, self.spread = self._box.bounds, self._box.measure, self._box.spread

    def __repr__(self) -> str:
        return f"Parameters{str(self._box).removeprefix('Box')}"

    def inside(self, at: Array) -> Array:
        """Say which values lie in the ranges."""
        return self._box.inside(at)

    def inner(self, unit: Array) -> Image:
        """Map the unit cube to the ranges."""
        return self._box.inner(unit)

    def edge(self, part: str, unit: Array) -> Image:
        """Raise: parameters have no boundary."""
        raise ProblemError(
            f"{self!r} has no boundary",
            fix="multiply it with a domain of space: pde.Interval(0, 1) * pde.Parameters(nu=(1, 2)).",
        )

    def edge_spread(self, part: str) -> int:
        """Return nothing: parameters have no boundary."""
        return 0

    def part_measure(self, part: str) -> float:
        """Return nothing: parameters have no boundary."""
        return 0.0

    def vanishing(self, parts: Collection[str], point: Point) -> Any:
        """Return 1: there is nothing to vanish on."""
        return 1.0

    def quadrature(self, order: int = 20) -> Points:
        """Return the products of the ranges' points and weights."""
        return self._box.quadrature(order)


class Box(Product):
    """A box, whose faces are the parts "x-", "x+", "y-", … of its boundary.

    Args:
        *unnamed: the lowest and highest values of x, y and z.
        **ranges: the lowest and highest value of each coordinate.

    Raises:
        ProblemError: if a range is empty or no pair of numbers.

    Example:
        >>> from primad import pde
        >>> square = pde.Box(x=(0, 1), y=(0, 1))
        >>> square.parts, square.boundary("x+", 3).normals.tolist()
        (('x-', 'x+', 'y-', 'y+'), [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    """

    def __init__(self, *unnamed: tuple[float, float], **ranges: tuple[float, float]) -> None:
        if len(unnamed) > len(NAMES):
            raise ProblemError(f"the {len(unnamed)} coordinates of a box need names", fix="write Box(x=(0, 1), …).")
        _check_no_corners(unnamed)
        ranges = {**dict(zip(NAMES, unnamed, strict=False)), **ranges}
        if not ranges:
            raise ProblemError("a box needs coordinates", fix="write Box(x=(0, 1), y=(0, 1)).")
        for name, range_ in ranges.items():
            if np.shape(range_) != (2,):
                raise ProblemError(
                    f"the range of {name} is a pair (lowest, highest), got {range_!r}",
                    fix="write Box(x=(0, 1), y=(0, 1)), or of ranges in one list Box(*ranges).",
                )
        super().__init__([Interval(low, high, name) for name, (low, high) in ranges.items()])

    def __repr__(self) -> str:
        ranges = [f"{name}=({low:g}, {high:g})" for name, (low, high) in zip(self.names, self.bounds, strict=True)]
        return f"Box({', '.join(ranges)})"


def factors_of(domain: Domain) -> tuple[Domain, ...]:
    """Return the domains whose product a domain is, or is cut from."""
    while domain.cut_from is not None:
        domain = domain.cut_from
    return domain.factors if isinstance(domain, Product) else (domain,)


def space_of(domain: Domain) -> tuple[str, ...]:
    """Return the coordinates of space: neither time nor parameters of a family."""
    factors = [factor for factor in factors_of(domain) if not isinstance(factor, (Time, Parameters))]
    return tuple([name for factor in factors for name in factor.names])


def time_of(domain: Domain) -> str | None:
    """Return the name of time, if there is any."""
    return next((factor.names[0] for factor in factors_of(domain) if isinstance(factor, Time)), None)


def clock(domain: Domain) -> Time:
    """Return the interval of time that a domain is a product with.

    Raises:
        ProblemError: if there is none.
    """
    for factor in factors_of(domain):
        if isinstance(factor, Time):
            return factor
    raise ProblemError(
        f"{domain!r} has no time",
        why="An initial condition is one at the beginning of an interval of time.",
        fix="multiply the domain: Interval(-1, 1) * Time(0, 1).",
    )


def _check_no_corners(given: Sequence[Any]) -> None:
    """Raise for two corners, where a range for each coordinate is wanted. Some pairs of corners are ranges as well."""
    if len(given) != 2 or np.ndim(given[0]) != 1 or np.shape(given[0]) != np.shape(given[1]):
        return
    low, high = given
    if len(low) != 2 or not (low[0] < low[1] and high[0] < high[1]):
        names = NAMES if len(low) <= len(NAMES) else [f"x{i}" for i in range(len(low))]
        ranges = ", ".join(f"{name}=({a:g}, {b:g})" for name, a, b in zip(names, low, high, strict=False))
        raise ProblemError(
            f"a box takes the range of each coordinate, and not two corners, {low!r} and {high!r}",
            fix=f"write Box({ranges}).",
        )
