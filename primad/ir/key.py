"""What the canonical key of a program is made of: a tuple that knows its hash, and scalars that are structure."""

from __future__ import annotations

from typing import Any

from primad.ir.node import Node, literal_value


def is_structural(node: Node) -> bool:
    """Say whether a scalar is part of a program's structure: laws and rules look at 0, ±1 and integers."""
    value = literal_value(node)
    return value in (0, 1, -1) or not node.type.is_float


class Key:
    """A hashable tuple that computes its hash once."""

    __slots__ = ("_hash", "rows")

    def __init__(self, rows: tuple[Any, ...]) -> None:
        self.rows = rows
        self._hash = hash(rows)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Key) and self._hash == other._hash and self.rows == other.rows)
