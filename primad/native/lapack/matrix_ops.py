"""How ops on matrices are written: small ones by one function, in loops and in registers, large ones by LAPACK."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from msgspec.structs import replace

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import Node
from primad.native.emit.emit_context import INT64, Loops, Missing, Written
from primad.native.lapack.factorization_loops import COFACTORS, EIGH, LU, QR, SVD
from primad.native.lapack.matrix_loops import (
    BLAS,
    LAPACK,
    copied_matrices,
    not_exported,
    triangular_solver,
    write_cholesky,
    write_solve_triangular,
)
from primad.native.lapack.spectra_loops import memory_of_blocks, write_gaps, write_slopes, write_spread
from primad.native.lapack.unrolled_matrices import (
    Small,
    eliminated,
    factored,
    few_minors,
    is_small,
    minors,
    minors_along,
    solved,
    write_small,
)
from primad.native.llvm.compile_limits import BUDGET
from primad.native.unrolled.unrolled_context import Bad, ElementForm, ElementSite
from primad.ops.record.primitive import Primitive


def _matrices(
    compute: Small, large: Loops, fits: Callable[[Node], bool] = is_small, power: int = 3, **more: Any
) -> Written:
    """Return how an op on matrices is written: small ones by what computes them, large ones by LAPACK in loops."""
    return Written(_small_or(large, compute, fits), _in_registers(compute, fits, power, **more))


def _small_or(large: Loops, compute: Small, fits: Callable[[Node], bool]) -> Loops:
    """Return loops that write small matrices out, and are those of LAPACK for larger ones."""
    return replace(
        large,
        write=lambda site: write_small(site, compute) if fits(site.node) else large.write(site),
        limit=lambda node: "" if fits(node) else large.limit(node),
        memory=lambda node: 0 if fits(node) else large.memory(node),
        lapack=0.0,
    )


def _in_registers(compute: Small, fits: Callable[[Node], bool], power: int, **more: Any) -> ElementForm:
    """Return how small matrices are written in registers.

    Args:
        compute: what is computed of one.
        fits: whether those of a node are written out.
        power: of the rows, as which the instructions for a matrix grow.
        more: further attributes of the form.
    """

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
        write, length, lambda node: "" if fits(node) else "LAPACK reads and writes large matrices in memory", **more
    )


def _many_minors(node: Node) -> str:
    return "" if few_minors(node) else f"second derivatives of det for more than {BUDGET.minors} rows are left to NumPy"


OF_LAPACK = Missing("LAPACK reads and writes matrices in memory")
OF_SPECTRA = Missing("LAPACK wrote the spectra that it reads, in memory")
MATRICES: dict[Primitive, Written] = {
    ops.solve_triangular: _matrices(
        solved,
        Loops(
            write_solve_triangular,
            limit=lambda node: not_exported(BLAS, triangular_solver(node))(node),
            anywhere=False,
            memory=copied_matrices,
        ),
        fails=lambda node: not dict(node.params)["unit"],
    ),
    ops.cholesky: _matrices(factored, Loops(write_cholesky, limit=not_exported(LAPACK, "potrf"), anywhere=False)),
    ops.lu: _matrices(eliminated, LU),
    ops.cofactors: _matrices(minors, COFACTORS, few_minors, 4),
    ops.cofactors_along: Written(
        Loops(partial(write_small, compute=minors_along), limit=_many_minors),
        _in_registers(minors_along, few_minors, 5),
    ),
    ops.qr: Written(QR, OF_LAPACK),
    ops.eigh: Written(EIGH, OF_LAPACK),
    ops.svd: Written(SVD, OF_LAPACK),
    ops.slopes: Written(Loops(write_slopes, limit=not_exported(LAPACK, "syevd"), memory=memory_of_blocks), OF_LAPACK),
    ops.gaps: Written(Loops(write_gaps), OF_SPECTRA),
    ops.spread: Written(Loops(write_spread), OF_SPECTRA),
}
"""How each of them is written."""
