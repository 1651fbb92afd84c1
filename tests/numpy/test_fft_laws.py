"""Which transforms a program takes, after the laws: those of real numbers where numbers are real, and none in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.ops.arrays.fourier import COLUMN_LINES
from primad.system.machine import FIRST_CACHE

fft, ifft = np.fft.fft, np.fft.ifft
RNG = np.random.default_rng(0)


def wiener(x: Any, k: Any) -> Any:
    """Deconvolve with a regularised inverse."""
    h = fft(k)
    return ifft(fft(x) * np.conj(h) / (np.abs(h) ** 2 + 0.5)).real


FILTER = RNG.normal(size=20) + 1j * RNG.normal(size=20)
THREE = {"rfft": 3, "irfft": 3}
PROGRAMS: list[tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...], dict[str, int]]] = [
    (lambda x, k: np.real(ifft(fft(x) * fft(k))), (7,), (7,), THREE),
    (lambda x, k: np.real(np.fft.ifft2(np.fft.fft2(x) * np.fft.fft2(k))), (6, 5), (6, 5), THREE | {"fft": 6}),
    (lambda x, k: np.fft.ifftn(np.fft.fftn(x, axes=(2, 0)) * np.fft.fftn(k, axes=(0, 2)), axes=(0, 2)).real,
     (4, 3, 6), (4, 3, 6), THREE | {"fft": 6}),
    (lambda x, k: np.real(fft(fft(x) * np.conj(ifft(k, norm="ortho")))), (6,), (6,), THREE),
    (wiener, (8,), (8,), THREE),
    (lambda x, k: ifft(np.exp(-0.3 * fft(x)) * fft(k)).real, (5,), (5,), THREE),
    (lambda x, k: ifft(fft(x, 12) * fft(k, 12))[:9].real, (5,), (8,), THREE),
    (lambda x, k: ifft(fft(x, axis=0) * fft(k, axis=0) * x[0, 0], axis=0).real, (5, 3), (5, 3), THREE),
    (lambda x, k: np.abs(fft(x * k)) ** 2, (6,), (6,), {"rfft": 1, "irfft": 1}),
    (lambda x, k: np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(k), 6), (6,), (6,), THREE),
    (lambda x, k: np.fft.irfftn(np.conj(np.fft.rfftn(x)) * np.fft.rfftn(k), (4, 5), (0, 1)), (4, 5), (4, 5),
     THREE | {"fft": 6}),
    (lambda x, k: np.abs(ifft(fft(x + 1j * k, norm="ortho")) - 1), (5,), (5,), {}),
    (lambda x, k: np.abs(ifft(np.fft.fft2(x + 1j * k), axis=0) - 1), (5, 4), (5, 4), {"fft": 2}),
    (lambda x, k: np.fft.irfft(np.fft.rfft(x, norm="forward"), 5) * k, (5,), (5,), {}),
    (lambda x, k: ifft(fft(x) * FILTER[:6]).real * k, (6,), (6,), {"rfft": 2, "irfft": 2}),
    (lambda x, k: np.real(fft(fft(x) * np.conj(FILTER[:7] * fft(k)))), (7,), (7,), THREE),
    (lambda x, k: np.fft.ifft2(np.fft.fft2(x) * FILTER[:20].reshape(4, 5) - np.fft.fft2(k)).real, (4, 5), (4, 5),
     {"rfft": 2, "irfft": 3, "fft": 5}),
    (lambda x, k: ifft(FILTER[:6] * x + 0 * k).real, (6,), (6,), {"fft": 2}),  # nothing is Hermitian
    (lambda x, k: np.imag(ifft(fft(x) * 1j * fft(k))), (6,), (6,), {"fft": 6}),  # no symmetry is seen in it
    (lambda x, k: np.real(ifft(np.sqrt(fft(x)) * fft(k))), (6,), (6,), {"fft": 6}),  # √ of a negative number is none
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", range(len(PROGRAMS)))
def test_transforms_that_a_gradient_takes(case: int) -> None:
    """Values are NumPy's, slopes those of differences, and no more transforms are taken than are needed."""
    f, *shapes, counts = PROGRAMS[case]
    x, k, dx, dk = (RNG.normal(size=shape) for shape in (*shapes, *shapes))

    def loss(x: Any, k: Any) -> Any:
        return np.sum(f(x, k) ** 3)

    assert np.allclose(primad.jit(f)(x, k), f(x, k), rtol=1e-10, atol=1e-12)
    gradient = primad.grad(loss, (0, 1))
    by_x, by_k = gradient(x, k)
    step = 1e-5
    slope = (loss(x + step * dx, k + step * dk) - loss(x - step * dx, k - step * dk)) / (2 * step)
    assert np.isclose(np.sum(by_x * dx) + np.sum(by_k * dk), slope, rtol=1e-5)
    recorded = primad.trace(lambda x, k: gradient(x, k))
    program = primad.simplify(recorded(*[primad.ArrayType(z.shape, z.dtype) for z in (x, k)]))
    transforms = (ops.fft, ops.rfft, ops.irfft)
    assert Counter(node.op.name for node in program.nodes if node.op in transforms) == counts


@pytest.mark.parametrize("length", [3, 600])
def test_a_half_is_found_however_long_the_way(length: int) -> None:
    """Values that are used twice at each of many steps are asked about once, and no stack of calls holds the way."""

    def repeated(x: Any) -> Any:
        z = fft(x)
        weight = z.real**2 + z.imag**2
        total = x
        for step in range(length):
            weight = weight * weight + 0.5 * weight
            z = z * weight + np.conj(z)
            if step % 100 == 2:
                total = total + ifft(z).real
        return total

    program = primad.trace(repeated)(primad.ArrayType((6,), np.dtype("float64")))
    transforms = Counter(node.op.name for node in program.nodes if node.op in (ops.fft, ops.rfft, ops.irfft))
    assert transforms == {"rfft": 1, "irfft": max(1, length // 100)}


def test_second_derivatives_through_halves() -> None:
    def loss(x: Any) -> Any:
        return np.sum(wiener(x, np.array([1.0, 0.5, -0.25, 0.0, 0.0, 0.1])) ** 3 + wiener(x, x**2) ** 2)

    x, v = RNG.normal(size=(2, 6))
    step = 1e-5
    differences = (primad.grad(loss)(x + step * v) - primad.grad(loss)(x - step * v)) / (2 * step)
    assert np.allclose(primad.hvp(loss, x, v), differences, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_columns_that_share_a_place_in_the_cache(dtype: str) -> None:
    """Other axes are transformed some columns at a time: the last ones too, on stacks, and in place."""
    item = np.dtype(dtype).itemsize
    columns = 3 * FIRST_CACHE.period // item
    assert COLUMN_LINES * FIRST_CACHE.line // item < columns
    z = (RNG.normal(size=(2, 6, columns)) + 1j * RNG.normal(size=(2, 6, columns))).astype(dtype)
    out = z.copy()
    for axes in ((1,), (0, 1)):
        expected = np.fft.fftn(z, axes=axes, norm="ortho")
        assert np.array_equal(ops.fft.numpy(z, axes=axes, inverse=False, norm="ortho"), expected)
    assert ops.fft.numpy(out, axes=(1,), inverse=True, norm="forward", out=out) is out
    assert np.array_equal(out, np.fft.ifft(z, axis=1, norm="forward"))
    gaps = np.empty((2, 6, 2 * columns), dtype)[..., ::2]
    ops.fft.numpy(z, axes=(1,), inverse=False, norm="backward", out=gaps)
    assert np.array_equal(gaps, np.fft.fft(z, axis=1))
