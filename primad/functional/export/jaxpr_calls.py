"""Equations of a jaxpr that hold functions: loops, branches, calls, functions with rules of their own, random keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import TracingError
from primad.functional.control.branches import switch
from primad.functional.control.checkpointing import checkpoint
from primad.functional.control.user_loops import scan
from primad.functional.control.while_loops import while_loop
from primad.functional.export.jaxpr_definitions import DEFINED
from primad.functional.export.jaxpr_elements import reduced, scattered
from primad.functional.export.jaxpr_rules import RULES
from primad.functional.export.jaxprs import Calls, Keys, Reader, as_described, is_key, line_of, refusal
from primad.functional.recorded_values import stop_gradient
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import type_of
from primad.xla.jax_functions import jax_module


def _scan(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    params = equation.params
    consts, carried = _lengths(params)
    fixed, start, rows = operands[:consts], operands[consts : consts + carried], operands[consts + carried :]

    def step(carry: Sequence[Any], row: Sequence[Any]) -> tuple[Any, Any]:
        found = reader.read(params["jaxpr"], [*fixed, *carry, *(row or ())])
        return found[:carried], found[carried:]

    after, ys = scan(step, start, rows or None, params["length"], params["reverse"])
    return [*after, *ys]


def _lengths(params: Any) -> tuple[int, int]:
    """Return how many operands of a scan are constants and how many are carried: JAX 0.11 groups them in a tree."""
    if "ft_in" not in params:
        return params["num_consts"], params["num_carry"]
    consts, carried, _ = params["ft_in"].unpack()
    return len(consts), len(carried)


def _while(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    params = equation.params
    of_condition, of_body = params["cond_nconsts"], params["body_nconsts"]
    first, second = operands[:of_condition], operands[of_condition : of_condition + of_body]

    def holds(carry: Sequence[Any]) -> Any:
        return reader.read(params["cond_jaxpr"], [*first, *carry])[0]

    def step(carry: Sequence[Any]) -> list[Any]:
        after = reader.read(params["body_jaxpr"], [*second, *carry])
        on = holds(carry)
        return [_chosen(on, new, old) for new, old in zip(after, carry, strict=True)] if on.ndim else after

    start = operands[of_condition + of_body :]
    return list(while_loop(lambda carry: pnp.any(holds(carry)), step, start, reader.max_steps))


def _chosen(on: Any, new: Any, old: Any) -> Any:
    """Return what a stack of loops carries, of which some have stopped."""
    if isinstance(new, Keys):
        return Keys(*[_chosen(on, *words) for words in zip(new, old, strict=True)])
    return pnp.where(pnp.reshape(on, on.shape + (1,) * (new.ndim - on.ndim)), new, old)


def _cond(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    index, given = operands[0], operands[1:]
    branches = equation.params["branches"]
    if not isinstance(index, TracedArray):
        return reader.read(branches[int(np.clip(index, 0, len(branches) - 1))], given)

    def branch(closed: Any) -> Callable[..., Any]:
        return lambda *values: reader.read(closed, values)

    return list(switch(index, [branch(closed) for closed in branches], *given))


def _inlined(name: str) -> Callable[[Reader, Any, list[Any]], list[Any]]:
    """Return what reads the jaxpr that a param holds in the place of the equation."""
    return lambda reader, equation, operands: reader.read(equation.params[name], operands)


def _remat(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    marked = checkpoint(lambda *values: reader.read_open(equation.params["jaxpr"], (), values))
    return list(marked(*operands))


# -- random keys -------------------------------------------------------------------------------------------------------


def _implementation(equation: Any) -> Any:
    """Return JAX's functions of the keys that an equation is about."""
    from jax.extend.random import threefry_prng_impl

    aval = next(v.aval for v in (*equation.invars, *equation.outvars) if is_key(v.aval))
    if "fry" not in str(aval.dtype):
        raise refusal(equation)
    return threefry_prng_impl


def _of_keys(name: str) -> Callable[[Reader, Any, list[Any]], list[Any]]:
    """Return what reads a function of keys that JAX has under a name, on each key of an array."""

    def drawn(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
        jax, implementation, params = jax_module(), _implementation(equation), equation.params
        given = [_words(x) if isinstance(x, Keys) else x for x in operands]
        options = {
            "random_bits": (params.get("bit_width"), params.get("shape")), "random_split": (params.get("shape"),),
        }.get(equation.primitive.name, ())  # fmt: skip

        def function(*values: Any) -> Any:
            return getattr(implementation, name)(*values, *options)

        mapped = type_of(given[0]).ndim - (0 if name == "seed" else 1)
        if equation.primitive.name == "random_fold_in":
            given[1] = pnp.broadcast_to(given[1], given[0].shape[:mapped])
        for _ in range(mapped):
            function = jax.vmap(function)
        if any(isinstance(x, TracedArray) for x in given):
            found = reader.read(jax.make_jaxpr(function)(*map(as_described, given)), given)[0]
        else:
            found = np.asarray(function(*map(jax.numpy.asarray, given)))
        return [_keys(found) if is_key(equation.outvars[0].aval) else found]

    return drawn


def _words(keys: Keys) -> Any:
    return pnp.stack(keys, axis=-1)


def _keys(words: Any) -> Keys:
    return Keys(words[..., 0], words[..., 1])


def _wrapped(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    _implementation(equation)
    return [_keys(operands[0])]


# -- what says something of values ------------------------------------------------------------------------------------


def _device_put(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    if any(device is not None for device in equation.params.get("devices", ())):
        raise TracingError(
            "from_jax: device_put to a device has no meaning here",
            why="A program of primad's has no devices.",
            fix="take the device out.",
            where=line_of(equation),
        )
    return operands


def _same(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    return operands


def _stopped(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    return [stop_gradient(x) for x in operands]


CALLS: Calls = {
    "reduce": reduced,
    "scatter": scattered,
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    **dict.fromkeys(("jit", "pjit", "closed_call", "composite"), _inlined("jaxpr")),
    **dict.fromkeys(("call", "core_call", "core_closed_call", "eval_jaxpr"), _inlined("call_jaxpr")),
    **dict.fromkeys(("remat2", "checkpoint"), _remat),
    **RULES,
    **DEFINED,
    "random_bits": _of_keys("random_bits"),
    "random_fold_in": _of_keys("fold_in"),
    "random_seed": _of_keys("seed"),
    "random_split": _of_keys("split"),
    "random_wrap": _wrapped,
    "random_unwrap": lambda reader, equation, operands: [_words(operands[0])],
    "random_clone": _same,
    "device_put": _device_put,
    "name": _same,
    "optimization_barrier": _same,
    "stop_gradient": _stopped,
}
"""name of a primitive -> function of the reader, the equation and its operands."""
