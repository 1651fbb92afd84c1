"""What is different from MXNet 1.9.1 on purpose: its bugs, and what it cannot do. See docs/coming_from_mxnet.md."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad.compat.mxnet as mx

A, B = np.array([1.0, 2.0]), np.array([0.5, -1.0])


def gradients(build: Any, request: Any, **buffers: Any) -> dict[str, Any]:
    """Return gradients after one backward with heads of ones, into buffers that hold something before."""
    symbol = build(mx.sym.Variable("a"), mx.sym.Variable("b"))
    names = symbol.list_arguments()
    grads = {name: mx.nd.array(np.full(2, buffers[name])) for name in names}
    values = {"a": mx.nd.array(A), "b": mx.nd.array(B)}
    texec = symbol.bind(mx.cpu(), {name: values[name] for name in names}, grads, grad_req=request)
    texec.forward(is_train=True)
    texec.backward([mx.nd.ones(2) for _ in texec.outputs])
    return {name: grad.asnumpy() for name, grad in grads.items()}


@pytest.mark.parametrize(
    ("build", "da", "db"),
    [
        (lambda a, b: 2 * a + b, 2, 1),
        (lambda a, b: a + b, 1, 1),
        (lambda a, b: mx.sym.sin(a) + b, np.cos(A), 1),
        (lambda a, b: a * a + b, 2 * A, 1),
        (lambda a, b: 2 * a - b, 2, -1),
        (lambda a, b: a * b, B, A),
    ],
)
def test_add_never_reads_another_gradient_buffer(build: Any, da: Any, db: Any) -> None:
    found = gradients(build, "add", a=10.0, b=100.0)
    np.testing.assert_allclose(found["a"], 10 + np.broadcast_to(da, 2), rtol=1e-6)
    np.testing.assert_allclose(found["b"], 100 + np.broadcast_to(db, 2), rtol=1e-6)
    mixed = gradients(build, {"a": "write", "b": "add"}, a=10.0, b=100.0)
    np.testing.assert_allclose(mixed["a"], np.broadcast_to(da, 2), rtol=1e-6)
    np.testing.assert_allclose(mixed["b"], 100 + np.broadcast_to(db, 2), rtol=1e-6)


def test_one_buffer_for_two_arguments() -> None:
    shared = mx.nd.zeros(2)
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    for request, expected in (("write", 3.0), ("add", 8.0)):  # the last one writes; both add, to 3
        texec = (2 * a + 3 * b).bind(
            mx.cpu(), {"a": mx.nd.ones(2), "b": mx.nd.ones(2)}, {"a": shared, "b": shared}, grad_req=request
        )
        texec.backward(mx.nd.ones(2))
        assert shared.asnumpy().tolist() == [expected] * 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SoftmaxOutput", [[10 - 0.5, 10 + 0.5]]),
        ("LinearRegressionOutput", None),
        ("LogisticRegressionOutput", None),
        ("MAERegressionOutput", None),
    ],
)
def test_loss_heads_add(name: str, expected: Any) -> None:
    data, label = np.array([[3.0, 3.0]]), np.array([0.0]) if name == "SoftmaxOutput" else np.array([[1.0, 2.0]])
    symbol = getattr(mx.sym, name)(mx.sym.Variable("d"), mx.sym.Variable("l"))
    found = []
    for request in ("write", "add"):
        grad = mx.nd.full((1, 2), 10.0)
        texec = symbol.bind(mx.cpu(), {"d": mx.nd.array(data), "l": mx.nd.array(label)}, {"d": grad}, grad_req=request)
        texec.backward()
        found.append(grad.asnumpy())
    np.testing.assert_allclose(found[1], found[0] + 10, rtol=1e-6)
    if expected is not None:
        np.testing.assert_allclose(found[1], expected, rtol=1e-6)


def test_label_gradients_are_written_as_zero() -> None:
    symbol = mx.sym.SoftmaxOutput(mx.sym.Variable("d"), mx.sym.Variable("l"))
    grads = {"d": mx.nd.zeros((1, 2)), "l": mx.nd.full((1,), 7)}
    symbol.bind(mx.cpu(), {"d": mx.nd.ones((1, 2)), "l": mx.nd.zeros(1)}, grads).backward()
    assert grads["l"].asnumpy().tolist() == [0]


def test_heads_of_an_output_that_occurs_twice_add() -> None:
    a = mx.sym.Variable("a")
    square = a * a
    grad = mx.nd.zeros(2)
    texec = mx.sym.Group([square, square]).bind(mx.cpu(), {"a": mx.nd.array([1, 2])}, {"a": grad})
    texec.backward([mx.nd.ones(2), mx.nd.full(2, 10)])
    assert grad.asnumpy().tolist() == [22, 44]


def test_what_mxnet_accepts_and_gets_wrong_is_refused() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    args = {"a": mx.nd.ones(2), "b": mx.nd.ones(2)}
    with pytest.raises(ValueError, match="Length of grad_req"):
        (a + b).bind(mx.cpu(), args, [mx.nd.ones(2)] * 2, grad_req=["write"])
    with pytest.raises(mx.MXNetError, match="gradient array of a has shape"):
        (a + b).bind(mx.cpu(), args, {"a": mx.nd.ones(3)})
    with pytest.raises(mx.MXNetError, match="dtype int32"):
        (a + a).bind(mx.cpu(), {"a": mx.nd.ones(2, dtype="int32")}, {"a": mx.nd.ones(2, dtype="int32")})
    head = mx.sym.SoftmaxOutput(a, b, out_grad=True)
    with pytest.raises(mx.MXNetError, match=r"out_grad=True\) is not supported"):
        head.bind(mx.cpu(), {"a": mx.nd.ones((1, 2)), "b": mx.nd.ones(1)}).forward()
    x = mx.nd.array([3.0])
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
    with pytest.raises(mx.MXNetError, match="shape mismatch"):
        y.backward(mx.nd.ones(3))


def test_no_gradients_is_a_dict_of_none() -> None:
    a = mx.sym.Variable("a")
    texec = (a * 2).bind(mx.cpu(), {"a": mx.nd.ones(2)})
    assert texec.grad_arrays == [None]
    assert texec.grad_dict == {"a": None}
    texec.backward()


def derivative(function: Any, values: Any, dtype: str = "float64") -> Any:
    x = mx.nd.array(values, dtype=dtype)
    x.attach_grad()
    with mx.autograd.record():
        y = function(x)
    y.backward()
    return x.grad.asnumpy()


@pytest.mark.parametrize(
    ("function", "point", "expected"),
    [
        (lambda x: mx.nd.prod(x), [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
        (lambda x: mx.nd.max(x), [0.0, 3.0, 3.0], [0.0, 0.5, 0.5]),
        (lambda x: mx.nd.norm(x), [0.0, 0.0], [0.0, 0.0]),
        (lambda x: mx.nd.broadcast_hypot(x, x), [0.0], [0.0]),
        (lambda x: x**0, [0.0, 2.0], [0.0, 0.0]),
        (lambda x: mx.nd.broadcast_power(mx.nd.zeros(1, dtype="float64"), x), [2.0], [0.0]),
        (lambda x: mx.nd.where(x > 0, mx.nd.sqrt(x), x), [-1.0, 4.0], [1.0, 0.25]),
        (lambda x: mx.nd.tanh(x), [20.0], [1.699341702116633e-17]),
        (lambda x: mx.nd.sigmoid(x), [40.0], [4.248354255291589e-18]),
        (
            lambda x: mx.nd.LeakyReLU(x, act_type="selu"),
            [-1.3, 0.5],
            [1.0507009873554805 * 1.6732632423543772 * np.exp(-1.3), 1.0507009873554805],
        ),
    ],
)
def test_derivatives_that_are_wrong_or_nan_in_mxnet(function: Any, point: Any, expected: Any) -> None:
    np.testing.assert_allclose(derivative(function, point), expected, rtol=1e-12, atol=0)


def nth_derivative(function: Any, point: float, order: int) -> float:
    x = mx.nd.array([point], dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        y = function(x)
        for _ in range(order - 1):
            (y,) = mx.autograd.grad(y, x, create_graph=True)
    y.backward()
    return float(x.grad.asscalar())


@pytest.mark.parametrize(
    ("function", "point", "order", "expected"),
    [
        (mx.nd.exp, 0.5, 6, np.exp(0.5)),
        (mx.nd.sin, 0.5, 8, np.sin(0.5)),
        (lambda x: x * x * x, 2.0, 3, 6.0),
        (lambda x: x * x * x, 2.0, 4, 0.0),
        (mx.nd.degrees, 2.0, 2, 0.0),
        (mx.nd.arcsinh, 0.5, 2, -0.5 * 1.25**-1.5),
        (mx.nd.arcsinh, 0.5, 3, (2 * 0.25 - 1) * 1.25**-2.5),
        (mx.nd.arccosh, 1.5, 2, -1.5 * 1.25**-1.5),
        (mx.nd.erf, 0.5, 2, -2 * 0.5 * 2 / np.sqrt(np.pi) * np.exp(-0.25)),
        (mx.nd.gamma, 1.0, 2, np.pi**2 / 6 + 0.5772156649015329**2),
        (mx.nd.softsign, 1.0, 2, -0.25),
    ],
)
def test_orders_that_mxnet_lacks_or_gets_wrong(function: Any, point: float, order: int, expected: float) -> None:
    np.testing.assert_allclose(nth_derivative(function, point, order), expected, rtol=1e-12, atol=1e-13)


def test_gradient_penalties() -> None:
    """MXNet cannot differentiate the derivative of a sum or a product."""
    values = np.array([[0.3, -0.8], [1.1, 2.0]])
    x = mx.nd.array(values, dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.sin(x) * x + x
        (dx,) = mx.autograd.grad(y, x, create_graph=True)
        penalty = mx.nd.square(dx).sum()
    penalty.backward()
    slope = np.sin(values) + values * np.cos(values) + 1
    np.testing.assert_allclose(dx.asnumpy(), slope, rtol=1e-12)
    bend = 2 * np.cos(values) - values * np.sin(values)
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * slope * bend, rtol=1e-12)


class Tripled(mx.autograd.Function):
    """y = x, with a gradient of 3."""

    def forward(self, x: Any, y: Any) -> Any:
        """Return the sum."""
        return x + y

    def backward(self, dy: Any) -> Any:
        """Return three times the gradient, and five times."""
        return dy * 3, dy * 5


def test_functions_add_and_skip_nothing() -> None:
    x, y = mx.nd.ones(1), mx.nd.ones(1)
    x.attach_grad("add")
    x.grad[:] = 100
    y.attach_grad()
    with mx.autograd.record():
        z = Tripled()(x, y)
    z.backward()
    assert (x.grad.asscalar(), y.grad.asscalar()) == (103, 5)
    x.attach_grad("null")
    with mx.autograd.record():
        z = Tripled()(x, y)
    z.backward()
    assert y.grad.asscalar() == 5


def test_functions_can_be_differentiated_twice() -> None:
    class Cube(mx.autograd.Function):
        def forward(self, x: Any) -> Any:
            self.save_for_backward(x)
            return x * x * x

        def backward(self, dy: Any) -> Any:
            (x,) = self.saved_tensors
            return dy * 3 * x * x

    x = mx.nd.array([2.0])
    x.attach_grad()
    with mx.autograd.record():
        (dy,) = mx.autograd.grad(Cube()(x), x, create_graph=True)
    dy.backward()
    assert x.grad.asscalar() == 12


def test_functions_must_return_a_gradient_for_each_input() -> None:
    class Short(mx.autograd.Function):
        def forward(self, x: Any, y: Any) -> Any:
            return x + y

        def backward(self, dy: Any) -> Any:
            return dy

    x = mx.nd.ones(1)
    x.attach_grad()
    with mx.autograd.record():
        z = Short()(x, x * 2)
    with pytest.raises(mx.MXNetError, match="Expecting 2 got 1"):
        z.backward()


def test_writing_after_recording_is_noticed() -> None:
    x = mx.nd.array([3.0])
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
    x[:] = 10
    with pytest.raises(mx.MXNetError, match="written in place"):
        y.backward()


def test_writing_a_label_after_recording_is_noticed() -> None:
    x, label = mx.nd.ones((1, 2)), mx.nd.zeros(1)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.SoftmaxOutput(x, label)
    label[:] = 1
    with pytest.raises(mx.MXNetError, match="written in place"):
        y.backward()


def test_integers_have_no_gradient() -> None:
    with pytest.raises(mx.MXNetError, match="cannot have a gradient"):
        mx.nd.ones(2, dtype="int32").attach_grad()


def test_writing_through_a_view_is_noticed() -> None:
    x = mx.nd.array([3.0, 4.0])
    x.attach_grad()
    view = x[0:1]
    with mx.autograd.record():
        y = x * x
    view[:] = 10
    with pytest.raises(mx.MXNetError, match="written in place"):
        y.backward()


def test_executors_differentiate_at_the_values_that_the_arguments_have() -> None:
    a = mx.sym.Variable("a")
    args, grads = {"a": mx.nd.array([3.0])}, {"a": mx.nd.zeros(1)}
    texec = mx.sym.exp(a).bind(mx.cpu(), args, grads)
    texec.forward(is_train=True)
    args["a"][:] = 0
    texec.backward(mx.nd.ones(1))
    assert grads["a"].asscalar() == 1  # MXNet mixes both: exp(3)
