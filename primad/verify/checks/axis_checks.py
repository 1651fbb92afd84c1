"""Checks of what a record says about axes: its map against the NumPy function, its params after axes changed."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap, Factors, Labels, Strided, is_name, result_types
from primad.ir.program import Program
from primad.recording.tracing import program_of
from primad.simplify.collapse import collapse
from primad.transforms import transpose, vmap
from primad.transforms.lowering import extended, inline
from primad.verify.checks.decide import Wrong
from primad.verify.checks.trial import Trial, close, run_floats, shuffled
from primad.verify.verdicts import How


@np.errstate(all="ignore")  # scaled values may lie outside of an op's domain
def check_batching(trial: Trial) -> How | None:
    """Batching any choice of operands gives what a loop over the batch gives."""
    count = len(trial.program.inputs)
    if not count:
        return None
    if trial.op.derivative.only_transposed:
        return _batching_of_transpose(trial)
    size = 3
    variants = [[shuffled(trial, x) for x in trial.values] for _ in range(size)]
    for flags in itertools.product((False, True), repeat=min(count, 3)):
        if not any(flags):
            continue
        flags = extended(flags, trial.program)
        rows = [[v[i] if flags[i] else trial.values[i] for i in range(count)] for v in variants]
        loop = [trial.results(trial.operands(row)) for row in rows]
        stacked = [np.stack([v[i] for v in variants]) if flags[i] else trial.values[i] for i in range(count)]
        found = run_floats(vmap(trial.program, flags, size), stacked)
        for expected, got in zip(zip(*loop, strict=True), found, strict=True):
            close(f"{trial.where()}: batched operands {list(flags)} against a loop", np.stack(expected), got, trial)
    return "tested"


def _batching_of_transpose(trial: Trial) -> How:
    """Batching and transposition commute, which is all that can be seen of an op without values."""
    size, count = 3, len(trial.program.inputs)
    cotangents = [trial.integers(trial.program.out_types) for _ in range(size)]
    rows = [run_floats(transpose(trial.program), row) for row in cotangents]
    for flags in itertools.product((False, True), repeat=count):
        if any(flags):
            stacked = [np.stack(column) for column in zip(*cotangents, strict=True)]
            found = run_floats(transpose(vmap(trial.program, flags, size)), stacked)
            for got, on, row in zip(found, flags, zip(*rows, strict=True), strict=True):
                expected = np.stack(row) if on else sum(row[1:], row[0])
                close(f"{trial.where()}: transpose of batched operands {list(flags)}", expected, got, trial)
    return "tested"


@np.errstate(all="ignore")  # so may coarse values
def check_axis_map(trial: Trial) -> How | None:
    """Along each index that the map names the op does what its role says; the params follow when axes change."""
    if trial.op.axes.map is None:
        return None
    operands = trial.operands(trial.values)
    _check(trial, operands)
    _check_order(trial, operands)
    coarse = [_coarse(trial, x) for x in operands]
    domain = trial.op.domain
    if domain is None or domain.find(*coarse, **trial.example.params) is None:
        _check(trial, coarse)
    return "tested"


def _coarse(trial: Trial, x: Any) -> Any:
    """Return an array with many equal elements, to see what comparisons depend on."""
    if x.dtype.kind != "f":
        return x
    return np.array([trial.choose.among((0.5, 1.0)) for _ in range(x.size)], x.dtype).reshape(x.shape)


def check_sum(trial: Trial) -> How | None:
    """A sum over directions passes an op in the operands in which it is linear, and gives the same."""
    op, types = trial.op, trial.program.in_types
    groups = [group for group in op.linear_groups(len(types)) if group and all(types[i].is_float for i in group)]
    if op.axes.map is None or not groups or len(trial.program.outputs) > 1:
        return None
    size = 3
    for group in groups:
        flags = [i in group for i in range(len(types))]
        program = _summed(vmap(trial.program, flags, size))
        wide = [ArrayType((size, *type.shape), type.dtype) for type in types]
        drawn = trial.integers(wide)
        values = [drawn[i] if on else trial.values[i] for i, on in enumerate(flags)]
        found = collapse(program)
        (expected,), (got,) = run_floats(program, values), run_floats(found, values)
        close(f"{trial.where()}: a sum over directions of operands {list(group)}", expected, got, trial)
        (type,) = trial.program.out_types
        if any(node.op is op and node.type.shape == (size, *type.shape) for node in found.nodes):
            raise Wrong(f"{trial.where()}: a sum over directions", "a sum of the operands, before the op", str(found))
    return "tested"


def check_rows(trial: Trial) -> How | None:
    """An op that takes, adds or joins rows has them along the axes that it says, one set for each batch."""
    if trial.op.indexing.joins:
        (out,) = trial.results(trial.values)
        joined = np.concatenate([np.asarray(x) for x in trial.values], trial.example.params["axis"])
        close(f"{trial.where()}: operands one behind the other", joined, out, trial)
        return "tested"
    takes, adds = trial.op.indexing.takes_rows, trial.op.indexing.adds_rows
    if takes is None and adds is None:
        return None
    x, indices, *_ = map(np.asarray, trial.operands(trial.values))
    (out,) = trial.results([x, indices])
    types = [operand.type for operand in trial.example.operands]
    if takes is not None:
        places = range(first := takes(*types, **trial.example.params), first + out.ndim - x.ndim + 1)
    else:
        assert adds is not None
        places = adds(*types, **trial.example.params)
    batch = indices.ndim - len(places)
    own = [axis - batch for axis in places]
    expected = np.zeros_like(out)
    for each in np.ndindex(indices.shape[:batch]):
        if takes is not None:
            expected[each] = np.take(x[each], indices[each], places.start - batch)
        else:
            np.add.at(
                np.moveaxis(expected[each], places.start - batch, 0),
                indices[each],
                np.moveaxis(x[each], own, range(len(own))),
            )
    close(f"{trial.where()}: rows at indices", expected, out, trial)
    return "tested"


def check_running(trial: Trial) -> How | None:
    """An element of the operand along which an op goes is seen in the results from its index on, and in no others."""
    if trial.op.indexing.running is None:
        return None
    types = [operand.type for operand in trial.example.operands]
    operand, axis, reverse = trial.op.indexing.running(*types, **trial.example.params)
    (before,) = trial.results(trial.operands(trial.values))
    for place in np.ndindex(types[operand].shape):
        values = [*trial.values]
        values[operand] = np.array(values[operand])
        values[operand][place] += 1
        (after,) = trial.results(trial.operands(values))
        index = [slice(i, i + 1) for i in place]
        index[axis] = slice(0, place[axis] + 1) if reverse else slice(place[axis], None)
        expected = np.array(before)
        expected[tuple(index)] = after[tuple(index)]
        close(f"{trial.where()}: results before and beside the element {place}", expected, after, trial)
    return "tested"


def _summed(program: Program) -> Program:
    """Return the program that sums the only output of another over its first axis."""
    return program_of(program.in_types, lambda *xs: [ops.sum(out, axes=(0,)) for out in inline(program, xs)])


def _check(trial: Trial, operands: Sequence[Any]) -> None:
    op = trial.op
    assert op.axes.map is not None
    types = [operand.type for operand in trial.example.operands]
    found = op.axes.map(*types, **trial.example.params)
    results = trial.results(operands)
    labels = [*found.operands, *found.results]
    if [len(part) for part in labels] != [np.ndim(x) for x in (*operands, *results)]:
        raise Wrong(f"{trial.where()}: axis map", "a label for each axis of each operand and result", found)
    if op.axes.pointwise and not all(is_name(label) for part in labels for label in part):
        raise Wrong(f"{trial.where()}: axis map of a pointwise op", "a name everywhere", found)
    partly = {label.name for part in labels for label in part if isinstance(label, Strided)}
    for number, (out, after) in enumerate(zip(results, found.results, strict=True)):
        _check_places(trial, found.operands, after, operands, out)
        parts = [*found.operands, after]
        split = [_split(x, part) for x, part in zip((*operands, out), parts, strict=True)]
        names = [_names(part) for part in parts]
        for name in dict.fromkeys(name for part in names for name in part if name is not None and name not in partly):
            _Index(trial, found, number, name, split, names).check()


def _check_order(trial: Trial, operands: Sequence[Any]) -> None:
    """Where every axis is an index or a part of one, the op does the same when indices exchange their places."""
    op, params = trial.op, trial.example.params
    types = [operand.type for operand in trial.example.operands]
    found = op.axes.map(*types, **params) if op.axes.map is not None else None
    if found is None or found.indices is None or op.axes.adapt is None or len(found.results) > 1:
        return
    names = max(found.indices[:-1], key=len, default=())
    change = found.reordered(names[1:] + names[:1], types, result_types(op.infer(*types, **params)))
    assert change is not None
    adapted = op.axes.adapt(change, **params)
    turned = [np.transpose(x, axes.order) for x, axes in zip(operands, change.operands, strict=True)]
    (out,), (got,) = trial.results(operands), trial.results(turned, adapted)
    close(f"{trial.where()}: axes in another order", np.transpose(out, change.result.order), got, trial)


def _check_places(trial: Trial, labels: Sequence[Labels], after: Labels, operands: Sequence[Any], out: Any) -> None:
    """Where native code takes elements for those of another array by the labels, they are equal."""
    for x, before in zip(operands, labels, strict=True):
        if any(isinstance(label, Strided) for label in before):  # a part of the result
            close(f"{trial.where()}: elements of its part", _taken(out, after, np.shape(x), before), x, trial)
        elif any(isinstance(label, Strided) for label in after) or (
            trial.op.memory.views and all(is_name(label) for label in (*before, *after))
        ):
            close(f"{trial.where()}: elements of the view", _taken(x, before, np.shape(out), after), out, trial)


def _taken(whole: Any, names: Labels, shape: tuple[int, ...], labels: Labels) -> Any:
    """Return the array with these labels whose elements lie in another, by the labels alone."""
    index = []
    for name in names:
        for axis, label in enumerate(labels):
            if name == (label.name if isinstance(label, Strided) else label):
                places = np.arange(shape[axis])
                places = label.start + label.step * places if isinstance(label, Strided) else places
                index.append(places.reshape([-1 if i == axis else 1 for i in range(len(shape))]))
                break
        else:
            raise Wrong("axis map of an op that only moves", f"the name {name!r}", labels)
    return np.broadcast_to(np.asarray(whole)[tuple(index)], shape)


def _split(x: Any, labels: Labels) -> Any:
    """Return an array with an axis for each factor of its axes."""
    parts = [
        label.lengths if isinstance(label, Factors) else (n,) for n, label in zip(np.shape(x), labels, strict=True)
    ]
    return np.reshape(x, [n for part in parts for n in part])


def _names(labels: Labels) -> list[Hashable]:
    """Return the names of the axes that `_split` makes, None for those that have none."""
    parts = [label.names if isinstance(label, Factors) else (label,) if is_name(label) else (None,) for label in labels]
    return [name for part in parts for name in part]


class _Index:
    """One index of an op, for one of its results, tried on arrays that have an axis of its own for it."""

    def __init__(
        self,
        trial: Trial,
        map: AxisMap,
        number: int,
        name: Hashable,
        arrays: Sequence[Any],
        names: Sequence[Sequence[Hashable]],
    ) -> None:
        self.trial = trial
        self.map = map
        self.number = number
        self.name = name
        self.arrays = arrays
        self.operands = arrays[:-1]
        self.out = arrays[-1]
        self.types = [operand.type for operand in trial.example.operands]
        self.what = f"{trial.where()}: index {name!r} of the axis map"
        self.axes: list[int | None] = []
        lengths = set()
        for x, own in zip(arrays, names, strict=True):
            places = [axis for axis, found in enumerate(own) if found == name]
            lengths.update([x.shape[axis] for axis in places])
            if len(places) > 1:
                raise Wrong(self.what, "one axis of an array", own)
            self.axes.append(places[0] if places else None)
        if len(lengths) != 1:
            raise Wrong(self.what, "one length", lengths)
        (self.length,) = lengths

    def check(self) -> None:
        """Raise unless the op does along the index what its role says."""
        if not self.length:  # longer ones are made empty
            return
        if self.axes[-1] is None:
            self._check_summed()
        elif any(axis is not None for axis in self.axes[:-1]):
            self._check_mapped()
        else:
            self._check_made()

    def _take(self, places: Any) -> list[Any]:
        """Return the operands at indices (a number: without the axis)."""
        return [
            x if axis is None else np.take(x, places, axis) for x, axis in zip(self.operands, self.axes, strict=False)
        ]

    def _result(self, operands: Sequence[Any], length: int | None, mixed: bool = False) -> Any:
        """Return the op on operands along which the index has a length (None: it is dropped).

        Of operands that are mixed from others, for which the op need not be defined, None where it is not.
        """
        op, params = self.trial.op, self.trial.example.params
        outs = result_types(op.infer(*self.types, **params))
        change = self.map.change({self.name: length}, self.types, outs)
        if length != self.length:
            adapted = op.axes.adapt(change, **params) if op.axes.adapt is not None else None
            if adapted is None:
                raise Wrong(f"{self.what}: params for the length {length}", "params", None)
            params = adapted
        whole = [np.reshape(x, axes.shape) for x, axes in zip(operands, change.operands, strict=True)]
        types = [ArrayType(x.shape, type.dtype) for x, type in zip(whole, self.types, strict=True)]
        inferred = [type.shape for type in result_types(op.infer(*types, **params))]
        if inferred != [axes.shape for axes in change.results]:
            raise Wrong(f"{self.what}: params for the length {length}", change.results, inferred)
        shape: list[int] = list(self.out.shape)
        if self.axes[-1] is not None:
            shape[self.axes[-1] : self.axes[-1] + 1] = [] if length is None else [length]
        try:
            results = self.trial.results(whole, params)
        except ValueError:  # as LinAlgError is one
            if mixed and op.domain is not None and op.domain.find(*whole, **params) is not None:
                return None
            raise
        return np.reshape(results[self.number], shape)

    def _same(self, what: str, expected: Any, got: Any) -> None:
        close(f"{self.what}: {what}", expected, got, self.trial)

    def _check_mapped(self) -> None:
        axis, n = self.axes[-1], self.length
        assert axis is not None
        order = np.roll(np.arange(n), 1)
        self._same("the same at every index", np.take(self.out, order, axis), self._result(self._take(order), n))
        others = [
            x if place is None else shuffled(self.trial, x) for x, place in zip(self.operands, self.axes, strict=False)
        ]
        for index in range(n):
            kept = []
            for x, other, place in zip(self.operands, others, self.axes, strict=False):
                if place is not None:
                    other = other.copy()
                    chosen = tuple([index if i == place else slice(None) for i in range(other.ndim)])
                    other[chosen] = x[chosen]
                kept.append(other)
            expected = np.take(self.out, index, axis)
            found = self._result(kept, n, mixed=True)
            if found is not None:
                self._same(f"{index} depends on that only", expected, np.take(found, index, axis))
            self._same(f"{index} alone", expected, self._result(self._take(index), None))
        for length in {max(1, n - 1), 0}:
            some = np.arange(length)
            self._same(f"{length} of it", np.take(self.out, some, axis), self._result(self._take(some), length))

    def _check_summed(self) -> None:
        n = self.length
        alone = [self._result(self._take(index), None) for index in range(n)]
        self._same("the sum of all indices", self.out, sum(alone[1:], start=alone[0]))
        if n > 1:
            first, rest = np.arange(n)[:1], np.arange(n)[1:]
            parts = self._result(self._take(first), 1) + self._result(self._take(rest), n - 1)
            self._same("the sum of parts", self.out, parts)

    def _check_made(self) -> None:
        axis = self.axes[-1]
        assert axis is not None
        first = np.take(self.out, 0, axis)
        for length in (self.length, self.length + 1):
            repeated = np.stack([first] * length, axis)
            self._same("the same everywhere", repeated, self._result(self.operands, length))
        self._same("without it", first, self._result(self.operands, None))
