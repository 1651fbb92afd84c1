"""Derivatives of solutions are those of the solution itself, whatever found it, to any order and in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse

import primad
from primad import implicit
from primad.implicit import equations, solution_search
from primad.implicit.matrix_factors import MatrixFactors

A = np.array([1.0, 2.0, 3.0])


def cubic(x: Any, a: Any, b: Any = 2.0) -> Any:
    return x**3 + b * x + 0.1 * np.roll(x, 1) * x - a


def by_root(a: Any, b: Any = 2.0) -> Any:
    return implicit.root(cubic, np.ones(3), a, b)


def unrolled(a: Any, b: Any = 2.0) -> Any:
    """Newton's method, recorded step by step, further than to the last digit."""
    x = np.ones(3)
    for _ in range(6):
        J = primad.jacobian(cubic)(x, a, b)[:, :]
        x = x - np.linalg.solve(J, cubic(x, a, b))
    return x


def bisected(residual: Any, x0: Any) -> Any:
    return optimize.brentq(residual, 0.0, 10.0)


def by_names(residual: Any, x0: Any) -> Any:
    return optimize.fsolve(residual, x0)


# -- against others ----------------------------------------------------------------------------------------------------


def test_derivatives_are_those_of_unrolled_newton_steps_to_the_third_order() -> None:
    ways = [lambda f: f, primad.jacfwd, primad.jacrev]
    for way in ways:
        np.testing.assert_allclose(way(by_root)(A), way(unrolled)(A), rtol=1e-12, atol=1e-14)
    v, w = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.0])

    def thrice(f: Any) -> Any:
        along = lambda f, d: lambda a: primad.jvp(f, (a,), (d,))[1]  # noqa: E731
        return primad.grad(lambda a: np.sum(along(along(f, v), w)(a) ** 2))(A)

    np.testing.assert_allclose(thrice(by_root), thrice(unrolled), rtol=1e-9)


def test_derivatives_of_a_square_root_are_known() -> None:
    f = lambda a: implicit.root(lambda x: x**2 - a, 1.0)  # noqa: E731  # closes over what is differentiated
    expected = [2.0, 0.25, -0.03125, 3 / 8 * 4**-2.5, -15 / 16 * 4**-3.5]
    for number in expected:
        np.testing.assert_allclose(f(4.0), number, rtol=1e-14)
        f = primad.grad(f)


@pytest.mark.parametrize("solver", [None, bisected, by_names, lambda f, x0: optimize.root_scalar(f, bracket=(0, 9))])
def test_the_solver_may_be_anybodys(solver: Any) -> None:
    @primad.jit
    def f(a: Any) -> Any:
        return implicit.root(lambda x, a: x * np.exp(x) - a, 0.5, a, solver=solver)

    w = f(2.0)
    np.testing.assert_allclose(w * np.exp(w), 2.0, rtol=1e-15)
    np.testing.assert_allclose(primad.grad(f)(2.0), w / (2.0 * (1 + w)), rtol=1e-14)


def test_a_solver_that_stops_early_is_finished_or_refused() -> None:
    near = lambda f, x0: np.float64(1.41421)  # noqa: E731
    assert implicit.root(lambda x: x**2 - 2, 1.0, solver=near, tolerance=1e-4) == np.sqrt(2)
    with pytest.raises(primad.DomainError, match="residual is -1 where its terms are of size 2"):
        implicit.root(lambda x: x**2 - 2, 1.0, solver=lambda f, x0: x0)
    with pytest.raises(primad.DomainError, match="no solution"):
        implicit.root(lambda x: x**2 + 1, 1.0)
    with pytest.raises(primad.ShapeError, match="2 numbers for 1"):
        implicit.root(lambda x: x - 2, 1.0, solver=lambda f, x0: np.ones(2))
    with pytest.raises(primad.ShapeError, match="2 results for 3 unknowns"):
        implicit.root(lambda x: x[1:], np.ones(3))


@pytest.mark.parametrize("function", [lambda x, a: x**2 - a, lambda x, a: x**2 - 2 * x + 1 - a])
def test_derivatives_where_two_solutions_meet_are_refused(function: Any) -> None:
    def f(a: Any) -> Any:
        return implicit.root(function, 1.5, a)

    primad.grad(f)(1e-3)
    with pytest.raises(primad.MatrixError, match="singular"):
        primad.grad(f)(0.0)


