"""Functions that contain a solver: roots, fixed points, linear systems and minima, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.functional.derivatives.first_order import vjp
from primad.functional.derivatives.gradients import value_and_grad
from primad.functional.derived_calls import Call
from primad.implicit.equations import ImplicitEquation
from primad.implicit.solution_ops import solution
from primad.ir.program import ClosedProgram
from primad.numpy.shapes.shaping import concatenate, ravel, reshape
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import type_of
from primad.runtime.calling import arrays, traced_operands
from primad.system.tracebacks import entrance

__all__ = ["fixed_point", "least_squares", "linear_solve", "minimize", "root"]

Function = Callable[..., Any]
TOLERANCE = 1e-6
"""How large a residual may be at a solution, as a share of the terms that it is a sum of. Chosen: solvers stop at 1e-8,
and what does not converge stays at 1."""


class _Unknowns:
    """Unknowns as one row of numbers, and as the tree that the function takes; equal for equal trees."""

    def __init__(self, x0: Any) -> None:
        leaves, self.structure = tree.flatten(x0)
        self.types = tuple([type_of(leaf) for leaf in leaves])
        if any(type.is_complex for type in self.types):
            raise TracingError(
                "unknowns of an equation are real numbers, and x0 is complex",
                fix="make its parts the unknowns: compute with z = x[0] + 1j * x[1], start at np.stack([np.real(z0), "
                "np.imag(z0)]), and return np.stack([np.real(w), np.imag(w)]).",
            )
        floats = [type.dtype for type in self.types if type.is_float]
        self.dtype = np.result_type(*floats) if floats else np.dtype(np.float64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unknowns) and (self.structure, self.types) == (other.structure, other.types)

    def __hash__(self) -> int:
        return hash(self.types)

    def __call__(self, row: Any) -> Any:
        """Return a row as the tree."""
        leaves, start = [], 0
        for type in self.types:
            part = row[start : start + type.size]
            leaves.append(
                reshape(part, type.shape)[()] if isinstance(row, TracedArray) else part.reshape(type.shape)[()]
            )
            start += type.size
        return tree.unflatten(self.structure, leaves)

    def row(self, x: Any) -> Any:
        """Return a tree as a row."""
        return _row(tree.leaves(x), self.dtype)


def _row(leaves: Any, dtype: Any) -> Any:
    parts = [ravel(leaf) for leaf in leaves]
    row = concatenate(parts) if len(parts) != 1 else parts[0]
    return row.astype(dtype)


def _solution(function: Function, x0: Any, args: Any, solver: Any, tolerance: float, name: str) -> Any:
    """Return the solution of an equation, a tree like x0.

    Args:
        function: (x, *args) -> what is zero at the solution, and what the solver takes if that is something else.
        x0: where to start.
        args: what the equation depends on.
        solver: the user's.
        tolerance: of the residual.
        name: what users call.
    """
    unknowns = _Unknowns(x0)

    def equation(row: Any, *args: Any) -> Any:
        found, *others = function(unknowns(row), *args)
        residual = _row(tree.leaves(found), unknowns.dtype)
        if residual.shape != row.shape:
            raise ShapeError(
                f"{name}: the function has {residual.size} results for {row.size} unknowns",
                fix="give as many equations as unknowns; least_squares takes any number.",
            )
        return [residual, *others]

    call = Call(equation, (unknowns.row(x0), *args), known=False)
    of = ImplicitEquation(ClosedProgram(call.program), solver, tolerance, name, unknowns)
    if call.nested:
        return unknowns(solution(*traced_operands([*call.leaves, *call.program.sources]), of=of))
    return unknowns(solution(*arrays([*call.leaves, *call.program.source_values]), of=of))


@entrance
def root(function: Function, x0: Any, *args: Any, solver: Any = None, tolerance: float = TOLERANCE) -> Any:
    """Return the x where a function is zero, as a function of what it depends on.

    Derivatives in `args`, and in what the function closes over, are those of the solution itself, of every order and in
    both modes: of F(x, a) = 0, ẋ = −(∂F/∂x)⁻¹ (∂F/∂a) ȧ (the implicit function theorem). They depend on no step of the
    solver. There is one factorisation at the solution, for all directions; it is sparse where the Jacobian of many
    unknowns is.

    Args:
        function: (x, *args) -> a tree with as many numbers as x, written with NumPy.
        x0: where to start, an array or a tree. The solution does not depend on it.
        args: arrays and trees that the function depends on.
        solver: (function of x, x0) -> x, or SciPy's result: any code; it is given arrays, and called when the value is
            needed. Make it once, at the top of a module: plans are found again by the object. By default SciPy's
            hybrid method with the exact Jacobian, and Newton's of many unknowns.
        tolerance: how large the residual may be at the solution, as a share of the terms that it is a sum of.

    Returns:
        x, as x0 is. Newton's steps have made it as exact as the residual is.

    Raises:
        DomainError: if the residual does not vanish at what the solver returned, by how much.
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
    return _solution(lambda x, *args: (function(x, *args),), x0, args, solver, tolerance, "root")


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

    def equation(x: Any, *args: Any) -> Any:
        found = function(x, *args)
        pairs = list(zip(tree.leaves(found), tree.leaves(x), strict=True))
        if any(np.shape(a) != np.shape(b) for a, b in pairs):
            shapes = [tuple([np.shape(pair[i]) for pair in pairs]) for i in (0, 1)]
            raise ShapeError(
                f"fixed_point: the function gives the shapes {shapes[0]} for unknowns of the shapes {shapes[1]}",
                fix="give what the function takes.",
            )
        return [a - b for a, b in pairs], found

    return _solution(equation, x0, args, solver, tolerance, "fixed_point")


@entrance
def linear_solve(function: Function, b: Any, *args: Any, solver: Any = None, tolerance: float = TOLERANCE) -> Any:
    """Return the x that a linear function takes to b, as a function of b and of what the function depends on.

    The matrix is that of the function's derivative, and sparse where that is (see `root`).

    Args:
        function: (x, *args) -> a tree like x and b, linear in x.
        b: the right hand side.
        args: arrays and trees that the function depends on.
        solver: (x -> function(x) - b, start) -> x, as an iterative one.
        tolerance: how large the residual may be, as a share of its terms.

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

    def equation(x: Any, b: Any, *args: Any) -> Any:
        return ([y - z for y, z in zip(tree.leaves(function(x, *args)), tree.leaves(b), strict=True)],)

    start = tree.map(lambda leaf: np.zeros(np.shape(leaf), type_of(leaf).dtype), b)
    return _solution(equation, start, (b, *args), solver, tolerance, "linear_solve")


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

    def equation(x: Any, *args: Any) -> Any:
        value, slope = value_and_grad(function)(x, *args)
        return slope, value

    return _solution(equation, x0, args, solver, tolerance, "minimize")


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

    def equation(x: Any, *args: Any) -> Any:
        residuals, pull = vjp(lambda x: _row(tree.leaves(function(x, *args)), unknowns.dtype), x)
        return pull(residuals)[0], residuals

    unknowns = _Unknowns(x0)
    return _solution(equation, x0, args, solver, tolerance, "least_squares")
