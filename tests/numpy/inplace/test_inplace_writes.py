"""Writing into arrays while a function is recorded: how much is recorded, where it works, and what is refused."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad.recording.traced_array import TracedArray

X = numpy.array([0.3, -1.2, 0.7, 2.1])


# -- how much is recorded ----------------------------------------------------------------------------------------------


def recurrence(x: Any, n: int) -> Any:
    y = pnp.zeros(n)
    y[0] = x
    for i in range(1, n):
        y[i] = np.sin(y[i - 1]) + x
    return y


def test_n_writes_are_one_concatenation() -> None:
    counts = {}
    for n in (10, 100, 1000):
        nodes = primad.trace(lambda x, n=n: recurrence(x, n))(1.0).nodes
        assert sum(node.op.name == "concatenate" for node in nodes) == 1
        assert not any(node.op.name in ("gather", "scatter_add", "select") for node in nodes)
        counts[n] = len(nodes)
    assert counts[1000] - counts[100] == 10 * (counts[100] - counts[10])


def test_reading_a_part_joins_nothing_else() -> None:
    def f(x: Any) -> Any:
        y = pnp.zeros((50, 3))
        y[0] = x
        y[1:] = 2.0 * x
        return y[1:, :2] @ y[0, :2]

    names = [node.op.name for node in primad.trace(f)(X[:3]).nodes]
    assert "concatenate" not in names and "gather" not in names


def test_reads_across_pieces_join_what_they_cover() -> None:
    """Else n steps of a recurrence over two values would cost n² elements."""

    def recurrence(x: Any, n: int) -> Any:
        y = pnp.zeros(n)
        y[:2] = x
        for i in range(2, n):
            y[i] = y[i - 2 : i] @ [0.5, 0.25]
        return y

    sizes = {}
    for n in (20, 200):
        nodes = primad.trace(lambda x, n=n: recurrence(x, n))(X[:2]).nodes
        sizes[n] = sum(node.type.size for node in nodes if node.op.name == "concatenate")
        assert not any(node.op.name == "gather" for node in nodes)
    assert sizes[200] < 12 * sizes[20]
    assert np.allclose(primad.grad(lambda x: recurrence(x, 6)[5])(X[:2]), np.linalg.matrix_power(STEP, 4)[1])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("first", [0, 2, 5])
def test_every_part_may_be_read_before_every_other(first: int) -> None:
    """A read across pieces joins them, and what is read again is what was written, traced or not."""

    def read(x: Any, start: int, stop: int, again: Any) -> Any:
        y = pnp.zeros(8)
        y[first] = x[0]
        y[1], y[6] = x[1] * x[2], x[3]
        np.sin(y[start:stop])
        return again(y)

    for start, stop in [(a, b) for a in range(8) for b in (a + 2, a + 3) if b <= 8]:
        for again in (lambda y: [y[i] * 1.0 for i in range(8)], lambda y: np.cos(y)):
            rows = primad.jacobian(lambda x, where=(start, stop, again): pnp.stack(list(read(x, *where))))(X)
            expected = primad.jacobian(lambda x, again=again: pnp.stack(list(read(x, 7, 7, again))))(X)
            assert np.array_equal(rows[:], expected[:]), (start, stop)


@pytest.mark.parametrize("shape", [(2,), (5,), (2, 3), (3, 2), (2, 2, 2), (1, 2), (3, 2, 1), (4, 5)])
def test_views_of_what_was_written_are_slices(shape: tuple[int, ...]) -> None:
    def views(x: Any) -> Any:
        y = pnp.zeros(shape)
        y[:] = 2.0 * x
        return [part * 1.0 for part in (y[::-1], y[..., ::-1], y.T, y[-1:], y[..., 1:], y[0])]

    x = np.random.default_rng(0).normal(size=shape)
    program = primad.trace(views)(x)
    assert not any(node.op.name == "gather" for node in program.nodes)
    for found, expected in zip(program(x), views(x), strict=True):
        np.testing.assert_array_equal(found, expected)


STEP = np.array([[0.0, 1.0], [0.5, 0.25]])


def test_rows_that_are_written_in_blocks_are_slices_again() -> None:
    def step(u: Any) -> Any:
        v = pnp.zeros_like(u)
        v[1:-1] = u[2:] - 2.0 * u[1:-1] + u[:-2]
        return v

    names = {node.op.name for node in primad.trace(lambda u: step(step(u)))(np.ones(20)).nodes}
    assert "gather" not in names
    primad.check_grads(lambda u: np.sin(step(step(u))), (np.linspace(0.0, 1.0, 8) ** 2,), order=2)


# -- where it works ----------------------------------------------------------------------------------------------------


def written(x: Any) -> Any:
    y = pnp.empty((3, 2))
    y[:, 0] = x[:3]
    y[:, 1] = 1.0
    y.T[1, 1:] *= x[1]
    y[pnp.array([True, False, True])] += x[0]
    return y


def test_every_transform_takes_it() -> None:
    expected = np.array([[0.6, 1.3], [-1.2, -1.2], [1.0, -0.9]])
    assert np.allclose(written(X), expected) and type(written(X)) is np.ndarray
    assert np.allclose(primad.jit(written)(X), expected)
    assert np.allclose(primad.vmap(written)(np.stack([X, 2 * X]))[0], expected)
    loss = lambda x: np.sum(np.sin(written(x)))  # noqa: E731
    slope = primad.grad(loss)(X)
    assert np.allclose(primad.jit(primad.grad(loss))(X), slope)
    assert np.allclose(primad.jvp(loss, (X,), (np.ones(4),))[1], slope.sum())
    assert np.allclose(primad.hessian(loss)(X), primad.jacobian(primad.grad(loss))(X))
    assert np.allclose(primad.vmap(primad.grad(loss))(np.stack([X, X])), [slope, slope])
    assert np.allclose(primad.grad(primad.checkpoint(loss))(X), slope)
    primad.check_grads(loss, (X,), order=2)


def test_bodies_of_loops_and_rules_make_their_own() -> None:
    def body(carry: Any, row: Any) -> Any:
        y = pnp.copy(carry)
        y[0] += row
        y[1:] = carry[:-1] * row
        return y, y[0]

    def f(x: Any) -> Any:
        last, heads = primad.scan(body, x[:3], x)
        return np.sum(last * last) + np.sum(heads)

    carry, total = X[:3].copy(), 0.0
    for row in X:
        carry, head = body(carry, row)
        total += head
    assert np.allclose(f(X), np.sum(carry**2) + total)
    primad.check_grads(f, (X,))

    @primad.custom_jvp
    def twice(x: Any) -> Any:
        y = pnp.zeros(2)
        y[:] = x
        return y

    @twice.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        dy = pnp.zeros(2)
        dy[0] = 3.0 * tangents[0]
        return twice(*primals), dy

    assert np.allclose(primad.jacobian(twice)(2.0), [3.0, 0.0])


def test_arguments_of_transforms_are_what_it_holds() -> None:
    def f(x: Any) -> Any:
        y = pnp.zeros(3)
        y[0] = x
        inner = primad.grad(lambda z: np.sum(z**3))(y)
        y[1] = 5.0  # does not reach what was computed before
        return primad.jit(np.sum)(inner) + primad.vmap(np.sin)(y)[0] + primad.recording.tree.map(lambda z: z[0], [y])[0]

    assert np.isclose(primad.grad(f)(2.0), 12.0 + math.cos(2.0) + 1.0)


def test_an_index_may_be_traced() -> None:
    def f(x: Any, i: Any) -> Any:
        y = pnp.zeros(4)
        y[1:][i] = x[0]
        y[y > x[1]] = 7.0
        return y + pnp.array([0, 1, 2])[i]

    for run in (f, primad.jit(f), primad.jit(primad.jacobian(f))):
        assert run(X, np.int64(1)).shape[0] == 4
    assert np.allclose(primad.jit(f)(np.array([0.5, 1.0]), 1), [1.0, 1.0, 1.5, 1.0])
    assert np.allclose(primad.jit(f)(np.array([0.5, 0.2]), 2), [2.0, 2.0, 2.0, 9.0])


def test_a_users_class_may_call_itself_mutable() -> None:
    class Length:
        mutable = True

        def __init__(self, value: float) -> None:
            self.value = value

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            return np.array(self.value, dtype)

    assert primad.jit(lambda x: 2.0 * x)(Length(3.0)) == 6.0
    assert primad.recording.tree.leaves([Length(1.0)])[0].value == 1.0


# -- what it is --------------------------------------------------------------------------------------------------------


def recorded(check: Callable[[Any], Any]) -> None:
    """Run a check in a recording that knows no values."""
    primad.trace(lambda x: check(x) or x)(X)


def test_until_a_traced_value_is_written_it_is_plain() -> None:
    def check(x: Any) -> None:
        y = pnp.zeros((2, 2))
        y[0, 0] = 3.0
        y += 1
        assert y[0, 0] == 4.0 and float(y[0, 1]) == 1.0 and y.sum() == 7.0 and bool((y > 0).all())
        assert type(numpy.asarray(y)) is numpy.ndarray and y.tolist() == [[4.0, 1.0], [1.0, 1.0]]
        assert numpy.linalg.inv(y).shape == (2, 2) and math.sin(y[0, 0]) == math.sin(4.0)
        assert str(y) == str(numpy.asarray(y)) and f"{y[0, 0]:.1f}" == "4.0"
        assert list(range(int(pnp.array([3, 1])[0]))) == [0, 1, 2]
        assert x[pnp.array([0, 1])].shape == (2,) and x.reshape(pnp.array([2, 2])).shape == (2, 2)
        z = 2.0 * y + pnp.eye(2)
        z[1] = x[0]  # the result of plain arithmetic takes traced values too
        assert z[0].tolist() == [9.0, 2.0] and type(z[1, 0]) is TracedArray

    recorded(check)


def test_what_is_no_view_says_so() -> None:
    """A write into a copy of the numbers would be lost: it is refused, with the way out."""

    def f(x: Any, write: Callable[[Any], Any]) -> Any:
        y = pnp.zeros(3)
        y[1] = 1.0
        write(y)
        return x * y[0]

    refused = {
        r"np.array\(y\)": lambda y: operator.setitem(np.asarray(y), 0, 5.0),
        r"plain copy of known numbers": lambda y: y.ctypes,
        r"primad.numpy.resize": lambda y: y.resize(2),
        r"may be written to": lambda y: operator.setitem(pnp.broadcast_to(y, (2, 3)), 0, 5.0),
        r"is a copy": lambda y: np.asarray(y, copy=False),
        r"shows the bits": lambda y: y.view(np.int64),
    }
    for what, write in refused.items():
        with pytest.raises(primad.PrimadError, match=what):
            primad.grad(lambda x, write=write: f(x, write))(1.0)

    def fine(y: Any) -> None:
        for copied in (np.array(y), np.asarray(y, np.float32), y.copy(), y.flat[:2], pnp.asarray(y, np.float32)):
            copied[0] = 7.0
        pnp.asarray(y)[0] = pnp.array(y, copy=False)[1] + 1.0

    assert primad.grad(lambda x: f(x, fine))(1.0) == 2.0


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int64", "uint16", "float16", "float32", "float64", "complex64", "complex128"]
)
def test_a_plain_array_is_a_copy_that_may_be_written_to_only_where_it_must_be(dtype: str) -> None:
    """In every dtype: a write into what stands for the array itself is refused, as it would be lost."""
    asked: dict[str, bool] = {}

    def f(x: Any) -> Any:
        y = pnp.zeros(3, dtype)
        other = np.float32 if dtype == "float64" else np.float64
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # imaginary parts that are left out
            plain = {"asarray": np.asarray(y), "of its dtype": np.asarray(y, dtype), "copied": np.array(y)}
            plain |= {"converted": np.asarray(y, other), "converted copy": np.array(y, other)}
        for name, array in plain.items():
            assert array.dtype == (other if "converted" in name else dtype)
            asked[name] = array.flags.writeable
        return x

    primad.trace(f)(1.0)
    assert asked == {"asarray": False, "of its dtype": False, "copied": True, "converted": True, "converted copy": True}


@pytest.mark.parametrize("copy", [None, False])
def test_memory_of_the_callers_is_no_place_for_traced_values(copy: bool | None) -> None:
    def f(x: Any, made: Callable[[Any], Any]) -> Any:
        plain = numpy.ones(2)
        y = made(plain)
        y[0] = x
        return y[0] * plain[1]

    with pytest.raises(primad.errors.TracingError, match=r"primad\.numpy\.array"):
        primad.grad(lambda x: f(x, lambda plain: pnp.array(plain, copy=copy)))(1.0)
    assert primad.grad(lambda x: f(x, lambda plain: pnp.asarray(plain, copy=True)))(1.0) == 1.0
    made = primad.trace(lambda x: f(x, lambda plain: pnp.array(plain.tolist(), copy=None)))(1.0)
    assert made(3.0) == 3.0


def test_it_has_numpys_manners() -> None:
    def check(x: Any) -> None:
        y = pnp.array([x[0], 1.0, x[2]])
        assert isinstance(y, TracedArray) and len(y) == 3 and y.ndim == 1 and y.size == 3 and y.nbytes == 24
        assert [part.shape for part in y] == [(), (), ()] and y.strides == (8,) and "sum" in dir(y)
        a = pnp.zeros((2, 3))
        for row in a:
            row[0] = x[1]  # rows are views
        assert all(type(item) is TracedArray for item in a[:, 0])
        a.shape = (3, 2)
        a.T[0, 1] = x[0]
        assert type(a[1, 0]) is type(a[1, 1]) is TracedArray and a[0, 1] == 0.0
        b, c = copy.copy(a), copy.deepcopy(a)
        b[...] = c[...] = 0.0
        assert type(a[0, 0]) is TracedArray and b.tolist() == c.tolist() == [[0.0] * 2] * 3
        with pytest.raises(primad.errors.TracingError, match="pickled"):
            pickle.dumps(y)
        with pytest.raises(primad.errors.TracingError, match="lose the derivative"):
            float(y[0])
        with pytest.raises(primad.errors.TracingError, match="lose the derivative"):
            numpy.asarray(y)
        with pytest.raises(primad.errors.TracingError, match="no attribute 'summ'"):
            y.summ()
        with pytest.raises(ValueError, match="read-only"):
            pnp.broadcast_to(y, (2, 3))[0] = x[0]
        with pytest.raises(TypeError, match="same_kind"):
            pnp.array([1, 2]).__iadd__(x[:2])

    recorded(check)


def test_a_newer_recording_may_not_write() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        y = pnp.zeros(2)
        kept.append(y)

        def inner(z: Any) -> Any:
            y[0] = z
            return z

        return primad.grad(inner)(x) + y[1]

    with pytest.raises(primad.errors.TracingError, match="another recording"):
        primad.grad(f)(1.0)
    with pytest.raises(primad.errors.TracingError, match="another recording"):
        primad.trace(lambda x: kept[0].fill(1.0))(1.0)

    def keeps(x: Any) -> Any:
        kept[0] = pnp.zeros(1)
        kept[0][0] = x
        return x

    primad.grad(keeps)(1.0)
    with pytest.raises(primad.errors.TracingError, match="another recording"):
        kept[0][0] = 1.0
    with pytest.raises(primad.errors.TracingError, match="after its trace ended"):
        primad.grad(lambda x: x * kept[0][0])(1.0)


def test_plain_arrays_are_refused_and_the_way_out_works() -> None:
    def f(x: Any) -> Any:
        y = numpy.zeros(2)
        y[0] = x
        return y

    with pytest.raises(primad.errors.TracingError, match=r"primad\.numpy\.array\(y\)"):
        primad.grad(f)(1.0)
    with pytest.raises(primad.errors.TracingError, match=r"x = primad\.numpy\.copy\(x\)"):
        primad.trace(lambda x: operator.setitem(x, 0, 1.0))(X)

    def mended(x: Any) -> Any:
        y = pnp.array(numpy.zeros(2))
        y[0] = x
        return y[0]

    assert primad.grad(mended)(1.0) == 1.0


def test_outside_of_a_recording_arrays_are_numpys() -> None:
    for made in (pnp.zeros(2), pnp.array([1.0]), pnp.copy(X), pnp.eye(2), pnp.zeros_like(X), pnp.full(2, 1.0)):
        assert type(made) is np.ndarray
