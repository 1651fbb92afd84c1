"""Plans as JSON, to keep them between processes: what was chosen, and the texts of native functions.

A plan is lists of numbers: of programs, which `primad.ir.json_form` packs, and of their nodes.
Reading executes nothing: programs are checked, texts are compiled or found, and what does not fit is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from primad.ir.array_types import TupleType
from primad.ir.json_form import NotSerializableError, not_packed, numbered, packed, unpacked_nodes
from primad.ir.node import Node, Trace
from primad.ir.program import Program
from primad.ir.signature import Signature
from primad.native.emit.kernels import Read
from primad.native.llvm.builder import DECLARATIONS
from primad.native.llvm.compiler import Kernel, compiler
from primad.native.loops.body_programs import lines_within, nodes_within
from primad.native.module.program_text import ProgramText
from primad.ops.record.primitive import project
from primad.runtime.executors.executor import Executable
from primad.runtime.plan.compiled_program import CompiledProgram, written_program
from primad.runtime.plan.fusion import FusedStep
from primad.runtime.plan.interpreter import Plan
from primad.runtime.plan.native_steps import NativePart, NativeStep
from primad.runtime.plan.planned_program import PlannedOp, PlannedProgram
from primad.runtime.tiling.native_tiles import NativeTiles, Worker
from primad.runtime.tiling.tile_program import TilePartition
from primad.runtime.tiling.tileable_axes import Tileable
from primad.runtime.tiling.tiles import Tiles

Ops = Mapping[str, Any]


def packed_plan(plan: Executable, known: Ops) -> list[Any]:
    """Return a plan as JSON: the programs, and the plan in their terms.

    Raises:
        NotSerializableError: where that cannot be.
    """
    writing = _Writing(known)
    try:
        return [writing.programs, writing.executable(plan)]
    except KeyError:  # a node of another program, as of one in parts of complex numbers
        raise NotSerializableError("a node of another program") from None


def unpacked_plan(data: Any, known: Ops, signature: Signature | None) -> Executable:
    """Return the plan that `packed_plan` wrote.

    Args:
        data: what that gave, or anything else that JSON has.
        known: the ops by name.
        signature: how Python calls it, if it does.

    Raises:
        PrimadError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError: for what is no
            plan, or whose text LLVM refuses.
    """
    programs, how = data
    return _Reading(programs, known, signature).executable(how)


# -- writing -----------------------------------------------------------------------------------------------------------


class _Writing:
    """What has been packed so far.

    Attributes:
        programs: the programs.
    """

    def __init__(self, known: Ops) -> None:
        self.programs: list[Any] = []
        self._known = known
        self._seen: dict[int, tuple[int, Program, dict[Node, int]]] = {}

    def executable(self, plan: Executable) -> list[Any]:
        """Say what runs a program."""
        for kind, say in self._kinds().items():
            if type(plan) is kind:
                return [_NAMES[kind], *say(plan)]
        raise NotSerializableError(f"a plan of the type {type(plan).__name__}")

    def _kinds(self) -> dict[type[Executable], Callable[[Any], list[Any]]]:
        return {
            CompiledProgram: self._function, Plan: self._steps, NativeTiles: self._tiles, PlannedProgram: self._planned,
        }  # fmt: skip

    def _program(self, program: Program) -> tuple[int, dict[Node, int]]:
        """Return the number of a program, and those of its nodes."""
        if id(program) not in self._seen:
            data = packed(program, self._known)
            if data is None:
                raise NotSerializableError(not_packed(program, self._known))
            places = {node: i for i, node in enumerate(numbered(program))}
            self._seen[id(program)] = len(self.programs), program, places
            self.programs.append(data)
        number, _, places = self._seen[id(program)]
        return number, places

    def _function(self, plan: CompiledProgram) -> list[Any]:
        if plan.written is not plan.program:  # its numbers are in parts
            raise NotSerializableError("complex numbers in parts")
        failing = _places_within(written_program(plan.program), plan.failing)
        return [self._program(plan.program)[0], *_texts([plan.kernels[0]]), plan.scratch, failing, plan.work]

    def _steps(self, plan: Plan) -> list[Any]:
        number, places = self._program(plan.program)
        texts = _texts([unit.kernel for unit in plan.units if isinstance(unit, NativeStep)])
        kernels: Sequence[Kernel] = []
        if texts:
            host = compiler()
            assert host is not None
            kernels = host.kernels(texts)
        units = [
            self._native(unit, kernels.index(unit.kernel), places, plan.program)
            if isinstance(unit, NativeStep)
            else places[unit]
            for unit in plan.units
        ]
        return [number, texts, units, plan.donated, plan.memory, plan.inner]

    def _native(self, unit: NativeStep, kernel: int, places: Mapping[Node, int], program: Program) -> list[Any]:
        def of(nodes: Sequence[Node]) -> list[int]:
            return [places[node] for node in nodes]

        common = [kernel, of(unit.inputs), of(unit.results), sorted(of([*unit.in_place])), unit.work, unit.flops]
        if isinstance(unit, NativePart):
            return [*common, of(unit.nodes), unit.scratch, _places_within(program, unit.failing)]
        assert isinstance(unit, FusedStep)
        reads = [[places[read.source], read.layout] for read in unit.reads]
        return [*common, reads, unit.layouts, unit.loops]

    def _tiles(self, plan: NativeTiles) -> list[Any]:
        worker, part = plan.worker, plan.partition
        number, places = self._program(part.program)
        failing = _places_within(plan.tile, worker.failing) if worker.failing else []

        def of(nodes: Sequence[Node] | frozenset[Node]) -> list[int]:
            found = [places[node] for node in nodes if node in places]
            return sorted(found) if isinstance(nodes, frozenset) else found

        dimension = part.dimension
        axes = [[places[node], axis] for node, axis in dimension.axis.items() if node in places]
        cut = [dimension.length, axes, of(dimension.reductions), of(dimension.sources), dimension.bytes_per_index]
        ends = [of(part.inputs), of(part.totals), of(part.sums), part.total_of, of(part.sliced), part.into]
        how = [plan.length, [plan.products, plan.loops], *_texts([plan.kernel]), worker.scratch, failing, worker.joins]
        return [number, cut, of(part.before), of(part.after), ends, how]

    def _planned(self, plan: PlannedProgram) -> list[Any]:
        number, _ = self._program(plan.program)
        places = {node: i for i, node in enumerate(plan.planned.inputs)}
        steps: list[Any] = []
        tiles = None
        count = len(places)
        for op, operands, results in plan.steps:
            tiles = len(steps) if op.by is plan.tiles else tiles
            steps.append([op.name, self.executable(op.by), _places(places, operands), op.kept_bytes])
            places.update({node: i for i, node in enumerate(results, count)})
            count += len(results)
        if (tiles is None) != (plan.tiles is None):
            raise NotSerializableError("tiles that are no step of the plan")
        return [number, steps, _places(places, plan.planned.outputs), plan.donated, plan.why, tiles]


def _places(places: Mapping[Node, int], nodes: Sequence[Node]) -> list[int]:
    try:
        return [places[node] for node in nodes]
    except KeyError:
        raise NotSerializableError("a constant of a plan") from None


def _places_within(program: Program, nodes: Sequence[Node]) -> list[int]:
    """Return the numbers of nodes of a program and of the bodies in it."""
    places = {node: i for i, node in enumerate(nodes_within(program))} if nodes else {}
    return [places[node] for node in nodes]


def _texts(kernels: Sequence[Kernel]) -> list[str]:
    """Return the texts of kernels, each once, in the order in which they were compiled together."""
    host = compiler()
    texts = None if host is None else host.texts_of(kernels)
    if texts is None:
        raise NotSerializableError("a function whose text is not known")
    return texts


_NAMES: dict[type[Executable], str] = {
    CompiledProgram: "function", Plan: "steps", NativeTiles: "tiles", PlannedProgram: "planned",
}  # fmt: skip


# -- reading -----------------------------------------------------------------------------------------------------------


class _Reading:
    """What is read, and the programs that it refers to, of which each is read when it is met first."""

    def __init__(self, programs: Sequence[Any], known: Ops, signature: Signature | None) -> None:
        self._signature = signature
        self._program = cache(lambda number: unpacked_nodes(programs[_number(number)], known))

    def executable(self, data: Sequence[Any]) -> Executable:
        """Return what runs a program."""
        kind, *rest = data
        reading: dict[str, Callable[..., Executable]] = {
            "function": self._function, "steps": self._steps, "tiles": self._tiles, "planned": self._planned,
        }  # fmt: skip
        return reading[kind](*rest)

    def _function(self, number: int, text: str, scratch: int, failing: list[int], work: int) -> Executable:
        program, _ = self._program(number)
        functions, _, declared = text.partition(DECLARATIONS)
        lines = {line: line for line in declared.splitlines()}
        plain = [functions, lines, scratch, failing]
        of = ProgramText.of(plain, lambda: written_program(program))
        return CompiledProgram(program, program, self._signature, of, _number(work))

    def _steps(
        self, number: int, texts: list[str], units: list[Any], donated: Any, memory: int | None, inner: int
    ) -> Executable:
        program, nodes = self._program(number)
        host = compiler()
        assert host is not None
        kernels = host.kernels(list(map(_text, texts))) if texts else []
        read = [
            self._native(program, nodes, kernels, *unit) if isinstance(unit, list) else nodes[_number(unit)]
            for unit in units
        ]
        limit = None if memory is None else _number(memory)
        return Plan(program, donated=_pairs(donated), units=read, memory=limit, inner=_number(inner))

    def _native(
        self, program: Program, nodes: Sequence[Node], kernels: Sequence[Kernel], kernel: int, inputs: Any,
        results: Any, in_place: Any, work: int, flops: int, *rest: Any,
    ) -> NativeStep:  # fmt: skip
        common = (
            kernels[_number(kernel)], tuple(_among(nodes, inputs)), tuple(_among(nodes, results)),
            frozenset(_among(nodes, in_place)), _number(work), _number(flops),
        )  # fmt: skip
        first, second, third = rest
        if isinstance(second, int):
            within = list(nodes_within(program)) if third else []
            lines = lines_within(program) if third else {}
            return NativePart(*common, _among(nodes, first), _number(second), _among(within, third), lines)
        reads = tuple([Read(nodes[_number(source)], _text(layout)) for source, layout in first])
        rows, columns, others = map(_number, third)
        return FusedStep(*common, reads, tuple(map(_text, second)), (rows, columns, others))

    def _tiles(self, number: int, cut: Any, before: Any, after: Any, ends: Any, how: Any) -> Executable:
        program, nodes = self._program(number)
        size, axes, reductions, sources, bytes_per_index = cut
        axis = {nodes[_number(place)]: _number(at) for place, at in axes}
        if {node.type.shape[at] for node, at in axis.items()} != {size}:
            raise ValueError("what is kept is no plan: values have another length along the axis")
        sums, cuts = frozenset(_among(nodes, reductions)), frozenset(_among(nodes, sources))
        inputs, totals, parts, total_of, sliced, into = ends
        partition = TilePartition(
            program=program, dimension=Tileable(_number(size), axis, sums, cuts, _number(bytes_per_index)),
            before=frozenset(_among(nodes, before)), after=frozenset(_among(nodes, after)),
            inputs=_among(nodes, inputs), totals=_among(nodes, totals), sums=_among(nodes, parts),
            total_of=list(map(_number, total_of)), sliced=_among(nodes, sliced),
            into=[None if place is None else _number(place) for place in into],
        )  # fmt: skip
        length, (products, loops), text, scratch, failing, joins = how
        tile = cache(lambda: partition.tile(_number(length)))
        within = _among(list(nodes_within(tile()[0])), failing) if failing else []
        lines = lines_within(tile()[0]) if failing else {}
        worker = Worker(_text(text), _number(scratch), within, lines, joins is True)
        return NativeTiles(partition, _number(length), tile, (_number(products), _number(loops)), lambda table: worker)

    def _planned(
        self, number: int, steps: list[Any], outputs: Any, donated: Any, why: str, tiles: int | None
    ) -> Executable:
        program, _ = self._program(number)
        trace = Trace()
        inputs = [trace.input(type) for type in program.in_types]
        values = list(inputs)
        every: list[Executable] = []
        for name, data, operands, kept in steps:
            by = self.executable(data)
            ends = by.partition.results if isinstance(by, Tiles) else by.program.outputs
            given = by.partition.operands if isinstance(by, Tiles) else by.program.inputs
            taken = _among(values, operands)
            if [node.type for node in taken] != [node.type for node in given]:
                raise ValueError("what is kept is no plan: operands have other types")
            op = PlannedOp(_text(name), by, TupleType(tuple([node.type for node in ends])), int(kept))
            applied = trace.place(op, tuple(taken), ())
            values += [trace.place(project, (applied,), (("index", i),)) for i in range(len(ends))]
            every.append(by)
        found = _among(values, outputs)
        if [node.type for node in found] != program.out_types:
            raise ValueError("what is kept is no plan: results have other types")
        trace.close()
        planned = Program(trace, inputs, found, names=lambda: program.names)
        chosen = None if tiles is None else every[_number(tiles)]
        return PlannedProgram(program, planned, _pairs(donated), _text(why), chosen)


def _number(data: Any) -> int:
    """Return a number that is not negative."""
    if type(data) is not int or data < 0:
        raise ValueError(f"what is kept is no plan: {data!r} is no number of a thing")
    return data


def _text(data: Any) -> str:
    if type(data) is not str:
        raise ValueError(f"what is kept is no plan: {data!r} is no text")
    return data


def _among(nodes: Sequence[Node], places: Sequence[Any]) -> list[Node]:
    return [nodes[_number(place)] for place in places]


def _pairs(data: Sequence[Sequence[Any]]) -> tuple[tuple[int, int], ...]:
    return tuple([(_number(first), _number(second)) for first, second in data])
