"""JAX's primitives that take and place parts of arrays at computed indices: gather, scatter, dynamic slices.

All of them place windows of an array at starts that indices say. The axes along which a window may move are *indexed*;
along the others it is the whole array. Where a start leaves the array is explicit: it is clamped, or the window is not
there.

Source: https://www.openxla.org/xla/operation_semantics#gather and #scatter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad import numpy as pnp
from primad.numpy.promotion import as_traced
from primad.recording.traced_array import TracedArray
from primad.xla.primitives.elementwise import dtype_of

Function = Callable[..., Any]
Shape = tuple[int, ...]


class Windows(NamedTuple):
    """Where windows lie in an array.

    Attributes:
        shape: the array's.
        sizes: the window's size along each axis of the array.
        starts: for axes of the array, a start for each window, of the shape of all windows.
        batch: the shape of all windows.
        kept: axes of the array that one window has as axes of its own.
    """

    shape: Shape
    sizes: Shape
    starts: dict[int, Any]
    batch: Shape
    kept: Shape

    @property
    def indexed(self) -> list[int]:
        """Axes along which a window is not the whole array."""
        return [axis for axis, n in enumerate(self.shape) if axis in self.starts or self.sizes[axis] != n]

    def inside(self) -> Any:
        """Say which windows lie in the array."""
        found: Any = np.ones(self.batch, bool)
        for axis, start in self.starts.items():
            found = found & (start >= 0) & (start <= self.shape[axis] - self.sizes[axis])
        return found

    def clamped(self) -> Windows:
        """Return windows that begin as near as they lie in the array."""
        bounded = {
            axis: pnp.minimum(pnp.maximum(start, np.zeros((), dtype_of(start))), self._last(axis, start))
            for axis, start in self.starts.items()
        }
        return self._replace(starts=bounded)

    def _last(self, axis: int, start: Any) -> Any:
        last = self.shape[axis] - self.sizes[axis]
        return np.array(min(last, np.iinfo(dtype_of(start)).max), dtype_of(start))

    def places(self) -> tuple[Any, ...]:
        """Return an index for each indexed axis: arrays of the axes of the windows, then of the kept ones of those."""
        moving = [axis for axis in self.kept if axis in self.indexed]
        found = []
        for axis in self.indexed:
            start = self.starts.get(axis, np.zeros(self.batch, int))
            place = pnp.reshape(start, self.batch + (1,) * len(moving))
            if axis in moving:
                along = [-1 if axis == other else 1 for other in moving]
                place = place + np.arange(self.sizes[axis]).astype(dtype_of(place)).reshape(along)
            found.append(place)
        return tuple(found)

    def is_known(self) -> bool:
        """Say whether there is one window, whose place is known."""
        return not self.batch and not any(isinstance(start, TracedArray) for start in self.starts.values())

    def slices(self) -> tuple[slice, ...]:
        """Return the place of one window that is known."""
        first = [int(self.starts.get(axis, 0)) for axis in range(len(self.shape))]
        return tuple([slice(at, at + size) for at, size in zip(first, self.sizes, strict=True)])

    def order(self, window_axes: Sequence[int]) -> list[int]:
        """Return the axes of a result that has a window's axes at given places, in the order of `taken`."""
        rank = len(self.batch) + len(self.kept)
        of = dict(zip(self.kept, window_axes, strict=True))
        moving = [of[axis] for axis in self.kept if axis in self.indexed]
        rest = [of[axis] for axis in self.kept if axis not in self.indexed]
        return [*[axis for axis in range(rank) if axis not in window_axes], *moving, *rest]


