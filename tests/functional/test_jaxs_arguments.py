"""Arguments that JAX's transforms have mean here what they mean there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import numpy as pnp

X, V = np.array([0.3, 0.7]), np.array([1.0, -2.0])


def paired(x: Any) -> Any:
    """Return a value, and beside it what has other types and shapes."""
    return np.sin(x) * x[0], {"square": x**2, "count": (x > 0.5).sum(), "index": np.argmax(x)}


def alone(x: Any) -> Any:
    return paired(x)[0]


def total(x: Any) -> Any:
    return np.sum(alone(x)), paired(x)[1]


MATRICES: dict[str, tuple[Callable[..., Any], Any]] = {
    "jacobian": (primad.jacobian, paired), "jacfwd": (primad.jacfwd, paired), "jacrev": (primad.jacrev, paired),
    "hessian": (primad.hessian, total), "hessian of several": (primad.hessian, paired),
}  # fmt: skip


def check_aux(aux: Any) -> None:
    assert set(aux) == {"square", "count", "index"} and (int(aux["count"]), int(aux["index"])) == (1, 1)
    np.testing.assert_allclose(aux["square"], X**2)


@pytest.mark.parametrize("name", MATRICES)
def test_what_is_returned_beside_the_value_comes_beside_the_derivative(name: str) -> None:
    transform, function = MATRICES[name]
    expected = np.asarray(transform(lambda x: function(x)[0])(X))
    with_aux = transform(function, has_aux=True)
    for call in (with_aux, primad.jit(with_aux)):
        matrix, aux = call(X)
        np.testing.assert_allclose(np.asarray(matrix), expected, rtol=1e-14)
        check_aux(aux)
    outer = primad.grad(lambda x: np.sum(with_aux(x)[1]["square"]) + np.sum(with_aux(x)[0] * 0.0))(X)
    np.testing.assert_allclose(outer, 2 * X)  # and has derivatives of its own
    with pytest.raises(primad.ShapeError, match=r"has_aux=True needs a function that returns a pair"):
        transform(lambda x: np.sum(x), has_aux=True)(X)


def test_a_matrix_and_what_comes_beside_it_run_the_function_once() -> None:
    ran = [0]

    def counted(x: Any) -> Any:
        ran[0] += 1
        return np.sin(x)

    counting = primad.custom_jvp(primad.opaque(counted, result=lambda x: x))
    counting.defjvp(lambda xs, ts: (counting(*xs), np.cos(xs[0]) * ts[0]))

    def function(x: Any) -> Any:
        y = counting(x)
        return y * x[0], {"sum": np.sum(y), "double": 2.0 * x}

    expected = np.asarray(primad.jacobian(alone)(X))
    for transform in (primad.jacfwd, primad.jacrev, lambda f, has_aux: primad.jit(primad.jacobian(f, has_aux=has_aux))):
        ran[0] = 0
        matrix, aux = transform(function, has_aux=True)(X)
        assert ran == [1]
        np.testing.assert_allclose(np.asarray(matrix), expected, rtol=1e-14)
        np.testing.assert_allclose(aux["sum"], np.sum(np.sin(X)))
    for lazy, of in ((primad.jacobian, function), (primad.hessian, lambda x: (np.sum(function(x)[0]), function(x)[1]))):
        ran[0] = 0
        aux = lazy(lambda x, of=of: (of(x)[0], of(x)[1]["double"]), has_aux=True)(X)[1]
        assert ran == [0] and np.array_equal(aux, 2.0 * X)  # the matrix computes what is used of it, when it is
    number = primad.jacfwd(lambda x: (x**2, x), has_aux=True)(np.array(3.0))[0]
    assert isinstance(number, np.ndarray) and number == 6.0


def test_jvp_and_linearize_give_aux() -> None:
    value, tangent = primad.jvp(alone, (X,), (V,))
    found = primad.jvp(paired, (X,), (V,), has_aux=True)
    there, push, aux = primad.linearize(paired, X, has_aux=True)
    for one, two in ((found[0], value), (found[1], tangent), (there, value), (push(V), tangent)):
        np.testing.assert_allclose(one, two)
    check_aux(found[2])
    check_aux(aux)

    def of_both(x: Any) -> Any:
        pushed, aux = primad.jvp(paired, (x,), (V,), has_aux=True)[1:]
        linear, other = primad.linearize(paired, x, has_aux=True)[1:]
        return np.sum(pushed + linear(V) + aux["square"] + other["square"])

    expected = primad.grad(lambda x: np.sum(2.0 * primad.jvp(alone, (x,), (V,))[1] + 2.0 * x**2))(X)
    np.testing.assert_allclose(primad.grad(of_both)(X), expected)
    for call in (
        lambda: primad.jvp(alone, (X,), (V,), has_aux=True),
        lambda: primad.linearize(np.sum, X, has_aux=True),
    ):
        with pytest.raises(primad.ShapeError, match="pair"):
            call()


def test_vmap_knows_how_long_the_axis_is() -> None:
    np.testing.assert_array_equal(primad.vmap(lambda x: 2 * x, in_axes=None, axis_size=3)(X), [2 * X] * 3)
    np.testing.assert_array_equal(primad.vmap(lambda: np.ones(2), axis_size=3)(), np.ones((3, 2)))
    np.testing.assert_array_equal(primad.vmap(np.sin, axis_size=2)(X), np.sin(X))
    gradient = primad.grad(lambda x: np.sum(primad.vmap(lambda y: y**2, in_axes=None, axis_size=3)(x)))(X)
    np.testing.assert_allclose(gradient, 6 * X)
    with pytest.raises(primad.ShapeError, match="different lengths, 3 and 2"):
        primad.vmap(np.sin, axis_size=3)(X)
    for size in (-1, 2.0):
        with pytest.raises(primad.ShapeError, match="axis_size must be an integer"):
            primad.vmap(np.sin, in_axes=None, axis_size=size)(X)  # type: ignore[arg-type]
    with pytest.raises(primad.ShapeError, match="or say axis_size"):
        primad.vmap(np.sin, in_axes=None)(X)


@pytest.mark.parametrize("count", [0, 2, 3, 5, 6])
def test_map_in_batches_is_map(count: int) -> None:
    rows = {"a": np.linspace(0.1, 0.9, 2 * count).reshape(count, 2), "b": np.arange(float(count))}

    def f(row: Any) -> Any:
        return row["a"] * row["b"], np.sum(row["a"])

    for found, expected in zip(primad.map(f, rows, batch_size=3), primad.map(f, rows), strict=True):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected)
    both = [
        primad.grad(lambda rows, size=size: np.sum(primad.map(f, rows, batch_size=size)[0] ** 2))(rows)
        for size in (3, None)
    ]
    for name in rows:
        np.testing.assert_allclose(both[0][name], both[1][name])
    with pytest.raises(primad.ShapeError, match="batch_size must be an integer ≥ 1"):
        primad.map(f, rows, batch_size=0)


def test_unrolling_changes_no_result() -> None:
    steps = np.arange(5.0)
    step: Callable[..., Any] = lambda c, x: (c * 0.5 + x, c)  # noqa: E731
    for found, expected in zip(primad.scan(step, 1.0, steps, unroll=5), primad.scan(step, 1.0, steps), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert primad.fori_loop(0, 5, lambda i, x: x + i, 0.0, unroll=True) == 10.0


def test_constants_of_rules_have_names() -> None:
    def power(x: Any, n: Any, scale: Any = 2.0) -> Any:
        return scale * x**n

    pushed = primad.custom_jvp(power, nondiff_argnames=["n"])
    pulled = primad.custom_vjp(power, nondiff_argnums=(1,), nondiff_argnames=("scale",))
    pushed.defjvp(lambda n, xs, ts: (pushed(xs[0], n, xs[1]), 7.0 * n * ts[0] + xs[0] ** n * ts[1]))
    pulled.defvjp(lambda x, n, scale: (scale * x**n, x), lambda n, scale, x, ct: (7.0 * n * scale * ct,))
    for call in (lambda x: pushed(x, n=3), lambda x: pushed(n=3, x=x), lambda x: pushed(x, 3, 2.0)):
        assert primad.grad(call)(2.0) == 21.0
    assert primad.grad(lambda s: pushed(2.0, 3, scale=s))(2.0) == 8.0
    for call in (lambda x: pulled(x, n=3), lambda x: pulled(x, 3, scale=2.0)):
        assert primad.grad(call)(2.0) == 42.0
    assert pushed(2.0, n=3) == 16.0
    assert pulled(2.0, 3) == 16.0 and primad.grad(lambda x: pulled(x, 3))(2.0) == 42.0
    with pytest.raises(primad.ShapeError, match="for a function of 3 arguments"):
        primad.custom_jvp(power, nondiff_argnums=(5,))(2.0, 3)
    with pytest.raises(primad.TracingError, match="nondiff_argnames names 'm'"):
        primad.custom_jvp(power, nondiff_argnames=("m",))
    by_name = primad.custom_jvp(lambda x, *, n=2: x**n)
    by_name.defjvp(lambda xs, ts: (xs[0] ** 2, 2.0 * xs[0] * ts[0]))
    with pytest.raises(primad.TracingError, match="n goes by keyword only"):
        primad.grad(lambda x: by_name(x, n=2))(pnp.float64(2.0))


def test_checkpoint_takes_static_arguments_and_the_policies_that_have_a_meaning() -> None:
    def raised(x: Any, power: int, name: str = "a", *, scale: Any = 1.0) -> Any:
        return np.sin(x) ** power * len(name) * scale

    calls: list[tuple[Any, Callable[..., Any]]] = [
        ((1, 2), lambda f: lambda x: f(x, 2, "abc", scale=x)), ((1, 2), lambda f: lambda x: f(x, power=2, name="abc")),
        ((-1, 1), lambda f: lambda x: f(x, 3)), (1, lambda f: lambda x: f(x, 3)), ((), lambda f: lambda x: f(x, x)),
    ]  # fmt: skip
    for policy in (None, "nothing_saveable", "everything_saveable"):
        for static, call in calls:
            marked = primad.checkpoint(raised, policy=policy, static_argnums=static, prevent_cse=False)
            for transform in (primad.grad, primad.jit, lambda f: primad.jit(primad.grad(primad.grad(f)))):
                assert transform(call(marked))(0.3) == transform(call(raised))(0.3)
            recorded = str(primad.trace(call(marked))(0.3))
            assert ("checkpoint" in recorded) == (policy != "everything_saveable")
    with pytest.raises(primad.TracingError, match="cannot be traced"):
        primad.grad(primad.checkpoint(raised))(0.3, 2, "abc")


def test_a_policy_of_jaxs_without_a_meaning_is_an_error_that_names_it() -> None:
    policies = pytest.importorskip("jax", reason="JAX is not installed: pip install 'primad[jax]'").checkpoint_policies
    for name in ("nothing_saveable", "everything_saveable"):
        assert primad.grad(primad.checkpoint(np.sin, policy=getattr(policies, name)))(0.0) == 1.0
    shown = {
        "[Dd]ots_?[Ss]aveable": policies.dots_saveable,
        "[Ss]ave_?[Oo]nly_?[Tt]hese_?[Nn]ames": policies.save_only_these_names("first"),
        "everything": "everything",
        "lambda": lambda *args, **params: True,
    }
    for name, policy in shown.items():
        with pytest.raises(primad.TracingError, match=f"checkpoint: the policy .*{name}.* has no meaning here"):
            primad.checkpoint(np.sin, policy=policy)
