"""Derivatives under the names, and with the arguments, that HIPS autograd has."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pn
from primad.compat.autograd import core
from primad.compat.autograd.importing import missing
from primad.compat.autograd.wrap_util import Argnum, unary_to_nary
from primad.functional.control.checkpointing import checkpoint as checkpoint
from primad.functional.derivatives.first_order import jvp, vjp
from primad.functional.derivatives.gradients import grad as _grad
from primad.functional.derivatives.gradients import value_and_grad as _value_and_grad
from primad.functional.derivatives.lazy_arrays import LazyMatrix
from primad.functional.derivatives.lazy_matrices import hessian as _hessian
from primad.functional.derivatives.lazy_matrices import jacobian as _jacobian

Function = Callable[..., Any]

make_vjp = unary_to_nary(core.make_vjp)
make_jvp = unary_to_nary(core.make_jvp)


def _scalar(fun: Function) -> Function:
    """Return a function whose result of one element has no axes, as autograd takes it."""

    def scalar(x: Any) -> Any:
        found = fun(x)
        return pn.reshape(found, ()) if np.ndim(found) and np.size(found) == 1 else found

    return scalar


def _whole(found: Any) -> Any:
    """Return derivatives as arrays that are computed."""
    if isinstance(found, (tuple, list)):
        return type(found)([_whole(item) for item in found])
    return np.array(found) if isinstance(found, LazyMatrix) else found


@unary_to_nary
def grad(fun: Function, x: Any) -> Any:
    """Return the function that gives the gradient of a scalar function."""
    return _grad(_scalar(fun))(x)


@unary_to_nary
def value_and_grad(fun: Function, x: Any) -> Any:
    """Return the function that gives a scalar function's value and its gradient."""
    return _value_and_grad(_scalar(fun))(x)


@unary_to_nary
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """Return the function that gives the gradient of the real part: of a holomorphic function its derivative.

    Whether it is holomorphic is not asked, as autograd does not. Of real arguments the imaginary part is lost, with a
    warning.
    """
    if not core.vspace(x).iscomplex:
        warnings.warn(
            "Input to holomorphic_grad is not complex: the imaginary part of the result is lost", stacklevel=3
        )
    return _grad(_scalar(lambda x: pn.real(fun(x))))(x)


@unary_to_nary
def grad_and_aux(fun: Function, x: Any) -> Any:
    """Return the function that gives the gradient of the first result, and the second."""
    return _grad(fun, has_aux=True)(x)


def grad_named(fun: Function, argname: str) -> Function:
    """Return the gradient in the argument of a name."""
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))  # type: ignore[no-any-return]


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


@unary_to_nary
def elementwise_grad(fun: Function, x: Any) -> Any:
    """Return the gradient of the sum of the results: for functions of each element, their derivatives."""
    value, pullback = vjp(fun, x)
    if core.vspace(value).iscomplex:
        raise TypeError("elementwise_grad is of functions whose results are real")
    return pullback(core.vspace(value).ones())[0]


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """Return the derivative along ones: for functions of each element, by forward mode."""
    return jvp(fun, (x,), (core.vspace(x).ones(),))[1]


@unary_to_nary
def jacobian(fun: Function, x: Any) -> Any:
    """Return the function that gives the Jacobian, with the axes of the result and then those of the argument."""
    return _whole(_jacobian(fun)(x))


@unary_to_nary
def hessian(fun: Function, x: Any) -> Any:
    """Return the function that gives the Hessian."""
    return _whole(_hessian(_scalar(fun))(x))


def hessian_vector_product(fun: Function, argnum: Argnum = 0) -> Function:
    """Return the function of the arguments and a last one, a vector, that gives the Hessian times the vector."""

    def product(*args: Any, **kwargs: Any) -> Any:
        return make_hvp(fun, argnum)(*args[:-1], **kwargs)[0](args[-1])

    return product


hessian_tensor_product = hessian_vector_product


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> tuple[Function, Any]:
    """Return the function that gives the function of Hessian times vector, and the gradient."""
    gradient = _grad(_scalar(fun))
    return lambda vector: jvp(gradient, (x,), (vector,))[1], gradient(x)


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Function:
    """Return the function that gives tangents of the value: the pullback of the pullback, by reverse mode alone."""
    value, pullback = vjp(fun, x)
    transposed = vjp(lambda g: pullback(g)[0], core.vspace(value).zeros())[1]
    return lambda tangent: transposed(tangent)[0]


def tensor_jacobian_product(fun: Function, argnum: Argnum = 0) -> Function:
    """Return the function of the arguments and a last one, a tensor, that gives the tensor times the Jacobian.

    As many axes of the result are summed as the tensor has, the first ones.
    """

    def contracted(*args: Any, **kwargs: Any) -> Any:
        return pn.tensordot(args[-1], fun(*args[:-1], **kwargs), np.ndim(args[-1]))

    return jacobian(contracted, argnum)  # type: ignore[no-any-return]


vector_jacobian_product = tensor_jacobian_product


def _half_square(x: Any) -> Any:
    return 0.5 * pn.sum(x**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: Argnum = 0) -> Function:
    """Return a function of the arguments that gives products with the generalised Gauss–Newton matrix of g(f(x))."""

    def made(fun: Function, x: Any) -> Function:
        def product(vector: Any) -> Any:
            value, moved = jvp(fun, (x,), (vector,))
            return core.make_vjp(fun, x)[0](hessian_vector_product(g)(value, moved))

        return product

    return unary_to_nary(made)(f, f_argnum)  # type: ignore[no-any-return]


__all__ = [
    "checkpoint", "deriv", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian",
    "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "jacobian", "make_ggnvp", "make_hvp",
    "make_jvp", "make_jvp_reversemode", "make_vjp", "multigrad_dict", "tensor_jacobian_product", "value_and_grad",
    "vector_jacobian_product",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
