"""Loops inside of loops that take what the rows before computed become loops in loops, with the unrolled values."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import primad
from primad.programs.rerolling import repeated_runs, runs_in_rows
from primad.programs.rerolling.first_steps import begun
from primad.programs.rerolling.node_sequences import NodeSequence
from primad.programs.rerolling.repeated_runs import Sequences
from primad.programs.rerolling.rerolled_loops import rolled
from tests.programs.rerolling.test_rerolled_loops import scans, unrolled


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short loops count, and steps of outer ones are not guessed before those of inner ones."""
    monkeypatch.setattr(repeated_runs, "FEWEST_NODES", 40)
    monkeypatch.setattr(repeated_runs, "MOST_GUESSES", 4)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """All that is told of rows at once is what is told of each; return which of them had been looked at before."""
    again: list[bool] = []

    def checked(self: Any, done: int, start: int, end: int) -> Any:
        before = len(self._known)
        found = whole(self, done, start, end)
        places = [self._rank[self._sequence.own[i]] for i in (done, end - 1)]
        between = self._ops[places[0] : places[1] + 1]
        args = range(done, end), start, end, self._lag, runs_in_rows._is_alike
        assert found == begun(self._sequence, between, *args)
        again.append(len(self._known) == before)
        return found

    def alike(self: NodeSequence) -> Any:
        numbers, kinds = of_all(self), [self._row_kind(x) for x in self._others]
        pairs = {*zip(numbers.tolist(), kinds, strict=True)}
        assert len(pairs) == len({number for number, _ in pairs}) == len(set(kinds))
        return numbers

    whole, of_all = runs_in_rows._Rows.begun, NodeSequence._row_kinds.func
    monkeypatch.setattr(runs_in_rows._Rows, "begun", checked)
    monkeypatch.setattr(NodeSequence, "_row_kinds", property(alike))
    return again


ROWS = [
    (lambda x, y, z, n: np.sin(y[n]) - 2.0, True),
    (lambda x, y, z, n: np.sin(x if n else y) + 1.0, True),
    (lambda x, y, z, n: x * (x if n else y), False),
    (lambda x, y, z, n: x[n : n + 2] * 3.0, False),
    (lambda x, y, z, n: np.sin(x[n]) if n else np.cos(x[n]), False),
    (lambda x, y, z, n: y[3] * (y[3] if n else z[0]), False),
    (lambda x, y, z, n: np.cos(np.sin(x[n])) * (x[0] if n else z[n]), False),
    (lambda x, y, z, n: np.sum(x if n else z), False),
    (lambda x, y, z, n: (x if n else y)[:1] * 3.0, False),
]
"""What two rows compute, and whether all that is told of one is that of the other: y is a source of rows, z longer."""


@pytest.mark.parametrize(("row", "same"), ROWS)
def test_what_makes_rows_the_same(row: Any, same: bool) -> None:
    """Rows take what they take in the same way: the same op or another, the same value or another, a row or none."""

    def f(*given: Any) -> Any:
        given = tuple([np.tanh(x) for x in given])
        return *given, row(*given, 0), row(*given, 1)

    program = primad.trace(f)(np.ones(5), np.ones(5), np.ones(6))
    known = Sequences(program)
    length, source = (len(known.ops) - 3) // 2, program.outputs[1]
    sequence = known.of([source])
    rows = runs_in_rows._Rows(known.ops, sequence, 1)
    places = [sum(sequence.at[sequence.arrays.places(known.ops[:n])] >= 0) for n in (3, 3 + length)]
    one, other = (rows._form(n, n + length, places[i]) for i, n in enumerate((3, 3 + length)))
    assert (one == other) is same


def test_rows_that_are_known_to_begin_elsewhere() -> None:
    """Where steps are known to be equal is a part of what is told of a row."""

    def f(x: Any) -> Any:
        for _ in range(20):
            x = np.sin(x * x)
        return x

    known = Sequences(primad.trace(f)(0.3))
    sequence = known.of([])
    rows = runs_in_rows._Rows(known.ops, sequence, 2)
    for start in (8, 9):
        assert rows.begun(0, start, 39) == begun(
            sequence, known.ops[:39], range(39), start, 39, 2, runs_in_rows._is_alike
        )
    assert len(rows._known) == 2


def test_views_of_an_outer_recording_are_rows_of_one_array(known: list[bool]) -> None:
    """Which array a value shows is looked up in older traces too, which arrays of numbers do not hold."""

    def outer(x: Any) -> Any:
        rows = [x[n] for n in range(30)]

        def inner(w: Any) -> Any:
            for row in rows:
                w = np.sin(w * row)
            return w

        sequence = Sequences(primad.trace(inner)(0.3)).of([])
        others = zip(sequence._row_kinds, sequence._others, strict=True)
        numbers = [number for number, other in others if other.inputs]
        assert len(numbers) == 30 and len({*numbers}) == 1
        return inner(x[0])

    primad.trace(outer)(np.linspace(0.1, 1.0, 30))


def test_rows_alike_are_looked_at_once(known: list[bool]) -> None:
    """Each row but the first few is known by those before it, whatever numbers and rows of inputs it takes."""
    rng = np.random.default_rng(0)
    rolled(primad.trace(table)(rng.normal(size=14), rng.normal(size=28)))
    assert len(known) >= 13 and sum(known) >= 10, known


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


@pytest.mark.one_in(2)
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
