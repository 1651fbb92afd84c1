"""Discrete Fourier transforms along axes, by NumPy: of complex numbers, of real ones, and back to real ones.

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
from primad.ops.arrays.fourier_laws import (
    SWAPPED,
    conjugate_outside,
    ends_as_read,
    ends_outside,
    half_undone,
    real_undone,
    to_real,
    turned_factors,
    undone,
    weights_outside,
)
from primad.ops.arrays.frequency_pairs import hermitian_ends, weigh_pairs
from primad.ops.arrays.reshaping import flip
from primad.ops.arrays.slicing import concatenate, slice_
from primad.ops.elementwise.arithmetic import add, mul
from primad.ops.elementwise.conversion import cast, complex_of, conj, real_part
from primad.ops.record.fields import Law, MemoryUse, Work, always
from primad.ops.record.kinds import custom
from primad.ops.record.primitive import Primitive, full
from primad.recording.traced_array import TracedArray
from primad.system.machine import FIRST_CACHE

__all__ = ["fft", "irfft", "rfft"]

Shape = tuple[int, ...]


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
        raise ShapeError(
            f"{name}: axes {axes} with norm={norm!r} do not fit the shape {x.shape}",
            fix='name axes of the operand, each once, and a norm of "backward", "ortho" or "forward".',
        )
    if any(x.shape[axis] < 1 for axis in axes):
        raise ShapeError(
            f"{name}: there are no numbers along an axis of {axes} of the shape {x.shape}",
            fix="pad the axis, or leave empty arrays out.",
        )


# -- of complex numbers ------------------------------------------------------------------------------------------------


COLUMN_LINES = 8
"""Cache lines, of numbers side by side, that are transformed together along another axis where the lines of a column
would share a place in the first cache. Measured: 256 to 2048 rows of powers of two take half as long as column by
column."""


def _fft(z: Any, *, axes: Shape, inverse: bool, norm: str, out: Any = None) -> Any:
    out = np.empty(z.shape, z.dtype) if out is None else out
    for axis in reversed(axes):
        _along_axis(np.fft.ifft if inverse else np.fft.fft, z, axis, norm, out)
        z = out
    if not axes:
        np.copyto(out, z)
    return out


def _along_axis(transform: Any, z: Any, axis: int, norm: str, out: Any) -> None:
    """Transform along one axis, into an array that may be the same one."""
    if axis == z.ndim - 1 or out.strides[axis] % FIRST_CACHE.period or not out.flags.c_contiguous:
        transform(z, axis=axis, norm=norm, out=out)
        return
    wide = COLUMN_LINES * FIRST_CACHE.line // out.itemsize
    shape = (math.prod(out.shape[:axis]), out.shape[axis], -1)
    rows, results = z.reshape(shape), out.reshape(shape)
    columns = np.empty((shape[1], wide), out.dtype)
    for i, first in np.ndindex(len(rows), -(-rows.shape[2] // wide)):
        place = (i, slice(None), slice(first * wide, (first + 1) * wide))
        taken = columns[:, : rows[place].shape[1]]
        np.copyto(taken, rows[place])
        results[place] = transform(taken, axis=0, norm=norm, out=taken)


def _fft_type(z: ArrayType, *, axes: Shape, inverse: bool, norm: str) -> ArrayType:
    _check("fft", z, axes, norm)
    if not z.is_complex:
        raise ShapeError(f"fft needs complex numbers, got {z}", fix="cast to complex128, or use rfft.")
    return z


_FORWARD = MappingProxyType({"axes": (0,), "inverse": False, "norm": "backward"})


_PAIRS = MappingProxyType({"axis": 1, "n": 4, "factor": 2.0})
_ENDS = MappingProxyType({"axis": 3, "n": 2})


def _wide_transform(x: Any) -> Any:
    return fft(cast(x, dtype="complex128"), **_FORWARD)


def _filter(x: Any) -> Any:
    """Return three complex numbers, traced if x is."""
    values = np.array([1.0 + 2.0j, 0.5 - 1.0j, -3.0 + 0.25j])
    return TracedArray(x.node.trace.capture(values)) if isinstance(x, TracedArray) else values


def _hermitian(k: Any) -> Any:
    """Return the first two of three numbers, each with the conjugate of the one at the opposite place, halved."""
    one, rest = (slice_(k, start=(a,), stop=(b,), step=(1,)) for a, b in ((0, 1), (2, 3)))
    opposite = concatenate(one, flip(rest, axes=(0,)), axis=0)
    total = add(slice_(k, start=(0,), stop=(2,), step=(1,)), conj(opposite))
    return mul(total, full(0.5, total))


fft: Primitive = custom(
    "fft",
    numpy=_fft,
    infer=_fft_type,
    jvp=[lambda t, out, z, **params: fft(t, **params)],
    transpose=[lambda ct, z, **params: fft(ct, **params)],
    operands=(0,),
    axes=lambda z, *, axes, inverse, norm: along(z.ndim, axes),
    adapt=moved_axes,
    memory=MemoryUse(out=always),
    work=Work(flops=_cost),
    complex="analytic",
    laws=[
        Law(
            "a Fourier transform that is undone leaves the numbers",
            "finite",
            lambda x, y: (
                fft(fft(complex_of(x, y), axes=(0,), inverse=True, norm="forward"), **_FORWARD),
                mul(complex_of(x, y), full(2.0, complex_of(x, y))),
            ),
            ((2,), (2,)),
            undone(lambda: fft),
            ("fft",),
            complex="finite",
        ),
        Law(
            "the Fourier transform of conjugates is the conjugate of that the other way",
            "real",
            lambda x: (
                fft(conj(_spectrum(x)), axes=(0,), inverse=True, norm="forward"),
                conj(fft(_spectrum(x), **_FORWARD)),
            ),
            ((3,),),
            conjugate_outside(lambda: fft),
            ("conj",),
            complex="real",
        ),
        Law(
            "weights of pairs of frequencies are outside of transforms along other axes",
            "real",
            lambda x, y: (
                fft(weigh_pairs(complex_of(x, y), **_PAIRS), **_FORWARD),
                weigh_pairs(fft(complex_of(x, y), **_FORWARD), **_PAIRS),
            ),
            ((2, 3), (2, 3)),
            weights_outside(lambda: fft),
            ("weigh_pairs",),
            complex="real",
        ),
        Law(
            "Hermitian ends are outside of transforms along other axes",
            "real",
            lambda x, y: (
                fft(hermitian_ends(complex_of(x, y), **_ENDS, axes=(0, 1)), axes=(1, 2), inverse=True, norm="ortho"),
                hermitian_ends(fft(complex_of(x, y), axes=(1, 2), inverse=True, norm="ortho"), **_ENDS, axes=(0, 2)),
            ),
            ((2, 2, 2, 2), (2, 2, 2, 2)),
            ends_outside(lambda: fft),
            ("hermitian_ends",),
            complex="real",
        ),
    ],
    consumed=[
        Law(
            "real numbers are transformed to real numbers by transforms of real numbers",
            "real",
            lambda x, y: (
                real_part(fft(mul(_wide_transform(x), _wide_transform(y)), axes=(0,), inverse=True, norm="backward")),
                irfft(mul(*[rfft(each, axis=0, norm="backward") for each in (x, y)]), axis=0, n=3, norm="backward"),
            ),
            ((3,), (3,)),
            to_real(lambda: fft, lambda: rfft, lambda: irfft, filtered=False),
            ("real_part",),
            complex="real",
        ),
        Law(
            "of a filter between transforms of real numbers to real numbers the Hermitian part counts",
            "real",
            lambda x: (
                real_part(fft(mul(_wide_transform(x), _filter(x)), axes=(0,), inverse=True, norm="backward")),
                irfft(mul(rfft(x, axis=0, norm="backward"), _hermitian(_filter(x))), axis=0, n=3, norm="backward"),
            ),
            ((3,),),
            to_real(lambda: fft, lambda: rfft, lambda: irfft, filtered=True),
            ("real_part",),
            complex="real",
        ),
    ],
    doc="The discrete Fourier transform along axes, Σⱼ zⱼ exp(−2πi jk/n), or its inverse, scaled as `norm` says.",
)


# -- of real numbers ---------------------------------------------------------------------------------------------------


def _rfft(x: Any, *, axis: int, norm: Any, out: Any = None) -> Any:
    return np.fft.rfft(x, axis=axis, norm=norm, out=out)


def _rfft_type(x: ArrayType, *, axis: int, norm: str) -> ArrayType:
    _check("rfft", x, (axis,), norm)
    if x.dtype.kind != "f" or x.dtype.itemsize < 4:
        raise ShapeError(
            f"rfft needs floats of 32 or 64 bits, got {x}", fix="cast to float64; complex numbers have fft."
        )
    shape = tuple([n // 2 + 1 if i == axis else n for i, n in enumerate(x.shape)])
    return ArrayType(shape, complex_dtype(x.dtype))


def _irfft(z: Any, *, axis: int, n: int, norm: Any, out: Any = None) -> Any:
    return np.fft.irfft(z, n, axis=axis, norm=norm, out=out)


def _irfft_type(z: ArrayType, *, axis: int, n: int, norm: str) -> ArrayType:
    _check("irfft", z, (axis,), norm)
    if not z.is_complex or z.shape[axis] != n // 2 + 1:
        raise ShapeError(
            f"irfft needs {n // 2 + 1} complex numbers along axis {axis} for {n} real ones, got {z}",
            fix="give n as rfft's real array had it.",
        )
    shape = tuple([n if i == axis else length for i, length in enumerate(z.shape)])
    return ArrayType(shape, real_dtype(z.dtype))


rfft: Primitive = custom(
    "rfft",
    numpy=_rfft,
    infer=_rfft_type,
    jvp=[lambda t, out, x, **params: rfft(t, **params)],
    transpose=[
        lambda ct, x, *, axis, norm: irfft(
            weigh_pairs(conj(ct), axis=axis, n=x.shape[axis], factor=0.5),
            axis=axis,
            n=x.shape[axis],
            norm=SWAPPED[norm],
        )
    ],
    operands=(0,),
    axes=lambda x, *, axis, norm: along(x.ndim, [axis]),
    adapt=moved_axis,
    memory=MemoryUse(out=always),
    work=Work(flops=_cost),
    complex="real-linear",
    laws=[
        Law(
            "the transform of real numbers that were transformed to leaves the Hermitian part",
            "finite",
            lambda x, y: (
                rfft(irfft(complex_of(x, y), axis=0, n=4, norm="forward"), axis=0, norm="forward"),
                hermitian_ends(complex_of(x, y), axis=0, n=4, axes=()),
            ),
            ((3,), (3,)),
            half_undone(lambda: irfft),
            ("irfft",),
            complex="finite",
        ),
    ],
    doc="The discrete Fourier transform of real numbers along an axis: its frequencies from 0 to n/2.",
)


def _spectrum(x: Any) -> Any:
    return rfft(x, axis=0, norm="backward")


_BACK = MappingProxyType({"axis": 0, "n": 4, "norm": "backward"})
irfft: Primitive = custom(
    "irfft",
    numpy=_irfft,
    infer=_irfft_type,
    jvp=[lambda t, out, z, **params: irfft(t, **params)],
    transpose=[
        lambda ct, z, *, axis, n, norm: weigh_pairs(
            conj(rfft(ct, axis=axis, norm=SWAPPED[norm])), axis=axis, n=n, factor=2.0
        )
    ],
    operands=(0,),
    axes=lambda z, *, axis, n, norm: along(z.ndim, [axis]),
    adapt=moved_axis,
    memory=MemoryUse(out=always),
    work=Work(flops=_cost),
    complex="real-linear",
    laws=[
        Law(
            "real numbers are what their transform is of",
            "finite",
            lambda x: (irfft(rfft(x, axis=0, norm="forward"), axis=0, n=5, norm="forward"), x),
            ((5,),),
            real_undone(lambda: rfft),
            ("rfft",),
            complex="finite",
        ),
        Law(
            "a conjugate of a product is taken of its factors where one of them is a conjugate",
            "real",
            lambda x, y: (
                irfft(conj(mul(conj(_spectrum(x)), _spectrum(y))), **_BACK),
                irfft(mul(_spectrum(x), conj(_spectrum(y))), **_BACK),
            ),
            ((4,), (4,)),
            turned_factors(lambda: fft, lambda: irfft),
            ("conj",),
            complex="real",
        ),
        Law(
            "of ends that are read the real part counts",
            "real",
            lambda x, y: (
                irfft(hermitian_ends(complex_of(x, y), axis=0, n=4, axes=()), **_BACK),
                irfft(complex_of(x, y), **_BACK),
            ),
            ((3,), (3,)),
            ends_as_read(lambda: irfft),
            ("hermitian_ends",),
            complex="real",
        ),
    ],
    doc="The n real numbers whose discrete Fourier transform has the given frequencies from 0 to n/2.",
)
