"""Lowering: replace composite ops by their definitions, until only primitives are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any

from primad.errors import ProgramError, TracingError
from primad.ir.array_types import ArrayType
from primad.ir.law_families import LEFT_OUT, SOLVERS
from primad.ir.node import Leaf, Node, Params, Trace, params_key
from primad.ir.program import ClosedProgram, Program, carry_lines
from primad.ir.replay import newest, rebuild, replay
from primad.ops.record.primitive import Primitive, as_tuple, one_or_all, packed, result_of
from primad.recording.traced_array import TracedArray

MAX_ROUNDS = 200
"""Definitions nest less deeply than this; deeper means that one refers to itself."""
SHORT_STEP = 3000
"""Elements that a step of a loop computes, at most, for what it calls to be put in its place, and for native code of it
to be one function on single elements. Chosen: more take longer to compile than loops take to run."""


def lower(program: Program, many: bool = False, compiled: bool = False) -> Program:
    """Return the program with composite ops replaced by their definitions: what a plan runs.

    No derivative of it may be asked for any more, since rules of their own are gone: see `expand`. Composites that hold
    programs (jacobian, hessian, …) come last, so that the ops that consume them can choose how they are computed.
    Programs that are called stay calls, of lowered programs.

    Args:
        program: any program.
        many: whether what runs many times has the definition that it has there, which may fail (see `repeated`).
        compiled: whether the program will be one native function: what it has twice counts then as well.

    Raises:
        ProgramError: if a definition refers to itself.

    Example:
        >>> import numpy as np, primad
        >>> print(primad.lower(primad.trace(np.mean)(primad.ArrayType((4,), float))))
        program(a: float64[4]) {
          b: float64[] = sum a axes=(0,)
          c: float64[] = div b 4.0
          return c
        }
    """
    if not isinstance(program, Program):
        raise TracingError(
            f"lower and simplify take a Program, got {type(program).__name__}",
            fix="record the function first: primad.trace(f)(*example_arguments).",
        )
    program = _replace(program, _composites)
    return _lowered(program, {}, many, within=many and runs_many(program, twice=compiled))


def _lowered(program: Program, new: dict[Any, Program], many: bool, within: bool) -> Program:
    """Lower a program and what it calls, each called program once.

    Args:
        program: any program.
        new: those that are lowered, by their keys and whether they are within a loop.
        many: as `lower` has it.
        within: whether this one is.
    """
    program = _replace(program, _composites)
    if many:
        program = _without_repeated(program, within)
    chosen: dict[Node, Program] = {}
    for node in calls(program):
        inside = within or is_loop(node)
        for of in node.op.held(node.params):
            if (of.key, inside) not in new:
                new[of.key, inside] = _lowered(of.hoisted, new, many, inside)
            if new[of.key, inside] is not of.hoisted:
                chosen[node] = new[of.key, inside]

    def again(node: Node, operands: Sequence[TracedArray]) -> Any:
        (name,) = node.op.programs.names
        params = {**dict(node.params), name: ClosedProgram(chosen[node])}
        trace = newest([operand.node for operand in operands], node.trace)
        return node.op(*operands, *[TracedArray(rebuild(x, {}, trace)) for x in chosen[node].sources], **params)

    return _with(program, chosen, again) if chosen else program


def runs_many(program: Program, twice: bool) -> bool:
    """Say whether a program has what has another definition where it runs many times, and has it in a loop, or mapped.

    Args:
        program: the program.
        twice: whether the same, applied twice, counts too: not systems at solutions, of which several have the factors
            of one. They are linear.
    """
    if all(op.repeated is None for op in program.ops):
        return False
    nodes = [node for node in program.nodes if not isinstance(node.op, Leaf)]
    inside = [
        x for node in nodes if is_loop(node) for of in node.op.held(node.params) for x in applications(of.program)
    ]
    if any(repeated(node, within=False) for node in nodes) or any(repeated(node, within=True) for node in inside):
        return True
    if not twice:
        return False
    alike = [(node.op, params_key(node.params)) for node in nodes if not node.op.derivative.linear_operands]
    return any(count > 1 and op.repeated is not None for (op, _), count in Counter(alike).items())


def is_loop(node: Node) -> bool:
    """Say whether what an op holds is applied again and again: branches are loops of one step."""
    form = node.op.programs.loop
    return form is not None and form(node).length > 1


def repeated(node: Node, within: bool) -> Callable[..., Any] | None:
    """Return the definition that an application has where it runs many times; None where it has none there.

    Args:
        node: the application.
        within: whether it is within a loop.
    """
    if isinstance(node.op, Leaf) or node.op.repeated is None or SOLVERS in LEFT_OUT.get():
        return None
    found: Callable[..., Any] | None = node.op.repeated(within, **dict(node.params))
    return found


def _without_repeated(program: Program, within: bool) -> Program:
    """Replace what has another definition where it runs many times by that one, and lower what that holds."""
    while any(op.repeated is not None for op in program.ops):
        found = {node: repeated(node, within) for node in program.nodes}
        chosen = {node: definition for node, definition in found.items() if definition is not None}
        if not chosen:
            break
        program = _with(program, chosen, lambda node, operands: chosen[node](*operands, **dict(node.params)))  # noqa: B023
        program = _replace(program, _composites)
    return program


def without_calls(program: Program) -> Program:
    """Return the program with calls replaced by what they stand for, whatever that holds, where ops say it."""
    while True:
        chosen = {node for node in calls(program) if node.op.lower is not None}
        if not chosen:
            return program
        program = lower_nodes(program, chosen)


def unrolled(program: Program) -> Program:
    """Return the program with calls and loops replaced by all that they do, step after step."""
    while True:
        chosen = set(calls(program))
        if not chosen:
            return program
        program = _with(program, chosen, _built)


def _built(node: Node, operands: Sequence[TracedArray]) -> Any:
    options = dict(node.params)
    return one_or_all(inline(node.op.programs.build(options.pop("of").hoisted, **options), operands))


def calls(program: Program) -> list[Node]:
    """Return the applications whose programs a plan runs."""
    called = {op for op in program.ops if op.programs.called}
    return [node for node in program.nodes if node.op in called] if called else []


def lower_except(program: Program, kept: Callable[[Primitive], bool]) -> Program:
    """Return the program with composites replaced by their definitions, but for those that `kept` names."""
    return _replace(program, lambda current: [node for node in _composites(current) if not kept(node.op)])


def expand(program: Program, active: Sequence[bool] | None = None) -> Program:
    """Return the program with composites replaced by their definitions, but for those with a rule of their own.

    This is the form of every program that may be differentiated again: a derivative that is taken of a definition where
    there is a rule would not be what the rule says.

    Args:
        program: any program.
        active: if given, only composites that depend on the active inputs through floats are replaced.
    """

    def chosen(current: Program) -> list[Node]:
        found = [node for node in _composites(current) if not node.op.has_rule]
        if not found or active is None:
            return found
        live = active_nodes(current, active)
        return [node for node in found if node in live]

    return _replace(program, chosen)


def with_rules(program: Program, active: Sequence[bool]) -> Program:
    """Return the program as rules will differentiate it: expanded, and written by the ops that have derivatives.

    Args:
        program: any program.
        active: which inputs it will be differentiated by.
    """
    program = expand(program, active)
    finders = {op.derivative.found_in for op in program.ops} - {None}
    for find in finders:
        program = find(program, active)
    return program


def _composites(program: Program) -> list[Node]:
    composites = {op for op in program.ops if op.is_composite}
    return [node for node in program.nodes if node.op in composites] if composites else []


def _replace(program: Program, choose: Callable[[Program], list[Node]]) -> Program:
    """Replace the composites that `choose` names by their definitions until there are none, plain ones first."""
    for _ in range(MAX_ROUNDS):
        chosen = choose(program)
        if not chosen:
            return program
        plain = {node for node in chosen if not node.op.holds_program}
        program = lower_nodes(program, plain or set(chosen))
    raise ProgramError(
        f"lowering did not end after {MAX_ROUNDS} rounds: a composite's definition refers to itself",
        fix="define it by other ops.",
    )


def active_nodes(program: Program, active: Sequence[bool]) -> set[Node]:
    """Return the nodes through which an infinitesimal change of the active inputs can pass."""
    result = {node for node, on in zip(program.inputs, active, strict=True) if on and node.type.is_float}
    for node in program.nodes:
        passes = node.type.is_float and not isinstance(node.op, Leaf) and node.op.kind != "piecewise constant"
        if passes and not result.isdisjoint(node.inputs):
            result.add(node)
    return result


def lower_nodes(program: Program, chosen: Container[Node]) -> Program:
    """Replace the chosen composite nodes by their definitions, once."""
    return _with(program, chosen, defined)


def _with(program: Program, chosen: Container[Node], by: Callable[[Node, Sequence[TracedArray]], Any]) -> Program:
    """Rebuild a program with other results of the same type in place of chosen applications."""

    def change(node: Node, mapping: Mapping[Node, Node], trace: Trace) -> Node | None:
        return replaced(node, mapping, trace, by) if node in chosen else None

    return rewritten(program, change)


def rewritten(
    program: Program,
    change: Callable[[Node, dict[Node, Node], Trace], Node | None],
    copy: bool = False,
    types: Sequence[ArrayType] | None = None,
    result: Callable[[Node, Node], Node] = lambda node, new: new,
) -> Program:
    """Rebuild a program node by node.

    Args:
        program: any program.
        change: `(node, what stands for the nodes before it, the new trace)` -> what stands for the node; None for the
            same op on what stands for its operands.
        copy: whether laws that did not apply to the program cannot apply to nodes that stay as they are.
        types: of the new inputs; by default those of the program.
        result: `(output, what stands for it)` -> the new output.
    """
    trace = Trace()
    inputs = [trace.input(type) for type in (program.in_types if types is None else types)]
    mapping: dict[Node, Node] = dict(zip(program.inputs, inputs, strict=True))
    for node in program.nodes:
        if node not in mapping:
            new = change(node, mapping, trace)
            mapping[node] = rebuild(node, mapping, trace, copy) if new is None else new
    return finish(program, trace, inputs, [result(node, mapping.get(node, node)) for node in program.outputs], mapping)


def defined(node: Node, operands: Sequence[TracedArray]) -> Any:
    """Return what the definition of a composite makes of operands."""
    return node.op.lower(*operands, **dict(node.params))


def replaced(
    node: Node,
    mapping: Mapping[Node, Node],
    trace: Trace,
    by: Callable[[Node, Sequence[TracedArray]], Any] = defined,
) -> Node:
    """Build on mapped operands what stands for a node: by default its definition."""
    found = packed(by(node, [TracedArray(mapping.get(operand, operand)) for operand in node.inputs]), trace)
    if found.type != node.type:
        raise ProgramError(
            f"{node.op.name}: its definition gives {found.type} instead of {node.type}",
            fix="let `infer` say the type that the definition has.",
        )
    return found


def alone(op: Primitive, types: Sequence[ArrayType], params: Params) -> Program:
    """Return the program that applies an op once."""
    trace = Trace()
    inputs = [trace.input(type) for type in types]
    found = as_tuple(result_of(trace.place(op, tuple(inputs), params)))
    program = Program(trace, inputs, [x.node for x in found])
    trace.close()
    return program


def finish(
    source: Program,
    trace: Trace,
    inputs: Sequence[Node],
    outputs: Sequence[Node],
    mapping: dict[Node, Node] | None = None,
) -> Program:
    """Close a trace as a program that takes over names and trees from `source`."""
    if mapping is not None:
        carry_lines(source, mapping, trace)
    same = len(inputs) == len(source.inputs)
    program = Program(
        trace,
        inputs,
        outputs,
        source.in_tree if same else None,
        source.out_tree if len(outputs) == len(source.outputs) else None,
        source.names if same else None,
        source.label,
    )
    trace.close()
    return program


def extended(flags: Sequence[bool], program: Program) -> tuple[bool, ...]:
    """Return flags for all inputs of a program: captured values, which come after the arguments, have False."""
    return (*flags, *[False] * (len(program.inputs) - len(flags)))


def inline(program: Program, operands: Sequence[TracedArray], near: TracedArray | None = None) -> list[TracedArray]:
    """Replay a closed program on operands and return its outputs; where it has no operands, in the trace of `near`."""
    nodes = [operand.node for operand in operands]
    trace = newest(nodes, (operands[0] if near is None else near).node.trace)
    mapping = dict(zip(program.inputs, nodes, strict=True))
    replay(program.nodes, mapping, trace)
    carry_lines(program, mapping, trace)
    return [TracedArray(mapping[node]) for node in program.outputs]


def apply_program_op(
    primitive: Primitive,
    of: ClosedProgram,
    operands: Sequence[TracedArray],
    extras: Sequence[TracedArray] = (),
    **params: Any,
) -> Any:
    """Apply an op that holds a program, whose captured values and scalars become operands.

    Args:
        primitive: the op.
        of: the program to hold.
        operands: what its inputs stand for.
        extras: what the op takes beside them (tangents, cotangents).
        params: of the op.
    """
    trace = newest([operand.node for operand in (*operands, *extras)], of.program.trace)
    sources = [rebuild(node, {}, trace) if isinstance(node.op, Leaf) else node for node in of.program.sources]
    return primitive(*operands, *map(TracedArray, sources), *extras, of=of, **params)


def applications(program: Program) -> Iterator[Node]:
    """Yield the applications of ops in a program, and in the programs that they hold, each program once."""
    waiting, seen = [program], set()
    for each in waiting:
        for node in each.nodes:
            if isinstance(node.op, Leaf):
                continue
            yield node
            new = [of for of in node.op.held(node.params) if of not in seen]
            seen.update(new)
            waiting += [of.hoisted for of in new]
