"""A linear system's solver that can be recorded is part of the program, with the derivatives of what it solves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import implicit
from primad.implicit.equations import ImplicitEquation
from primad.implicit.recorded_systems import RecordedSystem
from primad.implicit.solution_search import MOST_POLISHING
from primad.ir.array_types import ArrayType
from primad.ir.law_families import SOLVERS, without
from primad.ir.program import ClosedProgram
from primad.recording.tracing import program_of
from tests.sweeps import thinned

SIZE = 6


def steps(residual: Any, x0: Any) -> Any:
    """Conjugate gradients, as a user writes them."""
    r = -residual(x0)

    def step(state: Any) -> Any:
        x, r, p, rr = state
        q = residual(p) - residual(0 * p)
        size = rr / np.sum(p * q)
        r = r - size * q
        after = np.sum(r * r)
        return x + size * p, r, r + after / rr * p, after

    return primad.while_loop(lambda state: state[3] > 1e-22, step, (x0, r, r, np.sum(r * r)))[0]


def sweeps(residual: Any, x0: Any) -> Any:
    """Relaxation with a number of steps: Python's loop, and no value is looked at."""
    x = x0
    for _ in range(60):
        x = x - 0.15 * residual(x)
    return x


SYMMETRIC: dict[str, Callable[..., Any]] = {"written": steps, "cg": implicit.cg, "sweeps": sweeps}
GENERAL: dict[str, Callable[..., Any]] = {"bicgstab": implicit.bicgstab, "gmres": implicit.gmres, "sweeps": sweeps}
SOLVERS_OF = {**{("symmetric", k): v for k, v in SYMMETRIC.items()}, **{("general", k): v for k, v in GENERAL.items()}}


def drawn(seed: int, kind: str) -> tuple[Any, Any, Any]:
    """A right side, a number and a matrix near to five times the identity."""
    rng = np.random.default_rng(seed)
    m = rng.uniform(-0.4, 0.4, (SIZE, SIZE))
    return rng.normal(size=SIZE), rng.uniform(0.5, 1.5), 5 * np.eye(SIZE) + (m + m.T if kind == "symmetric" else m)


def matrix_of(m: Any, k: Any) -> Any:
    return m + k * np.diag(np.arange(1.0, SIZE + 1) / SIZE)


def by(solver: Any) -> Callable[..., Any]:
    def solved(b: Any, k: Any, m: Any) -> Any:
        scale = k * np.arange(1.0, SIZE + 1) / SIZE
        return implicit.linear_solve(lambda x: m @ x + scale * x, b, solver=solver)

    return solved


def exact(b: Any, k: Any, m: Any) -> Any:
    return np.linalg.solve(matrix_of(m, k), b)


def loss_of(solve: Any) -> Callable[..., Any]:
    return lambda b, k, m: np.sum(np.sin(solve(b * k, k, m)) * b)


def alike(found: Any, expected: Any) -> None:
    for x, y in zip(np.atleast_1d(found) if not isinstance(found, tuple) else found,
                    np.atleast_1d(expected) if not isinstance(expected, tuple) else expected, strict=True):  # fmt: skip
        np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-8)


def in_a_scan(f: Any) -> Callable[..., Any]:
    return lambda b, k, m: np.sum(primad.scan(lambda u, _: (f(u + b, k, m), u[0]), b, length=4)[0] ** 2)


def in_a_while(f: Any) -> Callable[..., Any]:
    def looped(b: Any, k: Any, m: Any) -> Any:
        goes = lambda s: s[0] < 3  # noqa: E731
        return np.sum(primad.while_loop(goes, lambda s: (s[0] + 1, f(s[1] + b, k, m)), (0, b), 5)[1] ** 2)

    return looped


def in_python(f: Any) -> Callable[..., Any]:
    def looped(b: Any, k: Any, m: Any) -> Any:
        u = b
        for _ in range(3):
            u = f(u + b, k, m)
        return np.sum(u**2)

    return looped


def over_rows(f: Any) -> Callable[..., Any]:
    rows = primad.vmap(f, in_axes=(0, 0, None))
    return lambda b, k, m: np.sum(rows(np.stack([b, 2 * b]), np.stack([k, k * k]), m) ** 3)


