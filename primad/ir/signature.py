"""How a program is called from Python."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from primad.ir.array_types import ArrayType


class Signature(Struct, frozen=True):
    """How a program is called from Python.

    Attributes:
        structure: the tree of the tuple of arguments.
        inputs: type of each leaf, and whether it is a Python number.
        constants: how many further inputs the program has.
        results: the tree of the result.
        entries: what tells both trees from others that are equal (see `structure_key`).
    """

    structure: Any
    inputs: tuple[tuple[ArrayType, bool], ...]
    constants: int
    results: Any
    entries: Any = ()
