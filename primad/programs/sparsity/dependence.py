"""Which elements of an argument reach each element of a program's values, by labels.

What an op does to labels follows from its record. An op that only moves elements does the same with labels, and the
transpose of one that only adds elements moves those of its result to where they are added. A product with a known array
reaches nothing where that is zero. Of all others the axis map says which axes are the same index; along the rest
everything reaches everything. What is found is never too little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import NotDifferentiableError
from primad.ir.array_types import ArrayType, Linear
from primad.ir.axes import is_name, result_types
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.ops.record.fields import LoopForm
from primad.ops.record.primitive import project
from primad.programs.sparsity.constants import Constants, counting
from primad.programs.sparsity.labels import (
    MOST_ENTRIES,
    Array,
    Labels,
    Reached,
    bounded,
    gathered,
    own,
    reduced,
    running,
    spread,
    union,
    widened,
)
from primad.recording.tracing import program_of
from primad.transforms.batching import vmap
from primad.transforms.dimensions import axis_map
from primad.transforms.lowering import lower

MOST_STEPPED = 4000
"""Ops of all steps of a loop, up to which its steps are followed one by one. Chosen: they take a tenth of a second."""
MOST_TOGETHER = MOST_ENTRIES // 4
"""Elements of all values of the steps of a loop that are followed together. Chosen: what reaches them takes up to 16
bytes for each, and so as much as sets of labels may."""
MOST_ROUNDS = 6
"""Steps of other loops that are followed until they reach no more, before everything is taken to be reached. Chosen:
what is carried settles after few, or grows with each."""


def follow(program: Program, given: Mapping[Node, Reached], constants: Constants, size: int) -> list[Reached]:
    """Return what reaches the outputs of a program.

    Args:
        program: a lowered program; what it calls, and the bodies of its loops, are looked into.
        given: what reaches its inputs.
        constants: its values that are known.
        size: how many elements the argument has.
    """
    found: dict[Node, tuple[Reached, ...]] = {node: (reached,) for node, reached in given.items() if reached}
    last = {x: node for node in program.nodes for x in node.inputs}
    kept = {*program.outputs}
    for node in program.nodes:
        if isinstance(node.op, Leaf) or not any(x in found for x in node.inputs):
            continue
        if node.op is project:
            results: tuple[Reached, ...] = (found[node.inputs[0]][dict(node.params)["index"]],)
        else:
            operands = [found[x][0] if x in found else () for x in node.inputs]
            results = tuple([bounded(x, size) for x in _through(node, operands, constants, size)])
        for x in set(node.inputs):
            if last[x] is node and x not in kept:
                found.pop(x, None)
        if any(results):
            found[node] = results
    return [found[node][0] if node in found else () for node in program.outputs]


def _through(node: Node, operands: Sequence[Reached], constants: Constants, size: int) -> Sequence[Reached]:
    """Return what reaches each result of an op, where this reaches its operands."""
    op, types = node.op, result_types(node.type)
    if op.programs.loop is not None:
        return _through_loop(node, op.programs.loop(node), operands, constants, size)
    if op.programs.called:
        assert op.programs.build is not None
        params = dict(node.params)
        (of,) = [params.pop(name) for name in op.programs.names]
        held = lower(op.programs.build(of.hoisted, **params))
        same = dict(zip(held.inputs, node.inputs, strict=True))
        return follow(held, dict(zip(held.inputs, operands, strict=True)), constants.within(same), size)
    if len(types) > 1:
        return _along_axes(node, operands, size)
    if op.axes.pointwise:
        return [union(_where_it_counts(node, i, x, constants) for i, x in enumerate(operands) if x)]
    if op.kind == "linear":
        moved = _moved(node, operands, constants)
        if moved is None and (op.indexing.adds_rows is not None or op.indexing.slides is not None):
            moved = _added(node, operands[0], constants, size)
        if moved is not None:
            return [moved]
    if op.indexing.running is not None:
        along = op.indexing.running(*[x.type for x in node.inputs], **dict(node.params))
        others = [() if i == along.operand else x for i, x in enumerate(operands)]
        return [union([running(operands[along.operand], *along[1:]), *_along_axes(node, others, size)])]
    if op.kind == "multilinear":
        return [union(_times_known(node, i, x, constants, size) for i, x in enumerate(operands) if x)]
    return _along_axes(node, operands, size)


# -- ops that apply to each element, that move and that add elements ---------------------------------------------------


def _where_it_counts(node: Node, position: int, reached: Reached, constants: Constants) -> Reached:
    """Return what reaches a pointwise op's result by an operand: nothing where known operands make it zero."""
    groups = [group for group in node.op.linear_groups(len(node.inputs)) if position in group]
    others = [i for group in groups for i in range(len(node.inputs)) if i not in group]
    if not others:
        return reached
    known = {i: value for i in others if (value := constants.value(node.inputs[i])) is not None}
    if len(known) < len(others):
        others_of = [group for group in node.op.linear_groups(len(node.inputs)) if position not in group]
        beside = [constants.support_of_any([node.inputs[i] for i in group]) for group in others_of]
        there = [mask for mask in beside if mask is not None]
        return _only_where(np.logical_and.reduce(there), reached) if there else reached
    counts = counting(node, position, known)
    truths = {i: np.asarray(x != 0).astype(x.dtype) for i, x in known.items()}
    chosen = all(node.inputs[i].type.dtype == bool or node.op.is_linear_in(i) for i in others)
    by_zeros = chosen and (counts.all() or np.array_equal(counts, counting(node, position, truths)))
    for i in others:
        if by_zeros:
            constants.uses_zeros(node.inputs[i])
        elif not counts.all():
            constants.uses(node.inputs[i])
    if counts.all():
        return reached
    return _only_where(counts, reached)


