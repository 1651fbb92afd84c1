"""Why a search ended: functions that fall without bound are told from minima, kinks and poles."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import primad
from primad import optimize
from primad.optimize import endings
from primad.optimize.scipy_solvers.own_methods import STATUS


def rounded(value: Any) -> Any:
    """Two digits of a value, with its derivative."""
    return value + primad.stop_gradient(np.round(value, 2) - value)


UNBOUNDED: dict[str, tuple[Any, Any]] = {
    "linear": (lambda x: -np.sum(x), np.zeros(2)),
    "linear, tiny": (lambda x: 1e-12 * np.sum(x), np.ones(2)),
    "linear, from far above": (lambda x: 1e6 - np.sum(x), np.ones(2)),
    "cubic": (lambda x: np.sum(x**3), -np.ones(2)),
    "concave": (lambda x: -np.sum(x**2), np.ones(2)),
    "saddle": (lambda x: x[0] ** 2 - x[1] ** 4, np.array([1.0, 0.1])),
    "bounded in one direction": (lambda x: x[0] ** 2 + x[1], np.ones(2)),
    "exponential": (lambda x: -np.sum(np.exp(x)), np.zeros(2)),
    "a norm": (lambda x: -np.sqrt(np.sum(x**2) + 1), np.ones(2)),
    "a tree": (lambda p: p["a"] ** 2 - p["b"][0], {"a": 1.0, "b": np.zeros(1)}),
    "minus infinity": (lambda x: np.sum(np.log(np.abs(x))), np.array([1.0])),
}
BOUNDED: dict[str, tuple[Any, Any]] = {
    "a minimum beside an abyss": (lambda x: np.sum(x**3 - 3 * x), np.array([2.0])),
    "the same at 0": (lambda x: np.sum(x**3 - 3 * x) + 2, np.array([2.0])),
    "a valley": (lambda x: 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2 - 1e3, np.array([-1.2, 1.0])),
    "a kink": (lambda x: np.sum(np.abs(x - 1 / 3)) - 1, np.array([0.0, 2.0])),
    "far away": (lambda x: np.sum((x - 1e12) ** 2) - 1e30, np.zeros(2)),
    "a well that cannot be seen from the start": (lambda x: -np.exp(-np.sum(x**2)), np.array([3.0])),
    "an asymptote": (lambda x: np.sum(np.exp(-x)) - 1, np.zeros(2)),
    "a slow asymptote": (lambda x: -np.sum(np.arctan(x)), np.zeros(2)),
    "a slow asymptote, rounded": (lambda x: rounded(-np.sum(np.arctan(x))), np.zeros(2)),
    "single precision": (lambda x: np.sum((x - 1) ** 2) - 2, np.zeros(2, np.float32)),
}
RULES = [optimize.LBFGS(), optimize.SelfScaledBroyden()]


@pytest.mark.parametrize("name", UNBOUNDED)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_what_falls_without_bound_is_no_minimum(rule: Any, name: str) -> None:
    found = optimize.solve(rule, *UNBOUNDED[name], steps=100)
    if name == "minus infinity" and found.reason == "stalled":
        assert "the gradient is not small" in found.message and "a pole" in found.message
        return
    assert found.reason == "unbounded" and not found.converged
    assert "falls without bound" in found.message and "bounds=" in found.message


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_what_has_a_bound_is_not_said_to_have_none(rule: Any, name: str) -> None:
    found = optimize.solve(rule, *BOUNDED[name], steps=100)
    assert found.reason in ("gradient", "stalled", "steps")
    if found.reason == "stalled" and name not in ("a kink", "far away", "a slow asymptote, rounded"):
        assert found.message == "no lower value was found: a minimum, up to rounding"


def test_what_is_looked_at_lies_beyond_the_end_as_seen_from_the_start() -> None:
    start, end = {"a": np.array([3.0, -5.0]), "b": np.array(2.0)}, {"a": np.array([4.0, -4.5]), "b": np.array(2.5)}

    def value(p: Any) -> Any:
        return -(p["a"][0] ** 2) - 7.0 * p["a"][1] * p["b"]

    state = SimpleNamespace(value=value(end), gradient=np.array([-8.0, -17.5, 31.5]))
    further, low = endings._beyond(value, start, end, (), state) or (0.0, 0.0)
    there = {"a": np.array([3.0 + further, -5.0 + 0.5 * further]), "b": 2.0 + 0.5 * further}
    assert further == 1000.0 and low == pytest.approx(value(there), rel=1e-12)


def test_an_infinite_value_is_no_target_that_was_reached() -> None:
    found = optimize.solve(optimize.NewtonCG(), lambda x: np.sum(x**3), -np.ones(2), steps=300)
    assert found.reason == "unbounded" and found.value == -np.inf and "it is -inf" in found.message


def test_a_pole_is_not_said_to_be_a_minimum() -> None:
    found = optimize.solve(optimize.LBFGS(), lambda x: -1 / x[0], np.ones(1))
    assert found.reason == "stalled" and "the gradient is not small" in found.message and "a pole" in found.message


def test_reasons_that_are_no_success_have_numbers_of_their_own() -> None:
    """Of those of SciPy's methods, 0 is success, 1 is too many iterations and 99 is a caller who ended it."""
    good = {reason for reason, number in STATUS.items() if number == 0}
    assert good == {"target", "gradient", "stalled"}
    bad = [number for reason, number in STATUS.items() if reason not in (*good, "interrupted")]
    assert len({*bad}) == len(bad)
    assert STATUS["steps"] == 1 and STATUS["callback"] == STATUS["interrupted"] == 99


def test_scipys_form_says_it_too() -> None:
    found = optimize.minimize(lambda x: -np.sum(x), [0.0, 0.0], method="LBFGS")
    assert not found.success and found.status == 3 and "falls without bound" in found.message
