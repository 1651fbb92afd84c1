"""Paddle's API over primad: `import primad.compat.paddle as paddle`."""

from typing import Any

from primad.compat.paddle import (
    autograd,
    fluid,
    functions,
    incubate,
    linalg,
    nn,
    optimizer,
    regularizer,
    static,
    utils,
    vision,
)
from primad.compat.paddle.autograd import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from primad.compat.paddle.autograd.backward import grad
from primad.compat.paddle.eager.eager_calls import assign, to_tensor
from primad.compat.paddle.eager.printing import set_printoptions
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.eager.tensor_storage import load, save
from primad.compat.paddle.functions import *
from primad.compat.paddle.functions.inplace import IN_PLACE
from primad.compat.paddle.linalg import bmm, cross, dist, einsum, inner, kron, mv, outer, tensordot, trace
from primad.compat.paddle.nn.parameter import create_parameter
from primad.compat.paddle.settings import errors
from primad.compat.paddle.settings.dtypes import bool_ as bool
from primad.compat.paddle.settings.dtypes import (
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    uint8,
)
from primad.compat.paddle.settings.flags import get_flags, set_flags
from primad.compat.paddle.settings.modes import disable_static, enable_static, in_dynamic_mode
from primad.compat.paddle.settings.parameters import ParamAttr
from primad.compat.paddle.settings.place import CPUPlace, get_device, is_compiled_with_cuda, set_device
from primad.compat.paddle.settings.randomness import seed

__version__ = "3.3.1"
"""The version of Paddle whose behaviour this layer follows."""

__all__ = [
    "CPUPlace", "ParamAttr", "Tensor", "assign", "autograd", "bmm", "bool", "create_parameter", "cross",
    "disable_static", "dist", "dtype", "einsum", "enable_grad", "enable_static", "float16", "float32", "float64",
    "fluid", "get_default_dtype", "get_device", "get_flags", "grad", "in_dynamic_mode", "incubate", "inner", "int8",
    "int16", "int32", "int64", "is_compiled_with_cuda", "is_grad_enabled", "kron", "linalg", "load", "mv", "nn",
    "no_grad", "optimizer", "outer", "regularizer", "save", "seed", "set_default_dtype", "set_device", "set_flags",
    "set_grad_enabled", "set_printoptions", "static", "tensordot", "to_tensor", "trace", "uint8", "utils", "vision",
    *functions.__all__,
]  # fmt: skip

_INSTEAD = {
    "CUDAPlace": "primad computes on the CPU: use paddle.CPUPlace().",
    "jit": "nothing needs to be compiled: gradients are planned once for each structure; see primad.jit.",
    "Model": "write the training loop: forward, loss.backward(), optimizer.step(), optimizer.clear_grad().",
    "DataParallel": "primad computes on the threads of one machine by itself.",
    "complex64": "primad computes with real numbers: split real and imaginary parts.",
    "complex128": "primad computes with real numbers: split real and imaginary parts.",
    "bfloat16": "use float32.",
}


def __getattr__(name: str) -> Any:
    if name in IN_PLACE:
        return IN_PLACE[name]
    raise errors.unsupported("paddle", name, [*__all__, *IN_PLACE], _INSTEAD)
