"""Discrete Fourier transforms along axes, by SciPy: of complex numbers, of real ones, and back to real ones.

Transforms of complex numbers are symmetric matrices, so each is its own transpose. Those of real numbers are linear
over the real numbers only, and transpose into each other, but for the weights of frequencies that stand for two.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType, complex_dtype, real_dtype
from primad.ir.axes import along, moved_axes, moved_axis
from primad.ir.node import Node
from primad.ir.program import Cost
from primad.ops.elementwise.conversion import conj
from primad.ops.record.fields import Work
from primad.ops.record.kinds import custom
from primad.ops.record.primitive import Primitive

__all__ = ["fft", "irfft", "rfft"]

Shape = tuple[int, ...]
SWAPPED = MappingProxyType({"backward": "forward", "ortho": "ortho", "forward": "backward"})
"""The name of the scale that the transform there has in that direction, for the transform back."""


def _cost(node: Node) -> Cost:
    """Count 5 n log₂ n flops for n complex numbers, and half of them for real ones.

    Source: M. Frigo and S. G. Johnson, "The design and implementation of FFTW3", Proceedings of the IEEE 93 (2005).
    """
    params = dict(node.params)
    largest = max((node.type, node.inputs[0].type), key=lambda type: type.size)
    count = math.prod([largest.shape[axis] for axis in params.get("axes", (params.get("axis"),))])
    whole = all(type.is_complex for type in (node.type, node.inputs[0].type))
    flops = (5.0 if whole else 2.5) * largest.size * math.log2(max(2, count))
    return Cost(int(flops), 0, node.type.nbytes, 1)


def _check(name: str, x: ArrayType, axes: Shape, norm: str) -> None:
    if any(not 0 <= axis < x.ndim for axis in axes) or len({*axes}) != len(axes) or norm not in SWAPPED:
        raise ShapeError(f"{name}: axes {axes} with norm={norm!r} do not fit the shape {x.shape}")
    if any(x.shape[axis] < 1 for axis in axes):
        raise ShapeError(f"{name}: there are no numbers along an axis of {axes} of the shape {x.shape}")


# -- of complex numbers ------------------------------------------------------------------------------------------------


def _fft(z: Any, *, axes: Shape, inverse: bool, norm: str) -> Any:
    from scipy import fft as scipy_fft  # importing it takes longer than primad itself does

    return (scipy_fft.ifftn if inverse else scipy_fft.fftn)(z, axes=axes, norm=norm)


def _fft_type(z: ArrayType, *, axes: Shape, inverse: bool, norm: str) -> ArrayType:
    _check("fft", z, axes, norm)
    if not z.is_complex:
        raise ShapeError(f"fft needs complex numbers, got {z}")
    return z


fft: Primitive = custom(
    "fft",
    numpy=_fft,
    infer=_fft_type,
    jvp=[lambda t, out, z, **params: fft(t, **params)],
    transpose=[lambda ct, z, **params: fft(ct, **params)],
    operands=(0,),
    axes=lambda z, *, axes, inverse, norm: along(z.ndim, axes),
    adapt=moved_axes,
    work=Work(flops=_cost),
    complex="analytic",
    doc="The discrete Fourier transform along axes, Σⱼ zⱼ exp(−2πi jk/n), or its inverse, scaled as `norm` says.",
)


# -- of real numbers ---------------------------------------------------------------------------------------------------


def _weighted(z: Any, axis: int, n: int, factor: float) -> Any:
    """Multiply the frequencies that stand for two, which are conjugates of each other, by a factor."""
    weights = np.full(n // 2 + 1, factor, z.dtype)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return z * np.broadcast_to(weights.reshape([-1 if i == axis else 1 for i in range(z.ndim)]), z.shape)


def _rfft(x: Any, *, axis: int, norm: str) -> Any:
    from scipy import fft as scipy_fft

    return scipy_fft.rfft(x, axis=axis, norm=norm)


def _rfft_type(x: ArrayType, *, axis: int, norm: str) -> ArrayType:
    _check("rfft", x, (axis,), norm)
    if x.dtype.kind != "f" or x.dtype.itemsize < 4:
        raise ShapeError(f"rfft needs floats of 32 or 64 bits, got {x}")
    shape = tuple([n // 2 + 1 if i == axis else n for i, n in enumerate(x.shape)])
    return ArrayType(shape, complex_dtype(x.dtype))


def _irfft(z: Any, *, axis: int, n: int, norm: str) -> Any:
    from scipy import fft as scipy_fft

    return scipy_fft.irfft(z, n, axis=axis, norm=norm)


def _irfft_type(z: ArrayType, *, axis: int, n: int, norm: str) -> ArrayType:
    _check("irfft", z, (axis,), norm)
    if not z.is_complex or z.shape[axis] != n // 2 + 1:
        raise ShapeError(f"irfft needs {n // 2 + 1} complex numbers along axis {axis} for {n} real ones, got {z}")
    shape = tuple([n if i == axis else length for i, length in enumerate(z.shape)])
    return ArrayType(shape, real_dtype(z.dtype))


rfft: Primitive = custom(
    "rfft",
    numpy=_rfft,
    infer=_rfft_type,
    jvp=[lambda t, out, x, **params: rfft(t, **params)],
    transpose=[
        lambda ct, x, *, axis, norm: irfft(
            _weighted(conj(ct), axis, x.shape[axis], 0.5), axis=axis, n=x.shape[axis], norm=SWAPPED[norm]
        )
    ],
    operands=(0,),
    axes=lambda x, *, axis, norm: along(x.ndim, [axis]),
    adapt=moved_axis,
    work=Work(flops=_cost),
    complex="real-linear",
    doc="The discrete Fourier transform of real numbers along an axis: its frequencies from 0 to n/2.",
)
irfft: Primitive = custom(
    "irfft",
    numpy=_irfft,
    infer=_irfft_type,
    jvp=[lambda t, out, z, **params: irfft(t, **params)],
    transpose=[lambda ct, z, *, axis, n, norm: _weighted(conj(rfft(ct, axis=axis, norm=SWAPPED[norm])), axis, n, 2.0)],
    operands=(0,),
    axes=lambda z, *, axis, n, norm: along(z.ndim, [axis]),
    adapt=moved_axis,
    work=Work(flops=_cost),
    complex="real-linear",
    doc="The n real numbers whose discrete Fourier transform has the given frequencies from 0 to n/2.",
)
