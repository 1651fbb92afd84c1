"""Programs and what they are called with: arguments, captured values, traced operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.ir.array_types import ArrayType, in_machine_order
from primad.ir.key import Key
from primad.ir.node import CAPTURED, LITERAL, Node, Trace, leaf_value, literal_value, param_key
from primad.ir.program import Program
from primad.ir.replay import replay
from primad.ir.signature import Signature
from primad.recording import tree
from primad.recording.argument_keys import structure_key
from primad.recording.foreign import plain
from primad.recording.traced_array import TracedArray, lift
from primad.recording.tracing import type_of
from primad.runtime.executors.dispatch import NATIVE, prepared, prepared_for_calls
from primad.runtime.executors.executor import PLAIN, Executable, Executor, Options, tries
from primad.simplify import simplify

_AS_THEY_ARE = (TracedArray, float, int, bool, complex)


class WithScalarsKey(NamedTuple):
    """A program whose scalars, and not only their places, are known."""

    program: Key
    scalars: tuple[Any, ...]
    kind: str = "with scalars"


def in_order(leaves: Sequence[Any]) -> list[Any]:
    """Return arguments with arrays in the machine's order of bytes."""
    return [leaf if type(leaf) in _AS_THEY_ARE else _as_array(leaf) for leaf in leaves]


def _as_array(leaf: Any) -> Any:
    if type(leaf) is np.ndarray:
        return leaf if leaf.dtype.isnative else in_machine_order(leaf)
    if isinstance(leaf, (np.generic, float, int)):
        return leaf
    if hasattr(leaf, "__array__"):
        return in_machine_order(plain(leaf))
    type_of(leaf)
    return leaf


def arrays(values: Sequence[Any]) -> list[Any]:
    """Return values as NumPy arrays in the machine's order of bytes."""
    return [in_machine_order(np.asarray(value)) for value in values]


def entry_of_arrays(
    run: Callable[[list[Any]], list[Any]], types: Sequence[ArrayType], captured: Sequence[Any], out_tree: Any
) -> Callable[..., Any]:
    """Return a function of arrays of these types that runs what was compiled; others it declines, with NotImplemented.

    To look at each array takes a sixth of the time in which the structure and types of any arguments are found.

    Args:
        run: what was compiled.
        types: of the arrays.
        captured: further inputs.
        out_tree: the structure of the results.
    """
    wanted = [(type.dtype, type.shape) for type in types]

    def entry(*args: Any) -> Any:
        if len(args) != len(wanted):
            return NotImplemented
        for arg, (dtype, shape) in zip(args, wanted, strict=True):
            if type(arg) is not np.ndarray or arg.dtype is not dtype or arg.shape != shape:
                return NotImplemented
        return tree.unflatten(out_tree, run([*args, *captured]))

    return entry


def executable_of(program: Program) -> Executable:
    """Return what runs a program itself, on its inputs and the values of its sources."""
    return prepared(program.key, program.hoisted)


def run_program(program: Program, values: Sequence[Any]) -> list[Any]:
    """Run a program itself on arrays."""
    return executable_of(program).run([*values, *program.source_values])


def executable_for_calls(
    program: Program,
    in_tree: Any,
    types: Sequence[ArrayType],
    weak: Sequence[bool],
    options: Options = PLAIN,
    executor: Executor = NATIVE,
    known: Mapping[str, Any] | None = None,
) -> tuple[Executable, list[Any]]:
    """Return what runs a program that the user wants compiled, and the inputs that follow the program's own.

    The executable knows the program's scalars, which then need no arrays of their own; each value of them is another.

    Args:
        program: a recorded program.
        in_tree: the tree of the tuple of arguments.
        types: types of its leaves.
        weak: which of them are Python numbers.
        options: how it is to run.
        executor: what is to run it.
        known: the ops whose names say what they are, if what is derived may be kept between processes.
    """
    values = [leaf_value(node) for node in program.sources if node.op is not LITERAL]
    scalars = tuple([param_key(literal_value(node)) for node in program.sources if node.op is LITERAL])
    entries = structure_key(in_tree), structure_key(program.out_tree)
    signature = Signature(in_tree, tuple(zip(types, weak, strict=True)), len(values), program.out_tree, entries)
    key = WithScalarsKey(program.key, scalars)

    whole = cache(lambda: program.hoisted(scalars=False))

    if tries(program):  # the recorded program is what is computed another way
        return prepared_for_calls(key, whole, options, executor, signature), values

    from primad.runtime.program_cache import Kept

    kept = None if known is None or executor is not NATIVE else Kept(whole, known, options)
    derive = cache(lambda: simplify(whole()) if kept is None else kept.program(lambda: simplify(whole())))
    return prepared_for_calls(key, derive, options, executor, signature, kept), values


