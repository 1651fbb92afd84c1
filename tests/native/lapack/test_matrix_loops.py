"""Native code of matrices: within their arrays, and right to rounding however badly conditioned a matrix is.

A vector of a spectrum is known only as well as its value is far from others, and a cofactor only as well as the matrix:
so what is tested is what holds for every matrix, as u s vᵀ = a does, to the rounding of what was added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import primad
from primad import ops
from primad.errors import MatrixError
from primad.ops.linalg.equal_values import ROUNDING
from primad.runtime.executors.dispatch import REFERENCE
from primad.runtime.executors.executor import PLAIN
from primad.simplify import simplify
from tests.cases import Drawn
from tests.guarded import check, drawn, needs_llvm, run_natively

HAS_JAX = find_spec("jax") is not None
Array = np.ndarray[Any, Any]
ROUNDINGS = 64
"""How many times the rounding of what was added, for each row, a result may be off."""


# -- what holds for every matrix ---------------------------------------------------------------------------------------


def near(found: Any, wanted: Any, allowed: Any) -> None:
    """Fail unless all elements are as near as is allowed; of no stack is anything asked."""
    apart = np.abs(np.asarray(found, float) - wanted)
    assert np.all(apart <= allowed), f"off by {np.max(apart - allowed)} more than {np.max(allowed)}: {found}, {wanted}"


def turned(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def sizes(a: Array) -> Array:
    """The largest singular value of each matrix of a stack, as a stack of matrices of one element."""
    return np.linalg.svd(a, compute_uv=False)[..., :1, None]


def orthonormal(columns: Array, eps: float) -> None:
    near(turned(columns) @ columns, np.eye(columns.shape[-1]), eps)


def is_lu(a: Array, eps: float, factors: Array, order: Array, parity: Array) -> None:
    """Rows in an order are l u, where no element of l is larger than 1; the parity is that of the order.

    The rounding is that of |l| |u| (Higham, Accuracy and Stability of Numerical Algorithms, 9.3).
    """
    one = np.eye(a.shape[-1])
    lower, upper = np.tril(factors, -1) + one, np.triu(factors)
    near(lower @ upper, np.take_along_axis(a, order[..., None], -2), eps * (np.abs(lower) @ np.abs(upper)))
    assert np.all(np.abs(lower) <= 1 + eps)
    np.testing.assert_array_equal(np.sort(order, -1), np.broadcast_to(np.arange(a.shape[-1]), order.shape))
    near(parity, np.linalg.det(one[order]), 0.5)
    assert np.all(np.abs(parity) == 1)


def is_qr(a: Array, eps: float, q: Array, r: Array) -> None:
    orthonormal(q, eps)
    near(q @ r, a, eps * sizes(a))
    near(np.tril(r, -1), 0, 0)


def is_eigh(a: Array, eps: float, w: Array, v: Array) -> None:
    a = np.tril(a) + turned(np.tril(a, -1))
    orthonormal(v, eps)
    assert np.all(np.diff(w) >= 0)
    near(v * w[..., None, :] @ turned(v), a, eps * sizes(a))


def is_svd(a: Array, eps: float, u: Array, s: Array, vh: Array) -> None:
    orthonormal(u, eps)
    orthonormal(turned(vh), eps)
    assert np.all(np.diff(s) <= 0) and np.all(s >= 0)
    near(u * s[..., None, :] @ vh, a, eps * sizes(a))


def are_cofactors(a: Array, eps: float, found: Array) -> None:
    """To rounding they are those of a matrix that is off by rounding.

    By how much they change is the product of the largest singular values but two, times that of the change; a value
    below rounding counts as rounding, which bounds what a change does to it.
    """
    u, s, vh = np.linalg.svd(a)
    n = a.shape[-1]
    others = np.prod(np.where(np.eye(n, dtype=bool), 1, s[..., None, :]), -1)
    wanted = (np.linalg.det(u) * np.linalg.det(vh))[..., None, None] * ((u * others[..., None, :]) @ vh)
    rounded = np.maximum(s, eps * s[..., :1])
    change = n * s[..., 0] * np.prod(rounded[..., : max(n - 2, 0)], -1)
    near(found, wanted, eps * (change + np.prod(s[..., : n - 1], -1))[..., None, None])


HOLDS: dict[Any, Callable[..., None]] = {
    ops.lu: is_lu,
    ops.qr: is_qr,
    ops.eigh: is_eigh,
    ops.svd: is_svd,
    ops.cofactors: lambda a, eps, *found: are_cofactors(a, eps, *found),
}


def holds(op: Any, a: Array, results: Sequence[Array]) -> None:
    """Check what a factorization of a stack promises, in double precision."""
    if a.size:
        HOLDS[op](a.astype(float), ROUNDINGS * max(a.shape[-2:]) * float(np.finfo(a.dtype).eps), *results)


def as_others(a: Array, every: Array, alone: Array) -> None:
    """Check that a result does not depend on which others are wanted; values without vectors are rounded otherwise."""
    eps = float(np.finfo(a.dtype).eps) if every.dtype == a.dtype and every.ndim == a.ndim - 1 else 0.0
    allowed = ROUNDINGS * max(a.shape[-2:]) * eps * np.max(np.abs(every), axis=-1, keepdims=True, initial=0)
    near(alone, every, allowed)


# -- random matrices ---------------------------------------------------------------------------------------------------


def draw_matrices(choose: Drawn, batch: tuple[int, ...], rows: int, columns: int) -> Array:
    """Draw a stack of any matrices: some have no inverse, some rows that must be exchanged, or pivots of equal size."""
    rng = np.random.default_rng(choose.integer(0, 2**16))
    shape = (*batch, rows, columns)
    normal = rng.normal(size=shape)
    singular = normal.copy()
    singular[..., -1, :] = 2 * singular[..., 0, :]
    singular[..., rng.integers(columns)] *= rng.integers(2)
    ones = np.take_along_axis(np.eye(rows, columns) + 0 * normal, rng.random((*batch, rows, 1)).argsort(-2), -2)
    kinds = [normal, normal + 2 * np.eye(rows, columns), singular, ones * 4, rng.choice([-1.0, 1.0], size=shape)]
    return np.choose(rng.integers(len(kinds), size=(*batch, 1, 1)), kinds).astype(choose.among(["float64", "float32"]))


def draw_layout(choose: Drawn, ndim: int) -> tuple[Callable[[Array], Array], Callable[[Any], Any]]:
    """Return what makes of a stack of matrices the array that lies in memory, and what shows the stack of it again."""
    batch = tuple(range(ndim - 2))
    order = choose.among([(*batch, ndim - 2, ndim - 1), (*batch, ndim - 1, ndim - 2), (ndim - 2, ndim - 1, *batch)])
    back = tuple(np.argsort(order).tolist())
    return lambda a: np.ascontiguousarray(np.transpose(a, order)), lambda x: ops.permute(x, order=back)


def found_natively(function: Any, arguments: list[Array], at_end: bool) -> tuple[list[Array], list[Array]]:
    """Return the results of native code, and those of the definitions."""
    program = simplify(primad.trace(function)(*arguments))
    with np.errstate(all="ignore"):
        return run_natively(program, arguments, at_end), REFERENCE.prepare(program, PLAIN).run(arguments)


@pytest.mark.one_in(6)
@needs_llvm
@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("op", HOLDS, ids=lambda op: op.name)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), at_end=st.booleans())
def test_factorizations(op: Any, data: st.DataObject, at_end: bool) -> None:
    """Of matrices that are written out and of larger ones, in stacks that lie anyhow; any results may be unused."""
    choose = Drawn(data)
    batch, n = choose.among([(), (3,), (9,), (2, 5), (0,)]), choose.among([1, 2, 3, 5, 6, 7, 9])
    wide = choose.integer(0, 3) if op in (ops.qr, ops.svd) else 0
    a = draw_matrices(choose, batch, n + wide, n)
    a = turned(a) if op is ops.svd and choose.integer(0, 1) else a
    lies, shown = draw_layout(choose, a.ndim)
    kept = [bool(choose.integer(0, 2)) for _ in range(3)]
    params = {"lower": bool(choose.integer(0, 1))} if op is ops.eigh else {}
    read = turned(a) if params.get("lower") is False else a

    def f(x: Any, y: Any) -> Any:
        both = op(shown(x), **params), op(shown(y), **params)
        every, others = (found if isinstance(found, tuple) else (found,) for found in both)
        return [*every, *[z for z, keep in zip(others, kept, strict=False) if keep]]

    for results in found_natively(f, [lies(a), lies(a)], at_end):
        count = 1 if op is ops.cofactors else 2 if op in (ops.qr, ops.eigh) else 3
        holds(op, read, results[:count])
        wanted = [x for x, keep in zip(results[:count], kept, strict=False) if keep]
        for every, alone in zip(wanted, results[count:], strict=True):
            as_others(a, every, alone)


@needs_llvm
@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_of_equal_pivots_the_first_is_taken(dtype: str) -> None:
    """Of l u, where all elements of l below its diagonal are 1 or −1, each step has pivots of one size, exactly."""
    rng = np.random.default_rng(0)
    for n, count in [(2, 1), (3, 9), (4, 5), (5, 3), (7, 2), (9, 9)]:
        shape = (count, n, n)
        lower = np.tril(rng.choice([-1, 1], size=shape), -1) + np.eye(n)
        upper = np.triu(rng.integers(-4, 4, size=shape), 1) + 2 * np.eye(n)
        for factors, order, parity in found_natively(lambda a: ops.lu(a), [(lower @ upper).astype(dtype)], True):
            near(factors, lower - np.eye(n) + upper, 0)
            near(order, np.arange(n), 0)
            near(parity, 1, 0)


@needs_llvm
@drawn
def test_triangular_solves_and_cholesky(data: st.DataObject, at_end: bool) -> None:
    """What is left of a x = b is bounded by |a| |x|, and of l lᵀ = a by |l| |lᵀ| (Higham, 8.1 and 10.1)."""
    choose = Drawn(data)
    batch, n, m = choose.among([(), (4,), (2, 3), (0,)]), choose.integer(1, 9), choose.integer(1, 5)
    a = draw_matrices(choose, batch, n, n)
    a[..., range(n), range(n)] = np.where(
        np.diagonal(a, axis1=-2, axis2=-1) == 0, 1, np.diagonal(a, axis1=-2, axis2=-1)
    )
    b = np.random.default_rng(choose.integer(0, 99)).normal(size=(*batch, n, m)).astype(a.dtype)
    gram = (a @ turned(a) + np.eye(n)).astype(a.dtype)
    eps = ROUNDINGS * n * float(np.finfo(a.dtype).eps)
    lies, shown = draw_layout(choose, a.ndim)
    lower, transpose, unit = (bool(choose.integer(0, 1)) for _ in range(3))

    def f(a: Any, b: Any, gram: Any) -> Any:
        solved = ops.solve_triangular(shown(a), shown(b), lower=lower, transpose=transpose, unit=unit)
        around = ops.pad(solved, low=(1,) * solved.ndim, high=(0,) * solved.ndim, interior=(0,) * solved.ndim)
        return solved, ops.cholesky(shown(gram)), around

    triangle = (np.tril if lower else np.triu)(a.astype(float))
    triangle = triangle - (np.eye(n) * (triangle - 1) if unit else 0)
    triangle = turned(triangle) if transpose else triangle
    for x, factor, around in found_natively(f, [lies(a), lies(b), lies(gram)], at_end):
        near(triangle @ x, b, eps * np.abs(triangle) @ np.abs(x))
        near(around[(..., *[slice(1, None)] * x.ndim)], x, 0)
        near(np.sum(np.abs(around)), np.sum(np.abs(x)), eps * np.sum(np.abs(x)))
        factor = factor.astype(float)
        near(np.triu(factor, 1), 0, 0)
        assert np.all(np.diagonal(factor, axis1=-2, axis2=-1) > 0)
        near(factor @ turned(factor), gram, eps * np.abs(factor) @ np.abs(turned(factor)))


# -- values that are not finite, and equal ones ------------------------------------------------------------------------


@needs_llvm
def test_what_is_not_finite_has_no_spectrum() -> None:
    a = np.stack([np.eye(3)] * 4)
    a[1, 0, 2], a[2, 1, 1] = np.nan, np.inf
    check(lambda a: [*ops.eigh(a, lower=True), *ops.eigh(a, lower=False), *ops.svd(a)], a)


BACKENDS = ["native", "reference", pytest.param("jax", marks=pytest.mark.skipif(not HAS_JAX, reason="needs JAX"))]
OF_MATRICES = {
    "cofactors": lambda a: ops.cofactors(a),
    "change of cofactors": lambda a: ops.cofactors_along(a, a * 0 + 1),
    "eigh": lambda a: ops.eigh(a, lower=True)[0],
    "svd": lambda a: ops.svd(a)[1],
    "slopes": lambda a: ops.slopes(a, a[:, 0] * 0 + 1, singular=False),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OF_MATRICES)
def test_matrices_of_a_stack_know_nothing_of_each_other(name: str, backend: str) -> None:
    """One that is singular, or not finite wherever it is so, changes no other, and ends no program or process."""
    rng = np.random.default_rng(0)
    stack = rng.normal(size=(4 + 2 * 25, 5, 5))
    stack[1, -1], stack[2] = stack[1, 0], 0.0
    for k, (i, j) in enumerate(np.ndindex(5, 5)):
        stack[4 + 2 * k, i, j], stack[5 + 2 * k, i, j] = np.inf, np.nan
    run = primad.jit(OF_MATRICES[name], backend=backend)
    with np.errstate(all="ignore"):
        found = run(stack)
        near(found[:4], [run(one[None])[0] for one in stack[:4]], 1e-12)
    assert np.isfinite(found[:4]).all()
    if name == "slopes":  # of a block that is not finite they are its diagonal
        np.testing.assert_array_equal(found[4:], np.diagonal(stack[4:], axis1=-2, axis2=-1))
    else:
        assert not np.isfinite(found[4:]).reshape(50, -1).all(-1).any()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [3, 5])
def test_rows_and_columns_of_any_size(n: int, backend: str) -> None:
    """A row times a number is every other row of the cofactors times it, to rounding of each element."""
    rng = np.random.default_rng(n)
    a, powers = rng.normal(size=(n, n)) + n * np.eye(n), 2.0 ** rng.permutation(np.arange(-40, 40, 16))[:n]
    wanted = np.prod(powers) / powers[:, None] * np.linalg.det(a) * np.linalg.inv(a).T
    run = primad.jit(lambda a: ops.cofactors(a), backend=backend)
    near(run(a * powers[:, None]), wanted, 1e-12 * np.abs(wanted))
    near(run((a * powers[:, None]).T), wanted.T, 1e-12 * np.abs(wanted.T))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [3, 9])
def test_unknown_matrices_have_no_cholesky_factor(n: int, backend: str) -> None:
    for i in range(n):
        a = np.stack([np.eye(n)] * 3)
        a[1, i, 0] = np.nan
        with pytest.raises(MatrixError, match=rf"minor of order {i + 1} is not > 0, at \[1\] of the stack"):
            primad.jit(lambda a: ops.cholesky(a), backend=backend)(a)
        np.testing.assert_array_equal(
            primad.jit(lambda a: ops.cholesky(a), backend=backend)(np.diag(np.where(np.arange(n) == i, np.inf, 1))),
            np.diag(np.where(np.arange(n) == i, np.inf, 1)),
        )


def said(function: Any, *arguments: Array) -> list[str]:
    """Return what native code and the definitions say of arguments: an error, or the results."""
    program, found = simplify(primad.trace(function)(*arguments)), []
    for backend in ("native", "reference"):
        try:
            found.append(np.array2string(primad.jit(program, backend=backend)(*arguments), precision=4))
        except MatrixError as error:
            found.append(str(error))
    return found


@needs_llvm
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_counts_as_equal(dtype: str) -> None:
    """Values, and cotangents of equal ones, this side and that of where they count as equal; what is NaN does not."""
    eps = np.finfo(dtype).eps
    seen = set()
    for n in (2, 5):
        for k in (ROUNDING // 2, ROUNDING * n // 2 + 1, ROUNDING * n - 1, ROUNDING * n + 2):
            x = np.arange(n, 0, -1).astype(dtype)
            x[1] = x[0] * (1 - k * eps)
            cotangents = np.arange(n).astype(dtype)
            apart = np.roll(x, -1)  # equal ones are no neighbours
            for function, arguments in (
                (lambda x: ops.gaps(x), (x,)),
                (lambda x: ops.gaps(x), (apart,)),
                (lambda y, x: ops.spread(y, x, singular=False), (cotangents, x)),
                (lambda y, x: ops.spread(y, x, singular=False), (cotangents, apart)),
                (lambda y, x: ops.spread(y, x - x[1:2], singular=True), (cotangents, x)),
                (lambda s, x: ops.slopes(s, x - x[1:2], singular=True), (np.ones((n, n), dtype), x)),
            ):
                one, other = said(function, *arguments)
                assert one == other
                seen.add((n, k <= ROUNDING * n, "equal" in one or "is 0" in one))
    assert {(n, equal, equal) for n in (2, 5) for equal in (True, False)} <= seen
    for apart in (eps, np.sqrt(eps) / 2, 2 * np.sqrt(eps)):
        y, x = np.array([1, 1 - apart], dtype), np.ones(2, dtype)
        one, other = said(lambda y, x: ops.spread(y, x, singular=False), y, x)
        assert one == other and ("equal" in one) == (apart > np.sqrt(eps))
    for place in range(3):
        x = np.ones(3, dtype)
        x[place] = np.nan
        one, other = said(lambda x: ops.gaps(x), x)
        assert one == other and "nan" in one
        s = np.arange(9).reshape(3, 3).astype(dtype)
        s[place, 0] = [np.nan, np.inf, -np.inf][place]
        one, other = said(lambda s, x: ops.slopes(s, x, singular=False), s, np.ones(3, dtype))
        assert one == other == np.array2string(np.diagonal(s), precision=4)


@needs_llvm
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_slopes_of_equal_values(dtype: str) -> None:
    """Blocks of equal values anywhere in a spectrum, and several of them."""
    rng = np.random.default_rng(0)
    for values in ([1, 1, 1], [1, 2, 2, 3], [1, 1, 2, 3, 3, 3], [4.0]):
        x = np.array([values, rng.permutation(len(values))], dtype)
        s = rng.normal(size=(2, len(values), len(values))).astype(dtype)
        s[1] = s[1].T + s[1]
        check(lambda s, x: ops.slopes(s, x, singular=False), s, x)
        check(lambda s, x: ops.slopes(s, x[:, ::-1], singular=True), s, x + 1)
