"""Equations of a jaxpr that combine elements by a function of their own: reductions, and updates at indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.functional.control.while_loops import while_loop
from primad.functional.export.jaxprs import Keys, Reader, as_described
from primad.xla.jax_functions import jax_module
from primad.xla.primitives.indexing import add_at, replace_at


def scattered(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    """Replace elements; a function of the element itself, of `x.at[i].apply(f)`, is applied once for each index."""
    params = dict(equation.params)
    jaxpr, consts = params.pop("update_jaxpr"), params.pop("update_consts")
    if isinstance(operands[0], Keys):
        words = [
            replace_at(x, operands[1], update, **params) for x, update in zip(operands[0], operands[2], strict=True)
        ]
        return [Keys(*words)]
    if jaxpr is None:
        return [replace_at(*operands, **params)]
    x, indices, updates = operands
    function = _of_elements(jaxpr, consts, x.ndim)
    mapped = jax_module().make_jaxpr(function)(as_described(x), as_described(x))
    counts = add_at(np.zeros(x.shape, int), indices, np.ones(updates.shape, int), **params)

    def step(state: Sequence[Any]) -> list[Any]:
        found, done = state
        return [pnp.where(counts > done, reader.read(mapped, [found, found])[0], found), done + 1]

    start = [x, np.zeros((), int)]
    return [while_loop(lambda state: pnp.any(counts > state[1]), step, start, updates.size + 1)[0]]


def reduced(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    """Reduce arrays together with a function of pairs of elements, by halves: XLA leaves the order open too."""
    params, count = equation.params, len(operands) // 2
    arrays, starts = operands[:count], operands[count:]
    axes = list(params["dimensions"])
    rest = [axis for axis in range(arrays[0].ndim) if axis not in axes]
    shape = tuple([arrays[0].shape[axis] for axis in rest])
    length = math.prod([arrays[0].shape[axis] for axis in axes])
    rows = [pnp.reshape(pnp.transpose(x, [*axes, *rest]), (length, *shape)) for x in arrays]
    firsts = [pnp.broadcast_to(start, (1, *shape)) for start in starts]
    rows = [pnp.concatenate([first, row]) for first, row in zip(firsts, rows, strict=True)]
    function = _of_elements(params["jaxpr"].jaxpr, params["jaxpr"].consts, len(shape) + 1)
    while (half := rows[0].shape[0] // 2) > 0:
        pairs = [part for i in range(2) for part in [row[i * half : (i + 1) * half] for row in rows]]
        found = reader.read(jax_module().make_jaxpr(function)(*map(as_described, pairs)), pairs)
        rows = [pnp.concatenate([new, row[2 * half :]]) for new, row in zip(found, rows, strict=True)]
    return [row[0] for row in rows]


def _of_elements(jaxpr: Any, consts: Sequence[Any], rank: int) -> Callable[..., Any]:
    """Return the function of scalars that a jaxpr is, of arrays of a rank."""
    from jax.extend import core

    function: Callable[..., Any] = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, consts))
    for _ in range(rank):
        function = jax_module().vmap(function)
    return function