def _only_where(mask: Any, reached: Reached) -> Reached:
    return tuple([Labels(np.where(mask, places, np.int32(0)), sets) for places, sets in reached])


def _moved(node: Node, operands: Sequence[Reached], constants: Constants) -> Reached | None:
    """Return what reaches the result of an op that only moves elements; None if it does something else.

    Labels of several operands that stand for the same sets move together, as where arrays are joined.
    """
    (linear,) = node.op.linear_groups(len(node.inputs))
    known: dict[int, Any] = {}
    for i, x in enumerate(node.inputs):
        if i not in linear:
            known[i] = constants.value(x)
            if known[i] is None:
                return None
    params = dict(node.params)
    found: list[Labels] = []
    waiting = [list(x) for x in operands]
    while any(waiting):
        first = next(x[0] for x in waiting if x)
        together: dict[int, Array] = {}
        for i, rest in enumerate(waiting):
            place = next((j for j, x in enumerate(rest) if x.sets is first.sets), None)
            if place is not None:
                together[i] = rest.pop(place).places
        none = [np.broadcast_to(np.int32(0), x.type.shape) for x in node.inputs]
        places = np.asarray(node.op.numpy(*[known.get(i, together.get(i, x)) for i, x in enumerate(none)], **params))
        if not node.op.memory.views:
            squares = {i: _square(x) for i, x in together.items()}
            again = node.op.numpy(*[known.get(i, squares.get(i, x)) for i, x in enumerate(none)], **params)
            if not np.array_equal(again, _square(places)):
                return None
        found.append(Labels(places, first.sets))
    for i in known:
        constants.uses(node.inputs[i])
    return union([tuple(found)])


def _square(labels: Array) -> Array:
    """Return other numbers for labels, 0 for none, which an op that adds or scales does not give for others' sums."""
    return labels.astype(np.int64) ** 2


def _added(node: Node, reached: Reached, constants: Constants, size: int) -> Reached | None:
    """Return what reaches the result of an op that only adds elements, by its transpose, which moves them back."""
    params, type = dict(node.params), node.inputs[0].type
    back = program_of(
        [node.type, *[x.type for x in node.inputs[1:]]],
        lambda cotangent, *others: [node.op.derivative.transpose(cotangent, Linear(type), *others, **params)[0]],
    )
    back = lower(back)
    same = dict(zip(back.inputs[1:], node.inputs[1:], strict=True))
    count = node.type.size
    moved = follow(back, {back.inputs[0]: own(node.type.shape)}, constants.within(same), count)[0]
    if len(moved) != 1 or moved[0].sets is not None:
        return None
    targets = moved[0].places.ravel()
    there = targets > 0
    pairs = [(targets[there] - 1, places.ravel()[there], sets) for places, sets in reached]
    return gathered(pairs, count, size, node.type.shape)


# -- ops that sum and mix ----------------------------------------------------------------------------------------------


