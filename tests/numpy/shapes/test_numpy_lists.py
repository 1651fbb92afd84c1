"""Lists that hold traced numbers stand wherever NumPy takes something like an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import primad
import primad.numpy as np

X = numpy.array([0.5, 1.5, 2.5, 3.5])
CALLS: dict[str, Callable[[Any], Any]] = {
    "concatenate": lambda x: np.concatenate([[x[0]], x[1:3], [1.0]]),
    "hstack": lambda x: np.hstack([[x[0]], x[1:3], [1.0], x[2]]),
    "vstack": lambda x: np.vstack([[x[0], 1.0], x[1:3]]),
    "stack": lambda x: np.stack([[x[0], 1.0], x[1:3]]),
    "cs": lambda x: np.column_stack([[x[0], 1.0], x[1:3]]),
    "dstack": lambda x: np.dstack([[x[0], 1.0], x[1:3]]),
    "block": lambda x: np.block([[x[0], x[1:3]], [1.0, x[:2]]]),
    "append": lambda x: np.append(x, [x[0], 1.0]),
    "insert": lambda x: np.insert(x, 1, [x[0], 1.0]),
    "where": lambda x: np.where([True, False], [x[0], 1.0], x[1:3]),
    "dot": lambda x: np.dot([x[0], 1.0], x[1:3]),
    "einsum": lambda x: np.einsum("i,i", [x[0], 1.0], x[1:3]),
    "matmul": lambda x: np.matmul([[x[0], 1.0]], x[1:3]),
    "@": lambda x: x[1:3] @ [x[0], 1.0],
    "-": lambda x: [x[0], 1.0] - x[1:3],
    "interp": lambda x: np.interp(x[0], [0.0, 1.0, 2.0], [x[0], x[1], x[2]]),
    "interp2": lambda x: np.interp(0.3, [0.0, 1.0, 2.0], [x[0], x[1], x[2]]),
    "polyval": lambda x: np.polyval([x[0], x[1]], x[2]),
    "polyval2": lambda x: np.polyval([x[0], x[1]], 2.0),
    "polyfit": lambda x: np.polyfit([0.0, 1.0, 2.0], [x[0], x[1], x[2]], 1),
    "trapz": lambda x: np.trapezoid([x[0], x[1]], [0.0, x[2]]),
    "trapz2": lambda x: np.trapezoid([1.0, 3.0], [x[0], x[2]]),
    "conv": lambda x: np.convolve([x[0], 1.0], [1.0, x[1]]),
    "outer": lambda x: np.outer([x[0], 1.0], [1.0, 2.0]),
    "cross": lambda x: np.cross([x[0], 1.0, 2.0], [1.0, 2.0, x[1]]),
    "kron": lambda x: np.kron([x[0]], [1.0, x[1]]),
    "average": lambda x: np.average([x[0], 2.0], weights=[x[1], 1.0]),
    "average2": lambda x: np.average([1.0, 2.0], weights=[x[1], 1.0]),
    "cov": lambda x: np.cov([x[0], 2.0, 1.0], [x[1], 1.0, 5.0]),
    "clip": lambda x: np.clip([x[0], 1.0], [0.0, x[1]], 2.0),
    "select": lambda x: np.select([[True, False]], [[x[0], 1.0]], [x[1], 2.0]),
    "choose": lambda x: np.choose([0, 1], [[x[0], 1.0], [2.0, x[1]]]),
    "take": lambda x: np.take([x[0], x[1]], [1]),
    "linsolve": lambda x: np.linalg.solve([[x[0], 1.0], [0.0, x[1]]], [1.0, x[2]]),
    "norm": lambda x: np.linalg.norm([x[0], x[1]]),
    "det": lambda x: np.linalg.det([[x[0], 1.0], [0.0, x[1]]]),
    "diag": lambda x: np.diag([x[0], x[1]]),
    "pad": lambda x: np.pad([x[0], x[1]], 1),
    "tile": lambda x: np.tile([x[0], 1.0], 2),
    "repeat": lambda x: np.repeat([x[0], 1.0], 2),
    "roll": lambda x: np.roll([x[0], 1.0], 1),
    "meshgrid": lambda x: np.meshgrid([x[0], 1.0], [1.0, x[1]])[0],
    "array": lambda x: np.array([[x[0], 1.0], [2, x[1]]]),
    "hypot": lambda x: np.hypot([x[0], 1.0], 2.0),
    "vdot": lambda x: np.vdot([x[0], 1.0], [1.0, 2.0]),
    "inner": lambda x: np.inner([x[0], 1.0], [1.0, 2.0]),
    "tensordot": lambda x: np.tensordot([[x[0], 1.0]], [1.0, x[1]], 1),
    "searchsorted": lambda x: np.searchsorted([0.0, 1.0, 2.0], [x[0], x[1]]) * 1.0,
    "ediff1d": lambda x: np.ediff1d([x[0], 2.0], to_end=[x[1]]),
    "diff": lambda x: np.diff([x[0], 2.0], prepend=[x[1]]),
    "gradient": lambda x: np.gradient([x[0], 2.0, 1.0], [0.0, 1.0, 3.0]),
    "full": lambda x: np.full((2,), [x[0], 1.0]),
    "linspace": lambda x: np.linspace([x[0], 1.0], [2.0, x[1]], 3),
    "lerp": lambda x: np.quantile([x[0], 2.0, x[1]], 0.3),
    "maximum.reduce": lambda x: np.maximum.reduce([x[0], x[1]]),
    "vander": lambda x: np.vander([x[0], x[1]]),
    "multidot": lambda x: np.linalg.multi_dot([[[x[0], 1.0]], [[1.0], [x[1]]]]),
    "set": lambda x: np.set_at(x, [0, 1], [x[2], 1.0]),
    "chebval": lambda x: np.polynomial.chebyshev.chebval(0.5, [x[0], 1.0]),
    "histogram": lambda x: np.histogram([0.1, 0.6], 2, weights=[x[0], 1.0])[0],
    "isclose": lambda x: np.isclose([x[0]], [1.0]) * 1.0,
    "ldexp": lambda x: np.ldexp([x[0], 1.0], [1, 2]),
}


EMPTY: dict[str, Callable[[Any], Any]] = {
    "piecewise": lambda x: np.piecewise(x, [], [lambda v: v]),
    "select": lambda x: np.select([], [], x),
    "choose": lambda x: np.choose(x.astype(int), []),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_list_of_nothing_is_refused_as_numpys(name: str) -> None:
    with pytest.raises((ValueError, IndexError)) as refused:
        EMPTY[name](X)
    with pytest.raises(type(refused.value)):
        primad.trace(EMPTY[name])(X)


@pytest.mark.parametrize("name", CALLS)
def test_a_list_of_traced_numbers_is_an_array(name: str) -> None:
    call = CALLS[name]
    expected = numpy.asarray(call(X))
    found = numpy.asarray(primad.jit(call, backend="reference")(X))
    assert found.dtype == expected.dtype
    numpy.testing.assert_allclose(found, expected, rtol=1e-12)
    step = numpy.array([0.3, -0.2, 0.5, 0.1])
    slope = primad.jvp(call, (X,), (step,))[1]
    rise = numpy.asarray(call(X + 1e-6 * step)) - numpy.asarray(call(X - 1e-6 * step))
    numpy.testing.assert_allclose(slope, rise / 2e-6, rtol=1e-6, atol=1e-7)
