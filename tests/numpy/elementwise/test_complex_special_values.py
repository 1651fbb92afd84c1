"""Complex functions at zeros of both signs, infinities and NaN in either part, on every backend, beside NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import primad

PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, np.inf, -np.inf, np.nan]
GRID = np.array([complex(x, y) for x in PARTS for y in PARTS])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(np, name) for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
        "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "square", "negative", "conj", "absolute",
        "angle", "sign", "isnan", "isinf", "isfinite", "real", "imag", "iscomplex", "positive", "reciprocal",
    )},
    "z**2": lambda z: z**2, "z**3": lambda z: z**3, "z**2.5": lambda z: z**2.5, "1/z": lambda z: 1 / z,
}  # fmt: skip
"""Functions of one number that are to have NumPy's values."""
CUT = ("log", "sqrt", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")
OTHERS = {"reciprocal": lambda z: 1 / z, "z**3": lambda z: z * z * z}
"""What is said on the page of complex numbers: another expression of NumPy's that a function is."""
PAIRS = ("add", "subtract", "multiply", "divide", "power", "equal", "not_equal")


def parts(x: Any) -> Any:
    """Return both parts of numbers, of truths too."""
    x = np.asarray(x)
    return np.stack([x.real, x.imag]).astype(float)


def same(found: Any, wanted: Any) -> Any:
    """Say where numbers are equal to rounding, with the signs of zeros, and NaN where NaN is.

    C99 leaves the sign of a zero open where the other part is NaN.
    """
    found, wanted = parts(found), parts(wanted)
    close = np.isclose(found, wanted, rtol=1e-13, atol=0, equal_nan=True)
    return close & ((np.signbit(found) == np.signbit(wanted)) | np.isnan(wanted).any(axis=0))


def backends() -> list[str]:
    """Return the backends that are there."""
    return ["native", "reference", *(["jax"] if find_spec("jax") else [])]


@pytest.mark.parametrize("backend", backends())
def test_special_values_are_numpys(backend: str) -> None:
    first, second = (x.ravel() for x in np.meshgrid(GRID, GRID))
    cases = [(name, f, (GRID,)) for name, f in FUNCTIONS.items() if backend != "jax" or name in CUT]
    cases += [(name, getattr(np, name), (first, second)) for name in PAIRS if backend != "jax"]
    wrong = {}
    with np.errstate(all="ignore"):
        run = primad.jit(lambda z, x, y: [f(*((z,) if given[0] is GRID else (x, y))) for _, f, given in cases],
                         backend=backend)  # fmt: skip
        results = run(GRID, first, second)
        for (name, f, given), found in zip(cases, results, strict=True):
            wanted = np.asarray(OTHERS.get(name, f)(*given))
            good = same(found, wanted)
            if backend == "jax":  # the rest is XLA's
                good |= ~(np.isfinite(given[0]) & np.isfinite(wanted))
            assert np.asarray(found).dtype == wanted.dtype, name
            if not good.all():
                wrong[name] = [tuple(x[i].item() for x in given) for i in np.flatnonzero(~good.all(axis=0))]
    assert not wrong


ON_CUTS: list[tuple[Callable[[Any], Any], complex]] = [
    *[(f, -2.0) for f in (np.sqrt, np.log, np.log10, np.log2, lambda z: z**2.5, lambda z: np.power(z, 1j))],
    *[(f, x) for f in (np.arcsin, np.arccos, np.arctanh) for x in (2.0, -2.0)],
    (np.log1p, -3.0),
    (np.arccosh, 0.5),
    (np.arccosh, -2.0),
    *[(f, y) for f in (np.arctan, np.arcsinh) for y in (2j, -2j)],
]
"""Functions, and numbers on their branch cuts."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("backend", backends())
def test_on_a_branch_cut_value_and_derivative_are_those_of_the_side(backend: str) -> None:
    """The sign of a zero says on which side a number is."""
    sides = [(f, z, sign) for f, z in ON_CUTS for sign in (0.0, -0.0)]
    at = [complex(z.real, sign) if z.imag == 0 else complex(sign, z.imag) for _, z, sign in sides]
    steps = [complex(0, np.copysign(1e-9, s)) if z.imag == 0 else np.copysign(1e-9, s) + 0j for _, z, s in sides]

    def values_and_slopes(points: Any) -> Any:
        slopes = [primad.grad(f, holomorphic=True)(z) for (f, _, _), z in zip(sides, points, strict=True)]
        return [f(z) for (f, _, _), z in zip(sides, points, strict=True)], slopes

    values, slopes = primad.jit(values_and_slopes, backend=backend)(at)
    for (f, _, _), z, step, value, slope in zip(sides, at, steps, values, slopes, strict=True):
        assert np.isclose(value, f(z), rtol=1e-12)
        assert np.isclose(slope, (f(z + 2 * step) - f(z + step)) / step, rtol=1e-5)
