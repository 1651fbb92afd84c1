"""MXNet 1.x's symbols, executors, arrays and autograd over primad: `import primad.compat.mxnet as mx`.

Names, argument order, error classes and texts, in-place buffers and shape inference are MXNet 1.9.1's; every derivative
is primad's. "Coming from MXNet" in the documentation says what is the same, what is better, and what is missing.
"""

from typing import Any

from primad.compat.mxnet import autograd as autograd
from primad.compat.mxnet import executor as executor
from primad.compat.mxnet import nd as nd
from primad.compat.mxnet import random as random
from primad.compat.mxnet import sym as sym
from primad.compat.mxnet.context import Context as Context
from primad.compat.mxnet.context import cpu as cpu
from primad.compat.mxnet.context import cpu_pinned as cpu_pinned
from primad.compat.mxnet.context import current_context as current_context
from primad.compat.mxnet.context import gpu as gpu
from primad.compat.mxnet.context import num_gpus as num_gpus
from primad.compat.mxnet.errors import MXNetError as MXNetError
from primad.compat.mxnet.errors import unsupported as _unsupported
from primad.compat.mxnet.graph import bound_arguments as bound_arguments  # gives symbols their bind and simple_bind
from primad.compat.mxnet.graph import name_scopes as name
from primad.compat.mxnet.graph.name_scopes import AttrScope as AttrScope

ndarray, symbol = nd, sym

__version__ = "1.9.1"
"""The version of MXNet whose behaviour this is."""

__all__ = [
    "AttrScope", "Context", "MXNetError", "autograd", "cpu", "cpu_pinned", "current_context", "executor", "gpu", "name",
    "nd", "ndarray", "num_gpus", "random", "sym", "symbol",
]  # fmt: skip


def __getattr__(attribute: str) -> Any:
    raise _unsupported("mx", attribute, __all__)
