"""Static mode (`paddle.static`): programs are described first, then run by an `Executor`."""

from typing import Any

from primad.compat.paddle.settings import errors
from primad.compat.paddle.settings.parameters import ParamAttr
from primad.compat.paddle.settings.place import CPUPlace
from primad.compat.paddle.static import nn
from primad.compat.paddle.static.backward import append_backward, gradients
from primad.compat.paddle.static.defaults import default_main_program, default_startup_program
from primad.compat.paddle.static.parameters import create_global_var, create_parameter
from primad.compat.paddle.static.program import Program, data, program_guard
from primad.compat.paddle.static.run.execution import Executor
from primad.compat.paddle.static.run.program_storage import load, save
from primad.compat.paddle.static.run.scope import Scope, global_scope, scope_guard
from primad.compat.paddle.static.variable import Variable

__all__ = [
    "Executor", "ParamAttr", "Program", "Scope", "Variable", "append_backward", "cpu_places", "create_global_var",
    "create_parameter", "data", "default_main_program", "default_startup_program", "global_scope", "gradients", "load",
    "nn", "program_guard", "save", "scope_guard",
]  # fmt: skip


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """Return the places to run on: the CPU, as often as asked for."""
    return [CPUPlace()] * (device_count or 1)


def __getattr__(name: str) -> Any:
    raise errors.unsupported("paddle.static", name, __all__)