PLACES: dict[str, Callable[..., Any]] = {
    "alone": loss_of, "scan": in_a_scan, "while": in_a_while, "Python": in_python, "vmap": over_rows,
}  # fmt: skip
WAYS: dict[str, Callable[..., Any]] = {
    "value": lambda f: primad.jit(f),
    "eager": lambda f: f,
    "grad": lambda f: primad.jit(primad.grad(f, (0, 1, 2))),
    "eager grad": lambda f: primad.grad(f, (0, 1, 2)),
    "jvp": lambda f: primad.jit(lambda b, k, m: primad.jvp(f, (b, k, m), (b + 1, k, m * m))[1]),
    "Hessian": lambda f: lambda b, k, m: primad.hessian(lambda b: f(b, k, m))(b)[:, :],
    "grad of grad": lambda f: primad.grad(lambda b, k, m: np.sum(primad.grad(f, 2)(b, k, m) ** 2), 1),
}


@pytest.mark.one_in(4)
@thinned(10, kind=[f"{a} {b}" for a, b in SOLVERS_OF], place=list(PLACES), way=list(WAYS))
def test_recorded_solvers_have_the_solution_and_its_derivatives(kind: str, place: str, way: str) -> None:
    form, name = kind.split(" ")
    if way == "grad of grad" and place == "while":
        pytest.skip("reverse mode of reverse mode of a loop that ends by itself is tested with loops")
    given = drawn(len(kind) + 7 * len(place) + len(way), form)
    found, expected = (WAYS[way](PLACES[place](f))(*given) for f in (by(SOLVERS_OF[form, name]), exact))
    alike(found, expected)


def test_steps_are_recorded_and_nothing_is_called_back() -> None:
    def march(b: Any, k: Any, m: Any) -> Any:
        return primad.scan(lambda u, _: (by(implicit.cg)(u, k, m), None), b, length=5)[0]

    given = drawn(0, "symmetric")
    for f in (march, primad.grad(lambda *args: np.sum(march(*args)), (0, 1))):
        text = str(primad.lower(primad.trace(f)(*given)))
        assert "while_loop" in text and "solution" not in text
        with without(SOLVERS):
            assert "linear_solution" in str(primad.lower(primad.trace(f)(*given)))


def test_what_the_solver_closes_over_may_be_traced_and_has_no_derivative() -> None:
    def loss(b: Any, k: Any, m: Any) -> Any:
        near = 1 / (np.diagonal(m) + k)
        solver = lambda f, x0: implicit.cg(f, x0, M=lambda x: near * x)  # noqa: E731
        return np.sum(by(solver)(b, k, m) ** 2)

    given = drawn(3, "symmetric")
    for way in ("value", "grad", "Hessian"):
        alike(WAYS[way](loss)(*given), WAYS[way](lambda *args: np.sum(exact(*args) ** 2))(*given))


def test_trees_complex_numbers_and_short_floats() -> None:
    def pulled(x: Any) -> Any:
        return {"u": 3 * x["u"] + x["v"], "v": 4 * x["v"] + np.sum(x["u"]) * np.ones(2)}

    b = {"u": np.array([1.0, 2.0]), "v": np.array([0.5, -1.0])}
    for solver in (implicit.gmres, implicit.bicgstab):
        found = primad.jit(lambda b, s=solver: implicit.linear_solve(pulled, b, solver=s))(b)  # type: ignore[misc]
        for name in b:
            np.testing.assert_allclose(pulled(found)[name], b[name], rtol=1e-8)
    A, c = np.array([[3, 1j], [-1j, 2]]), np.array([1 + 1j, 2.0])
    np.testing.assert_allclose(implicit.linear_solve(lambda x: A @ x, c, solver=implicit.cg), np.linalg.solve(A, c))
    single = implicit.linear_solve(lambda x: np.float32(2) * x, np.ones(3, np.float32), solver=implicit.cg)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, np.full(3, 0.5, np.float32))
    zero = implicit.linear_solve(lambda x: 2 * x, np.zeros(3), solver=implicit.cg)
    np.testing.assert_array_equal(zero, np.zeros(3))


# -- steps that do not arrive ------------------------------------------------------------------------------------------


