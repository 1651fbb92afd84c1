"""Transforms: nesting and perturbation confusion, pytrees, argnums, aux values, Programs, agreement of all modes."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import primad

Function = Callable[..., Any]


def by_jvp(f: Function) -> Function:
    return lambda x: primad.jvp(f, (x,), (np.ones_like(x),))[1]


def by_vjp(f: Function) -> Function:
    def derivative(x: Any) -> Any:
        y, pullback = primad.vjp(f, x)
        return pullback(np.ones_like(y))[0]

    return derivative


def by_linearize(f: Function) -> Function:
    return lambda x: primad.linearize(f, x)[1](np.ones_like(x))


def by_vmap(f: Function) -> Function:
    return lambda x: primad.vmap(primad.grad(f))(np.stack([x, x]))[1]


def by_hvp_free(f: Function) -> Function:
    return lambda x: primad.jacobian(f)(x) * 1.0


D: dict[str, Callable[[Function], Function]] = {
    "grad": primad.grad,
    "jvp": by_jvp,
    "vjp": by_vjp,
    "jacfwd": primad.jacfwd,
    "jacrev": primad.jacrev,
    "linearize": by_linearize,
    "vmap of grad": by_vmap,
    "jacobian": by_hvp_free,
    "jit of grad": lambda f: primad.jit(primad.grad(f)),
    "grad of jit": lambda f: primad.grad(primad.jit(f)),
    "checkpoint": lambda f: primad.grad(primad.checkpoint(f)),
    "derivative": primad.derivative,
}
PAIRS = list(itertools.product(D, repeat=2))


# -- perturbation confusion --------------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_nested_derivatives_of_a_closure(outer: str, inner: str) -> None:
    # D(x ↦ x · D(y ↦ x + y)(1))(1) = 1, and not 2 (Siskind & Pearlmutter 2005)
    assert D[outer](lambda x: x * D[inner](lambda y: x + y)(1.0))(1.0) == 1.0
    # D(x ↦ x · D(y ↦ x · y)(2))(3) = d/dx x² = 6
    assert D[outer](lambda x: x * D[inner](lambda y: x * y)(2.0))(3.0) == 6.0


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_inner_derivative_at_the_outer_variable(outer: str, inner: str) -> None:
    # D(x ↦ D(y ↦ x²·y³)(x))(x) = d/dx 3x⁴ = 12x³
    found = D[outer](lambda x: D[inner](lambda y: x**2 * y**3)(x))(2.0)
    assert found == pytest.approx(96.0, rel=1e-14)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_higher_order_functions(outer: str, inner: str) -> None:
    """Manzyuk et al. 2019: a derivative with respect to an offset of a function-valued function."""

    def shift(u: Any) -> Any:
        return lambda f: lambda x: f(x + u)

    def by_offset(at: float) -> Any:
        return lambda f: lambda x: D[outer](lambda u: shift(u)(f)(x))(at)

    hat = by_offset(0.0)
    # hat is the derivative operator: hat(hat(exp))(1) = e, and not 0
    assert hat(hat(np.exp))(1.0) == pytest.approx(math.e, rel=1e-14)
    assert hat(D[inner](np.sin))(1.0) == pytest.approx(-math.sin(1.0), rel=1e-14)
    assert D[inner](hat(np.sin))(1.0) == pytest.approx(-math.sin(1.0), rel=1e-14)


DEPTH_3 = ["grad", "jvp", "jacfwd", "jacrev", "vmap of grad", "jit of grad"]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("a", "b", "c"), list(itertools.product(DEPTH_3, repeat=3)))
def test_three_nested_derivatives(a: str, b: str, c: str) -> None:
    # d/dx (x · d/dy (x·y · d/dz (x·y·z²)))
    def f(x: Any) -> Any:
        return x * D[b](lambda y: x * y * D[c](lambda z: x * y * z**2)(y))(x)

    # inner: 2xyz at z = y: 2xy²; times xy: 2x²y³; d/dy at y = x: 6x⁴; times x: 6x⁵; d/dx: 30x⁴
    assert D[a](f)(1.5) == pytest.approx(30 * 1.5**4, rel=1e-13)
    assert D[a](D[b](D[c](np.sin)))(0.5) == pytest.approx(-math.cos(0.5), rel=1e-13)


def test_a_derivative_of_a_derivative_that_ignores_it() -> None:
    assert primad.grad(lambda x: primad.grad(lambda y: y * 3.0)(x) * x)(2.0) == 3.0
    assert primad.grad(lambda x: primad.grad(lambda y: 7.0)(x) + x)(2.0) == 1.0


def test_closures_of_three_levels() -> None:
    def f(x: Any) -> Any:
        def g(y: Any) -> Any:
            return primad.grad(lambda z: x * y * z + x**2 * z**2)(y)  # xy + 2x²y

        return primad.grad(g)(x)  # x + 2x²

    assert primad.grad(f)(3.0) == 13.0


def test_loops_and_branches_on_values() -> None:
    def newton(a: Any) -> Any:
        x = a
        for _ in range(50):
            step = (x * x - a) / (2.0 * x)
            if abs(step) < 1e-15:
                break
            x = x - step
        return x

    assert primad.grad(newton)(2.0) == pytest.approx(0.5 / math.sqrt(2.0), rel=1e-12)
    assert primad.grad(primad.grad(lambda x: x * 3 if x > 1 else x**2))(0.5) == 2.0


# -- agreement ---------------------------------------------------------------------------------------------------------


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


X = np.array([0.3, -0.7, 1.1])


def hessian_by_differences(f: Function, x: Any, h: float = 1e-5) -> Any:
    return np.stack([(primad.grad(f)(x + h * e) - primad.grad(f)(x - h * e)) / (2 * h) for e in np.eye(x.size)])


def test_every_way_to_a_hessian_agrees() -> None:
    expected = hessian_by_differences(rosenbrock, X)
    ways = [
        np.asarray(primad.hessian(rosenbrock)(X)),
        *(a(b(rosenbrock))(X) for a, b in itertools.product((primad.jacfwd, primad.jacrev), repeat=2)),
        np.asarray(primad.jacobian(primad.jacobian(rosenbrock))(X)),
        primad.vmap(lambda v: primad.hvp(rosenbrock, X, v))(np.eye(3)),
        primad.vmap(lambda v: primad.jvp(primad.grad(rosenbrock), (X,), (v,))[1])(np.eye(3)),
        primad.jit(primad.hessian(rosenbrock))(X),
        primad.jit(primad.jacfwd(primad.grad(rosenbrock)))(X),
        np.stack([primad.linearize(primad.grad(rosenbrock), X)[1](e) for e in np.eye(3)]),
    ]
    for found in ways:
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6, atol=1e-6)
    for found in ways[1:]:
        np.testing.assert_allclose(np.asarray(found), ways[0], rtol=1e-12, atol=1e-12)


def test_third_derivatives_agree() -> None:
    ways = [
        np.asarray(a(b(c(rosenbrock)))(X)) for a, b, c in itertools.product((primad.jacfwd, primad.jacrev), repeat=3)
    ]
    for found in ways[1:]:
        np.testing.assert_allclose(found, ways[0], rtol=1e-12, atol=1e-11)
    assert ways[0].shape == (3, 3, 3)
    np.testing.assert_allclose(ways[0], np.transpose(ways[0], (2, 0, 1)), atol=1e-10)


def test_taylor_and_derivative() -> None:
    coefficients = primad.taylor(np.exp, 0.5, 2.0, 6)
    np.testing.assert_allclose(coefficients, [math.exp(0.5) * 2.0**k / math.factorial(k) for k in range(7)], rtol=1e-14)
    np.testing.assert_allclose(primad.derivative(np.sin, 4)(X), np.sin(X), rtol=1e-14)
    np.testing.assert_allclose(primad.derivative(lambda x: x**5, 5)(X), np.full(3, 120.0))
    assert primad.derivative(np.sin, 0)(0.0) == 0.0
    tree = primad.taylor(lambda d: {"y": d["a"] * d["b"]}, {"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 1.0}, 2)
    assert [float(c["y"]) for c in tree] == [2.0, 3.0, 1.0]


def test_linearize_and_transpose() -> None:
    y, df = primad.linearize(lambda x, a: a * np.sin(x), X, 2.0)
    np.testing.assert_allclose(y, 2 * np.sin(X))
    np.testing.assert_allclose(df(np.ones(3), 1.0), 2 * np.cos(X) + np.sin(X))
    back = primad.linear_transpose(lambda x: np.cumsum(3.0 * x), X)
    np.testing.assert_allclose(back(np.array([1.0, 0.0, 0.0]))[0], [3.0, 0.0, 0.0])
    w = np.ones((2, 3))
    back = primad.linear_transpose(lambda x, y: w @ x + y, X, np.ones(2))
    assert [a.shape for a in back(np.ones(2))] == [(3,), (2,)]


def test_cotangents_of_what_is_transposed_may_be_traced() -> None:
    w = np.arange(6.0).reshape(2, 3)
    for captured in (3.0, w):
        back = primad.linear_transpose(lambda x, y, c=captured: c * x[::-1] + y, np.ones((2, 3)), np.ones(3))
        f = lambda ct, back=back: np.sum(back(ct)[0] ** 3)  # noqa: E731
        expected = np.sum((captured * w) ** 3)
        np.testing.assert_allclose(primad.jit(f)(w), expected)
        np.testing.assert_allclose(primad.grad(f)(w), 3 * (captured * w) ** 2 * captured)


@primad.custom_jvp
def _scaled_twice(w: Any, y: Any) -> Any:
    return w * y, np.sin(w) * y


@_scaled_twice.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (w, y), (dw, dy) = primals, tangents
    first, second = _scaled_twice(w, dy)
    return _scaled_twice(w, y), (dw * y + first, np.cos(w) * dw * y + second)


@pytest.mark.parametrize("moving", [places for n in (1, 2, 3) for places in itertools.combinations(range(3), n)])
def test_what_is_transposed_moves_with_each_cotangent_and_each_operand(moving: tuple[int, ...]) -> None:
    def pulled(a: Any, b: Any, w: Any) -> Any:
        return primad.vjp(lambda y: _scaled_twice(w, y), 0.7)[1]((a, b))[0]

    given = [1.0, 2.0, 1.3]
    slopes = [1.3, np.sin(1.3), 1.0 + 2.0 * np.cos(1.3)]

    def of_some(*some: Any) -> Any:
        return pulled(*[some[moving.index(i)] if i in moving else x for i, x in enumerate(given)])

    _, found = primad.jvp(of_some, [given[i] for i in moving], [1.0] * len(moving))
    np.testing.assert_allclose(found, sum(slopes[i] for i in moving), rtol=1e-14)


@pytest.mark.parametrize("way", ["vjp", "linearize", "cond", "value"])
def test_what_closes_over_older_traces_belongs_to_the_newest(way: str) -> None:
    """A function of the newest trace's values that closes over those of two older ones, beside it."""

    def inner(a: Any, b: Any) -> Any:
        def f(c: Any) -> Any:
            return np.sin(c) * a * b

        if way == "vjp":
            value, pull = primad.vjp(f, b)
            return value * pull(1.0)[0]
        if way == "linearize":
            value, push = primad.linearize(f, b)
            return value * push(1.0)
        if way == "cond":
            return primad.cond(b > 0.0, lambda c: f(c) * np.cos(c) * a * b, f, b)
        return primad.value_and_grad(f)(b)[0] * np.cos(b) * a * b

    def wanted(a: Any, b: Any) -> Any:
        return np.sin(b) * np.cos(b) * (a * b) ** 2

    def mixed(f: Any) -> Any:
        return primad.grad(lambda a: primad.grad(lambda b: f(a, b))(0.7))(0.3)

    np.testing.assert_allclose(mixed(inner), mixed(wanted), rtol=1e-13)


