"""paddle.autograd: backward passes, gradients, functions with derivatives of their own, Jacobians and Hessians."""

from primad.compat.paddle.autograd.backward import backward
from primad.compat.paddle.autograd.mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

__all__ = ["backward", "enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]
