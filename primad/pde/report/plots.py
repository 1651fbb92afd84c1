"""Pictures of solutions and runs, one call each. What is returned are matplotlib's objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.pde.geometry.sampling import Array
from primad.pde.problem.named_arguments import check_exact
from primad.pde.report.coloured_maps import coloured, colours, draw_in_space, draw_measured, measured
from primad.pde.report.picture_grids import POINTS, Grid, grid
from primad.system.optional_packages import needed

if TYPE_CHECKING:
    from primad.pde.solve.answers import Answers
    from primad.pde.solve.solution import Solution

__all__ = [
    "plot",
    "plot_error",
    "plot_residual",
    "plot_slices",
    "plot_surface",
]

Exact = Callable[..., Any]
FLAT = {"linewidth": 0, "antialiased": False}
"""Of a surface, no lines between its pieces."""
BAND = 0.25
"""How dense the band around a line is: the line and dots are seen on it."""
PHASE: dict[str, Any] = {"cmap": "twilight", "vmin": -np.pi, "vmax": np.pi}
"""Colours of phases, which are the same at both ends."""


def pyplot() -> Any:
    """Return matplotlib's module of figures."""
    return needed("matplotlib.pyplot", "plot", "pictures")


def chosen(solution: Answers, unknown: str | None) -> str:
    """Return the unknown to show, or the derivative of one, as "u.x": the first unknown, if none is named."""
    names = solution.problem.unknowns
    if unknown is None:
        return names[0]
    of, dot, along = unknown.partition(".")
    if of not in names or bool(dot) != bool(along):
        example = f"{names[0]}.{solution.problem.domain.names[0]}"
        raise ProblemError(
            f"there is no unknown {unknown!r}",
            why=suggestion(unknown, names),
            fix=f'the unknowns are {", ".join(names)}; a derivative is written "{example}".',
        )
    return unknown


def plot(
    solution: Answers,
    unknown: str | None = None,
    *,
    axes: Any = None,
    along: Sequence[str] | None = None,
    exact: Exact | None = None,
    data: bool = True,
    **fixed: float,
) -> Any:
    """Draw an unknown: a line in one dimension, a map in two; and what was measured of it there.

    Of a complex unknown the size and the phase are drawn, beside each other.

    Args:
        solution: what to draw.
        unknown: which unknown, or derivative of one, as "u.x" or "u.xxt"; the first unknown by default.
        axes: matplotlib's axes to draw on, of a complex unknown two; by default those of a new figure.
        along: names of one or two coordinates; by default two, if there are.
        exact: a function of coordinates by name, drawn beside a line.
        data: whether to draw measured points that are near what is shown.
        **fixed: values of other coordinates; those that are missing are in the middle.

    Returns:
        the axes; of a complex unknown an array of two.
    """
    name, where = chosen(solution, unknown), grid(solution, along, fixed)
    values, given = where.of(solution, name), measured(solution, name, where) if data else []
    right = None if exact is None else where.exact(exact)
    if not np.iscomplexobj(values):
        axes = given_axes(axes)
        _drawn(axes, where, name, values, right, given, {}, where.band(solution, name))
        return axes
    if axes is None:
        axes = pyplot().subplots(1, 2, figsize=(10.5, 4.0), layout="constrained")[1]
    parts: list[tuple[str, Exact, dict[str, Any]]] = [(f"|{name}|", np.abs, {}), (f"arg {name}", np.angle, PHASE)]
    for one, (label, part, colouring) in zip(axes, parts, strict=True):
        points = [(at, part(column), None if colouring else noise) for at, column, noise in given]
        _drawn(one, where, label, part(values), None if right is None else part(right), points, colouring)
    return axes


def _drawn(
    axes: Any,
    where: Grid,
    label: str,
    values: Array,
    right: Array | None,
    given: Any,
    colouring: Any,
    band: tuple[Array, Array] | None = None,
) -> None:
    """Draw a line with its band, or a map, of real values."""
    if len(where.axes) == 1:
        x = where.columns[where.axes[0]]
        if right is not None:
            axes.plot(x, right, color="C1", linewidth=4, alpha=0.4, label="exact")
        axes.plot(x, values, color="C0", label=label)
        if band is not None:
            axes.fill_between(x, *band, color="C0", alpha=BAND, linewidth=0, label="band")
        axes.set(xlabel=where.axes[0], ylabel=label)
        draw_measured(axes, where, given, "C3")
        if right is not None or given or band is not None:
            axes.legend(frameon=False)
    else:
        draw_measured(axes, where, given, coloured(axes, where, values, **colouring))
    axes.set_title(", ".join(part for part in (label, where.where) if part))