def _along_axes(node: Node, operands: Sequence[Reached], size: int) -> list[Reached]:
    """Return what reaches the results of an op by its axis map."""
    map = axis_map(node)
    results = []
    for after, type in zip(map.results, result_types(node.type), strict=True):
        parts = []
        for before, reached in zip(map.operands, operands, strict=True):
            if reached:
                same = [axis for axis, label in enumerate(after) if is_name(label) and label in before]
                kept = [before.index(after[axis]) for axis in same]
                parts.append(spread(reduced(reached, kept, size), same, type.shape))
        results.append(union(parts))
    return results


def _times_known(node: Node, position: int, reached: Reached, constants: Constants, size: int) -> Reached:
    """Return what reaches a product by one operand: nothing where another one is known to be zero."""
    map = axis_map(node)
    alone = [() if i != position else reached for i in range(len(node.inputs))]
    generic = _along_axes(node, alone, size)[0]
    labels = [*map.operands, *map.results]
    if not all(is_name(x) for own in labels for x in own):
        return generic
    masks = {i: constants.support(x) for i, x in enumerate(node.inputs) if i != position}
    beside = next((i for i, mask in masks.items() if mask is not None and not mask.all()), None)
    if beside is None:
        return generic
    other, value = map.operands[beside], masks[beside]
    assert value is not None
    lengths = dict(zip(map.results[0], node.type.shape, strict=True))
    for own_labels, x in zip(map.operands, node.inputs, strict=True):
        lengths.update(zip(own_labels, x.type.shape, strict=True))
    free = [x for x in lengths if x not in other]
    places = np.nonzero(value)
    count = len(places[0]) * int(np.prod([lengths[x] for x in free]))
    if count > MOST_ENTRIES:
        return generic
    index: dict[Any, Array] = {}
    for label, place in zip(other, places, strict=True):
        index[label] = place.reshape((-1, *[1] * len(free)))
    for number, label in enumerate(free):
        index[label] = np.arange(lengths[label]).reshape([-1 if i == number + 1 else 1 for i in range(len(free) + 1)])
    wide = np.broadcast_shapes(*[x.shape for x in index.values()])
    rows = _flat(index, map.results[0], lengths, wide)
    columns = _flat(index, map.operands[position], lengths, wide)
    pairs = [(rows, x.places.ravel()[columns], x.sets) for x in reached]
    return gathered(pairs, node.type.size, size, node.type.shape)


def _flat(index: Mapping[Any, Array], own: Sequence[Any], lengths: Mapping[Any, int], wide: Sequence[int]) -> Array:
    """Return the numbers of an array's elements at indices along its axes."""
    total = np.zeros((), np.int64)
    for label in own:
        total = total * lengths[label] + index[label]
    return np.broadcast_to(total, tuple(wide)).ravel()


# -- loops -------------------------------------------------------------------------------------------------------------


def _through_loop(
    node: Node, form: LoopForm, operands: Sequence[Reached], constants: Constants, size: int
) -> list[Reached]:
    """Follow the steps of a loop one by one, or until what is carried reaches no more."""
    body = lower(form.of.hoisted)
    first, rows = int(form.lead), form.row_operands
    inputs = dict(zip(body.inputs, node.inputs[first:], strict=True))
    given = dict(zip(body.inputs, operands[first:], strict=True))
    stacks = {body.inputs[i - first]: node.inputs[i] for i in rows}
    fixed = {x: inputs[x] for i, x in enumerate(body.inputs) if i + first >= rows.stop}
    carried = [given[x] for x in body.inputs[: form.carry]]
    head = [()] if form.ends else []
    count = _steps_taken(node, form, constants)
    if count is not None and count * len(body.nodes) <= MOST_STEPPED:
        none: list[Reached] = [()] * (len(body.outputs) - form.carry)
        steps = [none] * form.length
        for number in range(count)[:: -1 if form.reverse else 1]:
            own_rows = {x: tuple([Labels(y.places[number, ...], y.sets) for y in given[x]]) for x in stacks}
            start = dict(zip(body.inputs, carried, strict=False))
            inner = constants.within_row(fixed, stacks, number)
            found = follow(body, {**given, **own_rows, **start}, inner, size)
            carried = found[: form.carry]
            steps[number] = found[form.carry :]
        stacks_of = result_types(node.type)[form.carry :]
        results = [_stacked([step[i] for step in steps], type) for i, type in enumerate(stacks_of)]
        return [*carried, *results]
    given.update({x: reduced(given[x], range(1, inputs[x].type.ndim), size) for x in stacks})
    carried, found = _settled(body, form, given, carried, constants.within(fixed), size)
    behind = form.carry + int(form.ends)
    if any(operands[i] for i in rows):
        reached = [*carried, *operands[first + form.carry :]]
        try:
            return [*head, *carried, *_in_rows(node, form, body, reached, constants, size)]
        except NotDifferentiableError:  # an op of the body takes no further axis
            pass
    results = [
        spread(x, range(1, type.ndim), type.shape)
        for x, type in zip(found[behind:], result_types(node.type)[behind:], strict=True)
    ]
    return [*head, *carried, *results]


