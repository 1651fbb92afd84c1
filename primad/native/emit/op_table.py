"""What native code there is for each op: one table over all primitives, of how it is written or why it is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import CAPTURED, Leaf, Node
from primad.ir.program import ClosedProgram, Program
from primad.native.emit import gather_loops, window_loops
from primad.native.emit.axis_loops import write_argsort, write_cumsum, write_extremum
from primad.native.emit.emit_context import Emit, Loops, Missing, Pointwise, Way, Written
from primad.native.emit.gather_loops import work_of_gather, work_of_scatter_add
from primad.native.emit.pointwise import POINTWISE, larger, operand_dtype, recorded_way
from primad.native.lapack.matrix_ops import MATRICES
from primad.native.llvm.compile_limits import BUDGET, Budget
from primad.native.llvm.compiler import compiler
from primad.native.llvm.vectors import CELLS
from primad.native.loops.batched_while import AT_ONCE, Member, member_of
from primad.native.loops.body_programs import form_of, has_body, most_work_of, step_program
from primad.native.schedule.storage import VIEWS
from primad.native.unrolled import unrolled_indexing
from primad.native.unrolled.unrolled_context import ElementForm, Elements, ElementSite
from primad.native.unrolled.unrolled_ops import (
    added,
    length_of_each,
    length_of_order,
    long_order,
    operand_size,
    write_constant,
    write_contracted,
    write_each,
    write_framed,
    write_moved,
    write_order,
    write_reduced,
    write_result,
    write_running,
)
from primad.ops.record.fields import LoopForm
from primad.ops.record.primitive import Primitive
from primad.system.process import MOST_KEPT


def _long_sort(node: Node) -> str:
    long = node.type.shape[dict(node.params)["axis"]] > BUDGET.unrolled
    return f"axes of more than {BUDGET.unrolled} elements are sorted by NumPy" if long else ""


def _wide_indices(node: Node) -> str:
    return "indices of uint64 are no indices to NumPy" if node.inputs[1].type.dtype.str == "<u8" else ""


def _missing(reason: str, *which: Primitive) -> dict[Primitive, Written]:
    return dict.fromkeys(which, Written(Missing(reason), Missing(reason)))


def _indexed(loops: Loops, write: Callable[[ElementSite], Elements], length: Callable[[Node], int]) -> Written:
    return Written(loops, ElementForm(write, length, unrolled_indexing.many_choices, unrolled_indexing.may_be_outside))


def _extremum(larger: Emit) -> Written:
    return Written(Loops(partial(write_extremum, larger=larger)), _joined(larger))


def _joined(join: Emit) -> ElementForm:
    return ElementForm(partial(write_reduced, join=join), operand_size)


EACH = ElementForm(write_each, length_of_each)
NATIVE: dict[Primitive, Written] = {
    **{op: Written(how, EACH) for op, how in POINTWISE.items()},
    **dict.fromkeys(VIEWS, Written(Way.VIEW, ElementForm(write_moved))),
    ops.sum: Written(Way.SUM, _joined(added)),
    ops.contract: Written(Way.SUM, ElementForm(write_contracted, lambda node: int(node.op.cost(node).flops // 2))),
    ops.pad: Written(Way.JOIN, ElementForm(write_framed)),
    ops.concatenate: Written(Way.JOIN, ElementForm(write_moved)),
    **dict.fromkeys((ops.eye, ops.iota), Written(Way.CONSTANT, ElementForm(write_constant))),
    ops.reduce_max: _extremum(larger("gt")),
    ops.reduce_min: _extremum(larger("lt")),
    ops.cumsum: Written(Loops(write_cumsum, "fiu"), ElementForm(write_running, operand_size)),
    ops.argsort: Written(Loops(write_argsort, limit=_long_sort), ElementForm(write_order, length_of_order, long_order)),
    ops.gather: _indexed(
        Loops(gather_loops.write_gather, limit=_wide_indices, work=work_of_gather),
        unrolled_indexing.write_gather,
        unrolled_indexing.length_of_gather,
    ),
    ops.scatter_add: _indexed(
        Loops(gather_loops.write_scatter_add, "fiu", limit=_wide_indices, adds=True, work=work_of_scatter_add),
        unrolled_indexing.write_scatter_add,
        unrolled_indexing.length_of_scatter,
    ),
    ops.project: Written(Way.RESULT, ElementForm(write_result)),
    ops.windows: Written(Way.FRAME, ElementForm(write_framed)),
    ops.overlap_add: Written(
        Loops(window_loops.write_overlap_add, "fiu", limit=window_loops.has_many_elements),
        ElementForm(unrolled_indexing.write_overlap_add, operand_size),
    ),
    ops.window_argmax: Written(
        Loops(window_loops.write_window_argmax),
        ElementForm(unrolled_indexing.write_window_argmax, unrolled_indexing.length_of_windows),
    ),
    **MATRICES,
    **_missing("Fourier transforms are NumPy's", ops.dct, ops.dst, ops.fft, ops.rfft, ops.irfft),
    **_missing("complex numbers are left to NumPy", ops.real_part, ops.imaginary_part, ops.conj, ops.complex_of),
    **_missing("exponentials of matrices are SciPy's", ops.expm, ops.expm_frechet),
    **_missing("logarithms of matrices are SciPy's", ops.logm, ops.logm_frechet),
    **_missing("Schur forms are SciPy's", ops.solve_sylvester, ops.sqrtm),
    **_missing("spectra of general matrices are NumPy's", ops.eig, ops.left_vectors),
    **_missing(
        "NumPy computes whole arrays of it",
        *(ops.polygamma_gap, ops.airy, ops.gamma_density, ops.beta_density),
        *(ops.log_gamma_tail, ops.gamma_hazard, ops.log_beta_tail, ops.beta_hazard),
        *(
            ops.carlson_second,
            ops.power_integral,
            ops.legendre_integral,
            ops.jacobi_amplitude,
            ops.hurwitz,
            ops.lambertw,
        ),
    ),
    **_missing("random words are those of NumPy's generator", ops.draw),
}
"""How each primitive is written, or why it is not; a test holds it against the list of primitives."""


CONSTANTS = frozenset([op for op, written in NATIVE.items() if written.loops is Way.CONSTANT])
"""The ops whose results become a part of the text, as captured arrays do."""


def way_of(node: Node) -> Pointwise | Loops | Way | Missing | None:
    """Return how an op is written in loops; None for leaves, and for an op of a user's own that nothing is known of."""
    found = NATIVE.get(node.op)
    return found.loops if found else Way.LOOP if has_body(node) else recorded_way(node)


