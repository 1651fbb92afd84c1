"""NumPy's functions of the parts of complex numbers, which real arrays have too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import ops
from primad.errors import TracingError
from primad.ir.array_types import is_complex
from primad.numpy.elementwise.ufuncs import arctan2
from primad.numpy.inplace.seen import fresh
from primad.numpy.promotion import convert, implements, loop_dtype, refuse_out
from primad.recording.protocols import METHODS

__all__ = [
    "angle", "conj", "conjugate", "imag", "iscomplex", "iscomplexobj", "isreal", "isrealobj", "real", "real_if_close",
]  # fmt: skip


@implements(np.real)
def real(val: Any) -> Any:
    """np.real: the real parts; a real array itself."""
    return ops.real_part(val) if is_complex(val.dtype) else val


@implements(np.imag)
def imag(val: Any) -> Any:
    """np.imag: the imaginary parts; of a real array plain zeros, to be read, as NumPy's are."""
    return ops.imaginary_part(val) if is_complex(val.dtype) else np.broadcast_to(np.zeros((), val.dtype), val.shape)


@implements(np.conjugate, ufunc=True)
def conjugate(x: Any, /, out: Any = None) -> Any:
    """np.conjugate: x − iy for x + iy; a real array itself."""
    refuse_out("conjugate", out)
    return fresh(conjugated(convert(x, loop_dtype(np.conjugate, x))))


conj = conjugate


def conjugated(x: Any) -> Any:
    """Return the conjugates of complex numbers; anything else as it is, of which NumPy's makes integers of booleans."""
    return ops.conj(x) if is_complex(x.dtype) else x


def squares(x: Any) -> Any:
    """Return |x|² of each element, traced or plain: x·x of real ones."""
    if not is_complex(x.dtype):
        return x * x
    re, im = real(x), imag(x)
    return re * re + im * im


@implements(np.real_if_close)
def real_if_close(x: Any, tol: float = 100) -> Any:
    """np.real_if_close: the real parts where all imaginary parts are nearly 0, which is asked of their values."""
    if not is_complex(x.dtype):
        return x
    limit = tol * np.finfo(x.dtype).eps if tol > 1 else tol
    far = ops.sum(ops.truncate(~(ops.abs(ops.imaginary_part(x)) < limit), dtype="int64"), axes=tuple(range(x.ndim)))
    is_far = read_for_dtype(lambda: bool(far > 0), "real_if_close", "take np.real(x) where x is known to be real")
    return x if is_far else ops.real_part(x)


def read_for_dtype(read: Callable[[], Any], name: str, way_out: str) -> Any:
    """Return values by which NumPy chooses the dtype of a result.

    Args:
        read: gives the values.
        name: NumPy's name of the function.
        way_out: how to say which dtype is meant.

    Raises:
        TracingError: where values are not known, under `jit` and `vmap`.
    """
    try:
        return read()
    except TracingError as error:
        if not error.only_types:
            raise
        said = TracingError(
            f"whether np.{name} is real or complex depends on the values of a traced array",
            why="While primad records a function for jit, vmap or trace, arrays have a type but no value.",
            fix=f"{way_out}, or call np.{name} on the result, outside of what is recorded.",
        )
        said.only_types = True
        raise said from None


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    """np.iscomplex: where the imaginary part is not 0."""
    return ~isreal(x) if is_complex(x.dtype) else np.zeros(x.shape, bool)


@implements(np.isreal)
def isreal(x: Any) -> Any:
    """np.isreal: where the imaginary part is 0."""
    return ops.equal(ops.imaginary_part(x), 0) if is_complex(x.dtype) else np.ones(x.shape, bool)


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    """np.iscomplexobj: whether the dtype is complex."""
    return is_complex(x.dtype)


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    """np.isrealobj: whether the dtype is not complex."""
    return not is_complex(x.dtype)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """np.angle: the angle of the point in the plane, from −π to π; at 0 its derivative is 0.

    Args:
        z: an array; of a real one the angles are 0 and π.
        deg: whether the result is in degrees.
    """
    found = arctan2(ops.imaginary_part(z), ops.real_part(z)) if is_complex(z.dtype) else arctan2(0, z)
    return found * (180 / math.pi) if deg else found


def _conjugated(x: Any, out: Any = None, /) -> Any:
    """x.conj(): of a real array the array itself, where np.conjugate copies; no options are taken."""
    refuse_out("conj", out)
    return conjugated(x)


METHODS["conj"] = METHODS["conjugate"] = _conjugated
METHODS["real"], METHODS["imag"] = real, imag
