"""Steps that add nothing where others do, or take what others took, are those of a loop, with the same derivatives."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import primad
from primad.ir.node_arrays import NodeArrays
from primad.programs.rerolling import repeated_runs, rerolled_loops
from primad.programs.rerolling.repeated_runs import Sequences
from primad.programs.rerolling.rerolled_loops import rolled
from primad.programs.rerolling.undone_laws import with_neutral_ops, with_repeated_ops
from tests.programs.rerolling.test_rerolled_loops import check, scans, unrolled


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short loops count."""
    monkeypatch.setattr(repeated_runs, "FEWEST_NODES", 40)


def edited(price: Any, one: Any, other: Any) -> Any:
    """Return the price of the edits from a word to another, of which equal letters take none."""
    above = [price[0] * j for j in range(len(other) + 1)]
    for i, first in enumerate(one):
        line = [price[1] * (i + 1)]
        for j, second in enumerate(other):
            kept = above[j] + (0.0 if first == second else price[2])
            line.append(np.minimum(kept, np.minimum(line[j] + price[0], above[j + 1] + price[1])))
        above = line
    return above[-1]


def test_letters_that_are_free() -> None:
    """A table whose cells add a price or 0 is a loop in a loop."""
    letters, price = np.random.default_rng(2).integers(0, 4, size=(2, 30)), np.array([1.0, 1.1, 0.9])

    def f(price: Any) -> Any:
        return edited(price, *letters)

    found = rolled(primad.trace(f)(price)).check()
    assert any(scans(params["of"].program) and params["length"] >= 25 for params in scans(found)), found.notes
    np.testing.assert_allclose(found(price), unrolled(f)(price), rtol=1e-13)
    np.testing.assert_allclose(primad.jit(primad.grad(f))(price), unrolled(primad.grad(f))(price), rtol=1e-12)


def test_forces_that_begin_late() -> None:
    """A state is pushed in some steps only, with forces from an array."""

    def f(force: Any, y: Any) -> Any:
        for n in range(60):
            y = 0.9 * y + (force[n] if n % 7 > 4 or n > 52 else 0.0)
            y = y * (1.0 if n % 3 else force[n]) - 0.1 * np.sin(y)
        return y

    force = np.random.default_rng(0).normal(size=60)
    (loop,) = check(f, force, 0.3)
    assert loop["length"] >= 55


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("f", "steps"),
    [
        (lambda x, s: [x := x - 0.1 * (x**3 + x - s - 0.01 * n) for n in range(50)][-1], 50),
        (lambda x, s: [s := (0.0 if n == 0 else s) + np.sin(x * (n + 1.0)) for n in range(50)][-1], 50),
        (lambda x, s: [x := np.sin(s * x / (1.0 + n) + 0.1 * n) * (1.0 + 0.001 * n) for n in range(50)][-1], 50),
        (lambda x, s: [x := np.cos(x - n) * 0.5 - (s if n else 0.0) for n in range(50)][-1], 49),
        (lambda x, s: [x := np.cos(x * s) * 0.5 + x + (x if n else 0.0) for n in range(50)][-1], 49),
    ],
)
def test_first_steps_of_which_laws_left_ops_out(f: Any, steps: int) -> None:
    """The first of some numbers is 0 or 1, which leaves an op out: its step is in the loop, and nothing before it."""
    found = rolled(primad.trace(f)(0.3, 0.7)).check()
    (loop,) = scans(found)
    assert loop["length"] == steps, found
    for n in (0, 1):
        got, wanted = primad.jit(primad.grad(f, n))(0.3, 0.7), unrolled(primad.grad(f, n))(0.3, 0.7)
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_ops_are_put_back_where_their_results_were_taken() -> None:
    """What is put back computes the same, as often as the function asked for it and something took it."""

    def f(x: Any) -> Any:
        for n in range(12):
            x = np.sin(x + (0.0 if n % 2 else 0.5)) * (1.0 if n % 3 else 2.0)
        return np.cos(x)

    plain = primad.trace(f)(0.3)
    put_back = with_neutral_ops(plain).check()
    assert [sum(node.op.name == name for node in put_back.nodes) for name in ("add", "mul")] == [12, 12]
    assert put_back(0.3) == plain(0.3)


RNG = np.random.default_rng(5)
PLACES, PAIRS = RNG.integers(0, 80, 60).tolist(), RNG.integers(0, 80, (45, 2)).tolist()
PAIRS += PAIRS[20:35]


def of_windows(y: Any) -> Any:
    total: Any = 0.0
    for i in PLACES:
        total = total + np.sum(y[i : i + 3]) ** 2
    return total


def of_letters(y: Any) -> Any:
    state: Any = np.zeros(2)
    for i in PLACES:
        state = 0.9 * np.sin(state) + np.tanh(y[i : i + 2]) * y[0]
    return state


def of_pairs(y: Any) -> Any:
    total: Any = 0.0
    for i, j in PAIRS:
        apart = y[i : i + 3] - y[j : j + 3]
        total = total + np.sqrt(np.sum(apart * apart) + np.exp(y[0]))
    return total


def of_two_sums(y: Any) -> Any:
    one, other = 0.0, 1.0
    for i, j in PAIRS:
        product = np.sin(y[i]) * y[j]
        one = one + product
        other = other * (1.0 + 0.1 * product)
    return one * other


@pytest.mark.one_in(2)
@pytest.mark.parametrize("function", [of_windows, of_letters, of_pairs, of_two_sums])
def test_steps_that_take_what_others_took(function: Any) -> None:
    """What comes twice is computed once; the steps are those of one loop nevertheless."""
    (loop,) = check(function, RNG.normal(size=83))
    assert loop["length"] >= 59


