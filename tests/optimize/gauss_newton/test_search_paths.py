"""The paths of all rules from bad starts: losses, slopes and damping of the first steps.

An optimum is reached with a wrong factor too, only later. What was seen is kept in `search_paths.json`; where a rule
changes on purpose, `python -m tests.optimize.gauss_newton.test_search_paths` writes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad
from primad.optimize import LBFGS
from primad.optimize.gauss_newton.residual_models import Loss, Residuals
from tests.optimize.gauss_newton.test_gauss_newton_methods import LEAST_SQUARES, PROBLEMS, SMOOTH, losses

KEPT = Path(__file__).with_name("search_paths.json")
STEPS = 9
"""How many steps are compared at most: fewer where paths from starts that differ in the last digits have parted."""
FIELDS = ("value", "damping", "growth", "evaluations", "radius", "kept")
TIMES = np.linspace(0.1, 3.0, 12)


def decay(x: Any) -> Any:
    """Data that no parameters meet, with a rate whose sign is wrong at the start."""
    return x[0] * np.exp(-x[1] * TIMES) + x[2] - np.cos(2.0 * TIMES) - 1.0 / TIMES


def logarithms(x: Any) -> Any:
    """A first step of some rules leaves the domain."""
    return np.log(x) * np.array([1.0, 3.0, 0.1])


def waves(x: Any) -> Any:
    """Negative curvature nearly everywhere."""
    return np.stack([np.sin(3.0 * x[0]) + x[1], np.cos(x[0] * x[1]) - 0.3, 0.1 * x[0] ** 2])


PATHS: dict[str, tuple[Callable[..., Any], Any]] = {
    **{name: PROBLEMS[name][:2] for name in ("rosenbrock", "powell singular", "exponentials", "steep")},
    "beale": (PROBLEMS["beale"][0], {"x": 1.2, "y": 0.6}),
    "decay": (decay, np.array([1.0, -0.5, 0.0])),
    "logarithms": (logarithms, np.array([9.0, 0.01, 30.0])),
    "waves": (waves, np.array([0.9, 0.8])),
}
RULES = {**LEAST_SQUARES, **SMOOTH}


def path(name: str, which: str, moved: float = 0.0, steps: int = STEPS) -> dict[str, list[float]]:
    residuals, start = PATHS[name]
    rule, params = RULES[which], primad.recording.tree.map(lambda x: x * (1.0 + moved), start)
    if which in LEAST_SQUARES:
        function: Any = Residuals(residuals)
    else:
        function = Loss(losses(residuals)) if which == "newton" else LBFGS().compile(losses(residuals))
    state, rows = rule.init(params), []
    while state.step < steps and not state.stalled:
        params, state = rule.update(params, state, function)
        seen = {field: float(getattr(state, field)) for field in FIELDS if hasattr(state, field)}
        rows.append({"slope": float(np.linalg.norm(state.gradient)), **seen})
    return {key: [row[key] for row in rows] for key in rows[0]}


def settled(name: str, which: str) -> dict[str, list[float]]:
    """Return the part of a path on which rounding has no say."""
    found = path(name, which)
    count = sum(value > 1e-9 * found["value"][0] for value in found["value"])
    for moved in (1e-11, -1e-11, 3e-11, -2e-12):
        for key, values in path(name, which, moved).items():
            pairs = zip(found[key], values, strict=False)
            same = [abs(a - b) <= 1e-6 * abs(a) + 1e-10 * max(map(abs, found[key])) for a, b in pairs]
            count = min(count, *(i for i, agree in enumerate([*same, False]) if not agree))
    return {key: [float(f"{value:.9g}") for value in values[:count]] for key, values in found.items()}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", PATHS)
def test_paths_are_what_they_were(name: str) -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    of_all = {which: kept[f"{name}, {which}"] for which in RULES if f"{name}, {which}" in kept}
    assert len(of_all) > len(RULES) - 3
    for which, before in of_all.items():
        found = path(name, which, steps=len(before["value"]))
        assert found.keys() == before.keys(), which
        for key, values in before.items():
            assert len(found[key]) == len(values), (which, key)
            size = max(map(abs, values))
            np.testing.assert_allclose(found[key], values, 1e-5, 1e-9 * size, err_msg=f"{which}, {key}")


if __name__ == "__main__":
    paths = {f"{name}, {which}": settled(name, which) for name in PATHS for which in RULES}
    rows = [f"{json.dumps(key)}: {json.dumps(found)}" for key, found in paths.items() if found["value"]]
    KEPT.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
