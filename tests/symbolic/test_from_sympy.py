"""SymPy's expressions and equations as functions of arrays: values, derivatives, broadcasting, and what is refused."""

from __future__ import annotations

import ast
import itertools
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import primad
from primad.errors import PrimadError, ShapeError, TracingError
from primad.symbolic import vocabulary
from primad.symbolic.from_expressions import Compiled

x, y, t, nu = sympy.symbols("x y t nu")
u, w = sympy.symbols("u w", cls=sympy.Function)
U = u(x, t)

# -- expressions -------------------------------------------------------------------------------------------------------

LEAVES = st.sampled_from([x, y, sympy.Rational(1, 3), sympy.Integer(-2), sympy.pi, sympy.sqrt(2), sympy.Float(0.7)])
SMOOTH: list[Callable[..., Any]] = [
    sympy.sin, sympy.cos, sympy.tanh, sympy.atan, sympy.erf, sympy.asinh,
    lambda a: sympy.exp(sympy.sin(a)), lambda a: sympy.sqrt(2 + a**2), lambda a: sympy.log(2 + a**2),
    lambda a: a**3, lambda a: 1 / (2 + a**2) ** 2, lambda a: (1 + a**2) ** sympy.Rational(-3, 2),
    lambda a: -a, lambda a: 2 ** sympy.cos(a), lambda a: (2 + sympy.sin(a)) ** sympy.Rational(1, 3),
]  # fmt: skip
KINKED: list[Callable[..., Any]] = [sympy.Abs, sympy.sign, sympy.floor, sympy.ceiling, sympy.Heaviside]
PAIRS: list[Callable[..., Any]] = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (2 + b**2), lambda a, b: a * b**2,
    lambda a, b: (2 + sympy.sin(a)) ** sympy.cos(b), lambda a, b: sympy.atan2(a, 3 + b**2),
]  # fmt: skip
KINKED_PAIRS: list[Callable[..., Any]] = [
    sympy.Max, sympy.Min, lambda a, b: sympy.Piecewise((a, a < b), (a * b, b > 1), (b - a, True)),
    lambda a, b: sympy.Mod(a, 2 + b**2),
    lambda a, b: sympy.Piecewise((1, sympy.And(a > 0, sympy.Not(b > a))), (a, True)),
]  # fmt: skip


