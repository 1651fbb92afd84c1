"""What the tables say of one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.accuracy.grids import Grid


@dataclass(frozen=True)
class Entry:
    """A special function of real numbers.

    Attributes:
        grids: where its differentiable arguments are.
        meaning: `(m, *plain, *arguments)`: what it is, in functions of mpmath.
        plain: the values of its plain arguments that are tried, which come first.
        part: which of several results, or a function of what is returned.
        call: `(namespace, *plain, *arguments)`, where it is not called under its name.
    """

    grids: tuple[Grid, ...]
    meaning: Callable[..., Any]
    plain: tuple[tuple[Any, ...], ...] = ((),)
    part: int | None = None
    call: Callable[..., Any] | None = None

    def of(self, namespace: Any, name: str, *operands: Any) -> Any:
        """Call the function of a namespace."""
        if self.call is not None:
            return self.call(namespace, *operands)
        found = getattr(namespace, name.partition(" ")[0])(*operands)
        return found if self.part is None else found[self.part]
