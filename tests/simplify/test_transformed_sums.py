"""Transforms of sums in which a term was transformed back take that term as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.simplify.transformed_sums import MOST_TERMS
from primad.transforms.lowering import lower

RNG = np.random.default_rng(0)
TRANSFORMS = (ops.fft, ops.rfft, ops.irfft)


def counted(program: primad.Program) -> int:
    """Return along how many axes a program transforms."""
    return sum(len(dict(x.params).get("axes", (0,))) for x in program.nodes if x.op in TRANSFORMS)


def squares(z: Any) -> Any:
    return np.sum(np.real(z * np.conj(z)))


def blurred(x: Any, k: Any, norm: str | None = None) -> Any:
    """Filter by any numbers, so that nothing is Hermitian by what it is made of."""
    axes = tuple(range(x.ndim))
    half = np.fft.rfftn(x, axes=axes, norm=norm)
    return np.fft.irfftn(half * (np.resize(k, half.shape) + 1j), x.shape, axes, norm=norm)


def between(x: Any, k: Any) -> Any:
    """A misfit with weights of rows, in a sum of sums, that is transformed again."""
    model = np.fft.irfft(np.fft.rfft(x, axis=1) * k[0, 0], 5, axis=1)
    return np.fft.rfft((k - (model - x) / 3.0) * k[:, :1], axis=1)


GRADIENTS: dict[str, tuple[Callable[..., Any], tuple[int, ...], int, int]] = {
    "one axis": (lambda x, k: squares(blurred(x, k) - k), (6,), 4, 3),
    "an odd length": (lambda x, k: squares(blurred(x, k) - k), (7,), 4, 3),
    "a length of one": (lambda x, k: squares(blurred(x, k) - k), (1,), 4, 3),
    "a length of two": (lambda x, k: squares(blurred(x, k) - k), (3, 2), 8, 6),
    "two axes": (lambda x, k: squares(k - blurred(x, k)), (4, 6), 8, 6),
    "two odd lengths": (lambda x, k: squares(blurred(x, k) + k), (5, 3), 8, 6),
    "three axes": (lambda x, k: squares(blurred(x, k) - k), (3, 2, 4), 12, 9),
    "a symmetric scale": (lambda x, k: squares(blurred(x, k, "ortho") - k), (4, 5), 8, 6),
    "the scale forwards": (lambda x, k: squares(blurred(x, k, "forward") - k), (4, 5), 8, 6),
    "a constant filter and data": (lambda x, k: squares(blurred(x, np.arange(1.0, 5)) - 2.0), (4, 4), 8, 6),
    "weights": (lambda x, k: k[0, 0] * squares((blurred(x, k) - k - 1.0) / 0.5), (4, 4), 8, 6),
    "nothing but the model": (lambda x, k: squares(3.0 * blurred(x, k)), (4, 4), 8, 4),
    "weights that differ": (lambda x, k: squares((blurred(x, k) - k) * k), (6,), 4, 4),
    "a misfit that is not square": (lambda x, k: np.sum((blurred(x, k) - k) ** 4), (6,), 4, 4),
}


def derived(loss: Callable[..., Any], shape: tuple[int, ...]) -> primad.Program:
    gradient = primad.grad(loss)
    types = [primad.ArrayType(shape, np.dtype("float64"))] * 2
    return primad.trace(lambda x, k: gradient(x, k))(*types)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_misfits_take_so_many_transforms(name: str) -> None:
    loss, shape, before, after = GRADIENTS[name]
    program = derived(loss, shape)
    assert (counted(lower(program)), counted(primad.simplify(program))) == (before, after)
    x, k, v = RNG.normal(size=(3, *shape))
    step = 1e-5
    slope = (loss(x + step * v, k) - loss(x - step * v, k)) / (2 * step)
    for backend in ("reference", "native"):
        found = primad.jit(program, backend=backend)(x, k)
        assert np.isclose(np.sum(found * v), slope, rtol=1e-6, atol=1e-7)


SUMS: dict[str, tuple[Callable[..., Any], int]] = {
    "real numbers": (lambda z, x, w: np.fft.rfft(np.fft.irfft(z, 6) - x), 1),
    "of planes": (lambda z, x, w: np.fft.rfft2(w[:, :1, None] * np.fft.irfft2(z, (4, 6)) - x), 2),
    "of planes, one axis": (lambda z, x, w: np.fft.rfft(x - np.fft.irfft2(z, (4, 6)) / 2.0), 2),
    "all frequencies": (lambda z, x, w: np.fft.fft((1j * np.fft.ifft(z, norm="ortho") - z) * w[0, 0] - z.real), 1),
    "all frequencies of planes": (lambda z, x, w: np.fft.ifft2(z - np.fft.fft2(z.real + 0j)), 2),
    "of some axes": (lambda z, x, w: np.fft.fft(np.fft.ifftn(z) - z, axis=1), 3),
    "to real numbers": (lambda z, x, w: np.fft.irfft(z * 2.0 - w[0, 0] * np.fft.rfft(x), 6), 1),
    "to real planes": (lambda z, x, w: np.fft.irfft2((z - np.fft.rfft2(x)) * 0.5, (4, 6)), 2),
    "two that are undone": (lambda z, x, w: np.fft.rfft(np.fft.irfft(z, 6) - np.fft.irfft(z * z, 6)), 0),
    "minus what is undone": (lambda z, x, w: np.fft.rfft(-np.fft.irfft(z, 6) - (x - 1.0)), 1),
    "a complex factor": (lambda z, x, w: np.fft.irfft(z - 1j * np.fft.rfft(x), 6), 2),
    "a complex factor of stacks": (lambda z, x, w: np.fft.irfft(z - (1j * w[:, :1, None]) * np.fft.rfft(x), 6), 2),
    "another number of them": (lambda z, x, w: np.fft.irfft(z - np.fft.rfft(x), 7), 2),
}


@pytest.mark.parametrize("name", SUMS)
def test_transforms_of_sums(name: str) -> None:
    function, count = SUMS[name]
    z, x, w = (
        RNG.normal(size=(2, 4, 4)) + 1j * RNG.normal(size=(2, 4, 4)),
        RNG.normal(size=(2, 4, 6)),
        RNG.normal(size=(2, 2)),
    )
    assert counted(primad.simplify(primad.trace(function)(z, x, w))) == count
    for backend in ("reference", "native"):
        found = primad.jit(function, backend=backend)(z, x, w)
        np.testing.assert_allclose(found, function(z, x, w), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_of_transforms_of_sums(dtype: str) -> None:
    x, k = RNG.normal(size=(2, 3, 5)).astype(dtype)
    program = primad.trace(between)(x, k)
    assert counted(primad.simplify(program)) == counted(program) - 1
    found = primad.jit(between)(x, k)
    assert found.dtype == between(x, k).dtype
    np.testing.assert_allclose(found, between(x, k), rtol=100 * np.finfo(dtype).eps, atol=10 * np.finfo(dtype).eps)


KEPT: dict[str, Callable[..., Any]] = {
    "the term is used": lambda x, y: [(a := np.fft.irfft(x, 6)), np.fft.rfft(a + y)],
    "the sum is used": lambda x, y: [(a := np.fft.irfft(x, 6) + y), np.fft.rfft(a)],
    "a sum in between is used": lambda x, y: [(a := np.fft.irfft(x, 6) + y), np.fft.rfft(a + y * y)],
    "a factor that differs": lambda x, y: np.fft.rfft(np.fft.irfft(x, 6) * y + y),
    "another length": lambda x, y: np.fft.rfft(np.fft.irfft(x, 6)[:5] + y[:5]),
    "the same way": lambda x, y: np.fft.fft(np.fft.fft(x) + y[:4]),
    "a divisor": lambda x, y: np.fft.rfft(2.0 / np.fft.irfft(x, 6) + y),
}


@pytest.mark.parametrize("name", KEPT)
def test_transforms_that_are_needed_stay(name: str) -> None:
    x, y = RNG.normal(size=4) + 1j * RNG.normal(size=4), RNG.normal(size=6)
    program = primad.trace(KEPT[name])(x, y)
    assert counted(primad.simplify(program)) == counted(program)
    for found, expected in zip(primad.jit(KEPT[name])(x, y), KEPT[name](x, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_long_sums_end_the_search() -> None:
    def function(x: Any, y: Any) -> Any:
        total = np.fft.irfft(x, 6)
        for i in range(4 * MOST_TERMS):
            total = (total + y[i]) * 1.5
        return np.fft.rfft(total)

    x, y = RNG.normal(size=4) + 0j, RNG.normal(size=(4 * MOST_TERMS, 6))
    assert np.allclose(primad.jit(function)(x, y), function(x, y), rtol=1e-12)


def test_a_nan_stays_in_its_place() -> None:
    """The law is for finite values: what NumPy spreads to all frequencies stays in one."""
    x, y = np.ones(4, complex), np.ones(6)
    x[1] = np.nan
    found = primad.jit(lambda x, y: np.fft.rfft(np.fft.irfft(x, 6) + y))(x, y)
    assert list(np.isnan(found)) == [False, True, False, False]
