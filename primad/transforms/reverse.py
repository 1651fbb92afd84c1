"""Transposition: pull cotangents back through the linear part of a program. Reverse mode is JVP, then this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad import ops
from primad.errors import NotDifferentiableError
from primad.ir.node import INPUT, LITERAL, Node, Trace, is_literal, reachable
from primad.ir.program import Program, rebuild
from primad.primitive import missing_rule
from primad.trace import TracedArray
from primad.transforms.dimensions import dependents
from primad.transforms.forward import fresh_inputs, push_tangents, zero_node
from primad.transforms.lowering import definition, finish, lower
from primad.types import Linear, Zero


def pull_cotangents(
    trace: Trace, outputs: Sequence[Node], cotangents: Sequence[TracedArray], inputs: Sequence[Node]
) -> list[TracedArray | Zero]:
    """Transpose the linear map from `inputs` to `outputs`, whose nodes live in the open `trace`.

    Returns:
        the cotangents of the inputs, `Zero` where the outputs do not depend on them.
    """
    outputs, nodes, linear = _lowered(trace, outputs, inputs)
    pending: dict[Node, Any] = {}
    for output, cotangent in zip(outputs, cotangents, strict=True):
        if output in linear:
            pending[output] = _add(pending.get(output), cotangent)
    wanted = set(inputs)
    for node in reversed(nodes):
        if node not in pending or node in wanted:
            continue
        cotangent = pending.pop(node)
        params = dict(node.params)
        positions = [i for i, operand in enumerate(node.inputs) if operand in linear]
        _check_linear(node, positions)
        operands = [Linear(operand.type) if operand in linear else TracedArray(operand) for operand in node.inputs]
        contributions = node.op.transpose(cotangent, *operands, **params)
        masked = isinstance(cotangent, TracedArray) and cotangent.node.op is ops.mask
        for i in positions:
            contribution, operand = contributions[i], node.inputs[i]
            if isinstance(contribution, Zero):
                continue
            if masked and operand not in wanted:
                contribution = _masked(node, i, cotangent, operands, params, contribution)
            pending[operand] = _add(pending.get(operand), contribution)
    return [pending[node] if node in pending else Zero(node.type) for node in inputs]


def _masked(
    node: Node, position: int, cotangent: TracedArray, operands: list[Any], params: dict[str, Any], found: Any
) -> Any:
    """Keep the zeros of a masked cotangent strong where a structural op (a sum, a pad, a scatter, …) hides its mask.

    What the op makes of the condition is nonzero exactly where something unmasked arrives.
    """
    if node.op.kind != "linear" or isinstance(found, tuple) or found.node.op in (ops.mask, LITERAL):
        return found
    condition = ops.cast(_condition(cotangent.node), dtype=str(cotangent.dtype))
    arrives: TracedArray = node.op.transpose(condition, *operands, **params)[position]
    result: TracedArray = ops.mask(~ops.equal(arrives, 0), found)
    return result


def _add(total: Any, term: Any) -> Any:
    """Add cotangents, of several results each to its own.

    Where both are masked the sum is masked too: it is zero where both are.
    """
    if total is None or isinstance(total, Zero):
        return term
    if isinstance(term, Zero):
        return total
    if isinstance(term, tuple):
        return tuple([_add(x, y) for x, y in zip(total, term, strict=True)])
    result: TracedArray = total + term
    x, y = total.node, term.node
    if x.op is ops.mask and y.op is ops.mask and x.inputs[0] is not y.inputs[0]:
        result = ops.mask(_condition(x) | _condition(y), result)
    return result


def _lowered(
    trace: Trace, outputs: Sequence[Node], inputs: Sequence[Node]
) -> tuple[Sequence[Node], list[Node], set[Node]]:
    """Lower the composites through which the outputs depend on the inputs: a user's JVP may be written with them.

    Returns:
        the outputs, the nodes behind them in order, and those of them that depend on the inputs.
    """
    while True:
        nodes, _ = reachable(outputs, trace)
        linear = dependents(nodes, inputs)
        if not any(node in linear and node.op is not INPUT and node.op.kind == "composite" for node in nodes):
            return outputs, nodes, linear
        mapping: dict[Node, Node] = {node: node for node in inputs}
        for node in nodes:
            if node not in linear or node in mapping:
                continue
            if node.op.kind == "composite":
                mapping[node] = definition(node, mapping, trace)
            else:
                mapping[node] = rebuild(node, mapping, trace)
        outputs = [mapping.get(node, node) for node in outputs]


def _condition(node: Node) -> Any:
    """Return where a masked value, perhaps masked several times, is not zero by decree."""
    condition: Any = TracedArray(node.inputs[0])
    node = node.inputs[1]
    while node.op is ops.mask:
        condition = condition & TracedArray(node.inputs[0])
        node = node.inputs[1]
    return condition


def _check_linear(node: Node, positions: Sequence[int]) -> None:
    op = node.op
    if op.transpose is None:
        if op.kind in ("linear", "multilinear"):
            raise missing_rule(op, "transpose rule")
        raise NotDifferentiableError(f"{op.name} is not linear, so the program cannot be transposed")
    if not all(op.is_linear_in(i) for i in positions) or (op.kind == "multilinear" and len(positions) > 1):
        raise NotDifferentiableError(f"the program is not linear: {op.name} multiplies or divides by a linear operand")


def vjp(
    program: Program,
    active: Sequence[bool] | None = None,
    seeds: Sequence[bool | float] | None = None,
    watched: Sequence[bool] = (),
) -> Program:
    """Return the program (inputs, cotangents of float outputs) -> (outputs, cotangents of active inputs).

    Args:
        program: any program.
        active: which inputs get a cotangent; by default those that are floats.
        seeds: for each output whether its cotangent is an input (True), zero (False), or filled with a number;
            by default those of floats are inputs.
        watched: outputs whose own cotangents are results too, after those of the inputs. They may be inner values: what
            reaches an input through them still counts.

    Raises:
        NotDifferentiableError: if an op on the path has no rule.

    Example:
        >>> import numpy as np, primad
        >>> program = primad.transforms.vjp(primad.trace(np.exp)(1.0))
        >>> program(0.0, 2.0)
        (np.float64(1.0), np.float64(2.0))
    """
    active = [node.type.is_float for node in program.inputs] if active is None else active
    seeds = [node.type.is_float for node in program.outputs] if seeds is None else seeds
    program = lower(program, active)
    trace = Trace()
    primals, tangents = fresh_inputs(program, trace, active)
    inner = dict.fromkeys(node for node, on in zip(program.outputs, watched, strict=False) if on)
    marks = {node: TracedArray(trace.input(node.type)) for node in inner}
    outputs, out_tangents = push_tangents(program, trace, primals, tangents, marks)
    cotangents = [_seed(trace, node, seed) for node, seed in zip(program.outputs, seeds, strict=True)]
    pairs = [
        (tangent.node, cotangent)
        for tangent, cotangent in zip(out_tangents, cotangents, strict=True)
        if isinstance(tangent, TracedArray) and cotangent is not None
    ]
    moving = [tangent for tangent in tangents if isinstance(tangent, TracedArray)]
    moving += [marks[node] for node, on in zip(program.outputs, watched, strict=False) if on]
    wanted = [tangent.node for tangent in moving]
    pulled = pull_cotangents(trace, [node for node, _ in pairs], [cotangent for _, cotangent in pairs], wanted)
    results = [ct.node if isinstance(ct, TracedArray) else zero_node(trace, ct.type) for ct in pulled]
    ct_inputs = [ct.node for ct in cotangents if ct is not None and ct.node.op is INPUT]
    names = [*program.names, *(f"ct{i}" if len(ct_inputs) > 1 else "ct" for i in range(len(ct_inputs)))]
    result = finish(program, trace, [*primals, *ct_inputs], [*outputs, *results])
    result.names = tuple(names)
    return result


def _seed(trace: Trace, output: Node, seed: bool | float) -> TracedArray | None:
    if seed is False:
        return None
    return TracedArray(trace.input(output.type) if seed is True else trace.literal(seed, output.type))


def transpose(program: Program, linear: Sequence[bool] | None = None) -> Program:
    """Return the transpose of a program that is linear in some inputs.

    Args:
        program: a program.
        linear: which inputs it is linear in (all, by default); the others are kept as inputs.

    Returns:
        the program (other inputs, cotangents of the outputs) -> cotangents of the linear inputs.

    Raises:
        NotDifferentiableError: if the program is not linear in them.

    Example:
        >>> import numpy as np, primad
        >>> program = primad.trace(lambda x: x[1:])(primad.ArrayType((3,), float))
        >>> print(primad.transforms.transpose(program))
        program(ct: float64[2]) {
          a: float64[3] = pad ct high=(0,) interior=(0,) low=(1,)
          return a
        }
    """
    linear = [True] * len(program.inputs) if linear is None else linear
    program = lower(program, linear)
    program = lower(program)
    trace = Trace()
    inputs = [trace.input(node.type) for node in program.inputs]
    mapping: dict[Node, Node] = dict(zip(program.inputs, inputs, strict=True))
    for node in program.nodes:
        if node not in mapping:
            mapping[node] = rebuild(node, mapping, trace, copy=True)
    outputs = [mapping.get(node, node) for node in program.outputs]
    wanted = [node for node, on in zip(inputs, linear, strict=True) if on]
    for output in outputs:
        _check_homogeneous(output, wanted, trace)
    seeds = [TracedArray(trace.input(node.type)) for node in outputs]
    pulled = pull_cotangents(trace, outputs, seeds, wanted)
    results = [ct.node if isinstance(ct, TracedArray) else zero_node(trace, ct.type) for ct in pulled]
    kept = [node for node, on in zip(inputs, linear, strict=True) if not on]
    result = finish(program, trace, [*kept, *(seed.node for seed in seeds)], results)
    names = [name for name, on in zip(program.names, linear, strict=True) if not on]
    result.names = (*names, *(f"ct{i}" if len(seeds) > 1 else "ct" for i in range(len(seeds))))
    return result


def _check_homogeneous(output: Node, inputs: Sequence[Node], trace: Trace) -> None:
    """A linear function of the inputs has no constant part: in `x + 1` the 1 would be lost by transposing."""
    nodes, _ = reachable([output], trace)
    linear = dependents(nodes, inputs)
    for node in nodes:
        if node in linear and node.op is not INPUT and node.op.kind == "linear":
            for i, operand in enumerate(node.inputs):
                if node.op.is_linear_in(i) and operand not in linear and not is_literal(operand, 0):
                    raise NotDifferentiableError(
                        f"the program is affine, not linear: {node.op.name} has a constant operand",
                        fix="transpose its derivative instead (primad.linearize, primad.vjp).",
                    )
    if output not in linear and output.op is not LITERAL:
        raise NotDifferentiableError(
            "an output does not depend on the linear inputs, so the program is not linear in them"
        )
