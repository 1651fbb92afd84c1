"""Programs: inputs, outputs, and the nodes between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from msgspec import Struct

from primad.errors import ProgramError
from primad.ir.array_types import ArrayType, TupleType
from primad.ir.key import Key, is_structural
from primad.ir.node import (
    CAPTURED,
    INPUT,
    LITERAL,
    Leaf,
    Node,
    Trace,
    leaf_value,
    literal_value,
    param_key,
    params_key,
)
from primad.ir.replay import replay
from primad.ir.text import render
from primad.ir.walks import needed_between, reachable


class Cost(Struct, frozen=True):
    """What one run of a program costs, by counting: `flops`, `matmul_flops`, `bytes` written, `nodes`.

    A multiply-add of a contraction counts as two flops, any other element computed as one; bytes are those of all
    values that an op computes (views of other values count nothing).
    """

    flops: int = 0
    matmul_flops: int = 0
    bytes: int = 0
    nodes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.flops + other.flops,
            self.matmul_flops + other.matmul_flops,
            self.bytes + other.bytes,
            self.nodes + other.nodes,
        )


class Program:
    """A recorded function: nominal inputs, outputs, and the trees that say how users pass and receive them.

    Attributes:
        inputs: the input nodes, flattened.
        outputs: the output nodes, flattened.
        in_tree, out_tree: pytree structures (optree), or None for a flat tuple.
        names: a name for each input; found when first asked for, where a function was given.
        lines: the user's `file:line` for nodes recorded from user code.
        label: the name of the function, or what was derived of it.
        neutral: the ops that laws left out while it was recorded (see `Trace.neutral`).
        notes: what was found in it after it was recorded, in sentences.
        caller: (program, positional arguments, keywords) -> results; set by `primad.runtime.calling`, which lies above.
        formulas: loads what writes programs as formulas, with SymPy; set by `primad`.
    """

    caller: ClassVar[Callable[[Program, tuple[Any, ...], dict[str, Any]], Any]]
    formulas: ClassVar[Callable[[], Any]]

    def __init__(
        self,
        trace: Trace,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        in_tree: Any = None,
        out_tree: Any = None,
        names: Sequence[str] | Callable[[], Sequence[str]] | None = None,
        label: str = "program",
    ) -> None:
        self.trace = trace
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.in_tree = in_tree
        self.out_tree = out_tree
        self._names = names
        self.label = label
        self.lines = trace.lines
        self.neutral = trace.neutral
        self.notes: tuple[str, ...] = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments shaped as those it was traced with, or record it on traced ones."""
        return Program.caller(self, args, kwargs)

    def returning(self, out_tree: Any) -> Program:
        """Return the program with its results in another tree."""
        if out_tree is self.out_tree or out_tree.is_leaf():
            return self
        other: Program = object.__new__(Program)
        vars(other).update(vars(self), out_tree=out_tree)
        return other

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each input."""
        found = self._names() if callable(self._names) else self._names
        if found is None or len(found) != len(self.inputs):
            found = [f"x{i}" for i in range(len(self.inputs))]
        self._names = tuple(found)
        return self._names

    @names.setter
    def names(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    @cached_property
    def _walk(self) -> tuple[list[Node], list[Node]]:
        return reachable(self.outputs, self.trace)

    @property
    def nodes(self) -> list[Node]:
        """The nodes that the outputs depend on, operands first (leaves included)."""
        return self._walk[0]

    @property
    def captured(self) -> list[Node]:
        """Nodes of older, still open traces that this program closes over."""
        return self._walk[1]

    @cached_property
    def ops(self) -> frozenset[Any]:
        """The ops that its nodes apply. What has nothing to do with any of them has nothing to do with the program."""
        return frozenset([op for op in {node.op for node in self.nodes} if not isinstance(op, Leaf)])

    @property
    def in_types(self) -> list[ArrayType]:
        """Types of the inputs."""
        return [node.type for node in self.inputs]

    @property
    def out_types(self) -> list[ArrayType]:
        """Types of the outputs."""
        return [node.type for node in self.outputs]

    def text(self, lines: bool = False) -> str:
        """Return the program as text, which `primad.parse` reads back.

        Args:
            lines: append the user's `file:line` to each statement, as a comment.
        """
        return render(self, lines)

    def __copy__(self) -> Program:
        return self

    def __deepcopy__(self, memo: Any) -> Program:
        return self

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        types = ", ".join(f"{name}: {type}" for name, type in zip(self.names, self.in_types, strict=True))
        return f"<Program ({types}) -> ({', '.join(map(str, self.out_types))}), {len(self.nodes)} nodes>"

    def latex(self) -> str:
        """Return the formulas that the program computes in LaTeX, one line for each result.

        Raises:
            TracingError: for an op that has no formula (see `primad.to_sympy`).
        """
        found: str = Program.formulas().latex(self)
        return found

    def _repr_latex_(self) -> str | None:
        found: str | None = Program.formulas().short_latex(self)
        return found and f"$\\displaystyle {found}$"

    def _repr_html_(self) -> str:
        from html import escape  # loads a table of all entities

        formula = self._repr_latex_()  # notebooks that show HTML do not look for LaTeX beside it
        return f"<pre>{escape(self.text())}</pre>" + (f"<p>{escape(formula)}</p>" if formula else "")

    def check(self) -> Program:
        """Re-infer every type and check the order and ownership of nodes; return the program.

        Raises:
            ProgramError: naming the first node that is not well formed.
        """
        seen: set[Node] = set(self.inputs) | set(self.captured)
        for node in self.outputs:
            if isinstance(node.type, TupleType):
                raise ProgramError(f"the output {node} is not an array", fix="return the op's results one by one.")
        for node in self.nodes:
            if not isinstance(node.op, Leaf):
                for operand in node.inputs:
                    if operand not in seen:
                        raise ProgramError(
                            f"{node} uses {operand} before it is computed",
                            fix="list the nodes in an order in which operands come first.",
                        )
                inferred = node.op.infer(*[operand.type for operand in node.inputs], **dict(node.params))
                if inferred != node.type:
                    raise ProgramError(
                        f"node {node} has type {node.type} but its op infers {inferred}",
                        why="This is a bug in primad.",
                        fix="please report it with the program.",
                    )
            elif node.op is INPUT and node not in self.inputs:
                raise ProgramError(
                    f"input {node} is not among the program's inputs",
                    fix="make the program with every input that its nodes read.",
                )
            seen.add(node)
        return self

    def cost(self) -> Cost:
        """Count flops, matrix-product flops, bytes and nodes of one run (see `Cost`)."""
        total = Cost()
        for node in self.nodes:
            if not isinstance(node.op, Leaf):
                total = total + node.op.cost(node)
        return total

    @cached_property
    def _structure(self) -> tuple[Key, list[Node]]:
        """The canonical key, and the leaves that it abstracts from (in the order of their holes)."""
        static: set[Node] = set()
        # Leaves count in the order of their first use, which does not depend on when they were made.
        leaves: dict[Node, None] = {}
        for node in self.nodes:
            inputs = node.inputs
            if not inputs:
                continue
            for operand in inputs:
                if operand.op is LITERAL or operand.op is CAPTURED:
                    leaves[operand] = None
            for position in node.op.static_operands:
                static.add(inputs[position])
        for node in self.outputs:
            if node.op is LITERAL or node.op is CAPTURED:
                leaves[node] = None
        sources = dict.fromkeys(self.captured)
        for node in leaves:
            if node.op is CAPTURED or (node not in static and not is_structural(node)):
                sources[node] = None
        number: dict[Node, int] = {}
        for node in (*self.inputs, *sources):
            number[node] = len(number)
        rows: list[Any] = [tuple([node.type for node in number])]
        for node in leaves:
            if node not in number:
                number[node] = len(number)
                rows.append((LITERAL, param_key(literal_value(node)), node.type))
        for node in self.nodes:
            if node not in number:
                number[node] = len(number)
                params = params_key(node.params) if node.params else ()
                rows.append((node.op, tuple([number[operand] for operand in node.inputs]), params))
        rows.append(tuple([number[node] for node in self.outputs]))
        return Key(tuple(rows)), list(sources)

    @property
    def key(self) -> Key:
        """The canonical key, equal for programs that are the same up to captured arrays and general scalars."""
        return self._structure[0]

    @property
    def sources(self) -> list[Node]:
        """Leaves and older nodes that `hoisted()` turns into inputs, in order."""
        return self._structure[1]

    @cached_property
    def source_values(self) -> list[Any]:
        """The values of the captured arrays and scalars among them; older nodes have none."""
        return [leaf_value(node) for node in self.sources]

    def hoisted(self, scalars: bool = True) -> Program:
        """Return the program in which captured values and general scalars have become trailing inputs.

        Scalars 0, ±1 and exponents stay, since laws and rules look at them.

        Args:
            scalars: whether scalars become inputs too.
        """
        trace = Trace()
        inputs = [trace.input(node.type) for node in self.inputs]
        mapping = dict(zip(self.inputs, inputs, strict=True))
        sources = [node for node in self.sources if scalars or node.op is not LITERAL]
        for node in sources:
            mapping[node] = trace.input(node.type)
        replay(self.nodes, mapping, trace, copy=True)
        outputs = [mapping[node] for node in self.outputs]
        lines = {mapping[node]: line for node, line in self.lines.items() if node in mapping}
        names = list(self.names) + [f"c{i}" for i in range(len(sources))]
        given = [*inputs, *(mapping[node] for node in sources)]
        hoisted = Program(trace, given, outputs, names=names, label=self.label)
        hoisted.lines = lines
        trace.close()
        return hoisted


class ClosedProgram:
    """A program as the param of a composite: compared by its canonical key, its captured values being operands.

    Attributes:
        program: the program as it was traced.
        out_types: types of its outputs.
        lawful: whether laws may be applied to it.
        is_panel: whether it is some rows of a larger program: a loop of it takes as long as passes over whole arrays.
        is_edge: whether these are few rows at an edge: they take little time, however they are computed.
    """

    lawful = True
    is_panel = False
    is_edge = False
    __slots__ = ("_hoisted", "key", "out_types", "program")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.key = program.key
        self.out_types = program.out_types
        self._hoisted: Program | None = None

    @property
    def hoisted(self) -> Program:
        """The program with its captured values as trailing inputs."""
        if self._hoisted is None:
            self._hoisted = self.program.hoisted()
        return self._hoisted

    @property
    def operand_types(self) -> list[ArrayType]:
        """Types of the operands of an op that holds it, which are its inputs and what it captures."""
        return [node.type for node in (*self.program.inputs, *self.program.sources)]

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClosedProgram) and self.key == other.key


def carry_lines(source: Program, mapping: Mapping[Node, Node], target: Trace) -> None:
    """Copy the user's lines of `source` to the nodes that replaced its own."""
    lines = target.lines
    known: list[tuple[Node | None, str | None]]
    if len(mapping) < len(source.lines):  # most of them became nothing
        known = [(new, source.lines.get(node)) for node, new in mapping.items()]
    else:
        known = [(mapping.get(node), line) for node, line in source.lines.items()]
    for new, line in known:
        if new is not None and line is not None and new.trace is target:
            lines.setdefault(new, line)


def subprogram(
    program: Program,
    inputs: Sequence[Node],
    outputs: Sequence[Node],
    names: Sequence[str] | None = None,
    mapping: dict[Node, Node] | None = None,
) -> Program:
    """Return the part of a program that computes some of its nodes from others, which become its inputs.

    Args:
        program: the whole.
        inputs: what is given.
        outputs: what is computed.
        names: of the inputs.
        mapping: where to say which node became which.
    """
    trace = Trace()
    new = [trace.input(node.type) for node in inputs]
    mapping = {} if mapping is None else mapping
    for node, fresh in zip(inputs, new, strict=True):
        if node.op is not LITERAL and node.op is not CAPTURED:
            mapping.setdefault(node, fresh)
    needed = needed_between(mapping, outputs)
    replay([node for node in program.nodes if node in needed], mapping, trace, copy=True)
    carry_lines(program, mapping, trace)
    part = Program(trace, new, [mapping[node] for node in outputs], names=names)
    trace.close()
    return part
