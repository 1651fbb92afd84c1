"""Factorizations of matrices in exact arithmetic, as textbooks write them: what LAPACK's are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np


def solve_triangular(n: Any, a: Any, b: Any, *, lower: bool, transpose: bool, unit: bool) -> Any:
    """Solve by substitution, reading the named triangle only."""
    if transpose:
        return solve_triangular(n, np.swapaxes(a, -1, -2), b, lower=not lower, transpose=False, unit=unit)
    out = np.empty(b.shape, object)
    size = a.shape[-1]
    for index in np.ndindex(b.shape[:-2]):
        x, matrix = out[index], a[index]
        for i in range(size) if lower else reversed(range(size)):
            known = range(i) if lower else range(i + 1, size)
            for j in range(b.shape[-1]):
                rest = sum((matrix[i, k] * x[k, j] for k in known), n.number(0))
                x[i, j] = b[index][i, j] - rest if unit else n.divide(b[index][i, j] - rest, matrix[i, i])
    return out


def _conj(x: Any) -> Any:
    """Return the conjugates of numbers; real ones as they are."""
    return np.frompyfunc(lambda z: z.conjugate(), 1, 1)(x)


def _is_complex(z: Any) -> bool:
    return bool(getattr(z, "imag", 0) != 0)


def _adjoint(x: Any) -> Any:
    return np.swapaxes(_conj(x), -1, -2)


def _real(n: Any, z: Any) -> Any:
    """Return what is real but for rounding."""
    return n.real(z) if hasattr(z, "imag") else z


def _length(n: Any, v: Any) -> Any:
    return n.sqrt(_real(n, sum((x * y for x, y in zip(v, _conj(v), strict=True)), n.number(0))))


def _rounded(x: Any) -> Any:
    """Return numbers as floats, real ones if they are."""
    return x.astype(complex if any(map(_is_complex, x.flat)) else float)


def qr(n: Any, a: Any) -> tuple[Any, Any]:
    """Make one column after the other orthogonal to those before, by Gram and Schmidt; signs are LAPACK's."""
    columns = a.shape[-1]
    q = np.empty(a.shape, object)
    r = np.full((*a.shape[:-2], columns, columns), n.number(0), object)
    for index in np.ndindex(a.shape[:-2]):
        signs = np.sign(np.diagonal(np.linalg.qr(_rounded(a[index])).R).real)
        for k in range(columns):
            rest = a[index][:, k].copy()
            for j in range(k):
                r[index][j, k] = _conj(q[index][:, j]) @ a[index][:, k]
                rest = rest - q[index][:, j] * r[index][j, k]
            r[index][k, k] = _length(n, rest) * int(signs[k])
            q[index][:, k] = [n.divide(x, r[index][k, k]) for x in rest]
    return q, r


def _identity(n: Any, size: int) -> Any:
    return np.array([[n.number(int(i == j)) for j in range(size)] for i in range(size)], object).reshape(size, size)


def lu(n: Any, a: Any) -> tuple[Any, Any, Any]:
    """Eliminate one column after the other below the largest element that is left in it."""
    factors, size = a.copy(), a.shape[-1]
    order = np.empty(a.shape[:-1], np.int64)
    parity = np.empty(a.shape[:-2], object)
    for index in np.ndindex(a.shape[:-2]):
        rest, rows, sign = factors[index], list(range(size)), n.number(1)
        for k in range(size):
            pivot = k
            for i in range(k + 1, size):
                if n.less(_pivot_size(n, rest[pivot, k]), _pivot_size(n, rest[i, k])):
                    pivot = i
            if pivot != k:
                rest[[k, pivot]] = rest[[pivot, k]]
                rows[k], rows[pivot], sign = rows[pivot], rows[k], -sign
            for i in range(k + 1, size):
                rest[i, k] = n.divide(rest[i, k], rest[k, k])
                rest[i, k + 1 :] = rest[i, k + 1 :] - rest[i, k] * rest[k, k + 1 :]
        order[index], parity[index] = rows, sign
    return factors, order, parity


def _pivot_size(n: Any, x: Any) -> Any:
    """Return what LAPACK compares, |re| + |im|."""
    return _size(n, n.real(x)) + _size(n, n.imag(x)) if _is_complex(x) else _size(n, _real(n, x))


def _size(n: Any, x: Any) -> Any:
    return n.choose(n.less(x, n.number(0)), -x, x)


