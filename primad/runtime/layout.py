"""A small program laid out for one native function: its loops in order, its memory, and its text.

Pointwise steps with the same shape share a loop, parts of a joined or padded array are computed in their place, and
values that die inside share one block of scratch memory.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primad import ops
from primad.ir.node import CAPTURED, INPUT, LITERAL, Node, literal_value
from primad.ir.program import Program
from primad.runtime.contractions import Contraction, contraction, packing, write_contraction
from primad.runtime.entry import ALIGNMENT
from primad.runtime.fusion import components
from primad.runtime.loops import Code, View, contiguous, pointwise
from primad.runtime.native import DECLARATIONS, has_code
from primad.runtime.places import VIEWS, Place, Splat, part_of, view_of
from primad.runtime.vectors import EMITTERS, Vector

GENERATORS = frozenset((ops.eye, ops.iota))
MOST_CONSTANTS = 4096
"""Elements of an array that becomes a part of the text."""
CELLS = ("<f8", "<f4", "|b1")
REDUCERS = frozenset((ops.sum, ops.contract))
WRITERS = frozenset((ops.sum, ops.contract, ops.pad, ops.concatenate))
EMITTED = frozenset(ops.BY_NAME[name] for name in EMITTERS)


@dataclass(eq=False)
class Unit:
    """Nodes that are computed together.

    Attributes:
        nodes: pointwise nodes, or one node of another kind.
        results: those whose values are written to memory.
        reads: the buffers that are read.
    """

    nodes: list[Node]
    results: list[Node] = field(default_factory=list)
    reads: set[Node] = field(default_factory=set)


def layout_of(program: Program) -> Layout | None:
    """Lay out a lowered program; None if an op or a type has no loop."""
    constants = {node for node in program.nodes if node.op is CAPTURED or node.op in GENERATORS}
    steps = [node for node in program.nodes if node.op not in (INPUT, LITERAL) and node not in constants]
    if any(node.type.dtype.str not in CELLS for node in program.nodes):
        return None
    if any(node.type.size > MOST_CONSTANTS for node in constants):
        return None
    if not all(node.op in VIEWS or node.op in WRITERS or has_code(node) for node in steps):
        return None
    layout = Layout(program, steps, constants)
    return layout if layout.arrange() else None


class Layout:
    """Where each value of a program lies, and in which order they are computed."""

    def __init__(self, program: Program, steps: Sequence[Node], constants: set[Node]) -> None:
        self.program = program
        self.steps = steps
        self.constants = constants
        self.places: dict[Node, Place] = {}
        for node in program.inputs:
            self.places[node] = self._home_alone(node)
        self.units: list[Unit] = []
        self.maker: dict[Node, Unit] = {}
        self.container = self._containers()

    def _containers(self) -> dict[Node, tuple[Node, int]]:
        """Return the values that are only parts of a joined or padded array: they are computed in their place."""
        made = set(self.steps)
        uses: dict[Node, int] = dict.fromkeys(self.program.outputs, 2)
        for node in self.steps:
            for operand in node.inputs:
                uses[operand] = uses.get(operand, 0) + 1
        return {
            operand: (node, i)
            for node in self.steps
            if node.op is ops.concatenate or (node.op is ops.pad and not any(dict(node.params)["interior"]))
            for i, operand in enumerate(node.inputs)
            if uses[operand] == 1 and operand.op not in VIEWS and operand in made
        }

    def arrange(self) -> bool:
        """Find units and places; return False if something has no loop."""
        keys: dict[Node, Any] = {}
        for node in self.steps:
            if node.op not in EMITTED:
                continue
            floats = [x.type.dtype for x in (*node.inputs, node) if x.type.dtype.kind == "f"]
            inherited = [keys[x][1] for x in node.inputs if x in keys]
            keys[node] = (node.type.shape, (floats or inherited or [np.dtype(np.float64)])[0])
        for members in components(self.steps, keys):
            self.units.append(Unit(members))
        alone = [node for node in self.steps if node not in keys and node.op not in VIEWS]
        self.units += [Unit([node]) for node in alone]
        for unit in self.units:
            self.maker.update(dict.fromkeys(unit.nodes, unit))
        for node in self.program.nodes:
            if not self._put(node):
                return False
        self._find_results()
        self.units = list(self._ordered())
        return True

    def _put(self, node: Node) -> bool:
        if node in self.places:
            return True
        if node.op is LITERAL:
            self.places[node] = Splat(literal_value(node), node.type.dtype)
            return True
        if node.op in VIEWS:
            source = self.places[node.inputs[0]]
            found = source if isinstance(source, Splat) else view_of(node, source)
            if found is None:
                self.maker[node] = Unit([node])
                self.units.append(self.maker[node])
                found = self._home(node)
            self.places[node] = found
            return True
        self.places[node] = self._home(node)
        return not (node.op in REDUCERS and any(isinstance(self.places[x], Splat) for x in node.inputs))

    def _home(self, node: Node) -> View:
        if node in self.container:
            whole, position = self.container[node]
            place = self.places.get(whole)
            if not isinstance(place, View):
                place = self.places[whole] = self._home(whole)
            return part_of(whole, position, place)
        shape = node.type.shape
        return View(node, 0, shape, contiguous(shape), node.type.dtype)

    def _find_results(self) -> None:
        """Find what each unit writes and reads."""
        needed = set(self.program.outputs)
        for node in self.steps:
            unit = self.maker.get(node)
            for operand in node.inputs:
                if self.maker.get(operand) is not unit or unit is None:
                    needed.add(operand)
        for unit in self.units:
            inside = set(unit.nodes)
            unit.results = [node for node in unit.nodes if node in needed]
            for node in unit.nodes:
                for operand in node.inputs:
                    place = self.places[operand]
                    if operand not in inside and isinstance(place, View):
                        unit.reads.add(place.buffer)

    def _makers(self, node: Node) -> Iterator[Unit]:
        while node in self.places and node not in self.maker:
            if not node.inputs:
                return
            node = node.inputs[0]
        if node in self.maker:
            yield self.maker[node]

    def _ordered(self) -> Iterator[Unit]:
        """Yield the units, operands first, and otherwise as the program had them."""
        position = {node: i for i, node in enumerate(self.steps)}
        waiting: dict[Unit, set[Unit]] = {}
        users: dict[Unit, list[Unit]] = {}
        for unit in self.units:
            before = {maker for node in unit.nodes for x in node.inputs for maker in self._makers(x)} - {unit}
            waiting[unit] = before
            for maker in before:
                users.setdefault(maker, []).append(unit)
        rank = {unit: min(position[node] for node in unit.nodes) for unit in self.units}
        ready = [(rank[unit], i, unit) for i, unit in enumerate(self.units) if not waiting[unit]]
        heapq.heapify(ready)
        number = len(self.units)
        while ready:
            _, _, unit = heapq.heappop(ready)
            yield unit
            for user in users.get(unit, ()):
                waiting[user].discard(unit)
                if not waiting[user]:
                    number += 1
                    heapq.heappush(ready, (rank[user], number, user))

    # -- memory --------------------------------------------------------------------------------------------------------

    def _scratch(self, packs: dict[Unit, View], given: set[Node]) -> tuple[dict[Any, int], int]:
        """Return the place of each buffer in the scratch memory, and its size."""
        first: dict[Any, int] = {}
        last: dict[Any, int] = {}
        types: dict[Any, int] = {}
        for i, unit in enumerate(self.units):
            written = [self.places[node] for node in unit.results]
            for place in (*written, *([packs[unit]] if unit in packs else [])):
                assert isinstance(place, View)
                first.setdefault(place.buffer, i)
                last[place.buffer] = i
                if place.buffer is unit:
                    types[unit] = int(np.prod(place.shape)) * place.dtype.itemsize
                else:
                    types[place.buffer] = place.buffer.type.nbytes
            for buffer in unit.reads:
                last[buffer] = i
        for node in self.program.outputs:
            place = self.places[node]
            if isinstance(place, View):
                last[place.buffer] = len(self.units)
        found: dict[Any, int] = {}
        total = 0
        for buffer in sorted(first, key=lambda buffer: first[buffer]):
            if buffer in given:
                continue
            size = -(-max(1, types[buffer]) // ALIGNMENT) * ALIGNMENT
            taken = sorted(
                (found[other], found[other] + -(-max(1, types[other]) // ALIGNMENT) * ALIGNMENT)
                for other in found
                if first[other] <= last[buffer] and first[buffer] <= last[other]
            )
            start = 0
            for low, high in taken:
                if start + size <= low:
                    break
                start = max(start, high)
            found[buffer] = start
            total = max(total, start + size)
        return found, total

    # -- text ----------------------------------------------------------------------------------------------------------

    def write(self) -> tuple[str, int]:
        """Return the function's text and the size of its scratch memory."""
        outputs = self.program.outputs
        pointers: dict[Any, str] = {node: f"%in{i}" for i, node in enumerate(self.program.inputs)}
        direct: dict[Node, int] = {}
        for k, node in enumerate(outputs):
            if node in self.maker and node not in direct and self.places[node] == self._home_alone(node):
                direct[node] = k
                pointers[node] = f"%out{k}"
        forms, packs = self._forms()
        constants = sorted(self.constants, key=lambda node: node.index)
        pointers.update({node: f"@KERNEL.constant{i}" for i, node in enumerate(constants)})
        scratch, size = self._scratch(packs, set(pointers))
        pointers.update({buffer: f"%scratch{i}" for i, buffer in enumerate(scratch)})
        code = Code(pointers)
        for unit in self.units:
            if unit in packs:
                source = forms[unit][1]
                _copy(code, source, packs[unit])
            self._write_unit(code, unit, forms)
        for k, node in enumerate(outputs):
            if direct.get(node) != k:
                target = View(k, 0, node.type.shape, contiguous(node.type.shape), node.type.dtype)
                code.pointers[k] = f"%out{k}"
                _copy(code, self.places[node], target)
        head = ["define void @KERNEL(ptr %table, ptr %scratch) nounwind {", "entry:"]
        names = [f"in{i}" for i in range(len(self.program.inputs))] + [f"out{k}" for k in range(len(outputs))]
        for i, name in enumerate(names):
            head += [f"  %slot.{name} = getelementptr ptr, ptr %table, i64 {i}"]
            head += [f"  %{name} = load ptr, ptr %slot.{name}"]
        for i, place in enumerate(scratch.values()):
            head.append(f"  %scratch{i} = getelementptr i8, ptr %scratch, i64 {place}")
        arrays = [_array_text(pointers[node], node) for node in constants]
        text = "\n".join([*arrays, *head, *code.lines, "  ret void", "}"])
        return text + DECLARATIONS + "\n".join(code.called.values()), size

    def _home_alone(self, node: Node) -> View:
        return View(node, 0, node.type.shape, contiguous(node.type.shape), node.type.dtype)

    def _view(self, node: Node) -> View:
        place = self.places[node]
        assert isinstance(place, View)
        return place

    def _forms(self) -> tuple[dict[Unit, tuple[Contraction, Place]], dict[Unit, View]]:
        """Return the contractions, with what should be copied first, and where to."""
        forms: dict[Unit, tuple[Contraction, Place]] = {}
        packs: dict[Unit, View] = {}
        for unit in self.units:
            (node, *_) = unit.nodes
            if node.op not in REDUCERS:
                continue
            out = self._view(node)
            operands = _labelled(node, [self._view(x) for x in node.inputs])
            out_labels = _out_labels(node)
            form = contraction(out, out_labels, operands)
            source: Place = out
            chosen = packing(form, Vector(node.type.dtype, "").lanes)
            if chosen is not None:
                source, labels = operands[chosen]
                order = sorted(range(len(labels)), key=lambda i: out_labels.find(labels[i]))
                shape = tuple([source.shape[i] for i in order])
                packs[unit] = View(unit, 0, shape, contiguous(shape), source.dtype)
                source = View(
                    source.buffer, source.offset, shape, tuple([source.strides[i] for i in order]), source.dtype
                )
                operands[chosen] = (packs[unit], "".join(labels[i] for i in order))
                form = contraction(out, out_labels, operands)
            forms[unit] = (form, source)
        return forms, packs

    def _write_unit(self, code: Code, unit: Unit, forms: dict[Unit, tuple[Contraction, Place]]) -> None:
        (node, *_) = unit.nodes
        if unit in forms:
            write_contraction(code, forms[unit][0], node.type.dtype)
        elif node.op in EMITTED:
            self._write_group(code, unit)
        elif node.op in VIEWS:  # a reshape whose elements must move
            (operand,) = node.inputs
            source = self._view(operand)
            _copy(code, source, View(node, 0, source.shape, contiguous(source.shape), source.dtype))
        else:
            whole = self._view(node)
            if node.op is ops.pad:
                _fill_margins(code, node, whole)
            for i, operand in enumerate(node.inputs):
                if self.container.get(operand) != (node, i):
                    _copy(code, self.places[operand], part_of(node, i, whole))

    def _write_group(self, code: Code, unit: Unit) -> None:
        inside = set(unit.nodes)
        outside = dict.fromkeys(x for node in unit.nodes for x in node.inputs if x not in inside)
        loaded = [x for x in outside if isinstance(self.places[x], View)]
        place = {self.places[x]: i for i, x in enumerate({self.places[x]: x for x in loaded}.values())}
        reads = [view for view in place if isinstance(view, View)]
        floats = [x.type.dtype for node in unit.nodes for x in (*node.inputs, node) if x.type.dtype.kind == "f"]

        def compute(vector: Vector, values: list[str]) -> list[str]:
            known: dict[Node, str] = {}

            def value(node: Node) -> str:
                if node in known:
                    return known[node]
                found = self.places[node]
                if isinstance(found, Splat):
                    return vector.truth(found.value) if found.dtype.kind == "b" else vector.constant(found.value)
                return values[place[found]]

            for node in unit.nodes:
                known[node] = EMITTERS[node.op.name](vector, *[value(operand) for operand in node.inputs])
            return [known[node] for node in unit.results]

        dtype = (floats or [np.dtype(np.float64)])[0]
        pointwise(code, reads, [self._view(node) for node in unit.results], dtype, compute)


