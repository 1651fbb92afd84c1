"""The quadrature on simplices is exact for the polynomials that elements integrate."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from primad.pde.elements.lagrange import quadrature


@pytest.mark.parametrize(("dimension", "degree"), list(product((0, 1, 2, 3), (1, 2))))
def test_polynomials_of_twice_the_degree_are_integrated_exactly(dimension: int, degree: int) -> None:
    """The mean of λ₁ᵃ λ₂ᵇ … over a simplex of n dimensions is a! b! … n! / (a + b + … + n)!."""
    at, weights = quadrature(dimension, degree)
    assert np.all(at > 0) and np.all(weights > 0)
    np.testing.assert_allclose(at.sum(axis=1), 1, rtol=1e-14)
    for powers in product(range(2 * degree + 1), repeat=dimension + 1):
        if sum(powers) <= 2 * degree:
            below = math.factorial(sum(powers) + dimension)
            exact = math.prod(map(math.factorial, powers)) * math.factorial(dimension) / below
            if not dimension:
                exact = 1.0
            assert weights @ np.prod(at ** np.array(powers), axis=1) == pytest.approx(exact, rel=1e-12), powers