def cholesky(n: Any, a: Any) -> Any:
    """Find one row after the other of the factor; the lower triangle is read."""
    out = np.empty(a.shape, object)
    for index in np.ndindex(a.shape[:-2]):
        matrix, found = a[index], out[index]
        found[...] = n.number(0)
        for i in range(a.shape[-1]):
            for j in range(i + 1):
                known = sum((found[i, k] * _conj(found[j, k]) for k in range(j)), n.number(0))
                rest = matrix[i, j] - known
                found[i, j] = n.sqrt(_real(n, rest)) if i == j else n.divide(rest, found[j, j])
    return out


def det(n: Any, a: Any) -> Any:
    """Expand along the first row, again and again."""
    out = np.empty(a.shape[:-2], object)
    for index in np.ndindex(out.shape):
        out[index] = _expanded(n, a[index])
    return out


def _expanded(n: Any, matrix: Any) -> Any:
    if not matrix.size:
        return n.number(1)
    return sum(
        ((-1) ** j * matrix[0, j] * _expanded(n, _without(matrix, 0, j)) for j in range(len(matrix))), n.number(0)
    )


def _without(matrix: Any, row: int, column: int) -> Any:
    return np.delete(np.delete(matrix, row, 0), column, 1)


def inv(n: Any, a: Any) -> Any:
    """Divide the cofactors by the determinant."""
    out, below, size = np.empty(a.shape, object), det(n, a), a.shape[-1]
    for index in np.ndindex(a.shape[:-2]):
        for i in range(size):
            for j in range(size):
                cofactor = (-1) ** (i + j) * _expanded(n, _without(a[index], j, i))
                out[index][i, j] = n.divide(cofactor, below[index])
    return out


def cofactors(n: Any, a: Any) -> Any:
    """Take the determinants of what is left without each row and column."""
    out = np.empty(a.shape, object)
    for (*place, i, j), _ in np.ndenumerate(a):
        out[(*place, i, j)] = (-1) ** (i + j) * _expanded(n, _without(a[tuple(place)], i, j))
    return out


def cofactors_along(n: Any, a: Any, b: Any) -> Any:
    """Change one row after the other: determinants are linear in each."""
    total = a * 0
    for row in range(a.shape[-1]):
        changed, fixed = a.copy(), a.copy()
        changed[..., row, :] = b[..., row, :]
        fixed[..., row, :] = fixed[..., row, :] * 0
        total = total + cofactors(n, changed) - cofactors(n, fixed)
    return total


def solve(n: Any, a: Any, b: Any) -> Any:
    """Multiply by the inverse."""
    out, inverse = np.empty(b.shape, object), inv(n, a)
    for index in np.ndindex(b.shape[:-2]):
        out[index] = inverse[index] @ b[index]
    return out


def logabsdet(n: Any, a: Any) -> Any:
    """Take the logarithm of the determinant's size."""
    return np.frompyfunc(lambda x: n.log(_size(n, x)), 1, 1)(det(n, a))


# -- spectra -----------------------------------------------------------------------------------------------------------


def eigh(n: Any, a: Any, *, lower: bool) -> tuple[Any, Any]:
    """Improve what LAPACK finds for one triangle, whose order and signs are kept."""
    values, vectors = np.empty(a.shape[:-1], object), np.empty(a.shape, object)
    for index in np.ndindex(a.shape[:-2]):
        below = a[index] if lower else _adjoint(a[index])
        matrix = np.where(np.tri(len(below), dtype=bool), below, _adjoint(below))
        for i in range(len(matrix)):
            matrix[i, i] = _real(n, matrix[i, i])
        start = np.linalg.eigh(_rounded(matrix), "L" if lower else "U")[1]
        values[index], found = _improved(n, matrix, start)
        vectors[index] = _turned(n, found, 0 if lower else len(matrix) - 1)
    return values, vectors


def _turned(n: Any, x: Any, row: int) -> Any:
    """Turn columns so that their elements in a row are real; their signs are kept."""
    out = x.copy()
    for j in range(x.shape[1]):
        if _is_complex(x[row, j]):
            size = _length(n, x[row, [j]])
            turn = n.divide(_conj(x[row, j]), size if n.less(0, n.real(x[row, j])) else -size)
            out[:, j] = x[:, j] * turn
    return out


