"""No option of a NumPy function is dropped: with each one, a traced call gives NumPy's result or refuses.

The options are those of NumPy's own signatures, so a new function, and a new option of NumPy's, is tried without being
named here.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy as pnp
from primad.recording.protocols import FUNCTIONS, METHODS, UFUNCS
from tests.mirrored import other_defaults
from tests.numpy.test_numpy_surface import CASES as SURFACE
from tests.numpy_cases import OF_VALUES
from tests.sweeps import thinned

CASES = {**SURFACE, **{name: [case] for name, case in OF_VALUES.items()}}
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning", "ignore::DeprecationWarning")
UFUNC_OPTIONS = ("where", "axes", "axis", "keepdims", "casting", "order", "dtype", "subok", "signature")
SAMPLES: dict[str, tuple[Any, ...]] = {
    "M": (None, 2, 4),
    **dict.fromkeys(("upper", "descending"), (True,)),
    **dict.fromkeys(("axis", "axisa", "axisb", "axisc"), (0, -1, None)),
    **dict.fromkeys(("axis1", "axis2", "offset", "k"), (0, 1)),
    **dict.fromkeys(("n", "ddof", "correction"), (0, 1, -1, 9)),
    **dict.fromkeys(("keepdims", "returned", "overwrite_input", "stable", "subok", "copy", "optimize"), (True, False)),
    **dict.fromkeys(("prepend", "append", "dx", "mean", "x"), (2.0,)),
    "initial": (2.0, -np.inf),
    "axes": ([0, 0], [0, 0, ()], [(0, 1), (1, 0), (0, 1)], [(-2, -1), (-2, -1), (1, 0)], 1),
    "where": (True, False, np.array(False), np.array(1)),
    "dtype": (np.float32, np.int64, np.float64, None),
    "casting": ("no", "safe", "unsafe"),
    "order": ("C", "F", "K", "A", "X", None),
    "signature": ("f->f", "ff->f"),
    "kind": ("stable", "heapsort", "none"),
    "mode": ("clip", "wrap", "raise", "edge", "mean", "maximum", "reduced", "complete", "r"),
    "min": (0.25,),
    "max": (0.25,),
    "a_min": (0.25, None),
    "a_max": (0.25, None),
    "ord": (1, np.inf, "nuc", -1, None),
    "weights": (np.ones(3), None),
    "shape": ((2, 2), None),
    "device": ("cpu", "none"),
    "requirements": (None, "C", ["W"], "none"),
    "max_work": (None, 1),
    "norm": ("ortho", "forward", "backward", "none", None),
    "s": ((2, 2), (3, 5), (3,), (0, 1), None),
    "UPLO": ("L", "l", "X"),
    "full_matrices": (True, False),
    "compute_uv": (True, False),
    "hermitian": (True, False),
    "rcond": (0.5, None),
    "rtol": (0.5, None),
    "tol": (0.5, None),
    "p": (None, 2, -2, 1, "fro", "nuc", np.inf),
    "ind": (1, 2),
    "y": (2.0,),
    **dict.fromkeys(("decimals", "minlength", "edge_order", "m", "ndmin", "ndmax", "start"), (1, 2)),
    **dict.fromkeys(("endpoint", "retstep", "sparse", "increasing", "rowvar", "bias", "deg", "right"), (True, False)),
    **dict.fromkeys(
        ("full", "cov", "equal_nan", "include_initial", "assume_unique", "invert", "sorted"), (True, False)
    ),
    **dict.fromkeys(("return_index", "return_inverse", "return_counts", "return_indices"), (True, False)),
    **dict.fromkeys(("nan", "posinf", "neginf", "left", "base", "default", "to_end", "to_begin", "discont"), (0.5,)),
    **dict.fromkeys(("rtol", "atol", "tol", "period"), (0.1, 3.0)),
    **dict.fromkeys(("fweights", "aweights"), (np.array([1, 2, 1, 1, 3]),)),
    "indexing": ("ij", "xy"),
    "method": ("linear", "lower", "midpoint", "averaged_inverted_cdf", "inverted_cdf", "hazen", "none"),
    "side": ("left", "right"),
    "sorter": (np.arange(5),),
    "w": (None, np.ones(5)),
    "N": (2,),
    "num": (3,),
    "trim": ("f", "b"),
    "bitorder": ("little", "big"),
    "count": (3, 30, None),
    "bins": (4, "auto", [-1.0, 0.5, 2.0]),
    "range": ((-1.0, 2.0), None),
    "density": (True, False, None),
    "like": (np.ones(1),),
}
"""What to pass for an option; a missing one makes the test fail."""
DEEPER = {
    f"{f.__module__.removeprefix('numpy.')}.{f.__name__}": f
    for f in FUNCTIONS
    if getattr(f, "__module__", "") in ("numpy.linalg", "numpy.fft")
}
NAMED: dict[str, Any] = {**{name: getattr(np, name) for name in CASES if hasattr(np, name)}, **DEEPER}
RNG = np.random.default_rng(3)
MATRICES = (*map(RNG.standard_normal, ((3, 2), (4, 4), (3,), (0,))), RNG.standard_normal((3, 3)) + 5 * np.eye(3))
OPERANDS = {"x", "y", "arrays", "shape", "sections", "values", "subscripts"}
"""Our names of what NumPy calls a, m, ary, arr, tup, array, …"""


MORE = {
    ("argpartition", "kind"), ("partition", "kind"), ("reshape", "copy"), ("x.clip", "a_max"), ("x.var", "correction"),
    ("x.std", "correction"),
}  # fmt: skip
"""Options of which we take values that NumPy refuses, since there they say nothing or what another name says too."""


class WithOption:
    """NumPy, of which one function is called with one more option."""

    def __init__(self, name: str, **option: Any) -> None:
        self._name = name
        self._option = option

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        return partial(function, **self._option) if name == self._name else function


def options(function: Any) -> Iterator[str]:
    if isinstance(function, np.ufunc):
        yield from UFUNC_OPTIONS
        return
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not parameter.empty and parameter.kind is not parameter.POSITIONAL_ONLY:
            yield parameter.name


def copies(args: tuple[Any, ...]) -> list[Any]:
    """Return arguments that an option may write to (`copy=False`, `overwrite_input=True`)."""
    return [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args]


def honoured_or_refused(plain: Callable[..., Any], args: tuple[Any, ...]) -> str | None:
    """Say what a traced call gives where it neither has NumPy's result nor refuses, as it must where NumPy does."""
    try:
        with np.errstate(all="ignore"):
            expected = plain(*copies(args))
    except (TypeError, ValueError, IndexError, AttributeError, RuntimeError, OverflowError) as error:
        expected = error
    try:
        found = primad.trace(plain)(*args)(*copies(args))
    except primad.PrimadError:
        return None
    except (TypeError, ValueError):
        if isinstance(expected, Exception):
            return None
        raise
    if isinstance(expected, Exception):
        return f"{found!r} for {expected!r}"
    if isinstance(expected, (tuple, list)):
        found, expected = (np.concatenate([np.ravel(part) for part in result]) for result in (found, expected))
    if np.shape(found) != np.shape(expected) or np.asarray(found).dtype != np.asarray(expected).dtype:
        return f"{found!r} for {expected!r}"
    same = np.allclose(found, expected, rtol=1e-6, atol=1e-6, equal_nan=True)
    return None if same else f"{found!r} for {expected!r}"


