"""Arrays that are more than their elements: with units, labels or a mask, sparse, or with operators of their own.

With the elements alone a function would compute something else than it does on the array: they are refused wherever
they come in, with the way to plain arrays.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Generator, Iterator, Mapping, Set
from functools import lru_cache
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from primad.errors import TracingError
from primad.ir.array_types import check_dtype, check_real

C = TypeVar("C", bound=type)

_PLAIN: set[type] = {
    np.ndarray, np.float64, np.float32, np.int64, np.bool_, float, int, bool, complex, str, slice, type, type(None),
}  # fmt: skip
"""Classes of which nothing need be asked, and traced arrays."""
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


_SPARSE = ("tocsr", "todense")
"""Attributes of sparse arrays."""


def is_sparse(value: Any) -> bool:
    """Say whether a value is one of SciPy's sparse arrays."""
    cls: Any = type(value)
    return not _names(cls).isdisjoint(_SPARSE)


def has_products(sparse: Any) -> bool:
    """Say whether `*` is the product of matrices, as of SciPy's older sparse matrices, and not of elements."""
    return hasattr(sparse, "getH")


def multiplied_by_sparse(frame: FrameType) -> bool:
    """Say whether a sparse array asks for the elements of what it is multiplied with, in a frame.

    It leaves the product to an operand that it finds to be an object, and no array.
    """
    return frame.f_code.co_name == "_matmul_dispatch" and is_sparse(frame.f_locals.get("self"))


@lru_cache(maxsize=1024)
def _has_operators(cls: type) -> bool:
    """Say whether a class of NumPy arrays computes in its own way."""
    return issubclass(cls, np.ndarray) and any(
        getattr(cls, name) is not getattr(np.ndarray, name) for name in _OPERATORS
    )


@lru_cache(maxsize=1024)
def holds_arrays(cls: type, protocol: str) -> bool:
    """Say whether values of a class have arrays inside, and answer one of NumPy's protocols for those themselves.

    An array with units or labels may hold a traced one, and what they do together is said there: a product of a traced
    array and one with units has units. Subclasses of NumPy's array hold numbers only.

    Args:
        cls: the class.
        protocol: "__array_ufunc__" or "__array_function__".
    """
    return (
        not hasattr(cls, "__leaf__")
        and not issubclass(cls, (np.ndarray, np.generic))
        and getattr(cls, protocol, None) is not None
    )


def more_than_elements(value: Any) -> tuple[str, str] | None:
    """Return what a value has beside its elements, and how to make it a plain array; None for other values."""
    cls: Any = type(value)
    own = _names(cls)
    if not own:
        return None
    if not own.isdisjoint(_SPARSE):
        return (
            "It is sparse: zeros are not among its elements.",
            "A @ x and x @ A are recorded; entries that depend on traced values are those of primad.scipy.sparse: "
            "csr_array((s * A.data, A.indices, A.indptr), shape=A.shape); of others use the dense array, A.toarray().",
        )
    own = own.union(getattr(value, "__dict__", ()))
    if not own.isdisjoint(("units", "unit")) and not own.isdisjoint(("magnitude", "value")):
        way = next((way for name, way in _WITHOUT_UNITS.items() if name in own), "np.asarray(x)")
        return (
            "It has units, which would be dropped: 100 cm would be 100, and 1 m would be 1.",
            f"compute with plain numbers, in units that belong together: {way}.",
        )
    if _goes_by_labels(own) or own.issuperset(("dims", "coords")):
        way = "x.to_numpy()" if "to_numpy" in own else "x[name].to_numpy(), of each name"
        if own.issuperset(("to_dict", "to_frame", "index")):  # of a Series; asked while it is made it may have nothing
            way += ", or x.to_dict() where its labels are names"
        if own.issuperset(("dims", "data")):
            way += ", or x.data where it holds a traced array"
        return "It goes by labels, and primad by places: elements would meet others.", f"pass {way}."
    if "compressed" in own:
        return (
            "Its operators mean something else than an array's: of masked elements the numbers mean nothing.",
            "pass a plain array without them, x.compressed(), and a[~np.ma.getmaskarray(x)] of arrays beside it; or "
            "x.filled(0.0), with the weight 0 there.",
        )
    if _has_operators(cls):
        return "Its operators mean something else than an array's.", "pass a plain array: np.asarray(x)."
    return None


