"""paddle.autograd: backward passes, gradients, functions with derivatives of their own, Jacobians and Hessians."""

from primad.compat.paddle.autograd.backward import backward
from primad.compat.paddle.autograd.derivatives import Hessian, Jacobian, hessian, jacobian
from primad.compat.paddle.autograd.mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from primad.compat.paddle.autograd.py_layer import PyLayer, PyLayerContext, once_differentiable

__all__ = [
    "Hessian", "Jacobian", "PyLayer", "PyLayerContext", "backward", "enable_grad", "hessian", "is_grad_enabled",
    "jacobian", "no_grad", "once_differentiable", "set_grad_enabled",
]  # fmt: skip
