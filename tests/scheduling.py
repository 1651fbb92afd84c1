"""Which process of a run takes which tests, with little to do for the one that hands them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdist.scheduler import LoadFileScheduling


class Numbered(list[str]):
    """Names of tests that are found by a look, and not by a search, which takes a quarter of a millisecond a test."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self._places = {name: place for place, name in enumerate(names)}

    def index(self, name: str, *within: Any) -> int:
        return self._places[name]


class ByFile(LoadFileScheduling):
    """Gives a file to one process: what its tests share, compiled code above all, is made once and not in each.

    What is done is forgotten: all that a process has been given is counted after every test.
    """

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = Numbered(collection)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        name = self.registered_collections[node][item_index]
        file = self._split_scope(name)
        left = self.assigned_work[node][file]
        del left[name]
        if not left:
            del self.assigned_work[node][file]
        self._reschedule(node)
