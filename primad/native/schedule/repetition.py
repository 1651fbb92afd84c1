"""Where to cut a long sequence: it is found where the sequence repeats itself, so that most of its pieces are equal."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise

from primad.native.llvm.compile_limits import BUDGET

GRAM = 4
"""Neighbours by which a place is recognised. Chosen: fewer are alike by chance, more hide short bodies; wrong guesses
cost only time, since the pieces are compared afterwards."""
_MODULUS, _BASE = (1 << 61) - 1, 1_000_003
Span = tuple[int, int]


def ends_of_pieces(
    marks: Sequence[Hashable], crossing: Sequence[int], shortest: int, longest: int, most: int
) -> list[int]:
    """Return where the pieces of a sequence end.

    Args:
        marks: its elements; equal ones can be computed by the same code.
        crossing: for each place between elements, how many values cross it: what does not repeat is cut where they are
            fewest.
        shortest: length of a repeated piece, at least, where its period is shorter.
        longest: length of a repeated piece, at most.
        most: length of the others, at most.
    """
    numbers: dict[Hashable, int] = {}
    ids = [numbers.setdefault(mark, len(numbers)) for mark in marks]
    hashes = _Hashes(ids)
    ends: set[int] = set()
    waiting: list[Span] = [(0, len(ids))]
    while waiting:
        start, stop = waiting.pop()
        anchors = _anchors(ids, hashes, (start, stop), shortest, longest) if stop - start >= 2 * shortest else []
        if anchors:
            ends.update(anchors)
            waiting += [(start, anchors[0]), (anchors[-1], stop)]
        else:
            ends.update(_shortened(start, stop, crossing, most))
    ends.discard(0)
    return sorted(ends)


class _Hashes:
    """Hashes of all stretches of a sequence, each found at once."""

    def __init__(self, ids: Sequence[int]) -> None:
        self._sums, self._powers = [0], [1]
        for number in ids:
            self._sums.append((self._sums[-1] * _BASE + number + 1) % _MODULUS)
            self._powers.append(self._powers[-1] * _BASE % _MODULUS)

    def of(self, start: int, stop: int) -> int:
        """Return the hash of a stretch."""
        return (self._sums[stop] - self._sums[start] * self._powers[stop - start]) % _MODULUS


def _anchors(ids: Sequence[int], hashes: _Hashes, inside: Span, shortest: int, longest: int) -> list[int]:
    """Return the places between equal pieces that follow one another, the longest such run; none if nothing repeats."""
    start, stop = inside
    places: dict[int, list[int]] = {}
    for i in range(start, stop - GRAM + 1):
        places.setdefault(hashes.of(i, i + GRAM), []).append(i)
    best, saved = [], 0
    for found in places.values():
        if len(found) >= BUDGET.fewest_repeated:
            for run in _runs(hashes, _spread(found, shortest), longest):
                gain = run[-1] - run[0] - sum({hashes.of(a, b): b - a for a, b in pairwise(run)}.values())
                if gain > saved:
                    best, saved = run, gain
    return best if saved >= shortest else []


def _spread(places: Sequence[int], shortest: int) -> list[int]:
    """Return places that are not too close."""
    kept = [places[0]]
    for place in places[1:]:
        if place - kept[-1] >= shortest:
            kept.append(place)
    return kept


def _runs(hashes: _Hashes, places: Sequence[int], longest: int) -> Iterator[list[int]]:
    """Yield the runs of places between which lie pieces that are not too long and each of which comes twice."""
    pieces = [(a, b, hashes.of(a, b)) for a, b in pairwise(places)]
    count: dict[int, int] = {}
    for _, _, code in pieces:
        count[code] = count.get(code, 0) + 1
    run: list[int] = []
    for a, b, code in pieces:
        if b - a > longest or count[code] < BUDGET.fewest_repeated - 1:
            if run:
                yield run
            run = []
        else:
            run = run or [a]
            run.append(b)
    if run:
        yield run


def _shortened(start: int, stop: int, crossing: Sequence[int], most: int) -> Iterator[int]:
    """Yield where pieces end that nothing repeats."""
    while stop - start > most:
        start = min(range(start + most, start + most // 2, -1), key=crossing.__getitem__)
        yield start
    yield stop
