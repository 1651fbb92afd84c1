"""Products with SciPy's sparse arrays are those with the dense ones, and so are their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import primad
import primad.numpy as pnp
from primad import implicit
from primad.numpy.linalg.sparse_places import SparsePlaces

RNG = np.random.default_rng(0)
A = sparse.random_array((5, 7), density=0.4, rng=RNG)
FORMS = [getattr(A, f"to{name}")() for name in ("csr", "csc", "coo", "lil", "dia", "dok", "bsr")]
FORMS += [sparse.csr_matrix(A), sparse.csr_array((5, 7)), sparse.coo_array(([1.0, 2.0], ([0, 0], [3, 3])), (5, 7))]
X, Y = RNG.normal(size=7), RNG.normal(size=5)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("matrix", FORMS, ids=lambda x: type(x).__name__)
def test_products_are_those_of_the_dense_matrix(matrix: Any) -> None:
    dense = matrix.toarray()
    ways = {
        "with a vector": (lambda m, x: m @ np.sin(x), X),
        "of a vector": (lambda m, y: np.sin(y) @ m, Y),
        "transposed": (lambda m, y: m.T @ y**2, Y),
        "with a matrix": (lambda m, x: m @ np.stack([x, x**2], axis=1), X),
        "of a matrix": (lambda m, y: np.stack([y, y**2]) @ m, Y),
        "dot": (lambda m, x: m.dot(x * 2) if hasattr(m, "indptr") else m @ (x * 2), X),
    }
    for way, x in ways.values():
        np.testing.assert_allclose(primad.jit(lambda x, f=way: f(matrix, x))(x), way(dense, x), atol=1e-14)
        found, wanted = (primad.jacobian(lambda x, m=m, f=way: f(m, x))(x) for m in (matrix, dense))
        np.testing.assert_allclose(found[...], wanted[...], atol=1e-14)
        np.testing.assert_array_equal(found.pattern().toarray() | (wanted[...].reshape(found.pattern().shape) != 0),
                                      found.pattern().toarray())  # fmt: skip
    J = primad.jacobian(lambda x: matrix @ np.sin(x))(X)
    np.testing.assert_array_equal(J.pattern().toarray(), dense != 0)


def test_places_are_told_apart_by_all_that_they_are_made_of() -> None:
    each = [SparsePlaces(*given) for given in (
        ([0, 1], [1, 0], (2, 2), "csr"), ([0, 1], [1, 0], (2, 2), "coo"), ([0, 1], [1, 0], (2, 3), "csr"),
        ([0, 1], [1, 1], (2, 2), "csr"), ([1, 1], [1, 0], (2, 2), "csr"),
    )]  # fmt: skip
    assert len(set(each)) == len(each)


def test_what_does_not_fit_is_refused() -> None:
    for wrong in (lambda x: A @ x[1:], lambda x: A @ x[0], lambda x: A @ x.reshape(7, 1, 1)):
        with pytest.raises((primad.PrimadError, ValueError)):
            primad.grad(lambda x, f=wrong: np.sum(f(x)))(X)
    assert (primad.jit(lambda x: A.astype(np.float32) @ x)(X.astype(np.float32))).dtype == np.float32


def test_sparse_systems_have_derivatives_in_the_right_side_and_in_the_entries() -> None:
    n = 300
    base = sparse.diags_array([np.full(n, 4.0), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1]).tocsr()
    rows, columns = base.tocoo().coords
    b = np.sin(np.arange(n))

    def solved(entries: Any, b: Any) -> Any:
        def times(x: Any, entries: Any) -> Any:
            return pnp.add_at(np.zeros(n), rows, entries * x[columns])

        return np.sum(implicit.linear_solve(times, b, entries) ** 2)

    slope, right = primad.grad(solved, (0, 1))(base.tocoo().data, b)
    x = sparse.linalg.spsolve(base.tocsc(), b)
    adjoint = sparse.linalg.spsolve(base.T.tocsc(), 2 * x)
    np.testing.assert_allclose(right, adjoint, rtol=1e-12)
    np.testing.assert_allclose(slope, -adjoint[rows] * x[columns], rtol=1e-12, atol=1e-15)
    fixed = primad.grad(lambda b: np.sum(implicit.linear_solve(lambda x: base @ x, b) ** 2))(b)
    np.testing.assert_allclose(fixed, adjoint, rtol=1e-12)
