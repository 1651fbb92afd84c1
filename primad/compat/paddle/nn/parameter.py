"""Parameters: tensors that layers own and optimisers change."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import Value
from primad.compat.paddle.eager.printing import describe
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.functions.manipulation import lengths
from primad.compat.paddle.settings.default_initializers import Constant, Initializer, XavierUniform
from primad.compat.paddle.settings.dtypes import as_dtype, default_numpy
from primad.compat.paddle.settings.naming import generate
from primad.compat.paddle.settings.parameters import ParamAttr, as_attribute
from primad.compat.paddle.settings.randomness import generator
from primad.compat.paddle.static.parameters import make_parameter as static_parameter
from primad.compat.tape import TapeValue


class Parameter(Tensor):
    """A tensor that is trained: it does not stop gradients, and is saved with its layer.

    Attributes:
        optimize_attr: {"learning_rate": factor on the optimiser's rate}.
        regularizer: what is added to its gradient, or None.
        need_clip: whether gradient clipping applies to it.
    """

    __slots__ = ("need_clip", "optimize_attr", "regularizer")

    def __init__(self, array: np.ndarray[Any, Any], name: str, attribute: ParamAttr | None = None) -> None:
        attribute = attribute or ParamAttr()
        super().__init__(TapeValue(array, attribute.trainable), name)
        self.persistable = True
        self.optimize_attr = {"learning_rate": attribute.learning_rate}
        self.regularizer = attribute.regularizer
        self.need_clip = attribute.need_clip

    @property
    def trainable(self) -> bool:
        """Whether it is trained, the opposite of stop_gradient."""
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, trainable: bool) -> None:
        self.stop_gradient = not trainable

    def __repr__(self) -> str:
        return "Parameter containing:\n" + describe("Tensor", self)

    __str__ = __repr__


def make_parameter(
    shape: Any,
    dtype: Any = None,
    attribute: Any = None,
    is_bias: bool = False,
    default: Initializer | None = None,
    stem: str = "create_parameter_0",
) -> Any:
    """Return a new parameter, or None where the attribute is False; in static mode, one of the main program.

    Args:
        shape: its shape.
        dtype: data type, by default the default one.
        attribute: how to make it (see `as_attribute`).
        is_bias: whether it is a bias, which is 0 unless something else is asked for.
        default: what fills it if the attribute does not say.
        stem: first part of its name, if the attribute has none.
    """
    found = as_attribute(attribute)
    if found is None:
        return None
    wanted = default_numpy() if dtype is None else as_dtype(dtype).numpy
    usual = default or (Constant(0.0) if is_bias else XavierUniform())
    kind = "b" if is_bias else "w"
    if Value.kind[-1] is not Tensor:
        return static_parameter(found, lengths(shape), wanted, usual, kind, stem)
    array = (found.initializer or usual)(generator(), lengths(shape), wanted)
    name = found.name or generate(f"{stem}.{kind}")
    return Parameter(np.ascontiguousarray(array, wanted), name, found)


def create_parameter(
    shape: Any,
    dtype: Any,
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Initializer | None = None,
) -> Any:
    """Return a new parameter: Xavier-uniform, or 0 for a bias, unless an initialiser is given."""
    attribute = as_attribute(attr)
    if attribute is not None and name is not None:
        attribute.name = name
    return make_parameter(
        shape,
        dtype,
        False if attribute is None else attribute,
        is_bias,
        default_initializer,
        generate("create_parameter"),
    )
