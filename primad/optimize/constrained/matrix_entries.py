"""The entries of a matrix of derivatives that may not be zero, computed by one compiled function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad.functional.derivatives.lazy_arrays import LazyMatrix
from primad.functional.derivatives.lazy_matrices import hessian, jacobian
from primad.functional.derivatives.sparse_matrices import ComputedForm
from primad.functional.jit import jit
from primad.ir.array_types import ArrayType
from primad.numpy.shapes.shaping import concatenate
from primad.programs.jacobians.diagonals import together
from primad.programs.sparsity.matrix_coloring import Sweep
from primad.runtime.calling import traced_operands
from primad.transforms import batching
from primad.transforms.lowering import inline

Array = np.ndarray[Any, Any]


class MatrixEntries(NamedTuple):
    """Entries of a matrix.

    Attributes:
        rows: the row of each.
        columns: the column of each.
        values: the function of the arguments that computes them.
    """

    rows: Array
    columns: Array
    values: Callable[..., Array]


def jacobian_entries(function: Callable[..., Any], args: Sequence[Array]) -> MatrixEntries:
    """Return the entries of the Jacobian of a function, of one row, in its first argument, a row.

    Args:
        function: what is differentiated.
        args: arrays like its arguments.
    """
    return _entries(jacobian(function)(*args), args, lower=False)


def hessian_entries(function: Callable[..., Any], args: Sequence[Array]) -> MatrixEntries:
    """Return the entries of the Hessian of a function, of one number, in its first argument, a row.

    Args:
        function: what is differentiated.
        args: arrays like its arguments.

    Returns:
        those on the diagonal and below it.
    """
    return _entries(hessian(function)(*args), args, lower=True)


def _entries(matrix: LazyMatrix, args: Sequence[Array], lower: bool) -> MatrixEntries:
    form = matrix._form
    assert isinstance(form, ComputedForm)
    entries, found, of = form._matrix, form._found, form._parts[0].program
    rows, columns = np.repeat(np.arange(found.shape[0]), np.diff(found.starts)), found.columns
    kept = np.flatnonzero(rows >= columns) if lower else np.arange(len(rows))
    rows, columns = rows[kept], columns[kept]
    if not len(kept):
        return MatrixEntries(rows, columns, lambda *args: np.zeros(0))
    sweeps = entries.sweeps(found)
    programs = [entries._pulled if sweep.pulled or entries._pushed is None else entries._pushed for sweep in sweeps]
    if any(together(s.count, p.in_types[-1], p.out_types[0]) < s.count for s, p in zip(sweeps, programs, strict=True)):
        return MatrixEntries(rows, columns, lambda *xs: entries.data(found, [*xs, *of.source_values])[kept])
    stacked = [
        batching.vmap(program, [*[False] * (len(program.inputs) - 1), True], sweep.count)
        for sweep, program in zip(sweeps, programs, strict=True)
    ]
    places, start = np.empty(len(found.columns), np.int64), 0
    for sweep, program in zip(sweeps, programs, strict=True):
        places[sweep.entries] = start + sweep.places
        start += sweep.count * program.out_types[0].size

    def values(*xs: Any) -> Any:
        operands, products = traced_operands([*xs, *of.sources]), []
        for sweep, program in zip(sweeps, stacked, strict=True):
            seeds = traced_operands([operands[0], _seeds(sweep, program.in_types[-1])])[1]
            products.append(inline(program, [*operands, seeds])[0].reshape(-1))
        return concatenate(products)[places[kept]]

    return MatrixEntries(rows, columns, jit(values))


def _seeds(sweep: Sweep, type: ArrayType) -> Array:
    """Return the directions of products."""
    found: Array = sweep.colors == np.arange(sweep.count)[:, None]
    return found.astype(type.dtype).reshape(type.shape)
