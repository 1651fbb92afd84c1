"""Weight decay (`paddle.regularizer`): what is added to gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from primad.compat.paddle.functions.math import add, multiply, sign


@dataclass(frozen=True)
class L2Decay:
    """Half of coeff·p², whose gradient is coeff·p."""

    coeff: float = 0.0

    def __call__(self, parameter: Any, gradient: Any) -> Any:
        """Return the gradient with the decay's added."""
        return add(gradient, multiply(parameter, parameter * 0.0 + self.coeff))


@dataclass(frozen=True)
class L1Decay:
    """coeff·|p|, whose gradient is coeff·sign(p)."""

    coeff: float = 0.0

    def __call__(self, parameter: Any, gradient: Any) -> Any:
        """Return the gradient with the decay's added."""
        return add(gradient, sign(parameter) * self.coeff)
