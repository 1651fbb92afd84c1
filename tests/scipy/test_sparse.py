"""primad.scipy.sparse: arrays with traced entries, and systems with them, against the dense ones."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import primad
import primad.scipy.sparse as mirror
from primad.implicit import sparse_systems as systems
from primad.recording.scipy_names import RECORDED
from primad.scipy.sparse import linalg

RNG = np.random.default_rng(0)
N = 6
PATTERN = (sparse.random_array((N, N), density=0.3, rng=RNG) + sparse.eye_array(N)).tocsr()
ROWS, COLUMNS = PATTERN.tocoo().coords
DATA = RNG.normal(size=PATTERN.nnz) + 4.0 * (ROWS == COLUMNS)
B = RNG.normal(size=N)
SIDE = RNG.normal(size=PATTERN.nnz)


def dense(data: Any) -> Any:
    return primad.numpy.add_at(primad.numpy.zeros((N, N), data.dtype), (ROWS, COLUMNS), data)


def made(data: Any) -> Any:
    return mirror.csr_array((data, PATTERN.indices, PATTERN.indptr), shape=(N, N))


SOLVERS = {
    "spsolve": linalg.spsolve,
    "splu": lambda A, b: linalg.splu(A.tocsc()).solve(b),
    "splu, transposed": lambda A, b: linalg.splu(A.T.tocsc()).solve(b, "T"),
    "factorized": lambda A, b: linalg.factorized(A.tocsc())(b),
    "cg": lambda A, b: linalg.cg((A.T @ np.eye(N)).T @ A.toarray().T, b, rtol=1e-13)[0],
    "gmres": lambda A, b: linalg.gmres(A, b, rtol=1e-13)[0],
    "bicgstab": lambda A, b: linalg.bicgstab(A, b, rtol=1e-13)[0],
    "bicg": lambda A, b: linalg.bicg(A, b, rtol=1e-13)[0],
    "cgs": lambda A, b: linalg.cgs(A, b, rtol=1e-13)[0],
    "lsqr": lambda A, b: linalg.lsqr(A, b)[0],
    "minres": lambda A, b: linalg.minres(A + A.T, b, rtol=1e-14)[0],
    "preconditioned": lambda A, b: linalg.gmres(A, b, rtol=1e-13, M=sparse.diags_array(1 / DATA[ROWS == COLUMNS]))[0],
}
MATRICES = {"cg": lambda a: a @ a.T, "minres": lambda a: a + a.T}
"""What the dense matrix is where it is another one than A."""


def drawn(rows: int, columns: int, format: str, seed: int) -> Any:
    """Return a sparse array with entries of its own pattern, one of them twice where there is one."""
    rng = np.random.default_rng(seed)
    found = sparse.random_array((rows, columns), density=0.4, rng=rng).tocoo()
    twice = [np.concatenate([x, x[:1]]) for x in (*found.coords, found.data)]
    return sparse.coo_array((twice[2], (twice[0], twice[1])), (rows, columns)).asformat(format)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("formats", [("csr", "csc"), ("csc", "csr"), ("coo", "coo"), ("dia", "csr")])
@pytest.mark.parametrize("shape", [(4, 5, 3), (1, 6, 1), (3, 1, 4), (0, 3, 2), (3, 0, 2), (5, 5, 5)])
def test_products_of_sparse_arrays(shape: tuple[int, int, int], formats: tuple[str, str]) -> None:
    n, k, m = shape
    A, B = drawn(n, k, formats[0], 1), drawn(k, m, formats[1], 2)
    a, b = A.tocoo(), B.tocoo()

    def made_of(entries: Any, like: Any) -> Any:
        return mirror.coo_array((entries, like.coords), shape=like.shape).asformat(like.format)

    weight = RNG.normal(size=(n, m))
    for product in (
        lambda x, y: made_of(x, a).asformat(A.format) @ made_of(y, b),
        lambda x, y: made_of(x, a).asformat(A.format) @ B,
        lambda x, y: A @ made_of(y, b),
    ):
        found = primad.jit(product)(a.data, b.data)
        assert sparse.issparse(found) and np.allclose(found.toarray(), (A @ B).toarray())
        assert found.format == (A @ B).format
        assert found.nnz <= n * m
    both = primad.grad(lambda x: np.sum(weight * (made_of(x, a) @ B).toarray()))(a.data)
    assert np.allclose(both, (weight @ B.toarray().T)[a.coords])


def test_what_is_no_product_or_sum_of_sparse_arrays_is_refused() -> None:
    for program, says in (
        (lambda d: made(d) / PATTERN, "divided by a sparse one"),
        (lambda d: 2 / made(d), "divided by a sparse array"),
        (lambda d: made(d) + 1, "a number is added"),
        (lambda d: made(d) * B[1:], "element by element"),
        (lambda d: made(d) * np.ones((2, N, N)), "element by element"),
    ):
        with pytest.raises(ValueError, match=says):
            primad.jit(program)(DATA)
    with pytest.raises(primad.ShapeError, match="do not fit"):
        primad.jit(lambda d: made(d) @ sparse.eye_array(N + 1))(DATA)
    assert np.allclose(primad.jit(lambda d: sum([made(d), made(d)]))(DATA).toarray(), 2 * made(DATA).toarray())


@pytest.mark.parametrize("transform", [primad.jacobian, primad.jacfwd, primad.jacrev, primad.hessian])
def test_rows_of_derivatives_are_no_sparse_arrays(transform: Any) -> None:
    with pytest.raises(primad.ShapeError, match="returns a sparse array"):
        transform(lambda d: {"A": made(d)})(DATA)
    assert np.asarray(transform(lambda d: made(d).data)(DATA)).shape[0] == len(DATA)


def test_stacks_of_stacks_of_sparse_arrays() -> None:
    data = RNG.normal(size=(2, 3, len(DATA)))
    found = primad.vmap(primad.vmap(made))(data)
    assert found.shape == (2, 3, N, N) and np.allclose(found.toarray()[1, 2], dense(data[1, 2]))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_move_with_the_right_side_and_the_entries(name: str) -> None:
    ours = lambda data, b: SOLVERS[name](made(data), b)  # noqa: E731
    plain = lambda data, b: np.linalg.solve(MATRICES.get(name, lambda a: a)(dense(data)), b)  # noqa: E731
    near = {"rtol": 1e-8, "atol": 1e-10}
    for way in (
        lambda f: primad.jvp(f, (DATA, B), (SIDE, np.sin(B))),
        lambda f: primad.jit(primad.grad(lambda d, b: np.sum(f(d, b) ** 2), (0, 1)))(DATA, B),
    ):
        for found, wanted in zip(way(ours), way(plain), strict=True):
            np.testing.assert_allclose(found, wanted, **near)
    twice = [primad.jvp(primad.grad(lambda d, f=f: np.sum(f(d, B) ** 2)), (DATA,), (SIDE,))[1] for f in (ours, plain)]
    np.testing.assert_allclose(*twice, rtol=1e-6, atol=1e-8)


def test_right_sides_that_are_matrices_batches_complex_and_short() -> None:
    many = RNG.normal(size=(N, 3))
    solve = lambda data, b: linalg.spsolve(made(data), b)  # noqa: E731
    whole = primad.jacobian(solve, 1)(DATA, many)[...]
    np.testing.assert_allclose(
        whole, primad.jacobian(np.linalg.solve, 1)(dense(DATA), many)[...], rtol=1e-10, atol=1e-14
    )
    column = primad.grad(lambda b: np.sum(linalg.spsolve(PATTERN + 3 * sparse.eye_array(N), b)))(many[:, :1])
    assert column.shape == (N, 1)
    rows = np.stack([DATA, 2 * DATA])
    np.testing.assert_allclose(
        primad.vmap(solve, (0, None))(rows, B)[1], np.linalg.solve(dense(DATA), B) / 2, rtol=1e-12
    )
    values = DATA * np.exp(1j * SIDE)
    for dtype, data in (("complex", values), ("part", DATA)):
        slopes = [primad.grad(lambda d, f=f: np.sum(np.abs(f(d)) ** 2))(data) for f in (
            lambda d: linalg.spsolve(made(d), B + 1j), lambda d: np.linalg.solve(dense(d), B + 1j))]  # fmt: skip
        np.testing.assert_allclose(*slopes, rtol=1e-10, atol=1e-12, err_msg=dtype)
    short = primad.jvp(lambda d: solve(d, B.astype(np.float32)), (DATA.astype(np.float32),), (SIDE.astype(np.float32),))
    assert short[0].dtype == short[1].dtype == np.float32


def test_one_factorisation_serves_values_tangents_and_cotangents(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    kept = systems.MatrixFactors
    monkeypatch.setattr(systems, "MatrixFactors", lambda matrix: counted.append(1) or kept(matrix))
    data = DATA + 0.123
    _, back = primad.vjp(lambda d: linalg.spsolve(made(d), B), data)
    for ct in np.eye(N):
        back(ct)
    primad.jvp(lambda d: linalg.spsolve(made(d), 2 * B), (data,), (SIDE,))
    assert counted == [1]
    for moved in (1, 2):  # another pattern of the same shapes
        places = (ROWS, np.where(ROWS == COLUMNS, COLUMNS, (COLUMNS + moved) % N))
        full = np.zeros((N, N))
        np.add.at(full, places, data)
        found = primad.value_and_grad(lambda d, p=places: linalg.spsolve(mirror.coo_array((d, p), (N, N)), B)[0])(data)
        np.testing.assert_allclose(found[0], np.linalg.solve(full, B)[0], rtol=1e-10)


def test_arrays_with_traced_entries_are_as_the_dense_ones() -> None:
    x, X = RNG.normal(size=N), RNG.normal(size=(N, 2))
    other = sparse.random_array((N, N), density=0.2, rng=RNG)
    ways = {
        "vector": lambda A: A @ x, "matrix": lambda A: A @ X, "left": lambda A: x @ A,
        "left, matrix": lambda A: X.T @ A,
        "transposed": lambda A: A.T @ x, "multiple": lambda A: (2 * A / 3) @ x, "sum": lambda A: (A + other) @ x,
        "difference": lambda A: (other - A) @ x, "negative": lambda A: -A @ x, "dot": lambda A: A.dot(x),
        "diagonal": lambda A: A.diagonal(), "traced": lambda A: A @ A.diagonal(),
        "traced, left": lambda A: A.diagonal() @ A,
    }  # fmt: skip
    plain = sparse.csr_array((DATA, PATTERN.indices, PATTERN.indptr), shape=(N, N))
    for name, way in ways.items():
        wanted = way(plain)
        value = primad.jit(lambda d, f=way: f(made(d)))(DATA)
        np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-14, err_msg=name)
    np.testing.assert_allclose(primad.jit(lambda d: made(d).toarray())(DATA), plain.toarray())
    makers = {
        "csc": lambda m, d: m.csc_array((d, (ROWS, COLUMNS)), shape=(N, N)),
        "coo": lambda m, d: m.coo_array((d, (ROWS, COLUMNS)), shape=(N, N)),
        "csr, no shape": lambda m, d: m.csr_array((d, PATTERN.indices, PATTERN.indptr)),
        "dense": lambda m, d: m.csr_array(dense(d)),
        "bands": lambda m, d: m.diags_array([d[:5], d[:4], d[0]], offsets=[1, -2, 0], shape=(N, N)),
        "band": lambda m, d: m.diags_array(d[:N]),
        "wide": lambda m, d: m.diags_array([d[:3], d[:3]], offsets=[0, 2], shape=(3, 5)),
    }
    for name, make in makers.items():
        wanted = make(sparse, DATA)
        x = RNG.normal(size=wanted.shape[1])
        found = primad.jit(lambda d, f=make, x=x: f(mirror, d) @ x)(DATA)
        np.testing.assert_allclose(found, wanted @ x, rtol=1e-12, atol=1e-14, err_msg=name)
        assert type(make(mirror, DATA)) is type(wanted)


WAYS: dict[str, Any] = {
    "number times array": lambda m, s, A, B: s * A,
    "array times number": lambda m, s, A, B: A * s,
    "divided": lambda m, s, A, B: A / s,
    "number times matrix": lambda m, s, A, B: s * sparse.csr_matrix(A),
    "matrix times number": lambda m, s, A, B: sparse.csc_matrix(A) * s,
    "ones": lambda m, s, A, B: s * m.eye_array(N) + A,
    "kron": lambda m, s, A, B: m.kron(m.diags_array(s * B), A, format="csr"),
    "kron, from the right": lambda m, s, A, B: m.kron(A, _rows(m, s * B)),
    "blocks": lambda m, s, A, B: m.block_array([[A, m.diags_array(s * B)], [None, s * m.eye_array(N)]], format="csc"),
    "beside": lambda m, s, A, B: m.hstack([A, m.diags_array(s * B)]),
    "below": lambda m, s, A, B: m.vstack([m.diags_array(s * B), A]),
    "along the diagonal": lambda m, s, A, B: m.block_diag([A, m.diags_array(s * B), A]),
}
"""What is made of a number, of a plain sparse array and of a vector, with SciPy's functions or ours."""


