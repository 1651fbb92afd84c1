"""What native code there is for each op: one table over all primitives, of how it is written or why it is not."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache, partial

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.node import CAPTURED, Leaf, Node
from primad.ir.program import ClosedProgram, Program
from primad.native.emit.axis_loops import write_argsort, write_cumsum, write_extremum
from primad.native.emit.emit_context import Loops, Missing, Pointwise
from primad.native.emit.gather_loops import work_of_gather, work_of_scatter_add, write_gather, write_scatter_add
from primad.native.emit.pointwise import POINTWISE, operand_dtype, recorded_way
from primad.native.emit.window_loops import has_many_elements, write_overlap_add, write_window_argmax
from primad.native.lapack.factorization_loops import COFACTORS, EIGH, LU, QR, SVD
from primad.native.lapack.matrix_loops import (
    BLAS,
    LAPACK,
    copied_matrices,
    not_exported,
    triangular_solver,
    unless_small,
    write_cholesky,
    write_solve_triangular,
)
from primad.native.lapack.spectra_loops import memory_of_blocks, write_gaps, write_slopes, write_spread
from primad.native.lapack.unrolled_matrices import few_minors, minors_along, write_small
from primad.native.llvm.compile_limits import BUDGET, Budget
from primad.native.llvm.compiler import compiler
from primad.native.llvm.vectors import CELLS
from primad.native.loops.batched_while import AT_ONCE, Member, member_of
from primad.native.loops.body_programs import form_of, has_body, most_work_of, step_program
from primad.native.schedule.storage import VIEWS
from primad.native.unrolled.unrolled_context import ElementForm
from primad.native.unrolled.unrolled_table import WITHOUT_CODE, failing_in, register_form
from primad.ops.record.fields import LoopForm
from primad.ops.record.primitive import Primitive
from primad.system.process import MOST_KEPT


class Way(Enum):
    """How ops are written that neither work on each element alone nor have a loop of their own."""

    VIEW = "index arithmetic on the array that it shows"
    SUM = "a sum of products"
    JOIN = "parts that are computed in their place"
    FRAME = "index arithmetic on a copy that has zeros around it"
    CONSTANT = "a constant of the text"
    RESULT = "one of the results of an op that writes several"
    LOOP = "a loop around a program of its own, or a program that it calls"


def _long_sort(node: Node) -> str:
    long = node.type.shape[dict(node.params)["axis"]] > BUDGET.unrolled
    return f"axes of more than {BUDGET.unrolled} elements are sorted by NumPy" if long else ""


def _many_minors(node: Node) -> str:
    return "" if few_minors(node) else f"second derivatives of det for more than {BUDGET.minors} rows are left to NumPy"


def _wide_indices(node: Node) -> str:
    return "indices of uint64 are no indices to NumPy" if node.inputs[1].type.dtype.str == "<u8" else ""


NATIVE: dict[Primitive, Pointwise | Loops | Way | Missing] = {
    **POINTWISE,
    **dict.fromkeys(VIEWS, Way.VIEW),
    **dict.fromkeys((ops.sum, ops.contract), Way.SUM),
    **dict.fromkeys((ops.pad, ops.concatenate), Way.JOIN),
    **dict.fromkeys((ops.eye, ops.iota), Way.CONSTANT),
    ops.reduce_max: Loops(partial(write_extremum, order="gt")),
    ops.reduce_min: Loops(partial(write_extremum, order="lt")),
    ops.cumsum: Loops(write_cumsum, "fiu"),
    ops.argsort: Loops(write_argsort, limit=_long_sort),
    ops.gather: Loops(write_gather, limit=_wide_indices, work=work_of_gather),
    ops.scatter_add: Loops(write_scatter_add, "fiu", limit=_wide_indices, adds=True, work=work_of_scatter_add),
    ops.project: Way.RESULT,
    ops.windows: Way.FRAME,
    ops.overlap_add: Loops(write_overlap_add, "fiu", limit=has_many_elements),
    ops.window_argmax: Loops(write_window_argmax),
    ops.solve_triangular: Loops(
        write_solve_triangular,
        limit=unless_small(lambda node: not_exported(BLAS, triangular_solver(node))(node)),
        anywhere=False,
        memory=copied_matrices,
    ),
    ops.cholesky: Loops(write_cholesky, limit=unless_small(not_exported(LAPACK, "potrf")), anywhere=False),
    ops.lu: LU,
    ops.qr: QR,
    ops.eigh: EIGH,
    ops.svd: SVD,
    ops.cofactors: COFACTORS,
    ops.cofactors_along: Loops(partial(write_small, compute=minors_along), limit=_many_minors),
    ops.gaps: Loops(write_gaps),
    ops.slopes: Loops(write_slopes, limit=not_exported(LAPACK, "syevd"), memory=memory_of_blocks),
    ops.spread: Loops(write_spread),
    **WITHOUT_CODE,
}
"""How each primitive is written, or why it is not; a test holds it against the list of primitives."""


def way_of(node: Node) -> Pointwise | Loops | Way | Missing | None:
    """Return how an op is written; None for leaves, and for an op of a user's own that nothing is known of."""
    return NATIVE.get(node.op) or (Way.LOOP if has_body(node) else recorded_way(node))


