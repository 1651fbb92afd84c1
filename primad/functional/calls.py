"""Calling a derived function.

Record the user's function, find or make the plan, and run it; inside another trace, record one node.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from primad import tree
from primad.errors import NotDifferentiableError, ShapeError, TracingError
from primad.ir.node import CAPTURED, LITERAL, Node, Trace, literal_value, param_key
from primad.ir.program import ClosedProgram, Program, replay
from primad.native.entry import Signature
from primad.primitive import Primitive, as_tuple
from primad.recording import record, type_of
from primad.runtime.cache import PLANS, WHOLE
from primad.runtime.collection import collector_paused
from primad.runtime.donation import Donated
from primad.runtime.interpreter import evaluate_node
from primad.runtime.tiling import AnyPlan, Hint, make_plan
from primad.runtime.whole import WholePlan, whole_plan
from primad.simplify import simplify
from primad.trace import TracedArray, lift
from primad.types import ArrayType, in_machine_order

_AS_THEY_ARE = (TracedArray, float, int, bool)


class Call:
    """A user's function recorded on given arguments.

    Attributes:
        program: the recorded program.
        leaves: the flattened arguments.
        nested: whether an argument, or something the function closes over, is traced.
    """

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], known: bool = True) -> None:
        if not callable(function):
            raise TracingError(f"expected a function, got {type(function).__name__}", fix="pass the function itself.")
        self.leaves, self.in_tree = tree.flatten(tuple(args))
        self.leaves = [leaf if type(leaf) in _AS_THEY_ARE else _as_array(leaf) for leaf in self.leaves]
        types = [type_of(leaf) for leaf in self.leaves]
        values = self.leaves if known else None
        self.program = record(function, types, self.in_tree, values, evaluate_node if known else None)
        self.nested = any(type(leaf) is TracedArray for leaf in self.leaves) or bool(self.program.captured)

    @property
    def out_tree(self) -> Any:
        """Structure of the result."""
        return self.program.out_tree

    def run(self, primitive: Primitive, extras: Sequence[Any] = (), **options: Any) -> list[Any]:
        """Apply a program op to the recorded program and return its results."""
        of = ClosedProgram(self.program)
        if self.nested or any(type(extra) is TracedArray for extra in extras):
            operands = traced_operands([*self.leaves, *self.program.sources, *extras])
            return list(as_tuple(primitive(*operands, of=of, **options)))
        key = (primitive, of.key, tuple(sorted(options.items())))
        build = primitive.build
        assert build is not None
        plan: AnyPlan = PLANS.get(key, lambda: make_plan(simplify(build(of.hoisted, **options))))
        return plan.run([*arrays(self.leaves), *source_values(self.program), *arrays(extras)])

    def evaluate(self) -> list[Any]:
        """Run the recorded program itself."""
        if self.nested:
            return [TracedArray(node) for node in inlined(self.program, self.leaves)]
        plan = plan_of(ClosedProgram(self.program))
        return plan.run([*arrays(self.leaves), *source_values(self.program)])


def plan_of(of: ClosedProgram) -> AnyPlan:
    """Return the plan of a program itself, from the cache if it was made before."""
    plan: AnyPlan = PLANS.get((None, of.key), lambda: make_plan(simplify(of.hoisted)))
    return plan


def compiled_plan(
    program: Program,
    in_tree: Any,
    types: Sequence[ArrayType],
    weak: Sequence[bool],
    donated: Donated = (),
    along: Hint | None = None,
) -> tuple[AnyPlan | WholePlan, list[Any]]:
    """Return the plan of a program that the user wants compiled, and the inputs that follow the program's own.

    It is one native function if the program is small. The plan knows the program's scalars, which then need no arrays
    of their own; each value of them is another plan.

    Args:
        program: a recorded program.
        in_tree: the tree of the tuple of arguments.
        types: types of its leaves.
        weak: which of them are Python numbers.
        donated: outputs that take the memory of inputs.
        along: the input's axis that tiles are to cut.
    """
    of = ClosedProgram(program)
    values = [_source_value(node) for node in program.sources if node.op is not LITERAL]
    scalars = tuple([param_key(literal_value(node)) for node in program.sources if node.op is LITERAL])
    signature = Signature(in_tree, tuple(zip(types, weak, strict=True)), len(values), program.out_tree)
    simplified: list[Program] = []

    def lowered() -> Program:
        if not simplified:
            simplified.append(simplify(program.hoisted(scalars=False)))
        return simplified[0]

    def made() -> tuple[AnyPlan | WholePlan, list[Any]]:
        whole: WholePlan | None = WHOLE.get((of.key, scalars, signature), lambda: whole_plan(lowered(), signature))
        if whole is not None:
            return whole, values
        plan: AnyPlan = PLANS.get((None, of.key, donated, along, scalars), lambda: make_plan(lowered(), donated, along))
        return plan, values

    found: tuple[AnyPlan | WholePlan, list[Any]] = collector_paused(made)
    return found


def _as_array(leaf: Any) -> Any:
    if type(leaf) is np.ndarray:
        return leaf if leaf.dtype.isnative else in_machine_order(leaf)
    if isinstance(leaf, (np.ndarray, np.generic, float, int)):
        return leaf
    if hasattr(leaf, "__array__"):
        return in_machine_order(np.asarray(leaf))
    type_of(leaf)
    return leaf


def arrays(values: Sequence[Any]) -> list[Any]:
    """Return values as NumPy arrays in the machine's order of bytes."""
    return [in_machine_order(np.asarray(value)) for value in values]


