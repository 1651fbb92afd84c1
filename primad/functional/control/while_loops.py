"""while_loop for users, and what it is made of."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.functional.control.user_loops import LoopBody, as_type, function_name, is_any_traced
from primad.functional.derived_calls import run_once
from primad.ir.array_types import ArrayType
from primad.programs.loops.closed_bodies import with_scalars
from primad.programs.loops.while_loop import while_loop as while_
from primad.recording import tree
from primad.recording.tracing import check_function, is_number, type_of
from primad.runtime.calling import traced_operands
from primad.system.tracebacks import entrance

Function = Callable[..., Any]


@entrance
def while_loop(cond_fun: Function, body_fun: Function, init_val: Any, max_steps: int = 100_000) -> Any:
    """Repeat a step while a condition holds.

    Args:
        cond_fun: `carry -> condition`, a boolean without axes.
        body_fun: `carry -> carry`. Both are recorded once.
        init_val: the carry before the first step: a tree of arrays.
        max_steps: the most steps that may be taken. Reverse mode keeps what it needs of each step in arrays that would
            hold so many; memory is used for as many as are taken.

    Returns:
        the first carry for which the condition does not hold.

    Raises:
        ShapeError: if the body changes the types of what it carries; if the condition is no boolean without axes.
        StepsError: if the condition still holds after `max_steps` steps.

    Example:
        >>> import primad
        >>> root = lambda a: primad.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)
        >>> round(root(2.0), 12), round(primad.grad(root)(2.0), 12)
        (np.float64(1.414213562373), np.float64(0.353553390593))
    """
    check_function(cond_fun, "while_loop: ")
    check_function(body_fun, "while_loop: ")
    try:
        most = operator.index(max_steps)
    except TypeError:
        raise TracingError(
            f"while_loop: max_steps must be an integer, got {type(max_steps).__name__}",
            fix="write a whole number, as max_steps=1000.",
        ) from None
    return _while(cond_fun, body_fun, init_val, most)


def _while(cond_fun: Function, body_fun: Function, init: Any, most: int) -> Any:
    def step(carry: Any) -> Any:
        return body_fun(carry), None

    step.__qualname__ = function_name(body_fun)
    return while_rows(cond_fun, step, init, most)[1]


def while_rows(cond_fun: Function, body_fun: Function, init: Any, most: int) -> tuple[Any, Any, Any]:
    """Apply a step while a condition holds, and keep a result of each.

    Args:
        cond_fun: of what is carried.
        body_fun: `carry -> (carry, y)`.
        init: what is carried before the first step.
        most: the most steps that may be taken.

    Returns:
        the number of steps, what is carried after the last one, and all y, stacked, with zeros behind.
    """
    if not is_any_traced(init):
        found: tuple[Any, Any, Any] = run_once(lambda init: _recorded(cond_fun, body_fun, init, most), (init,))
        return found
    return _recorded(cond_fun, body_fun, init, most)


def _recorded(cond_fun: Function, body_fun: Function, init: Any, most: int) -> tuple[Any, Any, Any]:
    start, carry_tree = tree.flatten(init)
    results: list[Any] = []

    def step(carry: Any, _: Any) -> Any:
        after, y = body_fun(carry)
        results[:] = [tree.flatten(y)[1]]
        _, structure = tree.flatten(after)
        go = predicate(cond_fun(after), "while_loop: the condition") if structure == carry_tree else True
        return after, (go, y)

    body = LoopBody(step, function_name(body_fun), "while_loop", carry_tree)
    program, types = body.recorded([type_of(x) for x in start], [is_number(x) for x in start], [], None)
    converted = [as_type(x, type) for x, type in zip(start, types, strict=True)]
    go = predicate(cond_fun(tree.unflatten(carry_tree, converted)), "while_loop: the condition")
    of, sources = with_scalars(program)
    operands = traced_operands([go, *converted, *sources])
    found = while_(*operands, of=of, carry=len(types), most=most)
    carry = tree.unflatten(carry_tree, found[1 : 1 + len(types)])
    return found[0], carry, tree.unflatten(results[0], found[1 + len(types) :])


def predicate(value: Any, what: str) -> Any:
    """Return a truth value, traced or not.

    Raises:
        ShapeError: if it is not one.
    """
    if isinstance(value, (bool, np.bool_)):
        return np.bool_(value)
    leaves, _ = tree.flatten(value)
    if len(leaves) == 1 and leaves[0] is value and type_of(value) == ArrayType((), np.bool_):
        return value
    got = type_of(value) if len(leaves) == 1 and leaves[0] is value else f"a {type(value).__name__}"
    raise ShapeError(
        f"{what} must be a boolean without axes, got {got}",
        fix="compare (x > 0), and join conditions with np.all or np.any.",
    )
