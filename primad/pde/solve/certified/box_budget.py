"""Boxes that searches may look at together, and how far they have come, shown where somebody looks on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from primad.enclosures import IntervalArray, Range, range_of
from primad.system.live_display import LiveDisplay, counting_bar, is_notebook


class BoxBudget:
    """How many boxes searches may look at in all: the work of a proof.

    Args:
        most: how many.
        order: of the Taylor models.
        show: called with what is searched for, and how many boxes were looked at in all.

    Attributes:
        boxes: how many were looked at.
        finished: whether every search so far came as close as it was asked.
    """

    def __init__(self, most: int, order: int, show: Callable[[str, int], None]) -> None:
        self.most, self._order, self._show = most, order, show
        self.boxes, self.finished = 0, True

    @property
    def left(self) -> int:
        """How many may still be looked at."""
        return max(0, self.most - self.boxes)

    def range(
        self, what: str, function: Callable[..., Any], *box: IntervalArray, width: float, share: float = 0.5
    ) -> Range:
        """Return the range of a function on a box, as `range_of` does; at least the whole box is looked at.

        Args:
            what: is searched for, in words.
            function: of the box.
            box: its arguments.
            width: how close the ends are to be.
            share: the part of what is left that this search may use. Half of it leaves something for all that follow.
        """
        found = range_of(
            function,
            *box,
            width=width,
            order=self._order,
            most=int(share * self.left),
            callback=lambda boxes: self._show(what, self.boxes + boxes),
        )
        self.boxes += found.boxes
        self.finished = self.finished and found.finished
        return found


@contextmanager
def box_budget(most: int, order: int, progress: bool) -> Iterator[BoxBudget]:
    """Share boxes among searches, and show how many were looked at, on a terminal or in a notebook.

    Args:
        most: how many.
        order: of the Taylor models.
        progress: whether to show it.

    Yields:
        the boxes.
    """
    if not progress or not (sys.stderr.isatty() or is_notebook()):
        yield BoxBudget(most, order, lambda what, boxes: None)
        return
    bar = counting_bar(20, "boxes")
    task = bar.add_task("proving", total=most)
    with LiveDisplay(bar, transient=True) as live:

        def show(what: str, boxes: int) -> None:
            bar.update(task, description=what, completed=min(boxes, most))
            live.changed()

        yield BoxBudget(most, order, show)
