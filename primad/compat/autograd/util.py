"""What `autograd.util` has for programs: tuples with some items replaced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from primad.compat.autograd.importing import missing


def subvals(x: Sequence[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """Return a sequence as a tuple, with values at some places replaced."""
    items = list(x)
    for place, value in ivs:
        items[place] = value
    return tuple(items)


def subval(x: Sequence[Any], i: int, v: Any) -> tuple[Any, ...]:
    """Return a sequence as a tuple, with the value at one place replaced."""
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """Return a function as it is; in Python 2 it was that of a method."""
    return f


__all__ = ["func", "subval", "subvals"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