def with_option(name: str, case: Callable[..., Any], option: str, value: Any) -> Callable[..., Any]:
    if name in DEEPER:
        return lambda x: DEEPER[name](x, **{option: value})
    return lambda *args: case(WithOption(name, **{option: value}), *args)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", NAMED)
def test_no_option_is_dropped(name: str) -> None:
    wrong = []
    for option in options(NAMED[name]):
        if option == "out":
            continue
        for value in SAMPLES[option]:
            cases = [(np.linalg, (x,)) for x in MATRICES] if name in DEEPER else CASES[name]
            for case, args in cases:
                if option == "order":
                    args = tuple(np.asfortranarray(x) if np.ndim(x) > 1 else x for x in args)
                what = honoured_or_refused(with_option(name, case, option, value), args)
                if what is not None and (name, option) not in MORE:
                    wrong.append(f"{name}({option}={value!r}): {what}")
    assert not wrong


@pytest.mark.parametrize("name", NAMED)
def test_nothing_is_written_elsewhere(name: str) -> None:
    if name in DEEPER and "out" in options(DEEPER[name]):
        with pytest.raises(primad.PrimadError):
            primad.trace(lambda x: DEEPER[name](x, out=np.empty((4, 4), complex)))(np.eye(4))
    if name not in DEEPER and (isinstance(NAMED[name], np.ufunc) or "out" in options(NAMED[name])):
        case, args = CASES[name][0]
        out: Any = np.empty_like(case(np, *args))
        if isinstance(NAMED[name], np.ufunc):
            out = (out,) * NAMED[name].nout
        with pytest.raises(primad.PrimadError):
            primad.trace(lambda *xs: case(WithOption(name, out=out), *xs))(*args)


