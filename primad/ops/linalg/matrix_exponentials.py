"""The exponential of matrices and its derivative, by SciPy.

Matrices are the last two axes; those before are a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.ir.axes import stacks
from primad.ops.linalg.factorization import square, transposed
from primad.ops.linalg.matrix_functions import along_by_blocks, are_finite, frechet_type, multiple_of_cube, second
from primad.ops.record.fields import Work
from primad.ops.record.kinds import custom
from primad.ops.record.primitive import Primitive

__all__ = ["expm", "expm_frechet"]


def _expm(a: Any) -> Any:
    """Compute exponentials by scaling and squaring, of all matrices of a stack at once.

    Source: A. H. Al-Mohy and N. J. Higham, "A new scaling and squaring algorithm for the matrix exponential", SIAM
    Journal on Matrix Analysis and Applications 31 (2009), which SciPy's follows.
    """
    from scipy.linalg import expm as exponential

    finite = are_finite(a)
    with np.errstate(all="ignore"):
        if a.dtype.kind == "c":
            found = np.asarray(exponential(np.where(finite[..., None, None], a, a.dtype.type(0))))
            return np.where(finite[..., None, None], found, a.dtype.type(np.nan))
        mean = _mean_to_take_off(a)
        centred = np.where(finite[..., None, None], a, a.dtype.type(0)) - mean * np.eye(a.shape[-1], dtype=a.dtype)
        found = np.asarray(exponential(centred) * np.exp(mean))
        for place in map(tuple, np.argwhere(finite & ~are_finite(found))):
            found[place] = _expm_of_large(exponential, a[place], found[place])
    return found if finite.all() else np.where(finite[..., None, None], found, a.dtype.type(np.nan))


def _mean_to_take_off(a: Any) -> Any:
    """Return the means of the diagonals where the matrix is at least twice as large as without, and 0 elsewhere.

    Each squaring doubles the error, and less of it is then to be done. What is left is at most half as large as an
    exponent that overflows, so that nothing underflows on the way.

    Source: N. J. Higham, Functions of Matrices (2008), 10.7.3.

    Returns:
        shape (…, 1, 1).
    """
    if not a.size:
        return np.zeros((*a.shape[:-2], 1, 1), a.dtype)
    mean = np.mean(np.diagonal(a, axis1=-2, axis2=-1), axis=-1)[..., None, None]
    norm, rest = (
        np.max(np.sum(np.abs(x), axis=-2, keepdims=True), axis=-1, keepdims=True)
        for x in (a, a - mean * np.eye(a.shape[-1], dtype=a.dtype))
    )
    factor = np.exp(mean)
    safe = np.isfinite(factor) & (factor >= np.finfo(a.dtype).tiny)
    return np.where(safe & (2 * rest <= norm), mean, a.dtype.type(0))


def _expm_of_large(exponential: Callable[[Any], Any], a: Any, found: Any) -> Any:
    """Return the exponential of a matrix whose powers overflow, where it is finite and rounding lets it be known.

    It is 0 where the logarithmic norm says so (G. Söderlind, "The logarithmic norm. History and modern theory", BIT 46
    (2006)). Of matrices that are triangular in some order, as the blocks of derivatives of triangular ones are, the
    diagonal is computed at each squaring anew: small elements are lost beside large ones before, as in the source of
    `_expm`.

    Args:
        exponential: SciPy's function.
        a: the matrix.
        found: what that gives of it, returned where nothing better is known.
    """
    diagonal = np.diagonal(a)
    others = np.sum(np.abs(a), axis=-1) - np.abs(diagonal)
    if np.max(diagonal + others) < 2 * math.log(np.finfo(a.dtype).smallest_subnormal):
        return np.zeros_like(a)
    if not _is_triangular_in_some_order(a):
        return found
    squarings = max(0, int(np.frexp(np.max(np.abs(a)))[1]))
    x = np.asarray(exponential(np.ldexp(a, -squarings)))
    for left in reversed(range(squarings)):
        x = x @ x
        np.fill_diagonal(x, np.exp(np.ldexp(diagonal, -left)))
    return x if np.isfinite(x).all() else found


def _is_triangular_in_some_order(a: Any) -> bool:
    """Say whether no element off the diagonal leads, by way of others, back to where it began."""
    leads = (a != 0) & ~np.eye(len(a), dtype=bool)
    for _ in range(len(a).bit_length()):
        leads = leads @ leads
    return not leads.any()


def _expm_frechet(a: Any, e: Any) -> Any:
    with np.errstate(all="ignore"):
        return along_by_blocks(np, _expm, a, e)


expm: Primitive = custom(
    "expm",
    numpy=_expm,
    infer=lambda a: square("expm", a),
    jvp=[lambda t, out, a: expm_frechet(a, t)],
    axes=lambda a: stacks(a.ndim - 2, [2], [2]),
    work=Work(flops=lambda node: multiple_of_cube(node, 20)),  # about ten products
    complex="analytic",
    doc="The exponential of matrices, 1 + a + a²/2 + …, by scaling and squaring.",
)


expm_frechet: Primitive = custom(
    "expm_frechet",
    numpy=_expm_frechet,
    infer=frechet_type,
    jvp=[
        lambda t, out, a, e: second(expm_frechet, t, a, e),
        lambda t, out, a, e: expm_frechet(a, t),
    ],
    transpose=[None, lambda ct, a, e: expm_frechet(transposed(a), ct)],
    operands=(1,),
    axes=lambda a, e: stacks(a.ndim - 2, [2, 2], [2]),
    work=Work(flops=lambda node: multiple_of_cube(node, 160)),  # an exponential of twice as many rows
    complex="analytic",
    doc="The derivative of the exponential at a along e, which is linear in e.",
)
