"""Every NumPy function that can be traced against NumPy itself: values, dtypes, 0-d forms and refusals.

The functions are those that primad registers, so a new one is compared without being named here. Arguments are special
values (infinities, NaN, zeros of both signs, the ends of the range) and random ones, in every dtype and pair of dtypes.
Where NumPy's own function is called the bits are NumPy's; each exception stands in a table, with its reason.
"""

from __future__ import annotations

import itertools
import operator
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import primad
from primad.native.llvm.compiler import compiler
from primad.recording.protocols import UFUNCS
from tests.numpy.test_numpy_keywords import WithOption
from tests.numpy.test_numpy_surface import CASES
from tests.sweeps import thinned

DTYPES = [np.dtype(code) for code in "?bBhHiIlLefd"]
FLOATS = [dtype for dtype in DTYPES if dtype.kind == "f"]
NUMPY_UFUNCS = sorted((u for u in UFUNCS if isinstance(u, np.ufunc) and u.signature is None), key=lambda u: u.__name__)
SEED = 12
RNG = np.random.default_rng(SEED)


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


def difference(found: Any, expected: Any, tolerance: Any = None) -> str | None:
    """Say how a result differs from NumPy's: in type, dtype, shape, value, or (without a tolerance) sign of a zero."""
    if isinstance(expected, np.ndarray) != isinstance(found, np.ndarray):
        return f"{type(found).__name__} for {type(expected).__name__}"
    found, expected = np.asarray(found), np.asarray(expected)
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    same = found == expected
    if expected.dtype.kind == "f":
        if tolerance is None:
            same &= np.signbit(found) == np.signbit(expected)
        else:
            with np.errstate(all="ignore"):
                same |= np.abs(found - expected) <= tolerance
        same |= np.isnan(found) & np.isnan(expected)
    if np.all(same):
        return None
    place = tuple(np.argwhere(~same)[0])
    return f"{found[place]!r} for {expected[place]!r} at {place}"


@dataclass(frozen=True)
class Case:
    """A call: its name, function and arrays, whether a difference is allowed, and by how much values may be off.

    Those that are `rounded` may be off by two units in the last place.
    """

    name: str
    call: Callable[..., Any]
    args: tuple[Any, ...]
    allowed: Callable[[str], bool] = lambda what: False
    tolerance: Any = None
    rounded: bool = False


# -- ufuncs ------------------------------------------------------------------------------------------------------------

UNDEFINED = "NumPy's integer reciprocal of 0 is what C makes of an undefined conversion"
CUBES = "x**3 is computed as x·x·x, a law that is equal in exact arithmetic"
SQUARE_ROOTS = "x**0.5 of NumPy is √x, NaN at −∞; its float_power is C's pow, ∞ there"
BEYOND = "NumPy does not take a Python integer beyond 64 bits; its truth is known"
HALVES = "x**0.5 of NumPy is √x, −0 at −0, but its function makes 0 of it in half precision"
HALF = {dtype: 0.5 if dtype.itemsize == 2 else 3 for dtype in FLOATS}
ZEROS = "x + 0 is x and 0 − x is −x, laws that are equal in exact arithmetic: a zero may have the other sign"
EITHER = "which of 0.0 and −0.0 NumPy's function returns depends on the length of the array"
CANCELS = "near 0 it is a difference of nearly equal terms"
STEPS_OF_HALVES = "NumPy's steps of half precision have no sign, and are the shorter of two beside powers of two"
EXCEPTIONS: dict[str, tuple[str, Callable[..., bool]]] = {
    "add": (ZEROS, lambda what, x, y: _is_one_of(y, 0) or _is_one_of(x, 0)),
    "subtract": (ZEROS, lambda what, x, y: _is_one_of(x, 0)),
    "reciprocal": (UNDEFINED, lambda what, x: x.dtype.kind in "iu"),
    "power": (CUBES + "; " + HALVES, lambda what, x, y: x.dtype.kind == "f" and _is_one_of(y, 3, HALF[x.dtype])),
    "float_power": (CUBES + "; " + SQUARE_ROOTS, lambda what, x, y: _is_one_of(y, 3, 0.5)),
    "spacing": (STEPS_OF_HALVES, lambda what, x: x.dtype.itemsize <= 2),
    "nextafter": (STEPS_OF_HALVES, lambda what, x, y: "float16(0.0)" in what or "float16(-0.0)" in what),
    "logaddexp2": (CANCELS, lambda what, x, y: nearly(what, 8)),
    **dict.fromkeys(("fmax", "fmin"), (EITHER, lambda what, x, y: _is_one_of(x, 0) or _is_one_of(y, 0))),
    **dict.fromkeys(
        ("logical_and", "logical_or", "logical_xor"), (BEYOND, lambda what, *args: any(type(x) is int for x in args))
    ),
}
"""Where a ufunc's result may differ from NumPy's: the reason, and (difference, *arguments) -> whether it is one."""
SCALARS = (0, 1, 2, 3, -1, 5, 64, 300, 2**63, True, 0.5, -2.0, 0.0, -0.0, np.inf, np.nan, 1e300)


