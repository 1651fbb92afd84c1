"""Branches for users: cond and switch. Of their branches, which are recorded once, only the chosen one runs.

A branch is a loop of at most one step (`primad.programs.loops.scan`), whose number of steps is whether it is chosen. So
it is differentiated, transposed and batched as loops are: on a stack of choices all branches are computed, and each
element takes what it chose; what comes back to a branch that it did not choose is masked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.functional.control.user_loops import as_type, function_name, is_any_traced
from primad.functional.control.while_loops import predicate
from primad.functional.derived_calls import run_once
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram, Program
from primad.ops.record.primitive import as_tuple
from primad.programs.loops.scan import Form, scan
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import check_function, is_number, program_of, record, type_of
from primad.runtime.calling import traced_operands
from primad.system.tracebacks import entrance
from primad.transforms.lowering import inline

Function = Callable[..., Any]


@entrance
def cond(pred: Any, true_fun: Function, false_fun: Function, *operands: Any) -> Any:
    """Apply one of two functions, as a boolean says.

    Args:
        pred: a boolean without axes.
        true_fun: what to apply where it holds.
        false_fun: what to apply where it does not. It returns the same structure and types.
        operands: what the functions are applied to.

    Raises:
        ShapeError: if the functions return different structures or types; if `pred` is no boolean without axes.

    Example:
        >>> import numpy as np, primad
        >>> f = lambda x: primad.cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)
        >>> primad.vmap(primad.grad(f))(np.array([4.0, -1.0]))
        array([0.25, 0.  ])
    """
    check_function(true_fun, "cond: ")
    check_function(false_fun, "cond: ")
    if not is_any_traced((pred, operands)):
        return run_once(lambda pred, *xs: _branched("cond", pred, (true_fun, false_fun), xs), (pred, *operands))
    return _branched("cond", pred, (true_fun, false_fun), operands)


@entrance
def switch(index: Any, branches: Sequence[Function], *operands: Any) -> Any:
    """Apply one of several functions, as an integer says.

    Args:
        index: an integer without axes: the number of the function; outside of the range it is clipped.
        branches: functions that return the same structure and types.
        operands: what they are applied to.

    Raises:
        ShapeError: if the functions return different structures or types; if `index` is no integer without axes.

    Example:
        >>> import numpy as np, primad
        >>> primad.switch(1, [np.sin, np.cos, np.exp], 0.0)
        np.float64(1.0)
    """
    branches = tuple(branches)
    if not branches:
        raise ShapeError("switch: there are no branches", fix="give a list of functions, one at least.")
    for branch in branches:
        check_function(branch, "switch: ")
    if not is_any_traced((index, operands)):
        return run_once(lambda index, *xs: _branched("switch", index, branches, xs), (index, *operands))
    return _branched("switch", index, branches, operands)


def _branched(name: str, choice: Any, branches: Sequence[Function], operands: Sequence[Any]) -> Any:
    leaves, in_tree = tree.flatten(tuple(operands))
    programs = _recorded(name, branches, leaves, in_tree)
    types = _common_types(name, branches, programs)
    chosen = _is_chosen(name, choice, len(branches))
    found = [np.zeros(type.shape, type.dtype) for type in types]
    form = Form(len(types), 0, 1, False, True)
    for program, on in zip(programs, chosen, strict=True):
        hoisted = program.hoisted()

        def step(*inputs: TracedArray, of: Program = hoisted) -> list[Any]:
            results = inline(of, inputs[len(types) :], near=inputs[0]) if types else []
            return [as_type(y, type) for y, type in zip(results, types, strict=True)]

        of = ClosedProgram(program_of([*types, *hoisted.in_types], step))
        given = traced_operands([on, *found, *leaves, *program.sources, *of.program.sources])
        found = list(as_tuple(scan(*given, of=of, **form._asdict())))
    return tree.unflatten(programs[0].out_tree, found)


def _recorded(name: str, branches: Sequence[Function], leaves: Sequence[Any], in_tree: Any) -> list[Program]:
    types, weak = [type_of(leaf) for leaf in leaves], [is_number(leaf) for leaf in leaves]
    programs = [record(branch, types, in_tree, weak=weak) for branch in branches]
    for branch, program in zip(branches, programs, strict=True):
        if program.out_tree != programs[0].out_tree:
            raise ShapeError(
                f"{name}: {function_name(branches[0])} returns the tree {tree.shown(programs[0].out_tree)}, "
                f"{function_name(branch)} {tree.shown(program.out_tree)}",
                why="What a choice gives has one structure, whatever is chosen.",
                fix="return the same structure from all branches.",
            )
    return programs


def _common_types(name: str, branches: Sequence[Function], programs: Sequence[Program]) -> list[ArrayType]:
    """Return the types of the results; a number that is a literal adopts the dtype that others have."""
    types = []
    for column in zip(*[program.outputs for program in programs], strict=True):
        fixed = [node.type for node in column if not _is_number(node)] or [node.type for node in column]
        other = next((i for i, node in enumerate(column) if not _fits(node, fixed[0])), None)
        if other is not None:
            raise ShapeError(
                f"{name}: {function_name(branches[0])} returns {column[0].type}, "
                f"{function_name(branches[other])} {column[other].type}",
                why="What a choice gives has one type, whatever is chosen.",
                fix="convert (x.astype), or np.broadcast_to a number to the shape.",
            )
        types.append(fixed[0])
    return types


def _is_number(node: Any) -> bool:
    return node.op.name == "literal" and not node.type.shape


def _fits(node: Any, type: ArrayType) -> bool:
    if node.type == type:
        return True
    return _is_number(node) and node.type.shape == type.shape and (type.is_float or node.type.dtype.kind == "i")


def _is_chosen(name: str, choice: Any, count: int) -> list[Any]:
    """Return for each branch how often it runs: once or not at all."""
    if name == "cond":
        taken = predicate(choice, "cond: pred")
        other = ops.logical_not(taken) if isinstance(taken, TracedArray) else np.bool_(not taken)
        return [_as_count(taken), _as_count(other)]
    type = type_of(choice)
    if type.shape or type.dtype.kind not in "iu":
        raise ShapeError(
            f"switch: index must be an integer without axes, got {type}",
            fix="take one element, as index[0], and convert it by .astype(int).",
        )
    index = np.minimum(np.maximum(choice, 0), count - 1)
    return [_as_count(index == i) for i in range(count)]


def _as_count(taken: Any) -> Any:
    return ops.truncate(taken, dtype="int64") if isinstance(taken, TracedArray) else np.int64(taken)
