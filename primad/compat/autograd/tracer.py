"""What `autograd.tracer` has for programs: whether a value is traced, what it is, and tapes of their own."""

from __future__ import annotations

from typing import Any

from primad.compat.autograd.extend import Box, notrace_primitive, primitive
from primad.compat.autograd.importing import missing
from primad.compat.autograd.tape import Node, TraceStack, new_box, trace, trace_stack
from primad.compat.autograd.util import toposort
from primad.compat.autograd.values import getval, isbox

__all__ = [
    "Box", "Node", "TraceStack", "getval", "isbox", "new_box", "notrace_primitive", "primitive", "toposort", "trace",
    "trace_stack",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