def nearly(what: str, eps: float) -> bool:
    """Say whether numbers differ by so many eps of their dtype, or (below 1) by this, relative to max(1, |b|)."""
    found = re.findall(r"np\.(float\d+)\(([^)]*)\)", what)
    if len(found) != 2 or found[0][0] != found[1][0]:
        return False
    a, b = (float(number) for _, number in found)
    return abs(a - b) <= (float(np.finfo(found[0][0]).eps) * eps if eps >= 1 else eps) * max(1.0, abs(b))


def _is_one_of(arg: Any, *numbers: float) -> bool:
    return not isinstance(arg, np.ndarray) and arg in numbers


ROUNDED = (np.float_power,)
"""Where NumPy's bits depend on the processor: it has vector instructions for np.power, and calls C's pow here."""


def of_ufunc(ufunc: np.ufunc) -> Callable[[tuple[Any, ...]], Case]:
    """Return what makes a case of arguments; numbers among them are part of its function."""

    def case(args: tuple[Any, ...]) -> Case:
        def call(*arrays: Any) -> Any:
            rest = iter(arrays)
            return ufunc(*[next(rest) if isinstance(arg, np.ndarray) else arg for arg in args])

        allowed = EXCEPTIONS.get(ufunc.__name__, ("", lambda *_: False))[1]
        name = f"{ufunc.__name__}({', '.join(map(_named, args))})"
        return Case(name, call, tuple(_arrays(args)), lambda what: allowed(what, *args), rounded=ufunc in ROUNDED)

    return case


def compare(cases: Sequence[Case], run: Callable[..., Any]) -> None:
    """Compare all calls that NumPy takes in one program, and see that the others are refused."""
    expected = [plainly(case.call, case.args) for case in cases]
    taken = [i for i, result in enumerate(expected) if result is not None]

    def calls(groups: Sequence[Sequence[Any]]) -> list[Any]:
        return [cases[i].call(*group) for i, group in zip(taken, groups, strict=True)]

    wrong = []
    for i, found in zip(taken, run(calls, [cases[i].args for i in taken]), strict=True):
        for a, b in zip(flat(found), flat(expected[i]), strict=True):
            tolerance = cases[i].tolerance
            if cases[i].rounded and tolerance is None and np.asarray(b).dtype.kind == "f":
                tolerance = 2 * np.finfo(np.asarray(b).dtype).eps * np.abs(b)
            what = difference(a, b, tolerance)
            if what is not None and not cases[i].allowed(what):
                wrong.append(f"{cases[i].name}: {what}")
    for i in set(range(len(cases))) - set(taken):
        try:
            run(lambda group, case=cases[i]: case.call(*group), cases[i].args)
        except (TypeError, ValueError, ArithmeticError):
            continue
        if not cases[i].allowed("not refused"):
            wrong.append(f"{cases[i].name} is not refused")
    assert not wrong


def _arrays(args: Sequence[Any]) -> list[Any]:
    return [arg for arg in args if isinstance(arg, np.ndarray)]


def _named(arg: Any) -> str:
    return str(arg.dtype) if isinstance(arg, np.ndarray) else repr(arg)


def compiled(function: Callable[..., Any], arrays: Any, backend: str = "reference") -> Any:
    """Run what was recorded by NumPy's own functions, whose bits they are."""
    with np.errstate(over="ignore"):  # of a Python number that the dtype does not hold, as NumPy warns
        return primad.jit(function, backend=backend)(arrays)


natively = partial(compiled, backend="native")
"""Run it by native code, where the C library's vector functions end in other digits."""


def value_under_vjp(function: Callable[..., Any], arrays: Any) -> Any:
    return primad.vjp(function, arrays)[0]