def expressions(singles: list[Any], pairs: list[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        LEAVES,
        lambda inner: st.one_of(
            st.builds(made, st.sampled_from(singles), inner),
            st.builds(made, st.sampled_from(pairs), inner, inner),
        ),
        max_leaves=8,
    )


def made(function: Callable[..., Any], *operands: Any) -> Any:
    try:
        return function(*operands)
    except RecursionError:  # SymPy's own, which takes remainders of some remainders without an end
        reject()


POINTS = [(0.37, -1.21), (-0.83, 0.59), (1.73, 2.41)]


def exact(expression: Any, a: float, b: float) -> float:
    return float(sympy.N(expression.xreplace({x: sympy.Rational(a), y: sympy.Rational(b)}), 20))


@settings(max_examples=60, deadline=None)
@given(expressions(SMOOTH, PAIRS))
def test_expressions_and_their_derivatives(expression: Any) -> None:
    f = Compiled(expression, [x, y], [], "from_sympy")
    columns = np.array(POINTS).T
    np.testing.assert_allclose(f(columns, []), [exact(expression, *p) for p in POINTS], rtol=1e-10, atol=1e-10)
    a, b = POINTS[0]
    for argument, symbol in enumerate((x, y)):
        found = primad.grad(lambda a, b: f((a, b), []), argument)(a, b)
        np.testing.assert_allclose(found, exact(expression.diff(symbol), a, b), rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(expressions(SMOOTH + KINKED, PAIRS + KINKED_PAIRS))
def test_expressions_with_kinks(expression: Any) -> None:
    f = Compiled(expression, [x, y], [], "from_sympy")
    columns = np.array(POINTS).T
    # SymPy decides comparisons of expressions that are equal by chance as it likes.
    np.testing.assert_allclose(f(columns, []), [exact(expression, *p) for p in POINTS], rtol=1e-9, atol=1e-9)


WORDS = [*vocabulary.UNARY, *vocabulary.BINARY, *vocabulary.CHAINED, *vocabulary.TERNARY, *vocabulary.REWRITTEN]
WORDS.remove(sympy.KroneckerDelta)  # whose operands are whole numbers: below


@pytest.mark.parametrize("function", WORDS, ids=lambda function: function.__name__)
def test_every_function_has_the_value_that_sympy_says(function: Any) -> None:
    logical = function in (sympy.And, sympy.Or, sympy.Xor, sympy.Not, sympy.ITE)
    count = {sympy.ITE: 3, sympy.Heaviside: 1}.get(function, 1 if function in vocabulary.UNARY else 2)
    if function in vocabulary.REWRITTEN and function is not sympy.erf2:
        count = 1
    large = function in (sympy.acosh, sympy.acsc, sympy.asec, sympy.acoth)
    compared = 0
    for a, b in ((0.4, 0.9), (-0.3, 0.4), (0.6, 0.6)):
        a, b = (a + 2, b + 2) if large else (abs(a), b) if function is sympy.erfcinv else (a, b)
        operands = [x > 0, y > sympy.Rational(1, 2), x > y][:count] if logical else [x, y][:count]
        expression = function(*operands)
        if function is sympy.ITE:
            expression = sympy.Piecewise((1, expression), (0, True))
        value = expression.xreplace({x: sympy.Rational(a), y: sympy.Rational(b)})
        with np.errstate(invalid="ignore"):
            found = Compiled(expression, [x, y], [], "from_sympy")([a, b], [])
        if value in (sympy.true, sympy.false):
            assert bool(found) is bool(value)
        elif (value := sympy.N(value.rewrite(sympy.erfinv).rewrite(sympy.erf), 20)).is_extended_real:
            np.testing.assert_allclose(found, float(value), rtol=1e-12)
        else:
            assert np.isnan(found)
            continue
        compared += 1
    assert compared


SINGLE = [
    each
    for each in (*vocabulary.UNARY, *vocabulary.REWRITTEN)
    if each
    not in (
        sympy.Not,  # of truths
        sympy.erf2, sympy.KroneckerDelta,  # of two arguments
        sympy.erfcinv,  # 1 - x has lost a tiny x, and SymPy has no derivatives of it in numbers
        sympy.floor, sympy.ceiling, sympy.frac,  # SymPy has no derivatives of steps
    )
]  # fmt: skip
PLACES = (0.0, 1e-12, -1e-12, 1e-7, -1e-7, 0.3, -0.3, 1.0, -1.0, 1.7, -1.7)


def three_orders(expression: Any) -> list[Callable[..., Any]]:
    f = primad.from_sympy(expression, x)
    return [f, primad.grad(f), primad.grad(primad.grad(f))]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("function", SINGLE, ids=lambda function: function.__name__)
def test_derivatives_are_right_at_zero_and_beside_it(function: Any) -> None:
    real = sympy.Symbol("x", real=True)
    compared = 0
    orders = primad.vmap(lambda a: [order(a) for order in three_orders(function(x))])(np.array(PLACES))
    for order, found in enumerate(orders):
        expression = sympy.diff(function(real), real, order)
        for place, value in zip(PLACES, np.asarray(found), strict=True):
            if np.isnan(orders[0][PLACES.index(place)]):
                # A derivative of what is no number is none, or SymPy's branch of it, and never a silent 0.
                assert value != 0, (place, order)
                continue
            expected = sympy.N(expression.subs(real, sympy.Rational(place)), 20)
            if expected.is_Number and expected.is_finite:  # and no pole, and no DiracDelta(0)
                np.testing.assert_allclose(float(value), float(expected), rtol=1e-8, err_msg=f"{place}, {order}")
                compared += 1
    assert compared >= 4


@pytest.mark.parametrize("power", ["3/2", "5/2", "7/2", "4/3", "7/3", "-1/2", "-3/2", "1/2"])
def test_powers_have_the_derivatives_that_exist_at_zero(power: str) -> None:
    exponent = sympy.Rational(power)
    for order, f in enumerate(three_orders(x**exponent)):
        falling = float(sympy.ff(exponent, order))
        assert f(0.0) == (0.0 if exponent > order else math.copysign(math.inf, falling))
        assert f(1e-12) == pytest.approx(falling * 1e-12 ** float(exponent - order), rel=1e-12)
    for base in (x**2 + y**2, sympy.Abs(x) + y**2):
        if exponent > 1:
            f = primad.from_sympy(base**exponent, (x, y))
            assert primad.grad(f, (0, 1))(0.0, 0.0) == (0.0, 0.0)


def test_half_powers_of_what_is_positive_are_products() -> None:
    program = primad.trace(primad.from_sympy((1 + x**2) ** sympy.Rational(5, 2), x))(1.0)
    names = {node.op.name for node in program.nodes}
    assert "sqrt" in names and not {name for name in names if "pow" in name}


def test_special_functions_and_constants() -> None:
    values = np.array([-2.5, -0.5, 0.5, 3.7])
    for expression in (sympy.gamma(x), sympy.factorial(x), sympy.sinc(x), sympy.Abs(x) ** sympy.Rational(5, 2)):
        expected = [float(expression.subs(x, sympy.Rational(value)).evalf(20)) for value in values]
        np.testing.assert_allclose(primad.from_sympy(expression, x)(values), expected, rtol=1e-12)
    for order in (0, 1, 2):
        expected = [float(sympy.polygamma(order, sympy.Rational(value)).evalf(20)) for value in values[2:]]
        np.testing.assert_allclose(primad.from_sympy(sympy.polygamma(order, x), x)(values[2:]), expected, rtol=1e-12)
        expected = [float(sympy.besseli(order, sympy.Rational(value)).evalf(20)) for value in values]
        np.testing.assert_allclose(primad.from_sympy(sympy.besseli(order, x), x)(values), expected, rtol=1e-12)
    for f in (sympy.besselj, sympy.bessely, sympy.besselk, sympy.besseli):
        for order in (0, 1, 3, sympy.Rational(1, 3), -sympy.sqrt(2)):
            expected = [float(f(order, sympy.Rational(value)).evalf(20)) for value in values[2:]]
            np.testing.assert_allclose(primad.from_sympy(f(order, x), x)(values[2:]), expected, rtol=1e-12)
    for order in (1, 2, 5):
        expected = [float(sympy.expint(order, sympy.Rational(value)).evalf(20)) for value in values[2:]]
        np.testing.assert_allclose(primad.from_sympy(sympy.expint(order, x), x)(values[2:]), expected, rtol=1e-12)
        assert np.isnan(primad.from_sympy(sympy.expint(order, x), x)(-0.5))
    airy = (sympy.airyai, sympy.airyaiprime, sympy.airybi, sympy.airybiprime)
    for f in (*airy, sympy.erfi, sympy.Ei):
        expected = [float(f(sympy.Rational(value)).evalf(20)) for value in values]
        np.testing.assert_allclose(primad.from_sympy(f(x), x)(values), expected, rtol=1e-12)
        expected = [float(f(x).diff(x).subs(x, sympy.Rational(value)).evalf(20)) for value in values]
        found = [primad.grad(primad.from_sympy(f(x), x))(value) for value in values]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    numbers = [
        sympy.pi,
        sympy.E,
        sympy.Rational(1, 3),
        sympy.EulerGamma,
        sympy.zeta(3),
        sympy.oo,
        2,
        0.5,
        -sympy.sqrt(3),
    ]
    found = primad.from_sympy(numbers, x)(np.zeros(2))
    assert [each.tolist() for each in found] == [[float(sympy.N(each, 30))] * 2 for each in numbers]
    kronecker = primad.from_sympy(sympy.KroneckerDelta(x, y), (x, y))
    assert kronecker(np.array([1.0, 2.0]), 2.0).tolist() == [0.0, 1.0]
    assert np.isnan(primad.from_sympy(sympy.log(x), x)(-1.0)) and np.isnan(
        primad.from_sympy(sympy.loggamma(x), x)(-0.5)
    )
    assert np.isnan(primad.from_sympy(sympy.Piecewise((x, x > 0)), x)(-1.0))


def test_what_sympy_has_not_carried_out() -> None:
    k = sympy.Symbol("k", integer=True)
    total = sympy.Sum(x**k / sympy.factorial(k), (k, 0, 6))
    np.testing.assert_allclose(primad.from_sympy(total, x)(0.5), sum(0.5**n / math.factorial(n) for n in range(7)))
    assert primad.from_sympy(sympy.Derivative(sympy.sin(x * y), x, y), (x, y))(0.0, 1.0) == 1.0
    assert primad.from_sympy(sympy.Integral(sympy.exp(-(x**2)), (x, 0, 1)), y)(0.0) == pytest.approx(0.746824132812427)
    with pytest.raises(TracingError, match=r"Integral\(exp\(sin\(x\)\), \(x, 0, y\)\) is not carried out"):
        primad.from_sympy(sympy.Integral(sympy.exp(sympy.sin(x)), (x, 0, y)), y)


def test_arguments_broadcast_and_keep_their_precision() -> None:
    f = primad.from_sympy({"a": x * y, "b": [2, sympy.Matrix([[x, 1], [y, x + y]])]}, (x, y))
    found = f(np.ones((3, 1), np.float32), np.arange(4, dtype=np.float32))
    assert found["a"].shape == (3, 4) and found["a"].dtype == np.float32
    assert found["b"][0].dtype == np.float32 and found["b"][0].tolist() == [[2.0] * 4] * 3
    assert found["b"][1].shape == (3, 4, 2, 2)
    np.testing.assert_array_equal(found["b"][1][0, 3], [[1.0, 1.0], [3.0, 4.0]])
    assert f(2, 3)["a"] == 6.0 and f(np.array([1, 2]), True)["a"].dtype == np.float64
    with pytest.raises(ShapeError, match=r"arguments of shapes \(2,\), \(3,\) do not fit together"):
        f(np.ones(2), np.ones(3))
    with pytest.raises(ShapeError, match=r"the function takes 2 arguments \(x, y\), got 1"):
        f(1.0)
    assert primad.from_sympy(sympy.Array([[[x, 1]]]), x)(np.zeros(5)).shape == (5, 1, 1, 2)
    assert primad.from_sympy(sympy.zeros(0, 2), x)(np.zeros(5)).shape == (5, 0, 2)


def test_arguments_may_be_arrays_of_symbols() -> None:
    p = sympy.symbols("p:2")
    f = primad.from_sympy(p[0] ** 2 * x + p[1], (list(p), x))
    assert f(np.array([3.0, 1.0]), 2.0) == 19.0
    assert f([3.0, 1.0], np.array([2.0, 0.0])).tolist() == [19.0, 1.0]
    assert primad.grad(f)(np.array([3.0, 1.0]), 2.0).tolist() == [12.0, 1.0]
    assert primad.grad(lambda q: f([q, 1.0], 2.0))(3.0) == 12.0
    matrix = sympy.MatrixSymbol("A", 2, 3)
    g = primad.from_sympy(matrix * matrix.T, matrix)
    points = np.random.default_rng(0).normal(size=(4, 2, 3))
    np.testing.assert_allclose(g(points), points @ np.swapaxes(points, -1, -2))
    with pytest.raises(ShapeError, match=r"must have the shape \(2, 3\) behind the axes of the points, got \(3, 2\)"):
        g(np.ones((3, 2)))


def test_functions_compose_with_every_transform() -> None:
    expression = sympy.sin(x) * sympy.exp(y) + x**5 / y
    f = primad.from_sympy(expression, (x, y))
    third = float(expression.diff(x, 2, y).subs({x: 0.5, y: 2.0}))
    assert primad.grad(primad.grad(primad.grad(f)), 1)(0.5, 2.0) == pytest.approx(third)
    points = np.linspace(0.5, 1.0, 5)
    np.testing.assert_allclose(primad.jit(f)(points, 2.0), f(points, 2.0), rtol=1e-14)
    np.testing.assert_allclose(primad.vmap(f, (0, None))(points, 2.0), f(points, 2.0), rtol=1e-14)
    np.testing.assert_allclose(primad.jit(primad.vmap(primad.grad(f), (0, None)))(points, 2.0),
                               [primad.grad(f)(point, 2.0) for point in points], rtol=1e-12)  # fmt: skip


def test_round_trips() -> None:
    a, b = sympy.symbols("a b", positive=True)
    for expression in (
        a**3 * b / (1 + a), sympy.sin(a * b) ** 2 + sympy.pi * b, sympy.exp(-a) * sympy.sqrt(b), sympy.Max(a, b),
        sympy.Piecewise((a, a < b), (b**2, True)), sympy.log(a) * sympy.atan2(a, b), sympy.erf(a) - sympy.sech(b),
        a ** sympy.Rational(-5, 2), sympy.Abs(a - b) * sympy.sign(b - 1), 2**a - b**a, sympy.gamma(a),
    ):  # fmt: skip
        back = primad.to_sympy(primad.from_sympy(expression, (a, b)), a, b)
        difference = sympy.simplify((back - expression).rewrite(sympy.gamma))
        assert difference == 0 or all(
            abs(sympy.N(difference.subs({a: s, b: r}), 30)) < 1e-25 for s, r in ((0.3, 1.7), (2.1, 0.6))
        ), (expression, back)


def test_equal_parts_are_computed_once() -> None:
    inner = sympy.sin(x * y) + sympy.exp(x)
    program = primad.trace(primad.from_sympy([inner**7, inner**6, sympy.cos(inner**6)], (x, y)))(1.0, 1.0)
    assert [node.op.name for node in program.nodes].count("sin") == 1
    # One product in the sine, and x², x³ (of `inner`), x⁶, x⁷.
    assert [node.op.name for node in program.nodes].count("mul") == 5


def test_deep_expressions() -> None:
    expression = x
    for _ in range(40):  # SymPy itself ends at some 150
        expression = 1 / (sympy.cos(expression) + 1)
    value = 2.0
    for _ in range(40):
        value = 1 / (math.cos(value) + 1)
    assert primad.from_sympy(expression, x)(2.0) == pytest.approx(value, rel=1e-12)


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "arguments", "message"),
    [
        ("x + 1", x, r"got the text 'x \+ 1'"),
        ([x, {"a": "y"}], x, "got the text 'y'"),
        (x, "x", "got the text 'x'"),
        (x, [["x", "y"]], "got the text 'x'"),
        (x + y, x, "x \\+ y contains y, which the function has no argument for"),
        (sympy.fresnels(x), x, "there is nothing in primad for fresnels"),
        (sympy.DiracDelta(x), x, "there is nothing in primad for DiracDelta"),
        (u(x), x, "is an unknown function, for which nothing is given"),
        (sympy.Derivative(u(x), x), x, "is an unknown function, for which nothing is given"),
        (x, (x, x), "x is given twice"),
        (x, (x + y,), "the argument x \\+ y is no symbol"),
        (sympy.Symbol("z", extended_real=False), sympy.Symbol("z", extended_real=False), "the symbol z is not real"),
        (object(), x, "takes SymPy expressions, got object"),
        (sympy.polygamma(x, y), (x, y), "has an order that is no number"),
        (sympy.besselk(x, y), (x, y), "has an order that is no number"),
        (sympy.polygamma(sympy.Rational(1, 2), x), x, "has integer orders from 0 on"),
        (sympy.expint(sympy.Rational(1, 3), x), x, "has integer orders from 1 on"),
    ],
)
def test_refusals(expression: Any, arguments: Any, message: str) -> None:
    with pytest.raises(TracingError, match=message):
        primad.from_sympy(expression, arguments)