def _rows(m: Any, diagonal: Any) -> Any:
    """The first two rows of a diagonal matrix."""
    return m.diags_array(diagonal[:2], shape=(2, N))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia"])
def test_arrays_that_are_made_of_others(name: str, format: str) -> None:
    way, A = WAYS[name], PATTERN.asformat(format)
    found = primad.jit(lambda s, b: way(mirror, s, A, b))(1.7, B)
    want = way(sparse, 1.7, A, B)
    np.testing.assert_allclose(found.toarray(), want.toarray(), rtol=1e-14)
    weight = np.random.default_rng(1).normal(size=want.shape)
    total = lambda s: np.sum(weight * way(mirror, s, A, B).toarray())  # noqa: E731
    step = 1e-6
    sides = [np.sum(weight * way(sparse, 1.7 + h, A, B).toarray()) for h in (step, -step)]
    np.testing.assert_allclose(primad.grad(total)(1.7), (sides[0] - sides[1]) / (2 * step), rtol=1e-7, atol=1e-8)
    assert type(way(mirror, 1.7, A, B)) is type(want)


@pytest.mark.parametrize("matrix", [sparse.csr_matrix(PATTERN), sparse.coo_matrix(PATTERN)])
def test_products_of_scipys_older_matrices_are_written_as_multiples(matrix: Any) -> None:
    for ours, theirs in (
        (lambda x: matrix * np.sin(x), lambda x: dense(PATTERN.data) @ np.sin(x)),
        (lambda x: np.sin(x) * matrix, lambda x: np.sin(x) @ dense(PATTERN.data)),
        (lambda x: matrix * np.stack([x, x**2], 1), lambda x: dense(PATTERN.data) @ np.stack([x, x**2], 1)),
    ):
        np.testing.assert_allclose(primad.jit(ours)(B), theirs(B), rtol=1e-13)
        found, want = (primad.jacobian(f)(B)[...] for f in (ours, theirs))
        np.testing.assert_allclose(found, want, rtol=1e-13, atol=1e-15)


