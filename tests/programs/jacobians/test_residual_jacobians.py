"""Jacobians of residuals at points: right whether points stay apart or not, and one pullback where they do."""

from functools import cache

import numpy as np
import optree
import pytest
from numpy.testing import assert_allclose

import primad
from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap, Factors, Strided
from primad.programs.jacobians.jacobian_programs import restricted
from primad.programs.jacobians.pullback_rows import pull_rows
from primad.recording.tracing import program_of
from primad.runtime.executors.dispatch import prepare
from primad.runtime.tiling import block_sums, tiled_plan
from primad.simplify import simplify
from primad.simplify.slice_pushdown import take_early
from primad.transforms.batching import vmap
from primad.transforms.lowering import inline
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.random_programs import draw_program
from tests.sweeps import thinned
from tests.transforms.test_counts import cost, network, network_parameters

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
FEW = X[:4]
WEIGHTS = RNG.normal(size=16)
TAKEN = np.array([3, 11, 3, 0, 7, 7, 5])
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


def waves(p):
    """Complex numbers, of one value of the network at each point and of its conjugate."""
    h = u(p, X) @ np.array([1.0, 1j, 0.5 - 0.3j])
    return np.exp(1j * h.real) / (2 + np.conj(h))


def filtered(p):
    """Low frequencies of what a layer has at each point, as in an operator of Fourier's modes."""
    low = np.fft.rfft(np.tanh(X @ p["w"]), axis=1)[:, :2]
    return np.fft.irfft(low * (p["b"][:2] + 1j * p["b"][2:4]), 5, axis=1) @ p["v"][:, 0]


