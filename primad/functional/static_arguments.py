"""Arguments of a jitted function that are constants: which they are, and the function of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np

from primad.errors import TracingError
from primad.recording import tree

Function = Callable[..., Any]
PLACED = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class StaticArguments(NamedTuple):
    """Which arguments are constants, however a call passes them.

    Attributes:
        positions: of those passed by position; they count from the end where the signature does not tell.
        names: of those passed by keyword.
    """

    positions: tuple[int, ...]
    names: frozenset[str]

    def among(self, count: int) -> tuple[int, ...]:
        """Return which of so many positional arguments they are."""
        return tuple([place for i in self.positions if 0 <= (place := i if i >= 0 else i + count) < count])

    def named(self, kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return those among the keyword arguments, in the order of their names, and the others."""
        fixed = {name: kwargs[name] for name in sorted(kwargs) if name in self.names}
        return fixed, {name: value for name, value in kwargs.items() if name not in fixed}


def static_arguments(function: Function, argnums: Any, argnames: Any) -> StaticArguments:
    """Return which arguments are constants: the parameters at the positions and with the names, passed either way.

    Raises:
        TracingError: for a name that is no parameter of the function.
    """
    positions, names = positions_of(argnums), (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if not positions and not names:
        return StaticArguments((), frozenset())
    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):  # ufuncs and other functions that do not tell
        return StaticArguments(positions, frozenset(names))
    kinds = [parameter.kind for parameter in parameters]
    placed = [parameter for parameter in parameters if parameter.kind in PLACED]
    if Parameter.VAR_POSITIONAL not in kinds:
        positions = tuple([i if i >= 0 else i + len(placed) for i in positions])
    known = [parameter.name for parameter in parameters if parameter.kind in NAMED]
    unknown = [name for name in names if name not in known]
    if unknown and Parameter.VAR_KEYWORD not in kinds:
        raise TracingError(
            f"jit: static_argnames names {unknown[0]!r}, which the function does not take by keyword",
            fix=f"name some of {', '.join(known)}." if known else "pass static_argnums, positions of arguments.",
        )
    at = {i for i in positions if 0 <= i < len(placed)} | {i for i, each in enumerate(placed) if each.name in names}
    further = [i for i in positions if i not in at]
    by_name = {placed[i].name for i in at if placed[i].kind in NAMED} | set(names)
    return StaticArguments((*sorted(at), *further), frozenset(by_name))


def positions_of(given: Any) -> tuple[Any, ...]:
    """Return positions that a user gave: one, or several."""
    return (int(given),) if isinstance(given, (int, np.integer)) else tuple(given)


def as_static(dynamic: Sequence[Any], fixed: Iterable[int | str], kwargs: Mapping[str, Any]) -> str:
    """Say how to pass what is a text or another object without a shape; "" where an argument is only in part."""
    places = [i for i in fixed if isinstance(i, int)]
    others = [i for i in range(len(dynamic) + len(places)) if i not in places]
    odd = [i for i, x in zip(others, dynamic, strict=True) if is_odd(x)]
    named = [name for name, value in kwargs.items() if is_odd(value)]
    if odd:
        wanted = odd[0] if len(odd) == 1 and not places else (*sorted([*places, *odd]),)
        return f"a constant is a static argument: static_argnums={wanted}, by its position; or close over it."
    if named:
        names = sorted({*named, *(name for name in fixed if isinstance(name, str))})
        return f"a constant is a static argument: static_argnames={names[0] if len(names) == 1 else (*names,)!r}."
    return ""


def is_odd(x: Any) -> bool:
    """Say whether an argument is a text or another object without a shape."""
    is_number = isinstance(x, (bool, int, float)) or hasattr(x, "__array__") or hasattr(x, "shape")
    return tree.flatten(x)[1].is_leaf() and not is_number


def of_others(function: Function, args: Sequence[Any], fixed: Sequence[int], named: Mapping[str, Any]) -> Function:
    """Return the function of the arguments that are not static.

    Args:
        function: of all arguments.
        args: the positional ones.
        fixed: positions of the static ones among them.
        named: those passed by keyword.
    """
    if not fixed and not named:
        return function

    def free(*positional: Any, **others: Any) -> Any:
        values = list(positional)
        for i in sorted(set(fixed)):
            values.insert(i, args[i])
        return function(*values, **others, **named)

    free.__name__ = getattr(function, "__name__", "function")
    free.__qualname__ = getattr(function, "__qualname__", "function")
    return free


def leaves_of(args: Sequence[Any], fixed: Sequence[int], chosen: Sequence[int]) -> list[int]:
    """Return the flat positions, among the leaves of the arguments that are not static, of chosen arguments."""
    found: list[int] = []
    start = 0
    for i, arg in enumerate(args):
        if i in fixed:
            continue
        count = len(tree.leaves(arg))
        if i in chosen or i - len(args) in chosen:
            found.extend(range(start, start + count))
        start += count
    return found
