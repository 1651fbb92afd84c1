"""What caches keep: so many values, so many bytes, or a few large ones; and room for one that is being made."""

from __future__ import annotations

import numpy as np
import scipy.sparse

import primad
import primad.scipy.sparse.linalg
from primad.implicit import equations
from primad.runtime.cache import Cache
from primad.scipy import sparse


def _names(cache: Cache) -> list[str]:
    return [key for key, _ in cache.items()]


def test_a_few_values_stay_however_much_they_hold() -> None:
    for fewest in (1, 2, 4):
        cache = Cache(8, maxbytes=100, fewest=fewest)
        for name in "abcdef":
            cache.put(name, np.zeros(50))
        assert _names(cache) == list("abcdef")[-fewest:]
        assert cache.held == 400 * fewest


def test_what_is_made_finds_the_room_of_what_it_takes_the_place_of() -> None:
    cache = Cache(8, maxbytes=100, fewest=2)
    held: list[list[str]] = []

    def make() -> np.ndarray:
        held.append(_names(cache))
        return np.zeros(50)

    for name in "abcb":
        cache.get(name, make)
    assert held == [[], ["a"], ["b"]]  # and "b" is there


def test_small_values_are_kept_while_another_is_made() -> None:
    cache = Cache(3, maxbytes=10_000, fewest=1)
    for name in "abcd":
        cache.get(name, lambda: np.zeros(2))
    assert _names(cache) == ["b", "c", "d"]


def test_an_optimiser_holds_the_factors_of_no_more_than_two_large_matrices(monkeypatch) -> None:
    small = Cache(16, maxbytes=1000, fewest=2)
    monkeypatch.setattr("primad.implicit.sparse_systems.FACTORS", small)
    n = 60
    band = scipy.sparse.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsc()

    def work(k):
        A = sparse.csc_array((k * band.data, band.indices, band.indptr), shape=band.shape)
        return np.sum(sparse.linalg.spsolve(A, np.ones(n)))

    slopes = [primad.grad(work)(k) for k in (1.0, 2.0, 4.0, 8.0)]
    np.testing.assert_allclose(slopes, [slopes[0] / k**2 for k in (1.0, 2.0, 4.0, 8.0)], rtol=1e-12)
    assert len(small) == 2 and small.held > 2 * band.nnz * band.data.itemsize  # the matrices count, too
    assert equations.FACTORS.fewest == 2
