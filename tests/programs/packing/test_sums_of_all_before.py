"""Substitutions and recurrences over all before, written element by element, become loops over arrays that grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad.programs import compacting
from primad.programs.compacting import compact
from tests.programs.packing.test_cells_of_trees import fewest
from tests.programs.rerolling.test_rerolled_loops import scans, unrolled

SIZE = 24
LOWER = np.tril(np.random.default_rng(0).normal(size=(SIZE, SIZE)), -1)


def forward(m: Any, b: Any) -> Any:
    """Solve a lower triangular system, row by row."""
    x: list[Any] = []
    for i in range(SIZE):
        s = b[i]
        for j in range(i):
            s = s - m[i, j] * x[j]
        x.append(s / (m[i, i] + 8.0))
    return np.sum(np.stack(x) ** 2)


def forward_in_place(m: Any, b: Any) -> Any:
    """Solve it in an array."""
    x = pnp.zeros(SIZE)
    for i in range(SIZE):
        x[i] = b[i]
        for j in range(i):
            x[i] = x[i] - m[i, j] * x[j]
        x[i] = x[i] / (m[i, i] + 8.0)
    return np.sum(x**2)


def backward(m: Any, b: Any) -> Any:
    """Solve an upper triangular system, from its last row on."""
    x: list[Any] = [None] * SIZE
    for i in range(SIZE - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, SIZE):
            s = s - m[j, i] * x[j]
        x[i] = s / (m[i, i] + 8.0)
    return np.sum(np.stack(x) ** 2)


def added_first(m: Any, b: Any) -> Any:
    """Add up what is known before it is subtracted."""
    x: list[Any] = []
    for i in range(SIZE):
        s = 0.0
        for k, known in enumerate(x):
            s = s + m[i, k] * known
        x.append((b[i] - s) / (m[i, i] + 8.0))
    return np.sum(np.stack(x) ** 2)


def memory(m: Any, b: Any) -> Any:
    """Compute each value of all before, weighted by how long ago they were."""
    x = [b[0]]
    for n in range(1, SIZE):
        x.append(np.tanh(b[n] + sum(m[SIZE - 1, n - j - 1] * x[j] for j in range(n)) / 8.0))
    return np.sum(np.stack(x) ** 2)


def compared(m: Any, b: Any) -> Any:
    """Compute each value of differences to all before."""
    x = [b[0]]
    for n in range(1, SIZE):
        s = b[n]
        for j in range(n):
            s = s + np.sin(x[j]) * m[n, j]
        x.append(np.cos(s))
    return np.sum(np.stack(x) ** 2)


CASES = {
    "forward, matrix known": (forward, True),
    "forward, matrix given": (forward, False),
    "in place": (forward_in_place, True),
    "backward": (backward, False),
    "added first": (added_first, True),
    "compared": (compared, False),
    "memory": (memory, True),
}

LATE = "added first", "memory"
"""Those whose sums begin with other terms than those that are alike: as long as they are short, they are none."""


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CASES)
def test_all_before(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly all rows are steps of one loop, which computes what they do."""
    monkeypatch.setattr(compacting, "FEWEST_NODES", 60)
    f, known = CASES[name]
    m, b = LOWER + np.eye(SIZE), np.random.default_rng(1).normal(size=SIZE)
    arguments: tuple[Any, ...] = (b,) if known else (m, b)
    g = (lambda b: f(m, b)) if known else f
    which = tuple(range(len(arguments)))
    with fewest(60, 60):
        plain = primad.trace(g)(*arguments)
        found = compact(plain).check()
        assert any(params["length"] >= SIZE - (12 if name in LATE else 5) for params in scans(found)), found.notes
        np.testing.assert_allclose(found(*arguments), plain(*arguments), rtol=1e-12)
        got = primad.jit(primad.grad(g, which))(*arguments)
        for x, y in zip(got, unrolled(primad.grad(g, which))(*arguments), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)
