"""Loss heads: operators that send back a gradient of their own, whatever the head gradient is.

Sources of the overrides: MXNet 1.9.1 as it runs. Each is a function of the inputs and outputs, not a derivative rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.compat.mxnet.errors import MXNetError
from primad.compat.mxnet.graph.shape_rules import Clash, Shape, first_input, known, same, size, unify, written
from primad.compat.mxnet.imperative.operator_parameters import Settings, boolean, choice, real
from primad.compat.mxnet.operators.record import DType, operator
from primad.nn import one_hot, sigmoid, softmax

_NORMALIZATION = choice("null", "batch", "valid", default="null")


def _label_type(settings: Settings, inputs: list[DType], outputs: list[DType]) -> None:
    """The label follows the data, where nothing else is said of it."""
    found = next((dtype for dtype in (inputs[0], *outputs) if dtype is not None), inputs[1])
    inputs[0] = inputs[0] or found
    inputs[1] = inputs[1] or found
    outputs[0] = outputs[0] or found


# -- softmax -----------------------------------------------------------------------------------------------------------


def _softmax_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    first_input(settings, inputs, outputs)
    data, label = inputs
    if data is None or label == data:
        return
    if settings.multi_output:
        flat = (data[0], size(data, 2))
        accepted = [flat, (data[0], *data[2:]), (data[0], 1, *data[2:])]
        if label is None:
            inputs[1] = flat
        elif known(label) and known(data) and label not in accepted:
            raise Clash(f"Expecting {written(flat)} or {written(data)}. But got {written(label)}")
        return
    expected = data[:-1]
    if label is not None and known(label) and known(data) and label != expected:
        if size(label) == size(expected) and len(label) != len(data):
            return
        raise Clash(f"Expecting {written(expected)} or {written(data)}. But got {written(label)}")
    inputs[1] = unify(expected, label)


def _softmax_axis(settings: Settings, ndim: int) -> int | None:
    if settings.multi_output:
        return 1
    return ndim - 1 if settings.preserve_shape or ndim <= 2 else None


def _softmax_gradient(settings: Settings, inputs: Any, outputs: Any) -> Any:
    """Softmax − one-hot label, scaled; rows whose label is ignored get zeros."""
    label, out = inputs[1], outputs[0]
    if label.shape == out.shape:
        return (out - label) * settings.grad_scale
    if out.ndim > 2 and not settings.multi_output and not settings.preserve_shape:
        return _flat_gradient(settings, label, out)
    classes_axis = 1 if settings.multi_output else out.ndim - 1
    classes = out.shape[classes_axis]
    rest = tuple([n for axis, n in enumerate(out.shape) if axis != classes_axis])
    label = pnp.reshape(label, rest)
    chosen = one_hot(label.astype(np.int64), classes, out.dtype)
    smooth = 0.0 if settings.multi_output else settings.smooth_alpha
    target = chosen if not smooth else chosen * (1.0 - smooth - smooth / (classes - 1)) + smooth / (classes - 1)
    gradient = out - (pnp.moveaxis(target, -1, 1) if settings.multi_output else target)
    if settings.use_ignore:
        kept = (label.astype(np.int64) != int(settings.ignore_label)).astype(out.dtype)
        gradient = gradient * pnp.expand_dims(kept, classes_axis)
    scale = settings.grad_scale
    if settings.normalization == "batch":
        scale = scale / (out.shape[0] if settings.multi_output else label.size)
    if settings.multi_output and settings.normalization != "valid":
        scale = scale / (label.size // out.shape[0])
    gradient = gradient * scale
    if settings.normalization == "valid":
        valid = pnp.sum((label.astype(np.int64) != int(settings.ignore_label)).astype(out.dtype))
        gradient = gradient / pnp.where(valid < 1, 1.0, valid)
    return gradient


def _flat_gradient(settings: Settings, label: Any, out: Any) -> Any:
    """Of a softmax over all axes but the first: each row has one label, and MXNet takes the first ones it finds."""
    rows = out.shape[0]
    flat = pnp.reshape(out, (rows, -1))
    return pnp.reshape(_softmax_gradient(settings, (flat, pnp.reshape(label, (-1,))[:rows]), (flat,)), out.shape)


@operator(
    "SoftmaxOutput",
    "Softmax",
    inputs=("data", "label"),
    parameters={
        "grad_scale": real(1.0),
        "ignore_label": real(-1.0),
        "multi_output": boolean(False),
        "use_ignore": boolean(False),
        "preserve_shape": boolean(False),
        "normalization": _NORMALIZATION,
        "out_grad": boolean(False),
        "smooth_alpha": real(0.0),
    },
    shapes=_softmax_shapes,
    types=_label_type,
    override=_softmax_gradient,
)
def softmax_output(settings: Settings, data: Any, label: Any) -> Any:
    """Softmax over the last axis, over axis 1 (multi_output), or over all axes but the first."""
    if settings.out_grad:
        raise MXNetError(
            "SoftmaxOutput(out_grad=True) is not supported",
            why="In MXNet it multiplies by the softmax instead of by the head gradient.",
            fix="use softmax and pick, which take head gradients.",
        )
    axis = _softmax_axis(settings, data.ndim)
    if axis is not None:
        return softmax(data, axis=axis)
    return pnp.reshape(softmax(pnp.reshape(data, (data.shape[0], -1)), axis=1), data.shape)


# -- regression --------------------------------------------------------------------------------------------------------


def _regression_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    first_input(settings, inputs, outputs)
    data, label = inputs
    if data is None:
        inputs[0] = outputs[0] = label if label is None or len(label) > 1 else None
        return
    if label is None:
        inputs[1] = data[:1] if len(data) == 2 and data[1] == 1 else data
    elif known(label) and known(data) and size(label) != size(data):
        raise Clash(f"Shape inconsistent, Provided={written(label)}, inferred shape={written(data)}")


def _regression_gradient(settings: Settings, inputs: Any, outputs: Any) -> Any:
    return _per_output(settings, inputs[1], outputs[0] - pnp.reshape(inputs[1], outputs[0].shape))


def _sign_gradient(settings: Settings, inputs: Any, outputs: Any) -> Any:
    """+1 above the label, −1 elsewhere."""
    above = outputs[0] > pnp.reshape(inputs[1], outputs[0].shape)
    return _per_output(settings, inputs[1], 2.0 * above.astype(outputs[0].dtype) - 1.0)


def _per_output(settings: Settings, label: Any, gradient: Any) -> Any:
    return gradient * (settings.grad_scale * label.shape[0] / label.size)


def _regression(name: str, forward: Any, gradient: Any) -> None:
    operator(
        name,
        inputs=("data", "label"),
        parameters={"grad_scale": real(1.0)},
        shapes=_regression_shapes,
        types=_label_type,
        override=gradient,
    )(lambda settings, data, label: forward(data))


_regression("LinearRegressionOutput", lambda data: data, _regression_gradient)
_regression("LogisticRegressionOutput", sigmoid, _regression_gradient)
_regression("MAERegressionOutput", lambda data: data, _sign_gradient)


# -- support vector machines -------------------------------------------------------------------------------------------


def _svm_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    first_input(settings, inputs, outputs)
    if inputs[0] is not None:
        inputs[1] = unify(inputs[0][:1], inputs[1])


def _svm_gradient(settings: Settings, inputs: Any, outputs: Any) -> Any:
    """Of the hinge loss of each class against the others, or of its square."""
    data, label = inputs
    chosen = one_hot(label.astype(np.int64), data.shape[-1], data.dtype)
    sign = 2.0 * chosen - 1.0
    slack = settings.margin - sign * data
    active = (slack > 0).astype(data.dtype)
    size_of = 1.0 if settings.use_linear else 2.0 * slack
    return -settings.regularization_coefficient * sign * active * size_of


@operator(
    "SVMOutput",
    inputs=("data", "label"),
    parameters={"margin": real(1.0), "regularization_coefficient": real(1.0), "use_linear": boolean(False)},
    shapes=_svm_shapes,
    types=_label_type,
    override=_svm_gradient,
)
def svm_output(settings: Settings, data: Any, label: Any) -> Any:
    """The data."""
    return data


# -- losses of the user's own ------------------------------------------------------------------------------------------


def _constant_gradient(settings: Settings, inputs: Any, outputs: Any) -> Any:
    """grad_scale in every element, divided by the number of rows, or of elements above the threshold."""
    data = inputs[0]
    ones = np.ones(data.shape, data.dtype)
    if settings.normalization == "batch":
        return ones * (settings.grad_scale * data.shape[-1] / data.size)
    if settings.normalization == "valid":
        valid = pnp.sum((data > settings.valid_thresh).astype(data.dtype))
        return ones * (settings.grad_scale / pnp.where(valid < 1, 1.0, valid))
    return ones * settings.grad_scale


@operator(
    "MakeLoss",
    parameters={"grad_scale": real(1.0), "valid_thresh": real(0.0), "normalization": _NORMALIZATION},
    shapes=same,
    override=_constant_gradient,
)
def make_loss_with_scale(settings: Settings, data: Any) -> Any:
    """The data."""
    return data


@operator(
    "make_loss",
    shapes=same,
    suffix="loss",
    override=lambda settings, inputs, outputs: np.ones(inputs[0].shape, inputs[0].dtype),
)
def make_loss(settings: Settings, data: Any) -> Any:
    """The data."""
    return data
