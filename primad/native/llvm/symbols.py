"""Functions of others that native code calls at their addresses: those that SciPy exports for Cython, and CPython's."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any

MARK = "primad."
"""How the names begin that texts have for these functions: what follows is the module and the name there."""
PYTHON = "ctypes.pythonapi"
"""What stands for the module of functions of CPython."""
_NAMED = re.compile(rf"@{re.escape(MARK)}([\w.]+)\.(\w*)\(")


@lru_cache(maxsize=256)
def address_of(module: str, name: str) -> int | None:
    """Return the address of a function of CPython, or of one that a module of SciPy exports; None if it does not."""
    if module == PYTHON:
        return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    capsule = _exports(module).get(name)
    if capsule is None:
        return None
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found: int | None = get(capsule, _signature(capsule))
    return found


def _exports(module: str) -> dict[str, Any]:
    """Return what a module of SciPy exports for Cython, by name; nothing where there is no such module."""
    try:
        return dict(import_module(module).__pyx_capi__)
    except (ImportError, AttributeError):
        return {}


def _signature(capsule: Any) -> bytes:
    """Return what an export says that it takes and returns."""
    named = ctypes.pythonapi.PyCapsule_GetName
    named.restype, named.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return bytes(named(capsule))


@lru_cache(maxsize=256)
def variant_of_doubles(module: str, name: str, count: int) -> str:
    """Return the name of the variant of a function that takes so many doubles and returns one; '' if none is exported.

    Variants of one function for other types have its name after a prefix with a number, in no common order.
    """
    wanted = f"double ({'double, ' * count}int __pyx_skip_dispatch)".encode()
    found = (
        key
        for key, capsule in _exports(module).items()
        if re.fullmatch(rf"(__pyx_fuse_\d)?{name}", key) and _signature(capsule) == wanted
    )
    return next(found, "")


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