def test_no_text_is_read_as_code() -> None:
    """Nothing in the folder calls what parses text, or sympify without `strict`."""
    folder = Path(primad.__file__).parent / "symbolic"
    calls = [
        node
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    ]
    names = {ast.unparse(call.func).split(".")[-1]: call for call in calls}
    assert not {"eval", "exec", "parse_expr", "lambdify", "S"} & set(names)


# -- unknown functions and equations -----------------------------------------------------------------------------------

SIZES = (2, 8, 8, 2)


def network(params: Any, *point: Any) -> Any:
    h = np.stack(point)
    for weights, bias in params[:-1]:
        h = np.tanh(h @ weights + bias)
    weights, bias = params[-1]
    return h @ weights + bias


def first(params: Any, *point: Any) -> Any:
    return network(params, *point)[0]


@pytest.fixture(scope="module")
def params() -> Any:
    rng = np.random.default_rng(3)
    return [(rng.normal(size=(m, n)) / np.sqrt(m), rng.normal(size=n)) for m, n in itertools.pairwise(SIZES)]


def along(f: Callable[..., Any], argument: int, order: int = 1) -> Callable[..., Any]:
    """A derivative, by reverse mode, written by hand."""
    return f if order == 0 else primad.grad(along(f, argument, order - 1), argument)


