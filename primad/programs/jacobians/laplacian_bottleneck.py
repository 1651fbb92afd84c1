"""Laplacians through a narrow place: directions for the values that pass there, and not for all coordinates.

If a function of x is g(h(x)), and h has fewer elements than x, then with J = ∂h/∂x

    Δ(g ∘ h) = tr(∇²g · J Jᵀ) + ∇g · Δh.

Only J Jᵀ matters, and tr(∇²g · J Jᵀ) is the sum of the mixed second derivatives of g along eₖ and J Jᵀ eₖ, for each
element k of h: 2m first derivatives and one sum are propagated through g, where m is the size of h, instead of one for
each coordinate. For a network whose first layer has H units, h is what they are fed with, and J its weights. Rows that
do not depend on x, as these, are kept apart from those that do, such as the 2x of a factor 1 − |x|²: with A and B such
rows, J Jᵀ is replaced by [A Aᵀ, 2 A Bᵀ; 0, B Bᵀ], which has the same symmetric part, and A Aᵀ is computed once for all
points. There is no factor of J Jᵀ to be found, so nothing goes wrong, in any derivative, where rows are dependent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.law_families import DIRECTIONS, LEFT_OUT
from primad.ir.node import Leaf, Node
from primad.ir.program import Program, subprogram
from primad.ir.walks import dependents
from primad.ops.arrays.contraction import letters
from primad.ops.record.rules import tangent_sum
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.simplify.collapse import collapse
from primad.simplify.factor_linear import factor_linear
from primad.transforms import batching, forward
from primad.transforms.lowering import expand, inline

Jacobian = Callable[[Program, int], Program]


def narrow_place(program: Program, argument: int) -> list[Node]:
    """Return values with fewer elements than an argument through which a program depends on it; none if there are none.

    They are the first behind all that are as large as the argument.

    Args:
        program: an expanded program with one output.
        argument: the argument's position.
    """
    x = program.inputs[argument]
    moving = dependents(program.nodes, [x])
    before: set[Node] = {x}
    for node in reversed(program.nodes):
        large = any(operand in moving and operand.type.size >= x.type.size for operand in node.inputs)
        if node in moving and (large or node in before) and not isinstance(node.op, Leaf):
            before.update(operand for operand in (node, *node.inputs) if operand in moving)
    (output,) = program.outputs
    if output in before:
        return []
    after = [node for node in program.nodes if node in moving and node not in before]
    found = list(dict.fromkeys(x for node in after for x in node.inputs if x in before))
    sizes = [node.type.size for node in found]
    return found if sum(sizes) < x.type.size and all(node.type.is_float for node in found) else []


def compressed_laplacian(
    program: Program, argument: int, jacobian: Jacobian, laplacian: Callable[[Program, int], Program]
) -> Program | None:
    """Build the Laplacian of the only output of a program through a narrow place, if that takes less at one point.

    Args:
        program: any program with one output.
        argument: the position of the argument.
        jacobian: builds the Jacobian of an output of a program with respect to the argument.
        laplacian: builds the Laplacian of an output of a program with respect to the argument.
    """
    if DIRECTIONS in LEFT_OUT.get():
        return None
    program = expand(program)
    place = narrow_place(program, argument)
    if not place:
        return None
    inner = subprogram(program, program.inputs, place)
    outer = subprogram(program, [*program.inputs, *place], program.outputs)
    slopes = [expand(jacobian(inner, i)) for i in range(len(place))]
    varies = [_depends(slope, argument) for slope in slopes]
    fixed = sum(node.type.size for node, on in zip(place, varies, strict=True) if not on)
    size, narrow = program.in_types[argument].size, sum(node.type.size for node in place)
    saved = (size - 2 * narrow - 1) * outer.cost().flops
    if saved <= 2 * size * (fixed**2 + (narrow - fixed) * narrow):
        return None
    through, linear = _through(outer, len(program.inputs)), _slope(outer, len(program.inputs))

    def total(*operands: TracedArray) -> list[TracedArray]:
        values = inline(inner, operands)
        rows = [_as_rows(inline(slope, operands)[0], size) for slope in slopes]
        terms = []
        for chosen in (False, True):
            if chosen not in varies:
                continue
            own = [on is chosen for on in varies]
            units = _apart(_identity(_joined(rows, own)), rows, own)
            along = [*units, *_products(rows, varies, chosen)]
            stacks = [
                ops.reshape(each, shape=(each.shape[0], *value.shape))
                for each, value in zip(along, (*values, *values), strict=True)
            ]
            wide = batching.vmap(through, [*[False] * len(outer.inputs), *[True] * len(stacks)], stacks[0].shape[0])
            terms.append(ops.sum(inline(wide, [*operands, *values, *stacks])[0], axes=(0,)))
        drifts = [inline(laplacian(inner, i), operands)[0] for i in range(len(place))]
        terms += inline(linear, [*operands, *values, *drifts])
        return [tangent_sum(terms)]

    return factor_linear(collapse(expand(program_of(program.in_types, total, program.names))))


def _as_rows(x: TracedArray, size: int) -> TracedArray:
    rows: TracedArray = ops.reshape(x, shape=(x.size // size, size))
    return rows


def _depends(program: Program, argument: int) -> bool:
    return program.outputs[0] in dependents(program.nodes, [program.inputs[argument]])


def _products(rows: Sequence[TracedArray], varies: Sequence[bool], chosen: bool) -> list[TracedArray]:
    """Return products of the chosen rows, those that vary or those that do not, with rows of each value.

    Products of rows of both kinds are counted twice with those that vary, and not with the others.
    """
    found = []
    first = _joined(rows, [on is chosen for on in varies])
    for row, on in zip(rows, varies, strict=True):
        if on and not chosen:
            zeros = ArrayType((first.shape[0], row.shape[0]), row.dtype)
            found.append(TracedArray(row.node.trace.literal(0, zeros)))
        else:
            product = ops.contract(first, row, labels=letters("ab", "cb", "ac"))
            found.append(product * 2.0 if on is not chosen else product)
    return found


def _joined(rows: Sequence[TracedArray], chosen: Sequence[bool]) -> TracedArray:
    parts = [row for row, on in zip(rows, chosen, strict=True) if on]
    joined: TracedArray = parts[0] if len(parts) == 1 else ops.concatenate(*parts, axis=0)
    return joined


def _identity(rows: TracedArray) -> TracedArray:
    params = (("dtype", str(rows.dtype)), ("n", rows.shape[0]))
    return TracedArray(rows.node.trace.build(ops.eye, (), params))


def _apart(stack: TracedArray, rows: Sequence[TracedArray], chosen: Sequence[bool]) -> list[TracedArray]:
    """Return the parts of a stack of directions that belong to each value: zeros for those that are not chosen."""
    found: list[TracedArray] = []
    start, count = 0, stack.shape[0]
    for row, on in zip(rows, chosen, strict=True):
        n = row.shape[0]
        if on:
            found.append(ops.slice_(stack, start=(0, start), stop=(count, start + n), step=(1, 1)))
            start += n
        else:
            found.append(TracedArray(stack.node.trace.literal(0, ArrayType((count, n), stack.dtype))))
    return found


def _slope(outer: Program, count: int) -> Program:
    """Return the program (inputs, tangents of those behind the first) -> tangent of the output."""
    moved = forward.jvp(outer, [i >= count for i in range(len(outer.inputs))])
    return Program(moved.trace, moved.inputs, moved.outputs[1:])


def _through(outer: Program, count: int) -> Program:
    """Return the program (inputs, tangents, other tangents) -> second derivative of the output along both."""
    n = len(outer.inputs)
    slope = _slope(outer, count)
    moved = forward.jvp(slope, [count <= i < n for i in range(len(slope.inputs))])
    return expand(Program(moved.trace, moved.inputs, moved.outputs[1:]))
