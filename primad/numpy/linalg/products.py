"""NumPy's products, which all become `contract`: matmul, dot, tensordot, outer, kron, cross."""

from __future__ import annotations

import math
import operator
from functools import wraps
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.numpy.axis_arguments import normalize_axis
from primad.numpy.elementwise.complex_numbers import conjugated
from primad.numpy.linalg.diagonals import diagonal_
from primad.numpy.linalg.sparse_products import sparse_product
from primad.numpy.promotion import (
    as_traced,
    convert,
    first_traced,
    harmonize,
    implements,
    joined,
    loop_dtype,
    refuse_out,
    result_dtype,
)
from primad.numpy.shapes.shaping import expand_dims, moveaxis
from primad.ops.arrays.contraction import ALPHABET, letters
from primad.ops.record.kinds import composite
from primad.ops.record.primitive import Primitive
from primad.recording.foreign import is_sparse
from primad.recording.protocols import METHODS
from primad.recording.traced_array import TracedArray

__all__ = [
    "cross", "dot", "inner", "kron", "matmul", "matvec", "outer", "tensordot", "vdot", "vecdot", "vecmat",
]  # fmt: skip


def product_operands(*values: Any) -> list[TracedArray]:
    """Promote operands as NumPy does; booleans are counted as integers, and `as_product` makes them booleans again."""
    x, y = values[0], values[-1]
    if len(values) == 2 and type(x) is TracedArray and type(y) is TracedArray and x.node.trace is y.node.trace:
        dtype = x.node.type.dtype
        if dtype is y.node.type.dtype and dtype.kind == "f":  # most products by far
            return [x, y]
    values = tuple([joined(value) for value in values])
    like = first_traced(values)
    dtype = result_dtype(*values)
    if dtype.kind == "b":
        dtype = np.dtype(np.int64)
    return [
        convert(as_traced(np.asarray(value) if not isinstance(value, TracedArray) else value, like), dtype)
        for value in values
    ]


def as_product(function: Any) -> Any:
    """Give products of booleans NumPy's meaning: true where a sum of products is not 0."""

    @wraps(function)
    def product(*operands: Any, **kwargs: Any) -> Any:
        result = function(*operands, **kwargs)
        if result.dtype.kind == "i":
            arrays = [x for x in operands if isinstance(x, (TracedArray, np.ndarray, list))]
            return convert(result, np.bool_) if result_dtype(*arrays).kind == "b" else result
        return result

    return product


def contract_letters(x: TracedArray, y: TracedArray, in_x: str, in_y: str, out: str) -> Any:
    """Contract over arbitrary letters: repeated letters take diagonals, lonely letters are summed first."""
    x, in_x = diagonalize(x, in_x)
    y, in_y = diagonalize(y, in_y)
    x, in_x = sum_lonely(x, in_x, in_y + out)
    y, in_y = sum_lonely(y, in_y, in_x + out)
    return ops.contract(x, y, labels=letters(in_x, in_y, out))


def diagonalize(x: TracedArray, part: str) -> tuple[TracedArray, str]:
    """Take the diagonals that repeated letters say, last; those of two and more letters as one of merged axes."""
    twice = "".join(letter for letter in dict.fromkeys(part) if part.count(letter) == 2)
    if len(twice) > 1:
        rest = "".join(letter for letter in part if letter not in twice)
        places = [(part.index(letter), part.rindex(letter)) for letter in twice]
        order = [*[part.index(letter) for letter in rest], *[a for a, _ in places], *[b for _, b in places]]
        x = ops.permute(x, order=tuple(order))
        kept, lengths = x.shape[: len(rest)], x.shape[len(rest) : len(rest) + len(twice)]
        x = ops.reshape(x, shape=(*kept, math.prod(lengths), math.prod(x.shape[len(rest) + len(twice) :])))
        x = diagonal_(x, axis1=len(rest), axis2=len(rest) + 1)
        x, part = ops.reshape(x, shape=(*kept, *lengths)), rest + twice
    for letter in part:
        while part.count(letter) > 1:
            first = part.index(letter)
            second = part.index(letter, first + 1)
            x = diagonal_(x, axis1=first, axis2=second)
            part = part[:first] + part[first + 1 : second] + part[second + 1 :] + letter
    return x, part


