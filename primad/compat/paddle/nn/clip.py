"""Gradient clipping, which optimisers apply before they update."""

from __future__ import annotations

from typing import Any

from primad.compat.paddle.functions.math import add_n, clip, divide, maximum, multiply, norm, sqrt, square, sum

Pairs = list[tuple[Any, Any]]


def _clippable(parameter: Any) -> bool:
    return bool(getattr(parameter, "need_clip", True))


class ClipGradByValue:
    """Limit each element of a gradient to [min, max]; min is −max by default."""

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max, self.min = float(max), float(-max if min is None else min)

    def __call__(self, pairs: Pairs) -> Pairs:
        """Return the pairs (parameter, gradient) with limited gradients."""
        return [(p, clip(g, self.min, self.max) if _clippable(p) else g) for p, g in pairs]


class ClipGradByNorm:
    """Scale each gradient down to a Euclidean norm."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = float(clip_norm)

    def __call__(self, pairs: Pairs) -> Pairs:
        """Return the pairs (parameter, gradient) with scaled gradients."""
        return [(p, self._scaled(g) if _clippable(p) else g) for p, g in pairs]

    def _scaled(self, gradient: Any) -> Any:
        size = norm(gradient)
        return multiply(gradient, divide(size * 0.0 + self.clip_norm, clip(size, self.clip_norm)))


class ClipGradByGlobalNorm:
    """Scale all gradients down together, to a Euclidean norm of all of them."""

    def __init__(self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False) -> None:
        self.clip_norm = float(clip_norm)

    def __call__(self, pairs: Pairs) -> Pairs:
        """Return the pairs (parameter, gradient) with scaled gradients."""
        squares = [sum(square(g)) for p, g in pairs if _clippable(p)]
        if not squares:
            return pairs
        total = sqrt(add_n(squares))
        limit = total * 0.0 + self.clip_norm
        factor = divide(limit, maximum(total, limit))
        return [(p, multiply(g, factor) if _clippable(p) else g) for p, g in pairs]
