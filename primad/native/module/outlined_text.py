"""The text of a program of any length: as a whole, or as parts that a loop calls by a list."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from primad.ir.node import Leaf, Node
from primad.ir.program import ClosedProgram, Program
from primad.native.emit.emit_context import FAILURE_BYTES
from primad.native.emit.op_table import failing_in, reason, runs_apart, short_length, stays_in_registers
from primad.native.emit.pointwise import is_function
from primad.native.llvm.builder import Builder
from primad.native.llvm.compile_limits import BUDGET
from primad.native.llvm.persistent_cache import kept
from primad.native.llvm.scratch_memory import aligned
from primad.native.loops.body_programs import NativeBody, bodies_in, form_of, is_loop, lines_within, step_program
from primad.native.module.program_text import SHARED, ProgramText, ProgramWriter, with_names
from primad.native.schedule.layout import layout_of
from primad.native.schedule.outlining import ARGUMENT, BLOCK, NUMBERS, PartedProgram
from primad.native.schedule.storage import VIEWS
from primad.native.unrolled.straight_line import straight_function
from primad.system.process import MOST_KEPT

POINTWISE_SECONDS, FUNCTION_SECONDS, LOOP_SECONDS = 0.15e-3, 1e-3, 0.5e-3
"""Seconds that compiling takes for a pointwise op, which is an instruction of a loop, a function, and any other op.
Estimated; what is compiled in parts depends on it, and so the last bits of results."""
SCRATCH, OWN_NUMBERS = 0, 1
"""Numbers of what the addresses of a call are counted from: the scratch memory, the numbers, then the arguments. Given
by the order in the table of addresses."""


def text_of(program: Program, brief: bool = False) -> ProgramText | None:
    """Write a program, in parts where it is long or repeats itself; None where an op has no loop, or it is too long.

    Args:
        program: what to compute.
        brief: whether a short text is worth more than time.
    """
    if any(map(reason, program.nodes)):
        return None

    def written() -> list[Any] | None:
        text = _written(program, brief)
        return None if text is None else text.plain(program)

    more = ["no laws within"] * (not all(of.lawful for of in bodies_in(program))) + ["brief"] * brief

    def read(plain: list[Any] | None) -> ProgramText | None:
        return None if plain is None else ProgramText.of(plain, lambda: program)

    return kept("text", program, more, written, read)


def _written(program: Program, brief: bool = False) -> ProgramText | None:
    if stays_in_registers(program):
        functions, declared = straight_function(program)
        failing = failing_in(program)
        return ProgramText(functions, declared, FAILURE_BYTES * len(failing), failing, program.lines)
    whole = _compile_seconds(program)
    if whole > BUDGET.worth_cutting:
        parted = PartedProgram(program)
        seconds = _seconds_of_parts(parted)
        if seconds > BUDGET.most:
            return None
        if whole > BUDGET.always_cut or seconds < BUDGET.share * whole:
            return text_of_calls(parted, brief)
    bodies = bodies_of(program)
    layout = None if bodies is None else layout_of(program, bodies=bodies, brief=brief)
    return None if layout is None else ProgramWriter(layout).write()


def bodies_of(program: Program) -> dict[ClosedProgram, NativeBody] | None:
    """Write the bodies of a program's loops and calls; None if one cannot be written.

    That of a loop stands in its place where it is short, that of a call only where its arrays are small too: nothing is
    carried that registers could hold.
    """
    found: dict[ClosedProgram, NativeBody] = {}
    forms = [form_of(node) for node in program.nodes if is_loop(node)]
    looped, stacks = {form.of for form in forms}, {form.of for form in forms if runs_apart(form)}
    for i, of in enumerate(bodies_in(program)):
        body = step_program(of)
        short = short_length(body) is not None if of in looped else stays_in_registers(body)
        if of in stacks or short:
            found[of] = NativeBody(body, apart=of in stacks)
            continue
        text = text_of(body, of.is_edge)
        if text is None:
            return None
        found[of] = NativeBody(body, f"@KERNEL.body{i}", text)
    return found


def too_long(program: Program) -> float:
    """Return the seconds that a program would take to compile, if that is more than it may; else 0."""
    if _compile_seconds(program) <= BUDGET.most:
        return 0.0
    seconds = _seconds_of_parts(PartedProgram(program))
    return seconds if seconds > BUDGET.most else 0.0


def _seconds_of_parts(parted: PartedProgram) -> float:
    return sum(_compile_seconds(part.program) for part in parted.parts)


def _compile_seconds(program: Program) -> float:
    """Predict how long a program takes to compile as one part."""
    nodes = [node for node in program.nodes if not isinstance(node.op, Leaf) and node.op not in VIEWS]
    seconds = sum(
        FUNCTION_SECONDS if is_function(node) else POINTWISE_SECONDS if node.op.axes.pointwise else LOOP_SECONDS
        for node in nodes
    )
    return seconds + sum(map(_compile_seconds_of_body, bodies_in(program)))


@lru_cache(maxsize=MOST_KEPT)
def _compile_seconds_of_body(of: ClosedProgram) -> float:
    return _compile_seconds(step_program(of))


def text_of_calls(parted: PartedProgram, brief: bool = False) -> ProgramText | None:
    """Write a program in parts; None if an op of it has no loop.

    Args:
        parted: the program.
        brief: whether a short text is worth more than time.
    """
    declared: dict[str, str] = {}
    functions: list[str] = []
    # For each part, the positions of the nodes that can; and nodes in bodies of loops, which all its calls share.
    can_fail: list[list[int | Node]] = []
    scratch = 0
    shared: dict[str, str] = {}
    for i, part in enumerate(parted.parts):
        bodies = bodies_of(part.program)
        layout = None if bodies is None else layout_of(part.program, bodies=bodies, brief=brief)
        if layout is None:
            return None
        written = ProgramWriter(layout, addresses=part.addresses, shared=shared).write()
        functions.append(written.functions.replace("@KERNEL", f"@KERNEL.part{i}"))
        declared.update(written.declared)
        scratch = max(scratch, written.scratch)
        position = {node: k for k, node in enumerate(part.nodes)}
        can_fail.append([position.get(node, node) for node in written.failing])
    start = aligned(max(parted.scratch, FAILURE_BYTES))
    failing = [call.nodes[k] if isinstance(k, int) else k for call in parted.calls for k in can_fail[call.part]]
    before = list(accumulate([len(can_fail[call.part]) for call in parted.calls], initial=0))
    data = [*_definitions(parted, before), *functions, *with_names(shared), _loop(parted, start)]
    text = "\n".join(data).replace(SHARED, "@KERNEL.shared")
    return ProgramText(text, declared, start + scratch, tuple(failing), lines_within(parted.program))


def _definitions(parted: PartedProgram, before: Sequence[int]) -> list[str]:
    """Return the definitions of the list of calls, of the parts' addresses and of the numbers."""
    entries: list[int] = []
    for call, failing in zip(parted.calls, before, strict=False):
        entries += [call.part, len(call.addresses), failing]
        for kind, which in call.addresses:
            if kind == ARGUMENT:
                entries += [OWN_NUMBERS + 1 + which, 0]
            elif kind == BLOCK:
                entries += [SCRATCH, parted.places[which]]
            else:
                assert kind == NUMBERS
                entries += [OWN_NUMBERS, which]
    parts = [f"ptr @KERNEL.part{i}" for i in range(len(parted.parts))]
    numbers = [f"i64 {_bits(value, dtype)}" for value, dtype in parted.numbers]
    return [
        _array("calls", "i32", [f"i32 {entry}" for entry in entries]),
        _array("parts", "ptr", parts),
        _array("numbers", "i64", numbers),
    ]


