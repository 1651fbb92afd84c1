"""Factors of sparse matrices solve, and have few entries where the order can be that of a symmetric matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu

import primad
from primad import implicit, scipy
from primad.implicit import equations, sparse_orders, sparse_systems
from primad.implicit.equations import FACTORS
from primad.implicit.matrix_factors import MatrixFactors
from primad.implicit.sparse_orders import sparse_factors
from primad.runtime.cache import Cache

RNG = np.random.default_rng(0)


def grid(n: int, lean: float = 0.0) -> Any:
    line = sparse.diags_array(
        [np.full(n - 1, -1.0 - lean), np.full(n, 2.1 + lean), np.full(n - 1, -1.0)], offsets=[-1, 0, 1]
    )
    return sparse.kron(line, sparse.eye_array(n)) + sparse.kron(sparse.eye_array(n), line)


def drawn(n: int) -> Any:
    return sparse.random_array((n, n), density=4 / n, rng=RNG)


def saddle(n: int) -> Any:
    rows = sparse.eye_array(20, n) + sparse.eye_array(20, n, k=1)
    return sparse.block_array([[sparse.diags_array(np.arange(1.0, n + 1)), rows.T], [rows, None]])


MATRICES = {
    "a grid": (grid(20), True),
    "a grid with wind": (grid(20, 3.0), True),
    "complex": (grid(12) + 1j * sparse.eye_array(144), True),
    "single precision": (grid(12).astype(np.float32), True),
    "an element more": (grid(12) + sparse.coo_array(([1.0], ([3], [100])), (144, 144)), True),
    "small on the diagonal": (grid(12) - (4.2 - 1e-9) * sparse.eye_array(144) + sparse.eye_array(144, k=3), False),
    "rows in another order": (sparse.csr_array(grid(12))[RNG.permutation(144)], False),
    "drawn": (drawn(200) + 3 * sparse.eye_array(200), False),
    "a saddle": (saddle(100), False),
    "upper triangle": (sparse.triu(grid(12)), False),
}


@pytest.mark.parametrize("name", MATRICES)
def test_factors_solve(name: str) -> None:
    matrix, _ = MATRICES[name]
    found, dense = MatrixFactors(matrix), matrix.toarray()
    wanted = RNG.normal(size=len(dense)).astype(dense.dtype)
    near = 1e-3 if dense.dtype == np.float32 else 1e-7
    np.testing.assert_allclose(found.solve(dense @ wanted), wanted, rtol=near, atol=near)
    np.testing.assert_allclose(found.solve(dense.T @ wanted, transposed=True), wanted, rtol=near, atol=near)
    csc = sparse.csc_array(matrix)
    assert found.held_bytes >= 2 * csc.data.nbytes


@pytest.mark.parametrize("name", MATRICES)
def test_mirrored_places_are_ordered_as_those_of_a_symmetric_matrix(name: str) -> None:
    matrix, mirrored = MATRICES[name]
    ours, scipys = sparse_factors(matrix), splu(matrix.tocsc())
    if mirrored:
        assert ours.nnz < scipys.nnz
    elif name != "small on the diagonal":
        assert ours.nnz == scipys.nnz


def test_singular_matrices_are_refused() -> None:
    for matrix in (sparse.csc_array(np.ones((3, 3))), sparse.csc_array((3, 3)), np.ones((3, 3)) * 0):
        with pytest.raises(np.linalg.LinAlgError):
            MatrixFactors(matrix)


@pytest.mark.parametrize("name", [name for name, (_, mirrored) in MATRICES.items() if mirrored])
def test_the_order_of_a_pattern_is_found_once_and_changes_no_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another matrix of the pattern came before, or none; its numbers do not matter, nor do zeros among its entries."""
    matrix = sparse.csc_array(MATRICES[name][0])
    b = np.ones(matrix.shape[0], matrix.dtype)
    other = sparse.csc_array((matrix.data * 3, matrix.indices, matrix.indptr), matrix.shape)
    other[1, 0] = 0.0
    found = []
    for first in (matrix, other):
        monkeypatch.setattr(sparse_orders, "ORDERS", Cache(16))
        sparse_factors(first)
        found.append(sparse_factors(matrix).solve(b))
        assert len(sparse_orders.ORDERS) == 1
    np.testing.assert_array_equal(*found)
    sparse_factors(matrix + sparse.eye_array(len(b), k=4))
    assert len(sparse_orders.ORDERS) == 2


def test_factors_of_badly_scaled_matrices_are_those_of_close_ones() -> None:
    """Pivots are taken off the diagonal where that is small, so that no elements grow."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        half = sparse.random_array((100, 100), density=0.03, rng=rng)
        matrix = sparse.csc_array(half + half.T + 1e-8 * sparse.eye_array(100))
        matrix.data *= 10.0 ** rng.uniform(-8, 0, matrix.nnz) * rng.choice([-1, 1], matrix.nnz)
        b = rng.normal(size=100)
        x = sparse_factors(matrix).solve(b)
        assert np.abs(matrix @ x - b).max() < 1e-12 * (abs(matrix) @ np.abs(x) + np.abs(b)).max()


@pytest.mark.parametrize("kind", ["sparse", "dense", "iterated"])
def test_kept_factors_are_bounded_by_bytes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large they are: the latest stay that fit, or the last two alone."""
    n, solved = 300, []
    for few in (True, False):
        kept = Cache(16, 1 if few else 10_000_000, FACTORS.fewest)
        for module in (equations, sparse_systems):
            monkeypatch.setattr(module, "FACTORS", kept)

        def energy(k: Any) -> Any:
            if kind == "dense":
                return np.sum(implicit.root(lambda x: k * (x + x**3) - 0.1 * np.mean(x) - 1.0, np.full(20, 0.5)))
            matrix = scipy.sparse.diags_array([-k, 3 * k, -k], offsets=[-1, 0, 1], shape=(n, n)).tocsc()
            solve = scipy.sparse.linalg.cg if kind == "iterated" else scipy.sparse.linalg.spsolve
            found = solve(matrix, np.ones(n))
            return np.sum(found[0] if kind == "iterated" else found)

        solved.append([primad.grad(energy)(k) for k in np.linspace(1.0, 2.0, 6)])
        assert len(kept) == FACTORS.fewest if few else len(kept) >= 6
    np.testing.assert_allclose(*solved, rtol=1e-12)
