"""The eager tape: no growth, no new plans."""

import gc
import itertools
import weakref

import numpy as np
import pytest

import primad.compat.paddle as paddle
from primad.compat import backward, tape


def network(paddle, sizes=(2, 8, 8, 1)):
    return paddle.nn.Sequential(
        *[layer for n, m in itertools.pairwise(sizes) for layer in (paddle.nn.Linear(n, m), paddle.nn.Tanh())][:-1]
    )


def step(model, optimizer, x, y, weight):
    """A step of a physics-informed network: two derivatives inside the loss, a hook, a rate that changes."""
    points = paddle.to_tensor(x, stop_gradient=False)
    u = model(points)
    u.register_hook(lambda g: g * 1.0)
    (du,) = paddle.grad(u, points, create_graph=True)
    (ddu,) = paddle.grad(du[:, 0:1], points, create_graph=True)
    loss = ((ddu[:, 0:1] - u) ** 2).mean() + weight * paddle.nn.functional.mse_loss(u, paddle.to_tensor(y))
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    return float(loss)


@pytest.fixture
def training():
    paddle.seed(0)
    rng = np.random.default_rng(0)
    model = network(paddle)
    rate = paddle.optimizer.lr.ExponentialDecay(0.01, 0.9)
    optimizer = paddle.optimizer.Adam(rate, parameters=model.parameters())
    counter = iter(range(10**6))

    def run():
        x = rng.normal(size=(16, 2)).astype("float32")
        loss = step(model, optimizer, x, x[:, :1], 0.1 + 0.01 * next(counter))
        rate.step()
        return loss

    return run


def test_a_training_loop_plans_nothing_after_its_first_step(training, planned, monkeypatch):
    training()
    made = planned
    made.clear()
    for module, name in ((backward, "vjp"), (tape, "simplify")):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, f=original, n=name: made.append(n) or f(*args))
    recorded = backward.Segment.record
    monkeypatch.setattr(backward.Segment, "record", lambda self: made.append("record") or recorded(self))
    losses = [training() for _ in range(5)]
    assert not made
    assert losses[-1] < losses[0]


def test_a_training_loop_leaves_nothing_behind(training):
    def count():
        kinds = (tape.TapeCall, tape.TapeValue, paddle.Tensor)
        return sum(isinstance(item, kinds) for item in gc.get_objects())

    for _ in range(2):
        training()
    gc.collect()
    gc.disable()  # reference counts alone must free it
    try:
        before = count()
        for _ in range(5):
            training()
        assert count() == before
    finally:
        gc.enable()


def test_detach_leaves_nothing_behind():
    state = paddle.to_tensor([1.0, 2.0])
    gain = paddle.to_tensor([0.5], stop_gradient=False)
    first = weakref.ref(state)
    for _ in range(10):
        state = (state * gain).detach()
    assert first() is None and state.is_leaf and state.stop_gradient


def test_backward_frees_what_it_went_through():
    x = paddle.to_tensor(np.ones(3), stop_gradient=False)
    h = paddle.exp(x)
    inner = weakref.ref(h._entry.array)
    y = (h * h).sum()
    del h
    y.backward(retain_graph=True)
    assert inner() is not None
    y.backward()
    assert inner() is None
    with pytest.raises(SystemError, match="retain_graph"):
        y.backward()


def test_gradients_of_arrays_that_changed_are_refused():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    w = paddle.to_tensor([3.0, 4.0])
    y = (x * w).sum()
    w[0] = 10.0
    with pytest.raises(RuntimeError, match="tensor_version:1 != wrapper_version_snapshot:0"):
        y.backward()


def test_a_step_of_the_optimiser_counts_as_overwriting():
    layer = paddle.nn.Linear(2, 1)
    x = paddle.to_tensor([[1.0, 2.0]], stop_gradient=False)
    loss = layer(x).sum()
    loss.backward(retain_graph=True)
    paddle.optimizer.SGD(0.1, parameters=layer.parameters()).step()
    with pytest.raises(RuntimeError, match="overwritten"):
        loss.backward()


def test_a_step_reaches_detached_tensors_and_no_others_that_share_memory():
    layer = paddle.nn.Linear(2, 3)
    before = layer.weight.numpy()
    detached = layer.weight.detach()
    held = [layer.weight.T, layer.weight[0], layer.weight.reshape([-1])]
    values = [tensor.numpy() for tensor in held]
    layer(paddle.ones([4, 2])).sum().backward()
    paddle.optimizer.Momentum(0.1, parameters=layer.parameters()).step()
    assert not np.array_equal(layer.weight.numpy(), before)
    np.testing.assert_array_equal(detached.numpy(), layer.weight.numpy())
    for tensor, value in zip(held, values, strict=True):
        np.testing.assert_array_equal(tensor.numpy(), value)


def test_large_operators_give_what_small_ones_do(monkeypatch):
    x = np.random.default_rng(0).normal(size=(200, 100))
    assert x.size >= tape.PLANNED_SIZE
    functions = (
        paddle.tanh, paddle.nn.functional.softmax, lambda t: t @ t.T, paddle.std, lambda t: paddle.split(t, 2, 1),
        lambda t: paddle.topk(t, 3)[0], lambda t: paddle.concat([t, t]), lambda t: t[:, ::2],
    )  # fmt: skip
    large = [function(paddle.to_tensor(x)) for function in functions]
    monkeypatch.setattr(tape, "PLANNED_SIZE", 10**9)
    for function, found in zip(functions, large, strict=True):
        expected = function(paddle.to_tensor(x))
        assert type(found) is type(expected)
        for a, b in zip(*[t if isinstance(t, list) else [t] for t in (found, expected)], strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13, atol=1e-13)


def test_hooks_between_gradients_of_higher_order():
    x = paddle.to_tensor(0.7, "float64", stop_gradient=False)
    y = paddle.sin(x)
    y.register_hook(lambda g: 2.0 * g)
    z = y * y
    (first,) = paddle.grad(z, x, create_graph=True)
    (second,) = paddle.grad(first, x)
    np.testing.assert_allclose(float(first), 2 * np.sin(1.4), rtol=1e-12)
    # The second gradient passes y again, and its hook: 2·(4·cos²) − 4·sin², as in Paddle.
    np.testing.assert_allclose(float(second), 8 * np.cos(0.7) ** 2 - 4 * np.sin(0.7) ** 2, rtol=1e-12)


def test_a_pylayer_that_reads_values_has_gradients_of_every_order():
    class Power(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, n):
            y = paddle.to_tensor(float(x) ** n, "float64")  # NumPy or any other code may stand here
            ctx.save_for_backward(x)
            ctx.n = n
            return y

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensor()
            assert float(x) == 1.5
            return dy * ctx.n * Power.apply(x, ctx.n - 1)

    x = paddle.to_tensor(1.5, "float64", stop_gradient=False)
    current = Power.apply(x, 8)
    for order in range(1, 9):
        (current,) = paddle.grad(current, x, create_graph=True)
        expected = np.prod(np.arange(8, 8 - order, -1.0)) * 1.5 ** (8 - order)
        np.testing.assert_allclose(float(current), expected, rtol=1e-12)


def test_a_saved_result_carries_its_graph():
    class Exp(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            y = paddle.exp(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, dy):
            (y,) = ctx.saved_tensor()
            return dy * y

    x = paddle.to_tensor(0.3, "float64", stop_gradient=False)
    current = Exp.apply(x)
    for _ in range(4):
        (current,) = paddle.grad(current, x, create_graph=True)
        np.testing.assert_allclose(float(current), np.exp(0.3), rtol=1e-12)
