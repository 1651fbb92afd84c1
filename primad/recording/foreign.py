"""Arrays that are more than their elements: with units, labels or a mask, sparse, or with operators of their own.

With the elements alone a function would compute something else than it does on the array: they are refused wherever
they come in, with the way to plain arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from primad.errors import TracingError
from primad.ir.array_types import check_dtype

_PLAIN = frozenset([
    np.ndarray, np.float64, np.float32, np.int64, np.bool_, float, int, bool, complex, str, slice, type, type(None),
])  # fmt: skip
"""Classes of which nothing need be asked."""
_OPERATORS = ("__array_ufunc__", "__mul__", "__matmul__", "__add__", "__pow__", "__truediv__")
_WITHOUT_UNITS = {
    "to_base_units": "x.to_base_units().magnitude", "si": "x.si.value", "in_base": "x.in_base().value",
    "simplified": "x.simplified.magnitude",
}  # fmt: skip
"""How the libraries of units that have these attributes give plain numbers."""


@lru_cache(maxsize=1024)
def _names(cls: type) -> frozenset[str]:
    """Return the attributes of a class's arrays; none for what are no arrays, or ours."""
    if hasattr(cls, "__leaf__") or not (hasattr(cls, "__array__") or hasattr(cls, "tocsr") or hasattr(cls, "todense")):
        return frozenset()
    return frozenset(dir(cls))


@lru_cache(maxsize=1024)
def _has_operators(cls: type) -> bool:
    """Say whether a class of NumPy arrays computes in its own way."""
    return issubclass(cls, np.ndarray) and any(
        getattr(cls, name) is not getattr(np.ndarray, name) for name in _OPERATORS
    )


def more_than_elements(value: Any) -> tuple[str, str] | None:
    """Return what a value has beside its elements, and how to make it a plain array; None for other values."""
    cls: Any = type(value)
    own = _names(cls)
    if not own:
        return None
    if not own.isdisjoint(("tocsr", "todense")):
        return (
            "It is sparse: zeros are not among its elements.",
            "use the dense array, A.toarray(), or make the product an op of your own with primad.linear.",
        )
    own = own.union(getattr(value, "__dict__", ()))
    if not own.isdisjoint(("units", "unit")) and not own.isdisjoint(("magnitude", "value")):
        way = next((way for name, way in _WITHOUT_UNITS.items() if name in own), "np.asarray(x)")
        return (
            "It has units, which would be dropped: 100 cm would be 100, and 1 m would be 1.",
            f"compute with plain numbers, in units that belong together: {way}.",
        )
    if "iloc" in own or own.issuperset(("dims", "coords")):
        return "It goes by labels, and primad by places: elements would meet others.", "pass x.to_numpy()."
    if _has_operators(cls):
        filled = ", or x.filled(…) for a masked array" if "filled" in own else ""
        return "Its operators mean something else than an array's.", f"pass a plain array: np.asarray(x){filled}."
    return None


def refuse_foreign(value: Any) -> None:
    """Raise for a value that is more than its elements.

    Raises:
        TracingError: with what it has beside them, and the way to a plain array.
    """
    found = more_than_elements(value)
    if found is not None:
        raise TracingError(f"a value of type {type(value).__name__} cannot be traced", *found)


def refuse_among(values: Iterable[Any]) -> None:
    """Raise for a value that is more than its elements, among values and in lists and tuples of them."""
    for value in values:
        cls: Any = type(value)
        if cls is list or cls is tuple:
            if not _PLAIN.issuperset(map(type, value)):
                refuse_among(value)
        elif cls not in _PLAIN:
            refuse_foreign(value)


def plain(value: Any, dtype: Any = None) -> Any:
    """Return the plain array of a value: `np.asarray`, and an error for what is more than its elements.

    Raises:
        TracingError: for arrays with units, labels or a mask, and such.
    """
    refuse_among((value,))
    if dtype is None:
        return np.asarray(value)
    found = np.asarray(value)
    if found.dtype.kind not in "biuf":  # what NumPy would convert: times since 1970, texts
        check_dtype(found.dtype)
    return found.astype(dtype, copy=False)
