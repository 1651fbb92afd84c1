"""Loops as loops of JAX: a function of a step's operands becomes one of the whole loop's.

A step returns its results and whether an op met a value for which it has none; so does a loop, of any of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Step = Callable[..., tuple[Sequence[Any], Any]]


def _scan(step: Step, operands: Sequence[Any], results: Sequence[Any], **params: Any) -> tuple[list[Any], Any]:
    from jax import lax
    from jax import numpy as jnp

    carry, length, counted = params["carry"], params["length"], params["counted"]
    count, given = (operands[0] if counted else length), operands[int(counted) :]
    start, rest = given[:carry], given[carry:]
    rows, fixed = rest[: params["stacked"]], rest[params["stacked"] :]

    def one(state: Any, row: Any) -> Any:
        values, bad = state
        i, xs = row

        def taken(_: Any) -> Any:
            found, failed = step(*values, *xs, *fixed)
            return tuple(found[:carry]), bad | failed, tuple(found[carry:])

        def left(_: Any) -> Any:
            return tuple(values), bad, tuple([jnp.zeros(type.shape, type.dtype) for type in results[carry:]])

        after, failed, ys = lax.cond(i < count, taken, left, None)
        return (after, failed), ys

    state = tuple(map(jnp.asarray, start)), jnp.array(False)
    found, ys = lax.scan(one, state, (jnp.arange(length), tuple(rows)), length, reverse=params["reverse"])
    return [*found[0], *ys], found[1]


def _while(step: Step, operands: Sequence[Any], results: Sequence[Any], **params: Any) -> tuple[list[Any], Any]:
    from jax import lax
    from jax import numpy as jnp

    carry, most = params["carry"], params["most"]
    go, start, fixed = operands[0], operands[1 : 1 + carry], operands[1 + carry :]

    def one(state: Any) -> Any:
        i, _, values, stacks, bad = state
        found, failed = step(*values, *fixed)
        stacks = tuple([stack.at[i].set(y) for stack, y in zip(stacks, found[carry + 1 :], strict=True)])
        return i + 1, jnp.asarray(found[carry]), tuple(found[:carry]), stacks, bad | failed

    stacks = tuple([jnp.zeros((most, *type.shape), type.dtype) for type in results[carry + 1 :]])
    begun = jnp.array(0), jnp.asarray(go), tuple(map(jnp.asarray, start)), stacks, jnp.array(False)
    count, more, values, stacks, bad = lax.while_loop(lambda state: state[1] & (state[0] < most), one, begun)
    return [count, *values, *stacks], bad | more  # a loop that has not ended has failed


LOOPS: dict[str, Callable[..., tuple[list[Any], Any]]] = {"scan": _scan, "while_loop": _while}
"""(function of a step, operands, types of a step's results, params) -> (results, whether something failed)."""