TAKING = {  # functions of values at points, and how many pullbacks their Jacobians take
    "rows": (lambda y: y[TAKEN, 0], 1),
    "rows of components": (lambda y: y[TAKEN], 3),
    "columns": (lambda y: y.T[:, TAKEN], 3),
    "rows many times": (lambda y: np.take(y[:, 0], np.arange(60) % 12), 1),
    "rows from the end": (lambda y: y[-1 - TAKEN, 1], 1),
    "chosen rows": (lambda y: y[X[:, 0] > -1, 0], 1),
    "rows in a table": (lambda y: y[np.stack([TAKEN, TAKEN[::-1], TAKEN]), 0], 1),
    "elements of each row": (lambda y: np.take_along_axis(y, np.reshape(np.arange(60), (12, 5)) % 3, 1), 3),
    "rows twice": (lambda y: y[TAKEN, 0] * np.sin(y[TAKEN[::-1], 1]), 2),
    "rows of rows": (lambda y: np.exp(y[TAKEN, 0])[[0, 4, 4, 4, 1]], 1),
    "rows beside all": (lambda y: np.concatenate([y[:, 0], np.cos(y[TAKEN, 0]) ** 2]), 1),
    "lengths of rows": (lambda y: np.sqrt(np.sum(y[TAKEN] ** 2, axis=1)), 3),
    "sums of rows": (lambda y: np.sum(y[np.stack([TAKEN, (TAKEN + 1) % 12]), 0], axis=0), 2),
    "rows where they are chosen": (lambda y: np.where(X[TAKEN, 0] > 0, y[TAKEN, 0], 0), 1),
}
APART = {
    "batch axes": (lambda p: u(p, X)[:, 0], 1),
    "components": (lambda p: u(p, X), 3),
    "components in a row": (lambda p: np.reshape(u(p, X), -1), 3),
    "one component": (lambda p: u(p, X) @ np.ones((3, 1)), 1),
    "vmap": (lambda p: primad.vmap(lambda x: u(p, x)[0])(X), 1),
    "vmap of components": (lambda p: primad.vmap(lambda x: u(p, x))(X), 3),
    "two terms": (lambda p: np.concatenate([u(p, X)[:, 0], 3.0 * u(p, FEW)[:, 1]]), 1),
    "a dict of terms": (lambda p: {"inside": u(p, X)[:, 0], "edge": 3.0 * u(p, FEW)[:, 1]}, 1),
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
    "complex numbers at each": (lambda p: waves(p).imag, 1),
    "spectra of each": (filtered, 1),
    "points alone": (lambda p: np.stack([u(p, x)[0] for x in X]), 1),
}
COUPLED = {
    "a sum of complex numbers": lambda p: np.real(np.exp(1j * X[:, 0]) * np.sum(waves(p))),
    "a Fourier transform": lambda p: np.abs(np.fft.fft(u(p, X)[:, 0])) ** 2,
    "rows of complex numbers": lambda p: (np.conj(waves(p))[TAKEN] * waves(p)[TAKEN[::-1]]).imag,
    "lengths of a product over points": lambda p: np.abs((np.eye(12) + 1j * np.outer(X[:, 0], X[:, 1])) @ waves(p)),
    "grids cut otherwise": lambda p: np.reshape(np.reshape(u(p, X)[:, 0], (6, 2)) ** 2, (2, 6)),
    "differences": lambda p: np.diff(u(p, X)[:, 0]),
    "a mean": lambda p: u(p, X)[:, 0] - np.mean(u(p, X)[:, 1]),
    "batch norm": lambda p: normalized(p, X),
    "a kernel matrix": lambda p: kernel(p, X),
    "a running sum": lambda p: np.cumsum(u(p, X), axis=0)[:, 0],
    "sorted": lambda p: np.sort(u(p, X)[:, 0]),
    "a product over points": lambda p: (np.eye(12) + np.outer(X[:, 0], X[:, 1])) @ u(p, X),
    "a factorization": lambda p: primad.numpy.linalg.qr(u(p, X))[1] @ p["v"][:3],
    "every other": lambda p: u(p, X)[::2, 0] + u(p, X)[1::2, 1],
    "equal lengths": lambda p: np.reshape(u(p, X[:3]) @ u(p, X[:3]).T, (3, 3)),
    "products of grids": lambda p: np.outer(u(p, X)[:, 0], u(p, FEW)[:, 1]),
    "rolled": lambda p: np.roll(u(p, X)[:, 0], 3) * u(p, X)[:, 0],
    "many shifts": lambda p: sum(np.roll(u(p, X)[:, 0], k) * k for k in range(11)),
    "a tree": lambda p: {"inside": u(p, X)[:, 0], "edge": (u(p, FEW), np.sum(p["b"]))},
    "rows of differences": lambda p: np.diff(u(p, X)[:, 0])[TAKEN - 1],
    "rows of a running sum": lambda p: np.cumsum(u(p, X), axis=0)[TAKEN, 0],
    "rows of a product over points": lambda p: np.sin((np.eye(12) + np.outer(X[:, 0], X[:, 1])) @ u(p, X))[TAKEN],
    "a mean of rows": lambda p: u(p, X)[TAKEN, 0] - np.mean(u(p, X)[TAKEN[2:], 1]),
    "rows that others are added to": lambda p: np.add.reduceat(u(p, X)[TAKEN, 0], [0, 3, 4]) * u(p, X)[TAKEN[:3], 2],
}
OF_ROWS = {name: lambda p, of=of: of(u(p, X)) for name, (of, _) in TAKING.items()}
EVERY = {name: function for name, (function, _) in APART.items()} | COUPLED | OF_ROWS


def close(found, expected):
    for x, y in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
        assert_allclose(np.asarray(x), y, rtol=1e-9, atol=1e-10)


def plain(function):
    """Return a function that runs op by op: what others are compared with is not compiled."""
    return primad.jit(function, backend="reference")


@cache
def by_forward_mode(name):
    return plain(primad.jacfwd(EVERY[name]))(P)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", EVERY)
def test_rows_are_those_of_forward_mode(name):
    function, expected = EVERY[name], by_forward_mode(name)
    close(plain(primad.jacrev(function))(P), expected)
    close(primad.jacobian(function)(P), expected)
    close(primad.jit(primad.jacobian(function))(P), expected)


