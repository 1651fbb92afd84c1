"""logsumexp with weights: SciPy's values, and derivatives in both arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

import primad
from primad.numpy.special import logsumexp

X = np.array([[1.0, 2.0, -3.0], [0.0, 700.0, -np.inf]])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("b", [np.array([[1.0, 2.0, 0.0], [0.5, 1.0, 2.0]]), np.array([2, 1, 0]), 3.0, np.zeros(3)])
def test_weighted_sums_are_scipys(axis: Any, b: Any) -> None:
    for keepdims in (False, True):
        with np.errstate(all="ignore"):
            wanted = special.logsumexp(X, axis=axis, b=b, keepdims=keepdims)
        found = primad.jit(lambda x, b: logsumexp(x, axis=axis, b=b, keepdims=keepdims))(X, b)  # noqa: B023
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_derivatives_by_values_and_by_weights() -> None:
    x, b = np.array([1.0, -2.0, 800.0]), np.array([1.0, 0.25, 0.5])
    primad.check_grads(lambda x, b: logsumexp(x, b=b), (np.array([1.0, -2.0, 3.0]), b), order=2)
    np.testing.assert_allclose(primad.grad(lambda x: logsumexp(x, b=b))(x), [0.0, 0.0, 1.0], atol=1e-300)
    none = primad.grad(lambda x: logsumexp(x, b=[1.0, -0.5, 0.0]))(np.array([2.0, 1.0, -np.inf]))
    np.testing.assert_allclose(none, np.array([np.e, -0.5, 0.0]) / (np.e - 0.5))
    assert np.isnan(primad.jit(lambda x: logsumexp(x, b=-b))(x))


def test_derivatives_by_weights_that_are_zero() -> None:
    """By b it is exp(x) / Σ b·exp(x), also where b is 0; by an x without a weight it is 0."""
    x, b = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 1.0])
    share = np.exp(x) / np.sum(b * np.exp(x))
    np.testing.assert_allclose(primad.grad(lambda b: logsumexp(x, b=b))(b), share, rtol=1e-14)
    np.testing.assert_allclose(primad.hessian(lambda b: logsumexp(x, b=b))(b)[:], -np.outer(share, share), rtol=1e-14)
    mixed = primad.jacobian(primad.grad(lambda b, x: logsumexp(x, b=b)), 1)(b, x)
    np.testing.assert_allclose(mixed[:], np.diag(share) - np.outer(share, b * share), rtol=1e-14, atol=1e-16)
    for far in (np.inf, np.nan, 2000.0, -np.inf):  # what has no weight counts for nothing
        found = primad.value_and_grad(lambda x: logsumexp(x, b=b))(np.array([far, 2.0, 3.0]))
        np.testing.assert_allclose(found[0], special.logsumexp([2.0, 3.0]), rtol=1e-15)
        np.testing.assert_allclose(found[1], [0.0, *special.softmax([2.0, 3.0])], rtol=1e-14)