def eig(n: Any, a: Any) -> tuple[Any, Any, Any]:
    """Improve what LAPACK finds: with s = x⁻¹ a x, each step x + x (s / (s[j,j] − s[i,i])) doubles the digits."""
    values, places = (np.empty(a.shape[:-1], dtype) for dtype in (object, np.int64))
    vectors, size = np.empty(a.shape, object), a.shape[-1]
    for index in np.ndindex(a.shape[:-2]):
        start = np.linalg.eig(_rounded(a[index])).eigenvectors
        x = np.array([[n.number(complex(entry)) for entry in row] for row in start], object).reshape(size, size)
        for _ in range(9):
            s = inv(n, x) @ a[index] @ x
            for i, j in np.ndindex(size, size):
                s[i, j] = s[i, j] if i == j else n.divide(s[i, j], s[j, j] - s[i, i])
            x = x + x @ (s - np.diag(np.diagonal(s)))
        places[index] = np.argmax(np.abs(start), axis=0)
        values[index] = np.diagonal(inv(n, x) @ a[index] @ x)
        for j, place in enumerate(places[index]):
            column = np.array([n.divide(z, _length(n, x[:, j])) for z in x[:, j]], object)
            vectors[index][:, j] = _turned(n, column[:, None], place)[:, 0]
    return values, vectors, places


def left_vectors(n: Any, v: Any, w: Any, told: Any) -> Any:
    """Take the inverse."""
    return inv(n, v)


def svd(n: Any, a: Any) -> tuple[Any, Any, Any]:
    """Improve the eigenvectors of aᵀ a that LAPACK finds; the others are their images."""
    *lead, rows, columns = a.shape
    k = min(rows, columns)
    u, s, vh = (np.empty((*lead, *shape), object) for shape in ((rows, k), (k,), (k, columns)))
    for index in np.ndindex(*lead):
        matrix, (left, _, right) = a[index], np.linalg.svd(_rounded(a[index]), full_matrices=False)
        wide = columns > rows
        matrix, start = (_adjoint(matrix), left) if wide else (matrix, right.conj().T)
        squares, found = _improved(n, _adjoint(matrix) @ matrix, start)
        found = _turned(n, found, 0)
        s[index] = [n.sqrt(x) for x in squares]
        images = matrix @ found
        for j in range(k):
            images[:, j] = [n.divide(x, s[index][j]) for x in images[:, j]]
        u[index], vh[index] = (found, _adjoint(images)) if wide else (images, _adjoint(found))
    return u, s, vh


def _improved(n: Any, a: Any, start: Any) -> tuple[Any, Any]:
    """Improve approximate eigenvectors of a Hermitian matrix; each step doubles the digits.

    Source: T. Ogita and K. Aishima, "Iterative refinement for symmetric eigenvalue decomposition", Japan Journal of
    Industrial and Applied Mathematics 35 (2018).
    """
    size = len(a)
    x = np.array([[n.number(entry.item()) for entry in row] for row in start], object).reshape(size, size)
    values = np.empty(size, object)
    for _ in range(7):
        rest, s = _identity(n, size) - _adjoint(x) @ x, _adjoint(x) @ a @ x
        values = np.array([_real(n, n.divide(s[i, i], 1 - rest[i, i])) for i in range(size)], object)
        step = np.empty((size, size), object)
        for i in range(size):
            for j in range(size):
                top = s[i, j] + values[j] * rest[i, j]
                step[i, j] = n.divide(rest[i, i], 2) if i == j else n.divide(top, values[j] - values[i])
        x = x + x @ step
    return values, x


def gaps(n: Any, x: Any) -> Any:
    """Divide one by each difference."""
    out = np.empty((*x.shape, x.shape[-1]), object)
    for (*place, i, j), _ in np.ndenumerate(out):
        row = x[tuple(place)]
        out[(*place, i, j)] = n.number(0) if i == j else n.divide(1, row[j] - row[i])
    return out


def slopes(n: Any, s: Any, x: Any, *, singular: bool) -> Any:
    """Take the real parts of the diagonals: all values differ."""
    return np.frompyfunc(lambda z: _real(n, z), 1, 1)(np.diagonal(s, axis1=-2, axis2=-1))


def pinv(n: Any, a: Any, *, cutoff: float) -> Any:
    """Multiply by the inverse of aᴴ a, or of a aᴴ, for matrices of full rank; else invert values above the cutoff."""
    swapped = _adjoint(a)
    if cutoff < TINY:
        return inv(n, swapped @ a) @ swapped if a.shape[-1] <= a.shape[-2] else swapped @ inv(n, a @ swapped)
    out = np.empty(swapped.shape, object)
    u, s, vh = svd(n, a)
    for index in np.ndindex(a.shape[:-2]):
        values = s[index]
        inverse = [n.divide(1, x) if n.less(values[0] * cutoff, x) else n.number(0) for x in values]
        out[index] = (_adjoint(vh[index]) * inverse) @ _adjoint(u[index])
    return out