@pytest.mark.one_in(6)
@thinned(2, ufunc=NUMPY_UFUNCS, part=range(2))
def test_ufunc_in_every_dtype(ufunc: np.ufunc, part: int) -> None:
    cases = arguments(ufunc)
    if ufunc.nin == 2:  # of pairs a half, in which each dtype is first and second
        cases = [args for i, args in enumerate(cases) if (i + i // len(DTYPES)) % 2 == part]
    compare([*map(of_ufunc(ufunc), cases)], compiled)


@pytest.mark.one_in(6)
@thinned(3, ufunc=[u for u in NUMPY_UFUNCS if u.nin == 2], part=range(3))
def test_ufunc_of_python_numbers(ufunc: np.ufunc, part: int) -> None:
    """Every number beside every dtype, a third of the pairs at a time."""
    cases = [(VALUES[dtype], scalar) for dtype in DTYPES for scalar in SCALARS][part::3]
    compare([*map(of_ufunc(ufunc), cases + [case[::-1] for case in cases])], compiled)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("ufunc", NUMPY_UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_ufunc_of_floats_where_it_is_differentiated(ufunc: np.ufunc) -> None:
    cases = [args for args in arguments(ufunc) if all(arg.dtype.kind == "f" for arg in args)]
    if plainly(ufunc, cases[0]) is not None:
        compare([*map(of_ufunc(ufunc), cases)], value_under_vjp)


CANCELLING = (np.logaddexp, np.logaddexp2)
"""Sums of an operand and a function, here and in NumPy: where they nearly cancel, what counts is the operand's size."""


@pytest.mark.one_in(12)
@pytest.mark.skipif(compiler() is None, reason="llvmlite is not installed")
@thinned(2, ufunc=NUMPY_UFUNCS, part=range(2))
def test_ufunc_in_native_code(ufunc: np.ufunc, part: int) -> None:
    """Both NumPy and the C library's vector functions are within 4 units in the last place; all else is the same.

    What mixes dtypes casts first, in NumPy's functions and in native code alike: one pair of each kind is enough, and
    half of these at a time.
    """
    cases = []
    for args in arguments(ufunc):
        if len({arg.dtype for arg in args}) > 1 and not any(arg.dtype == np.int16 for arg in args):
            continue
        expected = plainly(ufunc, args)
        tolerance = None
        if expected is not None and np.asarray(flat(expected)[0]).dtype.kind == "f":
            terms = [*flat(expected), *(args if ufunc in CANCELLING else ())]
            sizes = np.abs(np.stack(np.broadcast_arrays(*[np.asarray(each, float) for each in terms])))
            tolerance = 8 * float(np.finfo(np.asarray(flat(expected)[0]).dtype).eps) * sizes.max(axis=0)
        cases.append(replace(of_ufunc(ufunc)(args), tolerance=tolerance))
    compare(cases[part::2], natively)


OPERATORS: dict[Callable[..., Any], str] = {
    operator.add: "add",
    operator.sub: "subtract",
    operator.pow: "power",
    **dict.fromkeys((operator.mul, operator.truediv, operator.floordiv, operator.mod, divmod), ""),
    **dict.fromkeys((operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift), ""),
    **dict.fromkeys((operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne), ""),
}
"""Python's operators, and the ufunc whose exceptions are theirs."""


@pytest.mark.one_in(6)
@pytest.mark.parametrize("function", OPERATORS, ids=lambda function: function.__name__)
def test_operator(function: Any) -> None:
    exceptions = EXCEPTIONS.get(OPERATORS[function], ("", lambda *_: False))[1]
    cases = []
    for dtype, scalar in itertools.product(DTYPES, SCALARS):
        for args in ((VALUES[dtype], scalar), (scalar, VALUES[dtype])):
            call = (lambda x, y=scalar: function(x, y)) if args[1] is scalar else (lambda x, y=scalar: function(y, x))
            name = f"{function.__name__}({', '.join(map(_named, args))})"
            cases.append(Case(name, call, (VALUES[dtype],), partial(lambda args, what: exceptions(what, *args), args)))
    compare(cases, compiled)


@pytest.mark.parametrize("function", [operator.neg, operator.pos, abs, operator.invert], ids=lambda f: f.__name__)
def test_operator_of_one_operand(function: Any) -> None:
    compare([Case(str(dtype), function, (VALUES[dtype],)) for dtype in DTYPES], compiled)
    filled = [(lambda x: function(np.full_like(x, 5)) + x * 0, dtype) for dtype in DTYPES]  # of a literal
    compare([Case(f"{dtype} filled", call, (VALUES[dtype][:1],)) for call, dtype in filled], compiled)


# -- functions ---------------------------------------------------------------------------------------------------------

SUMS = "sums and products of many elements are made in another order, and from another start"
SCALED = "squares neither overflow nor vanish; NumPy's are rounded to a multiple of the smallest number"
TIES = "which of two zeros comes first is left open"
BESIDE = "what is an element is that element beside an infinity too"
SOLVED = "a solution by singular values depends on their rounding"
RAMPS = "the steps of a ramp are rounded another way"
STEPS = "what is made of differences is made in another order"
INEXACT = {
    **dict.fromkeys(("dot", "inner", "vdot", "vecdot", "matmul", "tensordot", "einsum", "trace", "prod"), SUMS),
    **dict.fromkeys(("sum", "mean", "var", "std", "cumsum", "average", "trapezoid"), SUMS),
    **dict.fromkeys(("cumprod", "cumulative_sum", "cumulative_prod", "nancumsum", "nancumprod"), SUMS),
    **dict.fromkeys(("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "cov", "corrcoef"), SUMS),
    **dict.fromkeys(("convolve", "correlate", "polyval", "polymul", "poly"), SUMS),
    **dict.fromkeys(("interp", "gradient", "unwrap", "linspace", "logspace", "geomspace"), STEPS),
    "norm": SCALED,
    "i0": "SciPy's series are others than NumPy's",
    "histogram": SUMS,
    "median": TIES,
}
"""Functions whose floats may differ from NumPy's, by rounding errors of the sum of magnitudes; and why."""
NUMBERS = "a result without axes is a scalar, as a ufunc's is; NumPy's views without axes are arrays"
WEIGHTS = "weights that sum to 0 are known when the program runs only: the average is NaN"
LEADING = "whether leading coefficients are 0 is a question of values: they stay"
POWERS = "an error in an exponent is multiplied by it"
MIDDLE = "the sum of two large numbers, whose middle is asked for, is infinite in NumPy's along an axis"
SERIES = "near 0 it is its series"
STABLE = {"argsort": WithOption("argsort", kind="stable")}
"""What is the same in every order, unless it is stable, which primad's is."""
NO_ROOT = "an end that is 0 is known when the program runs only"
ENDS = "whether ends are finite is known when the program runs only"
IN_BINS = "weights are summed in their bins; NumPy's sums are differences, of larger numbers, and booleans have none"
ALLOWED: dict[str, tuple[str, Callable[[str], bool]]] = {
    "cov": (NUMBERS + "; " + WEIGHTS, lambda what: what.endswith(" for ndarray") or what == "not refused"),
    "logspace": (POWERS, lambda what: nearly(what, 1e-11)),
    "polymul": (LEADING, lambda what: "(4,) for" in what),
    "roots": (LEADING, lambda what: "(3,) for" in what or what == "not refused" or nearly(what, 16)),
    "histogram": (
        f"{ENDS}; {IN_BINS}",
        lambda what: what == "not refused" or "nan" in what.partition(" for ")[2] or nearly(what, 16),
    ),
    **dict.fromkeys(("histogram_bin_edges", "histogram2d", "histogramdd"), (ENDS, lambda what: what == "not refused")),
    "geomspace": (NO_ROOT, lambda what: what == "not refused" or nearly(what, 1e-11)),
    "nanmedian": (TIES + "; " + MIDDLE, lambda what: nearly(what, 0.0) or "inf" in what),
    **dict.fromkeys(("percentile", "nanmin", "nanmax", "sort"), (TIES, lambda what: nearly(what, 0.0))),
    "quantile": (TIES + "; " + BESIDE, lambda what: nearly(what, 0.0) or "(nan)" in what.partition(" for ")[2]),
    "polydiv": (LEADING, lambda what: "(2,) for" in what or nearly(what, 0.0)),
    "polyfit": (SOLVED, lambda what: nearly(what, 1e-6) or what == "not refused"),
    **dict.fromkeys(
        ("nanquantile", "nanpercentile"),
        (f"{TIES}; {STEPS}; {NUMBERS}", lambda what: nearly(what, 1) or what.endswith(" for ndarray")),
    ),
    "sinc": (SERIES, lambda what: nearly(what, 4)),
    "pad": (RAMPS, lambda what: nearly(what, 1)),
    "argpartition": (TIES, lambda what: what.startswith("np.int64")),
    "reshape": (NUMBERS, lambda what: what.endswith(" for ndarray")),
    "average": (WEIGHTS, lambda what: what == "not refused"),
}
"""Other differences of functions: the reason, and which."""
LARGEST = 8.0
"""The largest finite element of inexact functions: whether a partial sum overflows depends on the order, as does what
becomes of infinities in einsum's products of three."""
SMALLEST = 1e-2
"""The smallest element but 0 of products: where a partial product underflows depends on the order."""
FINITE = {
    "einsum", "polyval", "gradient", "convolve", "correlate", "polymul", "poly", "unwrap", "interp", "geomspace",
    "linspace",
}  # fmt: skip
"""Functions of which only finite elements are compared: where sums meet infinities they make NaN of them or not."""
PADDED = {"convolve", "correlate", "polymul"}
"""Functions that multiply with zeros outside of an array, where NumPy's leave these out: a NaN is seen farther."""


def functions() -> list[str]:
    ufuncs = {ufunc.__name__ for ufunc in NUMPY_UFUNCS}
    return [name for name in CASES if (hasattr(np, name) or hasattr(np.linalg, name)) and name not in ufuncs]


def drawn(rng: np.random.Generator, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return an array of special values that a function of this name can be given."""
    choice = VALUES[dtype]
    if name in INEXACT and dtype.kind == "f":
        choice = choice[~(np.isnan(choice) & (name in PADDED))]
        choice = choice[(choice == 0) | ~((np.abs(choice) < SMALLEST) & name.endswith("prod"))]
        choice = choice[(np.isinf(choice) & (name not in FINITE)) | ~(np.abs(choice) > LARGEST)]
    return np.asarray(rng.choice(choice, shape))


@pytest.mark.one_in(6)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@thinned(2, name=functions(), part=range(2))
def test_function_in_every_dtype(name: str, part: int) -> None:
    cases = []
    rng = np.random.default_rng([SEED, *name.encode()])  # what a test draws does not depend on those before it
    allowed = ALLOWED.get(name, ("", lambda what: False))[1]
    for (number, (call, args)), (place, dtype) in itertools.product(enumerate(CASES[name]), enumerate(DTYPES)):
        given = tuple([drawn(rng, name, dtype, np.shape(arg)) for arg in args])
        if (number + place) % 2 != part:
            continue
        function = partial(call, STABLE.get(name, np))
        tolerance = None
        if name in INEXACT and plainly(function, given) is not None:
            sizes = np.asarray(plainly(function, tuple(map(np.abs, given))), float)
            # A few rounding errors of the sizes, and one smallest number for each element, of which norm's are squared.
            info = np.finfo(dtype if dtype.kind == "f" else float)
            smallest = float(info.smallest_subnormal)
            tolerance = 64 * info.eps * np.abs(sizes) + (smallest * given[0].size) ** (0.5 if name == "norm" else 1)
        cases.append(Case(f"{name}-{number}({dtype})", function, given, allowed, tolerance))
    compare(cases, lambda calls, groups: primad.trace(calls)(groups)(groups))


MIDDLES: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("median", "nanmedian")},
    **{name: partial(getattr(np, name), q=0.5) for name in ("quantile", "nanquantile")},
    **{f"{name} of several": partial(getattr(np, name), q=[25.0, 50.0]) for name in ("percentile", "nanpercentile")},
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", MIDDLES)
def test_middles_of_nothing_and_of_the_largest_are_numpys(name: str, dtype: Any) -> None:
    largest = np.finfo(dtype).max
    arrays = [np.ones(shape, dtype) for shape in ((0,), (0, 3), (3, 0), (2, 0, 3))]
    arrays += [np.array(values, dtype) for values in ([0.9 * largest] * 2, [np.inf] * 2, [1.0, 2.0, 4.0, largest])]
    for x, axis, keepdims in itertools.product(arrays, (None, 0, -1), (False, True)):
        call = partial(MIDDLES[name], axis=axis, keepdims=keepdims)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = call(x)
            except IndexError:
                with pytest.raises(primad.PrimadError, match="no elements"):
                    primad.trace(call)(x)
                continue
            found = primad.trace(call)(x)(x)
        np.testing.assert_array_equal(found, expected, err_msg=str((x, axis, keepdims)))
        assert (np.shape(found), np.asarray(found).dtype) == (np.shape(expected), np.asarray(expected).dtype)
