"""Solutions of equations as ops: what a program has of a solver is the solution, and linear systems at it.

With F(x, a) = 0 the tangent of x is that of the implicit function theorem, ẋ = −(∂F/∂x)⁻¹ (∂F/∂a) ȧ. The second op is
the solution of a linear system with ∂F/∂x, or with its transpose: linear in the right hand side, transposed to the
other, and with a tangent in x and a of its own, so that derivatives of every order are these two ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import PrimadError, ShapeError
from primad.implicit.equations import Array, ImplicitEquation
from primad.implicit.recorded_systems import (
    DenseSystem,
    RecordedRoot,
    RecordedSystem,
    has_newtons_steps,
    is_dense,
    newtons_steps,
)
from primad.implicit.solution_search import solve
from primad.ir.array_types import ArrayType, Linear, Zero
from primad.ir.law_families import LEFT_OUT, SOLVERS
from primad.ir.program import Program
from primad.ops.record.fields import Axes, DerivativeRules
from primad.ops.record.primitive import Primitive
from primad.transforms import batching
from primad.transforms.lowering import inline

Batches = tuple[tuple[tuple[bool, ...], int], ...]
"""For each vmap, from the inside out, which operands have its axis, and its length."""


def _sizes(batches: Batches) -> tuple[int, ...]:
    return tuple([size for _, size in reversed(batches)])


def _one_by_one(compute: Callable[..., Array], arrays: Sequence[Any], batches: Batches) -> Array:
    """Compute what a stack of operands gives, row by row: NaN where a row alone has no solution, or no derivative.

    A branch under `vmap` is computed for all rows, also for those that do not take it.
    """
    if not batches:
        return compute(*arrays)
    mapped = [[flags[i] for flags, _ in reversed(batches)] for i in range(len(arrays))]
    sizes = _sizes(batches)
    rows = []
    for index in np.ndindex(sizes):
        place = [tuple([i for i, on in zip(index, own, strict=True) if on]) for own in mapped]
        operands = [np.asarray(x)[at] for x, at in zip(arrays, place, strict=True)]
        try:
            rows.append(compute(*operands))
        except ShapeError:
            raise
        except (ValueError, ArithmeticError, RuntimeError):  # ours, or those of the user's solver
            rows.append(np.full_like(operands[0], np.nan))
    return np.stack(rows).reshape((*sizes, *rows[0].shape)) if rows else np.empty((*sizes, 0))


def _type(of: ImplicitEquation, types: Sequence[ArrayType], count: int, batches: Batches) -> ArrayType:
    """Return the type of a solution; behind so many operands are those of the equation."""
    rows = [ArrayType(x.shape[sum([flags[i] for flags, _ in batches]) :], x.dtype) for i, x in enumerate(types)]
    wanted = of.operand_types
    if rows[count:] != wanted or rows[0] != wanted[0]:
        raise ShapeError(f"{of.name}: the equation takes {wanted}, got {rows}", fix="give values of these types.")
    return ArrayType((*_sizes(batches), *wanted[0].shape), wanted[0].dtype)


def _batched(op: Primitive) -> Callable[..., Any]:
    def batch(flags: tuple[bool, ...], size: int, *operands: Any, batches: Batches = (), **params: Any) -> Any:
        return op(*operands, batches=(*batches, (flags, size)), **params)

    return batch


def _inlined(program: Program, operands: Sequence[Any], batches: Batches) -> Any:
    """Return the only result of a program that is mapped."""
    for flags, size in batches:
        program = batching.vmap(program, flags, size)
    return inline(program, operands)[0]


# -- the solution ------------------------------------------------------------------------------------------------------


def _push_solution(tangents: Sequence[Any], out: Any, *inputs: Any, of: ImplicitEquation, batches: Batches = ()) -> Any:
    change, rows = _change(tangents, out, *inputs, of=of, batches=batches)
    if change is None:
        return Zero(out.type)
    return -_apply(linear_solution, [change, out, *inputs[1:]], rows, of=of, transposed=False)


def _change(
    tangents: Sequence[Any], out: Any, *inputs: Any, of: ImplicitEquation, batches: Batches
) -> tuple[Any, Batches]:
    """Return how the residual changes at the solution, and how a system with the change on its right side is mapped."""
    active = tuple([not isinstance(t, Zero) for t in tangents[1:]])
    if not any(active):
        return None, ()
    moving = [t for t in tangents[1:] if not isinstance(t, Zero)]
    program = of.tangent((False, *active))
    for flags, size in batches:
        own = [on for on, moves in zip(flags[1:], active, strict=True) if moves]
        program = batching.vmap(program, [True, *flags[1:], *own], size)
    (change,) = inline(program, [out, *inputs[1:], *moving])
    return change, tuple([((True, True, *flags[1:]), size) for flags, size in batches])


def _apply(op: Primitive, operands: Sequence[Any], batches: Batches, **params: Any) -> Any:
    return op(*operands, **params, **({"batches": batches} if batches else {}))


def _many_solutions(within: bool, of: ImplicitEquation, batches: Batches = ()) -> Callable[..., Any] | None:
    """Where solutions are found again and again, Newton's steps are part of the program."""
    return _in_steps if (within or batches) and has_newtons_steps(of) else None


