"""Where to keep states of a loop that is gone through backwards, and how many of its steps are taken again.

A loop is cut into blocks. To go back through it, each block is run once more than otherwise, from the state at its
beginning, and these states are found by running from one that was kept. How many blocks are run for that is least with
binomial schedules: of A. Griewank and A. Walther, "Algorithm 799: revolve", ACM Transactions on Mathematical Software
26 (2000), where the number of blocks is known, and of P. Stumm and A. Walther, "New algorithms for optimal online
checkpointing", SIAM Journal on Scientific Computing 32 (2010), where it is known only when the loop has ended.
"""

from __future__ import annotations

import math
from typing import NamedTuple


def reach(states: int, times: int) -> int:
    """Return how many blocks can be gone back through with so many states, if none is passed more than so many times.

    Args:
        states: how many states are kept, that at the beginning included.
        times: how often a block is passed, at most.
    """
    return math.comb(states + times, times)


def times_passed(blocks: int, states: int) -> int:
    """Return how often a block is passed at most where as few as possible are."""
    times = 0
    while reach(states, times) < blocks:
        times += 1
    return times


def passed(blocks: int, states: int) -> int:
    """Return how many blocks are run to find the states at the beginnings of all, at least.

    Args:
        blocks: how many there are.
        states: how many states can be kept at once, that at the beginning included.
    """
    if blocks < 2:
        return 0
    times = times_passed(blocks, states)
    return times * blocks - reach(states + 1, times - 1)


def distance(blocks: int, states: int) -> int:
    """Return after how many blocks to keep the next state, on the way to the last of so many.

    Args:
        blocks: how many there are, two at least.
        states: how many states can be kept, that at the beginning included, two at least.
    """
    times = times_passed(blocks, states)
    return max(1, min(reach(states, times - 1), blocks - reach(states - 1, times - 1)))


class Cut(NamedTuple):
    """How a loop is gone back through.

    Attributes:
        block: how many steps make a block: so many rows are held at once.
        states: how many states are kept at most, that at the beginning included.
        again: how many steps are taken again.
    """

    block: int
    states: int
    again: int


def cut(steps: int, row: int, state: int, budget: int) -> Cut:
    """Return how to go back through a loop within a budget.

    Of the schedules that take the fewest steps again, and a quarter of all steps more at most, it is the one that needs
    least memory: short blocks stay in cache.

    Args:
        steps: how many steps there are.
        row: bytes that are held of a step in a block.
        state: bytes of a state.
        budget: bytes that may be held.
    """
    found: list[tuple[int, Cut]] = []
    length = float(steps)
    tried = 0
    while tried != 1:
        block = max(1, min(math.ceil(length), (budget - state) // max(1, row)))
        if block != tried:
            tried = block
            blocks = -(-steps // block)
            states = min(blocks, max(1, (budget - block * row) // max(1, state)))
            found.append((block * row + states * state, Cut(block, states, block * passed(blocks, states))))
        length /= 1.25
    least = min(each.again for _, each in found)
    return min(each for each in found if each[1].again <= least + steps // 4)[1]


class Online:
    """The states that are kept of a loop of unknown length, while it runs.

    Where no place is left, the first state is given up whose blocks can be gone back through without passing one more
    often than what lies elsewhere; where there is none, blocks are passed once more.

    Attributes:
        kept: the numbers of the blocks at whose beginnings states are kept, in order, with 0.
    """

    def __init__(self, states: int) -> None:
        self.kept = [0]
        self._states = states
        self._times = 1

    def at(self, block: int) -> tuple[bool, int | None]:
        """Say whether the state at a block's beginning is to be kept, and which is given up for it.

        Args:
            block: its number: blocks are asked for one after the other, from 1 on.
        """
        if len(self.kept) < self._states:
            self.kept.append(block)
            return True, None
        while block + 1 - self.kept[-1] > reach(1, self._times):
            ends = [*self.kept, block]
            for i in range(1, self._states):
                if ends[i + 1] - ends[i - 1] <= reach(self._states - i + 1, self._times - 1):
                    given_up = self.kept.pop(i)
                    self.kept.append(block)
                    return True, given_up
            self._times += 1
        return False, None
