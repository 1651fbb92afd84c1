"""Unions, differences and intersections of domains, and boundaries with pieces that have names of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.domains import Domain, Image
from primad.pde.geometry.intervals import Box
from primad.pde.geometry.point_arguments import Point
from primad.pde.geometry.sampling import Array, Points, generator, unit_points
from primad.pde.problem.named_arguments import by_name, check_arguments

__all__: list[str] = []
PROBES = 2**14
"""Points that tell which share of a domain another one has."""


class Combined(Domain):
    """Two domains as one: their union, intersection, or the first without the second.

    Args:
        first: a domain.
        word: "|", "&" or "-".
        second: another one, with the same coordinates.

    Raises:
        ProblemError: if they have other coordinates, or nothing is left.
    """

    def __init__(self, first: Domain, word: str, second: Domain) -> None:
        if first.names != second.names:
            raise ProblemError(
                f"domains with the coordinates {', '.join(first.names)} and {', '.join(second.names)} "
                "have no union, difference or intersection",
                fix="give them the same coordinates, in the same order.",
            )
        self.first, self.word, self.second, self.names = first, word, second, first.names
        self.cut_from = first
        self._owners: dict[str, tuple[Domain, str]] = {}
        for domain in (first, second):
            for part in domain.parts:
                name, number = part, 2
                while name in self._owners:
                    name, number = f"{part} {number}", number + 1
                self._owners[name] = (domain, part)
        self.bounds = first.bounds if word != "|" else _around(first.bounds, second.bounds)
        self._whole = first if word != "|" else Box(**dict(zip(self.names, self.bounds.tolist(), strict=True)))
        self.spread = self._whole.spread
        self.measure = self._share() * self._whole.measure
        if not self.measure:
            raise ProblemError(f"{self!r} is empty", fix="check where the domains lie.")
        self._shares = {part: self._part_share(part) for part in self._owners}
        self.parts = tuple([part for part, share in self._shares.items() if share])

    def __repr__(self) -> str:
        return f"({self.first!r} {self.word} {self.second!r})"

    def inside(self, at: Array) -> Array:
        """Say which points lie in the domain."""
        first, second = self.first.inside(at), self.second.inside(at)
        found: Array = {"|": first | second, "&": first & second, "-": first & ~second}[self.word]
        return found

    def inner(self, unit: Array) -> Image:
        """Map a cube to the larger domain, and keep what is in this one."""
        image = self._whole.inner(unit)
        return Image(image.at, None, image.keeps & self.inside(image.at))

    def edge(self, part: str, unit: Array) -> Image:
        """Map a cube to a part of one domain's boundary, and keep what separates in from out."""
        domain, own = self._owners[part]
        image = domain.edge(own, unit)
        found = self.separating(domain, image.at, np.asarray(image.normals))
        return Image(found.at, found.normals, image.keeps & found.keeps)

    def owner(self, part: str) -> tuple[Domain, str]:
        """Return whose boundary a part is of, and what it is called there."""
        return self._owners[part]

    def separating(self, owner: Domain, at: Array, normals: Array) -> Image:
        """Return points of the boundary of one of the domains, with normals out of this one, and keep what is its edge.

        Args:
            owner: which of the two.
            at: points on its boundary, one a row.
            normals: out of it.
        """
        step = 1e-7 * float(np.max(np.ptp(self.bounds, axis=1)))
        before, after = self.inside(at - step * normals), self.inside(at + step * normals)
        kept = before != after
        if owner is self.second:  # where both boundaries are one, it is the first one's
            kept &= self.first.inside(at - step * normals) == self.first.inside(at + step * normals)
        return Image(at, np.where(after[:, None], -normals, normals), kept)

    def edge_spread(self, part: str) -> int:
        """Return the dimension of a part of the boundary."""
        domain, own = self._owners[part]
        return domain.edge_spread(own)

    def part_measure(self, part: str) -> float:
        """Return the length or area of a part of the boundary, as some thousand points tell."""
        domain, own = self._owners[part]
        return self._shares[part] * domain.part_measure(own)

    def vanishing(self, parts: Collection[str], point: Point) -> Any:
        """Return the product of functions that vanish on parts of both boundaries; None where one would vanish inside.

        A union hides boundaries inside. What is cut out must have a function without zeros outside of it: that of a box
        vanishes on the lines through its edges.
        """
        cut = self.word == "-" and any(
            owner is self.second and name in parts for name, (owner, _) in self._owners.items()
        )
        if self.word == "|" or (cut and not self.second.vanishes_alone):
            return None
        found: Any = 1.0
        for domain, sign in ((self.first, 1.0), (self.second, -1.0 if self.word == "-" else 1.0)):
            own = [part for name, (owner, part) in self._owners.items() if owner is domain and name in parts]
            if own:
                factor = domain.vanishing(own, point)
                if factor is None:
                    return None
                found = found * (sign * factor)
        return found

    def _share(self) -> float:
        image = self._whole.inner(unit_points("sobol", PROBES, self._whole.spread, generator(0)))
        return float(np.sum(image.keeps & self.inside(image.at)) / np.sum(image.keeps))

    def _part_share(self, part: str) -> float:
        unit = unit_points("sobol", 1024, self.edge_spread(part), generator(0))
        domain, own = self._owners[part]
        return float(np.sum(self.edge(part, unit).keeps) / np.sum(domain.edge(own, unit).keeps))


def made_of(domain: Domain) -> list[Domain]:
    """Return the domains that one is made of by unions, intersections and differences, whatever their parts' names."""
    if isinstance(domain, Combined):
        return [*made_of(domain.first), *made_of(domain.second)]
    return made_of(domain.domain) if isinstance(domain, Named) else [domain]