@pytest.mark.one_in(4)
@thinned(2, name=list(EVERY))
def test_rows_of_a_computation_in_two_precisions_are_those_of_forward_mode(name):
    """Parameters in float32 at points in float64: the pullback ends in casts."""
    function = EVERY[name]
    single = {key: np.asarray(value, np.float32) for key, value in P.items()}
    modes = primad.jacrev(function), plain(primad.jacfwd(function))
    leaves = zip(*(optree.tree_leaves(mode(single)) for mode in modes), strict=True)
    for found, expected in leaves:
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * (1 + np.abs(expected).max()))


@pytest.mark.one_in(4)
@thinned(4, seed=range(40))
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
        return np.concatenate([np.reshape(end(x) if x.ndim else x, -1) for x, end in zip(results, ends, strict=True)])

    def some(x):
        return np.concatenate([x, 2.0 * x])[rng_rows(x)] * x[rng_rows(x)]

    def rng_rows(x):
        return np.random.default_rng(seed).integers(-len(x), len(x), 2 * len(x) - 1)

    kinds = [lambda x: x - np.mean(x, axis=0), lambda x: x, lambda x: x[rng_rows(x)], some]
    ends = [kinds[rng.integers(len(kinds))] for _ in program.outputs]
    defined = ~np.isnan(function(*arrays))  # a remainder by 0 has no derivative, and each mode its own NaNs
    for argument in range(len(arrays)):
        expected = plain(primad.jacfwd(function, argument))(*arrays)[defined]
        found = primad.jacrev(function, argument)(*arrays)[defined]
        scale = 1 + np.abs(np.where(np.isfinite(expected), expected, 0)).max(initial=0)
        assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * scale)


@pytest.mark.one_in(12)
@thinned(2, name=[name for name in EVERY if name not in ("a tree", "a dict of terms")])
def test_rows_and_columns_that_are_asked_for(name):
    function, expected = EVERY[name], by_forward_mode(name)

    def parts(of):
        return [optree.tree_map(lambda j: j[index], of()) for index in (-1, slice(1, 3), slice(0, None, 2))]  # noqa: B023

    close(plain(lambda p: parts(lambda: primad.jacobian(function)(p)))(P), parts(lambda: expected))
    close(primad.jacobian(function)(P)["w"][1:, ..., 3:5], expected["w"][1:, ..., 3:5])


@thinned(2, seed=range(40))
def test_parts_of_results_of_random_programs_are_those_of_the_whole(seed):
    """What is restricted to a block of its result is that of the whole, for every op and along every axis."""
    rng = np.random.default_rng(seed)
    program = vmap(drawn := draw_program(Seeded(seed)), [bool(rng.integers(3)) for _ in drawn.inputs], 5)
    arrays = [np.asarray(rng.normal(size=node.type.shape)) for node in program.inputs]
    for i, output in enumerate(program.outputs):
        alone = program_of(program.in_types, lambda *xs, i=i: [inline(program, xs)[i]])
        ends = [sorted(rng.choice(n + 1, 2, replace=False)) for n in output.type.shape]
        block = tuple([(int(a), int(b), 1) for a, b in ends])
        part, whole = restricted(alone, 0, 0, block)(*arrays), np.asarray(alone(*arrays))
        assert_allclose(np.asarray(part), whole[tuple([slice(*bounds) for bounds in block])], rtol=1e-9, atol=1e-12)


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


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", APART)
def test_points_that_stay_apart_take_one_pullback(name):
    function, pullbacks = APART[name]
    assert in_pullbacks(function) <= 1.3 * pullbacks + 0.5  # all of twelve points, one by one, take eleven


DEEP = network_parameters([2, 40, 40, 40, 3])


