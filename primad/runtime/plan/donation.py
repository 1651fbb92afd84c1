"""Donated arguments: arrays whose memory a plan's outputs take.

An output is computed right into the memory of its argument where nothing needs the argument's old value afterwards, and
is copied there at the end where something does. All other results are arrays of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import TracingError
from primad.ir.array_types import ArrayType
from primad.ir.node import Node
from primad.ir.program import Program
from primad.runtime.executors.executor import Donated
from primad.runtime.plan.buffers import before_reshapes


def match(outputs: Sequence[ArrayType], inputs: Sequence[ArrayType], donated: Iterable[int]) -> Donated:
    """Give each output in order the first donated input of its type that is left."""
    left = list(donated)
    found = []
    for position, type in enumerate(outputs):
        place = next((i for i in left if inputs[i] == type and type.shape), None)
        if place is not None:
            left.remove(place)
            found.append((position, place))
    return tuple(found)


def check(arrays: Sequence[np.ndarray[Any, Any]], donated: Iterable[int], names: Sequence[str]) -> None:
    """Raise unless the donated arrays can be written to, element by element, and overlap no other argument.

    Raises:
        TracingError: naming the argument.
    """
    chosen = set(donated)
    spans = []
    for i, array in enumerate(arrays):
        if i in chosen and not array.flags.writeable:
            raise TracingError(
                f"jit: the donated argument {names[i]} is read-only", fix="pass a copy of it, or do not donate it."
            )
        if i in chosen and _overlaps_itself(array):
            raise TracingError(
                f"jit: elements of the donated argument {names[i]} share memory with each other",
                why="It is a view as `sliding_window_view` makes them, in which a result has no room.",
                fix="pass a copy of it.",
            )
        if array.size:
            spans.append((*np.lib.array_utils.byte_bounds(array), i))
    end, last = 0, -1
    for start, stop, i in sorted(spans):
        if start < end and (i in chosen or last in chosen):
            raise TracingError(
                f"jit: the arguments {names[last]} and {names[i]} share memory, and one of them is donated",
                why="Writing the result into one of them would change the other.",
                fix="pass a copy of one of them.",
            )
        end, last = max((end, last), (stop, i))


def _overlaps_itself(array: np.ndarray[Any, Any]) -> bool:
    """Say whether an array has elements that lie over each other: axes that do not reach past those inside them."""
    extent = array.itemsize
    for stride, length in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < extent:
            return array.size > 0
        extent += stride * (length - 1)
    return False


def settle(results: list[Any], arguments: Sequence[Any], donated: Donated) -> list[Any]:
    """Return the results with donated memory in the places of those that are not there yet."""
    for position, place in donated:
        target = arguments[place]
        if results[position] is not target:
            target[...] = results[position]
            results[position] = target
    return results


def written_into(program: Program, donated: Donated) -> Donated:
    """Return the outputs that are written into the memory of inputs, without those that are inputs in another shape."""
    return tuple([(i, place) for i, place in donated if program.outputs[i].type == program.inputs[place].type])


def handed_on(outputs: Sequence[Node], first: Collection[Node], known: Sequence[Node], into: Donated) -> Donated:
    """Return the outputs of a last stage that are values of the first in another shape, which no other output has.

    Args:
        outputs: what it gives.
        first: what the first stage computes.
        known: the inputs of the last stage.
        into: which of its outputs take the memory of which inputs.
    """
    owners = [before_reshapes(node) for node in outputs]
    taken = {output for output, _ in into}
    alone = [i for i, owner in enumerate(owners) if owner in first and owners.count(owner) == 1 and i not in taken]
    return tuple([(i, known.index(owners[i])) for i in alone if owners[i].type != outputs[i].type])


def own_results(outputs: Sequence[Node], inputs: Sequence[Node], known: Mapping[Node, Any]) -> list[Any]:
    """Return the outputs of a program, of which all values are known, as arrays of their own."""
    results: list[Any] = []
    given = set(inputs)
    seen: set[Node] = set()
    for node in outputs:
        value = known[node]
        if not node.type.shape:
            results.append(node.type.dtype.type(value))
        else:
            results.append(np.array(value) if node in seen or node in given else value)
        seen.add(node)
    return results
