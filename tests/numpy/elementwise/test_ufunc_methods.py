"""The methods of ufuncs on a grid of options and shapes: NumPy's results and derivatives, or its refusals."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import primad
import primad.numpy
from primad.recording.protocols import UFUNCS
from tests.sweeps import thinned

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
BINARY = [u for u in UFUNCS if isinstance(u, np.ufunc) and (u.nin, u.nout, u.signature) == (2, 1, None)]
BINARY = [u for u in BINARY if any(len({*types[:2]}) == 1 for types in u.types)]  # ldexp's operands have two
BINARY = sorted({u.__name__: u for u in BINARY if hasattr(np, u.__name__)}.values(), key=lambda u: u.__name__)
RNG = np.random.default_rng(8)
SHAPES = [(), (1,), (3,), (2, 3), (0,), (0, 2), (2, 1, 3)]
WHERE = [np.array(True), np.array([True, False, True]), np.array([[True], [False]])]


def oracle(ufunc: np.ufunc) -> None:
    """Skip where NumPy's own reduction is not what its elements one after the other give.

    That of np.power and np.arctan2 is wrong on processors with AVX-512 (NumPy 2.4).
    """
    three = [1.3, 2.1, 1.7]
    try:
        found = ufunc.reduce(np.array(three))
    except TypeError:
        return
    if not np.allclose(found, functools.reduce(ufunc, three)):
        pytest.skip(f"np.{ufunc.__name__}.reduce gives another value than its elements one after the other")


@pytest.mark.parametrize("ufunc", [np.power, np.arctan2, np.subtract, np.hypot], ids=lambda u: u.__name__)
def test_reductions_are_folds(ufunc: np.ufunc) -> None:
    x = RNG.uniform(0.5, 1.5, (4, 3))
    rows = list(itertools.accumulate(x, ufunc))
    for found, expected in (
        (primad.jit(lambda a: ufunc.reduce(a))(x), rows[-1]),
        (primad.jit(lambda a: ufunc.accumulate(a))(x), np.stack(rows)),
        (primad.jit(lambda a: ufunc.reduceat(a, [0, 2]))(x), np.stack([rows[1], ufunc(x[2], x[3])])),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def reductions() -> Iterator[dict[str, Any]]:
    for axis in (0, -1, 1, None, (), (0,), (0, 1), (1, 1), (2, 0), 1.0):
        yield {"axis": axis}
        yield {"axis": axis, "keepdims": True}
    for axis in (0, None):
        yield {"axis": axis, "initial": 2.0}
        yield {"axis": axis, "dtype": np.float32}
        for where in WHERE:
            yield {"axis": axis, "where": where}
            yield {"axis": axis, "where": where, "initial": 1.5}
    yield {"initial": None}


GRID: dict[str, list[dict[str, Any]]] = {
    "reduce": list(reductions()),
    "accumulate": [
        *({"axis": axis} for axis in (0, -1, 1, None, (), (0,), (0, 1), 1.0)),
        {"dtype": np.float32},
    ],
    "reduceat": [
        *({"axis": axis, "indices": [0]} for axis in (0, -1, 1, None, (0,), (0, 1))),
        *({"indices": indices} for indices in ([], [2, 0, 1], [0, 0], [3], [-1], [[0]])),
        {"indices": np.zeros(0, np.int64), "axis": 1},
        {"indices": [0, 1], "dtype": np.float32},
    ],
}
DTYPES = ["float64", "float32", "int64", "bool"]


def differs(plain: Any, x: Any) -> str | None:
    """Say how a traced call of a function of one array differs from NumPy's."""
    refused = (TypeError, ValueError, IndexError)
    try:
        expected: Any = plain(x)
    except refused as error:
        expected = error
    try:
        found: Any = primad.trace(plain)(x)(x)
    except primad.PrimadError as error:
        found = error
    if isinstance(expected, Exception) or isinstance(found, Exception):
        both = isinstance(expected, Exception) and isinstance(found, Exception)
        return None if both else f"{found!r} for {expected!r}"
    found, expected = np.asarray(found), np.asarray(expected)
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    rtol = 1e-5 if expected.dtype == np.float32 else 1e-12
    return None if np.allclose(found, expected, rtol, 1e-12, equal_nan=True) else f"{found} for {expected}"


