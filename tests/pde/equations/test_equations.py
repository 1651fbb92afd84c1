"""Equations by name: exact solutions solve them, proved by SymPy and at points; other residuals are SymPy's."""

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose
from sympy import cos, cosh, erf, exp, log, pi, sin, sqrt, tanh

import primad
from primad import pde
from tests.transforms.test_counts import cost, network, network_parameters

x, y, z, t, s = sympy.symbols("x y z t s")
nu, k, q, E = sympy.symbols("nu k q E", positive=True)
RNG = np.random.default_rng(2)


def normal(v):
    return (1 + erf(v / sqrt(2))) / 2


def call_option(sigma, r, strike):
    d = (log(s / strike) + (r + sigma**2 / 2) * (1 - t)) / (sigma * sqrt(1 - t))
    return s * normal(d) - strike * exp(-r * (1 - t)) * normal(d - sigma * sqrt(1 - t))


LAMBDA = sympy.Rational(1, 2) * (40 - sqrt(1600 + 16 * pi**2))
A, D = sympy.Rational(1, 2), sympy.Rational(3, 4)


def beltrami():
    def swirl(a, b, c):
        return -A * (exp(A * a) * sin(A * b + D * c) + exp(A * c) * cos(A * a + D * b)) * exp(-(D**2) * t)

    parts = (
        exp(2 * A * x), exp(2 * A * y), exp(2 * A * z),
        2 * sin(A * x + D * y) * cos(A * z + D * x) * exp(A * (y + z)),
        2 * sin(A * y + D * z) * cos(A * x + D * y) * exp(A * (z + x)),
        2 * sin(A * z + D * x) * cos(A * y + D * z) * exp(A * (x + y)),
    )  # fmt: skip
    pressure = -(A**2) / 2 * sum(parts) * exp(-2 * D**2 * t)
    return {"u": swirl(x, y, z), "v": swirl(y, z, x), "w": swirl(z, x, y), "p": pressure}


SOLUTIONS = {
    "poisson": (pde.poisson(2 * pi**2 * sin(pi * x) * sin(pi * y)), {"u": sin(pi * x) * sin(pi * y)}),
    "poisson, along a line": (pde.poisson(-2, "x"), {"u": x**2}),
    "helmholtz": (pde.helmholtz(5), {"u": sin(3 * x) * cos(4 * y)}),
    "heat": (pde.heat(sympy.Rational(1, 4)), {"u": exp(-t) * sin(2 * x)}),
    "heat, of a weight": (pde.heat(1 + x, -1 + t * 0, "x y"), {"u": x + y**2 * 0}),
    "wave": (pde.wave(2, coordinates="x y"), {"u": sin(3 * x + 4 * y - 10 * t)}),
    "advection_diffusion": (
        pde.advection_diffusion([3, 0], k, coordinates="x y"),
        {"u": exp(-4 * k * t) * cos(2 * (x - 3 * t))},
    ),
    "burgers": (pde.burgers(nu), {"u": 1 - tanh((x - t) / (2 * nu))}),
    "burgers, in the plane": (
        pde.burgers(nu, "x y"),
        {
            "u": 1 - tanh((x - t) / (2 * nu)),
            "v": sympy.Integer(0) * x,
        },
    ),
    "allen_cahn": (pde.allen_cahn(1, 1), {"u": (1 - tanh((x - 3 * t / sqrt(2)) / (2 * sqrt(2)))) / 2}),
    "korteweg_de_vries": (pde.korteweg_de_vries(), {"u": 2 / cosh(x - 4 * t) ** 2}),
    "kuramoto_sivashinsky": (pde.kuramoto_sivashinsky(0, 1, 1), {"u": exp(-12 * t) * sin(2 * x)}),
    "schroedinger": (
        pde.schroedinger(),
        {
            "u": cos(x + (E**2 - 1) * t / 2) * E / cosh(E * (x - t)),
            "v": sin(x + (E**2 - 1) * t / 2) * E / cosh(E * (x - t)),
        },
    ),
    "sine_gordon": (pde.sine_gordon(), {"u": 4 * sympy.atan(exp((x - t / 2) / sqrt(sympy.Rational(3, 4))))}),
    "gray_scott": (pde.gray_scott((2, 1), 3, 1), {"u": 1 - exp(-3 * t), "v": sympy.Integer(0) * x}),
    "beam": (pde.beam(q, E), {"u": q * x**2 * (1 - x) ** 2 / (24 * E)}),
    "beam, moving": (pde.beam(mass=4), {"u": sin(2 * x) * cos(2 * t)}),
    "plate": (pde.plate(q, E), {"u": q * (x**2 + y**2 - 1) ** 2 / (64 * E)}),
    "elasticity": (
        pde.elasticity(k, nu, [(k + 2 * nu) * sin(x), nu * cos(x)]),
        {"u": sin(x), "v": cos(x)},
    ),
    "elasticity, in space": (pde.elasticity(k, nu, coordinates="x y z"), {"u": y * z, "v": x * z, "w": x * y}),
    "stokes": (pde.stokes(nu), {"u": y * (1 - y), "v": sympy.Integer(0) * x, "p": -2 * nu * x}),
    "stokes, in space": (
        pde.stokes(coordinates="x y z"),
        {
            "u": y**2,
            "v": z**2,
            "w": x**2,
            "p": 2 * (x + y + z),
        },
    ),
    "navier_stokes": (
        pde.navier_stokes(nu),
        {
            "u": -cos(x) * sin(y) * exp(-2 * nu * t),
            "v": sin(x) * cos(y) * exp(-2 * nu * t),
            "p": -(cos(2 * x) + cos(2 * y)) / 4 * exp(-4 * nu * t),
        },
    ),
    "navier_stokes, steady": (
        pde.navier_stokes(sympy.Rational(1, 40), steady=True),
        {
            "u": 1 - exp(LAMBDA * x) * cos(2 * pi * y),
            "v": LAMBDA / (2 * pi) * exp(LAMBDA * x) * sin(2 * pi * y),
            "p": (1 - exp(2 * LAMBDA * x)) / 2,
        },
    ),
    "navier_stokes, in space": (pde.navier_stokes(1, coordinates="x y z"), beltrami()),
    "darcy": (pde.darcy(exp(x), -exp(x) * (1 + 2 * x * 0)), {"u": x + sin(y) * 0}),
    "fokker_planck": (
        pde.fokker_planck(-x, 1),
        {"u": exp(-(x**2) / (2 * (1 + exp(-2 * t)))) / sqrt(2 * pi * (1 + exp(-2 * t)))},
    ),
    "black_scholes": (pde.black_scholes(nu, k), {"u": s**2 * exp((1 - t) * (k + nu**2)) - q * exp(k * (t - 1))}),
    "eikonal": (pde.eikonal(), {"u": sqrt(x**2 + y**2)}),
}


