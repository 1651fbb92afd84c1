"""Partly known shapes, and how operators complete them from inputs to outputs and back.

A shape is a tuple in which 0 stands for a length that is not known, or None where not even the number of axes is. A
rule of an operator takes its settings and the shapes of its inputs and outputs, writes what it learns into both lists,
and is applied until nothing changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from primad.compat.mxnet.errors import MXNetError
from primad.compat.mxnet.imperative.operator_parameters import Settings

Shape = tuple[int, ...] | None
Rule = Callable[[Settings, list[Shape], list[Shape]], None]


class Clash(MXNetError):
    """Two shapes of one array that contradict each other."""


def known(shape: Shape) -> bool:
    """Say whether every length is known."""
    return shape is not None and 0 not in shape


def written(shape: Shape) -> str:
    """Return a shape as MXNet's messages have it."""
    return "None" if shape is None else "[" + ",".join(map(str, shape)) + "]"


def unify(expected: Shape, found: Shape, position: str = "") -> Shape:
    """Return what two partly known shapes of one array say together.

    Raises:
        Clash: if they contradict each other.
    """
    if expected is None or found is None or expected == found:
        return found if expected is None else expected
    if len(expected) != len(found) or any(a != b and a and b for a, b in zip(expected, found, strict=True)):
        if position:
            raise Clash(
                f"Incompatible attr in node {{node}} at {position}: expected {written(expected)}, got {written(found)}"
            )
        raise Clash(f"Shape inconsistent, Provided = {written(found)}, inferred shape={written(expected)}")
    return tuple([a or b for a, b in zip(expected, found, strict=True)])


def same(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    """All inputs and outputs have one shape."""
    shape: Shape = None
    for place, found in enumerate(inputs):
        shape = unify(shape, found, f"{place}-th input")
    for place, found in enumerate(outputs):
        shape = unify(shape, found, f"{place}-th output")
    inputs[:] = [shape] * len(inputs)
    outputs[:] = [shape] * len(outputs)


def first_input(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    """The first input and all outputs have one shape; of the other inputs nothing is said."""
    head = inputs[:1]
    same(settings, head, outputs)
    inputs[:1] = head


def forward_only(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    """Nothing is learnt before the inputs are known."""


def join(parts: Sequence[Shape], whole: Shape, axis: int) -> tuple[list[Shape], Shape]:
    """Complete the shapes of parts and of their concatenation along an axis."""
    rank = next((len(shape) for shape in (*parts, whole) if shape is not None), None)
    if rank is None:
        return list(parts), whole
    place = axis % rank
    common: Shape = None
    lengths: list[int] = []
    for shape in parts:
        lengths.append(0 if shape is None else shape[place])
        common = unify(common, _without(shape, place))
    total = 0 if whole is None else whole[place]
    common = unify(common, _without(whole, place))
    common = common if common is not None else (0,) * rank
    if 0 not in lengths:
        total = sum(lengths)
    elif lengths.count(0) == 1 and total:
        lengths[lengths.index(0)] = total - sum(lengths)
    made = [unify(_with(common, place, length), shape) for length, shape in zip(lengths, parts, strict=True)]
    return made, unify(_with(common, place, total), whole)


def _without(shape: Shape, place: int) -> Shape:
    return None if shape is None else (*shape[:place], 0, *shape[place + 1 :])


def _with(shape: tuple[int, ...], place: int, length: int) -> tuple[int, ...]:
    return (*shape[:place], length, *shape[place + 1 :])


def size(shape: Shape, start: int = 0) -> int:
    """Return the number of elements of the axes from `start` on, 0 where it is not known."""
    return 0 if shape is None else math.prod(shape[start:])


def permuted(order: Callable[[Settings, int], Sequence[int]]) -> Rule:
    """Make the rule of an operator that permutes axes."""

    def rule(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
        found = inputs[0] if inputs[0] is not None else outputs[0]
        if found is None:
            return
        axes = order(settings, len(found))
        if inputs[0] is not None:
            outputs[0] = unify(tuple([inputs[0][axis] for axis in axes]), outputs[0])
        if outputs[0] is not None:
            back = [0] * len(axes)
            for place, axis in enumerate(axes):
                back[axis] = outputs[0][place]
            inputs[0] = unify(tuple(back), inputs[0])

    return rule
