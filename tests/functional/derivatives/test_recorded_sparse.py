"""Sparse matrices of derivatives inside of jit, grad and vmap, and into arrays that are there."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import primad
from primad.scipy.sparse import linalg
from tests.programs.sparsity.test_sparse_patterns import SCALARS, TIGHT, X

FORMATS = ("csr", "csc", "coo", "dia", "bsr")


def vectors(x: Any) -> Any:
    return np.append(x[2:] * x[:-2] - x[1:-1] ** 2, np.sum(x**3))


@pytest.mark.parametrize("name", ["a stencil", "a dense row and column", "cells added", "a loop", "nothing", "no rows"])
def test_a_jitted_function_gives_scipys_array(name: str) -> None:
    f = TIGHT[name]
    given = primad.jit(lambda x: primad.jacobian(f)(x).sparse("csc"))
    for x in (X, 2 * X):
        found, J = given(x), primad.jacobian(f)(x)
        assert isinstance(found, sparse.csc_array)
        np.testing.assert_allclose(found.toarray(), np.asarray(J), rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(found.indices, J.sparse("csc").indices)
    found.indices[:] = 0  # what is given does not change what is kept
    np.testing.assert_allclose(given(x).toarray(), np.asarray(J), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_have_the_dtype_with_jit_that_they_have_without(dtype: Any) -> None:
    """Also where rows of products have the argument's, and the result has another."""
    for other in (np.float32, np.float64):
        J = primad.jacobian(lambda x, other=other: np.sum(x.reshape(6, 10) ** 2, 1) * np.ones(6, other))
        x = np.arange(60, dtype=dtype)
        assert primad.jit(lambda x, J=J: J(x).sparse())(x).dtype == J(x).sparse().dtype == np.asarray(J(x)).dtype


@pytest.mark.parametrize("format", FORMATS[:3])
def test_indices_are_as_short_with_jit_as_without(format: str) -> None:
    J = primad.jacobian(vectors)
    for found in (J(X).sparse(format), primad.jit(lambda x: J(x).sparse(format))(X)):
        places = found.coords if format == "coo" else (found.indices, found.indptr)
        assert {x.dtype for x in places} == {np.dtype(np.int32)}


@pytest.mark.parametrize("name", ["Rosenbrock", "an arrow", "points", "linear"])
def test_recorded_hessians_are_the_dense_ones(name: str) -> None:
    H = primad.hessian(SCALARS[name])(X)
    for format in FORMATS:
        found = primad.jit(lambda x, format=format: primad.hessian(SCALARS[name])(x).sparse(format))(X)
        assert found.format == format
        np.testing.assert_allclose(found.toarray(), np.asarray(H), rtol=1e-12, atol=1e-13)
    asked = primad.jit(lambda x: x * primad.hessian(SCALARS[name])(x).coloring().directions)(X)
    np.testing.assert_array_equal(asked, X * H.coloring().directions)


def test_stacks_of_matrices_have_an_axis_more() -> None:
    rows = np.stack([X, 2 * X, X[::-1]])
    wanted = np.stack([np.asarray(primad.jacobian(vectors)(x)) for x in rows])
    mapped = primad.vmap(lambda x: primad.jacobian(vectors)(x).sparse())
    for way in (mapped, primad.jit(mapped)):
        np.testing.assert_allclose(way(rows).toarray(), wanted, rtol=1e-12)
    inner = primad.vmap(lambda x: primad.jacobian(vectors)(x).sparse() @ np.arange(12.0))(rows)
    np.testing.assert_allclose(inner, wanted @ np.arange(12.0), rtol=1e-12)
    with pytest.raises(primad.ShapeError, match="a stack of sparse arrays"):
        primad.jit(lambda rows: mapped(rows) @ X)(rows)


def test_entries_are_differentiated() -> None:
    def energy(x: Any, sparsely: bool) -> Any:
        J = primad.jacobian(vectors)(x)
        return np.sum(((J.sparse() if sparsely else J) @ np.sin(x)) ** 2)

    ways = [primad.grad(lambda x, s=s: energy(x, s)) for s in (True, False)]
    np.testing.assert_allclose(ways[0](X), ways[1](X), rtol=1e-12)
    np.testing.assert_allclose(*[np.asarray(primad.jacobian(way)(X)) for way in ways], rtol=1e-9, atol=1e-10)
    kept = primad.jit(lambda x: primad.jacobian(vectors)(x).T.sparse())(X)
    np.testing.assert_allclose(kept.toarray(), np.asarray(primad.jacobian(vectors)(X)).T, rtol=1e-12)


