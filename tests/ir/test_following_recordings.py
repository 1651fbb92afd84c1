"""Recordings that follow earlier ones are what recordings from nothing are, and cost less."""

import gc
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primad
import primad.numpy as pnp
from primad.functional.derived_calls import MOST_MISSES, Call
from primad.functional.following import FollowingTrace
from primad.ir.node import Trace, same_bits
from primad.recording import tree
from primad.recording.tracing import record, type_of
from primad.runtime.evaluation import evaluate_node

X = np.array([0.5, -0.25, 0.125])
NUMBERS = [0.0, -0.0, 1, 1.0, True, -1.0, 2, 2.0, 0.5, float("nan"), np.float32(0.5), np.float64(-0.0)]
ARRAYS = [np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0], np.float32), np.array([-0.0, 0.0, 1.0]), np.arange(3)]
OPERATIONS = [
    lambda x, y, c, a: -x, lambda x, y, c, a: np.sin(x), lambda x, y, c, a: x + y, lambda x, y, c, a: y * x,
    lambda x, y, c, a: x - y, lambda x, y, c, a: x * c, lambda x, y, c, a: c + x, lambda x, y, c, a: c - x,
    lambda x, y, c, a: x * a, lambda x, y, c, a: a + y, lambda x, y, c, a: x[::-1], lambda x, y, c, a: x / (y + 2.0),
    lambda x, y, c, a: np.where(x > c, x, y), lambda x, y, c, a: x * np.sum(y), lambda x, y, c, a: np.flip(x) @ y * x,
    lambda x, y, c, a: y if np.sum(x) > 0.3 else -y, lambda x, y, c, a: primad.numpy.stack([x, y])[int(bool(c))],
    lambda x, y, c, a: x * primad.grad(lambda z: np.sum(np.sin(z) * y))(x),
    lambda x, y, c, a: primad.numpy.cumsum(x) if bool(c) else x**c, lambda x, y, c, a: np.roll(x, int(c == c and c)),
    lambda x, y, c, a: x[int(c == 1) :] @ y[: 3 - int(c == 1)] * x,
    lambda x, y, c, a: np.linalg.eigh(np.outer(x, x) + np.diag(a))[0] * y,
    lambda x, y, c, a: np.maximum(x, c), lambda x, y, c, a: np.clip(x, -1.0, c), lambda x, y, c, a: x.clip(min=c),
    lambda x, y, c, a: np.sum(np.stack([x, a, y]), axis=int(c == 1)), lambda x, y, c, a: x.reshape(3, 1)[:, 0] ** 2,
    lambda x, y, c, a: np.concatenate([x[:1], y[1:]]), lambda x, y, c, a: x + np.broadcast_to(a[:1], 3),
    lambda x, y, c, a: x * a[::-1], lambda x, y, c, a: np.take(x, [0, 2, int(c == 1)]),
    lambda x, y, c, a: x[a > 1.5] @ a[a > 1.5] * y,
    lambda x, y, c, a: x[x > 0.0].sum() * y, lambda x, y, c, a: np.linalg.solve(np.outer(x, x) + 9.0 * np.eye(3), y),
    lambda x, y, c, a: written(x, y, c), lambda x, y, c, a: written(np.reshape(x * y, (3, 1))[:, 0], y, c),
    lambda x, y, c, a: primad.numpy.vectorize(lambda z: z * c)(x), lambda x, y, c, a: np.where(a > 1.0, x, c),
    lambda x, y, c, a: np.repeat(x, 2)[::2] * np.float32(c), lambda x, y, c, a: x.std() * y,
    lambda x, y, c, a: abs(x) - y,
]  # fmt: skip


def written(x, y, c):
    """Return an array of which a view was written to, through another view."""
    x = x * 2.0
    view = x[1:]
    whole = view.reshape(2, 1)
    whole += np.sum(y)
    view *= y[1:]
    view[0] = c
    return x


