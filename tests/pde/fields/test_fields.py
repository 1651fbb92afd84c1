"""Fields: derivatives by name are SymPy's, at points of any shape; they cost what the cheapest form by hand costs."""

import itertools

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import primad
from primad import pde
from primad.pde.fields.coordinate_names import MOST_PARTS, coordinates
from primad.recording.tracing import program_of
from primad.runtime.executors.dispatch import REFERENCE
from primad.runtime.executors.executor import PLAIN
from primad.simplify.factor_linear import factor_linear
from primad.transforms import jvp
from primad.transforms.lowering import expand, inline
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program
from tests.sweeps import thinned
from tests.transforms.test_counts import cost, network, network_parameters

RNG = np.random.default_rng(0)
X, Y = sympy.symbols("x y", real=True)
EXPRESSION = sympy.exp(X * Y / 2) * sympy.sin(2 * X) + Y**3 * X**2


def function(x, y):
    return np.exp(x * y / 2) * np.sin(2 * x) + y**3 * x**2


FORMS = {
    "x y": (function, False),
    "(x y)": (lambda p: function(p[0], p[1]), False),
    "(x) y": (lambda p, y: function(p[0], y), False),
    "x y, batched": (function, True),
    "(x y), batched": (lambda p: function(p[:, 0], p[:, 1]), True),
}


@pytest.mark.one_in(4)
@thinned(3, form=list(FORMS), name=["", "x", "y", "xx", "yx", "xxy", "yyyy", "xyxy"], shape=[(), (3,), (2, 0), (2, 3)])
def test_derivatives_are_those_of_sympy(form, name, shape):
    body, batched = FORMS[form]
    u = pde.Field(body, form.removesuffix(", batched"), batched=batched)
    points = RNG.normal(size=(*shape, 2))
    derivative = sympy.diff(EXPRESSION, *[{"x": X, "y": Y}[letter] for letter in name]) if name else EXPRESSION
    expected = sympy.lambdify((X, Y), derivative)(points[..., 0], points[..., 1])
    at = u.on(points)
    assert at.d(name).shape == shape
    assert_allclose(at.d(name), expected, rtol=1e-12)
    traced = primad.jit(lambda points: u.on(points).d(name))(points)
    assert_allclose(traced, expected, rtol=1e-12)
    if name:
        assert_allclose(getattr(at, name), expected, rtol=1e-12)


@pytest.mark.parametrize("call", [lambda u, points: u.on(points), lambda u, points: u(points[:, 0], points[:, 1])])
def test_a_field_stays_at_its_points(call):
    """Points that are overwritten later move neither its values nor derivatives that were not asked for yet."""
    points = RNG.normal(size=(4, 2))
    x, y = points.T.copy()
    at = call(pde.Field(lambda x, y: x**3 * y, "x y"), points)
    first = at.x
    points[:] = 7.0
    assert_allclose(first, 3 * x**2 * y, rtol=1e-12)
    for name, expected in {"": x**3 * y, "xx": 6 * x * y, "xy": 3 * x**2, "y": x**3}.items():
        assert_allclose(at.d(name), expected, rtol=1e-12)
    assert_allclose(at.coordinate("x"), x)


def test_points_broadcast_and_components_have_names():
    v = pde.Field(lambda x, y: np.stack([x * y, np.sin(x), y]), "x y", "u v w")
    at = v(np.linspace(0.0, 1.0, 4)[:, None], np.array([2.0, 3.0]))
    assert at.shape == (4, 2, 3)
    assert_allclose(at.u.x, np.broadcast_to([2.0, 3.0], (4, 2)))
    assert_allclose(at["v"].xx, -at[1].value)
    assert_allclose(at.d("y")[..., 2], 1.0)
    first, _, last = at
    assert_allclose(first * last.y + 1, at.u + at.w.y)
    assert_allclose(np.sin(at.u), np.sin(at.u.value))


INDICES = {
    "an element": (0, 1),
    "a row": 0,
    "a row by a tuple": (0,),
    "a column": (slice(None), 1),
    "all": ...,
    "an axis more": (None, 0, 1),
    "any axes before": (..., None, 0),
    "a mask": np.array([[True, False, True], [False, True, False]]),
    "rows by numbers": [1, 0],
}