def _windows(
    shape: Shape, sizes: Shape, indices: Any, starts: Shape, batching: Shape, batched: Shape, dropped: Shape
) -> Windows:
    """Return the windows that rows of indices place.

    Args:
        shape: the array's.
        sizes: the windows'.
        indices: the last axis has a start for each of the axes `starts`.
        starts: axes of the array.
        batching: axes of the array along which each window has the place of its own along the axes `batched`.
        batched: axes of the indices.
        dropped: axes of the array that windows do not have.
    """
    batch = tuple(indices.shape[:-1])
    found = {axis: indices[..., i] for i, axis in enumerate(starts)}
    for axis, of in zip(batching, batched, strict=True):
        along = [-1 if of == other else 1 for other in range(len(batch))]
        found[axis] = np.broadcast_to(np.arange(shape[axis]).reshape(along), batch)
    kept = tuple([axis for axis in range(len(shape)) if axis not in (*dropped, *batching)])
    return Windows(tuple(shape), tuple(sizes), found, batch, kept)


def _fronted(x: Any, indexed: Sequence[int]) -> Any:
    return pnp.transpose(x, [*indexed, *[axis for axis in range(x.ndim) if axis not in indexed]])


def _at(x: Any, places: tuple[Any, ...]) -> Any:
    """Return x[places], of which any may be traced."""
    traced = next((place for place in places if isinstance(place, TracedArray)), None)
    return x[_basic(places) or places] if traced is None else as_traced(x, traced)[places]


def _basic(places: tuple[Any, ...]) -> tuple[slice | int, ...] | None:
    """Return integers and one slice that say what known indices along one axis do, None where none say it."""
    if any(isinstance(place, TracedArray) for place in places):
        return None
    along = np.broadcast_arrays(*places)
    if not along or along[0].ndim != 1 or not along[0].size:
        return None
    found: list[slice | int] = [int(each[0]) for each in along]
    steps = [np.unique(np.diff(each)) for each in along]
    moving = [axis for axis, step in enumerate(steps) if step.any()] or [0][: along[0].size == 1]
    if len(moving) != 1 or steps[moving[0]].size > 1 or np.min(steps[moving[0]], initial=1) < 1:
        return None
    place = along[moving[0]]
    found[moving[0]] = slice(int(place[0]), int(place[-1]) + 1, int(np.max(steps[moving[0]], initial=1)))
    return tuple(found)


def _taken(x: Any, windows: Windows) -> Any:
    """Return windows: axes of all windows, then the indexed ones of a window, then the others."""
    return _at(_fronted(x, windows.indexed), windows.places()) if windows.indexed else x


def _is_dropped(mode: Any) -> bool:
    """Say whether windows that leave the array are not there; else they are moved into it."""
    return "FILL" in str(getattr(mode, "name", mode)).upper()


def _gather(
    x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Shape, mode: Any, fill_value: Any, **_: Any
) -> Any:
    numbers = dimension_numbers
    windows = _windows(
        x.shape, slice_sizes, indices, numbers.start_index_map, numbers.operand_batching_dims,
        numbers.start_indices_batching_dims, numbers.collapsed_slice_dims,
    )  # fmt: skip
    order = windows.order(numbers.offset_dims)
    taken = _taken(x, windows.clamped())
    if _is_dropped(mode):
        inside = windows.inside()
        if isinstance(inside, TracedArray) or not inside.all():
            spread = pnp.reshape(inside, windows.batch + (1,) * (taken.ndim - len(windows.batch)))
            taken = pnp.where(spread, taken, _fill(dtype_of(x), fill_value))
    return pnp.transpose(taken, np.argsort(order).tolist())


def _fill(dtype: np.dtype[Any], value: Any) -> Any:
    """Return what stands for an element outside of an array: NaN, or the integer that is farthest from 0."""
    if value is not None:
        return np.array(value, dtype)
    if dtype.kind in "fc":
        return np.array(np.nan, dtype)
    if dtype.kind == "b":
        return np.array(True)
    return np.array(np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max, dtype)


def _dynamic_slice(x: Any, *starts: Any, slice_sizes: Shape) -> Any:
    windows = _one(x.shape, slice_sizes, starts)
    if windows.is_known():
        return x[windows.slices()]
    return pnp.transpose(_taken(x, windows), np.argsort(windows.order(range(x.ndim))).tolist())