def reason(node: Node) -> str:
    """Return why there is no native code for an op on these types; '' where there is."""
    if isinstance(node.op, Leaf):
        return _without_vectors(node)
    if node.op.programs.called:
        return _unfit(node)
    how = way_of(node)
    if how is Way.RESULT:
        return reason(node.inputs[0])
    if how is None:
        return f"{node.op.name} is an op of one's own whose definition cannot be recorded"
    if isinstance(how, Missing):
        return how.reason
    missing = _without_vectors(node, *node.inputs)
    if missing or not isinstance(how, (Pointwise, Loops)):
        return missing
    dtype = operand_dtype(node) if isinstance(how, Pointwise) else node.inputs[0].type.dtype
    return how.limit(node) if dtype.kind in how.kinds else f"{node.op.name} is not written for {dtype}"


def _unfit(node: Node) -> str:
    """Return why a loop or a call cannot be a part of a native function; '' where it can."""
    form = form_of(node)
    if runs_apart(form):
        return _unfit_stack(node.op.name, form)
    if form.of.is_panel:  # of arrays that would lie in memory as a whole, computed by loops that nothing interrupts
        return _reason_within(form.of, BUDGET)
    rows = sum(type.nbytes for type in form.of.out_types[form.carry + form.ends :])
    if form.length * rows > BUDGET.stacks:
        return f"{node.op.name} stacks more than a native function has memory for"
    if most_work_of(form) > BUDGET.uninterrupted:
        return f"{node.op.name} may compute too much between two moments at which Python sees an interrupt"
    return _reason_within(form.of, BUDGET)


@lru_cache(maxsize=MOST_KEPT)
def _reason_within(of: ClosedProgram, budget: Budget) -> str:
    """Return why there is no native code for a body: once for each budget, since a program may be called often."""
    return next(filter(None, map(reason, step_program(of).nodes)), "")


def one_loop_of(of: ClosedProgram, wanted: tuple[bool, ...]) -> tuple[Member, int] | None:
    """Return one loop of a stack, and its instructions; None where loops do not run apart from each other in registers.

    Args:
        of: the program of a step, as `member_of` takes it.
        wanted: which of the carried values are results.
    """
    member = member_of(of, wanted)
    length = None if member is None else length_of(member.program, fails=False)
    if length is None or AT_ONCE * length > BUDGET.instructions:
        return None
    assert member is not None
    return member, length


def runs_apart(form: LoopForm) -> bool:
    """Say whether a loop is a stack of loops that are taken a few at a time; other stacks take their steps together."""
    return form.separate and one_loop_of(form.of, (True,) * form.carry) is not None


def _unfit_stack(name: str, form: LoopForm) -> str:
    """Return why a stack of loops cannot be a part of a native function; '' where it can."""
    found = one_loop_of(form.of, (True,) * form.carry)
    assert found is not None
    member, length = found
    if length * form.length > BUDGET.uninterrupted:
        return f"{name} may take too many steps between two moments at which Python sees an interrupt"
    if member.size * length > BUDGET.alone:
        return f"{name} is a stack of so many loops that threads share them"
    return ""


