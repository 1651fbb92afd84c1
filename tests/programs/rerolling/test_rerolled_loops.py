"""Loops that were written in Python become loops of the program, whose values and derivatives are the unrolled ones."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import primad
from primad.ir.node import Leaf, leaf_value
from primad.programs.rerolling import repeated_runs
from primad.programs.rerolling.rerolled_loops import rolled
from primad.recording.tracing import record, type_of
from primad.runtime.executors.dispatch import REFERENCE, prepare
from tests.sweeps import thinned


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short loops count."""
    monkeypatch.setattr(repeated_runs, "FEWEST_NODES", 40)
    monkeypatch.setattr(repeated_runs, "WINDOW", 6)


def scans(program: primad.Program) -> list[dict[str, Any]]:
    return [dict(node.params) for node in program.nodes if node.op.name == "scan"]


def unrolled(function: Any) -> Any:
    """Return the function whose loops stay as they are."""

    def run(*arguments: Any) -> Any:
        fewest, repeated_runs.FEWEST_NODES = repeated_runs.FEWEST_NODES, 10**9
        try:
            return function(*arguments)
        finally:
            repeated_runs.FEWEST_NODES = fewest

    return run


def by_definition(program: primad.Program, values: list[Any]) -> list[Any]:
    return prepare(program.hoisted(), executor=REFERENCE).run([*values, *map(leaf_value, program.sources)])


def check(f: Any, *arguments: Any, loops: int = 1) -> list[dict[str, Any]]:
    """Check a function whose arguments are all differentiated; return the params of the loops that were found."""
    plain = primad.trace(f)(*arguments)
    found = rolled(plain).check()
    assert len(scans(found)) == loops, str(found)
    values = [np.asarray(x) for x in primad.recording.tree.leaves(arguments)]
    for x, y in zip(by_definition(found, values), by_definition(plain, values), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13)  # a loop may round a product and a sum at once
    assert primad.recording.tree.flatten(f(*arguments))[1] == found.out_tree

    def loss(*arguments: Any) -> Any:
        return sum(np.sum(np.sin(leaf)) for leaf in primad.recording.tree.leaves(f(*arguments)))

    every = tuple(range(len(arguments)))
    wanted = primad.recording.tree.leaves(unrolled(primad.grad(loss, every))(*arguments))
    for make in (primad.grad, lambda g, n: primad.jit(primad.grad(g, n)), lambda g, n: primad.jit(primad.jacfwd(g, n))):
        got = make(loss, every)(*arguments)
        for x, y in zip(primad.recording.tree.leaves(got), wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10 * np.max(np.abs(y), initial=1.0))
    return scans(found)


def test_steps_of_a_simulation() -> None:
    """A state, an invariant that is computed before, and numbers that differ from step to step."""

    def simulate(rate: Any, y: Any) -> Any:
        strength = np.exp(-rate)
        for k in range(12):
            y = y + 0.01 * (np.sin(y) * strength - 0.3 * y * np.cos(0.1 * k + 0.05))
        return y

    (form,) = check(simulate, 0.4, np.array([1.0, 2.0, 3.0]))
    assert form["carry"] == 1 and form["stacked"] == 1 and form["length"] >= 9


def test_rows_and_trajectories() -> None:
    """Rows of arrays become one array of the loop, what is kept of each step one result."""

    def filtered(x: Any, w: Any) -> Any:
        h, kept = np.zeros(2), []
        for t in range(16):
            h = np.tanh(w @ h + x[t] * x[t, 0])
            kept.append(h * 2.0)
        return np.stack(kept), h

    rng = np.random.default_rng(0)
    (form,) = check(filtered, rng.normal(size=(16, 2)), rng.normal(size=(2, 2)))
    assert (form["carry"], form["stacked"]) == (1, 2)
    program = rolled(primad.trace(filtered)(np.ones((16, 2)), np.ones((2, 2))))
    rows = [node for node in program.nodes if node.op.name == "concatenate"]
    assert all(len(node.inputs) < 16 for node in rows), str(program)


