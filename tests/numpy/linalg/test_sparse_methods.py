"""Sparse arrays with traced entries have what SciPy's have: each attribute is tried, or refused with a way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import primad
import primad.scipy.sparse as mirror
from primad.errors import ShapeError
from primad.numpy.linalg.sparse_arrays import REFUSED

RNG = np.random.default_rng(0)
ROWS = np.array([0, 0, 1, 2, 2, 2, 2, 4, 4, 0])
COLUMNS = np.array([0, 3, 1, 0, 1, 2, 3, 2, 0, 3])
DATA = np.array([0.31, 0.11, 0.42, 0.13, 0.24, 0.55, 0.16, 0.37, 0.28, 0.09])
"""Two entries at one place, a full row, and an empty one."""
SHAPE = (5, 4)
OTHER = sparse.csr_array(np.where(RNG.random(SHAPE) < 0.5, RNG.normal(size=SHAPE), 0))
X, D = RNG.normal(size=4), RNG.normal(size=SHAPE)


def made(module: Any, data: Any, format: str) -> Any:
    return module.coo_array((data, (ROWS, COLUMNS)), shape=SHAPE).asformat(format)


def same(name: str) -> Callable[[Any], Any]:
    return lambda A: getattr(A, name)()


ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "T": lambda A: A.T, "transpose": lambda A: A.transpose(), "copy": same("copy"), "conj": same("conj"),
    "conjugate": same("conjugate"), "real": lambda A: A.real, "imag": lambda A: A.imag,
    "asformat": lambda A: A.asformat("csc"), "astype": lambda A: A.astype(np.float32),
    "tobsr": same("tobsr"), "tocoo": same("tocoo"), "tocsc": same("tocsc"), "tocsr": same("tocsr"),
    "todia": same("todia"), "toarray": same("toarray"), "todense": same("todense"),
    "data": lambda A: A.tocoo().data.sum(), "shape": lambda A: np.array(A.shape), "ndim": lambda A: np.array(A.ndim),
    "dtype": lambda A: np.zeros(1, A.dtype), "format": lambda A: A.asformat(A.format),
    "reshape": lambda A: A.reshape(2, 10) @ np.arange(10.0), "dot": lambda A: A.dot(X),
    "diagonal": lambda A: np.append(np.ravel(A.diagonal()), 0.0) if isinstance(A, sparse.sparray) else
    primad.numpy.append(A.diagonal(), 0.0),
    "trace": lambda A: A.trace() + 2 * A.trace(1) + A.trace(-2), "sum": lambda A: A.sum(), "mean": lambda A: A.mean(),
    "max": lambda A: A.max(), "min": lambda A: A.min(), "nanmax": lambda A: A.nanmax(axis=1),
    "nanmin": lambda A: A.nanmin(axis=0),
    "maximum": lambda A: A.maximum(OTHER),
    "minimum": lambda A: A.minimum(OTHER),
    "argmax": lambda A: A.argmax(axis=1),
    "argmin": lambda A: np.array(0) + (-A).argmin(),
    "multiply": lambda A: A.multiply(X),
    "power": lambda A: A.power(3), "count_nonzero": lambda A: A.count_nonzero(axis=0),
    "check_format": lambda A: (A.check_format(), A)[1], "prune": lambda A: (A.prune(), A)[1],
    "sort_indices": lambda A: (A.sort_indices(), A)[1], "sum_duplicates": lambda A: (A.sum_duplicates(), A)[1],
    "sorted_indices": lambda A: A.sorted_indices(), "indices": lambda A: np.sort(np.unique(A.indices)),
    "indptr": lambda A: A.indptr[[0, 2, 3]] * 0, "has_sorted_indices": lambda A: np.array(A.has_sorted_indices),
    "has_canonical_format": lambda A: np.array((A.sum_duplicates(), A.has_canonical_format)[1]),
    "nnz": lambda A: np.array((A.sum_duplicates(), A.nnz)[1]),
    "size": lambda A: np.array((A.sum_duplicates(), A.size)[1]),
    **{name: same(name) for name in (
        "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "deg2rad", "expm1", "floor", "log1p", "rad2deg", "rint",
        "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    )},
}  # fmt: skip
"""What is asked of each attribute of SciPy's arrays."""
USES: dict[str, Callable[[Any], Any]] = {
    "a row": lambda A: A[2], "the last row": lambda A: A[-1] @ X, "a column": lambda A: A[:, 3],
    "an element": lambda A: A[0, 3],
    "no element": lambda A: A[3, 3],
    "rows": lambda A: A[1:4],
    "columns": lambda A: A[:, ::2],
    "backwards": lambda A: A[::-1, ::-1], "a block": lambda A: A[1:3, 1:], "some rows": lambda A: A[[2, 0, 2]],
    "some columns": lambda A: A[:, [3, 0]], "rows where": lambda A: A[np.arange(5) % 2 == 0],
    "single elements": lambda A: A[[0, 2, 2, 3], [3, 0, 0, -1]],
    "rows and columns": lambda A: A[np.ix_([0, 2], [0, 3])],
    "elements where": lambda A: A[D > 0], "elements where another is": lambda A: A[OTHER > 0],
    "part of a row": lambda A: A[2, 1:], "a list of a row": lambda A: A[0, [3, 1]], "all": lambda A: A[...],
    "the last axis": lambda A: A[..., 0], "no rows": lambda A: A[:0], "an element of a row": lambda A: A[2][3],
    "the row's sum": lambda A: A[2].sum(),
    "the row's largest": lambda A: A[0].max(),
    "a row, dense": lambda A: A[2].toarray(),
    "a row times a row": lambda A: A[0] @ A[2],
    "a row times a matrix": lambda A: A[2] @ A.T,
    "a matrix times a row": lambda A: A @ A[2],
    "a dense matrix times a row": lambda A: D @ A[2],
    "a row's square": lambda A: A[0] * A[0],
    "rows one by one": lambda A: sum(r * r for r in A),
    "sums of columns": lambda A: A.sum(axis=0),
    "sums of rows": lambda A: A.sum(axis=-1),
    "means of columns": lambda A: A.mean(axis=0),
    "means of rows": lambda A: A.mean(axis=1),
    "largest of columns": lambda A: A.max(axis=0),
    "largest of rows": lambda A: A.max(axis=1),
    "smallest of rows": lambda A: A.min(axis=1),
    "largest below zero": lambda A: (-A).max(axis=1),
    "smallest": lambda A: (-A).min(),
    "a square": lambda A: A * A,
    "times another": lambda A: A * OTHER,
    "another times it": lambda A: OTHER.multiply(A.toarray()) if isinstance(A, sparse.sparray) else OTHER * A,
    "times columns": lambda A: A * X, "times rows": lambda A: A * D[:, :1], "times a dense array": lambda A: A * D,
    "a vector times": lambda A: X * A,
    "times a sparse row": lambda A: A.multiply(OTHER[[0]]),
    "divided by columns": lambda A: A / (X + 3),
    "divided by a dense array": lambda A: A / (D + 9), "a power": lambda A: A**1.5, "absolute": lambda A: abs(-A),
    "np.abs": lambda A: np.abs(A),
    "np.sin": lambda A: np.sin(A),
    "np.sum": lambda A: np.sum(A),
    "np.max": lambda A: np.max(A),
    "rounded": lambda A: round(A * 1.03, 1),
    "plus dense": lambda A: A + D,
    "dense minus": lambda A: D - A,
    "minus": lambda A: A - OTHER,
    "larger of numbers": lambda A: A.maximum(0.2), "smaller of numbers": lambda A: A.minimum(0.2),
    "not below zero": lambda A: A.maximum(0),
    "larger of dense": lambda A: A.maximum(D),
    "shape of a vector": lambda A: A.reshape(20),
    "in the order of columns": lambda A: A.reshape(10, -1, order="F"),
    "diagonals": lambda A: np.array(0.5) * A.diagonal(-1),
    "trace of a product": lambda A: (A.T @ A).trace(), "norm": lambda A: np.sqrt(A.power(2).sum()),
    "a Laplacian": lambda A: np.sum((A @ A.T).sum(axis=0) ** 2),
    "types of sums": lambda A: A.sum(axis=0, dtype=np.float32),
    "in place": lambda A: (A := A.copy(), A := A + OTHER, A := A * 2)[2],
}  # fmt: skip
"""What people write with sparse arrays."""


