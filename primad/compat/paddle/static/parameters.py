"""Parameters of static programs: a variable of the main program, and what fills it in the startup program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.compat.paddle.settings.default_initializers import Constant, Initializer, XavierUniform
from primad.compat.paddle.settings.naming import generate
from primad.compat.paddle.settings.parameters import ParamAttr, as_attribute
from primad.compat.paddle.static.defaults import default_main_program, default_startup_program
from primad.compat.paddle.static.variable import Parameter, Variable


def make_parameter(
    attribute: ParamAttr, shape: Sequence[int], dtype: Any, default: Initializer, stem: str, layer: str
) -> Parameter:
    """Add a parameter to the main program, and what fills it to the startup program.

    Args:
        attribute: what the user wants of it.
        shape: its shape.
        dtype: its data type.
        default: what fills it unless the attribute says otherwise.
        stem: `w` or `b`, for its name.
        layer: the name of the layer that it belongs to.
    """
    name = attribute.name or generate(f"{layer}.{stem}")
    block = default_main_program().global_block()
    if name in block.vars:
        return block.vars[name]  # type: ignore[return-value]
    options = {"learning_rate": attribute.learning_rate, "regularizer": attribute.regularizer}
    parameter: Parameter = block.add(
        Parameter(block, name, tuple(map(int, shape)), dtype, trainable=attribute.trainable, **options)
    )
    fill(parameter, attribute.initializer or default)
    return parameter


def fill(variable: Variable, initializer: Initializer) -> None:
    """Append to the startup program what fills a variable, under its name."""
    block = default_startup_program().global_block()
    target = block.add(type(variable)(block, variable.name, variable.shape, variable.dtype, **_options(variable)))
    block.fill(target, initializer)


def _options(variable: Variable) -> dict[str, Any]:
    return {"trainable": variable.trainable} if isinstance(variable, Parameter) else {"persistable": True}


def create_parameter(
    shape: Sequence[int],
    dtype: Any,
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Variable:
    """Return a new parameter of the main program, which the startup program fills.

    Args:
        shape: its shape.
        dtype: its data type.
        name: its name.
        attr: a ParamAttr.
        is_bias: whether it is filled with zeros, rather than by Xavier's rule.
        default_initializer: what fills it unless attr says otherwise.
    """
    attribute = as_attribute(attr) or ParamAttr()
    default = default_initializer or (Constant(0.0) if is_bias else XavierUniform())
    if attribute.name is None and name is not None:
        attribute = ParamAttr(**{**attribute.__dict__, "name": name})
    return make_parameter(attribute, shape, dtype, default, "b" if is_bias else "w", generate("create_parameter"))


def create_global_var(
    shape: Sequence[int], value: float, dtype: Any, persistable: bool = False, force_cpu: bool = False, name: Any = None
) -> Variable:
    """Return a new variable that the startup program fills with one value, and that outlives runs if persistable."""
    block = default_main_program().global_block()
    variable: Variable = block.create_var(name or generate("global_var"), shape, dtype, persistable=persistable)
    variable.stop_gradient = True
    fill(variable, Constant(value))
    return variable
