"""Pictures of solutions: maps beside a reference, histories of losses. What is returned are matplotlib's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from primad.pde.solution import Solution

__all__ = ["compare", "losses"]

Array = np.ndarray[Any, Any]


def compare(a: Array, b: Array, found: Array, reference: Array, names: tuple[str, str] = ("x", "y")) -> Any:
    """Draw maps of a solution, of the reference, and of the difference, on a grid.

    Args:
        a: the coordinate of the horizontal axis; with b an array of the shape of the values, or their axes.
        b: the coordinate of the vertical axis.
        found: values on the grid; NaN is left out.
        reference: the right ones.
        names: of the coordinates.

    Returns:
        the figure.
    """
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(13.5, 3.8), sharex=True, sharey=True)
    low, high = float(np.nanmin(reference)), float(np.nanmax(reference))
    colours = "RdBu_r" if low < 0 < high else "viridis"
    if low < 0 < high:
        high = max(-low, high)
        low = -high
    for axes, values, title in ((panels[0], found, "found"), (panels[1], reference, "reference")):
        mesh = axes.pcolormesh(a, b, values, cmap=colours, vmin=low, vmax=high, rasterized=True)
        axes.set(title=title, xlabel=names[0])
    figure.colorbar(mesh, ax=panels[:2])
    wrong = panels[2].pcolormesh(a, b, np.abs(found - reference), cmap="magma", rasterized=True)
    panels[2].set(title="|difference|", xlabel=names[0])
    figure.colorbar(wrong, ax=panels[2], format="%.0e")
    panels[0].set(ylabel=names[1])
    return figure


def losses(solution: Solution, axes: Any = None) -> Any:
    """Draw the mean squares of the residuals, step by step.

    Args:
        solution: whose history is drawn.
        axes: on which; by default those of a new figure.

    Returns:
        the axes.
    """
    import matplotlib.pyplot as plt

    if axes is None:
        axes = plt.subplots()[1]
    for name in solution.history.names:
        axes.semilogy(solution.history.of(name), label=name)
    axes.set(title="Mean squares of residuals", xlabel="step")
    axes.legend(frameon=False)
    return axes
