"""Names of unknowns and coordinates as they are written: in one text, one by one, or in lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def names_in(given: str | Iterable[Any]) -> tuple[Any, ...]:
    """Return the names that a text holds, or several texts and lists: `"u v"`, `"u, v"`, `("u v", ["w"])`.

    Example:
        >>> names_in("u v"), names_in(["x, y", "t"])
        (('u', 'v'), ('x', 'y', 't'))
    """
    if isinstance(given, str):
        return tuple(given.replace(",", " ").split())
    found: list[Any] = []
    for each in given:
        found += names_in(each) if isinstance(each, (str, list, tuple)) else [each]
    return tuple(found)
