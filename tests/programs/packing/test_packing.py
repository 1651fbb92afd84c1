"""Scalar lines of one form become few ops on arrays, which compute the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad.functional.control.replaying import Replayed
from primad.functional.derived_calls import Call
from primad.integrate import solve_ivp
from primad.ir.node import leaf_value
from primad.ir.program import Program
from primad.programs.compacting import FILLED_FROM
from primad.programs.loops import closed_bodies
from primad.programs.loops.closed_bodies import with_scalars
from primad.programs.packing import scalar_groups
from primad.programs.packing.packing import levels_of, with_arrays
from primad.runtime.executors.dispatch import REFERENCE, prepare
from tests.programs.test_growth import calls


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few ops count."""
    monkeypatch.setattr(scalar_groups, "FEWEST_NODES", 20)


def packed(program: Program) -> Program:
    """Return a program that computes together what can be; the program itself if that is too little."""
    levels = levels_of(program)
    return program if levels is None else with_arrays(program, levels)


def network(species: int, seed: int = 0) -> Any:
    """Return the slope of a random reaction network, as a text that has a line for each equation."""
    rng = np.random.default_rng(seed)
    lines, terms = ["def slope(t, y, k):"], [""] * species
    for j in range(3 * species):
        a, b, c, d = rng.choice(species, 4, replace=False)
        rate, made, used = [
            (f"k[{j}]*y[{a}]*y[{b}]", [c, d], [a, b]),
            (f"k[{j}]*y[{a}]", [b], [a]),
            (f"k[{j}]*y[{a}]**2", [b], [a]),
            (f"k[{j}]*y[{a}]/(0.5 + y[{a}])", [b], [a]),
            (f"2.0*k[{j}]*np.exp(-y[{b}])", [c], [a]),
        ][j % 5]
        lines.append(f"    r{j} = {rate}")
        for i in made:
            terms[i] += f" + r{j}"
        for i in used:
            terms[i] += f" - {1 + (j % 5 == 2)}*r{j}"
    lines += [f"    dy{i} ={each or ' 0.1*y[0]'}" for i, each in enumerate(terms)]
    names = ", ".join(f"dy{i}" for i in range(species))
    scope = {"np": pnp}
    exec("\n".join([*lines, f"    return np.array([{names}])"]), scope)
    return scope["slope"]


