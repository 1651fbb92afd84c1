"""Random programs of writes and reads: NumPy statements on arrays of primad, as NumPy does it, and derivatives."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy
import numpy as np
import pytest

import primad
import primad.numpy as pnp
from tests.sweeps import thinned

REFUSED = (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError)
SHAPES: tuple[tuple[int, ...], ...] = ((), (3,), (4,), (2, 3), (3, 1), (3, 4), (2, 2, 3), (0, 3))
WRITE = (operator.iadd, operator.isub, operator.imul, operator.itruediv)


class Run:
    """One run of a random program of writes and reads, with NumPy or with primad; both draw the same.

    In one of three programs there are results of operations among the arrays, which have fewer methods.
    """

    def __init__(self, xp: Any, x: Any, one: Any, seed: int, steps: int = 12) -> None:
        self.results = seed % 3 == 0
        self.xp, self.x, self.one = xp, x, one
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
        kind = self.rng.integers(9 if self.results else 7)
        if kind > 6:
            return xp.sin(self.x) if kind == 7 else xp.outer(self.x[:3], self.x) - 1.0
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
            lambda: xp.einsum("i...->i...", a),
            lambda: xp.lib.stride_tricks.sliding_window_view(a[0], 2, -1),
            lambda: a[...] if self.results else a.view(),
            lambda: self.chosen(a),
        )()

    def chosen(self, a: Any) -> Any:
        """Return a view at an index that is 1, which only the program may know."""
        if a.shape[0] < 2 or a.ndim < 2:
            raise ValueError
        return self.pick(lambda: a[self.one], lambda: a[self.one, ::-1], lambda: a.T[..., self.one])()

    def walk(self, a: Any) -> None:
        """Write to what is iterated over."""
        for k, v in enumerate(a[:-1]):
            a[k + 1] += 0.5 * v
        for k, v in enumerate(a.flat):
            a.flat[k - 1] = 0.25 * v

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
        if self.results:
            return
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
            lambda: self.walk(a),
            lambda: xp.cumsum(a, 0, None, a),
            lambda: xp.clip(a, -1.05, 1.55, out=a) if self.results else a.clip(-1.05, 1.55, a),
            lambda: xp.nan_to_num(a, self.results),
            lambda: xp.add(a[0], self.x[0], out=a),
            lambda: xp.multiply(a, self.x[0], out=a, where=rng.random(a.shape) < 0.5),
            lambda: operator.setitem(self.chosen(a), 0, self.x[0]),
        )()

    def result(self) -> Any:
        rows = [self.xp.ravel(self.xp.asarray(a)).astype(float) for a in self.pool]
        return self.xp.concatenate([*rows, self.x])


X = numpy.array([0.3, -1.2, 0.7, 2.1])


def same(ours: Any, theirs: Any) -> bool:
    return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-6, atol=1e-6, equal_nan=True)


@pytest.mark.one_in(4)
@pytest.mark.filterwarnings("ignore")
@thinned(2, seed=range(100))
def test_random_programs_are_numpys(seed: int) -> None:
    theirs = Run(numpy, X.copy(), 1, seed)
    runs: list[Run] = []

    def program(x: Any, one: Any) -> Any:
        runs.append(Run(pnp, x, one, seed))
        return runs[-1].result()

    found = primad.trace(program)(X, 1)(X, 1), primad.vjp(lambda x: program(x, 1), X)[0]
    for run, numbers in zip(runs, found, strict=True):
        assert run.said == theirs.said
        assert [(a.shape, a.dtype) for a in run.pool] == [(a.shape, a.dtype) for a in theirs.pool]
        assert same(numbers, theirs.result())


def traced_jacobian(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Jacobian in x of a function that is recorded without its values."""
    return primad.jit(lambda x, one: primad.jacobian(lambda z: primad.trace(function)(x, one)(z, one))(x)[:])


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(300, 308))
def test_derivatives_of_random_programs(seed: int) -> None:
    def program(x: Any, one: Any) -> Any:
        return Run(pnp, x, one, seed, 8).result()

    expected = Run(numpy, X.copy(), 1, seed, 8).result()
    assert same(primad.jit(program)(X, 1), expected)

    def bounded(x: Any, one: Any) -> Any:
        return pnp.sin(program(x, one) / (1.0 + np.abs(expected)))

    primad.check_grads(lambda x: bounded(x, 1), (X,), rtol=1e-4, atol=1e-5)
    jacobians = [run(bounded)(X, 1)[:] for run in (primad.jacobian, traced_jacobian)]
    assert np.allclose(*jacobians, rtol=1e-5, atol=1e-5)  # some of it is computed in float32


def inner(a: Any, u: Any) -> None:
    u[1:-1, 1:-1] += 2.0 * a[2:, 1:-1] - a[1:-1, :-2]


def edges(a: Any, u: Any) -> None:
    inner(a, u)
    u[0], u[-1] = u[1] * 2.0, u[-2]
    u[:, 0], u[:, -1] = u[:, -2], 3.0


def columns(a: Any, u: Any) -> None:
    for k in range(1, 5):
        u[:, k] = a[:, k] * u[:, k - 1]


def turned(a: Any, u: Any) -> None:
    u.T[1:3, ::-1] = a.T[1:3] * 2.0
    u[1:3, 3:] = a[::-1, ::-1][:2, :2] * 3.0


def every_other(a: Any, u: Any) -> None:
    u[::2, 1::2] = 2.0 * a[::2, 1::2]


def crossing(a: Any, u: Any) -> None:
    u[1:3, :2], u[2:, 1:4] = 2.0 * a[1:3, :2], 3.0 * a[2:, 1:4]


@pytest.mark.parametrize("start", ["traced", "numbers"])
@pytest.mark.parametrize(
    ("write", "gathers"),
    [(inner, False), (edges, False), (columns, False), (turned, False), (crossing, False), (every_other, True)],
)
def test_boxes_are_joined_and_what_is_strewn_is_gathered(write: Any, gathers: bool, start: str) -> None:
    a = np.random.default_rng(0).normal(size=(4, 5))

    def run(a: Any, np_: Any) -> Any:
        u = np_.array(3.0 * a) if start == "traced" else np_.array(np.arange(20.0).reshape(4, 5))
        write(a, u)
        return np.sin(u) * a

    program = primad.trace(lambda a: run(a, primad.numpy))(a)
    np.testing.assert_allclose(program(a), run(a, np), rtol=1e-15)
    assert any(node.op.name == "gather" for node in program.nodes) == gathers


def test_steps_that_write_into_the_inside_keep_what_is_around_it_as_it_is() -> None:
    def steps(u: Any) -> Any:
        u = primad.numpy.array(u)
        for _ in range(20):
            u[1:-1, 1:-1, 1:-1] = 0.5 * u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] * u[1:-1, 1:-1, 2:]
        return u

    names = {node.op.name for node in primad.trace(steps)(np.ones((12, 10, 14))).nodes}
    assert "concatenate" in names and not names & {"gather", "permute", "reshape"}
