"""Arguments at the ends of what functions take: recorded, they give what NumPy and SciPy do, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import primad
import primad.numpy as pnp
from primad.errors import DomainError, PrimadError, ShapeError, TracingError
from primad.numpy import special
from primad.recording.protocols import FUNCTIONS, UFUNCS, recorded_by

X = np.linspace(0.3, 1.7, 6)
M = X.reshape(2, 3)
CUBE = np.linspace(-1.0, 1.0, 24).reshape(2, 3, 4)
polynomial = pnp.polynomial.polynomial


def written(x: Any, index: Any) -> Any:
    """Return a copy with numbers added at an index."""
    y = pnp.array(x)
    y[index] += y[index] * 2.0 + 1.0
    return y


def masked(x: Any, *index: Any) -> Any:
    """Return a copy that is changed where the numbers of a row are positive."""
    mask = x[0, :, 0] > -0.8
    return written(x, tuple([mask if item is Ellipsis else item for item in index]))


VALUES: dict[str, tuple[Any, Any]] = {
    "four factors": (lambda x: np.einsum("ij,jk,kl,lj->i", x, x[0, :, None] * x[0], x.T[:, :2], x[:2]), M),
    "five factors": (lambda x: np.einsum("i,i,j,ij,j->", x[:2], x[2:4], x[:3], x.reshape(2, 3), x[3:]), X),
    "the largest quantile": (lambda x: np.quantile(x, 1), X),
    "the ends": (lambda x: np.quantile(x, np.array([0, 1])), np.append(X, np.inf)),
    "quantiles of traced weights": (lambda x: np.quantile(x, 0.3, weights=x * x, method="inverted_cdf"), X),
    "between one point": (lambda x: np.interp(x, [1.0], [2.0]), X),
    "beside one another": (lambda x: np.block([x, 2 * x]), M),
    "in rows of cubes": (lambda x: np.block([[x, x], [x, -x]]), CUBE),
    "index True": (lambda x: x[True], M),
    "index of NumPy's False": (lambda x: x[np.False_], M),
    "index True among others": (lambda x: x[True, 1], M),
    "choices that repeat": (lambda x: special.comb(x + 3.0, 2.0, repetition=True), X),
    "required": (lambda x: pnp.require(x, None, None), M),
    "as it is": (lambda x: pnp.array(x, copy=None), M),
    "of more axes": (lambda x: pnp.array(x, copy=None, ndmin=4), M),
    "of as many axes": (lambda x: pnp.array(x, copy=None, ndmin=2), M),
    "of another dtype, without need": (lambda x: pnp.array(x, np.float32, copy=None), M),
    "of the same dtype, without need": (lambda x: pnp.array(x, float, copy=None), M),
    "as an array of another dtype": (lambda x: pnp.asarray(x, np.float32), M),
    "as an array of the same dtype": (lambda x: pnp.asarray(x, float), M),
    "as any array": (lambda x: pnp.asanyarray(x), M),
    "an array, copied": (lambda x: copied(x, True), M),
    "an array, copied where it has to be": (lambda x: copied(x, None), M),
    "a number that may be written to": (lambda x: pnp.arctan2(written(x[0], ...), x), X),
    "written at a mask between slices": (lambda x: masked(x, slice(None), ..., slice(1, 3)), CUBE),
    "written at a mask beside a number": (lambda x: masked(x, slice(None), ..., 1), CUBE),
    "written at a number beside a mask": (lambda x: masked(x, 1, ..., slice(None)), CUBE),
    "written at a mask in the last rows": (lambda x: masked(x, slice(1, 2), ..., 2), CUBE),
    "numbers that are none, copied": (lambda x: nan_free(x, True), np.append(X, np.nan)),
    "numbers that are none, in place": (lambda x: nan_free(x, False), np.append(X, np.nan)),
}


def copied(x: Any, copy: Any) -> Any:
    a = pnp.array(x)
    b = pnp.asarray(a, copy=copy)
    b[0] = 9.0
    return a + 2 * b


def nan_free(x: Any, copy: bool) -> Any:
    y = pnp.array(x)
    found = np.nan_to_num(y, copy=copy)
    return np.isnan(y) * 10.0 + found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    function, x = VALUES[name]
    found, wanted = primad.jit(function, backend="reference")(x), function(x)
    assert (found.shape, found.dtype) == (np.shape(wanted), np.asarray(wanted).dtype)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


REFUSED: dict[str, tuple[Any, Any]] = {
    "a cube among matrices": (lambda x: np.linalg.multi_dot([x, CUBE, x]), ShapeError),
    "axes and an axis": (lambda x: pnp.vecdot(x, x, axes=[0, 0], axis=0), ShapeError),
    "one variable of another shape": (lambda x: polynomial.polyval3d(x[0], x[0], x[0, :2], CUBE), ShapeError),
    "one degree's variable of another shape": (
        lambda x: polynomial.polyvander3d(x[0], x[0], x[0, :2], [1, 1, 1]), ShapeError),
    "no degrees": (lambda x: polynomial.polyfit(x[0], x[0], np.zeros(0, int)), ShapeError),
    "a traced start": (lambda x: np.max(x, where=CUBE[0, :2, :3] > 0, initial=x[0, 0]), TracingError),
    "lists of other depths": (lambda x: np.block([[x], x]), ShapeError),
    "lists of other depths after others": (lambda x: np.block([x, [x]]), ShapeError),
    "an empty list": (lambda x: np.block([[x], []]), ShapeError),
    "an object as an index": (lambda x: x[object()], PrimadError),
    "clipped indices that are traced": (lambda x: np.take(x, x.astype(int), mode="clip"), TracingError),
    "a traced index among others": (
        lambda x: ops_set(x, (x[0, :2].astype(int), 1)), TracingError),
    "by another name": (lambda x: pnp.sum(a=x), TracingError),
    "half an order": (lambda x: special.expn(1.5, x), DomainError),
    "an order too low": (lambda x: special.expn(0, x), DomainError),
}  # fmt: skip


def ops_set(x: Any, index: Any) -> Any:
    from primad.numpy.shapes.index_updates import set_at

    return set_at(x, index, 1.0)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    function, error = REFUSED[name]
    with pytest.raises(error):
        primad.trace(function)(M)


def test_memory_is_shared_by_an_array_with_itself_alone() -> None:
    seen = []

    def look(x: Any, y: Any) -> Any:
        for ask in (np.may_share_memory, np.shares_memory):
            seen.append((ask(x, x), ask(x, y), ask(x[:0], x[:0])))
            empty = x[:0]
            seen.append((ask(empty, empty),))
        return x

    primad.trace(look)(X, X)
    assert seen == [(True, False, False), (False,)] * 2


@pytest.mark.parametrize("name", ["reduce", "accumulate"])
@pytest.mark.parametrize("ufunc", [np.ldexp, np.divmod])
def test_ufuncs_that_do_not_take_their_results_have_no_reductions(ufunc: np.ufunc, name: str) -> None:
    with pytest.raises(PrimadError, match=r"not supported for|only supported for"):
        primad.trace(lambda x: getattr(ufunc, name)(x))(X)


def test_sparse_arrays_at_their_ends() -> None:
    wide = scipy.sparse.random_array((3, 5), density=0.7, rng=np.random.default_rng(0)).tocsr()

    for matrix in (wide, wide.T.tocsr()):
        x = np.linspace(0.2, 1.0, matrix.shape[1])

        def of(x: Any, matrix: Any = matrix) -> Any:
            J = primad.jacobian(lambda y: matrix @ (y * y))(x).sparse()
            total = sum([J, J])
            return J.diagonal(), total.toarray()

        whole = 2 * matrix.toarray() * x
        found = primad.jit(of, backend="reference")(x)
        np.testing.assert_allclose(found[0], whole.diagonal())
        np.testing.assert_allclose(found[1], 2 * whole)
        for wrong in (lambda J: J @ np.ones((J.shape[1], 2, 2)), lambda J: J + 1):

            def refused(x: Any, wrong: Any = wrong, matrix: Any = matrix) -> Any:
                return wrong(primad.jacobian(lambda y: matrix @ (y * y))(x).sparse())

            with pytest.raises(PrimadError):
                primad.trace(refused)(x)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("x", [np.array(0.5), np.array(2), np.array(0.5 + 1.0j)])
def test_numbers_are_taken_where_numpy_takes_them(x: Any) -> None:
    """No function that NumPy has of a number refuses a recorded one for having no axes."""
    compared = 0
    for name in sorted(set(np.__all__)):
        function = getattr(np, name)
        known = callable(function) and any(recorded_by(table, function) for table in (FUNCTIONS, UFUNCS))
        if name == "empty_like" or not known:
            continue
        try:
            expected = np.asarray(function(x))
        except Exception:
            continue
        if expected.dtype.kind not in "biufc":
            continue
        try:
            found = np.asarray(primad.jit(lambda x, function=function: function(x))(x))
        except PrimadError as error:
            assert "0 axes" not in str(error), name
        else:
            assert found.shape == expected.shape and np.allclose(found, expected, equal_nan=True), name
            compared += 1
    assert compared > 80


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cumulative_sum", "cumulative_prod", "argsort"])
def test_a_number_is_a_row_of_one(name: str) -> None:
    function = getattr(np, name)
    for axis in (None, 0, -1):
        expected = function(np.array(2.5), axis=axis)
        for found in (
            primad.jit(lambda x, axis=axis: function(x, axis=axis))(2.5),
            primad.vmap(lambda x, axis=axis: function(x, axis=axis))(np.array([2.5, 3.5]))[0],
        ):
            assert found.dtype == expected.dtype and np.array_equal(found, expected)
    if name != "argsort":
        assert primad.grad(lambda x: np.sum(function(x * x, axis=0)))(3.0) == 6.0
    else:
        assert np.array_equal(pnp.argsort(np.array(2.5), descending=True), [0])
    with pytest.raises(PrimadError, match="axis 1 is out of range"):
        primad.jit(lambda x: function(x, axis=1))(2.5)