def dense(found: Any) -> Any:
    return found.toarray() if hasattr(found, "toarray") else primad.numpy.array(found)


def test_each_attribute_of_scipys_arrays_is_tried_or_refused() -> None:
    public = {name for name in dir(sparse.csr_array((1, 1))) if not name.startswith("_")}
    assert public == {*ATTRIBUTES, *REFUSED}
    for name, fix in REFUSED.items():
        with pytest.raises(primad.TracingError) as raised:
            primad.jit(lambda d, name=name: getattr(made(mirror, d, "csr"), name)())(DATA)
        assert fix in str(raised.value)


@pytest.mark.one_in(6)
@pytest.mark.filterwarnings("ignore:Taking maximum")
@pytest.mark.parametrize("name", [*ATTRIBUTES, *USES])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_it_is_what_scipys_is_and_so_are_derivatives(name: str, format: str) -> None:
    way = (ATTRIBUTES | USES)[name]
    if format != "csr" and not hasattr(made(sparse, DATA, format), name) and name in ATTRIBUTES:
        pytest.skip("SciPy's array has it in another format")
    if format == "coo" and name == "rows one by one":
        pytest.skip("SciPy's own squares entries at one place before they are added")
    wanted = way(made(sparse, DATA, format))
    found = primad.jit(lambda d: way(made(mirror, d, format)), backend="reference")(DATA)
    assert sparse.issparse(found) == sparse.issparse(wanted)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    single = found.dtype == np.float32
    np.testing.assert_allclose(dense(found), dense(wanted), rtol=1e-6 if single else 1e-13, atol=1e-15)
    if found.dtype != np.float64 or format != "csr":
        return
    columns = primad.jit(primad.jacfwd(lambda d: dense(way(made(mirror, d, format)))), backend="reference")
    J = columns(DATA).reshape(-1, len(DATA))
    step = 1e-6 * np.eye(len(DATA))
    sides = [[np.ravel(dense(way(made(sparse, DATA + s * e, format)))) for e in step] for s in (1, -1)]
    np.testing.assert_allclose(J, ((np.array(sides[0]) - np.array(sides[1])) / 2e-6).T, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("ask", "says"), [
    (lambda A: A[7], "out of range"), (lambda A: A[0, 0, 0], "3 indices"), (lambda A: A[None], "new axis"),
    (lambda A: A[1.0], "give integers"),
    (lambda A: A[[[0, 1], [1, 2]]], "two at most"),
    (lambda A: A["a"], "give integers"),
    (lambda A: A[A.argmax(axis=0)], "index of a sparse array with traced entries is traced"),
    (lambda A: A > 1, "compared"), (lambda A: A == A, "compared"), (lambda A: 1 if A else 2, "truth"),
    (lambda A: np.exp(A), "not 0 at 0"), (lambda A: A.power(0), "power 0"), (lambda A: A[0].diagonal(), "one axis"),
    (lambda A: A.sum(axis=2), "name one of its axes"), (lambda A: A.reshape(2, 2, 5), "one axis or two"),
    (lambda A: A.__setitem__((0, 0), 1.0), "written to"),
    (lambda A: A.indptr if A.format == "coo" else A.tocoo().indptr, "tocsr"),
    (lambda A: A[0].tocsc(), "no format 'csc'"), (lambda A: A[:0].max(), "leave empty"),
    (lambda A: A[:0].mean(), "leave empty"),
])  # fmt: skip
def test_what_is_refused_names_the_way(ask: Any, says: str) -> None:
    with pytest.raises((primad.PrimadError, IndexError), match=says):
        primad.jit(lambda d: ask(made(mirror, d, "csr")))(DATA)


