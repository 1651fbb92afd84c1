"""How each op is written with every element in a register: one table over all primitives, or the reason why not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.native.emit.emit_context import INT64, Missing
from primad.native.emit.pointwise import POINTWISE, pointwise_way
from primad.native.lapack.unrolled_matrices import (
    Small,
    eliminated,
    factored,
    few_minors,
    is_small,
    minors,
    minors_along,
    solved,
)
from primad.native.llvm.compile_limits import BUDGET
from primad.native.loops.body_programs import has_body
from primad.native.schedule.storage import VIEWS
from primad.native.unrolled.unrolled_context import Bad, ElementForm, ElementSite
from primad.native.unrolled.unrolled_indexing import (
    known_places,
    length_of_axis,
    length_of_gather,
    length_of_scatter,
    many_choices,
    write_gather,
    write_overlap_add,
    write_scatter_add,
    write_window_argmax,
)
from primad.native.unrolled.unrolled_ops import (
    JOINED,
    length_of_order,
    long_order,
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
from primad.ops.record.primitive import Primitive, application

# -- lengths -----------------------------------------------------------------------------------------------------------


def _length_of_each(node: Node) -> int:
    return int(node.type.size * (BUDGET.function if pointwise_way(node).function else 1))


def _operand_size(node: Node) -> int:
    return int(node.inputs[0].type.size)


def _length_of_windows(node: Node) -> int:
    return int(BUDGET.choice * node.type.size * math.prod(dict(node.params)["size"]))


# -- small matrices ----------------------------------------------------------------------------------------------------


def _matrices(compute: Small, power: int = 3, limit: Callable[[Node], bool] = is_small, **more: Any) -> ElementForm:
    """Return how matrices are written of which each takes so many instructions as a power of its rows."""

    def write(site: ElementSite) -> Any:
        kind: ArrayType | TupleType = site.node.type
        types = kind.types if isinstance(kind, TupleType) else (kind,)
        found = tuple([np.empty(type.shape, object) for type in types])
        v, first = site.vector(site.node.inputs[0].type.dtype), site.operands[0]
        for number, index in enumerate(np.ndindex(first.shape[:-2])):
            done = compute(v, *[x[index] for x in site.operands], **site.params)
            if site.checks:
                said = enumerate(done.bad, done.first)
                site.bad.extend([Bad(condition, number, v.of(INT64).constant(k)) for k, condition in said])
            for whole, result in zip(found, done.results, strict=True):
                whole[(*index, ...)] = result
        return found if isinstance(kind, TupleType) else found[0]

    def length(node: Node) -> int:
        *batch, rows, columns = node.inputs[-1].type.shape
        return int(math.prod(batch) * rows ** (power - 1) * columns)

    return ElementForm(
        write, length, lambda node: "" if limit(node) else "LAPACK reads and writes large matrices in memory", **more
    )


# -- indices -----------------------------------------------------------------------------------------------------------


def _may_be_outside(node: Node) -> bool:
    """Say whether an index may be outside: it is neither known nor one of the order of so many elements."""
    indices, n = node.inputs[1], length_of_axis(node)
    while indices.op in VIEWS:
        indices = indices.inputs[0]
    source, _ = application(indices)
    if source.op is ops.argsort:
        return bool(source.type.shape[dict(source.params)["axis"]] > n)
    if source.op is ops.lu:  # its order of rows
        return bool(source.inputs[0].type.shape[-1] > n)
    return known_places(node) is None


# -- the table ---------------------------------------------------------------------------------------------------------

EACH = ElementForm(write_each, _length_of_each)
WITHOUT_CODE: dict[Primitive, Missing] = {
    **dict.fromkeys((ops.dct, ops.dst, ops.fft, ops.rfft, ops.irfft), Missing("Fourier transforms are NumPy's")),
    **dict.fromkeys(
        (ops.real_part, ops.imaginary_part, ops.conj, ops.complex_of), Missing("complex numbers are left to NumPy")
    ),
    **dict.fromkeys((ops.expm, ops.expm_frechet), Missing("exponentials of matrices are SciPy's")),
    **dict.fromkeys((ops.logm, ops.logm_frechet), Missing("logarithms of matrices are SciPy's")),
    **dict.fromkeys((ops.solve_sylvester, ops.sqrtm), Missing("Schur forms are SciPy's")),
    **dict.fromkeys((ops.eig, ops.left_vectors), Missing("spectra of general matrices are NumPy's")),
    **dict.fromkeys(
        (
            ops.polygamma_gap,
            ops.airy,
            ops.gamma_density,
            ops.beta_density,
            ops.member,
            ops.power_integral,
            ops.jacobi_amplitude,
            ops.hurwitz,
            ops.lambertw,
        ),
        Missing("NumPy computes whole arrays of it"),
    ),
    ops.draw: Missing("random words are those of NumPy's generator"),
}
"""The primitives that NumPy or SciPy computes, with the reasons: they have no native code of any form."""
REGISTERS: dict[Primitive, ElementForm | Missing] = {
    **dict.fromkeys(POINTWISE, EACH),
    **dict.fromkeys((*VIEWS, ops.concatenate), ElementForm(write_moved)),
    **dict.fromkeys((ops.pad, ops.windows), ElementForm(write_framed)),
    **dict.fromkeys((ops.eye, ops.iota), ElementForm(write_constant)),
    **dict.fromkeys(JOINED, ElementForm(write_reduced, _operand_size)),
    ops.project: ElementForm(write_result),
    ops.contract: ElementForm(write_contracted, lambda node: int(node.op.cost(node).flops // 2)),
    ops.cumsum: ElementForm(write_running, _operand_size),
    ops.argsort: ElementForm(write_order, length_of_order, long_order),
    ops.gather: ElementForm(write_gather, length_of_gather, many_choices, _may_be_outside),
    ops.scatter_add: ElementForm(write_scatter_add, length_of_scatter, many_choices, _may_be_outside),
    ops.overlap_add: ElementForm(write_overlap_add, _operand_size),
    ops.window_argmax: ElementForm(write_window_argmax, _length_of_windows),
    ops.solve_triangular: _matrices(solved, fails=lambda node: not dict(node.params)["unit"]),
    ops.cholesky: _matrices(factored),
    ops.lu: _matrices(eliminated),
    ops.cofactors: _matrices(minors, 4, few_minors),
    ops.cofactors_along: _matrices(minors_along, 5, few_minors),
    **dict.fromkeys((ops.qr, ops.eigh, ops.svd, ops.slopes), Missing("LAPACK reads and writes matrices in memory")),
    **dict.fromkeys((ops.gaps, ops.spread), Missing("LAPACK wrote the spectra that it reads, in memory")),
    **dict.fromkeys(WITHOUT_CODE, Missing("it has no native code at all")),
}
"""How each primitive is written, or why it is not; a test holds it against the list of primitives."""


def register_form(node: Node) -> ElementForm | Missing:
    """Return how an op that has native code is written."""
    found = REGISTERS.get(node.op)
    if found is None:
        return Missing("what it applies has memory of its own") if has_body(node) else EACH
    return found


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
