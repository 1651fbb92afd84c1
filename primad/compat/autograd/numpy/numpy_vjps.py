"""What `autograd.numpy.numpy_vjps` has for rules of a user's own: sums over spread axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad import numpy as pn
from primad.compat.autograd.importing import missing


def unbroadcast(x: Any, target_meta: tuple[Any, ...], broadcast_idx: int = 0) -> Any:
    """Return a cotangent summed over the axes that its operand does not have, and over those of length 1 there.

    Args:
        x: the cotangent of the operand as it was broadcast.
        target_meta: what `autograd.numpy.metadata` says of the operand; its shape comes first.
        broadcast_idx: the place of the axes that the operand does not have.
    """
    shape = target_meta[0]
    while pn.ndim(x) > len(shape):
        x = pn.sum(x, axis=broadcast_idx)
    spread = tuple([axis for axis, length in enumerate(shape) if length == 1])
    return pn.sum(x, axis=spread, keepdims=True) if spread else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a pullback whose cotangents are summed to the shape of the operand `target`."""
    shape = pn.shape(target)
    return lambda g: unbroadcast(f(g), (shape,))


__all__ = ["unbroadcast", "unbroadcast_f"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
