"""Every NumPy function that can be traced against NumPy itself: values, dtypes, 0-d forms and refusals.

The functions are those that primad registers, so a new one is compared without being named here. Arguments are special
values (infinities, NaN, zeros of both signs, the ends of the range) and random ones, in every dtype and pair of dtypes.
Where NumPy's own function is called the bits are NumPy's; each exception stands in a table, with its reason.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

import primad
from primad.native.compiler import compiler
from primad.trace import UFUNCS

DTYPES = [np.dtype(code) for code in "?bBhHiIlLefd"]
FLOATS = [dtype for dtype in DTYPES if dtype.kind == "f"]
NUMPY_UFUNCS = sorted((u for u in UFUNCS if isinstance(u, np.ufunc) and u.signature is None), key=lambda u: u.__name__)
RNG = np.random.default_rng(9)


def values(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return special and random values of a dtype."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        special = [0, 1, 2, 3, 7, 10, info.max, info.max - 1, info.max // 2, info.min]
        special += [-1, -2, -3, -7, info.min + 1] if info.min else []
        return np.array([*special, *RNG.integers(info.min, info.max, 5, dtype=dtype)], dtype)
    info = np.finfo(dtype)
    sizes = [0.0, 1.0, 0.5, 2.0, 3.0, 0.3, 7.0, 10.5, np.inf, info.max, info.tiny, info.smallest_subnormal, 1e4, 700.0]
    sizes += [1e17, 1e-20] if dtype.itemsize > 2 else []
    random = RNG.standard_normal(5) * 3
    return np.array([np.nan, *sizes, *(-s for s in sizes), *random]).astype(dtype)


VALUES = {dtype: values(dtype) for dtype in DTYPES}


def arguments(ufunc: np.ufunc) -> list[tuple[np.ndarray[Any, Any], ...]]:
    """Return arguments of every combination of dtypes."""
    if ufunc.nin == 1:
        return [(VALUES[dtype],) for dtype in DTYPES]
    return [
        tuple(array.ravel() for array in np.meshgrid(VALUES[first], VALUES[second]))
        for first, second in itertools.product(DTYPES, repeat=2)
    ]


def plainly(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Return NumPy's result, or None where it refuses."""
    with np.errstate(all="ignore"):
        try:
            return function(*args)
        except (TypeError, ValueError, OverflowError, ArithmeticError):
            return None


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def difference(found: Any, expected: Any, rtol: float = 0) -> str | None:
    """Say how a result differs from NumPy's: in type, dtype, shape, sign of a zero, or value."""
    if isinstance(expected, np.ndarray) != isinstance(found, np.ndarray):
        return f"{type(found).__name__} for {type(expected).__name__}"
    found, expected = np.asarray(found), np.asarray(expected)
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    same = found == expected
    if expected.dtype.kind == "f":
        with np.errstate(all="ignore"):
            same |= np.abs(found - expected) <= rtol * np.abs(expected)
        same = (same & (np.signbit(found) == np.signbit(expected))) | (np.isnan(found) & np.isnan(expected))
    if np.all(same):
        return None
    place = np.argwhere(~same)[0]
    return f"{found[tuple(place)]!r} for {expected[tuple(place)]!r} at {place.tolist()}"


# -- ufuncs ------------------------------------------------------------------------------------------------------------

UNDEFINED = "NumPy's integer reciprocal of 0 is what C makes of an undefined conversion"
CUBES = "x**3 is computed as x·x·x, a law that is equal in exact arithmetic"
SQUARE_ROOTS = "x**0.5 of NumPy is √x, NaN at −∞; its float_power is C's pow, ∞ there"
BEYOND = "NumPy does not take a Python integer beyond 64 bits; its truth is known"
ZEROS = "x + 0 is x and 0 − x is −x, laws that are equal in exact arithmetic: a zero may have the other sign"
EXCEPTIONS: dict[str, tuple[str, Callable[..., bool]]] = {
    "add": (ZEROS, lambda what, x, y: _is_one_of(y, 0) or _is_one_of(x, 0)),
    "subtract": (ZEROS, lambda what, x, y: _is_one_of(x, 0)),
    "reciprocal": (UNDEFINED, lambda what, x: x.dtype.kind in "iu"),
    "power": (CUBES, lambda what, x, y: _is_one_of(y, 3) and x.dtype.kind == "f"),
    "float_power": (CUBES + "; " + SQUARE_ROOTS, lambda what, x, y: _is_one_of(y, 3, 0.5)),
    **dict.fromkeys(
        ("logical_and", "logical_or", "logical_xor"), (BEYOND, lambda what, *args: any(type(x) is int for x in args))
    ),
}
"""Where a ufunc's result may differ from NumPy's: the reason, and (difference, *arguments) -> whether it is one."""
SCALARS = (0, 1, 2, 3, -1, 5, 64, 300, 2**63, True, 0.5, -2.0, 0.0, -0.0, np.inf, np.nan, 1e300)


