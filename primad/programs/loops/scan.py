"""Loops as nodes: a program that is applied step by step to a carried state and to rows of stacked arrays.

`scan` is a program op: no lowering unrolls it, and its body is planned once. What is derived from it are scans again,
of programs that are made once (`primad.programs.loops.body_transforms`). In forward mode one scan carries values and
tangents. Where cotangents may come back it becomes two: the values, with what the tangents need of each step as further
stacked results, and what is linear in the tangents. Reverse mode transposes the second: it takes the steps the other
way.

Operands of a scan: how many steps to take where that is not always all (`counted`), the carried values, the stacked
arrays, and what is the same in all steps. Results: the carried values after the last step, and the stacked results,
whose rows are zeros where no step was taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, Linear, TupleType, Zero, type_of_results
from primad.ir.node import Node, Trace
from primad.ir.program import ClosedProgram, Cost, Program
from primad.ir.replay import newest
from primad.numpy.shapes.shaping import stack
from primad.ops.arrays.broadcasting import widen
from primad.ops.record.fields import Axes, DerivativeRules, LoopForm, LoopOps, MemoryUse, Programs, Work
from primad.ops.record.primitive import Primitive, as_tuple, one_or_all
from primad.programs.derived_programs import cost, derived
from primad.programs.loops import body_transforms
from primad.programs.loops.body_batching import Batched, chosen, guarded, swapped
from primad.programs.loops.body_split import linearized
from primad.programs.loops.body_transforms import Body, Made
from primad.programs.loops.body_transpose import LinearLoop, Transposed
from primad.recording.traced_array import TracedArray, lift
from primad.recording.tracing import program_of
from primad.system.quantities import several
from primad.transforms.forward import zero_node
from primad.transforms.lowering import apply_program_op, inline


class Form(NamedTuple):
    """How a body is applied: the params of a scan beside its program.

    Attributes:
        carry: how many values are carried from step to step.
        stacked: how many operands have a row for each step.
        length: how many rows they have.
        reverse: whether the last row comes first.
        counted: whether the first operand says how many steps are taken, which are those of the first rows.
    """

    carry: int
    stacked: int
    length: int
    reverse: bool
    counted: bool

    def parts(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Cut what belongs to the operands into: the count, carried values, stacked arrays, and the rest."""
        ends = [0, int(self.counted)]
        ends += [ends[1] + self.carry, ends[1] + self.carry + self.stacked]
        first, second, third = (list(values[a:b]) for a, b in itertools.pairwise(ends))
        return first, second, third, list(values[ends[-1] :])


def body_of(of: ClosedProgram, form: Form) -> Body:
    """Return a scan's program as a body."""
    return Body(of.hoisted, form.carry, form.stacked)


def apply_scan(made: Made, carry: Any, rows: Any, fixed: Any, count: Sequence[Any], form: Form) -> tuple[Any, Any]:
    """Apply a body that was made; return the carried values and the stacked results, `Zero` where they are zeros.

    Args:
        made: the body.
        carry: the carried values before the first step; those that are `Zero` are zeros.
        rows: the stacked arrays.
        fixed: what is the same in all steps.
        count: how many steps are taken, if that is counted.
        form: of the scan that it is derived from: length, direction, and whether it is counted.
    """

    def scanned(of: ClosedProgram, carry: Sequence[Any], rows: Sequence[Any], fixed: Sequence[Any]) -> Any:
        nodes = [x.node for x in (*count, *carry, *rows, *fixed) if not isinstance(x, Zero)]
        start = with_zeros(carry, newest(nodes, of.program.trace))
        own = form._replace(carry=len(carry), stacked=len(rows))
        return as_tuple(apply_program_op(scan, of, [*count, *start, *rows, *fixed], **own._asdict()))

    return made.on(scanned, carry, rows, fixed, form.length)


def with_zeros(values: Sequence[Any], trace: Trace) -> list[TracedArray]:
    """Return values, those that are `Zero` as literals."""
    return [TracedArray(zero_node(trace, x.type)) if isinstance(x, Zero) else x for x in values]


# -- what it is --------------------------------------------------------------------------------------------------------


def _infer(*types: ArrayType, of: ClosedProgram, **params: Any) -> ArrayType | TupleType:
    form = Form(**params)
    expected = body_of(of, form).operand_types(form.length)
    if form.counted:
        expected = [ArrayType((), np.int64), *expected]
    if list(types) != expected:
        wanted, got = (", ".join(map(str, given)) for given in (expected, types))
        raise ShapeError(
            f"scan: its program takes ({wanted}), got ({got})",
            fix="pass what is carried, the constants, and arrays whose slices the program takes.",
        )
    if of.out_types[: form.carry] != of.program.in_types[: form.carry]:
        raise ShapeError(
            f"scan: what is carried changes its types, {of.program.in_types} to {of.out_types}",
            fix="let a step return what it carries with the type it came with (cast, or begin with that type).",
        )
    stacked = [ArrayType((form.length, *type.shape), type.dtype) for type in of.out_types[form.carry :]]
    return type_of_results([*of.out_types[: form.carry], *stacked])