def _one(shape: Shape, sizes: Shape, starts: Sequence[Any]) -> Windows:
    """Return one window; along axes where there is one place for it, it does not move."""
    moves = {axis: start for axis, start in enumerate(starts) if sizes[axis] != shape[axis]}
    return Windows(tuple(shape), tuple(sizes), moves, (), tuple(range(len(shape)))).clamped()


def _dynamic_update_slice(x: Any, update: Any, *starts: Any) -> Any:
    windows = _one(x.shape, update.shape, starts)
    if windows.is_known():
        return pnp.set_at(x, windows.slices(), update)
    return _placed(x, windows, pnp.transpose(update, windows.order(range(x.ndim))), _put)


# -- scatter -----------------------------------------------------------------------------------------------------------


def _scatter(combine: Function) -> Function:
    def scattered(x: Any, indices: Any, updates: Any, *, dimension_numbers: Any, mode: Any, **params: Any) -> Any:
        numbers = dimension_numbers
        dropped = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
        own = iter([updates.shape[axis] for axis in numbers.update_window_dims])
        sizes = tuple([1 if axis in dropped else next(own) for axis in range(x.ndim)])
        windows = _windows(
            x.shape, sizes, indices, numbers.scatter_dims_to_operand_dims, numbers.operand_batching_dims,
            numbers.scatter_indices_batching_dims, numbers.inserted_window_dims,
        )  # fmt: skip
        placed = pnp.transpose(updates, windows.order(numbers.update_window_dims))
        there = windows.inside() if _is_dropped(mode) else None
        return _placed(x, windows.clamped(), placed, combine, there, bool(params.get("unique_indices")))

    return scattered


def _placed(x: Any, windows: Windows, updates: Any, combine: Function, there: Any = None, unique: bool = True) -> Any:
    """Return x with updates at the places of windows, but those that are not there."""
    indexed = windows.indexed
    if not indexed:
        return combine(x, (), updates, None, True)
    order = [*indexed, *[axis for axis in range(x.ndim) if axis not in indexed]]
    if there is not None and not isinstance(there, TracedArray) and there.all():
        there = None
    if there is not None:
        there = pnp.reshape(there, windows.batch + (1,) * (updates.ndim - len(windows.batch)))
    found = combine(pnp.transpose(x, order), windows.places(), updates, there, unique or updates.size == 1)
    return pnp.transpose(found, np.argsort(order).tolist())


def _add(x: Any, places: Any, updates: Any, there: Any, unique: bool) -> Any:
    return pnp.add_at(x, places, updates if there is None else pnp.where(there, updates, pnp.zeros_like(updates)))


def _put(x: Any, places: Any, updates: Any, there: Any, unique: bool) -> Any:
    """Replace elements. Of several updates of one element the last stays."""
    if not unique:
        there = _last_of_equal(places, x.shape, there, np.broadcast_shapes(*[place.shape for place in places]))
        there = pnp.reshape(there, there.shape + (1,) * (updates.ndim - there.ndim))
    one = np.ones(updates.shape) if there is None else pnp.where(there, np.ones(updates.shape), np.zeros(()))
    hit = pnp.add_at(np.zeros(x.shape), places, one) > 0
    return pnp.where(hit, _add(np.zeros(x.shape, dtype_of(x)), places, updates, there, unique), x)


def _last_of_equal(places: Any, shape: Shape, there: Any, out: Shape, by: Any = None) -> Any:
    """Say which updates are the last of those at their place, or the largest by a value; none that is not there."""
    count = math.prod(out)
    numbers = _numbers(places, shape, out, there)
    first = np.arange(count) if by is None else pnp.argsort(pnp.reshape(by, (count,)), kind="stable")
    order = _at(first, (pnp.argsort(_at(numbers, (first,)), kind="stable"),))
    ordered = _at(numbers, (order,))
    is_last = pnp.concatenate([ordered[1:] != ordered[:-1], np.ones(min(count, 1), bool)])
    found = pnp.reshape(_at(is_last, (pnp.argsort(order),)), out)
    return (
        found if there is None else found & pnp.reshape(there, there.shape[: len(out)] + (1,) * (len(out) - there.ndim))
    )