EQUATIONS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "heat": (
        sympy.Eq(U.diff(t), nu * U.diff(x, 2)),
        lambda f, x, t, nu: along(f, 1)(x, t) - nu * along(f, 0, 2)(x, t),
    ),
    "Burgers": (
        sympy.Eq(U.diff(t) + U * U.diff(x), nu * U.diff(x, 2)),
        lambda f, x, t, nu: along(f, 1)(x, t) + f(x, t) * along(f, 0)(x, t) - nu * along(f, 0, 2)(x, t),
    ),
    "KdV": (
        sympy.Eq(U.diff(t) + 6 * U * U.diff(x) + nu * U.diff(x, 3), 0),
        lambda f, x, t, nu: along(f, 1)(x, t) + 6 * f(x, t) * along(f, 0)(x, t) + nu * along(f, 0, 3)(x, t),
    ),
    "conservation": (
        (U**2 / 2).diff(x) + sympy.Derivative(nu * U * U.diff(x, t), x),
        lambda f, x, t, nu: (
            f(x, t) * along(f, 0)(x, t)
            + nu * along(f, 0)(x, t) * along(along(f, 0), 1)(x, t)
            + nu * f(x, t) * along(along(f, 0, 2), 1)(x, t)
        ),
    ),
    "moved": (
        u(2 * x, t).diff(x) + U.diff(x).subs(x, 0) - sympy.Abs(U).diff(t),
        lambda f, x, t, nu: 2 * along(f, 0)(2 * x, t) + along(f, 0)(0.0, t) - np.sign(f(x, t)) * along(f, 1)(x, t),
    ),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", EQUATIONS)