def by_rows(x: Any) -> Any:
    """Differences in space, element by element."""
    n = x.shape[0]
    inner = [x[i - 1] - 2.0 * x[i] + x[i + 1] - np.sin(x[i]) * x[n // 2] for i in range(1, n - 1)]
    return pnp.stack([x[0], *inner, x[-1]])


def of_a_matrix(a: Any, x: Any) -> Any:
    """Entries from everywhere, results of many kinds, numbers that are used alone and twice."""
    n = x.shape[0]
    rows = [a[i, i] * x[i] + a[i, n - 1 - i] * x[n - 1 - i] for i in range(n)]
    kept = [np.where(r > 0.0, r, 0.5 * r) for r in rows]
    return {"rows": np.array(kept, object) * 1.0, "first": kept[0], "all": pnp.stack(rows[::-1]) @ a, "sum": sum(kept)}


def in_stages(x: Any) -> Any:
    """Arrays between the numbers, from which there are numbers again."""
    y = pnp.array([x[i] * x[i + 1] for i in range(11)]) * 3.0
    z = pnp.array([y[10 - i] - x[i] ** 3 for i in range(11)])
    return pnp.cumsum(z)[::2], z[3]


def with_numbers(x: Any) -> Any:
    """Constants of a table, brackets, and whole numbers."""
    table = np.linspace(0.1, 1.7, 12)
    return pnp.stack([table[i] * x[i] - (x[3] + (2.5 + i) * x[11 - i]) + x[i] ** 2.5 * i for i in range(12)])


def of_truths(x: Any) -> Any:
    return pnp.stack([(x[i] > 0.3) & (x[i + 1] < 0.9) for i in range(11)] + [x[0] == x[1]])


def compensated(x: Any) -> Any:
    """Sums whose rounding errors are kept: brackets must stay where they are."""
    found = []
    for i in range(11):
        total = x[i] + 1e8 * x[i + 1]
        back = total - x[i]
        found.append(total + ((x[i] - (total - back)) + (1e8 * x[i + 1] - back)))
    return pnp.stack(found)


def of_several_results(a: Any, x: Any) -> Any:
    """Entries of arrays, and numbers, that an op gives together; joined with an array and with nothing at the end."""
    values, vectors = np.linalg.eigh(a + a.T)
    (total, least), _ = primad.scan(lambda c, v: ((c[0] + v * v, np.minimum(c[1], v)), None), (0.0, 9.0), x)
    n = x.shape[0]
    rows = [values[i] * x[i] + total * vectors[i, n - 1 - i] + least * x[n - 1 - i] for i in range(n)]
    return pnp.concatenate([*[pnp.reshape(np.sin(r) * r, (1,)) for r in rows], x[:0], x[1:3]]), pnp.stack(rows)


X = np.random.default_rng(3).uniform(0.2, 1.2, 12)
A = np.random.default_rng(4).normal(size=(12, 12))
FUNCTIONS = {
    "network": (lambda k, y: network(40)(0.0, y, k), np.linspace(0.5, 2.0, 120), np.linspace(0.3, 1.3, 40)),
    "by rows": (by_rows, X),
    "single precision": (by_rows, X.astype(np.float32)),
    "complex": (lambda x: by_rows(x + 1j * x[::-1]), X),
    "of a matrix": (of_a_matrix, A, X),
    "of a transposed part": (lambda a, x: of_a_matrix(a.T[::-1, ::1], x[::-1]), A, X),
    "in stages": (in_stages, X),
    "with numbers": (with_numbers, X),
    "of several results": (of_several_results, A, X),
    "of truths": (of_truths, X),
    "compensated": (compensated, X),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_the_same_bits(name: str) -> None:
    function, *arguments = FUNCTIONS[name]
    plain = primad.trace(function)(*arguments)
    found = packed(plain).check()
    assert found is not plain and 2 * len(found.nodes) < len(plain.nodes)
    assert found.out_types == plain.out_types and found.out_tree == plain.out_tree

    def run(program: primad.Program) -> list[Any]:
        return prepare(program.hoisted(), executor=REFERENCE).run([*arguments, *map(leaf_value, program.sources)])

    for x, y in zip(run(found), run(plain), strict=True):
        if isinstance(x, np.ndarray) and x.shape:
            np.testing.assert_array_equal(x, y)
        else:  # of a sum that is alone
            np.testing.assert_allclose(x, y, rtol=1e-14)


def upper(a: Any) -> list[Any]:
    """Return the numbers of the upper triangle, as arrays of one number."""
    return [a[i, j : j + 1] for j in range(len(a)) for i in range(j + 1)]


def joined(a: Any) -> Any:
    return pnp.concatenate(upper(a))


def joined_in_parts(a: Any) -> Any:
    parts = upper(a)
    return pnp.concatenate([pnp.concatenate(parts[i : i + 9]) for i in range(0, len(parts), 9)])


def joined_across(a: Any) -> Any:
    """Rows of columns: their numbers are not one behind the other."""
    parts = [x.reshape(1, 1) for x in upper(a)[:40]]
    return pnp.concatenate([pnp.concatenate(parts[i::4], axis=0) for i in range(4)], axis=1)


def joined_with_others(a: Any) -> Any:
    """What is joined are no elements only."""
    return pnp.concatenate([*upper(a), a[0], 2.0 * a[1], a[:, 2][:1]])


@pytest.mark.parametrize("f", [joined, joined_in_parts, joined_across, joined_with_others])
def test_elements_that_are_joined_are_gathered(monkeypatch: pytest.MonkeyPatch, f: Any) -> None:
    """Nothing is computed, but each element would have a derivative as large as the array."""
    a = np.random.default_rng(3).normal(size=(24, 24))
    program = primad.trace(f)(a)
    made = packed(program).check()
    if f in (joined, joined_in_parts):
        assert len(made.nodes) < 10
    run = prepare(made.hoisted(), executor=REFERENCE).run([a, *map(leaf_value, made.sources)])
    np.testing.assert_array_equal(run[0], f(a))

    def gradient() -> Any:
        return primad.grad(lambda a: np.sum(f(a) ** 2 * np.cos(np.arange(float(f(a).size))).reshape(f(a).shape)))(a)

    found = gradient()
    monkeypatch.setattr(scalar_groups, "FEWEST_NODES", 10**9)
    np.testing.assert_allclose(found, gradient(), rtol=1e-14)


def test_derivatives_are_those_of_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    slope, k, y = network(40), np.linspace(0.5, 2.0, 120), np.linspace(0.3, 1.3, 40)
    jacobians = primad.jacobian(lambda k, y: slope(0.0, y, k), argnums=(0, 1))
    found = [each.sparse().toarray() for each in jacobians(k, y)]
    hessian = primad.hessian(lambda y: np.sum(slope(0.0, y, k) ** 2))(y)[:]
    monkeypatch.setattr(scalar_groups, "FEWEST_NODES", 10**9)
    for x, each in zip(found, jacobians(k, y), strict=True):
        np.testing.assert_allclose(x, each[:], rtol=1e-13, atol=1e-13)
        assert each.pattern().nnz == np.count_nonzero(x)
    np.testing.assert_allclose(hessian, primad.hessian(lambda y: np.sum(slope(0.0, y, k) ** 2))(y)[:], rtol=1e-12)


def test_what_has_no_form_in_common_stays() -> None:
    """A recurrence has a number for each step, and ops that all differ have no group."""

    def recurrence(x: Any) -> Any:
        found = [x[0]]
        for _ in range(30):
            found.append(np.sin(found[-1]) * x[1])
        return pnp.stack(found)

    program = primad.trace(recurrence)(X)
    assert packed(program) is program


def swept(u: Any, b: Any) -> Any:
    """Gauss and Seidel's sweep over a grid of numbers: each is computed of those before it."""
    u = [list(row) for row in u]
    for i in range(1, 9):
        for j in range(1, 9):
            u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] + b[i - 1, j - 1])
    return u


def test_numbers_that_are_few_at_a_time_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that is no shorter on arrays stays numbers, which are in registers; a long one does not."""
    rng = np.random.default_rng(5)
    program = primad.trace(swept)(rng.normal(size=(10, 10)).tolist(), rng.normal(size=(8, 8)))
    assert with_scalars(program)[0].program is program
    monkeypatch.setattr(closed_bodies, "SHORT_ON_NUMBERS", 100)
    assert with_scalars(program)[0].program is not program


def test_ops_on_arrays_are_not_made_where_they_are_too_many() -> None:
    program = primad.trace(by_rows)(X)
    assert len(packed(program).nodes) < len(program.nodes)
    levels = scalar_groups.groups_of(program)
    assert levels is not None and levels.fewest_nodes == 2 * sum(map(len, levels.groups.values()))


def test_few_ops_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    program = primad.trace(by_rows)(X)
    assert packed(program) is program


def test_bodies_of_loops_are_packed() -> None:
    slope, k = network(40), np.linspace(0.5, 2.0, 120)
    program = primad.trace(lambda y: y + 0.1 * slope(0.0, y, k))(np.ones(40))
    of, _ = with_scalars(program)
    assert 2 * len(of.program.nodes) < len(program.nodes)


def test_programs_of_larger_networks_are_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is derived and compiled does not grow with the equations; what packs them does only in proportion."""

    def work(species: int) -> tuple[int, int]:
        plain = primad.trace(network(species))(0.0, np.ones(species), np.ones(3 * species))
        return len(packed(plain).nodes), calls(lambda: packed(plain))

    (few, short), (many, long) = work(40), work(160)
    assert many <= 2 * few
    assert long <= 5 * short


def rosenbrock(x: Any) -> Any:
    total = 0.0
    for i in range(len(x) - 1):
        total += (1 - x[i]) ** 2 + 100 * (x[i + 1] - x[i] ** 2) ** 2
    return total


def pairs(x: Any) -> Any:
    return sum(np.sin(x[i]) * x[j] * (x[i] - x[j]) for i in range(12) for j in range(i))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("f", "size", "entries", "directions"),
    [
        (rosenbrock, 60, 178, 3),
        (lambda x: sum(np.sin(x[i]) * x[i] for i in range(120)), 120, 120, 1),
        (pairs, 12, 144, 12),
    ],
)
def test_sums_that_python_adds_up_keep_their_structure(f: Any, size: int, entries: int, directions: int) -> None:
    """No step of such a loop needs the one before, so the Hessian has the entries of the formula."""
    x = np.linspace(0.2, 1.1, size)
    H = primad.hessian(f)(x)
    assert H.pattern().nnz == entries and H.coloring().directions == directions
    small = primad.hessian(f if f is pairs else lambda x: f(np.append(x, np.zeros(size - 12))))(x[:12])
    np.testing.assert_allclose(H.sparse().toarray()[:11, :11], np.asarray(small)[:11, :11], rtol=1e-9, atol=1e-9)
    assert "scalar ops are" in str(primad.explain(f, x))


