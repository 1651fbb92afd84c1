"""Calls: a program that is applied often is planned once, and so are its tangent and its pullback.

A call is a program op that no lowering replaces by its definition: a plan runs it as one step, through the plan of its
program, which is found by its key. Its derivatives are calls too: the program with its residuals as further results,
the program that is linear in the tangents, and the transpose of that. All are made once for each distinct program,
however often it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from primad import ops
from primad.errors import ShapeError
from primad.ir.families import LEFT_OUT
from primad.ir.node import Node, is_literal
from primad.ir.program import ClosedProgram, Cost, Program
from primad.primitive import Primitive, as_tuple, one_or_all
from primad.recording import program_of
from primad.runtime.cache import BUILT
from primad.runtime.executors import prepared, prepared_function
from primad.trace import TracedArray
from primad.transforms import batching, forward, reverse
from primad.transforms.lowering import apply_program_op, expand, inline, lower
from primad.transforms.partial import split
from primad.types import ArrayType, Linear, TupleType, Zero, type_of_results

SMALL_RESIDUAL = 1024
"""Residuals of at most so many elements are joined: copying them takes no longer than passing them one by one."""


def _infer(*types: ArrayType, of: ClosedProgram) -> ArrayType | TupleType:
    expected = [node.type for node in (*of.program.inputs, *of.program.sources)]
    if list(types) != expected:
        wanted, got = (", ".join(map(str, given)) for given in (expected, types))
        raise ShapeError(f"call: its program takes ({wanted}), got ({got})")
    return type_of_results(of.out_types)


def _run(*arrays: Any, of: ClosedProgram) -> Any:
    key = ("called", of.key)
    executable = prepared_function(key, lambda: of.hoisted) or prepared(key, lambda: of.hoisted)
    return one_or_all(executable.run(arrays))


# -- what is made of a program, once -----------------------------------------------------------------------------------


class _Made:
    """A program made from a called one, without the results that are zeros or its own inputs.

    Attributes:
        of: the program.
    """

    def __init__(self, program: Program, primal: int = 0) -> None:
        self._places: list[tuple[str, Any]] = []
        inputs = {node: i for i, node in enumerate(program.inputs)}
        results: dict[Node, int] = {}
        for i, node in enumerate(program.outputs):
            if i >= primal and (not node.type.is_float or is_literal(node, 0)):
                self._places.append(("zero", node.type))
            elif node in inputs:
                self._places.append(("operand", inputs[node]))
            else:
                self._places.append(("result", results.setdefault(node, len(results))))
        self.of = ClosedProgram(Program(program.trace, program.inputs, list(results)))

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return (self.of.program,)

    def on(self, operands: Sequence[Any]) -> list[Any]:
        """Call the program; return all results, `Zero` for those that are zero."""
        found = as_tuple(apply_program_op(call, self.of, operands)) if self.of.out_types else ()
        known: dict[str, Callable[[Any], Any]] = {
            "zero": Zero,
            "operand": operands.__getitem__,
            "result": found.__getitem__,
        }
        return [known[where](which) for where, which in self._places]


def _made(what: str, of: ClosedProgram, options: Any, make: Callable[[], Any]) -> Any:
    return BUILT.get((call, what, of.key, options, LEFT_OUT.get()), make)


def _linearized(of: ClosedProgram, active: tuple[bool, ...]) -> tuple[_Made, _Made]:
    """Return the programs (inputs) -> (outputs, residuals) and (residuals, tangents) -> tangents of the outputs."""
    pushed = expand(forward.jvp(of.hoisted, active, residuals=True))
    count, outs = len(active), len(of.out_types)
    late = [i >= count for i in range(len(pushed.inputs))]
    early, rest = _packed(*split(pushed, late, [i >= outs for i in range(len(pushed.outputs))]), outs)
    return _Made(early, len(early.outputs)), _Made(rest)


def _packed(early: Program, rest: Program, outs: int) -> tuple[Program, Program]:
    """Join the small residuals of one dtype to one array: a call then has a few results, whatever its length."""
    residuals = early.outputs[outs:]
    at_hand = {*early.inputs, *early.outputs[:outs]}
    apart = [i for i, node in enumerate(residuals) if node in at_hand or node.type.size > SMALL_RESIDUAL]
    groups: dict[Any, list[int]] = {}
    for i in sorted({*range(len(residuals))} - {*apart}):
        groups.setdefault(residuals[i].type.dtype, []).append(i)

    def first(*xs: TracedArray) -> list[TracedArray]:
        found = inline(early, xs)
        joined = []
        for members in groups.values():
            flat = [ops.reshape(x, shape=(x.size,)) for x in (found[outs + i] for i in members)]
            joined.append(ops.concatenate(*flat, axis=0) if len(flat) > 1 else flat[0])
        return [*found[:outs], *(found[outs + i] for i in apart), *joined]

    def second(*ys: TracedArray) -> list[TracedArray]:
        known = dict(zip(apart, ys, strict=False))
        for members, joined in zip(groups.values(), ys[len(apart) :], strict=False):
            start = 0
            for i in members:
                type = residuals[i].type
                flat = ops.slice_(joined, start=(start,), stop=(start + type.size,), step=(1,))
                known[i] = ops.reshape(flat, shape=type.shape)
                start += type.size
        moving = ys[len(apart) + len(groups) :]
        return inline(rest, [*(known[i] for i in range(len(residuals))), *moving])

    packed = program_of(early.in_types, first)
    kept = packed.out_types[outs:]
    return packed, program_of([*kept, *rest.in_types[len(residuals) :]], second)


def _transposed(of: ClosedProgram, linear: tuple[bool, ...], present: tuple[bool, ...]) -> _Made:
    """Return the program (other inputs, cotangents that are present) -> cotangents of the linear inputs."""
    program = of.hoisted
    outputs = [node for node, on in zip(program.outputs, present, strict=True) if on]
    return _Made(expand(reverse.transposed_program(Program(program.trace, program.inputs, outputs), linear)))


# -- rules -------------------------------------------------------------------------------------------------------------


def _push(tangents: Sequence[Any], *operands: Any, residuals: bool, of: ClosedProgram) -> tuple[Any, Any]:
    """Return the outputs again, and their tangents.

    Where cotangents may come back (`residuals`), one call gives the outputs and what the tangents need of the operands,
    and another one, linear in the tangents, does the rest. Where none do, one call does both.
    """
    active = tuple([not isinstance(tangent, Zero) for tangent in tangents])
    moving = [tangent for tangent in tangents if not isinstance(tangent, Zero)]
    count = len(of.out_types)
    if residuals:
        early, rest = _made("linearized", of, active, lambda: _linearized(of, active))
        found = early.on(operands)
        pushed = rest.on([*found[count:], *moving])
    else:
        both = _made("pushed", of, active, lambda: _Made(expand(forward.jvp(of.hoisted, active)), count))
        found = both.on([*operands, *moving])
        pushed = found[count:]
    return one_or_all(found[:count]), one_or_all(pushed)


def _pull(cotangent: Any, *operands: Any, of: ClosedProgram) -> list[Any]:
    linear = tuple([isinstance(operand, Linear) for operand in operands])
    present = tuple([not isinstance(ct, Zero) for ct in as_tuple(cotangent)])
    back = _made("transposed", of, (linear, present), lambda: _transposed(of, linear, present))
    given = [ct for ct in as_tuple(cotangent) if not isinstance(ct, Zero)]
    found = iter(back.on([*(x for x in operands if not isinstance(x, Linear)), *given]))
    return [next(found) if on else None for on in linear]


def _batch(flags: tuple[bool, ...], size: int, *operands: TracedArray, of: ClosedProgram) -> Any:
    make = partial(batching.vmap, of.hoisted, flags, size)
    return apply_program_op(call, _made("batched", of, (flags, size), lambda: ClosedProgram(make())), operands)


def _cost(node: Node) -> Cost:
    of = dict(node.params)["of"]
    found: Cost = _made("cost", of, (), lambda: lower(of.hoisted).cost())
    return found


call: Primitive = Primitive(
    "call",
    "program",
    _run,
    _infer,
    None,
    _pull,
    None,
    None,
    linear_operands=None,
    flops=_cost,
    doc="A program, called: it is planned once, however often it is called.",
    build=lambda program: program,
    programs=("of",),
    linearize=_push,
    batch=_batch,
)
