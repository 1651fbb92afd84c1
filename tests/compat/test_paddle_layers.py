"""Layers, optimisers, files, flags and missing names of the eager layer."""

import copy

import numpy as np
import pytest

import primad.compat.paddle as paddle
from primad.errors import PrimadError

nn, F = paddle.nn, paddle.nn.functional


def regression(optimizer_of, steps=5, model=None):
    paddle.seed(3)
    model = model or nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optimizer_of(model.parameters())
    x = paddle.to_tensor(np.linspace(-1, 1, 20).reshape(10, 2), dtype="float32")
    y = x[:, :1] * x[:, 1:]
    for _ in range(steps):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return model, optimizer, float(loss)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["SGD", "Momentum", "Adam", "AdamW"])
def test_training_goes_on_from_a_file(kind, tmp_path):
    def make(parameters):
        rate = paddle.optimizer.lr.StepDecay(0.05, 2)
        return getattr(paddle.optimizer, kind)(rate, parameters=parameters)

    with paddle.utils.unique_name.guard():
        model, optimizer, _ = regression(make)
    optimizer._rate.step()
    paddle.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "deep" / "state")
    whole, *_ = regression(lambda _: optimizer, 3, model)
    saved = paddle.load(tmp_path / "deep" / "state")
    with paddle.utils.unique_name.guard():
        other = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    again = make(other.parameters())
    assert other.set_state_dict(saved["model"]) == ([], [])
    again.set_state_dict(saved["optimizer"])
    assert again.get_lr() == optimizer.get_lr()
    resumed, *_ = regression(lambda _: again, 3, other)
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_files_hold_nested_structures_and_refuse_the_rest(tmp_path):
    content = {"a": [paddle.ones([2]), np.arange(3)], "b": (1, 2.5, None, "text", True), 7: {"c": paddle.zeros([])}}
    paddle.save(content, tmp_path / "file")
    found = paddle.load(tmp_path / "file")
    assert found["b"] == content["b"] and found[7]["c"].shape == []
    assert isinstance(found["a"][0], paddle.Tensor) and isinstance(found["a"][1], np.ndarray)
    assert isinstance(paddle.load(tmp_path / "file", return_numpy=True)["a"][0], np.ndarray)
    with pytest.raises(TypeError, match="state_dict"):
        paddle.save({"model": nn.Linear(1, 1)}, tmp_path / "other")
    (tmp_path / "pickle").write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(ValueError, match="pickles"):
        paddle.load(tmp_path / "pickle")


def test_lbfgs_reaches_the_minimum_and_resumes():
    def problem():
        x = paddle.to_tensor([-1.2, 1.0], dtype="float64", stop_gradient=False)
        optimizer = paddle.optimizer.LBFGS(max_iter=5, parameters=[x])

        def closure():
            optimizer.clear_grad()
            loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
            loss.backward()
            return loss

        return x, optimizer, closure

    x, optimizer, closure = problem()
    for _ in range(4):
        optimizer.step(closure)
    middle, state = x.numpy(), optimizer.state_dict()
    for _ in range(8):
        loss = optimizer.step(closure)
    np.testing.assert_allclose(x.numpy(), [1.0, 1.0], atol=1e-6)
    assert float(loss) < 1e-12
    y, other, closure = problem()
    y.set_value(middle)
    other.set_state_dict(state)
    for _ in range(8):
        other.step(closure)
    np.testing.assert_array_equal(y.numpy(), x.numpy())


def test_dropout_keeps_means_and_repeats_with_the_seed():
    x = paddle.ones([400, 50])
    layer = nn.Dropout(0.25)
    paddle.seed(5)
    first, second = layer(x), layer(x)
    paddle.seed(5)
    np.testing.assert_array_equal(layer(x).numpy(), first.numpy())
    assert not np.array_equal(first.numpy(), second.numpy())
    assert set(np.unique(first.numpy()).round(4)) == {0.0, np.float32(1.3333)}
    assert abs(float(first.mean()) - 1.0) < 0.02
    columns = F.dropout(x, 0.5, axis=1).numpy()
    assert (columns == columns[:1]).all() and 0 < columns[0].mean() < 2
    layer.eval()
    assert layer(x) is x


def test_dropout_of_the_backward_pass_is_that_of_the_forward_pass():
    x = paddle.ones([100, 100])
    x.stop_gradient = False
    y = F.dropout(x, 0.5)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())


def test_batch_norm_follows_its_batches():
    layer = nn.BatchNorm2D(3, momentum=0.5)
    x = paddle.randn([4, 3, 5, 5]) * 2.0 + 1.0
    layer(x)
    values = x.numpy()
    np.testing.assert_allclose(layer._mean.numpy(), 0.5 * values.mean((0, 2, 3)), rtol=1e-4)
    before = layer._mean.numpy()
    layer.eval()
    layer(x)
    np.testing.assert_array_equal(layer._mean.numpy(), before)
    assert "_mean" in layer.state_dict() and len(layer.parameters()) == 2


def test_layers_are_containers():
    layers = nn.LayerList([nn.Linear(2, 2) for _ in range(3)])
    layers.insert(1, nn.Identity())
    assert len(layers) == 4 and isinstance(layers[1], nn.Identity) and len(list(layers[1:])) == 3
    named = nn.LayerDict({"a": nn.Linear(2, 2)})
    named["b"] = nn.ReLU()
    assert list(named.keys()) == ["a", "b"] and [n for n, _ in named.named_parameters()] == ["a.weight", "a.bias"]
    model = nn.Sequential(("first", nn.Linear(2, 3)), ("second", nn.GELU()))
    assert model["first"].weight.shape == [2, 3] and isinstance(model[-1], nn.GELU)
    seen = []
    handle = model.register_forward_post_hook(lambda layer, inputs, outputs: seen.append(outputs.shape))
    model(paddle.ones([1, 2]))
    handle.remove()
    model(paddle.ones([1, 2]))
    assert seen == [[1, 3]]
    twin = copy.deepcopy(model)
    twin["first"].weight.set_value(np.zeros((2, 3), "float32"))
    assert float(model["first"].weight.abs().sum()) > 0
    assert "in_features=2" in repr(model)
    model.to(dtype="float64")
    assert model["first"].weight.dtype is paddle.float64


