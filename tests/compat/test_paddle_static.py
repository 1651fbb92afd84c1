"""What static programs do beyond what Paddle's results say: unknown lengths, plans, state, random numbers, errors."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import primad.compat.paddle as paddle
import primad.compat.paddle.fluid as fluid
import primad.compat.paddle.nn.functional as F
from primad.errors import PrimadError
from primad.functional import jit as compile_

X = np.linspace(0.2, 1.7, 6, dtype="float32").reshape(2, 3)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    paddle.enable_static()
    programs = paddle.static.Program(), paddle.static.Program()
    scope = paddle.static.scope_guard(paddle.static.Scope())
    with paddle.static.program_guard(*programs), paddle.utils.unique_name.guard(), scope:
        yield
    paddle.disable_static()


def data(name: str, shape: Any, dtype: str = "float32") -> Any:
    variable = paddle.static.data(name, shape, dtype)
    variable.stop_gradient = False
    return variable


def run(fetch: Any, **feed: Any) -> Any:
    return paddle.static.Executor().run(feed=feed, fetch_list=fetch)


def start() -> None:
    paddle.static.Executor().run(paddle.static.default_startup_program())


def ops() -> list[str]:
    return [op.type for op in paddle.static.default_main_program().global_block().ops]


# -- plans -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """One entry for each plan that is made or looked up, which happens when something is recorded and compiled."""
    made: list[Any] = []
    original = compile_.executable_for_calls

    def counted(*args: Any, **kwargs: Any) -> Any:
        made.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(compile_, "executable_for_calls", counted)
    return made


@pytest.mark.one_in(2)
@pytest.mark.parametrize("optimizer", ["SGD", "Momentum", "Adam", "AdamW"])
def test_a_training_loop_plans_nothing_after_its_first_step(plans: list[Any], optimizer: str) -> None:
    x, y = paddle.static.data("x", [None, 3]), paddle.static.data("y", [None, 1])
    hidden = paddle.static.nn.fc(x, 4, activation="tanh")
    loss = paddle.mean(F.square_error_cost(paddle.static.nn.fc(F.dropout(hidden, 0.1), 1), y))
    rate = paddle.optimizer.lr.StepDecay(0.05, step_size=2)
    getattr(paddle.optimizer, optimizer)(rate).minimize(loss)
    start()
    exe = paddle.static.Executor()
    rng = np.random.default_rng(0)
    counts = []
    for _ in range(6):
        inputs = rng.normal(size=(8, 3)).astype("float32")
        exe.run(feed={"x": inputs, "y": inputs.sum(1, keepdims=True)}, fetch_list=[loss])
        rate.step()
        counts.append(len(plans))
    assert counts[0] > 0
    assert set(counts) == {counts[0]}


def test_each_fed_shape_is_compiled_once(plans: list[Any]) -> None:
    y = paddle.tanh(data("x", [None, 3]))
    for rows, planned in ((2, 1), (5, 2), (2, 2), (5, 2), (1, 3)):
        assert run([y], x=np.ones((rows, 3), "float32"))[0].shape == (rows, 3)
        assert len(plans) == planned


def test_a_program_that_grew_is_compiled_again() -> None:
    x = data("x", [2, 3])
    y = x * 2.0
    np.testing.assert_allclose(run([y], x=X)[0], 2 * X)
    (g,) = paddle.static.gradients([y * y], [x])
    np.testing.assert_allclose(run([g], x=X)[0], 8 * X, rtol=1e-6)


# -- derivatives -------------------------------------------------------------------------------------------------------


def test_orders_one_to_eight_by_repetition() -> None:
    x = data("x", [3])
    y = paddle.sin(x)
    found = [y]
    for _ in range(8):
        found += paddle.static.gradients([found[-1]], [x])
    values = run(found, x=np.array([0.3, 1.0, 2.0], "float32"))
    at = np.array([0.3, 1.0, 2.0])
    for order, value in enumerate(values):
        np.testing.assert_allclose(value, np.sin(at + order * np.pi / 2), rtol=1e-5, atol=1e-6)


def test_high_orders_of_a_product_write_each_gradient_once() -> None:
    x = data("x", [3], "float64")
    derivative = x * x * x * x * x
    for _ in range(5):
        (derivative,) = paddle.static.gradients([derivative], [x])
    np.testing.assert_array_equal(run([derivative], x=np.array([0.5, 1.0, 2.0]))[0], [120.0] * 3)
    made = [name for op in paddle.static.default_main_program().global_block().ops for name in op.output_arg_names]
    assert len(made) == len(set(made))


def test_the_program_of_a_high_order_stays_small() -> None:
    """Gradients pass only where a derivative can: not to what a linear operator's gradient does not depend on."""
    x = data("x", [3])
    y = 2.0 * x + 1.0
    for _ in range(2):
        (y,) = paddle.static.gradients([y * y], [x])
    assert len(ops()) <= 30
    assert paddle.static.gradients([y], [x])[0] is not None
    (constant,) = paddle.static.gradients([2.0 * x], [x])
    assert paddle.static.gradients([constant], [x]) == [None]