def test_divisors_that_are_zero_where_there_is_no_entry() -> None:
    """What stands there is not looked at, in derivatives neither."""
    places = made(sparse, np.ones(len(DATA)), "csr").toarray()
    given = (places > 0) * 2.0
    f = lambda d, data: (made(mirror, data, "csr") / d).sum()  # noqa: E731
    by_divisors, by_entries = primad.grad(f, (0, 1))(given, DATA)
    np.testing.assert_allclose(by_divisors, -made(sparse, DATA, "csr").toarray() / 4)
    np.testing.assert_allclose(by_entries, 0.5)


def test_extrema_of_long_and_short_lines_take_memory_for_the_entries() -> None:
    """An arrow: of its first row and column all are stored, of the others one each."""
    n = 20_000
    rows, columns = np.append(np.zeros(n, int), np.arange(1, n)), np.append(np.arange(n), np.arange(1, n))
    data = RNG.normal(size=len(rows)) - 9.0
    f = lambda d: mirror.csr_array((d, (rows, columns)), shape=(n, n)).max(axis=1).toarray()  # noqa: E731
    np.testing.assert_array_equal(primad.jit(f)(data), np.append(data[:n].max(), np.zeros(n - 1)))
    assert np.count_nonzero(primad.grad(lambda d: np.sum(f(d)))(data)) == 1


