"""A run as one page of HTML: equations, settings, figures and pictures, with nothing outside the file."""

from __future__ import annotations

import base64
import io
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.pde.report import plots, run_plots
from primad.pde.report.pages import conditions, equations, results, table
from primad.pde.report.summary import brief
from primad.system.whole_files import write_whole

if TYPE_CHECKING:
    from primad.pde.solve.solution import Solution

__all__ = ["report"]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 64rem; margin: 2rem auto;
       padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; border-bottom: 1px solid #ddd; }
table { border-collapse: collapse; margin: .5rem 0; } th, td { padding: .15rem 1rem .15rem 0; text-align: left;
       vertical-align: top; } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
th { font-weight: 600; color: #555; } math { font-size: 1.25rem; display: block; margin: .6rem 0; }
pre { background: #f6f6f6; padding: .6rem; overflow-x: auto; } img { max-width: 100%; height: auto; }
figure { display: inline-block; margin: .5rem; max-width: 30rem; vertical-align: top; }
"""
QUIET = ("params", "progress", "callback", "checkpoint", "checkpoint_every", "log")
"""Settings that change nothing about what is found."""


def report(
    solution: Solution,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    exact: Mapping[str, Callable[..., Any]] | None = None,
    pictures: Mapping[str, Any] | None = None,
) -> Path:
    """Write a run as one file of HTML, which shows by itself what was solved, how, and what came out.

    Args:
        solution: what was found.
        path: the file.
        title: its heading.
        exact: right solutions, by unknown: functions of coordinates by name; errors are shown.
        pictures: matplotlib's figures (or axes) by title, shown besides those that are drawn here.

    Returns:
        the path. Of processes that shared the points the first writes the file.
    """
    if not solution.writes:
        return Path(path)
    heading = title or f"Solution of {', '.join(solution.problem.unknowns)}"
    parts = [
        "<h2>Equations</h2>",
        *equations(solution.problem),
        "<h2>Conditions</h2>",
        *conditions(solution.problem),
        "<h2>Result</h2>",
        *results(solution, exact or {}),
        *_settings(solution),
        "<h2>Pictures</h2>",
        *[_figure(name, picture) for name, picture in (pictures or {}).items()],
        *[_drawn(name, draw) for name, draw in _pictures(solution, exact or {})],
        "<h2>Made with</h2>",
        table([(name, value) for name, value in _versions().items()]),
    ]
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(heading)}</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>{escape(heading)}</h1>\n" + "\n".join(parts) + "\n</body></html>\n"
    )
    write_whole(path, page.encode())
    return Path(path)


def _settings(solution: Solution) -> list[str]:
    if solution.settings is None:
        return []
    shown = [(f.name, getattr(solution.settings, f.name)) for f in fields(solution.settings) if f.name not in QUIET]
    rows = [
        (name, value if isinstance(value, (int, float)) else brief(value)) for name, value in shown if value is not None
    ]
    return ["<h2>Settings</h2>", table([("parameters", solution.size), *rows])]


def _pictures(solution: Solution, exact: Mapping[str, Callable[..., Any]]) -> list[tuple[str, Callable[[], Any]]]:
    problem, found = solution.problem, list[tuple[str, Callable[[], Any]]]()
    chosen = not solution.inputs or solution.functions is not None  # a family has pictures of each function alone
    for name in problem.unknowns if chosen else ():
        found.append((name, partial(plots.plot, solution, name)))
        if name in exact:
            wanted: dict[str, Any] = {name: exact[name]}
            found.append((f"error of {name}", partial(plots.plot_error, solution, **wanted)))
    for term, labels in problem.labels.items():
        if problem.terms[term].kind == "equation" and chosen:
            found += [(f"residual of {one}", partial(plots.plot_residual, solution, one)) for one in labels]
    if len(solution.history):
        found.append(("losses", lambda: run_plots.plot_losses(solution)))
        if any(np.ndim(trace[0]) == 0 for trace in solution.history.coefficients.values()):
            found.append(("coefficients", lambda: run_plots.plot_coefficients(solution)))
    return found


def _drawn(name: str, draw: Callable[[], Any]) -> str:
    figure = np.ravel(draw())[0].figure  # of one axes, or of several beside each other
    try:
        return _figure(name, figure)
    finally:
        plots.close(figure)


def _figure(name: str, picture: Any) -> str:
    figure, file = getattr(picture, "figure", picture), io.BytesIO()
    figure.savefig(file, format="png", dpi=110)
    data = base64.b64encode(file.getvalue()).decode()
    text = escape(name, quote=True)
    return f'<figure><img alt="{text}" src="data:image/png;base64,{data}"><figcaption>{text}</figcaption></figure>'


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("primad", "numpy", "scipy", "sympy")}
    return {**packages, "Python": platform.python_version(), "machine": f"{platform.machine()}, {os.cpu_count()} cores"}
