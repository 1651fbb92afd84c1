"""Loops one after the other are found at once: what the steps of one leave are rows for those of the next."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import primad
from primad.programs.rerolling.repeated_runs import Sequences, period_of, run_after
from primad.programs.rerolling.rerolled_loops import rolled
from tests.programs.rerolling.test_rerolled_loops import by_definition, check, scans, short, unrolled

__all__ = ["short"]  # a fixture: short loops count
COUNT = 24


def left(a: Any, xs: Any) -> tuple[list[Any], list[Any]]:
    """Return what a loop leaves: two values of each step."""
    c, g = [a], [np.cos(a)]
    for k in range(1, COUNT):
        w = 3.0 + xs[k] * np.sin(c[-1])
        c.append(1.0 / w)
        g.append((xs[k] + g[-1]) / w)
    return c, g


READS = {
    "forwards": lambda c, g, k: c[k] * np.sin(g[k]),
    "backwards": lambda c, g, k: g[COUNT - 1 - k] - c[COUNT - 1 - k],
    "shifted": lambda c, g, k: c[min(k + 2, COUNT - 1)] - g[max(k - 1, 0)],
    "both ways": lambda c, g, k: c[k] - g[COUNT - 1 - k],
    "in any order": lambda c, g, k: c[7 * k % COUNT] * g[5 * k % COUNT],
    "every other": lambda c, g, k: g[2 * (k % 11) + 1] + c[k // 2],
    "few of them": lambda c, g, k: g[20 + k % 4],
    "the last": lambda c, g, k: c[-1] * g[-1] * g[k],
    "parts": lambda c, g, k: c[k][::-1] * np.sum(g[COUNT - 1 - k][1:]),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("read", READS)
def test_the_second_reads_what_the_first_left(read: str) -> None:
    """All steps of both are in loops but for few, which take something else than the others."""

    def f(a: Any, xs: Any) -> Any:
        c, g = left(a, xs)
        x = a * 0.3
        for k in range(COUNT):
            x = 0.5 * x + READS[read](c, g, k) * np.cos(x)
        return x

    rng = np.random.default_rng(3)
    arguments = rng.normal(size=3), rng.normal(size=(COUNT, 3))
    forms = check(f, *arguments, loops=2)
    assert all(form["length"] >= COUNT - 5 for form in forms), forms


def test_one_pass_finds_both() -> None:
    """Behind the longest run the other is found among the same nodes, which no loop was built for."""

    def f(a: Any, xs: Any) -> Any:
        c, g = left(a, xs)
        x = g[-1]
        for k in range(COUNT - 2, -1, -1):
            x = g[k] - c[k] * np.sin(x)
        return x

    program = primad.trace(f)(np.ones(3), np.ones((COUNT, 3)))
    known = Sequences(program)
    first = period_of(program, known=known)
    assert first is not None and first.steps >= COUNT - 2
    second = run_after(known, [first])
    assert second is not None and second.steps >= COUNT - 4 and second.start >= first.end
    assert second.nodes[: first.end] == first.nodes[: first.end]
    assert set(second.nodes) == set(first.nodes) and run_after(known, [first, second]) is None


def test_three_loops_and_what_all_of_them_left() -> None:
    """The third reads rows of both others, and all that is left of it and of the first is joined."""

    def f(a: Any, xs: Any) -> Any:
        c, g = left(a, xs)
        back = [a]
        for k in range(COUNT - 1, -1, -1):
            back.append(g[k] - c[k] * np.sin(back[-1]) - 0.1 * back[-1])
        y, path = a, []
        for k in range(COUNT):
            y = np.tanh(y * c[k] + back[k + 1] - 0.2 * y)
            path.append(y * y)
        return np.stack(path), np.stack(g[1:]), np.stack(c[::-2], axis=1)

    rng = np.random.default_rng(4)
    check(f, rng.normal(size=2), rng.normal(size=(COUNT, 2)), loops=3)


def test_a_second_loop_that_stays_unrolled() -> None:
    """It carries what runs in tiles: the first is a loop nevertheless, whose rows its steps take."""
    grid = np.linspace(0.0, 1.0, 1600)

    def f(a: Any, xs: Any) -> Any:
        c, g = left(a, xs)
        y = grid * a
        for k in range(COUNT):
            y = y + 0.1 * np.sin(y) * c[k] - g[COUNT - 1 - k] * y
        return y

    rng = np.random.default_rng(5)
    check(f, 0.4, rng.normal(size=COUNT) * 0.1, loops=1)


def test_what_is_left_is_joined_without_a_node_for_each_step() -> None:
    """Of the rows that both loops leave, and that are stacked, none is built."""

    def f(a: Any, xs: Any) -> Any:
        c, g = left(a, xs)
        x = [g[-1]]
        for k in range(COUNT - 2, -1, -1):
            x.append(np.sin(g[k]) - c[k] * x[-1])
        return np.stack(x)

    found = rolled(primad.trace(f)(np.ones(2), np.ones((COUNT, 2))))
    assert len(scans(found)) == 2 and len(found.nodes) < 60, str(found)


FIRSTS = [
    lambda s, k: (0.5 * s[0] + np.sin(k["row"]), s[1] * k["number"]),
    lambda s, k: (np.tanh(s[0] + s[1]), 0.7 * s[1] + k["data"]),
    lambda s, k: (np.cos(s[0]) * k["invariant"], s[1] - 0.1 * s[0] * s[1]),
]
SECONDS = [
    lambda s, k: s + 0.2 * np.sin(k["forwards"]) * k["invariant"],
    lambda s, k: 0.6 * s - k["backwards"] * np.cos(s),
    lambda s, k: np.tanh(s * k["shifted"] + 0.1 * k["row"]),
    lambda s, k: 0.9 * s + k["picked"] * k["number"] - 0.1 * s * s,
    lambda s, k: np.sin(s + k["last"]) * k["forwards"],
    lambda s, k: s * 0.8 + np.where(k["backwards"] > 0.1, k["shifted"], s),
]


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(draws=st.data())
def test_random_loops_one_after_the_other(draws: st.DataObject) -> None:
    """Any steps in both, with values between them; the second takes what the first left from any place on."""
    firsts = draws.draw(st.lists(st.sampled_from(FIRSTS), min_size=2, max_size=3))
    seconds = draws.draw(st.lists(st.sampled_from(SECONDS), min_size=2, max_size=3))
    count, shape = draws.draw(st.integers(12, 30)), draws.draw(st.sampled_from([(), (3,), (2, 2)]))
    shift, jump = draws.draw(st.integers(-4, 4)), draws.draw(st.sampled_from([1, 1, 2, 5]))
    again, kept = draws.draw(st.integers(10, count)), draws.draw(st.sampled_from(["none", "first", "second", "both"]))
    between = draws.draw(st.booleans())
    rng = np.random.default_rng(draws.draw(st.integers(0, 99)))
    data = rng.normal(size=(count, *shape))

    def f(a: Any, xs: Any) -> Any:
        state, invariant, path, others = (a, a * 0.5), np.exp(-a * a), [], []
        for k in range(count):
            known = {"invariant": invariant, "row": xs[k], "data": data[k], "number": np.cos(0.1 * k)}
            for step in firsts:
                state = step(state, known)
            path.append(state[0])
            others.append(state[1])
        s, found = (np.sin(state[1]) * path[3] if between else a), []
        for k in range(again):
            known = {"invariant": invariant, "row": xs[k], "number": 0.5 + 0.1 * k, "last": path[-1]}
            known |= {"forwards": path[k], "backwards": others[count - 1 - k], "picked": path[k * jump % count]}
            known["shifted"] = (others, path)[shift < 0][min(max(k + shift, 0), count - 1)]
            for step in seconds:
                s = step(s, known)
            found.append(s)
        left = [np.stack(path[::-1])] if kept in ("first", "both") else []
        return s, left + ([np.stack(found)] if kept in ("second", "both") else [])

    arguments = rng.normal(size=shape), rng.normal(size=(count, *shape))
    plain = primad.trace(f)(*arguments)
    leaves = primad.recording.tree.leaves
    found = rolled(plain).check()
    # Where steps double the relative error again and again, rounding a product and a sum at once is seen: where they
    # square what grows, or where arguments that are nearly the same give other results.
    wanted, beside = leaves(plain(*arguments)), leaves(plain(*[x * (1 + 2**-51) for x in arguments]))
    assume(all(np.all(np.abs(x) < 1e6) for x in wanted))
    assume(all(np.allclose(x, y, rtol=1e-13, atol=1e-13) for x, y in zip(beside, wanted, strict=True)))
    got = by_definition(found, list(arguments))
    for x, y in zip(got, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)

    def loss(*arguments: Any) -> Any:
        return sum(np.sum(np.sin(leaf)) for leaf in leaves(f(*arguments)))

    for x, y in zip(
        primad.grad(loss, (0, 1))(*arguments), unrolled(primad.grad(loss, (0, 1)))(*arguments), strict=True
    ):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)