def of_its_own(m: Any) -> Callable[..., Any]:
    """A solver that has the factors of one matrix: it is wrong for the transposed one."""
    inverse = np.linalg.inv(m)
    return lambda f, x0: -inverse @ f(x0)


def early(f: Any, x0: Any) -> Any:
    return x0 - 1e-3 * f(x0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("which", ["of its own", "early", "one step", "NaN"])
def test_where_steps_do_not_arrive_the_matrix_is_factorised(which: str) -> None:
    b, k, m = drawn(5, "general")
    solver = {
        "of its own": of_its_own(matrix_of(m, k)), "early": early,
        "one step": lambda f, x0: implicit.gmres(f, x0, restart=2, maxiter=1), "NaN": lambda f, x0: x0 * np.nan,
    }[which]  # fmt: skip
    cases = "alone-grad", "scan-value", "scan-eager grad", "vmap-grad", "alone-eager"
    for place, way in [case.split("-") for case in cases]:
        alike(*(WAYS[way](PLACES[place](f))(b, k, m) for f in (by(solver), exact)))


def test_errors_that_are_the_program_s_own_stay() -> None:
    @primad.jit
    def looked_up(b: Any, i: Any) -> Any:
        return implicit.linear_solve(lambda x: 2 * x, b, solver=implicit.cg)[i]

    assert looked_up(np.ones(3), 2) == 0.5
    with pytest.raises(primad.IndexShapeError, match="index 7 is out of range"):
        looked_up(np.ones(3), 7)
    singular = lambda b: implicit.linear_solve(lambda x: x * np.array([1.0, 0.0]), b, solver=implicit.cg)  # noqa: E731
    for f in (singular, primad.jit(singular)):
        with pytest.raises(primad.MatrixError, match="singular"):
            f(np.ones(2))


def test_donated_memory_is_not_read_after_steps_that_failed() -> None:
    step = primad.jit(lambda u: implicit.linear_solve(lambda x: 3 * x, u, solver=early), donate=0)
    np.testing.assert_allclose(step(np.ones(4)), np.full(4, 1 / 3), rtol=1e-14)


def test_functions_that_are_not_linear_are_refused_as_before() -> None:
    with pytest.raises(primad.DomainError):
        implicit.linear_solve(lambda x: x**2 + 1, np.ones(2) / 2, solver=lambda f, x0: x0 - 0.1 * f(x0))


def test_results_are_the_same_bits_each_time() -> None:
    f = primad.jit(primad.grad(in_a_scan(by(steps)), (0, 1, 2)))
    given = drawn(9, "symmetric")
    first = f(*given)
    for again in (f(*given), primad.jit(primad.grad(in_a_scan(by(steps)), (0, 1, 2)))(*given)):
        for x, y in zip(first, again, strict=True):
            np.testing.assert_array_equal(x, y)


# -- equations that are not linear -------------------------------------------------------------------------------------


def bent(x: Any, b: Any, k: Any, m: Any) -> Any:
    return m @ x + k * x**3 - b


def relaxed(f: Any, x0: Any) -> Any:
    """Steps of a length that suits the matrices that are drawn."""
    return primad.while_loop(lambda x: np.max(abs(f(x))) > 1e-9, lambda x: x - 0.12 * f(x), x0)


def nearly(f: Any, x0: Any) -> Any:
    """What Newton's steps make exact."""
    return primad.while_loop(lambda x: np.max(abs(f(x))) > 1e-7, lambda x: x - 0.12 * f(x), x0)


def newtons(f: Any, x0: Any) -> Any:
    """Three of Newton's steps: Python's loop."""
    for _ in range(3):
        x0 = x0 - np.linalg.solve(primad.jacobian(f)(x0)[:, :], f(x0))
    return x0


def iterated(f: Any, x0: Any) -> Any:
    return primad.while_loop(lambda x: np.max(abs(f(x) - x)) > 1e-10, f, x0)


def by_root(solver: Any) -> Callable[..., Any]:
    return lambda b, k, m: implicit.root(lambda x: bent(x, b, k, m), b / 5, solver=solver)


def by_fixed_point(solver: Any) -> Callable[..., Any]:
    return lambda b, k, m: implicit.fixed_point(lambda x: x - 0.12 * bent(x, b, k, m), b / 5, solver=solver)


BENT: dict[str, tuple[Callable[..., Any], Any]] = {
    "relaxed": (by_root, relaxed), "Newton": (by_root, newtons), "iterated": (by_fixed_point, iterated),
    "nearly": (by_root, nearly),
}  # fmt: skip


@pytest.mark.one_in(4)
@thinned(8, name=list(BENT), place=list(PLACES), way=list(WAYS))
def test_recorded_solvers_of_equations_have_the_solution_and_its_derivatives(name: str, place: str, way: str) -> None:
    if way == "grad of grad" and place == "while":
        pytest.skip("reverse mode of reverse mode of a loop that ends by itself is tested with loops")
    given = drawn(3 * len(name) + len(place) + 5 * len(way), "general")
    make, solver = BENT[name]
    alike(*(WAYS[way](PLACES[place](f))(*given) for f in (make(solver), by_root(None))))


def test_solutions_in_time_steps_are_native() -> None:
    def march(b: Any, k: Any, m: Any) -> Any:
        return primad.scan(lambda u, _: (by_root(relaxed)(u, k, m), None), b, length=5)[0]

    given = drawn(0, "general")
    for f in (march, primad.grad(lambda *args: np.sum(march(*args)), (0, 1))):
        assert "solution" not in str(primad.lower(primad.trace(f)(*given)))
        assert "from Python" not in str(primad.explain(f, *given))


def test_recorded_solvers_are_refused_where_others_are() -> None:
    """Where the residual vanishes at infinity, where two solutions meet, and in rows without a solution."""
    near = lambda f, x0: x0 + 20.0  # noqa: E731
    with pytest.raises(primad.DomainError, match="no solution was found"):
        primad.jit(lambda a: implicit.root(lambda x: np.exp(-a * x), 1.0, solver=near))(1.0)
    halved = lambda f, x0: primad.while_loop(lambda x: abs(f(x)) > 1e-11, lambda x: x - f(x) / (2 * x), x0)  # noqa: E731
    squared = lambda a: implicit.root(lambda x: x**2 - a, 1.5, solver=halved)  # noqa: E731
    np.testing.assert_allclose(primad.jit(primad.grad(squared))(4.0), 0.25, rtol=1e-9)
    with pytest.raises(primad.MatrixError, match="singular"):
        primad.jit(primad.grad(squared))(0.0)
    some = primad.jit(primad.vmap(squared))(np.array([4.0, -1.0, 9.0]))
    np.testing.assert_allclose(some, [2, np.nan, 3], rtol=1e-9)


def test_numbers_and_trees_are_found_by_recorded_solvers() -> None:
    def both(x: Any) -> Any:
        return {"u": x["u"] ** 2 - x["v"], "v": np.sum(x["u"]) + x["v"] - 3.0}

    def newton(f: Any, x0: Any) -> Any:
        def step(x: Any) -> Any:
            r = f(x)
            return {"u": x["u"] - 0.3 * r["u"], "v": x["v"] - 0.3 * r["v"]}

        return primad.fori_loop(0, 200, lambda _, x: step(x), x0)

    found = primad.jit(lambda s: implicit.root(both, {"u": s * np.ones(2), "v": 1.0}, solver=newton))(0.8)
    for leaf in both(found).values():
        np.testing.assert_allclose(leaf, 0, atol=1e-9)
    steps = lambda f, x0: primad.fori_loop(0, 4, lambda _, x: x - f(x) / (2 * x), x0)  # noqa: E731
    single = implicit.root(lambda x: x * x - np.float32(2), np.float32(1.5), solver=steps)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, np.sqrt(np.float32(2)), rtol=1e-6)


