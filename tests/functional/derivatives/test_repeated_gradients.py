"""Gradients that are taken again while something that the function reads changes: each is that of its own call."""

import numpy as np
import pytest

import primad
from primad.ir.law_families import DIRECTIONS, without
from primad.ir.node import same_bits
from primad.runtime.plan.interpreter import Plan
from tests.benchmarks.small import SMALL

X = np.random.default_rng(0).uniform(0.1, 0.9, 10)


class State:
    """What functions close over."""

    def __init__(self):
        self.number, self.array, self.list, self.flag, self.index = 0.5, np.linspace(0.5, 1.5, 10), [1.0, 2.0], True, 1
        self.matrix = np.eye(3) + 0.1 * np.arange(9.0).reshape(3, 3)
        self.function, self.axis, self.shape, self.order = np.sin, 0, (2, 5), slice(0, 5)
        self.table = {"a": 2.0}


FUNCTIONS = [
    lambda s: lambda x: np.sum(s.number * x**2),
    lambda s: lambda x: np.sum(np.sin(x) ** s.list[0]) * s.list[1],
    lambda s: lambda x: np.sum(s.array * x) + np.dot(s.array, x) ** 2,
    lambda s: lambda x: np.sum(x[s.order] * s.array[s.order]) * x[s.index],
    lambda s: lambda x: np.sum(np.exp(x)) if s.flag else np.sum(np.cos(x)),
    lambda s: lambda x: np.sum(np.linalg.solve(s.matrix, x[:3])) + np.linalg.det(s.matrix * x[0]),
    lambda s: lambda x: np.sum(s.function(x)) * s.table["a"],
    lambda s: lambda x: np.sum(np.reshape(x, s.shape).sum(axis=s.axis) ** 3),
    lambda s: lambda x: np.sum(x**2) if np.sum(x) > 5.0 * s.number else np.sum(x**3),
    lambda s: lambda x: np.sum(np.maximum(x, s.number)) + np.sum(np.clip(x, None, s.number)) + x.max(),
    lambda s: lambda x: np.sum(np.stack([x, s.array])[s.index] * x) + sum(float(n) * x[0] for n in s.list),
    lambda s: lambda x: np.sum(np.where(s.array > s.number, x, 0.0)) + np.concatenate([x, s.array]) @ np.tile(x, 2),
    lambda s: lambda x: written(x, s.number, s.index),
    lambda s: lambda x: np.sum(primad.grad(lambda y: np.sum(y**2 * s.array * x))(x) * s.number),
]  # fmt: skip


def written(x, number, index):
    y = np.sin(x)
    part = y[:5]
    part[index] = number
    part *= x[5:]
    return np.sum(y * y)


CHANGES = {
    "nothing": lambda s: None,
    "a number": lambda s: setattr(s, "number", 0.75),
    "its sign, at zero": lambda s: setattr(s, "number", -0.0),
    "its type": lambda s: setattr(s, "number", np.float32(0.5)),
    "an array, in place": lambda s: s.array.__setitem__(3, 7.0),
    "an array of other types": lambda s: setattr(s, "array", s.array.astype(np.float32)),
    "an array in another order": lambda s: setattr(s, "array", s.array[::-1]),
    "a matrix, in place": lambda s: s.matrix.__setitem__((1, 1), 5.0),
    "an item of a list": lambda s: s.list.__setitem__(0, 3.0),
    "the length of a list": lambda s: s.list.append(4.0),
    "a branch": lambda s: setattr(s, "flag", not s.flag),
    "a function": lambda s: setattr(s, "function", np.tanh),
    "an axis": lambda s: setattr(s, "axis", 1 - s.axis),
    "a shape": lambda s: setattr(s, "shape", (5, 2)),
    "an index": lambda s: setattr(s, "index", 0),
    "a slice": lambda s: setattr(s, "order", slice(5, 10)),
    "a table": lambda s: s.table.update(a=-1.0),
}


def outcome(function, x):
    """Return the value and the gradient, or the error's words."""
    try:
        return [*primad.value_and_grad(function)(x), primad.grad(function)(x)]
    except primad.PrimadError as error:
        return str(error)


