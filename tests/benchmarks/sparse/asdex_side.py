"""The matrices in JAX, with its add-on for sparse ones."""

from __future__ import annotations

from typing import Any

import asdex
import jax
import numpy as np
from functions import MATRICES, STIFF, brusselator, points_of, start_of
from scipy import integrate, sparse
from timing import MOST_DENSE, Measured, digest, spent, stiff_digest

jax.config.update("jax_enable_x64", True)
NAME = f"JAX {jax.__version__} with asdex"


def matrix(name: str) -> Measured:
    """Measure how entries are found, coloured, and computed for the first time and at further points."""
    second, make, size = MATRICES[name]
    function, points = make(jax.numpy), jax.numpy.asarray(points_of(size))
    sparsity, coloring_of, of = (
        (asdex.hessian_sparsity, asdex.hessian_coloring_from_sparsity, asdex.hessian_from_coloring)
        if second
        else (asdex.jacobian_sparsity, asdex.jacobian_coloring_from_sparsity, asdex.jacobian_from_coloring)
    )
    find, pattern = spent(lambda: sparsity(function, points[0]))
    color, coloring = spent(lambda: coloring_of(pattern))
    compiled = jax.jit(of(function, coloring))
    first, _ = spent(lambda: jax.block_until_ready(compiled(points[0])))
    turns = iter(range(100))
    each, _ = spent(lambda: jax.block_until_ready(compiled(points[next(turns) % 6])), 12)
    found = compiled(points[1])
    rows, columns = np.asarray(found.indices).T
    return {
        "entries": len(rows), "directions": coloring.num_colors, "find": find, "colour": color, "first": first,
        "jit": each, "digest": digest(rows, columns, np.asarray(found.data)),
    }  # fmt: skip


def stiff(name: str) -> Measured:
    """Measure SciPy's stiff solution with the sparse Jacobian, and that of a small system with the dense one."""
    n = STIFF[name]
    slope, start = brusselator(jax.numpy, n), start_of(n)
    coloring = asdex.jacobian_coloring_from_sparsity(asdex.jacobian_sparsity(slope, start))
    right, entries, dense = (
        jax.jit(slope),
        jax.jit(asdex.jacobian_from_coloring(slope, coloring)),
        jax.jit(jax.jacfwd(slope)),
    )

    def matrix(y: Any) -> Any:
        found = entries(y)
        rows, columns = np.asarray(found.indices).T
        return sparse.coo_array((np.asarray(found.data), (rows, columns)), found.shape).tocsc()

    def run(jacobian: Any) -> Any:
        return integrate.solve_ivp(
            lambda t, y: np.asarray(right(y)), (0.0, 11.5), start, "BDF", t_eval=[11.5], rtol=1e-6, atol=1e-6,
            jac=lambda t, y: jacobian(y),
        )  # fmt: skip

    first, found = spent(lambda: run(matrix))
    if len(start) > MOST_DENSE:
        return {"each": first, "digest": stiff_digest(found.y)}
    each, _ = spent(lambda: run(matrix), 2)
    whole, _ = spent(lambda: run(lambda y: np.asarray(dense(y))))
    return {"first": first, "each": each, "dense": whole, "digest": stiff_digest(found.y)}


KINDS = {**dict.fromkeys(MATRICES, matrix), **dict.fromkeys(STIFF, stiff)}