def test_least_squares_with_sparse_matrices() -> None:
    A = sparse.random_array((9, 4), density=0.6, rng=np.random.default_rng(2)) + sparse.eye_array(9, 4)
    A, b = A.tocoo(), np.cos(np.arange(9.0))

    def plain(data: Any, b: Any, damp: Any) -> Any:
        D = primad.numpy.add_at(np.zeros(A.shape), A.coords, data)
        return np.linalg.solve(D.T @ D + damp**2 * np.eye(4), D.T @ b)

    ours = lambda data, b, damp: linalg.lsqr(mirror.coo_array((data, A.coords), shape=A.shape), b, damp)[0]  # noqa: E731
    for damp in (0.0, 0.3):
        np.testing.assert_allclose(ours(A.data, b, damp), plain(A.data, b, damp), rtol=1e-4)
        found, want = (primad.jit(primad.grad(lambda *x, f=f: np.sum(f(*x) ** 3), (0, 1, 2)))(A.data, b, damp)
                       for f in (ours, plain))  # fmt: skip
        for x, y in zip(found, want, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)
        told, said = primad.jit(lambda b, damp=damp: linalg.lsqr(A, b, damp))(b), sparse.linalg.lsqr(A, b, damp)
        for place in (0, 1, 3, 4, 8):
            np.testing.assert_allclose(told[place], said[place], rtol=1e-4)
    twice = sparse.csr_array(np.ones((4, 2)))
    with pytest.raises(primad.DomainError, match="rank 1"):
        primad.grad(lambda b: np.sum(linalg.lsqr(twice, b)[0]))(np.ones(4))


