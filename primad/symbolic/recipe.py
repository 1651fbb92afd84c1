"""Recipes: what an expression computes, as steps over numbered values, each made once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Recipe:
    """Straight-line code: a list of steps, each a function of values that are there before it.

    The values are numbered: first the `given` ones, which `run` takes, then numbers and results of steps as they come.
    A step that exists is not made again, so equal parts of expressions are computed once.

    Args:
        given: how many values `run` takes.
    """

    def __init__(self, given: int) -> None:
        self.given = given
        self._numbers: dict[int, complex] = {}
        self._steps: list[tuple[int, Callable[..., Any], tuple[int, ...]]] = []
        self._known: dict[Any, int] = {}

    def number(self, value: complex) -> int:
        """Return the place of a number."""
        place = self._place(("number", repr(value)))
        self._numbers[place] = value
        return place

    def step(self, function: Callable[..., Any], *operands: int) -> int:
        """Add a function of the values in some places as a step; return the place of its result."""
        size = len(self._known)
        place = self._place((function, operands))
        if len(self._known) > size:
            self._steps.append((place, function, operands))
        return place

    def _place(self, key: Any) -> int:
        return self._known.setdefault(key, self.given + len(self._known))

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self._steps)

    def keep(self, wanted: Sequence[int]) -> None:
        """Drop the steps that none of the wanted values needs."""
        needed = set(wanted)
        kept = []
        for step in reversed(self._steps):
            if step[0] in needed:
                needed.update(step[2])
                kept.append(step)
        self._steps = kept[::-1]

    def uses(self, place: int) -> bool:
        """Say whether a step uses a value."""
        return any(place in operands for _, _, operands in self._steps)

    def run(self, given: Sequence[Any], wanted: Sequence[int]) -> list[Any]:
        """Compute the values in the wanted places."""
        values: dict[int, Any] = {**dict(enumerate(given)), **self._numbers}
        for place, function, operands in self._steps:
            values[place] = function(*[values[operand] for operand in operands])
        return [values[place] for place in wanted]
