"""Histograms with every kind of bins are NumPy's: counts, edges, weights, densities, in one axis and several."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import primad

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of a density in a bin without a width
RNG = np.random.default_rng(0)
X, Y, WEIGHTS = RNG.normal(size=40), RNG.normal(size=40), RNG.uniform(1.0, 2.0, size=40)
EDGES = [-1.0, 0.0, 0.0, 0.5, float(X.max())]
ESTIMATES = ["auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"]


def same(call: Any) -> None:
    """Check a call of arrays, of which the first is traced, against NumPy's."""
    found = primad.vjp(lambda x: primad.recording.tree.leaves(call(x)), X)[0]
    for ours, theirs in zip(found, primad.recording.tree.leaves(call(X)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-15)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("bins", [1, 5, EDGES, np.array([-1, 0, 2]), *ESTIMATES], ids=str)
def test_every_kind_of_bins(bins: Any) -> None:
    for range, weights in itertools.product((None, (-1.0, 0.9)), (None, WEIGHTS)):
        if weights is None or not isinstance(bins, str):
            same(lambda x, r=range, w=weights: np.histogram_bin_edges(x, bins, r, w))
            for density in (False, True):
                same(lambda x, r=range, w=weights, d=density: np.histogram(x, bins, r, d, w))


def test_weights_have_no_estimate() -> None:
    for bins in ESTIMATES:
        with pytest.raises(primad.PrimadError, match="with weights"):
            primad.vjp(lambda x, b=bins: np.histogram(x, b, weights=WEIGHTS)[1], X)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("bins", [3, (4, 2), (EDGES, 3), [EDGES, [0, 1]], EDGES], ids=str)
def test_every_kind_of_bins_in_two_axes(bins: Any) -> None:
    for range, weights, density in itertools.product((None, [(-1, 2), (0, 1)]), (None, WEIGHTS), (False, True)):
        same(lambda x, r=range, w=weights, d=density: np.histogram2d(x, Y, bins, r, d, w))
        if bins is not EDGES:
            same(lambda x, r=range, w=weights, d=density: np.histogramdd([x, Y], bins, r, d, w))
            same(lambda x, r=range, w=weights, d=density: np.histogramdd(np.stack([x, Y], 1), bins, r, d, w))


def test_places_of_no_bin_and_no_values() -> None:
    for values, bins, range in itertools.product(
        ([], [0.5], [2.0, 2.0], [-1, 0, 1, 1, 3], [0.0, 1.0, 2.0, 2.5]), (4, [0.0, 1.0, 2.0]), (None, (0, 2), (1, 1))
    ):
        x, call = np.array(values, float), lambda x, b=bins, r=range: np.histogram(x, b, r)
        for ours, theirs in zip(primad.vjp(call, x)[0], call(x), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_one_number_of_bins_for_two_axes_is_no_list() -> None:
    for call in (lambda x: np.histogram2d(x, Y, [5])[0], lambda x: np.histogramdd([x, Y], [5])[0]):
        for compute in (call, lambda x, call=call: primad.vjp(call, x)):
            with pytest.raises(ValueError):
                compute(X)