def test_forward_and_reverse_mode_agree_in_mixed_orders() -> None:
    x = data("x", [4])
    y = paddle.exp(paddle.sin(x) * x)
    paddle.incubate.autograd.enable_prim()
    (reverse,) = paddle.static.gradients([y], [x])
    (second,) = paddle.static.gradients([reverse], [x])
    forward = paddle.incubate.autograd.forward_grad(y, x)
    mixed = paddle.incubate.autograd.forward_grad(reverse, x)
    (back,) = paddle.static.gradients([forward], [x])
    paddle.incubate.autograd.disable_prim()
    at = np.array([0.1, 0.5, 1.0, 1.5], "float32")
    first, again, pushed, one, two = run([reverse, second, forward, mixed, back], x=at)
    np.testing.assert_allclose(first, pushed, rtol=1e-5)
    np.testing.assert_allclose(again, one, rtol=1e-4)
    np.testing.assert_allclose(again, two, rtol=1e-4)


def test_a_target_that_is_also_on_the_way() -> None:
    x = data("x", [2, 3])
    y = x * x
    (g,) = paddle.static.gradients([y, y + x], [x])
    np.testing.assert_allclose(run([g], x=X)[0], 4 * X + 1, rtol=1e-6)


def test_gradients_of_several_outputs_and_lists() -> None:
    x = data("x", [2, 3])
    first, _, third = paddle.split(x, 3, axis=-1)
    joined = paddle.concat([third, first, first], axis=-1)
    (g,) = paddle.static.gradients([joined * joined], [x])
    expected = np.zeros_like(X)
    expected[:, 0], expected[:, 2] = 4 * X[:, 0], 2 * X[:, 2]
    np.testing.assert_allclose(run([g], x=X)[0], expected, rtol=1e-6)


def test_stop_gradient_cuts() -> None:
    x = data("x", [2, 3])
    y = x * x
    y.stop_gradient = True
    (g,) = paddle.static.gradients([y * x], [x])
    np.testing.assert_allclose(run([g], x=X)[0], X * X, rtol=1e-6)


def test_copies_of_variables() -> None:
    x = data("x", [2, 3])
    (g,) = paddle.static.gradients([x.clone() * x.detach()], [x])
    assert g.name == x.grad_name
    np.testing.assert_allclose(run([g], x=X)[0], X, rtol=1e-6)


def test_a_callback_sees_every_operator_that_is_appended() -> None:
    x = data("x", [2, 3])
    seen: list[Any] = []

    def callback(block: Any, context: dict[str, Any]) -> None:
        assert block is paddle.static.default_main_program().global_block()
        op = context["__current_op_desc__"]
        seen.append((op.type(), op.output_arg_names()))
        assert context["x@GRAD"] == "x"

    paddle.static.append_backward(paddle.mean(x * x + x), callbacks=[callback, callback])
    assert [type for type, _ in seen[::2]] == [
        "reduce_mean_grad",
        "elementwise_add_grad",
        "elementwise_mul_grad",
        "sum",
    ]
    assert seen[::2] == seen[1::2]


def test_checkpoints_are_named() -> None:
    x = data("x", [2, 3])
    y = x * x
    pairs, names = paddle.static.append_backward(paddle.mean(y), checkpoints=[y])
    assert pairs == []
    assert names == [y.name]


# -- state -------------------------------------------------------------------------------------------------------------


