"""Which elements of the values of a program an element of an argument reaches, by the axis maps of the ops.

Element i of an argument reaches places of a value that are affine in i along the axes that all ops on the way map,
shift, cut, repeat or reverse: a stencil reaches i − 1, i and i + 1. An op that sums or mixes an axis reaches all of it.
What is found is never too little: it may be more than there is, where windows of an axis are not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from primad.ir.array_types import ArrayType, TupleType
from primad.ir.axes import result_types
from primad.ir.node import Leaf, Node
from primad.ir.program import Program
from primad.ops.record.primitive import project
from primad.programs.call import call
from primad.programs.loops.scan import Form, scan
from primad.programs.sparsity.constants import Constants
from primad.programs.sparsity.listed_places import Listed, through_gather, through_scatter
from primad.programs.sparsity.path_moves import moved
from primad.programs.sparsity.paths import NOWHERE, AffinePath, Array, Paths, everywhere
from primad.transforms.dimensions import axis_map

MOST_PATHS = 600
"""Paths of a value, above which an element is taken to reach all of it. Chosen: more directions than that are seldom
worth the seconds that finding them takes."""
MOST_LISTS = 48
"""Lists of a value, above which an element is taken to reach all of it. Chosen: they take four bytes for each of its
elements, so that they take some ten times as much as the value."""


class Reach(NamedTuple):
    """What elements of an argument reach of a program's values.

    Attributes:
        outputs: of each output, what they reach of it on ways that go through no cut.
        cuts: small values of which each element reaches all.
    """

    outputs: list[Paths]
    cuts: list[Node]


def reach(program: Program, given: Mapping[Node, Paths], size: int, known: Constants, narrow: int = 0) -> Reach:
    """Return what elements of an argument reach of the outputs of a program.

    Args:
        program: any program; what it calls, and the bodies of its loops, are looked into.
        given: what they reach of its inputs that depend on them.
        size: how many elements there are.
        known: its values that are known, such as indices.
        narrow: elements of the cuts, at most: values where paths meet, such as sums. What comes behind them is not
            followed.
    """
    found: dict[Node, tuple[Paths, ...]] = {node: (paths,) for node, paths in given.items() if paths}
    cuts: list[Node] = []
    for node in program.nodes:
        if isinstance(node.op, Leaf) or not any(x in found for x in node.inputs):
            continue
        if node.op is project:
            several = found[node.inputs[0]]
            found[node] = (several[dict(node.params)["index"]],)
        else:
            operands = [found[x][0] if x in found else NOWHERE for x in node.inputs]
            types = result_types(node.type)
            several = tuple(_through(node, operands, size, known))
            found[node] = tuple([_bounded(paths, type, size) for paths, type in zip(several, types, strict=True)])
        if not isinstance(node.type, TupleType) and node.type.size <= narrow and found[node][0] == everywhere(size):
            cuts.append(node)
            narrow -= node.type.size
            del found[node]
    return Reach([found[node][0] if node in found else NOWHERE for node in program.outputs], cuts)


def _bounded(paths: Paths, type: ArrayType, size: int) -> Paths:
    """Return paths without those that end outside of an array; what says nothing if they are many or one does so."""
    inside = frozenset([path for path in paths if _ends_inside(path, type)])
    lists = sum(isinstance(path.places[0], Listed) for path in inside)
    lost = len(inside) > MOST_PATHS or lists > MOST_LISTS
    return everywhere(size) if lost or any(not any(path.places) for path in inside) else inside


def _ends_inside(path: AffinePath, type: ArrayType) -> bool:
    for place, length in zip(path.places, path.lengths, strict=True):
        if isinstance(place, Listed):
            return bool((place.elements >= 0).any())
        if place is not None:
            ends = place.shift, place.factor * (length - 1) + place.shift
            if max(ends) < 0 or min(ends) > (type.shape[place.axis] - 1) * place.divisor:  # type: ignore[call-overload]
                return False
    return True


def _through(node: Node, operands: Sequence[Paths], size: int, known: Constants) -> list[Paths]:
    """Return what is reached of each result of an op, where so much is reached of its operands."""
    if node.op is call:
        of = dict(node.params)["of"].hoisted
        inner = known.within(dict(zip(of.inputs, node.inputs, strict=True)))
        return reach(of, dict(zip(of.inputs, operands, strict=True)), size, inner).outputs
    if node.op is scan:
        return _through_loop(node, operands, size, known)
    if node.op.axes.pointwise:
        return [frozenset().union(*operands)]
    if node.op.indexing.takes_rows or node.op.indexing.adds_rows:
        indices = known.value(node.inputs[1])
        if indices is not None:
            return [_at_indices(node, operands[0], size, indices)]
    map = axis_map(node)
    results: list[Paths] = []
    for labels, type in zip(map.results, result_types(node.type), strict=True):
        found: set[AffinePath] = set()
        for before, paths in zip(map.operands, operands, strict=True):
            for path in paths:
                found.update(moved(node, map, before, (labels, type), path))
        results.append(frozenset(found))
    return results


def _through_loop(node: Node, operands: Sequence[Paths], size: int, known: Constants) -> list[Paths]:
    """Follow the steps of a loop until what is carried reaches no more; a step may read each row of a stack."""
    params = dict(node.params)
    body, form = params.pop("of").hoisted, Form(**params)
    _, carried, rows, fixed = form.parts(operands)
    rows = [frozenset([path.along(lambda axis: axis - 1 if axis else None) for path in paths]) for paths in rows]
    given = form.parts(node.inputs)[3]
    same = body.inputs[len(body.inputs) - len(given) :]
    inner = known.within(dict(zip(same, given, strict=True)))
    results = [NOWHERE] * len(body.outputs)
    for _ in range(form.length):
        results = reach(body, dict(zip(body.inputs, (*carried, *rows, *fixed), strict=True)), size, inner).outputs
        new = [_bounded(x | y, type, size) for x, y, type in zip(carried, results, body.out_types, strict=False)]
        if new == carried:
            break
        carried = new
    led = [frozenset([path.along(lambda axis: axis + 1) for path in paths]) for paths in results[form.carry :]]
    return [*carried, *led]


# -- rows that are taken or added at known indices ---------------------------------------------------------------------


def _at_indices(node: Node, paths: Paths, size: int, indices: Array) -> Paths:
    """Return what is reached of rows that are taken, or added, at indices."""
    types, shape = [x.type for x in node.inputs], node.inputs[0].type.shape
    if node.op.indexing.takes_rows is not None:
        axis = node.op.indexing.takes_rows(*types, **dict(node.params))
        own, count, length = range(axis, axis + 1), node.type.ndim - len(shape) + 1, shape[axis]
    else:
        assert node.op.indexing.adds_rows is not None
        own = node.op.indexing.adds_rows(*types, **dict(node.params))
        axis, count, length = own.start, len(own), node.type.shape[own.start]
    indices = np.where(indices < 0, indices + length, indices)
    map = axis_map(node)
    found: set[AffinePath] = set()
    for path in paths:
        place = path.places[0]
        if place is None or place.axis not in own or path.lengths != (size,):
            found.update(moved(node, map, map.operands[0], (map.results[0], node.type), path))
            continue
        if indices.ndim != count or not count:  # sets of rows of their own for each batch
            return everywhere(size)
        where: int = place.axis  # type: ignore[assignment]
        listed = place if isinstance(place, Listed) else Listed(where, place.columns(shape[where], size))
        places: Sequence[Listed | None]
        if node.op.indexing.takes_rows is not None:
            if math.prod(indices.shape[1:]) > MOST_LISTS:
                return everywhere(size)
            places = through_gather(listed, indices, axis)
        else:
            digits = np.unravel_index(np.arange(indices.size), indices.shape)[where - axis]
            places = through_scatter(listed.taken(axis, digits), indices.ravel(), axis, length, MOST_LISTS)
        found.update([AffinePath((size,), (x,)) for x in places])
    return frozenset(found)