def test_residuals_are_those_written_by_hand(name: str, params: Any) -> None:
    equation, by_hand = EQUATIONS[name]
    residual = primad.residual_of(equation, {u: first}, (x, t), nu)
    points = np.random.default_rng(1).normal(size=(2, 5))
    expected = [by_hand(lambda a, b: first(params, a, b), a, b, 0.3) for a, b in points.T]
    np.testing.assert_allclose(residual(params, *points, 0.3), expected, rtol=1e-9, atol=1e-9)
    assert residual(params, 0.5, -0.25, 0.3) == pytest.approx(
        by_hand(lambda a, b: first(params, a, b), 0.5, -0.25, 0.3), rel=1e-9, abs=1e-9
    )

    def loss(params: Any, nu: Any) -> Any:
        return np.mean(residual(params, *points, nu) ** 2)

    slope = primad.grad(loss, (0, 1))(params, 0.3)
    np.testing.assert_allclose(primad.jit(primad.grad(loss, (0, 1)))(params, 0.3)[1], slope[1], rtol=1e-9)
    step = 1e-5
    numeric = (loss(params, 0.3 + step) - loss(params, 0.3 - step)) / (2 * step)
    np.testing.assert_allclose(slope[1], numeric, rtol=1e-6, atol=1e-9)