def test_parameters_take_attributes():
    fixed = paddle.ParamAttr(name="mine", initializer=nn.initializer.Constant(2.0), learning_rate=0.5, trainable=True)
    layer = nn.Linear(2, 1, weight_attr=fixed, bias_attr=False)
    assert layer.bias is None and layer.weight.name == "mine"
    optimizer = paddle.optimizer.SGD(1.0, parameters=layer.parameters())
    layer(paddle.ones([1, 2])).backward()
    optimizer.step()
    np.testing.assert_allclose(layer.weight.numpy(), 1.5)
    frozen = nn.Linear(2, 1, weight_attr=paddle.ParamAttr(trainable=False))
    assert frozen.weight.stop_gradient and not frozen.bias.stop_gradient


def test_parameter_groups_have_rates_of_their_own():
    a, b = nn.Linear(1, 1, bias_attr=False), nn.Linear(1, 1, bias_attr=False)
    groups = [{"params": a.parameters()}, {"params": b.parameters(), "learning_rate": 0.1}]
    optimizer = paddle.optimizer.SGD(1.0, parameters=groups)
    before = a.weight.item(), b.weight.item()
    (a(paddle.ones([1, 1])) + b(paddle.ones([1, 1]))).backward()
    optimizer.step()
    np.testing.assert_allclose([before[0] - a.weight.item(), before[1] - b.weight.item()], [1.0, 0.1], rtol=1e-5)


def test_gradients_of_held_results_follow_the_flag():
    x = paddle.to_tensor(2.0, stop_gradient=False)
    y = x * x
    (y * 3.0).backward()
    assert float(y.grad) == 3.0
    paddle.set_flags({"FLAGS_retain_grad_for_all_tensor": False})
    try:
        y = x * x
        (y * 3.0).backward()
        assert y.grad is None
    finally:
        paddle.set_flags({"FLAGS_retain_grad_for_all_tensor": True})
    with pytest.raises(ValueError, match="FLAGS_retain"):
        paddle.get_flags("FLAGS_other")


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        (paddle, "CUDAPlace", "CPUPlace"),
        (paddle, "complex64", "real"),
        (paddle, "tahn", "tanh"),
        (nn, "LSTM", "dir"),
        (F, "sofmax", "softmax"),
        (paddle.optimizer, "Lamb", "dir"),
        (paddle.vision, "datasets", "dir"),
    ],
)
def test_a_missing_name_says_what_exists(module, name, hint):
    with pytest.raises(AttributeError, match=hint) as caught:
        getattr(module, name)
    assert isinstance(caught.value, PrimadError)
    assert not hasattr(module, name)


@pytest.mark.parametrize(
    ("name", "hint"), [("cuda", "everything runs on the CPU"), ("tanhh", "did you mean tanh"), ("zzqxx", "dir")]
)
def test_a_missing_method_says_what_exists(name, hint):
    x = paddle.to_tensor([1.0])
    with pytest.raises(AttributeError, match=hint):
        getattr(x, name)
    assert not hasattr(x, name)
    paddle.enable_static()
    try:
        variable = paddle.static.data("x", [1])
        with pytest.raises(AttributeError, match="append_backward" if name == "cuda" else hint):
            variable.backward() if name == "cuda" else getattr(variable, name)
    finally:
        paddle.disable_static()


def test_every_listed_name_exists():
    for module in (paddle, nn, F, paddle.optimizer, paddle.autograd, paddle.linalg, paddle.vision):
        for name in dir(module):
            assert getattr(module, name) is not None or name.startswith("__"), (module.__name__, name)


def test_errors_name_the_users_line():
    with pytest.raises(RuntimeError) as caught:
        paddle.to_tensor([1.0]).register_hook(print)
    assert "test_paddle_layers.py" in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda: paddle.ones([2, 3]) @ paddle.ones([4, 5]), ValueError, r"\(2, 3\) and \(4, 5\) do not fit"),
        (lambda: nn.Linear(3, 4)(paddle.ones([2, 5])), ValueError, r"\(2, 5\) and \(3, 4\) do not fit"),
        (lambda: paddle.ones([2, 3]) + paddle.ones([4, 5]), ValueError, "broadcast"),
        (lambda: paddle.reshape(paddle.ones([2, 3]), [4, 4]), ValueError, "reshape"),
        (lambda: paddle.transpose(paddle.ones([2, 3]), [0]), ValueError, "transpose"),
        (lambda: paddle.ones([2])[5], IndexError, "index"),
        (lambda: paddle.ones([2])["a"], ValueError, "indexed by 'a'"),
        (lambda: nn.Embedding(3, 2)(paddle.to_tensor([7])), IndexError, "lookup.*out of bounds"),
        (lambda: paddle.sin([1.0, 2.0]), ValueError, "sin.*no Tensor"),
    ],
)
def test_operands_that_do_not_fit(wrong, error, says):
    with pytest.raises(error, match=says) as caught:
        wrong()
    assert isinstance(caught.value, PrimadError)
    assert "test_paddle_layers.py" in str(caught.value)
