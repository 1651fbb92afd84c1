"""The methods of NumPy's ufuncs on traced arrays: reduce, accumulate, outer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import ops
from primad.numpy.promotion import normalize_axis, refuse_out, traced_operands
from primad.numpy.reductions import all, any, max, min, prod, sum
from primad.numpy.scans import cumprod, cumsum, scanned
from primad.numpy.shaping import reshape
from primad.protocols import METHODS, UFUNCS

__all__: list[str] = []


def _reduce(reduction: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(
        x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **options: Any
    ) -> Any:
        refuse_out("reduce", out)
        options |= {} if dtype is None else {"dtype": dtype}
        return reduction(x, axis, keepdims=keepdims, **options)

    return reduce


def _accumulate(scan: Callable[..., Any]) -> Callable[..., Any]:
    def accumulate(x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        refuse_out("accumulate", out)
        return scan(x, axis, dtype)

    return accumulate


def _extremes(extremum: Any) -> Callable[..., Any]:
    def scan(x: Any, axis: int, dtype: Any) -> Any:
        x = x if dtype is None else x.astype(dtype)
        return scanned(extremum, x, normalize_axis("accumulate", axis, x.ndim))

    return scan


def _outer(function: Callable[..., Any]) -> Callable[..., Any]:
    def outer(x: Any, y: Any) -> Any:
        x, y = traced_operands(x, y)
        return function(reshape(x, x.shape + (1,) * y.ndim), y)

    return outer


_REDUCTIONS = {"add": sum, "multiply": prod, "maximum": max, "minimum": min, "logical_and": all, "logical_or": any}
_SCANS = {
    "add": cumsum,
    "multiply": cumprod,
    "maximum": _extremes(ops.maximum),
    "minimum": _extremes(ops.minimum),
}
METHODS |= {f"{name}.reduce": _reduce(reduction) for name, reduction in _REDUCTIONS.items()}
METHODS |= {f"{name}.accumulate": _accumulate(scan) for name, scan in _SCANS.items()}
for _ufunc, _function in UFUNCS.items():
    if isinstance(_ufunc, np.ufunc) and _ufunc.nin == 2 and _ufunc.signature is None:
        METHODS[f"{_ufunc.__name__}.outer"] = _outer(_function)