PLANE = w(x, y, t).diff(t) - w(x, y, t).diff(x, 2) / 3 - w(x, y, t).diff(y, 2) / 3


def test_terms_of_an_equation_are_one_operator(params: Any) -> None:
    """The value, the slopes in the plane, and ∂t − Δ/3: four passes, recorded or not."""
    wide = [(np.vstack([params[0][0], [[0.5] * 8]]), params[0][1]), *params[1:]]
    residual = primad.residual_of(PLANE, {w: first}, (x, y, t))
    points = np.random.default_rng(1).normal(size=(3, 10))
    forward = primad.simplify(
        primad.trace(lambda p, *q: primad.vmap(lambda *z: first(p, *z))(*q))(wide, *points)
    ).cost()
    found = primad.simplify(primad.trace(residual)(wide, *points)).cost()
    assert found.matmul_flops <= 4 * forward.matmul_flops
    slopes = [along(lambda *q: first(wide, *q), i, order) for i, order in ((2, 1), (0, 2), (1, 2))]
    expected = [slopes[0](*q) - slopes[1](*q) / 3 - slopes[2](*q) / 3 for q in points.T]
    np.testing.assert_allclose(residual(wide, *points), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("name", "streams"), [("heat", 4), ("Burgers", 4), ("KdV", 5)])
