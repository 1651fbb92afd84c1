"""What derivatives cost, by counting: matrix-product flops and nodes, never times."""

import itertools

import numpy as np
import pytest

import primad
from primad.ir.node import Trace
from primad.verify.cases.drawn_cases import Seeded
from primad.verify.checks.trial import one_op
from tests.cases import CASES


def network_parameters(sizes, seed=0):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(n, m)) / np.sqrt(n), 0.1 * rng.normal(size=m)) for n, m in itertools.pairwise(sizes)]


def network(parameters, x):
    for weights, bias in parameters[:-1]:
        x = np.tanh(x @ weights + bias)
    weights, bias = parameters[-1]
    return (x @ weights + bias)[..., 0]


def cost(function, *args):
    return primad.simplify(primad.trace(function)(*args)).cost()


def directional(function, x, v, order):
    """The order-th derivative of a function along v, by nested jvp."""
    for _ in range(order):
        function = (lambda f: lambda y: primad.jvp(f, (y,), (v,))[1])(function)
    return function(x)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("order", range(1, 11))
def test_nested_jvp_is_taylor_mode(order):
    parameters = network_parameters([2, 64, 64, 64, 64, 1])
    x, v = np.ones((50, 2)), np.ones((50, 2))
    forward = cost(lambda x: network(parameters, x), x).matmul_flops
    found = cost(lambda x: directional(lambda y: network(parameters, y), x, v, order), x)
    assert found.matmul_flops <= 1.02 * (order + 1) * forward
    assert found.nodes <= 20 * (order + 1) ** 2


def test_order_ten_builds_few_nodes(monkeypatch):
    built = []
    new = Trace._new
    monkeypatch.setattr(Trace, "_new", lambda self, *args: built.append(1) or new(self, *args))
    parameters = network_parameters([2, 64, 64, 64, 64, 1], seed=1)
    x, v = np.ones((50, 2)), np.ones((50, 2))
    cost(lambda x: directional(lambda y: network(parameters, y), x, v, 10), x)
    assert len(built) < 30_000, "all intermediate programs together; building that doubles with the order has millions"


def test_all_outputs_of_a_derivative_replay_it_once(monkeypatch):
    built, new = [], []
    build, make = Trace.build, Trace._new
    monkeypatch.setattr(Trace, "build", lambda self, *args: built.append(1) or build(self, *args))
    monkeypatch.setattr(Trace, "_new", lambda self, *args: new.append(1) or make(self, *args))
    parameters = network_parameters([2, 64, 64, 64, 64, 1], seed=2)
    x, v = np.ones((50, 2)), np.ones((50, 2))

    def further(f):
        def both(y):
            values, tangents = primad.jvp(f, (y,), (v,))
            return (*values, tangents[-1])

        return both

    def derivatives(y):
        return (network(parameters, y),)

    for _ in range(6):
        derivatives = further(derivatives)
    cost(derivatives, x)
    assert len(built) < 2 * len(new)


def hessian_trace(parameters, x):
    return np.trace(primad.hessian(lambda y: network(parameters, y))(x))


def test_trace_of_hessian_is_a_forward_laplacian():
    parameters = network_parameters([100, 64, 64, 64, 64, 1])
    x = np.linspace(-1.0, 1.0, 100)
    forward = cost(network, parameters, x).matmul_flops
    assert cost(hessian_trace, parameters, x).matmul_flops <= 70 * forward
    batch = np.stack([x, 0.5 * x])

    def stacked(parameters, xs):
        return primad.vmap(lambda x: hessian_trace(parameters, x))(xs)

    value = cost(stacked, parameters, batch).matmul_flops
    assert value <= 70 * 2 * forward
    gradient = cost(primad.grad(lambda p, xs: np.mean(stacked(p, xs) ** 2)), parameters, batch).matmul_flops
    assert gradient <= 3.2 * value


MIXED = primad.linear(
    "every_other_mean",
    numpy=lambda u: np.asarray(u) @ np.full((u.shape[-1], u.shape[-1]), 1.0 / u.shape[-1]),
    infer=lambda u: u,
    transpose=[lambda ct, u: MIXED(ct)],
    axes=lambda u: primad.ir.axes.along(u.ndim, [u.ndim - 1]),
)
PLACES = np.array([3, 1, 1, 0, 7, 5, 2, 2])


@pytest.mark.parametrize(
    "moved",
    [
        lambda h: h[PLACES],
        lambda h: primad.ops.scatter_add(h, PLACES, axis=0, batch=0, size=8),
        MIXED,
        lambda h: primad.ops.barrier(h),
    ],
    ids=["gather", "scatter", "a user's linear op", "barrier"],
)
def test_a_laplacian_collapses_through_every_linear_op(moved):
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(8, 30)), rng.normal(size=(8, 8))

    def u(x):
        return np.sum(np.tanh(second @ moved(second @ np.tanh(first @ x))))

    x = np.linspace(-1.0, 1.0, 30)
    found = cost(lambda x: np.trace(primad.hessian(u)(x)), x).matmul_flops
    product = 2 * second.size  # twice for the value, for each direction, and for the sum over the directions
    assert found == 2 * 32 * product + 2 * first.size
    np.testing.assert_allclose(primad.laplacian(u)(x), np.trace(np.asarray(primad.hessian(u)(x))), rtol=1e-10)