# -- what it is made of ------------------------------------------------------------------------------------------------


def test_trees_dtypes_and_transforms() -> None:
    def system(x: Any, a: Any) -> Any:
        return {"u": x["u"] ** 2 - a["p"] * x["v"], "v": np.sum(x["u"]) + x["v"] - a["q"]}

    def solved(a: Any) -> Any:
        x = implicit.root(system, {"u": np.ones(2), "v": 1.0}, a)
        return np.sum(x["u"]) * x["v"]

    a = {"p": np.array([1.0, 2.0]), "q": 3.0}
    primad.check_grads(solved, (a,))
    single = implicit.root(lambda x, a: x**2 - a, np.float32([1, 1]), np.float32([4, 9]))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, [2, 3], rtol=1e-6)
    many = np.array([1.0, 4.0, 9.0])
    f = lambda a: implicit.root(lambda x: x**2 - a, 1.0)  # noqa: E731
    np.testing.assert_allclose(primad.vmap(f)(many), [1, 2, 3], rtol=1e-14)
    np.testing.assert_allclose(primad.jit(primad.vmap(primad.grad(f)))(many), [1 / 2, 1 / 4, 1 / 6], rtol=1e-14)
    np.testing.assert_allclose(primad.jacobian(primad.vmap(f))(many)[:, :], np.diag([1 / 2, 1 / 4, 1 / 6]), rtol=1e-14)
    summed = lambda a: primad.scan(lambda c, x: (c + f(x), c), 0.0, a)[0]  # noqa: E731
    np.testing.assert_allclose(primad.grad(summed)(many), [1 / 2, 1 / 4, 1 / 6], rtol=1e-14)


def test_complex_unknowns_are_two_real_ones() -> None:
    solved = lambda a: implicit.root(lambda z: z**2 - a, 1 + 1j)  # noqa: E731
    assert solved(-4.0) == 2j and implicit.root(lambda z: z**2 + 4, np.complex64(1 + 1j)).dtype == np.complex64
    np.testing.assert_allclose(primad.jvp(solved, (-4 + 0j,), (1 + 0j,))[1], 1 / 4j, atol=1e-14)
    np.testing.assert_allclose(primad.grad(lambda a: np.abs(solved(a + 0j)))(9.0), 1 / 6, rtol=1e-13)
    many = np.array([1 + 1j, -4.0])
    np.testing.assert_allclose(primad.vmap(solved)(many), np.sqrt(many), atol=1e-14)
    whole = primad.jacobian(lambda a: implicit.root(lambda z: z**2 - a, np.ones(2) + 1j), holomorphic=True)(many)[:, :]
    np.testing.assert_allclose(whole, np.diag(0.5 / np.sqrt(many)), atol=1e-14)
    cubed = lambda b: np.real(implicit.root(lambda z: z * np.conj(z) * z - 8 * b, 1 + 0.1j))  # noqa: E731
    np.testing.assert_allclose(primad.grad(cubed)(1.0), 2 / 3, rtol=1e-13)  # not holomorphic
    both = implicit.root(lambda s: {"z": s["z"] ** 2 + s["r"], "r": s["r"] - 4}, {"z": 1 + 1j, "r": 1.0})
    np.testing.assert_allclose([both["z"], both["r"]], [2j, 4], atol=1e-14)
    newton = lambda f, x0: optimize.newton(f, x0)  # noqa: E731
    third = implicit.root(lambda z: z**3 - 1, -1 + 1j, solver=newton)
    np.testing.assert_allclose(third, np.exp(2j * np.pi / 3), rtol=1e-14)
    np.testing.assert_allclose(implicit.minimize(lambda z: np.abs(z - (1 + 2j)) ** 2, 0.5 + 0j), 1 + 2j)
    A, b = np.array([1, 2.0, 3j]), np.full(3, 1 + 2j)
    fit = implicit.least_squares(lambda z: A * z - b, 0.5 + 0j)
    np.testing.assert_allclose(fit, np.linalg.lstsq(A[:, None], b)[0][0], rtol=1e-13)