def test_each_derivative_is_computed_once(name: str, streams: int, params: Any) -> None:
    """u, u_t and u_x, u_xx, … pass through the network once each, however many terms use them."""
    points = np.ones(10)

    def products(function: Callable[..., Any]) -> int:
        return primad.simplify(primad.trace(function)(params, points, points, 0.1)).cost().matmul_flops

    forward = products(lambda p, x, t, nu: primad.vmap(lambda a, b: first(p, a, b))(x, t))
    assert products(primad.residual_of(EQUATIONS[name][0], {u: first}, (x, t), nu)) <= streams * forward


def test_systems_share_a_network(params: Any) -> None:
    V = w(x, t)
    equations = {"u": sympy.Eq(U.diff(t), -V.diff(x, 2)), "v": sympy.Eq(V.diff(t), U.diff(x, 2) + w(x, 0))}
    residual = primad.residual_of(equations, {(u, w): network}, (x, t))
    found = residual(params, 0.4, 0.1)
    parts = [lambda a, b, i=i: network(params, a, b)[i] for i in (0, 1)]
    assert found["u"] == pytest.approx(along(parts[0], 1)(0.4, 0.1) + along(parts[1], 0, 2)(0.4, 0.1))
    expected = along(parts[1], 1)(0.4, 0.1) - along(parts[0], 0, 2)(0.4, 0.1) - parts[1](0.4, 0.0)
    assert found["v"] == pytest.approx(expected)


def test_functions_and_residuals_pickle(params: Any) -> None:
    expression = [sympy.Piecewise((sympy.polygamma(1, x), x > y), (sympy.gamma(x) ** 3, True)), sympy.Max(x, y)]
    f = primad.from_sympy(expression, (x, y))
    assert pickle.loads(pickle.dumps(f))(0.5, 2.0) == f(0.5, 2.0)
    residual = primad.residual_of(EQUATIONS["Burgers"][0], {u: first}, (x, t), nu)
    assert pickle.loads(pickle.dumps(residual))(params, 0.5, 0.25, 0.1) == residual(params, 0.5, 0.25, 0.1)


