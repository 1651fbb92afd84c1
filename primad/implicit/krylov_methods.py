"""Solvers of linear systems that apply the matrix and never have it, for `linear_solve` (Saad 2003, chapters 6 and 7).

They are written with NumPy and `while_loop`, so they are recorded, and become part of the program around them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.functional.control.user_loops import scan
from primad.functional.control.while_loops import while_loop
from primad.implicit.unknowns import Unknowns

__all__ = ["bicgstab", "cg", "gmres"]

RTOL = 1e-10
"""How large a residual is left, as a share of the right side. Chosen: derivatives are then exact to nine digits, and a
step more takes a tenth of the digits of the first."""
RESTART = 20
"""Directions that `gmres` keeps: SciPy's."""

ENOUGH = 0.8
"""What a step leaves of the square of a residual that has become smaller: Jiránek and Rozložník's 0.9 of its length."""

Function = Callable[[Any], Any]


class LinearResidual:
    """x -> A x - b, as functions of the user's have it.

    Args:
        times: x -> A x, of rows of real numbers.
        right: b, a row.
        unknowns: what a row is to the user.
    """

    def __init__(self, times: Function, right: Any, unknowns: Unknowns) -> None:
        self.times, self.right, self._unknowns = times, right, unknowns

    def __call__(self, x: Any) -> Any:
        return self._unknowns(self.times(self._unknowns.row(x)) - self.right)


class _System:
    """A linear system as rows of real numbers: what a residual that is linear in x says of A and b.

    Args:
        residual: x -> A x - b.
        x0: where to start.
        M: what is close to the inverse of A, a function of what is like x.
    """

    def __init__(self, residual: Function, x0: Any, M: Function | None, name: str) -> None:
        self._near = M
        self.unknowns = unknowns = Unknowns(x0, name)
        self.start = unknowns.row(x0)
        if isinstance(residual, LinearResidual):
            self.times, self.right = residual.times, residual.right
            return
        at_zero = unknowns.row(residual(unknowns(np.zeros(self.start.shape, unknowns.dtype))))
        self.times = lambda x: unknowns.row(residual(unknowns(x))) - at_zero
        self.right = -at_zero

    def near(self, x: Any) -> Any:
        """Return about what A⁻¹ x is."""
        return x if self._near is None else self.unknowns.row(self._near(self.unknowns(x)))

    def solved(self, step: Function, start: Any, rtol: Any, maxiter: int | None) -> Any:
        """Take steps until the residual is a share of b, at most ten for each unknown by default; return x.

        Args:
            step: takes a state to the next; the first part of one is x, the last the square of the residual.
            start: the first state.
            rtol: the share.
            maxiter: the most steps.
        """
        least = rtol**2 * _dot(self.right, self.right)
        most = 10 * self.start.size if maxiter is None else maxiter
        goes_on: Function = lambda state: ~((state[-1] <= least) & (least < np.inf))  # noqa: E731  # NaN goes on too
        return self.unknowns(while_loop(goes_on, step, start, most)[0])


def _dot(x: Any, y: Any) -> Any:
    return pnp.sum(x * y)


def _share(x: Any, y: Any) -> Any:
    """Return x / y, and 0 where y is 0: there is no step to take then."""
    return pnp.where(y == 0, 0.0, x / pnp.where(y == 0, 1.0, y))


def cg(
    residual: Function, x0: Any, *, M: Function | None = None, rtol: float = RTOL, maxiter: int | None = None
) -> Any:
    """Solve a linear system with a symmetric positive definite matrix by conjugate gradients, for `linear_solve`.

    Args:
        residual: x -> A x - b.
        x0: where to start, an array or a tree.
        M: what is close to the inverse of A (symmetric and positive definite too), a function of what is like x.
        rtol: how large the residual may be, as a share of b.
        maxiter: the most steps; by default ten for each unknown.

    Returns:
        x, as x0 is.

    Raises:
        StepsError: where it takes more steps. In a `linear_solve` the matrix is factorised then.

    Example:
        >>> import numpy as np, primad
        >>> def string(load):
        ...     def pull(x):
        ...         x = np.pad(x, 1)
        ...         return 2 * x[1:-1] - x[:-2] - x[2:]
        ...
        ...     return primad.implicit.linear_solve(pull, load, solver=primad.implicit.cg)
        >>> print(primad.grad(lambda load: np.sum(string(load) ** 2))(np.ones(3)).round(6))
        [5. 7. 5.]
    """
    system = _System(residual, x0, M, "cg")
    r = system.right - system.times(system.start)
    z = system.near(r)

    def step(state: Any) -> Any:
        x, r, p, rz, _ = state
        q = system.times(p)
        size = rz / _dot(p, q)
        r = r - size * q
        z = system.near(r)
        after = _dot(r, z)
        return x + size * p, r, z + after / rz * p, after, _dot(r, r)

    return system.solved(step, (system.start, r, z, _dot(r, z), _dot(r, r)), rtol, maxiter)


