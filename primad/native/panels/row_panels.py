"""Programs on arrays that a cache does not hold, a panel of rows at a time: what is computed of neighbours stays there.

The gradient of a stencil's square reads a grid, computes its residuals, and adds these beside where they were written.
As it stands, each array goes out to memory and comes back for the next loop. But rows of the gradient need a few more
rows of the residuals, and these a few more of the grid. So a panel of rows is computed from the first array to the
last, with rows at its edges that the next panel computes again, before the next panel is begun: all between lies in
memory of a panel's size, which the cache holds.

Each element comes from the same ops on the same operands, and has the same bits; a sum of all elements is one of the
panels' sums, so that its last bits may differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from primad import ops
from primad.ir.node import Leaf, Node, Operation, Params, Trace
from primad.ir.program import Program, carry_lines
from primad.ir.replay import reapplied, rebuild
from primad.native.panels.needed_rows import NeededRows, goes_by_rows, rows_within
from primad.native.panels.panel_loops import PanelLoop
from primad.native.panels.panel_memory import sizes_of
from primad.system.machine import CORE, SECOND_CACHE

CACHE_SHARE = 3, 4
"""The share of a second cache that a panel's values may take. Measured: of grids of 256², 512² and 1024² numbers it is
best between a half and nine tenths."""


class NotInPanelsError(Exception):
    """Says that a program cannot be computed a panel of rows at a time, or computes too much twice."""


def in_panels_of(program: Program, rows: int) -> Program | None:
    """Return a program that computes the same in panels; None where it cannot be, or computes too much twice.

    Args:
        program: what to compute.
        rows: of a panel.
    """
    try:
        return CutProgram(program).in_panels(rows)
    except NotInPanelsError:
        return None


class CutProgram:
    """A program, and which of its values are computed in panels.

    Attributes:
        program: the program.
        cut: the values that are computed in panels, operands first.
        totals: the sums of such.
        ends: the results that are cut, and what is summed.
        longest: the rows of the longest of these.

    Args:
        program: the program.

    Raises:
        NotInPanelsError: if some op reads rows that are not near those that it writes, or there is nothing to cut.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.cut: dict[Node, None] = {}
        self.totals: list[Node] = []
        self._sort()
        results = [node for node in program.outputs if node in self.cut]
        self.ends = list(dict.fromkeys([*results, *[node.inputs[0] for node in self.totals]]))
        if not self.ends or not all(node.type.size for node in (*self.cut, *self.ends)):
            raise NotInPanelsError
        self.longest = max([node.type.shape[0] for node in self.ends])

    def rows(self) -> int:
        """Return how many rows of a panel take the least time.

        A panel of r rows computes (1 + h/r) times what is its own, and takes longer the more it needs beyond a second
        cache: for each cache by the share of values that lie in memory among the ops. Memory is a line in r, so that
        the product is least at a root. Measured: twelve programs of heat, waves, shallow water, Burgers' equation and
        weighed fluxes take 1.0 to 1.15 of the least time with the rows that this gives.

        Raises:
            NotInPanelsError: if panels that lie near compute too much twice.
        """
        sizes, size = sizes_of(list(self.cut), self.ends), SECOND_CACHE.size
        if sizes is None:
            raise NotInPanelsError
        fewest = max(sizes.rows_for(CORE.again), 1)
        if sizes.held(fewest) > CORE.far * size:
            raise NotInPanelsError
        near = SECOND_CACHE.share(*CACHE_SHARE)
        beyond = max(size / sizes.price + sizes.bytes_around - near, 0) / max(sizes.bytes_each, 1)
        best = round(math.sqrt(beyond * max(sizes.elements_around, 0) / max(sizes.elements_each, 1)))
        return max(fewest, min(best, sizes.rows_within(CORE.far * size)), sizes.rows_within(near))

    def in_panels(self, rows: int) -> Program:
        """Return the program in panels of so many rows.

        Raises:
            NotInPanelsError: if panels compute too much twice.
        """
        return _Panels(self, rows).program()

    def _sort(self) -> None:
        """Find which values are computed in panels, and which are sums of such."""
        after: set[Node] = set()  # what needs a sum, which is there when all panels are
        for node in self.program.nodes:
            reads_cut = any(x in self.cut for x in node.inputs)
            needs_total = not after.isdisjoint(node.inputs)
            by_rows = goes_by_rows(node, reads_cut)
            is_total = reads_cut and not by_rows and node.op is ops.sum
            # What needs a whole array or sum again, row by row, is a stage of its own.
            again = needs_total and (by_rows or node.op is ops.broadcast)
            if not is_total and (again or (reads_cut and not by_rows)):
                raise NotInPanelsError
            if by_rows:
                self.cut[node] = None
            if is_total:
                self.totals.append(node)
            if is_total or (needs_total and not by_rows):
                after.add(node)


