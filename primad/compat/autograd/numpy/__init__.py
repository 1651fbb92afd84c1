"""`primad.numpy` where programs look for `autograd.numpy`."""

from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as _np

from primad import numpy as _numpy
from primad.compat.autograd.importing import missing, specification
from primad.compat.autograd.numpy import choices as _choices
from primad.compat.autograd.numpy import fft as _fft
from primad.compat.autograd.numpy import linalg as _linalg
from primad.compat.autograd.numpy import numpy_boxes, numpy_vjps  # noqa: F401
from primad.compat.autograd.numpy import random as _random
from primad.numpy import *
from primad.recording.traced_array import TracedArray

# These four over what primad.numpy has under the names.
where = _choices.where
fft: ModuleType = _fft  # type: ignore[no-redef]
linalg: ModuleType = _linalg  # type: ignore[no-redef]
random: ModuleType = _random
__version__ = _np.__version__


def isscalar(element: Any) -> bool:
    """Say whether a value is a number: traced ones without axes count, as elements of arrays do."""
    return bool(_numpy.isscalar(element)) or (isinstance(element, TracedArray) and not element.ndim)


def _of_any_iterable(name: str) -> Callable[..., Any]:
    """Return NumPy's function of a sequence of arrays; autograd's takes any iterable, as the values of a dict."""
    function = getattr(_numpy, name)

    @wraps(function)
    def joined(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        return function(
            arrays if isinstance(arrays, Sequence) or hasattr(arrays, "ndim") else [*arrays], *args, **kwargs
        )

    return joined


stack, concatenate = _of_any_iterable("stack"), _of_any_iterable("concatenate")
hstack, vstack, column_stack = map(_of_any_iterable, ("hstack", "vstack", "column_stack"))


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return matrices whose diagonals are the last axis of an array.

    Raises:
        NotImplementedError: for other places than offset=0, axis1=-1, axis2=-2, as in autograd.
    """
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal is of offset=0, axis1=-1, axis2=-2")
    return D[..., None] * _np.eye(_np.shape(D)[-1])


def metadata(A: Any) -> tuple[tuple[int, ...], int, Any, bool]:
    """Return the shape of an array, its number of axes, its dtype, and whether it is complex."""
    dtype = _numpy.result_type(A)
    return _np.shape(A), _np.ndim(A), dtype, dtype.kind == "c"


def __getattr__(name: str) -> Any:
    if specification(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    if name.startswith("_") or hasattr(_numpy, name) or hasattr(_np, name):
        return getattr(_numpy, name)
    missing(__name__, name, dir(_numpy))


def __dir__() -> list[str]:
    return sorted([*dir(_numpy), "make_diagonal", "metadata", "random"])
