"""Functions with rules of a user's own, as `autograd.extend` has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, update_wrapper
from typing import Any

import numpy as np

from primad.errors import NotDifferentiableError, TracingError
from primad.functional.recorded_values import value
from primad.functional.rules.custom_rules import TwoSided, custom_jvp, custom_vjp
from primad.functional.rules.opaque import opaque
from primad.recording import tree
from primad.recording.argument_keys import comparable_key, structure_key
from primad.recording.traced_array import TracedArray, settled
from primad.recording.tracing import call_outside, type_of

__all__ = ["defjvp", "defvjp", "primitive"]

Function = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class _Form:
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

    def call(self, function: Function, operands: Sequence[Any], *before: Any) -> Any:
        """Call a function with all arguments, after some more."""
        given = list(self.fixed)
        for place, operand in zip(self.places, operands, strict=True):
            given[place] = operand
        return function(*before, *given, **dict(self.options))


class primitive:
    """A function that is called with plain arrays, never recorded; `defvjp` and `defjvp` say how it is differentiated.

    Where all moving arguments have a rule by `defvjp`, these serve reverse mode; where all have one by `defjvp`, those
    serve forward mode, and without the others, transposed, reverse mode too. A rule that is None says that the
    derivative is 0; without a rule, asking for it is an error.

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
        self.function = function
        self.vjps: dict[int, Function | None] = {}
        self.jvps: dict[int, Function | None] = {}
        self._made: dict[Any, Function] = {}
        self._last: tuple[_Form, list[Any], Any] | None = None
        update_wrapper(self, function)

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
            self._made[key] = self._op(form, tree.unflatten(structure, types))
        return self._made[key](*operands)

    def _answer(self, form: _Form, operands: Sequence[Any]) -> Any:
        """Return what the function gives, which says the types of the op; the op will ask for it.

        Where a recording knows no values, the function is called with ones, for the types alone.
        """
        try:
            known = [np.array(value(x))[()] for x in operands]
        except TracingError:
            return call_outside(
                form.call, self.function, [np.ones(np.shape(x), type_of(x).dtype)[()] for x in operands]
            )
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
        called = opaque(partial(self._run, form), result=types, name=getattr(self.function, "__name__", "primitive"))
        made: Any

        def push(primals: Any, tangents: Any) -> Any:
            ans, total = made(*primals), None
            for place, tangent in zip(form.places, tangents, strict=True):
                rule = self._rule(self.jvps, "defjvp", place) if place in form.moving else None
                if rule is not None:
                    term = form.call(rule, primals, tangent, ans)
                    total = term if total is None else tree.map(lambda a, b: a + b, total, term)
            return ans, tree.map(np.zeros_like, ans) if total is None else total

        def pull(primals: Any, cotangent: Any) -> Any:
            ans, found = made(*primals), []
            for place, operand in zip(form.places, primals, strict=True):
                maker = self._rule(self.vjps, "defvjp", place) if place in form.moving else None
                zero = np.zeros(np.shape(operand))
                found.append(zero if maker is None else form.call(maker, primals, ans)(cotangent))
            return tuple(found)

        pushes, pulls = (all(place in rules for place in form.moving) for rules in (self.jvps, self.vjps))
        if pushes and not pulls:
            made = custom_jvp(called)
            made.defjvp(push)
        elif pulls and not pushes:
            made = custom_vjp(called)
            made.defvjp(lambda *primals: (made(*primals), primals), pull)
        else:
            made = TwoSided(called, push, pull)
        return made  # type: ignore[no-any-return]

    def _rule(self, rules: dict[int, Function | None], name: str, place: int) -> Function | None:
        if place not in rules:
            raise NotDifferentiableError(
                f"primitive {self.__name__} has no rule for argument {place} by {name}",  # type: ignore[attr-defined]
                fix=f"give it one with {name}, or {name}(…, None) if there is no derivative.",
            )
        return rules[place]


def _same(x: Any, y: Any) -> bool:
    """Say whether two arrays have the same bits, or nearly: a NaN is as any other."""
    return np.shape(x) == np.shape(y) and np.array_equal(x, y, equal_nan=np.asarray(x).dtype.kind == "f")


def _places(rules: Sequence[Any], argnums: Any) -> Any:
    return zip(range(len(rules)) if argnums is None else argnums, rules, strict=False)


def defvjp(function: primitive, *vjpmakers: Function | None, argnums: Sequence[int] | None = None) -> None:
    """Say how cotangents are pulled back.

    Args:
        function: what `primitive` made.
        vjpmakers: for each argument a function of the result and all arguments that gives the function of a cotangent;
            None where there is no derivative.
        argnums: the arguments' numbers, where these are not the first ones.
    """
    function.vjps.update(_places(vjpmakers, argnums))
    function._made.clear()


def defjvp(function: primitive, *jvpfuns: Any, argnums: Sequence[int] | None = None) -> None:
    """Say how tangents are pushed forward: in forward mode, and in reverse mode where `defvjp` does not say it.

    Args:
        function: what `primitive` made.
        jvpfuns: for each argument a function of its tangent, the result and all arguments that gives the result's
            tangent; "same" if it is linear in the argument (whose transpose only `defvjp` says); None where there is no
            derivative.
        argnums: the arguments' numbers, where these are not the first ones.
    """

    def same(place: int) -> Function:
        def push(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
            return function(*args[:place], g, *args[place + 1 :], **kwargs)

        return push

    rules = {place: same(place) if rule == "same" else rule for place, rule in _places(jvpfuns, argnums)}
    function.jvps.update(rules)
    function._made.clear()
