"""Products with JᵀJ of residuals at points that stay apart, by what one pullback leaves at the points.

A pullback takes cotangents of the residuals through values that have the points, until ops that sum over the points
lead to the parameters: products of a layer's inputs with the cotangents of its outputs, say. The cotangents before
these sums, begun with ones, are y. Residual i has its own point, so w pulls back to what the sums make of w·y (each
point's y times its w), and J v is, point by point, the inner product of y with what the transposed sums make of v. So a
product with J, or Jᵀ, takes the sums only: a third of a pullback, or of a pushforward whose values are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad import ops
from primad.ir.node import INPUT, Node, is_literal
from primad.ir.program import Program, subprogram
from primad.ir.replay import rebuild
from primad.ir.walks import dependents
from primad.ops.arrays.contraction import ALPHABET, letters
from primad.programs.jacobians.pullback_rows import is_single
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.simplify.slice_pushdown import differentiable
from primad.transforms import reverse
from primad.transforms.dimensions import Dimensions
from primad.transforms.lowering import expand, inline, lower, without_calls


def normal_products(program: Program, count: int) -> Program | None:
    """Return the program (inputs, a direction) -> (½ Σ r², its gradient, JᵀJ times the direction).

    Args:
        program: (parameters, others) -> residuals, each a vector with one element for each point.
        count: how many of its inputs are parameters; the gradient and the direction are like these.

    Returns:
        None where points do not stay apart on the way from the residuals to the parameters.

    Raises:
        NotDifferentiableError: if an op on the way has no rule.
    """
    active = [i < count for i in range(len(program.inputs))]
    program = differentiable(without_calls(program), active)
    pulled = reverse.vjp(program, active)
    outputs = pulled.outputs[len(program.outputs) :]
    pullback = lower(expand(Program(pulled.trace, pulled.inputs, outputs)))
    places = _before_sums(pullback, pullback.inputs[len(program.inputs) :])
    return None if places is None else _Products(program, pullback, places).program(count)


def _before_sums(pullback: Program, cotangents: Sequence[Node]) -> dict[Node, int] | None:
    """Return the values whose points are summed, of those that depend on the cotangents, with the axis of the points.

    Returns:
        None where something else happens to the points of such values.
    """
    if not is_single(pullback):
        return None
    linear = dependents(pullback.nodes, cotangents)
    dimensions = Dimensions(pullback)
    points = {dimensions.of(node, 0) for node in cotangents}
    axis = {node: place for dimension in points for node, place in dimension.axis.items()}
    if len(axis) < sum(len(dimension.axis) for dimension in points):
        return None
    summed = {use for dimension in points for use in dimension.summed}
    mixed = {use for dimension in points for use in dimension.mixed}
    odd = {node for dimension in points for node in dimension.twice | dimension.whole}
    found: dict[Node, int] = {}
    for node in pullback.nodes:
        if node not in linear or node in cotangents:
            continue
        for use in [(node, i) for i, operand in enumerate(node.inputs) if operand in linear]:
            operand = node.inputs[use[1]]
            ends = operand in axis and node not in axis
            if use in mixed or (use in summed) != ends or (node in axis and operand not in axis):
                return None
            if ends:
                found[operand] = axis[operand]
    left = [node for node in pullback.outputs if node in linear and node in axis]
    return None if left or not odd.isdisjoint(linear) else found


class _Products:
    """A pullback in two parts, before and after the sums over the points.

    Args:
        program: the residuals.
        pullback: (inputs, cotangents) -> cotangents of the parameters.
        places: the values between its parts, with the axis of the points.
    """

    def __init__(self, program: Program, pullback: Program, places: dict[Node, int]) -> None:
        self._program, self._places = program, places
        self._known = len(program.inputs)
        own = pullback.inputs[: self._known]
        self._before = subprogram(pullback, pullback.inputs, [*places])
        self._after = subprogram(pullback, [*own, *places], pullback.outputs)
        between = [i >= self._known for i in range(len(self._after.inputs))]
        back = reverse.transposed_program(self._after, between)
        self._back = [subprogram(back, back.inputs, [output]) for output in back.outputs]

    def program(self, count: int) -> Program:
        """Return the program of the value, the gradient and the product."""
        types = self._program.in_types

        def body(*xs: TracedArray) -> list[Any]:
            known, direction = xs[: self._known], xs[self._known :]
            every = inline(self._program, known)
            squares = [ops.sum(ops.mul(r, r), axes=(0,)) for r in [ops.cast(r, dtype="float64") for r in every]]
            begun = [self._seeds(known, i) for i in range(len(every))]
            moving = [i for i, seeds in enumerate(begun) if not all(is_literal(seed.node, 0) for seed in seeds)]
            residuals, seeds = [every[i] for i in moving], [begun[i] for i in moving]
            along = self._along([*known, *direction], seeds, residuals)
            half = _total(squares) * 0.5
            return [half, *self._pulled(known, seeds, residuals), *self._pulled(known, seeds, along)]

        return program_of([*types, *types[:count]], body)

    def _seeds(self, known: Sequence[TracedArray], which: int) -> list[TracedArray]:
        """Return y for the cotangent 1 of one residual at all points, and 0 of the others."""
        trace = known[0].node.trace
        ones = [TracedArray(trace.literal(int(i == which), x)) for i, x in enumerate(self._program.out_types)]
        return inline(self._before, [*known, *ones])

    def _along(
        self, given: Sequence[TracedArray], seeds: Sequence[Sequence[TracedArray]], residuals: Sequence[TracedArray]
    ) -> list[TracedArray]:
        """Return the derivatives of the residuals along a direction, for all points."""
        terms: list[list[TracedArray]] = [[] for _ in residuals]
        for place, (back, axis) in enumerate(zip(self._back, self._places.values(), strict=True)):
            (moved,) = inline(back, given)
            axes = ALPHABET[: moved.ndim]
            # Where it is at hand: a tile then holds one such value at a time.
            for own, seed, r in zip(terms, seeds, residuals, strict=True):
                if not is_literal(seed[place].node, 0):
                    inner = ops.contract(seed[place], moved, labels=letters(axes, axes, axes[axis]))
                    own.append(ops.cast(inner, dtype=str(r.dtype)))
        return [_total(own) for own in terms]

    def _pulled(
        self, known: Sequence[TracedArray], seeds: Sequence[Sequence[TracedArray]], weights: Sequence[TracedArray]
    ) -> list[TracedArray]:
        """Return what cotangents of the residuals pull back to."""
        trace = known[0].node.trace
        mapping = {node: x.node for node, x in zip(self._after.inputs, known, strict=False)}
        inputs = self._after.inputs[len(known) :]
        for place, (node, axis) in enumerate(self._places.items()):
            type = node.type
            new = tuple([i for i in range(type.ndim) if i != axis])
            terms = [
                ops.mul(ops.broadcast(ops.cast(w, dtype=str(type.dtype)), shape=type.shape, axes=new), seed[place])
                for w, seed in zip(weights, seeds, strict=True)
                if not is_literal(seed[place].node, 0)
            ]
            mapping[inputs[place]] = _total(terms).node if terms else trace.literal(0, type)
            # Its sums come at once: a tile then holds one such value at a time.
            for x in self._after.nodes:
                if x not in mapping and x.op is not INPUT and mapping.keys() >= {*x.inputs}:
                    mapping[x] = rebuild(x, mapping, trace)
        return [TracedArray(mapping[node]) for node in self._after.outputs]


def _total(terms: Sequence[TracedArray]) -> TracedArray:
    total = terms[0]
    for term in terms[1:]:
        total = ops.add(total, term)
    return total
