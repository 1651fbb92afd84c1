"""Keys: what caches find things by, and what the canonical key of a program is made of."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

from primad.ir.node import Node, Params, literal_value, params_key


def is_structural(node: Node) -> bool:
    """Say whether a scalar is part of a program's structure: laws and rules look at 0, ±1 and integers."""
    value = literal_value(node)
    return value in (0, 1, -1) or not node.type.is_float


class CacheKey(Protocol):
    """What a cache finds something by: a named tuple of all that what is found depends on.

    Each field is told apart by `==` from whatever is not the same. Caches are shared; `kind`, a field that is the same
    for all keys of a class, tells them from others that hold equal things.
    """

    @property
    def kind(self) -> str:
        """What sort of thing is found."""

    def __hash__(self) -> int: ...


class ByKey:
    """A value that is equal to another one if their keys are, as an argument of what is cached.

    Attributes:
        value: the value.
    """

    __slots__ = ("_key", "value")

    def __init__(self, value: Any, key: Hashable) -> None:
        self.value = value
        self._key = key

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByKey) and self._key == other._key


def params_by_key(params: Params) -> ByKey:
    """Return the params of an application as an argument of what is cached."""
    return ByKey(params, params_key(params))


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
