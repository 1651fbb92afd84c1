"""Functions of matrices and the equations of their derivatives, by SciPy: logarithm, square root, Sylvester's.

Matrices are the last two axes; those before are a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.axes import stacks
from primad.ir.node import Node
from primad.ir.program import Cost
from primad.ops.arrays.slicing import concatenate, pad, slice_
from primad.ops.linalg.factorization import domain_of_matrices, matrix_product, square, transposed
from primad.ops.record.fields import Work
from primad.ops.record.kinds import custom
from primad.ops.record.primitive import Primitive

__all__ = ["logm", "logm_frechet", "solve_sylvester", "sqrtm"]

Place = tuple[tuple[int, ...], int]


def are_finite(*arrays: Any) -> Any:
    """Say of which matrices of stacks all elements are finite."""
    return np.all([np.isfinite(x).all(axis=(-2, -1)) for x in arrays], axis=0)


def _each(function: Callable[..., Any], type: Any, *arrays: Any) -> Any:
    """Apply a function to the matrices of stacks, one after the other; NaN for those that are not finite."""
    out = np.full(type.shape, np.nan, type.dtype)
    if not out.size:  # LAPACK and SciPy take no matrices without elements
        return out
    finite = are_finite(*arrays)
    for place in np.ndindex(type.shape[:-2]):
        if finite[place]:
            out[place] = function(*[x[place] for x in arrays])
    return out


def _first(fails: Callable[..., bool], *arrays: Any) -> Place | None:
    """Return the place of the first matrix of a stack for which a function fails."""
    places = (place for place in np.ndindex(arrays[0].shape[:-2]) if are_finite(*[x[place] for x in arrays]))
    return next(((place, 0) for place in places if fails(*[x[place] for x in arrays])), None)


# -- Sylvester's equation ----------------------------------------------------------------------------------------------


def _sylvester(a: Any, b: Any, q: Any) -> tuple[Any, bool]:
    """Solve one equation by Schur forms; say whether it has one solution, to rounding.

    Source: R. H. Bartels and G. W. Stewart, "Solution of the matrix equation AX + XB = C", Communications of the ACM 15
    (1972).
    """
    from scipy.linalg import lapack, schur  # importing it takes longer than primad itself does

    if not q.size:
        return q, True
    whole = a.dtype.kind == "c"
    (r, u), (s, v) = (schur(x, "complex" if whole else "real", check_finite=False) for x in (a, b.conj().T))
    right = u.conj().T @ q @ v
    (trsyl,) = lapack.get_lapack_funcs(("trsyl",), (r, s, right))
    y, scale, info = trsyl(r, s, right, tranb="C" if whole else "T")
    return u @ (scale * y) @ v.conj().T, info == 0


def _solved(a: Any, b: Any, q: Any) -> Any:
    found, single = _sylvester(a, b, q)
    if not single:
        raise np.linalg.LinAlgError("common eigenvalues")
    return found


def _sylvester_type(a: ArrayType, b: ArrayType, q: ArrayType) -> ArrayType:
    square("solve_sylvester", a)
    square("solve_sylvester", b)
    if q.shape != (*a.shape[:-1], b.shape[-1]) or a.shape[:-2] != b.shape[:-2] or not a.dtype == b.dtype == q.dtype:
        raise ShapeError(
            f"solve_sylvester: matrices {a}, {b} and {q} do not fit",
            fix="give square a and b, and q with the rows of a and the columns of b.",
        )
    return q


def _sylvester_cost(node: Node) -> Cost:
    """Count two Schur forms, and solving with them (Golub and Van Loan, Matrix Computations, 7.6)."""
    *batch, m, n = node.type.shape
    return Cost(math.prod(batch) * (25 * (m**3 + n**3) + 5 * (m * m * n + m * n * n) // 2), 0, node.type.nbytes, 1)


solve_sylvester: Primitive = custom(
    "solve_sylvester",
    numpy=lambda a, b, q: _each(_solved, q, a, b, q),
    infer=_sylvester_type,
    jvp=[
        lambda t, out, a, b, q: -solve_sylvester(a, b, matrix_product(t, out)),
        lambda t, out, a, b, q: -solve_sylvester(a, b, matrix_product(out, t)),
        lambda t, out, a, b, q: solve_sylvester(a, b, t),
    ],
    transpose=[None, None, lambda ct, a, b, q: solve_sylvester(transposed(a), transposed(b), ct)],
    operands=(2,),
    axes=lambda a, b, q: stacks(a.ndim - 2, [2, 2, 2], [2]),
    domain=domain_of_matrices(
        operand=0,
        own_axes=2,
        find=lambda a, b, q: _first(lambda *xs: not _sylvester(*xs)[1], a, b, q),
        say=lambda value, *types, **params: (
            "an eigenvalue of the one matrix is, to rounding, the negative of one of the other's, so that there is no "
            "single solution"
        ),
        fix="a square root has a derivative where the matrix is not singular, and Lyapunov's equation one solution "
        "where no two eigenvalues add to 0 (or, of the discrete one, multiply to 1).",
        called="scipy.linalg.solve_sylvester (or solve_continuous_lyapunov, solve_discrete_lyapunov, a derivative of "
        "sqrtm)",
    ),
    work=Work(flops=_sylvester_cost),
    complex="analytic",
    doc="The x with a x + x b = q, by Schur forms and LAPACK's trsyl.",
)


# -- square root -------------------------------------------------------------------------------------------------------


def symmetric_root(n: Any, a: Any) -> tuple[Any, Any]:
    """Return the square roots of symmetric matrices, and which of them are real: no eigenvalue is negative.

    Args:
        n: NumPy, or a module like it.
        a: a stack of matrices.
    """
    values, vectors = n.linalg.eigh(a)
    least = -a.shape[-1] * np.finfo(a.dtype).eps * n.max(n.abs(values), axis=-1, keepdims=True, initial=0)
    roots = n.sqrt(n.maximum(values, 0))[..., None, :]
    return (vectors * roots) @ n.swapaxes(vectors, -1, -2), n.all(values >= least, axis=-1)


def is_root(n: Any, found: Any, a: Any) -> Any:
    """Say of which matrices the roots are these, to rounding; of real ones, these without imaginary parts.

    Args:
        n: NumPy, or a module like it.
        found: a stack of complex matrices.
        a: the matrices whose roots they may be.
    """
    lost = found.imag if a.dtype.kind == "f" else 0 * a
    size, residual, imaginary = (_largest(n, x)[..., 0, 0] for x in (a, found @ found - a, lost))
    return n.maximum(residual, imaginary**2) <= math.sqrt(np.finfo(a.dtype).eps) * size


def _largest(n: Any, a: Any) -> Any:
    """Return the largest absolute value of each matrix, as a matrix of one element."""
    return n.max(n.abs(a), axis=(-2, -1), keepdims=True, initial=0)


def _root(a: Any) -> Any:
    """Return the principal square root of one matrix, or None if it has none of its dtype."""
    if a.dtype.kind == "f" and np.array_equal(a, a.T):
        found, real = symmetric_root(np, a)
        return found if real else None
    import warnings

    from scipy.linalg import sqrtm as of_one

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what it warns of is looked at here
        found = np.asarray(of_one(a))
        return _of_dtype(found, a) if is_root(np, found, a) else None


def _of_dtype(found: Any, a: Any) -> Any:
    """Return a result in the dtype of the matrix, of a real one without the imaginary parts."""
    return np.asarray(found.real if a.dtype.kind == "f" else found, a.dtype)


def _existing(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of matrices that raises where another one finds nothing."""

    def found(a: Any) -> Any:
        value = function(a)
        if value is None:
            raise np.linalg.LinAlgError("no such matrix")
        return value

    return found


