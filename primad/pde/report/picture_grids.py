"""Where pictures show functions: grids of one or two coordinates, in the domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import space_of, time_of
from primad.pde.geometry.point_arguments import numbers
from primad.pde.geometry.sampling import Array
from primad.pde.problem.named_arguments import by_name, check_exact
from primad.pde.report.outlines import moved_to_edge, outline
from primad.pde.written_names import names_in
from primad.recording.foreign import plain

if TYPE_CHECKING:
    from primad.pde.solve.answers import Answers

Exact = Callable[..., Any]
ROUNDING = 1e-9
"""How far a fixed coordinate may be outside of the domain, relative to the domain's size."""
POINTS = 201
"""Points along an axis of a map."""


@dataclass(frozen=True)
class Grid:
    """Where a picture shows a function: along one or two coordinates, at fixed values of the others.

    Attributes:
        axes: names of the coordinates that are shown.
        columns: for each coordinate an array, of one shape; points just outside of the domain are moved to its edge.
        inside: which points are shown: those in the domain or at its edge.
        fixed: values of the coordinates that are not shown.
        lines: values of the coordinates that are shown along the axes of the arrays.
        edges: curves around the domain, which have it at their left; none where it fills the picture.
    """

    axes: tuple[str, ...]
    columns: dict[str, Array]
    inside: Array
    fixed: dict[str, float]
    lines: tuple[Array, ...]
    edges: tuple[Array, ...]

    @property
    def where(self) -> str:
        """The fixed coordinates, in words."""
        return ", ".join(f"{name} = {value:.4g}" for name, value in self.fixed.items())

    def masked(self, values: Any) -> Array:
        """Return values with NaN outside the domain."""
        found: Array = np.where(self.inside, np.broadcast_to(numbers(values), self.inside.shape), np.nan)
        return found

    def of(self, solution: Answers, name: str) -> Array:
        """Return an unknown, or its derivative ("u.xx"), with NaN outside the domain."""
        return self.each(solution.at, name)

    def each(self, function: Callable[[Array, str, str], Array], name: str) -> Array:
        """Return what a function of points, an unknown and a derivative returns, with NaN outside the domain."""
        unknown, _, derivative = name.partition(".")
        at = np.stack([column.ravel() for column in self.columns.values()], axis=1)
        inside = self.inside.ravel()
        values = function(at[inside], unknown, derivative)
        found = np.full(len(at), np.nan, values.dtype)
        found[inside] = values
        return found.reshape(self.inside.shape)

    def band(self, solution: Answers, name: str) -> tuple[Array, Array] | None:
        """Return the ends of the band of an ensemble, with NaN outside the domain; None of a single solution."""
        if not solution.deviations:
            return None
        middle, half = self.of(solution, name), solution.deviations * self.each(solution.spread, name)
        return middle - half, middle + half

    def exact(self, function: Exact) -> Array:
        """Return a function of coordinates by name, with NaN outside the domain."""
        check_exact(function, "values", tuple(self.columns))
        points = np.stack([*self.columns.values()], axis=-1)
        return self.masked(by_name(function, {**self.columns, "points": points}))


def grid(
    solution: Answers,
    axes: Sequence[str] | None,
    fixed: Mapping[str, float],
    most: int = 2,
    may_be_empty: bool = False,
) -> Grid:
    """Return where to show a solution.

    Args:
        solution: of a problem.
        axes: names of the coordinates to show; by default the first ones that are not fixed.
        fixed: values of other coordinates; those that are missing are in the middle.
        most: how many coordinates can be shown.
        may_be_empty: whether the domain may have no point there, inside of its bounds, as in a gap.

    Raises:
        ProblemError: if a coordinate is not known, both shown and fixed, or fixed outside of the domain.
    """
    domain = solution.problem.domain
    axes = None if axes is None else names_in(axes)
    for name in (*(axes or ()), *fixed):
        if name not in domain.names:
            raise ProblemError(f"there is no coordinate {name!r}", fix=suggestion(name, domain.names))
    shown = _shown([name for name in domain.names if name not in fixed], domain, most) if axes is None else axes
    if not shown or len(shown) > most or set(shown) & set(fixed):
        known, other = ", ".join(shown) or "no coordinate", ", ".join(fixed) or "none"
        raise ProblemError(
            f"there is no picture along {known} with fixed {other}",
            fix=f'show one or two coordinates of {", ".join(domain.names)}, and fix others: plot(along="x", t=0.5).',
        )
    bounds = dict(zip(domain.names, domain.bounds, strict=True))
    lines = [np.linspace(bounds[name][0], bounds[name][1], POINTS if len(shown) > 1 else 2 * POINTS) for name in shown]
    rest = {name: float(np.mean(bounds[name])) for name in domain.names if name not in shown}
    rest |= {name: _inside(name, value, bounds[name]) for name, value in fixed.items()}

    def inside(points: Array) -> Array:
        known = dict(zip(shown, points.T, strict=True))
        return domain.contains(
            np.stack([known.get(name, np.full(len(points), rest.get(name, 0.0))) for name in domain.names], axis=1)
        )

    mesh = np.meshgrid(*lines, indexing="ij")
    mask = inside(np.stack([line.ravel() for line in mesh], axis=1)).reshape(mesh[0].shape)
    edges = outline(inside, lines, mask) if len(shown) == 2 and not np.all(mask) else []
    moved, visible = moved_to_edge(inside, lines, mask)
    if fixed and not (may_be_empty or np.any(visible)):
        where = ", ".join(f"{name} = {value:.4g}" for name, value in rest.items())
        raise ProblemError(
            f"there is nothing to show at {where}: {domain!r} has no point there",
            fix="fix the coordinates elsewhere.",
        )
    along = dict(zip(shown, moved, strict=True))
    columns = {name: along[name] if name in along else np.full(mask.shape, rest[name]) for name in domain.names}
    return Grid(shown, columns, visible, rest, tuple(lines), tuple(edges))


def _inside(name: str, value: Any, bounds: Array) -> float:
    """Return the value of a coordinate that is fixed, which must be one of the domain's.

    Raises:
        ProblemError: if it is no number, or lies outside.
    """
    number = plain(value, np.float64)
    low, high = map(float, bounds)
    if number.shape:
        raise ProblemError(
            f"{name} is fixed at one value, got an array of shape {number.shape}",
            fix=f'for several write plot_slices("{name}", at=[…]).',
        )
    nearest = min(max(float(number), low), high)
    if not abs(float(number) - nearest) <= ROUNDING * (high - low):
        raise ProblemError(
            f"there is nothing to show at {name} = {float(number):g}: the domain goes from {low:g} to {high:g}",
            why="Outside of it no equation holds.",
            fix=f"fix {name} between them.",
        )
    return nearest


def _shown(left: Sequence[str], domain: Domain, most: int) -> tuple[str, ...]:
    """Return the coordinates to show by default: no parameters of a family, and time only where there is room."""
    time = time_of(domain)
    found = [name for name in left if name == time or name in space_of(domain)] or list(left)
    if len(found) > most:
        found = [name for name in found if name != time]
    return tuple(found[:most])
