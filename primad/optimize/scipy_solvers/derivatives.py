"""What SciPy's methods of `minimize` take of derivatives: from the function, or as the user gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.functional.derivatives.gradients import value_and_grad as with_gradient
from primad.functional.derivatives.higher_order import hvp
from primad.functional.derivatives.lazy_matrices import hessian
from primad.numpy.shapes.shaping import reshape
from primad.optimize.parameter_vectors import Tree, Vector, flat_like
from primad.optimize.scipy_solvers.flat_functions import Function, Plain
from primad.recording import tree

BY_GRADIENT = ("bfgs", "cg", "l-bfgs-b", "slsqp", "tnc")
BY_PRODUCTS = ("trust-krylov", "trust-ncg")
MAY_USE_PRODUCTS = ("newton-cg", "trust-constr", "custom")
BY_HESSIAN = ("dogleg", "trust-exact")
BY_VALUES = ("cobyla", "cobyqa", "nelder-mead", "powell")
"""Methods of `minimize` by what they take: gradients, products with the Hessian (which some need), the Hessian, values.

"custom" stands for a method of the user's.
"""
METHODS = (*BY_GRADIENT, *BY_PRODUCTS, *MAY_USE_PRODUCTS[:2], *BY_HESSIAN, *BY_VALUES)
"""All methods of SciPy's `minimize`."""
SCHEMES = ("2-point", "3-point", "cs")
"""SciPy's names of differences: they ask for a derivative, which is exact here."""


def derivatives(
    flat: Plain, method: str, jac: Any = None, hess: Any = None, hessp: Any = None
) -> tuple[Function, dict[str, Any]]:
    """Return the function of a vector that a method takes, and SciPy's arguments with its derivatives.

    Args:
        flat: the function.
        method: SciPy's name in small letters; "" for its choice, "custom" for a function of the user's.
        jac: as SciPy's: a function of the user's, or True if `fun` returns the gradient too.
        hess: as SciPy's: a function, or a strategy of updates.
        hessp: as SciPy's: a function.

    Raises:
        TracingError: for a `jac` or `hess` that is none of these.
    """
    for name, value, allowed in (("jac", jac, (None, True, False, *SCHEMES)), ("hess", hess, (None, *SCHEMES))):
        if isinstance(value, (str, bool, np.ndarray)) and not (isinstance(value, (str, bool)) and value in allowed):
            raise TracingError(
                f"minimize: {name} is a function or one of {allowed}, got {value!r}",
                fix=f"leave {name} out: derivatives are exact.",
            )
    is_given = callable(jac) or jac is True

    def number(x: Tree) -> Any:
        return _pair(flat.call(x))[0] if jac is True else flat.number(x)

    given: dict[str, Any] = {}
    target: Function
    if method in BY_VALUES:
        as_it_is = is_given or not flat.is_recordable(number)
        target = _value(flat, flat.plain(number) if as_it_is else flat.ready(number))
        if callable(jac):
            given["jac"] = jac  # SciPy warns that it is not used
    elif callable(jac):
        target, slope = _value(flat, flat.plain(number)), flat.given(jac)
        given["jac"] = lambda x: _gradient(flat, slope(x))
    else:
        target, given["jac"] = _both(flat, jac is True), True
    if callable(hess):
        given["hess"] = flat.given(hess)
    elif hess is not None and not isinstance(hess, str):
        given["hess"] = hess  # a strategy of updates
    if callable(hessp):
        product_of = flat.given(lambda x, v, *args: hessp(x, flat.tree(v), *args))
        given["hessp"] = lambda x, v: _gradient(flat, product_of(x, v))
    if given.keys() & {"hess", "hessp"}:
        return target, given
    if method in BY_HESSIAN:
        given["hess"] = _hessian(flat, number)
    elif method in BY_PRODUCTS or (method in MAY_USE_PRODUCTS and (not is_given or flat.is_recordable(number))):
        product = flat.ready(lambda x, v: hvp(number, x, v))
        given["hessp"] = lambda x, v: flat.space.vector(product(flat.tree(x), flat.tree(v)))
    return target, given


def _value(flat: Plain, function: Function) -> Callable[[Vector], float]:
    """Return the function of a vector that gives the value."""
    return lambda x: float(function(flat.tree(x)))


def _both(flat: Plain, is_pair: bool) -> Callable[[Vector], tuple[float, Vector]]:
    """Return the function of a vector that gives the value and the gradient, which may be the user's."""
    if is_pair:
        flat.coordinates.refuse("minimize: jac=True")
    pair = flat.plain(lambda x: _pair(flat.call(x))) if is_pair else flat.ready(with_gradient(flat.number))

    def both(x: Vector) -> tuple[float, Vector]:
        value, gradient = pair(flat.tree(x))
        return np.asarray(value).item(), _gradient(flat, gradient)

    return both


def _pair(found: Any) -> Any:
    """Return what a function returned, a value and a gradient.

    Raises:
        ShapeError: if it is something else.
    """
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise ShapeError(
            "minimize: with jac=True, fun returns (value, gradient)",
            why=f"It returned {type(found).__name__}.",
            fix="leave jac out: the gradient of a function of one number is exact.",
        )
    return found


def _gradient(flat: Plain, found: Any) -> Vector:
    """Return a tree like the argument as a vector; where that is an array, lists are arrays."""
    found = np.asarray(found) if flat.space.structure.is_leaf() else found
    vector = flat_like(flat.space.structure, found, "minimize: the gradient")
    if vector.shape != (flat.space.size,):
        raise ShapeError(
            f"minimize: the gradient has {vector.size} numbers for {flat.space.size} parameters",
            fix="return a derivative for each number of the parameters, in a container like theirs.",
        )
    return vector


def _hessian(flat: Plain, number: Function) -> Callable[[Vector], Any]:
    """Return the function that takes a vector to the Hessian there, which is one of a vector."""
    space = flat.space

    def loss(x: Any) -> Any:
        leaves, start = [], 0
        for type in space.types:
            leaves.append(reshape(x[start : start + type.size], type.shape).astype(type.dtype))
            start += type.size
        return number(tree.unflatten(space.structure, leaves))

    matrix = flat.ready(lambda x: hessian(loss)(x)[:, :])
    return lambda x: np.asarray(matrix(x), np.float64)