def _without_vectors(*nodes: Node) -> str:
    """Return what is wrong with the first type that native code has no vectors of; '' if it has all."""
    for node in nodes:
        if isinstance(node.type, ArrayType) and node.type.dtype not in _DTYPES:
            return f"there are no vectors of {node.type.dtype}"
    return ""


_DTYPES = frozenset(map(np.dtype, CELLS))
"""The dtypes that native code has vectors of."""


def likely_work(node: Node) -> int:
    """Return how many ops of arithmetic on an element in a cache an op takes as long as; only predictions ask."""
    how = way_of(node)
    if how in (Way.VIEW, Way.CONSTANT, Way.RESULT):
        return 0
    if how is Way.SUM:
        return int(node.inputs[0].type.size)
    return how.work(node) if isinstance(how, Loops) else int(node.type.size)


def likely_exps(node: Node) -> float:
    """Return how many times exp an op's elements take together, of a function; only predictions ask."""
    how = way_of(node)
    return how.times_exp(node) * node.type.size if isinstance(how, Pointwise) and how.function else 0.0


def needs_lapack(node: Node) -> float:
    """Return the share of a factorization's speed, of what LAPACK computes for small matrices too; 0 for others."""
    how = way_of(node)
    return how.lapack if isinstance(how, Loops) else 0.0


def has_code(node: Node) -> bool:
    """Say whether an op that works on each element alone can be part of a kernel on this machine."""
    return compiler() is not None and isinstance(way_of(node), Pointwise) and not reason(node)


# -- straight-line code ------------------------------------------------------------------------------------------------


def register_form(node: Node) -> ElementForm | Missing:
    """Return how an op that has native code is written with every element in a register."""
    if node.op in NATIVE:
        return NATIVE[node.op].elements
    return Missing("what it applies has memory of its own") if has_body(node) else EACH


def can_fail(node: Node) -> bool:
    """Say whether an op that is written so may meet a value for which it is not defined."""
    if isinstance(node.op, Leaf) or node.op.domain is None:
        return False
    form = register_form(node)
    assert isinstance(form, ElementForm)
    return form.fails(node)


def failing_in(program: Program) -> tuple[Node, ...]:
    """Return the ops of a program that can fail where it is written so."""
    return tuple(filter(can_fail, program.nodes))


def kept_out(node: Node) -> str:
    """Return why an op, or a leaf, is not written with every element in a register; '' where it is."""
    why = reason(node)
    if why or isinstance(node.op, Leaf):
        return why
    form = register_form(node)
    return form.reason if isinstance(form, Missing) else form.limit(node)


def length_of(program: Program, fails: bool = True, most: float = math.inf) -> int | None:
    """Return about how many instructions a program is as straight-line code; None where an op cannot be written so.

    Args:
        program: what is computed.
        fails: whether ops may be among it that can fail.
        most: how many there may be; None where there are more.
    """
    total = sum([node.type.size for node in program.inputs])
    if any(map(kept_out, program.inputs)):
        return None
    for node in program.nodes:
        if total > most or kept_out(node):
            return None
        total += _length(node)
    return None if total > most or not (fails or not failing_in(program)) else int(total)


def _length(node: Node) -> int:
    """Return the instructions of an op that can be written so, or those that read a captured array."""
    if isinstance(node.op, Leaf):
        return node.type.size if node.op is CAPTURED else 0
    form = register_form(node)
    assert isinstance(form, ElementForm)
    return form.length(node)


def has_small_arrays(program: Program) -> bool:
    """Say whether no array of a program has more elements than are kept in registers."""
    return all(node.type.size <= BUDGET.in_registers for node in (*program.inputs, *program.nodes))


def stays_in_registers(program: Program) -> bool:
    """Say whether a program is written as straight-line code: its arrays are small, and it is no longer than a body."""
    return has_small_arrays(program) and short_length(program) is not None


def short_length(program: Program) -> int | None:
    """Return the instructions of a program on single elements; None where a loop's body is not written so.

    It has more of them than a body may have, or most are those of arrays longer than registers hold: one at a time
    they take up to seven times as long as a loop over vectors.
    """
    length = length_of(program, most=BUDGET.instructions)
    if length is None or has_small_arrays(program):
        return length
    most = BUDGET.in_registers
    long = sum([_length(node) for node in program.nodes if any(x.type.size > most for x in (node, *node.inputs))])
    return None if 2 * long > length else length


def kept_out_by(program: Program) -> str:
    """Say which op keeps a program of small arrays, or a step of a loop, out of registers, and why; '' if none does."""
    loops = [form_of(node) for node in program.nodes if has_body(node)]
    for part in (program, *[step_program(form.of) for form in loops if not runs_apart(form)]):
        found = [(node.op.name, kept_out(node)) for node in part.nodes if not has_body(node)]
        named = [f"{name} keeps its values out of registers: {why}" for name, why in found if why]
        if named and has_small_arrays(part):
            return named[0]
    return ""
