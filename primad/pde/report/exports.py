"""Solutions for other programs: as columns, as files of comma-separated values, and as cells of VTK."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError, suggestion
from primad.pde.geometry.intervals import space_of
from primad.pde.geometry.sampling import Array, as_rows, only_used
from primad.pde.written_names import names_in
from primad.recording.foreign import plain

if TYPE_CHECKING:
    from primad.pde.solve.answers import Answers

POINTS = 41
"""Points along each coordinate, if not said otherwise. Chosen: 1681 in two coordinates, which a spreadsheet shows, and
69 thousand in three."""
CELLS: tuple[tuple[int, tuple[tuple[int, ...], ...]], ...] = (
    (1, ((),)),
    (3, ((0,), (1,))),
    (9, ((0, 0), (1, 0), (1, 1), (0, 1))),
    (12, ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))),
)
"""For 0 to 3 axes VTK's number of the kind of a cell (vertex, line, quadrangle, hexahedron) and its corners in the
order that VTK has them (VTK file formats, legacy)."""


def table(solution: Answers, points: Any = POINTS, names: str | Sequence[str] | None = None) -> dict[str, Array]:
    """Return coordinates and unknowns as columns, a row for each point: what `pandas.DataFrame` takes.

    Args:
        solution: which.
        points: how many along each coordinate of the domain's bounds, of which those inside are taken; a dict of
            numbers or values by coordinate, `{"x": 101, "t": [0, 0.5]}`; or the points themselves, one a row.
        names: of unknowns and derivatives, `"u u.x"`; by default all unknowns.

    Returns:
        for each coordinate and each name an array; of an ensemble those of the ends of the band too, `u.low`, `u.high`.

    Raises:
        ProblemError: if a coordinate or an unknown is not known, a point that is given as a row is outside of the
            domain, or all points are.
        ShapeError: if points have other columns than coordinates.

    Example:
        >>> from primad import pde
        >>> p = pde.Problem(lambda u: u.xx + 2, pde.Interval(0, 1), [pde.Dirichlet(u=0)], network=pde.MLP(4, 1))
        >>> columns = p.solve(steps=3, points=20, progress=False).table(points=5, names="u u.x")
        >>> list(columns), columns["x"].tolist()
        (['x', 'u', 'u.x'], [0.0, 0.25, 0.5, 0.75, 1.0])
    """
    lines = _lines(solution, points)
    at = as_rows(points, solution.coordinates) if lines is None else _rows(lines)
    if lines is not None:
        at = at[_inside(solution, at)]
    return _columns(solution, at, names)


def save_csv(
    solution: Answers, path: str | os.PathLike[str], points: Any = POINTS, names: str | Sequence[str] | None = None
) -> None:
    """Write the columns of `table` to a file of comma-separated values, numbers with all their digits.

    Args:
        solution: which.
        path: the file; one that is there is written over.
        points: as of `table`.
        names: of unknowns and derivatives; complex ones are two columns, `u.real` and `u.imag`.

    Raises:
        OSError: if the file cannot be written.
        ProblemError: as of `table`.
    """
    columns = _real(table(solution, points, names))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*[column.tolist() for column in columns.values()], strict=True))


def save_vtk(
    solution: Answers, path: str | os.PathLike[str], points: Any = POINTS, names: str | Sequence[str] | None = None
) -> None:
    """Write a solution as cells of VTK, a file that ParaView, PyVista and meshio open.

    Cells lie between points along the coordinates of space, and time where it has several values; those with a corner
    outside of the domain are left out. Points that are given one a row are vertices.

    Args:
        solution: which.
        path: the file, `u.vtk` say; one that is there is written over.
        points: as of `table`; of a problem in three dimensions and time, say the time: `{"t": [0.5]}`.
        names: of unknowns and derivatives; complex ones are two arrays, `u.real` and `u.imag`.

    Raises:
        OSError: if the file cannot be written.
        ProblemError: as of `table`, and if there are more than three axes.
    """
    lines, names_of_axes = _lines(solution, points), solution.coordinates
    at = as_rows(points, names_of_axes) if lines is None else _rows(lines)
    many = [True] * len(names_of_axes) if lines is None else [len(line) > 1 for line in lines]
    space = space_of(solution.problem.domain)
    axes = [i for i, name in enumerate(names_of_axes) if many[i] or name in space]
    if len(axes) > len(CELLS) - 1:
        raise ProblemError(
            f"save_vtk: there are {len(axes)} axes, {', '.join(names_of_axes[i] for i in axes)}",
            why="VTK has three.",
            fix=f'say one value of others: points={{"{names_of_axes[axes[-1]]}": [0.5]}}.',
        )
    if lines is None:
        kind, cells = _cells([])[0], np.arange(len(at))[:, None]
    else:
        inside = _inside(solution, at)
        kind, cells = _cells([len(line) for line in lines if len(line) > 1])
        cells = cells[np.all(inside[cells], axis=1)]
        if not len(cells):
            raise ProblemError(
                f"save_vtk: none of the cells of the grid lies in {solution.problem.domain!r} with all its corners",
                fix="take more points along each coordinate: points=81.",
            )
    used, cells = only_used(at, cells)
    columns = _real(_columns(solution, used, names))
    place = np.zeros((len(used), 3))
    place[:, : len(axes)] = used[:, axes]
    rest = [f"{name} = {at[0, i]:g}" for i, name in enumerate(names_of_axes) if i not in axes]
    values = {name: column for name, column in columns.items() if name not in names_of_axes}
    with open(path, "w", encoding="ascii") as file:
        file.write(f"# vtk DataFile Version 3.0\n{', '.join([*values, *rest])}\nASCII\nDATASET UNSTRUCTURED_GRID\n")
        _block(file, f"POINTS {len(used)} double", place)
        count, each = cells.shape
        corners = np.column_stack([np.full(count, each), cells])
        _block(file, f"CELLS {count} {corners.size}", corners)
        _block(file, f"CELL_TYPES {count}", np.full((count, 1), kind))
        file.write(f"POINT_DATA {len(used)}\n")
        for name, column in values.items():
            _block(file, f"SCALARS {name} double 1\nLOOKUP_TABLE default", column[:, None])


def _lines(solution: Answers, points: Any) -> list[Array] | None:
    """Return the values of each coordinate along its axis; None for points that are given one a row."""
    domain = solution.problem.domain
    given = dict(points) if isinstance(points, Mapping) else {}
    for name in given:
        if name not in domain.names:
            raise ProblemError(f"there is no coordinate {name!r}", fix=suggestion(name, domain.names))
    if not isinstance(points, Mapping) and np.ndim(points):
        return None
    lines = []
    for name, (low, high) in zip(domain.names, domain.bounds, strict=True):
        own = given.get(name, POINTS if isinstance(points, Mapping) else points)
        if np.ndim(own):
            lines.append(plain(own, np.float64).ravel())
        elif isinstance(own, (int, np.integer)) and own >= 1:
            lines.append(np.linspace(low, high, int(own)))
        else:
            raise ProblemError(
                f"{own!r} is no number of points along {name}",
                fix=f'pass a whole number, or values in an array: points={{"{name}": [0.5]}}.',
            )
    return lines


def _rows(lines: Sequence[Array]) -> Array:
    """Return all points of a grid, one a row, the last coordinate changing first."""
    return np.stack([column.ravel() for column in np.meshgrid(*lines, indexing="ij")], axis=1)


def _inside(solution: Answers, at: Array) -> Array:
    """Say which points lie in the domain.

    Raises:
        ProblemError: if none does.
    """
    found: Array = solution.problem.domain.contains(at)
    if not np.any(found):
        raise ProblemError(
            f"none of the {len(at)} points lies in {solution.problem.domain!r}",
            fix="take more of them, or values inside of its bounds.",
        )
    return found


def _columns(solution: Answers, at: Array, names: str | Sequence[str] | None) -> dict[str, Array]:
    columns = dict(zip(solution.coordinates, at.T, strict=True))
    for name in solution.unknowns if names is None else names_in(names):
        unknown, _, derivative = name.partition(".")
        columns[name] = np.asarray(solution.at(at, unknown, derivative))
        if solution.deviations:
            half = solution.deviations * solution.spread(at, unknown, derivative)
            columns[f"{name}.low"], columns[f"{name}.high"] = columns[name] - half, columns[name] + half
    return columns


def _real(columns: Mapping[str, Array]) -> dict[str, Array]:
    """Return columns with two real ones for each that is complex."""
    found: dict[str, Array] = {}
    for name, column in columns.items():
        parts = {f"{name}.real": column.real, f"{name}.imag": column.imag}
        found.update(parts if np.iscomplexobj(column) else {name: column})
    return found


def _cells(shape: Sequence[int]) -> tuple[int, Any]:
    """Return VTK's kind of the cells of a grid, and the numbers of their corners, one cell a row."""
    kind, corners = CELLS[len(shape)]
    number = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    ends = [[slice(move, length - 1 + move) for move, length in zip(one, shape, strict=True)] for one in corners]
    return kind, np.stack([number[tuple(one)].ravel() for one in ends], axis=1)


def _block(file: Any, head: str, rows: Array) -> None:
    file.write(f"{head}\n")
    file.writelines(" ".join(map(repr, row)) + "\n" for row in rows.tolist())
