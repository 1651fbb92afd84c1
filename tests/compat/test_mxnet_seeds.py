# ruff: noqa: UP034 (the parentheses are those of the documented code)
"""The documented examples of `Executor.backward`, with the import changed and Python 2's print repaired."""

from __future__ import annotations

import numpy as np

import primad.compat.mxnet as mx


def test_loss_function_symbol() -> None:
    net = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(net, name="fc", num_hidden=6)
    net = mx.sym.Activation(net, name="relu", act_type="relu")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    args = {
        "data": mx.nd.ones((1, 4)),
        "fc_weight": mx.nd.ones((6, 4)),
        "fc_bias": mx.nd.array((1, 4, 4, 4, 5, 6)),
        "softmax_label": mx.nd.ones((1)),
    }
    args_grad = {"fc_weight": mx.nd.zeros((6, 4)), "fc_bias": mx.nd.zeros((6))}
    texec = net.bind(ctx=mx.cpu(), args=args, args_grad=args_grad)
    out = texec.forward(is_train=True)[0].copy()
    np.testing.assert_allclose(
        out.asnumpy(), [[0.00378404, 0.07600445, 0.07600445, 0.07600445, 0.20660152, 0.5616011]], rtol=1e-6
    )
    texec.backward()
    rows = [0.00378404, -0.92399555, 0.07600445, 0.07600445, 0.20660152, 0.5616011]
    np.testing.assert_allclose(texec.grad_arrays[1].asnumpy(), np.outer(rows, np.ones(4)), rtol=1e-6)


def test_non_loss_function_symbol() -> None:
    a = mx.sym.Variable("a")
    b = mx.sym.Variable("b")
    c = 2 * a + b
    args = {"a": mx.nd.array([1, 2]), "b": mx.nd.array([2, 3])}
    args_grad = {"a": mx.nd.zeros((2)), "b": mx.nd.zeros((2))}
    texec = c.bind(ctx=mx.cpu(), args=args, args_grad=args_grad)
    out = texec.forward(is_train=True)[0].copy()
    assert str(out.asnumpy()) == "[4. 7.]"
    texec.backward(out)
    assert str(texec.grad_arrays[0].asnumpy()) == "[ 8. 14.]"
    assert str(texec.grad_arrays[1].asnumpy()) == "[4. 7.]"


def test_heads_as_array_list_and_dict_in_both_modes() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    grads = {"a": mx.nd.zeros(2), "b": mx.nd.zeros(2)}
    texec = (2 * a + b).bind(mx.cpu(), {"a": mx.nd.array([1, 2]), "b": mx.nd.array([2, 3])}, grads)
    out = texec.forward(is_train=True)[0].copy()
    (name,) = texec.output_dict
    for heads in (out, [out], {name: out}):
        for is_train in (True, False):
            grads["a"][:] = 0
            texec.backward(heads, is_train=is_train)
            assert grads["a"].asnumpy().tolist() == [8, 14]
            assert texec.grad_arrays[0] is grads["a"]
