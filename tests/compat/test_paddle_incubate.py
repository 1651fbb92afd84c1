"""incubate.autograd: the primitives of static programs, every lowering rule, and what failed in the old system."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import special

import primad.compat.paddle as paddle
import primad.compat.paddle.nn.functional as F
from primad.compat.paddle.incubate import autograd
from primad.errors import PrimadError

X = np.linspace(0.2, 1.7, 6).reshape(2, 3)
Y = np.linspace(1.4, 0.3, 6).reshape(2, 3)


@pytest.fixture
def static() -> Iterator[None]:
    paddle.enable_static()
    programs = paddle.static.Program(), paddle.static.Program()
    scope = paddle.static.scope_guard(paddle.static.Scope())
    with paddle.static.program_guard(*programs), paddle.utils.unique_name.guard(), scope:
        autograd.enable_prim()
        yield
        autograd.disable_prim()
    paddle.disable_static()


def data(name: str, array: Any) -> Any:
    variable = paddle.static.data(name, array.shape, str(array.dtype))
    variable.stop_gradient = False
    return variable


def types() -> list[str]:
    return [op.type for op in paddle.static.default_main_program().global_block().ops]


RULES = {
    "elementwise_add": lambda x, y: x + y,
    "elementwise_sub": lambda x, y: x - y,
    "elementwise_mul": lambda x, y: x * y,
    "elementwise_div": lambda x, y: x / y,
    "elementwise_pow": lambda x, y: paddle.pow(x, y),
    "elementwise_max": lambda x, y: paddle.maximum(x, y),
    "equal": lambda x, y: paddle.equal(x, y),
    "not_equal": lambda x, y: paddle.not_equal(x, y),
    "greater_than": lambda x, y: paddle.greater_than(x, y),
    "greater_equal": lambda x, y: paddle.greater_equal(x, y),
    "tanh": lambda x, y: paddle.tanh(x),
    "sin": lambda x, y: paddle.sin(x),
    "cos": lambda x, y: paddle.cos(x),
    "exp": lambda x, y: paddle.exp(x),
    "erf": lambda x, y: paddle.erf(x),
    "abs": lambda x, y: paddle.abs(x - y),
    "log": lambda x, y: paddle.log(x),
    "sqrt": lambda x, y: paddle.sqrt(x),
    "rsqrt": lambda x, y: paddle.rsqrt(x),
    "cast": lambda x, y: paddle.cast(x, "float32"),
    "fill_zeros_like": lambda x, y: paddle.zeros_like(x) + x,
    "fill_any_like": lambda x, y: paddle.full_like(x, 3.0) * x,
    "fill_constant": lambda x, y: paddle.full([2, 3], 1.5, "float64") * x,
    "size": lambda x, y: paddle.cast(paddle.numel(x), "float64") * x,
    "sum": lambda x, y: paddle.add_n([x, y, x]),
    "assign": lambda x, y: paddle.assign(x),
    "scale": lambda x, y: paddle.scale(x, 2.0, 1.0, bias_after_scale=False),
    "index_select": lambda x, y: paddle.index_select(x, paddle.assign(np.array([1, 0, 1])), axis=0),
    "matmul_v2": lambda x, y: paddle.matmul(x, y, transpose_y=True),
    "reshape2": lambda x, y: paddle.reshape(x, [3, 2]),
    "concat": lambda x, y: paddle.concat([x, y], axis=1),
    "slice": lambda x, y: paddle.slice(x, [1], [1], [3]),
    "sigmoid": lambda x, y: F.sigmoid(x),
    "p_norm": lambda x, y: paddle.norm(x, p=2),
    "where": lambda x, y: paddle.where(x > y, x, y),
    "pow": lambda x, y: paddle.pow(x, 3.0),
    "square": lambda x, y: paddle.square(x),
    "gelu": lambda x, y: F.gelu(x) + F.gelu(y, approximate=True),
    "dropout": lambda x, y: F.dropout(x, 0.5),
    "uniform_random": lambda x, y: paddle.uniform([2, 3], "float64") * x,
    "reduce_sum": lambda x, y: paddle.sum(x, axis=-1),
    "reduce_mean": lambda x, y: paddle.mean(x, axis=0),
    "batch_norm": lambda x, y: F.batch_norm(x, paddle.zeros([3], "float64"), paddle.ones([3], "float64")),
}
"""The operators that the old system could lower."""


def test_there_are_43_rules() -> None:
    assert len(RULES) == 43


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", RULES)
def test_a_lowered_program_has_primitives_only_and_the_same_values_and_derivatives(static: None, name: str) -> None:
    x, y = data("x", X), data("y", Y)
    result = RULES[name](x, y)
    fetch = [result]
    if result.dtype.is_floating:
        for target in (result, autograd.forward_grad(result, [x, y])):
            fetch += [g for g in paddle.static.gradients([target], [x, y]) if g is not None]
    exe = paddle.static.Executor()
    feed = {"x": X, "y": Y}
    paddle.seed(1)
    before = exe.run(feed=feed, fetch_list=fetch)
    assert any(not type.endswith("_p") for type in types())
    autograd.orig2prim()
    autograd.prim2orig()
    assert all(type.endswith("_p") or type == "assign" for type in types()), types()
    paddle.seed(1)
    for one, two in zip(before, exe.run(feed=feed, fetch_list=fetch), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-14)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", [name for name in RULES if name not in ("dropout", "uniform_random", "cast")])
def test_derivatives_of_lowered_operators_are_right(static: None, name: str) -> None:
    """Lower first, differentiate the primitives: forward mode, reverse mode, and differences agree."""
    x, y = data("x", X), data("y", Y)
    result = RULES[name](x, y)
    if not result.dtype.is_floating:
        assert paddle.static.gradients([result], [x, y]) == [None, None]
        return
    autograd.orig2prim()
    tangent = autograd.forward_grad(result, x)
    (gradient,) = paddle.static.gradients([result], [x])
    exe = paddle.static.Executor()

    def at(step: float) -> Any:
        return exe.run(feed={"x": X + step, "y": Y}, fetch_list=[result])[0]

    pushed, pulled = exe.run(feed={"x": X, "y": Y}, fetch_list=[tangent, gradient])
    step = 1e-6
    np.testing.assert_allclose(pushed, (at(step) - at(-step)) / (2 * step), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(pushed.sum(), pulled.sum(), rtol=1e-10, atol=1e-12)


def test_the_text_of_a_lowered_program(static: None) -> None:
    x = data("x", X)
    paddle.mean(paddle.tanh(x) * 2.0)
    autograd.orig2prim()
    assert types() == ["tanh_p", "fill_constant_p", "mul_p", "sum_p", "fill_constant_p", "div_p"]
    text = str(paddle.static.default_main_program())
    assert "{Out=['tanh_0.tmp_0']} = tanh_p(inputs={X=['x']}" in text
    assert "sum_p(inputs={X=['tmp_0']}, axes = [0, 1]" in text


def test_operators_that_need_an_unknown_length_stay(static: None) -> None:
    x = paddle.static.data("x", [None, 3], "float64")
    y = paddle.sum(paddle.sin(x) * 2.0, axis=1)
    z = paddle.reshape(x, [-1])
    autograd.orig2prim()
    assert "reshape2" in types()
    assert "sin_p" in types()
    assert "mul_p" in types()
    found = paddle.static.Executor().run(feed={"x": X}, fetch_list=[y, z])
    np.testing.assert_allclose(found[0], 2 * np.sin(X).sum(1))
    np.testing.assert_allclose(found[1], X.ravel())


# -- what failed before ------------------------------------------------------------------------------------------------


def orders(function: Any, at: Any, count: int = 2) -> list[np.ndarray[Any, Any]]:
    """Return the gradient of Σf, and the gradient of the sum of that, …, in the mode that is on."""
    if paddle.in_dynamic_mode():
        x = paddle.to_tensor(at, stop_gradient=False)
        y, found = function(x), []
        for _ in range(count):
            (y,) = paddle.grad(y, x, create_graph=True)
            found.append(y.numpy())
        return found
    x = data("x", at)
    y, variables = function(x), []
    for _ in range(count):
        (y,) = paddle.static.gradients([y], [x])
        variables.append(y)
    return paddle.static.Executor().run(feed={"x": at}, fetch_list=variables)  # type: ignore[no-any-return]


@pytest.fixture(params=["eager", "static"])
def mode(request: pytest.FixtureRequest) -> None:
    if request.param == "static":
        request.getfixturevalue("static")


def test_gather_at_order_2(mode: None) -> None:
    at = np.array([1.0, 2.0, 3.0])
    index = np.array([2, 0, 2])
    first, second, third = orders(lambda x: paddle.index_select(x, paddle.assign(index)) ** 3, at, 3)
    times = np.array([1.0, 0.0, 2.0])
    np.testing.assert_allclose(first, 3 * times * at**2)
    np.testing.assert_allclose(second, 6 * times * at)
    np.testing.assert_allclose(third, 6 * times)


def test_concat_with_constants(mode: None) -> None:
    at = np.array([1.0, 2.0])
    constant = np.array([3.0])
    first, second = orders(lambda x: paddle.concat([x, paddle.assign(constant), x * x]) ** 2, at)
    np.testing.assert_allclose(first, 2 * at + 4 * at**3)
    np.testing.assert_allclose(second, 2 + 12 * at**2)


def test_tangents_of_a_concat_with_constants(static: None) -> None:
    x = data("x", np.array([1.0, 2.0]))
    tangent = autograd.forward_grad(paddle.concat([x, paddle.full([2], 3.0, "float64")]), x)
    found = paddle.static.Executor().run(feed={"x": np.array([1.0, 2.0])}, fetch_list=[tangent])[0]
    np.testing.assert_array_equal(found, [1, 1, 0, 0])


NEGATIVE = {
    "sum": (lambda x, axis: paddle.sum(x, axis=axis) ** 2),
    "mean": (lambda x, axis: paddle.mean(x, axis=axis) ** 2),
    "max": (lambda x, axis: paddle.max(x, axis=axis) ** 2),
    "concat": (lambda x, axis: paddle.concat([x, x * x], axis=axis) ** 2),
    "split": (lambda x, axis: paddle.split(x, 3, axis=axis)[0] ** 3),
    "softmax": (lambda x, axis: F.softmax(x, axis=axis) ** 2),
    "squeeze": (lambda x, axis: paddle.squeeze(paddle.unsqueeze(x, axis), axis) ** 3),
    "index_select": (lambda x, axis: paddle.index_select(x, paddle.assign(np.array([0, 0])), axis=axis) ** 3),
    "cumsum": (lambda x, axis: paddle.cumsum(x, axis) ** 2),
    "p_norm": (lambda x, axis: paddle.norm(x, p=2, axis=axis)),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NEGATIVE)
def test_negative_axes(mode: None, name: str) -> None:
    found = []
    for axis in (-1, 1):
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            found.append(orders(lambda x, axis=axis: NEGATIVE[name](x, axis), X))
    for negative, positive in zip(*found, strict=True):
        np.testing.assert_allclose(negative, positive, rtol=1e-12)
        assert np.isfinite(negative).all()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "combine", [paddle.add, paddle.subtract, paddle.multiply, paddle.divide, paddle.pow, paddle.maximum]
)
def test_the_first_operand_broadcasts_too(mode: None, combine: Any) -> None:
    small = np.array([[0.5, 1.5, 0.8]])

    def function(x: Any, wide: bool) -> Any:
        mixed = combine(paddle.expand(x, [2, 3]) if wide else x, paddle.assign(Y))
        return mixed + 0.1 * x * x * x  # so that there is a second derivative

    found = []
    for wide in (False, True):
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            found.append(orders(lambda x, wide=wide: function(x, wide), small))
    for one, two in zip(*found, strict=True):
        assert one.shape == small.shape
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_sigmoid_at_large_inputs(mode: None) -> None:
    at = np.array([-1000.0, -40.0, 0.0, 40.0, 1000.0])
    first, second = orders(F.sigmoid, at)
    s = special.expit(at)
    np.testing.assert_allclose(first, s * special.expit(-at), rtol=1e-12)
    np.testing.assert_allclose(second, s * special.expit(-at) * (1 - 2 * s), rtol=1e-9, atol=1e-300)


def test_gelu_has_the_precision_of_its_data_type(mode: None) -> None:
    at = np.linspace(-3, 3, 7)
    (first,) = orders(F.gelu, at, 1)
    density = np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(first, special.ndtr(at) + at * density, rtol=1e-14, atol=1e-15)


def test_products_of_vectors_and_of_stacks(mode: None) -> None:
    rng = np.random.default_rng(0)
    stack, vector = rng.normal(size=(2, 3, 4, 5)), rng.normal(size=5)
    weight = rng.normal(size=(2, 1, 5, 3))

    def function(x: Any) -> Any:
        return paddle.sum(paddle.matmul(paddle.matmul(x * x, paddle.assign(vector)), paddle.ones([4], "float64")))

    (first,) = orders(function, stack, 1)
    np.testing.assert_allclose(first, 2 * stack * vector, rtol=1e-12)
    if paddle.in_dynamic_mode():
        (wide,) = orders(lambda x: paddle.matmul(x, paddle.assign(weight)), stack, 1)
        np.testing.assert_allclose(wide, np.broadcast_to(weight.sum(-1)[:, :, None], stack.shape), rtol=1e-12)


def test_the_norm_at_zero(mode: None) -> None:
    first, second = orders(lambda x: paddle.norm(x), np.zeros(3))
    np.testing.assert_array_equal(first, 0)
    assert np.isfinite(second).all()


# -- switches and errors -----------------------------------------------------------------------------------------------


def test_forward_grad_needs_the_switch(static: None) -> None:
    x = data("x", X)
    y = x * x
    autograd.disable_prim()
    assert not autograd.prim_enabled()
    with pytest.raises(RuntimeError, match="enable_prim"):
        autograd.forward_grad(y, x)
    autograd.enable_prim()
    assert autograd.prim_enabled()
    two = np.full((2, 3), 2.0)
    found = paddle.static.Executor().run(feed={"x": two}, fetch_list=[autograd.forward_grad(y, x), autograd.grad(y, x)])
    np.testing.assert_array_equal(found, [2 * two, 2 * two])


def test_structures_of_forward_grad_and_grad(static: None) -> None:
    x, y = data("x", X), data("y", Y)
    z, other = x * y, x + 1.0
    assert isinstance(autograd.forward_grad(z, [x, y]), paddle.static.Variable)
    assert [v is None for v in autograd.forward_grad([z, other], [y])] == [False, True]
    assert [v is None for v in autograd.grad(other, [x, y])] == [False, True]
    assert isinstance(autograd.grad(z, x), paddle.static.Variable)
    with pytest.raises(RuntimeError, match="does not depend"):
        autograd.grad(other, y)
    for wrong in (
        lambda: autograd.forward_grad(3, x),
        lambda: autograd.forward_grad(z, 3),
        lambda: autograd.grad([3], x),
    ):
        with pytest.raises(TypeError, match=r"Expected (outputs|inputs)"):
            wrong()


def test_variables_of_two_programs(static: None) -> None:
    x = data("x", X)
    with paddle.static.program_guard(paddle.static.Program()):
        y = data("y", Y)
    with pytest.raises(RuntimeError, match="program"):
        autograd.forward_grad(x * 2.0, y)


def test_only_the_current_block_is_lowered(static: None) -> None:
    block = paddle.static.Program().global_block()
    for function in (autograd.orig2prim, autograd.prim2orig):
        with pytest.raises(AssertionError, match="current block"):
            function(block)


def test_functions_of_variables(static: None) -> None:
    x = data("x", X)
    value, pulled = autograd.vjp(lambda x: paddle.sin(x) * x, x)
    _, pushed = autograd.jvp(lambda x: paddle.sin(x) * x, x)
    expected = np.cos(X) * X + np.sin(X)
    found = paddle.static.Executor().run(feed={"x": X}, fetch_list=[value, pulled, pushed])
    for one, two in zip(found, (np.sin(X) * X, expected, expected), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_matrices_of_variables(static: None) -> None:
    x = paddle.static.data("x", [None, 3], "float64")
    J = autograd.Jacobian(lambda x: paddle.stack([x[:, 0] * x[:, 1], x[:, 2] ** 2], axis=1), x, is_batched=True)
    H = autograd.Hessian(lambda x: paddle.sum(x**3, axis=1, keepdim=True), x, is_batched=True)
    assert J.shape == (-1, 2, 3)
    found = paddle.static.Executor().run(feed={"x": X}, fetch_list=[J[:], J[:, 1], J[:, :, 2], H[:, 0, 0]])
    matrix = np.zeros((2, 2, 3))
    matrix[:, 0, 0], matrix[:, 0, 1], matrix[:, 1, 2] = X[:, 1], X[:, 0], 2 * X[:, 2]
    for one, two in zip(found, (matrix, matrix[:, 1], matrix[:, :, 2], 6 * X[:, 0]), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


# -- matrices compute what is asked for --------------------------------------------------------------------------------


def test_rows_and_columns_are_computed_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from primad.compat.paddle.incubate.autograd import matrices

    asked: list[str] = []
    for name in ("pull", "push"):
        original = getattr(matrices, name)
        monkeypatch.setattr(
            matrices, name, lambda *args, name=name, original=original: (asked.append(name), original(*args))[1]
        )
    x = paddle.to_tensor(np.arange(1.0, 6.0))
    J = autograd.Jacobian(lambda x: paddle.concat([x * x[0], x]), x)
    assert J.shape == (10, 5)
    assert asked == []
    np.testing.assert_array_equal(J[3].numpy(), [4, 0, 0, 1, 0])
    J[3, 2:]
    assert asked == ["pull"]
    np.testing.assert_array_equal(J[:, 1].numpy(), [0, 1, 0, 0, 0, 0, 1, 0, 0, 0])
    assert asked == ["pull", "push"]
    np.testing.assert_array_equal(J[[3, 4], -2].numpy(), [1, 0])
    assert asked == ["pull", "push", "push"]


@pytest.mark.parametrize(
    "index",
    [np.s_[...], np.s_[::-1], np.s_[1:4:2, ::-2], np.s_[..., -1], np.s_[[0, 2]], np.s_[np.int64(1)], np.s_[1, ...]],
)
def test_indexes_of_numpy(index: Any) -> None:
    at = np.arange(1.0, 6.0)
    whole = np.diag(2 * at)
    J = autograd.Jacobian(lambda x: x * x, paddle.to_tensor(at))
    np.testing.assert_array_equal(J[index].numpy(), whole[index])


def test_indexes_that_do_not_fit() -> None:
    J = autograd.Jacobian(lambda x: x * x, paddle.to_tensor([1.0, 2.0]))
    for index in (2, (0, 5), (0, 0, 0), (..., ...)):
        with pytest.raises(IndexError):
            J[index]
    with pytest.raises(ValueError, match="selects nothing"):
        J[1:1]


def test_orders_one_to_eight_of_functions() -> None:
    def derivative(f: Any, n: int, mode: str) -> Any:
        for i in range(n):
            product = autograd.jvp if mode == "forward" or (mode == "mixed" and i % 2) else autograd.vjp
            f = partial(lambda f, product, x: product(f, x)[1], f, product)
        return f

    x = paddle.to_tensor(np.array([0.3, 1.2]))
    for order in range(1, 9):
        for mode in ("forward", "reverse", "mixed"):
            found = derivative(paddle.sin, order, mode)(x)
            np.testing.assert_allclose(found.numpy(), np.sin(np.array([0.3, 1.2]) + order * np.pi / 2), atol=1e-13)


def test_forward_mode_stops_at_a_backward_that_is_the_users_own() -> None:
    class Cube(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensor()
            return 3.0 * x * x * gradient

    x = paddle.to_tensor([2.0])
    assert autograd.vjp(Cube.apply, x)[1].item() == 12.0
    with pytest.raises(PrimadError, match="PyLayer"):
        autograd.jvp(Cube.apply, x)


def test_a_lowered_program_trains(static: None) -> None:
    """Running statistics, parameters and the state of the optimiser are written in place, also by primitives."""
    programs, losses = [], []
    for lowered in (False, True):
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            x = paddle.static.data("x", [4, 3])
            hidden = paddle.static.nn.batch_norm(paddle.static.nn.fc(x, 5), momentum=0.5)
            loss = paddle.mean(paddle.square(paddle.tanh(hidden) - 1.0))
            paddle.optimizer.Adam(0.05).minimize(loss)
            if lowered:
                autograd.orig2prim()
            programs.append([op.type for op in main.global_block().ops])
        with paddle.static.scope_guard(paddle.static.Scope()):
            paddle.seed(0)
            exe = paddle.static.Executor()
            exe.run(startup)
            inputs = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
            losses.append([exe.run(main, feed={"x": inputs}, fetch_list=[loss, "batch_norm_0.w_1"]) for _ in range(4)])
    assert "adam" in programs[0]
    assert "adam" not in programs[1]
    for one, two in zip(*losses, strict=True):
        np.testing.assert_allclose(one[0], two[0], rtol=1e-5)
        np.testing.assert_allclose(one[1], two[1], rtol=1e-5, atol=1e-6)


def test_forward_mode_plans_once_for_each_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    from primad.compat import forward

    made: list[Any] = []
    original = forward.Pushforward
    monkeypatch.setattr(forward, "Pushforward", lambda part: (made.append(part), original(part))[1])
    rng = np.random.default_rng(0)
    for _ in range(4):
        x, v = (paddle.to_tensor(rng.normal(size=7)) for _ in range(2))
        _, pushed = autograd.jvp(lambda x: paddle.exp(paddle.sin(x) * x), x, v)
        at = x.numpy()
        slope = np.exp(np.sin(at) * at) * (np.cos(at) * at + np.sin(at))
        np.testing.assert_allclose(pushed.numpy(), slope * v.numpy(), rtol=1e-12)
    assert len(made) == 1
