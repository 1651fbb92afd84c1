"""The least work of a workload: what the best known method computes, counted from its formulas, not from what runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .residuals import ITERATIONS
from .streams import ACTIVATIONS, Biharmonic, Jets, Method, SecondOrder, counted
from .workloads import Workload


@dataclass(frozen=True)
class Work:
    """What has to be computed.

    Attributes:
        products: multiply-adds of matrix products.
        pointwise: multiply-adds of units at points.
        functions: values of the activation.
    """

    products: float = 0.0
    pointwise: float = 0.0
    functions: float = 0.0


def least_work(workload: Workload) -> Work:
    """Return the least work of a workload with a network; of others nothing."""
    if not workload.sizes or workload.group == "start":
        return Work()
    methods, needed = method_of(workload)
    network = _Network(workload, len(methods[0].names), len(needed))
    back = workload.gradient
    pointwise = sum(
        units * min(counted(m, ACTIVATIONS[workload.activation], reads, first=first, gradient=back) for m in methods)
        for units, first, reads in network.layers(methods[0].names, needed)
    )
    products = network.forward + back * network.backward
    if workload.kind == "gauss-newton-products":  # the cotangents of all units are known from the gradient
        products += ITERATIONS * (network.forward + network.of_weights)
        pointwise += ITERATIONS * 2 * network.varying
    once = 0.0
    if workload.kind == "gauss-newton":  # a row for each point; half of JᵀJ, the rest is symmetry; Jᵀr; Cholesky
        rows = network.parameters
        products += rows * (rows + 1) / 2 + rows
        once = rows**3 / 6
    points = workload.points
    return Work(points * products + once, points * pointwise, points * network.hidden)


def method_of(workload: Workload) -> tuple[Sequence[Method], Sequence[str]]:
    """Return the best known methods of a workload (the best of them counts), and the streams that the result reads."""
    inputs = workload.sizes[0]
    if workload.kind in ("order", "fit"):
        jets = Jets(workload.order)
        return [jets], jets.names
    if workload.kind == "plate":
        return [Biharmonic()], ["LL"]
    summed = {"laplacian": inputs, "navier-stokes": 3}.get(workload.kind, 1)
    either = [SecondOrder(inputs, summed, common) for common in (False, True)]
    return either, ["L"] if workload.kind == "laplacian" else either[0].names


class _Network:
    """What a point's way through a network takes, in multiply-adds of matrix products.

    The first layer's products take the value only: derivatives of its z are weights, the same at each point. Its
    weights' gradient comes from the value's stream, and from the next layer's products by those weights.

    Attributes:
        forward: of all streams.
        of_weights: the gradients of weights and biases.
        backward: these, and the cotangents of all units.
        hidden: number of units with an activation.
        varying: number of streams that vary with the point, of all these units.
        parameters: number of weights and biases.
    """

    def __init__(self, workload: Workload, streams: int, needed: int) -> None:
        (inputs, width), *between, (last, outputs) = pairwise(workload.sizes)
        self._widths = workload.sizes[1:-1]
        inner = streams * sum(n * m for n, m in between)
        end = needed * last * outputs
        biases = sum(workload.sizes[1:])
        self.forward = inputs * width + inner + end
        self.of_weights = self.forward + biases
        self.backward = self.of_weights + inner + end
        self.hidden = sum(self._widths)
        self.varying = width + streams * sum(self._widths[1:])
        self.parameters = sum((n + 1) * m for n, m in pairwise(workload.sizes))

    def layers(self, names: Sequence[str], needed: Sequence[str]) -> list[tuple[int, bool, Sequence[str]]]:
        """Return each hidden layer's units, whether it is the first one, and the streams that the next one reads."""
        last = len(self._widths) - 1
        return [(units, i == 0, needed if i == last else names) for i, units in enumerate(self._widths)]
