"""The matrices in JAX, with its add-on for sparse ones."""

from __future__ import annotations

import asdex
import jax
import numpy as np
from functions import MATRICES, points_of
from timing import Measured, digest, spent

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


KINDS = dict.fromkeys(MATRICES, matrix)
