"""`ParamAttr`: how a layer should make one of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class ParamAttr:
    """How to make a parameter.

    Attributes:
        name: its name, by default one that is not taken.
        initializer: what fills it; by default the layer's choice.
        learning_rate: factor on the optimiser's learning rate.
        regularizer: what is added to its gradient, or None.
        trainable: whether it is trained.
        do_model_average: ignored.
        need_clip: whether gradient clipping applies to it.
    """

    name: str | None = None
    initializer: Any = None
    learning_rate: float = 1.0
    regularizer: Any = None
    trainable: bool = True
    do_model_average: bool = True
    need_clip: bool = True


def as_attribute(given: Any) -> ParamAttr | None:
    """Return the ParamAttr that a layer's argument stands for; False gives None: no parameter.

    Args:
        given: a ParamAttr, a name, an initialiser, None or True (all defaults), or False.
    """
    if given is False:
        return None
    if given is None or given is True:
        return ParamAttr()
    if isinstance(given, ParamAttr):
        return given
    return ParamAttr(name=given) if isinstance(given, str) else ParamAttr(initializer=given)
