"""Blocks of arrays: the elements from a start to a stop, by a step that may be negative, of each axis."""

from __future__ import annotations

from typing import Any

from primad import ops
from primad.ir.array_types import ArrayType

Block = tuple[tuple[int, int, int], ...]
"""A part of an array: start, stop and step of each axis, as `range` takes them."""


def whole(shape: tuple[int, ...]) -> Block:
    """Return the block that is all of an array."""
    return tuple([(0, n, 1) for n in shape])


def block_shape(block: Block) -> tuple[int, ...]:
    """Return the lengths of a block's axes."""
    return tuple([len(range(*bounds)) for bounds in block])


def within(outer: Block, inner: Block) -> Block:
    """Return a block of a block as a block."""
    found = [range(*bounds)[slice(*_sliced(own))] for bounds, own in zip(outer, inner, strict=True)]
    return tuple([(x.start, x.stop, x.step) if x else (0, 0, 1) for x in found])


def _sliced(bounds: tuple[int, int, int]) -> tuple[int, int | None, int]:
    """Return what a slice takes for a range: a stop of −1 is none there."""
    start, stop, step = bounds
    return start, (None if stop < 0 else stop), step


def _upwards(block: Block) -> tuple[Block, tuple[int, ...]]:
    """Return a block with positive steps, and the axes along which it is turned round."""
    turned = tuple([axis for axis, (_, _, step) in enumerate(block) if step < 0])
    found = [range(*bounds)[::-1] if axis in turned else range(*bounds) for axis, bounds in enumerate(block)]
    return tuple([(x.start, x[-1] + 1, x.step) if x else (0, 0, 1) for x in found]), turned


def take_block(x: Any, block: Block) -> Any:
    """Return a block of an array."""
    up, turned = _upwards(block)
    start, stop, step = (tuple([bounds[i] for bounds in up]) for i in range(3))
    found = ops.slice_(x, start=start, stop=stop, step=step)
    return ops.flip(found, axes=turned) if turned else found


def put_block(x: Any, type: ArrayType, block: Block) -> Any:
    """Return zeros with a block that is given: the transpose of `take_block`; leading axes are a stack of blocks."""
    lead = x.ndim - len(block)
    up, turned = _upwards(block)
    if turned:
        x = ops.flip(x, axes=tuple([lead + axis for axis in turned]))
    none = (0,) * lead
    last = [range(*bounds)[-1] if range(*bounds) else -1 for bounds in up]
    return ops.pad(
        x,
        low=(*none, *[start for start, _, _ in up]),
        high=(*none, *[n - 1 - end for n, end in zip(type.shape, last, strict=True)]),
        interior=(*none, *[step - 1 for _, _, step in up]),
    )
