"""Steps of a plan that run as native code: several nodes at once."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from primad.ir.node import Node
from primad.native.compiler import Kernel
from primad.native.program_text import ProgramText


@dataclass(frozen=True, eq=False)
class NativeStep:
    """Nodes that one native function computes; in a plan's list of steps it stands where a node stands.

    Attributes:
        kernel: the compiled function.
        inputs: the nodes that it reads.
        results: the nodes whose values it writes.
        in_place: of the inputs, those of which it reads each element only before it writes that element of its results.
        work: elements times ops, a function counting as eight.
        flops: of its matrix products.
    """

    kernel: Kernel
    inputs: tuple[Node, ...]
    results: tuple[Node, ...]
    in_place: Set[Node]
    work: int
    flops: int


@dataclass(frozen=True, eq=False)
class NativePart(NativeStep):
    """Steps between which no other one stands, as one native function of the addresses of its arrays.

    Attributes:
        text: its text, which says how much memory it needs beside, and what of it can fail.
    """

    text: ProgramText
