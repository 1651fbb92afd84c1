"""Functions with rules of a user's own, as `autograd.extend` has them; rules are for what `primitive` made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, update_wrapper
from typing import Any

import numpy as np

from primad.compat.autograd.former_rules import FormerRules
from primad.compat.autograd.importing import missing
from primad.compat.autograd.rules_of_functions import NoRuleError, Rules, as_real, has_already, is_own
from primad.compat.autograd.tape import JVPNode
from primad.compat.autograd.util import subval, subvals
from primad.compat.autograd.values import Box, VSpace, notrace_primitive, vspace
from primad.errors import TracingError
from primad.functional.derivatives.first_order import jvp, vjp
from primad.functional.derived_calls import Call
from primad.functional.recorded_values import value
from primad.functional.rules.custom_rules import TwoSided, custom_vjp
from primad.functional.rules.opaque import opaque
from primad.functional.rules.readings import Readable
from primad.functional.rules.rule_identity import Rule
from primad.recording import tree
from primad.recording.argument_keys import comparable_key, structure_key
from primad.recording.traced_array import TracedArray, settled
from primad.recording.tracing import call_outside, type_of

__all__ = [
    "Box", "JVPNode", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum",
    "defvjp_argnums", "notrace_primitive", "primitive", "vspace",
]  # fmt: skip

Function = Callable[..., Any]

MOST_FORMS = 256
"""How many kinds of calls a primitive keeps an op for; a function among its arguments is a kind of its own."""


@dataclass(frozen=True, eq=False)
class _Form(Readable):
    """How a primitive is called: which arguments are operands of an op, and what the others are.

    Attributes:
        places: the numbers of the arguments that are operands.
        moving: those of them that are traced.
        fixed: the other arguments, and None for operands.
        options: the keywords.
    """

    places: tuple[int, ...]
    moving: tuple[int, ...]
    fixed: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]

    @cached_property
    def key(self) -> Any:
        """What tells it from others; itself where a constant cannot be compared."""
        found = comparable_key([self.places, self.moving, self.fixed, self.options])
        return self if found is None else found

    def parts(self) -> Sequence[Any]:
        """Return its fields."""
        return self.places, self.moving, self.fixed, self.options

    def call(self, function: Function, operands: Sequence[Any], *before: Any) -> Any:
        """Call a function with all arguments, after some more."""
        given = list(self.fixed)
        for place, operand in zip(self.places, operands, strict=True):
            given[place] = operand
        return function(*before, *given, **dict(self.options))


class _Kept(TwoSided):
    """A function whose rules nobody records to tell them from others, as long as nobody needs what they record.

    Until then they stand for themselves, and afterwards as long as they read what they read then; else what they record
    is compared, so that rules that depend on more than their arguments are not taken for what they were.

    Args:
        owner: the primitive that it is a part of, which counts how many of its parts were used.
    """

    def __init__(self, function: Function, push: Function, pull: Function, owner: primitive) -> None:
        super().__init__(function, self._noting(push), self._noting(pull))
        self._owner = owner
        self._rules: dict[Any, Rule] = {}
        self._used = False
        self._used_with: Any = None

    def _noting(self, rule: Function) -> Function:
        def noting(*args: Any) -> Any:
            if not self._used:
                self._used, self._used_with = True, self._values()
                self._owner.uses += 1
            return rule(*args)

        return noting

    def _values(self) -> Any:
        """Return what its rules read; None where that is not known."""
        found = self.reading()
        return None if found is None else found.values

    def _rule(self, call: Call, fixed: tuple[Any, ...]) -> Rule:
        if self._used and (self._used_with is None or self._values() != self._used_with):
            return super()._rule(call, fixed)
        key = call.in_tree, call.out_tree
        if key not in self._rules:
            name = getattr(self, "__name__", "function")
            self._rules[key] = Rule(name, *key, jvp=self._push, backward=self._pull)
        return self._rules[key]


def _plainly(rule: Function, result: Function, name: str, owner: primitive) -> Function:
    """Return a rule that is called with plain arrays, and recorded only where its own derivative is taken.

    Args:
        rule: a function of trees of arrays.
        result: returns the types of its results from those of its arguments.
        name: its name in programs.
        owner: the primitive that has it.
    """
    return _Kept(
        opaque(rule, result=result, name=name),
        lambda primals, tangents: jvp(rule, tuple(primals), tuple(tangents)),
        lambda primals, cotangent: vjp(rule, *primals)[1](cotangent),
        owner,
    )


class primitive(FormerRules, Readable):
    """A function that is called with plain arrays, never recorded; `defvjp` and `defjvp` say how it is differentiated.

    Where all moving arguments have a rule by `defvjp`, these serve reverse mode; where all have one by `defjvp`, those
    serve forward mode, and without the others, transposed, reverse mode too. A rule that is None says that the
    derivative is 0; without a rule, asking for it is an error.

    Rules are called with plain arrays too, when a derivative is computed; only where the derivative of a derivative is
    taken, or a rule for forward mode is transposed, are they recorded, and must be of functions that can be.

    Args:
        function: a pure function of arrays. Arguments that are no floats or arrays are constants.

    Example:
        >>> from primad.compat.autograd import grad, primitive, defvjp
        >>> @primitive
        ... def cube(x):
        ...     return float(x) ** 3
        >>> defvjp(cube, lambda ans, x: lambda g: 3.0 * g * x**2)
        >>> grad(cube)(2.0)
        np.float64(12.0)
    """

    def __init__(self, function: Function) -> None:
        self.function = self.fun = function
        self.vjps, self.jvps = Rules("defvjp"), Rules("defjvp")
        self._made: dict[Any, Function] = {}
        self.uses = 0
        self._last: tuple[_Form, list[Any], Any] | None = None
        update_wrapper(self, function)
        self._is_autograd_primitive = True  # by which packages find what they may call as it is, `fun`
        self._name = str(getattr(function, "__name__", "primitive"))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else partial(self, instance)

    def parts(self) -> Sequence[Any]:
        """Return the function and its rules."""
        return self.function, self.vjps, self.jvps

    def state(self) -> int:
        """Return how many parts were used: they stand for themselves until then, and need not afterwards."""
        return self.uses

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function: as one op where an argument is traced."""
        args = settled(args)
        moving = tuple([i for i, arg in enumerate(args) if isinstance(arg, TracedArray)])
        if not moving:
            return self.function(*args, **kwargs)
        places = tuple([i for i, arg in enumerate(args) if i in moving or isinstance(arg, (np.ndarray, float))])
        fixed = tuple([None if i in places else arg for i, arg in enumerate(args)])
        form = _Form(places, moving, fixed, tuple(sorted(kwargs.items())))
        operands = [args[i] for i in places]
        types, structure = tree.flatten(tree.map(type_of, self._answer(form, operands)))
        key = form.key, tuple(types), structure, structure_key(structure)
        if key not in self._made:
            if len(self._made) >= MOST_FORMS:
                self._made.clear()
            self._made[key] = self._op(form, tree.unflatten(structure, types))
        return self._made[key](*operands)

    def _answer(self, form: _Form, operands: Sequence[Any]) -> Any:
        """Return what the function gives, which says the types of the op; the op will ask for it.

        Where a recording knows no values, ones stand for traced arguments, for the types alone.
        """
        try:
            known = [np.array(value(x))[()] for x in operands]
        except TracingError:
            return call_outside(form.call, self.function, [_example(x) for x in operands])
        found = call_outside(form.call, self.function, [np.array(x)[()] for x in known])
        self._last = form, known, found
        return found

    def _run(self, form: _Form, *operands: Any) -> Any:
        """Compute the op: what was found while recording, if it was for these operands."""
        last, self._last = self._last, None
        if last is not None and last[0].key == form.key and all(map(_same, last[1], operands)):
            return last[2]
        return form.call(self.function, operands)

    def _op(self, form: _Form, types: Any) -> Function:
        """Return the function of the arguments at some places, with its rules."""
        called = opaque(partial(self._run, form), result=types, name=self._name)
        made: Any

        along = partial(self._along, form)

        def differentiable(primals: Any) -> list[int]:
            return [i for i, x in enumerate(primals) if form.places[i] in form.moving and x.dtype.kind in "fc"]

        def back(primals: Any, ans: Any, cotangent: Any) -> Any:
            found = []
            for i in differentiable(primals):
                maker = self.vjps.rule(form.places[i], self._name)
                pulled = _zero(primals[i]) if maker is None else form.call(maker, primals, ans)(cotangent)
                found.append(as_real(pulled, primals[i]))
            return tuple(found)

        pushed = _plainly(along, lambda primals, ans, tangents: ans, f"{self._name}_jvp", self)
        pulled = _plainly(
            back,
            lambda primals, ans, cotangent: tuple([primals[i] for i in differentiable(primals)]),
            f"{self._name}_vjp",
            self,
        )

        def push(primals: Any, tangents: Any) -> Any:
            ans = made(*primals)
            return ans, pushed(primals, ans, tangents)

        def pull(primals: Any, cotangent: Any) -> Any:
            found = pulled(primals, made(*primals), cotangent) if differentiable(primals) else ()
            zeros = [_zero(x) for x in primals]
            return subvals(zeros, zip(differentiable(primals), found, strict=True))

        def transposed(primals: Any, cotangent: Any) -> Any:
            self._check_transposes(form)
            ans = made(*primals)
            zeros = tuple([_zero(x) for x in primals])
            return vjp(lambda *tangents: along(primals, ans, tangents), *zeros)[1](cotangent)

        pulls, pushes = self.vjps.cover(form.moving), self.jvps.cover(form.moving)
        if pulls and not pushes:
            made = custom_vjp(called)
            made.defvjp(lambda *primals: (made(*primals), primals), pull)
        else:
            made = _Kept(called, push, transposed if pushes and not pulls else pull, self)
        return made  # type: ignore[no-any-return]

    def _along(self, form: _Form, primals: Any, ans: Any, tangents: Any) -> Any:
        """Return the tangent of the result: the sum of what the rules of the moving arguments give."""
        total = None
        for i, (place, tangent) in enumerate(zip(form.places, tangents, strict=True)):
            rule = self.jvps.rule(place, self._name) if place in form.moving else None
            if rule is None:
                continue
            if rule == "same":
                term = form.call(self, subval(primals, i, tangent))
            else:
                term = form.call(rule, primals, tangent, ans)
            total = term if total is None else tree.map(lambda a, b: a + b, total, term)
        return tree.map(np.zeros_like, ans) if total is None else tree.map(as_real, total, ans)

    def _check_transposes(self, form: _Form) -> None:
        """Refuse to transpose a rule that is the primitive itself: that asks for what is looked for."""
        for place in form.moving:
            if self.jvps.rule(place, self._name) == "same":
                raise NoRuleError(
                    f"primitive {self._name} is linear in argument {place}, and its transpose is not known",
                    fix="say with defvjp how cotangents are pulled back.",
                )