sqrtm: Primitive = custom(
    "sqrtm",
    numpy=lambda a: _each(_existing(_root), a, a),
    infer=lambda a: square("sqrtm", a),
    jvp=[lambda t, out, a: solve_sylvester(out, out, t)],
    axes=lambda a: stacks(a.ndim - 2, [2], [2]),
    domain=domain_of_matrices(
        operand=0,
        own_axes=2,
        find=lambda a: _first(lambda x: _root(x) is None, a),
        say=lambda value, a, **params: (
            "a matrix has no principal square root: the eigenvalue 0 is not diagonalizable"
            if a.is_complex
            else "a matrix has no real principal square root: an eigenvalue is negative, or is 0 and not diagonalizable"
        ),
        fix="a complex root is that of a.astype(complex); of a matrix that should be positive semidefinite, look at "
        "eigvalsh.",
        called="scipy.linalg.sqrtm",
    ),
    work=Work(flops=lambda node: multiple_of_cube(node, 29)),  # Higham, Functions of Matrices (2008), 6.2
    complex="analytic",
    doc="The principal square root x of matrices: x x = a, without eigenvalues left of the imaginary axis. Its "
    "derivative solves x ẋ + ẋ x = ȧ.",
)


# -- derivatives of functions of matrices ------------------------------------------------------------------------------


def multiple_of_cube(node: Node, factor: int) -> Cost:
    """Count a multiple of the cubes of the rows of matrices."""
    *batch, _, n = node.type.shape
    return Cost(math.prod(batch) * factor * n**3, 0, node.type.nbytes, 1)


def _block(a: Any, e: Any) -> Any:
    """Return the matrices [[a, e], [0, a]]."""
    rows, columns = a.ndim - 2, a.ndim - 1
    n, lead = a.shape[-1], (0,) * (a.ndim - 2)
    below = pad(a, low=(*lead, 0, n), high=(0,) * a.ndim, interior=(0,) * a.ndim)
    return concatenate(concatenate(a, e, axis=columns), below, axis=rows)