def anew(function, x):
    """Return the outcome of a first call, which follows none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("primad.functional.derived_calls.MOST_MISSES", 0)
        return outcome(function, x)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("make", FUNCTIONS)
def test_each_gradient_is_that_of_its_call(make):
    """Whatever has changed since, and whatever was recorded before: to the bit what a first call gives."""
    for change in CHANGES.values():
        state = State()
        function = make(state)
        for x in (X, X, X, X + 1.0, -X):
            assert_same(outcome(function, x), anew(function, x))
        for _ in range(3):
            change(state)
            assert_same(outcome(function, X), anew(function, X))


@pytest.mark.parametrize("name", SMALL)
def test_many_calls_have_the_bits_of_the_first(name):
    """A plan that runs again is a function of Python's; results are arrays of their own, and warnings are not given."""
    function, points = SMALL[name](np), [X, X - 0.5, np.zeros(10), np.full(10, np.inf), np.full(10, np.nan), X]
    first = [anew(function, x) for x in points]
    given = [x.copy() for x in points]
    with np.errstate(all="raise"):
        for _ in range(3):
            for x, expected in zip(given, first, strict=True):
                found = outcome(function, x)
                assert_same(found, expected)
                if not isinstance(found, str):
                    found[1][...] = found[2][...] = 7.0
    assert all(map(same_bits, given, points))


ARGUMENTS = [
    ((X, 2.0), 1, {}), ((X, 2.0), (1, 0), {}), ((X, 2.0), (0, 1), {}), ((X, 2.0), (0, 0), {}), ((X, 2.0), -1, {}),
    ((X, X[:1]), (1, 0), {}), (({"b": X, "a": 0.5}, [X, 2.0]), (1, 0), {}), ((X, 3), 0, {}), ((X,), 0, {"b": X}),
    ((X, "text"), 0, {}), ((X.astype(np.float32), np.float64(2.0)), (1, 0), {}),
]  # fmt: skip


@pytest.mark.parametrize("has_aux", [False, True])
@pytest.mark.parametrize(("args", "argnums", "options"), ARGUMENTS)
def test_each_argument_has_its_own_gradient(args, argnums, options, has_aux):
    """In whatever order they are asked for, of trees too, and again."""

    def f(*args, **options):
        numbers = [x for x in primad.recording.tree.leaves((args, options)) if not isinstance(x, str)]
        total = sum((k + 1.0) * np.sum(np.sin(x) * numbers[0]) for k, x in enumerate(numbers))
        return (total, np.sum(numbers[-1])) if has_aux else total

    def found():
        return primad.recording.tree.flatten(primad.grad(f, argnums, has_aux=has_aux)(*args, **options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("primad.functional.derived_calls.MOST_MISSES", 0)
        expected, structure = found()
    for _ in range(3):
        leaves, again = found()
        assert again == structure
        assert_same(leaves, expected)


def test_what_is_kept_is_of_the_same_question(planned):
    """What says that a function is holomorphic is checked again, and what laws are left out is planned anew."""

    def squares(z):
        return np.sum(np.real(z * z))

    for _ in range(3):
        assert same_bits(primad.grad(squares)(X + 1j), 2.0 * (X + 1j))
    with pytest.raises(primad.NotDifferentiableError, match="holomorphic"):
        primad.grad(squares, holomorphic=True)(X + 1j)
    gradient = primad.grad(lambda x: np.sum(np.sin(x)))
    first = [gradient(X) for _ in range(3)]
    before = len(planned)
    with without(DIRECTIONS):
        again = gradient(X)
    assert len(planned) > before and all(same_bits(x, again) for x in first)


@pytest.mark.parametrize("name", SMALL)
def test_plans_that_run_again_are_not_interpreted(name, monkeypatch):
    function = primad.grad(SMALL[name](np))
    first, _ = function(X), function(X)
    monkeypatch.setattr(Plan, "_run", None)
    assert same_bits(function(X), first)


def assert_same(found, expected):
    assert type(found) is type(expected)
    if isinstance(found, str):
        assert found == expected
    else:
        assert all(map(same_bits, map(np.asarray, found), map(np.asarray, expected)))
