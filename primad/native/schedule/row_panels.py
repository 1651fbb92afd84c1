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

from collections.abc import Callable, Iterator, Sequence

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.node import LITERAL, Leaf, Node, Operation, Params, Trace, literal_value
from primad.ir.program import Program, carry_lines
from primad.ir.replay import reapplied, rebuild
from primad.native.emit.emit_context import Pointwise
from primad.native.emit.op_table import failing_in, way_of
from primad.native.llvm.compile_limits import BUDGET
from primad.native.schedule.stencil_split import SHORTEST
from primad.system.machine import CORE, SECOND_CACHE

Rows = tuple[int, int]
"""From which row to which."""
CACHE_SHARE = 3, 4
"""The share of a second cache that a panel's values may take. Measured: of grids of 256², 512² and 1024² numbers it is
best between a half and nine tenths."""


class _NotInPanelsError(Exception):
    """Says that a program cannot be computed a panel of rows at a time, or computes too much twice."""


def in_panels(program: Program, held: int) -> Program | None:
    """Return a program that computes the same a panel of rows at a time; None where it cannot be, or does not pay.

    Args:
        program: what to compute.
        held: bytes of memory that it takes beside its inputs and outputs as it stands.
    """
    if len(program.nodes) > BUDGET.boxed or any(node.type.is_complex for node in program.nodes):
        return None
    if failing_in(program) or held <= CORE.near * SECOND_CACHE.size:  # an error tells the place in the whole array
        return None
    moved = sum(node.type.nbytes for node in (*program.inputs, *program.outputs))

    def rows(longest: int) -> int:
        return max(SECOND_CACHE.share(*CACHE_SHARE) * longest // (held + moved), 1, -(-longest // BUDGET.panels))

    return in_panels_of(program, rows)


def in_panels_of(program: Program, rows: Callable[[int], int]) -> Program | None:
    """Return a program that computes the same in panels; None where it cannot be, or computes too much twice.

    Args:
        program: what to compute.
        rows: takes the rows of the longest array that is cut to those of a panel.
    """
    try:
        return _Panels(program, rows).program()
    except _NotInPanelsError:
        return None


class _Panels:
    """A program on its way to be computed in panels.

    Args:
        program: the program.
        rows: takes the rows of the longest array that is cut to those of a panel.

    Raises:
        _NotInPanelsError: if some op reads rows that are not near those that it writes, or there is nothing to cut.
    """

    def __init__(self, program: Program, rows: Callable[[int], int]) -> None:
        self._source = program
        self._cut: dict[Node, None] = {}
        self._totals: list[Node] = []
        self._sort()
        cut = [node for node in program.outputs if node in self._cut]
        self._ends = list(dict.fromkeys([*cut, *[node.inputs[0] for node in self._totals]]))
        if not self._ends or not all(node.type.size for node in (*self._cut, *self._ends)):
            raise _NotInPanelsError
        longest = max([node.type.shape[0] for node in self._ends])
        self._rows = rows(longest)
        self._count = -(-longest // self._rows)
        self._trace = Trace()
        self._inputs = [self._trace.input(node.type) for node in program.inputs]
        self._known: dict[Node, Node] = dict(zip(program.inputs, self._inputs, strict=True))
        self._pieces: dict[Node, list[tuple[int, int, Node]]] = {}  # of one panel
        self._panel = 0
        self._elements = 0

    def program(self) -> Program:
        """Return it.

        Raises:
            _NotInPanelsError: if panels compute too much twice.
        """
        most = CORE.again * sum(node.type.size for node in self._cut if node.op is not ops.slice_)
        parts: dict[Node, list[Node]] = {node: [] for node in self._ends}
        sums: dict[Node, list[Node]] = {node: [] for node in self._totals}
        for panel in range(self._count):
            own = {node: self._own(node, panel) for node in self._ends}
            before = self._elements
            self._take(own, panel)
            inner = (self._count - 2) * (self._elements - before) if panel == 1 else 0  # of what comes, an estimate
            if max(self._elements, inner) > most:
                raise _NotInPanelsError
            for node, (a, b) in own.items():
                parts[node] += [self._read(node, a, b)] if a < b else []
            for node in self._totals:
                if own[node.inputs[0]][0] < own[node.inputs[0]][1]:
                    sums[node].append(self._made(node.op, (parts[node.inputs[0]][-1],), node.params))
        self._known.update({node: self._added(terms) for node, terms in sums.items()})
        outputs = [
            self._made(ops.concatenate, tuple(parts[node]), (("axis", 0),)) if node in self._cut else self._whole(node)
            for node in self._source.outputs
        ]
        carry_lines(self._source, self._known, self._trace)
        found = Program(self._trace, self._inputs, outputs, names=self._source.names)
        self._trace.close()
        return found

    def _sort(self) -> None:
        """Find which values are computed in panels, and which are sums of such."""
        after: set[Node] = set()  # what needs a sum, which is there when all panels are
        for node in self._source.nodes:
            reads_cut = any(x in self._cut for x in node.inputs)
            needs_total = not after.isdisjoint(node.inputs)
            by_rows = _goes_by_rows(node, reads_cut)
            is_total = reads_cut and not by_rows and node.op is ops.sum
            # What needs a whole array or sum again, row by row, is a stage of its own.
            again = needs_total and (by_rows or node.op is ops.broadcast)
            if not is_total and (again or (reads_cut and not by_rows)):
                raise _NotInPanelsError
            if by_rows:
                self._cut[node] = None
            if is_total:
                self._totals.append(node)
            if is_total or (needs_total and not by_rows):
                after.add(node)

    def _own(self, node: Node, panel: int) -> Rows:
        """Return the rows of a result that belong to a panel."""
        n, first = node.type.shape[0], panel * self._rows
        return min(first, n), n if panel == self._count - 1 else min(first + self._rows, n)

    def _take(self, own: dict[Node, Rows], panel: int) -> None:
        """Compute what a panel needs, each value once in all rows that are read."""
        needed: dict[Node, list[Rows]] = {node: [rows] for node, rows in own.items()}
        for node in reversed(self._cut):
            needed[node] = _joined(needed.get(node, ()))
            for a, b in needed[node]:
                for x, rows in _read_by(node, a, b):
                    if x in self._cut:
                        needed.setdefault(x, []).append(rows)
        self._pieces, self._panel = {}, panel
        for node in self._cut:
            self._pieces[node] = [(a, b, self._computed(node, a, b)) for a, b in needed[node]]

    def _computed(self, node: Node, a: int, b: int) -> Node:
        """Return rows of a value."""
        params = dict(node.params)
        read = [self._read(x, *rows) for x, rows in _read_by(node, a, b) if rows[0] < rows[1]]
        if node.op is ops.slice_:
            return self._sliced(read[0], (0, *params["start"][1:]), (b - a, *params["stop"][1:]), params["step"])
        self._elements += (b - a) * (node.type.size // node.type.shape[0])
        if node.op is ops.pad:
            return self._padded(node, read, a, b)
        if node.op is ops.concatenate and len(read) == 1:
            return read[0]
        changed = {**params, "shape": (b - a, *node.type.shape[1:])} if node.op is ops.broadcast else params
        return self._made(node.op, tuple(read), tuple(changed.items()))

    def _padded(self, node: Node, read: Sequence[Node], a: int, b: int) -> Node:
        params = dict(node.params)
        if not read:
            return self._trace.literal(0, ArrayType((b - a, *node.type.shape[1:]), node.type.dtype))
        before = max(params["low"][0] - a, 0)
        low = (before, *params["low"][1:])
        high = (b - a - before - read[0].type.shape[0], *params["high"][1:])
        if not any((*low, *high)):
            return read[0]
        return self._made(node.op, tuple(read), (("high", high), ("interior", params["interior"]), ("low", low)))

    def _read(self, node: Node, a: int, b: int) -> Node:
        """Return rows of a value that is known, or the same in all rows."""
        shape = (b - a, *node.type.shape[1:])
        if node.op is LITERAL:
            return self._trace.literal(literal_value(node), ArrayType(shape, node.type.dtype))
        if _repeats_rows(node):
            return self._repeated(node, shape)
        if node not in self._cut:
            return self._sliced(self._whole(node), (a, *[0] * (len(shape) - 1)), (b, *shape[1:]))
        first, _, piece = next(found for found in self._pieces[node] if found[0] <= a and b <= found[1])
        return self._sliced(piece, (a - first, *[0] * (len(shape) - 1)), (b - first, *shape[1:]))

    def _repeated(self, node: Node, shape: tuple[int, ...]) -> Node:
        """Return rows that are all the same, read from a view of the panel's own.

        Loops that read one value become one loop: those of all panels would.
        """
        whole = self._whole(node.inputs[0])
        each = whole.type.shape
        views = self._made(ops.broadcast, (whole,), (("axes", (0,)), ("shape", (self._count, *each))))
        zeros = (0,) * len(each)
        view = self._sliced(views, (self._panel, *zeros), (self._panel + 1, *each))
        own = self._made(ops.reshape, (view,), (("shape", each),))
        return self._made(ops.broadcast, (own,), (("axes", dict(node.params)["axes"]), ("shape", shape)))

    def _sliced(self, node: Node, start: Sequence[int], stop: Sequence[int], step: Sequence[int] = ()) -> Node:
        shape, step = node.type.shape, tuple(step or [1] * len(start))
        if not any(start) and tuple(stop) == shape and set(step) == {1}:
            return node
        return self._made(ops.slice_, (node,), (("start", tuple(start)), ("step", step), ("stop", tuple(stop))))

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


def _goes_by_rows(node: Node, reads_cut: bool) -> bool:
    """Say whether rows of a value are computed of rows of its operands, and it is large or one of these is."""
    if isinstance(node.type, TupleType) or isinstance(node.op, Leaf) or _repeats_rows(node) or not node.type.shape:
        return False
    params = dict(node.params)
    if node.op is ops.slice_:
        return reads_cut and bool(params["step"][0] == 1)
    if not reads_cut and node.type.size < SHORTEST:
        return False
    if node.op is ops.pad:
        return not any(params["interior"])
    if node.op is ops.sum:
        return 0 not in params["axes"]
    return node.op in (ops.concatenate, ops.broadcast) or isinstance(way_of(node), Pointwise)


def _repeats_rows(node: Node) -> bool:
    """Say whether all rows of a value are the same by a broadcast."""
    return node.op is ops.broadcast and 0 in dict(node.params)["axes"]


def _read_by(node: Node, a: int, b: int) -> Iterator[tuple[Node, Rows]]:
    """Yield the operands of which rows of a value are computed, and which of their rows, which may be none."""
    params = dict(node.params)
    if node.op is ops.slice_:
        start = params["start"][0]
        yield node.inputs[0], (a + start, b + start)
    elif node.op is ops.pad:
        low, n = params["low"][0], node.inputs[0].type.shape[0]
        yield node.inputs[0], (max(a - low, 0), min(b - low, n))
    elif node.op is ops.concatenate and params["axis"] == 0:
        place = 0
        for x in node.inputs:
            yield x, (max(a - place, 0), min(b - place, x.type.shape[0]))
            place += x.type.shape[0]
    else:
        for x in node.inputs:
            yield x, (a, b)


def _joined(rows: Sequence[Rows]) -> list[Rows]:
    """Return the same rows, those that meet together."""
    found: list[Rows] = []
    for a, b in sorted(rows):
        if found and a < b and a <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], b)
        elif a < b:
            found.append((a, b))
    return found