def _is_one_of(arg: Any, *numbers: float) -> bool:
    return not isinstance(arg, np.ndarray) and arg in numbers


def compare(ufunc: np.ufunc, cases: Sequence[tuple[Any, ...]], run: Callable[..., Any], rtol: float = 0) -> None:
    """Compare all calls that NumPy takes in one program, and see that the others are refused."""
    expected = [plainly(ufunc, args) for args in cases]
    taken = [i for i, result in enumerate(expected) if result is not None]

    def call(place: int, group: Sequence[Any]) -> Any:
        rest = iter(group)
        return ufunc(*[next(rest) if isinstance(arg, np.ndarray) else arg for arg in cases[place]])

    def calls(groups: Sequence[Sequence[Any]]) -> list[Any]:
        return [call(place, group) for place, group in zip(taken, groups, strict=True)]

    wrong = []
    allowed = EXCEPTIONS.get(ufunc.__name__, ("", lambda *_: False))[1]
    for i, found in zip(taken, run(calls, [_arrays(cases[i]) for i in taken]), strict=True):
        for part, (a, b) in enumerate(zip(flat(found), flat(expected[i]), strict=True)):
            what = difference(a, b, rtol)
            if what is not None and not allowed(what, *cases[i]):
                wrong.append(f"{ufunc.__name__}({', '.join(map(_named, cases[i]))})[{part}]: {what}")
    for i in set(range(len(cases))) - set(taken):
        try:
            run(partial(call, i), _arrays(cases[i]))
        except (TypeError, ValueError, ArithmeticError):
            continue
        if not allowed("", *cases[i]):
            wrong.append(f"{ufunc.__name__}({', '.join(map(_named, cases[i]))}) is not refused")
    assert not wrong


def _arrays(args: Sequence[Any]) -> list[Any]:
    return [arg for arg in args if isinstance(arg, np.ndarray)]


def _named(arg: Any) -> str:
    return str(arg.dtype) if isinstance(arg, np.ndarray) else repr(arg)


def compiled(function: Callable[..., Any], arrays: Any) -> Any:
    with np.errstate(over="ignore"):  # of a Python number that the dtype does not hold, as NumPy warns
        return primad.jit(function)(arrays)


def value_under_vjp(function: Callable[..., Any], arrays: Any) -> Any:
    return primad.vjp(function, arrays)[0]


@pytest.mark.parametrize("ufunc", NUMPY_UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_ufunc_in_every_dtype(ufunc: np.ufunc) -> None:
    compare(ufunc, arguments(ufunc), compiled)


@pytest.mark.parametrize("ufunc", [u for u in NUMPY_UFUNCS if u.nin == 2], ids=lambda ufunc: ufunc.__name__)
def test_ufunc_of_python_numbers(ufunc: np.ufunc) -> None:
    cases = [(VALUES[dtype], scalar) for dtype in DTYPES for scalar in SCALARS]
    compare(ufunc, cases + [case[::-1] for case in cases], compiled)


@pytest.mark.parametrize("ufunc", NUMPY_UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_ufunc_of_floats_where_it_is_differentiated(ufunc: np.ufunc) -> None:
    cases = [args for args in arguments(ufunc) if all(arg.dtype.kind == "f" for arg in args)]
    if plainly(ufunc, cases[0]) is not None:
        compare(ufunc, cases, value_under_vjp)


@pytest.mark.skipif(compiler() is None, reason="llvmlite is not installed")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("ufunc", NUMPY_UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_ufunc_in_native_code(ufunc: np.ufunc, dtype: str) -> None:
    """Both NumPy and the C library's vector functions are within 4 units in the last place."""
    place = DTYPES.index(np.dtype(dtype))
    args = arguments(ufunc)[place if ufunc.nin == 1 else place * (len(DTYPES) + 1)]
    if plainly(ufunc, args) is not None:
        compare(ufunc, [args], compiled, 8 * float(np.finfo(dtype).eps))
