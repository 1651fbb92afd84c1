"""Entries of lazy matrices at arrays of indices: those of the whole, by few products where it has a structure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import primad
from primad.functional.derivatives import lazy_arrays, listed_entries
from primad.functional.derivatives.recorded_jacobians import jacobian_of

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


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", MATRICES)
def test_entries_at_indices_are_numpys(name: str) -> None:
    whole = np.array(MATRICES[name]())
    for index in INDICES:
        found = MATRICES[name]()[index]
        assert found.shape == whole[index].shape and found.dtype == whole.dtype
        np.testing.assert_allclose(found, whole[index], rtol=1e-12, atol=1e-12)
    with pytest.raises((IndexError, primad.ShapeError)):
        MATRICES[name]()[np.arange(N + 1), np.arange(N + 1)]


@pytest.mark.one_in(2)
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


FULL = tuple(np.indices((4, 4)).reshape(2, -1))


@pytest.mark.parametrize(
    ("function", "few", "ops", "way"),
    [
        (np.sin, 16, 10.0, "whole"),  # as few entries as are not looked at one by one
        (np.sin, 4, 10.0, "rows"),  # in as few rows
        (np.sin, 3, 4 / 32, "colours"),  # four pairs in rows, and four products of 4 + 4 numbers
        (np.sin, 3, 3.9 / 32, "rows"),
        (np.cumprod, 3, 10.0, "rows"),  # as many colours as rows
    ],
)
def test_the_way_to_entries(function: Any, few: int, ops: float, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed_entries, "FEW", few)
    monkeypatch.setattr(listed_entries, "OPS_OF_ELEMENT", ops)
    found, x = [], X[:4]

    def noted(matrix: Any, form: Any, wanted: Any, size: Any) -> Any:
        class Form:
            pattern, coloring = form.pattern, form.coloring

            def sparse(self, *args: Any) -> Any:
                found.append("colours")
                return form.sparse(*args)

        value = listed_entries.entries(matrix, Form(), wanted, size)
        found.append("whole" if value is None else "rows")
        return value

    monkeypatch.setattr(lazy_arrays, "entries", noted)
    np.testing.assert_allclose(primad.jacobian(function)(x)[FULL], np.array(primad.jacobian(function)(x)).ravel())
    assert found[0] == way


@pytest.mark.parametrize(("share", "sparse"), [(0.25, True), (0.24, False), (0.0, False)])
def test_a_solvers_jacobian_is_sparse_up_to_a_share(share: float, sparse: bool) -> None:
    found = jacobian_of(np.sin, X[:4], False)(X[:4], share)
    assert scipy.sparse.issparse(found) == sparse
    np.testing.assert_allclose(found.toarray() if sparse else found, np.diag(np.cos(X[:4])), rtol=1e-14)


def test_large_matrices_show_numbers_and_rows_as_they_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, computed in ((16, True), (15, False)):
        monkeypatch.setattr(lazy_arrays, "SPARE_DOUBLES", limit)
        matrix = primad.jacobian(np.sin)(X[:4])
        rows = iter(matrix)
        with np.printoptions(threshold=3):
            assert ("not computed" in repr(matrix)) == (not computed)
        np.testing.assert_allclose(list(rows), np.diag(np.cos(X[:4])), rtol=1e-14)
        with np.printoptions(threshold=limit):
            assert ("computed" in repr(primad.jacobian(np.sin)(X[:4]))) == (not computed)
        assert isinstance(next(iter(np.asarray(matrix))), np.ndarray)
        monkeypatch.setattr(lazy_arrays.LazyMatrix, "__getitem__", None)
        assert len(list(matrix)) == 4  # computed, it is not asked for row by row
        monkeypatch.undo()


def test_what_no_lazy_product_has_is_asked_of_the_whole() -> None:
    matrix, x = primad.jacobian(np.sin)(X[:4]), X[:4]
    assert np.matmul(matrix, x, dtype=np.float32, casting="same_kind").dtype == np.float32
    with pytest.raises((TypeError, RuntimeError, ValueError)):
        np.matmul.reduce(matrix)
    with pytest.raises(ValueError, match="cannot reshape"):
        primad.jacobian(np.sum)(X[:1]).reshape(-1, -1)
    assert np.reshape(matrix, (2, 8), copy=True).shape == (2, 8)
    found = primad.grad(lambda y: np.sum(np.dot(matrix, y)))(x)
    np.testing.assert_allclose(found, np.cos(x), rtol=1e-14)


def test_entries_of_a_derivative_by_a_number() -> None:
    matrix = primad.jacobian(lambda t: np.sin(t * X))(2.0)
    np.testing.assert_allclose(matrix[(P,)], (X * np.cos(2.0 * X))[P], rtol=1e-14)
