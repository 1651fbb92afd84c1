"""What a value is: its shape and dtype, and the typed zero that stands for an absent derivative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from primad.errors import ArraySizeError, ShapeError, TracingError

MAX_BYTES = 2**46
"""An array type larger than this (64 TiB) is a mistake in a shape, and is refused when it is built."""

_KINDS = "biufc"
_INSTEAD = MappingProxyType(
    {
        "f": "x.astype(np.float64) has the numbers in 64 bits.",
        "c": "x.astype(np.complex128) has the numbers in two parts of 64 bits.",
        "M": "count the time in a unit: (t - t[0]) / np.timedelta64(1, 's').",
        "m": "count the time in a unit: t / np.timedelta64(1, 's').",
        "U": "texts of numbers become numbers by np.array(x).astype(float).",
        "S": "texts of numbers become numbers by np.array(x).astype(float).",
        "V": "pass the fields: x[name], of each name in x.dtype.names.",
        "O": "give plain numbers their dtype: np.array(x, float).",
    }
)
"""What to write instead of arrays of a kind of dtype that primad does not compute with."""
_KNOWN = frozenset(np.dtype(name) for name in ("float64", "float32", "int64", "bool"))


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """Return `dtype` as a NumPy dtype that primad computes with: up to 64 bits, complex numbers of two such parts.

    Raises:
        TracingError: for object, string, structured and extended-precision dtypes.
    """
    found: np.dtype[Any] = np.dtype(dtype)
    if found in _KNOWN:
        return found
    if found.kind not in _KINDS or found.itemsize > (16 if found.kind == "c" else 8):
        raise TracingError(
            f"arrays of dtype {found} are not supported",
            why="primad computes with booleans, integers, floats of 16, 32 or 64 bits and complex numbers of two.",
            fix=_INSTEAD.get(found.kind, "pass an array of numbers: np.asarray(x, float)."),
        )
    return np.dtype(found.type)  # NumPy's own record of it, which its arrays have too


def check_real(dtype: np.dtype[Any]) -> None:
    """Raise where real numbers are needed and complex ones were given.

    Raises:
        TracingError: for a complex dtype.
    """
    if dtype.kind == "c":
        raise TracingError(
            f"arrays of dtype {dtype} are not supported here",
            why="Real numbers are needed.",
            fix="pass the parts as an array of their own, np.stack([z.real, z.imag]), and compute with x + 1j * y.",
        )


def in_machine_order(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array in the machine's order of bytes: the array itself if that is its own."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def is_float(dtype: np.dtype[Any]) -> bool:
    """Say whether values of this dtype can carry a derivative."""
    return dtype.kind in "fc"


def is_complex(dtype: np.dtype[Any]) -> bool:
    """Say whether values of this dtype have a real and an imaginary part."""
    return bool(dtype.kind == "c")


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the parts of complex numbers; any other dtype as it is."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of complex numbers whose parts hold real numbers of a dtype."""
    found: np.dtype[Any] = np.result_type(dtype, np.complex64)
    return found


class ArrayType:
    """The type of an array: a shape (tuple of lengths) and a dtype. Immutable and hashable.

    Args:
        shape: lengths of the axes.
        dtype: anything that NumPy takes for a dtype.

    Attributes:
        size: number of elements.
        nbytes: bytes of the elements.
        is_complex: whether they have a real and an imaginary part.

    Raises:
        TracingError: for dtypes that are not supported.
        ShapeError: for a negative length.
        ArraySizeError: for a type larger than any memory.

    Example:
        >>> import primad
        >>> primad.ArrayType((2, 3), float)
        float64[2,3]
    """

    __slots__ = ("_hash", "dtype", "is_complex", "nbytes", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype: np.dtype[Any] = check_dtype(dtype)
        self.is_complex = self.dtype.kind == "c"
        self.size = math.prod(shape)
        self.nbytes: int = self.size * self.dtype.itemsize
        self._hash = hash((shape, self.dtype))
        if min(shape, default=0) < 0:
            raise ShapeError(
                f"an array cannot have the shape {shape}: a length is negative", fix="give lengths of 0 or more."
            )
        if self.nbytes > MAX_BYTES:
            raise ArraySizeError(
                f"an array of shape {shape} and dtype {self.dtype} is larger than any memory",
                fix="check the lengths: one of them may be an index or a product.",
            )

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        """Whether values of this type can carry a derivative."""
        return self.dtype.kind in "fc"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, ArrayType) and self.shape == other.shape and self.dtype == other.dtype
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return ArrayType, (self.shape, self.dtype)  # the hash is another in another process

    def __repr__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@lru_cache(maxsize=4096)
