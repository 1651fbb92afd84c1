"""The optimisers that look at gradients alone: SGD, Momentum, Adam and AdamW."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from primad import nn as rules
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.optimizer.optimizer import Optimizer
from primad.compat.paddle.settings.errors import ArgumentTypeError, InvalidArgumentError


class SGD(Optimizer):
    """Gradient descent (see `primad.nn.SGD`).

    Args:
        learning_rate: a number or a scheduler.
        parameters: what to train.
        weight_decay: a number, a regulariser, or None.
        grad_clip: gradient clipping, or None.
        multi_precision: ignored.
        name: ignored.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._rule = rules.SGD()


class Momentum(Optimizer):
    """Gradient descent with momentum (see `primad.nn.Momentum`).

    Args:
        learning_rate: a number or a scheduler.
        momentum: how much of the velocity is kept in a step.
        parameters: what to train.
        use_nesterov: whether to look ahead.
        weight_decay: a number, a regulariser, or None.
        grad_clip: gradient clipping, or None.
        multi_precision: ignored.
        rescale_grad: factor of the gradients; must be 1.
        use_multi_tensor: ignored.
        name: ignored.
    """

    parts = ("velocity",)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        momentum: float = 0.9,
        parameters: Any = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        if rescale_grad != 1.0:
            raise InvalidArgumentError("Momentum: rescale_grad other than 1 is not supported", fix="scale the loss.")
        self._rule = rules.Momentum(momentum=float(momentum), nesterov=bool(use_nesterov))


class Adam(Optimizer):
    """Adam (see `primad.nn.Adam`).

    Args:
        learning_rate: a number or a scheduler.
        beta1: how much of the mean of g is kept in a step.
        beta2: how much of the mean of g² is kept in a step.
        epsilon: added to the root of the mean of g².
        parameters: what to train.
        weight_decay: a number, a regulariser, or None.
        grad_clip: gradient clipping, or None.
        lazy_mode: ignored: gradients are dense.
        multi_precision: ignored.
        use_multi_tensor: ignored.
        amsgrad: must be False.
        name: ignored.
    """

    parts = ("step", "moment1", "moment2")
    _kind: ClassVar[type[rules.Adam]] = rules.Adam
    """The update rule."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        for what, value in (("beta1", beta1), ("beta2", beta2)):
            if not 0 <= value < 1:
                raise InvalidArgumentError(f"Invalid value of {what}, expect {what} in [0,1).")
        if not epsilon >= 0:
            raise InvalidArgumentError("Invalid value of epsilon, expect epsilon >= 0.")
        if amsgrad:
            raise InvalidArgumentError("amsgrad=True is not supported", fix="leave it out.")
        self._rule = self._kind(beta1=float(beta1), beta2=float(beta2), epsilon=float(epsilon))


class AdamW(Adam):
    """Adam with decay beside the gradient (see `primad.nn.AdamW`).

    Args:
        learning_rate: a number or a scheduler.
        beta1: how much of the mean of g is kept in a step.
        beta2: how much of the mean of g² is kept in a step.
        epsilon: added to the root of the mean of g².
        parameters: what to train.
        weight_decay: share of a parameter that decays in a step, times the learning rate.
        lr_ratio: a function of a parameter that gives a factor of its learning rate, or None.
        apply_decay_param_fun: a function of a parameter's name that says whether it decays, or None for all.
        grad_clip: as in `Adam`, with the arguments that follow.
        lazy_mode: ignored.
        multi_precision: ignored.
        amsgrad: must be False.
        name: ignored.
    """

    _kind = rules.AdamW

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Any = None,
        weight_decay: float = 0.01,
        lr_ratio: Callable[[Any], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, None, grad_clip, amsgrad=amsgrad, name=name)
        if not isinstance(weight_decay, (int, float)):
            raise ArgumentTypeError(f"weight_decay should be float, got {type(weight_decay).__name__}")
        self._plain = replace(self._rule, weight_decay=0.0)
        self._rule = replace(self._rule, weight_decay=float(weight_decay))
        self._chooses = apply_decay_param_fun
        self._ratio = lr_ratio

    def rule(self, parameter: Any) -> Any:
        """Return the update rule, with decay or without."""
        return self._rule if self._chooses is None or self._chooses(parameter.name) else self._plain

    def _update(self, rule: Any, parameter: Tensor, gradient: Tensor, rate: float) -> None:
        super()._update(rule, parameter, gradient, rate * (1.0 if self._ratio is None else self._ratio(parameter)))
