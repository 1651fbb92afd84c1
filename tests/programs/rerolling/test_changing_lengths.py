"""Loops in Python whose arrays shrink or grow are loops of the program, with the values and derivatives of steps."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import primad
import primad.numpy as pnp
from primad.ir.node import leaf_value
from primad.programs.rerolling import repeated_runs
from primad.programs.rerolling.rerolled_loops import rolled
from primad.recording.tracing import record, type_of
from primad.runtime.executors.dispatch import REFERENCE, prepare

COUNT = 14
X = np.linspace(0.4, 1.3, COUNT)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short loops count."""
    monkeypatch.setattr(repeated_runs, "FEWEST_NODES", 24)
    monkeypatch.setattr(repeated_runs, "WINDOW", 4)


def by_definition(program: primad.Program, x: Any) -> Any:
    (found,) = prepare(program.hoisted(), executor=REFERENCE).run([x, *map(leaf_value, program.sources)])
    return found


def plainly(f: Any, x: Any) -> primad.Program:
    """Return the program of a function as Python takes its steps."""
    return record(f, [type_of(x)], primad.recording.tree.flatten((x,))[1], weak=[False])


def check(f: Any, x: Any = X, loops: int = 1) -> primad.Program:
    """Check values, and both modes of a derivative, against the steps one by one; return the program with the loops."""
    plain = plainly(f, x)
    found = rolled(plain).check()
    assert len([node for node in found.nodes if node.op.name == "scan"]) == loops, f"{found.notes} {found}"
    np.testing.assert_allclose(by_definition(found, x), by_definition(plain, x), rtol=1e-13, atol=1e-14)
    for derived in (primad.grad, primad.jacfwd):
        fewest, repeated_runs.FEWEST_NODES = repeated_runs.FEWEST_NODES, 10**9
        wanted = plainly(derived(lambda x: f(x)), x)
        repeated_runs.FEWEST_NODES = fewest
        got = plainly(derived(lambda x: f(x)), x)
        wanted_value, value = by_definition(wanted, x), by_definition(got, x)
        np.testing.assert_allclose(value, wanted_value, rtol=1e-11, atol=1e-11 * np.abs(wanted_value).max())
    return found


def tree(v: Any) -> Any:
    pay = np.maximum(1.0 - v**2, 0.0)
    w = pay
    for n in range(COUNT - 2, -1, -1):
        w = np.maximum(0.99 * (0.4 * w[1:] + 0.6 * w[:-1]), pay[: n + 1])
    return w[0]


def tree_of_plain_arrays(v: Any) -> Any:
    for n in range(COUNT - 2, 0, -1):
        v = np.maximum(0.99 * (0.4 * v[1:] + 0.6 * v[:-1]), v[0] * 1.1 ** (2.0 * np.arange(n + 1) - n))
    return np.sum(v)


def from_the_end(v: Any) -> Any:
    pay = np.sin(v)
    for n in range(COUNT - 2, 0, -1):
        v = 0.4 * v[1:] + 0.6 * v[:-1] * pay[COUNT - 1 - n :]
    return np.sum(v)


def pascal(x: Any) -> Any:
    v = x[:2]
    for _ in range(12):
        v = np.concatenate([v[:1] * x[0], v[1:] * 0.3 + 0.5 * v[:-1], v[-1:]])
    return np.sum(v)


def written(x: Any) -> Any:
    u = pnp.asarray(x).copy()
    for k in range(1, COUNT):
        u[:-k] = 0.5 * u[1 : COUNT - k + 1] + 0.5 * np.sin(u[:-k])
    return np.sum(u**2)


def neville(x: Any) -> Any:
    p = np.sin(3 * x)
    for k in range(1, COUNT):
        p = p[:-1] * 0.7 + (0.3 - x[k:]) * p[1:] / (x[:-k] - x[k:]) * 0.01
    return np.sum(p)


def curve(x: Any) -> Any:
    b = np.stack([x, x**2], 1)
    for _ in range(COUNT - 1):
        b = 0.3 * b[1:] + 0.7 * b[:-1]
    return np.sum(b)


