"""Automatic names of symbols, and the attributes that a scope gives to them."""

from __future__ import annotations

import threading
from collections import Counter


class _Scoped(threading.local):
    """The innermost name manager and attribute scope of each thread."""

    def __init__(self) -> None:
        self.managers: list[NameManager] = [NameManager()]
        self.scopes: list[AttrScope] = [AttrScope()]


class NameManager:
    """Gives operators without a name one: their hint, and a number counted per manager.

    Example:
        >>> import primad.compat.mxnet as mx
        >>> with mx.name.NameManager():
        ...     mx.sym.sin(mx.sym.Variable("a"))
        <Symbol sin0>
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def get(self, name: str | None, hint: str) -> str:
        """Return `name`, or the next name for the hint."""
        if name:
            return name
        self._counts[hint] += 1
        return f"{hint}{self._counts[hint] - 1}"

    def __enter__(self) -> NameManager:
        _scoped.managers.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _scoped.managers.pop()


class Prefix(NameManager):
    """A name manager that puts a prefix in front of the names of operators (not of variables).

    Example:
        >>> import primad.compat.mxnet as mx
        >>> with mx.name.Prefix("p_"):
        ...     net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="f")
        >>> net.list_arguments()
        ['x', 'p_f_weight', 'p_f_bias']
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """Return the prefixed name."""
        return self._prefix + super().get(name, hint)


class AttrScope:
    """Attributes given to every symbol that is made inside `with`; an inner scope adds to the outer one.

    Raises:
        ValueError: for a value that is no string.

    Example:
        >>> import primad.compat.mxnet as mx
        >>> with mx.AttrScope(ctx_group="stage1"):
        ...     mx.sym.Variable("a").attr("ctx_group")
        'stage1'
    """

    def __init__(self, **attributes: str) -> None:
        if not all(isinstance(value, str) for value in attributes.values()):
            raise ValueError("Attributes need to be string")
        self._attributes = attributes

    def get(self, attributes: dict[str, str] | None) -> dict[str, str]:
        """Return the scope's attributes, overridden by the symbol's own."""
        return {**self._attributes, **(attributes or {})}

    def __enter__(self) -> AttrScope:
        _scoped.scopes.append(AttrScope(**current_scope().get(self._attributes)))
        return self

    def __exit__(self, *exception: object) -> None:
        _scoped.scopes.pop()


_scoped = _Scoped()


def current_manager() -> NameManager:
    """Return the innermost name manager."""
    return _scoped.managers[-1]


def current_scope() -> AttrScope:
    """Return the innermost attribute scope."""
    return _scoped.scopes[-1]