@pytest.mark.parametrize(("ask", "says"), [
    (lambda d: mirror.block_array([[made(d), None], [None, None]]), "row 1 of blocks is empty"),
    (lambda d: mirror.block_array([[made(d), sparse.eye_array(N + 1)]]), "row 0 of blocks has lengths"),
    (lambda d: mirror.block_array([[made(d)], [made(d), made(d)]]), "rows of different lengths"),
    (lambda d: mirror.diags(d), "diags_array"),
    (lambda d: mirror.csr_matrix(d), "csr_array takes traced entries"),
    (lambda d: PATTERN * d[:N], "zeros are not among its elements"),
    (lambda d: d[:N] * PATTERN, "zeros are not among its elements"),
])  # fmt: skip
def test_what_is_not_made_of_others_names_the_way(ask: Any, says: str) -> None:
    with pytest.raises((primad.PrimadError, AttributeError), match=says):
        primad.jit(lambda d: ask(d).toarray())(DATA)


def test_plain_values_are_scipys_own() -> None:
    A = (PATTERN + 3 * sparse.eye_array(N)).tocsc()
    factors = linalg.splu(A)
    np.testing.assert_array_equal(factors.solve(B), sparse.linalg.splu(A).solve(B))
    assert factors.L.nnz == sparse.linalg.splu(A).L.nnz
    assert linalg.cg(sparse.eye_array(N), B, x0=B)[1] == 0
    for name in set(linalg.__all__) - {"splu"}:
        ours, scipys = (inspect.signature(getattr(of, name)).parameters for of in (linalg, sparse.linalg))
        assert list(ours) == list(scipys), name


