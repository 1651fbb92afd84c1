"""Complex values as real ones, for systems of equations: all real parts, and then all imaginary ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad import ops
from primad.recording.traced_array import TracedArray

Function = Callable[..., Any]


def parts(z: Any) -> Any:
    """Return the parts of complex values, an array with one axis."""
    return pnp.concatenate([z.real, z.imag])


def whole(x: Any) -> Any:
    """Return the complex values that have parts."""
    pair = x[: x.shape[0] // 2], x[x.shape[0] // 2 :]
    return ops.complex_of(*pair) if isinstance(x, TracedArray) else np.stack(pair, axis=-1).view(np.complex128)[:, 0]


def of_parts(fun: Function) -> Function:
    """Return a slope (t, complex values) as one of (t, their parts)."""
    return lambda t, x: parts(fun(t, whole(x)))


def matrix_of_parts(matrix: Any) -> Any:
    """Return what a matrix does to the parts of a value that it is multiplied with."""
    return np.block([[matrix.real, -matrix.imag], [matrix.imag, matrix.real]])
