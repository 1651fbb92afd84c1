"""Captured arrays are one constant where they have the same type and the same bits, and only there."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from primad.ir.node import same_bits

NUMBERS = [0.0, -0.0, 1.0, np.nan, -np.nan, np.inf, 5e-324]
DTYPES = ["float16", "float32", "float64", "int8", "int32", "uint64", "bool"]


def arrays(dtype: str) -> list[np.ndarray]:
    if dtype.startswith("float"):
        return [np.array([1.0, number]).astype(dtype) for number in NUMBERS]
    return [np.array([1, number]).astype(dtype) for number in (0, 1)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_are_the_same_where_all_bits_are(dtype: str) -> None:
    some = [*arrays(dtype), np.ones((1, 2), dtype), np.ones(2, "float64" if dtype == "float32" else "float32")]
    for x, y in itertools.product(some, repeat=2):
        alike = x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
        assert same_bits(x, y.copy()) == alike, (x, y)
        assert same_bits(np.repeat(x, 2, -1)[..., ::2], y) == alike, "a view that is not contiguous"
