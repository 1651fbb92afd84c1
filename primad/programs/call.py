"""Calls: a program that is applied often is planned once, and so are its tangent and its pullback.

A call is a program op that no lowering replaces by its definition: a plan runs it as one step, through the plan of its
program, which is found by its key. Its derivatives are calls too: the program with its residuals as further results,
the program that is linear in the tangents, and the transpose of that. All are made once for each distinct program,
however often it is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, TupleType, type_of_results
from primad.ir.program import ClosedProgram
from primad.ops.record.fields import Axes, DerivativeRules, MemoryUse, Programs, Work
from primad.ops.record.primitive import Primitive, one_or_all
from primad.programs.derived_programs import active_in, batched, cost, linearized, pulled, pushed_together
from primad.runtime.executors.dispatch import prepared_call
from primad.transforms.lowering import inline


def _infer(*types: ArrayType, of: ClosedProgram) -> ArrayType | TupleType:
    expected = of.operand_types
    if list(types) != expected:
        wanted, got = (", ".join(map(str, given)) for given in (expected, types))
        raise ShapeError(
            f"call: its program takes ({wanted}), got ({got})", fix="pass operands of the types that the program takes."
        )
    return type_of_results(of.out_types)


def _run(*arrays: Any, of: ClosedProgram, memory: int | None = None) -> Any:
    return one_or_all(prepared_call(of, memory).run(arrays))


def _push(tangents: Sequence[Any], *operands: Any, residuals: bool, of: ClosedProgram) -> tuple[Any, Any]:
    """Residuals are all that the tangents need: they are found with the results, by one call."""
    if not residuals:
        found: tuple[Any, Any] = pushed_together(call, of, operands, tangents)
        return found
    active, moving = active_in(tangents)
    early, rest = linearized(of, active)
    results, count = early.on(call, operands), len(of.out_types)
    return one_or_all(results[:count]), one_or_all(rest.on(call, [*results[count:], *moving]))


call: Primitive = Primitive(
    name="call",
    kind="program",
    numpy=_run,
    infer=_infer,
    lower=lambda *operands, of: one_or_all(inline(of.hoisted, operands)),
    derivative=DerivativeRules(
        linearize=_push, transpose=lambda *args, of: pulled(call, *args, of=of), linear_operands=None
    ),
    axes=Axes(batch=lambda *args, of: batched(call, *args, of=of)),
    programs=Programs(names=("of",), build=lambda program: program, called=True),
    memory=MemoryUse(limit=True),
    work=Work(flops=lambda node: cost(dict(node.params)["of"])),
    doc="A program, called: it is planned once, however often it is called.",
)