def traced_operands(values: Sequence[Any]) -> list[TracedArray]:
    """Lift values (traced arrays, nodes, captured leaves, plain arrays) into the newest trace among them."""
    newest: Trace | None = None
    for value in values:
        node = value.node if type(value) is TracedArray else value if isinstance(value, Node) else None
        if node is not None and not node.trace.closed and (newest is None or node.trace.age > newest.age):
            newest = node.trace
    if newest is None:
        raise TracingError(
            "a derivative of a function was recorded outside of its trace",
            fix="call the derivative where its function is called, and keep no result of it for another call.",
        )
    operands = []
    for value in values:
        if isinstance(value, Node) and value.op is LITERAL:
            operands.append(TracedArray(newest.literal(literal_value(value), value.type)))
        elif isinstance(value, Node) and value.op is CAPTURED:
            operands.append(TracedArray(newest.capture(value.params[0][1])))
        elif isinstance(value, Node):
            operands.append(TracedArray(value))
        else:
            operands.append(TracedArray(lift(value, newest)))
    return operands


def inlined(program: Program, leaves: Sequence[Any]) -> list[Node]:
    """Replay a program on arguments of which some are traced, in the trace that they belong to."""
    operands = traced_operands([*leaves, *program.captured])
    trace = max((operand.node.trace for operand in operands), key=lambda trace: trace.age)
    mapping = {node: operand.node for node, operand in zip(program.inputs, operands, strict=False)}
    replay(program.nodes, mapping, trace)
    return [mapping.get(node, node) for node in program.outputs]


def call_program(program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a program on arguments shaped as those it was traced with; `program(*args)` comes here.

    Raises:
        ShapeError: if the arguments' number, structure or types do not fit.
    """
    if kwargs:
        raise ShapeError(
            "a Program takes positional arguments only", fix="give the arguments in order, without their names."
        )
    leaves, in_tree = tree.flatten(args)
    if len(leaves) != len(program.inputs) or (program.in_tree is not None and in_tree != program.in_tree):
        reordered = program.in_tree is not None and set(tree.paths(in_tree)) == set(tree.paths(program.in_tree))
        taken = len(program.inputs) if program.in_tree is None else tree.shown(program.in_tree)
        raise ShapeError(
            f"the program takes {taken} arguments, got {tree.shown(in_tree)}",
            why="The order of keys is part of what was recorded: a function can see it." if reordered else "",
            fix="call it as the function was recorded, with the same containers in the same order.",
        )
    leaves = in_order(leaves)
    for name, leaf, expected in zip(program.names, leaves, program.in_types, strict=True):
        found = type_of(leaf)
        if found.shape != expected.shape or (found != expected and isinstance(leaf, (np.ndarray, TracedArray))):
            raise ShapeError(
                f"argument {name} of the program must have type {expected}, got {found}",
                fix="convert it by reshape and .astype, or record the function again for these types.",
            )
    if program.captured or any(isinstance(leaf, TracedArray) for leaf in leaves):
        leaves = [
            leaf if isinstance(leaf, TracedArray) else np.asarray(leaf, expected.dtype)[()]
            for leaf, expected in zip(leaves, program.in_types, strict=True)
        ]
        results: list[Any] = [TracedArray(node) for node in inlined(program, leaves)]
    else:
        values = [np.asarray(leaf, expected.dtype) for leaf, expected in zip(leaves, program.in_types, strict=True)]
        results = run_program(program, values)
    if program.out_tree is not None:
        return tree.unflatten(program.out_tree, results)
    return results[0] if len(results) == 1 else tuple(results)


Program.caller = call_program
