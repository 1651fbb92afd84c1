"""NumPy's `emath`: functions whose results are complex where real ones have none, as the values say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.numpy.elementwise import ufuncs
from primad.numpy.elementwise.complex_numbers import read_for_dtype
from primad.numpy.promotion import implements
from primad.recording.traced_array import TracedArray

__all__: list[str] = []
Holds = Callable[[Any], Any]


def _as_needed(x: Any, is_outside: Holds, name: str) -> Any:
    """Return an operand, as complex numbers where one of its elements has no real result.

    Raises:
        TracingError: where values are not known, under `jit`: the dtype would depend on them.
    """
    if not isinstance(x, TracedArray):
        x = np.asarray(x)
    if x.dtype.kind == "c":
        return x
    values = x
    if isinstance(x, TracedArray):
        recorded, way_out = x, f"np.emath.{name}(x + 0j) has complex results, np.{name}(x) real ones"
        values = read_for_dtype(lambda: recorded._read("the elements"), f"emath.{name}", way_out)
    return x + 0j if np.any(is_outside(values)) else x


def _is_negative(x: Any) -> Any:
    return x < 0


def _is_beyond_one(x: Any) -> Any:
    return abs(x) > 1


def _registered(name: str, function: Callable[[Any], Any], is_outside: Holds) -> None:
    @implements(getattr(np.emath, name))
    def call(x: Any) -> Any:
        return function(_as_needed(x, is_outside, name))


for _name in ("sqrt", "log", "log2", "log10"):
    _registered(_name, getattr(ufuncs, _name), _is_negative)
for _name in ("arccos", "arcsin", "arctanh"):
    _registered(_name, getattr(ufuncs, _name), _is_beyond_one)


@implements(np.emath.power)
def _power(x: Any, p: Any) -> Any:
    x = _as_needed(x, _is_negative, "power")
    integers = np.asarray(p).dtype.kind in "iu" if not isinstance(p, TracedArray) else p.dtype.kind in "iu"
    return ufuncs.power(x, p * 1.0 if integers and np.any(np.asarray(p) < 0) else p)


@implements(np.emath.logn)
def _logn(n: Any, x: Any) -> Any:
    return ufuncs.log(_as_needed(x, _is_negative, "logn")) / ufuncs.log(_as_needed(n, _is_negative, "logn"))
