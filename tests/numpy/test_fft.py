"""numpy.fft on traced arrays: values, shapes and dtypes are NumPy's, for all lengths, axes and scales."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad import PrimadError

RNG = np.random.default_rng(8)
SHAPES = ((5,), (6,), (1,), (3, 4))
DTYPES = ("float64", "float32", "complex128", "complex64", "int16", "float16")
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")
OPTIONS = (
    {}, {"axes": (0,)}, {"axes": (1, 0)}, {"s": (4, 3), "axes": (0, 1)}, {"s": (-1, 3), "axes": (0, 1)},
    {"axes": (0, 0)}, {"axes": (0, 1), "norm": "ortho"}, {"axes": (0, 0), "s": (-1, 4)},
    {"axes": (1, 0, 1), "s": (-1, 2, 3)}, {"axes": ()}, {"axes": (1, 0), "s": (6, -1)},
)  # fmt: skip


def drawn(shape: tuple[int, ...], dtype: str) -> Any:
    x = RNG.uniform(-5, 5, shape)
    return (x + 1j * RNG.uniform(-5, 5, shape) if dtype.startswith("c") else x).astype(dtype)


def compare(function: Any, x: Any) -> None:
    """Both give the same, or both refuse."""
    try:
        expected = function(x)
    except (TypeError, ValueError, IndexError):
        with pytest.raises((PrimadError, TypeError)):
            primad.trace(function)(x)
        return
    found = primad.trace(function)(x)(x)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = 1e-12 if expected.dtype in (np.float64, np.complex128) else 2e-3 if x.dtype == np.float16 else 1e-5
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.max(np.abs(expected), initial=1.0))


@pytest.mark.one_in(12)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ONE)
def test_along_one_axis(name: str, dtype: str) -> None:
    transform = getattr(np.fft, name)
    for shape in SHAPES:
        x = drawn(shape, dtype)
        for n in (None, 3, 8):
            for norm in (None, "ortho", "forward"):
                compare(lambda x, n=n, norm=norm: transform(x, n, x.ndim - 2, norm), x)


@pytest.mark.parametrize("name", SEVERAL)
def test_along_several_axes(name: str) -> None:
    transform = getattr(np.fft, name)
    for dtype in ("float64", "complex128"):
        for options in OPTIONS:
            compare(lambda x, options=options: transform(x, **options), drawn((3, 4), dtype))


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name: str) -> None:
    for axes in (None, 0, (1,), (0, 1)):
        compare(lambda x, axes=axes: getattr(np.fft, name)(x, axes), drawn((3, 4), "complex128"))


def test_names_and_plain_arrays() -> None:
    assert set(pnp.fft.__all__) == set(np.fft.__all__)
    np.testing.assert_array_equal(pnp.fft.fftfreq(5), np.fft.fftfreq(5))
    np.testing.assert_array_equal(pnp.fft.rfft(np.arange(5.0)), np.fft.rfft(np.arange(5.0)))
    for wrong in (lambda x: np.fft.fft(x, 0), lambda x: np.fft.fft(x, norm="none"), lambda x: np.fft.fftn(x, (2, 2))):
        with pytest.raises(PrimadError):
            primad.jit(wrong)(np.ones(3))


@pytest.mark.parametrize("n", [7, 8])
def test_transforms_by_matrices(n: int) -> None:
    """Jacobians are the matrices of the sums; a gradient of a spectrum's power is Parseval's; vmap and hvp agree."""
    x = drawn((n,), "float64")
    k = np.arange(n)
    matrix = np.exp(-2j * np.pi * np.outer(k, k) / n)
    np.testing.assert_allclose(np.asarray(primad.jacobian(np.fft.fft)(x)), matrix, atol=1e-12)
    np.testing.assert_allclose(np.asarray(primad.jacobian(np.fft.rfft)(x)), matrix[: n // 2 + 1], atol=1e-12)
    z = np.fft.rfft(x)
    back = np.asarray(primad.jacobian(lambda z: np.fft.irfft(z, n))(z))  # ∂f/∂x − i ∂f/∂y
    step = np.array([[np.fft.irfft(np.eye(z.size)[j] * t, n) for j in range(z.size)] for t in (1, 1j)])
    np.testing.assert_allclose(back, (step[0] - 1j * step[1]).T, atol=1e-12)

    def power(x: Any) -> Any:
        return np.sum(np.abs(np.fft.fft(x)) ** 2)

    np.testing.assert_allclose(primad.grad(power)(x), 2 * n * x, rtol=1e-12)
    np.testing.assert_allclose(primad.hvp(power, x, x), 2 * n * x, rtol=1e-12)
    rows = drawn((3, n), "float64")
    np.testing.assert_allclose(primad.vmap(np.fft.rfft)(rows), np.fft.rfft(rows), atol=1e-12)


@pytest.mark.parametrize("s", [(-1, -1), (2, -1), (-1, 3)])
def test_lengths_of_minus_1_are_the_inputs(s: tuple[int, int]) -> None:
    """NumPy takes the input's length for −1 even where a transform has another length by default."""
    for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
        x = drawn((3, 4, 5), "float64" if name.startswith("r") else "complex128")
        transform = getattr(np.fft, name)
        compare(lambda x, transform=transform: transform(x, s, axes=(0, 2)), x)