def _run(
    *arrays: Any,
    of: ClosedProgram,
    carry: int,
    stacked: int,
    length: int,
    reverse: bool,
    counted: bool,
    streams: Sequence[int] = (),
    budget: int = 0,
    memory: int | None = None,
    wanted: tuple[bool, ...] = (),
) -> Any:
    from primad.runtime.loops.loop_runs import run_scan
    from primad.runtime.loops.needed_parts import needed_part

    steps = min(max(int(arrays[0]), 0), length) if counted else length
    given = arrays[int(counted) :]
    part = needed_part(of, carry, stacked, wanted)
    if part is None:
        return one_or_all(run_scan(of, given, carry, stacked, length, steps, reverse, streams, budget, memory))
    own = [part.results.index(carry + i) - part.carry for i in streams if carry + i in part.results]
    chosen = [*[given[i] for i in part.operands], *part.numbers]
    made = run_scan(part.of, chosen, part.carry, part.stacked, length, steps, reverse, own, budget, memory)
    found = dict(zip(part.results, made, strict=True))
    return tuple([found.get(i) for i in range(len(wanted))])


def _unrolled(program: Program, **params: Any) -> Program:
    """Return the program of all steps one after the other; of a counted scan, each in a choice of its own."""
    form = Form(**params)
    types = Body(program, form.carry, form.stacked).operand_types(form.length)
    types = [ArrayType((), np.int64)] * form.counted + types

    def body(*operands: TracedArray) -> list[Any]:
        count, carried, rows, fixed = form.parts(operands)
        found: dict[int, Sequence[Any]] = {}

        trace = operands[0].node.trace
        for i in reversed(range(form.length)) if form.reverse else range(form.length):
            out: Sequence[Any] = inline(program, [*carried, *(x[i] for x in rows), *fixed])
            if count:
                old = [*carried, *(TracedArray(zero_node(trace, y.type)) for y in out[form.carry :])]
                taken = ops.less(float(i), ops.cast(count[0], dtype="float64"))
                out = [chosen(taken, new, other) for new, other in zip(out, old, strict=True)]
            carried, found[i] = list(out[: form.carry]), out[form.carry :]
        stacks = rows_of([found[i] for i in range(form.length)], program.out_types[form.carry :], trace)
        return [*carried, *stacks]

    return program_of(types, body)


def rows_of(found: Sequence[Sequence[Any]], types: Sequence[ArrayType], trace: Trace) -> list[Any]:
    """Stack the results of all steps.

    Args:
        found: the results of each step.
        types: their types.
        trace: where arrays without rows go.
    """
    none = [TracedArray(zero_node(trace, body_transforms.stacked_type(type, 0))) for type in types]
    return [stack(column) for column in zip(*found, strict=True)] if found else none


# -- rules -------------------------------------------------------------------------------------------------------------


def _push(tangents: Sequence[Any], *operands: Any, residuals: bool, of: ClosedProgram, **params: Any) -> Any:
    """Return the results again, and their tangents (see the head of the module)."""
    form = Form(**params)
    count, carried, rows, fixed = form.parts(operands)
    body = body_of(of, form)
    given = tangents[int(form.counted) :]
    active = tuple([not isinstance(tangent, Zero) for tangent in given])
    flags = derived("moving", of, (active, form), lambda: body_transforms.moving(body, active))
    t_carried, t_rows, t_fixed = body_transforms.by_part(
        body, flags, [x for x, on in zip(given, flags, strict=True) if on]
    )
    if residuals:
        apart = derived("linearized", of, (flags, form), lambda: linearized(body, flags, form.counted))
        fixed = apart.fixed(fixed, operands[0])
        finals, stacks = apply_scan(apart.early, carried, rows, fixed, count, form)
        kept = apart.residuals(stacks, rows, fixed)
        moved, pushed = apply_scan(apart.made, t_carried, [*kept.rows, *t_rows], [*kept.fixed, *t_fixed], count, form)
    else:
        both = derived("pushed", of, (flags, form), lambda: body_transforms.pushed(body, flags, form.counted))
        finals, stacks = apply_scan(both, [*carried, *t_carried], [*rows, *t_rows], [*fixed, *t_fixed], count, form)
        finals, moved = finals[: form.carry], finals[form.carry :]
        stacks, pushed = stacks[: body.results], stacks[body.results :]
    out = with_zeros([*finals, *stacks[: body.results]], newest([x.node for x in operands], of.program.trace))
    moves, back = iter(moved), iter(pushed)
    along = [next(moves) if on else Zero(x.type) for x, on in zip(finals, flags, strict=False)]
    along += [next(back) if y.type.is_float else Zero(y.type) for y in out[form.carry :]]
    return one_or_all(out), one_or_all(along)


