"""SciPy's special functions and SymPy, imported when something of them is first used.

Importing `scipy.special` takes longer than everything else that `import primad` does, and most programs never need it.
SymPy takes as long as both. NumPy too loads some of its parts late, which a first call may spare.
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from typing import Any

import numpy as np

MODULE = "scipy.special"


class Deferred:
    """A function of `scipy.special`, by name; it behaves as that function does, and loads it when something asks.

    Attributes:
        name: the function's name there.
    """

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = self.__qualname__ = name
        self.__module__ = MODULE

    @property
    def function(self) -> Any:
        """The function itself; an ImportError where this version of SciPy has none of that name."""
        found = self.__dict__.get("_function")
        if found is None:
            found = getattr(import_module(MODULE), self.name, None)
            if found is None:  # an AttributeError of a property would ask `__getattr__`, which asks for the property
                have = import_module("scipy").__version__
                raise ImportError(f"SciPy {have} has no {MODULE}.{self.name}: pip install -U scipy", name=MODULE)
            self._function = found
        return found

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        return self.function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return f"<{MODULE}.{self.name}>"


class _Special:
    """Stands for the module `scipy.special`."""

    def __init__(self) -> None:
        self._known: dict[str, Deferred] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._known.setdefault(name, Deferred(name))

    def names(self) -> list[str]:
        """Return the functions of the module that something stands for."""
        return list(self._known)

    def deferred(self, function: Any) -> Deferred | None:
        """Return what stands for a function of the module, if something does."""
        found = self._known.get(getattr(function, "__name__", ""))
        return found if found is not None and MODULE in sys.modules and found.function is function else None


special = _Special()
"""`special.erf` stands for `scipy.special.erf`."""


class DeferredModule:
    """Stands for a module, and loads it when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._module = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)

    def __repr__(self) -> str:
        return f"<{self._module}>"


sympy = DeferredModule("sympy")
"""`sympy.Symbol` is that of SymPy."""


def loaded(function: Any) -> Any:
    """Return a function itself where a deferred one stands for it."""
    return function.function if isinstance(function, Deferred) else function


def distinct(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return integers in order, each once: `np.unique` of an array alone loads `numpy.ma`, which takes 7 ms."""
    found = np.sort(numbers, axis=None)
    new = np.ones(len(found), bool)
    np.not_equal(found[1:], found[:-1], out=new[1:])
    return found[new]