def source_values(program: Program) -> list[Any]:
    """Return the values of the captured arrays and scalars of a program."""
    return [_source_value(node) for node in program.sources]


def _source_value(node: Node) -> Any:
    if node.op is CAPTURED:
        return node.params[0][1].array
    return np.broadcast_to(np.asarray(literal_value(node), node.type.dtype), node.type.shape)


def traced_operands(values: Sequence[Any]) -> list[TracedArray]:
    """Lift values (traced arrays, nodes, captured leaves, plain arrays) into the newest trace among them."""
    newest: Trace | None = None
    for value in values:
        node = value.node if type(value) is TracedArray else value if isinstance(value, Node) else None
        if node is not None and not node.trace.closed and (newest is None or node.trace.age > newest.age):
            newest = node.trace
    if newest is None:
        raise TracingError("a derivative of a function was recorded outside of its trace")
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
        raise ShapeError("a Program takes positional arguments only")
    leaves, in_tree = tree.flatten(args)
    if len(leaves) != len(program.inputs) or (program.in_tree is not None and in_tree != program.in_tree):
        reordered = program.in_tree is not None and set(tree.paths(in_tree)) == set(tree.paths(program.in_tree))
        raise ShapeError(
            f"the program takes {program.in_tree or len(program.inputs)} arguments, got {in_tree}",
            why="The order of keys is part of what was recorded: a function can see it." if reordered else "",
        )
    leaves = [leaf if type(leaf) in _AS_THEY_ARE else _as_array(leaf) for leaf in leaves]
    for name, leaf, expected in zip(program.names, leaves, program.in_types, strict=True):
        found = type_of(leaf)
        if found.shape != expected.shape or (found != expected and isinstance(leaf, (np.ndarray, TracedArray))):
            raise ShapeError(f"argument {name} of the program must have type {expected}, got {found}")
    if any(isinstance(leaf, TracedArray) for leaf in leaves):
        leaves = [
            leaf if isinstance(leaf, TracedArray) else np.asarray(leaf, expected.dtype)[()]
            for leaf, expected in zip(leaves, program.in_types, strict=True)
        ]
        results: list[Any] = [TracedArray(node) for node in inlined(program, leaves)]
    else:
        plan = plan_of(ClosedProgram(program))
        values = [np.asarray(leaf, expected.dtype) for leaf, expected in zip(leaves, program.in_types, strict=True)]
        results = plan.run([*values, *source_values(program)])
    if program.out_tree is not None:
        return tree.unflatten(program.out_tree, results)
    return results[0] if len(results) == 1 else tuple(results)


Program.evaluate = call_program


# -- arguments ---------------------------------------------------------------------------------------------------------


def check_differentiable(type: ArrayType, what: str, transform: str) -> None:
    """Raise unless derivatives can be taken with respect to a value of this type."""
    if not type.is_float:
        raise NotDifferentiableError(
            f"{what} of {transform} has dtype {type.dtype}",
            why="Derivatives are taken with respect to floating-point values; an integer cannot change by a little.",
            fix="pass a float (3.0, not 3), or convert with x.astype(float).",
        )


