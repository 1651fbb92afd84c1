"""Names of unknowns and coordinates as they are written: in one text, one by one, or in lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from primad.errors import ProblemError


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


def check_names(names: Sequence[str]) -> None:
    """Raise unless coordinates have different names that can be arguments.

    Raises:
        ProblemError: if not.
    """
    for name in names:
        if not isinstance(name, str) or not name.isidentifier():
            raise ProblemError(
                f"a coordinate needs a name that can be an argument of a function, got {name!r}",
                fix="take letters, digits and _, as in x or x_1.",
            )
    if len(set(names)) < len(names):
        raise ProblemError(f"coordinates need different names, got {', '.join(names)}", fix="name each otherwise.")
