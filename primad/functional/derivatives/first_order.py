"""Derivatives of functions at a point, as linear maps: jvp, vjp, linearize, linear_transpose. No rules live here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.functional.derived_calls import Call
from primad.functional.selected_arguments import Selected, check_differentiable, returning_pair
from primad.ir.array_types import ArrayType
from primad.ir.key import Key
from primad.ir.program import ClosedProgram, Program
from primad.programs.program_ops import jvp_, vjp_
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import Shown, record, type_of
from primad.runtime.calling import inlined, traced_operands
from primad.runtime.executors.dispatch import prepare, prepared_parts
from primad.runtime.executors.executor import Executable
from primad.simplify import simplify
from primad.simplify.slice_pushdown import differentiable
from primad.system.tracebacks import entrance
from primad.transforms import forward, reverse
from primad.transforms.lowering import expand, inline
from primad.transforms.partial_eval import split

Function = Callable[..., Any]
R = TypeVar("R")


def function_name(function: Any) -> str:
    """Return the name of a function, for messages."""
    return getattr(function, "__name__", type(function).__name__)


def matching_leaves(structure: Any, types: list[ArrayType], values: Any, what: str) -> list[Any]:
    """Return the leaves of tangents or cotangents, checked against the types they belong to; integers are converted."""
    leaves = tree.flatten_as(structure, values, what)
    for leaf, type in zip(leaves, types, strict=True):
        found = type_of(leaf)
        if found.shape != type.shape:
            raise ShapeError(
                f"{what}: expected the type {type}, got {found}",
                fix="give a tree of arrays like the values that they belong to.",
            )
        safe = found.dtype.kind in "biu"
        given = isinstance(leaf, (np.ndarray, TracedArray)) or (found.is_complex and not type.is_complex)
        if type.is_float and given and found.dtype != type.dtype and not safe:
            raise ShapeError(
                f"{what}: expected dtype {type.dtype}, got {found.dtype}",
                fix=f"convert with .astype({str(type.dtype)!r}).",
            )
    return [_direction(leaf, type) for leaf, type in zip(leaves, types, strict=True)]


def _direction(leaf: Any, type: ArrayType) -> Any:
    """Return a tangent or cotangent. A number stays one, in a trace a literal: equal directions are equal nodes."""
    if isinstance(leaf, TracedArray):
        return leaf if leaf.dtype == type.dtype else ops.cast(leaf, dtype=str(type.dtype))
    array = np.asarray(leaf, type.dtype)
    return array if array.ndim else array[()]


def _as_tuple(values: Any, name: str, what: str) -> tuple[Any, ...]:
    if not isinstance(values, (tuple, list)):
        raise ShapeError(
            f"{name}: {what} must be a tuple with one entry per argument, got {type(values).__name__}",
            fix="write (v,), with the comma, where there is one argument.",
        )
    return tuple(values)


@overload
def jvp(function: Callable[..., R], primals: Any, tangents: Any) -> tuple[R, R]: ...
@overload
def jvp(function: Function, primals: Any, tangents: Any, has_aux: bool) -> tuple[Any, ...]: ...
@entrance
def jvp(function: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Push tangents forward: the derivative of a function along a direction.

    Args:
        function: a function of arrays, or a Program.
        primals: tuple of its arguments.
        tangents: tuple of directions, of the same structure, shapes and dtypes.
        has_aux: whether the function returns (value, aux); aux is returned as it is.

    Returns:
        (value, tangent of the value), each with the structure of the function's result; or (value, tangent, aux).

    Raises:
        ShapeError: if tangents do not match primals.
        NotDifferentiableError: for integer arguments, or an op without a rule.

    Example:
        >>> import numpy as np, primad
        >>> primad.jvp(np.sin, (0.0,), (2.0,))
        (np.float64(0.0), np.float64(2.0))
    """
    primals = _as_tuple(primals, "jvp", "primals")
    tangents = _as_tuple(tangents, "jvp", "tangents")
    call = Call(returning_pair(function, "jvp") if has_aux else function, primals)
    types = call.program.in_types
    for type in types:
        check_differentiable(type, "an argument", "jvp")
    directions = matching_leaves(call.in_tree, types, tangents, f"tangents of jvp({function_name(function)})")
    n = len(call.program.outputs)
    results = call.run(jvp_, directions, active=(True,) * len(types))
    value, tangent = tree.unflatten(call.out_tree, results[:n]), tree.unflatten(call.out_tree, results[n:])
    return (value[0], tangent[0], value[1]) if has_aux else (value, tangent)


