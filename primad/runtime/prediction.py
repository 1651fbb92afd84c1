"""Predicting a plan's time from its costs and the machine's speeds.

The model is as simple as it can be: matrix products at the machine's peak, other elements at the speed of a sum or of a
function in cache, large arrays at the speed of a copy, each NumPy call at the price of a call. What it says is what the
plan would take if nothing else stood in the way; a measured time far above it is worth a question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.machine import SECOND_CACHE
from primad.native.pointwise import NEEDS
from primad.runtime.native_steps import NativeStep

IN_REGISTERS = 0.5
"""An op inside a kernel takes this share of a NumPy call's time per element: it neither loads nor stores."""
FUNCTION_WORK = 8
"""Times: so much more work than an op of arithmetic a function is in a kernel."""
CACHED_BYTES = SECOND_CACHE.size
"""Bytes; larger arrays come from memory."""


@dataclass(frozen=True)
class Machine:
    """Speeds for one dtype.

    Attributes:
        peak: flops per second of matrix products on all threads.
        peak_alone: the same on one thread.
        bandwidth: bytes per second that a copy of a large array reads and writes, on one thread.
        arithmetic: seconds per element of a sum in cache.
        function: seconds per element of a function (tanh) in cache.
        call: seconds that a call of a NumPy function costs apart from its work.
    """

    peak: float
    peak_alone: float
    bandwidth: float
    arithmetic: float
    function: float
    call: float


@dataclass(frozen=True)
class Prediction:
    """Predicted seconds, by what they are spent on."""

    products: float = 0.0
    kernels: float = 0.0
    elements: float = 0.0
    calls: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.products + self.kernels + self.elements + self.calls

    def __add__(self, other: Prediction) -> Prediction:
        return Prediction(
            self.products + other.products,
            self.kernels + other.kernels,
            self.elements + other.elements,
            self.calls + other.calls,
        )

    def times(self, factor: float) -> Prediction:
        """Return the prediction for so many runs."""
        return Prediction(*[factor * part for part in (self.products, self.kernels, self.elements, self.calls)])


def by_steps(units: Sequence[Node | NativeStep], machine: Machine, peak: float) -> Prediction:
    """Predict how long steps take, one after the other.

    Args:
        units: nodes, which run by their ops' NumPy definitions, and native functions of several nodes.
        machine: speeds.
        peak: flops per second of matrix products.
    """
    total = Prediction()
    for unit in units:
        if isinstance(unit, NativeStep):
            kernels = unit.work * IN_REGISTERS * machine.arithmetic
            total = total + Prediction(unit.flops / machine.peak_alone, kernels, calls=machine.call)
        else:
            total = total + by_numpy(unit, machine, peak)
    return total


def by_numpy(node: Node, machine: Machine, peak: float) -> Prediction:
    """Predict how long a call of an op's NumPy definition takes."""
    cost = node.op.cost(node)
    if node.op.views:
        return Prediction(calls=machine.call)
    if cost.matmul_flops:
        return Prediction(products=cost.matmul_flops / peak, calls=machine.call)
    size = max([node.type.size, *[operand.type.size for operand in node.inputs]])
    seconds = size * (machine.function if node.op.name in NEEDS else machine.arithmetic)
    moved = node.type.nbytes + sum(operand.type.nbytes for operand in node.inputs)
    if moved > CACHED_BYTES:
        seconds = max(seconds, moved / machine.bandwidth)
    return Prediction(elements=seconds, calls=machine.call)


def as_one_function(program: Program, machine: Machine) -> Prediction:
    """Predict how long a program takes that runs as one native function, on one thread."""
    work = products = 0
    for node in program.nodes:
        if not isinstance(node.op, Leaf) and not node.op.views:
            cost = node.op.cost(node)
            products += cost.matmul_flops
            work += 0 if cost.matmul_flops else node.type.size * (FUNCTION_WORK if node.op.name in NEEDS else 1)
    kernels = work * IN_REGISTERS * machine.arithmetic
    return Prediction(products / machine.peak_alone, kernels, 0.0, machine.call)
