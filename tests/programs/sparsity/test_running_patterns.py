"""What goes along an axis, as running sums do, depends on all that has come and on nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad.errors import MemoryLimitError
from primad.programs.sparsity import labels
from primad.programs.sparsity.labels import Labels, Reached, Sets, listed, own, running
from primad.scipy import linalg

N = 24
X = np.random.default_rng(0).uniform(0.5, 2.0, N)
LOWER = np.tri(N) * np.random.default_rng(1).uniform(1.0, 2.0, (N, N))


def triangle(count: int) -> int:
    return count * (count + 1) // 2


TIGHT: dict[str, tuple[Callable[..., Any], int]] = {
    "a sum": (lambda x: np.cumsum(x**2), triangle(N)),
    "accumulate": (lambda x: np.add.accumulate(np.sin(x)), triangle(N)),
    "a product": (np.cumprod, triangle(N)),
    "of exponentials": (np.logaddexp.accumulate, triangle(N)),
    "from the end": (lambda x: np.cumsum(x[::-1] ** 2)[::-1], triangle(N)),
    "turned": (lambda x: np.flip(np.cumsum(x**2)), triangle(N)),
    "without NaN": (lambda x: np.nancumsum(x**2), triangle(N)),
    "a mean": (lambda x: np.cumsum(x) ** 2 / np.arange(1, N + 1), triangle(N)),
    "differences": (lambda x: np.diff(np.cumsum(x) ** 2), triangle(N) - 1),
    "twice": (lambda x: np.cumsum(np.cumsum(x) ** 2), triangle(N)),
    "there and back": (lambda x: np.cumsum((np.cumsum(x) ** 2)[::-1]), N * N),
    "part of it": (lambda x: np.cumsum(x)[3::2] ** 2, sum(range(4, N + 1, 2))),
    "of a stencil": (lambda x: np.cumsum(x[1:] * x[:-1]), triangle(N) - 1),
    "along the first axis": (lambda x: np.cumsum(x.reshape(4, 6) ** 2, axis=0), 6 * triangle(4)),
    "along the last axis": (lambda x: np.cumsum(x.reshape(4, 6) ** 2, axis=1), 4 * triangle(6)),
    "along both": (lambda x: np.cumsum(np.cumsum(x.reshape(4, 6), axis=0) ** 2, axis=1), triangle(4) * triangle(6)),
    "of sums": (lambda x: np.cumsum(np.sum(x.reshape(4, 6) ** 2, axis=1)), 6 * triangle(4)),
    "repeated": (lambda x: np.repeat(np.cumsum(x) ** 2, 2), 2 * triangle(N)),
    "of what is chosen": (lambda x: np.cumsum(x * (np.arange(N) % 2)), 12 * 12),
    "forward substitution": (lambda x: linalg.solve_triangular(LOWER, x, lower=True), triangle(N)),
    "backward substitution": (lambda x: linalg.solve_triangular(LOWER.T, x, lower=False), triangle(N)),
    "column by column": (
        lambda x: linalg.solve_triangular(LOWER[:6, :6], x.reshape(6, 4), lower=True), 4 * triangle(6)
    ),
    "a triangular product": (lambda x: LOWER @ x**2, triangle(N)),
    "a loop": (lambda x: primad.scan(lambda c, a: (c * 0.9 + a * a, c), 0.0, x)[1], triangle(N) - N),
    "a trapezium": (lambda x: primad.scipy.integrate.cumulative_trapezoid(x**2), triangle(N) - 1),
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", TIGHT)
def test_what_has_come_and_nothing_else(name: str) -> None:
    function, count = TIGHT[name]
    J = primad.jacobian(function)(X)
    dense = np.asarray(J).reshape(-1, N)
    assert J.pattern().nnz == count
    assert not dense[~J.pattern().toarray()].any()
    np.testing.assert_allclose(J.sparse().toarray(), dense, rtol=1e-11, atol=1e-13)


def test_hessians_of_running_sums() -> None:
    H = primad.hessian(lambda x: np.sum(np.cumsum(x)[:5] ** 3) + np.sum(x**2))(X)
    assert H.pattern().nnz == 25 + N - 5
    np.testing.assert_allclose(H.sparse().toarray(), np.asarray(H), rtol=1e-12, atol=1e-13)


def steps(rng: Any) -> Callable[[Any], Any]:
    """Return a random function of 24 numbers, of which most go along an axis."""
    axis, shape = int(rng.integers(2)), [(4, 6), (6, 4), (1, 24), (24, 1)][rng.integers(4)]
    index = rng.permutation(N)
    some = [
        lambda x: np.cumsum(x.reshape(shape), axis=axis).ravel(),
        lambda x: np.cumsum(x.reshape(shape)[::-1], axis=axis)[:, ::-1].ravel(),
        lambda x: linalg.solve_triangular(LOWER[: shape[0], : shape[0]], x.reshape(shape), lower=True).ravel(),
        lambda x: np.append(np.diff(x), x[0]),
        lambda x: x[index],
        lambda x: x * np.sum(x[:3]),
        lambda x: pnp.add_at(np.zeros(N), index // 2, x),
    ]
    return some[rng.integers(len(some))]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(30))
def test_chains_miss_no_entry(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        monkeypatch.setattr(labels, "FEW", 2)
    if seed % 5 == 0:
        monkeypatch.setattr(labels, "MOST_ENTRIES", int(rng.integers(N, N * N)))
    chosen = [steps(rng) for _ in range(4)]

    def chain(x: Any) -> Any:
        for number, function in enumerate(chosen):
            x = np.tanh(function(x)) * (1 + number) + x**2 / 7
        return x

    try:
        pattern = primad.jacobian(chain)(X).pattern().toarray()
    except MemoryLimitError:  # more entries than the limit of this test
        return
    assert not np.asarray(primad.jacobian(chain)(X))[~pattern].any()


def test_parts_of_sets_take_no_memory_of_their_own() -> None:
    """Sums of sums of a hundred thousand numbers, of which a few are wanted, list each number once."""
    n = 100_000
    (once,) = running(own((n,)), 0, False)
    (twice,) = running((once,), 0, False)
    for found in (once, twice):
        assert found.sets is not None and len(found.sets.elements) == n
    last: Reached = (twice._replace(places=twice.places[-2:]),)
    for reached in (last, (*last, Labels(twice.places[:2], twice.sets))):
        starts_and_elements = listed(reached, 2, n)
        assert starts_and_elements is not None
        np.testing.assert_array_equal(starts_and_elements[0], [0, n - 1, 2 * n - 1])


def test_sets_that_are_parts_of_others() -> None:
    """Of those that begin at one place the largest of each row is left; empty ones are parts of any."""
    sets = Sets(np.array([0, 0, 2, 0, 2]), np.array([1, 2, 1, 0, 0]), np.array([5, 6, 7], np.int32))
    rows, numbers = np.array([0, 0, 0, 1, 1, 2, 2]), np.array([0, 1, 2, 3, 0, 2, 4])
    found = sets.largest(rows, numbers)
    assert set(zip(*map(np.ndarray.tolist, found), strict=True)) == {(0, 1), (0, 2), (1, 0), (2, 2)}
    alone = Sets(np.array([0, 2]), np.array([2, 1]), sets.elements)
    assert alone.largest(rows, numbers)[0] is rows