def numbers(expression):
    """Numbers for the symbols that are neither coordinates nor unknowns."""
    return sympy.sympify(expression).subs({nu: 0.3, k: 0.7, q: 1.5, E: 0.9})


def is_zero(expression):
    """Decide by the numerator, a polynomial in exponentials; `simplify` may search for minutes."""
    numerator = sympy.fraction(sympy.together(expression.rewrite(exp)))[0]
    return sympy.expand(numerator) == 0 or sympy.simplify(expression) == 0


def field(expressions, coordinates):
    """A field of expressions, whose components have their names."""
    parts = [primad.from_sympy(each + 0 * x, coordinates) for each in expressions.values()]
    return pde.Field(
        lambda *point: np.stack([part(*point) for part in parts]), [*map(str, coordinates)], [*expressions]
    )


def residuals(equation, expressions, points):
    at = field({name: numbers(each) for name, each in expressions.items()}, equation.coordinates).on(points)
    unknowns = {str(unknown.func): at[str(unknown.func)] for unknown in equation.unknowns}
    return equation(**unknowns, **{str(c): float(numbers(c)) for c in equation.coefficients})


def points_of(equation, count=4):
    return RNG.uniform(0.2, 0.8, size=(count, len(equation.coordinates)))


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", SOLUTIONS)
def test_exact_solutions_solve(name):
    equation, solution = SOLUTIONS[name]
    for residual in tree_leaves(equation.substituted(solution)):
        assert is_zero(residual), residual
    found = residuals(equation, solution, points_of(equation))
    for values in found if isinstance(found, tuple) else [found]:
        assert_allclose(values, np.zeros(4), atol=1e-9)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", SOLUTIONS)
def test_residuals_of_other_functions_are_those_of_sympy(name):
    equation, solution = SOLUTIONS[name]
    at = equation.coordinates
    others = {
        each: sum(sin((i + 2 + j) * c / 2 + i) for j, c in enumerate(at)) * exp(at[0] / 3 + i)
        for i, each in enumerate(solution)
    }
    points = points_of(equation)
    expected = [
        sympy.lambdify(at, numbers(each), "numpy")(*points.T) for each in tree_leaves(equation.substituted(others))
    ]
    found = residuals(equation, others, points)
    for values, wanted in zip(found if isinstance(found, tuple) else [found], expected, strict=True):
        assert_allclose(values, wanted, rtol=1e-10, atol=1e-11)


def test_the_price_of_a_call_solves():
    """By 40 digits at points: SymPy does not end on it."""
    sigma, rate = sympy.Rational(1, 5), sympy.Rational(1, 20)
    equation = pde.black_scholes(sigma, rate)
    residual = equation.substituted({"u": call_option(sigma, rate, 1)})
    for point in ((sympy.Rational(9, 10), sympy.Rational(1, 3)), (sympy.Rational(7, 5), sympy.Rational(4, 5))):
        assert abs(residual.subs(dict(zip((s, t), point, strict=True))).evalf(40)) < 1e-35
    assert_allclose(residuals(equation, {"u": call_option(sigma, rate, 1)}, points_of(equation)), 0.0, atol=1e-10)