def test_a_solver_that_cannot_be_recorded_is_tried_once() -> None:
    tried = []

    def solver(f: Any, x0: Any) -> Any:
        tried.append(0)
        return x0 if f(x0) == 0.0 else x0 - f(x0) / 2.0  # it branches on a value

    for count in (2, 3, 4):  # the first is the recording that fails
        assert implicit.root(lambda x: 2.0 * x - 3.0, 5.0, solver=solver) == 1.5
        assert len(tried) == count


def test_a_number_that_is_an_exponent_in_one_solution_is_a_factor_in_the_other() -> None:
    """It is no operand of the program of both, and one of the program of one of them."""
    row = ArrayType((3,), np.dtype(float))
    equation = ImplicitEquation(ClosedProgram(program_of([row], lambda x: [2.0 * x])), None, 1e-6, "linear_solve", None)
    both = ClosedProgram(program_of([row, row], lambda b, x: [3.5 * b, b**3.5]))
    b = np.array([1.0, 2.0, 3.0])
    system = RecordedSystem(equation, both)
    values = [b, b, *both.program.source_values]
    np.testing.assert_allclose(system.run(False, values), 3.5 * b, rtol=1e-15)
    np.testing.assert_allclose(system.run(True, values), b**3.5, rtol=1e-14)