def test_scopes_hold_parameters_apart() -> None:
    y = paddle.static.nn.fc(data("x", [None, 3]), 1)
    one, two = paddle.static.Scope(), paddle.static.Scope()
    exe = paddle.static.Executor()
    for scope in (one, two):
        exe.run(paddle.static.default_startup_program(), scope=scope)
    one.find_var("fc_0.w_0").get_tensor().set(np.ones((3, 1), "float32"), paddle.CPUPlace())
    found = [exe.run(feed={"x": X}, fetch_list=[y], scope=scope)[0] for scope in (one, two)]
    np.testing.assert_allclose(found[0], X.sum(1, keepdims=True), rtol=1e-6)
    assert not np.allclose(found[0], found[1])
    assert one.find_var("nothing") is None


def test_a_seed_decides_the_parameters() -> None:
    paddle.static.nn.fc(data("x", [None, 3]), 1)
    startup = paddle.static.default_startup_program()
    found = []
    for seed in (1, 1, 2):
        paddle.seed(seed)
        paddle.static.Executor().run(startup)
        found.append(np.array(paddle.static.global_scope().find_var("fc_0.w_0").get_tensor()))
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_dropout_draws_anew_in_each_run_and_not_in_a_clone_for_test() -> None:
    x = data("x", [100, 100])
    y = F.dropout(x, 0.25)
    (g,) = paddle.static.gradients([y], [x])
    test = paddle.static.default_main_program().clone(for_test=True)
    ones = np.ones((100, 100), "float32")
    (first, slope), (second, _) = run([y, g], x=ones), run([y, g], x=ones)
    np.testing.assert_array_equal(first, slope)
    assert not np.array_equal(first, second)
    assert abs((first == 0).mean() - 0.25) < 0.03
    np.testing.assert_allclose(first[first != 0], 1 / 0.75, rtol=1e-6)
    np.testing.assert_array_equal(paddle.static.Executor().run(test, feed={"x": ones}, fetch_list=[y.name])[0], ones)


NORMALISATIONS = {
    "static.nn": lambda x: paddle.static.nn.batch_norm(x, momentum=0.5),
    "nn": lambda x: paddle.nn.BatchNorm1D(3, momentum=0.5)(x),
}


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_batch_norm_keeps_running_statistics_for_the_clone(name: str) -> None:
    x = data("x", [None, 3])
    y = NORMALISATIONS[name](x)
    test = paddle.static.default_main_program().clone(for_test=True)
    loss = paddle.mean(y * y * y)
    paddle.optimizer.SGD(0.0).minimize(loss)
    start()
    exe = paddle.static.Executor()
    inputs = np.random.default_rng(0).normal(2.0, 3.0, (50, 3)).astype("float32")
    for _ in range(20):
        (normal,) = exe.run(feed={"x": inputs}, fetch_list=[y])
    np.testing.assert_allclose(normal.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(normal.std(0), 1, atol=1e-3)
    (tested,) = exe.run(test, feed={"x": inputs[:1]}, fetch_list=[y.name])
    np.testing.assert_allclose(tested, normal[:1], rtol=1e-2, atol=1e-2)


def test_layers_of_nn_work_in_programs() -> None:
    net = paddle.nn.Sequential(paddle.nn.Linear(3, 4), paddle.nn.Tanh(), paddle.nn.Linear(4, 1))
    x = paddle.static.data("x", [None, 3])
    loss = paddle.mean(paddle.square(net(x) - 1.0))
    paddle.optimizer.Adam(0.05).minimize(loss)
    start()
    losses = [run([loss], x=X)[0].item() for _ in range(60)]
    assert losses[-1] < 0.1 * losses[0]


def test_a_factor_of_the_learning_rate_and_parameters_that_are_not_trained() -> None:
    constant = paddle.nn.initializer.Constant(1.0)
    slow = paddle.ParamAttr(name="slow", learning_rate=0.5, initializer=constant)
    still = paddle.ParamAttr(name="still", trainable=False, initializer=constant)
    fast = paddle.ParamAttr(name="fast", initializer=constant)
    x = paddle.static.data("x", [None, 1])
    parts = [paddle.static.nn.fc(x, 1, weight_attr=attr, bias_attr=False) for attr in (slow, still, fast)]
    loss = paddle.mean(parts[0] + parts[1] + parts[2])
    _, pairs = paddle.optimizer.SGD(0.1).minimize(loss)
    assert [parameter.name for parameter, _ in pairs] == ["slow", "fast"]
    start()
    run([], x=np.ones((2, 1), "float32"))
    scope = paddle.static.global_scope()
    values = [np.array(scope.find_var(name).get_tensor()).item() for name in ("slow", "still", "fast")]
    np.testing.assert_allclose(values, [0.95, 1.0, 0.9], rtol=1e-6)


def test_gradient_clipping() -> None:
    x = paddle.static.data("x", [None, 2])
    w = paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Constant(0.0))
    loss = paddle.mean(paddle.static.nn.fc(x, 1, weight_attr=w, bias_attr=False))
    paddle.optimizer.SGD(1.0, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)).minimize(loss)
    start()
    (moved,) = run(["w"], x=np.array([[30.0, 40.0]], "float32"))
    np.testing.assert_allclose(moved, [[-0.6], [-0.8]], rtol=1e-5)


