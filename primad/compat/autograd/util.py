"""What `autograd.util` has for programs: tuples with some items replaced, and the nodes of a graph in order."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any

from primad.compat.autograd.importing import missing


def subvals(x: Sequence[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """Return a sequence as a tuple, with values at some places replaced."""
    items = list(x)
    for place, value in ivs:
        items[place] = value
    return tuple(items)


def subval(x: Sequence[Any], i: int, v: Any) -> tuple[Any, ...]:
    """Return a sequence as a tuple, with the value at one place replaced."""
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """Return a function as it is; in Python 2 it was that of a method."""
    return f


def toposort(end_node: Any, parents: Callable[[Any], Iterable[Any]] = attrgetter("parents")) -> Iterator[Any]:
    """Return the nodes that lead to one, each once, and only after all that it leads to.

    Args:
        end_node: the node to begin with, as `box._node`.
        parents: gives those before a node; its attribute `parents`, if nothing is said.

    Example:
        >>> list(toposort("abc", lambda word: [word[1:], word[:-1]] if len(word) > 1 else []))
        ['abc', 'ab', 'a', 'bc', 'b', 'c']
    """
    before = {end_node: tuple(parents(end_node))}
    unseen = [end_node]
    while unseen:
        for parent in before[unseen.pop()]:
            if parent not in before:
                before[parent] = tuple(parents(parent))
                unseen.append(parent)
    waiting = Counter(parent for found in before.values() for parent in found)
    ready = [end_node]
    while ready:
        node = ready.pop()
        yield node
        for parent in before[node]:
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)


def quick_grad_check(
    fun: Callable[..., Any],
    arg0: Any,
    extra_args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **tolerances: Any,
) -> None:
    """Compare the gradient of a function in its first argument with differences, as autograd before version 1.2 did.

    Args:
        fun: the function.
        arg0: its first argument.
        extra_args: further ones.
        kwargs: keywords.
        tolerances: taken and not used, as in autograd.
    """
    check_grads = import_module("primad.compat.autograd.test_util").check_grads  # which needs this module
    warnings.warn("quick_grad_check is deprecated: use autograd.test_util.check_grads.", stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)


__all__ = ["func", "quick_grad_check", "subval", "subvals", "toposort"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
