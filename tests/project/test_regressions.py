"""Programs that once gave a wrong number, each with an independent expected value."""

import math

import numpy as np
import pytest

import primad


def dense_laplacian(f, x):
    return np.trace(primad.jacfwd(primad.grad(f))(x))


@pytest.mark.parametrize("length", [3, 5])
def test_laplacian_of_products_of_two_broadcasts(length):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=3), rng.normal(size=length)

    def total(x):
        return np.sum(w[:, None] * np.sin(x)[None, :])

    def weighted(x):
        return np.sum(np.sum(w[:, None] * np.sin(x)[None, :] ** 2, axis=0) ** 2)

    for f in (total, weighted):
        expected = dense_laplacian(f, x)
        assert primad.laplacian(f)(x) == pytest.approx(expected, rel=1e-12)
        assert np.trace(primad.hessian(f)(x)) == pytest.approx(expected, rel=1e-12)
        stacked = primad.vmap(primad.laplacian(f))(np.stack([x, 2 * x]))
        np.testing.assert_allclose(stacked, [expected, dense_laplacian(f, 2 * x)], rtol=1e-12)


def test_laplacian_of_random_sums_of_products():
    rng = np.random.default_rng(1)
    for _ in range(25):
        a, b, c = rng.normal(size=(4, 3)), rng.normal(size=(3, 5)), rng.normal(size=4)
        axis = int(rng.integers(0, 2))
        matrix = b if axis == 0 else rng.normal(size=(4, 2))

        def f(x, a=a, c=c, axis=axis, matrix=matrix):
            h = np.tanh(a * x) * c[:, None] + np.sin(x)[None, :] * 0.5
            k = np.sum(h, axis=axis) @ matrix
            return np.sum(np.exp(0.1 * k)) + np.mean(h * h) + np.max(x * x)

        x = rng.normal(size=3)
        assert primad.laplacian(f)(x) == pytest.approx(dense_laplacian(f, x), rel=1e-10)


def test_laplacian_through_booleans():
    c = np.array([True, True, False])
    x = np.array([0.3, -0.7, 1.1])
    assert primad.laplacian(lambda x: np.sum(np.exp(np.sum(x)) * c))(x) == pytest.approx(6 * math.exp(x.sum()))
    assert primad.laplacian(lambda x: np.max(x * x))(x) == pytest.approx(2.0)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_narrow_index_arrays(dtype):
    a = np.arange(400.0).reshape(20, 20)
    i = np.array([15, 19], dtype)
    expected = np.zeros((20, 20))
    np.add.at(expected, (i, i), 1.0)
    np.testing.assert_array_equal(primad.grad(lambda z: np.sum(z[i, i]))(a), expected)
    np.testing.assert_array_equal(primad.jit(lambda a, i: a[i, i])(a, i), a[i, i])
    long = np.arange(300.0)
    last = primad.grad(lambda z: np.sum(z[np.array([-1, 5]).astype(np.int16)]))(long)
    assert np.flatnonzero(last).tolist() == [5, 299]


def test_custom_rules_that_close_over_changing_values():
    factor = [2.0]

    @primad.custom_jvp
    def f(x):
        return x * 1.5

    @f.defjvp
    def rule(primals, tangents):
        return f(primals[0]), tangents[0] * factor[0]

    @primad.custom_vjp
    def g(x):
        return x * 1.5

    g.defvjp(lambda x: (x * 1.5, None), lambda _, ct: (ct * factor[0],))
    for value in (2.0, 3.0, 7.0):
        factor[0] = value
        assert primad.grad(f)(1.0) == value
        assert primad.grad(g)(1.0) == value
        assert primad.jvp(f, (1.0,), (1.0,))[1] == value


def test_custom_rules_are_planned_once(planned):
    factor = [2.0, np.ones(3)]

    @primad.custom_jvp
    def f(x, k):
        return x * k

    @f.defjvp
    def rule(primals, tangents):
        return f(*primals), f(tangents[0], primals[1]) * factor[0] + tangents[1] * np.sum(factor[1])

    @primad.custom_vjp
    def g(x):
        return np.sum(x * 1.5)

    g.defvjp(lambda x: (np.sum(x * 1.5), (x, None)), lambda kept, ct: (ct * factor[0] * kept[0] * factor[1],))

    def both(x):
        return f(np.sum(x), 3.0) + g(x * x)

    x = np.array([1.0, 2.0, 3.0])

    def check():
        expected = 3.0 * factor[0] + factor[0] * x * x * factor[1] * 2 * x
        np.testing.assert_allclose(primad.grad(both)(x), expected)

    for _ in range(3):
        check()
        assert len(planned) == 1
    for change in (lambda: factor.__setitem__(0, 5.0), lambda: factor[1].__setitem__(2, -1.0)):
        planned.clear()
        change()
        for _ in range(3):
            check()
            assert len(planned) == 1
    second = primad.grad(lambda y: np.sum(primad.grad(both)(y)))
    np.testing.assert_allclose(second(x), second(x))