ROWS = {
    "in order": lambda x, n: x[n],
    "backwards": lambda x, n: x[-1 - n],
    "every third": lambda x, n: x[3 * n],
    "in any order": lambda x, n: x[7 * n % 48],
    "few of them": lambda x, n: x[n % 3],
    "columns": lambda x, n: x.T[:, n],
    "parts of rows": lambda x, n: np.concatenate([x[n, 1:], x[n, :1]]),
    "turned rows": lambda x, n: x[n][::-1],
    "elements": lambda x, n: x[n, 1],
    "elements of a diagonal": lambda x, n: x[n % 3 + 4, n % 3],
    "windows": lambda x, n: np.sum(x[n : n + 3], axis=0),
    "two rows": lambda x, n: x[n] * x[n + 1],
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        *[("computed", rows) for rows in ROWS],
        ("captured", "two rows"),
        ("argument", "backwards"),
        ("argument", "columns"),
    ],
)
def test_rows_of_what_was_there_before(kind: str, rows: str) -> None:
    """Rows of a plain array, of an argument and of an array that was computed before are rows of the loop."""
    data = np.random.default_rng(1).normal(size=(48, 3))

    def fitted(p: Any, x: Any) -> Any:
        source = {"captured": data, "argument": x, "computed": np.sin(x) * p}[kind]
        y, total = np.zeros(3), 0.0
        for n in range(16):
            y = 0.9 * y + p * np.tanh(ROWS[rows](source, n) - y)
            total = total + np.sum(y * y)
        return total

    check(fitted, 0.3, data)


def test_values_of_two_runs() -> None:
    """The values that one loop appends are what the next one takes, from its end."""

    def solved(a: Any, d: Any) -> Any:
        upper, right = [a[0]], [d[0]]
        for i in range(1, 40):
            m = 3.0 - a[i] * upper[i - 1]
            upper.append(a[i] / m)
            right.append((d[i] - a[i] * right[i - 1]) / m)
        x = [right[-1]]
        for i in range(38, -1, -1):
            x.append(right[i] - upper[i] * x[-1])
        return np.stack(x)

    rng = np.random.default_rng(2)
    check(solved, rng.normal(size=40), rng.normal(size=40), loops=2)


def test_large_arrays_stay_in_tiles_only_where_they_can() -> None:
    """Steps along an axis that nothing mixes run in tiles; those whose elements meet are a loop."""
    start = np.linspace(0.0, 1.0, 1600).reshape(40, 40)

    def simulated(mixed: bool) -> Any:
        def run(p: Any) -> Any:
            y = start * p
            for _ in range(20):
                y = y + 0.1 * np.sin(y) * p + (0.01 * (np.roll(y, 1, 0) + np.roll(y, 1, 1)) if mixed else 0.02 * y * y)
            return np.sum(y)

        return run

    check(simulated(True), 0.4)
    check(simulated(False), 0.4, loops=0)


@pytest.mark.parametrize(("width", "loops"), [(2, 0), (24, 1)])
def test_large_products_are_a_loop(width: int, loops: int) -> None:
    """Steps on many rows stay for tiles if products are little of their work, and are a loop if they are most."""
    rng = np.random.default_rng(0)
    start = rng.normal(size=(600, width))

    def recurrent(w: Any) -> Any:
        h = start
        for _ in range(12):
            h = np.tanh(h @ w + 0.1) * 0.9 + 0.1 * h
        return np.sum(h * h)

    check(recurrent, rng.normal(size=(width, width)) / width, loops=loops)


def test_sums_along_the_axis_end_tiles() -> None:
    """Steps that use a sum over the axis that could be cut are a loop: no tile goes through two of them."""

    def shared(y: Any) -> Any:
        for _ in range(20):
            e = np.exp(y)
            y = 0.5 * np.roll(y, 1, 1) + e / np.sum(e, axis=0)
        return np.sum(y * y)

    check(shared, np.linspace(0.0, 1.0, 1600).reshape(4, 400))


