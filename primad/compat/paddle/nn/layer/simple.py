"""Layers without parameters: each is a function of `paddle.nn.functional` with its options fixed."""

from __future__ import annotations

import inspect
from typing import Any

from primad.compat.paddle.nn import functional as F
from primad.compat.paddle.nn.layer.layer import Layer

ACTIVATIONS = {
    "CELU": "celu",
    "ELU": "elu",
    "GELU": "gelu",
    "GLU": "glu",
    "Hardshrink": "hardshrink",
    "Hardsigmoid": "hardsigmoid",
    "Hardswish": "hardswish",
    "Hardtanh": "hardtanh",
    "LeakyReLU": "leaky_relu",
    "LogSigmoid": "log_sigmoid",
    "LogSoftmax": "log_softmax",
    "Maxout": "maxout",
    "Mish": "mish",
    "ReLU": "relu",
    "ReLU6": "relu6",
    "SELU": "selu",
    "Sigmoid": "sigmoid",
    "Silu": "silu",
    "Softmax": "softmax",
    "Softplus": "softplus",
    "Softshrink": "softshrink",
    "Softsign": "softsign",
    "Swish": "swish",
    "Tanh": "tanh",
    "Tanhshrink": "tanhshrink",
    "ThresholdedReLU": "thresholded_relu",
}
POOLING = {
    f"{name}{rank}D": f"{function}{rank}d"
    for rank in (1, 2, 3)
    for name, function in (
        ("AdaptiveAvgPool", "adaptive_avg_pool"),
        ("AdaptiveMaxPool", "adaptive_max_pool"),
        ("AvgPool", "avg_pool"),
        ("MaxPool", "max_pool"),
    )
}
LOSSES = {
    "BCELoss": "binary_cross_entropy", "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "CrossEntropyLoss": "cross_entropy", "KLDivLoss": "kl_div", "L1Loss": "l1_loss", "MSELoss": "mse_loss",
    "NLLLoss": "nll_loss", "SmoothL1Loss": "smooth_l1_loss",
}  # fmt: skip


def _layer(name: str, function_name: str, operands: int) -> type[Layer]:
    """Return the layer that applies a function, whose options are the arguments after the operands."""
    function = getattr(F, function_name)
    parameters = list(inspect.signature(function).parameters.values())[operands:]
    signature = inspect.Signature(parameters)

    def initialize(self: Layer, *args: Any, **kwargs: Any) -> None:
        Layer.__init__(self)
        bound = signature.bind(*args, **kwargs)
        bound.arguments.pop("name", None)
        self._options = dict(bound.arguments)

    def forward(self: Layer, *inputs: Any) -> Any:
        return function(*inputs, **self._options)

    def extra_repr(self: Layer) -> str:
        return ", ".join(f"{key}={value}" for key, value in self._options.items())

    initialize.__name__ = "__init__"
    initialize.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *parameters]
    )
    forward.__doc__ = f"Apply `paddle.nn.functional.{function_name}`."
    body: dict[str, Any] = {
        "__init__": initialize,
        "forward": forward,
        "extra_repr": extra_repr,
        "__module__": __name__,
    }
    body["__doc__"] = f"`paddle.nn.functional.{function_name}` as a layer."
    return type(name, (Layer,), body)


CLASSES: dict[str, type[Layer]] = {
    name: _layer(name, function, operands)
    for table, operands in ((ACTIVATIONS, 1), (POOLING, 1), (LOSSES, 2))
    for name, function in table.items()
}
"""The layers by name."""
