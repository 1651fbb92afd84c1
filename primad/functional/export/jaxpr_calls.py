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
from primad.functional.derived_calls import Call
from primad.functional.export.jaxpr_elements import reduced, scattered
from primad.functional.export.jaxprs import Calls, Keys, Reader, as_described, as_function, is_key, line_of, refusal
from primad.functional.recorded_values import stop_gradient
from primad.functional.rules.custom_rules import TwoSided, custom_jvp, custom_vjp
from primad.functional.rules.rule_identity import Rule
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import type_of
from primad.xla.jax_functions import jax_module
from primad.xla.primitives.table import FUNCTIONS


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


# -- rules of a user's own ---------------------------------------------------------------------------------------------


class Ruled:
    """An equation whose derivative is a rule: of a user's function, or of a system that a solver of theirs solves.

    Args:
        reader: what reads the rule's jaxpr.
        equation: `custom_jvp_call`, `custom_vjp_call` or `custom_linear_solve`.
        value: the function that the equation is, of the operands behind the constants.
        consts: what it closes over; a derivative in these is an error, as their part of it is in no rule.
        moving: which of the other operands have tangents.
        traced: the jaxprs of the rule that were made so far.
    """

    def __init__(
        self, reader: Reader, equation: Any, value: Callable[..., Any], consts: Sequence[Any], moving: list[int],
        traced: dict[Any, Any],
    ) -> None:  # fmt: skip
        self.reader = reader
        self.consts = consts
        self.value = value
        self.function = as_function(equation)
        self.moving = moving
        self.count = len(equation.outvars)
        self.traced = traced

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return results and tangents, by the JVP that the equation has in JAX."""
        jax = jax_module()

        def pushed(consts: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            out, changes = jax.jvp(self._of(consts, primals), [primals[i] for i in self.moving], tangents)
            return out, [t for y, t in zip(out, changes, strict=True) if _is_moving(y)]

        found = self._read(pushed, primals, [tangents[i] for i in self.moving])
        changes = iter(found[self.count :])
        out = found[: self.count]
        return out, [next(changes) if _is_moving(y) else _none_of(y) for y in out]

    def pull(self, primals: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
        """Return the cotangents of the operands, by the pullback that the equation has in JAX."""
        jax = jax_module()
        kept = _moving(cotangents)

        def pulled(consts: Any, primals: Sequence[Any], cotangents: Sequence[Any]) -> Any:
            def of_kept(*changed: Any) -> Any:
                out = self._of(consts, primals)(*changed)
                return [out[i] for i in kept]

            return jax.vjp(of_kept, *[primals[i] for i in self.moving])[1](list(cotangents))

        found = iter(self._read(pulled, primals, [cotangents[i] for i in kept]))
        return tuple([next(found) if i in self.moving else _none_of(x) for i, x in enumerate(primals)])

    def forward(self, *values: Any) -> tuple[list[Any], tuple[Any, ...]]:
        """Return the results by the forward rule, which is differentiated further, and the operands."""
        jax = jax_module()

        def opened(consts: Any, primals: Sequence[Any]) -> Any:
            return jax.vjp(self._of(consts, primals), *[primals[i] for i in self.moving])[0]

        return self._read(opened, values), values

    def _of(self, consts: Sequence[Any], primals: Sequence[Any]) -> Callable[..., Any]:
        """Return the function of the operands that have tangents."""

        def of_moving(*changed: Any) -> Any:
            given = list(primals)
            for i, x in zip(self.moving, changed, strict=True):
                given[i] = x
            return self.function(*consts, *given)

        return of_moving

    def _read(self, rule: Callable[..., Any], *given: Sequence[Any]) -> list[Any]:
        parts = self.consts, *given
        described = [[as_described(x) for x in part] for part in parts]
        key = rule.__name__, tuple(map(tuple, described))
        if key not in self.traced:
            self.traced[key] = jax_module().make_jaxpr(rule)(*described)
        return self.reader.read(self.traced[key], [x for part in parts for x in part])


class Once:
    """A function with a rule that closes over nothing: a jaxpr does not change, so that the rule is what it is.

    What other rules mean is found by recording them, at each use, with the rules that they use.
    """

    def _rule(self, call: Call, fixed: tuple[Any, ...]) -> Rule:
        known: dict[Any, Rule] = self.__dict__.setdefault("known_rules", {})
        types = tuple(call.program.in_types)
        if types not in known:
            known[types] = super()._rule(call, fixed)  # type: ignore[misc]
            known[types].types = None  # equal only to itself
        return known[types]


class JvpOnce(Once, custom_jvp):
    """A function with a JVP."""


class Opened(custom_vjp):
    """A function with a pullback, whose value is that of its forward rule once a derivative was taken."""

    def _rule(self, call: Call, fixed: tuple[Any, ...]) -> Rule:
        rule = super()._rule(call, fixed)
        rule.by_forward = True
        return rule


class OpenedOnce(Once, Opened):
    """Such a function that closes over nothing."""


class SolverOnce(Once, TwoSided):
    """A function with a JVP and a pullback."""


def _with_jvp(ruled: Ruled) -> Callable[..., Any]:
    made = (custom_jvp if ruled.consts else JvpOnce)(ruled.value)
    made.defjvp(ruled.push)
    return made


def _with_vjp(ruled: Ruled) -> Callable[..., Any]:
    made = (Opened if ruled.consts else OpenedOnce)(ruled.value)
    made.defvjp(ruled.forward, ruled.pull)
    return made


def _with_both(ruled: Ruled) -> Callable[..., Any]:
    return SolverOnce(ruled.value, ruled.push, ruled.pull)


def _ruled(wrap: Callable[[Ruled], Callable[..., Any]], value_of: Any) -> Callable[[Reader, Any, list[Any]], list[Any]]:
    """Return what makes of an equation a function with its rule, the same one each time that it is read."""

    def applied(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
        count = equation.params.get("num_consts", 0)
        consts, given = operands[:count], operands[count:]
        made, traced = reader.made.setdefault(id(equation), (None, {}))
        if made is None:
            value = value_of(reader, equation, consts)
            made = wrap(Ruled(reader, equation, value, consts, _moving(given), traced))
            if not count:
                reader.made[id(equation)] = made, traced
        return list(made(*given))

    return applied


def _called(reader: Reader, equation: Any, consts: Sequence[Any]) -> Callable[..., list[Any]]:
    return lambda *values: reader.read(equation.params["call_jaxpr"], [*consts, *values])


def _expanded(reader: Reader, equation: Any, _: Sequence[Any]) -> Callable[..., list[Any]]:
    """Return what one of JAX's functions is by other primitives; its derivative is that which JAX gives it."""

    def expanded(*values: Any) -> list[Any]:
        lower = jax_module().make_jaxpr(lambda *given: equation.primitive.to_lojax(*given, **equation.params))
        return reader.read(lower(*map(as_described, values)), values)

    return expanded