def _around(a: Array, b: Array) -> Array:
    return np.stack([np.minimum(a[:, 0], b[:, 0]), np.maximum(a[:, 1], b[:, 1])], axis=1)


class Named(Domain):
    """A domain, pieces of whose boundary have names of their own."""

    def __init__(self, domain: Domain, where: Mapping[str, Callable[..., Any]]) -> None:
        self.domain, self._where, self.cut_from = domain, dict(where), domain
        self.names, self.bounds, self.measure, self.spread = domain.names, domain.bounds, domain.measure, domain.spread
        for name, condition in where.items():
            if name in domain.parts:
                raise ProblemError(
                    f"the boundary of {domain!r} has a part {name!r} already", fix="choose another name."
                )
            check_arguments(condition, dict.fromkeys(self.names, "coordinates"), f"the piece {name!r}")
        self._pieces: dict[str, dict[str, float]] = {}
        for name in [*where, ""]:
            for part in domain.parts:
                image = domain.edge(part, unit_points("sobol", 1024, domain.edge_spread(part), generator(0)))
                share = float(np.mean((self.piece(image.at) == name)[image.keeps]))
                if share:
                    self._pieces.setdefault(name or part, {})[part] = share
        for name in where:
            if name not in self._pieces:
                raise ProblemError(
                    f"no piece of the boundary of {domain!r} is in {name!r}: it is empty",
                    fix="return true for the points of a piece: named(inlet=lambda x, y: x < 1e-9).",
                )
        self.parts = tuple(self._pieces)

    def __repr__(self) -> str:
        return f"{self.domain!r}.named({', '.join(self._where)})"

    def over(self, domain: Domain) -> Named:
        """Return another domain with pieces of the same names and conditions."""
        return Named(domain, self._where)

    def piece(self, at: Array) -> Array:
        """Return which piece points of the boundary lie in; "" in none."""
        columns = {name: at[:, i] for i, name in enumerate(self.names)}
        found = np.full(len(at), "", dtype=object)
        for name, condition in reversed(self._where.items()):
            found[np.broadcast_to(by_name(condition, columns), len(at))] = name
        return found

    def lies_in(self, part: str, at: Array) -> Array:
        """Say which points of the boundary lie in a piece, or in none that has a name of its own."""
        found: Array = self.piece(at) == (part if part in self._where else "")
        return found

    def whole_parts(self, part: str) -> tuple[str, ...]:
        """Return the parts of the domain's boundary that a piece lies on."""
        return tuple(self._pieces[part])

    def inside(self, at: Array) -> Array:
        """Say which points lie in the domain."""
        return self.domain.inside(at)

    def inner(self, unit: Array) -> Image:
        """Map a cube to the domain."""
        return self.domain.inner(unit)

    def edge(self, part: str, unit: Array) -> Image:
        """Map a cube to the parts of the boundary that a piece lies on, and keep the piece."""
        pieces = self._pieces[part]
        sizes = np.cumsum([self.domain.part_measure(name) for name in pieces])
        first = unit[:, :1] * sizes[-1]
        which = np.minimum(np.searchsorted(sizes, first[:, 0], side="right"), len(sizes) - 1)
        at, normals = np.zeros((len(unit), self.dimension)), np.zeros((len(unit), self.dimension))
        kept = np.zeros(len(unit), bool)
        for i, name in enumerate(pieces):
            rows = np.flatnonzero(which == i)
            if rows.size:
                image = self.domain.edge(name, unit[rows, 1 : 1 + self.domain.edge_spread(name)])
                at[rows], normals[rows] = image.at, np.asarray(image.normals)
                kept[rows] = image.keeps & self.lies_in(part, image.at)
        return Image(at, normals, kept)

    def edge_spread(self, part: str) -> int:
        """Return the dimension of the cube that `edge` takes: one more than the largest part's, to choose the part."""
        return 1 + max(self.domain.edge_spread(name) for name in self._pieces[part])

    def part_measure(self, part: str) -> float:
        """Return the length or area of a piece, as a thousand points tell."""
        return sum(share * self.domain.part_measure(name) for name, share in self._pieces[part].items())

    def _whole_parts(self, parts: Collection[str]) -> dict[str, list[str]] | None:
        """Return the domain's parts that pieces make up, with these pieces; None if some are not whole."""
        found: dict[str, list[str]] = {}
        for piece in parts:
            for part in self._pieces[piece]:
                found.setdefault(part, []).append(piece)
        whole = {part: [p for p, held in self._pieces.items() if part in held] for part in found}
        return found if all(set(whole[part]) == set(pieces) for part, pieces in found.items()) else None

    def vanishing(self, parts: Collection[str], point: Point) -> Any:
        """Return what vanishes on the domain's parts, if pieces make up whole ones."""
        whole = self._whole_parts(parts)
        return None if whole is None else self.domain.vanishing(list(whole), point)

    def extended(self, values: Mapping[str, Callable[[Point], Any]], point: Point) -> Any:
        """Return what the domain makes of the values, if its parts have one each."""
        whole = self._whole_parts(list(values))
        if whole is None or any(values[piece] != values[pieces[0]] for pieces in whole.values() for piece in pieces):
            return None
        return self.domain.extended({part: values[pieces[0]] for part, pieces in whole.items()}, point)

    def quadrature(self, order: int = 20) -> Points:
        """Return the domain's points and weights."""
        return self.domain.quadrature(order)
