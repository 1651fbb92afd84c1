"""Pictures of runs: losses and coefficients, step by step."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.report.plots import given_axes
from primad.pde.solve.confidence import confidence
from primad.pde.solve.history import History

if TYPE_CHECKING:
    from primad.pde.solve.solution import Solution

__all__ = ["plot_coefficients", "plot_losses"]

TITLE = 60
"""Characters of a line of a title."""


def plot_losses(solution: Solution, *, axes: Any = None, against: str = "step") -> Any:
    """Draw the mean square of each residual, step by step.

    Args:
        solution: whose history is drawn.
        axes: matplotlib's axes to draw on; by default those of a new figure.
        against: "step" or "seconds".

    Returns:
        the axes.
    """
    history, axes = _steps(solution), given_axes(axes)
    if against not in ("step", "seconds"):
        raise ProblemError(
            f"losses are drawn against step or seconds, not {against!r}",
            fix='pass against="step".',
        )
    x = np.arange(1, len(history) + 1) if against == "step" else np.array(history.seconds)
    for name in history.names:
        axes.semilogy(x, history.of(name), label=name)
    axes.set(xlabel=against, ylabel="mean square of the residual", title="Losses")
    if len(history.names) <= 12:
        _beside(axes)
    return axes


def plot_coefficients(
    solution: Solution, *, axes: Any = None, exact: Mapping[str, float] | None = None, level: float | None = 0.95
) -> Any:
    """Draw the coefficients that are learned, step by step, with the band of confidence where they ended.

    Args:
        solution: whose history is drawn.
        axes: matplotlib's axes to draw on; by default those of a new figure.
        exact: what they should be, by name.
        level: of the confidence; None for no bands. Bands need data that the model fits; without, the title says so.

    Returns:
        the axes.
    """
    history, axes = _steps(solution), given_axes(axes)
    traces = {name: np.array(trace) for name, trace in history.coefficients.items() if np.ndim(trace[0]) == 0}
    if not traces:
        raise ProblemError(
            "there are no coefficients to draw: the problem learns none that are numbers",
            fix='give the problem coefficients={"k": 1.0}.',
        )
    known = confidence(solution) if level is not None and solution.is_sure else None
    bands = known.intervals(level) if level is not None and known and not known.doubts else {}
    for i, (name, trace) in enumerate(traces.items()):
        axes.plot(np.arange(1, len(trace) + 1), trace, color=f"C{i}", label=f"{name} = {trace[-1]:.5g}")
        if name in bands and np.all(np.isfinite(bands[name])):
            low, high = bands[name]
            axes.axhspan(float(low), float(high), color=f"C{i}", alpha=0.2, linewidth=0, label=f"{level:.0%} of {name}")
        if exact and name in exact:
            axes.axhline(exact[name], color=f"C{i}", linestyle=":", label=f"exact {name}")
    title = "Coefficients"
    if known and known.doubts:
        title += f"\n{textwrap.fill(f'no intervals: {known.doubts[0]}', TITLE)}"
    axes.set(xlabel="step", ylabel="coefficient", title=title)
    _beside(axes)
    return axes


def _steps(solution: Solution) -> History:
    """Return the history of a solution.

    Raises:
        ProblemError: if it has none.
    """
    if not len(solution.history):
        raise ProblemError(
            f"there are no steps to draw: the solution was {solution.message or 'not searched for'}",
            why="A file of a solution keeps its parameters, and not how they were found.",
            fix='draw before `save`, or keep all with solve(checkpoint="folder"): the same call resumes it.',
        )
    return solution.history


def _beside(axes: Any) -> None:
    """Put the legend beside the axes, where no curve is, if the figure makes room for it."""
    room = axes.figure.get_layout_engine() is not None
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if room else {"loc": "best"}
    axes.legend(frameon=False, fontsize="small", **place)
