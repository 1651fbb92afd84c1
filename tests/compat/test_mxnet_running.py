"""How executors and recorded computations run: what is planned, when, and what random operators do."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primad.compat.mxnet as mx

GOLDEN = json.loads((Path(__file__).parent / "golden" / "mxnet.json").read_text())["results"]


def network() -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), name="fc1", num_hidden=7)
    net = mx.sym.BatchNorm(mx.sym.Activation(net, act_type="tanh"), name="bn", fix_gamma=False)
    net = mx.sym.FullyConnected(mx.sym.Dropout(net, p=0.25), name="fc2", num_hidden=3)
    return mx.sym.SoftmaxOutput(net, name="softmax", normalization="batch")


def batch(step: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(step)
    label = rng.integers(0, 3, 8)
    return rng.normal(size=(8, 5)).astype("float32") + label[:, None], label.astype("float32")


def test_a_training_loop_of_an_executor_plans_once(planned: list[Any]) -> None:
    mx.random.seed(0)
    rng = np.random.default_rng(0)
    texec = network().simple_bind(mx.cpu(), data=(8, 5))
    for name, array in texec.arg_dict.items():
        array[:] = 1 if name == "bn_gamma" else 0.3 * rng.normal(size=array.shape)
    texec.aux_dict["bn_moving_var"][:] = 1
    losses, counts = [], []
    for step in range(40):
        data, label = batch(step)
        (out,) = texec.forward(is_train=True, data=data, softmax_label=label)
        losses.append(-np.log(out.asnumpy()[np.arange(8), label.astype(int)]).mean())
        texec.backward()
        for name, grad in texec.grad_dict.items():
            if name not in ("data", "softmax_label"):
                texec.arg_dict[name][:] = texec.arg_dict[name] - 0.5 * grad
        counts.append(len(planned))
    assert counts[0] == counts[-1] == 2  # before the heads, and after
    assert np.mean(losses[-5:]) < 0.6 * losses[0]
    assert np.abs(texec.aux_dict["bn_moving_mean"].asnumpy()).max() > 0.01


def test_a_second_executor_of_the_same_symbol_plans_nothing(planned: list[Any]) -> None:
    for _ in range(2):
        texec = network().simple_bind(mx.cpu(), data=(9, 5))
        texec.forward(is_train=True)
        texec.backward()
        if not planned:
            pytest.skip("another test has planned this")
        count = len(planned)
    assert len(planned) == count == 2


def test_a_recorded_training_loop_plans_once(planned: list[Any]) -> None:
    mx.random.seed(1)
    weight, bias = mx.nd.random.normal(0, 0.1, shape=(3, 5)), mx.nd.zeros(3)
    for array in (weight, bias):
        array.attach_grad()
    losses, counts = [], []
    for step in range(30):
        data, label = (mx.nd.array(array) for array in batch(step))
        with mx.autograd.record():
            out = mx.nd.FullyConnected(mx.nd.Dropout(data, p=0.1), weight, bias, num_hidden=3)
            loss = -mx.nd.pick(mx.nd.log_softmax(out), label).mean()
        loss.backward()
        for array in (weight, bias):
            array -= 0.2 * array.grad
        losses.append(float(loss.asscalar()))
        counts.append(len(planned))
    assert counts[0] == counts[-1] == 1
    assert np.mean(losses[-5:]) < 0.7 * losses[0]


def test_dropout_drops_the_same_elements_backward() -> None:
    mx.random.seed(2)
    a = mx.sym.Variable("a")
    grad = mx.nd.zeros((20, 20))
    texec = mx.sym.Dropout(a, p=0.25).bind(mx.cpu(), {"a": mx.nd.ones((20, 20))}, {"a": grad})
    masks = []
    for _ in range(2):
        out = texec.forward(is_train=True)[0].asnumpy()
        texec.backward(mx.nd.ones((20, 20)))
        np.testing.assert_array_equal(grad.asnumpy(), out)
        assert set(np.round(out, 5).ravel()) == {0.0, np.float32(1.33333)}
        masks.append(out > 0)
    assert 0.6 < masks[0].mean() < 0.9
    assert (masks[0] != masks[1]).any()
    x = mx.nd.ones((50,))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Dropout(x, p=0.5) * 3
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), y.asnumpy())


def texts(value: Any) -> Iterator[str]:
    """Yield the JSON texts of symbols in golden results."""
    if isinstance(value, str) and value.startswith('{\n  "nodes"'):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def test_texts_of_mxnet_read_and_write_back() -> None:
    found = [text for result in GOLDEN.values() for text in texts(result)]
    assert len(found) > 200
    for text in found:
        assert mx.sym.load_json(text).tojson() == text


def test_copies_and_pickles_are_equal_and_independent() -> None:
    net = network()
    for copy in (deepcopy(net), pickle.loads(pickle.dumps(net)), mx.sym.load_json(net.tojson())):
        assert copy.tojson() == net.tojson()
        copy._set_attr(mood="good")
        assert net.attr("mood") is None


def test_memory_is_shared_by_a_smaller_executor() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4, name="fc", no_bias=True)
    big = net.simple_bind(mx.cpu(), x=(5, 4))
    big.arg_dict["x"][:] = 1
    big.arg_dict["fc_weight"][:] = 1
    small = big.reshape(x=(3, 4))
    small.forward()
    assert (big.outputs[0].asnumpy()[:3] == 4).all()
    assert np.shares_memory(small.arg_dict["fc_weight"].values, big.arg_dict["fc_weight"].values)


def test_long_chains() -> None:
    x = mx.nd.ones(1)
    x.attach_grad()
    with mx.autograd.record():
        y = x
        for _ in range(3000):
            y = y + x
    y.backward()
    assert x.grad.asscalar() == 3001


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: mx.gluon, "What exists"),
        (lambda: mx.sym.Convolutional, "Convolution"),
        (lambda: mx.nd.concatenat, "concatenate"),
        (lambda: mx.autograd.backwards, "backward"),
        (lambda: mx.nd.ones(2).exponential, "What exists"),
        (lambda: mx.sym.Variable("a").sine, "sin"),
        (lambda: mx.nd.random.poisson, "uniform"),
    ],
)
def test_unsupported_names_say_what_exists(call: Any, says: str) -> None:
    with pytest.raises(AttributeError, match=says):
        call()


def test_unsupported_operators_in_texts_say_what_exists() -> None:
    text = mx.sym.sin(mx.sym.Variable("a")).tojson().replace('"sin"', '"sinus"')
    with pytest.raises(mx.MXNetError, match="sin"):
        mx.sym.load_json(text)


def test_random_arrays() -> None:
    mx.random.seed(5)
    uniform = mx.nd.random.uniform(2, 3, shape=(1000,))
    normal = mx.random.normal(1, 2, shape=(40, 50), dtype="float64")
    integers = mx.nd.random.randint(0, 4, shape=200)
    assert uniform.dtype is np.float32
    assert 2 <= uniform.asnumpy().min() < 2.02 < 2.98 < uniform.asnumpy().max() < 3
    assert normal.dtype is np.float64
    np.testing.assert_allclose([normal.asnumpy().mean(), normal.asnumpy().std()], [1, 2], atol=0.1)
    assert integers.dtype is np.int32
    assert set(integers.asnumpy()) == {0, 1, 2, 3}
    rows = mx.random.shuffle(mx.nd.arange(50).reshape((25, 2))).asnumpy()
    assert sorted(rows[:, 0]) == list(range(0, 50, 2))
    assert (rows[:, 1] == rows[:, 0] + 1).all()
    filled = mx.nd.zeros(3)
    assert mx.nd.random.uniform(5, 6, out=filled) is filled
    assert mx.random.randn(2, 3).shape == (2, 3)


def test_contexts() -> None:
    assert mx.num_gpus() == 0
    with mx.Context("cpu", 1):
        assert repr(mx.nd.ones(1).context) == repr(mx.current_context()) == "cpu(1)"
    assert mx.current_context() == mx.cpu() == mx.Context(mx.cpu(0))
    with pytest.raises(KeyError):
        mx.Context("tpu")


def test_there_is_no_gpu() -> None:
    with pytest.raises(mx.MXNetError, match=r"mx\.cpu"):
        mx.gpu()


def test_large_arrays_at_once_and_bound_agree() -> None:
    mx.random.seed(3)
    values = {
        "data": mx.nd.random.normal(shape=(40, 600)),
        "fc_weight": mx.nd.random.normal(0, 0.1, shape=(500, 600)),
        "bn_gamma": mx.nd.random.uniform(1, 2, shape=(500,)),
        "bn_beta": mx.nd.random.normal(shape=(500,)),
    }
    states = [mx.nd.zeros(500), mx.nd.ones(500)]
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=500, no_bias=True, name="fc")
    net = mx.sym.MakeLoss(mx.sym.square(mx.sym.BatchNorm(net, name="bn", fix_gamma=False)), grad_scale=0.5)
    grads = {name: mx.nd.zeros(array.shape) for name, array in values.items()}
    texec = net.bind(mx.cpu(), values, grads, aux_states=[state.copy() for state in states])
    out = texec.forward(is_train=True)[0]
    texec.backward()
    for array in values.values():
        array.attach_grad()
    with mx.autograd.record():
        made = mx.nd.FullyConnected(values["data"], values["fc_weight"], num_hidden=500, no_bias=True)
        made = mx.nd.BatchNorm(made, values["bn_gamma"], values["bn_beta"], *states, fix_gamma=False)
        made = mx.nd.MakeLoss(mx.nd.square(made), grad_scale=0.5)
    made.backward()
    np.testing.assert_allclose(made.asnumpy(), out.asnumpy(), rtol=1e-4, atol=1e-4)
    for name, array in values.items():
        np.testing.assert_allclose(array.grad.asnumpy(), grads[name].asnumpy(), rtol=2e-3, atol=2e-4, err_msg=name)
    for state, other in zip(states, texec.aux_arrays, strict=True):
        np.testing.assert_allclose(state.asnumpy(), other.asnumpy(), rtol=1e-4, atol=1e-5)