def _array(name: str, cell: str, elements: Sequence[str]) -> str:
    return f"@KERNEL.{name} = internal constant [{len(elements)} x {cell}] [{', '.join(elements)}]"


def _bits(value: float, dtype: Any) -> int:
    """Return the bits of a number, as the first ones of an integer in memory."""
    return int(struct.unpack("<q", dtype.type(value).tobytes().ljust(8, b"\0"))[0])


def _loop(parted: PartedProgram, start: int) -> str:
    """Write the function that makes the calls."""
    code = Builder()
    arguments = len(parted.program.inputs) + len(parted.program.outputs)
    bases = code.room("ptr", OWN_NUMBERS + 1 + arguments)
    code.store("ptr", "%scratch", code.place("ptr", bases, SCRATCH))
    code.store("ptr", "@KERNEL.numbers", code.place("ptr", bases, OWN_NUMBERS))
    for i in range(arguments):
        code.store("ptr", code.load("ptr", "%table", i), code.place("ptr", bases, OWN_NUMBERS + 1 + i))
    table = code.room("ptr", max(len(call.addresses) for call in parted.calls))
    free = code.place("i8", "%scratch", start)

    def fill(j: str, at: str) -> None:
        entry = code.place("i32", at, code.emit(f"mul i64 {j}, 2"))
        base = code.load("ptr", bases, code.emit(f"zext i32 {code.load('i32', entry, 0)} to i64"))
        offset = code.emit(f"zext i32 {code.load('i32', entry, 1)} to i64")
        code.store("ptr", code.place("i8", base, offset), code.place("ptr", table, j))

    def call(_: str, carried: list[str]) -> list[str]:
        (place,) = carried
        part, count, failing = (code.emit(f"zext i32 {code.load('i32', place, k)} to i64") for k in range(3))
        at = code.place("i32", place, 3)
        code.loop(count, lambda j, _: fill(j, at))
        status = code.ask("i64", code.load("ptr", "@KERNEL.parts", part), ("ptr", table), ("ptr", free))
        with code.when(code.emit(f"icmp ne i64 {status}, 0"), ends=True):
            for k in (0, 1):
                code.store("i64", code.load("i64", free, k), code.place("i64", "%scratch", k))
            code.do(f"ret i64 {code.emit(f'add i64 {status}, {failing}')}")
        return [code.place("i32", at, code.emit(f"mul i64 {count}, 2"))]

    code.loop(len(parted.calls), call, ["@KERNEL.calls"], "ptr")
    code.do("ret i64 0")
    return code.function("i64 @KERNEL(ptr %table, ptr %scratch)")
