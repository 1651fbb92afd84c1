"""Predicting a plan's time from its costs and the machine's speeds.

The model is as simple as it can be: matrix products at the machine's peak, other elements at the speed of a sum or of a
function in cache, large arrays at the speed of a copy, each NumPy call at the price of a call. What it says is what the
plan would take if nothing else stood in the way; a measured time far above it is worth a question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from primad.deferred import loaded
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.machine import SECOND_CACHE
from primad.native.bodies import form_of, has_body, step_program
from primad.native.pointwise import NEEDS
from primad.native.table import likely_work, reason
from primad.runtime.native_steps import NativePart, NativeStep

IN_REGISTERS = 0.5
"""Share of a NumPy call's time per element that an op inside a kernel takes: it neither loads nor stores. Estimated;
only predictions depend on it."""
LATENCY_SECONDS, FUNCTION_SECONDS, LOOP_SECONDS = 0.7e-9, 8e-9, 6e-9
"""Seconds that an op, a function and a loop of native code take, however small their arrays are. Fitted to times of
programs of small steps; only predictions depend on them."""
STEP_CALLS, DEFINITION_CALLS, PART_CALLS, ENTRY_CALLS, LOOP_CALLS = 2, 15, 15, 0.2, 80
"""Calls of a NumPy function that these take as long as: a step that is a ufunc, one whose definition is Python's, a
native part, a program that Python calls itself, a loop or a call of a program beside its steps. Fitted to times of
programs of small steps; only predictions depend on them."""
SMALL_FLOP_SECONDS, LAPACK_SECONDS, LAPACK_FLOP_SECONDS = 1.5e-9, 0.8e-6, 0.4e-9
"""Seconds that a flop of a factorization takes where LAPACK is not called; a call of LAPACK for a small matrix, and a
flop of it. Fitted to times of 3 to 12 rows; only predictions depend on them."""
FLOPS_OF_A_MATRIX, LAPACK_SHARE = 16, 0.3
"""Flops for each element of a result, from which an op is taken for a factorization of large matrices, and the share of
the speed of matrix products that LAPACK reaches. Estimated; only predictions depend on them."""
TOGETHER = 3
"""Times: so much faster small matrices of a stack are than alone, since vectors have one in each lane. Fitted alike."""
MOST_WORK = 4_000_000
"""Elements computed (a function counts as several, two flops of a product as a quarter) by one native function, at
most, or flops of a program that another one runs: about a millisecond. Chosen: in larger programs the interpreter's
price does not show, while threads and a tuned BLAS library do. The last bits of results depend on it."""
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

    def moving(self, nbytes: int, machine: Machine) -> Prediction:
        """Return the prediction where so many bytes are moved: more than a cache holds is waited for."""
        waiting = nbytes / machine.bandwidth if nbytes > CACHED_BYTES else 0.0
        return self + Prediction(elements=max(0.0, waiting - self.total))


def by_steps(units: Sequence[Node | NativeStep], machine: Machine, peak: float) -> Prediction:
    """Predict how long steps take, one after the other.

    Args:
        units: nodes, which run by their ops' NumPy definitions, and native functions of several nodes.
        machine: speeds.
        peak: flops per second of matrix products.
    """
    total = Prediction()
    for unit in units:
        if isinstance(unit, NativePart):
            inside = in_one_function(unit.nodes, machine)
            total = total + inside + Prediction(calls=PART_CALLS * machine.call)
        elif isinstance(unit, NativeStep):
            kernels = unit.work * IN_REGISTERS * machine.arithmetic
            total = total + Prediction(unit.flops / machine.peak_alone, kernels, calls=PART_CALLS * machine.call)
        else:
            total = total + by_numpy(unit, machine, peak)
    return total


def by_numpy(node: Node, machine: Machine, peak: float) -> Prediction:
    """Predict how long a call of an op's NumPy definition takes."""
    if node.op.called:
        return _of_held(node, machine, peak)
    cost = node.op.cost(node)
    ufunc = isinstance(loaded(node.op.numpy), np.ufunc)
    call = machine.call * (STEP_CALLS if ufunc else DEFINITION_CALLS)
    if node.op.views:
        return Prediction(calls=call)
    if cost.matmul_flops:
        return Prediction(products=cost.matmul_flops / peak, calls=call)
    if cost.flops > FLOPS_OF_A_MATRIX * node.type.size:
        return Prediction(elements=cost.flops / (LAPACK_SHARE * peak), calls=call)
    size = max([node.type.size, *[operand.type.size for operand in node.inputs]])
    function = node.op.name in NEEDS
    seconds = size * machine.function if function else max(size, likely_work(node)) * machine.arithmetic
    moved = node.type.nbytes + sum(operand.type.nbytes for operand in node.inputs)
    if moved > CACHED_BYTES:
        seconds = max(seconds, moved / machine.bandwidth)
    return Prediction(elements=seconds, calls=call)


def _of_held(node: Node, machine: Machine, peak: float) -> Prediction:
    """Predict how long an op takes that runs programs: a loop takes as often as many flops as one of its steps has."""
    total = Prediction(calls=LOOP_CALLS * machine.call)
    flops = node.op.cost(node).flops
    for program in [of.hoisted for of in node.op.held(node.params)]:
        once = program.cost()
        times = max(1.0, flops / once.flops) if once.flops else 1.0
        steps = [x for x in program.nodes if not isinstance(x.op, Leaf)]
        if once.flops > MOST_WORK or any(x.op.called and reason(x) for x in steps):
            total = total + by_steps(steps, machine, peak).times(times)
        else:
            total = total + in_one_function(program.nodes, machine).times(times)
    return total


def as_one_function(program: Program, machine: Machine) -> Prediction:
    """Predict how long a program takes that runs as one native function, on one thread."""
    return in_one_function(program.nodes, machine) + Prediction(calls=ENTRY_CALLS * machine.call)


def in_one_function(nodes: Sequence[Node], machine: Machine) -> Prediction:
    """Predict how long nodes take in a native function, on one thread."""
    products = kernels = 0.0
    for node in nodes:
        if has_body(node):
            form = form_of(node)
            # Of a loop that ends by itself it is not known how many steps there are: one is counted.
            step = in_one_function(step_program(form.of).nodes, machine).times(1 if form.ends else form.length)
            products, kernels = products + step.products, kernels + step.kernels
        elif not isinstance(node.op, Leaf) and not node.op.views:
            cost = node.op.cost(node)
            if cost.matmul_flops:
                products += cost.matmul_flops / machine.peak_alone + LOOP_SECONDS
                continue
            if not node.op.pointwise and cost.flops > node.type.size:
                kernels += _of_matrices(node, cost.flops)
                continue
            function = node.op.name in NEEDS
            seconds = likely_work(node) * IN_REGISTERS * machine.arithmetic
            if not node.op.pointwise:
                seconds += LOOP_SECONDS
            kernels += max(seconds, FUNCTION_SECONDS if function else LATENCY_SECONDS)
    return Prediction(products, kernels)


def _of_matrices(node: Node, flops: int) -> float:
    """Predict how many seconds a factorization of a stack of matrices takes, or another op of many flops an element."""
    count = max(1, math.prod(node.inputs[0].type.shape[:-2]))
    each = flops / count
    small = each * SMALL_FLOP_SECONDS / (1 if count < TOGETHER else TOGETHER)
    return count * min(small, LAPACK_SECONDS + each * LAPACK_FLOP_SECONDS) + LOOP_SECONDS
