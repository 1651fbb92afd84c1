"""Rules on boxes: derivatives and laws are compared at all points of a box at once, by interval arithmetic.

A derivative is what the function is an integral of. So with D the derivative that a rule gives, on a cell from p to
p + h v the mean of D(x) v over the cell is (f(p + h v) − f(p)) / h, for every start p. Bounds of the function, which
use no rule, give those of the quotient for all starts of a slab; bounds of the rule's program give those of the mean.
Where they do not meet the rule is wrong, for certain. Where they do, the mean error of the rule on that cell is proven
to be at most the distance of their farthest ends. Cells fill a box. What is relied on are bounds of the ops alone,
which tests compare with numbers of many digits.

The reverse derivative is compared with the forward one, an op with its transpose, and the sides of a law with each
other, in the same way: bounds that do not meet refute, and else say by how much both may differ anywhere on the box.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from primad.enclosures.bounds import Bounds, point, up
from primad.enclosures.interval_arithmetic import add, div, mul, sub
from primad.enclosures.interval_run import IntervalRun
from primad.errors import EnclosureError
from primad.ir.array_types import ArrayType
from primad.ir.law_families import DIRECTIONS, LOCAL, without
from primad.ir.program import Program
from primad.ops.record.fields import Law
from primad.ops.record.primitive import Primitive
from primad.recording.tracing import trace
from primad.transforms import jvp, lower, transpose, vjp
from primad.transforms.reverse import transposed_program
from primad.verify.cases.drawn_cases import Case, Choices, Example, Operand, Seeded
from primad.verify.checks.decide import FAULTS, Wrong
from primad.verify.checks.record_checks import linear_groups
from primad.verify.checks.trial import Trial, one_op
from primad.verify.verdicts import Row

CELLS = {1: (1024, 1), 2: (24, 768), 3: (8, 80)}
"""By the number of operands of an op of single elements, the cells along the one that moves, and the slabs of each of
the others. Chosen: bounds of a cell are wide by a part of 1/cells, those of quotients by cells/slabs, and a box of all
takes milliseconds to tenths of a second."""
STEP, START, STEPS = 2.0**-8, 2.0**-16, 8
"""Of ops of whole arrays: how far a cell goes, how far its starts are around the first one, and how many cells follow
each other. Chosen: quotients are wide by a part of START/STEP, and all numbers are exact, so that cells are moves."""
GRID = 2.0**12
"""The parts of 1 to which the first start is rounded, so that it is exact, too."""
HALVINGS = 10
"""How often a box is halved around a point in it, until it is proven that the op is continuous there, and bounds are as
close as they are to be."""
CLOSE = 0.1
"""The part of a derivative's size up to which its error is to be bounded, for the check to say something. Chosen: a
sign, a factor and a missing term are more."""
LAW_RADIUS = 2.0**-10
"""Half the width of boxes on which laws are compared. Chosen: a quarter of the least distance of their points from 0,
where conditions change."""
LAW_BOXES = 8
"""Boxes that each law is tried on."""

Array = np.ndarray[Any, Any]
Pairs = tuple[Sequence[Bounds], Sequence[Bounds]]


class Cell(NamedTuple):
    """A move of operands, for all starts of a box.

    Attributes:
        start: the operands before it.
        end: those after it.
        between: all that they are on the way.
        moving: the direction v, for each operand of floats.
        length: h.
    """

    start: list[Bounds]
    end: list[Bounds]
    between: list[Bounds]
    moving: list[Bounds]
    length: Bounds


class Gap:
    """The largest distance that is left between two things that should be one.

    Attributes:
        distance: so far they are apart at most.
        size: the first of them is proven to reach so far from 0.
    """

    def __init__(self) -> None:
        self.distance, self.size = 0.0, 0.0

    def compare(self, what: str, expected: Bounds, got: Bounds) -> None:
        """Count bounds in.

        Raises:
            Wrong: if they have no number in common, somewhere.
        """
        apart = (expected.low > got.high) | (got.low > expected.high)
        if np.any(apart):
            first = tuple(np.argwhere(apart)[0])
            said_of = [f"in [{x.low[first]:.17g}, {x.high[first]:.17g}]" for x in (expected, got)]
            raise Wrong(what, said_of[0], said_of[1])
        reach = np.maximum(sub(got, expected).high, sub(expected, got).high)
        self.distance = max(self.distance, float(np.max(reach, initial=0.0)))
        self.size = max(self.size, float(np.max(np.maximum(expected.low, -expected.high), initial=0.0)))

    @property
    def part(self) -> float:
        """The distance as a part of the size, rounded upwards; 0 where there was nothing to compare."""
        if not self.distance:
            return 0.0
        return float(up(self.distance / self.size)) if self.size else np.inf


def box_rows(case: Case, op: Primitive, source: Callable[[str], Choices]) -> Iterator[Row]:
    """Compare the derivatives of an op on boxes with what the op does there, and forward with reverse mode.

    Yields:
        a row for each, if the op and its rules have bounds.
    """
    if op.derivative.exempt or op.kind == "piecewise constant" or case.reverse_only or case.numeric:
        return
    for what, checks in (("JVP on a box", (_forward,)), ("transpose on a box", (_reverse, _alone))):
        parts: list[float] = []
        for index in range(case.examples):
            trial = Trial(case, op, source(f"{op.name}, {index}"))
            try:
                part = max([_on_boxes(trial, check) for check in checks])
            except Wrong as wrong:
                yield Row(op.name, what, "failed", str(wrong))
                break
            except FAULTS as error:
                yield Row(op.name, what, "failed", f"{type(error).__name__}: {error}")
                break
            if part <= CLOSE:
                parts.append(part)
        else:
            if parts:
                yield Row(op.name, what, "on a box", f"{len(parts)} of {case.examples} examples, to {said(max(parts))}")


def said(part: float) -> str:
    """Return a number of two digits, rounded upwards."""
    digits = 1 - math.floor(math.log10(part)) if part else 0
    return f"{math.ceil(part * 10.0**digits) / 10.0**digits:.2g}"


class CellPrograms:
    """What is run on cells: an op, its derivatives, and its transposes.

    Args:
        trial: of the op.
        program: applies it once.

    Attributes:
        single: whether each element of an operand is an operand of its own, so that results are compared one by one.
        value: the op.
        forward: its JVP.
        reverse: its VJP.
    """

    def __init__(self, trial: Trial, program: Program) -> None:
        self.trial, self._program = trial, program
        self.single = _is_single(trial)
        self.value, self.forward, self.reverse = lower(program), lower(jvp(program)), lower(vjp(program))

    def transposes(self) -> Iterator[tuple[tuple[int, ...], Program]]:
        """Yield operands in which the op is linear together, and its transpose in them."""
        for chosen in linear_groups(self.trial):
            linear = [i in chosen for i in range(len(self._program.inputs))]
            backward = (transposed_program if self.trial.op.programs.called else transpose)(self._program, linear)
            yield chosen, lower(backward)

    def run(self, program: Program, arguments: Sequence[Bounds]) -> tuple[list[Bounds], bool]:
        """Return bounds of results, and whether nothing jumps."""
        run = IntervalRun({self.trial.op: self.trial.case.op})
        return run.outputs(program, arguments), run.continuous

    def weights(self, types: Sequence[ArrayType]) -> list[Bounds]:
        """Return cotangents of results of some types."""
        return [point(np.ones(t.shape) if self.single else _uneven(t)) for t in types]


def _is_single(trial: Trial) -> bool:
    return trial.op.axes.pointwise and trial.case.through is None


def _uneven(type: ArrayType) -> Array:
    return (np.arange(type.size) % 5 - 1.5).reshape(type.shape)


def _on_boxes(trial: Trial, check: Callable[[CellPrograms, Cell, Gap], bool]) -> float:
    """Return by which part of their size two things may differ on a box, infinite where nothing is proven of it."""
    types = [*trial.program.in_types, *trial.program.out_types]
    if any(type.is_float and type.dtype != np.float64 for type in types) or not all(t.size for t in types):
        return np.inf
    floats = [i for i, type in enumerate(trial.program.in_types) if type.is_float]
    if not floats or not any(type.is_float for type in trial.program.out_types):
        return np.inf
    single = _is_single(trial)
    if single and len(floats) not in CELLS:
        return np.inf
    program = _of_cells(trial, len(floats)) if single else trial.program
    try:
        programs = CellPrograms(trial, program)
        for halvings in range(HALVINGS if single else 1):
            gap = Gap()
            cells = _all_of_a_box(trial, floats, 0.5**halvings) if single else _of_a_line(trial)
            if all(check(programs, cell, gap) for cell in cells) and gap.part <= CLOSE:
                return gap.part
    except EnclosureError:
        return np.inf
    return np.inf


def _forward(programs: CellPrograms, cell: Cell, gap: Gap) -> bool:
    """Compare quotients with means of derivatives; say whether both are proven to exist."""
    (first, _), (last, _) = [programs.run(programs.value, ends) for ends in (cell.start, cell.end)]
    _, continuous = programs.run(programs.value, cell.between)
    found, _ = programs.run(programs.forward, [*cell.between, *cell.moving])
    if not continuous:
        return False
    floats = [type.is_float for type in programs.value.out_types]
    for x, y, mean, on in zip(first, last, found[len(first) :], floats, strict=True):
        if not on:
            continue
        quotient = div(sub(y, x), cell.length)
        if _unknown(quotient) or _unknown(mean):
            return False
        gap.compare(f"{programs.trial.where()}: mean derivative on a box", quotient, mean)
    return True


def _reverse(programs: CellPrograms, cell: Cell, gap: Gap) -> bool:
    """Compare ⟨w, J v⟩ with ⟨Jᵀ w, v⟩, of ops of single elements for each; say whether both are proven to exist."""
    types = programs.value.out_types
    weights = programs.weights([t for t in types if t.is_float])
    pushed, continuous = programs.run(programs.forward, [*cell.between, *cell.moving])
    pulled, _ = programs.run(programs.reverse, [*cell.between, *weights])
    forward = [x for x, t in zip(pushed[len(types) :], types, strict=True) if t.is_float]
    what = f"{programs.trial.where()}: adjoint identity of the derivative on a box"
    return continuous and _same_pairing(what, (weights, forward), (pulled[len(types) :], cell.moving), programs, gap)


def _alone(programs: CellPrograms, cell: Cell, gap: Gap) -> bool:
    """Compare ⟨w, f(x)⟩ with ⟨fᵀ w, x⟩ for operands x in which the op is linear."""
    if any(not t.is_float for t in programs.value.out_types):
        return True
    weights = programs.weights(programs.value.out_types)
    for chosen, backward in programs.transposes():
        out, _ = programs.run(programs.value, cell.between)
        others = [x for i, x in enumerate(cell.between) if i not in chosen]
        pulled, _ = programs.run(backward, [*others, *weights])
        what = f"{programs.trial.where()}: adjoint identity of the op in operands {list(chosen)} on a box"
        operands = [cell.between[i] for i in chosen]
        if not _same_pairing(what, (weights, out), (pulled, operands), programs, gap):
            return False
    return True


def _same_pairing(what: str, left: Pairs, right: Pairs, programs: CellPrograms, gap: Gap) -> bool:
    """Compare two pairings Σ xy, of single elements what each adds to them; say whether they are proven to exist."""
    first, second = _paired(*left, programs.single), _paired(*right, programs.single)
    if _unknown(first) or _unknown(second):
        return False
    gap.compare(what, first, second)
    return True


def _unknown(x: Bounds) -> bool:
    return not bool(np.all(np.isfinite(x.low) & np.isfinite(x.high)))


def _paired(xs: Sequence[Bounds], ys: Sequence[Bounds], single: bool) -> Bounds:
    total = point(np.zeros(()))
    for x, y in zip(xs, ys, strict=True):
        products = mul(x, y)
        parts = [products] if single else [Bounds(a, b) for a, b in zip(*map(np.ravel, products), strict=True)]
        for part in parts:
            total = add(total, part)
    return total


# -- ops of single elements: cells that fill a box ---------------------------------------------------------------------


def _of_cells(trial: Trial, count: int) -> Program:
    """Return the program that applies an op to as many elements as there are cells."""
    cells, slabs = CELLS[count]
    type = (cells * slabs ** (count - 1),)
    operands = [
        Operand(ArrayType(type, x.type.dtype), array=x.array, literal=x.literal) for x in trial.example.operands
    ]
    return one_op(trial.op, Example(tuple(operands), trial.example.params))


def _all_of_a_box(trial: Trial, floats: Sequence[int], share: float) -> Iterator[Cell]:
    """Yield the cells along each operand of a box in the operands' domain, around the trial's first values."""
    inputs = trial.example.inputs
    cells, slabs = CELLS[len(floats)]
    ends = {}
    for i in floats:
        low, high, at = inputs[i].low, inputs[i].high, float(np.ravel(trial.values[i])[0])
        ends[i] = at + share * (low - at), at + share * (high - at)
    for moved in floats:
        edges = [np.linspace(*ends[i], (cells if i == moved else slabs) + 1) for i in floats]
        places = np.array(list(product(*[range(len(edge) - 1) for edge in edges]))).T
        sides = {i: Bounds(e[p], e[p + 1]) for i, e, p in zip(floats, edges, places, strict=True)}
        many = places.shape[1]
        between = [
            sides[i] if i in sides else point(np.resize(np.asarray(x), many)) for i, x in enumerate(trial.values)
        ]
        start, end = [[*between[:moved], point(x), *between[moved + 1 :]] for x in sides[moved]]
        moving = [point(np.full(many, float(i == moved))) for i in floats]
        yield Cell(start, end, between, moving, sub(end[moved], start[moved]))


# -- ops of whole arrays: cells behind each other along a line ---------------------------------------------------------


def _of_a_line(trial: Trial) -> Iterator[Cell]:
    """Yield cells along a random direction in all operands, the starts of which have room on every side."""
    types = trial.program.in_types
    moves = [
        np.array([trial.choose.integer(-64, 64) / 64 for _ in range(t.size)]).reshape(t.shape) if t.is_float else None
        for t in types
    ]
    moving = [point(move) for move in moves if move is not None]

    def around(step: int) -> list[Bounds]:
        found = []
        for value, move in zip(trial.values, moves, strict=True):
            if move is None:
                found.append(point(value))
                continue
            first = np.round(np.asarray(value) * GRID) / GRID + step * STEP * move
            found.append(Bounds(first - START, first + START))
        return found

    for step in range(STEPS):
        start, end = around(step), around(step + 1)
        between = [
            Bounds(np.minimum(x.low, y.low), np.maximum(x.high, y.high)) for x, y in zip(start, end, strict=True)
        ]
        yield Cell(start, end, between, moving, point(np.asarray(STEP)))


# -- laws --------------------------------------------------------------------------------------------------------------


def box_laws_row(name: str, laws: Sequence[Law]) -> Row | None:
    """Compare both sides of laws on boxes; None where none of them has bounds."""
    parts = []
    for law in laws:
        try:
            gap = _law_on_boxes(law, Seeded(law.name))
        except Wrong as wrong:
            return Row(name, "laws on boxes", "failed", str(wrong))
        except FAULTS as error:
            return Row(name, "laws on boxes", "failed", f"{law.name}: {type(error).__name__}: {error}")
        if gap is not None and gap.part <= CLOSE:
            parts.append(gap.part)
    if not parts:
        return None
    return Row(name, "laws on boxes", "on a box", f"{len(parts)} of {len(laws)} laws, to {said(max(parts))}")


def _law_on_boxes(law: Law, choose: Choices) -> Gap | None:
    if not law.shapes:
        return None  # nothing varies
    types = [ArrayType(shape, np.float64) for shape in law.shapes]
    with without(LOCAL, DIRECTIONS):
        program = lower(trace(law.statement)(*types))
    gap, found_any = Gap(), False
    for _ in range(LAW_BOXES):
        middles = [
            np.array([(choose.integer(-300, 300) * 2 + 1) / 256 for _ in range(t.size)]).reshape(t.shape) for t in types
        ]
        box = [Bounds(x - LAW_RADIUS, x + LAW_RADIUS) for x in middles]
        try:
            left, right = IntervalRun().outputs(program, box)
        except EnclosureError:
            return None
        if left.low.dtype.kind != "f" or _unknown(left) or _unknown(right):
            continue
        names = dict(zip(inspect.signature(law.statement).parameters, (x.tolist() for x in middles), strict=True))
        gap.compare(f"{law.name}, on a box around {names}", left, right)
        found_any = True
    return gap if found_any else None
