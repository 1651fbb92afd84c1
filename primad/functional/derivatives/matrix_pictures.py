"""Pictures of sparse matrices of derivatives: where entries are, and which of them one product gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from primad.system.optional_packages import needed
from primad.system.quantities import several

if TYPE_CHECKING:
    from primad.functional.derivatives.sparse_matrices import Coloring


def draw(pattern: Any, coloring: Coloring | None, axes: Any) -> Any:
    """Draw where a matrix has entries, in the colours of the directions that give them.

    Args:
        pattern: SciPy's sparse array of truth values.
        coloring: which columns and rows are taken together; None for one colour.
        axes: matplotlib's axes to draw on; None for those of a new figure.
    """
    if axes is None:
        axes = needed("matplotlib.pyplot", "plot", "pictures").subplots()[1]
    entries = pattern.tocoo()
    rows, columns = entries.coords
    height, width = pattern.shape
    title = f"{height} × {width}, {len(rows)} entries"
    number = np.zeros(len(rows))
    options: dict[str, Any] = {"cmap": "Greys", "vmin": -1, "vmax": 0}
    if coloring is not None:
        title += f", {several(coloring.directions, 'direction')}"
        number = _directions(rows, columns, coloring)
        apart = needed("matplotlib", "plot", "pictures").colormaps["tab20"]  # a colour each, as far as they go
        few = coloring.directions <= apart.N
        options = {"cmap": apart, "vmin": 0, "vmax": apart.N - 1} if few else {"cmap": "nipy_spectral"}
    box = axes.get_window_extent()
    most = int(min(box.width, box.height)) // 2  # a point is two pixels wide, at least, so that it is seen
    points = [max(1, min(n, most)) for n in pattern.shape]
    image = np.full(points, np.nan)
    image[rows * points[0] // max(height, 1), columns * points[1] // max(width, 1)] = number
    edges = (-0.5, max(width, 1) - 0.5, max(height, 1) - 0.5, -0.5)
    axes.imshow(image, extent=edges, interpolation="nearest", aspect="auto", **options)
    if max(height, width) < 5 * min(height, width):
        axes.set_aspect("equal")
    axes.set(xlabel="element of the argument", ylabel="element of the result")
    axes.set_title(title, fontsize="medium")
    return axes


def _directions(rows: Any, columns: Any, coloring: Coloring) -> Any:
    """Return the number of the direction that gives each entry: first those of columns, then those of rows.

    A direction of columns gives an entry if no other of them has one in its row. Of a symmetric matrix it may be the
    entry on the other side that is given.
    """
    of_columns, of_rows = coloring.columns, coloring.rows
    begin = of_columns.max(initial=-1) + 1
    found = of_columns[columns]
    alone = _is_alone(rows, found)
    pulled = of_rows[rows]
    if len(of_rows) == len(of_columns) and (of_rows < 0).all():
        return np.where(alone, found, of_columns[rows])
    return np.where(alone, found, begin + pulled)


def _is_alone(lines: Any, colors: Any) -> Any:
    """Say of entries with colours whether there is no other one of the same colour in the same line."""
    keys = lines * (colors.max(initial=-1) + 2) + colors
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return (counts[places] == 1) & (colors >= 0)
