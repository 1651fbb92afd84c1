"""Nonlinear programs: an objective and constraints as plain functions, and what their solvers ask for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.functional.derivatives.gradients import grad
from primad.functional.jit import jit
from primad.numpy.shapes.shaping import concatenate
from primad.optimize.constrained.constraint_rows import constraint_rows
from primad.optimize.constrained.ipopt import solved_by_ipopt
from primad.optimize.constrained.matrix_entries import Array, MatrixEntries, hessian_entries, jacobian_entries
from primad.optimize.parameter_vectors import Space, Tree, Vector, flat_like
from primad.optimize.scipy_solvers.callbacks import called_back
from primad.optimize.scipy_solvers.flat_functions import Function, Plain, parameters
from primad.optimize.scipy_solvers.limits import bounds_of
from primad.system.tracebacks import entrance

__all__ = ["NonlinearProgram"]


class NonlinearProgram:
    """An objective, bounds and constraints as plain functions, with all derivatives that solvers ask for.

    Where the Jacobian of the constraints and the Hessian of the Lagrangian are zero is found from the functions, and
    each of them is one compiled function of the entries that are left. `solve` calls Ipopt. The other methods take and
    return vectors, and have the names and the meaning that `cyipopt.Problem(…, problem_obj=…)` asks for, for those who
    call it, or another solver, themselves.

    Args:
        fun: a function (x, *args) of one number, written with NumPy, which is to be least.
        x0: where to start. Numbers, and lists and tuples of numbers, are an array, as in SciPy; anything else is a tree
            of arrays. Integers become floats.
        args: other arguments of `fun`; one that is no tuple is the only one.
        bounds: as those of `primad.optimize.minimize`.
        constraints: as those of `primad.optimize.minimize`; a `LinearConstraint` may have a sparse matrix.

    Attributes:
        start: x0 as a vector; of a complex number its two parts.
        lower: bounds of the vector.
        upper: bounds of the vector.
        constraint_lower: limits of the constraints, one row for all.
        constraint_upper: limits of the constraints, one row for all.

    Raises:
        ShapeError: if x0 is no tree of float arrays, bounds or limits do not fit, or `fun` does not return one number.
        TracingError: for constraints that bring their derivatives.
        NotDifferentiableError: in `grad`, `jit` or `vmap`.

    Example:
        >>> import numpy as np, primad
        >>> from scipy.optimize import NonlinearConstraint
        >>> def chain(x):
        ...     return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
        >>> circles = NonlinearConstraint(lambda x: x[1:] ** 2 + x[:-1] ** 2, 0.0, 1.0)
        >>> program = primad.optimize.NonlinearProgram(chain, np.zeros(1000), constraints=circles)
        >>> rows, columns = program.hessianstructure()
        >>> len(rows), program.jacobian(program.start).shape
        (1999, (1998,))
    """

    @entrance
    def __init__(self, fun: Function, x0: Tree, args: Any = (), bounds: Any = None, constraints: Any = ()) -> None:
        what = "NonlinearProgram"
        self._flat = Plain(fun, x0, args if isinstance(args, tuple) else (args,), what, True)
        self.start = self._flat.start
        limits = bounds_of(self._flat, (-np.inf, np.inf) if bounds is None else bounds, by_element=True)
        self.lower, self.upper = limits.lb, limits.ub
        given = constraints if isinstance(constraints, (tuple, list)) else [] if constraints is None else [constraints]
        start = parameters(x0, what)
        self._constraints = [constraint_rows(one, start, what) for one in given]
        self.constraint_lower = _joined([one.lower for one in self._constraints])
        self.constraint_upper = _joined([one.upper for one in self._constraints])

        def value(x: Any) -> Any:
            return self._flat.number(self._flat.space.tree(x))

        self._value = self._flat.plain(jit(value))
        self._value(self.start)
        self._slope = self._flat.plain(jit(grad(value)))
        self._rows = self._flat.plain(jit(self._joined_rows))

    def _joined_rows(self, x: Any) -> Any:
        found = [one.function(x) for one in self._constraints]
        return concatenate(found) if found else np.zeros(0)

    def _vector(self, x: Tree) -> Vector:
        """Return a tree like x0 as a vector."""
        x = self._flat.coordinates.split(parameters(x, self._flat.what))
        given, wanted = ([type.shape for type in space.types] for space in (Space.of(x), self._flat.space))
        if given != wanted:
            raise ShapeError(
                f"{self._flat.what}: x0 has arrays of {given}, and the program of {wanted}",
                fix="make another program for arrays of these shapes.",
            )
        return flat_like(self._flat.space.structure, x, f"{self._flat.what}: x0")

    @cached_property
    def _jacobian(self) -> MatrixEntries:
        if not self._constraints:
            none = np.zeros(0, np.int64)
            return MatrixEntries(none, none, lambda x: np.zeros(0))
        found = jacobian_entries(self._joined_rows, (self.start,))
        if len(found.rows) or not self.constraint_lower.size * self.start.size:
            return found
        first = np.zeros(1, np.int64)  # Ipopt takes no constraints without an entry
        return MatrixEntries(first, first, lambda x: np.zeros(1))

    @cached_property
    def _hessian(self) -> MatrixEntries:
        def lagrangian(x: Any, factor: Any, weights: Any) -> Any:
            found = factor * self._flat.number(self._flat.space.tree(x))
            return found + np.sum(weights * self._joined_rows(x)) if self._constraints else found

        return hessian_entries(lagrangian, (self.start, np.ones(()), np.ones(self.constraint_lower.size)))

    def objective(self, x: Vector) -> float:
        """Return the number that is to be least."""
        return float(self._value(x))

    def gradient(self, x: Vector) -> Vector:
        """Return the gradient of the objective."""
        found: Vector = self._slope(x)
        return found

    def constraints(self, x: Vector) -> Array:
        """Return the values of all constraints, in the order in which they are given."""
        found: Array = self._rows(x)
        return found

    def jacobianstructure(self) -> tuple[Array, Array]:
        """Return rows and columns of the entries of the constraints' Jacobian that may not be zero."""
        return self._jacobian.rows, self._jacobian.columns

    def jacobian(self, x: Vector) -> Array:
        """Return these entries."""
        return self._jacobian.values(x)

    def hessianstructure(self) -> tuple[Array, Array]:
        """Return rows and columns of the entries of the Lagrangian's Hessian, on the diagonal and below it."""
        return self._hessian.rows, self._hessian.columns

    def hessian(self, x: Vector, lagrange: Vector, obj_factor: float) -> Array:
        """Return these entries.

        Args:
            x: where.
            lagrange: what each constraint is multiplied by.
            obj_factor: what the objective is multiplied by.
        """
        return self._hessian.values(x, np.array(obj_factor, np.float64), lagrange)

    @entrance
    def solve(
        self,
        x0: Tree = None,
        *,
        after: Any = None,
        tol: float | None = None,
        callback: Callable[..., Any] | None = None,
        options: dict[str, Any] | None = None,
    ) -> Any:
        """Find a minimum by Ipopt, which the extra `primad[ipopt]` brings.

        Args:
            x0: where to start; by default where `after` ended, or what the program was made with.
            after: an earlier result of a program alike, whose multipliers are taken.
            tol: Ipopt's tolerance.
            callback: called after each iteration with x, or with `intermediate_result` if this is the name of its
                argument; StopIteration ends the search.
            options: Ipopt's options by name. It prints nothing unless `print_level` says so; SciPy's names "maxiter"
                and "disp" are understood. With "hessian_approximation": "limited-memory" no second derivatives are
                computed.

        Returns:
            SciPy's result: `x` as x0 is, `fun`, `success`, `status`, `message`, `nit`; `multipliers`, of each
            constraint a tree like what it returns; `lower_multipliers` and `upper_multipliers` of the bounds, as x0 is;
            `info`, what cyipopt returns. The gradient of the objective, plus multipliers times gradients of
            constraints, is `lower_multipliers - upper_multipliers`.

        Raises:
            TracingError: if cyipopt is missing, or for options that Ipopt does not have.
            ShapeError: if x0 has another form.

        Example:
            >>> import numpy as np, primad
            >>> program = primad.optimize.NonlinearProgram(
            ...     lambda p: np.sum(p["x"] ** 2) + p["y"] ** 2,
            ...     {"x": np.ones(2), "y": 3.0},
            ...     constraints={"type": "eq", "fun": lambda p: np.sum(p["x"]) + p["y"] - 3},
            ... )
            >>> program.solve().x  # doctest: +SKIP
            {'x': array([1., 1.]), 'y': array(1.)}
        """
        flat = self._flat
        start = self.start if x0 is None and after is None else self._vector(after.x if x0 is None else x0)
        called = None if callback is None else called_back(flat, callback)
        found = solved_by_ipopt(self, start, None if after is None else after.info, tol, called, options)
        found.x = flat.point(found.x)
        found.multipliers, first = [], 0
        for one in self._constraints:
            found.multipliers.append(one.image.tree(found.info["mult_g"][first : first + one.lower.size]))
            first += one.lower.size
        found.lower_multipliers, found.upper_multipliers = (flat.point(found.info[f"mult_x_{side}"]) for side in "LU")
        return found


def _joined(parts: list[Vector]) -> Vector:
    return np.concatenate([np.zeros(0), *parts])
