"""What the canonical key of a program is made of: a tuple that knows its hash, and scalars that are structure."""

from __future__ import annotations

from typing import Any

from primad.ir.node import Node, literal_value


def is_structural(node: Node) -> bool:
    """Say whether a scalar is part of a program's structure: laws and rules look at 0, ±1 and integers."""
    value = literal_value(node)
    return value in (0, 1, -1) or not node.type.is_float


class Key:
    """A hashable tuple that computes its hash once, and is compared with an equal one once.

    Programs in programs have keys in their keys: two that are equal share their rows from then on, since there are as
    many ways to an inner one as paths lead to it.
    """

    __slots__ = ("_hash", "rows")

    def __init__(self, rows: tuple[Any, ...]) -> None:
        self.rows = rows
        self._hash = hash(rows)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Key) or self._hash != other._hash:
            return False
        if self.rows is not other.rows:
            if self.rows != other.rows:
                return False
            other.rows = self.rows
        return True