def _array_text(name: str, node: Node) -> str:
    """Return the definition of a constant array."""
    found = node.params[0][1].array if node.op is CAPTURED else node.op.numpy(**dict(node.params))
    array = np.ascontiguousarray(found, node.type.dtype)
    cell = View(node, 0, (), (), array.dtype).cell
    if cell == "i8":
        elements = [f"i8 {int(x)}" for x in array.ravel()]
    else:
        elements = [f"{cell} 0x{bits:016X}" for bits in array.ravel().astype(np.float64).view(np.uint64)]
    return f"{name} = internal constant [{len(elements)} x {cell}] [{', '.join(elements)}]"


def _labelled(node: Node, views: Sequence[View]) -> list[tuple[View, str]]:
    if node.op is ops.contract:
        x, y, _ = dict(node.params)["labels"].replace("->", ",").split(",")
        return [(views[0], x), (views[1], y)]
    return [(views[0], ALPHABET[: len(views[0].shape)])]


def _out_labels(node: Node) -> str:
    params = dict(node.params)
    if node.op is ops.contract:
        return str(params["labels"].split("->")[1])
    return "".join(ALPHABET[i] for i in range(node.inputs[0].type.ndim) if i not in params["axes"])


ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _copy(code: Code, source: Place, target: View) -> None:
    float_type = target.dtype if target.dtype.kind == "f" else np.dtype(np.float64)
    if isinstance(source, Splat):
        value = source.value
        truth = target.dtype.kind == "b"
        pointwise(code, [], [target], float_type, lambda v, _: [v.truth(value) if truth else v.constant(value)])
    else:
        pointwise(code, [source], [target], float_type, lambda _, values: values)


def _fill_margins(code: Code, node: Node, whole: View) -> None:
    """Write zeros where a padded array has no element of its operand."""
    params = dict(node.params)
    zero = Splat(0, whole.dtype)
    if any(params["interior"]):
        _copy(code, zero, whole)
        return
    shape = list(whole.shape)
    offset = whole.offset
    for axis, (low, high) in enumerate(zip(params["low"], params["high"], strict=True)):
        step = whole.strides[axis]
        for start, length in ((0, low), (shape[axis] - high, high)):
            if length:
                slab = (*shape[:axis], length, *shape[axis + 1 :])
                _copy(code, zero, View(whole.buffer, offset + start * step, slab, whole.strides, whole.dtype))
        shape[axis] -= low + high
        offset += low * step