def test_parts_of_a_computed_hessian_are_copies():
    hessian = primad.hessian(lambda x: np.sum(x**3))(np.ones(3))
    np.asarray(hessian)
    row = hessian[0]
    row[:] = 99.0
    assert hessian[0].tolist() == [6.0, 0.0, 0.0]
    with pytest.raises(primad.TracingError, match="read-only"):
        hessian[0, 0] = 1.0
    with pytest.raises(primad.TracingError, match="read-only"):
        hessian += 1.0


def test_hessians_of_trees():
    def f(q):
        return np.sum(q["a"] ** 2) * q["b"]

    hessian = primad.hessian(f)({"a": np.ones(2), "b": 3.0})
    np.testing.assert_array_equal(hessian["a"]["a"], 6 * np.eye(2))
    np.testing.assert_array_equal(hessian["a"]["b"], [2.0, 2.0])
    assert float(hessian["b"]["b"]) == 0.0


INFINITE = [
    (np.linalg.norm, (np.array([1.0, np.inf]),)),
    (np.hypot, (np.inf, 1.0)),
    (np.logaddexp, (2.0, -np.inf)),
    (np.logaddexp, (-np.inf, -np.inf)),
    (np.logaddexp, (np.inf, np.inf)),
    (np.heaviside, (np.array([1.0, np.inf]), 0.5)),
    (np.median, (np.array([1.0, np.nan, 3.0]),)),
    (np.argmax, (np.array([1.0, np.nan, 3.0]),)),
    (lambda z: np.float32(1e-30) * (np.float32(1e-30) * z), (np.float32(1e30),)),
    (lambda z: 1e200 * (1e200 * z), (1e-300,)),
    (lambda z: 1e308 * z + 1e308 * z, (0.1,)),
    (lambda x: np.mean(x), (np.full(5000, 30.0, np.float16),)),
    (lambda x: np.median(x, axis=(0, 1)), (np.arange(24.0).reshape(2, 3, 4),)),
    (lambda y, x: np.trapezoid(y, x, axis=0), (np.arange(9.0).reshape(3, 3), np.arange(9.0).reshape(3, 3) ** 2)),
    (lambda x: np.take(x, [-1, 7], mode="clip"), (np.arange(4.0),)),
    (lambda x: np.take(x, [-1, 7], mode="wrap"), (np.arange(4.0),)),
    (lambda x: np.argmax(x, keepdims=True), (np.arange(8.0).reshape(2, 2, 2),)),
]


@pytest.mark.parametrize(("function", "args"), INFINITE, ids=range(len(INFINITE)))
def test_values_are_numpys_at_infinities_and_edges(function, args):
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(primad.jit(function)(*args), function(*args))


def test_integer_directions_are_promoted():
    product = primad.hvp(lambda x: np.sum(x**3), np.ones(2), np.array([1, 0], np.int8))
    assert product.tolist() == [6.0, 0.0]


@pytest.mark.parametrize("value", [np.ma.array([1.0, 2.0], mask=[0, 1]), np.array([[1.0, 2.0]]).view(np.matrix)])
def test_array_types_with_other_operators_are_refused(value):
    with pytest.raises(primad.TracingError, match="operators mean something else"):
        primad.grad(lambda x: np.sum(x * x))(value)


def test_an_incomplete_primitive_fails_when_it_is_made():
    with pytest.raises(TypeError, match="2 operands but 1 partial"):
        primad.elementwise("atan2", np.arctan2, [lambda out, y, x: x])
    with pytest.raises(TypeError, match="one partial per operand"):
        primad.elementwise("product", lambda x, y: x * y, [lambda out, x, y: y])


def test_static_arguments_by_position_only():
    f = primad.jit(lambda x, n=2: x**n, static_argnums=1)
    assert f(3.0) == 9.0 and f(3.0, 3) == 27.0
    assert f(np.array([2.0])).tolist() == [4.0]
    assert primad.jit(lambda x, n: x**n, static_argnums=-1)(2.0, 3) == 8.0


def test_equal_arrays_captured_apart_are_one_node():
    def f(x):
        return np.sum(np.sin(x * np.full(3, 2.0))) * np.sum(np.sin(x * np.full(3, 2.0)))

    program = primad.trace(f)(np.ones(3))
    assert sum(node.op.name == "sin" for node in program.nodes) == 1
    assert sum(node.op.name == "captured" for node in program.nodes) == 1
