"""How many functions of primad's a first call takes: what plans and writes native code walks a program many times."""

import numpy as np

import primad
from primad.native.llvm import persistent_cache
from tests.counted import calls_of

PACKAGE = primad.__path__[0]
MOST_CALLS = 80_000
"""Counted: 65 000 with vectors of 512 bits. Other machines cut products into other blocks."""


def net(weights, x):
    *hidden, last = weights
    for w in hidden:
        x = np.tanh(x @ w)
    return (x @ last)[0]


def loss(weights, points):
    return np.mean(primad.vmap(lambda p: primad.laplacian(lambda q: net(weights, q))(p))(points) ** 2)


def test_a_first_call_of_a_tiled_loss(monkeypatch):
    """The gradient of a Laplacian's loss at 10 000 points; another one has loaded what is loaded late."""
    monkeypatch.setattr(persistent_cache, "disk_cache", lambda: None)

    def first(width):
        weights = [np.full(shape, 0.1) for shape in ((2, width), (width, width), (width, 1))]
        return calls_of(primad.jit(primad.grad(loss)), weights, np.full((10_000, 2), 0.5), within=PACKAGE)

    first(31)
    assert 1_000 < first(32) <= MOST_CALLS