def test_what_all_steps_share_is_computed_once() -> None:
    """Neither a value from before the loop nor one that two ops of a step take is computed again."""

    def kicked(v: Any, q: Any) -> Any:
        return v - 0.05 * np.sin(q)

    def f(q: Any, p: Any) -> Any:
        v = 0.0 * q
        for _ in range(40):
            v = kicked(v, q) * np.exp(p)
            q = q + 0.1 * v
            v = kicked(v, q) + np.tanh(q) * np.tanh(q)
        return q

    for arguments in ((0.3, 0.1), (np.ones(3), 0.1)):
        program = primad.trace(f)(*arguments)
        assert with_repeated_ops(program, NodeArrays(program)) is None


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(draws=st.data())
def test_random_steps(draws: st.DataObject) -> None:
    """Steps of any ops, each with a number that changes nothing in some of the steps, and a value in the others."""
    count = draws.draw(st.integers(12, 40))
    kinds = draws.draw(st.lists(st.sampled_from(["add", "sub", "mul", "div", "left"]), min_size=1, max_size=4))
    rng = np.random.default_rng(draws.draw(st.integers(0, 99)))
    shape = draws.draw(st.sampled_from([(), (3,)]))
    idle = rng.random(size=(count, len(kinds))) < draws.draw(st.sampled_from([0.1, 0.5, 0.9]))
    numbers = rng.uniform(0.5, 1.5, size=(count, len(kinds)))
    given = draws.draw(st.sampled_from(["one", "row", "number"]))

    def f(x: Any, a: Any) -> Any:
        found = []
        for n in range(count):
            for k, kind in enumerate(kinds):
                value = {"one": a[k], "row": a[n], "number": float(numbers[n, k])}[given]
                neutral = 0.0 if kind in ("add", "sub", "left") else 1.0
                value = neutral if idle[n, k] else value
                if kind == "add":
                    x = np.sin(x + value)
                elif kind == "left":
                    x = np.cos(value + x)
                elif kind == "sub":
                    x = np.sin(x) - value
                elif kind == "mul":
                    x = np.tanh(x * value)
                else:
                    x = 0.5 * np.cos(x) / value
            if n % 5 == 0:
                found.append(x)
        return x, found

    arguments = rng.normal(size=shape), rng.uniform(0.5, 1.5, size=(count, *shape))
    plain, leaves = primad.trace(f)(*arguments), primad.recording.tree.leaves
    for other in (rolled(plain).check(), with_neutral_ops(plain).check()):
        for x, y in zip(leaves(other(*arguments)), leaves(plain(*arguments)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)

    def loss(*arguments: Any) -> Any:
        return sum(np.sum(leaf**2) for leaf in leaves(f(*arguments)))

    got, wanted = primad.grad(loss, (0, 1))(*arguments), unrolled(primad.grad(loss, (0, 1)))(*arguments)
    for x, y in zip(got, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)


def newton(x: Any) -> Any:
    """Of two unknowns, whose matrices take each of them several times."""
    for _ in range(7):
        a, b, d = 3 * x[0] ** 2 + x[1], x[0] * x[1] + 1.0, x[1] ** 2 + 2.0
        r, s = x[0] ** 3 + x[1] * x[0] - 2.0, x[0] * x[1] ** 2 - x[0]
        x = np.stack([x[0] - (d * r - b * s) / (a * d - b * b), x[1] - (a * s - b * r) / (a * d - b * b)])
    return x[0]


def doubled(x: Any) -> Any:
    y = x[0]
    for _ in range(15):
        y = np.sin(y) * np.cos(y) + y
    return y


def fibonacci(x: Any) -> Any:
    before, now = x[0], x[1]
    for _ in range(25):
        before, now = now, 0.5 * (now * before + np.sin(before))
    return now


def halved(x: Any) -> Any:
    row = [x[k % 2] + k for k in range(16)]
    while len(row) > 1:
        row = [np.tanh(a * b) + a for a, b in zip(row[::2], row[1::2], strict=True)]
    return row[0]


@pytest.mark.parametrize("f", [newton, doubled, fibonacci, halved])
@pytest.mark.parametrize("derived", [lambda f: f, primad.grad, lambda f: primad.grad(lambda x: primad.grad(f)(x) @ x)])
def test_what_is_shared_on_purpose_is_not_computed_again_and_again(f: Any, derived: Any) -> None:
    """A result that each step takes twice of the one before would be computed as often as there are paths to it."""
    program = primad.trace(derived(f))(np.array([0.7, 0.4]))
    again = with_repeated_ops(program, Sequences(program).arrays)
    assert again is None or len(again.nodes) < 4 * len(program.nodes)
    assert len(rolled(program).nodes) <= len(program.nodes)


def test_a_program_that_loops_do_not_make_shorter_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is computed again may leave more ops beside the loops than there were."""
    functions = np.sin, np.tanh, np.arctan, np.exp

    def short(x: Any) -> Any:
        for n in range(30):
            x = functions[n * n % 7 % 4](x)
        return x

    def longer(x: Any) -> Any:
        for n in range(30):
            x = functions[n * n % 7 % 4](x) + n
        for _ in range(60):
            x = np.cos(x) * 0.5
        return x

    program, apart = [primad.trace(f)(0.3) for f in (short, longer)]
    assert len(program.nodes) < len(rolled(apart).nodes) < len(apart.nodes)
    monkeypatch.setattr(rerolled_loops, "with_repeated_ops", lambda *_: apart)
    assert rolled(program) is program
