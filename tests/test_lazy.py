"""Lazy Jacobians and Hessians behave as the dense arrays they stand for."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad

RNG = np.random.default_rng(5)
W = RNG.standard_normal((4, 3))
X = RNG.standard_normal(3)
V3, V4 = RNG.standard_normal(3), RNG.standard_normal(4)


def vector(x: Any) -> Any:
    return np.tanh(W @ x) * np.sum(x**2)


def scalar(x: Any) -> Any:
    return np.sum(np.sin(W @ x)) * x[0]


def matrix(x: Any) -> Any:
    return np.outer(np.sin(x), x[:2])


DENSE_J = np.asarray(primad.jacfwd(vector)(X))
DENSE_H = np.asarray(primad.jacfwd(primad.jacrev(scalar))(X))
DENSE_T = np.asarray(primad.jacfwd(primad.jacfwd(vector))(X))  # shape (4, 3, 3)
DENSE_M = np.asarray(primad.jacfwd(matrix)(X))  # shape (3, 2, 3)


def fresh(which: str) -> Any:
    return {
        "jacobian": lambda: primad.jacobian(vector)(X),
        "hessian": lambda: primad.hessian(scalar)(X),
        "hessian of a vector": lambda: primad.hessian(vector)(X),
        "jacobian of a matrix": lambda: primad.jacobian(matrix)(X),
    }[which]()


DENSE = {
    "jacobian": DENSE_J,
    "hessian": DENSE_H,
    "hessian of a vector": DENSE_T,
    "jacobian of a matrix": DENSE_M,
}


def close(a: Any, b: Any) -> None:
    assert np.shape(a) == np.shape(b)
    np.testing.assert_allclose(np.asarray(a), b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("which", DENSE)
def test_it_is_an_array(which: str) -> None:
    lazy, dense = fresh(which), DENSE[which]
    assert lazy.shape == dense.shape and lazy.ndim == dense.ndim and lazy.size == dense.size
    assert lazy.dtype == np.float64 and len(lazy) == len(dense)
    assert "not computed" in repr(lazy)
    close(lazy, dense)
    assert "not computed" not in repr(lazy)
    assert np.asarray(lazy, dtype=np.float32).dtype == np.float32
    close(fresh(which).T, dense.T)
    close(np.array(fresh(which)), dense)
    close([np.asarray(row) for row in fresh(which)], list(dense))


@pytest.mark.parametrize("which", DENSE)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_basic_indices(which: str, data: Any) -> None:
    dense = DENSE[which]
    index = data.draw(hnp.basic_indices(dense.shape, allow_newaxis=True, allow_ellipsis=True))
    close(fresh(which)[index], dense[index])


@pytest.mark.parametrize("which", DENSE)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(data=st.data())
def test_integer_array_indices(which: str, data: Any) -> None:
    dense = DENSE[which]
    index = data.draw(hnp.integer_array_indices(dense.shape))
    close(fresh(which)[index], dense[index])


def test_chosen_indices() -> None:
    close(fresh("jacobian")[::-1, ::-2], DENSE_J[::-1, ::-2])
    close(fresh("jacobian")[-1], DENSE_J[-1])
    close(fresh("jacobian")[:, -1], DENSE_J[:, -1])
    close(fresh("jacobian")[[0, 2]], DENSE_J[[0, 2]])
    close(fresh("jacobian")[[0, 2], [1, -1]], DENSE_J[[0, 2], [1, -1]])
    close(fresh("jacobian")[np.array([True, False, True, False])], DENSE_J[[0, 2]])
    close(fresh("jacobian")[DENSE_J > 0], DENSE_J[DENSE_J > 0])
    close(fresh("jacobian")[1:1], DENSE_J[1:1])
    close(fresh("jacobian")[..., None], DENSE_J[..., None])
    close(fresh("hessian")[0, 2], DENSE_H[0, 2])
    close(fresh("hessian")[1:, :2], DENSE_H[1:, :2])
    close(fresh("hessian of a vector")[2, 1], DENSE_T[2, 1])
    close(fresh("hessian of a vector")[1:3, ::2, 1], DENSE_T[1:3, ::2, 1])
    with pytest.raises(IndexError):
        fresh("jacobian")[4]
    with pytest.raises(IndexError):
        fresh("jacobian")[0, 0, 0]


def test_products() -> None:
    close(fresh("jacobian") @ V3, DENSE_J @ V3)
    close(V4 @ fresh("jacobian"), V4 @ DENSE_J)
    close(fresh("jacobian") @ RNG.standard_normal((3, 2)) * 0, np.zeros((4, 2)))
    b = RNG.standard_normal((3, 5))
    close(fresh("jacobian") @ b, DENSE_J @ b)
    close(b.T @ fresh("jacobian").T, b.T @ DENSE_J.T)
    close(fresh("jacobian").T @ fresh("jacobian"), DENSE_J.T @ DENSE_J)
    close(fresh("hessian") @ V3, DENSE_H @ V3)
    close(V3 @ fresh("hessian"), V3 @ DENSE_H)
    close(V3 @ fresh("hessian") @ V3, V3 @ DENSE_H @ V3)
    close(fresh("hessian") @ fresh("hessian"), DENSE_H @ DENSE_H)
    close(fresh("jacobian") @ fresh("hessian"), DENSE_J @ DENSE_H)
    close(fresh("hessian of a vector") @ V3, DENSE_T @ V3)
    close(np.dot(fresh("jacobian"), V3), DENSE_J @ V3)
    close(fresh("jacobian").dot(V3), DENSE_J @ V3)
    close(np.inner(fresh("hessian"), V3), np.inner(DENSE_H, V3))
    close(np.tensordot(fresh("jacobian of a matrix"), V3, 1), np.tensordot(DENSE_M, V3, 1))
    close(np.vdot(fresh("hessian"), DENSE_H), np.vdot(DENSE_H, DENSE_H))
    close(fresh("hessian") @ [1.0, 0.0, 0.0], DENSE_H[:, 0])


def test_einsum() -> None:
    close(np.einsum("ij,j->i", fresh("jacobian"), V3), DENSE_J @ V3)
    close(np.einsum("i,ij->j", V4, fresh("jacobian")), V4 @ DENSE_J)
    close(np.einsum("ij,i,j", fresh("hessian"), V3, V3), V3 @ DENSE_H @ V3)
    close(np.einsum("ii", fresh("hessian")), np.trace(DENSE_H))
    close(np.einsum("ii->i", fresh("hessian")), np.diag(DENSE_H))
    close(np.einsum("kij,j->ki", fresh("hessian of a vector"), V3), DENSE_T @ V3)
    close(np.einsum("kij,k->ij", fresh("hessian of a vector"), V4), np.einsum("kij,k->ij", DENSE_T, V4))
    close(np.einsum("kii->k", fresh("hessian of a vector")), np.trace(DENSE_T, axis1=1, axis2=2))
    close(np.einsum("abj,j->ba", fresh("jacobian of a matrix"), V3), np.einsum("abj,j->ba", DENSE_M, V3))


def test_trace_and_diagonal() -> None:
    close(np.trace(fresh("hessian")), np.trace(DENSE_H))
    close(fresh("hessian").trace(), np.trace(DENSE_H))
    close(np.diagonal(fresh("hessian")), np.diagonal(DENSE_H))
    close(fresh("hessian").diagonal(), np.diagonal(DENSE_H))
    close(np.diag(fresh("hessian")), np.diag(DENSE_H))
    close(np.diag(fresh("hessian"), 1), np.diag(DENSE_H, 1))
    close(np.trace(fresh("jacobian")), np.trace(DENSE_J))
    close(np.diagonal(fresh("jacobian")), np.diagonal(DENSE_J))
    close(np.trace(fresh("hessian of a vector"), axis1=1, axis2=2), np.trace(DENSE_T, axis1=1, axis2=2))
    close(np.diagonal(fresh("hessian of a vector"), 0, 1, 2), np.diagonal(DENSE_T, 0, 1, 2))
    close(np.trace(fresh("hessian of a vector")), np.trace(DENSE_T))


def test_arithmetic_and_functions() -> None:
    j = fresh("jacobian")
    close(j + 1, DENSE_J + 1)
    close(1 - j, 1 - DENSE_J)
    close(2 * fresh("jacobian") / 3, 2 * DENSE_J / 3)
    close(-fresh("jacobian"), -DENSE_J)
    close(j + j, 2 * DENSE_J)
    close(j**2, DENSE_J**2)
    close(DENSE_J + fresh("jacobian"), 2 * DENSE_J)
    close(np.exp(fresh("jacobian")), np.exp(DENSE_J))
    close(np.linalg.norm(fresh("jacobian")), np.linalg.norm(DENSE_J))
    close(np.linalg.solve(fresh("hessian"), V3), np.linalg.solve(DENSE_H, V3))
    close(np.linalg.eigvalsh(fresh("hessian")), np.linalg.eigvalsh(DENSE_H))
    close(np.concatenate([fresh("hessian"), fresh("jacobian")]), np.concatenate([DENSE_H, DENSE_J]))
    close(np.sum(fresh("jacobian"), axis=0), DENSE_J.sum(0))
    close(fresh("jacobian").sum(), DENSE_J.sum())
    close(fresh("jacobian").mean(axis=1), DENSE_J.mean(1))
    close(fresh("jacobian").reshape(-1), DENSE_J.reshape(-1))
    close(fresh("jacobian").tolist(), DENSE_J.tolist())
    assert np.all(fresh("hessian") == fresh("hessian"))
    assert (fresh("jacobian") > 0).dtype == bool
    assert np.allclose(fresh("jacobian"), DENSE_J)


def test_scalars() -> None:
    j = primad.jacobian(np.sin)(0.5)
    assert j.shape == () and float(j) == np.cos(0.5)
    assert float(primad.hessian(np.sin)(0.5)) == pytest.approx(-np.sin(0.5))
    assert bool(primad.jacobian(np.sin)(0.5))
    with pytest.raises(TypeError):
        len(j)


def test_modes_agree() -> None:
    for mode in ("forward", "reverse", "auto"):
        close(primad.jacobian(vector, mode=mode)(X), DENSE_J)
    close(primad.jacobian(matrix, mode="reverse")(X), DENSE_M)


def test_trees_of_blocks() -> None:
    def f(p: Any, z: Any) -> Any:
        return {"out": p["a"] * z[0], "sum": np.sum(p["a"]) * p["b"]}

    p, z = {"a": np.array([1.0, 2.0]), "b": 3.0}, np.array([5.0, 7.0])
    j = primad.jacobian(f, argnums=(0, 1))(p, z)
    close(j["out"][0]["a"], 5 * np.eye(2))
    close(j["out"][0]["b"], np.zeros(2))
    close(j["out"][1], np.array([[1.0, 0.0], [2.0, 0.0]]))
    close(j["sum"][0]["a"], np.array([3.0, 3.0]))
    assert float(j["sum"][0]["b"]) == 3.0
    h = primad.hessian(lambda p: np.sum(p["a"] ** 2) * p["b"])(p)
    close(h["a"]["a"], 6 * np.eye(2))
    close(h["a"]["b"], 2 * p["a"])
    close(h["b"]["a"], 2 * p["a"])
    close(h["a"]["b"] * 1.0, np.asarray(h["b"]["a"]))


def test_inside_other_transforms() -> None:
    close(primad.vmap(primad.jacobian(vector))(np.stack([X, 2 * X]))[0], DENSE_J)
    close(primad.jit(lambda x: primad.hessian(scalar)(x)[0])(X), DENSE_H[0])
    close(primad.jit(lambda x: primad.jacobian(vector)(x) @ V3)(X), DENSE_J @ V3)
    close(primad.jacfwd(lambda x: primad.jacobian(vector)(x) @ V3)(X), DENSE_T @ V3)
    close(primad.grad(lambda x: np.sum(primad.jacobian(vector)(x)[1:, 0]))(X), DENSE_T[1:, 0].sum(0))
    close(primad.grad(lambda x: np.trace(primad.hessian(scalar)(x)))(X), primad.grad(primad.laplacian(scalar))(X))
    batched = primad.vmap(lambda x: primad.hessian(scalar)(x)[0, 1])(np.stack([X, X]))
    close(batched, np.full(2, DENSE_H[0, 1]))


def test_lazy_matrix_is_an_argument() -> None:
    close(primad.grad(lambda m: np.sum(m**2))(fresh("jacobian")), 2 * DENSE_J)
    close(primad.jit(lambda x: primad.jacobian(vector)(X) @ x)(V3), DENSE_J @ V3)
    close(primad.grad(lambda x: np.sum(fresh("hessian") @ x))(V3), DENSE_H.sum(0))
    close(primad.grad(lambda x: np.sum(fresh("hessian") * x))(V3), DENSE_H.sum(0))


def test_mixed_dtypes() -> None:
    x = X.astype(np.float32)
    j = primad.jacobian(vector)(x)  # W is float64, so the result is
    assert j.dtype == np.float64
    for mode in ("forward", "reverse"):
        dense = primad.jacobian(vector, mode=mode)(x)
        assert np.asarray(dense).dtype == np.float64
        np.testing.assert_allclose(np.asarray(dense), DENSE_J, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(j @ V3, DENSE_J @ V3, rtol=1e-5)
    np.testing.assert_allclose(V4 @ primad.jacobian(vector)(x), V4 @ DENSE_J, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(primad.hessian(scalar)(x) @ V3, DENSE_H @ V3, rtol=1e-4)


def test_empty() -> None:
    assert primad.jacobian(lambda x: x[:0])(X).shape == (0, 3)
    assert np.asarray(primad.jacobian(lambda x: x[:0])(X)).shape == (0, 3)
    assert np.asarray(primad.hessian(lambda x: np.sum(x**2))(np.ones(0))).shape == (0, 0)
