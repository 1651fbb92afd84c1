"""Factorizations of matrices in exact arithmetic, as textbooks write them: what LAPACK's are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np


def solve_triangular(n: Any, a: Any, b: Any, *, lower: bool, transpose: bool) -> Any:
    """Solve by substitution, reading the named triangle only."""
    if transpose:
        return solve_triangular(n, np.swapaxes(a, -1, -2), b, lower=not lower, transpose=False)
    out = np.empty(b.shape, object)
    size = a.shape[-1]
    for index in np.ndindex(b.shape[:-2]):
        x, matrix = out[index], a[index]
        for i in range(size) if lower else reversed(range(size)):
            known = range(i) if lower else range(i + 1, size)
            for j in range(b.shape[-1]):
                rest = sum((matrix[i, k] * x[k, j] for k in known), n.number(0))
                x[i, j] = n.divide(b[index][i, j] - rest, matrix[i, i])
    return out


def qr(n: Any, a: Any) -> tuple[Any, Any]:
    """Reflect one column after the other, as Householder does; the sign of r's diagonal is opposite to the pivot's."""
    rows, columns = a.shape[-2:]
    q = np.empty(a.shape, object)
    r = np.empty((*a.shape[:-2], columns, columns), object)
    for index in np.ndindex(a.shape[:-2]):
        rest, whole = a[index].copy(), _identity(n, rows)
        for k in range(min(columns, rows - 1)):
            v = rest[k:, k].copy()
            size = n.sqrt(sum((x * x for x in v), n.number(0)))
            v[0] = v[0] - size if n.less(v[0], 0) else v[0] + size
            scale = n.divide(2, sum((x * x for x in v), n.number(0)))
            rest[k:] = rest[k:] - scale * np.outer(v, v @ rest[k:])
            whole[:, k:] = whole[:, k:] - scale * np.outer(whole[:, k:] @ v, v)
        q[index], r[index] = whole[:, :columns], rest[:columns]
        r[index][np.tri(columns, k=-1, dtype=bool)] = n.number(0)
    return q, r


def _identity(n: Any, size: int) -> Any:
    return np.array([[n.number(int(i == j)) for j in range(size)] for i in range(size)], object).reshape(size, size)
