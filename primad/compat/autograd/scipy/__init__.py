"""What `autograd.scipy` has, as far as primad has it."""

from importlib import import_module
from typing import Any

from primad.compat.autograd.importing import missing, specification

_MODULES = ("integrate", "linalg", "misc", "signal", "special", "stats")


def __getattr__(name: str) -> Any:
    if specification(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    missing(__name__, name, _MODULES)