class LinearPartKey(NamedTuple):
    """What a derivative at a point depends on: the mode, which inputs of a program move, and the program."""

    transform: str
    active: tuple[bool, ...]
    of: Key
    kind: str = "linear part"


class _Linear:
    """The derivative at a point, as a linear function: residuals computed once, applied often."""

    def __init__(self, executable: Executable, residuals: list[Any]) -> None:
        self._executable, self._residuals = executable, residuals

    def __call__(self, values: list[Any]) -> list[Any]:
        return self._executable.run([*self._residuals, *values])


def _linear_part(call: Call, transform: str) -> tuple[list[Any], _Linear]:
    """Run the part of a jvp or vjp that needs the primals only; return outputs and the rest as a linear function."""
    of = ClosedProgram(call.program)
    # Arguments and captured values are all inputs of the closed program, whose key does not say which are active.
    active = (*[True] * len(call.leaves), *[False] * len(call.program.sources))

    def derive() -> tuple[Program, Program]:
        pushed = transform == "jvp"
        program = differentiable(of.hoisted, active)
        built = forward.jvp(program, active, residuals=True) if pushed else reverse.vjp(program, active)
        program = simplify(built)
        n = len(of.hoisted.inputs)
        late = [i >= n for i in range(len(program.inputs))]
        outs = len(call.program.outputs)
        return split(program, late, [i >= outs for i in range(len(program.outputs))])

    n = len(call.program.outputs)
    early, rest = prepared_parts(LinearPartKey(transform, active, of.key), derive, known=n)
    results = early.run([*map(np.asarray, call.leaves), *call.program.source_values])
    return results[:n], _Linear(rest, results[n:])


