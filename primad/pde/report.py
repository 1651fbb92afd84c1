"""A run as one page of HTML: equations, settings, figures and pictures, with nothing outside the file."""

from __future__ import annotations

import base64
import io
import os
import platform
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import partial
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.pde import plots
from primad.pde.formulas import mathml_of
from primad.pde.summary import brief
from primad.quantities import seconds

if TYPE_CHECKING:
    from primad.pde.solution import Solution

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
        the path.
    """
    heading = title or f"Solution of {', '.join(solution.problem.unknowns)}"
    parts = [
        *_equations(solution),
        *_conditions(solution),
        *_results(solution, exact or {}),
        *_settings(solution),
        "<h2>Pictures</h2>",
        *[_figure(name, picture) for name, picture in (pictures or {}).items()],
        *[_drawn(name, draw) for name, draw in _pictures(solution, exact or {})],
        "<h2>Made with</h2>",
        _table([(name, value) for name, value in _versions().items()]),
    ]
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(heading)}</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>{escape(heading)}</h1>\n" + "\n".join(parts) + "\n</body></html>\n"
    )
    return _written(Path(path), page)


def _written(path: Path, page: str) -> Path:
    """Write a file as a whole."""
    handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".draft")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page)
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    return path


def _table(rows: Iterable[tuple[Any, ...]], head: tuple[str, ...] = ()) -> str:
    """Return a table; numbers stand at the right."""

    def cell(value: Any) -> str:
        if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
            text = f"{value:,}" if isinstance(value, (int, np.integer)) else f"{value:.6g}"
            return f'<td class="number">{text}</td>'
        return f"<td>{escape(str(value))}</td>"

    first = "<tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>" if head else ""
    return "<table>" + first + "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows) + "</table>"


def _equations(solution: Solution) -> list[str]:
    problem = solution.problem
    numbers = {**problem.statement.coefficients, **problem.statement.constants}
    parts = ["<h2>Equations</h2>"]
    for one in problem.statement.equations:
        found = mathml_of(one.given, one.function, problem.domain, problem.unknowns, numbers)
        if len(problem.statement.equations) > 1:
            parts.append(f"<p>{escape(one.name)}</p>")
        parts += found or [f"<pre>{escape(getattr(one.function, '__doc__', '') or one.name)}</pre>"]
    networks = [(" ".join(group.names), brief(group.network)) for group in problem.groups]
    constants = [(name, np.asarray(value).tolist()) for name, value in problem.statement.constants.items()]
    parts.append(_table([("domain", repr(problem.domain)), *networks, *constants]))
    return parts


def _conditions(solution: Solution) -> list[str]:
    problem = solution.problem
    held = {id(condition) for condition, _ in problem.held}
    rows = []
    for condition in problem.statement.conditions:
        if condition.kind in ("freedom",):
            how = "nothing is said"
        else:
            how = "by construction" if id(condition) in held or condition.kind == "periodic condition" else "fitted"
        values = ", ".join(
            f"{name} = {'a function' if callable(value) else f'{value:g}'}"
            for name, value in getattr(condition, "values", {}).items()
        )
        rows.append((condition.name or condition.what.removeprefix("the "), values, how))
    return ["<h2>Conditions</h2>", _table(rows, ("condition", "values", "how"))] if rows else []


def _results(solution: Solution, exact: Mapping[str, Callable[..., Any]]) -> list[str]:
    history, problem = solution.history, solution.problem
    steps = len(history)
    rows: list[tuple[Any, ...]] = [
        ("ended", f"{solution.reason}: {solution.message}"),
        ("steps", steps),
        ("time", f"{seconds(solution.seconds)}, {seconds(solution.seconds / steps)} a step" if steps else "none"),
        ("loss", solution.loss),
        *[(f"relative error of {name}", _error(solution, name, function)) for name, function in exact.items()],
    ]
    parts = ["<h2>Result</h2>", _table(rows)]
    if steps:
        losses = [(name, len(row["at"]), value) for name, row, value in _by_label(solution)]
        parts.append(_table(losses, ("residual", "points", "mean square")))
    if problem.coefficients:
        bands = solution.confidence() if solution.has_data else {}
        learned = []
        for name, value in solution.coefficients.items():
            band = " to ".join(f"{edge:.6g}" for edge in bands[name]) if name in bands and np.ndim(value) == 0 else ""
            learned.append((name, value if np.ndim(value) == 0 else value.tolist(), band))
        parts.append(_table(learned, ("coefficient", "value", "95 % confidence")))
    return parts


def _error(solution: Solution, name: str, function: Callable[..., Any]) -> float:
    given: dict[str, Any] = {name: function}
    return solution.error(**given)


def _by_label(solution: Solution) -> list[tuple[str, Any, float]]:
    rows = [(label, solution.points[term]) for term, labels in solution.problem.labels.items() for label in labels]
    return [(label, row, value) for (label, row), value in zip(rows, solution.history.losses[-1], strict=True)]


def _settings(solution: Solution) -> list[str]:
    if solution.settings is None:
        return []
    shown = [(f.name, getattr(solution.settings, f.name)) for f in fields(solution.settings) if f.name not in QUIET]
    rows = [
        (name, value if isinstance(value, (int, float)) else brief(value)) for name, value in shown if value is not None
    ]
    return ["<h2>Settings</h2>", _table([("parameters", solution.size), *rows])]


def _pictures(solution: Solution, exact: Mapping[str, Callable[..., Any]]) -> list[tuple[str, Callable[[], Any]]]:
    problem, found = solution.problem, list[tuple[str, Callable[[], Any]]]()
    for name in problem.unknowns:
        found.append((name, partial(plots.plot, solution, name)))
        if name in exact:
            wanted: dict[str, Any] = {name: exact[name]}
            found.append((f"error of {name}", partial(plots.plot_error, solution, **wanted)))
    for term, labels in problem.labels.items():
        if problem.terms[term].kind == "equation":
            found += [(f"residual of {one}", partial(plots.plot_residual, solution, one)) for one in labels]
    if len(solution.history):
        found.append(("losses", lambda: plots.plot_losses(solution)))
        if any(np.ndim(trace[0]) == 0 for trace in solution.history.coefficients.values()):
            found.append(("coefficients", lambda: plots.plot_coefficients(solution)))
    return found


def _drawn(name: str, draw: Callable[[], Any]) -> str:
    axes = draw()
    try:
        return _figure(name, axes)
    finally:
        plots.close(axes.figure)


def _figure(name: str, picture: Any) -> str:
    figure, file = getattr(picture, "figure", picture), io.BytesIO()
    figure.savefig(file, format="png", dpi=110)
    data = base64.b64encode(file.getvalue()).decode()
    text = escape(name, quote=True)
    return f'<figure><img alt="{text}" src="data:image/png;base64,{data}"><figcaption>{text}</figcaption></figure>'


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("primad", "numpy", "scipy", "sympy")}
    return {**packages, "Python": platform.python_version(), "machine": f"{platform.machine()}, {os.cpu_count()} cores"}