@pytest.mark.parametrize("dtype", [*"bhilBHIL"])
def test_indices_of_every_type_take_the_same(dtype: str) -> None:
    """Also where the number of a place among all of the array is larger than the type holds."""
    most = int(min(np.iinfo(dtype).max, 10**6))
    rows, columns = np.array([most, most - 3, 2, most]), np.array([most - 1, most, most, 0])

    def taken(module: Any, data: Any, rows: Any, columns: Any) -> list[Any]:
        a = module.coo_array((data, (rows, columns)), shape=(most + 2, most + 2)).tocsr()
        both = np.append(rows, rows[:1]), np.append(columns, columns[:1])
        found = [
            a[both],
            a[rows].sum(axis=1),
            a[:, columns].sum(axis=0),
            a[rows[0], columns[0]],
            a[rows[:, None], rows],
        ]
        return found if dtype.isupper() else [*found, a[-1 - rows, columns], a[-1 - rows].sum(axis=1)]

    data = np.array([1.0, 2.0, 3.0, 4.0])
    found = primad.jit(lambda x: taken(mirror, x, rows.astype(dtype), columns.astype(dtype)))(data)
    for one, wanted in zip(found, taken(sparse, data, rows, columns), strict=True):
        np.testing.assert_array_equal(dense(one), dense(wanted))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", [*"?bHd"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_of_every_type_are_those_of_the_dense_array(name: str, dtype: str) -> None:
    """Whatever fills up lines: all entries are the smallest that there are, or the largest."""
    there = ROWS * SHAPE[1] + COLUMNS
    for value in (0, 1):
        data = np.full(len(ROWS), value, dtype)
        whole = np.zeros(np.prod(SHAPE), dtype)
        np.logical_or.at(whole, there, data) if dtype == "?" else np.add.at(whole, there, data)
        for axis in (None, 0, 1):
            found = primad.jit(lambda x, axis=axis: getattr(made(mirror, x, "csr"), name)(axis=axis))(data)
            np.testing.assert_array_equal(dense(found), getattr(whole.reshape(SHAPE), name)(axis=axis))


@pytest.mark.parametrize("number", [0, 0.0, False, np.int64(0), np.int8(0), np.float32(0), np.float64(0)])
def test_the_power_0_is_refused(number: Any) -> None:
    with pytest.raises(ShapeError, match="of an element without an entry is 1"):
        primad.jit(lambda x: made(mirror, x, "csr").power(number))(DATA)