def tree_leaves(residuals):
    return list(residuals) if isinstance(residuals, tuple) else [residuals]


def test_every_equation_is_solved_by_something():
    assert {name.split(",")[0] for name in SOLUTIONS} == set(pde.equations.catalog.__all__)


@pytest.mark.parametrize(
    ("equation", "passes"),
    [
        (pde.burgers("nu"), 4), (pde.burgers(0.01), 3), (pde.korteweg_de_vries(), 4), (pde.allen_cahn(0.001), 3),
        (pde.wave(2, coordinates="x y"), 5), (pde.heat(1, coordinates="x y"), 4), (pde.plate(), 11),
        (pde.helmholtz(3), 4), (pde.kuramoto_sivashinsky(), 5), (pde.beam(), 5),
    ],
    ids=repr,
)  # fmt: skip
def test_residuals_cost_the_cheapest_form(equation, passes):
    d = len(equation.coordinates)
    parameters, points = network_parameters([d, 32, 32, 32, 1]), RNG.normal(size=(10, d))
    names = " ".join(map(str, equation.coordinates))

    def residual(parameters, points):
        u = pde.Field(lambda p: network(parameters, p), f"({names})")
        return equation(u.on(points), **{str(c): 0.1 for c in equation.coefficients})

    forward = cost(network, parameters, points).matmul_flops
    assert cost(residual, parameters, points).matmul_flops <= passes * forward


def test_manufactured_sources_are_derived():
    for equation, chosen in (
        (pde.navier_stokes("nu"), {"u": sin(x) * y * t, "v": x * y**2, "p": exp(x)}),
        (
            pde.Equation({"a": sympy.Function("u")(x).diff(x, 3), "b": sympy.Matrix([sympy.Function("u")(x), 1])}),
            {"u": x**4},
        ),
    ):
        made = pde.manufactured(equation, chosen)
        zero = made.substituted(chosen)
        flat = [
            e
            for leaf in (zero.values() if isinstance(zero, dict) else zero)
            for e in (leaf if hasattr(leaf, "shape") else [leaf])
        ]
        assert all(sympy.simplify(each) == 0 for each in flat)
        assert "displaystyle" in made._repr_latex_()


def test_trees_matrices_and_data():
    u, f = sympy.Function("u"), sympy.Function("f")
    tensor = sympy.Matrix([[u(x, t).diff(x), 1], [x, u(x, t)]])
    equation = pde.Equation({"a": sympy.Eq(u(x, t), f(x)), "m": tensor}, functions={f: lambda x: x * x})
    at = pde.Field(lambda x, t: x * x * t, "x t")(np.array([[1.0, 2.0]]), 3.0)
    found = equation(at)
    assert_allclose(found["a"], [[2.0, 8.0]])
    assert found["m"].shape == (1, 2, 2, 2)
    assert_allclose(found["m"][0, 1], [[12.0, 1.0], [2.0, 12.0]])


def test_known_functions_have_derivatives_of_their_own():
    u, k = sympy.Function("u"), sympy.Function("k")
    equation = pde.Equation((k(x) * u(x).diff(x)).diff(x) + sympy.Derivative(u(x) ** 2, x), functions={k: np.sin})
    at = np.array([0.3, 0.4])
    expected = 2 * at * np.cos(at) + 2 * np.sin(at) + 4 * at**3
    assert_allclose(equation(pde.Field(lambda x: x**2, "x")(at)), expected, rtol=1e-12)


U = sympy.Function("u")(x, t)
MISTAKES = [
    (lambda: pde.Equation("u_t"), "got the text"),
    (lambda: pde.Equation(sympy.Eq(x, x)), "Equation: True is no equation"),
    (lambda: pde.Equation(x + t), "no unknown function"),
    (lambda: pde.Equation(U - sympy.Function("u")(t, x)), "taken at u.t, x. and u.x, t.: which are the points"),
    (lambda: pde.Equation(sympy.Function("u")(2 * x)), "which are the points of the equation is not said"),
    (lambda: pde.burgers("nu")(pde.Field(lambda x, t: x, "x t")(1.0, 1.0)), "missing a required argument: 'nu'"),
    (lambda: pde.burgers(1)(np.ones(3)), "as a field at points, got ndarray"),
    (lambda: pde.burgers(1)(pde.Field(lambda x, y: x, "x y")(1.0, 1.0)), "'t' is no coordinate"),
    (lambda: pde.heat(coordinates="x t"), "without the time"),
    (lambda: pde.stokes(1, [1, 2, 3]), "3 components in 2 dimensions"),
    (lambda: pde.manufactured(pde.stokes(), {"u": x}), "no expression for p"),
]


@pytest.mark.parametrize(("wrong", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_mistakes_are_named(wrong, message):
    with pytest.raises(primad.PrimadError, match=message):
        wrong()