def _in_steps(*operands: Any, of: ImplicitEquation, batches: Batches = ()) -> Any:
    return _inlined(newtons_steps(of), operands, batches)


solution: Primitive = Primitive(
    name="solution",
    kind="custom",
    numpy=lambda *arrays, of, batches=(): _one_by_one(lambda x, *given: solve(of, x, given), arrays, batches),
    repeated=_many_solutions,
    infer=lambda *types, of, batches=(): _type(of, types, 0, batches),
    derivative=DerivativeRules(jvp=_push_solution),
    axes=Axes(batch=lambda *args, **params: _batched(solution)(*args, **params)),
    doc="The unknowns that solve an equation, from where its solver starts.",
)


# -- linear systems at a solution --------------------------------------------------------------------------------------


def _solved(b: Array, x: Array, *given: Array, of: ImplicitEquation, transposed: bool, batched: bool) -> Array:
    """Solve; nothing is asked of the matrix of a row that nothing depends on."""
    b = np.asarray(b)
    return of.factors(x, given).solve(b, transposed) if b.any() or not batched else np.zeros_like(b)


def _with_all_axes(b: Any, batches: Batches) -> Any:
    """Return a right side that is repeated along the axes of all vmaps."""
    made = tuple([axis for axis, (flags, _) in enumerate(reversed(batches)) if not flags[0]])
    return ops.broadcast(b, axes=made, shape=(*_sizes(batches), *b.shape[-1:])) if made else b


def _push_linear(
    op: Primitive,
    tangents: Sequence[Any],
    out: Any,
    b: Any,
    *inputs: Any,
    of: ImplicitEquation,
    transposed: bool,
    batches: Batches = (),
) -> Any:
    """With A u = b: A u̇ = ḃ − Ȧ u. What a solver takes beside the equation's operands changes no solution."""
    count = len(of.of.operand_types)
    first, others = tangents[0], tangents[1 : 1 + count]
    active = tuple([not isinstance(t, Zero) for t in others])
    if not any(active):
        return (
            Zero(out.type)
            if isinstance(first, Zero)
            else _apply(op, [first, *inputs], batches, of=of, transposed=transposed)
        )
    program = of.change_along(active, transposed)
    for flags, size in batches:
        mapped = flags[1 : 1 + count]
        own = [on for on, moves in zip(mapped, active, strict=True) if moves]
        program = batching.vmap(program, [*mapped, True, *own], size)
    (change,) = inline(program, [*inputs[:count], out, *[t for t in others if not isinstance(t, Zero)]])
    right = -change if isinstance(first, Zero) else _with_all_axes(first, batches) - change
    rows = tuple([((True, *flags[1:]), size) for flags, size in batches])
    return _apply(op, [right, *inputs], rows, of=of, transposed=transposed)


def _pull_linear(
    op: Primitive,
    cotangent: Any,
    b: Any,
    *inputs: Any,
    of: ImplicitEquation,
    transposed: bool,
    batches: Batches = (),
) -> list[Any]:
    if any(isinstance(x, Linear) for x in inputs):
        raise ShapeError(
            f"{of.name}: a linear system is linear in its right hand side only",
            fix="transpose it in b alone, or take jvp or vjp, which differentiate in the matrix too.",
        )
    rows = tuple([((True, *flags[1:]), size) for flags, size in batches])
    found = _apply(op, [cotangent, *inputs], rows, of=of, transposed=not transposed)
    repeated = tuple([axis for axis, (flags, _) in enumerate(reversed(batches)) if not flags[0]])
    return [ops.sum(found, axes=repeated) if repeated else found, *[None] * len(inputs)]


def _many_systems(
    within: bool, of: ImplicitEquation, transposed: bool, batches: Batches = ()
) -> Callable[..., Any] | None:
    """Where systems at solutions are solved again and again, the Jacobian and its factors are part of the program."""
    return _by_factors if (within or batches) and is_dense(of) else None


def _by_factors(*operands: Any, of: ImplicitEquation, transposed: bool, batches: Batches = ()) -> Any:
    return _inlined(DenseSystem(of).steps(transposed), operands, batches)


