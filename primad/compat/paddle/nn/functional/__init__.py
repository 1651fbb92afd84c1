"""paddle.nn.functional: activations, layers and losses as functions."""

from typing import Any

from primad.compat.paddle.functions.inplace import in_place
from primad.compat.paddle.nn.functional import activation, common, loss, vision
from primad.compat.paddle.nn.functional.activation import *
from primad.compat.paddle.nn.functional.common import *
from primad.compat.paddle.nn.functional.loss import *
from primad.compat.paddle.nn.functional.vision import *
from primad.compat.paddle.settings import errors

__all__ = [*activation.__all__, *common.__all__, *loss.__all__, *vision.__all__]

_IN_PLACE = {
    f"{name}_": in_place(getattr(activation, name))
    for name in ("elu", "hardtanh", "leaky_relu", "relu", "softmax", "tanh", "thresholded_relu")
}


def __getattr__(name: str) -> Any:
    if name in _IN_PLACE:
        return _IN_PLACE[name]
    raise errors.unsupported("paddle.nn.functional", name, [*__all__, *_IN_PLACE])
