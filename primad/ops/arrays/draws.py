"""Random numbers as a function of a key: equal keys give equal bits, so programs that draw stay pure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap
from primad.ops.record.kinds import piecewise_constant
from primad.ops.record.primitive import Primitive

__all__ = ["draw"]

MANTISSA = {2: 11, 4: 24, 8: 53}
"""Bits of a float's mantissa by its size in bytes: a draw has as many random bits."""


def _stream(key: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Numbers from the raw words of NumPy's Philox, which NumPy promises never to change."""
    generator = np.random.Philox(key=key % 2**64)
    size = math.prod(shape)
    if dtype.itemsize == 8:
        words = generator.random_raw(size)
    else:
        words = generator.random_raw(-(-size // 2)).astype("<u8", copy=False).view("<u4")[:size]
    if dtype.kind == "i":
        return (words >> words.dtype.type(1)).astype(dtype).reshape(shape)
    width = MANTISSA[dtype.itemsize]
    bits = (words >> words.dtype.type(8 * words.itemsize - width)).astype(dtype)
    return (bits * dtype.type(2.0**-width)).reshape(shape)


def _draw(key: Any, *, shape: tuple[int, ...], dtype: str) -> Any:
    keys = np.asarray(key)
    out = np.empty((*keys.shape, *shape), dtype)
    for index in np.ndindex(keys.shape):
        out[index] = _stream(int(keys[index]), shape, out.dtype)
    return out


def _draw_type(key: ArrayType, *, shape: tuple[int, ...], dtype: str) -> ArrayType:
    if key.dtype.kind not in "iu":
        raise ShapeError(
            f"draw: a key must be an integer, got {key}",
            why="Random numbers are a discontinuous function of their key: it has no derivative.",
            fix="pass an integer, or an integer array for one stream of draws per element.",
        )
    found = ArrayType((*key.shape, *shape), np.dtype(dtype))
    if found.dtype not in (np.float16, np.float32, np.float64, np.int64):
        raise ShapeError(f"draw: cannot draw {found.dtype}", fix="draw floats or int64 and convert.")
    return found


def _draw_axes(key: ArrayType, *, shape: tuple[int, ...], dtype: str) -> AxisMap:
    labels = tuple(range(key.ndim))
    return AxisMap((labels,), ((*labels, *[None] * len(shape)),))


draw: Primitive = piecewise_constant(
    "draw",
    numpy=_draw,
    infer=_draw_type,
    axes=_draw_axes,
    doc="Random numbers of a shape for each key (a counter-based generator, Philox): floats uniform in [0, 1), or "
    "nonnegative int64. The same key gives the same numbers.",
)
