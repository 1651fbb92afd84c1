"""What of a step is kept for a later loop: the fewest bytes from which the rest is computed again.

What the linear part of a step reads is mostly made of little by cheap arithmetic and views. Memory that is written for
each step and read again takes longer than that, so those values are kept whose bytes together are fewest, of all sets
from which the others follow: a minimal cut (L. R. Ford and D. R. Fulkerson, "Maximal flow through a network", Canadian
Journal of Mathematics 8 (1956)) between what cannot be computed again, or is dear, and what is read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable

from primad.ir.array_types import TupleType
from primad.ir.node import INPUT, Leaf, Node
from primad.ops.record.primitive import application
from primad.simplify.own_definitions import is_cheap

LONGEST = 1000
"""Nodes among which a least set is looked for. Chosen: finding it takes some hundredths of a second."""
SOURCE, SINK = -1, -2
Network = dict[int, dict[int, float]]
"""What may still flow from place to place."""


def fewest(wanted: Iterable[Node], free: Collection[Node], moved: Collection[Node] = ()) -> list[Node]:
    """Return values from which others are computed by cheap ops: those of the fewest bytes.

    Args:
        wanted: what is needed.
        free: values that are there in any case: they may be among those returned.
        moved: values that may be computed from these too, whatever that takes.
    """
    wanted = list(wanted)

    def again(node: Node) -> bool:
        return node in moved or is_cheap(node)

    places: dict[Node, int] = {}
    waiting = list(wanted)
    while waiting:
        node = waiting.pop()
        if node not in places and node not in free and not _is_constant(node):
            places[node] = 2 * len(places)
            waiting += node.inputs if again(node) else ()
    if len(places) > LONGEST:
        return [node for node in wanted if not _is_constant(node)]
    kept = _least(places, wanted, again)
    seen: dict[Node, None] = {}
    waiting = wanted[::-1]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen[node] = None
            waiting += () if node in kept or node in free or _is_constant(node) else reversed(node.inputs)
    return [node for node in seen if node in kept or node in free]


def loops_taken_again(wanted: Iterable[Node], nodes: Iterable[Node]) -> set[Node]:
    """Return the loops that end by themselves whose rows are needed, and all of their results.

    Args:
        wanted: what is needed.
        nodes: those of the program.
    """
    loops: set[Node] = set()
    seen: set[Node] = set()
    waiting = list(wanted)
    while waiting:
        node = waiting.pop()
        if node in seen or isinstance(node.op, Leaf):
            continue
        seen.add(node)
        loop, place = application(node)
        form = None if loop.op.programs.loop is None else loop.op.programs.loop(loop)
        if form is not None and form.ends and place >= form.first_stack:
            loops.add(loop)
        waiting += node.inputs if is_cheap(node) else ()
    return {node for node in nodes if not isinstance(node.op, Leaf) and application(node)[0] in loops}


def _is_constant(node: Node) -> bool:
    return isinstance(node.op, Leaf) and node.op is not INPUT


def _least(places: dict[Node, int], wanted: Collection[Node], again: Callable[[Node], bool]) -> set[Node]:
    """Return the nodes of a minimal cut, the one next to what is wanted: then least is computed again.

    Each node is an edge, as wide as it has bytes, from its place to the next.
    """
    network: Network = {SOURCE: {}, SINK: {}}
    for node, place in places.items():
        bytes_ = float("inf") if isinstance(node.type, TupleType) else node.type.nbytes  # only its results are kept
        network[place], network[place + 1] = {place + 1: bytes_}, {place: 0}
    for node, place in places.items():
        if not again(node):
            network[SOURCE][place], network[place][SOURCE] = float("inf"), 0
        for operand in node.inputs if again(node) else ():
            if operand in places:
                network[places[operand] + 1][place], network[place][places[operand] + 1] = float("inf"), 0
    for node in wanted:
        if node in places:
            network[places[node] + 1][SINK], network[SINK][places[node] + 1] = float("inf"), 0
    while (path := _path(network)) is not None:
        width = min(network[a][b] for a, b in path)
        for a, b in path:
            network[a][b] -= width
            network[b][a] += width
    behind, waiting = {SINK}, [SINK]
    while waiting:
        place = waiting.pop()
        new = [other for other in network[place] if network[other][place] > 0 and other not in behind]
        behind.update(new)
        waiting += new
    return {node for node, place in places.items() if place not in behind and place + 1 in behind}


def _path(network: Network) -> list[tuple[int, int]] | None:
    """Return the edges of a shortest path on which more may flow."""
    before = {SOURCE: SOURCE}
    waiting = deque([SOURCE])
    while waiting:
        place = waiting.popleft()
        for other, width in network[place].items():
            if width > 0 and other not in before:
                before[other] = place
                waiting.append(other)
        if SINK in before:
            path = [(before[SINK], SINK)]
            while path[-1][0] != SOURCE:
                path.append((before[path[-1][0]], path[-1][0]))
            return path
    return None
