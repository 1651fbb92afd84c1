"""Examples of ops that move, take, join and multiply the elements of arrays."""

from __future__ import annotations

from primad.ops.arrays.contraction import letters
from primad.verify.cases.drawn_cases import Choices, Example, floats, integers, shape


def broadcast(choose: Choices) -> Example:
    """Draw a broadcast along new axes."""
    wide = tuple(choose.among((0, 1, 2, 3)) for _ in range(choose.integer(1, 3)))
    new = axes(choose, len(wide))
    inner = tuple(n for axis, n in enumerate(wide) if axis not in new)
    return Example((floats(inner),), {"shape": wide, "axes": new})


def axes(choose: Choices, ndim: int, least: int = 1) -> tuple[int, ...]:
    """Draw some of the axes of an array, at least so many."""
    flags = [choose.integer(0, 1) for _ in range(ndim)]
    if sum(flags) < least:
        flags[choose.integer(0, ndim - 1)] = 1
    return tuple(axis for axis, on in enumerate(flags) if on)


def reshape(choose: Choices) -> Example:
    """Draw a reshape that merges, splits or does both."""
    before, after = choose.among(
        (((2, 3), (3, 2)), ((6,), (2, 3)), ((2, 3, 2), (2, 6)), ((2, 3, 2), (6, 2)), ((1, 3), (3,)), ((), (1, 1)))
    )
    return Example((floats(before),), {"shape": after})


def permute(choose: Choices) -> Example:
    """Draw a permutation of axes that is not the identity."""
    ndim = choose.integer(2, 3)
    rest = list(range(ndim))
    order = [rest.pop(choose.integer(0, len(rest) - 1)) for _ in range(ndim)]
    if order == sorted(order):
        order.reverse()
    return Example((floats(shape(choose, ndim, ndim)),), {"order": tuple(order)})


def slice_(choose: Choices) -> Example:
    """Draw a slice, among others of everything."""
    common = tuple(choose.integer(2, 5) for _ in range(choose.integer(1, 2)))
    start = tuple(choose.integer(0, 1) for _ in common)
    stop = tuple(choose.integer(a, n) for a, n in zip(start, common, strict=True))
    step = tuple(choose.integer(1, 2) for _ in common)
    if choose.integer(0, 3) == 0:  # all of it
        start, stop, step = (0,) * len(common), common, (1,) * len(common)
    return Example((floats(common),), {"start": start, "stop": stop, "step": step})


def pad(choose: Choices) -> Example:
    """Draw zeros before, after and between elements."""
    common = tuple(choose.integer(0, 3) for _ in range(choose.integer(1, 2)))
    widths = [choose.among(((0, 0, 0), (0, 0, 1), (1, 0, 0), (0, 2, 0), (1, 2, 2), (2, 1, 0))) for _ in common]
    low, high, interior = zip(*widths, strict=True)
    return Example((floats(common),), {"low": low, "high": high, "interior": interior})


def concatenate(choose: Choices) -> Example:
    """Draw up to three arrays, some of them empty, joined along an axis."""
    ndim = choose.integer(1, 2)
    axis = choose.integer(0, ndim - 1)
    rest = shape(choose, ndim, ndim)
    count = choose.integer(1, 3)
    parts = [tuple(choose.integer(0, 2) if i == axis else n for i, n in enumerate(rest)) for _ in range(count)]
    return Example(tuple(floats(part) for part in parts), {"axis": axis})


def flip(choose: Choices) -> Example:
    """Draw a flip of some axes."""
    common = tuple(choose.integer(2, 3) for _ in range(choose.integer(1, 2)))
    return Example((floats(common),), {"axes": axes(choose, len(common))})


def gather(choose: Choices) -> Example:
    """Draw rows at indices, with a leading axis in common or without."""
    batch = choose.integer(0, 1)
    lead = (2,) * batch
    n = choose.integer(2, 3)
    before = shape(choose, 0, 1, 2)
    x = (*lead, *before, n, *shape(choose, 0, 1, 2))
    indices = integers(choose, (*lead, *shape(choose, 0, 2, 2)), 0, n - 1)
    return Example((floats(x), indices), {"axis": batch + len(before), "batch": batch})


def scatter_add(choose: Choices) -> Example:
    """Draw rows that are added at indices, some of them at the same."""
    example = gather(choose)
    x, indices = example.operands
    axis, batch = example.params["axis"], example.params["batch"]
    updates = x.type.shape[:axis] + indices.type.shape[batch:] + x.type.shape[axis + 1 :]
    return Example((floats(updates), indices), {**example.params, "size": x.type.shape[axis]})


CONTRACTIONS = (
    "ab,bc->ac",
    "ab,ab->",
    "a,b->ab",
    "ab,ab->a",
    "abc,adc->adb",
    "ab,cb->ca",
    "a,a->a",
    "abc,cb->a",
    "ab,ab->ab",
)


def _labels(choose: Choices) -> str:
    """Draw labels of any form: what two arrays have in common stays or is summed over, in any order."""
    left, rest = "ab"[: choose.integer(1, 2)], list("abc")
    right = "".join(rest.pop(choose.integer(0, len(rest) - 1)) for _ in range(choose.integer(1, 2)))
    common, kept, out = set(left) & set(right), "", ""
    for letter in sorted({*left, *right}):
        kept += letter if letter not in common or choose.integer(0, 1) else ""
    while kept:
        out += (letter := choose.among(kept))
        kept = kept.replace(letter, "")
    return letters(left, right, out)


def contract(choose: Choices) -> Example:
    """Draw a contraction of two arrays, by common labels or by any."""
    labels = _labels(choose) if choose.integer(0, 1) else choose.among(CONTRACTIONS)
    left, right = labels.split("->")[0].split(",")
    most = choose.among((1, 2, 2))
    length = {letter: choose.integer(most // 2 + 1, 2) for letter in left + right}
    return Example(
        tuple(floats(tuple(length[letter] for letter in part)) for part in (left, right)), {"labels": labels}
    )


def matmul(choose: Choices) -> Example:
    """Draw a product of matrices, vectors or stacks."""
    left, right = choose.among((((2, 3), (3, 2)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 1, 2), (2, 2)), ((3,), (3,))))
    return Example((floats(left), floats(right)))


def outer(choose: Choices) -> Example:
    """Draw two vectors."""
    return Example((floats((2,)), floats((choose.integer(1, 3),))))


def diagonal(choose: Choices) -> Example:
    """Draw an array with two axes that have a diagonal."""
    common, axis1, axis2 = choose.among((((2, 3), 0, 1), ((3, 2), 1, 0), ((2, 2, 3), 0, 2), ((2, 2, 2), 1, 2)))
    return Example((floats(common),), {"axis1": axis1, "axis2": axis2})


def diag(choose: Choices) -> Example:
    """Draw a vector that becomes a diagonal."""
    return Example((floats((choose.integer(1, 3),)),), {"k": choose.integer(-1, 1)})
