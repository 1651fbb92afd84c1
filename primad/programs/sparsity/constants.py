"""Values of a program that are the same whenever it runs: indices, and captured arrays, that say where zeros are."""

from __future__ import annotations

from collections.abc import Mapping
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
    """

    value: Array
    of: frozenset[int]


class Constants:
    """Values of a program that follow from some of its inputs, computed when they are asked for.

    Args:
        given: the inputs that are known.
        used: where the numbers of those are put whose values matter.
    """

    def __init__(self, given: Mapping[Node, KnownValue], used: set[int]) -> None:
        self._found: dict[Node, KnownValue | None] = dict(given)
        self._used = used

    def value(self, node: Node) -> Array | None:
        """Return the value of a node, if it is known."""
        found = self._find(node)
        return None if found is None else found.value

    def uses(self, node: Node) -> None:
        """Say that what is found depends on the value of a node."""
        found = self._find(node)
        if found is not None:
            self._used |= found.of

    def within(self, given: Mapping[Node, Node]) -> Constants:
        """Return the constants of a program that is called, by what its inputs are here."""
        found = {own: self._find(x) for own, x in given.items()}
        return Constants({own: known for own, known in found.items() if known is not None}, self._used)

    def within_row(self, given: Mapping[Node, Node], rows: Mapping[Node, Node], number: int) -> Constants:
        """Return the constants of a step of a loop, which also takes a row of some values."""
        inner = self.within(given)
        for own, known in [(own, self._find(x)) for own, x in rows.items()]:
            if known is not None:
                inner._found[own] = KnownValue(known.value[number], known.of)
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
        return KnownValue(value, frozenset().union(*[x.of for x in known]))
