"""Equal panels of rows as one loop: its step is the program of one of them, on rows that move on.

Panels far from all edges differ in where they stand and in nothing else. As a loop they are written and compiled once,
however many there are. What a step reads are windows of whole arrays, which overlap by what neighbours compute twice.
A panel at an edge is a loop of one step, so that its text may be a short one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from primad import ops
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.key import Key
from primad.ir.node import Node, Trace, literal_value, named
from primad.ir.program import ClosedProgram, Program
from primad.ir.replay import replay
from primad.native.panels.needed_rows import NeededRows, Rows
from primad.native.panels.row_writer import RowWriter, rows_from
from primad.ops.record.fields import LoopOps
from primad.ops.record.primitive import project


class PanelLoop:
    """A loop over equal panels.

    Args:
        trace: where the loop is built.
        needed: which rows the first panel computes.
        moves: the rows from a panel to the next, and how many panels there are.
        whole: returns a value in `trace` that is not computed in panels.
    """

    def __init__(self, trace: Trace, needed: NeededRows, moves: tuple[int, int], whole: Callable[[Node], Node]) -> None:
        self._trace, self._needed, self._whole = trace, needed, whole
        self._rows, self._length = moves
        self._body = Trace()
        self._moving: dict[Node, Node] = {}  # inputs of a step, by the value of which they are rows
        self._fixed: dict[Node, Node] = {}
        self._writer = RowWriter(self._body, needed, self._rows_of, self._repeated)

    def results(self, ends: Mapping[Node, Rows], totals: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """Return rows of results, of all panels one behind the other, and sums over these rows.

        Args:
            ends: the results, and their rows in the first panel.
            totals: the sums of results.
        """
        rows = [self._writer.read(node, *own) for node, own in ends.items()]
        read = [(node, self._writer.read(node.inputs[0], *self._needed.own[node.inputs[0]])) for node in totals]
        sums = [self._body.place(node.op, (x,), node.params) for node, x in read]
        stacks = self._scanned([*rows, *sums])
        joined = [self._in_a_row(stack) for stack in stacks[: len(rows)]]
        return joined, [self._trace.place(ops.sum, (x,), (("axes", (0,)),)) for x in stacks[len(rows) :]]

    def _scanned(self, results: Sequence[Node]) -> list[Node]:
        """Return the results of all steps, stacked."""
        program = Program(self._body, [*self._moving.values(), *self._fixed.values()], results)
        self._body.close()
        of, numbers = _with_numbers_given(program, is_edge=self._length == 1)
        literals = [self._trace.literal(literal_value(node), ArrayType((), node.type.dtype)) for node in numbers]
        operands = [*map(self._windows, self._moving), *map(self._whole, self._fixed), *literals]
        form = {
            "carry": 0, "counted": False, "length": self._length, "of": of, "reverse": False,
            "stacked": len(self._moving),
        }  # fmt: skip
        node = self._trace.place(LoopOps.scan, tuple(operands), named(form))
        if not isinstance(node.type, TupleType):
            return [node]
        return [self._trace.place(project, (node,), (("index", i),)) for i in range(len(results))]

    def _windows(self, node: Node) -> Node:
        """Return the rows of a value that the steps read, stacked."""
        a, b = self._needed.outside[node]
        params = {
            "axes": (0,), "count": (self._length,), "dilation": (1,), "low": (-a,), "size": (b - a,),
            "step": (self._rows,),
        }  # fmt: skip
        found = self._trace.place(ops.windows, (self._whole(node),), named(params))
        last = node.type.ndim
        order = (0, last, *range(1, last))
        return self._trace.place(ops.permute, (found,), (("order", order),)) if last > 1 else found

    def _in_a_row(self, stack: Node) -> Node:
        count, rows, *rest = stack.type.shape
        return self._trace.place(ops.reshape, (stack,), (("shape", (count * rows, *rest)),))

    def _rows_of(self, node: Node, a: int, b: int) -> Node:
        if self._length == 1:
            return rows_from(self._body, self._given(node), (a, b))
        first, last = self._needed.outside[node]
        if node not in self._moving:
            self._moving[node] = self._body.input(ArrayType((last - first, *node.type.shape[1:]), node.type.dtype))
        return rows_from(self._body, self._moving[node], (a - first, b - first))

    def _repeated(self, node: Node, rows: int) -> Node:
        params = (("axes", dict(node.params)["axes"]), ("shape", (rows, *node.type.shape[1:])))
        return self._body.place(ops.broadcast, (self._given(node.inputs[0]),), params)

    def _given(self, node: Node) -> Node:
        """Return a value that all steps read as a whole."""
        if node not in self._fixed:
            self._fixed[node] = self._body.input(node.type)
        return self._fixed[node]


class _ClosedPanel(ClosedProgram):
    """The program of a panel, which no law is applied to: its elements have the bits of the whole program's."""

    lawful = False
    is_panel = True

    def __init__(self, program: Program, is_edge: bool) -> None:
        super().__init__(program)
        self.is_edge = is_edge
        self.key = Key(("as it stands", is_edge, self.key))


def _with_numbers_given(program: Program, is_edge: bool) -> tuple[ClosedProgram, list[Node]]:
    """Return the program of a step with the literals that its key abstracts from as inputs, and these literals."""
    numbers = list(program.sources)
    trace = Trace()
    inputs = [trace.input(node.type) for node in program.inputs]
    mapping = dict(zip(program.inputs, inputs, strict=True))
    for node in numbers:
        number = trace.input(ArrayType((), node.type.dtype))
        inputs.append(number)
        params = (("axes", tuple(range(node.type.ndim))), ("shape", node.type.shape))
        mapping[node] = trace.place(ops.broadcast, (number,), params) if node.type.shape else number
    replay(program.nodes, mapping, trace, copy=True)
    found = _ClosedPanel(Program(trace, inputs, [mapping[node] for node in program.outputs]), is_edge)
    trace.close()
    return found, numbers