def test_training_goes_on_from_a_file(tmp_path: Any) -> None:
    y = paddle.static.nn.fc(data("x", [None, 3]), 1)
    loss = paddle.mean(paddle.square(y - 1.0))
    paddle.optimizer.Adam(0.1).minimize(loss)
    start()
    program = paddle.static.default_main_program()
    for _ in range(3):
        run([loss], x=X)
    paddle.static.save(program, str(tmp_path / "model"))
    expected = [run([loss], x=X)[0].item() for _ in range(3)]
    with paddle.static.scope_guard(paddle.static.Scope()):
        paddle.static.load(program, str(tmp_path / "model"))
        assert [run([loss], x=X)[0].item() for _ in range(3)] == expected
    parameters = program.state_dict("param")
    assert list(parameters) == ["fc_0.w_0", "fc_0.b_0"]
    assert {name for name in program.state_dict("opt") if "w_0" in name} == {
        f"fc_0.w_0_{part}_0" for part in ("step", "moment1", "moment2")
    }
    with pytest.raises(ValueError, match="shape"):
        program.set_state_dict({"fc_0.w_0": np.zeros(3)})


def test_what_was_fetched_is_not_overwritten_by_the_next_run() -> None:
    """Parameters are updated in place; arrays that a user holds are his own."""
    w = paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Constant(1.0))
    loss = paddle.mean(paddle.static.nn.fc(data("x", [None, 3]), 1, weight_attr=w, bias_attr=False))
    paddle.optimizer.SGD(0.1).minimize(loss)
    start()
    block = paddle.static.default_main_program().global_block()
    view = paddle.reshape(block.var("w"), [3])
    fetched = [run(["w", view, "w@GRAD"], x=X) for _ in range(3)]
    for i, (parameter, flat, _) in enumerate(fetched):
        np.testing.assert_allclose(parameter.ravel(), 1 - 0.1 * (i + 1) * X.mean(0), rtol=1e-5)
        np.testing.assert_array_equal(flat, parameter.ravel())


def test_tensors_on_request() -> None:
    y = paddle.static.nn.fc(data("x", [None, 3]), 2)
    start()
    (found,) = paddle.static.Executor().run(feed={"x": X}, fetch_list=[y], return_numpy=False)
    assert isinstance(found, paddle.Tensor)
    assert found.shape == [2, 2]


# -- fluid -------------------------------------------------------------------------------------------------------------


