"""Derivatives of complex functions beside JAX's: tangents along complex directions, and pullbacks of cotangents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import primad
from tests.sweeps import thinned

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'primad[jax]'")

RNG = np.random.default_rng(7)
Z, U = (RNG.uniform(0.3, 1.2, (4, 4)) * np.exp(1j * RNG.uniform(-2.5, 2.5, (4, 4))) for _ in range(2))
POSITIVE = Z @ Z.conj().T + 4 * np.eye(4)

OPS: dict[str, Callable[..., Any]] = {
    **{
        name: lambda n, z, u, name=name: getattr(n, name)(z)
        for name in (
            "exp",
            "log",
            "log1p",
            "expm1",
            "log2",
            "log10",
            "exp2",
            "sqrt",
            "square",
            "reciprocal",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "arcsin",
            "arccos",
            "arctan",
            "arcsinh",
            "arccosh",
            "arctanh",
            "abs",
            "real",
            "imag",
            "conj",
            "angle",
            "sign",
            "sum",
            "mean",
            "var",
            "std",
            "cumsum",
            "trace",
            "diag",
            "diff",
            "sort",
        )
    },
    **{
        name: lambda n, z, u, name=name: getattr(n, name)(z, u)
        for name in ("add", "subtract", "multiply", "divide", "power", "matmul", "vdot", "inner", "outer", "kron")
    },
    "integer power": lambda n, z, u: z**3 + z**-2,
    "real power": lambda n, z, u: z**1.7,
    "where": lambda n, z, u: n.where(n.abs(z) > 0.7, z, u),
    "einsum": lambda n, z, u: n.einsum("ab,cb,c->ac", z, n.conj(u), z[0]),
    "convolve": lambda n, z, u: n.convolve(z[0], u[1]),
    "indexing": lambda n, z, u: z[1:, ::-1] * u[n.array([0, 2, 2])],
    **{
        f"fft.{name}": lambda n, z, u, name=name: getattr(n.fft, name)(z)
        for name in ("fft", "ifft", "fft2", "fftn", "irfft", "hfft", "fftshift")
    },
    "fft.rfft": lambda n, z, u: n.fft.rfft(z.real),
    **{
        f"linalg.{name}": lambda n, z, u, name=name: getattr(n.linalg, name)(z)
        for name in ("inv", "det", "norm", "pinv")
    },
    "linalg.solve": lambda n, z, u: n.linalg.solve(z, u),
    "linalg.slogdet": lambda n, z, u: n.linalg.slogdet(z)[1],
    "linalg.eigvals": lambda n, z, u: n.sum(n.linalg.eigvals(z) ** 3),
    "linalg.svd": lambda n, z, u: n.linalg.svd(z, compute_uv=False),
    "linalg.qr": lambda n, z, u: n.abs(n.linalg.qr(z)[1]),
    "linalg.matrix_power": lambda n, z, u: n.linalg.matrix_power(z, 3),
}
UNLIKE = {
    "arccosh": ((0, 11), "the root of a product is taken for a product of roots, which has the other sign on the left"),
    "sign": ((0, 12), "the derivative is taken to be 0, as that of real numbers is; it is that of z/|z|"),
}
"""Where JAX's derivative is another one before a version, and why."""


@pytest.mark.one_in(12)
@thinned(2, name=list(OPS))
def test_as_jax(name: str) -> None:
    """Both have ∂f/∂x − i ∂f/∂y as gradient of a real f, and transposes without conjugates.

    Half of the ops show conventions; derivatives of every one are those of differences in tests/numpy.
    """
    function = OPS[name]
    ours = primad.jvp(lambda z, u: function(np, z, u), (Z, U), (U, Z))
    shape, is_complex = np.shape(ours[0]), np.iscomplexobj(ours[0])
    ct = np.asarray(RNG.normal(size=shape) + (1j * RNG.normal(size=shape) if is_complex else 0))
    with jax.enable_x64():

        @jax.jit
        def of_jax(z: Any, u: Any, ct: Any) -> Any:
            of = partial(function, jax.numpy)
            return *jax.jvp(of, (z, u), (u, z)), jax.vjp(of, z, u)[1](ct)

        value, theirs, pulled = jax.tree.map(np.asarray, of_jax(Z, U, ct))
    np.testing.assert_allclose(ours[0], value, rtol=1e-9, atol=1e-10)
    back = primad.vjp(lambda z, u: function(np, z, u), Z, U)[1](ct)
    same = np.allclose(ours[1], theirs, rtol=1e-8, atol=1e-9)
    same &= all(np.allclose(x, y, rtol=1e-8, atol=1e-9) for x, y in zip(back, pulled, strict=True))
    since, _ = UNLIKE.get(name, ((0,), ""))
    assert same == (jax.__version_info__ >= since)
