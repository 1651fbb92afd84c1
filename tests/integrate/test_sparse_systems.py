"""Stiff systems of many unknowns are solved with sparse factors, and have the derivatives of the dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad import integrate
from primad.implicit import sparse_systems
from primad.integrate import rosenbrock

N = 210


def end(rate: Any) -> Any:
    def slope(t: Any, u: Any) -> Any:
        return rate * 4e3 * np.diff(np.pad(u, 1), 2) + u * (1 - u) + np.cos(t)

    start = np.sin(np.linspace(0, np.pi, N))
    return np.sum(integrate.solve_ivp(slope, (0.0, 0.03), start, "ROS23", t_eval=[0.03], rtol=1e-4).y[:, -1] ** 2)


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