def counting(slope: Any) -> tuple[Any, list[Any]]:
    """Return a slope that notes each of its calls, and the list of their times."""
    seen: list[Any] = []

    def counted(t: Any, y: Any, k: Any) -> Any:
        seen.append(t)
        return slope(t, y, k)

    return counted, seen


def test_a_slope_is_recorded_once() -> None:
    counted, seen = counting(network(60))

    def last(k: Any) -> Any:
        return np.sum(solve_ivp(counted, (0.0, 0.1), np.ones(60), "RODAS4", t_eval=[0.1], args=(k,)).y)

    primad.trace(last)(np.ones(180))
    assert len(seen) == 2  # with plain numbers, and as a program; RODAS4 has eight slopes in each step


def test_a_long_function_is_copied_for_whatever_is_recorded() -> None:
    """Once for each dtype and shape, and numbers of Python among them: Python runs it again for none of them."""
    slope = network(60)
    counted, seen = counting(slope)

    replayed, y, k = Replayed(counted), np.linspace(0.5, 1.0, 60), np.linspace(0.5, 2.0, 180)
    found = primad.trace(lambda y, k: [replayed(0.5, y, k), replayed(0.5, y, 2.0 * k), replayed(0.5, y + 1.0, k)])(y, k)
    assert len(seen) == 2
    for got, want in zip(found(y, k), (slope(0.5, y, k), slope(0.5, y, 2.0 * k), slope(0.5, y + 1.0, k)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", ["t", "y", "k"])
def test_slopes_that_see_values_are_not_copied(number: str) -> None:
    """A long slope that looks at its arguments is the error that a short one is; looking at parameters is none."""
    long = network(40)

    def slope(t: Any, y: Any, k: Any) -> Any:
        seen = {"t": t, "y": y[0], "k": k[0]}[number]
        return long(t, y, k) * (1.0 if seen < 10.0 else 2.0)

    def last(k: Any) -> Any:
        return np.sum(solve_ivp(slope, (0.0, 0.01), np.ones(40), "RK45", t_eval=[0.01], args=(k,)).y)

    k = np.linspace(0.5, 2.0, 120)
    if number == "k":
        assert Call(last, (k,)).program.check().out_types[0].shape == ()
    else:
        with pytest.raises(primad.TracingError, match="value of a traced array"):
            Call(last, (k,))


def test_a_number_that_fills_a_long_array_is_given_as_a_number() -> None:
    """It would be filled in each call, and read by each op, where a number stays in a register."""

    def f(x: Any) -> Any:
        return np.sum(np.sin(0.3 * x) * x + (2.5 - x) / 1.7)

    numbers = 3
    for n, is_single in ((FILLED_FROM // numbers, False), (FILLED_FROM // numbers + 1, True)):
        x = np.linspace(-1.0, 1.0, n)
        program = Call(f, (x,)).program
        assert [np.shape(value) for value in program.source_values] == [() if is_single else (n,)] * numbers
        assert program.check().in_tree is not None
        np.testing.assert_array_equal(primad.grad(f)(x), primad.grad(primad.jit(f))(x))
        rows = primad.vmap(lambda k, x=x: k * x + 0.3 * x)(np.ones(2))
        np.testing.assert_allclose(rows, np.stack([1.3 * x] * 2))
        H = primad.hessian(f)(x) @ np.ones(n)
        np.testing.assert_allclose(H, 0.6 * np.cos(0.3 * x) - 0.09 * np.sin(0.3 * x) * x, atol=1e-14)
    assert Call(lambda x: x * 0.3, (1.0,)).program.source_values == [0.3]
