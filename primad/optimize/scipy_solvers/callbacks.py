"""SciPy's results and callbacks, with trees for vectors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.optimize.scipy_solvers.flat_functions import Plain


def with_trees(flat: Plain, found: Any) -> Any:
    """Return SciPy's result with trees for vectors."""
    found.x = flat.point(found.x)
    for field in ("jac", "grad"):  # of trust-constr, jac are the constraints' Jacobians
        if isinstance(found.get(field), np.ndarray):
            found[field] = flat.gradient(found[field][: flat.space.size])
    return found


def called_back(flat: Plain, callback: Callable[..., Any]) -> Callable[..., Any]:
    """Return a callback of the user's as SciPy calls it: with vectors, in the form that its arguments ask for."""
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # of some compiled functions
        return lambda x, *_: callback(flat.point(x))

    def with_result(intermediate_result: Any) -> Any:
        if isinstance(intermediate_result, np.ndarray):  # of methods that know no more
            return callback(intermediate_result=flat.point(intermediate_result))
        return callback(intermediate_result=with_trees(flat, type(intermediate_result)(intermediate_result)))

    if set(signature.parameters) == {"intermediate_result"}:
        return with_result
    try:
        signature.bind(None, None)
    except TypeError:
        return lambda x, *_: callback(flat.point(x))
    return lambda x, *state: callback(flat.point(x), *(with_trees(flat, type(one)(one)) for one in state))
