"""The table of cases, for tests: every built-in op, and shapes and params drawn by hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from primad.verify.cases.case_table import cases

CASES = cases()
NAMES = list(CASES)


class Drawn:
    """Choices that hypothesis makes."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def integer(self, low: int, high: int) -> int:
        return self._data.draw(st.integers(low, high))

    def among(self, items: Any) -> Any:
        return self._data.draw(st.sampled_from(list(items)))
