"""Functions that contain a solver: roots, fixed points, linear systems and minima, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.functional.derivatives.first_order import vjp
from primad.functional.derivatives.gradients import value_and_grad
from primad.implicit.constrained import Constrained, conditions, start_of
from primad.implicit.recorded_equations import TOLERANCE, as_row, check_function, differences, solved
from primad.implicit.unknowns import Unknowns
from primad.recording import tree
from primad.recording.tracing import type_of
from primad.system.tracebacks import entrance

__all__ = ["argmin", "fixed_point", "least_squares", "linear_solve", "minimize", "root"]

Function = Callable[..., Any]


@entrance
def root(function: Function, x0: Any, *args: Any, solver: Any = None, tolerance: float = TOLERANCE) -> Any:
    """Return the x where a function is zero, as a function of what it depends on.

    Derivatives in `args`, and in what the function closes over, are those of the solution itself, of every order and in
    both modes: of F(x, a) = 0, ẋ = −(∂F/∂x)⁻¹ (∂F/∂a) ȧ (the implicit function theorem). They depend on no step of the
    solver. There is one factorisation at the solution, for all directions; it is sparse where the Jacobian of many
    unknowns is.

    Args:
        function: (x, *args) -> a tree with as many numbers as x, written with NumPy.
        x0: where to start, an array or a tree. The solution does not depend on it. A complex number is two unknowns.
        args: arrays and trees that the function depends on.
        solver: (function of x, x0) -> x, or SciPy's result: any code; it is given arrays, and called when the value is
            needed. Make it once, at the top of a module: plans are found again by the object. By default SciPy's
            hybrid method with the exact Jacobian, and Newton's of many unknowns, or in loops. One of fewer than 200
            unknowns that is written with NumPy and `primad.while_loop` is recorded instead: its steps are part of the
            program, and what they find is taken where the residual is 1e-10 of its terms. A solver that differentiates,
            as those of `primad.optimize`, may call the function with traced arrays.
        tolerance: how large the residual may be at the solution, as a share of the terms that it is a sum of.

    Returns:
        x, as x0 is. Newton's steps have made it as exact as the residual is.

    Raises:
        DomainError: if the residual does not vanish at what the solver returned, by how much, or vanishes at infinity
            only. Under `vmap` the row is NaN, since a row may take another branch.
        MatrixError: where a derivative is asked for and the Jacobian is singular, as where two solutions meet.
        ShapeError: if there are more or fewer equations than unknowns.

    Example:
        >>> import numpy as np, primad
        >>> def kepler(mean, eccentricity):
        ...     return primad.implicit.root(lambda E: E - eccentricity * np.sin(E) - mean, mean)
        >>> E = kepler(1.0, 0.3)
        >>> bool(np.isclose(primad.grad(kepler)(1.0, 0.3), 1 / (1 - 0.3 * np.cos(E)), rtol=1e-14))
        True
    """
    check_function("root", function)
    return solved(lambda x, *args: (function(x, *args),), x0, args, solver, tolerance, "root", of=function)


@entrance
def fixed_point(function: Function, x0: Any, *args: Any, solver: Any = None, tolerance: float = TOLERANCE) -> Any:
    """Return the x that a function takes to itself, as a function of what it depends on (see `root`).

    Args:
        function: (x, *args) -> a tree like x.
        x0: where to start.
        args: arrays and trees that the function depends on.
        solver: (function of x, x0) -> x, which may iterate the function.
        tolerance: how large the difference of the function and x may be, as a share of its terms.

    Returns:
        x, as x0 is.

    Raises:
        DomainError: if no x was found.
        MatrixError: where a derivative is asked for that does not exist.

    Example:
        >>> import numpy as np, primad
        >>> dottie = primad.implicit.fixed_point(lambda x, a: np.cos(a * x), 1.0, 1.0)
        >>> print(f"{dottie:.6f}")
        0.739085
    """
    check_function("fixed_point", function)

    def equation(x: Any, *args: Any) -> Any:
        found = function(x, *args)
        return differences("fixed_point", found, x, "unknowns"), found

    return solved(equation, x0, args, solver, tolerance, "fixed_point", of=function)


@entrance
def linear_solve(function: Function, b: Any, *args: Any, solver: Any = None, tolerance: float = TOLERANCE) -> Any:
    """Return the x that a linear function takes to b, as a function of b and of what the function depends on.

    The matrix is that of the function's derivative, and sparse where that is (see `root`).

    Args:
        function: (x, *args) -> a tree like x and b, linear in x.
        b: the right hand side.
        args: arrays and trees that the function depends on.
        solver: (x -> function(x) - b, zeros) -> x: `primad.implicit.cg`, `bicgstab` or `gmres`, or any code. One that
            is written with NumPy and `primad.while_loop` is recorded: its steps are part of the program, and solve the
            systems of derivatives too. It is applied again to what it leaves, and where it does not arrive the
            matrix is factorised.
        tolerance: how large the residual may be, as a share of its terms; of b where the solver is recorded.

    Returns:
        x, as b is.

    Raises:
        DomainError: if the residual does not vanish: the function is singular, or not linear.

    Example:
        >>> import numpy as np, primad
        >>> def string(load, tension):
        ...     def pull(x):
        ...         x = np.pad(x, 1)
        ...         return tension * (2 * x[1:-1] - x[:-2] - x[2:])
        ...
        ...     return primad.implicit.linear_solve(pull, load)
        >>> print(string(np.ones(3), 2.0), primad.jvp(string, (np.ones(3), 2.0), (np.zeros(3), 1.0))[1])
        [0.75 1.   0.75] [-0.375 -0.5   -0.375]
    """
    check_function("linear_solve", function)

    def equation(x: Any, b: Any, *args: Any) -> Any:
        return (differences("linear_solve", function(x, *args), b, "right hand sides"),)

    start = tree.map(lambda leaf: np.zeros(np.shape(leaf), type_of(leaf).dtype), b)
    return solved(equation, start, (b, *args), solver, tolerance, "linear_solve", of=function)


@entrance
def minimize(function: Function, x0: Any, *args: Any, solver: Any = None, tolerance: float = TOLERANCE) -> Any:
    """Return the x where a function is least, as a function of what it depends on.

    Derivatives are those of the point where the gradient is zero (see `root`).

    Args:
        function: (x, *args) -> a number.
        x0: where to start.
        args: arrays and trees that the function depends on.
        solver: (function of x, x0) -> x, or SciPy's result; by default SciPy's BFGS, then Newton's steps.
        tolerance: how large the gradient may be, as a share of its terms.

    Returns:
        x, as x0 is.

    Raises:
        DomainError: if the gradient does not vanish at what the solver returned.
        MatrixError: where a derivative is asked for and the Hessian is singular.

    Example:
        >>> import numpy as np, primad
        >>> def ridge(weight):
        ...     return primad.implicit.minimize(lambda x: np.sum((x - 1) ** 2) + weight * np.sum(x**2), np.zeros(2))
        >>> print(ridge(1.0), primad.jvp(ridge, (1.0,), (1.0,))[1])
        [0.5 0.5] [-0.25 -0.25]
    """
    check_function("minimize", function)

    def equation(x: Any, *args: Any) -> Any:
        value, slope = value_and_grad(function)(x, *args)
        return slope, value

    return solved(equation, x0, args, solver, tolerance, "minimize", of=function)


@entrance
def argmin(
    function: Function,
    x0: Any,
    *args: Any,
    equal: Function | None = None,
    positive: Function | None = None,
    tolerance: float = TOLERANCE,
) -> Any:
    """Return the x where a function is least under constraints, as a function of what these depend on.

    Derivatives are those of the conditions of Karush, Kuhn and Tucker with the inequalities that hold with equality at
    the minimum (Fiacco 1976). SciPy's SLSQP finds it, with exact derivatives, then Newton's steps.

    Args:
        function: (x, *args) -> a number.
        x0: where to start, an array or a tree.
        args: arrays and trees that function and constraints depend on.
        equal: (x, *args) -> numbers, an array or a tree, that are to be 0.
        positive: the same that are not to be negative.
        tolerance: how large the residual of the conditions may be, as a share of its terms.

    Returns:
        x, as x0 is.

    Raises:
        DomainError: if no minimum was found, or an inequality holds with equality while its multiplier is 0.
        MatrixError: where a derivative is asked for and the active constraints depend on each other, or the minimum is
            not the only one nearby.

    Example:
        >>> import numpy as np, primad
        >>> def portfolio(returns, risk):
        ...     loss = lambda w: 0.5 * w @ risk @ w - returns @ w
        ...     return primad.implicit.argmin(
        ...         loss, np.full(3, 1 / 3), equal=lambda w: np.sum(w) - 1, positive=lambda w: w
        ...     )
        >>> returns, risk = np.array([1.0, 0.5, -2.0]), np.eye(3)
        >>> print(portfolio(returns, risk).round(9))
        [0.75 0.25 0.  ]
        >>> print(primad.jacobian(portfolio)(returns, risk)[:2, 0].round(9))
        [ 0.5 -0.5]
    """
    for given in (function, *(f for f in (equal, positive) if f is not None)):
        check_function("argmin", given)

    def of(args: Any) -> Constrained:
        parts = [lambda x, f=f: None if f is None else f(x, *args) for f in (equal, positive)]
        return Constrained(lambda x: function(x, *args), *parts)

    start = start_of(of(args), x0)

    def equation(unknown: Any, *args: Any) -> Any:
        return conditions(of(args))(unknown)

    found = solved(equation, start, args, None, tolerance, "argmin", of=function)
    return found["x"]


@entrance
def least_squares(function: Function, x0: Any, *args: Any, solver: Any = None, tolerance: float = TOLERANCE) -> Any:
    """Return the x where the sum of squares of residuals is least, as a function of what they depend on.

    Derivatives are those of the point where Jᵀr is zero (see `root`), with all second derivatives of the residuals.

    Args:
        function: (x, *args) -> residuals, an array or a tree.
        x0: where to start.
        args: arrays and trees that the function depends on, such as data.
        solver: (function of x, x0) -> x, or SciPy's result; the function returns the residuals as one row. By default
            SciPy's `least_squares` with the exact Jacobian, then Newton's steps.
        tolerance: how large Jᵀr may be, as a share of its terms.

    Returns:
        x, as x0 is.

    Raises:
        DomainError: if Jᵀr does not vanish at what the solver returned.
        MatrixError: where a derivative is asked for and the problem determines x not at all.

    Example:
        >>> import numpy as np, primad
        >>> t = np.array([0.0, 1.0, 2.0])
        >>> def line(y):
        ...     return primad.implicit.least_squares(lambda p: p[0] + p[1] * t - y, np.zeros(2))
        >>> print(np.round(line(np.array([1.0, 3.0, 5.0])), 12))
        [1. 2.]
        >>> print(np.round(primad.jvp(line, (np.array([1.0, 3.0, 5.0]),), (np.array([0.0, 0.0, 1.0]),))[1], 6))
        [-0.166667  0.5     ]
    """
    check_function("least_squares", function)

    def equation(x: Any, *args: Any) -> Any:
        residuals, pull = vjp(lambda x: as_row("least_squares", function(x, *args), unknowns), x)
        return pull(residuals)[0], residuals

    unknowns = Unknowns(x0, "least_squares")
    return solved(equation, x0, args, solver, tolerance, "least_squares", of=function)
