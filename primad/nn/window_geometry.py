"""Strides, paddings and window counts of convolution and pooling, one entry for each spatial axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.errors import ShapeError

Shape = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]
PerAxis = int | Sequence[int]
Padding = int | Sequence[int] | Sequence[tuple[int, int]]
MOST_AXES = 3


def spatial_axes(name: str, x: Any) -> Shape:
    """Return the axes after the batch and the channels.

    Raises:
        ShapeError: unless there are one to three of them.
    """
    if not 3 <= x.ndim <= 2 + MOST_AXES:
        raise ShapeError(
            f"{name}: shape {tuple(x.shape)} is not (batch, channels, one to {MOST_AXES} spatial axes)",
            fix="add axes of length 1 with reshape.",
        )
    return tuple(range(2, x.ndim))


def per_axis(name: str, what: str, value: PerAxis, count: int, least: int = 1) -> Shape:
    """Return one integer for each spatial axis.

    Raises:
        ShapeError: for a wrong number of entries, or entries below `least`.
    """
    entries = (value,) * count if isinstance(value, int) else tuple([int(entry) for entry in value])
    if len(entries) != count or min(entries) < least:
        raise ShapeError(
            f"{name}: {what} {value!r} must be {count} integers not below {least}, or one for all axes",
            fix=f"write one integer, {least} or more, or {count} of them.",
        )
    return entries


def _pair(entry: Any) -> tuple[int, int]:
    if isinstance(entry, int):
        return entry, entry
    before, behind = entry
    return int(before), int(behind)


def pairs(name: str, padding: Padding, count: int) -> Pairs:
    """Return the padding before and behind each spatial axis.

    Raises:
        ShapeError: for a wrong number of entries, or negative ones.
    """
    entries = (padding,) * count if isinstance(padding, int) else tuple(padding)
    result = tuple([_pair(entry) for entry in entries])
    if len(result) != count or any(min(pair) < 0 for pair in result):
        raise ShapeError(
            f"{name}: padding {padding!r} must be one integer, {count} integers, or {count} (before, behind) pairs, "
            "none negative",
            fix=f"write one integer, or {count} of them, 0 or more.",
        )
    return result


def window_counts(
    name: str, lengths: Shape, size: Shape, step: Shape, dilation: Shape, padding: Pairs, ceil_mode: bool = False
) -> Shape:
    """Return how many windows fit along each axis.

    Args:
        name: the function, for messages.
        lengths: lengths of the spatial axes.
        size: number of elements of the windows.
        step: their distance.
        dilation: the distance of their elements.
        padding: how far they reach beyond the array.
        ceil_mode: also count a last window that reaches beyond the padding, if it starts inside the array or in the
            padding before it.

    Raises:
        ShapeError: if none fits.
    """
    counts = []
    for length, n, s, d, (before, behind) in zip(lengths, size, step, dilation, padding, strict=True):
        room = length + before + behind - d * (n - 1) - 1
        if room < 0:
            raise ShapeError(
                f"{name}: windows of {n} elements, {d} apart, do not fit into an axis of length {length} with padding "
                f"{(before, behind)}",
                fix="make the windows smaller, or the padding larger.",
            )
        count = room // s + 1
        further = ceil_mode and room % s > 0 and count * s < length + before
        counts.append(count + further)
    return tuple(counts)