def deep(p, x):
    *hidden, (last, shift) = p
    for weights, bias in hidden:
        x = np.tanh(x @ weights + bias)
    return x @ last + shift


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", TAKING)
def test_rows_that_are_taken_often_are_pulled_back_once(name):
    """A pullback of all points, and a product with each row that is taken: one by one they are as many pullbacks."""
    of, pullbacks = TAKING[name]

    def value(p):
        return deep(p, X)

    jacobian = primad.jacobian(lambda p: of(value(p)))
    size = sum(leaf.size for leaf in optree.tree_leaves(jacobian(DEEP)))
    rows = cost(jacobian, DEEP).flops - cost(value, DEEP).flops
    pullback = cost(lambda p: primad.vjp(value, p)[1](value(p)), DEEP).flops - cost(value, DEEP).flops
    assert rows <= 1.2 * pullbacks * pullback + 3 * pullbacks * size


def one_by_one(function):
    """Return a function of parameters that is mapped over points, and what is mapped."""
    return lambda p: primad.vmap(lambda x: function(lambda p: u(p, x)[0], p))(X)


@pytest.mark.parametrize(
    ("written", "point"),
    [
        (lambda r: lambda p: primad.hessian(r)(p), lambda r, p: primad.hessian(r)(p)),
        (lambda r: lambda p: primad.jvp(primad.jacrev(r), (p,), (P,))[1], lambda r, p: primad.hvp(r, p, P)),
    ],
    ids=["hessian", "hessian times a vector"],
)
def test_second_derivatives_at_points_cost_what_they_do_point_by_point(written, point):
    def residuals(p):
        return u(p, X)[:, 0]

    found, expected = written(residuals), one_by_one(point)
    close(found(P), expected(P))
    assert cost(found, P).flops <= 1.1 * cost(expected, P).flops


def test_rows_that_are_asked_for_cost_their_share():
    def residuals(w):
        return np.concatenate([np.tanh(POINTS @ w) @ LAST[:, 0], np.sin(POINTS @ w)[:, 0]])

    whole = cost(primad.jacobian(residuals), P["w"]).flops
    assert cost(lambda w: primad.jacobian(residuals)(w)[3:12], P["w"]).flops <= 0.011 * whole
    assert cost(lambda w: primad.jacobian(residuals)(w)[-1], P["w"]).flops <= 0.002 * whole
    assert cost(lambda w: primad.hessian(residuals)(w)[5], P["w"]).flops <= 0.01 * whole
    forward = cost(residuals, P["w"]).flops
    assert cost(lambda w: primad.jacobian(residuals)(w)[:, 1, 3], P["w"]).flops <= 3 * forward
    assert cost(lambda w: primad.jacobian(residuals)(w)[:, 1, 2:4], P["w"]).flops <= 5 * forward


def test_no_copies_of_the_parameters_are_made():
    """What is as large as a layer's weights for each point is made of them and of the points, and never a broadcast."""
    written = {
        "vmap": lambda p: primad.vmap(lambda x: poisson(p, x))(POINTS),
        "batch axes": lambda p: network(p, POINTS) ** 2,
    }
    for residuals in written.values():
        program = primad.simplify(primad.trace(lambda p, r=residuals: primad.jacobian(r)(p)[1])(NETWORK))
        made = [node for node in program.nodes if node.op is ops.broadcast]
        assert max(node.type.size for node in made) <= 900 * 20 * 3 < 900 * 20 * 20


def test_products_with_the_jacobian_of_residuals():
    def residuals(z):
        return np.tanh(POINTS @ np.reshape(z, (2, 5))) @ LAST[:, 0]

    z = np.reshape(P["w"], -1)
    forward, rows = cost(residuals, z).flops, cost(primad.jacobian(residuals), z)

    def gram(z):
        jacobian = primad.jacobian(residuals)(z)
        return jacobian.T @ jacobian

    assert cost(gram, z).flops - rows.flops == 2 * 900 * 10 * 10
    assert cost(lambda z: primad.jacobian(residuals)(z) @ z, z).flops <= 3 * forward
    assert cost(lambda z: POINTS[:, 0] @ primad.jacobian(residuals)(z), z).flops <= 3 * forward
    dense = primad.jacfwd(residuals)(z)
    close(primad.jit(gram)(z), dense.T @ dense)


