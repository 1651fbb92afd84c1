"""The command that runs CUTEst's problems: it sees wrong derivatives beside numbers that are rounding only."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import primad
from tests.programs.outside import agreement, problems
from tests.sweeps import chosen

WANTED = [
    [np.array(5.0), np.array([1e-9, -2e-9, 3e-10]), np.array([2e6, -3e-2, 4.0])],  # a gradient that is rounding only
    [np.array(-3.0), np.array([1e6, -2e-2, 3.0]), np.array([1e-1, 1e-2, -7e-3])],
]
"""What JAX is to have computed at two points: value, gradient, and product with the Hessian."""
ROUNDED = [[each * (1.0 + 1e-15 * np.cos(np.arange(each.size).reshape(each.shape))) for each in results]
           for results in WANTED]  # fmt: skip
ROUNDED[0][1] = WANTED[0][1][::-1].copy()
"""The same, but for rounding."""


def _said(got: Any) -> str:
    return agreement.different(WANTED, got) or agreement.astray(WANTED, got, [ROUNDED])


def _with(kind: int, point: int, change: Callable[[Any], Any]) -> Any:
    """Return results, as primad is to have computed them, of which one array is another."""
    got = [[each.copy() for each in results] for results in ROUNDED]
    got[point][kind] = change(got[point][kind])
    return got


def _elements(change: Callable[[float], float], place: int) -> Callable[[Any], Any]:
    def changed(x: Any) -> Any:
        flat = x.ravel().copy()
        flat[place] = change(flat[place])
        return flat.reshape(x.shape)

    return changed


def test_rounding_is_no_difference() -> None:
    """Numbers that differ by what two ways to add them leave are the same, where JAX has exactly zero too."""
    assert not _said(ROUNDED)
    assert not _said(_with(1, 1, lambda x: x * (1.0 + 1e-9)))
    wanted = [[WANTED[1][0], np.array([1e6, 1.0, 0.0]), np.array([3e-13, 0.0, -3e-13])]]
    beside = [[WANTED[1][0], np.array([1e6, 1.0, 0.0]), np.array([0.0, 3e-13, 0.0])]]
    for slip, seen in (0.0, False), (6e-9, True):
        got = [[WANTED[1][0], np.array([1e6, 1.0, 1e-9]), np.array([-2e-12, 3e-12, 1e-12 + slip])]]
        assert bool(agreement.different(wanted, got) or agreement.astray(wanted, got, [beside])) == seen


SLIPS: dict[str, Callable[[float], float]] = {
    "left out": lambda x: 0.0,
    "of the other sign": lambda x: -x,
    "twice as large": lambda x: 2.0 * x,
    "a thousandth too large": lambda x: 1.001 * x,
    "no number": lambda x: np.nan,
    "infinite": lambda x: -np.inf,
}


@pytest.mark.parametrize("slip", SLIPS)
def test_wrong_element(slip: str) -> None:
    """A slip in any element of a value, a gradient or a product is one, however small it is beside the largest one."""
    for kind, point in ((kind, point) for kind in range(3) for point in range(2)):
        is_rounding = (kind, point) == (1, 0)
        for place in range(WANTED[point][kind].size):
            if not is_rounding or slip in ("no number", "infinite"):
                assert _said(_with(kind, point, _elements(SLIPS[slip], place))).startswith("WRONG"), (kind, point)


def test_wrong_at_a_rounding_gradient() -> None:
    """Where the gradient is rounding only, one that is not is a difference; and elements in another order are."""
    assert _said(_with(1, 0, lambda x: x + np.array([0.0, 1e-2, 0.0]))).startswith("WRONG gradient")
    for kind in (1, 2):
        assert _said(_with(kind, 1, lambda x: x[::-1].copy())).startswith("WRONG")


@pytest.mark.parametrize("wrong", chosen(["", "value_and_grad", "jvp"], {"value_and_grad"}))
def test_wrong_derivative_of_a_problem(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem whose gradient is zero at the start, with unknowns of several sizes: one element wrong is seen."""
    jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'primad[jax]'")
    problem = SimpleNamespace(
        y0=np.zeros(3), args=None, objective=lambda y, args: 1e8 * y[0] ** 2 + jax.numpy.sum(jax.numpy.sin(y[1:]) ** 2)
    )
    monkeypatch.setattr(problems, "load", lambda name: problem)
    monkeypatch.setattr(problems, "ROUNDS", 1)
    right = getattr(primad, wrong, None)

    def value_and_grad(function: Any) -> Any:
        def both(x: Any) -> Any:
            value, gradient = right(function)(x)
            return value, gradient * np.array([1.0, 1.001, 1.0])

        return both

    def jvp(function: Any, points: Any, tangents: Any) -> Any:
        values, (slope, product) = right(function, points, tangents)
        return values, (slope, product * np.array([1.0, 1.0, 1.001]))

    if wrong:
        monkeypatch.setattr(primad, wrong, {"value_and_grad": value_and_grad, "jvp": jvp}[wrong])
    with jax.enable_x64(True):
        *_, last = problems.steps("")
    assert last["why"].startswith("WRONG") if wrong else not last["why"]


@pytest.mark.parametrize("wrong", chosen(["", "value_and_grad"], {"value_and_grad"}))
def test_where_jax_has_no_number(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN of JAX's is told apart from a difference only where differences agree with what primad has there."""
    jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'primad[jax]'")
    powers = np.array([0.0, 1.0, 2.0])
    objective = lambda y, args: jax.numpy.sum(3.0 * y + y**powers)  # noqa: E731
    problem = SimpleNamespace(y0=np.zeros(3), args=None, objective=objective)
    monkeypatch.setattr(problems, "load", lambda name: problem)
    monkeypatch.setattr(problems, "ROUNDS", 1)
    right = primad.value_and_grad
    if wrong:
        monkeypatch.setattr(primad, wrong, lambda f: lambda x: (right(f)(x)[0], right(f)(x)[1] * np.array([1.5, 1, 1])))
    with jax.enable_x64(True):
        *_, last = problems.steps("")
    assert last["why"].startswith("WRONG") if wrong else last["why"] == problems.NO_NUMBER
