"""Trees that are written cell by cell, of cells that do not need each other, become loops over arrays that shrink."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import primad
import primad.numpy as pnp
from primad.programs.compacting import compact
from primad.programs.packing import scalar_groups
from primad.programs.rerolling import repeated_runs
from tests.programs.rerolling.test_rerolled_loops import scans


@contextmanager
def fewest(nodes: int, ops: int) -> Iterator[None]:
    """Look for loops from so many nodes on, and for ops on arrays from so many ops on."""
    before = repeated_runs.FEWEST_NODES, scalar_groups.FEWEST_NODES
    repeated_runs.FEWEST_NODES, scalar_groups.FEWEST_NODES = nodes, ops
    try:
        yield
    finally:
        repeated_runs.FEWEST_NODES, scalar_groups.FEWEST_NODES = before


CELLS = [
    lambda p, a, b, n, j: p[0] * b + p[1] * a,
    lambda p, a, b, n, j: np.maximum(0.9 * (p[0] * b + (1.0 - p[0]) * a), 1.1 - p[1] ** (2.0 * j - n)),
    lambda p, a, b, n, j: np.tanh(p[0] * b - a) + 0.1 * n,
    lambda p, a, b, n, j: p[2] * (a + b) * np.cos(p[1] * j),
    lambda p, a, b, n, j: np.where(a > b, p[0] * a, p[1] * b) - p[2],
]
"""What a cell is computed of: numbers, the cells below and above it one step later, the step and its place there."""
WAYS = ["in place", "an array", "a list for each", "a table"]


def tree(p: Any, cell: Any, steps: int, way: str) -> Any:
    """Return the first cell of a tree."""
    last = [np.sin(p[0] + 0.3 * j) * p[2] for j in range(steps + 1)]
    if way == "a list for each":
        for n in range(steps - 1, -1, -1):
            last = [cell(p, last[j], last[j + 1], n, j) for j in range(n + 1)]
        return last[0]
    if way == "a table":
        table: list[list[Any]] = [[0.0] * (steps + 1) for _ in range(steps)] + [last]
        for n in range(steps - 1, -1, -1):
            for j in range(n + 1):
                table[n][j] = cell(p, table[n + 1][j], table[n + 1][j + 1], n, j)
        return table[0][0]
    v: Any = last
    if way == "an array":
        v = pnp.zeros(steps + 1)
        for j in range(steps + 1):
            v[j] = last[j]
    for n in range(steps - 1, -1, -1):
        for j in range(n + 1):
            v[j] = cell(p, v[j], v[j + 1], n, j)
    return v[0]


def check(cell: Any, steps: int, way: str) -> primad.Program:
    """Compare values and derivatives with those of the numbers one by one; return the program."""
    p = np.array([0.52, 0.47, 0.9])

    def f(p: Any) -> Any:
        return tree(p, cell, steps, way)

    plain = primad.trace(f)(p)
    with fewest(40, 40):
        found = compact(plain).check()
        np.testing.assert_allclose(found(p), plain(p), rtol=1e-11, atol=1e-13)
        got = primad.grad(f)(p)
    with fewest(10**9, 10**9):
        wanted = primad.grad(lambda p: plain(p))(p)  # recorded anew
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)
    return found


@pytest.mark.parametrize("way", ["in place", "a table"])
def test_a_tree_is_a_loop(way: str) -> None:
    found = check(CELLS[0], 24, way)
    assert max([params["length"] for params in scans(found)], default=0) >= 10, found.notes
    assert len(found.nodes) < 400


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(draws=st.data())
def test_random_trees(draws: st.DataObject) -> None:
    check(draws.draw(st.sampled_from(CELLS)), draws.draw(st.integers(18, 28)), draws.draw(st.sampled_from(WAYS)))