@pytest.mark.parametrize("outside", [False, True])
def test_trace_of_a_batched_hessian_collapses_inside_the_batch(outside):
    parameters = network_parameters([30, 16, 16, 1])
    xs = np.linspace(-1.0, 1.0, 90).reshape(3, 30)
    forward = cost(network, parameters, xs).matmul_flops

    def laplacians(xs):
        hessian = primad.hessian(lambda y: network(parameters, y))
        if outside:
            return np.trace(primad.vmap(hessian)(xs), axis1=1, axis2=2)
        return primad.vmap(lambda x: np.einsum("ii->", hessian(x)))(xs)

    assert cost(laplacians, xs).matmul_flops <= (30 + 3) * forward


def test_hessian_vector_product_never_builds_the_matrix():
    parameters = network_parameters([100, 64, 64, 1])
    x, v = np.ones(100), np.arange(100.0)

    def f(y):
        return network(parameters, y)

    gradient = cost(primad.grad(f), x)
    for product in (lambda x, v: primad.hessian(f)(x) @ v, lambda x, v: v @ primad.hessian(f)(x)):
        program = primad.simplify(primad.trace(product)(x, v))
        assert program.cost().flops <= 4 * gradient.flops
        assert all(node.type.size < 100 * 100 for node in program.nodes if node.op.name != "captured")


def test_elements_and_rows_of_a_hessian_cost_one_direction():
    parameters = network_parameters([40, 32, 1])
    x = np.ones(40)

    def f(y):
        return network(parameters, y)

    gradient = cost(primad.grad(f), x).flops
    for index in ((3, 5), 3, (slice(None), 7), (-1, slice(2, 3))):
        assert cost(lambda x, index=index: primad.hessian(f)(x)[index], x).flops <= 4 * gradient


@pytest.mark.parametrize(("inputs", "outputs"), [(3, 20), (20, 3), (7, 7)])
def test_a_jacobian_takes_the_fewer_directions(inputs, outputs):
    matrix = np.random.default_rng(0).normal(size=(inputs, 64))
    last = np.random.default_rng(1).normal(size=(64, outputs))

    def f(x):
        return np.tanh(x @ matrix) @ last

    x = np.ones(inputs)
    forward = cost(f, x).matmul_flops
    assert cost(primad.jacobian(f), x).matmul_flops <= (min(inputs, outputs) + 1) * forward


def test_mixed_second_derivatives_are_computed_once():
    """The blocks of two arguments of equal size, in either order, are one and the same turned round."""
    A, B = np.arange(12.0).reshape(4, 3) / 9, np.arange(1.0, 13.0).reshape(4, 3) / 7
    x, y = np.full(3, 0.1), np.full(3, 0.2)

    def blocks(*places):
        hessian = primad.hessian(lambda x, y: np.sum(np.sin(A @ x) * np.exp(B @ y)), (0, 1))
        return lambda x, y: [hessian(x, y)[i][j] for i, j in places]

    one, both = [
        primad.lower(primad.trace(blocks(*places))(x, y)).cost().flops for places in ([(0, 1)], [(0, 1), (1, 0)])
    ]
    assert one == both
    above, below = primad.jit(blocks((0, 1), (1, 0)))(x, y)
    np.testing.assert_array_equal(above, below.T)
    np.testing.assert_allclose(above, (A.T * np.cos(A @ x) * np.exp(B @ y)) @ B, rtol=1e-12)


def test_the_derivative_of_an_unused_input_is_free():
    program = primad.simplify(
        primad.trace(lambda x, y: primad.grad(lambda x, y: np.sum(y**2))(x, y))(np.ones(3), np.ones(3))
    )
    assert program.cost().flops == 0


def test_a_repeated_call_replans_nothing(planned):
    def loss(x, rate):
        return np.sum(np.sin(rate * x))

    primad.grad(loss)(np.full(3, 0.25), 0.125)
    before = len(planned)
    for rate in (0.5, 3.0, 7.5):
        weights = np.full(3, rate)
        primad.grad(loss)(weights, rate)
        primad.grad(lambda x, rate=rate: np.sum(np.sin(rate * x)))(weights)
    assert len(planned) <= before + 1


COMPOSITES = [name for name, case in CASES.items() if case.op.is_composite and not case.through]


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_composite_costs_what_its_definition_does(name):
    program = one_op(CASES[name].op, CASES[name].draw(Seeded(0)))
    whole, parts = program.cost(), primad.lower(program).cost()
    assert (whole.flops, whole.matmul_flops, whole.bytes) == (parts.flops, parts.matmul_flops, parts.bytes)
