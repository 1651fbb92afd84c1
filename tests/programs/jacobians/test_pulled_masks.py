"""Rows of a Jacobian where masks of cotangents depend on the cotangents: no part of a sum is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primad
from primad.numpy.elementwise.ufuncs import defined_where

X = np.random.default_rng(1).uniform(0.2, 1.3, (5, 5))
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "times the median": lambda x: x * np.median(np.sin(x), axis=1, keepdims=True),
    "less the median": lambda x: np.sin(x) - np.median(x - np.mean(x, axis=1, keepdims=True), axis=1, keepdims=True),
    "at most the median": lambda x: np.minimum(y := np.sin(x), np.median(y, axis=1, keepdims=True)),
    "of columns": lambda x: x * np.median(np.sin(x), axis=0),
    "and rolled": lambda x: np.roll(x, 1, 0) * np.median(np.cos(x), axis=1, keepdims=True),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("chosen", [np.tril, lambda y: np.where(X.T > 0.7, y, 0.0), lambda y: y])
def test_rows_are_those_of_the_pullback(name: str, chosen: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        return chosen(FUNCTIONS[name](x))

    want = np.asarray(primad.jacfwd(f)(X))
    np.testing.assert_allclose(np.asarray(primad.jacrev(f)(X)), want, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(np.asarray(primad.jacobian(f)(X)), want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("condition", [np.array([True, True]), np.array([True, False]), True])
@pytest.mark.parametrize("shown", [lambda y: np.broadcast_to(y[1], (2,)), lambda y: y[1] * y[:2], lambda y: y[2:0:-1]])
def test_what_is_kept_of_a_sum_over_rows_is_decided_with_it(condition: Any, shown: Callable[[Any], Any]) -> None:
    """A sum over many rows, and whether any of them counts, are two values, of which neither has rows alone."""

    def f(x: Any) -> Any:
        return defined_where(condition, shown(np.sin(x)))

    x = np.array([1.0, 2.0, 3.0])
    want = np.asarray(primad.jacfwd(f)(x))
    assert np.any(want[0] != 0)
    for found in (primad.jacrev(f)(x), primad.jacobian(f)(x)):
        np.testing.assert_allclose(np.asarray(found)[0], want[0], rtol=1e-12)
