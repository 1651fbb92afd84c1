"""Jacobians of residuals at points: right whether points stay apart or not, and one pullback where they do."""

import numpy as np
import optree
import pytest
from test_counts import cost, network, network_parameters

import primad
from primad.transforms.batching import vmap
from primad.verify.cases import Seeded
from primad.verify.programs import draw_program

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
FEW = X[:4]
WEIGHTS = RNG.normal(size=16)
LAST = RNG.normal(size=(5, 3))
P = {"w": RNG.normal(size=(2, 5)), "v": RNG.normal(size=(5, 3)), "scale": np.array(1.5), "b": RNG.normal(size=5)}


def u(p, x):
    return p["scale"] * np.tanh(x @ p["w"] + p["b"]) @ p["v"]


def laplacian(p, x):
    return np.trace(primad.hessian(lambda x: u(p, x)[0])(x))


def normalized(p, x):
    h = x @ p["w"]
    h = (h - np.mean(h, axis=0)) / np.sqrt(np.var(h, axis=0) + 1e-3)
    return np.tanh(h) @ p["v"][:, 0]


def kernel(p, x):
    h = u(p, x)
    return np.exp(-np.sum((h[:, None] - h[None, :]) ** 2, axis=-1)) @ x[:, 0]


def of_batch(p):
    """Per-point slopes by a sum over points, which only its derivative passes."""
    slopes = primad.grad(lambda x: np.sum(u(p, x)[:, 0]))(X)
    return slopes[:, 0] ** 2 + u(p, X)[:, 1]


APART = {
    "batch axes": (lambda p: u(p, X)[:, 0], 1),
    "components": (lambda p: u(p, X), 3),
    "components in a row": (lambda p: np.reshape(u(p, X), -1), 3),
    "one component": (lambda p: u(p, X) @ np.ones((3, 1)), 1),
    "vmap": (lambda p: primad.vmap(lambda x: u(p, x)[0])(X), 1),
    "vmap of components": (lambda p: primad.vmap(lambda x: u(p, x))(X), 3),
    "two terms": (lambda p: np.concatenate([u(p, X)[:, 0], 3.0 * u(p, FEW)[:, 1]]), 1),
    "weights of terms": (lambda p: WEIGHTS * np.concatenate([u(p, X)[:, 0], u(p, FEW)[:, 1] ** 2]), 1),
    "terms of components": (lambda p: np.concatenate([np.reshape(u(p, X), -1), u(p, FEW)[:, 0]]), 3),
    "terms of a vmap": (lambda p: np.concatenate([primad.vmap(lambda x: u(p, x)[0])(X), u(p, FEW)[:, 1]]), 1),
    "stacked": (lambda p: np.stack([u(p, X)[:, 0], np.sin(X @ p["w"])[:, 1]], axis=-1), 2),
    "statistics of data": (lambda p: (u(p, X) * (X - np.mean(X, 0))[:, :1] / np.max(X))[:, 0], 1),
    "a grid of points": (lambda p: u(p, np.reshape(X, (3, 4, 2)))[..., 0], 1),
    "the grid in a row": (lambda p: np.reshape(u(p, np.reshape(X, (3, 4, 2)))[..., 0], -1), 1),
    "quadrature in each": (lambda p: np.sum(u(p, np.reshape(X, (3, 4, 2)))[..., 0], axis=1), 1),
    "backwards": (lambda p: u(p, X)[::-1, 0], 1),
    "slopes": (of_batch, 1),
    "made of parameters first": (lambda p: np.tanh(X @ (p["w"] / np.sqrt(np.sum(p["w"] ** 2)))) @ p["v"][:, 0], 1),
    "points alone": (lambda p: np.stack([u(p, x)[0] for x in X]), 1),
}
COUPLED = {
    "differences": lambda p: np.diff(u(p, X)[:, 0]),
    "a mean": lambda p: u(p, X)[:, 0] - np.mean(u(p, X)[:, 1]),
    "batch norm": lambda p: normalized(p, X),
    "a kernel matrix": lambda p: kernel(p, X),
    "a running sum": lambda p: np.cumsum(u(p, X), axis=0)[:, 0],
    "sorted": lambda p: np.sort(u(p, X)[:, 0]),
    "a product over points": lambda p: (np.eye(12) + np.outer(X[:, 0], X[:, 1])) @ u(p, X),
    "a factorization": lambda p: primad.numpy.linalg.qr(u(p, X))[1] @ p["v"][:3],
    "every other": lambda p: u(p, X)[::2, 0] + u(p, X)[1::2, 1],
    "picked": lambda p: u(p, X)[np.array([0, 3, 3, 5]), 0],
    "equal lengths": lambda p: np.reshape(u(p, X[:3]) @ u(p, X[:3]).T, (3, 3)),
    "products of grids": lambda p: np.outer(u(p, X)[:, 0], u(p, FEW)[:, 1]),
    "rolled": lambda p: np.roll(u(p, X)[:, 0], 3) * u(p, X)[:, 0],
    "many shifts": lambda p: sum(np.roll(u(p, X)[:, 0], k) * k for k in range(11)),
    "a tree": lambda p: {"inside": u(p, X)[:, 0], "edge": (u(p, FEW), np.sum(p["b"]))},
}
EVERY = {name: function for name, (function, _) in APART.items()} | COUPLED


