"""primad.scipy.fft: values, shapes and dtypes are SciPy's, and transposes are those of linear maps."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.fft

import primad
import primad.scipy.fft as mirror
from primad import PrimadError

RNG = np.random.default_rng(18)
FOURIER = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
TRIGONOMETRIC = ("dct", "idct", "dst", "idst")
SHAPE = (3, 4)


def drawn(dtype: str) -> Any:
    x = RNG.uniform(-5, 5, SHAPE)
    return (x + 1j * RNG.uniform(-5, 5, SHAPE) if dtype.startswith("c") else x).astype(dtype)


def compare(name: str, x: Any, *args: Any, **options: Any) -> None:
    """Both give the same, or both refuse."""
    try:
        expected = getattr(scipy.fft, name)(x, *args, **options)
    except (TypeError, ValueError, IndexError, RuntimeError):
        with pytest.raises((PrimadError, TypeError)):
            primad.trace(lambda x: getattr(mirror, name)(x, *args, **options))(x)
        return
    found = primad.trace(lambda x: getattr(mirror, name)(x, *args, **options))(x)(x)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = 1e-13 if expected.dtype in (np.float64, np.complex128) else 2e-3 if x.dtype == np.float16 else 1e-5
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.max(np.abs(expected)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64", "int16", "float16"])
@pytest.mark.parametrize("name", FOURIER)
def test_along_one_axis(name: str, dtype: str) -> None:
    for options in ({}, {"n": 3}, {"n": 7, "axis": 0, "norm": "ortho"}, {"axis": 0, "norm": "forward"}):
        compare(name, drawn(dtype), **options)
    with pytest.raises((PrimadError, TypeError)):  # where SciPy has a number for some of them
        primad.trace(lambda x: getattr(mirror, name)(x, 0))(drawn(dtype))


@pytest.mark.parametrize("name", [f"{name}{many}" for name in FOURIER for many in "2n"])
def test_along_several_axes(name: str) -> None:
    options: Any = (
        {}, {"axes": (0,)}, {"axes": (1, 0)}, {"s": (4, 3)}, {"s": (5, 2), "axes": (1, 0), "norm": "ortho"},
        {"axes": (0, 0)}, {"axes": (1,), "norm": "forward"}, {"norm": "odd"}, {"s": (2,), "axes": (0, 1)},
    )  # fmt: skip
    for each in options:
        compare(name, drawn("float64" if name[0] in "ri" and "h" not in name[:2] else "complex128"), **each)


@pytest.mark.parametrize("name", TRIGONOMETRIC)
def test_cosines_and_sines(name: str) -> None:
    norms: Any = (
        {}, {"norm": "ortho"}, {"norm": "forward"}, {"norm": "ortho", "orthogonalize": False}, {"orthogonalize": True},
    )  # fmt: skip
    for type in (1, 2, 3, 4, 5):
        for options in norms:
            compare(name, drawn("float64"), type, n=5, axis=0, **options)
            compare(f"{name}n", drawn("float64"), type, **options)
        for dtype in ("float32", "int16", "float16", "complex64", "complex128"):
            compare(name, drawn(dtype), type)
        compare(f"{name}n", drawn("complex128"), type, s=(5, 2), axes=(1, 0), norm="ortho")
    for wrong in ({"axes": (0, 0)}, {"s": (0, 2)}, {"s": (2,), "axes": (0, 1)}, {"norm": "odd"}):
        compare(f"{name}n", drawn("float64"), 2, **wrong)
    with pytest.raises(PrimadError, match=r"transform x.real and x.imag"):
        primad.trace(lambda z: getattr(mirror, name)(z, orthogonalize=True))(drawn("complex128"))


@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_hankel(name: str) -> None:
    for n, bias in ((8, 0.0), (7, 0.3)):
        x = RNG.standard_normal((2, n))
        found = primad.jit(lambda x, b=bias: getattr(mirror, name)(x, 0.5, 0.3, offset=0.2, bias=b))(x)
        np.testing.assert_allclose(found, getattr(scipy.fft, name)(x, 0.5, 0.3, offset=0.2, bias=bias), rtol=1e-11)
    with pytest.raises(PrimadError, match="plain numbers"):
        primad.trace(lambda a: getattr(mirror, name)(a, a[0], 0.0))(np.ones(4))


def test_transforms_are_their_own_matrices() -> None:
    """Jacobians are SciPy's transforms of unit vectors, forward and reverse, and a batch is mapped."""
    unit = np.eye(5)
    for name in (*TRIGONOMETRIC, "fftshift", "ifftshift"):
        for options in ({},) if "shift" in name else ({"type": 1}, {"type": 2}, {"type": 3}, {"type": 4}):
            function = partial(getattr(mirror, name), **options)
            expected = np.stack([getattr(scipy.fft, name)(row, **options) for row in unit], 1)
            for jacobian in (primad.jacfwd, primad.jacrev):
                np.testing.assert_allclose(jacobian(function)(RNG.standard_normal(5))[:], expected, atol=1e-13)
            np.testing.assert_allclose(primad.jit(primad.vmap(function))(unit), expected.T, atol=1e-13)
    for name in ("fht", "ifht"):
        expected = np.stack([getattr(scipy.fft, name)(row, 0.5, 0.3) for row in unit], 1)
        found = primad.jacrev(partial(getattr(mirror, name), dln=0.5, mu=0.3))(RNG.standard_normal(5))[:]
        np.testing.assert_allclose(found, expected, atol=1e-13)


def test_scipys_own_names_and_signatures() -> None:
    assert set(mirror.__all__) | {"set_backend", "skip_backend", "set_global_backend", "register_backend"} == set(
        scipy.fft.__all__
    )
    for name in mirror.__all__:
        ours, theirs = getattr(mirror, name), getattr(scipy.fft, name)
        assert ours is theirs or list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    x = RNG.standard_normal(6)
    np.testing.assert_array_equal(mirror.dct(x, workers=2), scipy.fft.dct(x))  # of plain arrays they are SciPy's
    with pytest.raises(PrimadError, match=r"primad\.scipy\.fft\.dct"):
        primad.grad(lambda x: scipy.fft.dct(x)[0])(x)
    with pytest.raises(AttributeError, match=r"primad\.scipy\.fft"):
        getattr(mirror, "set_backend")  # noqa: B009
    with scipy.fft.set_backend(mirror):
        found = primad.grad(lambda x: np.sum(scipy.fft.dct(x, norm="ortho") ** 2) + scipy.fft.fft(x)[0].real)(x)
        assert isinstance(scipy.fft.dst(x), np.ndarray)
    np.testing.assert_allclose(found, 2 * x + 1)
