"""What becomes of axes when indices get other lengths, or are dropped: single ones, and those merged in one axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap, Factors

MERGED = AxisMap(((Factors(("a", "b"), (2, 3)), "c", None),), (("a", "b", "c"),))
"""An operand whose first axis is two indices of the result, and whose last one is mixed."""
CHANGES: dict[str, tuple[dict[Any, int | None], Any, Any]] = {
    "nothing": ({}, ((0, 1, 2), (6, 4, 5)), ((0, 1, 2), (2, 3, 4))),
    "a longer one": ({"a": 7}, ((0, 1, 2), (21, 4, 5)), ((0, 1, 2), (7, 3, 4))),
    "the first of two is dropped": ({"a": None}, ((0, 1, 2), (3, 4, 5)), ((1, 2), (3, 4))),
    "the second of two is dropped": ({"b": None}, ((0, 1, 2), (2, 4, 5)), ((0, 2), (2, 4))),
    "one is dropped and the other longer": ({"a": None, "b": 8}, ((0, 1, 2), (8, 4, 5)), ((1, 2), (8, 4))),
    "both are dropped": ({"a": None, "b": None}, ((1, 2), (4, 5)), ((2,), (4,))),
    "one that is alone": ({"c": None}, ((0, 2), (6, 5)), ((0, 1), (2, 3))),
    "all of them": ({"a": None, "b": None, "c": None}, ((2,), (5,)), ((), ())),
}


@pytest.mark.parametrize("name", CHANGES)
def test_axes_change_with_their_indices(name: str) -> None:
    lengths, *expected = CHANGES[name]
    types = [ArrayType(shape, np.dtype(float)) for shape in ((6, 4, 5), (2, 3, 4))]
    change = MERGED.change(lengths, types[:1], types[1:])
    assert [(new.old, new.shape) for new in (*change.operands, *change.results)] == expected