def _goes_by_labels(own: Set[str]) -> bool:
    return "to_numpy" in own


def without_labels(index: Any) -> Any:
    """Return the elements of an index that has labels: a traced array has none, so it can only mean places."""
    cls: type = type(index)
    if cls in _PLAIN or not _goes_by_labels(_names(cls)):
        return index
    return np.asarray(index.to_numpy())


def kind_of(value: Any) -> tuple[str, str] | None:
    """Return what a value that is no number and no array is, in words, and how it gives numbers; None for others."""
    if value is None:
        return "None", "a function without `return` gives None: return a value there, or leave the operand out."
    if isinstance(value, (str, bytes)):
        return f"a text, {value!r}", "convert it: float(text), or np.array(texts).astype(float)."
    if hasattr(value, "total_seconds"):
        return f"a span of time, {value!r}", "count it in a unit: t.total_seconds()."
    if hasattr(value, "isoformat") and not hasattr(value, "__array__"):
        return f"a time, {value!r}", "count the time from a start, in a unit: (t - start).total_seconds()."
    if isinstance(value, numbers.Number):
        return f"a number of type {type(value).__name__}", "convert it: float(number)."
    if isinstance(value, Mapping):
        return f"a {type(value).__name__}", "compute with its values: d[name], of each name."
    if isinstance(value, Set):
        return f"a {type(value).__name__}", "give its elements an order: np.array(sorted(s))."
    if isinstance(value, (Generator, Iterator)):
        return f"a {type(value).__name__}", "make an array of what it gives: primad.numpy.array(list(g))."
    if isinstance(value, type):
        return f"a class, {value.__name__}", "pass what it makes: a number or an array."
    if hasattr(value, "matvec"):
        return f"a {type(value).__name__}", (
            "what it computes is not recorded: take the matrix, primad.scipy.sparse.linalg.lsqr for least squares, or "
            "give primad.implicit.linear_solve a function that is written with NumPy."
        )
    if callable(value) and not hasattr(value, "__array__") and not hasattr(value, "__radd__"):
        name = getattr(value, "__name__", type(value).__name__)
        return f"a function, {name}", "call it, and compute with its result: f(x)."
    return None


_PLAINLY = "pass numbers: float(x), or an array of them, np.asarray(x, float)."


def refuse_foreign(value: Any) -> None:
    """Raise for a value that is more than its elements.

    Raises:
        TracingError: with what it has beside them, and the way to a plain array.
    """
    found = more_than_elements(value)
    if found is not None:
        why, fix = found
        raise TracingError(f"a value of type {type(value).__name__} cannot be traced", why, fix)


def unasked(cls: C) -> C:
    """Let the values of a class pass that are all that they seem: traced arrays themselves, not those made of them."""
    _PLAIN.add(cls)
    return cls


def refuse_among(values: Collection[Any]) -> None:
    """Raise for a value that is more than its elements, among values and in lists and tuples of them."""
    if _PLAIN.issuperset(map(type, values)):
        return
    for value in values:
        cls: Any = type(value)
        if cls is list or cls is tuple:
            refuse_among(value)
        elif cls not in _PLAIN:
            refuse_foreign(value)


def plain(value: Any, dtype: Any = None) -> Any:
    """Return the plain array of a value: `np.asarray`, and an error for what is more than its elements.

    Raises:
        TracingError: for arrays with units, labels or a mask, and such.
    """
    refuse_among((value,))
    found = np.asarray(value)
    if found.dtype.kind == "O" and not found.ndim:
        words, fix = kind_of(value) or (f"an object of type {type(value).__name__}", _PLAINLY)
        raise TracingError(f"a number or an array of numbers is needed, not {words}", fix=fix)
    if found.dtype.kind == "O" or (dtype is not None and found.dtype.kind not in "biufc"):
        check_dtype(found.dtype)  # what NumPy would convert: times since 1970, texts
    if dtype is not None and np.dtype(dtype).kind != "c":
        check_real(found.dtype)  # what NumPy would drop
    return found if dtype is None else found.astype(dtype, copy=False)