def choose_arguments(
    function: Callable[..., Any], args: Sequence[Any], argnums: Any, transform: str
) -> tuple[int, ...]:
    """Return the chosen positions as nonnegative numbers.

    Raises:
        TracingError: if there is no such argument.
    """
    chosen = []
    for number in (argnums,) if not isinstance(argnums, (tuple, list)) else argnums:
        try:
            number = operator.index(number)
        except TypeError:
            raise TracingError(f"{transform}: argnums must be integers, got {argnums!r}") from None
        if not -len(args) <= number < len(args):
            name = getattr(function, "__name__", "the function")
            raise TracingError(
                f"{transform}({name}): argnums={argnums} but the call has {len(args)} positional arguments"
            )
        chosen.append(number % len(args))
    return tuple(chosen)


class Selected:
    """A recorded call, and which of its flattened arguments are differentiated.

    What is not chosen and no array (Python's numbers, strings, callables, …) is passed through as it is.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        argnums: Any,
        transform: str,
        has_aux: bool = False,
    ) -> None:
        self.transform = transform
        self.single = not isinstance(argnums, (tuple, list))
        self.argnums = choose_arguments(function, args, argnums, transform)
        if kwargs:
            function = partial(function, **kwargs)
        function, args = keep(function, args, [i in self.argnums for i in range(len(args))])
        self.call = Call(self._with_aux(function) if has_aux else function, args)
        self.trees: list[Any] = []
        self.positions: list[list[int]] = []
        start = 0
        spans = []
        for structure in self.call.in_tree.children():
            spans.append((list(range(start, start + structure.num_leaves)), structure))
            start += structure.num_leaves
        for number in self.argnums:
            positions, structure = spans[number]
            self.positions.append(positions)
            self.trees.append(structure)
            for position in positions:
                check_differentiable(self.call.program.in_types[position], f"argument {number}", transform)
        chosen = {position for positions in self.positions for position in positions}
        self.active = tuple([i in chosen for i in range(len(self.call.leaves))])

    def _with_aux(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*args: Any) -> Any:
            result = function(*args)
            if not isinstance(result, tuple) or len(result) != 2:
                raise ShapeError(
                    f"{self.transform} with has_aux=True needs a function that returns a pair (value, aux)"
                )
            return result

        return inner

    def pack(self, values: dict[int, Any]) -> Any:
        """Return derivatives, given by flat position, in the structure of the chosen arguments."""
        trees = []
        for positions, structure in zip(self.positions, self.trees, strict=True):
            trees.append(tree.unflatten(structure, [like_argument(values[i], self.call.leaves[i]) for i in positions]))
        return trees[0] if self.single else tuple(trees)


def like_argument(value: Any, argument: Any) -> Any:
    """Return a derivative as its argument was given: an array for an array, a scalar for a number."""
    if isinstance(argument, np.ndarray) and isinstance(value, np.generic):
        return np.asarray(value)
    return value


def keep(
    function: Callable[..., Any], args: Sequence[Any], chosen: Sequence[bool]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Keep Python's numbers and whatever is no array from being traced, in arguments that are not chosen.

    Returns:
        a function of the arguments in which None stands for what is kept, and these arguments.
    """
    if all(on or type(arg) is np.ndarray or type(arg) is TracedArray for on, arg in zip(chosen, args, strict=True)):
        return function, tuple(args)
    flat = [tree.flatten(arg) for arg in args]
    kept = [[not on and not _is_array(leaf) for leaf in leaves] for on, (leaves, _) in zip(chosen, flat, strict=True)]
    if not any(map(any, kept)):
        return function, tuple(args)
    left = [
        tree.unflatten(structure, [None if stays else leaf for leaf, stays in zip(leaves, stay, strict=True)])
        for (leaves, structure), stay in zip(flat, kept, strict=True)
    ]

    def filled(*values: Any) -> Any:
        full = []
        for value, (leaves, structure), stay in zip(values, flat, kept, strict=True):
            given = iter(tree.leaves(value))
            full.append(tree.unflatten(structure, [x if y else next(given) for x, y in zip(leaves, stay, strict=True)]))
        return function(*full)

    filled.__qualname__ = getattr(function, "__qualname__", "function")
    filled.__wrapped__ = function  # type: ignore[attr-defined]  # the names of arguments are the function's
    return filled, tuple(left)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, (TracedArray, np.ndarray)) or (
        hasattr(leaf, "__array__") and not isinstance(leaf, np.generic)
    )
