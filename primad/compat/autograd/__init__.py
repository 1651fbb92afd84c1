"""HIPS autograd's functions over primad: a program written for it runs unchanged, or with the imports changed.

`import primad.compat.autograd.numpy as np` and `from primad.compat.autograd import grad` stand for autograd's own;
after `install()`, or in `python -m primad.compat.autograd SCRIPT`, `import autograd` finds this package.
"""

from importlib import import_module
from typing import Any

from primad.compat.autograd import differential_operators
from primad.compat.autograd.builtins import dict, isinstance, list, tuple, type
from primad.compat.autograd.differential_operators import *
from primad.compat.autograd.extend import defjvp, defvjp, primitive
from primad.compat.autograd.importing import install, missing, specification

__all__ = [
    "defjvp", "defvjp", "dict", "install", "isinstance", "list", "primitive", "tuple", "type",
    *differential_operators.__all__,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and specification(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    missing(__name__, name, __all__)
