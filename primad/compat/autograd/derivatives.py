"""Derivatives under the names, and with the arguments, that HIPS autograd has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from primad import numpy as pn
from primad.functional.control.checkpointing import checkpoint as checkpoint
from primad.functional.derivatives.first_order import jvp, vjp
from primad.functional.derivatives.gradients import grad as _grad
from primad.functional.derivatives.gradients import value_and_grad as _value_and_grad
from primad.functional.derivatives.lazy_arrays import LazyMatrix
from primad.functional.derivatives.lazy_matrices import hessian as _hessian
from primad.functional.derivatives.lazy_matrices import jacobian as _jacobian
from primad.recording import tree

Function = Callable[..., Any]
Argnum = int | Sequence[int]


def _scalar(fun: Function) -> Function:
    """Return a function whose result of one element has no axes, as autograd takes it."""

    def scalar(*args: Any, **kwargs: Any) -> Any:
        found = fun(*args, **kwargs)
        return pn.reshape(found, ()) if np.ndim(found) and np.size(found) == 1 else found

    return scalar


def _whole(found: Any) -> Any:
    """Return derivatives as arrays that are computed."""
    if isinstance(found, (tuple, list)):
        return type(found)([_whole(item) for item in found])
    return np.array(found) if isinstance(found, LazyMatrix) else found


def _unary(fun: Function, argnum: Argnum, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Function, Any]:
    """Return a function of the chosen argument alone (of a tuple of several), and that argument."""
    places = (argnum,) if isinstance(argnum, int) else tuple(argnum)

    def unary(x: Any) -> Any:
        given = list(args)
        for place, value in zip(places, (x,) if isinstance(argnum, int) else x, strict=True):
            given[place] = value
        return fun(*given, **kwargs)

    return unary, args[argnum] if isinstance(argnum, int) else tuple([args[place] for place in places])


def _in_chosen(transform: Callable[[Function], Function], fun: Function, argnum: Argnum) -> Function:
    """Return a transform of a function of the chosen arguments alone: others may be anything."""

    def derivative(*args: Any, **kwargs: Any) -> Any:
        unary, x = _unary(fun, argnum, args, kwargs)
        return transform(unary)(x)

    return derivative


def grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return the function that gives the gradient of a scalar function."""
    return _in_chosen(_grad, _scalar(fun), argnum)


def value_and_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return the function that gives a scalar function's value and its gradient."""
    return _in_chosen(_value_and_grad, _scalar(fun), argnum)


def grad_and_aux(fun: Function, argnum: Argnum = 0) -> Function:
    """Return the function that gives the gradient of the first result, and the second."""
    return _in_chosen(partial(_grad, has_aux=True), fun, argnum)


def grad_named(fun: Function, argname: str) -> Function:
    """Return the gradient in the argument of a name."""
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


def multigrad_dict(fun: Function) -> Function:
    """Return the function that gives a dict of the gradients in all arguments, by name."""
    signature = inspect.signature(fun)

    def gradients(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()

        def of_all(given: dict[str, Any]) -> Any:
            now = signature.bind(*args, **kwargs)
            now.arguments.update(given)
            return fun(*now.args, **now.kwargs)

        found: dict[str, Any] = grad(of_all)(dict(bound.arguments))
        return found

    return gradients


def elementwise_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return the gradient of the sum of the results: for functions of each element, their derivatives."""

    def gradient(*args: Any, **kwargs: Any) -> Any:
        unary, x = _unary(fun, argnum, args, kwargs)
        value, pullback = vjp(unary, x)
        return pullback(tree.map(lambda y: np.ones(np.shape(y), _dtype(y)), value))[0]

    return gradient


def _dtype(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def deriv(fun: Function, argnum: int = 0) -> Function:
    """Return the derivative along ones: for functions of each element, by forward mode."""

    def derivative(*args: Any, **kwargs: Any) -> Any:
        unary, x = _unary(fun, argnum, args, kwargs)
        return jvp(unary, (x,), (np.ones(np.shape(x)),))[1]

    return derivative


def jacobian(fun: Function, argnum: Argnum = 0) -> Function:
    """Return the function that gives the Jacobian, with the axes of the result and then those of the argument."""
    return _in_chosen(lambda unary: lambda x: _whole(_jacobian(unary)(x)), fun, argnum)


def hessian(fun: Function, argnum: int = 0) -> Function:
    """Return the function that gives the Hessian."""
    return _in_chosen(lambda unary: lambda x: _whole(_hessian(unary)(x)), _scalar(fun), argnum)


def make_vjp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that gives the pullback of cotangents, and the value."""

    def made(*args: Any, **kwargs: Any) -> tuple[Function, Any]:
        value, pullback = vjp(*_unary(fun, argnum, args, kwargs))
        return lambda cotangent: pullback(cotangent)[0], value

    return made


def make_jvp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that gives a function of tangents; this one returns the value and its tangent."""

    def made(*args: Any, **kwargs: Any) -> Function:
        unary, x = _unary(fun, argnum, args, kwargs)
        return lambda tangent: jvp(unary, (x,), (tangent,))

    return made


def hessian_vector_product(fun: Function, argnum: int = 0) -> Function:
    """Return the function of the arguments and a last one, a vector, that gives the Hessian times the vector."""

    def product(*args: Any, **kwargs: Any) -> Any:
        unary, x = _unary(_scalar(fun), argnum, args[:-1], kwargs)
        return jvp(_grad(unary), (x,), (args[-1],))[1]

    return product


hessian_tensor_product = hessian_vector_product


def make_hvp(fun: Function, argnum: int = 0) -> Function:
    """Return a function of the arguments that gives the function of Hessian times vector, and the gradient."""
    product, gradient = hessian_vector_product(fun, argnum), grad(fun, argnum)
    return lambda *args, **kwargs: (
        lambda vector: product(*args, vector, **kwargs),
        gradient(*args, **kwargs),
    )


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """Return the function of the arguments and a last one, a tensor, that gives the tensor times the Jacobian.

    As many axes of the result are summed as the tensor has, the first ones.
    """

    def product(*args: Any, **kwargs: Any) -> Any:
        unary, x = _unary(fun, argnum, args[:-1], kwargs)
        return jacobian(lambda x: pn.tensordot(args[-1], unary(x), np.ndim(args[-1])))(x)

    return product


vector_jacobian_product = tensor_jacobian_product


def _half_square(x: Any) -> Any:
    return 0.5 * pn.sum(x**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: int = 0) -> Function:
    """Return a function of the arguments that gives products with the generalised Gauss–Newton matrix of g(f(x))."""

    def made(*args: Any, **kwargs: Any) -> Function:
        unary, x = _unary(f, f_argnum, args, kwargs)

        def product(vector: Any) -> Any:
            value, moved = jvp(unary, (x,), (vector,))
            return make_vjp(unary)(x)[0](hessian_vector_product(g)(value, moved))

        return product

    return made
