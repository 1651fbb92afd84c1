"""The traced array: operators, promotion, methods, indexing; and what a trace records."""

from __future__ import annotations

import itertools
import operator
from contextlib import suppress
from functools import partial
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
import primad.numpy as pnp
from primad.numpy.shapes import indexing
from tests.sweeps import thinned

X = np.arange(24.0).reshape(2, 3, 4) / 7.0 + 0.3


def same(found: Any, expected: Any, what: str = "") -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype), what
    np.testing.assert_allclose(found, expected, rtol=1e-6 if expected.dtype == np.float32 else 1e-14, err_msg=what)


# -- operators and promotion -------------------------------------------------------------------------------------------

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
    np.maximum, np.minimum, np.hypot, np.logaddexp, np.where,
]  # fmt: skip
OPERANDS: dict[str, Any] = {
    "float64": np.array([1.5, 2.0]),
    "float32": np.array([1.5, 2.0], np.float32),
    "int64": np.array([3, 2]),
    "int32": np.array([3, 2], np.int32),
    "uint8": np.array([3, 2], np.uint8),
    "column": np.array([[1.0], [2.0], [3.0]], np.float32),
    "0-d": np.array(2.5, np.float32),
    "np.float64": np.float64(2.5),
    "np.float32": np.float32(2.5),
    "np.int64": np.int64(2),
    "float": 2.5,
    "int": 2,
}


def call(op: Any, x: Any, y: Any) -> Any:
    return np.where(np.asarray([True]), x, y) if op is np.where else op(x, y)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("left", OPERANDS)
@pytest.mark.parametrize("right", OPERANDS)
def test_promotion(left: str, right: str) -> None:
    """Either operand traced, or both: NumPy's dtype and value (NEP 50)."""
    _promoted(left, right, "reference")


@pytest.mark.one_in(6)
@thinned(5, left=list(OPERANDS), right=list(OPERANDS))
def test_promotion_in_native_code(left: str, right: str) -> None:
    _promoted(left, right, "native")


def _promoted(left: str, right: str, backend: str) -> None:
    a, b = OPERANDS[left], OPERANDS[right]
    if type(a) in (int, float) and type(b) in (int, float):
        return  # Python's own arithmetic
    expected = {}
    for op in BINARY:
        with suppress(TypeError):
            # NumPy's operator ** forgets an exponent's type in some versions; its function does not.
            expected[op] = call(np.power if op is operator.pow else op, a, b)
    jit = partial(primad.jit, backend=backend)
    ways = [jit(lambda x, y: [call(op, x, y) for op in expected])(a, b)]
    if type(a) not in (int, float):
        ways.append(jit(lambda x: [call(op, x, b) for op in expected])(a))
    if type(b) not in (int, float):
        ways.append(jit(lambda y: [call(op, a, y) for op in expected])(b))
    for results in ways:
        for found, (op, wanted) in zip(results, expected.items(), strict=True):
            same(found, wanted, str(op))


def test_unary_and_bitwise_operators() -> None:
    i = np.array([1, 6, 3])
    m = np.array([True, False, True])
    for f, x in (
        (lambda x: -x, X), (lambda x: +x, X), (lambda x: abs(-x), X), (lambda x: ~x, m), (lambda x: ~x, i),
        (lambda x: x & 3, i), (lambda x: 3 | x, i), (lambda x: x ^ 5, i), (lambda x: x & m, m), (lambda x: m ^ x, m),
        (lambda x: x | False, m), (lambda x: 2**x, i), (lambda x: x**2, i), (lambda x: x % 4 // 2, i),
    ):  # fmt: skip
        same(primad.jit(f)(x), f(x))


def test_arrays_on_the_left() -> None:
    a = np.array([2.0, 3.0, 4.0, 5.0])
    for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt, operator.eq):
        same(primad.jit(lambda x, op=op: op(a, x))(X), op(a, X))
        same(primad.jit(lambda x, op=op: op(np.float64(2.0), x))(X), op(np.float64(2.0), X))
        same(primad.jit(lambda x, op=op: op(x, [1.0, 2.0, 3.0, 4.0]))(X), op(X, np.array([1.0, 2.0, 3.0, 4.0])))
    same(primad.jit(lambda x: np.ones((5, 3)) @ x)(X), np.ones((5, 3)) @ X)


# -- methods -----------------------------------------------------------------------------------------------------------

