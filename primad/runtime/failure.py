"""Failure that depends on data: an op met a value for which it is not defined, while a program ran.

Which values these are is in the op's record (`primad.ops.record.fields.DomainOfDefinition`). Whatever runs a program
says the same three things of a failure, from which the error is made: the op's node, the place in its batch, and the
value there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from primad.errors import PrimadError
from primad.ir.node import Node
from primad.native.cpython.failure_places import FailurePlace
from primad.ops.record.fields import DomainOfDefinition

ENDLESS = "the condition still holds after max_steps={} steps"
MORE_STEPS = "pass a greater max_steps, or change the condition (values that are NaN compare false)."
"""What is wrong with a loop that does not end, and what to do."""


class Failure(Struct, frozen=True):
    """A value for which an op is not defined.

    Attributes:
        node: where the op is applied.
        place: index of the value, or of its matrix, in the operand that the op's domain names.
        value: what it is.
        lines: the user's lines of nodes.
    """

    node: Node
    place: tuple[int, ...]
    value: int
    lines: Mapping[Node, str]

    def error(self) -> PrimadError:
        """Return the error to raise; its attribute `failure` is this."""
        op, domain = self.node.op, self.node.op.domain
        types = [operand.type for operand in self.node.inputs]
        at = f", at {list(self.place)} of {domain.operand_name}" if self.place else ""
        error: PrimadError = domain.error(
            f"{domain.called or op.name}: {domain.say(self.value, *types, **dict(self.node.params))}{at}",
            fix=domain.fix,
            where=nearest_line(self.lines, self.node),
        )
        error.failure = self
        return error

    def moved(self, axis: int, start: int) -> Failure:
        """Return the failure in an operand of which this one's is the part from an index on, along an axis."""
        place = list(self.place)
        place[axis] += start
        return replace(self, place=tuple(place))


def failure_of(status: int, place: int, value: int, failing: Sequence[Node], lines: Mapping[Node, str]) -> Failure:
    """Return what compiled code says of a failure.

    Args:
        status: which of the ops that can fail did, the first being 1.
        place: one more than the place of the value, in row-major order, in the operand that the op's domain names.
        value: the value.
        failing: the ops that can fail.
        lines: the user's lines of nodes.

    Raises:
        BaseException: what the handler of a signal raised that ended a loop, as KeyboardInterrupt.
    """
    if place == FailurePlace.INTERRUPTED:
        error = ctypes.cast(value, ctypes.py_object)
        raised: BaseException = error.value
        ctypes.pythonapi.Py_DecRef(error)
        raise raised
    node = failing[status - 1]
    domain: DomainOfDefinition = node.op.domain
    shape = node.inputs[domain.operand].type.shape
    batch = shape[: len(shape) - domain.own_axes]
    return Failure(node, tuple(map(int, np.unravel_index(place - 1, batch))), value, lines)


def fail(error: Exception, node: Node, operands: Sequence[Any], lines: Mapping[Node, str]) -> NoReturn:
    """Raise the error for an op whose definition raised one.

    Args:
        error: what it raised.
        node: where the op is applied.
        operands: what it was applied to.
        lines: the user's lines of nodes.
    """
    domain: DomainOfDefinition | None = getattr(node.op, "domain", None)
    found = None if domain is None else domain.find(*operands, **dict(node.params))
    if found is None:  # no fault of the values: no memory, or an op of the user's own
        where = nearest_line(lines, node)
        error.add_note(f"  while computing {node.op.name}: {node.type}{f' in {where}' if where else ''}")
        raise error
    raise Failure(node, *found, lines).error() from error


def fail_in_part(error: PrimadError, axis_of: Mapping[Node, int], start: int) -> NoReturn:
    """Raise an error of a run on a part of the data, with the place in the whole.

    Args:
        error: what was raised.
        axis_of: the axis along which a value is a part of the whole, for those that are.
        start: where the part begins.
    """
    failure: Failure | None = error.failure
    if failure is None:
        raise error
    axis = axis_of.get(failure.node.inputs[failure.node.op.domain.operand])
    if axis is None:  # else it is one of the batch: along a matrix there are no tiles
        raise error
    raise failure.moved(axis, start).error() from error.__cause__


def nearest_line(lines: Mapping[Node, str], node: Node) -> str | None:
    """Return the user's line of a node, or of the nearest operand that has one: derived ops have none of their own."""
    level, seen = [node], {node}
    while level:
        for known in level:
            if known in lines:
                return lines[known]
        level = [operand for known in level for operand in known.inputs if operand not in seen]
        seen.update(level)
    return None
