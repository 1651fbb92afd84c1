"""Loops of unknown length as nodes: steps are taken while a condition holds.

The program of a step gives the carried values after it and, with them, whether there is a further step. In forward mode
a loop carries values and tangents. Where cotangents may come back, the loop keeps what the tangents need of each step
as rows of arrays that could hold the most steps that may be taken (memory that no step writes to is never touched);
what is linear in the tangents is then a scan over as many rows as there were steps, and reverse mode its transpose.

Operands: whether there is a first step, the carried values, what is the same in all steps. Results: how many steps were
taken, the carried values after the last one, and the stacked results, with rows of zeros after those of the last step.

A stack of loops is one loop, which goes on while one of them does. Its body leaves alone what belongs to a loop that
has ended, so that an executor may end each when it is done: such a loop is `separate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError, StepsError
from primad.ir.array_types import ArrayType, TupleType, Zero
from primad.ir.node import Node
from primad.ir.program import ClosedProgram, Cost, Program
from primad.ir.replay import newest
from primad.ops.arrays.broadcasting import widen
from primad.ops.record.fields import Axes, DerivativeRules, DomainOfDefinition, LoopForm, MemoryUse, Programs, Work
from primad.ops.record.primitive import Primitive
from primad.programs.derived_programs import cost, derived
from primad.programs.loops import body_transforms
from primad.programs.loops.body_batching import Batched, chosen, swapped
from primad.programs.loops.body_split import linearized
from primad.programs.loops.body_transforms import Body, Made
from primad.programs.loops.scan import Form, apply_scan, rows_of, with_zeros
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.runtime.failure import ENDLESS, MORE_STEPS
from primad.system.quantities import several
from primad.transforms import batching
from primad.transforms.forward import zero_node
from primad.transforms.lowering import apply_program_op, inline

TRUTH, COUNT = ArrayType((), np.bool_), ArrayType((), np.int64)


def apply_while(
    made: Made, go: Any, carried: Any, fixed: Any, most: int, separate: bool = False
) -> tuple[Any, list[Any], list[Any]]:
    """Apply a body that was made; return the number of steps, the carried values and the results that are stacked.

    Args:
        made: the body, whose first result says whether there is a further step.
        go: whether there is a first one.
        carried: the carried values before it; those that are `Zero` are zeros.
        fixed: what is the same in all steps.
        most: how many steps there may be.
        separate: whether it is a stack of loops, of which the first carried value says which go on.
    """
    count: list[Any] = []
    stack: dict[str, Any] = {"separate": True} if separate else {}

    def looped(of: ClosedProgram, carry: Sequence[Any], rows: Sequence[Any], fixed: Sequence[Any]) -> list[Any]:
        nodes = [x.node for x in (go, *carry, *fixed) if not isinstance(x, Zero)]
        start = with_zeros(carry, newest(nodes, of.program.trace))
        found = apply_program_op(while_loop, of, [go, *start, *fixed], carry=len(carry), most=most, **stack)
        count.append(found[0])
        return [*found[1 : 1 + len(carry)], go, *found[1 + len(carry) :]]

    finals, stacks = made.on(looped, carried, (), fixed, most)
    return count[0], finals, stacks[1:]


# -- what it is --------------------------------------------------------------------------------------------------------


def _infer(*types: ArrayType, of: ClosedProgram, carry: int, most: int, separate: bool = False) -> TupleType:
    expected = [TRUTH, *of.operand_types]
    if list(types) != expected:
        wanted, got = (", ".join(map(str, given)) for given in (expected, types))
        raise ShapeError(
            f"while_loop: its program takes ({wanted}), got ({got})",
            fix="pass operands of the types that the program takes.",
        )
    if of.out_types[: carry + 1] != [*of.program.in_types[:carry], TRUTH]:
        raise ShapeError(
            f"while_loop: a step takes {of.program.in_types[:carry]} and gives {of.out_types}",
            fix="let a step return what it carries with the type it came with (cast, or begin with that type).",
        )
    if separate and not (of.out_types[0].ndim == 1 and of.out_types[0].dtype == np.bool_):
        raise ShapeError(
            f"while_loop: which of separate loops go on is the first carried value, got {of.out_types}",
            fix="carry booleans first, one for each loop.",
        )
    stacks = [body_transforms.stacked_type(type, most) for type in of.out_types[carry + 1 :]]
    return TupleType((COUNT, *of.out_types[:carry], *stacks))


def _run(
    *arrays: Any,
    of: ClosedProgram,
    carry: int,
    most: int,
    separate: bool = False,
    streams: Sequence[int] = (),
    budget: int = 0,
    memory: int | None = None,
    wanted: Sequence[bool] | None = None,
) -> tuple[Any, ...]:
    from primad.runtime.loops.lane_loops import in_lanes
    from primad.runtime.loops.loop_runs import run_lanes, run_while

    lanes = in_lanes(of, carry, None if wanted is None else wanted[1:]) if separate else None
    if lanes is not None:
        return tuple(run_lanes(lanes, arrays, carry, most))
    return tuple(run_while(of, arrays, carry, most, streams, budget, memory))


def _unrolled(program: Program, *, carry: int, most: int, separate: bool = False) -> Program:
    """Return the program of the most steps, each in a choice of its own."""

    def body(go: TracedArray, *operands: TracedArray) -> list[Any]:
        carried, fixed = list(operands[:carry]), operands[carry:]
        found: list[Sequence[Any]] = []
        taken: Any = TracedArray(zero_node(go.node.trace, ArrayType((), np.float64)))
        for _ in range(most):
            out = inline(program, [*carried, *fixed])
            carried = [chosen(go, new, old) for new, old in zip(out, carried, strict=False)]
            found.append([chosen(go, y, TracedArray(zero_node(go.node.trace, y.type))) for y in out[carry + 1 :]])
            taken = taken + ops.cast(go, dtype="float64")
            go = ops.logical_and(go, out[carry])
        stacks = rows_of(found, program.out_types[carry + 1 :], go.node.trace)
        return [ops.truncate(taken, dtype="int64"), *carried, *stacks]

    return program_of([TRUTH, *program.in_types], body)


# -- rules -------------------------------------------------------------------------------------------------------------


def _push(tangents: Sequence[Any], go: Any, *operands: Any, residuals: bool, of: ClosedProgram, **params: Any) -> Any:
    """Return the results again, and their tangents (see the head of the module)."""
    carry, most = params["carry"], params["most"]
    body = Body(of.hoisted, carry, 0)
    carried, fixed, given = list(operands[:carry]), list(operands[carry:]), tangents[1:]
    active = tuple([not isinstance(tangent, Zero) for tangent in given])
    flags = derived("moving in a while", of, (active, carry), lambda: body_transforms.moving(body, active))
    t_carried, _, t_fixed = body_transforms.by_part(body, flags, [x for x, on in zip(given, flags, strict=True) if on])
    if residuals:
        apart = derived("linearized while", of, (flags, carry), lambda: linearized(body, flags, True))
        fixed = apart.fixed(fixed, operands[0])
        count, finals, stacks = apply_while(apart.early, go, carried, fixed, most)
        kept = apart.residuals([go, *stacks], (), fixed)
        form = Form(len(t_carried), len(kept.rows), most, False, True)
        moved, pushed = apply_scan(apart.made, t_carried, kept.rows, [*kept.fixed, *t_fixed], [count], form)
    else:
        both = derived("pushed while", of, (flags, carry), lambda: body_transforms.pushed(body, flags, True))
        values = [*carried, *t_carried], [*fixed, *t_fixed]
        count, finals, stacks = apply_while(both, go, *values, most, params.get("separate", False))
        finals, moved = finals[:carry], finals[carry:]
        stacks, pushed = stacks[: body.results - 1], stacks[body.results - 1 :]
    trace = newest([x.node for x in (go, *operands)], of.program.trace)
    out = [count, *with_zeros([*finals, *stacks[: body.results - 1]], trace)]
    moves, back = iter(moved), iter(pushed)
    along = [Zero(COUNT), *(next(moves) if on else Zero(x.type) for x, on in zip(finals, flags, strict=False))]
    along += [next(back) if y.type.is_float else Zero(y.type) for y in out[1 + carry :]]
    return tuple(out), tuple(along)


def _batch(flags: tuple[bool, ...], size: int, go: Any, *operands: Any, of: ClosedProgram, **params: Any) -> Any:
    """Return the loop of the batched program, which ends when all elements are done; what is done stays as it is."""
    carry, most = params["carry"], params["most"]
    body = Body(of.hoisted, carry, 0)
    carried, fixed = list(operands[:carry]), list(operands[carry:])
    mapped = derived("batched while", of, (flags, size, carry), lambda: Batched(body, flags[1:], size, True))
    trace = newest([x.node for x in (go, *operands)], of.program.trace)
    if not flags[0] and not mapped.results[0]:
        on = mapped.flags[:carry]
        start = [widen(x, size) if a and not b else x for x, a, b in zip(carried, on, flags[1:], strict=False)]
        count, finals, stacks = apply_while(mapped.made, go, start, fixed, most)
        rows = zip(with_zeros(stacks, trace), mapped.results[1:], strict=True)
        return (count, *finals, *(swapped(x) if a else x for x, a in rows))
    wide = [x if on else widen(x, size) for x, on in zip((go, *carried), flags, strict=False)]
    made = derived("batched guarded while", of, (flags, size, carry), lambda: _guarded(body, flags[1 + carry :], size))
    taken = TracedArray(zero_node(trace, ArrayType((size,), np.float64)))
    _, finals, stacks = apply_while(made, _any(wide[0]), [*wide, taken], [*fixed, *wide[1:]], most, True)
    count = ops.truncate(finals[-1], dtype="int64")
    return (count, *finals[1:-1], *map(swapped, with_zeros(stacks, trace)))


def _any(go: Any) -> Any:
    return ops.less(0.5, ops.sum(ops.cast(go, dtype="float64"), axes=(0,)))


def _guarded(body: Body, wide: Sequence[bool], size: int) -> Made:
    """Return the body of a stack of loops: (their conditions, carried values, numbers of steps; fixed, starts).

    A loop that has ended computes its first step again: its own last values may be where the step is not defined.
    """
    carry, fixed = body.carry, len(wide)
    types = body.program.in_types

    def one(go: TracedArray, *operands: TracedArray) -> list[Any]:
        carried, taken, rest = operands[:carry], operands[carry], operands[carry + 1 :]
        safe = [chosen(go, x, start) for x, start in zip(carried, rest[fixed:], strict=True)]
        out = inline(body.program, [*safe, *rest[:fixed]])
        after = [chosen(go, new, old) for new, old in zip(out, carried, strict=False)]
        zeros = [TracedArray(zero_node(go.node.trace, y.type)) for y in out[carry + 1 :]]
        results = [chosen(go, y, zero) for y, zero in zip(out[carry + 1 :], zeros, strict=True)]
        return [ops.logical_and(go, out[carry]), *after, taken + ops.cast(go, dtype="float64"), *results]

    number = ArrayType((), np.float64)
    single = program_of([TRUTH, *types[:carry], number, *types[carry:], *types[:carry]], one)
    flags = [True] * (carry + 2) + list(wide) + [True] * carry
    stack = batching.vmap(single, flags, size)

    def step(*operands: TracedArray) -> list[Any]:
        out = inline(stack, operands)
        return [*out[: carry + 2], _any(out[0]), *out[carry + 2 :]]

    return Made(Body(program_of(stack.in_types, step), carry + 2, 0), True)


def _cost(node: Node) -> Cost:
    """Count one step: how many there are is not known."""
    return cost(dict(node.params)["of"])


def _loop(node: Node) -> LoopForm:
    params = dict(node.params)
    return LoopForm(params["of"], params["carry"], 0, params["most"], False, True, True, params.get("separate", False))


def _how(node: Node) -> str:
    from primad.runtime.loops.lane_loops import in_lanes
    from primad.runtime.loops.loop_executables import steps_of

    form = _loop(node)
    lanes = in_lanes(form.of, form.carry) if form.separate else None
    summary = steps_of(form.of, form.carry, 0, False, True).summary if lanes is None else lanes.summary
    return f"a loop of at most {several(form.length, 'step')}: {summary}"


while_loop: Primitive = Primitive(
    name="while_loop",
    kind="program",
    numpy=_run,
    infer=_infer,
    derivative=DerivativeRules(linearize=_push),
    axes=Axes(batch=_batch),
    programs=Programs(names=("of",), build=_unrolled, called=True, loop=_loop, runs=_how),
    memory=MemoryUse(limit=True, wanted=True),
    work=Work(flops=_cost),
    doc="A program that is applied to what it carries while a condition holds.",
    domain=DomainOfDefinition(
        StepsError, 0, "go", lambda *_, **__: None, lambda value, *_, **__: ENDLESS.format(value), MORE_STEPS
    ),
)