def _example(x: Any) -> Any:
    """Return ones in place of a traced array, a copy of a plain one."""
    return (np.ones(x.shape, x.dtype) if isinstance(x, TracedArray) else np.array(x))[()]


def _zero(x: Any) -> Any:
    """Return zeros in which derivatives of an array are: those of integers are real."""
    return np.zeros(np.shape(x), x.dtype if x.dtype.kind in "fc" else float)


def _same(x: Any, y: Any) -> bool:
    """Say whether two arrays have the same bits, or nearly: a NaN is as any other."""
    return np.shape(x) == np.shape(y) and np.array_equal(x, y, equal_nan=np.asarray(x).dtype.kind in "fc")


def _rules(function: Any, kind: str) -> Rules:
    """Return where rules of a function go; those of a function that is recorded are asked by nobody, as in autograd.

    Raises:
        TracingError: for one of primad's own.
    """
    forward = not kind.startswith("defvjp")  # def_linear too
    if isinstance(function, primitive):
        function._made.clear()
        return function.jvps if forward else function.vjps
    if is_own(function):
        raise TracingError(
            f"{kind}: {getattr(function, '__name__', function)!r} was not made by primitive",
            why="It has its rules, and these say otherwise, or cannot be compared with them at numbers.",
            fix="decorate a function with @primitive, and give that one rules.",
        )
    return Rules(kind)