def test_known_functions_need_no_parameters() -> None:
    f = sympy.Function("f")
    equation = sympy.Eq(-u(x).diff(x, 2), f(x))
    residual = primad.residual_of(
        equation, {u: lambda k, x: np.sin(k * x)}, x, functions={f: lambda x: 4 * np.sin(2 * x)}
    )
    np.testing.assert_allclose(residual(2.0, np.linspace(0, 1, 4)), 0.0, atol=1e-14)
    supplied = {"k": 2.0}
    g = primad.from_sympy(u(x).diff(x), x, functions={u: lambda x: np.sin(supplied["k"] * x)})
    assert g(0.0) == 2.0
    supplied["k"] = 3.0
    assert g(0.0) == 3.0


def test_manufactured_sources_are_derived() -> None:
    exact = sympy.sin(sympy.pi * x) * sympy.exp(-t)
    operator = U.diff(t) - U.diff(x, 2)
    solution = primad.from_sympy(exact, (x, t))
    residual = primad.residual_of(operator, {u: lambda _, x, t: solution(x, t)}, (x, t))
    source = primad.to_sympy(lambda a, b: residual(0.0, a, b), x, t)
    assert sympy.simplify(source - (exact.diff(t) - exact.diff(x, 2))) == 0


@pytest.mark.parametrize(
    ("equation", "unknowns", "message"),
    [
        (sympy.Eq(x, x), {u: first}, "True is no equation"),
        (x < t, {u: first}, "x < t is no equation"),
        ("u_t = 0", {u: first}, "got the text"),
        (sympy.Eq(U, y), {u: first}, "contains y, which the function has no argument for"),
        (sympy.Eq(U, w(x, t)), {u: first}, r"w\(x, t\) is an unknown function"),
        (sympy.Eq(U, 1), {u: first, w: first}, "the equation does not contain w"),
        (sympy.Eq(U, 1), {sympy.sin: first}, "sin is no unknown function"),
        (sympy.Eq(U, 1), {u: first, (u, w): network}, "u is given twice"),
    ],
)
def test_equations_that_are_refused(equation: Any, unknowns: Any, message: str) -> None:
    with pytest.raises(PrimadError, match=message):
        primad.residual_of(equation, unknowns, (x, t))


def test_functions_of_points_must_return_numbers(params: Any) -> None:
    residual = primad.residual_of(U.diff(x), {u: network}, (x, t))
    with pytest.raises(ShapeError, match=r"the function given for u has a result of shape \(2,\) at a single point"):
        residual(params, 0.0, 0.0)


def test_the_order_of_the_arguments_is_asked_for() -> None:
    with pytest.raises(TracingError, match=r"from_sympy\(expression, \(t, x\)\)"):
        primad.from_sympy([sympy.sin(x), {"u": t}])
    with pytest.raises(TracingError, match=r"from_sympy\(expression, \(x,\)\)"):
        primad.from_sympy(x**2)


def test_integrals_are_sums_over_nodes(params: Any) -> None:
    """∫₀ˣ s u(s, t) ds and a double one, with the derivative of the unknown under the integral."""
    s, r = sympy.symbols("s r")
    equation = {
        "memory": U - sympy.Integral(s * u(s, t), (s, 0, x)),
        "slope": sympy.Integral(u(s, t).diff(s), (s, x, 2)) - u(2, t) + U,
        "square": sympy.Integral(s * r * u(s, t), (s, 0, 1), (r, 0, 2)),
    }
    known = {u: lambda _, x, t: np.exp(x) * t}
    found = primad.residual_of(equation, known, (x, t), quadrature=12)(None, np.array([0.5, 1.5]), 2.0)
    a = np.array([0.5, 1.5])
    np.testing.assert_allclose(found["memory"], 2 * np.exp(a) - 2 * (np.exp(a) * (a - 1) + 1), rtol=1e-12)
    np.testing.assert_allclose(found["slope"], 0.0, atol=1e-12)
    np.testing.assert_allclose(found["square"], 4.0, rtol=1e-12)
    with pytest.raises(TracingError, match="the integral over s has no limits"):
        primad.residual_of(U - sympy.Integral(u(s, t), s), known, (x, t), quadrature=3)
    with pytest.raises(TracingError, match="is not carried out"):
        primad.residual_of(equation["memory"], known, (x, t))