def test_numbers_of_every_length_are_solved_for() -> None:
    for dtype, size in [(np.float16, 3), (np.float16, 300), (np.float32, 300)]:
        a = np.linspace(1, 3, size).astype(dtype)
        x, slope = primad.jvp(lambda a: implicit.root(lambda y: y * y - a, np.ones_like(a)), (a,), (a,))
        assert x.dtype == slope.dtype == dtype
        near = {"rtol": 4 * np.finfo(dtype).eps}
        np.testing.assert_allclose(x, np.sqrt(a.astype(float)), **near)
        np.testing.assert_allclose(slope, np.sqrt(a.astype(float)) / 2, **near)


def test_solvers_that_differentiate_have_the_function_traced() -> None:
    ways = [
        (implicit.root, lambda f, x0: primad.optimize.root(f, x0)),
        (implicit.root, lambda f, x0: implicit.root(f, x0)),
        (implicit.least_squares, lambda f, x0: primad.optimize.least_squares(f, x0)),
    ]
    for problem, solver in ways:
        f = primad.jit(lambda a, p=problem, s=solver: np.sum(p(lambda x: x**2 - a, np.ones(2), solver=s)))  # type: ignore[misc]
        np.testing.assert_allclose([f(2.0), primad.grad(f)(2.0)], [2 * 2**0.5, 2**-0.5], rtol=1e-12)
    bowl = lambda x, a: np.sum((x - a) ** 4 + x**2)  # noqa: E731
    slope = lambda solver: primad.grad(lambda a: np.sum(implicit.minimize(bowl, np.ones(2), a, solver=solver)))(2.0)  # noqa: E731
    for own in (primad.optimize.minimize, lambda f, x0: primad.optimize.minimize(f, x0, method="BFGS")):
        np.testing.assert_allclose(slope(own), slope(None), rtol=1e-12)


def test_a_solution_may_be_part_of_another_equation() -> None:
    def outer(a: Any) -> Any:
        return implicit.root(lambda y: implicit.root(lambda x: x**3 - y, 1.0) + y - a, 1.0)

    y = outer(2.0)
    np.testing.assert_allclose(y, 1.0, rtol=1e-14)
    np.testing.assert_allclose(primad.grad(outer)(2.0), 1 / (1 / 3 + 1), rtol=1e-13)
    np.testing.assert_allclose(primad.grad(primad.grad(outer))(2.0), 2 / 9 / (4 / 3) ** 3, rtol=1e-12)


def test_loops_and_rules_in_the_equation() -> None:
    def flow(x: Any, rate: Any) -> Any:
        return primad.scan(lambda u, _: (u + 0.1 * (rate * u - u**3), None), x, length=5)[0]

    def periodic(rate: Any) -> Any:
        return implicit.fixed_point(flow, np.array([0.8, 1.2]), rate)

    np.testing.assert_allclose(periodic(1.44), [1.2, 1.2], rtol=1e-12)
    np.testing.assert_allclose(primad.jacobian(periodic)(1.44)[:], [1 / 2.4, 1 / 2.4], rtol=1e-10)
    np.testing.assert_allclose(primad.grad(primad.grad(lambda r: np.sum(periodic(r))))(1.44), -0.5 * 1.44**-1.5)


def test_a_factorisation_serves_all_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    kept = equations.MatrixFactors

    class Counted(kept):  # type: ignore[misc,valid-type]
        def __init__(self, matrix: Any) -> None:
            made.append(matrix.shape)
            super().__init__(matrix)

    monkeypatch.setattr(equations, "MatrixFactors", Counted)
    _, back = primad.vjp(lambda a: by_root(a, 2.5), A)
    for ct in np.eye(3):
        back(ct)
    primad.jvp(lambda a: by_root(a, 2.5), (A,), (A,))
    assert made == [(3, 3)]


# -- many unknowns -----------------------------------------------------------------------------------------------------


def reaction(u: Any, source: Any, rate: Any) -> Any:
    """A stationary reaction and diffusion on a line."""
    u = np.pad(u, 1)
    return (2 * u[1:-1] - u[:-2] - u[2:]) + rate * u[1:-1] ** 3 - source


