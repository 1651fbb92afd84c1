"""Loops inside of loops that take what the rows before computed become loops in loops, with the unrolled values."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import primad
from primad.programs.rerolling import repeated_runs
from primad.programs.rerolling.rerolled_loops import rolled
from tests.programs.rerolling.test_rerolled_loops import scans, unrolled


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short loops count, and steps of outer ones are not guessed before those of inner ones."""
    monkeypatch.setattr(repeated_runs, "FEWEST_NODES", 40)
    monkeypatch.setattr(repeated_runs, "MOST_GUESSES", 4)


def table(x: Any, y: Any) -> Any:
    """Return the cost of aligning two series, cell by cell."""
    rows, columns = len(x), len(y)
    cost = (x[:, None] - y[None]) ** 2
    total = [[1e3] * (columns + 1) for _ in range(rows + 1)]
    total[0][0] = 0.0
    for i in range(rows):
        for j in range(columns):
            before = np.minimum(np.minimum(total[i][j + 1], total[i + 1][j]), total[i][j])
            total[i + 1][j + 1] = cost[i, j] + before
    return total[rows][columns]


def test_cells_of_a_table() -> None:
    """Rows are one loop each, and one loop altogether: nothing of the table is left cell by cell."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=14), rng.normal(size=28)
    found = rolled(primad.trace(table)(x, y))
    assert any("times" in note and "one scan each" in note for note in found.notes), found.notes
    (outer,) = [params for params in scans(found) if params["length"] >= 12 and scans(params["of"].program)]
    assert len(scans(found)) == 3  # the last row is one of the others, the first two are not
    assert len(found.nodes) < 150 and [inner["length"] for inner in scans(outer["of"].program)] == [28]
    for n in (0, 1):
        got, wanted = primad.jit(primad.grad(table, n))(x, y), unrolled(primad.grad(table, n))(x, y)
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


CELLS = [
    lambda c: np.tanh(c["left"]) + c["cost"],
    lambda c: 0.3 * c["left"] + 0.5 * c["up"] * c["corner"],
    lambda c: np.sin(c["left"] - c["up"]) + 0.1 * c["cost"],
    lambda c: np.where(c["corner"] > c["left"], c["left"], 0.5 * c["up"]) + c["weight"],
    lambda c: 0.4 * c["left"] + np.cos(c["later"]) * c["cost"] + 0.01 * c["j"],
    lambda c: 0.4 * c["left"] * c["data"] + np.cos(c["back"]),
    lambda c: 0.4 * c["left"] + np.sin(c["letters"] - c["up"]),
    lambda c: np.maximum(c["corner"] + c["cost"], np.maximum(c["up"] + c["weight"], c["left"] + c["weight"])),
    lambda c: c["cost"] - np.log(np.exp(-c["up"]) + np.exp(-c["left"]) + np.exp(-c["corner"])),
]
"""What a cell is computed of: cells left of it, above, between and further on above, its place, and two letters."""


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(draws=st.data())
def test_random_tables(draws: st.DataObject) -> None:
    """Any cells, in rows of equal or growing lengths, with borders of numbers or values, and uses of each row."""
    cell = draws.draw(st.sampled_from(CELLS))
    more = draws.draw(st.sampled_from([None, *CELLS]))
    rows, columns = draws.draw(st.integers(8, 14)), draws.draw(st.integers(16, 30))
    shape = draws.draw(st.sampled_from([(), (2,)]))
    border = draws.draw(st.sampled_from(["number", "value", "row"]))
    after = draws.draw(st.sampled_from(["nothing", "sum", "joined", "some"]))
    growing, turned = draws.draw(st.booleans()), draws.draw(st.booleans())
    rng = np.random.default_rng(draws.draw(st.integers(0, 99)))
    data = rng.normal(size=(rows, columns, *shape))
    one, other = rng.integers(0, 3, rows), rng.integers(0, 3, columns)

    def f(a: Any, w: Any) -> Any:
        cost = np.cos(a)
        above = [0.5 * w if border != "number" else 0.25 * np.ones(shape)] * (columns + 1)
        found, total = [], 0.0
        for i in range(rows):
            first = {"number": 0.3 * np.ones(shape), "value": np.tanh(w), "row": np.sin(a[i, 0])}[border]
            line, count = [first], columns - rows + i if growing else columns
            for j in range(count):
                at = count - 1 - j if turned else j
                known = {"left": line[j], "up": above[j + 1], "corner": above[j], "cost": cost[i, at], "weight": w}
                known |= {"later": above[min(j + 2, columns)], "j": float(j), "data": data[i, at]}
                known |= {"back": cost[i, columns - 1 - at], "letters": a[one[i], other[at]]}
                line.append(cell(known))
                if more is not None:
                    line[-1] = line[-1] + 0.1 * more({**known, "left": line[-1]})
            above = [*line, *above[len(line) :]]
            if after == "sum":
                total = total + np.sin(line[-1])
            elif after == "joined":
                found.append(np.sum(np.stack(line), axis=0))
            elif after == "some":
                found += line[2::5]
        return above[-1], total, found

    arguments = rng.normal(size=(rows, columns, *shape)), rng.normal(size=shape)
    plain = primad.trace(f)(*arguments)
    found = rolled(plain).check()
    leaves = primad.recording.tree.leaves
    for x, y in zip(leaves(found(*arguments)), leaves(plain(*arguments)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-11)

    def loss(*arguments: Any) -> Any:
        return sum(np.sum(np.sin(leaf)) for leaf in leaves(f(*arguments)))

    got, wanted = primad.grad(loss, (0, 1))(*arguments), unrolled(primad.grad(loss, (0, 1)))(*arguments)
    for x, y in zip(got, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


def aligned(score: Any, gap: Any) -> Any:
    """Return the score of the best alignment of two words."""
    rows, columns = score.shape
    best = [[gap * (i + j) for j in range(columns + 1)] for i in range(rows + 1)]
    for i in range(rows):
        for j in range(columns):
            skip = np.maximum(best[i][j + 1] + gap, best[i + 1][j] + gap)
            best[i + 1][j + 1] = np.maximum(best[i][j] + score[i, j], skip)
    return best[rows][columns]


def softly_aligned(score: Any, gap: Any) -> Any:
    """Return the same with smooth maxima, of which the result is the only one that the last row leaves."""
    rows, columns = score.shape
    best = [[0.0 * score[0, 0]] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows):
        for j in range(columns):
            ways = np.exp(gap - best[i][j + 1]), np.exp(gap - best[i + 1][j]), np.exp(-best[i][j])
            best[i + 1][j + 1] = np.sin(score[i, j]) - np.log(ways[0] + ways[1] + ways[2])
    return best[rows][columns]


@pytest.mark.parametrize(("f", "rows"), [(aligned, 14), (softly_aligned, 13)])
def test_cells_that_share_what_they_take(f: Any, rows: int) -> None:
    """What two cells take of a third is recorded once: the last cells of rows belong to the loop nevertheless."""
    rng = np.random.default_rng(4)
    arguments = rng.normal(size=(16, 24)), -0.3
    found = rolled(primad.trace(f)(*arguments)).check()
    (outer,) = [params for params in scans(found) if scans(params["of"].program)]
    (inner,) = scans(outer["of"].program)
    assert outer["length"] >= rows and inner["length"] >= 23  # the first take what is known
    for n in (0, 1):
        got, wanted = primad.jit(primad.grad(f, n))(*arguments), unrolled(primad.grad(f, n))(*arguments)
        np.testing.assert_allclose(got, wanted, rtol=1e-11)


def edited(w: Any) -> Any:
    """Return the smoothed number of edits from a word to another, whose letters come again."""
    one, other = np.random.default_rng(2).integers(0, 4, size=(2, 30))
    above = [w[16] * j for j in range(31)]
    for i in range(30):
        line = [w[17] * (i + 1.0)]
        for j in range(30):
            ways = above[j] + w[4 * one[i] + other[j]], above[j + 1] + w[17], line[j] + w[16]
            line.append(-np.log(np.exp(-ways[0]) + np.exp(-ways[1]) + np.exp(-ways[2])))
        above = line
    return above[-1]


def test_rows_that_take_the_same() -> None:
    """Rows of which some take what others took, the costs of a letter, are one loop."""
    w = np.random.default_rng(3).uniform(0.1, 1.0, 18)
    found = rolled(primad.trace(edited)(w))
    assert any(scans(params["of"].program) and params["length"] >= 25 for params in scans(found)), found.notes
    np.testing.assert_allclose(primad.jit(primad.grad(edited))(w), unrolled(primad.grad(edited))(w), rtol=1e-10)


def test_more_rows_from_outside_than_ops() -> None:
    """Where steps take more arrays from outside than there are ops, these are not looked up among the ops."""
    data = np.random.default_rng(1).normal(size=(11, 16))

    def f(a: Any) -> Any:
        cost, above = np.cos(a), [0.25] * 17
        for i in range(11):
            line = [0.3]
            for j in range(16):
                new = np.sin(line[j] - above[j + 1]) + 0.1 * cost[i, j]
                line.append(new + 0.1 * (0.4 * new * data[i, j] + np.cos(cost[i, 15 - j])))
            above = line
        return above[-1]

    np.testing.assert_allclose(rolled(primad.trace(f)(data))(data), f(data), rtol=1e-12)


def test_loops_that_differ_in_a_number_only() -> None:
    """Turns of a solver in each step are a loop in a loop, however few nodes are left when they are loops."""

    def solved(a: Any) -> Any:
        x, total = a, 0.0
        for n in range(12):
            for _ in range(30):
                x = x - (x**3 + x - a - 0.01 * n) / (3.0 * x**2 + 1.0)
            total = total + np.sum(x)
        return total

    a = np.linspace(-1.0, 1.0, 5)
    found = rolled(primad.trace(solved)(a))
    assert any(params["length"] >= 10 and scans(params["of"].program) for params in scans(found)), found.notes
    got, wanted = primad.jit(primad.grad(solved))(a), unrolled(primad.grad(solved))(a)
    np.testing.assert_allclose(got, wanted, rtol=1e-10)
