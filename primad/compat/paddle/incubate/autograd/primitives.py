"""Programs of primitives: `enable_prim` and its relatives, forward mode, and lowering a program to primitives.

In primad every derivative is made of primitives, so the switch changes nothing but what `forward_grad` allows.
`orig2prim` shows the primitives in a program's text; `prim2orig` is the identity, since primitives run.
"""

from __future__ import annotations

from typing import Any

from primad.compat.paddle.incubate.autograd.products import is_sequence, listed
from primad.compat.paddle.settings.errors import (
    ArgumentAssertionError,
    ArgumentTypeError,
    PreconditionError,
)
from primad.compat.paddle.static.backward import gradients
from primad.compat.paddle.static.defaults import default_main_program
from primad.compat.paddle.static.forward import tangents
from primad.compat.paddle.static.program import Block
from primad.compat.paddle.static.run.lowering import lower_block
from primad.compat.paddle.static.variable import Variable

_ENABLED = [False]
"""The mode flag of `enable_prim`."""


def enable_prim() -> None:
    """Allow `forward_grad`."""
    _ENABLED[0] = True


def disable_prim() -> None:
    """Disallow `forward_grad`, which is how a Python process starts."""
    _ENABLED[0] = False


def prim_enabled() -> bool:
    """Say whether `enable_prim` is in force."""
    return _ENABLED[0]


def forward_grad(outputs: Any, inputs: Any, grad_inputs: Any = None) -> Any:
    """Append the tangents of outputs along tangents of inputs to a static program (forward mode).

    Args:
        outputs: a variable or a sequence of them.
        inputs: likewise.
        grad_inputs: the inputs' tangents, of their shapes; ones by default.

    Returns:
        the tangent of the output, or a list for a sequence; None for outputs that do not depend on the inputs.

    Raises:
        PreconditionError: if `enable_prim` is not in force, or variables belong to different programs.
        ArgumentTypeError: for arguments that are no variables.

    Example:
        >>> from primad.compat import paddle
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x = paddle.static.data("x", [2])
        ...     paddle.incubate.autograd.enable_prim()
        ...     tangent = paddle.incubate.autograd.forward_grad(x * x, x)
        ...     paddle.incubate.autograd.disable_prim()
        ...     paddle.static.Executor().run(feed={"x": [1.0, 2.0]}, fetch_list=[tangent])
        [array([2., 4.], dtype=float32)]
    """
    if not prim_enabled():
        raise PreconditionError(
            "forward_grad must be running on primitive operators", fix="use enable_prim to turn it on."
        )
    ys, xs = _variables(outputs, "outputs"), _variables(inputs, "inputs")
    along = None if grad_inputs is None else _variables(grad_inputs, "grad_inputs")
    _check_program(ys, xs, along)
    found = tangents(ys, xs, along)
    return found if is_sequence(outputs) else found[0]


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None) -> Any:
    """Append the gradients of outputs to a static program (reverse mode).

    Args:
        outputs: a variable or a sequence of them.
        inputs: likewise.
        grad_outputs: the outputs' weights, of their shapes; ones by default.

    Returns:
        the gradient of the input, or a list for a sequence; None for inputs that the outputs do not depend on.

    Raises:
        PreconditionError: if no output depends on the inputs (with `enable_prim`).
        ArgumentTypeError: for arguments that are no variables.
    """
    ys, xs = _variables(outputs, "outputs"), _variables(inputs, "inputs")
    weights = None if grad_outputs is None else _variables(grad_outputs, "grad_outputs")
    _check_program(ys, xs, weights)
    stopped = [x for x in xs if x.stop_gradient]
    for x in stopped:
        x.stop_gradient = False
    try:
        found = gradients(ys, xs, weights)
    finally:
        for x in stopped:
            x.stop_gradient = True
    if prim_enabled() and all(gradient is None for gradient in found):
        raise PreconditionError("Grads cannot be computed. The given outputs does not depend on inputs")
    return found if is_sequence(inputs) else found[0]


def orig2prim(block: Block | None = None) -> None:
    """Replace the operators of a block by the primitives that they are made of.

    Operators whose primitives would fix a length that is unknown (−1) stay as they are.

    Args:
        block: the block, by default that of the default main program.

    Raises:
        ArgumentAssertionError: for a block that is not the current one of the default main program.

    Example:
        >>> from primad.compat import paddle
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     y = paddle.mean(paddle.tanh(paddle.static.data("x", [2])))
        ...     paddle.incubate.autograd.orig2prim()
        ...     [op.type for op in paddle.static.default_main_program().global_block().ops]
        ['tanh_p', 'sum_p', 'fill_constant_p', 'div_p']
    """
    lower_block(_current(block))


def prim2orig(block: Block | None = None, blacklist: Any = None) -> None:
    """Do nothing: primitives run as they are.

    Args:
        block: the block, by default that of the default main program.
        blacklist: ignored.

    Raises:
        ArgumentAssertionError: for a block that is not the current one of the default main program.
    """
    _current(block)


def _current(block: Block | None) -> Block:
    current = default_main_program().current_block()
    if block is not None and block is not current:
        raise ArgumentAssertionError("block is neither None nor current block of main program")
    return current


def _variables(given: Any, what: str) -> list[Variable]:
    if not isinstance(given, Variable) and not is_sequence(given):
        raise ArgumentTypeError(f"Expected {what} is Tensor|Sequence[Tensor], but got {type(given)}.")
    for item in listed(given):
        if not isinstance(item, Variable):
            raise ArgumentTypeError(f"Expected {what} is Tensor|Sequence[Tensor], but {type(item)} is among them.")
    return listed(given)


def _check_program(*groups: list[Variable] | None) -> None:
    variables = [variable for group in groups if group is not None for variable in group]
    if any(variable.program is not variables[0].program for variable in variables):
        raise PreconditionError("Variable in inputs/outputs should be in the same block of one program.")