steps = st.tuples(
    st.sampled_from(OPERATIONS), st.integers(0, 1), st.integers(0, 4), st.sampled_from(NUMBERS), st.sampled_from(ARRAYS)
)


@st.composite
def recipes(draw):
    """Several recipes, each of a few parts that begin at the argument: most begin alike, or do again what they did."""
    first = draw(st.lists(steps, min_size=1, max_size=5))
    found = [[first], [first, first]]
    for step in draw(st.lists(steps, min_size=1, max_size=3)):
        at = draw(st.integers(0, len(first) - 1))
        part = draw(st.sampled_from(range(5)))
        changed = [*first[:at], (*first[at][:part], step[part], *first[at][part + 1 :]), *first[at + 1 :]]
        found += [[changed, first], [first, changed], [[*first[:at], step], first], [[*first, step]]]
    return draw(st.lists(st.sampled_from(found), min_size=2, max_size=8))


def cooked(recipe, x):
    results = []
    for part in recipe:
        values = [x]
        for operation, i, j, number, array in part:
            values.append(operation(values[-1 - i % len(values)], values[j % len(values)], number, array))
        results += [np.sum(values[-1]), values[len(part) // 2]]
    return results


@given(recipes())
@settings(max_examples=60, deadline=None)
def test_recordings_that_follow_others_are_as_from_nothing(given):
    """Whatever was recorded of the same code before: the program is the one of a first recording, node by node."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("primad.functional.derived_calls.MOST_MISSES", 1 << 30)
        follow(given)


def follow(given):
    for recipe in given:
        following = Call(lambda x, recipe=recipe: cooked(recipe, x), (X,)).recorded
        fresh = record(partial(cooked, recipe), [type_of(X)], tree.flatten((X,))[1], [X], evaluate_node)
        assert following.text() == fresh.text()
        assert following.key == fresh.key
        assert all(map(same_bits, following.source_values, fresh.source_values))
        assert left_out(following) <= left_out(fresh)  # a fresh one notes what laws ask for, too


def left_out(program):
    return {(at, op, tuple([x.index for x in xs]), x.index) for at, op, xs, _, x in program.neutral}


def counted(monkeypatch):
    """Count what is built by looking it up, and not by following."""
    count = [0]
    build = Trace.build

    def counting(*args):
        count[0] += 1
        return build(*args)

    monkeypatch.setattr(Trace, "build", counting)
    return count


def test_what_does_the_same_is_not_looked_up(monkeypatch):
    """Also as a new function of the same code; what differs is, and after a few times nothing is followed in vain."""
    weights = np.array([1.0, 2.0, 3.0])

    def gradient(scale):
        return primad.grad(lambda x: np.sum(weights * np.sin(scale * x) ** 2 / (1.0 + x @ x)))(X)

    first = gradient(2.0)
    count = counted(monkeypatch)
    assert np.array_equal(gradient(2.0), first)
    assert count == [0]
    weights[0] = 5.0
    second = gradient(2.0)
    assert count[0] > 0
    assert not np.array_equal(second, first)
    count[0] = 0
    assert np.array_equal(gradient(2.0), second)
    assert count == [0]
    for step in range(MOST_MISSES + 1):
        gradient(0.1 * step)
    count[0] = 0
    gradient(7.0)
    gradient(7.0)
    assert count[0] > 0


def test_calls_that_are_known_are_not_made(monkeypatch):
    """Neither functions, methods, operators nor indices: what NumPy's name records is not asked again."""
    weights, asked = np.array([1.0, 2.0, 3.0]), []

    def f(x):
        y = np.stack([x, weights])[0].sum() + np.linalg.norm(x, ord=2) - x.mean(axis=0, keepdims=True)[0]
        matrix = np.outer(x, x) + np.diag(weights)
        several = np.linalg.slogdet(matrix).logabsdet + np.linalg.eigh(matrix)[0][0] + sum(np.linalg.qr(matrix)[1][0])
        return several * (np.concatenate((x[1:], -x[..., :1])) @ np.roll(x, 1) * np.maximum(y, 0.0) / abs(y))

    first = primad.grad(f)(X)
    for name in ("build", "literal", "capture"):
        monkeypatch.setattr(FollowingTrace, name, lambda *args: asked.append(args))
    assert same_bits(primad.grad(f)(X), first)
    assert asked == []


def test_several_results_are_what_they_were():
    """Two, one or an argument, and views that write through."""
    seen = []

    def pair(x):
        y = np.sin(x)
        return y, y

    def with_itself(x):
        return np.sin(x), x

    def f(x):
        for function in (pair, with_itself):
            a, b = x.node.trace.call(function, function, (x,), {})
            seen.append((a is b, b is x))
        y = 2.0 * x
        first, _ = np.split(y, [1])
        first[0] = 7.0 * x[1]
        return np.sum(y * x)

    first = primad.grad(f)(X)
    assert same_bits(primad.grad(f)(X), first)
    assert seen == [(True, False), (False, True)] * 2


def test_a_call_is_noted_once(monkeypatch):
    """However it is made: by NumPy, as a method, an attribute or primad's function of that name."""
    noted = []
    note = FollowingTrace._called
    monkeypatch.setattr(FollowingTrace, "_called", lambda self, *args: noted.append(args[1]) or note(self, *args))
    x = np.arange(1.0, 7.0).reshape(2, 3)
    for call in (np.sum, np.flip, np.exp, pnp.sum, pnp.exp, abs, lambda x: x.sum(), lambda x: x[0], lambda x: x.T):
        noted.clear()
        Call(call, (x,))
        assert len(noted) == 1, noted


def test_loops_in_python_are_rolled_once(monkeypatch):
    def path(x):
        for _ in range(400):
            x = x + 0.01 * np.sin(x) * (1.0 - x)
        return x

    first = primad.grad(path)(0.3)
    monkeypatch.setattr("primad.functional.derived_calls.compact", None)
    assert primad.grad(path)(0.3) == first


def test_a_call_leaves_nothing_to_collect():
    """What a recording made is freed as soon as it is not used: no cycle waits for the collector."""
    gradient = primad.grad(lambda x: np.sum(np.sin(x) * 2.0 - x[::-1]))
    for _ in range(3):
        gradient(X)
    gc.collect()
    gc.disable()
    try:
        gradient(X)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_traced_arrays_of_earlier_calls_are_refused():
    kept = []

    def leaking(x):
        kept.append(x * 2.0)
        return x * kept[0]

    assert primad.grad(leaking)(3.0) == 12.0
    with pytest.raises(primad.TracingError, match="after its trace ended"):
        primad.grad(leaking)(3.0)


def test_results_have_the_tree_of_their_own_call():
    """Keys that are equal but not the same, which a structure does not tell apart."""
    for key in (1, True, 1.0, 1):
        _, aux = primad.grad(lambda x, key=key: (x * x, {key: x}), has_aux=True)(2.0)
        assert [type(name) for name in aux] == [type(key)]


def test_values_are_those_of_the_call():
    """Python's branches are taken by the values of this call, of nodes that were followed too."""

    def f(x):
        y = np.sin(x) * 3.0
        return y * y if y > 1.0 else -y

    for x in (0.1, 1.0, 0.2, 0.3, 1.2, 0.1):
        y, slope = 3.0 * np.sin(x), 3.0 * np.cos(x)
        assert np.isclose(primad.grad(f)(x), 2.0 * y * slope if y > 1.0 else -slope, rtol=1e-14)


def test_errors_of_followed_recordings_name_the_line():
    def failing(x):
        root = np.linalg.cholesky(x)
        return np.sum(root) if root[0, 0] > 0.0 else 0.0 * np.sum(x)

    line = failing.__code__.co_firstlineno + 1
    primad.grad(failing)(np.eye(2))
    with pytest.raises(primad.PrimadError, match=rf"cholesky(.|\n)*test_following_recordings\.py:{line}"):
        primad.grad(failing)(-np.eye(2))
