"""What looks like the operands of a law and is not: rewritten programs compute what NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.ops.linalg.factorization import INVERTED, _is_large_identity

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 6, 8))
Z, W = X + 1j * Y, (Y - 2j * X).astype(np.complex64)
WHOLE = np.arange(1, 7)


def even(x: Any) -> Any:
    return x + np.roll(x[..., ::-1], 1, axis=-1)


def odd(x: Any) -> Any:
    return x - np.roll(x[..., ::-1], 1, axis=-1)


CASES = {
    "all bits": (lambda i: i | ~i, WHOLE),
    "all of truth values": (lambda x: (x > 0) | ~(x > 0), X),
    "a part that is no zero": (lambda x: ops.complex_of(x * 0.0 + 2.0, x) + x.astype(complex), X),
    "a part that is a number": (lambda x: ops.complex_of(np.ones_like(x), x) + x.astype(complex), X),
    "a narrower complex number": (lambda w: ops.complex_of(w.real * 0.0, w.imag) + w, W),
    "widened complex numbers": (lambda w: 1j * w.real.astype(float) + w.astype(complex), W),
    "back along another axis": (lambda x: np.fft.irfft(np.fft.rfft(x, axis=0), n=2, axis=1), X[:, :2]),
    "back along some axes": (lambda z: np.fft.ifftn(np.fft.fftn(z, axes=(0, 1)), axes=(1,)), Z),
    "twice the same way": (lambda z: np.fft.fft(np.fft.fft(z)), Z),
    "real numbers, as complex ones": (lambda x: np.fft.ifft(even(x).astype(complex)).real, X),
    "odd numbers": (lambda x: np.fft.ifft(odd(x).astype(complex)).real, X),
    "narrow complex numbers, as wide ones": (lambda w: np.fft.ifft(w.astype(complex)).real, W),
    "of even and even parts": (lambda x: np.fft.ifft(ops.complex_of(even(x), even(x * x))).real, X),
    "of even and odd parts": (lambda x: np.fft.ifft(ops.complex_of(even(x), odd(x))).real, X),
    "of odd and even parts": (lambda x: np.fft.ifft(ops.complex_of(odd(x), even(x))).real, X),
    "of some parts": (lambda x: np.fft.ifft(ops.complex_of(x, odd(x))).real, X),
    "of parts that are the same": (lambda x: np.fft.ifft(ops.complex_of(x[:, :1] + 0 * x, odd(x))).real, X),
    "of another axis": (lambda x: np.fft.ifft(np.fft.fft(x.astype(complex), axis=0), axis=1).real, X),
    "of narrow ones": (lambda w: np.fft.ifft(np.fft.fft(w.astype(complex)) * 2.0).real, W),
    "of a product with its transform": (lambda x: np.fft.ifft(np.fft.fft(x + 0j) * np.fft.fft(x + 0j, axis=0)).real, X),
    "of a sum of even and odd": (lambda x: np.fft.ifft((even(x) + odd(x)).astype(complex)).real, X),
    "of a product of odd ones": (lambda x: np.fft.ifft((odd(x) * odd(x)).astype(complex)).real, X),
    "of a maximum": (lambda x: np.fft.ifft(np.maximum(odd(x), even(x)).astype(complex)).real, X),
    "a power of no factors": (lambda x: np.abs(x) ** 0.0, X),
    "a complex power": (lambda x: (np.abs(x) + 1.0) ** (2 + 0j), X),
    "masked rows": (lambda x: np.where(x > 0, np.cumsum(x, axis=0), 0.0)[::-1], X),
    "masked columns side by side": (lambda x: np.concatenate([np.where(x > 0, x, 0.0), np.where(x > 1, x, 0.0)]), X),
    "spectra of nothing": (lambda z: np.linalg.eigh(z[:0, :0])[1], Z),
    "singular values of nothing": (lambda z: np.linalg.svd(z[:0], full_matrices=False)[2], Z),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    function, x = CASES[name]
    wanted = function(x)
    for run in (primad.jit(function), primad.simplify(primad.trace(function)(x))):
        found = run(x)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [name for name, (_, x) in CASES.items() if x.dtype.kind in "fc"])
def test_tangents(name: str) -> None:
    """Those of recorded and of rewritten programs, which laws may leave in other ways."""
    function, x = CASES[name]
    change = np.cos(np.arange(x.size)).reshape(x.shape).astype(x.dtype)
    plain = primad.jvp(function, (x,), (change,))[1]
    jitted = primad.jit(lambda x, t: primad.jvp(function, (x,), (t,))[1])(x, change)
    np.testing.assert_allclose(jitted, plain, rtol=1e-5, atol=1e-5)


def test_a_whole_number_has_no_power_below_0() -> None:
    for base in (WHOLE, X):
        program = primad.simplify(primad.trace(lambda x: ops.power(x, x * 0 - 1))(base))
        names = {node.op.name for node in program.nodes}
        assert base.dtype.kind == "f" or "div" not in names


def test_an_identity_is_square() -> None:
    n = INVERTED
    assert _is_large_identity(np.eye(n))
    for other in (
        np.eye(n, n + 3),
        np.eye(n - 1),
        2 * np.eye(n),
        np.eye(n) + np.eye(n, k=1),
        np.eye(n) + np.eye(n, k=-1),
    ):
        assert not _is_large_identity(other)


def test_the_largest_elements_of_no_windows() -> None:
    window = {"axes": (1,), "count": (3,), "size": (2,), "step": (1,), "dilation": (1,), "low": (0,)}
    assert ops.window_argmax(np.ones((0, 4)), **window).shape == (0, 3)
