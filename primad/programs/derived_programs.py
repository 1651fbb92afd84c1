"""What is derived from the programs that ops hold: made once for each distinct program, however often it is applied.

All ops that hold a program are differentiated by one scheme (`linearize` in `primad.ops.record.fields`): the
application is replaced by one with further results, the residuals, and by what is linear in the tangents and reads
them. Reverse mode transposes the latter. Where nothing will be transposed, one application gives values and tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from primad import ops
from primad.ir.array_types import Linear, Zero
from primad.ir.key import Key
from primad.ir.law_families import LEFT_OUT
from primad.ir.node import Node, is_literal
from primad.ir.program import ClosedProgram, Cost, Program
from primad.ops.record.primitive import Primitive, as_tuple, one_or_all
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import program_of
from primad.runtime.cache import BUILT
from primad.transforms import batching, forward, reverse
from primad.transforms.lowering import apply_program_op, expand, inline, lower
from primad.transforms.partial_eval import split

SMALL_RESIDUAL = 1024
"""Residuals of at most so many elements are joined: copying them takes no longer than passing them one by one."""


class DerivedKey(NamedTuple):
    """What something that is made of a program depends on: see `derived`."""

    what: str
    of: Key
    options: Any
    left_out: frozenset[str]
    kind: str = "derived"


class Derived:
    """A program made from one that an op holds, without the results that are zeros or its own inputs.

    Attributes:
        of: the program.
    """

    def __init__(self, program: Program, label: str, primal: int = 0) -> None:
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
        self.of = ClosedProgram(Program(program.trace, program.inputs, list(results), names=program.names, label=label))

    @property
    def held(self) -> tuple[Any, ...]:
        """What takes memory."""
        return (self.of.program,)

    def on(self, op: Primitive, operands: Sequence[Any]) -> list[Any]:
        """Apply an op that holds the program; return all results, `Zero` for those that are zero."""
        return self._spread(as_tuple(apply_program_op(op, self.of, operands)) if self.of.out_types else (), operands)

    def in_place(self, operands: Sequence[Any]) -> list[Any]:
        """Replay the program; return all results, `Zero` for those that are zero."""
        return self._spread(inline(self.of.program, operands), operands)

    def _spread(self, found: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        known: dict[str, Callable[[Any], Any]] = {
            "zero": Zero,
            "operand": operands.__getitem__,
            "result": found.__getitem__,
        }
        return [known[where](which) for where, which in self._places]


def derived(what: str, of: ClosedProgram, options: Any, make: Callable[[], Any]) -> Any:
    """Return what is made of a program, which is made if it is not there.

    Args:
        what: a name for what is made.
        of: the program.
        options: what else it depends on.
        make: makes it.
    """
    return BUILT.get(DerivedKey(what, of.key, options, LEFT_OUT.get()), make)


# -- forward mode ------------------------------------------------------------------------------------------------------


def active_in(tangents: Sequence[Any]) -> tuple[tuple[bool, ...], list[Any]]:
    """Return which operands move, and the tangents of those."""
    moving = [tangent for tangent in tangents if not isinstance(tangent, Zero)]
    return tuple([not isinstance(tangent, Zero) for tangent in tangents]), moving


def pushed_together(op: Primitive, of: ClosedProgram, operands: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return an op's results and their tangents, of one application of it that gives both."""
    active, moving = active_in(tangents)
    count = len(of.out_types)
    label = f"{of.program.label} with tangents"
    both = derived("pushed", of, active, lambda: Derived(expand(forward.jvp(of.hoisted, active)), label, count))
    found = both.on(op, [*operands, *moving])
    return one_or_all(found[:count]), one_or_all(found[count:])


def linearized(of: ClosedProgram, active: tuple[bool, ...]) -> tuple[Derived, Derived]:
    """Return the programs (inputs) -> (outputs, residuals) and (residuals, tangents) -> tangents of the outputs."""

    def make() -> tuple[Derived, Derived]:
        pushed = _pushed_apart(of, active)
        count, outs = len(active), len(of.out_types)
        late = [i >= count for i in range(len(pushed.inputs))]
        early, rest = _packed(*split(pushed, late, [i >= outs for i in range(len(pushed.outputs))]), outs)
        name = of.program.label
        return Derived(early, f"{name} with residuals", len(early.outputs)), Derived(rest, f"tangents of {name}")

    found: tuple[Derived, Derived] = derived("linearized", of, active, make)
    return found


def linear_part(of: ClosedProgram, active: tuple[bool, ...]) -> Derived:
    """Return the program (inputs, tangents) -> tangents of the outputs: the one whose residuals are the inputs."""

    def make() -> Derived:
        pushed = _pushed_apart(of, active)
        slope = Program(pushed.trace, pushed.inputs, pushed.outputs[len(of.out_types) :])
        return Derived(slope, f"tangents of {of.program.label}")

    found: Derived = derived("linear part", of, active, make)
    return found


def _pushed_apart(of: ClosedProgram, active: tuple[bool, ...]) -> Program:
    return expand(forward.jvp(of.hoisted, active, residuals=True))


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


# -- the others --------------------------------------------------------------------------------------------------------


def pulled(op: Primitive, cotangent: Any, *operands: Any, of: ClosedProgram) -> list[Any]:
    """Pull cotangents back through an op that is linear in some operands: it then holds the transposed program."""
    linear = tuple([isinstance(operand, Linear) for operand in operands])
    given = [ct for ct in as_tuple(cotangent) if not isinstance(ct, Zero)]
    back = _transposed(of, linear, tuple([not isinstance(ct, Zero) for ct in as_tuple(cotangent)]))
    found = iter(back.on(op, [*(x for x in operands if not isinstance(x, Linear)), *given]))
    return [next(found) if on else None for on in linear]


def _transposed(of: ClosedProgram, linear: tuple[bool, ...], present: tuple[bool, ...]) -> Derived:
    """Return the program (other inputs, cotangents that are present) -> cotangents of the linear inputs."""

    def make() -> Derived:
        program = of.hoisted
        outputs = [node for node, on in zip(program.outputs, present, strict=True) if on]
        chosen = Program(program.trace, program.inputs, outputs)
        return Derived(expand(reverse.transposed_program(chosen, linear)), f"transpose of {program.label}")

    found: Derived = derived("transposed", of, (linear, present), make)
    return found


def batched(op: Primitive, flags: tuple[bool, ...], size: int, *operands: TracedArray, of: ClosedProgram) -> Any:
    """Apply an op to a stack of operands: it then holds the program of a stack.

    Results that do not depend on the stack have no leading axis.
    """

    def make() -> ClosedProgram:
        stack = batching.vmap(of.hoisted, flags, size, keep_unbatched=True)
        stack.label = f"{of.program.label} on {size} rows"
        return ClosedProgram(stack)

    return apply_program_op(op, derived("batched", of, (flags, size), make), operands)


def cost(of: ClosedProgram) -> Cost:
    """Count one run of a program."""
    found: Cost = derived("cost", of, (), lambda: lower(of.hoisted).cost())
    return found
