"""NumPy's names and semantics over primad's ops.

Each function computes with NumPy on plain arrays and records on traced arrays; plain `np.sin(x)` on a traced array
finds the same implementation through NumPy's protocols, so user code need not change its imports. Which names are
public is said in the `__all__` of the file that has them. All others of NumPy's names are NumPy's own.
"""

import sys as _sys
from typing import Any

import numpy as _numpy

from primad.numpy import (
    arranging,
    bits,
    creation,
    diagonals,
    einstein,
    elementwise,
    histograms,
    indexing,
    linalg,
    logic,
    names,
    nans,
    objects,
    order,
    padding,
    polynomial,
    polynomials,
    products,
    quantiles,
    reductions,
    rounding,
    scans,
    shaping,
    signals,
    special,
    ufunc_methods,
)
from primad.numpy.arranging import *
from primad.numpy.bits import *
from primad.numpy.creation import *
from primad.numpy.diagonals import *
from primad.numpy.einstein import *
from primad.numpy.elementwise import *
from primad.numpy.histograms import *
from primad.numpy.indexing import *
from primad.numpy.logic import *
from primad.numpy.nans import *
from primad.numpy.objects import *
from primad.numpy.order import *
from primad.numpy.padding import *
from primad.numpy.polynomials import *
from primad.numpy.products import *
from primad.numpy.quantiles import *
from primad.numpy.reductions import *
from primad.numpy.rounding import *
from primad.numpy.scans import *
from primad.numpy.shaping import *
from primad.numpy.signals import *
from primad.numpy.spectra import norm as norm
from primad.protocols import METHODS as _METHODS

abs = absolute
acos, acosh, asin, asinh, atan, atan2, atanh = arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh
bitwise_invert = bitwise_not = invert
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift
concat, permute_dims, pow, row_stack = concatenate, transpose, power, vstack

COMPOSITES = (
    *elementwise.COMPOSITES,
    *rounding.COMPOSITES,
    *reductions.COMPOSITES,
    *scans.COMPOSITES,
    *order.COMPOSITES,
    *products.COMPOSITES,
    *diagonals.COMPOSITES,
    *linalg.COMPOSITES,
    *special.COMPOSITES,
)
"""The composite ops of this layer, for `primad.verify`."""

TRACEABLE = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_invert", "bitwise_left_shift",
    "bitwise_not", "bitwise_right_shift", "concat", "norm", "permute_dims", "pow", "row_stack",
]  # fmt: skip
"""The names that this package defines: those of functions that record traced arrays."""
for _module in (
    arranging, bits, creation, diagonals, einstein, elementwise, histograms, indexing, logic, nans, order, padding,
    polynomials, products, quantiles, reductions, rounding, scans, shaping, signals, ufunc_methods,
):  # fmt: skip
    TRACEABLE += _module.__all__

_METHODS["__array_namespace__"] = lambda x, *, api_version=None: _sys.modules[__name__]

_NUMPYS = frozenset(names.numpys_own({*TRACEABLE, *objects.__all__, "linalg", "polynomial"}))

__all__ = ["linalg", "polynomial", "special"]
__all__ += objects.__all__
__all__ += TRACEABLE
__all__ += sorted(_NUMPYS)


def __getattr__(name: str) -> Any:
    """Return what NumPy has by this name, a module (`random`, `fft`) too."""
    if name in _NUMPYS or name in _numpy.__all__ or name in ("__array_api_version__", "__array_namespace_info__"):
        return getattr(_numpy, name)
    raise AttributeError(f"module 'primad.numpy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
