"""numpy.polynomial with traced points and coefficients: as NumPy's on plain arrays, under jit, and its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp

PREFIXES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "hermite": "herm", "hermite_e": "herme",
    "laguerre": "lag",
}  # fmt: skip
RNG = np.random.default_rng(20261123)
X, Y, Z = RNG.uniform(-0.9, 0.9, (3, 5))
C1, C2, C3 = RNG.normal(size=4), RNG.normal(size=(3, 4)), RNG.normal(size=(2, 3, 4))

# name -> (calls of a function f with arrays, the arrays)
CASES: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "vander": [
        (lambda f, x: f(x, 3), (X,)),
        (lambda f, x: f(x, 0), (X.reshape(5, 1),)),
        (lambda f, x: f(x, 4), (X[0],)),
    ],
    "vander2d": [(lambda f, x, y: f(x, y, [2, 3]), (X, Y))],
    "vander3d": [(lambda f, x, y, z: f(x, y, z, (1, 2, 3)), (X, Y, Z))],
    "val2d": [(lambda f, x, y, c: f(x, y, c), (X, Y, C2)), (lambda f, x, c: f(x, 2 * x, c), (X[0], C3))],
    "val3d": [(lambda f, x, y, z, c: f(x, y, z, c), (X, Y, Z, C3))],
    "grid2d": [(lambda f, x, y, c: f(x, y, c), (X, Y[:2], C2))],
    "grid3d": [(lambda f, x, y, z, c: f(x, y, z, c), (X[:2], Y[:3], Z, C3))],
    "der": [
        (lambda f, c: f(c), (C1,)),
        (lambda f, c, s: f(c, 2, s, axis=1), (C2, np.array(1.7))),
        (lambda f, c: f(c, 0), (C1,)),
        (lambda f, c: f(c, 5), (C1,)),
    ],
    "int": [
        (lambda f, c: f(c), (C1,)),
        (lambda f, c, k, b, s: f(c, 3, [k, 2.0], b, s), (C1, np.array(0.3), np.array(-0.4), np.array(1.5))),
        (lambda f, c, k: f(c, 1, k, -1.0, axis=-1), (C2, np.array(0.3))),
    ],
    "fit": [
        (lambda f, x, y: f(x, y, 2), (X, Y)),
        (lambda f, x, y, w: f(x, y, [0, 3], w=w), (X, np.stack([Y, Z], 1), 1 + Z**2)),
        (lambda f, x, y: f(x, y, 1, full=True)[1][0], (X, Y)),
    ],
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("family", PREFIXES)
def test_functions_are_numpys_and_have_derivatives(family: str) -> None:
    """Plain, under jit, and along random directions as differences of NumPy's have it."""
    for name, calls in CASES.items():
        plain, ours = (getattr(getattr(n.polynomial, family), PREFIXES[family] + name) for n in (np, pnp))
        for call, arrays in calls:
            expected = call(plain, *arrays)
            np.testing.assert_array_equal(call(ours, *arrays), expected)
            found, tangent = primad.jvp(
                lambda *arrays, call=call, ours=ours: call(ours, *arrays),
                arrays,
                directions := [np.cos(a) for a in arrays],
            )
            assert np.shape(found) == np.shape(expected) and np.asarray(found).dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11, err_msg=f"{family} {name}")
            ahead, behind = (
                call(plain, *[a + h * d for a, d in zip(arrays, directions, strict=True)]) for h in (1e-5, -1e-5)
            )
            slope = (ahead - behind) / 2e-5
            np.testing.assert_allclose(tangent, slope, rtol=1e-5, atol=1e-6 * (1 + np.max(np.abs(slope))), err_msg=name)
    x = X.astype(np.float32)
    vander = getattr(getattr(pnp.polynomial, family), PREFIXES[family] + "vander")
    assert primad.jit(lambda x: vander(x, 3))(x).dtype == np.float32


def test_all_arguments_may_be_traced_under_jit() -> None:
    """Compiled together, as recorded before; constants of integration and lists hold traced numbers."""
    leg = pnp.polynomial.legendre

    def f(x: Any, y: Any, c: Any) -> Any:
        fit = leg.legfit(x, y, 2)
        area = leg.legint([c[0], c[1], 1.0], k=[c[2]], lbnd=x[0], scl=y[0])
        return leg.legval2d(x, y, leg.legvander(c, 2)), fit, leg.legder(area, 2)

    for compiled, plain in zip(primad.jit(f)(X, Y, C1), f(X, Y, C1), strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda n, x: n.legendre.legvander(x, -1),
        lambda n, x: n.legendre.legder(x, -1),
        lambda n, x: n.legendre.legint(x, 1, [1.0, 2.0]),
        lambda n, x: n.legendre.legval2d(x, x[:2], np.ones((2, 2))),
        lambda n, x: n.legendre.legfit(x, x[:2], 1),
        lambda n, x: n.legendre.legfit(x, x, -1),
        lambda n, x: n.legendre.legfit(x[:0], x[:0], 1),
    ],
)
def test_what_numpy_refuses_is_refused(call: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        call(np.polynomial, X)
    with pytest.raises(primad.PrimadError):
        primad.jit(lambda x: call(pnp.polynomial, x))(X)


@pytest.mark.parametrize("name", ["polyadd", "polysub"])
def test_polynomials_of_one_degree_are_added_as_they_are(name: str) -> None:
    """Only the shorter one gets leading zeros, whichever it is."""
    for lengths, joined in (((3, 3), 0), ((1, 3), 1), ((3, 2), 1)):
        arrays = [RNG.normal(size=n) for n in lengths]
        program = primad.trace(getattr(np, name))(*arrays)
        assert [node.op.name for node in program.nodes].count("concatenate") == joined
        np.testing.assert_array_equal(program(*arrays), getattr(np, name)(*arrays))
