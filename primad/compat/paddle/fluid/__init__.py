"""`paddle.fluid`, the API of Paddle 1.x, as far as static programs need it. It is always static."""

from typing import Any

from primad.compat.paddle.fluid import backward, layers, optimizer
from primad.compat.paddle.settings import default_initializers as initializer
from primad.compat.paddle.settings import errors
from primad.compat.paddle.settings import naming as unique_name
from primad.compat.paddle.settings.parameters import ParamAttr
from primad.compat.paddle.settings.place import CPUPlace
from primad.compat.paddle.static.backward import gradients
from primad.compat.paddle.static.defaults import default_main_program, default_startup_program
from primad.compat.paddle.static.nn import embedding
from primad.compat.paddle.static.program import Program, data, program_guard
from primad.compat.paddle.static.run.execution import Executor
from primad.compat.paddle.static.run.scope import Scope, global_scope, scope_guard
from primad.compat.paddle.static.variable import Variable

__all__ = [
    "CPUPlace", "Executor", "ParamAttr", "Program", "Scope", "Variable", "backward", "data", "default_main_program",
    "default_startup_program", "embedding", "global_scope", "gradients", "initializer", "layers", "optimizer",
    "program_guard", "scope_guard", "unique_name",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise errors.unsupported("paddle.fluid", name, __all__)