def appended(x: Any) -> Any:
    v = x[:1]
    for n in range(COUNT - 2):
        v = np.concatenate([np.sin(v), np.cos(v[-1:]) * x[n]])
    return np.sum(v**2)


def put_before(x: Any) -> Any:
    v = x[:1]
    for n in range(COUNT - 2):
        v = np.concatenate([np.sin(x[n : n + 1]) * v[0], 0.9 * v])
    return np.sum(v**2)


def levinson(r: Any) -> Any:
    a, e = r[:1] * 0.2, 1.0
    for k in range(1, COUNT):
        reflection = -(r[k] + np.sum(a * r[:k][::-1])) / e / 30
        a = np.concatenate([a + reflection * a[::-1], reflection[None]])
        e = e * (1 - reflection**2)
    return np.sum(a**2)


def solved_forwards(b: Any) -> Any:
    matrix = np.tril(np.outer(b, b)) * 0.1 + np.eye(COUNT)
    x = b[:1]
    for i in range(1, COUNT):
        x = np.concatenate([x, ((b[i] - matrix[i, :i] @ x) / matrix[i, i])[None]])
    return np.sum(x**2)


def solved_in_place(b: Any) -> Any:
    matrix = np.tril(np.outer(b, b)) * 0.1 + np.eye(COUNT)
    x = pnp.zeros(COUNT)
    for i in range(COUNT):
        x[i] = (b[i] - matrix[i, :i] @ x[:i]) / matrix[i, i]
    return np.sum(x**2)


def solved_backwards(b: Any) -> Any:
    matrix = np.triu(np.outer(b, b)) * 0.1 + np.eye(COUNT)
    x = pnp.zeros(COUNT)
    for i in range(COUNT - 1, -1, -1):
        x[i] = (b[i] - np.sum(matrix[i, i + 1 :] * x[i + 1 :])) / matrix[i, i]
    return np.sum(x**2)


def filled_up(v: Any) -> Any:
    w = v
    for n in range(1, COUNT):
        w = np.sin(np.concatenate([v[:n] * w[-1], np.full_like(v[n:], 0.5), w[:1], v[:1]])) * 0.9
    return np.sum(w**2)


def history(b: Any) -> Any:
    xs = [b[0]]
    for i in range(1, COUNT):
        xs.append(np.sin(b[i] - 0.1 * np.sum(np.array(xs) * b[:i][::-1])))
    return xs[-1]


def second_differences(v: Any) -> Any:
    v = np.concatenate([v, v + 0.3])
    for _ in range(12):
        v = 0.5 * v[1:-1] + np.sqrt(np.abs(v[2:] * v[:-2]))
    return np.sum(v)


def eliminated(x: Any) -> Any:
    a, total = np.outer(x, x) * 0.01 + np.diag(x + 2), 0.0
    for _ in range(COUNT - 1):
        total = total + np.log(a[0, 0])
        a = a[1:, 1:] - np.outer(a[1:, 0], a[0, 1:]) / a[0, 0]
    return total


KINDS = [
    tree, tree_of_plain_arrays, from_the_end, pascal, written, neville, curve, appended, put_before, levinson,
    solved_forwards, solved_in_place, solved_backwards, filled_up, history, second_differences, eliminated,
]  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("f", KINDS, ids=lambda f: f.__name__)
def test_arrays_that_shrink_or_grow(f: Any) -> None:
    """Trees, tables, triangular solves, prefixes: what people write with slices that move their ends."""
    (note,) = [note for note in check(f).notes if "one scan" in note]
    assert "on arrays of other lengths" in note