def close(found, expected):
    for x, y in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(x), y, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", EVERY)
def test_rows_are_those_of_forward_mode(name):
    function = EVERY[name]
    expected = primad.jacfwd(function)(P)
    close(primad.jacrev(function)(P), expected)
    close(primad.jacobian(function)(P), expected)
    close(primad.jit(primad.jacobian(function))(P), expected)


@pytest.mark.parametrize("seed", range(60))
def test_rows_of_random_programs_are_those_of_forward_mode(seed):
    """Every op of the table, alone and at five points that share some inputs, coupled in the end or not."""
    program = draw_program(Seeded(seed))
    rng = np.random.default_rng(seed)
    batched = [bool(rng.integers(2)) for _ in program.inputs]
    if any(batched):
        program = vmap(program, batched, 5)
    arrays = [np.asarray(rng.normal(size=node.type.shape)) for node in program.inputs]

    def function(*values):
        results = optree.tree_leaves(program(*values))
        coupled = [x - np.mean(x, axis=0) if x.ndim and rng_coupled[i] else x for i, x in enumerate(results)]
        return np.concatenate([np.reshape(x, -1) for x in coupled])

    rng_coupled = [bool(rng.integers(3) == 0) for _ in program.outputs]
    for argument in range(len(arrays)):
        expected = primad.jacfwd(function, argument)(*arrays)
        found = primad.jacrev(function, argument)(*arrays)
        scale = 1 + np.abs(np.where(np.isfinite(expected), expected, 0)).max(initial=0)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * scale)


NETWORK = network_parameters([2, 20, 20, 20, 20, 1])
POINTS = np.random.default_rng(0).normal(size=(900, 2))


def poisson(p, x):
    return np.trace(primad.hessian(lambda x: network(p, x))(x)) + np.sin(x[0]) * network(p, x)


def test_residuals_of_a_network_cost_what_gradients_point_by_point_do():
    found = cost(primad.jacobian(lambda p: primad.vmap(lambda x: poisson(p, x))(POINTS)), NETWORK)
    points = cost(lambda p: primad.vmap(lambda x: primad.grad(lambda p: poisson(p, x))(p))(POINTS), NETWORK)
    assert found.matmul_flops <= 1.01 * points.matmul_flops
    assert found.flops <= 1.1 * points.flops and found.bytes <= 1.1 * points.bytes


def in_pullbacks(function):
    """Return what all Jacobians cost beyond the value, in pullbacks."""
    value, rows = cost(function, P), cost(primad.jacobian(function), P)
    pullback = cost(lambda p: primad.vjp(function, p)[1](function(p)), P).flops - value.flops
    return (rows.flops - value.flops) / pullback


@pytest.mark.parametrize("name", APART)
def test_points_that_stay_apart_take_one_pullback(name):
    function, pullbacks = APART[name]
    assert in_pullbacks(function) <= 1.3 * pullbacks + 0.5  # all of twelve points, one by one, take eleven
