"""Equations of a jaxpr whose derivatives are rules: functions of a user's with rules of their own, linear solvers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from primad.errors import TracingError
from primad.functional.derived_calls import Call
from primad.functional.export.jaxpr_closures import Closure, closure_of
from primad.functional.export.jaxpr_definitions import in_its_place
from primad.functional.export.jaxprs import Calls, Keys, Reader, as_described, as_function, line_of
from primad.functional.rules.custom_rules import TwoSided, custom_jvp, custom_vjp
from primad.functional.rules.rule_identity import Rule
from primad.xla.jax_functions import jax_module
from primad.xla.primitives.table import FUNCTIONS


class Ruled:
    """An equation whose derivative is a rule: of a user's function, or of a system that a solver of theirs solves.

    It is a function of what it closes over, of what its rules do, and of the other operands. A derivative in the former
    is an error, as their part of it is in no rule.

    Args:
        reader: what reads the rule's jaxpr.
        equation: `custom_jvp_call`, `custom_vjp_call` or `custom_linear_solve`, or one of JAX's own functions.
        value: the function that the equation is, of all its operands.
        closure: what its rules close over of what JAX traced.
    """

    def __init__(self, reader: Reader, equation: Any, value: Callable[..., Any], closure: Closure) -> None:
        self.reader = reader
        self.closure = closure
        self.own = closure.own
        self.closed = self.own + len(closure.tracers)
        self.value = value
        self.function = as_function(equation)
        self.where = line_of(equation)
        self.moving = [i for i, atom in enumerate(equation.invars[self.own :]) if _is_moving(atom.aval)]
        self.count = len(equation.outvars)
        self.traced: dict[Any, Any] = {}

    def __call__(self, *values: Any) -> list[Any]:
        """Return the results."""
        found: list[Any] = self.value(*values[: self.own], *values[self.closed :])
        return found

    def push(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return results and tangents, by the JVP that the equation has in JAX."""
        jax = jax_module()

        def pushed(consts: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            out, changes = jax.jvp(self._of(consts, primals), [primals[i] for i in self.moving], tangents)
            return out, [t for y, t in zip(out, changes, strict=True) if _is_moving(y)]

        found = self._read(pushed, primals, [tangents[self.closed + i] for i in self.moving])
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
        return tuple([next(found) if i - self.closed in self.moving else _none_of(x) for i, x in enumerate(primals)])

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

    def _read(self, rule: Callable[..., Any], values: Sequence[Any], *changes: Sequence[Any]) -> list[Any]:
        """Return the results of a rule, where the functions of the equation close over values that are operands."""
        hidden = values[self.own : self.closed]
        parts = values[: self.own], hidden, values[self.closed :], *changes

        def closed(consts: Sequence[Any], hidden: Sequence[Any], *given: Sequence[Any]) -> Any:
            with self.closure.of(hidden):
                return rule(consts, *given)

        described = [[as_described(x) for x in part] for part in parts]
        key = rule.__name__, tuple(map(tuple, described))
        if key not in self.traced:
            self.traced[key] = _of_rule(closed, described, self.where)
        with self.reader.within(self.closure.scope(hidden)):
            return self.reader.read(self.traced[key], [x for part in parts for x in part])


def _of_rule(rule: Callable[..., Any], described: Sequence[Any], where: str | None) -> Any:
    """Return the jaxpr of a rule.

    Raises:
        TracingError: if it holds a value that JAX computed of the arguments of the function that it is in, elsewhere
            than in a closure.
    """
    jax = jax_module()
    try:
        closed = jax.make_jaxpr(rule)(*described)
    except jax.errors.UnexpectedTracerError:
        closed = None
    if closed is None or any(isinstance(const, jax.core.Tracer) for const in _consts(closed)):
        raise TracingError(
            "from_jax: a rule (custom_jvp, custom_vjp) closes over a value that depends on the function's arguments",
            why="The rule is traced where its derivative is asked for, when JAX has traced the function already.",
            fix="pass the value as an argument of the function that has the rule.",
            where=where,
        )
    return closed


def _consts(closed: Any) -> Iterator[Any]:
    """Yield the constants of a jaxpr, and of those that its equations hold."""
    yield from closed.consts
    for equation in closed.jaxpr.eqns:
        for param in jax_module().tree.leaves(list(equation.params.values())):
            if hasattr(param, "consts"):
                yield from _consts(param)


class ReadEquation(NamedTuple):
    """What was made of an equation whose derivative is a rule.

    Attributes:
        equation: itself, held, so that no other one comes to have its place.
        ruled: how it is differentiated.
        function: the function with that rule.
    """

    equation: Any
    ruled: Ruled
    function: Callable[..., Any]


class Once:
    """A function with a rule that stands in a jaxpr, which does not change: it is the same one wherever it is read.

    What other rules mean is found by recording them, at each use, with the rules that they use.
    """

    def _rule(self, call: Call, fixed: tuple[Any, ...]) -> Rule:
        known: dict[Any, Rule] = self.__dict__.setdefault("known_rules", {})
        types = tuple(call.program.in_types)
        if types not in known:
            ruled: Ruled = self._function  # type: ignore[attr-defined]
            rule: Rule = super()._rule(call, fixed)  # type: ignore[misc]
            rule.types = None  # equal only to itself
            rule.closed = sum(each.num_leaves for each in call.in_tree.children()[: ruled.closed])
            known[types] = rule
        return known[types]


class Pushed(Once, custom_jvp):
    """A function with a JVP."""


class Opened(Once, custom_vjp):
    """A function with a pullback, whose value is that of its forward rule once a derivative was taken."""

    def _rule(self, call: Call, fixed: tuple[Any, ...]) -> Rule:
        rule = super()._rule(call, fixed)
        rule.by_forward = True
        return rule


class Solver(Once, TwoSided):
    """A function with a JVP and a pullback."""


def _with_jvp(ruled: Ruled) -> Callable[..., Any]:
    made = Pushed(ruled)
    made.defjvp(ruled.push)
    return made


def _with_vjp(ruled: Ruled) -> Callable[..., Any]:
    made = Opened(ruled)
    made.defvjp(ruled.forward, ruled.pull)
    return made


def _with_both(ruled: Ruled) -> Callable[..., Any]:
    return Solver(ruled, ruled.push, ruled.pull)


def _ruled(wrap: Callable[[Ruled], Callable[..., Any]], value_of: Any) -> Callable[[Reader, Any, list[Any]], list[Any]]:
    """Return what makes of an equation a function with its rule, the same one each time."""

    def applied(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
        if id(equation) not in reader.made:
            closure = closure_of(equation).only(lambda tracer: reader.value_of(tracer) is not None)
            ruled = Ruled(reader, equation, value_of(reader, equation), closure)
            reader.made[id(equation)] = ReadEquation(equation, ruled, wrap(ruled))
        _, ruled, function = reader.made[id(equation)]
        hidden = map(reader.value_of, ruled.closure.tracers)
        return list(function(*operands[: ruled.own], *hidden, *operands[ruled.own :]))

    return applied


def _called(reader: Reader, equation: Any) -> Callable[..., list[Any]]:
    return lambda *values: reader.read(equation.params["call_jaxpr"], values)


def _expanded(reader: Reader, equation: Any) -> Callable[..., list[Any]]:
    """Return what one of JAX's functions is by other primitives; its derivative is that which JAX gives it."""
    lowered: dict[Any, Any] = {}

    def expanded(*values: Any) -> list[Any]:
        described = tuple(map(as_described, values))
        if described not in lowered:
            lower = jax_module().make_jaxpr(lambda *given: equation.primitive.to_lojax(*given, **equation.params))
            lowered[described] = lower(*described)
        return reader.read(lowered[described], values)

    return expanded


def _solved(reader: Reader, equation: Any) -> Callable[..., list[Any]]:
    """Return a user's solver of a linear system, whose steps have no part in the derivative."""
    lengths, jaxprs = equation.params["const_lengths"], equation.params["jaxprs"]
    before = lengths.matvec + lengths.vecmat

    def solve(*values: Any) -> list[Any]:
        consts = values[before : before + lengths.solve]
        return reader.read(jaxprs.solve, [*consts, *values[sum(lengths) :]])

    return solve


def _drawn(reader: Reader, equation: Any) -> Callable[..., list[Any]]:
    """Return how JAX draws of a gamma distribution; what is refused on the way has no part in the derivative."""
    definition = partial(equation.primitive.impl, use_vmap=True)
    return lambda *values: in_its_place(reader, definition, equation, list(values))


def _high(reader: Reader, equation: Any, operands: list[Any]) -> list[Any]:
    """Read one of JAX's classes of functions: by the table, which knows those of bits, or by what it is made of."""
    own = FUNCTIONS.get(type(equation.params["_prim"]).__name__)
    if own is None:
        return _ruled(_with_jvp, _expanded)(reader, equation, operands)
    found = own(*operands)
    return list(found) if isinstance(found, tuple) else [found]


def _moving(values: Sequence[Any]) -> list[int]:
    return [i for i, x in enumerate(values) if _is_moving(x)]


def _is_moving(x: Any) -> bool:
    """Say whether a value has tangents."""
    return not isinstance(x, Keys) and bool(jax_module().dtypes.issubdtype(x.dtype, np.inexact))


def _none_of(x: Any) -> Any:
    """Return zeros in the form of what has no tangents."""
    return Keys(*[word * 0 for word in x]) if isinstance(x, Keys) else x * 0


RULES: Calls = {
    "custom_linear_solve": _ruled(_with_both, _solved),
    "call_hi_primitive": _high,
    "random_gamma": _ruled(_with_jvp, _drawn),
    "custom_jvp_call": _ruled(_with_jvp, _called),
    "custom_vjp_call": _ruled(_with_vjp, _called),
}
"""name of a primitive -> function of the reader, the equation and its operands."""
