"""Steps of a plan that run as native code: several nodes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING

from msgspec import Struct

from primad.ir.node import Node

if TYPE_CHECKING:
    from primad.native.llvm.compiler import Kernel


class NativeStep(Struct, frozen=True, eq=False):
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


class NativePart(NativeStep, frozen=True, eq=False):
    """Steps between which no other one stands, as one native function of the addresses of its arrays.

    Attributes:
        nodes: what it computes.
        scratch: bytes of memory that it needs beside.
        failing: which of the steps can fail, in the order in which its status counts them.
        lines: the user's lines of nodes.
    """

    nodes: Sequence[Node]
    scratch: int
    failing: Sequence[Node]
    lines: Mapping[Node, str]
