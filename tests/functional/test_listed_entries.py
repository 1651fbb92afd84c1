"""Entries of lazy matrices at arrays of indices: those of the whole, by few products where it has a structure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad

RNG = np.random.default_rng(23)
N = 90
X = np.linspace(0.1, 1.0, N)
U = RNG.normal(size=(10, 9))
P, Q = RNG.integers(-N, N, (2, 200))
STEPS = np.arange(N - 1)


def chain(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def grid(u: Any) -> Any:
    return u**2 + np.roll(u, 1, 0) * np.roll(u, 1, 1)


MATRICES = {
    "banded Hessian": lambda: primad.hessian(chain)(X),
    "transposed": lambda: primad.hessian(lambda x: chain(x) + x[0] * np.sum(x))(X).T,
    "Jacobian": lambda: primad.jacobian(lambda x: np.sin(x) * np.roll(x, 2))(X),
    "without structure": lambda: primad.jacobian(np.cumsum)(X),
    "dense Hessian": lambda: primad.hessian(lambda x: np.sum(np.outer(x, x) ** 3))(X),
    "reshaped": lambda: primad.jacobian(grid)(U).reshape(90, 90),
}
INDICES: list[Any] = [
    (STEPS, STEPS + 1), (STEPS + 1, STEPS), (STEPS, N - 1 - STEPS), (P, Q), (P.astype(np.int8), Q.tolist()),
    (P[:, None], Q[None, :50]), (P.reshape(2, 100), Q.reshape(2, 100)), (5, Q), (P, -3), (np.array(3), Q),
    ([1, 2], [3, 4]), (np.zeros(200, int), Q), (STEPS, slice(2, 4)), (P, None, 3), (P[:3], Q[:2, None]),
]  # fmt: skip


@pytest.mark.parametrize("name", MATRICES)
def test_entries_at_indices_are_numpys(name: str) -> None:
    whole = np.array(MATRICES[name]())
    for index in INDICES:
        found = MATRICES[name]()[index]
        assert found.shape == whole[index].shape and found.dtype == whole.dtype
        np.testing.assert_allclose(found, whole[index], rtol=1e-12, atol=1e-12)
    with pytest.raises((IndexError, primad.ShapeError)):
        MATRICES[name]()[np.arange(N + 1), np.arange(N + 1)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: primad.jacobian(grid)(U),
        lambda: primad.hessian(lambda u: np.sum(grid(u) ** 2))(U),
        lambda: primad.hessian(lambda x: (np.sin(x) * np.roll(x, 1))[:10])(X),
    ],
)
def test_entries_of_matrices_with_several_axes(make: Any) -> None:
    whole = np.array(make())
    index = tuple(RNG.integers(0, n, 300) for n in whole.shape)
    for places in (index, (*index[:-1], 4), (3, *index[1:]), index[:2]):
        np.testing.assert_allclose(make()[places], whole[places], rtol=1e-12, atol=1e-12)


def test_as_many_entries_as_a_band_has_take_few_products() -> None:
    """A product for each of them would take hours, the whole matrix 320 GB."""
    x, steps = np.linspace(0.0, 1.0, 200_000), np.arange(200_000 - 1)
    matrix = primad.hessian(chain)(x)
    np.testing.assert_allclose(matrix[steps, steps + 1], -400 * x[:-1], rtol=1e-12)
    assert not np.any(matrix[steps[:-1], steps[:-1] + 2]) and matrix.coloring().directions <= 3
