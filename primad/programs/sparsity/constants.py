"""Values of a program that are the same whenever it runs: indices, and captured arrays, that say where zeros are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad.errors import PrimadError
from primad.ir.array_types import ArrayType
from primad.ir.node import CAPTURED, LITERAL, Leaf, Node, leaf_value

Array = np.ndarray[Any, Any]


class KnownValue(NamedTuple):
    """A value that is known.

    Attributes:
        value: the array.
        of: the numbers of the given arrays that it depends on.
        is_moved: whether its elements are those of one of these, moved, repeated, or in another type, so that it is
            zero where that is.
    """

    value: Array
    of: frozenset[int]
    is_moved: bool = False


class Constants:
    """Values of a program that follow from some of its inputs, computed when they are asked for.

    Args:
        given: the inputs that are known.

    Attributes:
        contents: the numbers of given arrays whose values matter.
        zeros: the numbers of those of which it matters where they are zero.
    """

    def __init__(self, given: Mapping[Node, KnownValue]) -> None:
        self._found: dict[Node, KnownValue | None] = dict(given)
        self.contents: set[int] = set()
        self.zeros: set[int] = set()

    def value(self, node: Node) -> Array | None:
        """Return the value of a node, if it is known."""
        found = self._find(node)
        return None if found is None else found.value

    def uses(self, node: Node) -> None:
        """Say that what is found depends on the value of a node."""
        found = self._find(node)
        if found is not None:
            self.contents |= found.of

    def uses_zeros(self, node: Node) -> None:
        """Say that what is found depends on where a value is zero: it holds as well where more elements are not."""
        found = self._find(node)
        if found is not None:
            (self.zeros if found.is_moved or np.all(found.value) else self.contents).update(found.of)

    def within(self, given: Mapping[Node, Node]) -> Constants:
        """Return the constants of a program that is called, by what its inputs are here."""
        found = {own: self._find(x) for own, x in given.items()}
        inner = Constants({own: known for own, known in found.items() if known is not None})
        inner.contents, inner.zeros = self.contents, self.zeros
        return inner

    def within_row(self, given: Mapping[Node, Node], rows: Mapping[Node, Node], number: int | slice) -> Constants:
        """Return the constants of a step of a loop, which also takes a row of some values; or of some steps."""
        inner = self.within(given)
        for own, known in [(own, self._find(x)) for own, x in rows.items()]:
            if known is not None:
                inner._found[own] = known._replace(value=known.value[number])
        return inner

    def _find(self, node: Node) -> KnownValue | None:
        stack = [node]
        while stack:
            top = stack[-1]
            if top in self._found:
                stack.pop()
                continue
            missing = [x for x in top.inputs if x not in self._found]
            if any(x in self._found and self._found[x] is None for x in top.inputs):
                self._found[top] = None
            elif missing:
                stack.append(missing[0])
            else:
                self._found[top] = self._computed(top)
        return self._found[node]

    def _computed(self, node: Node) -> KnownValue | None:
        if node.op is LITERAL or node.op is CAPTURED:
            return KnownValue(leaf_value(node), frozenset())
        known = [x for x in map(self._found.__getitem__, node.inputs) if x is not None]
        if isinstance(node.op, Leaf) or not isinstance(node.type, ArrayType):
            return None
        try:
            with np.errstate(all="ignore"):
                value = np.asarray(node.op.numpy(*[x.value for x in known], **dict(node.params)))
        except (PrimadError, ValueError, ArithmeticError, IndexError):
            return None  # running the program says what is wrong
        return KnownValue(value, frozenset().union(*[x.of for x in known]), _is_moved(node, known, value))


def _is_moved(node: Node, known: Sequence[KnownValue], value: Array) -> bool:
    """Say whether a value is zero where one that is known is, moved, and stays so if other elements change."""
    if len(known) != 1 or not known[0].is_moved:
        return False
    scaled = node.op.axes.pointwise and node.op.linear_groups(1) == [(0,)]
    return node.op.memory.views or bool(scaled and np.count_nonzero(value) == np.count_nonzero(known[0].value))
