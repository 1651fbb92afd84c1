"""vmap: axes in and out, trees, compositions, and agreement with a loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import pytest
from scipy import special

import primad
import primad.numpy as pnp
from primad.numpy.special import logsumexp, softmax
from primad.programs.loops.scan import scan
from primad.simplify import simplify
from primad.transforms.lowering import lower

RNG = np.random.default_rng(3)
X = RNG.standard_normal((4, 3))
Y = RNG.standard_normal((4, 3))
M = RNG.standard_normal((4, 3, 3))
W = RNG.standard_normal((3, 2))
INDEX = np.array([[0, 2], [1, 1], [2, 0], [0, 0]])

FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "elementwise": (lambda x, y: np.sin(x) * y + np.maximum(x, 0.0), (X, Y)),
    "reductions": (lambda x: np.stack([np.sum(x), np.mean(x), np.std(x), np.max(x), np.prod(x), np.median(x)]), (X,)),
    "scans and sorts": (lambda x: np.cumsum(np.sort(x)) + np.argsort(x) + np.argmax(x), (X,)),
    "matmul": (lambda m, x: m @ x + m.T @ x, (M, X)),
    "matmul with a shared matrix": (lambda x: x @ W, (X,)),
    "einsum": (lambda m, x: np.einsum("ij,j,i->", m, x, x), (M, X)),
    "outer": (lambda x, y: np.outer(x, y), (X, Y)),
    "trace and diagonal": (lambda m: np.trace(m) * np.diagonal(m) + np.diag(m), (M,)),
    "diag of a vector": (lambda x: np.diag(x, 1), (X,)),
    "shapes": (lambda m: np.moveaxis(m[::-1, None], 0, 2).reshape(-1)[::2], (M,)),
    "broadcast": (lambda x: x[:, None] * np.ones((3, 2)) + np.arange(2.0), (X,)),
    "concatenate": (lambda x, y: np.concatenate([x, y[1:], np.ones(2)]), (X, Y)),
    "stack": (lambda x, y: np.stack([x, y], axis=-1), (X, Y)),
    "pad": (lambda x: np.pad(x, (1, 2), constant_values=3.0), (X,)),
    "roll, flip, tile": (lambda x: np.tile(np.roll(np.flip(x), 1), 2), (X,)),
    "index": (lambda x: x[1] * x[-1] + x[[0, 2, 2]], (X,)),
    "index with a mapped index": (lambda x, i: x[i], (X, INDEX)),
    "shared array with a mapped index": (lambda i: pnp.take(W, i, axis=0), (INDEX,)),
    "two mapped indices": (lambda m, i: m[i, i[::-1]], (M, INDEX)),
    "take_along_axis": (lambda x, i: np.take_along_axis(x, i, axis=0), (X, INDEX)),
    "add_at with a mapped index": (lambda x, i: pnp.add_at(x, i, np.ones(2)), (X, INDEX)),
    "set_at": (lambda x, y: pnp.set_at(x, [0, 2], y[:2]), (X, Y)),
    "where": (lambda x, y: np.where(x > y, x, 0.0), (X, Y)),
    "softmax": (lambda x: special.expit(x) * softmax(x, axis=0) + logsumexp(x), (X,)),
    "constant result": (lambda x: np.ones(2), (X,)),
    "one output unused": (lambda x, y: x, (X, Y)),
    "norm": (lambda x: np.linalg.norm(x) * x, (X,)),
    "power": (lambda x, y: np.abs(x) ** y + x**3, (X, Y)),
    "casts": (lambda x: (x > 0).astype(np.float32) + np.floor(x).astype(int), (X,)),
    "grad": (primad.grad(lambda x: np.sum(np.sin(x) ** 2)), (X,)),
    "jacfwd": (primad.jacfwd(lambda x: np.tanh(x) @ W), (X,)),
    "jacrev": (primad.jacrev(lambda x: np.tanh(x) @ W), (X,)),
    "jacobian": (primad.jacobian(lambda x: np.tanh(x) @ W), (X,)),
    "hessian": (primad.hessian(lambda x: np.sum(np.sin(x) * x[0])), (X,)),
    "row of a hessian": (lambda x: primad.hessian(lambda x: np.sum(np.sin(x) * x[0]))(x)[1], (X,)),
    "hessian times vector": (lambda x, v: primad.hessian(lambda x: np.sum(np.sin(x) * x[0]))(x) @ v, (X, Y)),
    "trace of hessian": (lambda x: np.trace(primad.hessian(lambda x: np.sum(np.sin(x) * x[0]))(x)), (X,)),
    "laplacian": (primad.laplacian(lambda x: np.sum(np.sin(x) * x[0])), (X,)),
    "jvp": (lambda x, v: primad.jvp(np.sin, (x,), (v,)), (X, Y)),
    "vjp": (lambda x, v: primad.vjp(np.sin, x)[1](v)[0], (X, Y)),
    "hvp": (lambda x, v: primad.hvp(lambda x: np.sum(x**3), x, v), (X, Y)),
    "vmap": (primad.vmap(primad.grad(np.sin)), (X,)),
    "vmap of a product": (primad.vmap(lambda r, x=X: np.sum(r)), (M,)),
    "jit": (primad.jit(lambda x: np.sum(x)), (X,)),
    "linearize": (lambda x, v: primad.linearize(np.sin, x)[1](v), (X, Y)),
    "taylor": (lambda x, v: primad.taylor(np.sin, x, v, 3)[3], (X, Y)),
    "stop_gradient": (primad.grad(lambda x: np.sum(x * primad.stop_gradient(x))), (X,)),
}


def loop(f: Any, args: tuple[Any, ...]) -> Any:
    rows = [f(*[arg[i] for arg in args]) for i in range(len(args[0]))]
    if isinstance(rows[0], tuple):
        return tuple(np.stack([np.asarray(row[k]) for row in rows]) for k in range(len(rows[0])))
    return np.stack([np.asarray(row) for row in rows])


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_agrees_with_a_loop(name: str) -> None:
    f, args = FUNCTIONS[name]
    expected = loop(f, args)
    for g in (primad.vmap(f), primad.jit(primad.vmap(f))):
        found = g(*args)
        if isinstance(expected, tuple):
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
            continue
        assert np.shape(found) == expected.shape and found.dtype == expected.dtype
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_of_a_map(name: str) -> None:
    """d/dX Σ vmap(f)(X)² equals the gradients of the rows."""
    f, args = FUNCTIONS[name]

    def total(x: Any, *rest: Any) -> Any:
        out = primad.vmap(f)(x, *rest)
        return np.sum((out[0] if isinstance(out, tuple) else out) ** 2.0)

    def row(x: Any, *rest: Any) -> Any:
        out = f(x, *rest)
        return np.sum((out[0] if isinstance(out, tuple) else out) ** 2.0)

    if args[0].dtype.kind != "f":
        return
    expected = loop(primad.grad(row), args)
    np.testing.assert_allclose(primad.grad(total)(*args), expected, rtol=1e-10, atol=1e-12)


def test_axes() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.outer(x, y)

    expected = np.einsum("ki,kj->kij", X, Y)
    np.testing.assert_allclose(primad.vmap(f, in_axes=(1, 0))(X.T, Y), expected)
    np.testing.assert_allclose(primad.vmap(f, in_axes=(-1, -2))(X.T, Y), expected)
    np.testing.assert_allclose(primad.vmap(f, in_axes=(0, None))(X, Y[0]), np.einsum("ki,j->kij", X, Y[0]))
    np.testing.assert_allclose(primad.vmap(f, out_axes=1)(X, Y), np.moveaxis(expected, 0, 1))
    np.testing.assert_allclose(primad.vmap(f, out_axes=-1)(X, Y), np.moveaxis(expected, 0, -1))
    two = primad.vmap(lambda x, y: (x, y * 2.0), out_axes=(1, 0))(X, Y)
    np.testing.assert_allclose(two[0], X.T)
    np.testing.assert_allclose(two[1], 2 * Y)


def test_trees() -> None:
    data = {"x": X, "rest": [Y, np.float64(2.0)]}
    axes = {"x": 0, "rest": [0, None]}
    found = primad.vmap(lambda d: {"out": d["x"] @ d["rest"][0] * d["rest"][1]}, in_axes=(axes,))(data)
    np.testing.assert_allclose(found["out"], 2 * np.sum(X * Y, 1))
    found = primad.vmap(lambda d: d["x"], in_axes=({"x": 1},))({"x": X})
    np.testing.assert_allclose(found, X.T)


def test_nested_maps() -> None:
    outer = primad.vmap(primad.vmap(np.multiply, (None, 0)), (0, None))
    np.testing.assert_allclose(outer(X[0], Y[0]), np.outer(X[0], Y[0]))
    matrix = primad.vmap(primad.vmap(np.dot, (None, 1)), (0, None))
    np.testing.assert_allclose(matrix(X, W), X @ W, rtol=1e-14)


def test_compositions() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x[0])

    expected = np.stack([np.asarray(primad.hessian(f)(x)) for x in X])
    np.testing.assert_allclose(primad.jit(primad.vmap(primad.hessian(f)))(X), expected, rtol=1e-13)
    np.testing.assert_allclose(primad.vmap(primad.jit(primad.hessian(f)))(X), expected, rtol=1e-13)
    np.testing.assert_allclose(primad.hessian(lambda x: np.sum(primad.vmap(f)(x)))(X)[1, :, 1], expected[1], rtol=1e-13)
    np.testing.assert_allclose(
        primad.grad(lambda w: np.sum(primad.vmap(lambda x: np.tanh(x @ w))(X)))(W),
        X.T @ (1 - np.tanh(X @ W) ** 2),
        rtol=1e-13,
    )


def test_per_example_gradients() -> None:
    def loss(p: Any, x: Any, y: Any) -> Any:
        return (np.tanh(x @ p["w"]) @ p["v"] - y) ** 2

    p = {"w": W, "v": np.array([1.0, -1.0])}
    y = np.arange(4.0)
    found = primad.vmap(primad.grad(loss), in_axes=(None, 0, 0))(p, X, y)
    for i in range(4):
        one = primad.grad(loss)(p, X[i], y[i])
        np.testing.assert_allclose(found["w"][i], one["w"], rtol=1e-12)
        np.testing.assert_allclose(found["v"][i], one["v"], rtol=1e-12)


def test_empty_and_single_batches() -> None:
    assert primad.vmap(lambda x: np.sum(x) * x)(np.ones((0, 3))).shape == (0, 3)
    assert primad.vmap(primad.grad(lambda x: np.sum(x**2)))(np.ones((1, 3))).shape == (1, 3)
    assert primad.vmap(primad.hessian(lambda x: np.sum(x**2)))(np.ones((0, 3))).shape == (0, 3, 3)
    assert primad.vmap(np.sin)([1.0, 2.0][0] * np.ones(2)).shape == (2,)


@pytest.mark.parametrize("axes", [(0,), [0, None, 0], (), "ab", {"x": 0}])
@pytest.mark.parametrize("where", ["in_axes", "out_axes"])
def test_axes_that_are_not_as_many_as_values_are_refused(axes: Any, where: str) -> None:
    with pytest.raises(primad.ShapeError, match=r"do not (match|fit)"):
        primad.vmap(lambda x, y: (x, y), **{where: axes})(X, Y)


def _step(carry: Any, row: Any) -> Any:
    """Two values of which only the second depends on the second row."""
    x, y = carry
    first, second = row
    x = np.cos(x) * first
    return (x, y + x * second), (x * x, y)


def _loop(x: Any, y: Any, rows: Any) -> Any:
    return primad.scan(_step, (x, y), rows)


def _condition(carry: Any) -> Any:
    return np.sum(carry[0]) < 4.0


WITH_SEVERAL: dict[str, Any] = {
    "a scan": _loop,
    "a scan backwards": lambda x, y, rows: primad.scan(_step, (x, y), rows, reverse=True),
    "a scan in a scan": lambda x, y, rows: primad.scan(lambda c, _: _loop(*c, rows), (x, y), None, length=2),
    "a program that is called": primad.jit(_loop),
    "a loop with a condition": lambda x, y, rows: primad.while_loop(
        _condition, lambda c: (c[0] + 0.7, c[1] * rows[0][0] + c[0] * rows[1][0]), (x, y), max_steps=20
    ),
}


@pytest.mark.parametrize("name", WITH_SEVERAL)
def test_results_that_do_not_depend_on_the_stack_are_computed_once(name: str) -> None:
    """Of an op with several results, as a loop, those that no stacked operand reaches have no axis of the stack."""
    function = WITH_SEVERAL[name]
    x, y, first, second = X[0], Y[0], RNG.standard_normal((5, 3)), RNG.standard_normal((4, 5, 3))
    program = primad.trace(lambda x, y, first, second: function(x, y, (first, second)))(x, y, first, second[0])
    batched = primad.transforms.vmap(program, [False, False, False, True], 4, keep_unbatched=True)
    alone = [type == new for type, new in zip(program.out_types, batched.out_types, strict=True)]
    assert alone == ([True, False] if "condition" in name else [True, False, True, False])
    rows = [optree.tree_leaves(program(x, y, first, each)) for each in second]
    for i, (found, on) in enumerate(zip(optree.tree_leaves(batched(x, y, first, second)), alone, strict=True)):
        expected = rows[0][i] if on else np.stack([row[i] for row in rows])
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_hessian_carries_what_directions_share_once() -> None:
    """The loop that pulls tangents back carries the cotangent of the value without an axis of directions."""

    def loss(strengths: Any) -> Any:
        return np.sum(primad.scan(lambda x, s: (np.sin(x * s) + x, None), X[0], strengths)[0] ** 2)

    strengths = RNG.standard_normal(6)
    program = simplify(lower(primad.trace(lambda s: primad.hessian(loss)(s)[:])(strengths)))
    loops = [dict(node.params) for node in program.nodes if node.op is scan]
    carried = [
        [type.size for type in loop["of"].program.in_types[: loop["carry"]]] for loop in loops if loop["reverse"]
    ]
    assert carried == [[3, 6 * 3]]
