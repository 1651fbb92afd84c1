"""Integrals, delays and other places in equations: known solutions solve them, and are found; what has no meaning."""

import warnings

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose
from sympy import Eq, Integral, Rational, exp

import primad
from primad import pde
from primad.errors import PrimadError, ProblemError, ShapeError
from primad.pde.fields.integrals import Quadrature, integrating
from primad.recording import tree

t, s, r, x, y, k = sympy.symbols("t s r x y k")
u, v, f = sympy.Function("u"), sympy.Function("v"), sympy.Function("f")
TIME, LINE, NETWORK = pde.Time(0, 2), pde.Interval(0, 1), pde.MLP(8, 1)
SHARE = 1 - np.exp(-1)

# Coordinates, what solves it, the equation in SymPy's words, and by name.
SOLUTIONS = {
    "Volterra": (
        "t", lambda t: np.exp(-t),
        Eq(u(t), 1 - Integral(u(s), (s, 0, t))),
        lambda u, t: u - 1 + pde.integral(lambda s: u(s), 0, t),
    ),
    "a kernel": (
        "t", lambda t: np.sin(t),
        Eq(u(t), t - Integral((t - s) * u(s), (s, 0, t))),
        lambda u, t: u - t + pde.integral(lambda s: (t - s) * u(s), 0, t),
    ),
    "a nonlinear integrand": (
        "t", lambda t: 1.0 * t,
        Eq(u(t), t - t**3 / 3 + Integral(u(s) ** 2, (s, 0, t))),
        lambda u, t: u - t + t**3 / 3 - pde.integral(lambda s: u(s) ** 2, 0, t),
    ),
    "a derivative in it": (
        "t", lambda t: (1 - np.exp(-2 * t)) / 2,
        Eq(u(t).diff(t), 1 - u(t) - Integral(u(s).diff(s), (s, 0, t))),
        lambda u, t: u.t - 1 + u + pde.integral(lambda s: u(s).t, 0, t),
    ),
    "Fredholm": (
        "x", lambda x: 1.0 * x,
        Eq(u(x), 2 * x / 3 + Integral(x * y * u(y), (y, 0, 1))),
        lambda u, x: u - 2 * x / 3 - pde.integral(lambda y: x * y * u(y), 0, 1),
    ),
    "two variables": (
        "x", lambda x: 1.0 * x,
        Eq(u(x), x - Rational(1, 6) + Integral(u(s), (s, 0, y), (y, 0, 1))),
        lambda u, x: u - x + 1 / 6 - pde.integral(lambda y: pde.integral(lambda s: u(s), 0, y), 0, 1),
    ),
    "two variables with fixed limits": (
        "x", lambda x: 1.0 * x,
        Eq(u(x), x - Rational(1, 4) + Integral(u(s) * u(y), (s, 0, 1), (y, 0, 1))),
        lambda u, x: u - x + 1 / 4 - pde.integral(lambda y: pde.integral(lambda s: u(s) * u(y), 0, 1), 0, 1),
    ),
    "the point's own value in it": (
        "x", lambda x: 1.0 * x,
        Eq(u(x), x / 2 + Integral(u(x) * u(y), (y, 0, 1))),
        lambda u, x: u - x / 2 - pde.integral(lambda y: u * u(y), 0, 1),
    ),
    "in space, at a time": (
        "x t", lambda x, t: x * np.exp(-t),
        Eq(u(x, t).diff(t), -2 * x * Integral(u(y, t), (y, 0, 1))),
        lambda u, x, t: u.t + 2 * x * pde.integral(lambda y: u(y, t), 0, 1),
    ),
    "in time, at a place": (
        "x t", lambda x, t: x * np.exp(-t),
        Eq(u(x, t), x - Integral(u(x, s), (s, 0, t))),
        lambda u, x, t: u - x + pde.integral(lambda s: u(t=s), 0, t),
    ),
    "a slope in space": (
        "x t", lambda x, t: x * np.exp(-t),
        Eq(u(x, t), x * Integral(u(y, t).diff(y), (y, 0, 1))),
        lambda u, x: u - x * pde.integral(lambda y: u(x=y).x, 0, 1),
    ),
    "over all coordinates": (
        "x t", lambda x, t: x * t,
        Eq(Integral(u(x, t), (x, 0, 1), (t, 0, 2)), 1),
        lambda u: pde.integral(lambda a: pde.integral(lambda b: u(a, b), 0, 2), 0, 1) - 1,
    ),
    "a window of time": (
        "t", lambda t: np.exp(t),
        Eq(u(t), Integral(u(s), (s, t - 1, t)) / (1 - exp(-1))),
        lambda u, t: u - pde.integral(lambda s: u(s), t - 1, t) / SHARE,
    ),
    "a known function in it": (
        "t", lambda t: t**2,
        Eq(u(t), 2 * Integral(f(s), (s, 0, t))),
        lambda u, t: u - 2 * pde.integral(lambda s: s, 0, t),
    ),
    "a delay": (
        "t", lambda t: np.exp(t),
        Eq(u(t).diff(t), u(t - 1) * exp(1)),
        lambda u, t: u.t - u(t - 1) * np.e,
    ),
    "a stretched time": (
        "t", lambda t: t**2,
        Eq(u(t), 4 * u(t / 2)),
        lambda u, t: u - 4 * u(t / 2),
    ),
    "a derivative elsewhere": (
        "t", lambda t: t**3,
        Eq(u(t).diff(t), 4 * u(t).diff(t).subs(t, t / 2)),
        lambda u, t: u.t - 4 * u(t / 2).t,
    ),
    "a derivative before": (
        "t", lambda t: t**3,
        Eq(u(t).diff(t), u(t - 1).diff(t) + 6 * t - 3),
        lambda u, t: u.t - u(t - 1).t - 6 * t + 3,
    ),
    "a delay that depends on the state": (
        "t", lambda t: t / 2,
        Eq(u(t), 2 * u(t - u(t))),
        lambda u, t: u - 2 * u(t - u),
    ),
    "a derivative by two arguments": (
        "x t", lambda x, t: x * t,
        Eq(sympy.Derivative(u(x + t, t), t), x + 2 * t),
        lambda u, x, t: u(x + t, t).x + u(x + t, t).t - x - 2 * t,
    ),
    "a value at a place": (
        "x t", lambda x, t: x + t,
        Eq(u(x, t), x + u(0, t)),
        lambda u, x: u - x - u(x=0.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLUTIONS)
def test_known_solutions_solve_equations_with_values_elsewhere(name) -> None:
    names, exact, written, function = SOLUTIONS[name]
    given = np.random.default_rng(0).uniform(0.1, 1.0, (len(names.split()), 7))
    known = dict(zip(names.split(), given, strict=True))
    at = pde.Field(exact, names)(*given)
    equation = pde.Equation(written, functions={f: lambda s: s}, coordinates=names)
    assert_allclose(equation(at), np.zeros(7), atol=1e-13)
    wanted = function.__code__.co_varnames
    assert_allclose(function(at, **{one: known[one] for one in wanted if one in known}), np.zeros(7), atol=1e-13)
    wrong = pde.Field(lambda *point: exact(*point) + 0.1 * point[0] ** 2 + 0.05, names)(*given)
    assert np.min(np.abs(equation(wrong))) > 1e-4, "it is no equation that anything solves"
    assert_allclose(
        equation(wrong), function(wrong, **{one: known[one] for one in wanted if one in known}), rtol=1e-12, atol=1e-14
    )


def test_a_solution_that_is_substituted_is_so_in_integrals_and_delays() -> None:
    equation = pde.Equation(Eq(u(t).diff(t), u(t - 1) + Integral(u(s) * u(t), (s, 0, t))))
    found = equation.substituted({"u": t**2})
    assert sympy.simplify(found.doit() - (2 * t - (t - 1) ** 2 - t**5 / 3)) == 0
    made = pde.manufactured(equation, {"u": t**2})
    at = pde.Field(lambda t: t**2, "t")(np.array([0.3, 0.9]))
    assert_allclose(made(at), [0, 0], atol=1e-14)


def test_integrals_of_complex_functions_are_complex() -> None:
    h = sympy.Function("h", complex=True)
    equation = pde.Equation(Eq(h(t), 1 + sympy.I * Integral(h(s), (s, 0, t))))
    at = pde.Field(lambda t: np.exp(1j * t), "t")(np.array([0.4, 1.5]))
    assert_allclose(equation(at), [0, 0], atol=1e-14)
    assert_allclose(at - 1 - 1j * pde.integral(lambda s: at(s), 0, [0.4, 1.5]), [0, 0], atol=1e-14)


def test_coefficients_of_equations_may_be_fields() -> None:
    at = pde.Field(lambda t: t, "t")(np.array([0.4, 1.5]))
    equation = pde.Equation(Eq(u(t), t + k * Integral(u(s) * k, (s, 0, 1)) - k**2 / 2))
    assert_allclose(equation(at, k=at), [0, 0], atol=1e-14)


def test_limits_nodes_and_axes_of_integrals() -> None:
    a = np.linspace(0.1, 2, 6)
    assert_allclose(pde.integral(lambda s: s**5, 0, a, points=3), a**6 / 6, rtol=1e-14)
    assert abs(pde.integral(lambda s: s**6, 0, 1.0, points=3) - 1 / 7) > 1e-5, "three nodes are exact to degree five"
    assert pde.integral(lambda s: 2.0, 1, 0) == -2.0
    assert_allclose(pde.integral(lambda s: a, 0, 1), a)
    assert_allclose(pde.integral(lambda s: pde.integral(lambda r: r * s * a, s, a), 0, a), a**5 / 8)
    assert_allclose(primad.grad(lambda b: pde.integral(lambda s: np.exp(s * b), 0, b))(0.7), _slope(0.7), rtol=1e-12)
    with integrating(Quadrature(2, 2)) as how:
        pde.integral(lambda s: s**7, 0, 1)
        assert how.used == 1 and not how.depth


def _slope(b: float) -> float:
    """Return the derivative of (exp(b²) − 1) / b."""
    return 2 * np.exp(b * b) - (np.exp(b * b) - 1) / b**2


def test_points_of_several_axes_are_refused_in_integrals() -> None:
    at = pde.Field(lambda x: x, "x")(np.ones((16, 5)))
    with pytest.raises(ShapeError, match="is integrated"):
        pde.integral(lambda s: at(s), 0, 1)
    with pytest.raises(ShapeError, match="limits of shapes"):
        pde.integral(lambda s: s, 0, np.ones((2, 2)))


def solved(equation, domain, conditions, steps=30, points=20, **more) -> pde.Solution:
    problem = pde.Problem(equation, domain, conditions, **{"network": NETWORK, **more})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return problem.solve(steps=steps, points=points, progress=False)


def test_volterras_and_fredholms_equations_are_solved() -> None:
    found = solved(SOLUTIONS["Volterra"][2], TIME, pde.Free("u"))
    assert found.error(u=lambda t: np.exp(-t)) < 1e-4
    found = solved(lambda u, x: u - 2 * x / 3 - pde.integral(lambda y: x * y * u(y), 0, 1), LINE, pde.Free("u"))
    assert found.error(u=lambda x: x) < 1e-5


def test_conditions_are_written_in_sympy_too() -> None:
    """u″ = 0 where the mean is 1 and the slope 2, in both words: 2x; and an end that holds the mean, 3/2 of x²."""
    in_mean = pde.Integral(u(x), 1), pde.Integral(lambda u: u.value, 1)
    slopes = pde.Condition(Eq(u(x).diff(x), 2), on="x+"), pde.Condition(lambda u: u.x - 2, on="x+")
    for mean, slope in zip(in_mean, slopes, strict=True):
        found = solved(Eq(u(x).diff(x, 2), 0), LINE, [mean, slope, pde.Free("u", on="x-")], points=8)
        assert_allclose(found.u(np.array([0.0, 0.5])), [0, 1], atol=1e-5)
    at_end = pde.Condition(Eq(u(x), 3 * Integral(u(y), (y, 0, 1))), on="x+")
    found = solved(Eq(u(x).diff(x, 2), 2), LINE, [at_end, pde.Dirichlet(u=0, on="x-"), pde.Free("u")], points=8)
    assert_allclose(found.u(0.5), 0.25, atol=1e-5)


def test_an_integral_among_equations_of_sympy_is_one() -> None:
    both = [Eq(u(t).diff(t), -u(t)), Eq(Integral(u(s), (s, 0, 2)), 1 - exp(-2))]
    assert solved(both, TIME, pde.Free("u")).error(u=lambda t: np.exp(-t)) < 1e-4


def test_a_delay_is_solved_as_by_the_method_of_steps() -> None:
    """u′ = −u(t − 1) with u = 1 before: 1 − t, and from 1 on what the first step integrates to."""
    found = solved(Eq(u(t).diff(t), -u(t - k)), TIME, pde.Past(u=1), points=60, steps=60, constants={"k": 1.0})
    at = np.linspace(0, 2, 9)
    steps = np.where(at < 1, 1 - at, 1 - at + (at - 1) ** 2 / 2)
    assert_allclose(found.u(at), steps, atol=3e-3)
    assert found.u(0.0) == 1.0


def test_a_delay_is_identified() -> None:
    at = np.linspace(0, 2, 12)
    said = [pde.Past(u=lambda t: np.cos(t)), pde.Data(t=at, u=np.cos(at))]
    found = solved(lambda u, t, tau: u.t + u(t - tau), TIME, said, coefficients={"tau": 1.0}, points=30)
    assert_allclose(found.coefficients["tau"], np.pi / 2, atol=1e-3)


def test_a_delay_in_space_and_time_of_one_of_two_unknowns_of_one_network() -> None:
    def model(u, v, t):
        return u.t + v(t=t - 0.5), v.t - u

    said = [pde.Free("u v", on=["x-", "x+"]), pde.Past(v=lambda x, t: x * t), pde.Initial(u=0)]
    problem = pde.Problem(model, LINE * pde.Time(0, 1), said, unknowns="u v", network=NETWORK)
    params, rows = problem.init(), {"at": np.array([[0.5, 0.25], [0.5, 0.5], [0.5, 0.75]])}
    known = problem.known(params, rows)
    before = problem.raw(params, problem.terms["equation"], rows)[0] - known["u"].t
    there = problem.fields(params, rows["at"] - [0, 0.5])["v"].value
    assert_allclose(before, [0.5 * -0.25, 0.0, there[2]], atol=1e-15)
    assert known["v"](t=-0.25).t[0] == 0.5, "the derivative of what was"
    with pytest.raises(ProblemError, match=r"v is asked outside of the domain, at x = 0\.5, t = 2"):
        known["v"](t=2.0)
    with pytest.raises(ProblemError, match=r"u is asked outside.*\n.*\n.*pde.Past\(u=lambda t"):
        known["u"](t=-0.25)


def test_places_beyond_the_ends_of_what_repeats_are_inside() -> None:
    """u_t = ∫ w(s) u(x − s) ds with w = 1 + cos 2πs over a period: the wave's Fourier coefficient grows by 1/2."""

    def grown(u, x, t):
        return u.t - pde.integral(lambda s: (1 + np.cos(2 * np.pi * s)) * u(x=x - s), 0, 1)

    start = pde.Initial(u=lambda x: np.sin(2 * np.pi * x))
    wave = pde.Problem(grown, LINE * pde.Time(0, 1), [pde.Periodic("x"), start], network=NETWORK)
    known = wave.known(wave.init(), {"at": np.array([[0.3, 0.5], [0.9, 1.0]])})["u"]
    assert_allclose(known(x=np.array([2.3, -1.1])).value, known.value, rtol=1e-12)
    assert_allclose(known(x=np.array([2.3, -1.1])).x, known.x, rtol=1e-11)
    found = wave.solve(steps=30, points=60, progress=False)
    assert found.error(u=lambda x, t: np.exp(t / 2) * np.sin(2 * np.pi * x)) < 1e-3


def test_derivatives_of_residuals_by_everything_are_right() -> None:
    """Parameters, a delay and a limit: beside central differences."""

    def model(u, t, tau, end):
        return u.t + u(t - tau) * pde.integral(lambda s: u(s) ** 2 * np.cos(t - s), 0, end * t)

    numbers = {"tau": 0.4, "end": 0.5}
    said = [pde.Past(u=lambda t: 1 + t), pde.Free("u")]
    problem = pde.Problem(model, TIME, said, network=pde.MLP(3, 1), coefficients=numbers)
    points = problem.points(6)
    params = problem.init()
    slopes = primad.grad(problem.loss)(params, points)
    leaves, structure = tree.flatten(params)
    for place, (leaf, slope) in enumerate(zip(leaves, tree.leaves(slopes), strict=True)):
        move = np.random.default_rng(place).normal(size=np.shape(leaf)) * 1e-5
        sides = []
        for sign in (1, -1):
            moved = [one + sign * move if i == place else one for i, one in enumerate(leaves)]
            sides.append(problem.loss(tree.unflatten(structure, moved), points))
        assert_allclose(np.sum(slope * move), (sides[0] - sides[1]) / 2, rtol=1e-5, atol=1e-12)


def test_integrals_in_a_family_keep_its_functions_apart() -> None:
    problem = pde.Problem(
        lambda u, v, x: u - v - pde.integral(lambda y: x * u(y) * v(y), 0, 1),
        LINE, pde.Free("u"), network=pde.DeepONet(3, NETWORK, NETWORK),
        family={"v": pde.GaussianProcess("x", count=3, sensors=8)},
    )  # fmt: skip
    params, points = problem.init(), problem.points(5)
    row = points["equation"]
    together = problem.raw(params, problem.terms["equation"], row)
    assert together.shape == (3, 5)
    for place in range(3):
        alone = problem.raw(
            params, problem.terms["equation"], {**row, "function v": row["function v"][place : place + 1]}
        )
        assert_allclose(alone[0], together[place], rtol=1e-12)


@pytest.mark.parametrize("nodes", [2, 5])
def test_an_axis_of_functions_is_never_taken_for_that_of_nodes(nodes: int) -> None:
    """Of as many functions as nodes, a value at the point would meet the wrong axis, and no error would tell."""

    def made(equation):
        family, network = {"v": pde.GaussianProcess("x", count=nodes, sensors=8)}, pde.DeepONet(3, NETWORK, NETWORK)
        problem = pde.Problem(equation, LINE, pde.Free("u"), network=network, family=family, quadrature=nodes)
        return problem.raw(problem.init(), problem.terms["equation"], problem.points(5)["equation"])

    apart = made(lambda u, v: u - v - v * pde.integral(lambda y: u(y), 0, 1))
    inside = made(lambda u, v: u - v - pde.integral(lambda y: v.value[:, None] * u(y), 0, 1))
    assert apart.shape == (nodes, 5)
    assert_allclose(inside, apart, rtol=1e-12)
    for integrand in (lambda v, at: v * at, lambda v, at: at - v.value):
        with pytest.raises((PrimadError, ValueError)):
            made(lambda u, v, integrand=integrand: u - v - pde.integral(lambda y: integrand(v, u(y)), 0, 1))
        with pytest.raises((PrimadError, ValueError)):
            made(lambda u, v, integrand=integrand: u - v - pde.integral(lambda y: integrand(v, y), 0, 1))


def test_too_few_nodes_are_told_and_more_are_taken() -> None:
    def equation(u, t):
        return u - np.exp(-t) - pde.integral(lambda s: np.cos(12 * s) * u(s), 0, t)

    problem = pde.Problem(equation, TIME, pde.Free("u"), network=NETWORK, quadrature=4)
    with pytest.warns(UserWarning, match=r"with twice as many points of its integrals.*quadrature=8"):
        problem.solve(steps=40, points=40, progress=False)
    fine = pde.Problem(equation, TIME, pde.Free("u"), network=NETWORK, quadrature=24)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fine.solve(steps=40, points=40, progress=False)


def test_a_delay_that_leaves_the_domain_in_a_search_is_told() -> None:
    def model(u, t, tau):
        return u.t + u(t - tau), tau + 0.5 + 0 * t

    learned = problem(model, pde.Past(u=1), coefficients={"tau": 0.1})
    with pytest.warns(UserWarning, match=r"with tau = -0.5.*, u is asked outside of the domain, at t = 2"):
        learned.solve(steps=20, points=10, progress=False)


def problem(equation, *conditions, domain=TIME, **more) -> pde.Problem:
    return pde.Problem(equation, domain, conditions or [pde.Free("u")], network=NETWORK, **more)


WALKER = pde.Interval(0, 1) * pde.Time(0, 1)


def window(time, start):
    said = [pde.Free("u", on=["x-", "x+"]), pde.Past(u=start["u"])]
    return problem(lambda u, t: u.t + u(t=t - 0.1), *said, domain=LINE * time)


REFUSED = {
    "no past": (lambda: problem(lambda u, t: u.t + u(t - 1), pde.Initial(u=1)), "in the place of pde.Initial"),
    "the future": (lambda: problem(lambda u, t: u.t + u(t + 1), pde.Past(u=1)), "keep the limits"),
    "a limit outside": (lambda: problem(lambda u: u - pde.integral(lambda s: u(s), 0, 2.01)), "outside of the domain"),
    "SymPy's limit outside": (lambda: problem(Eq(u(t), Integral(u(s), (s, 0, 3)))), "outside of the domain"),
    "SymPy's delay without a past": (lambda: problem(Eq(u(t).diff(t), u(t - 1))), "pde.Past(u=lambda t: …)"),
    "a variable that is a coordinate": (
        lambda: problem(Eq(u(t), t + Integral(u(t), (t, 0, 1)))),
        "sympy.Integral(u(s), (s, …, …))",
    ),
    "a limit by the variable": (lambda: problem(Eq(u(t), Integral(u(t), (t, 0, t)))), "t is a coordinate, and the"),
    "no limits": (lambda: problem(Eq(u(t), Integral(u(s), s))), "give them: (s, 0, 1)"),
    "an infinite limit": (lambda: problem(Eq(u(t), Integral(u(s), (s, 0, sympy.oo)))), "an infinite limit"),
    "differences": (
        lambda: problem(lambda u, t: u.t + u(t / 2), pde.Initial(u=1)).solve(method="differences"),
        "unknown at another place",
    ),
    "volumes": (
        lambda: problem(
            lambda u, x: u.t + u.x + pde.integral(lambda s: s, 0, x), pde.Free("u", on=["x-", "x+"]), pde.Initial(u=1),
            domain=WALKER,
        ).solve(method="volumes"),
        "an integral in an equation",
    ),
    "elements": (
        lambda: problem(lambda u, x: u.xx + u(x / 2), pde.Dirichlet(u=0), domain=LINE).solve(method="elements"),
        "unknown at another place",
    ),
    "a march": (lambda: pde.march(window, {"u": 1.0}, [0, 1, 2]), "has a past"),
    "a proof of a sum": (
        lambda: problem(SOLUTIONS["Volterra"][3]).solve(steps=1, points=5, progress=False).certify(progress=False),
        "in the place of the integral",
    ),
    "a proof of an error": (
        lambda: problem(lambda u, x: u.xx + u(x / 2), pde.Dirichlet(u=0), domain=LINE)
        .solve(steps=1, points=5, progress=False)
        .certify_error(progress=False),
        "an integral, or an unknown at another place",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_is_told(name) -> None:
    make, words = REFUSED[name]
    with pytest.raises(PrimadError) as caught:
        make()
    assert words in str(caught.value)
    assert "Fix: " in str(caught.value)


def test_proofs_of_delays_hold() -> None:
    found = problem(lambda u, t: u.t + u(t - 1), pde.Past(u=lambda t: 1 + t)).solve(steps=5, points=10, progress=False)
    certificate = found.certify(progress=False)
    points = np.linspace(0, 2, 501)[:, None]
    assert np.max(np.abs(found.residual_at(points, "equation"))) <= certificate.residuals[0].most
