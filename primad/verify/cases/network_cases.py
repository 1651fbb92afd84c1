"""What the parts of neural networks are tried on: activations, normalizations, losses of labels."""

from __future__ import annotations

from typing import Any

from primad.verify.cases.drawn_cases import ANY, POSITIVE, Choices, Example, floats, integers, pointwise, shape, varied

MILD = (-1.5, 1.5)
UNIT = (0.125, 0.875)


def _dropout(choose: Choices) -> Example:
    common = choose.among(((2, 2), (2, 3), (2,), ()))
    key = integers(choose, (), 0, 2**20)
    return Example((floats(common), key), {"rate": choose.among((0.0, 0.25, 0.5, 1.0))})


def _one_hot(choose: Choices) -> Example:
    indices = integers(choose, shape(choose, 0, 2), -1, 3)
    return Example((indices,), {"depth": choose.integer(1, 3), "dtype": choose.among(("float64", "float32", "int64"))})


def _batch_norm(choose: Choices) -> Example:
    common = choose.among(((2, 3), (2, 2, 2), (3,)))
    axis = choose.integer(0, len(common) - 1)
    channels = (common[axis],)
    operands = (floats(common), floats(channels), floats(channels, *POSITIVE), floats(channels), floats(channels))
    return Example(operands, {"axis": axis, "epsilon": choose.among((0.0, 0.125))})


def _layer_norm(choose: Choices) -> Example:
    common, axes = choose.among((((2,), (0,)), ((2, 2), (1,)), ((2, 1), (0, 1)), ((2, 1, 2), (2,))))
    lengths = tuple(common[axis] for axis in axes)
    return Example((floats(common), floats(lengths), floats(lengths)), {"axes": axes, "epsilon": 0.125})


def _cross_entropy(choose: Choices) -> Example:
    common, axis = choose.among((((2, 3), 1), ((3, 2), 0), ((3,), 0), ((2, 2), 1)))
    labels = integers(choose, common[:axis] + common[axis + 1 :], 0, common[axis] - 1)
    ignored = choose.among((-100, 1))
    return Example((floats(common), labels), {"axis": axis, "ignore_index": ignored})


NETWORK_EXAMPLES: dict[str, Any] = {
    "relu": pointwise(ANY),
    "silu": pointwise(MILD),
    "gelu": pointwise(MILD),
    "gelu_tanh": pointwise(MILD),
    "leaky_relu": varied(pointwise(ANY), slope=(0.125, 0.01)),
    "prelu": pointwise(ANY, ANY),
    "elu": varied(pointwise(ANY), alpha=(1.0, 0.5)),
    "celu": varied(pointwise(ANY), alpha=(1.0, 0.5)),
    "selu": pointwise(ANY),
    "hardtanh": varied(pointwise(ANY), low=(-1.0, 0.0), high=(2.0,)),
    "hard_sigmoid": varied(pointwise(ANY), slope=(0.3, 0.2), offset=(0.5,)),
    "hard_swish": pointwise((-6.0, 6.0)),
    "hardshrink": varied(pointwise(ANY), threshold=(0.3, 1.0)),
    "softshrink": varied(pointwise(ANY), threshold=(0.3, 1.0)),
    "thresholded_relu": varied(pointwise(ANY), threshold=(0.3, 1.0), value=(0.0, 2.0)),
    "softsign": pointwise(ANY),
    "tanhshrink": pointwise(ANY),
    "mish": pointwise(MILD),
    "log_sigmoid": pointwise(ANY),
    "dropout": _dropout,
    "one_hot": _one_hot,
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "squared_error": pointwise(ANY, ANY),
    "huber": varied(pointwise(ANY, ANY), delta=(0.3, 0.7)),
    "cross_entropy": _cross_entropy,
    "binary_cross_entropy": pointwise(UNIT, UNIT),
    "binary_cross_entropy_with_logits": pointwise(MILD, UNIT),
}
