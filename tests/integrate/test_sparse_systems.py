"""Stiff systems of many unknowns are solved with sparse factors, and have the derivatives of the dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad import integrate
from primad.implicit import sparse_systems
from primad.integrate import rosenbrock
from primad.integrate.methods import METHODS

N = 210


def end(rate: Any) -> Any:
    def slope(t: Any, u: Any) -> Any:
        return rate * 4e3 * np.diff(np.pad(u, 1), 2) + u * (1 - u) + np.cos(t)

    start = np.sin(np.linspace(0, np.pi, N))
    return np.sum(integrate.solve_ivp(slope, (0.0, 0.03), start, "ROS23", t_eval=[0.03], rtol=1e-4).y[:, -1] ** 2)


@pytest.mark.exhaustive
def test_sparse_steps_are_the_dense_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    factored = []
    kept = sparse_systems.MatrixFactors
    monkeypatch.setattr(sparse_systems, "MatrixFactors", lambda matrix: factored.append(matrix.nnz) or kept(matrix))
    ways = (primad.value_and_grad, lambda f: lambda x: primad.jvp(f, (x,), (1.0,)))
    found = [way(end)(1.0) for way in ways]
    assert factored and set(factored) == {3 * N - 2}
    monkeypatch.setattr(rosenbrock, "SPARSE_FROM", 10 * N)
    count = len(factored)
    dense = primad.value_and_grad(end)(1.0)
    assert len(factored) == count
    for pair in found:
        np.testing.assert_allclose(pair, dense, rtol=1e-8)


@pytest.mark.parametrize(("smallest", "share"), [(6, 16 / 36), (7, 16 / 36), (6, 15.9 / 36), (5, 1.0)])
def test_matrices_are_sparse_from_a_size_on_and_up_to_a_share(
    smallest: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neighbours of six unknowns have 16 entries that may not be zero."""
    monkeypatch.setattr(rosenbrock, "SPARSE_FROM", smallest)
    monkeypatch.setattr(rosenbrock, "SPARSE_SHARE", share)

    def start(y: Any) -> Any:
        return integrate.solve_ivp(lambda t, u: np.diff(np.pad(u, 1), 2), (0.0, 0.1), y, "ROS23", t_eval=[0.1]).y[:, -1]

    solved, kept = [], rosenbrock.solution_with
    monkeypatch.setattr(rosenbrock, "solution_with", lambda *args: solved.append(args) or kept(*args))
    primad.trace(start)(np.ones(6))
    assert bool(solved) == (smallest <= 6 and 36 * share >= 16)


def test_a_step_of_numbers_is_that_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain numbers are not worth a sparse system, which would be found out anew for each step."""
    monkeypatch.setattr(rosenbrock, "SPARSE_FROM", 4)

    def slope(t: Any, u: Any) -> Any:
        return np.diff(np.pad(u, 1), 2) * np.cos(t)

    def step(u: Any) -> Any:
        return METHODS["ROS23"].step(slope, 0.2, u, slope(0.2, u), 0.1).y

    start = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(step(start), primad.trace(step)(start)(start), rtol=1e-13)
