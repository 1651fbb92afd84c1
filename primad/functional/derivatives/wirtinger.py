"""The pair of derivatives ∂f/∂z and ∂f/∂z̄ of a function of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import ops
from primad.errors import NotDifferentiableError
from primad.functional.control.mapping import vmap
from primad.functional.derivatives.first_order import jvp
from primad.functional.derived_calls import run_once
from primad.functional.selected_arguments import choose_arguments
from primad.functional.transformed import transform
from primad.recording import tree
from primad.recording.tracing import type_of


@transform
def wirtinger(function: Callable[..., Any], argnums: int = 0) -> Callable[..., tuple[Any, Any]]:
    """Return the function that computes the derivatives ∂f/∂z and ∂f/∂z̄ by one complex argument z = x + iy.

    ∂f/∂z = (∂f/∂x − i ∂f/∂y)/2 and ∂f/∂z̄ = (∂f/∂x + i ∂f/∂y)/2, so that f changes by ∂f/∂z · ż + ∂f/∂z̄ · conj(ż). A
    function is holomorphic where the second of them is 0; of a real function it is the conjugate of the first, and
    `grad` is twice the first.

    Args:
        function: a function of arrays, differentiable over the real numbers.
        argnums: the argument, a complex array or number.

    Returns:
        a function of the same arguments that gives the pair, each of shape result + argument, and complex; trees of
        results give trees.

    Raises:
        NotDifferentiableError: if the argument is not complex, or an op has no rule.

    Example:
        >>> import numpy as np, primad
        >>> primad.wirtinger(lambda z: z * np.conj(z))(1.0 + 2.0j)
        (np.complex128(1-2j), np.complex128(1+2j))
        >>> primad.wirtinger(np.exp)(0j)
        (np.complex128(1+0j), np.complex128(0j))
    """

    def pair(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        (place,) = choose_arguments(function, args, argnums, "wirtinger")
        type = type_of(args[place])
        if not type.is_complex:
            raise NotDifferentiableError(
                f"wirtinger by an argument of dtype {type.dtype}",
                why="z and z̄ are the same for real numbers.",
                fix="pass a complex array, x.astype(complex), or use primad.jacobian.",
            )

        def along(*values: Any) -> tuple[Any, Any]:
            def of(z: Any) -> Any:
                return function(*values[:place], z, *values[place + 1 :], **kwargs)

            def pushed(direction: Any) -> Any:
                return jvp(of, (values[place],), (direction,))[1]

            basis = np.eye(type.size, dtype=type.dtype).reshape(type.size, *type.shape)
            by_x, by_y = vmap(pushed)(basis), vmap(pushed)(1j * basis)
            first = tree.map(lambda x, y: _matrix(x, y, -0.5j, type.shape), by_x, by_y)
            return first, tree.map(lambda x, y: _matrix(x, y, 0.5j, type.shape), by_x, by_y)

        return run_once(along, args)  # type: ignore[no-any-return]

    return pair


def _matrix(by_x: Any, by_y: Any, half: complex, shape: tuple[int, ...]) -> Any:
    """Return (∂f/∂x ± i ∂f/∂y)/2, of which the directions are the first axis, with these last and in their shape."""
    found = 0.5 * by_x + half * by_y
    turned = ops.permute(found, order=(*range(1, found.ndim), 0))
    return ops.reshape(turned, shape=(*found.shape[1:], *shape))