def _pull(cotangent: Any, *operands: Any, of: ClosedProgram, **params: Any) -> list[Any]:
    """Return the cotangents of the operands in which the scan is linear: from a scan the other way."""
    form = Form(**params)
    count, given = operands[: int(form.counted)], operands[int(form.counted) :]
    linear = tuple([isinstance(operand, Linear) for operand in given])
    loop = derived("linear", of, (linear, form), lambda: LinearLoop(body_of(of, form), linear, form.counted))
    carried, rows, fixed = loop.others(given)
    if loop.apart is not None:
        fixed = loop.apart.fixed(fixed, next(ct for ct in as_tuple(cotangent) if not isinstance(ct, Zero)))
        _, stacks = apply_scan(loop.apart.early, carried, rows, fixed, count, form)
        rows, fixed = loop.apart.residuals(stacks, rows, fixed)
    cotangents = loop.cotangents(as_tuple(cotangent))
    present = tuple([not isinstance(ct, Zero) for ct in cotangents])
    back = derived(
        "transposed", of, (linear, present, form), lambda: Transposed(loop, present, form.counted, form.length)
    )
    start, stacks = back.starts(cotangents)
    other, rows = form._replace(reverse=not form.reverse), [*rows, *stacks]
    finals, stacks = apply_scan(back.made, start, rows, fixed, count, other)
    return [*(None for _ in count), *loop.of_operands(back.found(finals, stacks, rows, fixed))]


def _batch(flags: tuple[bool, ...], size: int, *operands: TracedArray, of: ClosedProgram, **params: Any) -> Any:
    """Return the scan of the batched program; what is carried has the batch axis if it has it after any step."""
    form = Form(**params)
    count, carried, rows, fixed = form.parts(operands)
    body, wide = body_of(of, form), flags[int(form.counted) :]
    trace = newest([x.node for x in operands], of.program.trace)
    if form.counted and flags[0]:  # each element takes its own number of steps; what is done stays as it is
        body = derived("guarded", of, form, lambda: guarded(body_of(of, form)))
        numbers = ops.cast(count[0], dtype="float64")
        some = ops.concatenate(numbers, TracedArray(zero_node(trace, ArrayType((1,), np.float64))), axis=0)
        count = [ops.truncate(ops.reduce_max(some, axes=(0,)), dtype="int64")]  # 0 for a stack without elements
        rows = [*rows, TracedArray(lift(np.arange(form.length, dtype=float), trace))]
        fixed = [*fixed, numbers]
        wide = (*wide[: form.carry + form.stacked], False, *wide[form.carry + form.stacked :], True)
    make = (wide, size, form)
    mapped = derived("batched", of, make, lambda: Batched(body, wide, size, form.counted))
    has, led, _ = body.parts(wide)
    on = mapped.flags[: form.carry]
    carried = [widen(x, size) if a and not b else x for x, a, b in zip(carried, on, has, strict=True)]
    rows = [swapped(x) if a else x for x, a in zip(rows, led, strict=True)]
    finals, stacks = apply_scan(mapped.made, carried, rows, fixed, count, form)
    stacks = [swapped(x) if a else x for x, a in zip(with_zeros(stacks, trace), mapped.results, strict=True)]
    return one_or_all([*finals, *stacks])


def _cost(node: Node) -> Cost:
    params = dict(node.params)
    of, length = params["of"], 1 if params["counted"] else params["length"]  # how many are taken is not known
    one = cost(of)
    return Cost(one.flops * length, one.matmul_flops * length, one.bytes * length, one.nodes)


def _loop(node: Node) -> LoopForm:
    params = dict(node.params)
    form = Form(**{name: params[name] for name in Form._fields})
    return LoopForm(params["of"], form.carry, form.stacked, form.length, form.reverse, form.counted, False)


def _how(node: Node) -> str:
    from primad.runtime.loops.loop_executables import steps_of

    form = _loop(node)
    loop = steps_of(form.of, form.carry, form.stacked, form.reverse, False)
    return f"a loop of {several(form.length, 'step')}: {loop.summary}"


scan: Primitive = Primitive(
    name="scan",
    kind="program",
    numpy=_run,
    infer=_infer,
    derivative=DerivativeRules(linearize=_push, transpose=_pull, linear_operands=None),
    axes=Axes(batch=_batch),
    programs=Programs(names=("of",), build=_unrolled, called=True, loop=_loop, runs=_how),
    memory=MemoryUse(limit=True, wanted=True),
    work=Work(flops=_cost),
    doc="A program that is applied step by step to what it carries and to the rows of arrays.",
)

LoopOps.scan = scan
