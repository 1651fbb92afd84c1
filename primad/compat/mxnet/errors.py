"""MXNet's error classes, as primad's errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from primad.errors import PrimadError


class MXNetError(PrimadError, RuntimeError):
    """What MXNet raises from its core."""


class NotImplementedForSymbol(MXNetError):
    """A method of Python or of an array that has no meaning for a symbol."""

    def __init__(self, function: str) -> None:
        super().__init__(
            f"Function {function} is not implemented for Symbol and only available in NDArray.",
            why="A symbol describes a computation and holds no value.",
        )


def unsupported(module: str, name: str, available: Iterable[str]) -> AttributeError:
    """Return the error for a name of MXNet that does not exist here; it says what does."""
    names = sorted(name for name in available if not name.startswith("_"))
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    near = f" Close to it: {', '.join(close)}." if close else ""
    return AttributeError(f"{module} has no attribute {name!r} here.{near} What exists: {', '.join(names)}.")
