"""Dtypes of special functions are SciPy's, also of half precision and whole numbers, or the call is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import primad
import primad.scipy.special as ours

PLACES = [0.5, 0.25, 1.5, 0.75]
WRAPPED = {"comb": 2, "perm": 2, "factorial": 1, "zeta": 1, "lambertw": 1}
"""Python functions around SciPy's loops, and how many operands they take."""
UFUNCS = {
    name: getattr(scipy.special, name).nin
    for name in dir(ours)
    if isinstance(getattr(scipy.special, name, None), np.ufunc) and getattr(scipy.special, name).nin <= len(PLACES)
}


def called(name: str) -> Callable[..., Any]:
    function = getattr(ours, name)
    return lambda *operands: function(*operands)


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32])
def test_dtypes_are_scipys(dtype: type) -> None:
    wrong, asked = {}, 0
    for name, count in {**UFUNCS, **WRAPPED}.items():
        operands = [np.array([x, x], dtype) for x in PLACES[:count]]
        try:
            with np.errstate(all="ignore"):
                wanted = getattr(scipy.special, name)(*operands)
            found = primad.jit(called(name), backend="reference")(*operands)
        except (TypeError, ValueError, primad.TracingError):
            continue
        asked += 1
        pairs = zip(*[x if isinstance(x, tuple) else (x,) for x in (wanted, found)], strict=True)
        if any(want.dtype != np.asarray(got).dtype for want, got in pairs):
            wrong[name] = wanted, found
    assert wrong == {}
    assert asked > 100
