"""All roots in a box are found, each is proven, and no box reaches past the edges of the one that was given."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from primad.enclosures import IntervalArray, roots


def step(x: Any) -> Any:
    return np.where(x > 0, x + 1.0, x)


def test_all_roots_are_found_and_proven() -> None:
    found = roots(lambda x: np.cos(x) * (x - 1.0), IntervalArray(-9.0, 9.0))
    expected = sorted([1.0, *(np.pi * (k + 0.5) for k in range(-3, 3))])
    assert found.complete and len(found.proven) == len(expected)
    for (box,), root in zip(found.proven, expected, strict=True):
        assert box.low <= root <= box.high and box.width < 1e-8
    crossing = roots(lambda x: [x[0] ** 2 + x[1] ** 2 - 4.0, x[0] * x[1] - 1.0], IntervalArray([-3, -3], [3, 3]))
    assert crossing.complete and len(crossing.proven) == 4
    double = roots(lambda x: (x - 0.3) ** 2, IntervalArray(-1.0, 1.0))
    assert not double.complete and not double.proven
    assert any(0.3 in box for (box,) in double.undecided)
    assert roots(lambda x: np.exp(x) + 0.1, IntervalArray(-9.0, 9.0)).complete
    jump = roots(step, IntervalArray(-1.0, 1.0), width=1e-3)
    assert not jump.proven


AT_EDGES: dict[str, tuple[Any, tuple[float, float], list[float]]] = {
    "of x": (lambda x: x, (0.0, 1.0), [0.0]),
    "at both": (lambda x: x * x - x, (0.0, 1.0), [0.0, 1.0]),
    "a little outside": (lambda x: x * x - x, (1e-14, 1.0 - 1e-14), []),
    "a little inside": (lambda x: x * x - x, (-1e-14, 1.0 + 1e-14), [0.0, 1.0]),
    "of a wave": (np.sin, (0.0, 10.0), [0.0, np.pi, 2 * np.pi, 3 * np.pi]),
    "between halves": (lambda x: np.sin(x) * np.exp(0.3 * x), (-4.0, 4.0), [-np.pi, 0.0, np.pi]),
    "between quarters": (lambda x: np.sin(3.0 * x - 3.0) * (x * x + 0.1), (0.0, 4.0), [
        1.0, 1.0 + np.pi / 3, 1.0 + 2 * np.pi / 3,
    ]),
}  # fmt: skip
"""Functions, boxes, and the roots that lie in them."""


@pytest.mark.parametrize("name", AT_EDGES)
def test_roots_at_edges_are_told_from_those_beside_them(name: str) -> None:
    function, ends, expected = AT_EDGES[name]
    found = roots(function, IntervalArray(*ends))
    assert found.complete and len(found.proven) == len(expected), found
    for (box,), root in zip(found.proven, expected, strict=True):
        assert ends[0] <= box.low <= box.high <= ends[1]
        assert box.low - 1e-15 <= root <= box.high + 1e-15 and box.width < 1e-8


def test_a_root_that_may_be_on_either_side_of_an_edge_is_undecided() -> None:
    """π is no number of float64; that on its left is told from it, at that on its right roundings hide it."""
    last = np.nextafter(np.pi, 4.0)
    assert roots(np.sin, IntervalArray(1.0, np.pi)).complete and not roots(np.sin, IntervalArray(1.0, np.pi)).proven
    found = roots(np.sin, IntervalArray(1.0, last))
    boxes = [box for (box,) in (*found.proven, *found.undecided)]
    assert len(boxes) == 1 and boxes[0].high <= last and boxes[0].low <= np.pi


def test_a_root_that_is_nearly_on_an_edge_is_not_said_to_be_on_it() -> None:
    """That of exp(x) = e, rounded, is not 1, and bounds of exp do not tell."""
    with mpmath.workdps(40):
        root = mpmath.log(mpmath.mpf(np.e))
    found = roots(lambda x: np.exp(x) - np.e, IntervalArray(0.0, 1.0))
    with mpmath.workdps(40):
        assert all(mpmath.mpf(float(box.low)) <= root <= mpmath.mpf(float(box.high)) for (box,) in found.proven)
    assert len(found.proven) + len(found.undecided) == 1


@pytest.mark.parametrize("corner", [(1.0, 1.0), (1.0, 2.0), (1.0 - 1e-12, 2.0), (1.0 + 1e-12, 1.0 + 1e-12)])
def test_roots_in_corners(corner: tuple[float, float]) -> None:
    """x² + y² = 2 and x = y, whose root is (1, 1)."""
    found = roots(lambda x: [x[0] ** 2 + x[1] ** 2 - 2.0, x[0] - x[1]], IntervalArray([0.0, 0.0], corner))
    inside = min(corner) >= 1.0
    assert found.complete and len(found.proven) == inside
    for (box,) in found.proven:
        assert np.all(box.low >= 0.0) and np.all(box.high <= corner) and [1.0, 1.0] in box


def test_no_box_leaves_the_one_that_was_given() -> None:
    """Whatever is drawn: polynomials with roots in tenths, some of them at the edges."""
    rng = np.random.default_rng(6)
    for _ in range(12):
        places = np.unique(rng.integers(-8, 9, 3)) / 8.0
        low, high = sorted(rng.choice(np.arange(-8, 9), 2, replace=False) / 8.0)
        found = roots(lambda x, at=places: np.prod(np.stack([x - a for a in at])), IntervalArray(low, high))
        boxes = [box for (box,) in (*found.proven, *found.undecided)]
        assert all(low <= box.low and box.high <= high for box in boxes)
        for place in places[(places >= low) & (places <= high)]:
            assert any(box.low <= place <= box.high for box in boxes)
        assert found.complete and len(found.proven) == np.count_nonzero((places >= low) & (places <= high))