linear_solution: Primitive = Primitive(
    name="linear_solution",
    kind="custom",
    numpy=lambda *arrays, of, transposed, batches=(): _one_by_one(
        lambda *xs: _solved(*xs, of=of, transposed=transposed, batched=bool(batches)), arrays, batches
    ),
    repeated=_many_systems,
    infer=lambda b, *types, of, transposed, batches=(): _type(of, [b, *types], 1, batches),
    derivative=DerivativeRules(
        jvp=lambda *args, **params: _push_linear(linear_solution, *args, **params),
        transpose=lambda *args, **params: _pull_linear(linear_solution, *args, **params),
        linear_operands=(0,),
    ),
    axes=Axes(batch=lambda *args, **params: _batched(linear_solution)(*args, **params)),
    doc="The solution of a linear system with the Jacobian of an equation at its solution, or with its transpose.",
)


# -- with a solver that is recorded ------------------------------------------------------------------------------------


def _of_first(count: int, batches: Batches) -> Batches:
    """Return how the first operands are mapped."""
    return tuple([(flags[:count], size) for flags, size in batches])


def _steps(*operands: Any, of: RecordedSystem | DenseSystem, transposed: bool, batches: Batches = ()) -> Any:
    """Return what the solver's steps give; factors where these are left out."""
    if SOLVERS in LEFT_OUT.get():
        count = 1 + len(of.of.operand_types)
        rows = _of_first(count, batches)
        return _apply(linear_solution, operands[:count], rows, of=of.equation, transposed=transposed)
    return _inlined(of.steps(transposed), operands, batches)


def _stepped(b: Array, *inputs: Array, of: RecordedSystem | DenseSystem, transposed: bool, batched: bool) -> Array:
    try:
        found: Array = np.asarray(of.run(transposed, [b, *inputs]))
    except PrimadError:  # the steps do not arrive
        own = inputs[: len(of.of.operand_types)]
        found = _solved(b, *own, of=of.equation, transposed=transposed, batched=batched)
    return found


stepwise_solution: Primitive = Primitive(
    name="stepwise_solution",
    kind="custom",
    numpy=lambda *arrays, of, transposed, batches=(): _one_by_one(
        lambda *xs: _stepped(*xs, of=of, transposed=transposed, batched=bool(batches)), arrays, batches
    ),
    lower=_steps,
    tries=True,
    infer=lambda b, *types, of, transposed, batches=(): _type(of, [b, *types], 1, batches),
    derivative=DerivativeRules(
        jvp=lambda *args, **params: _push_linear(stepwise_solution, *args, **params),
        transpose=lambda *args, **params: _pull_linear(stepwise_solution, *args, **params),
        linear_operands=(0,),
    ),
    axes=Axes(batch=lambda *args, **params: _batched(stepwise_solution)(*args, **params)),
    doc="The solution of a linear system, or of the transposed one, by a solver whose steps are part of the program.",
)


def _push_root(tangents: Sequence[Any], out: Any, *inputs: Any, of: RecordedRoot, batches: Batches = ()) -> Any:
    """What the solver captured changes no solution."""
    count = len(of.of.operand_types)
    change, rows = _change(tangents[:count], out, *inputs[:count], of=of, batches=_of_first(count, batches))
    if change is None:
        return Zero(out.type)
    return -_apply(stepwise_solution, [change, out, *inputs[1:count]], rows, of=of.system, transposed=False)


def _steps_to_root(*operands: Any, of: RecordedRoot, batches: Batches = ()) -> Any:
    """Return what the solver's steps give; what it returns where it is called where these are left out."""
    if SOLVERS in LEFT_OUT.get():
        count = len(of.of.operand_types)
        return _apply(solution, operands[:count], _of_first(count, batches), of=of.equation)
    return _inlined(of.steps, operands, batches)


def _found_in_steps(*arrays: Array, of: RecordedRoot) -> Array:
    try:
        found: Array = np.asarray(of.run(arrays))
    except PrimadError:  # the steps do not arrive
        found = solve(of.equation, arrays[0], arrays[1 : len(of.of.operand_types)])
    return found


stepwise_root: Primitive = Primitive(
    name="stepwise_root",
    kind="custom",
    numpy=lambda *arrays, of, batches=(): _one_by_one(lambda *xs: _found_in_steps(*xs, of=of), arrays, batches),
    lower=_steps_to_root,
    tries=True,
    infer=lambda *types, of, batches=(): _type(of, types, 0, batches),
    derivative=DerivativeRules(jvp=_push_root),
    axes=Axes(batch=lambda *args, **params: _batched(stepwise_root)(*args, **params)),
    doc="The unknowns that solve an equation, by a solver whose steps are part of the program.",
)
