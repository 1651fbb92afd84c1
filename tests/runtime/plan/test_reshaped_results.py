"""Results that are another shape of a value are that value, without a copy, and share no memory with anything else."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad

SHAPES = {"small": (4, 3), "whole": (300, 64, 3), "tiled": (60_000, 3)}
FLOWS: dict[str, Callable[..., Any]] = {
    "alone": lambda x, y: np.sin(x * y).ravel(),
    "in turn": lambda x, y: np.cross(x, np.cos(y)).reshape(-1, 1, 3).ravel(),
    "beside itself": lambda x, y: (lambda z: (z.ravel(), z))(np.cross(x, y)),
    "behind itself": lambda x, y: (lambda z: (z, z.ravel()))(np.cross(x, y)),
    "twice": lambda x, y: (lambda z: (z.ravel(), z.reshape(-1, 3, 1), z.ravel()))(np.cross(x, y) / np.sum(y)),
    "used after": lambda x, y: (lambda z: (z.ravel(), np.cumsum(z.ravel())))(np.cross(x, y)),
    "sums beside": lambda x, y: (lambda z: (z.ravel(), np.sum(z, axis=0)))(np.cross(x, y)),
    "an argument": lambda x, y: (x.ravel(), x, np.cross(x, y).ravel(), y.ravel()),
    "a view": lambda x, y: (np.swapaxes(np.cross(x, y), 0, -1).ravel(), np.cross(x, y)[::2].ravel()),
    "a number": lambda x, y: np.sum(x * y).reshape(1, 1),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("donated", [(), (0,)])
@pytest.mark.parametrize("size", SHAPES)
@pytest.mark.parametrize("flow", FLOWS)
def test_reshaped_results_are_arrays_of_their_own(flow: str, size: str, donated: tuple[int, ...]) -> None:
    f, rng = FLOWS[flow], np.random.default_rng(0)
    x, y = rng.uniform(0.5, 1.5, size=(2, *SHAPES[size]))
    expected = f(x, y)
    compiled = primad.jit(f, donate=donated)
    for _ in range(2):
        given = [x.copy(), y.copy()]
        found = compiled(*given)
        pairs = list(zip(*[v if isinstance(v, tuple) else (v,) for v in (found, expected)], strict=True))
        for ours, numpys in pairs:
            np.testing.assert_allclose(ours, numpys, rtol=1e-9, atol=1e-9)
        kept = [given[i] for i in range(2) if i not in donated]
        assert not any(np.shares_memory(*pair) for pair in itertools.combinations([r for r, _ in pairs] + kept, 2))
        for ours, _ in pairs:
            ours[...] = 0.0  # neither read-only, nor what the next call returns


@pytest.mark.parametrize("flow", ["alone", "in turn"])
def test_a_result_in_another_shape_is_not_copied(flow: str) -> None:
    x, y = np.random.default_rng(0).uniform(size=(2, 200_000, 3))
    compiled = primad.jit(FLOWS[flow])
    compiled(x, y)
    tracemalloc.start()
    found = compiled(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) and peak < 1.5 * x.nbytes
