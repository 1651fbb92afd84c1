"""Products with JᵀJ of residuals at points: right whatever happens to them, and counted where points stay apart."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import primad
from primad.optimize import Residuals
from primad.optimize.gauss_newton.linearized_residuals import AtPoints
from primad.optimize.parameter_vectors import Space
from tests.sweeps import thinned

RNG = np.random.default_rng(3)
X = RNG.normal(size=(200, 2))
ROWS = RNG.integers(0, 2, size=200)
P = {
    "w": RNG.normal(size=(2, 5)),
    "W": RNG.normal(size=(5, 5)),
    "v": RNG.normal(size=(5, 3)),
    "scale": np.array(1.5),
    "b": RNG.normal(size=5),
}


def u(p: Any, x: Any) -> Any:
    return p["scale"] * np.tanh(np.tanh(x @ p["w"] + p["b"]) @ p["W"]) @ p["v"]


def one(p: Any, x: Any) -> Any:
    """The residual of an equation at a point."""
    value, slope, second = primad.taylor(lambda s: u(p, x + s * np.array([1.0, 0.5]))[0], 0.0, 1.0, 2)
    return value * slope - 0.1 * second


def equation(p: Any, x: Any) -> Any:
    return primad.vmap(one, in_axes=(None, 0))(p, x)


@primad.custom_vjp
def half_slope(x: Any) -> Any:
    return np.sin(x)


half_slope.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (0.5 * np.cos(x) * ct,))


def looped(p: Any, x: Any) -> Any:
    return primad.fori_loop(0, 3, lambda i, h: np.tanh(h @ p["W"]), x @ p["w"])[:, 0]


APART: dict[str, Any] = {
    "an equation": equation,
    "components": lambda p, x: u(p, x),
    "a tree": lambda p, x: {"a": equation(p, x), "b": u(p, x)[:, :2] * x, "data": x[:, :1]},
    "a matrix twice": lambda p, x: np.tanh(np.tanh(x @ p["w"] @ p["W"]) @ p["W"]) @ p["b"],
    "elements": lambda p, x: p["scale"] ** 2 * np.sin(p["scale"] * x[:, 0]) * np.abs(x[:, 1]) ** p["scale"],
    "products with the points last": lambda p, x: (p["b"] @ np.tanh(p["w"].T @ x.T)) * p["scale"],
    "three axes": lambda p, x: np.sum(np.sin(x[:, :, None] * p["w"][None]) @ p["W"], axis=(1, 2)),
    "a norm of features": lambda p, x: np.sqrt(np.sum((x @ p["w"]) ** 2, axis=1) + 1.0),
    "sorted features": lambda p, x: np.sort(x @ p["w"], axis=1)[:, 1] * p["scale"],
    "a branch": lambda p, x: np.where(x[:, 0] > 0, u(p, x)[:, 0], u(p, x)[:, 1]),
    "some parameters": lambda p, x: x @ p["w"][:, 0],
}
OTHERS: dict[str, Any] = {
    "a mean": lambda p, x: u(p, x)[:, 0] - np.mean(u(p, x)[:, 1]),
    "a batch norm": lambda p, x: u(p, x)[:, 0] / np.sqrt(np.var(u(p, x)[:, 1]) + 1.0),
    "a kernel": lambda p, x: np.exp(-((u(p, x)[:, :1] - u(p, x)[:, :1].T) ** 2)) @ x[:, 0],
    "differences": lambda p, x: np.diff(u(p, x)[:, 0]),
    "a running sum": lambda p, x: np.cumsum(u(p, x)[:, 0]),
    "points turned round": lambda p, x: u(p, x)[::-1, 0] * x[:, 0],
    "one number": lambda p, x: np.mean(u(p, x)),
    "rows of points": lambda p, x: p["w"][ROWS[: x.shape[0]], 0] * x[:, 0],
    "a loop": looped,
    "many of a point": lambda p, x: np.repeat(u(p, x), 4, axis=1),
}


def dense(function: Any, p: Any) -> tuple[Any, Any]:
    """Return residuals and their Jacobian as a matrix."""

    def joined(q: Any) -> Any:
        return np.concatenate(
            [primad.numpy.reshape(leaf, (-1,)) for leaf in primad.recording.tree.leaves(function(q, X))]
        )

    found = primad.jacfwd(joined)(p)
    r = joined(p)
    return r, np.concatenate([np.reshape(leaf, (r.size, -1)) for leaf in primad.recording.tree.leaves(found)], axis=1)


@cache
def dense_of(name: str) -> tuple[Any, Any]:
    return dense((APART | OTHERS)[name], P)


@pytest.mark.one_in(12)
@thinned(3, memory=[10**9, 20_000, 0], name=[*APART, *OTHERS])
def test_products_are_those_of_the_jacobian(name: str, memory: int) -> None:
    function = (APART | OTHERS)[name]
    r, rows = dense_of(name)
    v = RNG.normal(size=rows.shape[1])
    scale = np.linalg.norm(rows, 2)
    model = Residuals(function, memory=memory)
    at = model.linearized(P, X)
    assert at.value == pytest.approx(0.5 * r @ r, rel=1e-12)
    assert_allclose(at.gradient, rows.T @ r, rtol=1e-9, atol=1e-12 * scale * np.linalg.norm(r))
    for _ in range(2):
        assert_allclose(at.product(v), rows.T @ (rows @ v), rtol=1e-9, atol=1e-12 * scale**2 * np.linalg.norm(v))
    made = model.pieces(P, (X,))
    assert ({type(piece) for piece in made} == {AtPoints}) == (name in APART)
    assert sum(piece.kept_bytes for piece in made) <= memory
    for piece in made:
        if isinstance(piece, AtPoints):  # what is kept lies behind the value and the gradient
            all_bytes = sum(node.type.nbytes for node in piece.early.program.outputs)
            assert piece.kept_bytes == all_bytes - 8 * (1 + v.size)


def test_a_rule_of_ones_own_says_what_the_jacobian_is() -> None:
    model = Residuals(lambda p, x: half_slope(u(p, x)[:, 0]))
    (piece,) = model.pieces(P, (X,))
    assert isinstance(piece, AtPoints)
    _, rows = dense(lambda p, x: 0.5 * np.sin(u(p, x)[:, 0]), P)
    v = RNG.normal(size=rows.shape[1])
    expected = rows.T @ (rows @ v)
    assert_allclose(model.linearized(P, X).product(v), expected, rtol=1e-9, atol=1e-12 * np.linalg.norm(expected))


def test_parameters_and_points_of_other_dtypes() -> None:
    single = primad.recording.tree.map(np.float32, P)
    _, rows = dense(equation, P)
    v = RNG.normal(size=rows.shape[1])
    expected = rows.T @ (rows @ v)
    for params, points in ((single, X), (single, X.astype(np.float32)), (P, X.astype(np.float32))):
        found = Residuals(equation).linearized(params, points).product(v)
        assert_allclose(found, expected, atol=1e-4 * np.linalg.norm(expected))


def test_a_product_takes_the_sums_over_points_only() -> None:
    """Two passes for each of the streams u, u_x, u_xx; where nothing is kept, two more."""
    n, width = 512, 16
    p = {"w": RNG.normal(size=(2, width)), "W": RNG.normal(size=(2, width, width)), "v": RNG.normal(size=(width, 1))}

    def net(p: Any, x: Any) -> Any:
        h = np.tanh(x @ p["w"])
        return (np.tanh(np.tanh(h @ p["W"][0]) @ p["W"][1]) @ p["v"])[0]

    def at_a_point(p: Any, x: Any) -> Any:
        value, slope, second = primad.taylor(lambda y: net(p, y), x, np.array([1.0, 0.5]), 2)
        return value * slope - second

    residual = primad.vmap(at_a_point, in_axes=(None, 0))

    points = RNG.normal(size=(n, 2))
    forward = 2 * n * (2 * width + 2 * width**2 + width)
    for memory, passes in ((10**9, 6), (0, 12)):
        (piece,) = Residuals(residual, memory=memory).pieces(p, (points,))
        assert piece.late.program.cost().matmul_flops <= 1.05 * passes * forward
        assert piece.early.program.cost().matmul_flops <= 1.05 * 9 * forward
    (piece,) = Residuals(residual).pieces(p, (points,))
    assert piece.kept_bytes <= 8 * n * (18 * width + 4), "three streams of inputs and of cotangents of three layers"


def test_steps_do_not_depend_on_threads() -> None:
    wide = np.tile(X, (20, 1))
    v = RNG.normal(size=Space.of(P).size)
    threads = primad.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            primad.set_num_threads(count)
            at = Residuals(equation, memory=10**6).linearized(P, wide)
            found.append((at.value, at.gradient.tobytes(), at.product(v).tobytes()))
    finally:
        primad.set_num_threads(threads)
    assert found[0] == found[1] == found[2]


def test_products_belong_to_the_parameters_as_they_were() -> None:
    v = RNG.normal(size=Space.of(P).size)
    for function, memory in ((equation, 10**9), (equation, 0), (OTHERS["a mean"], 0)):
        params = primad.recording.tree.map(np.array, P)
        at = Residuals(function, memory=memory).linearized(params, X)
        before = at.product(v)
        for leaf in primad.recording.tree.leaves(params):
            leaf *= 0.5
        assert before.tobytes() == at.product(v).tobytes()
