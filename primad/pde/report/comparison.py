"""A picture of a solution beside a reference, on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.pde.geometry.sampling import Array
from primad.pde.report.coloured_maps import colours
from primad.system.optional_packages import needed

__all__ = ["plot_comparison"]


def plot_comparison(a: Array, b: Array, found: Array, reference: Array, names: tuple[str, str] = ("x", "y")) -> Any:
    """Draw maps of a solution, of the reference, and of the difference, whose colours go by the root, on a grid.

    Args:
        a: the coordinate of the horizontal axis; with b an array of the shape of the values, or their axes.
        b: the coordinate of the vertical axis.
        found: values on the grid; NaN is left out.
        reference: the right ones.
        names: of the coordinates.

    Returns:
        the figure.
    """
    figure, panels = needed("matplotlib.pyplot", "plot", "pictures").subplots(
        1, 3, figsize=(13.5, 3.8), sharex=True, sharey=True
    )
    chosen = colours(np.asarray(reference))
    for axes, values, title in ((panels[0], found, "found"), (panels[1], reference, "reference")):
        mesh = axes.pcolormesh(a, b, values, **chosen, rasterized=True)
        axes.set(title=title, xlabel=names[0])
    figure.colorbar(mesh, ax=panels[:2])
    # By the root: what is large in one place would hide the rest.
    root = needed("matplotlib.colors", "plot", "pictures").PowerNorm(0.5, vmin=0.0)
    wrong = panels[2].pcolormesh(a, b, np.abs(found - reference), cmap="magma", norm=root, rasterized=True)
    panels[2].set(title="|difference|", xlabel=names[0])
    figure.colorbar(wrong, ax=panels[2], format="%.1e")
    panels[0].set(ylabel=names[1])
    return figure