def sized(name: str, values: Any) -> tuple[str, Any]:
    """Return what a picture of real values shows of an unknown, with a label: of a complex one the size."""
    return (f"|{name}|", np.abs(values)) if np.iscomplexobj(values) else (name, values)


def plot_error(
    solution: Answers, *, axes: Any = None, along: Sequence[str] | None = None, log: bool = True, **named: Any
) -> Any:
    """Draw how far an unknown is from what it should be: `plot_error(solution, u=lambda x, t: …)`.

    Args:
        solution: what to draw.
        axes: matplotlib's axes to draw on; by default those of a new figure.
        along: names of one or two coordinates; by default two, if there are.
        log: whether colours, or the axis, are logarithmic.
        **named: an unknown with a function of coordinates by name; values of other coordinates.

    Returns:
        the axes.
    """
    exact = {name: value for name, value in named.items() if name in solution.problem.unknowns}
    fixed = {name: value for name, value in named.items() if name not in exact}
    if len(exact) != 1:
        raise ProblemError("the error is that of one unknown", fix="write plot_error(u=lambda x, t: …).")
    ((name, function),) = exact.items()
    check_exact(function, name, solution.problem.domain.names)
    where = grid(solution, along, fixed)
    wrong = np.abs(where.of(solution, name) - where.exact(function))
    return draw_size(axes, where, wrong, f"|{name} − exact|", log)


def plot_residual(
    solution: Solution,
    label: str | None = None,
    *,
    axes: Any = None,
    along: Sequence[str] | None = None,
    log: bool = True,
    **fixed: float,
) -> Any:
    """Draw the size of the residual of an equation.

    Args:
        solution: what to draw.
        label: the residual; the first by default.
        axes: matplotlib's axes to draw on; by default those of a new figure.
        along: names of one or two coordinates; by default two, if there are.
        log: whether colours, or the axis, are logarithmic.
        **fixed: values of other coordinates; those that are missing are in the middle.

    Returns:
        the axes.
    """
    problem = solution.problem
    labels = {
        one: (term, i)
        for term, names in problem.labels.items()
        for i, one in enumerate(names)
        if problem.terms[term].kind == "equation"
    }
    label = label or next(iter(labels))
    if label not in labels:
        raise ProblemError(f"no equation is called {label!r}", fix=suggestion(label, labels))
    term, place = labels[label]
    where = grid(solution, along, fixed)
    at = np.stack([column.ravel() for column in where.columns.values()], axis=1)
    values = solution.residual_at(at, term)[:, place]
    return draw_size(axes, where, where.masked(np.abs(values).reshape(where.inside.shape)), f"|{label}|", log)


def draw_size(axes: Any, where: Grid, values: Array, label: str, log: bool) -> Any:
    """Draw what is not negative, on axes or those of a new figure."""
    axes = given_axes(axes)
    top = float(np.nanmax(values))
    log = log and top > 0
    if log:
        values = np.maximum(values, 1e-4 * top)
    if len(where.axes) == 1:
        axes.plot(where.columns[where.axes[0]], values)
        axes.set(xlabel=where.axes[0], ylabel=label, yscale="log" if log else "linear")
    else:
        norm = needed("matplotlib.colors", "plot", "pictures").LogNorm(1e-4 * top, top) if log else None
        coloured(axes, where, values, cmap="magma", norm=norm)
    axes.set_title(", ".join(part for part in (label, where.where) if part))
    return axes


