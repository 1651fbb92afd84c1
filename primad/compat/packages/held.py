"""What a module's functions, classes, tables and objects took of NumPy, SciPy and `math` when the module was loaded."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from contextlib import suppress
from functools import wraps
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from primad.errors import TracingError
from primad.scipy.traced_calls import has_traced

Counterpart = Callable[[Any], Any]


def adopt_held(module: ModuleType, counterpart: Counterpart) -> None:
    """Let what is held in a module be recorded, as its names are.

    That is: what is a default of its functions or enclosed in them, an attribute of its classes, an entry of its dicts
    and lists, and a library that an object of one of its package's classes holds.

    Args:
        module: the module.
        counterpart: returns what stands for a value; the value itself if nothing does.
    """
    for name, each in list(vars(module).items()):
        if not name.startswith("__"):  # Python's own, its builtins among them
            _adopt(each, module.__name__, counterpart)


def _adopt(each: Any, name: str, counterpart: Counterpart) -> None:
    """Let what one of the values in a module of a name holds be recorded."""
    if type(each) is dict or type(each) is list:
        _entries(each, counterpart)
    elif isinstance(each, FunctionType) and each.__module__ == name:
        _function(each, counterpart)
    elif isinstance(each, type) and each.__module__ == name:
        _class(each, counterpart)
    elif type(each).__module__.partition(".")[0] == name.partition(".")[0]:
        _object(each, counterpart)


def _entries(table: Any, counterpart: Counterpart) -> None:
    for key, each in list(table.items() if isinstance(table, MutableMapping) else enumerate(table)):
        found = counterpart(each)
        if found is not each:
            table[key] = found


def _function(function: FunctionType, counterpart: Counterpart) -> None:
    if function.__defaults__:
        function.__defaults__ = tuple(map(counterpart, function.__defaults__))
    _entries(function.__kwdefaults__ or {}, counterpart)
    for cell in function.__closure__ or ():
        _cell(cell, counterpart)


def _cell(cell: CellType, counterpart: Counterpart) -> None:
    with suppress(ValueError):  # it may be empty
        found = counterpart(cell.cell_contents)
        if found is not cell.cell_contents:
            cell.cell_contents = found


def _class(cls: type, counterpart: Counterpart) -> None:
    if issubclass(cls, np.ndarray) and "__new__" in vars(cls):
        cls.__new__ = _refusing(cls, cls.__new__)  # type: ignore[method-assign]
    for name, each in list(vars(cls).items()):
        wrapped = isinstance(each, (staticmethod, classmethod))
        function = each.__func__ if wrapped else each.fget if isinstance(each, property) else each
        if isinstance(function, FunctionType):
            _function(function, counterpart)
        elif not name.startswith("__"):
            found = counterpart(function)
            if found is not function:
                setattr(cls, name, type(each)(found) if wrapped else found)


def _object(held: Any, counterpart: Counterpart) -> None:
    """Let NumPy be recorded where an object holds it: a choice of array libraries."""
    names = getattr(held, "__dict__", None)
    if type(names) is dict:
        names.update({name: counterpart(each) for name, each in names.items() if isinstance(each, ModuleType)})


def _refusing(cls: type, make: Callable[..., Any]) -> Callable[..., Any]:
    """Return how an array of a class of the package's own is made, with one error for traced values."""

    @wraps(make)
    def made(kind: type, *args: Any, **options: Any) -> Any:
        try:
            return make(kind, *args, **options)
        except (TypeError, TracingError) as error:
            if not has_traced((args, options)):
                raise
            raise TracingError(
                f"{cls.__name__} of traced values",
                why="The class derives from NumPy's array, which holds plain numbers, in memory of its own.",
                fix=f"call functions of {cls.__module__.partition('.')[0]} that take and give arrays.",
            ) from error

    return made