def _numbers(places: Any, shape: Shape, out: Shape, there: Any) -> Any:
    """Return a number for each update, the same for those at one place; another one for each that is not there."""
    numbers: Any = np.zeros(out, int)
    for place, n in zip(places, shape, strict=False):
        aligned = pnp.reshape(place, place.shape + (1,) * (len(out) - place.ndim))
        numbers = numbers * n + aligned
    if there is not None:
        aligned = pnp.reshape(there, there.shape[: len(out)] + (1,) * (len(out) - there.ndim))
        numbers = pnp.where(aligned, numbers, math.prod(shape) + np.arange(math.prod(out)).reshape(out))
    return pnp.reshape(numbers, (math.prod(out),))


def _scaled(x: Any, places: Any, updates: Any, there: Any, unique: bool) -> Any:
    """Multiply elements by their updates."""
    kept = updates if there is None else pnp.where(there, updates, pnp.ones_like(updates))
    if not unique:
        out = np.broadcast_shapes(*[place.shape for place in places])
        kept = _products_of_equal(places, x.shape, kept, out)
        there = _last_of_equal(places, x.shape, there, out)
        there = pnp.reshape(there, there.shape + (1,) * (updates.ndim - there.ndim))
    return _put(x, places, _at(x, places) * kept, there, True)


def _products_of_equal(places: Any, shape: Shape, updates: Any, out: Shape) -> Any:
    """Return the product of each update with the earlier ones of its place.

    In the order of places, where equal ones are neighbours, it is a prefix product of doubled steps, which divides by
    nothing.

    Source: W. D. Hillis, G. L. Steele, Data parallel algorithms, Communications of the ACM 29, 1986.
    """
    count = math.prod(out)
    numbers = _numbers(places, shape, out, None)
    order = pnp.argsort(numbers, kind="stable")
    ordered = _at(numbers, (order,))
    found = _at(pnp.reshape(updates, (count, *updates.shape[len(out) :])), (order,))
    step = 1
    while step < count:
        same = pnp.reshape(ordered[step:] == ordered[:-step], (count - step,) + (1,) * (found.ndim - 1))
        before = pnp.where(same, found[:-step], pnp.ones_like(found[:-step]))
        found = pnp.concatenate([found[:step], found[step:] * before])
        step *= 2
    return pnp.reshape(_at(found, (pnp.argsort(order),)), updates.shape)


def _extreme(sign: int, choose: Function) -> Function:
    """Return what replaces elements by the largest, or smallest, of them and of their updates."""

    def combine(x: Any, places: Any, updates: Any, there: Any, unique: bool) -> Any:
        rest = range(updates.ndim - (x.ndim - len(places)), updates.ndim)
        wide = [pnp.reshape(place, place.shape + (1,) * len(rest)) for place in places]
        along = [
            np.arange(n).reshape([-1 if axis == own else 1 for axis in range(updates.ndim)])
            for own, n in zip(rest, x.shape[len(places) :], strict=True)
        ]
        where = (*wide, *along)
        if not unique:
            there = _last_of_equal(where, x.shape, there, updates.shape, updates * sign)
        return _put(x, where, choose(_at(x, where), updates), there, True)

    return combine


replace_at = _scatter(_put)
"""Elements at indices are replaced: JAX's scatter without a function of its own."""

add_at = _scatter(_add)
"""Updates are added to elements at indices."""

INDEXING: dict[str, Function] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter-add": add_at,
    "scatter-sub": _scatter(lambda x, places, updates, *rest: _add(x, places, -updates, *rest)),
    "scatter-mul": _scatter(_scaled),
    "scatter-max": _scatter(_extreme(1, pnp.maximum)),
    "scatter-min": _scatter(_extreme(-1, pnp.minimum)),
}
"""name -> function of the operands, with the primitive's params as keywords."""