def _give(function: Any, kind: str, rules: Sequence[Any], argnums: Sequence[int] | None) -> None:
    given = dict(zip(range(len(rules)) if argnums is None else argnums, rules, strict=False))
    if not (is_own(function) and has_already(function, given, kind == "defjvp")):
        _rules(function, kind).of.update(given)


def defvjp(function: primitive, *vjpmakers: Function | None, argnums: Sequence[int] | None = None) -> None:
    """Say how cotangents are pulled back.

    Args:
        function: what `primitive` made; rules of other functions have no effect.
        vjpmakers: for each argument a function of the result and all arguments that gives the function of a cotangent;
            None where there is no derivative.
        argnums: the arguments' numbers, where these are not the first ones.

    Raises:
        TracingError: for one of primad's own functions, if its derivatives are others or cannot be compared.
    """
    _give(function, "defvjp", vjpmakers, argnums)


def defvjp_argnum(function: primitive, vjpmaker: Function) -> None:
    """Say how cotangents are pulled back to any argument: vjpmaker(argnum, ans, args, kwargs) gives the function."""
    _rules(function, "defvjp_argnum").others = lambda place: (
        lambda ans, *args, **kwargs: vjpmaker(place, ans, args, kwargs)
    )


def defvjp_argnums(function: primitive, vjpmaker: Function) -> None:
    """Say how cotangents are pulled back to several arguments: vjpmaker(argnums, ans, args, kwargs) gives the function.

    It is called for one argument at a time.
    """
    _rules(function, "defvjp_argnums").others = lambda place: (
        lambda ans, *args, **kwargs: lambda g: next(iter(vjpmaker((place,), ans, args, kwargs)(g)))
    )


