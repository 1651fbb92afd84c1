"""Mass matrices: M y′ = f(t, y) with a constant M, which is singular where some equations have no derivative.

Such a system is differential-algebraic, of index 1 where the equations without derivatives can be solved for as many
unknowns. Source: E. Hairer and G. Wanner, Solving Ordinary Differential Equations II (second edition, 1996), section
VI.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.functional.derivatives.lazy_matrices import jacobian
from primad.functional.derivatives.recorded_jacobians import SPARSE_FROM
from primad.functional.recorded_values import value
from primad.implicit.matrix_factors import MatrixFactors
from primad.integrate.complex_parts import matrix_of_parts, of_parts, parts, whole
from primad.integrate.method_steps import Method
from primad.integrate.rosenbrock import STIFF
from primad.ir.array_types import is_complex
from primad.numpy.linalg.sparse_arrays import TracedSparse
from primad.recording.traced_array import TracedArray

Array = np.ndarray[Any, Any]
LARGEST = 1000
"""Rows of a block of a sparse matrix that is looked at for what it takes to zero. Chosen: that takes a second."""
NEARLY = 1e-8
"""Share of the largest pivot below which a sparse matrix may be singular, so that its blocks are looked at."""


def checked_mass(mass: Any, method: str, y0: Any) -> Any:
    """Return a mass matrix as an array, or of many values as a sparse one if it is given as such; None for none.

    Raises:
        TracingError: for a method that takes none, for a matrix that is traced, and a complex one of real values.
        ShapeError: for one of another shape.
    """
    if mass is None:
        return None
    if method not in STIFF:
        raise TracingError(
            f"solve_ivp: {method!r} takes no mass matrix",
            fix=f"choose {' or '.join(map(repr, STIFF))}, whose systems have one; or solve for y′ in fun.",
        )
    if isinstance(mass, TracedArray):
        raise TracingError(
            "solve_ivp: the mass matrix is traced",
            why="It is constant, to derivatives too.",
            fix="let the function close over it. What depends on arguments goes into fun: np.linalg.solve(M, f).",
        )
    if isinstance(mass, TracedSparse):
        return _of_size(mass, y0)
    if hasattr(mass, "toarray") and y0.size >= SPARSE_FROM and not is_complex(y0.dtype):
        return _of_size(mass.tocsc().astype(y0.dtype), y0)
    found = np.asarray(mass.toarray() if hasattr(mass, "toarray") else mass)
    if is_complex(found.dtype) and not is_complex(y0.dtype):
        raise TracingError(
            "solve_ivp: a complex mass matrix of real values",
            fix="begin with complex numbers: np.asarray(y0, complex).",
        )
    return _of_size(found, y0).astype(y0.dtype)


def _of_size(mass: Any, y0: Any) -> Any:
    if mass.shape != (y0.size, y0.size):
        raise ShapeError(
            f"solve_ivp: a mass matrix of shape {mass.shape} for a y0 of {y0.size} elements",
            fix=f"give a matrix of {y0.size} rows and columns.",
        )
    return mass


def with_mass(method: Method, mass: Any) -> Method:
    """Return a method for a system with a mass matrix."""
    return method if mass is None else replace(method, step=partial(method.step, mass=mass))


def check_consistent(fun: Callable[..., Any], start: Any, y0: Any, mass: Any, rtol: Any, atol: Any) -> None:
    """Raise where the equations without derivatives do not hold at the beginning, as far as values are known.

    How far the initial value is from one where they hold says a step of Newton's method in what they are solved for.

    Raises:
        ShapeError: if they do not hold within the tolerances, or cannot be solved.
    """
    if isinstance(mass, TracedSparse):
        return
    if hasattr(mass, "toarray"):
        _check_sparse(fun, start, y0, mass, rtol, atol)
        return
    from scipy.linalg import null_space  # loads when it is called

    has_parts = is_complex(y0.dtype)
    if has_parts:
        fun, y0, mass = of_parts(fun), parts(y0), matrix_of_parts(mass)
    equations, unknowns = null_space(mass.T), null_space(mass)
    if not equations.shape[1]:
        return
    try:
        at, time = np.asarray(value(y0)), value(start)
        slope, matrix = np.asarray(value(fun(time, at))), np.asarray(value(jacobian(lambda y: fun(time, y))(at)[:]))
    except TracingError:
        return
    small = equations.T @ matrix @ unknowns
    if not np.all(np.isfinite(small)) or np.linalg.cond(small) * np.finfo(np.float64).eps > 1:
        raise _of_higher_index()
    moved = unknowns @ np.linalg.solve(small, -(equations.T @ slope))
    at, moved = (whole(at), whole(moved)) if has_parts else (at, moved)
    _check_moves(at, moved, rtol, atol)


def _check_sparse(fun: Callable[..., Any], start: Any, y0: Any, mass: Any, rtol: Any, atol: Any) -> None:
    """Check what `check_consistent` does of a sparse matrix."""
    equations, unknowns = _null_spaces(mass)
    if not equations.shape[1]:
        return
    try:
        at, time = np.asarray(value(y0)), value(start)
        slope = np.asarray(value(fun(time, at)))
        matrix = jacobian(lambda y: fun(time, y))(at).sparse("csc")
        small = MatrixFactors((equations.T @ matrix @ unknowns).tocsc())
    except TracingError:
        return
    except (np.linalg.LinAlgError, ValueError):
        raise _of_higher_index() from None
    _check_moves(at, unknowns @ small.solve(-(equations.T @ slope)), rtol, atol)


def _null_spaces(mass: Any) -> tuple[Any, Any]:
    """Return sparse bases of what the transpose of a sparse matrix takes to zero, and of what the matrix does.

    Rows and columns without entries are there at once. Of the others, those that entries connect are a block, which has
    bases of its own; blocks of more than `LARGEST` rows are taken for regular.
    """
    mass = mass.copy()
    mass.eliminate_zeros()
    filled = np.diff(mass.tocsr().indptr) > 0, np.diff(mass.indptr) > 0
    found = [[(np.array([i]), np.ones(1)) for i in np.flatnonzero(~one)] for one in filled]
    rows, columns = map(np.flatnonzero, filled)
    rest = mass[rows][:, columns]
    if not _is_regular(rest):
        for own, others in _blocks(rest):
            dense = rest[own][:, others].toarray()
            found[0].extend((rows[own], one) for one in _null_vectors(dense.T))
            found[1].extend((columns[others], one) for one in _null_vectors(dense))
    return _as_columns(found[0], mass.shape[0]), _as_columns(found[1], mass.shape[0])


def _is_regular(matrix: Any) -> bool:
    """Say whether the factors of a sparse matrix have no pivot that is nearly zero."""
    from scipy.sparse.linalg import splu  # loads when it is called

    if matrix.shape[0] != matrix.shape[1]:
        return False
    try:
        pivots = np.abs(splu(matrix.tocsc()).U.diagonal()) if matrix.shape[0] else np.ones(1)
    except RuntimeError:  # what SciPy raises of a singular matrix
        return False
    return bool(np.min(pivots) > NEARLY * np.max(pivots))


def _blocks(matrix: Any) -> Iterator[tuple[Array, Array]]:
    """Yield the rows and columns of blocks that may be singular."""
    from scipy.sparse import block_array  # loads when it is called
    from scipy.sparse.csgraph import connected_components

    whole = block_array([[None, matrix], [matrix.T, None]])
    order = connected_components(whole, directed=False)[1]
    sizes = [np.bincount(part, minlength=order.max() + 1) for part in np.split(order, [matrix.shape[0]])]
    for block in np.flatnonzero((sizes[0] + sizes[1] > 2) & (np.maximum(*sizes) <= LARGEST)):
        yield np.flatnonzero(order[: matrix.shape[0]] == block), np.flatnonzero(order[matrix.shape[0] :] == block)


def _null_vectors(matrix: Array) -> Array:
    from scipy.linalg import null_space  # loads when it is called

    found: Array = null_space(matrix).T
    return found


def _as_columns(vectors: Sequence[tuple[Array, Array]], length: int) -> Any:
    """Return a sparse matrix whose columns have some numbers at some places."""
    from scipy.sparse import csc_array  # loads when it is called

    if not vectors:
        return csc_array((length, 0))
    places, numbers = (np.concatenate(part) for part in zip(*vectors, strict=True))
    starts = np.cumsum([0, *[len(one) for one, _ in vectors]])
    return csc_array((numbers, places, starts), (length, len(vectors)))


def _check_moves(at: Array, moved: Array, rtol: Any, atol: Any) -> None:
    excess = np.abs(moved) / (atol + rtol * np.abs(at))
    worst = int(np.argmax(excess))
    if excess[worst] > 1:
        raise ShapeError(
            f"solve_ivp: y0 is not consistent: y0[{worst}] = {at[worst]:.6g} is off by about {moved[worst]:.3g}",
            why="Where the mass matrix is singular, some equations have no derivative, and hold from the start.",
            fix=f"begin at about y0 + {np.array2string(moved, precision=4, threshold=8)}, or solve them by "
            "primad.implicit.root, through which derivatives go.",
        )


def _of_higher_index() -> ShapeError:
    return ShapeError(
        "solve_ivp: the equations without derivatives cannot be solved for the unknowns without derivatives",
        why="The mass matrix is singular, and so is the Jacobian of the one in the other: the index is above 1.",
        fix="differentiate these equations in time until they determine the unknowns, and pass that system.",
    )