PARTS: dict[str, tuple[Any, bool]] = {
    "linear": (lambda x: 2.0 * x[::-1], True), "an argument": (lambda x: x, True), "zero": (lambda x: 0.0, True),
    "zero by a law": (lambda x: x * 0.0, True), "minus zero": (lambda x: -0.0, True), "one": (lambda x: 1.0, False),
    "affine": (lambda x: x + 1.0, False), "captured": (lambda x: X + 1.0, False), "constant": (lambda x: 3.5, False),
    "computed": (lambda x: np.sin(X * 1.0) + 0.0 * x, False),
}  # fmt: skip
"""Results of a function, and whether they are linear in its argument."""


@pytest.mark.parametrize("first", PARTS)
def test_all_results_of_what_is_transposed_are_linear(first: str) -> None:
    """One that is not is refused wherever it stands: its constant part would be lost."""
    for second in PARTS:
        (f, is_first), (g, is_second) = PARTS[first], PARTS[second]

        def both(x: Any, f: Any = f, g: Any = g) -> Any:
            return f(x), g(x)

        if is_first and is_second:
            ones = tuple(np.ones_like(value) for value in both(X))
            pulled = primad.linear_transpose(both, X)(ones)[0]
            matrix = primad.jacobian(lambda x: sum(np.sum(value) for value in both(x)))(X)
            np.testing.assert_array_equal(pulled, matrix)
        else:
            with pytest.raises(primad.NotDifferentiableError, match="not linear"):
                primad.linear_transpose(both, X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 1 / x, lambda x: x / x, lambda x: x * x, lambda x: x @ x, np.exp, np.abs, lambda x: x**2,
        lambda x: np.where(x > 0, x, 2 * x), lambda x: x * np.sum(x), np.sort, np.max, np.prod, np.cumprod,
    ],
)  # fmt: skip
def test_what_is_not_linear_is_not_transposed(function: Any) -> None:
    with pytest.raises(primad.NotDifferentiableError, match="not linear"):
        primad.transforms.transpose(primad.trace(function)(X))


