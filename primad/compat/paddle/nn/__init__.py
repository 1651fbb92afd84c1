"""paddle.nn: layers, parameters, initialisers, gradient clipping."""

from typing import Any

from primad.compat.paddle.nn import functional, initializer, layer
from primad.compat.paddle.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from primad.compat.paddle.nn.layer.common import *
from primad.compat.paddle.nn.layer.container import LayerDict, LayerList, ParameterList, Sequential
from primad.compat.paddle.nn.layer.layer import Layer
from primad.compat.paddle.nn.layer.simple import CLASSES
from primad.compat.paddle.nn.parameter import Parameter
from primad.compat.paddle.settings import errors
from primad.compat.paddle.settings.parameters import ParamAttr

__all__ = [
    "ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue", "Layer", "LayerDict", "LayerList", "ParamAttr",
    "Parameter", "ParameterList", "Sequential", "functional", "initializer", *layer.common.__all__,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in CLASSES:
        return CLASSES[name]
    raise errors.unsupported("paddle.nn", name, [*__all__, *CLASSES])


def __dir__() -> list[str]:
    return [*__all__, *CLASSES]