def test_the_matrix_of_a_least_squares_step_takes_memory_that_does_not_grow_with_the_points():
    """One sum and a block of rows, whatever the number of points; without blocks 16 sums."""
    parameters = network_parameters([2, 24, 24, 1])

    def step(p, x):
        rows = primad.jacobian(lambda p: primad.vmap(lambda y: poisson(p, y))(x))(p)
        rows = np.concatenate([np.reshape(leaf, (x.shape[0], -1)) for leaf in optree.tree_leaves(rows)], axis=1)
        return rows.T @ rows

    size = sum(leaf.size for leaf in optree.tree_leaves(parameters))
    found = {}
    for n in (1000, 10_000, 1_000_000):
        program = primad.trace(step)(parameters, primad.ArrayType((n, 2), float))
        plan = tiled_plan.make_plan(simplify(program.hoisted()))
        assert isinstance(plan.tiles, block_sums.BlockTiles) and plan.tiles.length * size * 8 <= 17e6
        found[n] = plan.peak_bytes
    assert max(found.values()) <= 25e6, "the matrix has 4e6, a block of rows 17e6, all rows 5.6e9"


@pytest.mark.parametrize("most", [10, 100])
def test_a_sum_over_points_that_residuals_depend_on_adds_a_pullback_for_each_of_its_elements(most):
    def residuals(w):
        h = np.tanh(POINTS[:most] @ w)
        return (h - np.mean(h, axis=0)) @ LAST[:, 0] * np.mean(h)

    value = cost(residuals, P["w"]).flops
    flops = cost(primad.jacrev(residuals), P["w"]).flops - value
    pullback = cost(lambda w: primad.vjp(residuals, w)[1](np.ones(most)), P["w"]).flops - value
    assert flops <= min(most, 1 + 5 + 1) * 1.5 * pullback


def test_rows_keep_the_dtype():
    p = optree.tree_map(lambda x: x.astype(np.float32), P)
    x = X.astype(np.float32)
    found = primad.jacobian(lambda p: np.concatenate([u(p, x)[:, 0], u(p, x[:2])[:, 1]]))(p)
    assert all(j.dtype == np.float32 for j in optree.tree_leaves(found))
    expected = primad.jacfwd(lambda p: np.concatenate([u(p, X)[:, 0], u(p, X[:2])[:, 1]]))(P)
    for a, b in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
        assert_allclose(np.asarray(a), b, rtol=1e-4, atol=1e-5)


def test_rows_in_other_traces():
    def residuals(p, x):
        return primad.vmap(lambda x: u(p, x)[0])(x)

    def square(p, x):
        return np.sum(primad.jacobian(residuals)(p, x)["w"] ** 2)

    def dense(p, x):
        return np.sum(primad.jacfwd(residuals)(p, x)["w"] ** 2)

    close(primad.grad(square)(P, X), primad.jit(primad.grad(dense))(P, X))
    stacked = np.stack([X, 2 * X])
    close(primad.vmap(square, in_axes=(None, 0))(P, stacked), [np.array([dense(P, X), dense(P, 2 * X)])])
    close(primad.hessian(square)(P, X)["b"]["w"], primad.hessian(dense)(P, X)["b"]["w"])
    both = primad.jacobian(residuals, argnums=(0, 1))(P, X)
    close(both, primad.jacfwd(residuals, argnums=(0, 1))(P, X))


@pytest.mark.exhaustive
def test_explain_names_what_couples_points():
    def explained(function):
        return primad.explain(lambda p: primad.jacobian(function)(p)["w"], P).coupled

    apart = [APART[name][0] for name in ("vmap", "terms of components", "statistics of data")]
    assert not any(map(explained, [*apart, OF_ROWS["rows"], OF_ROWS["lengths of rows"]]))
    (mean,) = explained(COUPLED["a mean"])
    assert "sum at " in mean and "test_residual_jacobians.py" in mean and "adds up" in mean
    (running,) = explained(COUPLED["a running sum"])
    assert "cumsum at " in running and "mixes" in running
    assert "cumsum" in str(primad.explain(lambda p: primad.jacobian(COUPLED["a running sum"])(p)["w"], P))
    assert any("contract" in line for line in explained(COUPLED["a kernel matrix"]))
    for name in ("batch norm", "sorted", "a factorization"):
        lines = explained(COUPLED[name])
        assert lines and any("test_residual_jacobians.py" in line for line in lines), name


