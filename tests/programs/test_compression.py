"""Laplacians through a narrow place: values and all derivatives are those of the definition, at fewer directions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import primad
from primad.ir.law_families import DIRECTIONS, without
from tests.transforms.test_counts import cost, network, network_parameters

RNG = np.random.default_rng(4)
D, H = 30, 5


def plain(parameters, x):
    return network(parameters, x)


def held(parameters, x):
    """Zero on the unit sphere."""
    return (1 - np.sum(x**2)) * network(parameters, x)


def several(parameters, x):
    """Two layers side by side, and quadratic, quartic and other functions of all coordinates."""
    sums = np.array([1.0]) * np.sum(np.sin(x) * x) + np.sum(x**4)
    return network(parameters, x) * np.sum(sums) + np.tanh(np.sum(x * x[::-1])) * network(parameters, 2.0 * x)


def vectors(parameters, x):
    weights, bias = parameters[0]
    return np.tanh(np.tanh(x @ weights + bias) @ np.ones((H, 3)))


def grids(parameters, x):
    return held(parameters, np.reshape(np.reshape(x, (6, 5)) * 1.5, -1))


FUNCTIONS = {f.__name__: f for f in (plain, held, several, vectors, grids)}


def drawn(scale=1.0):
    parameters = network_parameters([D, H, H, H, 1], seed=3)
    return [(scale * weights, bias) for weights, bias in parameters], RNG.normal(size=(5, D)) / np.sqrt(D)


def direct(function, x):
    """By one second derivative for each coordinate."""
    return sum(primad.jvp(lambda y, e=e: primad.jvp(function, (y,), (e,))[1], (x,), (e,))[1] for e in np.eye(x.size))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_slopes_are_those_of_the_definition(name):
    function = FUNCTIONS[name]
    parameters, points = drawn()

    def through(parameters, x):
        return primad.laplacian(lambda y: function(parameters, y))(x)

    expected = np.stack([direct(lambda y: function(parameters, y), x) for x in points])
    assert_allclose(np.stack([through(parameters, x) for x in points]), expected, rtol=1e-9, atol=1e-10)
    mapped = primad.jit(lambda p, xs: primad.vmap(lambda x: through(p, x))(xs))
    assert_allclose(mapped(parameters, points), expected, rtol=1e-9, atol=1e-10)
    x = points[0]
    found = primad.grad(lambda p, x: np.sum(through(p, x)), (0, 1))(parameters, x)
    wanted = primad.grad(lambda p, x: np.sum(direct(lambda y: function(p, y), x)), (0, 1))(parameters, x)
    for a, b in zip(*(leaves(each) for each in (found, wanted)), strict=True):
        assert_allclose(a, b, rtol=1e-8, atol=1e-9 * (1 + np.abs(b).max()))


def leaves(slopes):
    (layers, x) = slopes
    return [*(part for layer in layers for part in layer), x]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", ["random", "zero", "equal units"])
def test_rows_may_depend_on_each_other_at_every_order(case):
    """Nothing is factored, so weights that are zero or equal, as at a start, are no place where a derivative ends."""
    parameters, points = drawn(0.0 if case == "zero" else 1.0)
    if case == "equal units":
        parameters[0] = (np.repeat(parameters[0][0][:, :1], H, axis=1), parameters[0][1])
    x, rest = points[0], parameters[1:]

    def loss(weights, laplacian):
        return laplacian(lambda y: held([(weights, parameters[0][1]), *rest], y)) ** 2

    weights = parameters[0][0]
    along = RNG.normal(size=weights.shape)
    for taken in (
        lambda f: primad.grad(f)(weights),
        lambda f: primad.hvp(f, weights, along),
        lambda f: primad.hvp(lambda w: np.sum(along * primad.grad(f)(w)), weights, along),
    ):
        found = taken(lambda w: loss(w, lambda g: primad.laplacian(g)(x)))
        wanted = taken(lambda w: loss(w, lambda g: direct(g, x)))
        assert_allclose(found, wanted, rtol=1e-7, atol=1e-9 * (1 + np.abs(wanted).max()))


def test_float32_stays_float32():
    parameters, points = drawn()
    single = [tuple(part.astype(np.float32) for part in layer) for layer in parameters]
    found = primad.laplacian(lambda y: plain(single, y))(points[0].astype(np.float32))
    assert found.dtype == np.float32
    assert_allclose(found, primad.laplacian(lambda y: plain(parameters, y))(points[0]), rtol=1e-3)


@pytest.mark.parametrize(("name", "others"), [("plain", 0), ("held", 1)])
def test_directions_are_as_many_as_values_at_the_narrow_place(name, others):
    """A thousand coordinates and five units: in the layers behind the first, 2 · (5 + others) + 2 passes."""
    function, d, n = FUNCTIONS[name], 1000, 64
    parameters, points = network_parameters([d, H, H, H, H, 1]), RNG.normal(size=(n, d))
    behind = network_parameters([H, H, H, H, 1])
    inner = cost(lambda p, z: network(p, np.tanh(z)), behind, np.ones((n, H))).matmul_flops

    def laplacians(parameters, points):
        return primad.vmap(lambda x: primad.laplacian(lambda y: function(parameters, y))(x))(points)

    first = 2 * n * d * H
    found = cost(laplacians, parameters, points).matmul_flops
    products = 2 * d * H * H + others * (first + 2 * n * d)
    assert found <= first + products + (2 * (H + others) + 2) * inner
    with without(DIRECTIONS):
        whole = cost(laplacians, parameters, points).matmul_flops
    assert whole > 10 * found
    slopes = cost(primad.grad(lambda p, x: np.mean(laplacians(p, x) ** 2)), parameters, points).matmul_flops
    assert slopes <= 3.2 * found


def test_memory_does_not_grow_with_the_square_of_the_dimension():
    parameters, x = network_parameters([20_000, H, H, 1]), RNG.normal(size=20_000)
    program = primad.simplify(primad.trace(lambda p, x: primad.laplacian(lambda y: held(p, y))(x))(parameters, x))
    assert max(node.type.size for node in program.nodes) <= 20_000 * (H + 1)


def test_a_wide_layer_is_left_alone():
    parameters, x = network_parameters([12, 16, 1]), RNG.normal(size=12)
    forward = cost(network, parameters, x).matmul_flops
    assert cost(lambda p, x: primad.laplacian(lambda y: network(p, y))(x), parameters, x).matmul_flops <= 14 * forward
