"""Transposition: pull cotangents back through the linear part of a program. Reverse mode is JVP, then this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.errors import NotDifferentiableError
from primad.ir.array_types import ArrayType, Linear, TupleType, Zero, type_of_results
from primad.ir.node import INPUT, Node, Trace, is_literal
from primad.ir.program import ClosedProgram, Cost, Program
from primad.ir.replay import rebuild, replay
from primad.ir.walks import dependents, reachable
from primad.ops.elementwise.strong_zeros import is_masked, keep_masked, sum_of_masked
from primad.ops.record.fields import DerivativeRules, Programs, Work
from primad.ops.record.primitive import Primitive, as_tuple, one_or_all
from primad.ops.record.rules import missing_rule, tangent_sum
from primad.recording.traced_array import TracedArray
from primad.transforms.forward import fresh_inputs, jvp, push_tangents, zero_node
from primad.transforms.lowering import (
    alone,
    apply_program_op,
    expand,
    extended,
    finish,
    inline,
    lower,
    replaced,
    unrolled,
    with_rules,
    without_calls,
)


def pull_cotangents(
    trace: Trace,
    outputs: Sequence[Node],
    cotangents: Sequence[TracedArray],
    inputs: Sequence[Node],
    ends: bool = False,
) -> list[TracedArray | Zero]:
    """Transpose the linear map from `inputs` to `outputs`, whose nodes live in the open `trace`.

    Args:
        trace: in which it is written.
        outputs: of the map.
        cotangents: of the outputs.
        inputs: of the map.
        ends: whether no cotangent goes beyond the inputs: then zeros need not be strong where nothing multiplies them.

    Returns:
        the cotangents of the inputs, `Zero` where the outputs do not depend on them.
    """
    outputs, nodes, linear = _lowered(trace, outputs, inputs)
    pending: dict[Node, Any] = {}
    for output, cotangent in zip(outputs, cotangents, strict=True):
        if output in linear:
            pending[output] = _add(pending.get(output), cotangent)
    wanted = set(inputs)
    weak = _moved_only(nodes, wanted) if ends else wanted
    for node in reversed(nodes):
        if node not in pending or node in wanted:
            continue
        cotangent = pending.pop(node)
        params = dict(node.params)
        positions = [i for i, operand in enumerate(node.inputs) if operand in linear]
        if node.op.has_rule and node.op.derivative.transpose is None:
            for operand, found in zip(
                [node.inputs[i] for i in positions], _through(node, cotangent, linear), strict=True
            ):
                pending[operand] = _add(pending.get(operand), found)
            continue
        _check_linear(node, positions)
        operands = [Linear(operand.type) if operand in linear else TracedArray(operand) for operand in node.inputs]
        contributions = node.op.derivative.transpose(cotangent, *operands, **params)
        masked = is_masked(cotangent)
        for i in positions:
            contribution, operand = contributions[i], node.inputs[i]
            if isinstance(contribution, Zero):
                continue
            if masked and operand not in weak:
                contribution = keep_masked(node, i, cotangent, operands, contribution)
            pending[operand] = _add(pending.get(operand), contribution)
    return [pending[node] if node in pending else Zero(node.type) for node in inputs]


def _moved_only(nodes: Sequence[Node], inputs: set[Node]) -> set[Node]:
    """Return the nodes that linear ops make of the inputs alone, beside integers and conditions."""
    found = {*inputs}
    for node in nodes:
        floats = [operand for operand in node.inputs if operand.type.is_float]
        if floats and found.issuperset(floats) and node.op.kind == "linear":
            found.add(node)
    return found


def _add(total: Any, term: Any) -> Any:
    """Add cotangents, of several results each to its own."""
    if total is None or isinstance(total, Zero):
        return term
    if isinstance(term, Zero):
        return total
    if isinstance(term, tuple):
        return tuple([_add(x, y) for x, y in zip(total, term, strict=True)])
    return sum_of_masked(total, term)


def _lowered(
    trace: Trace, outputs: Sequence[Node], inputs: Sequence[Node]
) -> tuple[Sequence[Node], list[Node], set[Node]]:
    """Lower the composites through which the outputs depend on the inputs: a user's JVP may be written with them.

    Those with a rule of their own stay where other operands of theirs may be differentiated by it.

    Returns:
        the outputs, the nodes behind them in order, and those of them that depend on the inputs.
    """
    while True:
        nodes, _ = reachable(outputs, trace)
        linear = dependents(nodes, inputs)
        chosen = {node for node in nodes if node in linear and _is_definition(node, linear)}
        if not chosen:
            return outputs, nodes, linear
        mapping: dict[Node, Node] = {node: node for node in inputs}
        for node in nodes:
            if node not in linear or node in mapping:
                continue
            if node in chosen:
                mapping[node] = replaced(node, mapping, trace)
            else:
                mapping[node] = rebuild(node, mapping, trace)
        outputs = [mapping.get(node, node) for node in outputs]


def _is_definition(node: Node, linear: set[Node]) -> bool:
    """Say whether a node on the way of a cotangent is no more than its definition: no rule will be asked about it."""
    if node.op is INPUT or not node.op.is_composite:
        return False
    return not node.op.has_rule or all(operand in linear or not operand.type.is_float for operand in node.inputs)


def _check_linear(node: Node, positions: Sequence[int]) -> None:
    op = node.op
    if op.derivative.transpose is None:
        if op.kind in ("linear", "multilinear"):
            raise missing_rule(op, "transpose rule")
        raise NotDifferentiableError(
            f"{op.name} is not linear, so the program cannot be transposed",
            why="Reverse mode transposes what a rule makes of the tangents.",
            fix="let rules apply to tangents only what is linear in them and has a transpose; primad.custom and "
            "primad.linear give one to an op.",
        )
    if not all(op.is_linear_in(i) for i in positions) or (op.kind == "multilinear" and len(positions) > 1):
        raise NotDifferentiableError(
            f"the program is not linear: {op.name} multiplies or divides by a linear operand",
            fix="transpose its derivative instead (primad.linearize, primad.vjp).",
        )


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
    program = with_rules(program, active)
    trace = Trace()
    primals, tangents = fresh_inputs(program, trace, active)
    inner = dict.fromkeys(node for node, on in zip(program.outputs, watched, strict=False) if on)
    marks = {node: TracedArray(trace.input(node.type)) for node in inner}
    outputs, out_tangents = push_tangents(program, trace, primals, tangents, marks, residuals=True)
    cotangents = [_seed(trace, node, seed) for node, seed in zip(program.outputs, seeds, strict=True)]
    pairs = [
        (tangent.node, cotangent)
        for tangent, cotangent in zip(out_tangents, cotangents, strict=True)
        if isinstance(tangent, TracedArray) and cotangent is not None
    ]
    moving = [tangent for tangent in tangents if isinstance(tangent, TracedArray)]
    moving += [marks[node] for node, on in zip(program.outputs, watched, strict=False) if on]
    wanted = [tangent.node for tangent in moving]
    outs, cts = [node for node, _ in pairs], [cotangent for _, cotangent in pairs]
    pulled = pull_cotangents(trace, outs, cts, wanted, ends=True)
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
    program = expand(without_calls(program))
    _check_homogeneous(lower(unrolled(program)), linear)
    return transposed_program(program, linear)


def transposed_program(program: Program, linear: Sequence[bool]) -> Program:
    """Transpose an expanded program that is known to be linear in some inputs."""
    trace = Trace()
    inputs = [trace.input(node.type) for node in program.inputs]
    mapping: dict[Node, Node] = dict(zip(program.inputs, inputs, strict=True))
    replay(program.nodes, mapping, trace, copy=True)
    outputs = [mapping.get(node, node) for node in program.outputs]
    wanted = [node for node, on in zip(inputs, linear, strict=True) if on]
    seeds = [TracedArray(trace.input(node.type)) for node in outputs]
    pulled = pull_cotangents(trace, outputs, seeds, wanted)
    results = [ct.node if isinstance(ct, TracedArray) else zero_node(trace, ct.type) for ct in pulled]
    kept = [node for node, on in zip(inputs, linear, strict=True) if not on]
    result = finish(program, trace, [*kept, *(seed.node for seed in seeds)], results)
    names = [name for name, on in zip(program.names, linear, strict=True) if not on]
    result.names = (*names, *(f"ct{i}" if len(seeds) > 1 else "ct" for i in range(len(seeds))))
    return result


def _check_homogeneous(program: Program, linear: Sequence[bool]) -> None:
    """A linear function of the inputs has no constant part: in `x + 1` the 1 would be lost by transposing."""
    moving = dependents(program.nodes, [node for node, on in zip(program.inputs, linear, strict=True) if on])
    for node in program.nodes:
        if node in moving and node.op is not INPUT and node.op.kind == "linear":
            for i, operand in enumerate(node.inputs):
                if node.op.is_linear_in(i) and operand not in moving and not is_literal(operand, 0):
                    raise NotDifferentiableError(
                        f"the program is affine, not linear: {node.op.name} has a constant operand",
                        fix="transpose its derivative instead (primad.linearize, primad.vjp).",
                    )
    if any(output not in moving and not _is_zero(output) for output in program.outputs):
        raise NotDifferentiableError(
            "an output does not depend on the linear inputs, so the program is not linear in them",
            fix="return only what depends on them, or transpose its derivative (primad.linearize, primad.vjp).",
        )


def _is_zero(node: Node) -> bool:
    return is_literal(node, 0) or is_literal(node, -0.0)


# -- composites with a rule of their own, on the way of a cotangent ----------------------------------------------------


def _through(node: Node, cotangent: Any, linear: set[Node]) -> Sequence[TracedArray]:
    """Pull cotangents back through a composite that is linear in some operands and has a rule for the others."""
    flags = tuple([operand in linear for operand in node.inputs])
    program = alone(node.op, [operand.type for operand in node.inputs], node.params)
    present = [not isinstance(ct, Zero) for ct in as_tuple(cotangent)]
    program = Program(program.trace, program.inputs, [x for x, on in zip(program.outputs, present, strict=True) if on])
    kept = [TracedArray(operand) for operand in node.inputs if operand not in linear]
    given = [ct for ct in as_tuple(cotangent) if not isinstance(ct, Zero)]
    return as_tuple(apply_program_op(transposed, ClosedProgram(program), kept, given, linear=flags))


def _transposed_type(*types: ArrayType, of: ClosedProgram, linear: tuple[bool, ...]) -> ArrayType | TupleType:
    flags = extended(linear, of.program)  # in a program's text, what is closed over is among the operands
    return type_of_results([type for type, on in zip(of.program.in_types, flags, strict=True) if on])


def _transposed_tangent(
    tangents: Sequence[Any], out: Any, *operands: Any, of: ClosedProgram, linear: tuple[bool, ...]
) -> Any:
    """Transposition and differentiation commute: Lᵀw moves by Lᵀẇ, and by the transpose of the derivative of L."""
    count = len(operands) - len(of.out_types)
    kept, cotangents = operands[:count], operands[count:]
    moving, along = tangents[:count], tangents[count:]
    terms: list[Any] = []
    if any(not isinstance(tangent, Zero) for tangent in along):
        trace = as_tuple(out)[0].node.trace
        full = [TracedArray(zero_node(trace, t.type)) if isinstance(t, Zero) else t for t in along]
        terms.append(transposed(*kept, *full, of=of, linear=linear))
    present = [tangent for tangent in moving if not isinstance(tangent, Zero)]
    if present:
        flags = extended(linear, of.hoisted)
        others = iter(moving)
        active = [not on and not isinstance(next(others), Zero) for on in flags]
        pushed = jvp(of.hoisted, active)
        slope = Program(pushed.trace, pushed.inputs, pushed.outputs[len(cotangents) :])
        flags = (*flags, *[False] * len(present))
        terms.append(apply_program_op(transposed, ClosedProgram(slope), [*kept, *present], cotangents, linear=flags))
    return tangent_sum(terms)


def _build_transposed(program: Program, *, linear: tuple[bool, ...]) -> Program:
    return transposed_program(lower(program), extended(linear, program))


def _transposed_values(*arrays: Any, of: ClosedProgram, linear: tuple[bool, ...]) -> Any:
    return _build_transposed(of.hoisted, linear=linear)(*arrays)


def _cost(node: Node) -> Cost:
    params = dict(node.params)
    return lower(_build_transposed(params["of"].hoisted, linear=params["linear"])).cost()


transposed = Primitive(
    name="transposed",
    kind="program",
    numpy=_transposed_values,
    infer=_transposed_type,
    lower=lambda *operands, of, linear: one_or_all(inline(_build_transposed(of.hoisted, linear=linear), operands)),
    derivative=DerivativeRules(jvp=_transposed_tangent),
    programs=Programs(names=("of",), build=_build_transposed),
    work=Work(flops=_cost),
    doc="A composite's transpose in the operands in which it is linear; its rule still holds for the others.",
)