@pytest.mark.parametrize("name", INDICES)
def test_elements_of_a_field_are_those_of_its_values(name):
    index = INDICES[name]
    at = pde.Field(function, "x y")(*RNG.normal(size=(2, 2, 3)))
    assert_allclose(at[index], np.asarray(at.value)[index], rtol=0)
    component = pde.Field(lambda x, y: np.stack([x, x * y]), "x y")(*RNG.normal(size=(2, 2, 3)))[1]
    assert_allclose(component[index], np.asarray(component.value)[index], rtol=0)


def test_a_field_is_gone_through_by_components_or_by_values():
    x, y = RNG.normal(size=(2, 3))
    scalar, vector = pde.Field(lambda x, y: x * y, "x y")(x, y), pde.Field(lambda x, y: np.stack([x, y]), "x y")(x, y)
    assert_allclose([*scalar], x * y)
    assert_allclose([part.x for part in vector], [[1.0] * 3, [0.0] * 3])
    assert_allclose([*vector[1]], y)


def test_names_of_more_than_a_letter():
    u = pde.Field(lambda x, t: np.sum(x**3) * t, "x[12] t")
    at = u(np.ones(12), 2.0)
    assert at.d("x3 x3") == at.x3x3 == 12.0
    assert at.d("x11,t") == 3.0
    u = pde.Field(lambda r, rr, t: r * rr**2 * t, "r rr t")
    with pytest.raises(primad.ShapeError, match="may be read as"):
        u(1.0, 1.0, 1.0).d("rrrr")
    assert u(1.0, 1.0, 3.0).d("rr rr") == 6.0


@pytest.mark.parametrize("text", ["x time", "time x", "time"])
def test_a_derivative_has_at_most_so_many_coordinates(text: str):
    """However long their names are: a text that can be no such derivative is not looked through."""
    names = coordinates(text)
    for name in text.split():
        assert names.split(name * MOST_PARTS) == (name,) * MOST_PARTS
    with pytest.raises(primad.ShapeError, match="is no coordinate"):
        names.split("time" * (MOST_PARTS + 1))


MISTAKES = [
    (lambda: pde.Field(function, "x x"), "x twice"),
    (lambda: pde.Field(function, "x; y"), "not understood at ';'"),
    (lambda: pde.Field(function, ""), "empty"),
    (lambda: pde.Field(function, "x d"), "'d' is taken"),
    (lambda: pde.Field(function, "x y", "x v"), "'x' is taken"),
    (lambda: pde.Field(function, "x y")(1.0), "takes 2 arguments, got 1"),
    (lambda: pde.Field(function, "x y").on(np.ones((4, 3))), "Their last axis must be the 2 coordinates"),
    (lambda: pde.Field(function, "x y")(np.ones(3), np.ones(2)), "do not fit together"),
    (lambda: pde.Field(function, "x y")(1.0, 1.0).xz, "'xz' is no coordinate"),
    (lambda: pde.Field(function, "x y")(1.0, 1.0).d("z"), "'z' is no coordinate"),
    (lambda: pde.Field(lambda x: np.ones((2, 2)) * x, "x")(1.0), r"shape \(2, 2\) at a point"),
    (lambda: pde.Field(lambda x: np.stack([x, x]), "x", "u v w")(1.0), r"shape \(2,\) at a point"),
    (lambda: pde.Field(lambda x: x, "x")(1.0).components, "a number at each point"),
    (lambda: pde.Field(lambda x: np.stack([x, x]), "x")(1.0)[2], "no component 2"),
    (lambda: pde.Field(3.0, "x"), "expected a function"),
]