def test_an_op_with_an_integer_beside_what_moves_is_pulled_back_through_its_definition() -> None:
    """Its own rule is for what may move besides: whole numbers never do."""

    @primad.custom_jvp
    def times(x: Any, count: Any) -> Any:
        return x * count

    @times.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        raise RuntimeError("a rule for which there is no need")

    @primad.custom_jvp
    def scaled(x: Any, count: Any) -> Any:
        return x * count

    @scaled.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return scaled(*primals), times(tangents[0], primals[1])

    np.testing.assert_array_equal(primad.grad(lambda x, count: np.sum(scaled(x, count)))(X, 3), 3.0 + 0 * X)


def test_laplacian() -> None:
    assert primad.laplacian(lambda x: np.sum(x**4))(X) == pytest.approx(12 * np.sum(X**2))
    points = np.arange(6.0).reshape(2, 3)
    found = primad.vmap(primad.laplacian(lambda x: np.sum(np.sin(x) * x[0])))(points)
    expected = [np.trace(np.asarray(primad.hessian(lambda x: np.sum(np.sin(x) * x[0]))(p))) for p in points]
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    vector = primad.laplacian(lambda x: np.stack([np.sum(x**2), np.prod(x)]))(X)
    np.testing.assert_allclose(vector, [6.0, 0.0], atol=1e-13)