class _Panels:
    """A program on its way to be computed in panels.

    Args:
        source: the program.
        rows: of a panel.
    """

    def __init__(self, source: CutProgram, rows: int) -> None:
        self._source, self._rows = source, rows
        self._trace = Trace()
        given = source.program.inputs
        self._inputs = [self._trace.input(node.type) for node in given]
        self._known: dict[Node, Node] = dict(zip(given, self._inputs, strict=True))
        self._parts: dict[Node, list[Node]] = {node: [] for node in source.program.outputs if node in source.cut}
        self._sums: dict[Node, list[Node]] = {node: [] for node in source.totals}

    def program(self) -> Program:
        """Return it.

        Raises:
            NotInPanelsError: if panels compute too much twice.
        """
        source, cut = self._source, self._source.cut
        left = CORE.again * sum(node.type.size for node in cut if node.op is not ops.slice_)
        place = 0
        while place < source.longest:
            needed, panels, rows = self._next(place)
            left -= panels * needed.elements
            if left < 0:
                raise NotInPanelsError
            self._take(needed, panels)
            place += rows
        self._known.update({node: self._added(terms) for node, terms in self._sums.items()})
        outputs = [self._joined(node) if node in cut else self._whole(node) for node in source.program.outputs]
        carry_lines(source.program, self._known, self._trace)
        found = Program(self._trace, self._inputs, outputs, names=source.program.names)
        self._trace.close()
        return found

    def _joined(self, node: Node) -> Node:
        return self._made(ops.concatenate, tuple(self._parts[node]), (("axis", 0),))

    def _next(self, place: int) -> tuple[NeededRows, int, int]:
        """Return what the next panel computes, how many further ones are equal, with it, and their rows together.

        Two panels beside an edge are one: each has a text of its own.
        """
        needed = self._needed(place, self._rows)
        panels = 1 + needed.further(self._rows)
        if panels > 1:
            return needed, panels, panels * self._rows
        if place + self._rows < self._source.longest and not self._needed(place + self._rows, self._rows).further(
            self._rows
        ):
            return self._needed(place, 2 * self._rows), 1, 2 * self._rows
        return needed, 1, self._rows

    def _needed(self, place: int, rows: int) -> NeededRows:
        """Return what the rows of all results from a place on need."""
        own = {node: rows_within(node, place, rows) for node in self._source.ends}
        return NeededRows(list(self._source.cut), own)

    def _take(self, needed: NeededRows, panels: int) -> None:
        """Compute equal panels."""
        loop = PanelLoop(self._trace, needed, (self._rows, panels), self._whole)
        ends = {node: needed.own[node] for node in self._parts if needed.own[node][0] < needed.own[node][1]}
        totals = [node for node in self._sums if needed.own[node.inputs[0]][0] < needed.own[node.inputs[0]][1]]
        rows, sums = loop.results(ends, totals)
        for node, part in zip(ends, rows, strict=True):
            self._parts[node].append(part)
        for node, part in zip(totals, sums, strict=True):
            self._sums[node].append(part)

    def _whole(self, node: Node) -> Node:
        """Return a value that is not computed in panels."""
        if node not in self._known:
            if isinstance(node.op, Leaf):
                self._known[node] = rebuild(node, {}, self._trace, copy=True)
            else:
                self._known[node] = reapplied(node, tuple(map(self._whole, node.inputs)), self._trace, copy=True)
        return self._known[node]

    def _added(self, terms: Sequence[Node]) -> Node:
        """Return the sum of panels' sums, in no long chain."""
        while len(terms) > 1:
            pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
            terms = [self._made(ops.add, tuple(pair), ()) if len(pair) == 2 else pair[0] for pair in pairs]
        return terms[0]

    def _made(self, op: Operation, inputs: tuple[Node, ...], params: Params) -> Node:
        return self._trace.place(op, inputs, params)