@pytest.mark.parametrize(("wrong", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_mistakes_are_named(wrong, message):
    with pytest.raises((primad.PrimadError, AttributeError), match=message):
        wrong()


COUPLED = {
    "sum": lambda x: x - np.mean(x),
    "cumsum": np.cumsum,
    "flip": lambda x: x * x[::-1],
    "argsort": np.sort,
    "contract": lambda x: np.outer(x, x) @ x,
}


@pytest.mark.parametrize("op", COUPLED)
def test_a_function_that_couples_points_is_refused(op):
    u = pde.Field(COUPLED[op], "x", batched=True)
    with pytest.raises(primad.NotDifferentiableError, match="couples points") as caught:
        u(np.linspace(0.0, 1.0, 5))
    assert "test_fields.py" in str(caught.value)


BATCHED = {
    "of one coordinate alone": (lambda x, y: 2 * x, True),
    "a coordinate itself": (lambda x, y: y, True),
    "a number": (lambda x, y: np.ones(len(x)), True),
    "components": (lambda x, y: np.outer(x, np.ones(3)) * np.cos(y)[:, None], True),
    "components that were one axis": (lambda x, y: np.outer(x, np.ones(len(x))).reshape(-1).reshape(len(x), -1), True),
    "one point for all": (lambda x, y: x[0] * np.ones(len(y)), False),
    "points in reverse": (lambda x, y: x[::-1], False),
    "points by their numbers": (lambda x, y: x[np.arange(len(y))[::-1]], False),
    "points as components": (lambda x, y: np.outer(x, np.ones(len(x))).T, False),
    "coordinates as points": (lambda x, y: np.stack([x, y, x][: len(x)]), False),
    "a mean for all": (lambda x, y: np.mean(x) * np.ones(len(y)), False),
    "one of each": (lambda x, y: np.concatenate([x[:1], y[1:]]), False),
}


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", BATCHED)
def test_a_batched_function_is_taken_just_where_its_points_are_alone(name, count):
    function, apart = BATCHED[name]
    u = pde.Field(function, "x y", batched=True)
    x, y = RNG.normal(size=(2, count))
    if not apart:
        with pytest.raises(primad.NotDifferentiableError, match="couples points"):
            u(x, y)
        return
    for along in "xy":
        moved = [
            (function(x + h * (along == "x"), y + h * (along == "y")) - function(x, y))[i] / 1e-6
            for i, h in enumerate(1e-6 * np.eye(count))
        ]
        assert_allclose(u(x, y).d(along), moved, rtol=1e-5, atol=1e-5)


def test_statistics_of_other_data_couple_nothing():
    data = RNG.normal(size=5)
    u = pde.Field(lambda x: x * np.mean(data) + np.sum(np.sin(x[:, None] * data), axis=1), "x", batched=True)
    x = RNG.normal(size=7)
    assert_allclose(u(x).x, np.mean(data) + np.sum(data * np.cos(x[:, None] * data), axis=1))


PARAMETERS = network_parameters([2, 64, 64, 64, 1])
POINTS = RNG.normal(size=(50, 2))
PASSES = {"": 1, "x": 2, "xx": 3, "xxx": 4, "xt": 4, "xxt": 6}
"""Forward passes that a derivative alone takes: one for each lower one that it is made of."""


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("form", ["(x t)", "x t"])
@pytest.mark.parametrize("name", PASSES)
def test_a_derivative_costs_one_pass_for_each_of_lower_order(form, batched, name):
    def residual(parameters, points):
        if form == "(x t)":
            u = pde.Field(lambda z: network(parameters, z), form, batched=batched)
        else:
            u = pde.Field(lambda x, t: network(parameters, np.stack([x, t], axis=-1)), form, batched=batched)
        return u.on(points).d(name)

    forward = cost(network, PARAMETERS, POINTS).matmul_flops
    found = cost(residual, PARAMETERS, POINTS).matmul_flops
    assert found <= PASSES[name] * forward
    gradient = cost(primad.grad(lambda p, x: np.mean(residual(p, x) ** 2)), PARAMETERS, POINTS).matmul_flops
    assert gradient <= 3 * PASSES[name] * forward


def test_terms_share_everything():
    """However often and in whatever order they are asked for."""

    def residual(parameters, points, names):
        at = pde.Field(lambda z: network(parameters, z), "(x t)").on(points)
        return [at.d(name) for name in names]

    names = ["x", "t", "xx", "xt"]
    forward = cost(network, PARAMETERS, POINTS).matmul_flops
    for order in itertools.permutations(names):
        found = cost(lambda p, x, order=order: residual(p, x, [*order, "tx", "x", ""]), PARAMETERS, POINTS)
        assert found.matmul_flops <= 5 * forward


FIVE = [f"x{i}" for i in range(5)]
OPERATORS = {
    "Laplacian, by hand": ("x y", lambda u: u.xx + u.yy, 4),
    "Laplacian": ("x y", pde.laplacian, 4),
    "heat": ("x y t", lambda u: u.t - 0.1 * (u.xx + u.yy), 4),
    "wave": ("x t", lambda u: u.tt - 4.0 * u.xx, 4),
    "Burgers": ("x t", lambda u: u.t + u * u.x - 0.01 * u.xx, 3),
    "Burgers, in another order": ("x t", lambda u: u * u.x - (0.01 * u.xx - u.t), 3),
    "Burgers, and in another one": ("x t", lambda u: u.t - (0.01 * u.xx - u * u.x), 3),
    "Burgers, scaled": ("x t", lambda u: 2 * (-0.005 * (u.xx - 100 * u.t)) + u * u.x, 3),
    "Korteweg–de Vries": ("x t", lambda u: u.t + 6 * u * u.x + u.xxx, 4),
    "Kuramoto–Sivashinsky": ("x t", lambda u: u.t + u * u.x + u.xx + u.xxxx, 5),
    "biharmonic": ("x y", pde.biharmonic, 11),
    "biharmonic, five dimensions": (" ".join(FIVE), pde.biharmonic, 47),
}
"""Passes: the value, the lower derivatives, and one sum of what enters linearly."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_one_pass_beside_the_lower_derivatives(name):
    names, operator, passes = OPERATORS[name]
    d = len(names.split())
    parameters, points = network_parameters([d, 32, 32, 32, 1]), RNG.normal(size=(10, d))

    def residual(parameters, points):
        return operator(pde.Field(lambda z: network(parameters, z), f"({names})").on(points))

    forward = cost(network, parameters, points).matmul_flops
    assert cost(residual, parameters, points).matmul_flops <= passes * forward
    gradient = cost(primad.grad(lambda p, x: np.mean(residual(p, x) ** 2)), parameters, points).matmul_flops
    assert gradient <= 3 * passes * forward
    assert_allclose(primad.jit(residual)(parameters, points), residual(parameters, points), rtol=1e-9)


def test_momentum_of_a_flow_is_four_passes():
    """One operator ∂t − νΔ for all components, and the slopes along x and y."""
    parameters, points = network_parameters([3, 32, 32, 32, 3]), RNG.normal(size=(10, 3))

    def flow(parameters, z):
        for weights, bias in parameters[:-1]:
            z = np.tanh(z @ weights + bias)
        return z @ parameters[-1][0] + parameters[-1][1]

    def residuals(parameters, points):
        at = pde.Field(lambda z: flow(parameters, z), "(x y t)", "u v p").on(points)
        u, v, p = at
        first = u.t + u * u.x + v * u.y + p.x - 0.01 * (u.xx + u.yy)
        second = v.t + u * v.x + v * v.y + p.y - 0.01 * (v.xx + v.yy)
        return first, second, u.x + v.y

    forward = cost(flow, parameters, points).matmul_flops
    assert cost(residuals, parameters, points).matmul_flops <= 4 * forward


def test_learned_coefficients_are_differentiated():
    x, t = RNG.normal(size=(2, 6))

    def residual(nu):
        at = pde.Field(lambda x, t: np.exp(-t) * np.sin(x), "x t")(x, t)
        return at.t - nu * at.xx + 2.0 * (at.xx - at.t) - at.xx * 0.0

    shape = np.exp(-t) * np.sin(x)
    assert_allclose(primad.jacobian(residual)(0.5), shape, rtol=1e-12)
    assert_allclose(primad.jit(residual)(0.5), (0.5 - 1.0) * shape + 0.0 * shape, atol=1e-14)


@pytest.mark.one_in(2)
@thinned(2, seed=range(60))
def test_gathered_sums_of_random_programs_are_the_sums(seed):
    """Derivatives of random programs along several directions, added with weights, are the derivative along the sum."""
    program = expand(draw_program(Seeded(seed)))
    chosen = [type.is_float for type in program.in_types]
    derived = expand(jvp(program, chosen))
    n, m = len(program.inputs), len(program.outputs)
    weights = [1.0, -2.0, 0.5]

    def body(*xs):
        total = None
        for k, weight in enumerate(weights):
            tangents = inline(derived, [*xs[:n], *xs[n + k * sum(chosen) : n + (k + 1) * sum(chosen)]])[m:]
            parts = [np.reshape(each, -1) * weight for each in tangents]
            total = parts if total is None else [a + b for a, b in zip(total, parts, strict=True)]
        return total

    floats = [type for type, on in zip(program.in_types, chosen, strict=True) if on]
    plain = program_of([*program.in_types, *floats * 3], body)
    rng = np.random.default_rng(seed)
    values = [np.asarray(rng.uniform(0.4, 1.6, size=type.shape)).astype(type.dtype) for type in plain.in_types]
    expected = REFERENCE.prepare(plain, PLAIN).run(values)
    for found, wanted in zip(REFERENCE.prepare(factor_linear(plain), PLAIN).run(values), expected, strict=True):
        finite = wanted[np.isfinite(wanted)]
        digits = 1e-4 if "float32" in str(plain) else 1e-8
        assert_allclose(found, wanted, rtol=digits, atol=digits * (1 + np.abs(finite).max(initial=0)))
