"""What looks like the operands of a law and is not: rewritten programs compute what NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primad
from primad import ops
from primad.ops.arrays.frequency_pairs import weigh_pairs
from primad.ops.linalg.factorization import INVERTED, _is_large_identity
from primad.ops.record.primitive import full

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 6, 8))
Z, W = X + 1j * Y, (Y - 2j * X).astype(np.complex64)
WHOLE = np.arange(1, 7)


def even(x: Any) -> Any:
    """What is even by what it is made of: a part of a transform of real numbers."""
    return np.fft.fft(x).real


def odd(x: Any) -> Any:
    return np.fft.fft(x).imag


def weighed(z: Any, axis: int = 0, n: int = 10, factor: float = 2.0) -> Any:
    """Weigh the pairs of frequencies of 6 by 8 complex numbers, as if they were halves."""
    return weigh_pairs(z, axis=axis, n=n, factor=factor)


def filled(value: float, x: Any) -> Any:
    """Return the literal of a number: an array of it where nothing is recorded."""
    return full(value, x) if isinstance(x, primad.TracedArray) else np.full_like(x, value)


CASES = {
    "all bits": (lambda i: i | ~i, WHOLE),
    "all of truth values": (lambda x: (x > 0) | ~(x > 0), X),
    "a part that is no zero": (lambda x: ops.complex_of(x * 0.0 + 2.0, x) + x.astype(complex), X),
    "a part that is a number": (lambda x: ops.complex_of(np.ones_like(x), x) + x.astype(complex), X),
    "a part that is a literal": (lambda x: ops.complex_of(filled(1.0, x), x) + x.astype(complex), X),
    "another sum": (lambda x: ops.complex_of(filled(0.0, x), x) + ops.complex_of(x, x), X),
    "a sum with wide ones": (
        lambda w: ops.complex_of(filled(0.0, w.imag.astype(float)), w.imag.astype(float)) + w.astype(complex), W),
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
    "narrow complex numbers, side by side": (
        lambda w: np.fft.ifft(ops.broadcast(w[:, 0].astype(complex), shape=(6, 8), axes=(1,))).real, W),
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
    "weights along two axes": (lambda z: weighed(weighed(z[:, :6]), axis=1), Z),
    "weights of odd and even lengths": (lambda z: weighed(weighed(z), n=11), Z),
    "weights on the left": (lambda z: weighed(z) + z, Z),
    "weights on the right": (lambda z: z - weighed(z), Z),
    "a sum of weights along two axes": (lambda z: weighed(z[:, :6]) + weighed(z[:, :6], axis=1), Z),
    "a difference of weights of two lengths": (lambda z: weighed(z) - weighed(z * z, n=11), Z),
    "a sum of other weights": (lambda z: weighed(z) + weighed(z * z, factor=0.5), Z),
    "spectra of nothing": (lambda z: np.linalg.eigh(z[:0, :0])[1], Z),
    "singular values of nothing": (lambda z: np.linalg.svd(z[:0], full_matrices=False)[2], Z),
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    function, x = CASES[name]
    wanted = function(x)
    for run in (primad.jit(function), primad.simplify(primad.trace(function)(x))):
        found = run(x)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.one_in(6)
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
        program = primad.simplify(primad.trace(lambda x: ops.power(x, full(-1, x)))(base))
        names = {node.op.name for node in program.nodes}
        assert ("div" in names) == (base.dtype.kind == "f")


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