def _corner(x: Any) -> Any:
    """Return the upper right quarter of matrices."""
    lead, n = x.shape[:-2], x.shape[-1] // 2
    return slice_(x, start=(*[0] * len(lead), 0, n), stop=(*lead, n, 2 * n), step=(1,) * x.ndim)


def along_by_blocks(n: Any, exponential: Callable[[Any], Any], a: Any, e: Any) -> Any:
    """Read the derivative off the exponential of [[a, e], [0, a]]. It is linear in e, which is made of size 1 for it.

    So the block needs no more squarings than a does, and overflows nowhere but where the derivative does.

    Source: N. J. Higham, Functions of Matrices (2008), 3.2, after R. Mathias (1996).

    Args:
        n: NumPy, or a module like it.
        exponential: of a stack of matrices, of that module.
        a: a stack of matrices.
        e: along what they change.
    """
    largest, rows = _largest(n, e), a.shape[-1]
    size = n.where((largest > 0) & n.isfinite(largest), largest, a.dtype.type(1))
    upper = n.concatenate([a, e / size], axis=-1)
    block = n.concatenate([upper, n.concatenate([n.zeros_like(a), a], axis=-1)], axis=-2)
    return exponential(block)[..., :rows, rows:] * size


def second(along: Callable[[Any, Any], Any], t: Any, a: Any, e: Any) -> Any:
    """Return the change of the derivative along e when a moves along t, which is symmetric in t and e.

    It is the derivative of the function at [[a, e], [0, a]] along [[t, 0], [0, t]], in its corner; so it is linear
    in t, and can be transposed.
    """
    return _corner(along(_block(a, e), _block(t, t - t)))


def frechet_type(a: ArrayType, e: ArrayType) -> ArrayType:
    """Return the type of a derivative of a function of matrices; raise where the change does not fit."""
    square("a derivative of a function of matrices", a)
    if a != e:
        raise ShapeError(
            f"matrices {a} and their changes {e} do not fit", fix="give changes of the shape and dtype of the matrices."
        )
    return a


# -- logarithm ---------------------------------------------------------------------------------------------------------


def logarithm(a: Any) -> Any:
    """Return the principal logarithm of one matrix, or None if it has none of its dtype."""
    import warnings

    from scipy.linalg import expm as exponential
    from scipy.linalg import logm as of_one

    sizes = np.linalg.svd(a, compute_uv=False)
    if sizes[-1] <= len(a) * np.finfo(a.dtype).eps * sizes[0]:
        return None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what it warns of is looked at here
        found = np.asarray(of_one(a))
        value = _of_dtype(found, a)
        apart, size = (_largest(np, x)[..., 0, 0] for x in (np.asarray(exponential(value)) - a, a))
        return value if apart <= math.sqrt(np.finfo(a.dtype).eps) * size else None


def _logarithms(a: Any) -> Any:
    return _each(_existing(logarithm), a, a)


def _has_none(a: Any) -> bool:
    return logarithm(a) is None


_LOGARITHM: dict[str, Any] = {
    "own_axes": 2,
    "say": lambda value, a, *types, **params: (
        "a matrix has no principal logarithm: it is singular"
        if a.is_complex
        else "a matrix has no real principal logarithm: an eigenvalue is negative or 0"
    ),
    "fix": "a complex logarithm is that of a.astype(complex), unless the matrix is singular.",
    "called": "primad.scipy.linalg.logm, or a derivative of it",
}
logm: Primitive = custom(
    "logm",
    numpy=_logarithms,
    infer=lambda a: square("logm", a),
    jvp=[lambda t, out, a: logm_frechet(a, t)],
    axes=lambda a: stacks(a.ndim - 2, [2], [2]),
    domain=domain_of_matrices(operand=0, find=lambda a: _first(_has_none, a), **_LOGARITHM),
    work=Work(flops=lambda node: multiple_of_cube(node, 25)),  # Higham, Functions of Matrices (2008), 11.5
    complex="analytic",
    doc="The principal logarithm of matrices, whose exponentials they are, by inverse scaling and squaring.",
)
logm_frechet: Primitive = custom(
    "logm_frechet",
    numpy=lambda a, e: along_by_blocks(np, _logarithms, a, e),
    infer=frechet_type,
    jvp=[
        lambda t, out, a, e: second(logm_frechet, t, a, e),
        lambda t, out, a, e: logm_frechet(a, t),
    ],
    transpose=[None, lambda ct, a, e: logm_frechet(transposed(a), ct)],
    operands=(1,),
    axes=lambda a, e: stacks(a.ndim - 2, [2, 2], [2]),
    domain=domain_of_matrices(operand=0, find=lambda a, e: _first(_has_none, a), **_LOGARITHM),
    work=Work(flops=lambda node: multiple_of_cube(node, 200)),  # a logarithm of twice as many rows
    complex="analytic",
    doc="The derivative of the principal logarithm at a along e, which is linear in e.",
)
