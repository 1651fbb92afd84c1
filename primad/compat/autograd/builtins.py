"""Python's types as programs for autograd use them: containers need nothing, a traced array is what its value is."""

from __future__ import annotations

import builtins
from typing import Any

from primad.compat.autograd.importing import missing
from primad.compat.autograd.values import kind_of

dict, list, tuple = builtins.dict, builtins.list, builtins.tuple


def isinstance(x: Any, A: Any) -> bool:
    """Say whether a value is of a type, or one of several: a traced array is a NumPy array, or a float without axes."""
    return builtins.isinstance(x, A) or issubclass(kind_of(x), A)


def type(x: Any) -> builtins.type:
    """Return the type of a value; that of a traced array is NumPy's."""
    return kind_of(x)


__all__ = ["dict", "isinstance", "list", "tuple", "type"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
