"""Functions with rules of a user's own, as `autograd.extend` has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from primad import tree
from primad.errors import NotDifferentiableError, TracingError
from primad.functional.custom import custom_jvp, custom_vjp
from primad.functional.opaque import opaque
from primad.functional.values import value
from primad.recording import type_of
from primad.trace import TracedArray, settled

__all__ = ["defjvp", "defvjp", "primitive"]

Function = Callable[..., Any]


class primitive:
    """A function that is called with plain arrays, never recorded; `defvjp` and `defjvp` say how it is differentiated.

    Args:
        function: a pure function of arrays. Arguments that are no floats or arrays are constants, and must be hashable.

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
        update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function: as one op where an argument is traced."""
        args = settled(args)
        active = tuple([isinstance(arg, TracedArray) for arg in args])
        if not any(active):
            return self.function(*args, **kwargs)
        places = tuple([i for i, arg in enumerate(args) if active[i] or isinstance(arg, (np.ndarray, float))])
        fixed = tuple([None if i in places else arg for i, arg in enumerate(args)])
        known = [_known(arg) for arg in args]
        types = tree.map(type_of, self.function(*known, **kwargs))
        leaves, structure = tree.flatten(types)
        key = active, places, fixed, tuple(sorted(kwargs.items())), tuple(leaves), structure
        if key not in self._made:
            self._made[key] = self._op(active, places, fixed, kwargs, types)
        return self._made[key](*[args[i] for i in places])

    def _op(
        self, active: Sequence[bool], places: Sequence[int], fixed: Sequence[Any], kwargs: dict[str, Any], types: Any
    ) -> Function:
        """Return the function of the arguments at some places, with its rule."""

        def filled(operands: Sequence[Any]) -> list[Any]:
            given = list(fixed)
            for place, operand in zip(places, operands, strict=True):
                given[place] = operand
            return given

        def computed(*operands: Any) -> Any:
            return self.function(*filled(operands), **kwargs)

        called = opaque(computed, result=types, name=getattr(self.function, "__name__", "primitive"))
        moving = [place for place in places if active[place]]
        if all(place in self.jvps for place in moving):
            pushed = custom_jvp(called)

            def push(primals: Any, tangents: Any) -> Any:
                ans, total = pushed(*primals), None
                given = filled(primals)
                for place, tangent in zip(places, tangents, strict=True):
                    rule = self.jvps[place] if active[place] else None
                    if rule is not None:
                        term = rule(tangent, ans, *given, **kwargs)
                        total = term if total is None else tree.map(lambda a, b: a + b, total, term)
                return ans, tree.map(np.zeros_like, ans) if total is None else total

            pushed.defjvp(push)
            return pushed
        pulled = custom_vjp(called)

        def forward(*operands: Any) -> Any:
            ans = pulled(*operands)
            return ans, (ans, operands)

        def backward(kept: Any, cotangent: Any) -> Any:
            ans, operands = kept
            given = filled(operands)
            found = []
            for place, operand in zip(places, operands, strict=True):
                if active[place] and place not in self.vjps:
                    raise NotDifferentiableError(
                        f"primitive {self.__name__} has no rule for argument {place}",  # type: ignore[attr-defined]
                        fix="give it one with defvjp, or defvjp(…, None) if there is no derivative.",
                    )
                maker = self.vjps[place] if active[place] else None
                plain = np.zeros(np.shape(operand))
                found.append(plain if maker is None else maker(ans, *given, **kwargs)(cotangent))
            return tuple(found)

        pulled.defvjp(forward, backward)
        return pulled


def _known(arg: Any) -> Any:
    """Return an argument's value, or an array of ones where a recording knows no values."""
    if not isinstance(arg, TracedArray):
        return arg
    try:
        return value(arg)
    except TracingError:
        return np.ones(arg.shape, arg.dtype)[()]


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
    """Say how tangents are pushed forward, which serves both modes.

    Args:
        function: what `primitive` made.
        jvpfuns: for each argument a function of its tangent, the result and all arguments that gives the result's
            tangent; "same" if it is linear in the argument; None where there is no derivative.
        argnums: the arguments' numbers, where these are not the first ones.
    """

    def same(place: int) -> Function:
        def push(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
            return function(*args[:place], g, *args[place + 1 :], **kwargs)

        return push

    rules = {place: same(place) if rule == "same" else rule for place, rule in _places(jvpfuns, argnums)}
    function.jvps.update(rules)
    function._made.clear()