def _high(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    """Read one of JAX's classes of functions: by the table, which knows those of bits, or by what it is made of."""
    own = FUNCTIONS.get(type(equation.params["_prim"]).__name__)
    if own is None:
        return _ruled(_with_jvp, _expanded)(reader, equation, operands)
    found = own(*operands)
    return list(found) if isinstance(found, tuple) else [found]


def _solved(reader: Reader, equation: Any, _: Sequence[Any]) -> Callable[..., list[Any]]:
    """Return a user's solver of a linear system, whose steps have no part in the derivative."""
    lengths, jaxprs = equation.params["const_lengths"], equation.params["jaxprs"]
    before = lengths.matvec + lengths.vecmat

    def solve(*values: Any) -> list[Any]:
        consts = values[before : before + lengths.solve]
        return reader.read(jaxprs.solve, [*consts, *values[sum(lengths) :]])

    return solve


def _moving(values: Sequence[Any]) -> list[int]:
    return [i for i, x in enumerate(values) if _is_moving(x)]


def _is_moving(x: Any) -> bool:
    """Say whether a value has tangents."""
    return not isinstance(x, Keys) and bool(jax_module().dtypes.issubdtype(x.dtype, np.inexact))


def _none_of(x: Any) -> Any:
    """Return zeros in the form of what has no tangents."""
    return Keys(*[word * 0 for word in x]) if isinstance(x, Keys) else x * 0


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
    "custom_linear_solve": _ruled(_with_both, _solved),
    "call_hi_primitive": _high,
    "custom_jvp_call": _ruled(_with_jvp, _called),
    "custom_vjp_call": _ruled(_with_vjp, _called),
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
