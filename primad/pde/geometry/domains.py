"""Domains: what all have in common, and products of domains."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.pde.geometry.point_arguments import ConstantValue, Point
from primad.pde.geometry.sampling import Array, Points, as_rows, gauss, generator, joined, unit_points
from primad.pde.written_names import check_names

__all__ = ["Domain"]

MOST_DRAWN = 2**22
"""Points that are drawn at most to find some in a domain."""
FEW_FACTORS = 5
"""Factors between whose different values an extension is computed: 3 to this power are taken."""
MOST_FACTORS = 12
"""Factors whose vanishing functions are multiplied."""


@dataclass(frozen=True)
class Image:
    """What points of a unit cube become in a domain.

    Attributes:
        at: points, one a row.
        normals: outward unit normals, of boundary points.
        kept: which of the points lie in the domain.
    """

    at: Array
    normals: Array | None = None
    kept: Array | None = None

    @property
    def keeps(self) -> Array:
        """Which of the points lie in the domain."""
        return np.ones(len(self.at), bool) if self.kept is None else self.kept


class Domain(ABC):
    """A set of points with named coordinates, and its boundary in named parts.

    Domains multiply (`Disk(...) * Time(0, 1)`), and those with the same coordinates have unions, differences and
    intersections: `a | b`, `a - b`, `a & b`.
    """

    names: tuple[str, ...]
    """Of the coordinates."""
    parts: tuple[str, ...]
    """Of the boundary: each wants a condition."""
    bounds: Array
    """The lowest and the highest value of each coordinate, one a row."""
    measure: float
    """Length, area or volume."""
    spread = 0
    """Dimension of the unit cube that `inner` maps to the domain."""
    vanishes_alone = False
    """Whether what vanishes on its boundary has no zeros outside of the domain either."""
    cut_from: Domain | None = None
    """The domain whose coordinates these are, where it was cut, joined or named."""

    def contains(self, points: Any) -> Array:
        """Say which points, one a row, lie in the domain or on its boundary.

        Raises:
            ShapeError: if they have other columns than the coordinates.
        """
        return self.inside(as_rows(points, self.names))

    @abstractmethod
    def inside(self, at: Array) -> Array:
        """Say of an array with a row for each point what `contains` says."""

    @abstractmethod
    def inner(self, unit: Array) -> Image:
        """Map points of the unit cube to the domain, keeping volumes in proportion."""

    @abstractmethod
    def edge(self, part: str, unit: Array) -> Image:
        """Map points of a unit cube to a part of the boundary, keeping areas in proportion."""

    @abstractmethod
    def edge_spread(self, part: str) -> int:
        """Return the dimension of the cube that `edge` maps to a part of the boundary."""

    @abstractmethod
    def part_measure(self, part: str) -> float:
        """Return the length or area of a part of the boundary; 1 for a point."""

    def vanishing(self, parts: Collection[str], point: Point) -> Any:
        """Return a smooth function that is zero on parts of the boundary, and only there; None if none is known."""
        return None

    def extended(self, values: Mapping[str, Callable[[Point], Any]], point: Point) -> Any:
        """Return a function that has given values on parts of the boundary; None if none is known.

        Without a way to go from one value to another it is the value that all parts share.

        Args:
            values: for each part, one at least, a function of a point on it (or anywhere).
            point: where.
        """
        first, *others = values.values()
        return first(point) if all(value == first for value in others) else None

    @property
    def dimension(self) -> int:
        """How many coordinates a point has."""
        return len(self.names)

    def interior(self, count: int, how: str = "sobol", seed: int | Sequence[int] = 0) -> Points:
        """Draw points inside.

        Args:
            count: how many; a "grid" may have more.
            how: "sobol", "latin", "uniform" or "grid".
            seed: an integer or several: the same ones give the same points.

        Raises:
            ProblemError: if no points are asked for, or none are found.
        """
        return self._drawn(self.inner, self.spread, count, how, seed, self.measure)

    def boundary(
        self, part: str | None = None, count: int = 100, how: str = "sobol", seed: int | Sequence[int] = 0
    ) -> Points:
        """Draw points on the boundary, with normals.

        Args:
            part: which part of it; None for all, each with its share of the points.
            count: how many; of a boundary that is a single point, one.
            how: "sobol", "latin", "uniform" or "grid".
            seed: an integer or several: the same ones give the same points.

        Raises:
            ProblemError: if there is no such part, no points are asked for, or none are found.
        """
        if part is None:
            sizes = np.array([self.part_measure(name) for name in self.parts])
            if not sizes.size:
                raise ProblemError(
                    f"{self!r} has no boundary",
                    fix="draw points inside: domain.interior(100).",
                )
            shares = np.maximum(1, np.round(count * sizes / sizes.sum()).astype(int))
            return joined([self.boundary(p, int(n), how, seed) for p, n in zip(self.parts, shares, strict=True)])
        self.check_part(part)
        spread = self.edge_spread(part)
        if spread == 0:
            count = min(count, 1)

        def image(unit: Array) -> Image:
            return self.edge(part, unit)

        return self._drawn(image, spread, count, how, seed, self.part_measure(part))

    def _drawn(
        self,
        image: Callable[[Array], Image],
        spread: int,
        count: int,
        how: str,
        seed: int | Sequence[int],
        measure: float,
    ) -> Points:
        parts = (seed,) if isinstance(seed, (int, np.integer)) else tuple(seed)
        drawn = count
        while True:
            found = image(unit_points(how, drawn, spread, generator(*parts)))
            kept = np.flatnonzero(found.keeps)
            if len(kept) >= count:
                kept = kept if how == "grid" else kept[:count]
                normals = None if found.normals is None else found.normals[kept]
                return Points(self.names, found.at[kept], normals, np.full(len(kept), measure / len(kept)))
            if drawn >= MOST_DRAWN:
                raise ProblemError(
                    f"no {count} points were found among {drawn} in {self!r}",
                    why="The domain, or this part of its boundary, is empty or very small beside what it is cut from.",
                    fix="check what is subtracted or intersected.",
                )
            drawn = min(MOST_DRAWN, math.ceil(drawn * max(1.1 * count / max(len(kept), 1), 1.5)))

    def quadrature(self, order: int = 20) -> Points:
        """Return points and weights of a sum that approximates integrals over the domain.

        Args:
            order: points for each coordinate; where there is no product rule, order to the power of the dimension
                points of Sobol's sequence with equal weights.
        """
        return self.interior(order**self.dimension)

    def boundary_quadrature(self, part: str, order: int = 20) -> Points:
        """Return points, weights and normals of a sum that approximates integrals over a part of the boundary.

        Args:
            part: of the boundary.
            order: points of Gauss and Legendre for each dimension of it; where the part has no smooth map, order to the
                power of the domain's dimension points of Sobol's sequence with equal weights.
        """
        self.check_part(part)
        spread = self.edge_spread(part)
        if spread == self.dimension - 1:
            unit, weights = gauss(order, spread)
            found = self.edge(part, unit)
            if np.all(found.keeps):
                return Points(self.names, found.at, found.normals, self.part_measure(part) * weights)
        return self.boundary(part, order**self.dimension)

    def check_part(self, part: str) -> None:
        """Raise unless the boundary has a part.

        Raises:
            ProblemError: if it has not.
        """
        if part not in self.parts:
            raise ProblemError(
                f"the boundary of {self!r} has no part {part!r}",
                why=f"Its parts are {', '.join(map(repr, self.parts)) or 'none'}.",
                fix=suggestion(part, self.parts),
            )

    def named(self, **where: Callable[..., Any]) -> Domain:
        """Give a name to the piece of the boundary where a condition on the coordinates holds.

        Args:
            **where: for each new name a function of coordinates, by name, that returns whether a point is on it.

        Example:
            >>> from primad import pde
            >>> pde.Box(x=(0, 1), y=(0, 1)).named(inlet=lambda x, y: (x == 0) & (y > 0.5)).parts
            ('inlet', 'x-', 'x+', 'y-', 'y+')
        """
        from primad.pde.geometry.constructive import Named

        return Named(self, where)

    def __mul__(self, other: Domain) -> Domain:
        if not isinstance(other, Domain):
            return NotImplemented
        return Product((*_factors(self), *_factors(other)))

    def __or__(self, other: Domain) -> Domain:
        return self._with("|", other)

    def __and__(self, other: Domain) -> Domain:
        return self._with("&", other)

    def __sub__(self, other: Domain) -> Domain:
        return self._with("-", other)

    def _with(self, word: str, other: Domain) -> Domain:
        from primad.pde.geometry.constructive import Combined

        return Combined(self, word, other) if isinstance(other, Domain) else NotImplemented


def _factors(domain: Domain) -> tuple[Domain, ...]:
    return domain.factors if isinstance(domain, Product) else (domain,)


class Product(Domain):
    """All combinations of points of several domains; each part of a factor's boundary is one of the product's.

    Args:
        factors: domains with coordinates of different names.

    Raises:
        ProblemError: if two have a coordinate of the same name.
    """

    def __init__(self, factors: Sequence[Domain]) -> None:
        self.factors = tuple(factors)
        self.names = tuple([name for factor in self.factors for name in factor.names])
        check_names(self.names)
        self.parts = tuple([part for factor in self.factors for part in factor.parts])
        if len(set(self.parts)) < len(self.parts):
            raise ProblemError(
                f"the factors of a product have boundary parts of the same name: {', '.join(map(repr, self.parts))}",
                fix="name the parts of one of them otherwise: domain.named(…).",
            )
        self.bounds = np.concatenate([factor.bounds for factor in self.factors])
        self.measure = math.prod(factor.measure for factor in self.factors)
        self.spread = sum(factor.spread for factor in self.factors)

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.factors))

    def owner(self, part: str) -> int:
        """Return which factor a part of the boundary belongs to."""
        return next(i for i, factor in enumerate(self.factors) if part in factor.parts)

    def inside(self, at: Array) -> Array:
        """Say which points lie in all factors."""
        found = np.ones(len(at), bool)
        start = 0
        for factor in self.factors:
            found &= factor.inside(at[:, start : start + factor.dimension])
            start += factor.dimension
        return found

    def inner(self, unit: Array) -> Image:
        """Map the unit cube to all factors."""
        return self._mapped(unit, None)

    def edge(self, part: str, unit: Array) -> Image:
        """Map a unit cube to a part of one factor's boundary, and to the other factors."""
        return self._mapped(unit, part)

    def _mapped(self, unit: Array, part: str | None) -> Image:
        at, normals, kept, start = [], [], np.ones(len(unit), bool), 0
        for factor in self.factors:
            edge = part if part in factor.parts else None
            width = factor.spread if edge is None else factor.edge_spread(edge)
            own = unit[:, start : start + width]
            image = factor.inner(own) if edge is None else factor.edge(edge, own)
            at.append(image.at)
            normals.append(np.zeros_like(image.at) if image.normals is None else image.normals)
            kept &= image.keeps
            start += width
        return Image(np.concatenate(at, axis=1), None if part is None else np.concatenate(normals, axis=1), kept)

    def edge_spread(self, part: str) -> int:
        """Return the dimension of a part of the boundary."""
        owner = self.owner(part)
        return sum(f.edge_spread(part) if i == owner else f.spread for i, f in enumerate(self.factors))

    def part_measure(self, part: str) -> float:
        """Return the area of a part of the boundary."""
        owner = self.owner(part)
        return math.prod(f.part_measure(part) if i == owner else f.measure for i, f in enumerate(self.factors))

    def quadrature(self, order: int = 20) -> Points:
        """Return the products of the factors' points and weights."""
        rules = [factor.quadrature(order) for factor in self.factors]
        places = np.meshgrid(*[np.arange(len(rule)) for rule in rules], indexing="ij")
        flat = [place.ravel() for place in places]
        at = np.concatenate([rule.at[place] for rule, place in zip(rules, flat, strict=True)], axis=1)
        weights = [np.asarray(rule.weights)[place] for rule, place in zip(rules, flat, strict=True)]
        return Points(self.names, at, None, np.prod(weights, axis=0))

    def vanishing(self, parts: Collection[str], point: Point) -> Any:
        """Return the product of what vanishes on the factors' parts; None of very many, where it is 0 to rounding."""
        if sum(any(part in parts for part in factor.parts) for factor in self.factors) > MOST_FACTORS:
            return None
        found: Any = 1.0
        for factor in self.factors:
            own = [part for part in factor.parts if part in parts]
            if own:
                one = factor.vanishing(own, point)
                if one is None:
                    return None
                found = one * found
        return found

    def extended(self, values: Mapping[str, Callable[[Point], Any]], point: Point) -> Any:
        """Add up what each factor's parts want beyond what the factors before it give.

        Each factor takes what was there before at three points. So factors that begin with one number, or are many with
        one function, take that as it is, and many others have no extension.
        """
        own = [[values[part] for part in factor.parts if part in values] for factor in self.factors]
        first = next(given[0] for given in own if given)
        alike = next((i for i, given in enumerate(own) if any(one != first for one in given)), len(own))
        one = alike if isinstance(first, ConstantValue) or alike > FEW_FACTORS else 0
        if sum(map(bool, own[one:])) > FEW_FACTORS:
            return None

        def upto(count: int, at: Point) -> Any:
            if count <= one:
                return first(at) if any(own[:count]) else 0.0
            factor, before = self.factors[count - 1], upto(count - 1, at)
            given = {part: values[part] for part in factor.parts if part in values}
            if before is None or not given:
                return before

            def missing(value: Callable[[Point], Any]) -> Callable[[Point], Any]:
                return lambda place: value(place) - upto(count - 1, place)

            # Parts that share a function go on sharing one: some domains want that.
            wanted = [value for i, value in enumerate(given.values()) if value not in list(given.values())[:i]]
            rest = [missing(value) for value in wanted]
            more = factor.extended({part: rest[wanted.index(value)] for part, value in given.items()}, at)
            return None if more is None else before + more

        return upto(len(self.factors), point)
