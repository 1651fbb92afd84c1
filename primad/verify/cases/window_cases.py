"""Cases of the ops on sliding windows (windows, convolution, pooling), with their definitions element by element."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from primad import ops
from primad.nn.convolution import conv_, conv_transpose_
from primad.nn.pooling import adaptive_avg_pool_, adaptive_max_pool_, avg_pool_, max_pool_
from primad.verify.cases.drawn_cases import Case, Choices, Example, floats
from primad.verify.exact.number_systems import Numbers
from primad.verify.exact.object_arrays import first_largest

Shape = tuple[int, ...]


# -- examples ----------------------------------------------------------------------------------------------------------


def _geometry(choose: Choices, rank: int) -> dict[str, Shape]:
    """Draw windows that overlap, have gaps, or reach beyond the array."""
    names = {"count": (1, 3), "size": (1, 3 if rank == 1 else 2), "step": (1, 2), "dilation": (1, 2), "low": (-1, 2)}
    return {name: tuple(choose.integer(*bounds) for _ in range(rank)) for name, bounds in names.items()}


def _windows(choose: Choices) -> Example:
    common, axes = choose.among(
        (((2, 4), (1,)), ((3,), (0,)), ((3, 2), (0,)), ((2, 2, 3), (1, 2)), ((2, 3, 3), (0, 2)))
    )
    return Example((floats(common),), {"axes": axes, **_geometry(choose, len(axes))})


def _overlap_add(choose: Choices) -> Example:
    rest, axes = choose.among((((), (0,)), ((), (0,)), ((2,), (1,)), ((3,), (0,)), ((2,), (1, 2)), ((2,), (0, 2))))
    params = _geometry(choose, len(axes))
    count, size = params.pop("count"), params.pop("size")
    shape, mapped, counts = [], iter(rest), iter(count)
    for axis in range(len(rest) + len(axes)):
        shape.append(next(counts) if axis in axes else next(mapped))
    length = tuple(choose.integer(2, 4) for _ in axes)
    return Example((floats((*shape, *size)),), {"axes": axes, "length": length, **params})


def _window_argmax(choose: Choices) -> Example:
    common, axes = choose.among(
        (((2, 4), (1,)), ((4,), (0,)), ((4, 2), (0,)), ((2, 2, 3), (1, 2)), ((3, 2, 3), (0, 2)))
    )
    size, count, step, dilation, low = [], [], [], [], []
    for axis in axes:
        size.append(choose.integer(1, 3 if len(axes) == 1 else 2))
        step.append(choose.integer(1, 2))
        dilation.append(1 if len(axes) == 2 or size[-1] == 3 else choose.integer(1, 2))
        low.append(choose.integer(0, size[-1] - 1) * dilation[-1])
        count.append(1 + (common[axis] - 1 + low[-1]) // step[-1])
    entries = {"size": size, "count": count, "step": step, "dilation": dilation, "low": low}
    return Example((floats(common),), {"axes": axes, **{name: tuple(entry) for name, entry in entries.items()}})


def _pairs(choose: Choices, rank: int, most: int = 1) -> tuple[tuple[int, int], ...]:
    return tuple((choose.integer(0, most), choose.integer(0, most)) for _ in range(rank))


def _conv(choose: Choices) -> Example:
    rank, groups = choose.integer(1, 2), choose.integer(1, 2)
    batch, inner, outer = (choose.integer(1, 2) if rank == 1 else 1 for _ in range(3))
    x = (batch, inner * groups, *(3,) * rank) if rank == 1 else (batch, groups, 2, 2)
    weight = (outer * groups, inner, *(choose.integer(1, 2) for _ in range(rank)))
    return Example((floats(x), floats(weight)), {**_strides(choose, rank), "groups": groups})


def _strides(choose: Choices, rank: int) -> dict[str, Any]:
    return {
        "stride": tuple(choose.integer(1, 2) for _ in range(rank)),
        "padding": _pairs(choose, rank),
        "dilation": tuple(choose.integer(1, 2) if rank == 1 else 1 for _ in range(rank)),
    }


def _conv_transpose(choose: Choices) -> Example:
    rank, groups = choose.integer(1, 2), choose.integer(1, 2)
    batch, inner, outer = (choose.integer(1, 2) if rank == 1 else 1 for _ in range(3))
    x = (batch, inner * groups, *(3 if rank == 1 else 2,) * rank)
    weight = (inner * groups, outer, *(choose.integer(1, 2) for _ in range(rank)))
    params = _strides(choose, rank)
    extra = tuple(choose.integer(0, s - 1) for s in params["stride"])
    return Example((floats(x), floats(weight)), {**params, "output_padding": extra, "groups": groups})


def _pool(choose: Choices) -> Example:
    common = choose.among(((1, 2, 4), (2, 1, 3), (1, 1, 3, 2), (1, 1, 2, 3)))
    rank = len(common) - 2
    size = tuple(choose.integer(1, 2 if rank == 2 else 3) for _ in range(rank))
    padding = tuple((choose.integer(0, n // 2), choose.integer(0, n // 2)) for n in size)
    stride = tuple(choose.integer(1, 2) for _ in range(rank))
    ceil_mode = choose.among((False, True))
    return Example((floats(common),), {"size": size, "stride": stride, "padding": padding, "ceil_mode": ceil_mode})


def _avg_pool(choose: Choices) -> Example:
    example = _pool(choose)
    return Example(example.operands, {**example.params, "count_include_pad": choose.among((False, True))})


def _adaptive_pool(choose: Choices) -> Example:
    common, count = choose.among((((2, 1, 4), (2,)), ((1, 1, 5), (3,)), ((1, 2, 2), (3,)), ((1, 1, 2, 3), (1, 2))))
    return Example((floats(common),), {"count": count})


# -- definitions -------------------------------------------------------------------------------------------------------


def _cells(n: int, size: int, step: int, dilation: int, low: int) -> Iterator[tuple[int, int, int]]:
    """Yield each window, each of its elements, and the position of that."""
    for i, p in product(range(n), range(size)):
        yield i, p, i * step + p * dilation - low


def _joint(axes: Shape, count: Shape, size: Shape, step: Shape, dilation: Shape, low: Shape) -> Iterator[Any]:
    """Yield windows, elements and positions for several axes, each a tuple."""
    for cell in product(*[list(_cells(*axis)) for axis in zip(count, size, step, dilation, low, strict=True)]):
        yield tuple(zip(*cell, strict=True))


def _at(index: Any, axes: Shape, entries: Any) -> tuple[Any, ...]:
    result = list(index)
    for axis, entry in zip(axes, entries, strict=True):
        result[axis] = entry
    return tuple(result)


def _inside(place: Any, shape: Shape, axes: Shape) -> bool:
    return all(0 <= at < shape[axis] for at, axis in zip(place, axes, strict=True))


def _windows_are(n: Numbers, x: Any, *, axes: Shape, **params: Any) -> Any:
    every = (slice(None),) * x.ndim
    out = np.full((*_at(x.shape, axes, params["count"]), *params["size"]), n.number(0), object)
    for window, element, place in _joint(axes, **params):
        if _inside(place, x.shape, axes):
            out[(*_at(every, axes, window), *element)] = x[_at(every, axes, place)]
    return out


def _overlap_add_is(n: Numbers, y: Any, *, axes: Shape, length: Shape, **params: Any) -> Any:
    ndim = y.ndim - len(axes)
    every = (slice(None),) * ndim
    out = np.full(_at(y.shape[:ndim], axes, length), n.number(0), object)
    count = tuple(y.shape[axis] for axis in axes)
    for window, element, place in _joint(axes, count=count, size=y.shape[ndim:], **params):
        if _inside(place, out.shape, axes):
            at = _at(every, axes, place)
            out[at] = out[at] + y[(*_at(every, axes, window), *element)]
    return out


def _fitting(length: int, size: int, step: int, dilation: int, padding: tuple[int, int], ceil_mode: bool) -> int:
    """Count the windows: those inside the padded axis, and in ceil mode one more that starts before its last part."""
    before, behind = padding
    starts = range(0, length + before + behind, step)
    inside = [start for start in starts if start + dilation * (size - 1) < length + before + behind]
    if not ceil_mode or inside[-1] + dilation * (size - 1) == length + before + behind - 1:
        return len(inside)
    return len(inside) + (inside[-1] + step < length + before)


def _positions(x: Any, size: Shape, stride: Shape, padding: Any, dilation: Shape, ceil_mode: bool = False) -> Any:
    """Return the counts of windows, and a function from a window to its elements and their positions."""
    count = tuple(_fitting(*axis, ceil_mode) for axis in zip(x.shape[2:], size, stride, dilation, padding, strict=True))

    def of(window: Shape) -> Iterator[tuple[Shape, Shape]]:
        for element in np.ndindex(size):
            numbers = zip(window, element, stride, dilation, padding, strict=True)
            yield element, tuple(i * s + p * d - before for i, p, s, d, (before, _) in numbers)

    return count, of


def _conv_is(n: Numbers, x: Any, weight: Any, *, stride: Shape, padding: Any, dilation: Shape, groups: int) -> Any:
    count, elements = _positions(x, weight.shape[2:], stride, padding, dilation)
    out = np.full((x.shape[0], weight.shape[0], *count), n.number(0), object)
    axes, inner = tuple(range(2, x.ndim)), weight.shape[1]
    for index in np.ndindex(out.shape):
        batch, channel, *window = index
        first = channel // (weight.shape[0] // groups) * inner
        for (element, place), c in product(list(elements(tuple(window))), range(inner)):
            if _inside(place, x.shape, axes):
                out[index] = out[index] + x[(batch, first + c, *place)] * weight[(channel, c, *element)]
    return out


def _conv_transpose_is(
    n: Numbers,
    x: Any,
    weight: Any,
    *,
    stride: Shape,
    padding: Any,
    output_padding: Shape,
    dilation: Shape,
    groups: int,
) -> Any:
    size, outer, inner = weight.shape[2:], weight.shape[1], weight.shape[0] // groups
    numbers = zip(x.shape[2:], stride, padding, dilation, size, output_padding, strict=True)
    length = tuple((m - 1) * s - sum(pair) + d * (k - 1) + e + 1 for m, s, pair, d, k, e in numbers)
    _, elements = _positions(np.empty((1, 1, *length)), size, stride, padding, dilation)
    out = np.full((x.shape[0], outer * groups, *length), n.number(0), object)
    axes = tuple(range(2, x.ndim))
    for batch, channel, o in product(range(x.shape[0]), range(x.shape[1]), range(outer)):
        target = channel // inner * outer + o
        for window in np.ndindex(x.shape[2:]):
            for element, place in elements(window):
                if _inside(place, out.shape, axes):
                    at = (batch, target, *place)
                    out[at] = out[at] + x[(batch, channel, *window)] * weight[(channel, o, *element)]
    return out


def _pool_is(
    n: Numbers, x: Any, best: Any, *, size: Shape, stride: Shape, padding: Any, ceil_mode: bool, **others: Any
) -> Any:
    count, elements = _positions(x, size, stride, padding, (1,) * len(size), ceil_mode)
    axes = tuple(range(2, x.ndim))
    out = np.empty((*x.shape[:2], *count), object)
    for index in np.ndindex(out.shape):
        places = [place for _, place in elements(index[2:])]
        out[index] = best([x[(*index[:2], *place)] for place in places if _inside(place, x.shape, axes)], places)
    return out


def _largest(n: Numbers, values: list[Any]) -> Any:
    found = values[0]
    for value in values[1:]:
        found = value if n.less(found, value) else found
    return found


def _max_pool_is(n: Numbers, x: Any, **params: Any) -> Any:
    return _pool_is(n, x, lambda values, places: _largest(n, values), **params)


def _avg_pool_is(n: Numbers, x: Any, *, count_include_pad: bool, **params: Any) -> Any:
    def mean(values: list[Any], places: Any) -> Any:
        limits = zip(x.shape[2:], params["padding"], strict=True)
        ends = [length + behind for length, (_, behind) in limits]
        padded = [place for place in places if all(at < end for at, end in zip(place, ends, strict=True))]
        return sum(values, n.number(0)) / (len(padded) if count_include_pad else len(values))

    return _pool_is(n, x, mean, **params)


def _adaptive(x: Any, count: Shape, value: Any) -> Any:
    out = np.empty((*x.shape[:2], *count), object)
    for index in np.ndindex(out.shape):
        shares = [
            range(i * length // m, -(-(i + 1) * length // m))
            for i, length, m in zip(index[2:], x.shape[2:], count, strict=True)
        ]
        out[index] = value([x[(*index[:2], *place)] for place in product(*shares)])
    return out


SLIDING_CASES: tuple[Case, ...] = (
    Case(ops.windows, _windows, 8, _windows_are),
    Case(ops.overlap_add, _overlap_add, 8, _overlap_add_is),
    Case(ops.window_argmax, _window_argmax, 6, first_largest),
    Case(conv_, _conv, 12, _conv_is),
    Case(conv_transpose_, _conv_transpose, 8, _conv_transpose_is),
    Case(max_pool_, _pool, 6, _max_pool_is),
    Case(avg_pool_, _avg_pool, 6, _avg_pool_is),
    Case(adaptive_max_pool_, _adaptive_pool, 4, lambda n, x, *, count: _adaptive(x, count, lambda v: _largest(n, v))),
    Case(adaptive_avg_pool_, _adaptive_pool, 4, lambda n, x, *, count: _adaptive(x, count, lambda v: sum(v) / len(v))),
)
"""Convolution and pooling, and the primitives under them."""