# -- structure ---------------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Params:
    weight: Any
    bias: Any
    name: dataclasses.InitVar[str] = "x"


@dataclasses.dataclass(frozen=True)
class Frozen:
    left: Any
    right: Any


STRUCTURES: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], list[Any]]]] = {
    "tuple": ((1.0, 2.0), lambda p: p[0] ** 2 * p[1], list),
    "list": ([1.0, 2.0], lambda p: p[0] ** 2 * p[1], list),
    "dict": ({"v": 2.0, "u": 1.0}, lambda p: p["u"] ** 2 * p["v"], lambda p: [p["u"], p["v"]]),
    "named tuple": (Pair(1.0, 2.0), lambda p: p.a**2 * p.b, list),
    "dataclass": (Params(1.0, 2.0), lambda p: p.weight**2 * p.bias, lambda p: [p.weight, p.bias]),
    "frozen dataclass": (Frozen(1.0, 2.0), lambda p: p.left**2 * p.right, lambda p: [p.left, p.right]),
    "nested": (
        {"p": [(1.0,), Pair(2.0, None)]},
        lambda p: p["p"][0][0] ** 2 * p["p"][1].a,
        lambda p: [p["p"][0][0], p["p"][1].a],
    ),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_trees_in_and_out(name: str) -> None:
    value, f, read = STRUCTURES[name]
    g = primad.grad(f)(value)
    assert type(g) is type(value)
    assert read(g) == [4.0, 1.0]
    y, pullback = primad.vjp(lambda p: p, value)
    assert type(y) is type(value) and read(y) == [1.0, 2.0]
    assert read(pullback(y)[0]) == [1.0, 2.0]
    y, t = primad.jvp(lambda p: (f(p), p), (value,), (value,))
    assert y[0] == 2.0 and t[0] == 6.0 and read(t[1]) == [1.0, 2.0]
    assert read(primad.jit(lambda p: p)(value)) == [1.0, 2.0]
    program = primad.trace(lambda p: {"y": f(p), "p": p})(value)
    assert program(value)["y"] == 2.0 and read(program(value)["p"]) == [1.0, 2.0]
    h = primad.hessian(f)(value)
    blocks = [[np.asarray(block) for block in read(row)] for row in read(h)]
    np.testing.assert_array_equal(blocks, [[4.0, 2.0], [2.0, 0.0]])
    j = primad.jacobian(lambda p: {"y": f(p)})(value)
    assert [float(x) for x in read(j["y"])] == [4.0, 1.0]


def test_argnums_tuples_and_negative() -> None:
    def f(x: Any, y: Any, z: Any) -> Any:
        return x * y**2 * z["k"]

    args = (2.0, 3.0, {"k": 5.0})
    assert primad.grad(f, argnums=(1, 0))(*args) == (60.0, 45.0)
    assert primad.grad(f, argnums=-1)(*args) == {"k": 18.0}
    assert primad.grad(f, argnums=(0, 2))(*args) == (45.0, {"k": 18.0})
    value, gradient = primad.value_and_grad(f, argnums=(0,))(*args)
    assert value == 90.0 and gradient == (45.0,)
    h = primad.hessian(f, argnums=(0, 1))(*args)
    assert [[float(np.asarray(b)) for b in row] for row in h] == [[0.0, 30.0], [30.0, 20.0]]
    assert primad.jacfwd(f, argnums=(0, 1))(*args) == (45.0, 60.0)
    assert primad.laplacian(f, argnums=1)(*args) == 20.0


def test_has_aux() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        return np.sum(y * y), {"y": y, "n": 3}

    (value, aux), g = primad.value_and_grad(f, has_aux=True)(X)
    assert value == pytest.approx(np.sum(np.sin(X) ** 2))
    np.testing.assert_allclose(aux["y"], np.sin(X))
    assert aux["n"] == 3
    np.testing.assert_allclose(g, np.sin(2 * X))
    g, aux = primad.grad(f, has_aux=True)(X)
    np.testing.assert_allclose(g, np.sin(2 * X))
    _, pullback, aux = primad.vjp(f, X, has_aux=True)
    np.testing.assert_allclose(pullback(1.0)[0], np.sin(2 * X))
    np.testing.assert_allclose(aux["y"], np.sin(X))
    second = primad.grad(lambda x: np.sum(primad.grad(f, has_aux=True)(x)[0]))(X)
    np.testing.assert_allclose(second, 2 * np.cos(2 * X), rtol=1e-13)


def test_keyword_arguments_and_static_things() -> None:
    def f(x: Any, scale: Any = 1.0, name: str = "a", activation: Any = np.sin) -> Any:
        return activation(x) * scale * (2.0 if name == "b" else 1.0)

    assert primad.grad(f)(0.0, scale=3.0, name="b") == 6.0
    assert primad.grad(f)(0.0, 3.0, "b", np.tanh) == 6.0
    assert primad.value_and_grad(f)(0.0, scale=np.float64(3.0))[1] == 3.0
    assert primad.grad(lambda x, none: x * 2.0)(1.0, None) == 2.0


def test_integer_arguments_beside_the_chosen_one() -> None:
    assert primad.grad(lambda x, n: np.sum(x**n))(np.array([2.0]), 3)[0] == 12.0
    assert primad.grad(lambda x, i: x[i] ** 2)(np.array([2.0, 5.0]), 1)[1] == 10.0
    index = np.array([0, 0])
    np.testing.assert_array_equal(primad.grad(lambda x, i: np.sum(x[i]))(np.ones(2), index), [2.0, 0.0])


def test_programs_are_functions() -> None:
    program = primad.trace(rosenbrock)(X)
    assert program(X) == pytest.approx(rosenbrock(X))
    np.testing.assert_allclose(primad.grad(program)(X), primad.grad(rosenbrock)(X))
    np.testing.assert_allclose(np.asarray(primad.hessian(program)(X)), np.asarray(primad.hessian(rosenbrock)(X)))
    np.testing.assert_allclose(primad.vmap(program)(np.stack([X, X])), [rosenbrock(X)] * 2)
    np.testing.assert_allclose(primad.jit(program)(X), rosenbrock(X))
    np.testing.assert_allclose(primad.jvp(program, (X,), (X,))[1], primad.jvp(rosenbrock, (X,), (X,))[1])
    np.testing.assert_allclose(primad.trace(program)(X)(X), rosenbrock(X))
    lowered = primad.lower(primad.trace(primad.grad(rosenbrock))(X))
    np.testing.assert_allclose(lowered(X), primad.grad(rosenbrock)(X))
    np.testing.assert_allclose(primad.simplify(lowered)(X), primad.grad(rosenbrock)(X))
    np.testing.assert_allclose(primad.jacfwd(lowered)(X), np.asarray(primad.hessian(rosenbrock)(X)))


def test_stop_gradient_takes_trees_at_every_order() -> None:
    def f(x: Any) -> Any:
        fixed = primad.stop_gradient({"x": x, "y": [x**2]})
        return x * fixed["x"] + fixed["y"][0] * x**2

    assert primad.grad(f)(2.0) == 2.0 + 4.0 * 4.0
    assert primad.grad(primad.grad(f))(2.0) == 8.0
    assert by_jvp(by_jvp(f))(2.0) == 8.0


def test_value_reads_a_number() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(primad.value(x * 2.0))
        return x * float(primad.value(x))

    assert primad.grad(f)(3.0) == 3.0
    assert seen == [6.0]
    assert primad.value(5.0) == 5.0
    assert primad.grad(lambda x: x if x.shape == () and primad.value(x) > 0 else -x)(-2.0) == -1.0


def test_results_are_reproducible() -> None:
    rng = np.random.default_rng(1)
    w, x = rng.standard_normal((40, 40)), rng.standard_normal((200, 40))

    def loss(w: Any) -> Any:
        return np.mean(np.tanh(x @ np.tanh(w @ w)) ** 2)

    first = primad.grad(loss)(w)
    compiled = primad.jit(primad.grad(loss))
    again = compiled(w)
    for _ in range(3):
        np.testing.assert_array_equal(primad.grad(loss)(w), first)
        np.testing.assert_array_equal(compiled(w), again)
    np.testing.assert_array_equal(primad.jit(primad.grad(loss))(w), again)
    np.testing.assert_allclose(again, first, rtol=0, atol=1e-14 * np.max(np.abs(first)))


def test_gradient_of_functions_that_use_transforms() -> None:
    def f(x: Any) -> Any:
        h = primad.hessian(rosenbrock)(x)
        return (
            np.trace(h) + np.sum(primad.vmap(np.sin)(x)) + primad.jit(np.sum)(x**2) + np.sum(primad.jacfwd(np.sin)(x))
        )

    g = primad.grad(f)(X)
    eps = 1e-6
    expected = [(f(X + eps * e) - f(X - eps * e)) / (2 * eps) for e in np.eye(3)]
    np.testing.assert_allclose(g, expected, rtol=1e-6)


def test_transform_of_a_method_and_a_partial() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = np.array([1.0, 2.0])

        def __call__(self, x: Any) -> Any:
            return np.sum(self.w * x)

        def loss(self, x: Any) -> Any:
            return self(x) ** 2

    from functools import partial

    m = Model()
    np.testing.assert_array_equal(primad.grad(m)(np.ones(2)), [1.0, 2.0])
    np.testing.assert_array_equal(primad.grad(m.loss)(np.ones(2)), [6.0, 12.0])
    np.testing.assert_array_equal(primad.grad(partial(np.multiply, 3.0))(2.0), 3.0)
    assert primad.jit(m)(np.ones(2)) == 3.0
    assert primad.vmap(m)(np.ones((4, 2))).shape == (4,)


def test_custom_rules_inside_transforms() -> None:
    cube = primad.elementwise("cube_of_test", lambda x: x * x * x, partials=[lambda out, x: 3.0 * x * x])
    assert primad.grad(primad.grad(cube))(2.0) == 12.0
    np.testing.assert_array_equal(primad.vmap(primad.grad(cube))(X), 3 * X * X)


@pytest.mark.parametrize("c", [np.array([3.0, 5.0]), 0.3], ids=["array", "scalar"])
def test_linear_parts_of_arguments_are_not_those_of_constants(c: Any) -> None:
    """What is closed over and what is an argument are inputs of one program alike; only some of them are active."""
    x = np.array([1.0, 2.0])
    one, two = np.ones(2), np.ones_like(c)
    for _ in range(2):  # whichever comes first is in the cache
        np.testing.assert_array_equal(primad.linearize(lambda a: a * c, x)[1](one), c * one)
        np.testing.assert_array_equal(primad.linearize(lambda a, b: a * b, x, c)[1](one, two), c + x)
        np.testing.assert_array_equal(primad.linearize(lambda b: x * b, c)[1](two), x)
        np.testing.assert_array_equal(primad.vjp(lambda a: a * c, x)[1](one)[0], c * one)
        first, second = primad.vjp(lambda a, b: a * b, x, c)[1](one)
        np.testing.assert_array_equal(first, c * one)
        np.testing.assert_array_equal(second, x if np.ndim(c) else x.sum())
        assert len(primad.vjp(lambda b: x * b, c)[1](one)) == 1


def test_a_layer_with_weights_as_arguments_is_not_one_that_closes_over_them() -> None:
    rng = np.random.default_rng(0)
    w, b, x = rng.normal(size=(3, 2)), rng.normal(size=3), rng.normal(size=2)
    ct = np.ones(3)
    assert len(primad.vjp(lambda x: np.tanh(w @ x + b), x)[1](ct)) == 1
    slope = 1 - np.tanh(w @ x + b) ** 2
    for found, expected in zip(
        primad.vjp(lambda w, b, x: np.tanh(w @ x + b), w, b, x)[1](ct),
        (np.outer(slope, x), slope, w.T @ slope),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_a_python_number_is_a_direction_of_any_dtype(dtype):
    x = np.array(0.5, dtype)
    value, slope = primad.jvp(np.sin, (x,), (1.0,))
    assert value.dtype == slope.dtype == x.dtype
    np.testing.assert_allclose(primad.vjp(np.sin, x)[1](2)[0], 2 * np.cos(x), rtol=1e-3)
    other = np.float64(1.0) if dtype != "float64" else np.float32(1.0)
    with pytest.raises(primad.ShapeError, match="expected dtype"):
        primad.jvp(np.sin, (x,), (np.asarray(other),))


def test_a_linear_part_takes_traced_directions_beside_plain_ones() -> None:
    push = primad.linearize(lambda x, y: x * np.sin(y), 2.0, 0.5)[1]
    slopes = np.sin(0.5), 2 * np.cos(0.5)
    for traced in ((1, 0), (0, 1), (1, 1)):

        def along(t: Any, traced: Any = traced) -> Any:
            return push(*[t if on else 1.0 for on in traced])

        assert primad.jit(along)(0.25) == pytest.approx(along(0.25), rel=1e-15)
        assert primad.grad(along)(0.25) == pytest.approx(np.dot(traced, slopes))


def test_a_view_of_a_masked_cotangent_is_masked_by_the_same_view_of_the_condition() -> None:
    """Zeros behind a pad, a flip and a slice stay strong, and nothing has to find out where they are."""
    chosen = np.array([True, False, True, True, False, True])

    def f(u: Any) -> Any:
        padded = np.pad(np.flip(np.sqrt(u)), 1)
        return np.sum(np.where(chosen, np.sqrt(padded), 0.0)[1:-1])

    u = np.array([0.0, 0.3, 0.4, 0.0])
    gradient = primad.grad(f)
    np.testing.assert_allclose(gradient(u), [0.0, 0.25 * 0.3**-0.75, 0.25 * 0.4**-0.75, 0.0], rtol=1e-14)
    assert "equal" not in {node.op.name for node in primad.lower(primad.trace(gradient)(u)).nodes}