METHODS: dict[str, Any] = {
    "sum": lambda x: x.sum(),
    "sum axis": lambda x: x.sum(axis=-1, keepdims=True),
    "mean": lambda x: x.mean(0),
    "var": lambda x: x.var(axis=(0, 1), ddof=1),
    "std": lambda x: x.std(),
    "max": lambda x: x.max(axis=1),
    "min": lambda x: x.min(),
    "prod": lambda x: x.prod(axis=-1),
    "argmax": lambda x: x.argmax(axis=1),
    "argmin": lambda x: x.argmin(),
    "argsort": lambda x: (-x).argsort(),
    "cumsum": lambda x: x.cumsum(axis=1),
    "all": lambda x: (x > 0).all(),
    "any": lambda x: (x > 3).any(axis=0),
    "reshape": lambda x: x.reshape(4, -1),
    "reshape tuple": lambda x: x.reshape((6, 4)),
    "ravel": lambda x: x.ravel(),
    "flatten": lambda x: x.flatten(),
    "T": lambda x: x.T,
    "transpose": lambda x: x.transpose(),
    "transpose axes": lambda x: x.transpose(2, 0, 1),
    "transpose tuple": lambda x: x.transpose((2, 0, 1)),
    "swapaxes": lambda x: x.swapaxes(0, 2),
    "squeeze": lambda x: x[:1].squeeze(0),
    "astype": lambda x: x.astype(np.float32),
    "astype int": lambda x: x.astype(int),
    "astype bool": lambda x: x.astype(bool),
    "copy": lambda x: x.copy(),
    "clip": lambda x: x.clip(1.0, 2.0),
    "dot": lambda x: x.dot(np.ones(4)),
    "take": lambda x: x.take([0, 2], axis=1),
    "repeat": lambda x: x.repeat(2, axis=0),
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "trace": lambda x: x.trace(axis1=1, axis2=2),
    "sort": lambda x: np.sort(-x),
    "attributes": lambda x: x * x.ndim * x.size * len(x) * x.shape[1],
    "iteration": lambda x: sum(row[0, 0] for row in x) + x[0, 0, 0],
    "unpacking": lambda x: (lambda a, b: a - b)(*x),
    "ufunc reduce": lambda x: np.add.reduce(x, axis=1),
    "ufunc outer": lambda x: np.multiply.outer(x[0, 0], x[1, 1]),
    "round trip of dtype": lambda x: np.zeros(3, x.dtype) + x[0, :, 0],
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", METHODS)
def test_method(name: str) -> None:
    f = METHODS[name]
    same(primad.jit(f)(X), f(X))


# -- indexing ----------------------------------------------------------------------------------------------------------

SHAPE = (3, 4, 2)
A = np.arange(24.0).reshape(SHAPE)


def check_index(index: Any, array: Any = A) -> None:
    expected = array[index]
    same(primad.jit(lambda x: x[index])(array), expected)
    # the gradient scatters the cotangent, and repeated positions accumulate
    weights = np.arange(1.0, expected.size + 1.0).reshape(expected.shape)
    scattered = np.zeros(array.shape)
    np.add.at(scattered, index, weights)
    found = primad.grad(lambda x: np.sum(x[index] * weights))(array)
    np.testing.assert_array_equal(found, scattered)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(index=hnp.basic_indices(SHAPE, allow_newaxis=True, allow_ellipsis=True))
def test_basic_indices(index: Any) -> None:
    check_index(index)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    index=hnp.integer_array_indices(
        SHAPE, result_shape=hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)
    )
)
def test_integer_array_indices(index: Any) -> None:
    check_index(index)


ROWS = hnp.arrays(np.int64, st.sampled_from([(2,), (1,), (3, 2)]), elements=st.integers(-2, 1))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.permutations([st.integers(-2, 1), ROWS, st.slices(2)]).flatmap(lambda items: st.tuples(*items)), ROWS)
def test_numbers_and_slices_beside_integer_arrays(index: Any, last: Any) -> None:
    check_index(index)
    check_index((*index, last) if last.shape == (1,) else (last, *index), np.arange(96.0).reshape(3, 4, 2, 4))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(data=st.data())
def test_mixed_indices(data: Any) -> None:
    entries: list[Any] = []
    for n in SHAPE[: data.draw(st.integers(1, 3))]:
        entries.append(
            data.draw(
                st.one_of(
                    st.integers(-n, n - 1),
                    st.slices(n),
                    st.lists(st.integers(-n, n - 1), min_size=2, max_size=2).map(np.array),
                    st.just(np.arange(n) % 2 == 0) if n == 4 else st.just(slice(None)),
                )
            )
        )
    for place in sorted(data.draw(st.lists(st.integers(0, len(entries)), max_size=1)), reverse=True):
        entries.insert(place, None)
    check_index(tuple(entries))


