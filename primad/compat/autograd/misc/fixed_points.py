"""Fixed points, differentiated as implicit functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.compat.autograd.core import make_vjp
from primad.compat.autograd.extend import defvjp, primitive
from primad.compat.autograd.misc.flatten import flatten

Distance = Callable[[Any, Any], Any]


@primitive
def fixed_point(f: Callable[[Any], Any], a: Any, x0: Any, distance: Distance, tol: float) -> Any:
    """Return the x with x = f(a)(x), by iteration.

    The derivative is that of the implicit function: the cotangent of a is that of f(a)(x) for the cotangent
    u = g + (∂f/∂x)ᵀu, which is a fixed point too (Christianson 1994).

    Args:
        f: of the parameters gives the function that is iterated.
        a: the parameters, an array; the only argument with a derivative.
        x0: where to start.
        distance: of two iterates.
        tol: the distance at which iterates count as equal.

    Example:
        >>> import primad.compat.autograd.numpy as np
        >>> from primad.compat.autograd import grad
        >>> from primad.compat.autograd.misc.fixed_points import fixed_point
        >>> root = lambda a: fixed_point(lambda a: lambda x: (x + a / x) / 2, a, 1.0, lambda x, y: abs(x - y), 1e-12)
        >>> round(float(grad(root)(4.0)), 10)
        0.25
    """
    step = f(a)
    before, x = x0, step(x0)
    while distance(x, before) > tol:
        before, x = x, step(x)
    return x


def _pulled(ans: Any, f: Any, a: Any, x0: Any, distance: Distance, tol: float) -> Callable[[Any], Any]:
    def back(g: Any) -> Any:
        packed, unpack = flatten((a, ans, g))

        def adjoint(packed: Any) -> Callable[[Any], Any]:
            a, x, g = unpack(packed)
            along_x, _ = make_vjp(f(a), x)
            return lambda u: g + along_x(u)

        u = fixed_point(adjoint, packed, np.zeros(np.shape(ans)), distance, tol)
        return make_vjp(lambda a: f(a)(ans), a)[0](u)

    return back


defvjp(fixed_point, None, _pulled, None, None, None)