TINY = 1e-8
"""A cutoff below which no singular value of the matrices that are tried lies."""


def lstsq(n: Any, a: Any, b: Any, *, cutoff: float) -> Any:
    """Multiply by the pseudo-inverse."""
    return pinv(n, a, cutoff=cutoff) @ b


# -- functions of matrices ---------------------------------------------------------------------------------------------


def expm(n: Any, a: Any) -> Any:
    """Add up the exponential's series for a small part of each matrix, and square the sum."""
    return _exponential(n, a, a * 0)[0]


def expm_frechet(n: Any, a: Any, e: Any) -> Any:
    """Differentiate the series and the squarings by the product rule."""
    return _exponential(n, a, e)[1]


def _exponential(n: Any, a: Any, e: Any) -> tuple[Any, Any]:
    out, along = np.empty(a.shape, object), np.empty(a.shape, object)
    for index in np.ndindex(a.shape[:-2]):
        part, moved = (x[index] * n.divide(1, 2**SQUARINGS) for x in (a, e))
        total = term = _identity(n, len(part))
        change = term_change = term * 0
        for k in range(1, TERMS):
            term_change = (term_change @ part + term @ moved) * n.divide(1, k)
            term = term @ part * n.divide(1, k)
            total, change = total + term, change + term_change
        for _ in range(SQUARINGS):
            total, change = total @ total, total @ change + change @ total
        out[index], along[index] = total, change
    return out, along


def logm(n: Any, a: Any) -> Any:
    """Add up Gregory's series of (a/c − 1)(a/c + 1)⁻¹, with the logarithm of the mean c of the diagonal.

    Source: N. J. Higham, Functions of Matrices (2008), 11.3.
    """
    out = np.empty(a.shape, object)
    for index in np.ndindex(a.shape[:-2]):
        one, mean = _identity(n, a.shape[-1]), n.divide(sum(np.diagonal(a[index]), n.number(0)), a.shape[-1])
        part = a[index] * n.divide(1, mean)
        factors, order, _ = lu(n, part + one)
        half = solve_triangular(n, factors, (part - one)[order], lower=True, transpose=False, unit=True)
        z = solve_triangular(n, factors, half, lower=False, transpose=False, unit=False)
        total, power, square, k = z, z, z @ z, 1
        while max(abs(x) for x in power.flat) > n.context.eps:
            power, k = power @ square, k + 2
            total = total + power * n.divide(1, k)
        out[index] = total * 2 + one * n.log(mean)
    return out


def logm_frechet(n: Any, a: Any, e: Any) -> Any:
    """Read it off the logarithm of [[a, e], [0, a]]."""
    upper, lower = np.concatenate([a, e], -1), np.concatenate([a * n.number(0), a], -1)
    size = a.shape[-1]
    return logm(n, np.concatenate([upper, lower], -2))[..., :size, size:]


SQUARINGS, TERMS = 24, 20
"""Enough for 130 digits of the exponentials of matrices with elements near 1."""


def solve_sylvester(n: Any, a: Any, b: Any, q: Any) -> Any:
    """Solve the system of equations of all elements."""
    out, (rows, columns) = np.empty(q.shape, object), q.shape[-2:]
    for index in np.ndindex(q.shape[:-2]):
        whole = np.kron(a[index], _identity(n, columns)) + np.kron(_identity(n, rows), b[index].T)
        factors, order, _ = lu(n, whole)
        half = solve_triangular(n, factors, q[index].reshape(-1, 1)[order], lower=True, transpose=False, unit=True)
        whole = solve_triangular(n, factors, half, lower=False, transpose=False, unit=False)
        out[index] = whole.reshape(rows, columns)
    return out


def sqrtm(n: Any, a: Any) -> Any:
    """Take the means of a matrix and its inverse root's inverse, again and again: each step doubles the digits.

    Source: E. D. Denman and A. N. Beavers, "The matrix sign function and computations in systems", Applied Mathematics
    and Computation 2 (1976).
    """
    x, y = a, np.empty(a.shape, object)
    for index in np.ndindex(a.shape[:-2]):
        y[index] = _identity(n, a.shape[-1])
    half = n.divide(1, 2)
    for _ in range(14):
        x, y = (x + inv(n, y)) * half, (y + inv(n, x)) * half
    return x
