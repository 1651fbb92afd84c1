"""Paddle's API over primad: `import primad.compat.paddle as paddle`."""

from typing import Any

from primad.compat.paddle import (
    autograd,
    fluid,
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
from primad.compat.paddle.eager.eager_calls import assign, to_tensor  # fmt: skip
from primad.compat.paddle.eager.printing import set_printoptions
from primad.compat.paddle.eager.tensor import Tensor
from primad.compat.paddle.eager.tensor_storage import load, save
from primad.compat.paddle.functions.creation import (
    arange,
    bernoulli,
    eye,
    full,
    full_like,
    gaussian,
    linspace,
    normal,
    ones,
    ones_like,
    rand,
    randint,
    randint_like,
    randn,
    randperm,
    standard_normal,
    uniform,
    zeros,
    zeros_like,
)
from primad.compat.paddle.functions.indexing import (
    gather,
    gather_nd,
    index_add,
    index_select,
    masked_fill,
    masked_select,
    nonzero,
    scatter,
    scatter_nd_add,
    slice,
    strided_slice,
    take_along_axis,
    where,
)
from primad.compat.paddle.functions.inplace import IN_PLACE
from primad.compat.paddle.functions.manipulation import (
    broadcast_to,
    chunk,
    concat,
    diag,
    diagonal,
    expand,
    expand_as,
    flatten,
    flip,
    meshgrid,
    moveaxis,
    pad,
    repeat_interleave,
    reshape,
    roll,
    split,
    squeeze,
    stack,
    swapaxes,
    t,
    tile,
    transpose,
    tril,
    triu,
    unbind,
    unsqueeze,
    unstack,
)
from primad.compat.paddle.functions.math import (
    abs,
    acos,
    acosh,
    add,
    add_n,
    all,
    any,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cast,
    ceil,
    clip,
    cos,
    cosh,
    cumsum,
    divide,
    dot,
    equal,
    erf,
    exp,
    expm1,
    floor,
    floor_divide,
    greater_equal,
    greater_than,
    isfinite,
    isinf,
    isnan,
    less_equal,
    less_than,
    log,
    log1p,
    log2,
    log10,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    logsumexp,
    matmul,
    max,
    maximum,
    mean,
    min,
    minimum,
    mm,
    mod,
    multiply,
    norm,
    not_equal,
    pow,
    prod,
    reciprocal,
    remainder,
    rsqrt,
    scale,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    sum,
    tan,
    tanh,
)
from primad.compat.paddle.functions.numerics import (
    allclose,
    deg2rad,
    diff,
    digamma,
    equal_all,
    erfinv,
    frac,
    hypot,
    isclose,
    lerp,
    lgamma,
    logaddexp,
    neg,
    rad2deg,
    round,
    trunc,
)
from primad.compat.paddle.functions.queries import is_floating_point, is_integer, is_tensor, numel, rank, shape
from primad.compat.paddle.functions.statistics import argmax, argmin, argsort, median, sort, std, topk, var  # fmt: skip
from primad.compat.paddle.linalg import bmm, cross, dist, einsum, inner, kron, mv, outer, tensordot, trace  # fmt: skip
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
    "CPUPlace", "ParamAttr", "Tensor", "abs", "acos", "acosh", "add", "add_n", "all", "allclose", "any", "arange",
    "argmax", "argmin", "argsort", "asin", "asinh", "assign", "atan", "atan2", "atanh", "autograd", "bernoulli",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "bmm", "bool", "broadcast_to", "cast", "ceil", "chunk",
    "clip", "concat", "cos", "cosh", "create_parameter", "cross", "cumsum", "deg2rad", "diag", "diagonal", "diff",
    "digamma", "disable_static", "dist", "divide", "dot", "dtype", "einsum", "enable_grad", "enable_static", "equal",
    "equal_all", "erf", "erfinv", "exp", "expand", "expand_as", "expm1", "eye", "flatten", "flip", "float16", "float32",
    "float64", "floor", "floor_divide", "fluid", "frac", "full", "full_like", "gather", "gather_nd", "gaussian",
    "get_default_dtype", "get_device", "get_flags", "grad", "greater_equal", "greater_than", "hypot", "in_dynamic_mode",
    "incubate", "index_add", "index_select", "inner", "int8", "int16", "int32", "int64", "is_compiled_with_cuda",
    "is_floating_point", "is_grad_enabled", "is_integer", "is_tensor", "isclose", "isfinite", "isinf", "isnan", "kron",
    "lerp", "less_equal", "less_than", "lgamma", "linalg", "linspace", "load", "log", "log1p", "log2", "log10",
    "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "masked_fill", "masked_select",
    "matmul", "max", "maximum", "mean", "median", "meshgrid", "min", "minimum", "mm", "mod", "moveaxis", "multiply",
    "mv", "neg", "nn", "no_grad", "nonzero", "norm", "normal", "not_equal", "numel", "ones", "ones_like", "optimizer",
    "outer", "pad", "pow", "prod", "rad2deg", "rand", "randint", "randint_like", "randn", "randperm", "rank",
    "reciprocal", "regularizer", "remainder", "repeat_interleave", "reshape", "roll", "round", "rsqrt", "save", "scale",
    "scatter", "scatter_nd_add", "seed", "set_default_dtype", "set_device", "set_flags", "set_grad_enabled",
    "set_printoptions", "shape", "sigmoid", "sign", "sin", "sinh", "slice", "sort", "split", "sqrt", "square",
    "squeeze", "stack", "standard_normal", "static", "std", "strided_slice", "subtract", "sum", "swapaxes", "t",
    "take_along_axis", "tan", "tanh", "tensordot", "tile", "to_tensor", "topk", "trace", "transpose", "tril", "triu",
    "trunc", "uint8", "unbind", "uniform", "unsqueeze", "unstack", "utils", "var", "vision", "where", "zeros",
    "zeros_like",
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