def plot_slices(
    solution: Answers,
    across: str = "t",
    at: Sequence[float] | None = None,
    unknown: str | None = None,
    *,
    axes: Any = None,
    along: str | None = None,
    exact: Exact | None = None,
    data: bool = True,
    **fixed: float,
) -> Any:
    """Draw an unknown along one coordinate at several values of another.

    Args:
        solution: what to draw.
        across: the coordinate with several values.
        at: these values; five by default.
        unknown: which unknown, or derivative of one, as "u.x" or "u.xxt"; the first unknown by default.
        axes: matplotlib's axes to draw on; by default those of a new figure.
        along: the coordinate of the horizontal axis; by default the first other one.
        exact: a function of coordinates by name, drawn as wide lines.
        data: whether to draw measured points that are near a line.
        **fixed: values of other coordinates; those that are missing are in the middle.

    Returns:
        the axes.
    """
    domain, name, axes = solution.problem.domain, chosen(solution, unknown), given_axes(axes)
    if across not in domain.names:
        raise ProblemError(f"there is no coordinate {across!r}", fix=suggestion(across, domain.names))
    if across in fixed:
        raise ProblemError(f"slices are across {across}, which is fixed", fix=f'write plot_slices("{across}", at=[…]).')
    low, high = domain.bounds[domain.names.index(across)]
    stations = np.linspace(low, high, 5) if at is None else np.asarray(at, np.float64)
    others = [name for name in domain.names if name != across and name not in fixed]
    if not along and not others:
        raise ProblemError(
            "no coordinate is left to draw along", fix=f"fix one less than {', '.join(fixed) or across}."
        )
    along = along or others[0]
    for i, value in enumerate(stations):
        where = grid(solution, (along,), {**fixed, across: float(value)}, 1, may_be_empty=at is None)
        x, colour = where.columns[along], f"C{i % 10}"
        label, values = sized(name, where.of(solution, name))
        if exact is not None:
            right = where.exact(exact)
            axes.plot(x, right if label == name else np.abs(right), color=colour, linewidth=4, alpha=0.35)
        axes.plot(x, values, color=colour, label=f"{across} = {value:.3g}")
        if (band := where.band(solution, name)) is not None:
            axes.fill_between(x, *band, color=colour, alpha=BAND, linewidth=0)
        given = measured(solution, name, where) if data else []
        given = [(at, sized(name, column)[1], noise) for at, column, noise in given]
        draw_measured(axes, where, given, colour, None)
    dots = ", data (dots)" if len(axes.containers) else ""
    lines = label if exact is None else f"{label} (thin), exact (wide)"
    axes.set(xlabel=along, ylabel=label, title=f"{lines}{dots}")
    axes.legend(frameon=False)
    return axes


def plot_surface(
    solution: Answers,
    unknown: str | None = None,
    *,
    axes: Any = None,
    along: Sequence[str] | None = None,
    data: bool = True,
    **fixed: float,
) -> Any:
    """Draw an unknown as a surface over two coordinates; and what was measured of it there.

    Args:
        solution: what to draw.
        unknown: which unknown, or derivative of one, as "u.x" or "u.xxt"; the first unknown by default.
        axes: matplotlib's 3-D axes to draw on; by default those of a new figure.
        along: names of two coordinates.
        data: whether to draw measured points that are near what is shown.
        **fixed: values of other coordinates; those that are missing are in the middle.

    Returns:
        the axes.
    """
    name, where = chosen(solution, unknown), grid(solution, along, fixed)
    if len(where.axes) != 2:
        raise ProblemError("a surface needs two coordinates", fix="use plot for a line.")
    if axes is None:
        axes = pyplot().figure(layout="constrained").add_subplot(projection="3d")
    x, y = (where.columns[axis] for axis in where.axes)
    label, values = sized(name, where.of(solution, name))
    surface = axes.plot_surface(x, y, values, **colours(values), rcount=POINTS, ccount=POINTS, **FLAT)
    axes.figure.colorbar(surface, ax=axes, shrink=0.6, pad=0.12)
    axes.set(xlabel=where.axes[0], ylabel=where.axes[1], zlabel=label, title=where.where or label)
    draw_in_space(axes, [(at, sized(name, v)[1], noise) for at, v, noise in measured(solution, name, where) if data])
    return axes


def close(figure: Any) -> None:
    """Forget a figure."""
    pyplot().close(figure)


def given_axes(axes: Any) -> Any:
    """Return matplotlib's axes, those of a new figure if there are none."""
    return pyplot().subplots(layout="constrained")[1] if axes is None else axes