PLAIN = [f for f in UFUNCS if isinstance(f, np.ufunc) and f.nin < 3 and f.signature is None]


@pytest.mark.one_in(4)
@thinned(3, ufunc=PLAIN, casting=["no", "safe", "unsafe"])
def test_ufuncs_compute_in_the_dtype_asked_for(ufunc: np.ufunc, casting: str) -> None:
    """With `dtype=` and `casting=` they take what NumPy takes, and no more, where primad has the dtypes."""
    for own, other in itertools.product((np.float64, np.float32, np.int64, np.bool_), (None, 1, 0.5)):
        args = (np.ones(3, own), other)[: ufunc.nin]
        if any(arg is None for arg in args):
            continue
        for dtype in (None, np.float32, np.float64, np.int32):
            plain = partial(ufunc, dtype=dtype, casting=casting)
            what = honoured_or_refused(lambda x, plain=plain, rest=args[1:]: plain(x, *rest), args[:1])
            assert what is None, (args, dtype, casting, what)


@pytest.mark.parametrize("ufunc", PLAIN)
def test_ufuncs_take_a_dtype_that_they_compute_in(ufunc: np.ufunc) -> None:
    """Where a call with operands of a dtype is recorded, so is one that asks for it."""
    args = (np.full(3, 0.5), np.full(3, 0.5))[: ufunc.nin]
    try:
        expected = ufunc(*args, dtype=np.float32)
        primad.trace(lambda x: ufunc(x, *[y.astype(np.float32) for y in args[1:]]))(args[0].astype(np.float32))
    except (TypeError, primad.PrimadError):
        return
    found = primad.trace(lambda x: ufunc(x, *args[1:], dtype=np.float32))(args[0])(args[0])
    for mine, theirs in zip(np.atleast_2d(found), np.atleast_2d(expected), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


RANKS = {np.matmul: (2, 2), np.vecdot: (1, 1), np.matvec: (2, 1), np.vecmat: (1, 2)}
"""How many axes of each operand are those of its matrix or vector; of matmul's, fewer where it has no more."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("ufunc", RANKS)
def test_products_take_any_axes_of_operands_and_of_the_result(ufunc: np.ufunc) -> None:
    """All axes of all operands of one to three axes, and results whose axes are put anywhere."""
    rng = np.random.default_rng(0)
    for ranks in itertools.product((1, 2, 3), repeat=2):
        own = [min(n, rank) if ufunc is np.matmul else n for n, rank in zip(RANKS[ufunc], ranks, strict=True)]
        if any(n > rank for n, rank in zip(own, ranks, strict=True)):
            continue
        x, y = (rng.normal(size=(2,) * rank) for rank in ranks)
        core = sum(own) - 2
        whole = core + max(rank - n for n, rank in zip(own, ranks, strict=True))
        places = [
            list(itertools.permutations(range(-n, 0), k)) for n, k in zip((*ranks, whole), (*own, core), strict=True)
        ]
        for axes in itertools.islice(itertools.product(*places), 40):
            found = primad.jit(lambda x, y, axes=axes: ufunc(x, y, axes=list(axes)), backend="reference")(x, y)
            np.testing.assert_allclose(found, ufunc(x, y, axes=list(axes)), rtol=1e-13, err_msg=f"{ranks} {axes}")


def test_dtype_of_ufuncs_is_a_conversion() -> None:
    x = np.array([0.3, 0.7])
    for n in (np, pnp):
        assert primad.jit(partial(n.multiply, dtype=np.float32))(x, 2).dtype == np.float32
        assert primad.grad(lambda x, n=n: np.sum(n.sin(x, dtype=np.float32)))(x).dtype == np.float64
        np.testing.assert_allclose(
            primad.grad(lambda x, n=n: np.sum(n.sin(x, dtype=np.float32)))(x), np.cos(x), rtol=1e-6
        )
        with pytest.raises(primad.TracingError, match=r"np\.add does not take .* with casting='no'"):
            primad.trace(lambda x, n=n: n.add(x, x, dtype=np.float32, casting="no"))(x)


REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "count_nonzero")


@pytest.mark.parametrize("name", REDUCTIONS)
def test_numbers_are_reduced_along_their_only_axis(name: str) -> None:
    for axis in (0, -1, None, ()):
        try:
            expected = getattr(np, name)(np.float64(3.0), axis=axis)
        except (TypeError, ValueError):
            continue
        found = primad.trace(partial(getattr(np, name), axis=axis))(1.5)(3.0)
        assert found == expected and np.shape(found) == ()
    with pytest.raises(ValueError, match="out of range"):
        primad.trace(partial(getattr(np, name), axis=1))(1.5)


BOUND: dict[str, tuple[Any, ...]] = {
    "astype": (np.float32,),
    "clip": (0.25,),
    "dot": (np.ones(3),),
    "repeat": (2,),
    "reshape": ((3, 3),),
    "swapaxes": (0, 1),
    "take": ([0, 1],),
}
"""What a method must be given."""
METHOD_OPTIONS = {
    "astype": ("order", "casting", "subok", "copy"), "copy": ("order",), "fill": (), "flatten": ("order",),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "name", [name for name in METHODS if callable(getattr(np.ndarray, name, None)) and not name.startswith("_")]
)
def test_no_option_of_a_method_is_dropped(name: str) -> None:
    x = RNG.standard_normal((3, 3))
    wrong = []
    for option in METHOD_OPTIONS[name] if name in METHOD_OPTIONS else options(getattr(np, name)):
        for value in SAMPLES.get(option, (np.empty((3, 3)),)):
            call = partial(_call, name, {option: value})
            what = honoured_or_refused(call, (x,))
            if (what is not None and (f"x.{name}", option) not in MORE) or (option == "out" and not _refuses(call, x)):
                wrong.append(f"x.{name}({option}={value!r}): {what}")
    assert not wrong


def _call(name: str, option: dict[str, Any], x: Any) -> Any:
    return getattr(x, name)(*BOUND.get(name, ()), **option)


def _refuses(call: Callable[..., Any], x: Any) -> bool:
    try:
        primad.trace(call)(x)
    except primad.PrimadError:
        return True
    return False


def test_parameters_stand_where_numpy_has_them() -> None:
    """Else an argument that is passed by position would be taken for another."""
    wrong = []
    for function, recorded in FUNCTIONS.items():
        if not callable(function) or not hasattr(function, "__module__"):
            continue
        try:
            theirs = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.KEYWORD_ONLY]
        except (TypeError, ValueError):
            continue
        ours = [p for p in inspect.signature(recorded).parameters.values() if p.kind is not p.KEYWORD_ONLY]
        variadic = any(p.kind is p.VAR_POSITIONAL for p in (*ours, *theirs))
        for mine, its in zip(ours, theirs, strict=False):
            if not variadic and mine.name not in {its.name, *OPERANDS}:
                wrong.append(f"{function.__name__}: {mine.name} for {its.name}")
    assert not wrong


NOT_SAID = {"may_share_memory", "shares_memory"}
"""Functions with a default for how long is searched, which traced arrays do not need."""


def test_defaults_are_numpys() -> None:
    wrong = {
        function.__name__: other_defaults(recorded, function)
        for function, recorded in FUNCTIONS.items()
        if inspect.isroutine(function) and function.__name__ not in NOT_SAID
    }
    assert len(wrong) > 200 and not {name: found for name, found in wrong.items() if found}


def test_every_function_is_tried() -> None:
    numpys = [f for f in (*FUNCTIONS, *UFUNCS) if str(getattr(f, "__module__", "")).startswith("numpy")]
    assert {np.result_type, *UNNAMED} >= set(numpys) - set(NAMED.values())


UNNAMED = {
    np.lib.stride_tricks.sliding_window_view, np.divmod, np.fabs, np.fmod, np.left_shift, np.right_shift,
    *[getattr(np.emath, name) for name in np.emath.__all__],
}  # fmt: skip
"""Ufuncs that primad.numpy does not list: what they are given goes through the same place as for all ufuncs. And what
stands deeper in NumPy; functions of `np.emath`, all of one or two arrays, have a test of their own."""


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32", "float64"])
@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_every_dtype_is_rounded_to_every_number_of_decimals(dtype: str, decimals: int) -> None:
    """As by NumPy, which refuses decimals of booleans only where it would scale them."""
    x = np.array([0.0, 1.26, 15.0, 115.0]).astype(dtype)
    for call in (lambda x: np.round(x, decimals), lambda x: np.around(x, decimals), lambda x: x.round(decimals)):
        if dtype == "bool" and decimals:
            with pytest.raises(TypeError):
                call(x)
            with pytest.raises(TypeError, match="astype"):
                primad.jit(call)(x)
            continue
        found, expected = primad.jit(call)(x), call(x)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("count", [0, 3, 16, 19, 24, 40, -5, None])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_bits_are_cut_or_filled_up_to_any_count(count: int | None, axis: int | None) -> None:
    x = np.array([[3, 200, 7], [1, 0, 255]], np.uint8)
    found = primad.jit(lambda x: np.unpackbits(x, axis, count))(x)
    np.testing.assert_array_equal(found, np.unpackbits(x, axis, count))


@pytest.mark.parametrize("axis", [None, (0,), [0], (0, 1), 1.0])
def test_what_takes_one_axis_refuses_everything_else(axis: object) -> None:
    """Where NumPy does; None is no axis, and neither are several in a row."""
    x = np.arange(6.0).reshape(2, 3)
    calls = {
        "swapaxes": lambda x: np.swapaxes(x, axis, 1),
        "rollaxis": lambda x: np.rollaxis(x, axis),
        "stack": lambda x: np.stack([x, x], axis),
        "diagonal": lambda x: np.diagonal(x, 0, axis, 1),
        "array_split": lambda x: np.array_split(x, 2, axis)[0],
    }
    refused = 0
    for call in calls.values():
        try:
            call(x)
        except (TypeError, ValueError):
            refused += 1
            with pytest.raises((TypeError, ValueError)):
                primad.trace(call)(x)
    assert refused >= 4


@pytest.mark.parametrize("make", [np.asanyarray, pnp.asanyarray], ids=["numpy", "primad"])
def test_plain_arrays_of_other_classes_stay_what_they_are(make):
    given = np.ma.masked_array([1.0, 2.0], [True, False])
    assert make(given) is given and type(pnp.asarray(given)) is np.ndarray


@pytest.mark.parametrize("shapes", [((0,), (2,)), ((2,), (0,)), ((2, 2), (2,)), ((2,), (2, 2))])
def test_polynomials_that_are_divided_have_coefficients(shapes):
    with pytest.raises(primad.ShapeError, match="polydiv: coefficients of shapes"):
        primad.jit(np.polydiv)(*map(np.ones, shapes))


@pytest.mark.parametrize("index", [True, False, np.True_, (True, 1), (slice(1), True), (None, False)])
def test_a_truth_value_is_no_place(index):
    """It is a mask without axes, and not the first or second row."""
    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(primad.jit(lambda x: x[index])(x), x[index])
    np.testing.assert_array_equal(primad.jit(lambda x: x[np.int8(-1), 1])(x), x[-1, 1])


@pytest.mark.parametrize("shapes", [((0,), (0,)), ((2, 2), (2,)), ((2,), (3,)), ((2,), (2, 1, 1))])
def test_polynomials_are_fitted_to_points(shapes):
    with pytest.raises(primad.ShapeError, match="fit: points of shape"):
        primad.jit(lambda x, y: pnp.polynomial.polynomial.polyfit(x, y, 0))(*map(np.ones, shapes))
