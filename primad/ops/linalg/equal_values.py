"""Equal values of spectra: what derivatives of eigenvalues and singular values, and of their vectors, ask for.

Vectors of equal values are any orthonormal basis of a space, so nothing smooth is made of single ones. Values have
slopes there: along a direction those of the values in order; a cotangent is pulled back where it treats equal values
alike, as a sum over the spectrum does. Derivatives of the vectors are refused there, and other cotangents of values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, Zero, complex_dtype
from primad.ir.axes import stacks
from primad.ops.arrays.broadcasting import broadcast
from primad.ops.elementwise.conversion import cast
from primad.ops.linalg.factorization import domain_of_matrices
from primad.ops.record.fields import MemoryUse, always
from primad.ops.record.kinds import custom
from primad.ops.record.primitive import Primitive

__all__ = ["gaps", "slopes", "spread"]

ROUNDING = 8
"""Times the rounding of the largest value, for each row: LAPACK's values are right up to that. Chosen, as a margin over
its error bounds; values nearer to each other count as equal, so that derivatives depend on it."""


def near(x: Any) -> Any:
    """Say which values of each spectrum are equal to rounding, as stacks of square arrays."""
    with np.errstate(invalid="ignore"):
        return np.abs(x[..., None, :] - x[..., :, None]) <= rounding_of(x)[..., None]


def rounding_of(x: Any) -> Any:
    """Return how far apart values of each spectrum are that are equal to rounding."""
    return ROUNDING * x.shape[-1] * np.finfo(x.dtype).eps * np.max(np.abs(x), axis=-1, keepdims=True, initial=0)


def along(x: Any, axis: int) -> Any:
    """Repeat vectors as rows (1) or columns (0) of square matrices."""
    lead = x.ndim - 1
    return broadcast(x, shape=(*x.shape, x.shape[-1]), axes=(lead + 1 - axis,))


def _spectrum(name: str, x: ArrayType, of: str = "fd") -> ArrayType:
    if x.ndim < 1 or x.dtype.char not in of:
        raise ShapeError(
            f"{name}: {x} is no stack of vectors of 32 or 64 bit floats",
            fix="cast to float64; a vector needs one axis.",
        )
    return ArrayType((*x.shape, x.shape[-1]), x.dtype)


def _first(found: Any) -> tuple[tuple[int, ...], int] | None:
    """Return the place of the first vector with an element that was found, and which element."""
    where = np.argwhere(found)
    return (tuple(where[0, :-1].tolist()), int(where[0, -1])) if len(where) else None


def _has_equal(x: Any) -> bool:
    """Say whether any spectrum has equal values: of real ones in order, neighbours are the nearest."""
    if x.dtype.kind == "c":
        return bool(np.any(np.triu(near(x), 1)))
    with np.errstate(invalid="ignore"):
        return bool(np.any(np.diff(np.sort(x, axis=-1), axis=-1) <= rounding_of(x)))


def _equal(x: Any) -> tuple[tuple[int, ...], int] | None:
    return _first(np.any(np.triu(near(x), 1), axis=-1)) if _has_equal(x) else None


def _gaps(x: Any, *, out: Any = None) -> Any:
    if _has_equal(x):
        raise np.linalg.LinAlgError("equal values")
    with np.errstate(all="ignore"):
        found = np.subtract(x[..., None, :], x[..., :, None], out=out)
        diagonal = np.einsum("...ii->...i", found)
        diagonal += np.inf  # 1/∞ is 0; of values that are not finite it is NaN, as beside it
        np.divide(1, found, out=found)
    return found


gaps: Primitive = custom(
    "gaps",
    numpy=_gaps,
    infer=lambda x: _spectrum("gaps", x, "fdFD"),
    jvp=[lambda t, out, x: out * out * (along(t, 0) - along(t, 1))],
    axes=lambda x: stacks(x.ndim - 1, [1], [2]),
    domain=domain_of_matrices(
        operand=0,
        own_axes=1,
        find=_equal,
        say=lambda i, *types, **params: (
            f"the values {i} and {i + 1} of a matrix are equal (or the last is 0, of one "
            "that is not square), so that their vectors are any basis of a space, without a derivative"
        ),
        fix="ask for what does not depend on the basis, in a form in which primad sees it: (v * f(w)) @ v.conj().T and "
        "sums of f(w) over all eigenvalues of eigh, sums over svdvals, matrix_norm and det have derivatives there.",
        called="a derivative of vectors (np.linalg.eigh, svd, or second derivatives of values)",
    ),
    memory=MemoryUse(out=always),
    complex="analytic",
    doc="1/(x[j] − x[i]) for each pair of values, and 0 on the diagonal; none may be equal to rounding.",
)


def _zeros(x: Any, singular: bool) -> Any:
    return np.abs(x) <= rounding_of(x) if singular else np.zeros(x.shape, bool)


def _steep(s: Any, x: Any, *, singular: bool) -> tuple[tuple[int, ...], int] | None:
    """Return the first singular value that is zero and moves: up for either direction."""
    zero = _zeros(x, singular)
    return _first(zero & np.any((s != 0) & zero[..., None, :], axis=-1)) if zero.any() else None


def _slopes(s: Any, x: Any, *, singular: bool) -> Any:
    if _steep(s, x, singular=singular) is not None:
        raise np.linalg.LinAlgError("a singular value of 0")
    found = np.array(np.diagonal(s, axis1=-2, axis2=-1).real)
    if not _has_equal(x):
        return found
    alike = near(x)
    for place in map(tuple, np.argwhere(np.any(np.triu(alike, 1), axis=(-2, -1)))):
        values, starts = x[place], np.flatnonzero(~np.append(False, np.diagonal(alike[place], 1)))
        for start, stop in zip(starts, [*starts[1:], len(values)], strict=True):
            block = s[place][start:stop, start:stop]
            if stop - start > 1 and np.isfinite(block).all():
                slope = np.linalg.eigvalsh((block + block.conj().T) / 2)
                found[place][start:stop] = slope[::-1] if singular else slope
    return found


def _slopes_type(s: ArrayType, x: ArrayType, *, singular: bool) -> ArrayType:
    matrices = _spectrum("slopes", x)
    if s not in (matrices, ArrayType(matrices.shape, complex_dtype(x.dtype))):
        raise ShapeError(
            f"slopes: changes {s} do not fit the values {x}", fix="give changes of the shape and dtype of the values."
        )
    return x


slopes: Primitive = custom(
    "slopes",
    numpy=_slopes,
    infer=_slopes_type,
    jvp=lambda tangents, out, s, x, *, singular: (
        Zero(out.type) if isinstance(tangents[0], Zero) else slopes(tangents[0], x, singular=singular)
    ),
    transpose=[lambda ct, s, x, *, singular: cast(spread(ct, x, singular=singular), dtype=str(s.dtype)), None],
    operands=(0,),
    axes=lambda s, x, **params: stacks(x.ndim - 1, [2, 1], [1]),
    domain=domain_of_matrices(
        operand=1,
        own_axes=1,
        find=_steep,
        say=lambda i, *types, **params: f"the singular value {i} is 0, where it has a kink",
        fix="write what is wanted with the matrix itself: np.sum(a**2) for the sum of squares.",
        called="a derivative of singular values (np.linalg.svd, svdvals, norm)",
    ),
    complex="real-linear",
    doc="How fast the values of a spectrum rise where the matrix changes by s in the basis of its vectors: the "
    "diagonal of s, of complex numbers its real part, and among equal values the eigenvalues of their block, in order.",
)


def _uneven(ct: Any, x: Any, *, singular: bool) -> tuple[tuple[int, ...], int] | None:
    """Return the first value whose cotangent is not that of an equal value, or, for a singular value of 0, not 0."""
    allowed = np.sqrt(np.finfo(ct.dtype).eps) * np.max(np.abs(ct), axis=-1, keepdims=True, initial=0)
    found = _zeros(x, singular) & (np.abs(ct) > allowed)
    if _has_equal(x):
        with np.errstate(invalid="ignore"):
            apart = np.abs(ct[..., None, :] - ct[..., :, None]) > allowed[..., None]
        found |= np.any(near(x) & apart, axis=-1)
    return _first(found)


def _spread(ct: Any, x: Any, *, singular: bool, out: Any = None) -> Any:
    if _uneven(ct, x, singular=singular) is not None:
        raise np.linalg.LinAlgError("equal values")
    found = np.empty((*ct.shape, ct.shape[-1]), ct.dtype) if out is None else out
    found[...] = 0
    np.einsum("...ii->...i", found)[...] = ct
    return found


def _spread_type(ct: ArrayType, x: ArrayType, *, singular: bool) -> ArrayType:
    if ct != x:
        raise ShapeError(
            f"spread: cotangents {ct} do not fit the values {x}",
            fix="give cotangents of the shape and dtype of the values.",
        )
    return _spectrum("spread", x)


spread: Primitive = custom(
    "spread",
    numpy=_spread,
    infer=_spread_type,
    jvp=lambda tangents, out, ct, x, *, singular: (
        Zero(out.type) if isinstance(tangents[0], Zero) else spread(tangents[0], x, singular=singular)
    ),
    transpose=[lambda ct, w, x, *, singular: slopes(ct, x, singular=singular), None],
    operands=(0,),
    axes=lambda ct, x, **params: stacks(x.ndim - 1, [1, 1], [2]),
    domain=domain_of_matrices(
        operand=1,
        own_axes=1,
        find=_uneven,
        say=lambda i, *types, singular, **params: (
            f"the value {i} of a matrix "
            + ("is 0, or equal to another one" if singular else "is equal to another one")
            + ", and what is differentiated tells it apart, so that it has a kink there"
        ),
        fix="sums over the spectrum that treat equal values alike have derivatives, such as np.sum(np.exp(w)).",
        called="a derivative of eigenvalues or singular values (np.linalg.eigvalsh, svdvals, norm)",
    ),
    memory=MemoryUse(out=always),
    doc="Cotangents of values on the diagonal; equal values must have equal ones, and singular values of 0 none.",
)
