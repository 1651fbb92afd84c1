"""Maps in colour: which colours, up to where, clipped at the edge of the domain; and measured values on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from primad.pde.geometry.sampling import Array
from primad.pde.report.picture_grids import Grid
from primad.system.optional_packages import needed

if TYPE_CHECKING:
    from primad.pde.solve.answers import Answers

BOTH_SIGNS = 0.25
"""Part of the largest size that the other sign reaches where colours part at zero: less leaves half of them unused."""
NEAR = 0.02
"""How far from what a picture shows measured points may be, relative to the domain's size, to be drawn on it."""
MOST_POINTS = 1000
"""Measured points on a picture; of more, evenly chosen ones are drawn."""
IN_FRONT = 3
"""Where dots lie over a surface, whose own place is 1."""
Measured = tuple[Array, Array, float | None]
"""Measured points along the axes of a picture, their values, and their noise where it is known."""


def colours(values: Array) -> dict[str, Any]:
    """Return the map of colours for values, and its limits: from blue to red around zero where both signs matter."""
    known = values[np.isfinite(values)]
    low, high = (float(np.min(known)), float(np.max(known))) if known.size else (0.0, 1.0)
    if min(-low, high) > BOTH_SIGNS * max(-low, high):
        most = max(-low, high)
        return {"cmap": "RdBu_r", "vmin": -most, "vmax": most}
    return {"cmap": "viridis", "vmin": low, "vmax": high}


def coloured(axes: Any, where: Grid, values: Array, **colouring: Any) -> Any:
    """Draw a map with a bar of colours, up to the edge of the domain; colours are as `pcolormesh` takes them."""
    chosen = colouring or colours(values)
    x, y = np.meshgrid(*where.lines, indexing="ij")
    mesh = axes.pcolormesh(x, y, values, shading="gouraud", rasterized=True, **chosen)
    if where.edges:
        cover_outside(axes, where)
    axes.figure.colorbar(mesh, ax=axes)
    axes.set(xlabel=where.axes[0], ylabel=where.axes[1])
    spans = [np.ptp(line) for line in where.lines]
    if "t" not in where.axes and 0.2 < spans[0] / spans[1] < 5:
        axes.set_aspect("equal")
    return mesh


def cover_outside(axes: Any, where: Grid) -> Any:
    """Cover what a map shows outside of the domain: its edge is smooth then, which that of a clipped map is not."""
    path = needed("matplotlib.path", "plot", "pictures").Path
    (left, right), (low, high) = [(line[0], line[-1]) for line in where.lines]
    around = np.array([[left, low], [right, low], [right, high], [left, high]])
    curves = [around, *[curve[::-1] for curve in where.edges]]
    closed = [path(np.concatenate([curve, curve[:1]]), closed=True) for curve in curves]
    patch = needed("matplotlib.patches", "plot", "pictures").PathPatch(
        path.make_compound_path(*closed), facecolor=axes.get_facecolor(), edgecolor="none", zorder=1.5
    )
    return axes.add_patch(patch)


def measured(solution: Answers, unknown: str, where: Grid) -> list[Measured]:
    """Return measured points near what a picture shows: along its axes, their values, and their noise where known."""
    domain, found = solution.problem.domain, list[Measured]()
    spans = dict(zip(domain.names, np.ptp(domain.bounds, axis=1), strict=True))
    for data in solution.problem.measured:
        if unknown in data.columns:
            off = [np.abs(data.columns[name] - value) / spans[name] for name, value in where.fixed.items()]
            near = np.flatnonzero(np.max(off, axis=0) <= NEAR) if off else np.arange(len(data.columns[unknown]))
            near = near[np.linspace(0, len(near) - 1, min(len(near), MOST_POINTS)).astype(int)]
            if near.size:
                at = np.stack([data.columns[name][near] for name in where.axes], axis=1)
                found.append((at, data.columns[unknown][near], data.noise))
    return found


def draw_measured(axes: Any, where: Grid, of: list[Measured], like: Any, label: str | None = "data") -> list[Any]:
    """Draw measured points: on a map in its colours, beside a line as dots, with bars for their noise.

    Args:
        axes: matplotlib's axes.
        where: what they show.
        of: the points, as `measured` returns them.
        like: the map, or the colour of the dots.
        label: of the dots in a legend.

    Returns:
        what was drawn.
    """
    drawn = []
    for number, (at, values, noise) in enumerate(of):
        label = None if number else label
        if len(where.axes) == 2:
            one = axes.scatter(
                *at.T, c=values, cmap=like.cmap, norm=like.norm, s=16, edgecolors="black", linewidths=0.5
            )
        else:
            one = axes.errorbar(
                at[:, 0], values, noise, fmt="o", color=like, markersize=3.5, elinewidth=0.8, label=label
            )
        drawn.append(one)
    return drawn


def draw_in_space(axes: Any, of: list[Measured], label: str = "data") -> None:
    """Draw measured points over a surface, also those behind it, with bars for their noise.

    Args:
        axes: matplotlib's 3-D axes.
        of: the points, as `measured` returns them.
        label: of the dots in a legend.
    """
    for number, (at, values, noise) in enumerate(of):
        look = {"color": "C3", "markersize": 3.5, "zorder": IN_FRONT, "label": None if number else label}
        if noise is None:  # which matplotlib's bars in space do not take
            axes.plot(*at.T, values, "o", **look)
        else:
            axes.errorbar(*at.T, values, noise, fmt="o", elinewidth=0.8, **look)
    if of:
        axes.computed_zorder = False  # by which a surface would hide all dots, or none
        axes.legend(frameon=False, loc="upper right")