def sum_lonely(x: TracedArray, part: str, elsewhere: str) -> tuple[TracedArray, str]:
    lonely = tuple([i for i, letter in enumerate(part) if letter not in elsewhere])
    if lonely:
        x = ops.sum(x, axes=lonely)
    return x, "".join(letter for letter in part if letter in elsewhere)


# -- matmul ------------------------------------------------------------------------------------------------------------


def _matmul(x: Any, y: Any) -> Any:
    """NumPy's rank rules: vectors are rows or columns, leading axes broadcast."""
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError("matmul: an operand is 0-d; use *", fix="write x * y.")
    rows, columns = ("i" if x.ndim > 1 else ""), ("k" if y.ndim > 1 else "")
    inner_x, inner_y = x.shape[-1], y.shape[-2] if y.ndim > 1 else y.shape[0]
    if inner_x != inner_y:
        raise ShapeError(
            f"matmul: shapes {x.shape} and {y.shape} do not fit",
            why=f"The last axis of the first ({inner_x}) must match the second-to-last of the second ({inner_y}).",
            fix="transpose one of them, x.T or y.T, if that makes the two lengths equal.",
        )
    lead_x, lead_y = x.shape[: max(0, x.ndim - 2)], y.shape[: max(0, y.ndim - 2)]
    count = max(len(lead_x), len(lead_y))
    try:
        batch = np.broadcast_shapes(lead_x, lead_y)
    except ValueError:
        raise ShapeError(
            f"matmul: leading axes of {x.shape} and {y.shape} do not broadcast",
            fix="reshape one of them, so that these axes have equal lengths, or 1.",
        ) from None
    names = "ABCDEFGHIJKLMNOP"[:count]
    part_x, x = _leading(x, lead_x, batch, names)
    part_y, y = _leading(y, lead_y, batch, names)
    both_1 = [c for c in names if c not in part_x + part_y]
    out = "".join(c for c in names if c not in both_1)
    product = ops.contract(x, y, labels=letters(part_x + rows + "j", part_y + "j" + columns, out + rows + columns))
    if both_1:
        tail = product.shape[len(out) :]
        product = ops.reshape(product, shape=(*batch, *tail))
    return product


def _leading(x: Any, lead: tuple[int, ...], batch: tuple[int, ...], names: str) -> tuple[str, Any]:
    """Drop leading axes of length 1: contract broadcasts an operand that lacks a letter."""
    offset = len(batch) - len(lead)
    kept = [i for i, n in enumerate(lead) if n != 1]
    if len(kept) != len(lead):
        x = ops.reshape(x, shape=(*[lead[i] for i in kept], *x.shape[len(lead) :]))
    return "".join(names[offset + i] for i in kept), x


matmul_: Primitive = composite("matmul", numpy=np.matmul, lower=_matmul, doc="Matrix product with NumPy's rank rules.")
outer_: Primitive = composite(
    "outer",
    numpy=lambda x, y: np.outer(x, y),
    lower=lambda x, y: ops.contract(ops.reshape(x, shape=(x.size,)), ops.reshape(y, shape=(y.size,)), labels="a,b->ab"),
    doc="All products of elements of x and y.",
)


@implements(np.matmul, ufunc=True)
@as_product
def matmul(x: Any, y: Any, /, out: Any = None, *, axes: Any = None) -> Any:
    """np.matmul (the operator @): matrix product; vectors are rows or columns, leading axes broadcast.

    `axes` says which axes of the operands and of the result are those of the matrices. Of the operator one operand
    may be a sparse matrix of SciPy's, the other is a vector or a matrix then.
    """
    refuse_out("matmul", out)
    if is_sparse(x):
        return sparse_product(x, y)
    if is_sparse(y):
        return sparse_product(y.T, x.T).T
    a, b = product_operands(x, y)
    if axes is None:
        return matmul_(a, b)
    wanted = (min(2, a.ndim), min(2, b.ndim), max(0, min(2, a.ndim) + min(2, b.ndim) - 2))
    if not isinstance(axes, list) or tuple([np.size(each) for each in axes]) != wanted:
        raise ShapeError(
            f"matmul: axes={axes} for operands and a result that have {wanted} axes of matrices",
            fix=f"write a tuple of axes for each: {wanted} in number.",
        )
    return _back(matmul_(_last(a, axes[0]), _last(b, axes[1])), axes[2])