STARTS = {
    "an input": lambda a: a,
    "a part of an input": lambda a: np.concatenate([a, a])[1 : 1 + len(a)],
    "a captured array": lambda a: np.linspace(0.1, 0.4, len(a)),
    "a number": lambda a: 0.3,
    "computed": lambda a: np.sin(a) * a,
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("start", STARTS)
def test_the_first_step_is_one_of_the_loop(start: str) -> None:
    """What stands for the results of a step before the first is carried into it, whatever that is."""

    def run(a: Any) -> Any:
        x, v = STARTS[start](a), 0.1 * a
        for _ in range(12):
            v = v - 0.1 * np.sin(x) * a
            x = x + 0.1 * v * np.cos(v)
        return np.sum(x * v)

    (form,) = check(run, np.array([0.3, 0.5, 0.7]))
    assert form["length"] == (11 if start in ("a captured array", "a number") else 12)  # NumPy took the sine of these

    def three_back(a: Any) -> Any:
        past = [a * 0.1, STARTS[start](a), a[::-1] * 2.0]
        for _ in range(20):
            past.append(past[-1] * np.cos(past[-3]) + 0.2 * np.sin(past[-2]))
        return past[-1] * past[-2]

    check(three_back, np.array([0.3, 0.5, 0.7]))


def test_rows_of_what_the_first_step_took() -> None:
    """A part of the initial value that is turned later is one from before the loop."""

    def joined(a: Any, b: Any) -> Any:
        y, path = b, []
        for _ in range(20):
            path.append(y[:2])
            y = np.sin(y) * a
        return np.stack(path, 1)

    def taken(a: Any, b: Any) -> Any:
        y, path = b, []
        for n in range(20):
            path.append(y[:2])
            y = np.sin(y) * a + np.sum(path[n][::-1] * a[:2])
        return y, np.stack(path)

    for f in (joined, taken):
        check(f, np.array([0.3, 0.5, 0.7]), np.array([0.4, 0.2, 0.9]))


def test_the_first_step_takes_something_else_than_a_later_one_looks_back_to() -> None:
    """Two values for the same result of the step before the first: that step is none of the loop."""

    def restarted(a: Any, rows: Any) -> Any:
        past = [np.tanh(a)]
        past.append(np.tanh(past[0] + rows[0] + past[0]))
        y = 3
        for n in range(15):
            y = np.tanh(y + rows[n] + past[max(0, len(past) - 3)])
            past.append(y)
        return y

    (form,) = check(restarted, np.array([0.3, 0.5, 0.7]), np.linspace(-0.5, 0.5, 45).reshape(15, 3))
    assert form["length"] == 14


JOINED = {
    "in order": lambda path: np.stack(path),
    "backwards": lambda path: np.stack(path[::-1]),
    "every other": lambda path: np.stack(path[::2]),
    "columns": lambda path: np.stack(path, axis=1),
    "one behind the other": lambda path: np.concatenate(path),
    "one behind the other, backwards": lambda path: np.concatenate(path[::-1]),
    "one behind the other, in any order": lambda path: np.concatenate([path[7 * n % 20] for n in range(20)]),
    "one behind the other, by turns": lambda path: np.concatenate([y for n in range(20) for y in (path[n], path[-n])]),
    "with others between": lambda path: np.concatenate([*path[:9], np.ones(2), *path[9:], path[3]]),
    "rows in any order": lambda path: np.stack([path[7 * n % 20] for n in range(20)]),
    "elements": lambda path: np.array([y[1] for y in path]),
    "twice": lambda path: np.concatenate([np.stack(path), np.stack(path[::-1])]),
    "elements of other places": lambda path: np.array([y[n * n % 3] for n, y in enumerate(path)]),
    "rows, then elements of them": lambda path: np.concatenate([*path[:9], *[y[:1] for y in path[9:]]]),
    "parts, then other parts": lambda path: np.concatenate([*[y[:2] for y in path[:11]], *[y[1:] for y in path[11:]]]),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("way", JOINED)
def test_what_steps_leave_is_joined_at_once(way: str) -> None:
    """An array of what many steps computed is made of few parts, not of one for each step."""

    def run(a: Any) -> Any:
        y, path = a, []
        for _ in range(20):
            y = y + 0.1 * np.sin(y) * a
            path.append(y)
        return JOINED[way](path)

    check(run, np.array([0.3, 0.5, 0.7]))
    program = rolled(primad.trace(run)(np.ones(3)))
    assert all(len(node.inputs) <= 8 for node in program.nodes), str(program)


def test_one_number_is_joined_many_times() -> None:
    """Parts of an array without axes begin nowhere."""

    def run(a: Any) -> Any:
        y = a
        for _ in range(20):
            y = y + 0.1 * np.sin(y) * a
        return np.stack([np.sum(y)] * 20)

    check(run, np.array([0.3, 0.5, 0.7]))


def test_an_array_that_steps_fill() -> None:
    """Steps that write into a NumPy array, and read what they wrote element by element, leave one result."""

    def filled(a: Any) -> Any:
        u = primad.numpy.zeros((21, 3))
        u[0] = a
        for n in range(20):
            x = u[n]
            u[n + 1] = np.stack([x[1] * 0.9, np.sin(x[2]), x[0] * x[1]])
        return u

    check(filled, np.array([0.3, 0.5, 0.7]))
    program = rolled(primad.trace(filled)(np.ones(3)))
    assert len(program.nodes) < 40, str(program)


def test_what_steps_before_the_last_computed() -> None:
    def recurrence(a: Any) -> Any:
        x, y, z = a, 2 * a, a * a
        for _ in range(24):
            x, y, z = y, z, np.sin(x) + 0.1 * y * z - 0.5 * x
        return x + y * z

    assert check(recurrence, 0.3)[0]["carry"] >= 3


@pytest.mark.one_in(3)
@thinned(2, delay=[1, 2, 3, 5, 12, 30])
def test_delays_with_a_constant_history(delay: int) -> None:
    """A value from before is the same in the first steps, and moves with the others: these are two loops."""

    def delayed(p: Any) -> Any:
        xs = [np.tanh(p)]
        for i in range(60):
            xs.append(np.sin(xs[-1]) * xs[max(0, i - delay)] + np.cos(xs[-1]))
        return np.sum(xs[-1])

    def frozen(p: Any) -> Any:
        xs = [np.tanh(p)]
        for i in range(60):
            xs.append(np.sin(xs[-1]) * xs[min(i, 60 - delay)] + np.cos(xs[-1]))
        return np.sum(xs[-1])

    p = np.array([0.3, 0.7, 1.1])
    for f in (delayed, frozen):
        for make in (lambda f: primad.jit(f), primad.grad, lambda f: primad.jit(primad.hessian(f))):
            got, wanted = make(f)(p), unrolled(make(f))(p)
            np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-8, atol=1e-10)


def test_the_last_step_is_one_of_the_loop() -> None:
    """A sum takes the sign of what steps leave: the last of them has an op less, and is computed as all others are."""

    def turns(a: Any) -> Any:
        f, cost = a * 0.5, np.outer(a, np.sin(a))
        for n in range(14):
            g = -np.log(1.0 + np.exp(f[:, None] - cost).sum(0)) - 0.1 * (n + 1)
            f = -np.log(1.0 + np.exp(g - cost).sum(1))
        return np.sum(f) + np.sum(g)

    (form,) = check(turns, np.array([0.3, 0.5, 0.7]))
    assert form["length"] == 14


def test_two_loops_and_what_is_between() -> None:
    def both(a: Any) -> Any:
        for _ in range(40):
            a = a - 0.1 * np.sin(a) * a
        b = np.sum(a**2) + a
        for _ in range(40):
            b = np.tanh(b) + 0.2 * np.cos(b)
        return b

    check(both, np.array([0.3, 0.4]), loops=2)


def test_exponents_and_types_stay() -> None:
    """What rules look at is no row; without equal steps a program is what it was."""

    def powers(x: Any) -> Any:
        total = x * 0.0
        for k in range(2, 30):
            total = total + np.sin(x) ** k
        return total

    check(powers, 0.7, loops=0)

    def turning(x: Any) -> Any:
        for k in range(20):
            x = np.sin(x) if k * k % 7 < 3 else np.cos(x) * x
        return np.sum(x)

    check(turning, np.ones(2), loops=0)


def test_ops_with_several_results_and_integers() -> None:
    def iterated(a: Any) -> Any:
        count = np.zeros(3, int)
        for _ in range(14):
            q, r = np.linalg.qr(a)
            a = r @ q + 0.01 * np.eye(3)
            count = count + (np.diagonal(a) > 1.0)
        return a, count

    plain = primad.trace(iterated)(np.diag([3.0, 2.0, 1.0]) + 0.1)
    found = rolled(plain).check()
    assert len(scans(found)) == 1
    for x, y in zip(found(np.diag([3.0, 2.0, 1.0]) + 0.1), plain(np.diag([3.0, 2.0, 1.0]) + 0.1), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def test_inside_of_derivatives_and_other_loops() -> None:
    """A loop in a function that closes over what another one traces."""

    def outer(a: Any) -> Any:
        def inner(b: Any) -> Any:
            for k in range(20):
                b = np.sin(b) * a + 0.1 * b + 0.01 * k
            return np.sum(b)

        return primad.grad(inner)(a * 2.0) @ a

    a = np.array([0.3, 0.7])
    for make in (primad.grad, primad.hessian, lambda f: primad.jit(primad.hessian(f)), lambda f: primad.vmap(f)):
        given = np.stack([a, -a]) if make(outer).__name__ == "vmap" else a
        try:
            got, wanted = make(outer)(given), unrolled(make(outer))(given)
        except primad.errors.ShapeError:
            got, wanted = make(outer)(np.stack([a, -a])), unrolled(make(outer))(np.stack([a, -a]))
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-9, atol=1e-12)


def test_what_is_rolled_is_explained() -> None:
    """A loop inside of a derivative is named with its line; so is one that stays, with the reason."""

    def loss(a: Any) -> Any:
        for _ in range(30):
            a = a + 0.1 * np.sin(a) * a
        return np.sum(a)

    for a, said in ((np.ones(3), "are one scan"), (np.ones(1000), "stay so: they carry more than")):
        text = str(primad.explain(primad.grad(loss), a))
        assert "equal steps of 4 ops" in text and "test_rerolled_loops.py:" in text and said in text, text


def shrinking(x: Any) -> Any:
    for _ in range(30):
        x = np.cumsum(x[1:]) + 0.5 * x[:-1]
    return np.sum(x)


def triangle(x: Any) -> Any:
    total = 0.0
    for i in range(20):
        for j in range(i):
            total = total * x[j] + np.sin(x[i]) * (x[i] - x[j])
    return total


@pytest.mark.parametrize(
    ("f", "said"),
    [(shrinking, "float64[26], then float64[25]), and cumsum takes all"), (triangle, "primad.scan")],
)
def test_loops_that_stay_say_why(f: Any, said: str) -> None:
    """Each loop that is none of the program is named with its line, the reason, and what to change."""
    (note,) = [note for note in rolled(primad.trace(f)(np.ones(41))).notes if "stay unrolled" in note]
    assert "test_rerolled_loops.py:" in note and said in note, note
    assert note in str(primad.explain(primad.grad(f), np.ones(41)))


def brief(x: Any) -> Any:
    for _ in range(12):
        x = np.sin(x) * 0.5 + x
    return np.sum(x)


def long_and_brief(x: Any) -> Any:
    for _ in range(100):
        x = np.tanh(x) * 0.9 + x
    return brief(x)


@pytest.mark.parametrize(("f", "others"), [(brief, 0), (long_and_brief, 1)])
def test_loops_that_are_too_short_are_named(f: Any, others: int) -> None:
    """Of a loop of few ops it is said that nothing is to do, alone as beside one that is found."""
    start = brief.__code__.co_firstlineno
    explanation = primad.explain(primad.grad(f), np.ones(5))
    (said,) = explanation.loops
    assert said.startswith("12 steps of a loop in Python") and f"test_rerolled_loops.py:{start + 2})" in said, said
    assert "nothing is to do" in said and said in str(explanation)
    assert sum("are one scan" in cause for cause in explanation.causes) == others


def test_programs_without_loops_have_no_notes_on_loops() -> None:
    assert not primad.explain(primad.grad(lambda x: np.sum(np.gradient(np.gradient(x)) ** 2)), np.ones(20)).loops


def test_long_elementwise_loops_are_elementwise() -> None:
    def repeated(x: Any) -> Any:
        for _ in range(30):
            x = np.sin(x) + 0.5 * x
        return x

    x = np.linspace(0.0, 1.0, 5)
    np.testing.assert_allclose(primad.derivative(repeated)(x), np.diagonal(primad.jacobian(repeated)(x)), rtol=1e-12)


STEPS = [
    lambda s, c: (s[1], s[0] + 0.1 * np.sin(s[1])),
    lambda s, c: (s[0] * 0.9 + c["invariant"], s[1] - 0.2 * s[0] * s[1]),
    lambda s, c: (np.where(s[0] > 0.0, s[0] * 0.5, s[1]), s[0] + 0.3 * c["row"]),
    lambda s, c: (s[0] + c["time"] * 0.01, np.tanh(s[1] + c["row"] * c["time"])),
    lambda s, c: (s[0] - 0.1 * np.sum(s[1]) * c["weights"], s[1] * np.cos(c["invariant"])),
    lambda s, c: (s[0], np.maximum(s[1], s[0]) * 0.7),
    lambda s, c: (np.sin(s[0]) * c["delayed"] + 0.1 * np.cos(s[1]), s[1]),
    lambda s, c: (s[0], np.tanh(s[1] * c["frozen"]) + 0.1 * s[0]),
    lambda s, c: (s[0] + 0.1 * c["data"], s[1] * np.cos(c["back"])),
    lambda s, c: (s[0] * np.cos(c["picked"]), s[1] + 0.1 * np.sin(c["data"] - s[1])),
]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(draws=st.data())
def test_random_loops(draws: st.DataObject) -> None:
    """Any steps one after the other, of arrays and numbers, with values kept of some steps."""
    steps = draws.draw(st.lists(st.sampled_from(STEPS), min_size=2, max_size=4))
    count = draws.draw(st.integers(9, 30))
    shape = draws.draw(st.sampled_from([(), (3,), (2, 2)]))
    kept, delay = draws.draw(st.sampled_from(["none", "all", "some"])), draws.draw(st.integers(1, 6))
    rng = np.random.default_rng(draws.draw(st.integers(0, 99)))
    data, order = rng.normal(size=(count, *shape)), rng.integers(0, count, count)

    def f(a: Any, xs: Any, weights: Any) -> Any:
        state, found, past = (np.tanh(a), a * 0.5), [], [np.tanh(a)]
        invariant, made = np.exp(-weights), np.sin(xs) * weights
        for k in range(count):
            for step in steps:
                known = {"invariant": invariant, "row": xs[k], "time": 0.1 * k + 1.0, "weights": weights}
                known |= {"data": data[k], "back": made[count - 1 - k], "picked": made[order[k]]}
                known |= {"delayed": past[max(0, k - delay)], "frozen": past[min(k, count - delay)]}
                state = step(state, known)
            past.append(state[0])
            if kept == "all" or (kept == "some" and k % 4 == 2):
                found.append(state[1])
        return state, found

    arguments = rng.normal(size=shape), rng.normal(size=(count, *shape)), rng.normal(size=shape)
    plain = primad.trace(f)(*arguments)
    found = rolled(plain).check()
    # Where squares of a state have grown, every step has doubled the relative error.
    wanted = primad.recording.tree.leaves(plain(*arguments))
    beside = primad.recording.tree.leaves(plain(*[x * (1 + 2**-51) for x in arguments]))
    assume(all(np.max(np.abs(leaf), initial=0.0) < 100.0 for leaf in wanted))
    assume(all(np.allclose(x, y, rtol=1e-13, atol=1e-13) for x, y in zip(beside, wanted, strict=True)))
    for x, y in zip(primad.recording.tree.leaves(found(*arguments)), wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)

    def loss(*arguments: Any) -> Any:
        return sum(np.sum(np.sin(leaf)) for leaf in primad.recording.tree.leaves(f(*arguments)))

    got, wanted = primad.grad(loss, (0, 1, 2))(*arguments), unrolled(primad.grad(loss, (0, 1, 2)))(*arguments)
    for x, y in zip(got, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


def test_inputs_that_were_python_numbers_stay_such() -> None:
    """They adopt the dtype of the arrays that they meet, wherever the program is recorded again."""

    def f(a: Any, x: Any) -> Any:
        for _ in range(40):
            x = np.sin(x) * a
        return x

    arguments = 0.5, np.ones(3)
    leaves, structure = primad.recording.tree.flatten(arguments)
    plain = record(f, [type_of(leaf) for leaf in leaves], structure, weak=[True, False])
    found = rolled(plain)
    assert plain.inputs[0].params and not plain.inputs[1].params
    assert any(node.op.name == "scan" for node in found.nodes if not isinstance(node.op, Leaf))
    assert [node.params for node in found.inputs] == [node.params for node in plain.inputs]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("first", ["a row", "its products", "products"])
def test_a_loop_begins_where_little_is_carried(first: str) -> None:
    """A row between products of its elements, wherever the first step begins."""

    def f(x: Any) -> Any:
        if first != "products":
            x = np.outer(x, x) if first == "its products" else np.outer(np.cos(x), x)
        for _ in range(30):
            row = np.sum(np.tanh(x), axis=1) / 20
            x = np.outer(np.cos(row), row)
        return x

    (loop,) = check(f, np.linspace(0.0, 1.0, 20) if first != "products" else np.ones((20, 20)))
    assert [type.shape for type in loop["of"].program.in_types[: loop["carry"]]] == [(20,)]


@pytest.mark.parametrize("places", [range(1, 31), [n * n % 37 for n in range(30)]])
def test_rows_that_show_other_rows_are_taken_once(places: Any) -> None:
    """A step that takes a window, the same backwards and a part of it, in any order, has one array of rows."""

    def f(y: Any) -> Any:
        total: Any = 1.0
        for i in places:
            window = y[i : i + 4]
            total = 0.9 * total + np.sum(np.sin(window[::-1]) * window) * np.sum(window[::-1][:2])
        return total

    (loop,) = check(f, np.linspace(-1.0, 1.0, 41))
    assert [x.type.shape for x in loop["of"].program.inputs if x.type.shape] == [(4,)]


def test_rows_that_show_others_in_other_ways_are_rows() -> None:
    """Here other axes of a window in each step, and the elements of what nothing else takes backwards."""

    def f(y: Any) -> Any:
        total: Any = 1.0
        for i in range(30):
            window, turned = y[i : i + 8].reshape(2, 2, 2), y[i + 1 : i + 5][::-1]
            other = np.sum(window * np.sin(np.transpose(window, (1, 2, 0) if i % 2 else (2, 0, 1))))
            total = 0.9 * total + other * np.sum(turned * turned)
        return total

    (loop,) = check(f, np.linspace(-1.0, 1.0, 41))
    assert sorted(x.type.shape for x in loop["of"].program.inputs if x.type.shape) == [(2, 2, 2), (2, 2, 2), (4,)]