def array_type(shape: tuple[int, ...], dtype: np.dtype[Any]) -> ArrayType:
    """Return the type of arrays of a shape and a dtype, the same object for the next of them.

    Its lengths are Python's integers, which NumPy's are equal to: what asks next may need them to be.
    """
    return ArrayType(tuple(map(int, shape)), dtype)


class TupleType:
    """The type of the results of an op that has several: it has no shape. Immutable and hashable.

    Args:
        types: the type of each result.

    Attributes:
        size: number of elements of all results.
        nbytes: bytes of all results.
        is_complex: whether one of them is.

    Example:
        >>> import primad
        >>> primad.ir.array_types.TupleType((primad.ArrayType((2,), float), primad.ArrayType((), int)))
        (float64[2], int64[])
    """

    __slots__ = ("_hash", "is_complex", "is_float", "nbytes", "size", "types")

    def __init__(self, types: tuple[ArrayType, ...]) -> None:
        self.types = types
        self.size = sum([type.size for type in types])
        self.nbytes = sum([type.nbytes for type in types])
        self.is_float = any(type.is_float for type in types)
        self.is_complex = any(type.is_complex for type in types)
        self._hash = hash(types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TupleType) and self.types == other.types

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return TupleType, (self.types,)

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self.types))}{',' if len(self.types) == 1 else ''})"


def type_of_results(types: Sequence[ArrayType]) -> ArrayType | TupleType:
    """Return the type of an op with these results: that of the only one, or of all as a tuple."""
    return types[0] if len(types) == 1 else TupleType(tuple(types))


class Zero:
    """The derivative of something that does not depend on the input: zero, with a type, never computed with."""

    __slots__ = ("type",)

    def __init__(self, type: ArrayType) -> None:
        self.type = type

    def __repr__(self) -> str:
        return f"Zero({self.type})"


class Linear:
    """Stands for the operand that a transpose solves for: it has a type and no value."""

    __slots__ = ("type",)

    def __init__(self, type: ArrayType) -> None:
        self.type = type

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the operand."""
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the operand."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Number of axes of the operand."""
        return len(self.type.shape)


MOST_INFERRED = 4096
"""Types that are remembered of ops: to find one again takes a tenth of the time to infer it."""


class InferredTypes:
    """The types of applications, by op, types of operands and params: a bounded cache, of no nodes."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def of(self, op: Any, inputs: Sequence[Any], params: Sequence[tuple[str, Any]], key: Any) -> tuple[Any, Any]:
        """Return the type of an application, and its params: of equal lengths one object, which compares fast."""
        first = inputs[0].type if inputs else None
        type, operands, last, found = op.inferred.get(id(first), _NEVER)
        if type is first and operands == len(inputs) and last == key:
            for x in inputs:
                if x.type is not type:
                    break
            else:
                return found[0], params if found[1] is None else found[1]
        types = tuple([x.type for x in inputs])
        if op.programs.names:  # they would be kept alive
            return op.infer(*types, **dict(params)), params
        found = self._known.get((op, types, key)) if params else None
        if found is None:
            found = self._inferred(op, types, params, key)
            if types and types.count(first) == len(types):
                if len(op.inferred) >= MOST_INFERRED:
                    op.inferred.clear()
                op.inferred[id(first)] = first, len(types), key, found
        return found[0], params if found[1] is None else found[1]

    def _inferred(self, op: Any, types: tuple[Any, ...], params: Sequence[tuple[str, Any]], key: Any) -> Any:
        """Return the type that an op says, and the params if one object may stand for others like it."""
        type = op.infer(*types, **dict(params))
        if not params:
            return type, None
        if type.__class__ is ArrayType:
            type = array_type(type.shape, type.dtype)
        if len(self._known) >= MOST_INFERRED:
            self._known.clear()
        found = self._known[op, types, key] = type, params if key is params and _are_lengths(params) else None
        return found


def _are_lengths(params: Sequence[tuple[str, Any]]) -> bool:
    """Say whether of equal params one may stand for another: not of users' rules, which read what may change."""
    for _, value in params:
        for part in value if value.__class__ is tuple else (value,):
            if part.__class__ is not int and part.__class__ is not str:
                return False
    return True


_NEVER = None, -1, None, None
INFERRED = InferredTypes()