def test_newtons_method_is_one_program() -> None:
    def residual(u: Any, load: Any) -> Any:
        return 2 * u - np.pad(u, 1)[2:] - np.pad(u, 1)[:-2] + u**3 - load

    @primad.jit
    def solved(load: Any) -> Any:
        u = np.ones(12)
        for _ in range(9):
            u = u - linalg.spsolve(primad.jacobian(residual)(u, load).sparse("csc"), residual(u, load))
        return u

    np.testing.assert_allclose(residual(solved(X), X), 0, atol=1e-13)
    slope = primad.jacobian(solved)(X)[...]
    inverse = np.linalg.inv(np.asarray(primad.jacobian(residual)(solved(X), X)))
    np.testing.assert_allclose(slope, inverse, rtol=1e-9, atol=1e-12)


def test_captured_indices_are_told_apart_and_traced_ones_are_not_known() -> None:
    def taken(x: Any, indices: Any) -> Any:
        return x[indices] ** 2

    for _ in range(2):  # whichever is asked first
        for indices in (np.array([0, 1, 2]), np.array([3, 3, 1])):
            wanted = np.asarray(primad.jacobian(taken)(X, indices))
            closed = primad.jit(lambda x, i=indices: primad.jacobian(lambda x: taken(x, i))(x).sparse())(X)
            given = primad.jit(lambda x, i: primad.jacobian(taken)(x, i).sparse())(X, indices)
            for found in (closed, given):
                np.testing.assert_allclose(found.toarray(), wanted)
            assert closed.nnz == 3 and given.nnz == 36
            assert primad.jacobian(taken)(X, indices).sparse().nnz == 3


@pytest.mark.parametrize("format", FORMATS)
def test_entries_are_written_into_an_array_that_is_there(format: str) -> None:
    for matrix, f in ((primad.jacobian, vectors), (primad.hessian, SCALARS["Rosenbrock"])):
        out = matrix(f)(X).sparse(format)
        data = out.data
        for x in (2 * X, np.sin(X)):
            assert matrix(f)(x).sparse(out=out) is out and out.data is data
            np.testing.assert_allclose(out.toarray(), np.asarray(matrix(f)(x)), rtol=1e-12, atol=1e-13)
    turned = primad.jacobian(vectors)(X).T.sparse(format)
    assert primad.jacobian(vectors)(2 * X).T.sparse(format, turned) is turned
    np.testing.assert_allclose(turned.toarray(), np.asarray(primad.jacobian(vectors)(2 * X)).T, rtol=1e-12)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("matrix", [primad.hessian, primad.jacobian])
def test_entries_are_written_without_another_array_for_them(format: str, matrix: Any) -> None:
    of = matrix(SCALARS["Rosenbrock"] if matrix is primad.hessian else lambda x: np.roll(x, 1) * x * np.roll(x, -1))
    x = np.linspace(0.0, 1.0, 50_000)
    out = of(x).sparse(format)
    of(x).sparse(out=out)
    tracemalloc.start()
    of(x).sparse(out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < out.data.nbytes  # the argument is copied, and places are compared


def test_arrays_that_do_not_fit_are_refused() -> None:
    J = primad.jacobian(vectors)(X)
    right = J.sparse()
    moved = right.copy()
    moved.indices[0] = 5
    still = right.copy()
    still.data.flags.writeable = False
    others = {
        "other places": moved, "are float32": right.astype(np.float32), "are float64": still,
        "of shape": right.T.tocsr(), "no sparse array": np.ones((11, 12)),
        "at other places": J.sparse("bsr").tobsr(blocksize=(1, 2)),
    }  # fmt: skip
    for says, other in others.items():
        with pytest.raises(primad.ShapeError, match=says):
            J.sparse(out=other)
    for given, format in ((right, "csc"), (J.sparse("dia"), "csr"), (right, "dia")):
        with pytest.raises(primad.ShapeError, match=f"in {given.format}"):
            J.sparse(format, given)
    shifted = J.sparse("dia")
    shifted.offsets = shifted.offsets + 1
    with pytest.raises(primad.ShapeError, match="other places"):
        J.sparse(out=shifted)
    with pytest.raises(primad.ShapeError, match="shape"):
        J.reshape(12, 11).sparse(out=right)


@pytest.mark.parametrize(("ask", "says"), [
    (lambda x: primad.jacobian(vectors)(x)[1:3].sparse(), "a part of a matrix"),
    (lambda x: primad.jacobian(vectors)(x).sparse(out=primad.jacobian(vectors)(X).sparse()), "leave out= out"),
    (lambda x: primad.jacobian(vectors)(x).sparse("lil"), "csr, csc"),
    (lambda x: (2 * primad.jacobian(vectors)(x)).sparse(), "primad.hessian"),
])  # fmt: skip
def test_what_is_refused_says_why(ask: Any, says: str) -> None:
    with pytest.raises((primad.PrimadError, AttributeError), match=says):
        primad.jit(ask)(X)