def test_fluid() -> None:
    paddle.disable_static()  # fluid is always static
    x = fluid.layers.data("x", [13])
    y = fluid.data("y", [None, 1])
    hidden = fluid.layers.fc(input=x, size=4, act="relu")
    loss = fluid.layers.square_error_cost(fluid.layers.fc(hidden, 1), y)
    avg_loss = fluid.layers.mean(loss)
    param_grad_list = fluid.backward.append_backward(loss=avg_loss)
    assert [(p.name, g.name) for p, g in param_grad_list] == [
        (name, f"{name}@GRAD") for name in ("fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0")
    ]
    fluid.optimizer.SGDOptimizer(0.01).minimize(avg_loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    rng = np.random.default_rng(0)
    feed = {"x": rng.normal(size=(8, 13)).astype("float32"), "y": np.ones((8, 1), "float32")}
    losses = [exe.run(feed=feed, fetch_list=[avg_loss])[0].item() for _ in range(30)]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("append", [fluid.backward.append_backward, paddle.static.append_backward])
@pytest.mark.parametrize("loss", [3, None, "mean_0.tmp_0", np.zeros(())])
def test_a_loss_that_is_no_variable(append: Any, loss: Any) -> None:
    with pytest.raises(AssertionError, match="must be Variable"):
        append(loss)
    with pytest.raises(TypeError):
        append(loss)


# -- errors ------------------------------------------------------------------------------------------------------------


def test_an_eager_tensor_in_a_program() -> None:
    x = data("x", [2, 3])
    paddle.disable_static()
    tensor = paddle.to_tensor([1.0, 2.0, 3.0])
    with pytest.raises(PrimadError, match="beside a static Variable"):
        x + tensor
    with pytest.raises(PrimadError, match="static"):
        tensor + x


def test_a_value_is_asked_for_too_early() -> None:
    x = data("x", [2, 3])
    for ask in (lambda: bool(x > 0), lambda: float(paddle.mean(x)), lambda: x.numpy(), lambda: np.asarray(x)):
        with pytest.raises((PrimadError, AttributeError)):
            ask()


def test_shapes_that_do_not_fit_are_refused_where_the_operator_is_appended() -> None:
    x, y = data("x", [None, 3]), data("y", [2, 4])
    with pytest.raises(ValueError, match=r"matmul_v2 does not take x \[-1, 3\], y \[2, 4\]"):
        paddle.matmul(x, y)
    with pytest.raises(ValueError, match="elementwise_add does not take"):
        y + data("z", [3, 4])


def test_unknown_lengths_that_meet_known_ones() -> None:
    x, y, z = data("x", [None, None]), data("y", [13, 1]), data("z", [13, 5])
    assert (x + y).shape == (13, -1)
    assert (x + z).shape == (13, 5)
    assert paddle.matmul(x, z).shape == (-1, 5)
    assert paddle.concat([x, z], axis=0).shape == (-1, 5)
    assert paddle.matmul(x, x).shape == (-1, -1)
    (found,) = run([paddle.matmul(x, z)], x=np.ones((2, 13), "float32"), z=np.ones((13, 5), "float32"))
    assert found.shape == (2, 5)


def test_fed_shapes_that_do_not_fit_each_other() -> None:
    x, z = data("x", [None, 3]), data("z", [None, 3])
    y = paddle.exp(x) * z  # this line
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    with pytest.raises(ValueError, match=r"elementwise_mul does not take.*\[2, 3\], z \[5, 3\]") as caught:
        run([y], x=X, z=np.ones((5, 3), "float32"))
    assert f"test_paddle_static.py:{line}" in str(caught.value)


def test_a_parameter_without_a_value() -> None:
    y = paddle.static.nn.fc(data("x", [None, 3]), 2)
    with pytest.raises(RuntimeError, match="startup program"):
        run([y], x=X)


def test_what_is_not_fetched_needs_no_data() -> None:
    x, label = data("x", [None, 3]), data("label", [None, 3])
    prediction = paddle.tanh(x)
    loss = paddle.mean(paddle.square(prediction - label))
    np.testing.assert_allclose(run([prediction], x=X)[0], np.tanh(X), rtol=1e-6)
    with pytest.raises(RuntimeError, match="'label' has no value"):
        run([loss], x=X)


def test_something_is_not_fed() -> None:
    y = data("x", [None, 3]) + data("z", [None, 3])
    with pytest.raises(RuntimeError, match="'z' has no value"):
        run([y], x=X)


def test_an_unknown_length_that_a_layer_needs() -> None:
    with pytest.raises(ValueError, match="unknown"):
        paddle.static.nn.fc(data("x", [None, None]), 2)


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="append_backward"):
        paddle.static.append_backwards  # noqa: B018
    with pytest.raises(AttributeError, match="not supported"):
        fluid.layers.lstm_unit  # noqa: B018
    with pytest.raises(AttributeError, match="conv2d"):
        paddle.static.nn.conv3d  # noqa: B018


def test_data_of_another_shape_under_the_same_name() -> None:
    data("x", [None, 3])
    data("x", [None, 3])
    for shape, dtype in (([None, 4], "float32"), ([None, 3], "float64")):
        with pytest.raises(ValueError, match="created before"):
            data("x", shape, dtype)


def test_a_layer_of_something_that_is_no_variable() -> None:
    with pytest.raises(TypeError, match="Variable"):
        paddle.static.nn.fc(3, 2)
