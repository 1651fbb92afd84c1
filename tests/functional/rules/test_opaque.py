"""Opaque functions: called back with plain arrays, under every transform, to the order that their rules allow."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

import primad
from primad.verify import Example, Operand

F = primad.ArrayType((), float)
V = primad.ArrayType((3,), float)
X = np.array([1.0, 8.0, 27.0])


def root(vmap: Any = "sequential", order: int | None = None) -> Any:
    """Return the cube root by a solver; its rule is recordable, or opaque with so many orders of its own."""

    def number(c: Any) -> float:
        return float(brentq(lambda t: t**3 - c, 0.0, 10.0, xtol=1e-15))

    def solved(c: Any) -> Any:
        assert type(c) in (np.float64, np.ndarray)
        return np.vectorize(number, otypes=[float])(c) if np.ndim(c) else number(c)

    cube_root = primad.custom_jvp(primad.opaque(solved, result=lambda c: c, vmap=vmap))
    slope = (lambda x: 1 / (3 * x * x)) if order is None else power(order, 1 / 3, -2)

    @cube_root.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        value = cube_root(*primals)
        return value, tangents[0] * slope(value)

    return cube_root


def power(order: int, factor: float, exponent: int) -> Any:
    """Return factor · x**exponent as an opaque function that has `order` − 1 derivatives, opaque too."""
    found = primad.opaque(lambda x: factor * x**exponent, result=lambda x: x, name=f"power_{order}")
    if order == 1:
        return found
    ruled = primad.custom_jvp(found)
    slope = power(order - 1, factor * exponent, exponent - 1)
    ruled.defjvp(lambda primals, tangents: (ruled(*primals), tangents[0] * slope(*primals)))
    return ruled


TRUE = {1: lambda c: c ** (-2 / 3) / 3, 2: lambda c: -2 / 9 * c ** (-5 / 3), 3: lambda c: 10 / 27 * c ** (-8 / 3)}


def test_an_object_that_is_called_has_the_name_of_its_class() -> None:
    table = primad.opaque(CubicSpline(X, X), result=lambda x: x)
    with pytest.raises(primad.NotDifferentiableError, match=r"wrap CubicSpline in primad\.custom_jvp"):
        primad.grad(lambda x: np.sum(table(x)))(X)


@pytest.mark.parametrize("vmap", ["sequential", "vectorized"])
def test_all_transforms_to_third_order(vmap: Any) -> None:
    f = root(vmap)
    np.testing.assert_allclose(primad.jit(f)(8.0), 2.0)
    np.testing.assert_allclose(primad.vmap(f)(X), [1, 2, 3])
    for order, true in TRUE.items():
        derivative = f
        for _ in range(order):
            derivative = primad.grad(derivative)
        np.testing.assert_allclose(derivative(8.0), true(8.0))
        np.testing.assert_allclose(primad.jit(derivative)(8.0), true(8.0))
        np.testing.assert_allclose(primad.vmap(derivative)(X), true(X))
        np.testing.assert_allclose(primad.jit(primad.vmap(derivative))(X), true(X))
        np.testing.assert_allclose(primad.vmap(primad.vmap(derivative))(X.reshape(3, 1)), true(X).reshape(3, 1))
    primad.check_grads(f, (8.0,), order=3)
    np.testing.assert_allclose(np.diagonal(primad.jacobian(primad.vmap(f))(X)), TRUE[1](X))
    np.testing.assert_allclose(primad.hvp(lambda x: np.sum(primad.vmap(f)(x)), X, X), TRUE[2](X) * X)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_opaque_rules_reach_the_order_at_which_they_have_rules(order: int) -> None:
    derivative = root(order=order)
    for reached in range(order):
        derivative = primad.grad(derivative)
        np.testing.assert_allclose(derivative(8.0), TRUE[reached + 1](8.0))
    with pytest.raises(primad.NotDifferentiableError, match=r"^power_1 is opaque, and has no derivative") as caught:
        primad.grad(derivative)(8.0)
    assert __file__ in str(caught.value)


def test_a_pullback_may_be_opaque() -> None:
    solve = primad.opaque(np.linalg.solve, result=lambda m, b: b)
    solved = primad.custom_vjp(solve)
    adjoint = primad.opaque(
        lambda m, y, ct: (-np.outer(w := np.linalg.solve(m.T, ct), y), w), result=lambda m, y, _: (m, y)
    )

    def forward(m: Any, b: Any) -> Any:
        y = solve(m, b)
        return y, (m, y)

    solved.defvjp(forward, lambda kept, ct: adjoint(*kept, ct))
    m, b = np.array([[2.0, 1.0], [0.5, 3.0]]), np.array([1.0, -2.0])
    inverse = np.linalg.inv(m)
    by_m, by_b = primad.grad(lambda m, b: np.sum(solved(m, b)), (0, 1))(m, b)
    np.testing.assert_allclose(by_b, inverse.sum(0))
    np.testing.assert_allclose(by_m, -np.outer(inverse.sum(0), inverse @ b))
    np.testing.assert_allclose(primad.jacrev(solved, 1)(m, b), inverse)
    with pytest.raises(primad.NotDifferentiableError, match="is opaque"):
        primad.jacrev(primad.grad(lambda b: np.sum(solved(m, b)), 0))(b)


# -- arguments, results, keywords --------------------------------------------------------------------------------------


def statistics(tree: Any, scale: Any, *, power: int = 1) -> Any:
    x, n = tree["x"], tree["n"]
    return {"mean": np.mean(x, -1) * scale, "all": (x**power, n + 1)}


def declared(tree: Any, scale: Any, *, power: int = 1) -> Any:
    return {"mean": primad.ArrayType(tree["x"].shape[:-1], tree["x"].dtype), "all": (tree["x"], tree["n"])}


def test_trees_keywords_and_several_results() -> None:
    f = primad.opaque(statistics, result=declared)
    tree = {"x": np.arange(6.0, dtype=np.float32).reshape(2, 3), "n": 3}
    expected = statistics(tree, np.float32(2), power=2)
    for g in (lambda *args: f(*args, power=2), primad.jit(lambda *args: f(*args, power=2))):
        found = g(tree, np.float32(2))
        np.testing.assert_array_equal(found["mean"], expected["mean"])
        np.testing.assert_array_equal(found["all"][0], expected["all"][0])
        assert found["all"][1] == 4 and found["mean"].dtype == np.float32
    stacked = {"x": np.stack([tree["x"]] * 4), "n": np.arange(4)}
    mapped = primad.vmap(f, in_axes=(0, None))(stacked, np.float32(2))
    assert mapped["mean"].shape == (4, 2) and list(mapped["all"][1]) == [1, 2, 3, 4]
    with pytest.raises(primad.TracingError, match="keyword power is not hashable"):
        primad.jit(lambda x: f(x, 1.0, power=[2]))(tree)
    with pytest.raises(primad.TracingError, match="keyword power is traced"):
        primad.jit(lambda x: f(x, 1.0, power=x["n"]))(tree)


def test_axes_of_every_mapping() -> None:
    """Each way of mapping some operands, twice, gives what a loop does, in both ways of calling."""
    rng = np.random.default_rng(0)
    for vmap, outer, inner in itertools.product(("sequential", "vectorized"), *[[(0, 0), (0, None), (None, 0)]] * 2):
        f = primad.opaque(lambda x, y: (np.sum(x * y, -1), x - y), result=lambda x, y: (F, x), vmap=vmap)
        pairs = [((4, outer[i]), (2, inner[i])) for i in range(2)]
        x, y = (rng.normal(size=[*[size for size, axis in pair if axis is not None], 3]) for pair in pairs)
        dots, differences = primad.vmap(primad.vmap(f, inner), outer)(x, y)
        for i, j in np.ndindex(4, 2):
            a, b = (
                z[tuple([k for k, axis in ((i, outer[n]), (j, inner[n])) if axis is not None])]
                for n, z in enumerate((x, y))
            )
            np.testing.assert_allclose(dots[i, j], a @ b)
            np.testing.assert_array_equal(differences[i, j], a - b)


def test_an_axis_of_length_zero_calls_nothing() -> None:
    for vmap in ("sequential", "vectorized"):
        never = primad.opaque(lambda x: 1 / 0, result=lambda x: x, vmap=vmap)  # type: ignore[call-overload]
        assert primad.vmap(never)(np.ones((0, 2))).shape == (0, 2)


def test_refused() -> None:
    f = root("refused")
    assert primad.grad(f)(1.0) == pytest.approx(1 / 3)
    with pytest.raises(primad.TracingError, match="vmap of solved, which is declared with vmap='refused'"):
        primad.vmap(f)(X)
    np.testing.assert_allclose(primad.vmap(lambda c, x: f(c) * x, in_axes=(None, 0))(8.0, X), 2 * X)


def test_arguments_and_results_are_copies() -> None:
    kept: list[Any] = []

    def greedy(x: Any) -> Any:
        kept.append(x)
        x *= 2
        return x

    f = primad.opaque(greedy, result=V)
    x = X.copy()
    for g in (f, primad.jit(f), primad.jit(lambda x: f(x) + x - x)):
        found = g(x)
        np.testing.assert_array_equal(x, X)
        kept[-1][:] = 0.0
        np.testing.assert_array_equal(found, 2 * X)


def test_calls_are_counted_where_they_are_equal_or_unused() -> None:
    calls: list[int] = []
    f = primad.opaque(lambda x: calls.append(1) or (x + 1, x - 1), result=lambda x: (x, x))  # type: ignore[func-returns-value]
    primad.jit(lambda x: f(x)[0] + f(x)[1] * f(x)[0])(X)
    assert len(calls) == 1
    primad.jit(lambda x: (f(x), x)[1])(X)
    assert len(calls) == 1


def test_a_callback_may_use_primad() -> None:
    f = primad.opaque(lambda x: primad.jit(primad.grad(lambda y: np.sum(y**3)))(x), result=lambda x: x)
    np.testing.assert_allclose(primad.jit(primad.vmap(f))(X.reshape(3, 1)), 3 * X.reshape(3, 1) ** 2)


# -- errors ------------------------------------------------------------------------------------------------------------

WRONG: dict[str, tuple[Any, Any, str]] = {
    "shape": (lambda x: x[1:], V, r"wrong returned float64\[2\] where float64\[3\] is declared"),
    "dtype": (lambda x: np.float32(x), V, r"wrong returned float32\[3\] where float64\[3\] is declared"),
    "integers": (lambda x: x.astype(int), V, r"wrong returned int64\[3\] where float64\[3\] is declared"),
    "no array": (lambda x: "text", F, r"wrong returned <U4\[\] where float64\[\] is declared"),
    "float for an integer": (lambda x: 2.5, primad.ArrayType((), int), r"wrong returned float64\[\] where int64"),
    "tree": (lambda x: (x, x), V, "the result of wrong: expected the tree"),
    "nothing": (lambda x: None, V, "the result of wrong: expected the tree"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_results_are_errors_that_name_the_function(case: str) -> None:
    function, result, message = WRONG[case]
    f = primad.opaque(function, result=result, name="wrong")
    for g, x in ((f, X), (primad.jit(f), X), (primad.vmap(f), X[None])):
        with pytest.raises(primad.ShapeError, match=message):
            g(x)


def test_numbers_adopt_the_declared_dtype() -> None:
    half = primad.ArrayType((), np.float32)
    assert primad.jit(primad.opaque(lambda x: 1, result=half))(1.0).dtype == np.float32


def test_errors_of_the_callback_are_the_users_own_and_carry_the_line() -> None:
    f = root()
    line = re.compile(r"while computing solved: float64\S* in \S*test_opaque.py:\d+")

    def used(x: Any) -> Any:
        return x * f(-x)

    def branched(x: Any) -> Any:
        return x if f(-x) > 0 else -x

    for run in (primad.jit(used), primad.grad(used), primad.grad(branched)):
        with pytest.raises(ValueError, match="different signs") as caught:
            run(1.0)
        assert not isinstance(caught.value, primad.PrimadError)
        assert any(line.search(note) for note in caught.value.__notes__)
    with pytest.raises(ValueError, match="different signs") as caught:
        primad.vmap(f)(np.array([1.0, -1.0]))
    assert "  for element 1 of what vmap maps" in caught.value.__notes__


def test_declarations_are_checked() -> None:
    with pytest.raises(primad.TracingError, match="vmap must be one of 'sequential', 'vectorized', 'refused'"):
        primad.opaque(np.sin, result=F, vmap="yes")  # type: ignore[call-overload]
    with pytest.raises(primad.TracingError, match="expected a function"):
        primad.opaque(3, result=F)  # type: ignore[call-overload]
    with pytest.raises(primad.TracingError, match="result is the class float"):
        primad.opaque(np.sin, result=float)
    with pytest.raises(primad.ShapeError, match="declares no array"):
        primad.opaque(np.sin, result=None)(1.0)


def test_text_reads_back() -> None:
    f = primad.opaque(lambda x, y, *, n: (n * x, y), result=lambda x, y, n: (x, y), name="both")
    mapped = primad.vmap(lambda x, y: f(x, y, n=3), in_axes=(0, None))
    program = primad.lower(primad.trace(mapped)(X.reshape(3, 1), X))
    text = str(program)
    assert "both x y batches=(((True,False),3),) n=3" in text
    again = primad.parse(text, primitives=[f.primitive])
    assert again.key == program.key
    np.testing.assert_array_equal(again(X.reshape(3, 1), X)[0], 3 * X.reshape(3, 1))


# -- checks ------------------------------------------------------------------------------------------------------------


def test_verify_tests_rules_and_never_proves_them() -> None:
    example = Example((Operand(F, 1.0, 9.0),))
    report = primad.verify(root(), examples=[example])
    assert report.ok and [row.how for row in report.rows] == ["tested"] * 5
    report = primad.verify(root(order=1), examples=[example])
    assert {row.what: row.how for row in report.rows if row.how != "tested"} == {"JVP of JVP": "exempt"}
    refused = primad.verify(primad.opaque(np.sin, result=F, vmap="refused"), examples=[example])
    assert [row.how for row in refused.rows] == ["tested", *["exempt"] * 4]
    with pytest.raises(primad.TracingError, match="needs examples"):
        primad.verify(root())


def test_verify_takes_params_and_finds_each_kind_of_mistake() -> None:
    def failures(function: Any, *operands: Operand, **params: Any) -> set[str]:
        return {row.what for row in primad.verify(function, examples=[Example(operands, params)]).failures}

    def scaled(wrong: float) -> Any:
        f = primad.custom_jvp(primad.opaque(lambda x, n: n * x**2, result=lambda x, n: x), nondiff_argnums=(1,))
        f.defjvp(lambda n, primals, tangents: (f(*primals, n), wrong * n * primals[0] * tangents[0]))
        return f

    assert failures(scaled(2.0), Operand(V), Operand(F, literal=3)) == set()
    assert failures(scaled(2.1), Operand(V), Operand(F, literal=3)) == {"JVP", "JVP of JVP", "transpose"}
    norm = primad.opaque(lambda x, *, p: np.sum(x**p), result=lambda x, p: F, vmap="vectorized")
    assert failures(norm, Operand(V), p=2) == {"batching"}
    table = np.arange(5.0)
    pick = primad.opaque(lambda i: table[i], result=lambda i: primad.ArrayType(i.shape, float), vmap="vectorized")
    assert failures(pick, Operand(primad.ArrayType((3,), int), array=np.array([0, 4, 2]))) == set()


def test_check_grads_takes_params() -> None:
    def scaled(x: Any, *, n: int) -> Any:
        return x**n

    primad.check_grads(scaled, (X,), order=2, params={"n": 3})
    with pytest.raises(TypeError):
        primad.check_grads(scaled, (X,))


# -- against the same function, recorded -------------------------------------------------------------------------------


def bump(x: Any) -> Any:
    return np.exp(-x * x) * x


def called_back(vmap: Any) -> Any:
    """Return `bump` as an opaque function with a recordable rule."""
    found = primad.custom_jvp(primad.opaque(bump, result=lambda x: x, vmap=vmap))
    found.defjvp(lambda primals, t: (found(*primals), t[0] * np.exp(-(primals[0] ** 2)) * (1 - 2 * primals[0] ** 2)))
    return found


def mixed(g: Any) -> Any:
    """Return a loss in which `g` stands between recorded operations."""
    return lambda x: np.sum(np.sin(g(np.cos(x) * x)) * x)


USES: dict[str, Any] = {
    "value": lambda f, x: f(x),
    "gradient": lambda f, x: primad.grad(f)(x),
    "jit": lambda f, x: primad.jit(primad.value_and_grad(f))(x),
    "forward": lambda f, x: primad.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: primad.linearize(f, x)[1](x),
    "pullback": lambda f, x: primad.vjp(f, x)[1](2.0),
    "checkpoint": lambda f, x: primad.grad(primad.checkpoint(f))(x),
    "hvp": lambda f, x: primad.hvp(f, x, x),
    "hessian": lambda f, x: primad.hessian(f)(x[:4]),
    "laplacian": lambda f, x: primad.laplacian(f)(x[:4]),
    "jacobian of the gradient": lambda f, x: primad.jacrev(primad.grad(f))(x[:4]),
    "third order": lambda f, x: primad.grad(lambda y: np.sum(primad.hvp(f, y, x)))(x),
    "taylor": lambda f, x: primad.taylor(f, x, x, 3),
    "vmap": lambda f, x: primad.vmap(primad.grad(f))(x[:12].reshape(3, 4)),
    "per element": lambda f, x: primad.vmap(primad.grad(f))(x[:12]),
    "donated": lambda f, x: primad.jit(lambda y: y - primad.grad(f)(y), donate=0)(x.copy()),
    "large": lambda f, x: primad.jit(primad.grad(f))(np.resize(x, 400_000)),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("use", USES)
def test_every_use_gives_what_the_recorded_function_gives(use: str) -> None:
    x = np.linspace(-1.0, 1.5, 20)
    expected = primad.recording.tree.leaves(USES[use](mixed(bump), x))
    for vmap in ("sequential", "vectorized"):
        found = primad.recording.tree.leaves(USES[use](mixed(called_back(vmap)), x))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-9, atol=1e-12)
