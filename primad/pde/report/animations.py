"""Animations of solutions, with what was measured in each picture. What is returned are matplotlib's objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.pde.geometry.sampling import Array
from primad.pde.report.coloured_maps import coloured, colours, cover_outside, draw_measured, measured
from primad.pde.report.picture_grids import Grid, grid
from primad.pde.report.plots import Exact, chosen, pyplot, sized
from primad.system.optional_packages import needed

if TYPE_CHECKING:
    from primad.pde.solve.answers import Answers

__all__ = ["animate"]


def animate(
    solution: Answers,
    along: str = "t",
    unknown: str | None = None,
    *,
    frames: int = 60,
    exact: Exact | None = None,
    data: bool = True,
    **fixed: float,
) -> Any:
    """Animate an unknown as one coordinate goes through its values: a line, or a map; and what was measured of it.

    Args:
        solution: what to draw.
        along: the coordinate that moves.
        unknown: which unknown, or derivative of one, as "u.x" or "u.xxt"; the first unknown by default.
        frames: how many pictures.
        exact: a function of coordinates by name, drawn beside a line.
        data: whether to draw, in each picture, measured points that are near what it shows.
        **fixed: values of other coordinates; those that are missing are in the middle.

    Returns:
        a `matplotlib.animation.FuncAnimation`: `save("u.gif")` writes it, `to_jshtml()` shows it in a notebook.
    """
    domain, name = solution.problem.domain, chosen(solution, unknown)
    if along not in domain.names:
        raise ProblemError(f"there is no coordinate {along!r}", fix=suggestion(along, domain.names))
    if along in fixed:
        raise ProblemError(f"{along} is what moves, and it is fixed", fix=f'write animate("{along}").')
    low, high = domain.bounds[domain.names.index(along)]
    values = np.linspace(low, high, frames)
    where = [grid(solution, None, {**fixed, along: float(value)}, may_be_empty=True) for value in values]
    label, shown = sized(name, [one.of(solution, name) for one in where])
    given = [
        [(at, sized(name, column)[1], noise) for at, column, noise in measured(solution, name, one) if data]
        for one in where
    ]
    figure, axes = pyplot().subplots(layout="constrained")
    if len(where[0].axes) == 1:
        right = None if exact is None else [sized(name, one.exact(exact))[1] for one in where]
        move = _moving_lines(axes, where, label, shown, right, given)
    else:
        move = _moving_map(axes, where, shown, given)

    def frame(i: int) -> list[Any]:
        axes.set_title(f"{label}, {along} = {values[i]:.3g}")
        return move(i)

    return needed("matplotlib.animation", "plot", "pictures").FuncAnimation(figure, frame, frames, interval=50)


def _moving_lines(
    axes: Any, where: list[Grid], label: str, shown: list[Array], right: list[Array] | None, given: list[list[Any]]
) -> Callable[[int], list[Any]]:
    """Draw the first of several lines, and return what draws another in its place."""
    x, dots = where[0].columns[where[0].axes[0]], list[Any]()
    lines = list[tuple[Any, list[Array]]]()
    if right is not None:
        lines.append((axes.plot(x, right[0], color="C1", linewidth=4, alpha=0.4, label="exact")[0], right))
    lines.append((axes.plot(x, shown[0], color="C0", label=label)[0], shown))
    low, high = _limits([*shown, *[column for points in given for _, column, _ in points]])
    margin = 0.05 * (high - low or 1.0)
    axes.set(xlabel=where[0].axes[0], ylabel=label, ylim=(low - margin, high + margin))
    if any(given):
        axes.plot([], [], "o", color="C3", markersize=3.5, label="data")  # for the legend: some pictures have none
    if right is not None or any(given):
        axes.legend(frameon=False, loc="upper right")

    def move(i: int) -> list[Any]:
        for line, heights in lines:
            line.set_ydata(heights[i])
        while dots:
            dots.pop().remove()
        dots.extend(draw_measured(axes, where[i], given[i], "C3"))
        return [line for line, _ in lines]

    return move


def _moving_map(axes: Any, where: list[Grid], shown: list[Array], given: list[list[Any]]) -> Callable[[int], list[Any]]:
    """Draw the first of several maps, and return what draws another in its place."""
    mesh, dots = coloured(axes, where[0], shown[0]), list[Any]()
    chosen_for_all = colours(np.array(_limits(shown)))
    mesh.set_cmap(chosen_for_all["cmap"])
    mesh.set_clim(chosen_for_all["vmin"], chosen_for_all["vmax"])

    def move(i: int) -> list[Any]:
        mesh.set_array(np.ma.masked_invalid(shown[i]))
        for patch in [*axes.patches]:
            patch.remove()
        if where[i].edges:
            cover_outside(axes, where[i])
        while dots:
            dots.pop().remove()
        dots.extend(draw_measured(axes, where[i], given[i], mesh))
        return [mesh]

    return move


def _limits(shown: list[Array]) -> tuple[float, float]:
    """Return the lowest and the highest of all values that are known."""
    return min(float(np.nanmin(s)) for s in shown), max(float(np.nanmax(s)) for s in shown)
