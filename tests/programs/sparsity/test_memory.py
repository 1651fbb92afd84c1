"""Memory is proportional to the nonzeros: of sparse Jacobians and Hessians, of patterns, and of implicit solves."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import primad
import primad.numpy as pnp
from primad import implicit
from primad.scipy import sparse as mirror
from tests.sweeps import chosen

SIZES = (10_000, 20_000, 40_000)
MOST = 1.6
"""How much more memory an entry of a larger one may take than one of the smallest. Chosen: what grows with the square
takes four times as much at the largest size, with the power 1.5 twice; plans of larger arrays take up to 1.4."""


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def on_grid(x: Any) -> Any:
    u = np.pad(x.reshape(100, -1), 1)
    own = u[1:-1, 1:-1]
    return ((u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * own) * own**2).ravel()


def over_graph(size: int) -> Callable[[Any], Any]:
    i, j = np.random.default_rng(0).integers(0, size, (2, 2 * size))
    return lambda x: np.sum(np.exp(np.sin(x[i] - x[j])))


def heated(x: Any) -> Any:
    return primad.scan(lambda u, _: (u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1)) - u**3, None), x, length=3)[0]


def of_parts(x: Any) -> Any:
    """An arrow: its first element meets all others."""
    return np.sum(x[0] * x[1:] ** 2) + np.sum(x**4)


def by_matrix(size: int) -> Callable[[Any], Any]:
    A = sparse.random_array((size, size), density=4 / size, rng=np.random.default_rng(0)).tocsr()
    return lambda x: A @ np.sin(x) * x


def tridiagonal(size: int) -> Callable[[Any], Any]:
    side = -np.ones(size - 1)
    bands = lambda d: mirror.diags_array([d, side, side], offsets=[0, 1, -1])  # noqa: E731
    return lambda d: np.sum(mirror.linalg.spsolve(bands(d).tocsc(), np.ones(size)) ** 2)


def neighbours(u: Any) -> Any:
    return np.pad(u, (1, 0))[:-1] + np.pad(u, (0, 1))[1:]


def start(size: int) -> Any:
    return np.linspace(0.1, 1.0, size)


def bent(u: Any, a: Any) -> Any:
    return np.sum((u[1:] - u[:-1]) ** 2) + np.sum((u - a) ** 2 + 0.1 * u**4)


MATRICES: dict[str, Callable[[int], Any]] = {
    "a chain's Jacobian": lambda n: primad.jacobian(lambda x: np.sin(x[1:]) * x[:-1])(start(n)).sparse(),
    "a grid's": lambda n: primad.jacobian(on_grid)(start(n)).sparse(),
    "a loop's": lambda n: primad.jacobian(heated)(start(n)).sparse(),
    "by a sparse matrix": lambda n: primad.jacobian(by_matrix(n))(start(n)).sparse(),
    "by columns": lambda n: primad.jacobian(on_grid)(start(n)).sparse("csc"),
    "a chain's Hessian": lambda n: primad.hessian(rosenbrock)(start(n)).sparse(),
    "a graph's": lambda n: primad.hessian(over_graph(n))(start(n)).sparse(),
    "an arrow's": lambda n: primad.hessian(of_parts)(start(n)).sparse(),
    "under jit": lambda n: primad.jit(lambda x: primad.hessian(rosenbrock)(x).sparse())(start(n)),
    "a pattern": lambda n: primad.hessian(over_graph(n))(start(n)).pattern(),
    "a local pattern": lambda n: primad.jacobian(lambda x: np.where(x > 0.5, x * np.roll(x, 1), np.roll(x, 2)))(
        start(n)
    ).sparse(),
}
SOLVES: dict[str, Callable[[int], Any]] = {
    "a sparse system": lambda n: primad.grad(tridiagonal(n))(4.0 + start(n)),
    "a root": lambda n: primad.grad(
        lambda a: np.sum(implicit.root(lambda u, a: 2 * u - neighbours(u) + 0.1 * u**3 - a, np.zeros(n), a))
    )(start(n)),
    "a linear system": lambda n: primad.grad(
        lambda b: np.sum(implicit.linear_solve(lambda x: 3 * x - neighbours(x), b) ** 2)
    )(start(n)),
    "a fixed point": lambda n: primad.grad(
        lambda a: np.sum(implicit.fixed_point(lambda u, a: 0.3 * np.cos(neighbours(u)) + a, np.zeros(n), a))
    )(start(n)),
    "a minimum": lambda n: primad.grad(lambda a: np.sum(implicit.minimize(bent, np.zeros(n), a)))(start(n)),
    "least squares": lambda n: primad.grad(
        lambda a: np.sum(implicit.least_squares(lambda u, a: pnp.concatenate([u[1:] - u[:-1], u - a]), np.zeros(n), a))
    )(start(n)),
}
"""Solves and their derivatives; the entries are those of a band of three."""


def each_entry(make: Callable[[int], Any], sizes: tuple[int, ...]) -> list[float]:
    """Return the most bytes that arrays and objects take at once while a result is made, for each of its entries."""
    found = []
    make(sizes[0] // 10)  # what loads late
    for size in sizes:
        gc.collect()
        tracemalloc.start()
        try:
            entries = getattr(make(size), "nnz", 3 * size)
            found.append(tracemalloc.get_traced_memory()[1] / entries)
        finally:
            tracemalloc.stop()
    return found


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "name", chosen(MATRICES, ("a grid's", "a chain's Hessian", "an arrow's", "under jit", "a pattern"))
)
def test_matrices_take_memory_for_their_entries(name: str) -> None:
    found = each_entry(MATRICES[name], SIZES)
    assert max(found[1:]) < MOST * found[0], found


@pytest.mark.parametrize("name", chosen(SOLVES, ("a sparse system", "a root")))
def test_solves_and_their_derivatives_take_memory_for_the_entries(name: str) -> None:
    found = each_entry(SOLVES[name], SIZES)
    assert max(found[1:]) < MOST * found[0], found


def test_what_takes_memory_for_all_elements_is_seen() -> None:
    """A whole matrix has as many elements as the square, and so has a mask of it."""
    for whole in (
        lambda n: sparse.csr_array(primad.jacobian(heated)(start(n))[:, :]),
        lambda n: sparse.csr_array(np.eye(n, dtype=bool)),
    ):
        found = each_entry(whole, (500, 1000, 2000))
        assert found[2] > MOST * found[0], found