def test_many_unknowns_have_sparse_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 2000
    source = 1 + np.sin(np.arange(n))
    shapes = []
    monkeypatch.setattr(
        equations, "MatrixFactors", lambda m, make=equations.MatrixFactors: shapes.append(type(m)) or make(m)
    )

    def mean(source: Any, rate: Any) -> Any:
        return np.mean(implicit.root(reaction, np.zeros(n), source, rate))

    slope, slope_rate = primad.grad(mean, (0, 1))(source, 0.5)
    u = implicit.root(reaction, np.zeros(n), source, 0.5)
    J = sparse.diags_array([1.5 * u**2 + 2, -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1]).tocsc()
    adjoint = sparse.linalg.spsolve(J.T.tocsc(), np.full(n, 1 / n))
    np.testing.assert_allclose(slope, adjoint, rtol=1e-10)
    np.testing.assert_allclose(slope_rate, -adjoint @ u**3, rtol=1e-10)
    assert shapes and all(issubclass(x, sparse.sparray) for x in shapes)
    along = primad.grad(lambda r: primad.grad(mean, 1)(source, r))
    step = 1e-4
    ends = [primad.grad(mean, 1)(source, 0.5 + s) for s in (step, -step)]
    np.testing.assert_allclose(along(0.5), (ends[0] - ends[1]) / (2 * step), rtol=1e-6)


# -- minima ------------------------------------------------------------------------------------------------------------


def test_minima_and_fits_are_those_of_their_stationary_points() -> None:
    def bowl(x: Any, a: Any) -> Any:
        return np.sum((x - a) ** 4 + x**2) + x[0] * x[1]

    def least(a: Any) -> Any:
        return implicit.minimize(bowl, np.zeros(2), a)

    def stationary(a: Any) -> Any:
        return implicit.root(primad.grad(bowl), np.zeros(2), a)

    a = np.array([1.0, -0.5])
    np.testing.assert_allclose(primad.jacfwd(least)(a), primad.jacrev(stationary)(a), rtol=1e-10)
    twice = [primad.grad(primad.grad(lambda s, f=f: np.sum(f(s * a))))(1.0) for f in (least, stationary)]
    np.testing.assert_allclose(*twice, rtol=1e-9)
    nelder = lambda f, x0: optimize.minimize(f, x0, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15})  # noqa: E731
    np.testing.assert_allclose(implicit.minimize(bowl, np.zeros(2), a, solver=nelder, tolerance=1e-4), least(a))

    t = np.linspace(0.0, 1.0, 8)

    def fit(y: Any) -> Any:
        return implicit.least_squares(lambda p, y: p["s"] * np.exp(-p["r"] * t) - y, {"s": 1.0, "r": 1.0}, y)

    y = 2 * np.exp(-3 * t) + 0.1 * np.cos(9 * t)
    primad.check_grads(lambda y: fit(y)["r"] * fit(y)["s"], (y,))
    inside = lambda f, p0: dict(zip("rs", optimize.least_squares(  # noqa: E731
        lambda p: f({"r": p[0], "s": p[1]}), [1.0, 1.0], xtol=1e-12, ftol=1e-12).x, strict=True))  # fmt: skip
    found = implicit.least_squares(
        lambda p, y: p["s"] * np.exp(-p["r"] * t) - y, {"s": 1.0, "r": 1.0}, y, solver=inside
    )
    np.testing.assert_allclose(found["r"], fit(y)["r"], rtol=1e-12)


def test_linear_systems_are_solved_and_differentiated() -> None:
    M = np.array([[3.0, 1.0], [0.5, 2.0]])
    solve = lambda m, b: implicit.linear_solve(lambda x, m: m @ x, b, m)  # noqa: E731
    b = np.array([1.0, -2.0])
    for way in (primad.jacfwd, primad.jacrev, lambda f: primad.jacfwd(primad.jacrev(f))):
        np.testing.assert_allclose(way(solve)(M, b), way(np.linalg.solve)(M, b), rtol=1e-12, atol=1e-15)
    cg = lambda f, x0: sparse.linalg.cg(  # noqa: E731
        sparse.linalg.LinearOperator((2, 2), lambda v: f(v) - f(x0)), -f(x0), rtol=1e-12)[0]  # fmt: skip
    symmetric = M + M.T
    np.testing.assert_allclose(
        implicit.linear_solve(lambda x: symmetric @ x, b, solver=cg), np.linalg.solve(symmetric, b)
    )
    with pytest.raises(primad.DomainError):
        implicit.linear_solve(lambda x: x * np.array([1.0, 0.0]), b)


def test_a_fixed_point_has_the_shape_of_its_start() -> None:
    with pytest.raises(primad.ShapeError, match=r"fixed_point: the function gives the shapes \(\(1,\),\)"):
        implicit.fixed_point(lambda x: np.cos(x[:1]), np.zeros(2))