def _in_rows(
    node: Node, form: LoopForm, body: Program, reached: Sequence[Reached], constants: Constants, size: int
) -> list[Reached]:
    """Return what reaches the stacked results of a loop, of which a row is reached by the same rows of its stacks.

    Args:
        node: the loop.
        form: of it.
        body: a step.
        reached: what reaches its inputs: of what is carried at any step, of stacks in each row.
        constants: values that are known outside of the loop.
        size: how many elements the argument has.
    """
    first, behind = int(form.lead), form.carry + int(form.ends)
    mapped = [i + first in form.row_operands for i in range(len(body.inputs))]
    elements = sum([type.size for x in body.nodes for type in result_types(x.type)])
    together = max(1, MOST_TOGETHER // max(1, elements))
    blocks = [slice(i, min(i + together, form.length)) for i in range(0, form.length, together)]
    programs: dict[int, Program] = {}
    parts = []
    for block in blocks:
        count = block.stop - block.start
        if count not in programs:
            programs[count] = lower(vmap(body, mapped, count))
        inputs = programs[count].inputs
        known = list(zip(inputs, node.inputs[first:], mapped, strict=True))[form.carry :]
        fixed, stacks = ({own: x for own, x, on in known if on is of_rows} for of_rows in (False, True))
        cut = [
            tuple([Labels(labels.places[block], labels.sets) for labels in of]) if on else of
            for of, on in zip(reached, mapped, strict=True)
        ]
        inner = constants.within_row(fixed, stacks, block)
        parts.append(follow(programs[count], dict(zip(inputs, cut, strict=True)), inner, size)[behind:])
    types = result_types(node.type)[behind:]
    return [_stacked([part[i] for part in parts], type, blocks) for i, type in enumerate(types)]


def _steps_taken(node: Node, form: LoopForm, constants: Constants) -> int | None:
    """Return how many steps a loop takes, if that is known."""
    if form.ends or not form.lead:
        return None if form.ends else form.length
    count = constants.value(node.inputs[0])
    if count is None:
        return None
    constants.uses(node.inputs[0])
    return min(int(count), form.length)


def _settled(
    body: Program,
    form: LoopForm,
    given: Mapping[Node, Reached],
    carried: list[Reached],
    constants: Constants,
    size: int,
) -> tuple[list[Reached], list[Reached]]:
    """Return what reaches the carried values after any number of steps, and the results of a step."""
    for number in range(form.length + 1):
        found = follow(body, {**given, **dict(zip(body.inputs, carried, strict=False))}, constants, size)
        after = found[: form.carry]
        new = [bounded(union(pair), size) for pair in zip(carried, after, strict=True)]
        if all(len(x) == len(y) and all(map(lambda a, b: a is b, x, y)) for x, y in zip(new, carried, strict=True)):
            return carried, found
        carried = new
        if number == MOST_ROUNDS:
            carried = [widened(given.values(), x.type.shape) for x in body.inputs[: form.carry]]
            return carried, follow(body, {**given, **dict(zip(body.inputs, carried, strict=False))}, constants, size)
    return carried, found


def _stacked(rows: Sequence[Reached], type: ArrayType, blocks: Sequence[int | slice] = ()) -> Reached:
    """Return what reaches a stack, by what reaches its rows, or blocks of rows."""
    at = blocks or range(len(rows))
    waiting = [list(x) for x in rows]
    found = []
    while any(waiting):
        sets = next(x[0] for x in waiting if x).sets
        places = np.zeros(type.shape, np.int32)
        for number, rest in enumerate(waiting):
            place = next((j for j, x in enumerate(rest) if x.sets is sets), None)
            if place is not None:
                places[at[number]] = rest.pop(place).places
        found.append(Labels(places, sets))
    return tuple(found)
