"""Sums of products over strided arrays: how their axes lie, in which blocks they are computed, what is copied first."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from primad.native.llvm import vectors
from primad.native.llvm.strided_views import View, merged, row_major
from primad.native.llvm.vectors import lanes_of
from primad.native.schedule.register_blocks import Axis, Blocks, best_blocks
from primad.system.machine import CORE, vector_registers

GOOD, WORTH_COPYING = 1.2, 0.95
"""Times the least time of its arithmetic that a product may take and is left as it is; and the part of its time, copy
included, below which an operand is copied first. Chosen: an estimate is not better than that. The last bits of results
depend on it."""


class Contraction(Struct, frozen=True):
    """A sum of products of one or two operands: out[…] = Σ x[…]·y[…].

    Attributes:
        out: where the result goes.
        operands: one or two arrays.
        kept: axes of the result: (length, steps in the operands, step in the result).
        summed: the other axes: (length, steps in the operands).
        accumulate: whether the sum is added to what the memory of the result holds.
        counted: which summed axis is only as long as `%count` says, a value of at least 1 of the enclosing function.
    """

    out: View
    operands: tuple[View, ...]
    kept: tuple[Axis, ...]
    summed: tuple[Axis, ...]
    accumulate: bool = False
    counted: int | None = None


def contraction(
    out: View,
    out_labels: str,
    operands: Sequence[tuple[View, str]],
    accumulate: bool = False,
    counted: str | None = None,
) -> Contraction:
    """Describe a contraction whose axes are named by letters.

    Args:
        out: where the result goes.
        out_labels: the axes of the result.
        operands: one or two arrays, each with its axes.
        accumulate: whether to add to what the memory of the result holds.
        counted: a summed axis of which the first `%count` elements are summed: an i64 of the enclosing function, from 1
            to the axis' length.
    """
    lengths: dict[str, int] = {}
    strides: list[dict[str, int]] = []
    for view, labels in operands:
        lengths.update(zip(labels, view.shape, strict=True))
        strides.append(dict(zip(labels, view.strides, strict=True)))
    kept = [
        (lengths[c], *[found.get(c, 0) for found in strides], step)
        for c, step in zip(out_labels, out.strides, strict=True)
    ]
    if counted is not None and lengths[counted] == 1:
        counted = None
    inner = [c for c in lengths if c not in out_labels and c != counted]
    axes = {c: (lengths[c], *[found.get(c, 0) for found in strides]) for c in lengths}
    summed = merged(sorted([axes[c] for c in inner], key=lambda axis: -axis[-1]))
    if counted is not None:  # outermost: what lies behind one another then is read in a row
        summed.insert(0, axes[counted])
    views = tuple([view for view, _ in operands])
    return Contraction(out, views, tuple(merged(kept)), tuple(summed), accumulate, None if counted is None else 0)


class Packing(Struct, frozen=True):
    """An operand that is copied before a contraction, so that its elements lie as the contraction reads them.

    Attributes:
        operand: which one.
        source: its elements, with the axes in the order that they have in the copy.
        labels: the axes of the copy.
    """

    operand: int
    source: View
    labels: str


def packing(
    out: View,
    out_labels: str,
    operands: Sequence[tuple[View, str]],
    accumulate: bool = False,
    counted: str | None = None,
    known: Collection[int] = (),
) -> Packing | None:
    """Return an operand that should first be copied; None if none should be.

    Args:
        out: where the result of a contraction goes.
        out_labels: the axes of the result.
        operands: the operands, each with its axes.
        accumulate: whether to add to what the memory of the result holds.
        counted: a summed axis whose length is known at run time only.
        known: operands whose copies cost nothing: they serve many times.
    """
    lengths = {c: n for view, labels in operands for c, n in zip(labels, view.shape, strict=True)}
    if len(operands) < 2 or 0 in lengths.values() or lengths.keys() <= set(out_labels):
        return None
    best, _ = blocks_for(contraction(out, out_labels, operands, accumulate, counted), out.dtype)
    if best < GOOD * math.prod(lengths.values()) / (CORE.starts * lanes_of(out.dtype)):
        return None
    found = None
    for k, (view, labels) in enumerate(operands):
        kept = "".join(c for c in out_labels if c in labels)
        summed = "".join(c for c in labels if c not in out_labels)
        for order in dict.fromkeys((summed + kept, kept + summed)):
            if order == labels:
                continue
            places = [labels.index(c) for c in order]
            shape, steps = (tuple([x[i] for i in places]) for x in (view.shape, view.strides))
            changed = list(operands)
            changed[k] = (row_major(shape, view.dtype), order)
            time, blocks = blocks_for(contraction(out, out_labels, changed, accumulate, counted), out.dtype)
            if not blocks.dotted and blocks.columns[-1] != 1:  # the result would be scattered
                continue
            time += 0 if k in known else CORE.copy * math.prod(shape)
            if time < WORTH_COPYING * best:
                best, found = time, Packing(k, View(view.buffer, view.offset, shape, steps, view.dtype), order)
    return found


def blocks_for(form: Contraction, dtype: np.dtype[Any]) -> tuple[float, Blocks]:
    """Return the blocks for a contraction, and their time."""
    lanes, registers = lanes_of(dtype), vector_registers(vectors.WIDTH_BYTES)
    options = (form.counted, form.accumulate)
    return best_blocks(len(form.operands), form.kept, form.summed, *options, lanes, dtype.itemsize, registers)
