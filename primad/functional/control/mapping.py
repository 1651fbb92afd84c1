"""vmap: a function of one item as a function of a stack of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.functional.derived_calls import DerivativeKey
from primad.functional.selected_arguments import axis_of, keep
from primad.functional.transformed import transform
from primad.ir.array_types import ArrayType
from primad.ir.node import named
from primad.ir.program import ClosedProgram
from primad.ops.record.primitive import as_tuple
from primad.programs.program_ops import vmap_
from primad.recording import tree
from primad.recording.traced_array import TracedArray
from primad.recording.tracing import positional, record, type_of
from primad.runtime.calling import arrays, traced_operands
from primad.runtime.executors.dispatch import prepared

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


def _spread_axes(axes: Any, values: Sequence[Any], what: str) -> list[Any]:
    """Return an axis (or None) for each leaf: one for all, or one per argument, or a tree like the argument."""
    if axes is None or isinstance(axes, (int, np.integer)):
        axes = (axes,) * len(values)
    if not isinstance(axes, (tuple, list)) or len(axes) != len(values):
        raise ShapeError(
            f"vmap: {what} {axes!r} do not match {len(values)} values",
            fix=f"give one for all, or a tuple of {len(values)}.",
        )
    result: list[Any] = []
    for axis, value in zip(axes, values, strict=True):
        leaves, structure = tree.flatten(value)
        if axis is None or isinstance(axis, (int, np.integer)):
            result.extend([axis] * len(leaves))
        else:
            numbered = iter(range(len(leaves)))
            places = tree.unflatten(structure, numbered)
            told = f"vmap: {what} {axis!r} do not fit the tree {tree.shown(structure)}"
            result.extend(_axes_of(axis, places, len(leaves), told))
    return result


def _axes_of(axes: Any, places: Any, count: int, message: str) -> list[Any]:
    """Return the axis of each leaf; `axes` is a tree like `places`, with an axis or None for a leaf or a subtree."""
    result: list[Any] = [None] * count
    stack = [(axes, places)]
    while stack:
        axis, place = stack.pop()
        items = _items(axis, place)
        stack.extend(items)
        for leaf, item in () if items else _leaves(axis, place, message):
            result[leaf] = item
    return result


def _items(axis: Any, place: Any) -> list[tuple[Any, Any]]:
    """Return the items of two dicts, tuples or lists side by side, where they match."""
    if type(axis) is type(place) and isinstance(axis, dict) and axis.keys() == place.keys():
        return [(axis[key], place[key]) for key in axis]
    if type(axis) is type(place) and isinstance(axis, (tuple, list)) and len(axis) == len(place):
        return list(zip(axis, place, strict=True))
    return []


def _leaves(axis: Any, place: Any, message: str) -> list[tuple[int, Any]]:
    """Return the axis of each leaf of a tree: one for all, or those of a tree of the same structure."""
    leaves, structure = tree.flatten(place)
    if axis is None or isinstance(axis, (int, np.integer)):
        return [(leaf, axis) for leaf in leaves]
    named, found = tree.flatten(axis)
    if found != structure:
        raise ShapeError(message, fix="give one axis for all of it, or a tree of axes like it.")
    return list(zip(leaves, named, strict=True))


@transform
def vmap(
    function: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0, *, axis_size: int | None = None
) -> Callable[P, R]:
    """Return the function that maps `function` over an axis of its arguments, as one program without a loop.

    Args:
        function: a function of arrays and pytrees.
        in_axes: the axis to map of each argument (one number for all, or a tuple with a number, None, or a tree each).
            Of keyword arguments it is the first.
        out_axes: where the mapped axis goes in the result.
        axis_size: how long the mapped axes are; needed where no argument is mapped.

    Returns:
        a function of stacked arguments that returns stacked results.

    Raises:
        ShapeError: if the mapped axes have different lengths or do not exist, or nothing is mapped.

    Example:
        >>> import numpy as np, primad
        >>> primad.vmap(np.dot)(np.ones((3, 2)), np.ones((3, 2)))
        array([2., 2., 2.])
    """

    @wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = [*_spread_axes(in_axes, args, "in_axes"), *[0] * len(tree.leaves(list(kwargs.values())))]
        inner, args = positional(function, args, kwargs)
        if None in axes:
            inner, args, axes = _keep_unmapped(inner, args, axes)
        leaves, in_tree = tree.flatten(args)
        size, types, places = _mapped(leaves, axes, axis_size)
        fronted = [
            leaf if place in (None, 0) else _move(leaf, place, 0) for leaf, place in zip(leaves, places, strict=True)
        ]
        program = record(inner, types, in_tree)
        of = ClosedProgram(program)
        batched = tuple([place is not None for place in places])
        if any(isinstance(leaf, TracedArray) for leaf in leaves) or program.captured:
            operands = traced_operands([*fronted, *program.sources])
            results: list[Any] = list(as_tuple(vmap_(*operands, of=of, batched=batched, size=size)))
        else:
            build = vmap_.programs.build
            assert build is not None
            options = {"batched": batched, "size": size}
            key = DerivativeKey(vmap_, of.key, named(options))
            executable = prepared(key, lambda: build(of.hoisted, **options))
            results = executable.run([*arrays(fronted), *program.source_values])
        out_values = tree.unflatten(program.out_tree, results)
        if out_axes == 0:
            return out_values
        many = isinstance(out_axes, (tuple, list))
        targets = _spread_axes(out_axes if many else (out_axes,), out_values if many else (out_values,), "out_axes")
        if None in targets:
            raise ShapeError(
                "vmap: out_axes None is not supported; every result has the mapped axis",
                fix="write an axis, as out_axes=0.",
            )
        moved = [
            _move(result, 0, axis_of(target, result.ndim, "vmap: out_axes"))
            for result, target in zip(results, targets, strict=True)
        ]
        return tree.unflatten(program.out_tree, moved)

    return cast(Callable[P, R], mapped)


def _mapped(
    leaves: Sequence[Any], axes: Sequence[Any], size: int | None
) -> tuple[int, list[ArrayType], list[int | None]]:
    """Return the length of the mapped axes, and of each leaf the type of an element along its axis and its place."""
    if size is not None and (not isinstance(size, (int, np.integer)) or size < 0):
        raise ShapeError(
            f"vmap: axis_size must be an integer ≥ 0, got {size!r}", fix="write a whole number, or leave it out."
        )
    types: list[ArrayType] = []
    places: list[int | None] = []
    for leaf, axis in zip(leaves, axes, strict=True):
        type = type_of(leaf)
        if axis is None:
            types.append(type)
            places.append(None)
            continue
        place = axis_of(axis, type.ndim, "vmap: in_axes")
        length = type.shape[place]
        if size is not None and length != size:
            raise ShapeError(
                f"vmap: mapped axes have different lengths, {size} and {length}",
                fix="choose axes of one length, or None for what all share.",
            )
        size = length
        types.append(ArrayType(type.shape[:place] + type.shape[place + 1 :], type.dtype))
        places.append(place)
    if size is None:
        raise ShapeError(
            "vmap: no argument is mapped (all in_axes are None)",
            fix="write an axis, as in_axes=0, for one of them at least; or say axis_size.",
        )
    return size, types, places


def _keep_unmapped(
    function: Function, args: Sequence[Any], axes: list[Any]
) -> tuple[Function, tuple[Any, ...], list[Any]]:
    """Keep numbers, and whatever is no array, from being traced in arguments of which nothing is mapped."""
    flat = iter(axes)
    spread = [[next(flat) for _ in tree.leaves(arg)] for arg in args]
    chosen = [any(axis is not None for axis in own) for own in spread]
    inner, left = keep(function, args, chosen)
    found = [own if on else [None] * len(tree.leaves(arg)) for arg, own, on in zip(left, spread, chosen, strict=True)]
    return inner, left, [axis for own in found for axis in own]


def _move(x: Any, source: int, target: int) -> Any:
    if isinstance(x, TracedArray):
        order = [axis for axis in range(x.ndim) if axis != source]
        order.insert(target, source)
        return ops.permute(x, order=tuple(order))
    return np.moveaxis(np.asarray(x), source, target)
