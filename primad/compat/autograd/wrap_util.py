"""From operators on functions of one argument to those on functions of several, one or some of which are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from primad.compat.autograd.importing import missing
from primad.compat.autograd.util import subvals
from primad.recording import tree

Function = Callable[..., Any]
Argnum = int | Sequence[int]


def chosen(fun: Function, argnum: Argnum, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Function, Any]:
    """Return a function of the chosen argument alone (of a tuple of several), and that argument.

    Integers in it become floats, as autograd takes them.
    """

    def unary(x: Any) -> Any:
        return fun(*subvals(args, [(argnum, x)] if isinstance(argnum, int) else zip(argnum, x, strict=True)), **kwargs)

    unary.__name__ = get_name(fun)
    x = args[argnum] if isinstance(argnum, int) else tuple([args[place] for place in argnum])
    return unary, tree.map(_as_float, x)


def _as_float(x: Any) -> Any:
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool):
        return float(x)
    return x.astype(float) if isinstance(x, np.ndarray) and x.dtype.kind in "iu" else x


def unary_to_nary(unary_operator: Function) -> Function:
    """Return the operator on functions of several arguments.

    Args:
        unary_operator: takes a function of one argument, that argument, and more arguments of its own.

    Returns:
        a function that takes the function, `argnum` (the number of the chosen argument, or numbers of several, 0 by
        default) and the other arguments of the operator, and returns a function of all arguments.
    """

    def nary_operator(fun: Function, argnum: Argnum = 0, *nary_op_args: Any, **nary_op_kwargs: Any) -> Function:
        def nary(*args: Any, **kwargs: Any) -> Any:
            return unary_operator(*chosen(fun, argnum, args, kwargs), *nary_op_args, **nary_op_kwargs)

        nary.__name__ = f"{unary_operator.__name__}_of_{get_name(fun)}_wrt_argnum_{argnum}"
        nary.__doc__ = f"{unary_operator.__name__} of {get_name(fun)} in argument {argnum}."
        return nary

    update_wrapper(nary_operator, unary_operator)
    del nary_operator.__wrapped__  # type: ignore[attr-defined]  # its signature is not that of the unary operator
    return nary_operator


def wraps(
    fun: Function, namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any
) -> Callable[[Function], Function]:
    """Return a decorator that gives a function a name and a text made of those of another one."""

    def decorate(function: Function) -> Function:
        name, doc = get_name(fun), getattr(fun, "__doc__", "")
        function.__name__ = namestr.format(fun=name, **kwargs)
        function.__doc__ = docstr.format(fun=name, doc=doc, **kwargs)
        return function

    return decorate


def get_name(f: Any) -> str:
    """Return the name of a function, or that it has none."""
    return str(getattr(f, "__name__", "[unknown name]"))


__all__ = ["get_name", "unary_to_nary", "wraps"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