@pytest.mark.exhaustive
def test_an_opaque_function_between_points_is_named():
    """It has no derivative; with one of the user's it goes the general way, and `explain` says so."""
    mixed = primad.opaque(lambda y: y[::-1], result=lambda y: y)
    with pytest.raises(primad.NotDifferentiableError, match="opaque"):
        primad.jacrev(lambda p: mixed(u(p, X)[:, 0]))(P)
    turned = primad.custom_vjp(lambda y: mixed(y))
    turned.defvjp(lambda y: (mixed(y), None), lambda kept, ct: (mixed(ct),))
    found = primad.jacrev(lambda p: turned(u(p, X)[:, 0]))(P)
    close(found, primad.jacfwd(lambda p: u(p, X)[::-1, 0])(P))
    lines = primad.explain(lambda p: primad.jacobian(lambda p: turned(u(p, X)[:, 0]))(p)["w"], P).coupled
    assert any("opaque" in line for line in lines)


@pytest.mark.parametrize("axis", range(3))
def test_a_part_of_what_is_joined_takes_nothing_of_its_other_parts(axis):
    x = np.ones((2, 2, 2))
    program = primad.trace(lambda x: np.concatenate([np.sin(x), np.exp(x), np.tanh(x)], axis=axis))(x)
    for first, names in enumerate(("sin", "exp", "tanh")):
        block = tuple([(2 * first, 2 * first + 2, 1) if i == axis else (0, 2, 1) for i in range(3)])
        found = {node.op.name for node in restricted(program, 0, 0, block).nodes}
        assert found & {"sin", "exp", "tanh"} == {names}


def test_windows_go_through_joints_and_slices_to_what_is_read():
    """Of a value that is cut, shifted and joined no element is computed that a window of the result does not read."""

    def shifted(x):
        y = np.sin(x)
        joined = np.concatenate([y[-2:], y[1:-2:2], y[:3]])
        return np.exp(np.roll(joined, 1) * 2.0)

    program, block = primad.trace(shifted)(np.ones(24)), ((4, 6, 1),)
    sliced = program_of(program.in_types, lambda x: [shifted(x)[4:6]])
    x = RNG.normal(size=24)
    for part in (restricted(program, 0, 0, block), take_early(sliced, smallest=1)):
        assert np.array_equal(np.ravel(part(x)), shifted(x)[4:6])
        assert sum(node.type.size for node in part.nodes if node.op is ops.sin) <= 3


def test_an_op_may_cut_one_index_and_split_another():
    """Indices that are regrouped leave no place for one that moves in part: it is spread out first."""

    def cut(x, *, lead):
        return np.asarray(x)[(slice(None),) * lead + (slice(1, 3),)].reshape(*np.shape(x)[:lead], 2, 2, 3)

    def axes(x, *, lead):
        first = tuple(range(lead))
        return AxisMap(((*first, "r", Factors(("a", "b"), (2, 3))),), ((*first, Strided("r", 1, 1), "a", "b"),))

    op = primad.linear(
        "cut_and_split",
        cut,
        infer=lambda x, *, lead: ArrayType((*x.shape[:lead], 2, 2, 3), x.dtype),
        transpose=[lambda ct, x, *, lead: None],
        axes=axes,
        adapt=lambda change, *, lead: {"lead": lead + change.result.inserted},
    )
    types = ArrayType((), float), ArrayType((4, 6), float)
    program = pull_rows(program_of(types, lambda a, x: [op(x, lead=0)]))
    found = prepare(program).run([np.array(1.0)])[0]
    expected = np.stack([cut(row.reshape(4, 6), lead=0) for row in np.eye(24)])
    np.testing.assert_array_equal(found, expected.reshape(4, 6, 2, 2, 3))
