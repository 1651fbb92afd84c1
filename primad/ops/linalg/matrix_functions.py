"""Functions of matrices and the linear equations of their derivatives, by SciPy: exponential, square root, Sylvester's.

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

__all__ = ["expm", "expm_frechet", "solve_sylvester", "sqrtm"]

Place = tuple[tuple[int, ...], int]


def _finite(*arrays: Any) -> Any:
    """Say of which matrices of stacks all elements are finite."""
    return np.all([np.isfinite(x).all(axis=(-2, -1)) for x in arrays], axis=0)


def _each(function: Callable[..., Any], type: Any, *arrays: Any) -> Any:
    """Apply a function to the matrices of stacks, one after the other; NaN for those that are not finite."""
    out = np.full(type.shape, np.nan, type.dtype)
    finite = _finite(*arrays)
    for place in np.ndindex(type.shape[:-2]):
        if finite[place]:
            out[place] = function(*[x[place] for x in arrays])
    return out


def _first(fails: Callable[..., bool], *arrays: Any) -> Place | None:
    """Return the place of the first matrix of a stack for which a function fails."""
    places = (place for place in np.ndindex(arrays[0].shape[:-2]) if _finite(*[x[place] for x in arrays]))
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
        raise ShapeError(f"solve_sylvester: matrices {a}, {b} and {q} do not fit")
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


def is_real_root(n: Any, found: Any, a: Any) -> Any:
    """Say of which complex matrices the real parts are square roots of the others, to rounding.

    Args:
        n: NumPy, or a module like it.
        found: a stack of complex matrices.
        a: the matrices whose roots they may be.
    """
    size, residual, imaginary = (_largest(n, x)[..., 0, 0] for x in (a, found @ found - a, found.imag))
    return n.maximum(residual, imaginary**2) <= math.sqrt(np.finfo(a.dtype).eps) * size


def _largest(n: Any, a: Any) -> Any:
    """Return the largest absolute value of each matrix, as a matrix of one element."""
    return n.max(n.abs(a), axis=(-2, -1), keepdims=True, initial=0)


def _root(a: Any) -> Any:
    """Return the principal square root of one matrix, or None if it has no real one."""
    if np.array_equal(a, a.T):
        found, real = symmetric_root(np, a)
        return found if real else None
    import warnings

    from scipy.linalg import sqrtm as of_one

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what it warns of is looked at here
        found = np.asarray(of_one(a))
        return np.asarray(found.real, a.dtype) if is_real_root(np, found, a) else None


def _real_root(a: Any) -> Any:
    found = _root(a)
    if found is None:
        raise np.linalg.LinAlgError("no real root")
    return found


sqrtm: Primitive = custom(
    "sqrtm",
    numpy=lambda a: _each(_real_root, a, a),
    infer=lambda a: square("sqrtm", a),
    jvp=[lambda t, out, a: solve_sylvester(out, out, t)],
    axes=lambda a: stacks(a.ndim - 2, [2], [2]),
    domain=domain_of_matrices(
        operand=0,
        own_axes=2,
        find=lambda a: _first(lambda x: _root(x) is None, a),
        say=lambda value, *types, **params: (
            "a matrix has no real principal square root: an eigenvalue is negative, or is 0 and not diagonalizable"
        ),
        fix="complex results are not supported; of a matrix that should be positive semidefinite, look at eigvalsh.",
        called="scipy.linalg.sqrtm",
    ),
    work=Work(flops=lambda node: _multiple_of_cube(node, 29)),  # Higham, Functions of Matrices (2008), 6.2
    doc="The principal square root x of matrices: x x = a, without eigenvalues left of the imaginary axis. Its "
    "derivative solves x ẋ + ẋ x = ȧ.",
)


# -- exponential -------------------------------------------------------------------------------------------------------


def _multiple_of_cube(node: Node, factor: int) -> Cost:
    *batch, _, n = node.type.shape
    return Cost(math.prod(batch) * factor * n**3, 0, node.type.nbytes, 1)


def _expm(a: Any) -> Any:
    """Compute exponentials by scaling and squaring, of all matrices of a stack at once.

    Source: A. H. Al-Mohy and N. J. Higham, "A new scaling and squaring algorithm for the matrix exponential", SIAM
    Journal on Matrix Analysis and Applications 31 (2009), which SciPy's follows.
    """
    from scipy.linalg import expm as exponential

    finite = _finite(a)
    with np.errstate(all="ignore"):
        if a.dtype.kind == "c":
            found = np.asarray(exponential(np.where(finite[..., None, None], a, a.dtype.type(0))))
            return np.where(finite[..., None, None], found, a.dtype.type(np.nan))
        mean = _mean_to_take_off(a)
        centred = np.where(finite[..., None, None], a, a.dtype.type(0)) - mean * np.eye(a.shape[-1], dtype=a.dtype)
        found = np.asarray(exponential(centred) * np.exp(mean))
        for place in map(tuple, np.argwhere(finite & ~_finite(found))):
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


def _expm_frechet(a: Any, e: Any) -> Any:
    with np.errstate(all="ignore"):
        return along_by_blocks(np, _expm, a, e)


def _second(t: Any, a: Any, e: Any) -> Any:
    """Return the change of the derivative along e when a moves along t, which is symmetric in t and e.

    It is the derivative of the exponential at [[a, e], [0, a]] along [[t, 0], [0, t]], in its corner; so it is linear
    in t, and can be transposed.
    """
    return _corner(expm_frechet(_block(a, e), _block(t, t - t)))


expm: Primitive = custom(
    "expm",
    numpy=_expm,
    infer=lambda a: square("expm", a),
    jvp=[lambda t, out, a: expm_frechet(a, t)],
    axes=lambda a: stacks(a.ndim - 2, [2], [2]),
    work=Work(flops=lambda node: _multiple_of_cube(node, 20)),  # about ten products
    complex="analytic",
    doc="The exponential of matrices, 1 + a + a²/2 + …, by scaling and squaring.",
)


def _frechet_type(a: ArrayType, e: ArrayType) -> ArrayType:
    square("expm_frechet", a)
    if a != e:
        raise ShapeError(f"expm_frechet: matrices {a} and their changes {e} do not fit")
    return a


expm_frechet: Primitive = custom(
    "expm_frechet",
    numpy=_expm_frechet,
    infer=_frechet_type,
    jvp=[
        lambda t, out, a, e: _second(t, a, e),
        lambda t, out, a, e: expm_frechet(a, t),
    ],
    transpose=[None, lambda ct, a, e: expm_frechet(transposed(a), ct)],
    operands=(1,),
    axes=lambda a, e: stacks(a.ndim - 2, [2, 2], [2]),
    work=Work(flops=lambda node: _multiple_of_cube(node, 160)),  # an exponential of twice as many rows
    complex="analytic",
    doc="The derivative of the exponential at a along e, which is linear in e.",
)