def bicgstab(
    residual: Function, x0: Any, *, M: Function | None = None, rtol: float = RTOL, maxiter: int | None = None
) -> Any:
    """Solve a linear system by stabilised biconjugate gradients, for `linear_solve` (see `cg`).

    Source: van der Vorst, SIAM Journal on Scientific and Statistical Computing 13 (1992).

    Args:
        residual: x -> A x - b.
        x0: where to start, an array or a tree.
        M: what is close to the inverse of A, a function of what is like x.
        rtol: how large the residual may be, as a share of b.
        maxiter: the most steps, each with two products; by default ten for each unknown.

    Returns:
        x, as x0 is.

    Raises:
        StepsError: where it takes more steps, or breaks down. In a `linear_solve` the matrix is factorised then.

    Example:
        >>> import numpy as np, primad
        >>> A = np.array([[2.0, 1.0], [0.0, 1.0]])
        >>> x = primad.implicit.linear_solve(lambda x: A @ x, np.array([3.0, 1.0]), solver=primad.implicit.bicgstab)
        >>> print(x.round(9))
        [1. 1.]
    """
    system = _System(residual, x0, M, "bicgstab")
    first = system.right - system.times(system.start)

    def step(state: Any) -> Any:
        x, r, p, rho, _ = state
        p_near = system.near(p)
        v = system.times(p_near)
        alpha = _share(rho, _dot(first, v))
        s = r - alpha * v
        s_near = system.near(s)
        t = system.times(s_near)
        omega = _share(_dot(t, s), _dot(t, t))
        r = s - omega * t
        after = _dot(first, r)
        beta = _share(after * alpha, rho * omega)
        return x + alpha * p_near + omega * s_near, r, r + beta * (p - omega * v), after, _dot(r, r)

    size = _dot(first, first)
    return system.solved(step, (system.start, first, first, size, size), rtol, maxiter)


def gmres(
    residual: Function,
    x0: Any,
    *,
    M: Function | None = None,
    rtol: float = RTOL,
    restart: int = RESTART,
    maxiter: int | None = None,
) -> Any:
    """Solve a linear system by generalised minimal residuals, for `linear_solve` (see `cg`).

    Source: Saad and Schultz, SIAM Journal on Scientific and Statistical Computing 7 (1986), in the form of Jiránek and
    Rozložník, Numerical Algorithms 53 (2010).

    Args:
        residual: x -> A x - b.
        x0: where to start, an array or a tree.
        M: what is close to the inverse of A, a function of what is like x.
        rtol: how large the residual may be, as a share of b.
        restart: directions in which the residual is made least at once.
        maxiter: how often that is done, at most; by default ten times for each unknown.

    Returns:
        x, as x0 is.

    Raises:
        StepsError: where it is not enough. In a `linear_solve` the matrix is factorised then.

    Example:
        >>> import numpy as np, primad
        >>> A = np.array([[2.0, 1.0], [0.0, 1.0]])
        >>> x = primad.implicit.linear_solve(lambda x: A @ x, np.array([3.0, 1.0]), solver=primad.implicit.gmres)
        >>> print(x.round(9))
        [1. 1.]
    """
    system = _System(residual, x0, M, "gmres")
    count = min(restart, system.start.size)

    def around(state: Any) -> Any:
        x, r, _ = state
        x = x + system.near(_least_residual(lambda v: system.times(system.near(v)), r, count))
        r = system.right - system.times(x)
        return x, r, _dot(r, r)

    r = system.right - system.times(system.start)
    return system.solved(around, (system.start, r, _dot(r, r)), rtol, maxiter)


def _least_residual(times: Function, r: Any, count: int) -> Any:
    """Return the x in the Krylov space of r for which |r - A x| is least.

    Of directions the products are made orthonormal, so that no small system is left. A direction is the residual where
    that has become smaller, and the last product where it has not (adaptive Simpler GMRES).
    """

    def step(state: Any, place: Any) -> Any:
        x, r, direction, directions, products = state
        p, q = direction, times(direction)
        for _ in range(2):
            parts = products @ q
            p, q = p - parts @ directions, q - parts @ products
        size = np.sqrt(_dot(q, q))
        p, q = _share(p, size), _share(q, size)
        length = _dot(q, r)
        after = r - length * q
        is_smaller = _dot(after, after) <= ENOUGH * _dot(r, r)
        direction = pnp.where(is_smaller, after, q)
        kept = directions + place[:, None] * p, products + place[:, None] * q
        return (x + length * p, after, direction, *kept), None

    none = np.zeros((count, r.size)).astype(r.dtype)
    start = (r - r, r, r, none, none)
    return scan(step, start, np.eye(count, dtype=r.dtype))[0][0]