@pytest.mark.one_in(3)
def test_what_is_0_behind_its_end_is_not_cleared_again() -> None:
    """Moves, products and quotients keep zeros; steps on matrices that shrink to one element are those of a loop."""

    def lower(x: Any) -> Any:
        a, total = np.outer(x, x) * 0.01 + np.diag(x + 2), 0.0
        for _ in range(COUNT - 1):
            column = a[1:, 0] / a[0, 0]
            a = a[1:, 1:] - np.outer(column, a[0, 1:])
            total = total + np.log(a[0, 0])
        return total

    def summed(step: Any) -> Any:
        def f(v: Any) -> Any:
            total = 0.0
            for _ in range(COUNT - 2):
                v = step(v)
                total = total + np.sum(v)
            return total

        return f

    cases = [
        (eliminated, 0),
        (lower, 0),
        (summed(lambda v: 0.5 * v[1:] / v[0]), 0),
        (summed(lambda v: 0.9 * v[:-1]), 1),
        (summed(lambda v: (0.9 * v[::-1])[:-1] + 0.1 * v[1:]), 3),
        (summed(lambda v: v[1:] * (0.5 * v[1:])), 0),
        (summed(lambda v: np.cos(v[1:])), 1),
        (summed(lambda v: v[1:] / (1.0 + v[:-1])), 1),
    ]
    for f, selects in cases:
        (loop,) = [node for node in check(f).nodes if node.op.name == "scan"]
        found = [node.op.name for node in dict(loop.params)["of"].program.nodes]
        assert found.count("select") == selects, found


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("shift", "shrinks", "carried"), [(1, 1, True), (2, 3, True), (2, 1, False), (-1, 1, False)])
def test_parts_that_shift_are_carried(shift: int, shrinks: int, carried: bool) -> None:
    """What each step takes of an array, further along it than the step before, is no array with a row for each."""

    def f(x: Any) -> Any:
        known = np.tanh(np.concatenate([x * k for k in range(1, 7)]))
        v = known[:40]
        for n in range(COUNT - 2):
            own = known[COUNT + shift * n :][: len(v) - shrinks]
            v = np.maximum(0.4 * v[shrinks:] + 0.3 * v[:-shrinks], 0.5 * own)
        return np.sum(v**2)

    assert ("gather" in [node.op.name for node in check(f).nodes]) != carried


def test_what_lies_behind_the_end_has_no_derivative() -> None:
    """Where steps divide by zero, or take a root or a logarithm of it, behind the end of their arrays."""

    def f(v: Any) -> Any:
        for _ in range(COUNT - 2):
            v = np.log(2.0 * v[1:]) / (1.0 + v[:-1]) + 0.1 * np.sqrt(v[1:]) + 0.1 / (v[1:] * v[:-1]) + 1.0
        return np.sum(v)

    check(f)
    for make in (primad.grad, lambda f: primad.grad(lambda x: primad.grad(f)(x) @ x)):
        fewest, repeated_runs.FEWEST_NODES = repeated_runs.FEWEST_NODES, 10**9
        wanted = primad.jit(make(lambda x: f(x)))(X)
        repeated_runs.FEWEST_NODES = fewest
        np.testing.assert_allclose(primad.jit(make(f))(X), wanted, rtol=1e-10)


def test_values_of_each_step() -> None:
    """What steps leave are arrays of other lengths; each is cut to its own."""

    def f(v: Any) -> Any:
        kept = []
        for _ in range(12):
            v = 0.4 * v[1:] + 0.6 * np.sin(v[:-1])
            kept.append(v)
        return np.concatenate(kept)[::3] @ np.concatenate(kept[::-1])[::3]

    check(f)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (lambda v, n: np.cumsum(v)[1:] * 0.3, "cumsum"),
        (lambda v, n: np.sort(v[1:] * v[:-1]), "sort"),
        (lambda v, n: np.sin(v[1:]) ** (n + 4), "np.where"),
    ],
)
def test_steps_that_cannot_take_more_than_they_need(step: Any, said: str) -> None:
    """Ops that mix an axis whose length changes keep the steps, and are named with the line."""

    def f(v: Any) -> Any:
        for n in range(COUNT - 2):
            v = step(v, n) + 0.1 * np.cos(v[1:])
        return np.sum(v)

    found = check(f, loops=0)
    (note,) = [note for note in found.notes if "stay unrolled" in note]
    assert said in note and "float64[" in note, note


def halved_one_by_one(v: Any) -> Any:
    v, total = np.concatenate([v, v]), 0.0
    for _ in range(12):
        total = total + sum([0.5 * x for x in v]) * 0.1
        v = np.sin(v[:-2]) - v[2:]
    return total


def joined_alone(v: Any) -> Any:
    kept = [v]
    for _ in range(30):
        kept.append(np.concatenate([v[:1], kept[-1]]))
    return sum([np.sum(np.sin(w)) for w in kept])