@pytest.mark.parametrize(
    "index",
    [
        (0, slice(None, None, -1)), (slice(None), [0, 0, -1]), ([0, 1], slice(None), [1, 0]), ([0, 1], [1, 0]),
        (slice(None), [[0, 1], [2, 3]], 0), ([[0], [1]], [[0, 1]]), (0, slice(None), [1, 1]), ([0, 1], slice(None), 0),
        (Ellipsis, 0), (None, Ellipsis, None), (slice(None, None, -2), None, -1), A[:, :, 0] > 8, (A[:, 0, 0] > 0,),
        (slice(None), np.array([True, False, True, True])), (A > 5), ([], ), (np.zeros((0, 2), int),), (slice(2, 0),),
        (np.int64(1), np.array(2)), ([0, 2], None, [1, 1]), (slice(None), np.array([[True, False]] * 4)),
    ],
)  # fmt: skip
def test_chosen_index(index: Any) -> None:
    check_index(index)


def test_what_takes_an_index_is_remembered() -> None:
    """In a bounded cache: what Python takes for equal is told apart, other shapes too, and errors are raised again."""
    indexing._steps.cache_clear()
    for index in (1, (1,), slice(1), slice(1, None), slice(0, 1), (slice(None), 1), -1, None, Ellipsis, np.int64(1), 1):
        for shape in (SHAPE, SHAPE[::-1]):
            check_index(index, np.arange(24.0).reshape(shape))
    info = indexing._steps.cache_info()
    assert info.hits > 0 and info.maxsize == indexing.MOST_INDICES
    for index in (1.0, (1, 1.0), 7, (0, 0, 0, 0)):
        for _ in range(2):
            with pytest.raises(primad.errors.IndexShapeError, match=r"test_tracing\.py:"):
                primad.grad(lambda x, index=index: np.sum(x[index]))(A)


def test_index_by_traced_arrays() -> None:
    found = primad.grad(lambda x: np.sum(x[x > 5.0] ** 2))(A)
    np.testing.assert_array_equal(found, np.where(A > 5, 2 * A, 0))
    found = primad.grad(lambda x: np.sum(x[np.argsort(-x)][:2]))(np.array([1.0, 3.0, 2.0]))
    np.testing.assert_array_equal(found, [0.0, 1.0, 1.0])
    found = primad.grad(lambda x: x[np.argmax(x)] ** 2)(np.array([1.0, 3.0, 2.0]))
    np.testing.assert_array_equal(found, [0.0, 6.0, 0.0])
    same(primad.jit(lambda x, i: x[i])(A, np.array([2, -1])), A[[2, -1]])
    same(primad.jit(lambda x, i, j: x[i, :, j])(A, np.array([2, -1]), np.array([0, -1])), A[[2, -1], :, [0, -1]])
    same(primad.jit(lambda x, i: x[i, 1:, 0])(A, np.array([2, 0])), A[[2, 0], 1:, 0])
    same(primad.jit(lambda x, i: x[:, i])(A, np.int64(-2)), A[:, -2])
    w = np.arange(5.0)
    found = primad.grad(lambda x: np.sum(w[np.argsort(x)] * x))(np.array([3.0, 1.0]))
    np.testing.assert_array_equal(found, w[[1, 0]])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(index=hnp.basic_indices(SHAPE, allow_newaxis=False, allow_ellipsis=True))
def test_updates_at_basic_indices(index: Any) -> None:
    check_updates(index)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(index=hnp.integer_array_indices(SHAPE))
def test_updates_at_integer_arrays(index: Any) -> None:
    check_updates(index)


def check_updates(index: Any) -> None:
    value = np.arange(1.0, A[index].size + 1.0).reshape(A[index].shape)
    for f in (pnp.set_at, pnp.add_at):
        expected = f(A, index, value)
        assert expected is not A
        same(primad.jit(lambda x, v, f=f: f(x, index, v))(A, value), expected)
        same(primad.jit(lambda v, f=f: f(A, index, v))(value), expected)
        same(primad.jit(lambda x, f=f: f(x, index, 2.5))(A), f(A, index, 2.5))
        gx, gv = primad.grad(lambda x, v, f=f: np.sum(f(x, index, v) * A), argnums=(0, 1))(A, value)
        base = np.sum(f(A, index, value) * A)
        np.testing.assert_allclose(np.sum(gx * A) + np.sum(gv * value), base, rtol=1e-12, atol=1e-9)  # linear in both
        assert gx.shape == A.shape and gv.shape == value.shape


# -- tracing -----------------------------------------------------------------------------------------------------------


def test_common_subexpressions_are_one_node() -> None:
    program = primad.trace(lambda x: np.sin(x) * np.cos(x) + np.sin(x) * np.cos(x) * 1.0)(X)
    assert [node.op.name for node in program.nodes].count("sin") == 1
    assert len(primad.trace(lambda x: (x * x + x * x, x * x))(X).nodes) <= 4


