"""What pages say of a problem and of what was found, as HTML: of reports, and in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from primad.pde.fields.problem_formulas import mathml_of
from primad.pde.geometry.intervals import time_of
from primad.pde.problem.conditions import Condition, Initial, Neumann, Robin
from primad.pde.report.summary import brief
from primad.pde.solve.confidence import confidence
from primad.system.quantities import seconds

if TYPE_CHECKING:
    from primad.pde.problem.pde_problem import Problem
    from primad.pde.solve.solution import Solution


def table(rows: Iterable[tuple[Any, ...]], head: tuple[str, ...] = ()) -> str:
    """Return a table; numbers stand at the right."""

    def cell(value: Any) -> str:
        if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
            text = f"{value:,}" if isinstance(value, (int, np.integer)) else f"{value:.6g}"
            return f'<td class="number">{text}</td>'
        return f"<td>{escape(str(value))}</td>"

    first = "<tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>" if head else ""
    return "<table>" + first + "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows) + "</table>"


def equations(problem: Problem) -> list[str]:
    """Return the equations of a problem, where they hold, and the networks."""
    parts, shown = [], problem.formulas(mathml_of)
    for one in problem.statement.equations:
        if len(problem.statement.equations) > 1:
            parts.append(f"<p>{escape(one.name)}</p>")
        parts += shown[one.name] or [f"<pre>{escape(getattr(one.function, '__doc__', '') or one.name)}</pre>"]
    networks = [(" ".join(group.names), brief(group.network)) for group in problem.groups]
    constants = [(name, np.asarray(value).tolist()) for name, value in problem.statement.constants.items()]
    parts.append(table([("domain", repr(problem.domain)), *networks, *constants]))
    return parts


def conditions(problem: Problem) -> list[str]:
    """Return the conditions of a problem, and how they hold."""
    rows = condition_rows(problem)
    return [table(rows, ("condition", "values", "how"))] if rows else []


def condition_rows(problem: Problem) -> list[tuple[str, str, str]]:
    """Return for each condition of a problem what it is on, which values it gives, and how it holds."""
    held = {id(condition) for condition, _ in problem.held}
    left = {id(one.condition): one.why for one in problem.left}
    rows = []
    for condition in problem.statement.conditions:
        if condition.kind in ("freedom",):
            how = "nothing is said"
        else:
            how = "by construction" if id(condition) in held or condition.kind == "periodic condition" else "fitted"
        if id(condition) in left:
            how = f"{'in part ' if id(condition) in held else ''}fitted: {left[id(condition)]}"
        values = ", ".join(
            f"{_side(condition, name, time_of(problem.domain))} = {_number(value)}"
            for name, value in getattr(condition, "values", {}).items()
        )
        rows.append((condition.name or condition.what.removeprefix("the "), values, how))
    return rows


def _side(condition: Condition, name: str, time: str | None) -> str:
    """Return what a condition gives a value to: an unknown, a derivative of it, or both."""
    if isinstance(condition, Neumann):
        return f"∂{name}/∂n"
    if isinstance(condition, Robin):
        return f"{_number(condition.a)} · {name} + {_number(condition.b)} · ∂{name}/∂n"
    return f"∂{name}/∂{time}" if isinstance(condition, Initial) and condition.order else name


def _number(value: Any) -> str:
    return "a function" if callable(value) else f"{value:g}"


def results(solution: Solution, exact: Mapping[str, Callable[..., Any]], bands: bool = True) -> list[str]:
    """Return what came out.

    Args:
        solution: what was found.
        exact: right solutions, by unknown.
        bands: whether to compute the confidence of coefficients.
    """
    history, problem = solution.history, solution.problem
    steps = len(history)
    rows: list[tuple[Any, ...]] = [
        ("ended", f"{solution.reason}: {solution.message}"),
        ("steps", steps),
        ("time", f"{seconds(solution.seconds)}, {seconds(solution.seconds / steps)} a step" if steps else "none"),
        ("loss", solution.loss),
        *[(f"relative error of {name}", _error(solution, name, function)) for name, function in exact.items()],
    ]
    parts = [table(rows)]
    if steps:
        parts.append(table(solution.mean_squares(), ("residual", "points", "mean square")))
    if problem.coefficients:
        known = confidence(solution) if bands and solution.is_sure else None
        edges = known.intervals(0.95) if known and not known.doubts else {}
        learned = []
        for name, value in solution.coefficients.items():
            band = " to ".join(f"{edge:.6g}" for edge in edges[name]) if name in edges and np.ndim(value) == 0 else ""
            learned.append((name, value if np.ndim(value) == 0 else value.tolist(), band))
        parts.append(table(learned, ("coefficient", "value", "95 % confidence")))
        parts += [f"<p>No confidence: {escape(doubt)}.</p>" for doubt in (known.doubts if known else ())]
    return parts


def _error(solution: Solution, name: str, function: Callable[..., Any]) -> float:
    given: dict[str, Any] = {name: function}
    return solution.error(**given)