def test_a_search_ends_where_the_residual_is_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a linear equation of many unknowns there is one Jacobian; there are two where it is not seen to be linear."""
    taken, factored = [], []
    whole = equations.ImplicitEquation.jacobian

    def counted(self: Any, x: Any, given: Any, output: int = 0) -> Any:
        taken.append(x)
        return whole(self, x, given, output)

    monkeypatch.setattr(equations.ImplicitEquation, "jacobian", counted)
    monkeypatch.setattr(
        solution_search, "MatrixFactors", lambda matrix: factored.append(matrix) or MatrixFactors(matrix)
    )
    load = np.sin(np.arange(400.0))

    def pulled(x: Any, cubic: float | None) -> Any:
        x = np.pad(x, 1)
        return 2.1 * x[1:-1] - x[:-2] - x[2:] - load + (0.0 if cubic is None else cubic * x[1:-1] ** 3)

    for given, times in ((None, 1), (0.0, 2)):
        x = implicit.root(lambda x, given=given: pulled(x, given), np.zeros(400))
        assert len(taken) == len(factored) == times
        np.testing.assert_allclose(pulled(x, given), np.zeros(400), atol=1e-13)
        taken.clear(), factored.clear()
    x = implicit.root(lambda x: pulled(x, 0.1), np.zeros(400))
    assert len(factored) <= len(taken) <= 8
    np.testing.assert_allclose(pulled(x, 0.1), np.zeros(400), atol=1e-13)


def whole_trees(step: Any, x0: Any) -> Any:
    """Iterate a function of trees, which takes them by their names: it cannot be recorded, since it looks at values."""
    x, change = x0, 1.0
    while change > 1e-12:
        new = step({"p": x["p"], "q": (x["q"][0], x["q"][1])})
        change, x = float(np.max(np.abs(new["q"][0] - x["q"][0]) + np.abs(new["q"][1] - x["q"][1]))), new
    return x


def recorded_trees(step: Any, x0: Any) -> Any:
    def body(i: Any, x: Any) -> Any:
        return step({"p": x["p"], "q": (x["q"][0], x["q"][1])})

    return primad.fori_loop(0, 60, body, x0)


@pytest.mark.parametrize("solver", [whole_trees, recorded_trees, None])
def test_solvers_of_fixed_points_get_whole_trees(solver: Any) -> None:
    """p = a cos p / 2 is a scalar, q = (p + q₀/2, a r/2 + 1) a pair of it and of an array."""

    def step(x: Any, a: Any) -> Any:
        first, second = x["q"]
        return {"p": a * np.cos(x["p"]) / 2, "q": (x["p"] + first / 2, a * second / 2 + 1.0)}

    def found(a: Any) -> Any:
        return implicit.fixed_point(step, {"p": 0.5, "q": (0.0, np.zeros(2))}, a, solver=solver)

    x = found(0.8)
    p = optimize.brentq(lambda p: p - 0.4 * np.cos(p), 0.0, 1.0, xtol=1e-15)
    for value, exact in ((x["p"], p), (x["q"][0], 2 * p), (x["q"][1], np.full(2, 1 / 0.6))):
        np.testing.assert_allclose(value, exact, rtol=1e-10)
    slope = primad.jacobian(lambda a: found(a)["q"])(0.8)
    of_p = np.cos(p) / 2 / (1 + 0.4 * np.sin(p))
    np.testing.assert_allclose(slope[0], 2 * of_p, rtol=1e-8)
    np.testing.assert_allclose(slope[1], np.full(2, 0.5 / 0.36), rtol=1e-8)


def test_rows_of_all_units_are_solved_to_the_last_digits() -> None:
    """Rounding errors of a row of 1e8 are larger than all of a row of 1e-6: SciPy's method stops at 1e-3 there."""

    def residual(z: Any) -> Any:
        return np.stack([1e8 * (z[0] - 0.3) + z[1], 1e-6 * (z[1] ** 3 + z[1] - 0.07)])

    exact = implicit.root(lambda z: z**3 + z - 0.07, 0.7)
    for solver in (None, lambda f, x: x + np.array([1e-9, 1e-4]) - np.array([0.7, 0.7 - exact])):
        found = implicit.root(residual, np.array([1.0, 0.7]), solver=solver)
        np.testing.assert_allclose(found[1], exact, rtol=1e-14)
