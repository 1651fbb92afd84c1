"""HIPS autograd's functions over primad: a program written for it runs with the imports changed.

`import primad.compat.autograd.numpy as np` and `from primad.compat.autograd import grad` stand for autograd's own.
"""

from primad.compat.autograd.derivatives import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from primad.compat.autograd.extend import defjvp, defvjp, primitive

__all__ = [
    "checkpoint",
    "defjvp",
    "defvjp",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]