def defjvp(function: primitive, *jvpfuns: Any, argnums: Sequence[int] | None = None) -> None:
    """Say how tangents are pushed forward: in forward mode, and in reverse mode where `defvjp` does not say it.

    Args:
        function: what `primitive` made; rules of other functions have no effect.
        jvpfuns: for each argument a function of its tangent, the result and all arguments that gives the result's
            tangent; "same" if it is linear in the argument (whose transpose only `defvjp` says); None where there is no
            derivative.
        argnums: the arguments' numbers, where these are not the first ones.

    Raises:
        TracingError: for one of primad's own functions, if its derivatives are others or cannot be compared.
    """
    _give(function, "defjvp", jvpfuns, argnums)


def defjvp_argnum(function: primitive, jvpmaker: Function) -> None:
    """Say how tangents of any argument are pushed forward: jvpmaker(argnum, g, ans, args, kwargs)."""
    _rules(function, "defjvp_argnum").others = lambda place: (
        lambda g, ans, *args, **kwargs: jvpmaker(place, g, ans, args, kwargs)
    )


def defjvp_argnums(function: primitive, jvpmaker: Function) -> None:
    """Say how tangents of several arguments are pushed forward: jvpmaker(argnums, gs, ans, args, kwargs).

    It is called for one argument at a time.
    """
    _rules(function, "defjvp_argnums").others = lambda place: (
        lambda g, ans, *args, **kwargs: jvpmaker((place,), [g], ans, args, kwargs)
    )


def def_linear(function: primitive) -> None:
    """Say that a function is linear in each argument."""
    _rules(function, "def_linear").others = lambda place: "same"


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
