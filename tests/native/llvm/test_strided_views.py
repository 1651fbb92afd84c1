"""How vectors are moved whose elements lie apart, or are few: the accesses that are written."""

from __future__ import annotations

import re

import pytest

from primad.native.llvm.strided_views import Code

LOADS = re.compile(r"= load |= call .*masked\.load")


def loads(stride: int, part: int, lanes: int) -> tuple[int, bool]:
    """Return how many loads are written for the first elements of a vector of float64, and whether one has a mask."""
    code = Code()
    code.load_lanes("double", "%p", stride, part, lanes, "zeroinitializer")
    found = LOADS.findall("\n".join(code.lines))
    return len(found), any("masked" in each for each in found)


@pytest.mark.parametrize(
    ("stride", "lanes", "expected"),
    [(2, 8, 2), (3, 8, 3), (4, 8, 4), (5, 8, 8), (2, 4, 4), (4, 4, 4), (2, 16, 2), (4, 16, 4), (5, 16, 16)],
)
def test_elements_a_few_apart_are_picked_out_of_whole_vectors(stride: int, lanes: int, expected: int) -> None:
    """Of 8 lanes and more, and up to 4 apart: whole vectors are loaded, elsewhere each element by itself."""
    assert loads(stride, lanes, lanes) == (expected, False)


@pytest.mark.parametrize(
    ("part", "lanes", "expected"),
    [
        (2, 8, (1, False)),
        (3, 8, (2, False)),
        (4, 8, (1, False)),
        (5, 8, (1, True)),  # more than half of a vector
        (7, 16, (1, True)),  # of three pieces
        (6, 16, (2, False)),
        (8, 16, (1, False)),
        (8, 8, (1, False)),
    ],
)
def test_short_rows_are_moved_by_at_most_two_pieces(part: int, lanes: int, expected: tuple[int, bool]) -> None:
    assert loads(1, part, lanes) == expected