def _last(x: TracedArray, axes: Any) -> TracedArray:
    """Move axes to the end."""
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    moved: TracedArray = moveaxis(x, axes, tuple(range(-len(axes), 0)))
    return moved


def _back(x: TracedArray, axes: Any) -> TracedArray:
    """Move the last axes to where they are wanted."""
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    moved: TracedArray = moveaxis(x, tuple(range(-len(axes), 0)), axes)
    return moved


@implements(np.outer)
@as_product
def outer(x: Any, y: Any, out: Any = None) -> Any:
    """np.outer: all products of the elements of x and y."""
    refuse_out("outer", out)
    return outer_(*product_operands(x, y))


METHODS["multiply.outer"] = lambda x, y: _outer_of(x, y)


def _outer_of(x: Any, y: Any) -> Any:
    a, b = product_operands(x, y)
    in_x, in_y = ALPHABET[: a.ndim], ALPHABET[a.ndim : a.ndim + b.ndim]
    return ops.contract(a, b, labels=letters(in_x, in_y, in_x + in_y))


@implements(np.dot)
@as_product
def dot(x: Any, y: Any, out: Any = None) -> Any:
    """np.dot: the sum over the last axis of x and the second-to-last of y."""
    refuse_out("dot", out)
    a, b = product_operands(
        *[np.asarray(z) if isinstance(z, (int, float)) else z for z in (x, y)]
    )  # numbers are arrays here
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul_(a, b)
    return tensordot(a, b, ((a.ndim - 1,), (max(0, b.ndim - 2),)))


METHODS["dot"] = lambda x, y: dot(x, y)


@implements(np.vecdot, ufunc=True)
@as_product
def vecdot(x: Any, y: Any, /, out: Any = None, *, axis: Any = -1, axes: Any = None, keepdims: bool = False) -> Any:
    """np.vecdot: products summed along one axis of each operand, the last by default; the others broadcast.

    Of complex operands the first is conjugated.
    """
    refuse_out("vecdot", out)
    if axes is not None and (axis != -1 or keepdims):
        raise ShapeError(
            "vecdot: axes= goes with neither axis= nor keepdims=", fix="leave axes= out, or the other two."
        )
    first, second = (axis,) * 2 if axes is None else axes[:2]
    a, b = product_operands(x, y)
    a, b = _last(a, operator.index(first) if axes is None else first), _last(b, second)
    if a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            f"vecdot: axes of lengths {a.shape[-1]} and {b.shape[-1]} do not fit",
            fix="choose axes of equal length by axes=, or cut one of the two.",
        )
    a, b = harmonize("vecdot", a, b)
    result = ops.sum(conjugated(a) * b, axes=(a.ndim - 1,))
    return expand_dims(result, first) if keepdims else result


def _matvec(x: Any, y: Any) -> Any:
    return np.matmul(x, np.asarray(y)[..., None])[..., 0]


def _vecmat(x: Any, y: Any) -> Any:
    return np.matmul(np.asarray(x)[..., None, :], y)[..., 0, :]


@implements(getattr(np, "matvec", _matvec), ufunc=True)  # NumPy's own are of version 2.2
@as_product
def matvec(x: Any, y: Any, /, out: Any = None, *, axes: Any = None) -> Any:
    """np.matvec: products of matrices and vectors; leading axes broadcast.

    `axes` says which axes of the operands and of the result are those of the matrices and vectors.
    """
    refuse_out("matvec", out)
    a, b = _of_rank("matvec", (2, 1), axes, x, y)
    found = matmul_(a, expand_dims(b, -1))[..., 0]
    return found if axes is None else _back(found, axes[2])


@implements(getattr(np, "vecmat", _vecmat), ufunc=True)
@as_product
def vecmat(x: Any, y: Any, /, out: Any = None, *, axes: Any = None) -> Any:
    """np.vecmat: products of conjugated vectors and matrices; leading axes broadcast.

    `axes` says which axes of the operands and of the result are those of the vectors and matrices.
    """
    refuse_out("vecmat", out)
    a, b = _of_rank("vecmat", (1, 2), axes, x, y)
    found = matmul_(expand_dims(conjugated(a), -2), b)[..., 0, :]
    return found if axes is None else _back(found, axes[2])