@overload
def linearize(function: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(function: Function, *primals: Any, has_aux: bool) -> tuple[Any, ...]: ...
@entrance
def linearize(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the value at a point and the derivative there, as a linear function of tangents.

    Args:
        function: a function of arrays.
        primals: its arguments, floats.
        has_aux: whether the function returns (value, aux); aux is returned as it is.

    Returns:
        (value, f_jvp), or (value, f_jvp, aux), where f_jvp(*tangents) is the tangent of the value. What the primals
        determine is computed once.

    Raises:
        ShapeError, NotDifferentiableError: as `jvp`.

    Example:
        >>> import numpy as np, primad
        >>> y, df = primad.linearize(np.square, 3.0)
        >>> y, df(1.0), df(2.0)
        (np.float64(9.0), np.float64(6.0), np.float64(12.0))
    """
    call = Call(returning_pair(function, "linearize") if has_aux else function, primals)
    types = call.program.in_types
    for type in types:
        check_differentiable(type, "an argument", "linearize")
    what = f"tangents of linearize({function_name(function)})"
    n = len(call.program.outputs)
    linear = None
    if call.nested:
        values: list[Any] = [TracedArray(node) for node in inlined(call.program, call.leaves)]
    else:
        values, linear = _linear_part(call, "jvp")

    def apply(*tangents: Any) -> Any:
        directions = matching_leaves(call.in_tree, types, tangents, what)
        if linear is None or any(isinstance(direction, TracedArray) for direction in directions):
            results = call.run(jvp_, directions, active=(True,) * len(types))[n:]
        else:
            results = linear(directions)
        tangent = tree.unflatten(call.out_tree, results)
        return tangent[0] if has_aux else tangent

    value, shown = tree.unflatten(call.out_tree, values), Shown(apply, "primad.linearize of", function)
    return (value[0], shown, value[1]) if has_aux else (value, shown)


@entrance
def vjp(function: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the value at a point and the pullback, which takes cotangents of the value to cotangents of the arguments.

    Args:
        function: a function of arrays.
        primals: its arguments, floats.
        has_aux: whether the function returns (value, aux); aux is returned as it is.

    Returns:
        (value, pullback), or (value, pullback, aux); pullback(cotangent) is a tuple with one entry per argument.

    Raises:
        ShapeError: if a cotangent does not match the value.
        NotDifferentiableError: for integer arguments, or an op without a rule.

    Example:
        >>> import numpy as np, primad
        >>> y, pullback = primad.vjp(np.multiply, 3.0, 4.0)
        >>> y, pullback(1.0)
        (np.float64(12.0), (np.float64(4.0), np.float64(3.0)))
    """
    selected = Selected(function, primals, {}, tuple(range(len(primals))), "vjp", has_aux)
    call = selected.call
    results = call.program.out_types
    n = len(results)
    if has_aux:
        value_tree, aux_tree = call.out_tree.children()
        n_value = value_tree.num_leaves
    else:
        value_tree, aux_tree, n_value = call.out_tree, None, n
    if call.nested:
        outputs: list[Any] = [TracedArray(node) for node in inlined(call.program, call.leaves)]
        linear = None
    else:
        outputs, linear = _linear_part(call, "vjp")

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        what = f"cotangent of vjp({function_name(function)})"
        given = matching_leaves(value_tree, results[:n_value], cotangent, what)
        given += [np.zeros(type.shape, type.dtype) for type in results[n_value:]]
        given = [ct for ct, type in zip(given, results, strict=True) if type.is_float]
        if linear is None or any(isinstance(ct, TracedArray) for ct in given):
            active = (True,) * len(call.leaves)
            pulled = call.run(vjp_, given, active=active)[n:]
        else:
            pulled = linear(given)
        packed: tuple[Any, ...] = selected.pack(dict(enumerate(pulled)))
        return packed

    value = tree.unflatten(value_tree, outputs[:n_value])
    shown = Shown(pullback, "pullback, by primad.vjp, of", function)
    if has_aux:
        return value, shown, tree.unflatten(aux_tree, outputs[n_value:])
    return value, shown


@entrance
def linear_transpose(function: Function, *primals: Any) -> Function:
    """Transpose a linear function.

    Args:
        function: a function that is linear in all its arguments together.
        primals: example arguments or their `ArrayType`s; values are not used.

    Returns:
        a function of the cotangent of the result that returns a tuple of cotangents of the arguments.

    Raises:
        NotDifferentiableError: if the function is not linear.

    Example:
        >>> import numpy as np, primad
        >>> transposed = primad.linear_transpose(lambda x: 3.0 * x[1:], np.zeros(3))
        >>> transposed(np.ones(2))
        (array([0., 3., 3.]),)
    """
    leaves, in_tree = tree.flatten(primals)
    program = record(function, [type_of(leaf) for leaf in leaves], in_tree)
    for type in [*program.in_types, *program.out_types]:
        check_differentiable(type, "an argument or result", "linear_transpose")
    hoisted = program.hoisted()
    transposed = expand(reverse.transpose(hoisted, [i < len(leaves) for i in range(len(hoisted.inputs))]))
    executable = prepare(transposed)

    def apply(cotangent: Any) -> Any:
        given = matching_leaves(
            program.out_tree, program.out_types, cotangent, f"cotangent of {function_name(function)}"
        )
        if program.captured or any(isinstance(ct, TracedArray) for ct in given):
            operands = traced_operands([*program.sources, *given])
            results: list[Any] = inline(transposed, operands)
        else:
            results = executable.run([*program.source_values, *given])
        return tree.unflatten(in_tree, results)

    return Shown(apply, "primad.linear_transpose of", function)
