"""Writing into arrays while a function is recorded: as NumPy does it, on random programs, and with its derivatives."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad.trace import TracedArray

REFUSED = (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError)
SHAPES: tuple[tuple[int, ...], ...] = ((), (3,), (4,), (2, 3), (3, 1), (3, 4), (2, 2, 3), (0, 3))
WRITE = (operator.iadd, operator.isub, operator.imul, operator.itruediv)


class Run:
    """One run of a random program of writes and reads, with NumPy or with primad; both draw the same."""

    def __init__(self, xp: Any, x: Any, seed: int, steps: int = 12) -> None:
        self.xp, self.x = xp, x
        self.rng = numpy.random.default_rng(seed)
        self.pool: list[Any] = []
        self.said: list[str] = []
        for _ in range(2):
            self.pool.append(self.made())
        for _ in range(steps):
            self.step()

    def pick(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def made(self) -> Any:
        xp, shape = self.xp, self.pick(*SHAPES[1:])
        dtype = self.pick(float, float, float, numpy.float32, int)
        kind = self.rng.integers(7)
        if kind == 0:
            return xp.array([[self.x[0], 1.0, self.x[1]], [0.5, self.x[2], 2.0]])
        if kind == 1:
            return xp.copy(self.x)
        if kind == 2:
            return xp.full(shape, self.x[0], dtype)
        if kind == 3:
            return xp.zeros_like(self.x)
        if kind == 4:
            return xp.array(self.rng.normal(size=shape).round(1).tolist(), dtype=dtype)
        return self.pick(xp.zeros, xp.ones)(shape, dtype, self.pick("C", "F"))

    def index(self, shape: tuple[int, ...]) -> Any:
        rng = self.rng
        kind = rng.integers(8)
        if kind == 0:
            return rng.random(shape) < 0.5
        if kind == 1 and shape and shape[0]:
            return rng.integers(-shape[0], shape[0], size=self.pick((2,), (3,), (2, 2)))
        if kind == 2 and len(shape) > 1 and min(shape):
            return tuple(rng.integers(0, n, size=2) for n in shape[:2])
        items: list[Any] = []
        for n in shape[: rng.integers(len(shape) + 1)]:
            a, b = (int(v) for v in rng.integers(-n - 1, n + 1, size=2))
            items.append(
                self.pick(a, slice(a, b), slice(None), slice(None, None, -1), slice(None, None, 2), slice(b, None))
            )
        if rng.random() < 0.2:
            items.append(Ellipsis)
        if rng.random() < 0.1:
            items.insert(0, None)
        return tuple(items)

    def value(self, shape: tuple[int, ...]) -> Any:
        x, xp = self.x, self.xp
        kind = self.rng.integers(8)
        numbers = self.rng.normal(size=self.pick(shape, shape[1:], shape, (1, *shape)))
        return (
            lambda: x[1] * 2.0,
            lambda: xp.sin(x[0]) * numbers,
            lambda: 3,
            lambda: numbers,
            lambda: x[: shape[-1]] if shape else x[2],
            lambda: self.pick(*self.pool),
            lambda: self.pick(*self.pool)[:1],
            lambda: self.pick(*self.pool) * x[3],
        )[kind]()

    def view(self, a: Any) -> Any:
        xp = self.xp
        return self.pick(
            lambda: a[self.index(a.shape)],
            lambda: a[self.index(a.shape)],
            lambda: a.T,
            lambda: a.reshape(-1),
            lambda: a.reshape((*a.shape[1:], *a.shape[:1])),
            lambda: xp.swapaxes(a, 0, -1),
            lambda: xp.flip(a, 0),
            lambda: xp.expand_dims(a, 0),
            lambda: xp.split(a, 2)[1],
            lambda: a.ravel(),
            lambda: xp.diagonal(a),
            lambda: a.copy(),
            lambda: a.astype(float),
            lambda: xp.squeeze(a),
            lambda: xp.broadcast_to(a, (2, *a.shape)),
        )()

    def step(self) -> None:
        place = int(self.rng.integers(len(self.pool)))
        a = self.pool[place]
        state = self.rng.integers(2**32)
        try:
            self.act(place, a)
            self.said.append("done")
        except REFUSED:
            self.said.append("refused")
        self.rng = numpy.random.default_rng(state)

    def act(self, place: int, a: Any) -> None:
        kind = self.rng.integers(10)
        if kind < 2:
            found = self.view(a)
            if getattr(found, "ndim", 0):
                self.pool.append(found)
        elif kind < 6:
            index = self.index(a.shape)
            a[index] = self.value(numpy.empty(a.shape, bool)[index].shape)
        elif kind == 6:
            index = self.index(a.shape)
            a[index] += self.value(numpy.empty(a.shape, bool)[index].shape)
        elif kind == 7:
            self.pool[place] = self.pick(*WRITE)(a, self.value(a.shape))
        elif kind == 8:
            self.functions(a)
        else:
            self.x = self.x + 0.1 * self.xp.sum(a)  # a read

    def added(self, a: Any) -> None:
        places = self.rng.integers(0, max(1, a.shape[0]), 3)
        if a.flags.writeable and a.dtype == float:  # NumPy writes here where it may not, and truncates each sum
            self.xp.add.at(a, places, self.x[0])

    def functions(self, a: Any) -> None:
        xp, rng = self.xp, self.rng
        self.pick(
            lambda: self.added(a),
            lambda: xp.put(a, rng.integers(0, max(1, a.size), 3), [self.x[1], 2.0, self.x[2]]),
            lambda: xp.fill_diagonal(a, self.x[1]),
            lambda: xp.copyto(a, self.value(a.shape)),
            lambda: xp.putmask(a, rng.random(a.shape) < 0.5, self.x),
            lambda: a.fill(self.x[0]),
            lambda: a.sort(),
            lambda: xp.multiply(a, self.x[0], out=a),
            lambda: xp.sum(a, axis=0, out=a[0]),
            lambda: operator.setitem(a.flat, slice(None, None, 2), self.x[0]),
        )()

    def result(self) -> Any:
        rows = [self.xp.ravel(self.xp.asarray(a)).astype(float) for a in self.pool]
        return self.xp.concatenate([*rows, self.x])


X = numpy.array([0.3, -1.2, 0.7, 2.1])


def same(ours: Any, theirs: Any) -> bool:
    return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-6, atol=1e-6, equal_nan=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(150))
def test_random_programs_are_numpys(seed: int) -> None:
    theirs = Run(numpy, X.copy(), seed)
    runs: list[Run] = []

    def program(x: Any) -> Any:
        runs.append(Run(pnp, x, seed))
        return runs[-1].result()

    found = primad.trace(program)(X)
    assert runs[-1].said == theirs.said
    assert [(a.shape, a.dtype) for a in runs[-1].pool] == [(a.shape, a.dtype) for a in theirs.pool]
    assert same(found(X), theirs.result())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(300, 308))
def test_derivatives_of_random_programs(seed: int) -> None:
    def program(x: Any) -> Any:
        return Run(pnp, x, seed, 8).result()

    primad.check_grads(lambda x: pnp.sin(program(x)), (X,), rtol=1e-4, atol=1e-5)
    assert same(primad.jit(program)(X), Run(numpy, X.copy(), seed, 8).result())


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
        return primad.jit(np.sum)(inner) + primad.vmap(np.sin)(y)[0] + primad.tree.map(lambda z: z[0], [y])[0]

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