def reason(node: Node) -> str:
    """Return why there is no native code for an op on these types; '' where there is."""
    if isinstance(node.op, Leaf):
        return _without_vectors([node])
    if has_body(node):
        return _unfit(node)
    how = way_of(node)
    if how is Way.RESULT:
        return reason(node.inputs[0])
    if how is None:
        return f"{node.op.name} is an op of one's own whose definition cannot be recorded"
    if isinstance(how, Missing):
        return how.reason
    missing = _without_vectors([node, *node.inputs])
    if missing or not isinstance(how, (Pointwise, Loops)):
        return missing
    dtype = operand_dtype(node) if isinstance(how, Pointwise) else node.inputs[0].type.dtype
    return how.limit(node) if dtype.kind in how.kinds else f"{node.op.name} is not written for {dtype}"


def _unfit(node: Node) -> str:
    """Return why a loop or a call cannot be a part of a native function; '' where it can."""
    form = form_of(node)
    if form.separate:
        return _unfit_stack(node.op.name, form)
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


def apart_of(of: ClosedProgram, wanted: tuple[bool, ...]) -> tuple[Member, int] | None:
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


def _unfit_stack(name: str, form: LoopForm) -> str:
    """Return why a stack of loops cannot be a part of a native function; '' where it can."""
    found = apart_of(form.of, (True,) * form.carry)
    if found is None:
        return f"the loops of {name} do not run apart from each other in registers"
    member, length = found
    if length * form.length > BUDGET.uninterrupted:
        return f"{name} may take too many steps between two moments at which Python sees an interrupt"
    if member.size * length > BUDGET.alone:
        return f"{name} is a stack of so many loops that threads share them"
    return ""


def _without_vectors(nodes: Sequence[Node]) -> str:
    """Return what is wrong with the first type that native code has no vectors of; '' if it has all."""
    types = [x.type for x in nodes if isinstance(x.type, ArrayType) and x.type.dtype.str not in CELLS]
    return f"there are no vectors of {types[0].dtype}" if types else ""


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


def kept_out(node: Node) -> str:
    """Return why an op, or a leaf, is not written with every element in a register; '' where it is."""
    why = reason(node)
    if why or isinstance(node.op, Leaf):
        return why
    form = register_form(node)
    return form.reason if isinstance(form, Missing) else form.limit(node)


def length_of(program: Program, fails: bool = True) -> int | None:
    """Return about how many instructions a program is as straight-line code; None where an op cannot be written so.

    Args:
        program: what is computed.
        fails: whether ops may be among it that can fail.
    """
    if any(map(kept_out, (*program.inputs, *program.nodes))) or not (fails or not failing_in(program)):
        return None
    total = sum(node.type.size for node in program.inputs)
    for node in program.nodes:
        if not isinstance(node.op, Leaf):
            form = register_form(node)
            assert isinstance(form, ElementForm)
            total += form.length(node)
        elif node.op is CAPTURED:
            total += node.type.size
    return int(total)


def has_small_arrays(program: Program) -> bool:
    """Say whether no array of a program has more elements than are kept in registers."""
    return all(node.type.size <= BUDGET.in_registers for node in (*program.inputs, *program.nodes))


def stays_in_registers(program: Program) -> bool:
    """Say whether a program is written as straight-line code: its arrays are small, and it is no longer than a body."""
    return has_small_arrays(program) and short_length(program) is not None


def short_length(program: Program) -> int | None:
    """Return the instructions of a program on single elements; None where they are more than a loop's body may have."""
    length = length_of(program)
    return None if length is None or length > BUDGET.instructions else length


def kept_out_by(program: Program) -> str:
    """Say which op keeps a program of small arrays, or a step of a loop, out of registers, and why; '' if none does."""
    loops = [form_of(node) for node in program.nodes if has_body(node)]
    for part in (program, *[step_program(form.of) for form in loops if not form.separate]):
        found = [(node.op.name, kept_out(node)) for node in part.nodes if not has_body(node)]
        named = [f"{name} keeps its values out of registers: {why}" for name, why in found if why]
        if named and has_small_arrays(part):
            return named[0]
    return ""