def test_literals_are_told_apart_by_type_and_bits() -> None:
    program = primad.trace(lambda x: (np.maximum(x, 0.0), np.maximum(x, -0.0), x + 1, x + 1.0))(X)
    a, b, c, d = program.outputs
    assert a is not b and c is d
    program = primad.trace(lambda i: (i + 1, i * True))(np.arange(3))
    assert program.out_types[0].dtype == np.int64


def test_inputs_are_never_merged() -> None:
    program = primad.trace(lambda x, y: np.sin(x) + np.sin(y))(X, X)
    assert len(program.inputs) == 2 and program.inputs[0] is not program.inputs[1]
    assert len(program.nodes) == 5


def test_trace_on_types() -> None:
    program = primad.trace(lambda x, d: x @ d["w"])(
        primad.ArrayType((2, 3), np.float32), {"w": primad.ArrayType((3,), np.float32)}
    )
    assert str(program.out_types[0]) == "float32[2]"
    assert program.names == ("x", "d_w")


def test_repr_shows_the_value_where_it_is_known() -> None:
    seen = []
    primad.grad(lambda x: (seen.append(repr(x)), x * 2.0)[1])(3.0)
    primad.jit(lambda x: (seen.append(repr(x)), x * 2.0)[1])(3.0)
    assert "3.0" in seen[0] and seen[1] == "TracedArray(float64[])"


def test_dir_lists_methods() -> None:
    seen: list[str] = []
    primad.jit(lambda x: (seen.extend(dir(x)), x)[1])(1.0)
    assert {"sum", "reshape", "T", "shape", "astype"} <= set(seen)


def test_jit_caches_by_types_and_static_arguments() -> None:
    calls = []

    def f(x: Any, n: Any) -> Any:
        calls.append(n)
        return x * n

    g = primad.jit(f, static_argnums=1)
    for n in (1, 1, 2, 1.0, True, 2):
        assert g(X, n).dtype == np.float64
    assert calls == [1, 2, 1.0, True] and [type(n) for n in calls] == [int, int, float, bool]
    g(X.astype(np.float32), 1)
    assert len(calls) == 5
    h = primad.jit(lambda x, p: x * p[0], static_argnums=1)
    assert [np.signbit(h(1.0, (zero,))) for zero in (0.0, -0.0)] == [False, True]
    assert [h(1, (one,)).dtype for one in (1, 1.0)] == [np.int64, np.float64]


def test_jit_with_keywords_and_trees() -> None:
    f = primad.jit(lambda p, scale=1.0: {"out": p[0] * scale + p[1]["b"]})
    assert f((1.0, {"b": 2.0}))["out"] == 3.0
    assert f((1.0, {"b": 2.0}), scale=3.0)["out"] == 5.0


def test_plain_arrays_are_numpys_business() -> None:
    for function in (pnp.sin, pnp.sum, pnp.sort, pnp.cumsum, pnp.exp):
        assert type(function(X)) in (np.ndarray, np.float64)
    with pytest.raises(ValueError, match="axis"):
        pnp.concatenate([X, X], axis=7)


def test_all_pairs_of_shapes_broadcast() -> None:
    shapes = [(), (1,), (3,), (2, 1), (2, 3), (1, 1), (0,), (2, 0), (0, 3), (1, 0)]
    for a, b in itertools.product(shapes, repeat=2):
        x, y = np.full(a, 2.0), np.full(b, 3.0)
        try:
            expected = x * y
        except ValueError:
            with pytest.raises(primad.ShapeError):
                primad.jit(np.multiply)(x, y)
            continue
        same(primad.jit(np.multiply)(x, y), expected)
        gx, gy = primad.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(x, y)
        assert np.shape(gx) == a and np.shape(gy) == b
        np.testing.assert_allclose(np.sum(gx), 3.0 * expected.size)
        np.testing.assert_allclose(np.sum(gy), 2.0 * expected.size)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint16", "uint32"])
def test_python_integers_out_of_range_raise_under_jit_as_in_numpy(dtype: str) -> None:
    """Where they adopt the dtype of an array: in place, in loops, and in calls after the first."""
    functions: list[Any] = [
        lambda x, n: x + n,
        lambda x, n: n * x,
        lambda x, n: np.maximum(x, n),
        lambda x, n: primad.scan(lambda c, _: (c + n, None), x, length=2)[0],
        lambda x, n: primad.fori_loop(0, 2, lambda i, c: c + x[0], n),
    ]
    info = np.iinfo(dtype)
    x = np.arange(3, dtype=dtype)
    for f in functions:
        compiled = primad.jit(f)
        assert np.array_equal(compiled(x, 1), f(x, 1))
        for n in (int(info.min), int(info.max)):
            assert np.array_equal(compiled(x, n), f(x, n))
        for n in (int(info.min) - 1, int(info.max) + 1):
            for call in (f, compiled, primad.jit(f)):
                with pytest.raises(OverflowError, match="out of bounds"):
                    call(x, n)