def _of_rank(name: str, ranks: tuple[int, int], axes: Any, x: Any, y: Any) -> list[TracedArray]:
    """Return promoted operands whose last axes, as many as said, are those of the product."""
    operands = product_operands(x, y)
    short = [each.shape for each, rank in zip(operands, ranks, strict=True) if each.ndim < rank]
    if short:
        raise ShapeError(
            f"{name}: an operand of shape {short[0]} has too few axes", fix="add axes of length 1 in front: x[None]."
        )
    if axes is None:
        return operands
    if not isinstance(axes, list) or [np.size(each) for each in axes] != [*ranks, 1]:
        raise ShapeError(
            f"{name}: axes={axes} for operands and a result that have {(*ranks, 1)} axes of the product",
            fix=f"write a tuple of axes for each: {(*ranks, 1)} in number.",
        )
    return [_last(each, given) for each, given in zip(operands, axes[:2], strict=True)]


@implements(np.inner)
@as_product
def inner(x: Any, y: Any) -> Any:
    """np.inner: products summed over the last axes."""
    a, b = product_operands(x, y)
    return a * b if a.ndim == 0 or b.ndim == 0 else tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


@implements(np.vdot)
@as_product
def vdot(x: Any, y: Any) -> Any:
    """np.vdot: products summed over all elements, of the conjugate of the first array."""
    a, b = product_operands(x, y)
    a = conjugated(a)
    return dot(ops.reshape(a, shape=(a.size,)), ops.reshape(b, shape=(b.size,)))


@implements(np.tensordot)
@as_product
def tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    """np.tensordot."""
    a, b = product_operands(x, y)
    if isinstance(axes, int):
        over_x, over_y = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        over_x, over_y = ([part] if isinstance(part, int) else list(part) for part in axes)
    over_x = [normalize_axis("tensordot", axis, a.ndim) for axis in over_x]
    over_y = [normalize_axis("tensordot", axis, b.ndim) for axis in over_y]
    if len(over_x) != len(over_y):
        raise ShapeError(
            f"tensordot: axes {axes} pair different numbers of axes",
            fix="write as many axes for the first array as for the second.",
        )
    in_x = list(ALPHABET[: a.ndim])
    in_y = list(ALPHABET[a.ndim : a.ndim + b.ndim])
    for i, j in zip(over_x, over_y, strict=True):
        in_y[j] = in_x[i]
    out = [c for c in in_x if c not in in_y] + [c for c in in_y if c not in in_x]
    return contract_letters(a, b, "".join(in_x), "".join(in_y), "".join(out))


@implements(np.kron)
@as_product
def kron(x: Any, y: Any) -> Any:
    """np.kron."""
    a, b = product_operands(x, y)
    n = max(a.ndim, b.ndim)
    a, b = (ops.reshape(each, shape=(1,) * (n - each.ndim) + each.shape) for each in (a, b))
    product = _outer_of(a, b)
    order = tuple([axis for i in range(n) for axis in (i, n + i)])
    mixed = ops.permute(product, order=order)
    return ops.reshape(mixed, shape=tuple([p * q for p, q in zip(a.shape, b.shape, strict=True)]))


@implements(np.cross)
def cross(x: Any, y: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """np.cross of vectors in three dimensions."""
    if axis is not None:
        axisa = axisb = axisc = axis
    like = first_traced([x, y])
    a, b = _last(as_traced(_array(x), like), axisa), _last(as_traced(_array(y), like), axisb)
    a, b = harmonize("cross", a, b, dtype=loop_dtype(np.subtract, x, y))
    if a.shape[-1:] != (3,):
        raise ShapeError(
            f"cross: the vectors must have length 3, got shapes {x.shape} and {y.shape}",
            fix="append a zero to vectors in the plane, or write x[0] * y[1] - x[1] * y[0].",
        )
    u, v = moveaxis(a, -1, 0), moveaxis(b, -1, 0)
    rows = [u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3] for i in range(3)]
    return moveaxis(ops.concatenate(*[row[None] for row in rows], axis=0), 0, axisc)


def _array(x: Any) -> Any:
    x = joined(x)
    return x if isinstance(x, TracedArray) else np.asarray(x)


COMPOSITES = [matmul_, outer_]