def small_matrices(v: Any) -> Any:
    a = np.outer(v, v)
    for _ in range(COUNT - 2):
        a = np.sin(a[1:, 1:]) * a[:-1, :-1]
    return np.sum(a)


def looked_up(v: Any) -> Any:
    table = pnp.array(np.linspace(0.0, 1.0, 40))
    for _ in range(COUNT - 2):
        v = np.sin(v[1:]) * table[np.floor(3 * v[1:] + 5).astype(int)] + 0.1 * np.cos(v[1:])
    return np.sum(v)


STAY = [(halved_one_by_one, 1), (joined_alone, 0), (small_matrices, 0), (looked_up, 0)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("f", "loops"), STAY, ids=lambda f: getattr(f, "__name__", str(f)))
def test_steps_that_had_better_stay(f: Any, loops: int) -> None:
    """Parts that begin elsewhere in each, joined arrays only, few ops on matrices, and places."""
    check(f, loops=loops)


STEPS = [
    lambda v, c: np.sin(v) * c["scale"],
    lambda v, c: np.maximum(v, 0.9 * c["prefix"](len(v))),
    lambda v, c: v + 0.1 * c["suffix"](len(v)),
    lambda v, c: v * np.cos(0.1 * np.arange(len(v)) - 0.2 * c["n"]),
    lambda v, c: v - 0.01 * np.sum(v),
    lambda v, c: v + 0.01 * np.sum(c["prefix"](len(v))) - 0.1 * c["suffix"](len(v)) @ v,
    lambda v, c: 0.7 * v[::-1] + 0.1 * v[-1],
    lambda v, c: np.concatenate([v[:1], 0.5 * v[1:]]),
    lambda v, c: np.concatenate([0.5 * v[:-1], v[-1:] * c["scale"]]),
    lambda v, c: np.where(v > 0.5, v, 0.5 * v * v),
    lambda v, c: v / (1.2 + c["scale"]) + 0.1 * v / (1.0 + c["prefix"](len(v))),
    lambda v, c: 0.1 * np.sum(np.outer(v, v * c["prefix"](len(v))), axis=0),
]
CHANGES = [
    lambda v, c: 0.5 * v[1:] + 0.4 * v[:-1],
    lambda v, c: v[1:],
    lambda v, c: v[:-1],
    lambda v, c: v[1:-1],
    lambda v, c: np.concatenate([v, v[:1] * 0.5]),
    lambda v, c: np.concatenate([np.stack([c["row"]]), v]),
    lambda v, c: np.concatenate([v[:1] * 0.3, v, v[-1:]]),
]


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(draws=st.data())
def test_random_loops(draws: st.DataObject) -> None:
    """Any steps one after the other, of which one shrinks or grows the array."""
    steps = draws.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=3))
    change = draws.draw(st.sampled_from(CHANGES))
    count, first = draws.draw(st.integers(11, 15)), draws.draw(st.integers(1, 4))
    rng = np.random.default_rng(draws.draw(st.integers(0, 99)))
    longest = first + 2 * count + 2

    def f(x: Any) -> Any:
        made = np.tanh(x)
        grows = len(change(np.ones(9), {"row": 1.0})) > 9
        v = 0.5 * x[:first] if grows else x * 0.5
        for n in range(count):
            known = {"scale": made[0], "n": n, "row": made[n]}
            known |= {"prefix": lambda m: made[:m], "suffix": lambda m: made[len(made) - m :]}
            for step in steps:
                v = step(v, known)
            v = change(v, known)
        return np.sum(np.sin(v))

    x = rng.uniform(0.3, 1.2, longest)
    plain = plainly(f, x)
    found = rolled(plain).check()
    np.testing.assert_allclose(by_definition(found, x), by_definition(plain, x), rtol=1e-12, atol=1e-12)
    if any(node.op.name == "scan" for node in found.nodes):
        got = by_definition(plainly(primad.grad(f), x), x)
        fewest, repeated_runs.FEWEST_NODES = repeated_runs.FEWEST_NODES, 10**9
        wanted = by_definition(plainly(primad.grad(lambda x: f(x)), x), x)
        repeated_runs.FEWEST_NODES = fewest
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)