@pytest.mark.one_in(4)
@thinned(2, ufunc=BINARY, method=list(GRID))
def test_every_option_is_as_numpys(ufunc: np.ufunc, method: str) -> None:
    oracle(ufunc)
    wrong = []
    for number, options in enumerate(GRID[method]):
        for shape in SHAPES[(number + BINARY.index(ufunc)) % 2 :: 2]:
            dtype = DTYPES[0] if (number + len(shape)) % 3 else DTYPES[(number // 3) % 4]
            x = RNG.uniform(0.5, 2.5, shape).astype(dtype)
            what = differs(lambda a, o=options: getattr(ufunc, method)(a, **o), x)
            if what is not None:
                wrong.append(f"{ufunc.__name__}.{method}({dtype}{shape}, {options}): {what}")
    assert not wrong


@pytest.mark.one_in(12)
@pytest.mark.parametrize("ufunc", BINARY, ids=lambda u: u.__name__)
def test_derivatives_are_those_of_the_values(ufunc: np.ufunc) -> None:
    """They are checked by finite differences, and a jitted call and a differentiated one give the traced value."""
    oracle(ufunc)
    x = np.array([[1.31, 2.07, 0.83], [0.59, 1.71, 2.43]])
    try:
        if ufunc.reduce(x).dtype.kind != "f":
            return
    except TypeError:
        return
    calls: list[Any] = [
        lambda a: ufunc.reduce(a, axis=1, keepdims=True),
        lambda a: ufunc.reduce(a, axis=0, where=WHERE[1], initial=1.5),
        lambda a: ufunc.accumulate(a, axis=-1),
        lambda a: ufunc.reduceat(a, [1, 0, 2], axis=1),
    ]
    for call in calls:
        expected = call(x)
        for found in (primad.jit(call)(x), primad.vjp(call, x)[0]):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        primad.check_grads(call, (x,), order=1)


INDICES: list[Any] = [
    0,
    [0, 0, 2, 0],
    slice(None),
    [True, False, True],
    ([2, 1, 2], [0, 1, 0]),
    (slice(None), [1, 1]),
    [],
]


@pytest.mark.one_in(12)
@pytest.mark.parametrize("ufunc", [*BINARY, np.negative, np.exp, np.sqrt], ids=lambda u: u.__name__)
def test_writes_at_repeated_places_follow_each_other(ufunc: np.ufunc) -> None:
    x = RNG.uniform(0.5, 1.5, (3, 2))

    def at(module: Any, a: Any, index: Any, *values: Any) -> Any:
        y = module.array(a)
        ufunc.at(y, index, *values)
        return y * 1

    cases = list(itertools.product(("float64", "int64"), INDICES))
    for dtype, index in cases[sum(ufunc.__name__.encode()) % 4 :: 4]:  # all of them over all ufuncs
        given = x.astype(dtype) + (dtype == "int64")
        values = [RNG.uniform(0.5, 1.5, np.shape(given[index])).astype(dtype) + 1] * (ufunc.nin - 1)
        try:
            expected = at(np, given, index, *values)
        except (TypeError, ValueError):
            with pytest.raises((TypeError, ValueError)):
                primad.jit(lambda a, *v, i=index: at(primad.numpy, a, i, *v))(given, *values)
            continue
        try:
            found = primad.jit(lambda a, *v, i=index: at(primad.numpy, a, i, *v))(given, *values)
        except primad.PrimadError as error:  # NumPy cuts off what is behind the point
            assert dtype == "int64" and "same_kind" in str(error)
            assert ufunc(*[given[:1]] * ufunc.nin).dtype == np.float64
            continue
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    if ufunc.types[-1][-1] == "d" or "dd->d" in ufunc.types or "d->d" in ufunc.types:
        apart = np.array([[1.5, 1.0], [0.8, 0.9], [0.6, 1.45]]) / (10 if ufunc.nin == 1 else 1)
        values = [np.array([[0.43, 0.4], [1.9, 1.75], [0.7, 0.75], [1.2, 1.25]])] * (ufunc.nin - 1)
        primad.check_grads(lambda a, *v: at(primad.numpy, a, [0, 2, 0, 0], *v), (apart, *values), order=1)
