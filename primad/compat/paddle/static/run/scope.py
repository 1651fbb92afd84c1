"""Scopes: the values that outlive a run of a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class ScopeVariable:
    """A value in a scope, as `Scope.find_var` gives it."""

    def __init__(self, scope: Scope, name: str) -> None:
        self._scope, self._name = scope, name

    def get_tensor(self) -> ScopeVariable:
        """Return itself: the value is an array."""
        return self

    def set(self, value: Any, place: Any = None) -> None:
        """Replace the value by a copy of an array."""
        self._scope.values[self._name] = np.array(value)

    def shape(self) -> list[int]:
        """Return the lengths of its axes."""
        return list(self._scope.values[self._name].shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self._scope.values[self._name], dtype)


class Scope:
    """Values that outlive a run, by name.

    Attributes:
        values: the arrays.
    """

    def __init__(self) -> None:
        self.values: dict[str, np.ndarray[Any, Any]] = {}

    def find_var(self, name: str) -> ScopeVariable | None:
        """Return the value of that name, or None."""
        return ScopeVariable(self, name) if name in self.values else None

    def var(self, name: str) -> ScopeVariable:
        """Return the value of that name, to be set."""
        return ScopeVariable(self, name)


_scopes: list[Scope] = [Scope()]


def global_scope() -> Scope:
    """Return the scope that `Executor.run` uses by default."""
    return _scopes[-1]


@contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Use another scope inside a `with` block."""
    _scopes.append(scope)
    try:
        yield
    finally:
        _scopes.pop()
