"""What `autograd.tracer` has for programs: whether a value is traced, and what it is."""

from __future__ import annotations

from typing import Any

from primad.compat.autograd.extend import Box, notrace_primitive, primitive
from primad.compat.autograd.importing import missing
from primad.compat.autograd.values import getval, isbox

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive"]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
