"""Lazy Jacobians and Hessians behave as the dense arrays they stand for."""

from __future__ import annotations

import copy
import gc
import inspect
import tracemalloc
from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import linalg as sparse

import primad
from primad.functional.derivatives.lazy_arrays import LazyMatrix
from primad.runtime.plan import memory_limit
from primad.runtime.plan.interpreter import Plan
from primad.runtime.tiling import tiled_plan
from primad.system import machine

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
    close(lazy, dense)
    assert np.asarray(lazy, dtype=np.float32).dtype == np.float32
    close(fresh(which).T, dense.T)
    close(np.array(fresh(which)), dense)
    close([np.asarray(row) for row in fresh(which)], list(dense))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("which", DENSE)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_basic_indices(which: str, data: Any) -> None:
    dense = DENSE[which]
    index = data.draw(hnp.basic_indices(dense.shape, allow_newaxis=True, allow_ellipsis=True))
    close(fresh(which)[index], dense[index])


@pytest.mark.one_in(2)
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


@primad.custom_vjp
def ruled(x: Any) -> Any:
    return np.sin(x)


ruled.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(x),))
SHAPES = ((), (1,), (3,), (12,))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("results", SHAPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_pullback_is_enough_for_all_that_a_matrix_is_asked(shape: Any, results: Any) -> None:
    """A function with `custom_vjp` has the matrices, and the parts and products of them, of the function itself."""
    rng = np.random.default_rng(0)
    x, mix = rng.normal(size=shape), rng.normal(size=(*results, *shape))

    def made_of(inner: Any) -> Any:
        return lambda x: np.sum((mix * inner(x) * inner(2.0 * x)).reshape(*results, -1), axis=-1)

    along, back = rng.normal(size=shape), rng.normal(size=results)
    questions = [
        lambda f: np.array(primad.jacobian(f)(x)),
        lambda f: np.array(primad.jacobian(primad.jit(f), mode="reverse")(x)),
        lambda f: np.tensordot(primad.jacobian(f)(x), along, len(shape)),
        lambda f: np.tensordot(back, primad.jacobian(f)(x), len(results)),
        lambda f: np.array(primad.hessian(f)(x)),
        lambda f: np.tensordot(primad.hessian(f)(x), along, len(shape)),
        lambda f: primad.vmap(primad.jacobian(f))(x[None]),
    ]
    if len(shape) == 1:
        questions.append(lambda f: np.trace(primad.hessian(f)(x), axis1=-2, axis2=-1))
        questions.append(lambda f: np.diagonal(primad.hessian(f)(x), axis1=-2, axis2=-1))
    for question in questions:
        close(question(made_of(ruled)), np.array(question(made_of(np.sin))))
    with pytest.raises(primad.NotDifferentiableError, match="forward mode through ruled"):
        primad.jacfwd(made_of(ruled))(x)


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


# -- looking computes nothing ------------------------------------------------------------------------------------------

MANY = 200_000


def looks() -> dict[str, Callable[[Any], Any]]:
    """Return ways in which notebooks, editors and Python look at objects."""

    def every_attribute(lazy: Any) -> None:
        for name in {*dir(lazy), *dir(np.ndarray), "_repr_html_", "_repr_mimebundle_", "_ipython_display_", "mispelt"}:
            getattr(lazy, name, None)

    return {
        "repr": repr,
        "str": str,
        "format": lambda lazy: f"{lazy}",
        "attributes": every_attribute,
        "inspect": lambda lazy: inspect.getmembers(lazy),
        "hasattr": lambda lazy: [hasattr(lazy, name) for name in ("toarray", "sparse", "numpy", "__array_interface__")],
        "copy": lambda lazy: (copy.copy(lazy), copy.deepcopy([lazy])),
        "sizes": lambda lazy: (lazy.shape, lazy.size, lazy.nbytes, lazy.ndim, lazy.dtype, len(lazy)),
        "transposed": lambda lazy: repr(lazy.T),
        "linear operator": sparse.aslinearoperator,
    }


@pytest.mark.parametrize("look", looks())
@pytest.mark.parametrize("make", [primad.hessian, lambda f: primad.jacobian(primad.grad(f))], ids=["H", "J"])
def test_looking_at_a_derivative_computes_nothing(make: Any, look: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = make(lambda x: np.sum(np.sin(x)) ** 2)(np.ones(MANY))
    monkeypatch.setattr(LazyMatrix, "apply", None)
    monkeypatch.setattr(LazyMatrix, "__array__", None)
    looks()[look](lazy)
    assert "not computed" in repr(lazy)


@pytest.mark.parametrize("which", DENSE)
def test_a_small_one_shows_its_numbers(which: str) -> None:
    lazy = fresh(which)
    assert f"{lazy.dtype}[{','.join(map(str, lazy.shape))}]" in repr(lazy) and str(DENSE[which]) in repr(lazy)


def test_showing_a_small_one_that_has_no_values_does_not_fail() -> None:
    lazy = primad.jacobian(lambda x: np.linalg.inv(x))(np.zeros((2, 2)))
    assert "not computed" in repr(lazy)


# -- parts of those that fit nowhere -----------------------------------------------------------------------------------

N = 10**6


@pytest.mark.one_in(2)
@pytest.mark.parametrize("place", [0, 1, N // 2, N - 1])
def test_parts_of_matrices_of_a_million_rows(place: int) -> None:
    """No identity of all rows is made for an entry, a row, a column or a block."""
    rows = slice(max(place - 1, 0), place + 2)
    x = np.linspace(0.1, 1.0, N)
    valley = primad.hessian(lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))(x)
    ring = primad.jacobian(lambda x: np.sin(x) * np.roll(x, 1))(x)
    curve = np.zeros(N)
    curve[:-1] += 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    curve[1:] += 200
    before = (place - 1) % N
    of_valley = {place: curve[place], place - 1: -400 * x[place - 1], place + 1: -400 * x[place]}
    of_ring = {place: np.cos(x[place]) * x[before], before: np.sin(x[place])}
    for matrix, wanted in ((valley, {j: v for j, v in of_valley.items() if 0 <= j < N}), (ring, of_ring)):
        row = np.zeros(N)
        row[list(wanted)] = list(wanted.values())
        close(matrix[place], row)
        close(matrix[place, place], row[place])
        close(matrix[place, before], row[before])
        close(matrix[place, rows], row[rows])
        close(matrix[rows, place][place - rows.start], row[place])
        close(matrix[:, place][place], row[place])


def test_an_unknown_attribute_is_an_attribute_error_with_a_suggestion() -> None:
    for lazy in (fresh("jacobian"), fresh("hessian"), fresh("jacobian").T):
        with pytest.raises(AttributeError, match=r"no attribute 'diagonl'(?s:.)*did you mean diagonal") as caught:
            lazy.diagonl  # noqa: B018
        assert isinstance(caught.value, primad.PrimadError)
        with pytest.raises(AttributeError, match=r"np.asarray\(H\).flat"):
            lazy.flat  # noqa: B018
        with pytest.raises(AttributeError, match=r"change a copy: np.array\(H\)"):
            lazy.fill(0.0)


def test_it_is_computed_once_and_shared_read_only() -> None:
    lazy = fresh("hessian")
    whole = np.asarray(lazy)
    assert np.shares_memory(whole, np.asarray(lazy)) and not whole.flags.writeable
    mine = np.array(lazy)
    mine[0] = 0.0
    close(lazy, DENSE_H)
    for transposed in (fresh("jacobian").T, fresh("jacobian of a matrix").T):
        close(transposed, np.asarray(transposed.T).T)
        assert np.shares_memory(np.asarray(transposed), np.asarray(transposed.T))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_the_whole_takes_the_memory_that_its_plan_says_and_no_more(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = primad.jacobian(lambda x: [np.sum(x), np.tanh(x) * np.sum(x)], mode=mode)(np.ones(1003))[1]
    said = []
    monkeypatch.setattr(tiled_plan, "check_memory", lambda plan: said.append(plan.peak_bytes))
    gc.collect()  # what other tests left behind counts neither way
    tracemalloc.start()
    try:
        np.asarray(lazy)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert lazy.nbytes <= said[0] and peak < said[0] + 0.2 * lazy.nbytes


def test_a_whole_that_does_not_fit_is_refused_before_it_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = primad.jacobian(lambda x: [np.sum(x), np.tanh(x) * np.sum(x)])(np.ones(1001))[1]
    monkeypatch.setattr(memory_limit, "physical_memory", lambda: lazy.nbytes - 1)
    with pytest.raises(primad.MemoryLimitError, match="MB for its arrays"):
        np.asarray(lazy)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("ask", [np.asarray, lambda m: 2 * m, np.linalg.norm, lambda m: np.asarray(m.T)])
@pytest.mark.parametrize("name", ["H", "J"])
def test_a_whole_that_does_not_fit_names_parts_that_do(name: str, ask: Callable[[Any], Any]) -> None:
    x = np.ones(10**6)
    whole = primad.hessian(lambda x: np.sum(x**3)) if name == "H" else primad.jacobian(lambda x: x**3)
    with pytest.raises(primad.MemoryLimitError) as caught:
        ask(whole(x))
    fix = str(caught.value).partition("Fix: ")[2]
    expected = 6.0 if name == "H" else 3.0
    for part in ("{} @ v", "v @ {}", "{}[i]", "np.diag({})"):
        assert part.format(name) in fix
        found = eval(part.format(name), {"np": np, name: whole(x), "v": x, "i": 5})
        assert found.shape == x.shape and found[5] == expected
    assert f"{name}.sparse()" in fix and whole(x).sparse().nnz == x.size
    assert "inside the function" not in fix and __file__ in str(caught.value)


def test_a_containers_limit_counts(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [tmp_path / name for name in ("memory.max", "limit_in_bytes", "none")]
    names[0].write_text("max\n")
    names[1].write_text("1000\n")
    monkeypatch.setattr(machine, "CONTAINER_LIMITS", tuple(map(str, names)))
    assert machine.physical_memory.__wrapped__() == 1000


# -- SciPy's iterative solvers -----------------------------------------------------------------------------------------


def solvers() -> dict[str, Callable[[Any, Any], Any]]:
    """Return what SciPy does with a symmetric positive definite operator, as numbers that do not depend on signs."""
    return {
        "cg": lambda a, b: sparse.cg(a, b, rtol=1e-12)[0],
        "gmres": lambda a, b: sparse.gmres(a, b, rtol=1e-12)[0],
        "lsqr": lambda a, b: sparse.lsqr(a, b, atol=1e-13, btol=1e-13, iter_lim=200)[0],
        "lsmr": lambda a, b: sparse.lsmr(a, b, atol=1e-13, btol=1e-13, maxiter=200)[0],
        "eigsh": lambda a, b: np.sort(sparse.eigsh(a, k=3, v0=b)[0]),
        "svds": lambda a, b: np.sort(sparse.svds(a, k=3, v0=b)[1]),
        "matvec": lambda a, b: sparse.aslinearoperator(a).matvec(b),
        "rmatvec": lambda a, b: sparse.aslinearoperator(a).rmatvec(b),
        "matmat": lambda a, b: sparse.aslinearoperator(a).matmat(np.stack([b, 2 * b, b**2], 1)),
        "rmatmat": lambda a, b: sparse.aslinearoperator(a).rmatmat(np.stack([b, 2 * b, b**2], 1)),
        "adjoint": lambda a, b: sparse.aslinearoperator(a).H @ b,
        "a column": lambda a, b: sparse.aslinearoperator(a).matvec(b[:, None]),
    }


@pytest.mark.filterwarnings("ignore:Calling `matvec` on 'column vectors':FutureWarning")  # SciPy 1.18 and later
@pytest.mark.parametrize("solver", solvers())
@pytest.mark.parametrize("which", ["hessian", "jacobian", "transposed jacobian"])
def test_scipys_solvers_never_form_the_matrix(which: str, solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    n, rng = 12, np.random.default_rng(7)
    a = rng.standard_normal((n, n))
    a = a @ a.T + n * np.eye(n)
    b = rng.standard_normal(n)
    f = lambda x: x @ (a @ x) / 2 + np.sum(x**4)  # noqa: E731
    point = rng.standard_normal(n)
    skew = np.triu(np.ones((n, n))) if which != "hessian" and solver not in ("cg", "eigsh") else np.eye(n)
    make = {
        "hessian": lambda: primad.hessian(f)(point),
        "jacobian": lambda: primad.jacobian(lambda x: skew @ primad.grad(f)(x))(point),
        "transposed jacobian": lambda: primad.jacobian(lambda x: skew @ primad.grad(f)(x))(point).T,
    }[which]
    dense, lazy = np.asarray(make()), make()
    monkeypatch.setattr(LazyMatrix, "__array__", None)
    computed = Plan.run
    sizes = []

    def counting(plan: Any, values: Any) -> Any:
        results = computed(plan, values)
        sizes.extend(np.size(result) for result in results)
        return results

    monkeypatch.setattr(Plan, "run", counting)
    found = solvers()[solver](lazy, b)
    monkeypatch.undo()
    assert sizes and max(sizes) <= 3 * n  # products with up to three vectors, and never the n × n matrix
    with np.printoptions(threshold=0):
        assert "not computed" in repr(lazy)
    np.testing.assert_allclose(found, solvers()[solver](dense, b), rtol=1e-8, atol=1e-9)


def uses() -> dict[str, Callable[[Any], Any]]:
    """Return what is asked of a matrix of any shape, in the forms in which NumPy takes it."""
    return {
        "sum": lambda a: a.sum(),
        "sums that keep axes": lambda a: np.sum(a, axis=0, keepdims=True),
        "sum of some": lambda a: np.sum(a, where=DENSE_J.sum() < np.inf),
        "sum by name": lambda a: np.sum(a=a, axis=-1),
        "sum into another": lambda a: np.sum(a, axis=0, out=np.empty(a.shape[1:])),
        "mean": lambda a: a.mean(axis=-1),
        "mean of 32 bits": lambda a: np.mean(a, dtype=np.float32),
        "all sums": lambda a: np.array([np.sum(np.sum(a, axis=axis)) for axis in range(a.ndim)]),
        "taken": lambda a: a.take([0, -1], axis=1),
        "taken of all": lambda a: np.take(a, [0, 3]),
        "taken, clipped": lambda a: np.take(a, [9], mode="clip", axis=0),
        "reshaped": lambda a: np.reshape(a, (a.size,)),
        "reshaped to the rest": lambda a: a.reshape(a.shape[0], -1, 1),
        "columns first": lambda a: a.reshape((a.size,), order="F"),
        "a part of reshaped": lambda a: a.reshape(1, -1)[0, 3:5],
        "transposed and reshaped": lambda a: a.T.reshape(-1),
        "reshaped and transposed": lambda a: a.reshape(1, *a.shape).T,
        "rows added up": sum,
        "letters for a stack": lambda a: np.einsum("...j,jm->m...", a, np.eye(3)[:, :2]),
        "pairs of the last axes": lambda a: a[..., [1, 0, 1], [0, 2, 2]],
        "diagonal of the transpose": lambda a: np.diagonal(a.T, 0, 0, 1),
    }


@pytest.mark.parametrize("use", uses())
@pytest.mark.parametrize("which", DENSE)
def test_forms_of_what_a_matrix_is_asked(which: str, use: str) -> None:
    ask = uses()[use]
    np.testing.assert_allclose(ask(fresh(which)), ask(DENSE[which]), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ["shape", "newshape"])
def test_a_matrix_that_is_reshaped_by_name_stays_lazy(name: str) -> None:
    if name not in inspect.signature(np.reshape).parameters:
        pytest.skip("this NumPy calls it otherwise")
    assert type(np.reshape(fresh("jacobian"), **{name: (-1,)})) is type(fresh("jacobian").reshape(-1))  # type: ignore[call-overload]


def test_a_shape_that_does_not_fit_is_refused_as_numpy_does() -> None:
    for shape in ((5, 5), (-1, -1), (7, -1)):
        with pytest.raises(ValueError, match="cannot reshape"):
            fresh("jacobian").reshape(shape)