def until(share: float) -> Callable[..., Any]:
    """Conjugate gradients that stop at a share of the right side."""
    return lambda residual, x0: implicit.cg(residual, x0, rtol=share)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("share", [1e-1, 1e-3, 1e-6])
def test_solvers_that_stop_early_have_derivatives_to_many_digits(share: float) -> None:
    """A residual of 1e-6 of b, which the tolerance allows, would be an error of 1e-2 of x here."""
    turned, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(SIZE, SIZE)))
    m, (b, k, _) = (turned * np.geomspace(1.0, 1e4, SIZE)) @ turned.T, drawn(3, "symmetric")
    for way in ("grad", "Hessian"):
        found, expected = (WAYS[way](loss_of(f))(b, k, m) for f in (by(until(share)), exact))
        largest = max(float(np.max(abs(x))) for x in expected) if way == "grad" else np.max(abs(expected))
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-8 * largest)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("solver", [implicit.cg, implicit.bicgstab, implicit.gmres])
def test_what_is_infinite_is_not_solved_and_what_is_empty_is(solver: Any) -> None:
    def solve(b: Any) -> Any:
        return implicit.linear_solve(lambda x: 2.0 * x + np.sum(x), b, solver=solver)

    for f in (solve, primad.jit(solve)):
        assert not np.isfinite(f(np.array([1.0, np.inf]))).any()
        assert f(np.zeros(0)).shape == (0,)
    assert primad.grad(lambda b: np.sum(solve(b)))(np.zeros(0)).shape == (0,)
    with pytest.raises(primad.PrimadError, match="max_steps"), np.errstate(all="ignore"):
        solver(lambda x: 2.0 * x - np.array([1.0, np.inf]), np.zeros(2))


def test_a_pass_that_leaves_a_tenth_helps() -> None:
    """Where a tolerance allows to stop after the first, which leaves exactly a tenth, all passes are made."""
    b, solver = np.array([10.0]), lambda f, x0: x0 - 0.9 * f(x0)
    solve = primad.jit(lambda b: implicit.linear_solve(lambda x: x, b, solver=solver, tolerance=0.5))
    np.testing.assert_allclose(solve(b), [9.999], rtol=1e-14)


def test_solutions_are_made_exact_by_as_many_steps_as_without_recording() -> None:
    """Of two solutions that meet, each step halves the distance: none ends it. The solver is called to be recorded."""
    called = []

    def solver(f: Any, x0: Any) -> Any:
        called.append(x0)
        return 1e-6 * x0

    def found(start: Any) -> Any:
        return implicit.root(lambda x: x * x, start, solver=solver)

    assert primad.jit(found)(1.0) == 1e-6 / 2**MOST_POLISHING and len(called) == 1
    with without(SOLVERS):
        assert primad.jit(found)(1.0) == 1e-6 / 2**MOST_POLISHING


def test_where_the_first_residual_is_infinite_nothing_is_sure() -> None:
    """It says nothing of the size of the terms: `solve` is asked, which refuses what one of them may have hidden."""

    def residual(x: Any) -> Any:
        return np.stack([1e-7 + 1e-3 * (x[0] - 1.0), 1.0 / x[1] - 1.0])

    there = primad.jit(lambda s: implicit.root(residual, s, solver=lambda f, x0: 0.0 * x0 + 1.0))
    assert there(np.array([1e3, 0.5]))[1] == 1.0
    with pytest.raises(primad.DomainError, match="no solution was found"):
        there(np.array([1e3, 0.0]))
