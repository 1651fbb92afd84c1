"""Loops of what is computed for each element alone, row by row in vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.strided_views import Code, View, merged
from primad.native.llvm.vectors import Vector, lanes_of

Compute = Callable[[Vector, list[str]], list[str]]
"""(vector, values of the operands) -> values of the results."""
IN_TURN = (2, 3)
"""Numbers of arrays that lie in turn and are read and written as whole vectors. Estimated: of more there would be as
many picks as moves."""


def pointwise(
    code: Code,
    reads: Sequence[View],
    writes: Sequence[View],
    dtype: np.dtype[Any],
    compute: Compute,
    together: int = 1,
    unrolled: int = BUDGET.row,
    in_turn: bool = False,
) -> None:
    """Write a loop that reads an element of each operand, computes, and writes an element of each result.

    Args:
        code: where to write.
        reads: the operands.
        writes: the results, of the same shape.
        dtype: a type of the size that the vectors are for.
        compute: what is computed.
        together: how many of the processor's vectors are computed at once.
        unrolled: vectors of a row, up to which each has code of its own.
        in_turn: whether one element is computed after the other: those of a column lie apart, and to fill vectors with
            them takes as long, and ten times the text.
    """
    views = [*reads, *writes]
    axes = [(n, *strides) for n, *strides in zip(writes[0].shape, *[view.strides for view in views], strict=True)]
    if any(n == 0 for n, *_ in axes):
        return
    axes.sort(key=lambda axis: -abs(axis[1 + len(reads)]))  # as the first result lies in memory
    pointers = [code.start(view) for view in views]
    if in_turn:
        *outer, row = merged(axes) or [(1, *[0] * len(pointers))]
        single = Vector(code, dtype, 1)
        code.over(views, pointers, outer, lambda at: _row(code, reads, writes, at, row, single, compute))
        return
    pointwise_at(code, reads, writes, pointers, axes, dtype, compute, together=together, unrolled=unrolled)


def pointwise_at(
    code: Code,
    reads: Sequence[View],
    writes: Sequence[View],
    pointers: Sequence[str],
    axes: Sequence[tuple[int, ...]],
    dtype: np.dtype[Any],
    compute: Compute,
    pieces: bool = False,
    together: int = 1,
    unrolled: int = BUDGET.row,
) -> None:
    """Write such a loop over other axes of the arrays (length, steps in them), from addresses on.

    What is left over at the end of a row is read and written by pieces, or by masks.
    """
    *outer, row = merged(axes) or [(1, *[0] * len(pointers))]
    if any(n == 0 for n, *_ in axes):
        return
    views = [*reads, *writes]
    if outer and not pieces and _are_short(outer[-1], row, lanes_of(dtype)):
        rows, few = outer.pop(), Vector(code, dtype)
        code.over(views, pointers, outer, lambda at: _short_rows(code, reads, writes, at, rows, row, few, compute))
        return
    vector = Vector(code, dtype, lanes_of(dtype) * _at_once(together, row[0], dtype))

    def body(places: list[str]) -> None:
        _row(code, reads, writes, places, row, vector, compute, pieces, unrolled if outer else 0)

    code.over(views, pointers, outer, body)


def _are_short(rows: Sequence[int], row: Sequence[int], lanes: int) -> bool:
    """Say whether rows, given by numbers and steps, are shorter than a vector and lie so that several fill some.

    An array lies behind itself, as results do, or has one element for each row, or the same row each time.
    """
    (m, *far), (n, *near) = rows, row
    forms = list(zip(near, far, strict=True))
    inside = all(form == (1, n) or (0 in form and form[0] in (0, 1)) for form in forms)
    return n < lanes <= m and inside


def _short_rows(
    code: Code,
    reads: Sequence[View],
    writes: Sequence[View],
    pointers: list[str],
    rows: Sequence[int],
    row: Sequence[int],
    vector: Vector,
    compute: Compute,
) -> None:
    """Write rows that are shorter than a vector: as many as it has lanes fill as many vectors as a row has elements."""
    (m, *far), (n, *near) = rows, row
    views, lanes, count = [*reads, *writes], vector.lanes, len(reads)
    elements = [[divmod(start + lane, n) for lane in range(lanes)] for start in range(0, n * lanes, lanes)]

    def spread(view: View, value: str, axis: int) -> list[str]:
        kind = vector.of(view.dtype).type
        return [code.picked(kind, value, "poison", [element[axis] for element in part]) for part in elements]

    same: dict[int, list[str]] = {}
    for i, view in enumerate(reads):
        if far[i] == 0:
            value = code.read(view.dtype, pointers[i], near[i], n if near[i] else lanes, lanes)
            same[i] = spread(view, value, 1) if near[i] else [value] * n

    def block(places: list[str]) -> None:
        known = dict(same)
        for i, view in enumerate(reads):
            if near[i] == 0 and far[i]:
                known[i] = spread(view, code.read(view.dtype, places[i], far[i], lanes, lanes), 0)
        for part in range(n):
            at = code.step(views, places, str(part), [lanes] * len(views))
            loaded = [
                known[i][part] if i in known else code.read(view.dtype, at[i], 1, lanes, lanes)
                for i, view in enumerate(reads)
            ]
            for view, place, value in zip(writes, at[count:], compute(vector, loaded), strict=True):
                code.write(view.dtype, place, 1, lanes, lanes, value)

    whole, rest = divmod(m, lanes)
    code.over(views, pointers, [(whole, *[lanes * step for step in far])], block)
    if rest:
        left = code.step(views, pointers, str(whole * lanes), far)
        code.over(views, left, [(rest, *far)], lambda at: _row(code, reads, writes, at, row, vector, compute))


def _at_once(together: int, length: int, dtype: np.dtype[Any]) -> int:
    """Return how many vectors of a row are computed at once: not more than it has."""
    while together > 1 and length < together * lanes_of(dtype):
        together //= 2
    return together


def _in_turn(views: Sequence[View], steps: Sequence[int]) -> list[list[int]]:
    """Return groups of arrays whose elements lie in turn along a row, as parts of complex numbers or columns do."""
    place = {
        (view.buffer, view.offset, view.strides, view.dtype): i
        for i, (view, step) in enumerate(zip(views, steps, strict=False))
        if step in IN_TURN and view.dtype.kind == "f"
    }
    groups: list[list[int]] = []
    for (buffer, offset, strides, dtype), i in place.items():
        found = [place.get((buffer, offset + k, strides, dtype)) for k in range(steps[i])]
        group = [j for j in found if j is not None and not any(j in others for others in groups)]
        if len(group) == steps[i]:
            groups.append(group)
    return groups


def _row(
    code: Code,
    reads: Sequence[View],
    writes: Sequence[View],
    pointers: list[str],
    row: Sequence[int],
    vector: Vector,
    compute: Compute,
    pieces: bool = False,
    unrolled: int = 0,
) -> None:
    """Write a row (its length, and the steps of the views) in vectors, the last of which may be partly filled."""
    length, *steps = row
    views, lanes, count = [*reads, *writes], vector.lanes, len(reads)
    narrow = min(
        lanes, lanes_of(vector.dtype)
    )  # what stays in a register is one vector, also where several are computed at once
    repeated = [
        code.read(view.dtype, pointer, 0, narrow, narrow) if step == 0 else None
        for view, pointer, step in zip(reads, pointers, steps, strict=False)
    ]

    read_in_turn, written_in_turn = _in_turn(reads, steps), _in_turn(writes, steps[count:])

    def chunk(places: list[str], part: int) -> None:
        known_in_turn: dict[int, str] = {}
        for group in read_in_turn if part == lanes else []:
            found = code.read_in_turn(reads[group[0]].cell, places[group[0]], lanes, len(group))
            known_in_turn.update(zip(group, found, strict=True))
        loaded = [
            known_in_turn[i]
            if i in known_in_turn
            else vector.of(view.dtype).widened(known, narrow)
            if known
            else code.read(view.dtype, place, step, part, lanes, pieces)
            for i, (view, place, step, known) in enumerate(zip(reads, places, steps, repeated, strict=False))
        ]
        results = compute(vector, loaded)
        groups = written_in_turn if part == lanes else []
        for group in groups:
            first = group[0]
            code.write_in_turn(writes[first].cell, places[count + first], lanes, [results[i] for i in group])
        stored = {i for group in groups for i in group}
        for i, (view, place, step) in enumerate(zip(writes, places[count:], steps[count:], strict=True)):
            if i not in stored:
                code.write(view.dtype, place, step, part, lanes, results[i], pieces)

    whole, rest = divmod(length, lanes)
    far = [lanes * step for step in steps]
    if whole > unrolled:
        code.over(views, pointers, [(whole, *far)], lambda places: chunk(places, lanes))
    else:
        for i in range(whole):
            chunk(code.step(views, pointers, str(i), far), lanes)
    if rest:
        left = code.step(views, pointers, str(whole), far) if whole else pointers
        if lanes > narrow:
            _row(code, reads, writes, left, (rest, *steps), Vector(code, vector.dtype), compute, pieces)
        else:
            chunk(left, rest)
