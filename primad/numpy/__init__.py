"""NumPy's names and semantics over primad's ops.

Each function computes with NumPy on plain arrays and records on traced arrays; plain `np.sin(x)` on a traced array
finds the same implementation through NumPy's protocols, so user code need not change its imports. Which names are
public is said in the `__all__` of the file that has them. All others of NumPy's names are NumPy's own.
"""

import sys as _sys
from typing import Any

import numpy as _numpy

from primad.numpy import fft, linalg, names, objects, polynomial, special, ufunc_methods
from primad.numpy.elementwise import bits, complex_numbers, logic, rounding, scimath, square_roots, ufuncs
from primad.numpy.elementwise.bits import *
from primad.numpy.elementwise.complex_numbers import *
from primad.numpy.elementwise.logic import *
from primad.numpy.elementwise.rounding import *
from primad.numpy.elementwise.ufuncs import *
from primad.numpy.linalg import diagonals, pairwise_einsum, products
from primad.numpy.linalg.diagonals import *
from primad.numpy.linalg.pairwise_einsum import *
from primad.numpy.linalg.products import *
from primad.numpy.linalg.spectra import norm as norm
from primad.numpy.objects import *
from primad.numpy.polynomial import coefficients
from primad.numpy.polynomial.coefficients import *
from primad.numpy.reduce import histograms, largest, nans, quantiles, reductions, scans, signals
from primad.numpy.reduce.histograms import *
from primad.numpy.reduce.largest import *
from primad.numpy.reduce.nans import *
from primad.numpy.reduce.quantiles import *
from primad.numpy.reduce.reductions import *
from primad.numpy.reduce.scans import *
from primad.numpy.reduce.signals import *
from primad.numpy.shapes import arranging, creation, index_updates, indexing, ordering, padding, shaping, sorting
from primad.numpy.shapes.arranging import *
from primad.numpy.shapes.creation import *
from primad.numpy.shapes.index_updates import *
from primad.numpy.shapes.indexing import *
from primad.numpy.shapes.ordering import *
from primad.numpy.shapes.padding import *
from primad.numpy.shapes.shaping import *
from primad.numpy.shapes.sorting import *
from primad.recording.protocols import METHODS as _METHODS

ufunc_methods.register()

abs = absolute
acos, acosh, asin, asinh, atan, atan2, atanh = arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh
bitwise_invert = bitwise_not = invert
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift
concat, permute_dims, pow, row_stack = concatenate, transpose, power, vstack

COMPOSITES = (
    *ufuncs.COMPOSITES,
    *square_roots.COMPOSITES,
    *fft.COMPOSITES,
    *rounding.COMPOSITES,
    *reductions.COMPOSITES,
    *scans.COMPOSITES,
    *sorting.COMPOSITES,
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
    arranging, bits, coefficients, complex_numbers, creation, diagonals, pairwise_einsum, ufuncs, histograms, largest,
    index_updates, indexing, logic, nans, ordering, padding, products, quantiles, reductions, rounding, scans, scimath,
    shaping, signals, sorting, ufunc_methods,
):  # fmt: skip
    TRACEABLE += _module.__all__


def _namespace(x: Any, *, api_version: Any = None) -> Any:
    """Return this module, where NumPy has the version of the Array-API standard that is asked for."""
    _numpy.empty(0).__array_namespace__(api_version=api_version)
    return _sys.modules[__name__]


_METHODS["__array_namespace__"] = _namespace

_NUMPYS = frozenset(names.numpys_own({*TRACEABLE, *objects.__all__, "fft", "linalg", "polynomial"}))

__all__ = ["fft", "linalg", "polynomial", "special"]
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
