"""Where an op is written each of whose elements is in a register: their names, and how it says that it failed.

An element is a vector of one lane, so that ops are written by the same table as everywhere
(`primad.native.emit.pointwise`), or of several, which are the same element of members of a stack
(`primad.native.loops.while_lanes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from primad import ops
from primad.ir.node import CAPTURED, LITERAL, Node, leaf_value
from primad.native.llvm.builder import Builder
from primad.native.llvm.vectors import Vector
from primad.native.schedule.storage import VIEWS

Elements = np.ndarray[Any, Any]
"""An object array of the names of an array's elements."""


class Bad(Struct, frozen=True):
    """A condition under which an op is not defined.

    Attributes:
        condition: an element that is a truth value.
        place: number of the value, in row-major order, in the operand that the op's domain names.
        value: an element that is what to say of it, an i64.
    """

    condition: str
    place: int
    value: str


class ElementSite(Struct, frozen=True):
    """An op that is being written.

    Attributes:
        code: where to write.
        lanes: how many members of a stack an element stands for.
        node: the op with its params.
        operands: the elements of its operands; of one with several results a tuple of such arrays.
        checks: whether values for which it is not defined are said.
        bad: the conditions under which it is not defined, of which the first that holds is said.
    """

    code: Builder
    lanes: int
    node: Node
    operands: Sequence[Any]
    checks: bool = False
    bad: list[Bad] = field(default_factory=list)

    @property
    def params(self) -> dict[str, Any]:
        """The op's params."""
        return dict(self.node.params)

    def vector(self, dtype: Any) -> Vector:
        """Return the writer for elements of a type."""
        return Vector(self.code, np.dtype(dtype), self.lanes)

    def constants(self, values: Any) -> Elements:
        """Return the elements of an array that is known."""
        vector, found = self.vector(values.dtype), np.empty(values.shape, object)
        for index in np.ndindex(values.shape):
            found[index] = vector.constant(values[index].item())
        return found


class ElementForm(Struct, frozen=True):
    """How an op is written on single elements.

    Attributes:
        write: writes it, and returns the elements of its result, or a tuple of them for an op with several.
        length: (node) -> about how many instructions that takes.
        limit: (node) -> why it is not written so for this node; '' where it is.
        fails: (node) -> whether an op that is not defined for all values may meet another.
    """

    write: Callable[[ElementSite], Any]
    length: Callable[[Node], int] = lambda node: 0
    limit: Callable[[Node], str] = lambda node: ""
    fails: Callable[[Node], bool] = lambda node: True


def known_values(node: Node) -> np.ndarray[Any, Any] | None:
    """Return the values of an array that are known when code is written; None where they are not."""
    if node.op is LITERAL or node.op is CAPTURED:
        return np.asarray(leaf_value(node), node.type.dtype)
    params = dict(node.params)
    if node.op in (ops.eye, ops.iota):
        return np.asarray(node.op.numpy(**params), node.type.dtype)
    shown = known_values(node.inputs[0]) if node.op in VIEWS else None
    return None if shown is None else np.asarray(node.op.numpy(shown, **params)).reshape(node.type.shape)
