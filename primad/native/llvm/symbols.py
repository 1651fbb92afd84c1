"""Functions of others that native code calls at their addresses: those that SciPy exports for Cython, and CPython's."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module

MARK = "primad."
"""How the names begin that texts have for these functions: what follows is the module and the name there."""
PYTHON = "ctypes.pythonapi"
"""What stands for the module of functions of CPython."""
_NAMED = re.compile(rf"@{re.escape(MARK)}([\w.]+)\.(\w+)\(")


@lru_cache(maxsize=256)
def address_of(module: str, name: str) -> int | None:
    """Return the address of a function of CPython, or of one that a module of SciPy exports; None if it does not."""
    if module == PYTHON:
        return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    try:
        capsule = import_module(module).__pyx_capi__[name]
    except (ImportError, AttributeError, KeyError):
        return None
    named, get = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    named.restype, named.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found: int | None = get(capsule, named(capsule))
    return found


def in_python(name: str) -> str:
    """Return the name that texts have for a function of CPython."""
    return f"{MARK}{PYTHON}.{name}"


def named(declarations: Iterable[str]) -> dict[str, int]:
    """Return the addresses of these functions among those that a text declares, by their names there.

    Raises:
        RuntimeError: if SciPy does not export one.
    """
    found: dict[str, int] = {}
    for module, name in (match.groups() for line in declarations for match in _NAMED.finditer(line)):
        address = address_of(module, name)
        if address is None:
            raise RuntimeError(f"{module} exports no {name}")
        found[f"{MARK}{module}.{name}"] = address
    return found