@pytest.mark.parametrize(("ask", "says"), [
    (lambda d: linalg.spsolve(made(0 * d), B), "singular"),
    (lambda d: linalg.gmres(made(d), B, maxiter=1, restart=1, rtol=1e-14)[0], "did not converge"),
    (lambda d: linalg.spsolve(made(d), B[1:]), "do not fit"),
    (lambda d: linalg.cg(sparse.linalg.aslinearoperator(PATTERN), d[:N])[0], "implicit.linear_solve"),
    (lambda d: linalg.cg(made(d), B, callback=print)[0], "leave callback out"),
    (lambda d: made(d).setdiag(2.0), "no 'setdiag'"),
    (lambda d: made(d).power(0) @ B, "The power 0"),
    (lambda d: made(d) @ B[1:], "do not fit"),
    (lambda d: mirror.diags_array([d[:2], d[:2]], offsets=[0, 1], shape=(N, N)) @ B, "has 6 entries, got 2"),
    (lambda d: linalg.eigs(made(d))[0], "no attribute 'eigs'"),
])  # fmt: skip
def test_what_is_refused_says_why(ask: Any, says: str) -> None:
    with pytest.raises((primad.PrimadError, AttributeError), match=says):
        primad.grad(lambda d: np.sum(ask(d)))(DATA)


def test_scipys_own_name_it() -> None:
    assert set(linalg.__all__) == RECORDED["scipy.sparse.linalg"]
    for call in (
        lambda b: sparse.linalg.spsolve(PATTERN, b),
        lambda b: sparse.linalg.cg(PATTERN, b)[0],
    ):
        name = re.findall(r"linalg\.(\w+)", inspect.getsource(call))[0]
        with pytest.raises(primad.TracingError, match=f"call primad.scipy.sparse.linalg.{name}, "):
            primad.grad(lambda b, f=call: np.sum(f(b)))(B)


@pytest.mark.parametrize("name", ["coo_array", "csr_array", "csc_array"])
@pytest.mark.parametrize("shape", [(7, 5), (6,), None])
def test_entries_at_one_place_are_added(name, shape):
    """As in the assembly of elements: places drawn with repetitions, along one axis or two, in any order."""
    if shape == (6,) and name == "csc_array":
        pytest.skip("SciPy has none of one axis")
    rng = np.random.default_rng(len(name))
    places = tuple(rng.integers(0, length, 20) for length in shape or (7, 5))
    data, make, own = rng.standard_normal(20), getattr(mirror, name), getattr(sparse, name)

    def found(data):
        return make((data, places), shape=shape)

    wanted = own((np.ones(20), places), shape=shape)
    jitted = primad.jit(found)(data)
    assert jitted.format == wanted.format and jitted.shape == wanted.shape
    assert jitted.nnz == wanted.nnz
    dense = np.zeros(wanted.shape)
    np.add.at(dense, places, data)
    assert np.allclose(jitted.toarray(), dense, rtol=1e-14)
    slope = primad.jacobian(lambda data: found(data).toarray().ravel())(data)[:, :]
    flat = np.ravel_multi_index(places, wanted.shape)
    assert np.array_equal(slope, flat == np.arange(np.prod(wanted.shape))[:, None])
