"""Python's types as programs for autograd use them: containers need nothing, a traced array is what its value is."""

from __future__ import annotations

import builtins
from typing import Any

from primad.compat.autograd.importing import missing
from primad.compat.autograd.values import isbox, kind_of
from primad.recording import tree

dict, list, tuple = builtins.dict, builtins.list, builtins.tuple


def isinstance(x: Any, A: Any) -> bool:
    """Say whether a value is of a type, or one of several: a traced array is a NumPy array, or a float without axes."""
    return builtins.isinstance(x, A) or issubclass(kind_of(x), A)


class _HoldingTraced(builtins.type):
    """The type of classes whose instances are the containers of some types that hold a traced array."""

    types: builtins.tuple[builtins.type, ...]

    def __instancecheck__(cls, instance: Any) -> bool:
        return builtins.isinstance(instance, cls.types) and any(map(isbox, tree.leaves(instance)))


class SequenceBox(metaclass=_HoldingTraced):
    """Lists and tuples that hold a traced array."""

    types = (builtins.list, builtins.tuple)


class DictBox(metaclass=_HoldingTraced):
    """Dicts that hold a traced array."""

    types = (builtins.dict,)


def type(x: Any) -> builtins.type:
    """Return the type of a value; that of a traced array is NumPy's."""
    return kind_of(x)


__all__ = ["DictBox", "SequenceBox", "dict", "isinstance", "list", "tuple", "type"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
