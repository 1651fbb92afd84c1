"""Gradients of scalar functions: grad and value_and_grad."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from primad.errors import ShapeError
from primad.functional.complex_checks import check_gradient
from primad.functional.derivatives.first_order import function_name
from primad.functional.derived_calls import ReadyDerivative
from primad.functional.selected_arguments import Selected, check_differentiable
from primad.functional.transformed import transform
from primad.programs.program_ops import vjp_
from primad.recording import tree

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
R_co = TypeVar("R_co", covariant=True)


class Derivative(Protocol[P, R_co]):
    """What a transform of a function returns, for editors and type checkers: it is called as the function is."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Return the derivative, or what was asked for, at the arguments."""


# A function of one argument comes first, without names for the others: of a lambda nothing more is known.
@overload
def value_and_grad(
    function: np.ufunc, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function: ...
@overload
def value_and_grad(function: Callable[[A], R]) -> Derivative[..., tuple[R, A]]: ...
@overload
def value_and_grad(function: Callable[Concatenate[A, P], R]) -> Derivative[Concatenate[A, P], tuple[R, A]]: ...
@overload
def value_and_grad(
    function: Callable[P, R], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False
) -> Derivative[P, tuple[R, Any]]: ...
@transform
def value_and_grad(function: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False) -> Function:
    """Return a function that computes a scalar function's value and gradient together.

    Args:
        function: a function with a scalar float result.
        argnums: the argument, or tuple of arguments, to differentiate; they may be pytrees.
        has_aux: whether the function returns (value, aux).
        holomorphic: whether it is a holomorphic function of complex arguments (see `grad`).

    Returns:
        a function of the same arguments that returns (value, gradient) or ((value, aux), gradient). The gradient has
        the structure, shapes and dtypes of the chosen argument; for a tuple of argnums it is a tuple.

    Raises:
        ShapeError: if the result is not scalar.
        NotDifferentiableError: for integer arguments or results, or an op without a rule.

    Example:
        >>> import numpy as np, primad
        >>> primad.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
        (np.float64(5.0), array([2., 4.]))
    """

    @wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        values, structure, gradient = _value_and_grad(
            "value_and_grad", function, args, kwargs, argnums, has_aux, holomorphic
        )
        return tree.unflatten(structure, values), gradient

    return value_and_gradient


def _value_and_grad(
    name: str, function: Function, args: Any, kwargs: dict[str, Any], argnums: Any, has_aux: bool, holomorphic: bool
) -> tuple[list[Any], Any, Any]:
    """Return the results of a function, their structure, and the gradient."""
    selected = Selected(function, args, kwargs, argnums, name, has_aux)
    call = selected.call
    key = selected.argnums, holomorphic
    ready = {} if call.kept is None or not call.out_tree.is_leaf() else call.kept.ready
    made: ReadyDerivative | None = ready.get(key)
    executable = None if made is None else made.executable()
    if made is not None and executable is not None:  # a recording that did the same to the end has passed all checks
        results = call.run_again(executable, made.extras)
        return results[:1], call.out_tree, selected.pack(dict(zip(selected.places, results[1:], strict=True)))
    types = call.program.out_types
    structure = call.out_tree
    scalar_tree = structure.children()[0] if has_aux else structure
    if scalar_tree.num_leaves != 1 or types[0].shape != ():
        found = ", ".join(map(str, types[: scalar_tree.num_leaves])) or "nothing"
        raise ShapeError(
            f"{name}({function_name(function)}) needs a scalar result, got {found}",
            why="A gradient is the derivative of one number.",
            fix="use primad.jacobian, or sum the result.",
        )
    check_differentiable(types[0], "the result", name)
    seeds: list[Any] = [types[0].dtype.type(1)]  # a scalar, so that inside a trace it is the literal 1
    seeds += [np.zeros(type.shape, type.dtype) for type in types[1:] if type.is_float]
    if holomorphic or types[0].is_complex:
        check_gradient([call.types[i] for i in selected.places], types[0], holomorphic, name)
    n = len(types)
    results = call.run(vjp_, seeds, active=selected.active)
    if call.kept is not None and call.made is not None and n == 1:
        call.kept.ready[key] = call.made
    gradient = selected.pack(dict(zip(selected.places, results[n:], strict=True)))
    return results[:n], structure, gradient


@overload
def grad(function: np.ufunc, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False) -> Function: ...
@overload
def grad(function: Callable[[A], Any]) -> Derivative[..., A]: ...
@overload
def grad(function: Callable[Concatenate[A, P], Any]) -> Derivative[Concatenate[A, P], A]: ...
@overload
def grad(
    function: Callable[P, Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False
) -> Derivative[P, Any]: ...
@transform
def grad(function: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False) -> Function:
    """Return the gradient function of a scalar function.

    Args:
        function: a function with a scalar float result.
        argnums: the argument, or tuple of arguments, to differentiate; they may be pytrees.
        has_aux: whether the function returns (value, aux); then the result is (gradient, aux).
        holomorphic: whether it is a holomorphic function of complex arguments, whose derivative is wanted.

    Returns:
        a function of the same arguments. Its result has the structure, shapes and dtypes of the chosen argument; what
        the result does not depend on gets zeros. Of a real function of complex z = x + iy it is ∂f/∂x − i ∂f/∂y, and
        its conjugate is the direction of steepest ascent.

    Raises:
        ShapeError: if the result is not scalar.
        NotDifferentiableError: for integer arguments or results, an op without a rule, or a complex result of a
            function that is not said to be holomorphic.

    Example:
        >>> import numpy as np, primad
        >>> primad.grad(np.sin)(0.0)
        np.float64(1.0)
        >>> primad.grad(primad.grad(lambda x: x**3))(2.0)
        np.float64(12.0)
    """

    @wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        values, structure, result = _value_and_grad("grad", function, args, kwargs, argnums, has_aux, holomorphic)
        return (result, tree.unflatten(structure, values)[1]) if has_aux else result

    return gradient
