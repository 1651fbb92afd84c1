"""NumPy's products: matmul, dot, einsum, tensordot, outer, trace, diagonals. All become `contract`."""

from __future__ import annotations

import operator
import re
from functools import wraps
from typing import Any

import numpy as np

from primad import ops
from primad.errors import ShapeError
from primad.kinds import composite
from primad.numpy.promotion import (
    accumulator,
    any_traced,
    as_traced,
    convert,
    expand,
    first_traced,
    harmonize,
    implements,
    loop_dtype,
    normalize_axis,
    refuse_out,
    result_dtype,
)
from primad.numpy.shaping import expand_dims, moveaxis
from primad.ops.contraction import ALPHABET, letters
from primad.primitive import Primitive
from primad.trace import METHODS, TracedArray

__all__ = [
    "cross", "diag", "diagonal", "dot", "einsum", "inner", "kron", "matmul", "outer", "tensordot", "trace",
    "vdot", "vecdot",
]  # fmt: skip


def _operands(*values: Any) -> list[TracedArray]:
    """Promote operands as NumPy does; booleans are counted as integers, and `_product` makes them booleans again."""
    like = first_traced(values)
    dtype = result_dtype(*values)
    if dtype.kind == "b":
        dtype = np.dtype(np.int64)
    return [
        convert(as_traced(np.asarray(value) if not isinstance(value, TracedArray) else value, like), dtype)
        for value in values
    ]


def _product(function: Any) -> Any:
    """Give products of booleans NumPy's meaning: true where a sum of products is not 0."""

    @wraps(function)
    def product(*operands: Any, **kwargs: Any) -> Any:
        result = function(*operands, **kwargs)
        arrays = [x for x in operands if isinstance(x, (TracedArray, np.ndarray, list))]
        if result.dtype.kind == "i" and result_dtype(*arrays).kind == "b":
            result = convert(result, np.bool_)
        return result

    return product


def contract_letters(x: TracedArray, y: TracedArray, in_x: str, in_y: str, out: str) -> Any:
    """Contract over arbitrary letters: repeated letters take diagonals, lonely letters are summed first."""
    x, in_x = _diagonalize(x, in_x)
    y, in_y = _diagonalize(y, in_y)
    x, in_x = _sum_lonely(x, in_x, in_y + out)
    y, in_y = _sum_lonely(y, in_y, in_x + out)
    return ops.contract(x, y, labels=letters(in_x, in_y, out))


def _diagonalize(x: TracedArray, part: str) -> tuple[TracedArray, str]:
    for letter in part:
        while part.count(letter) > 1:
            first = part.index(letter)
            second = part.index(letter, first + 1)
            x = diagonal_(x, axis1=first, axis2=second)
            part = part[:first] + part[first + 1 : second] + part[second + 1 :] + letter
    return x, part


def _sum_lonely(x: TracedArray, part: str, elsewhere: str) -> tuple[TracedArray, str]:
    lonely = tuple([i for i, letter in enumerate(part) if letter not in elsewhere])
    if lonely:
        x = ops.sum(x, axes=lonely)
    return x, "".join(letter for letter in part if letter in elsewhere)


# -- matmul ------------------------------------------------------------------------------------------------------------


def _matmul(x: Any, y: Any) -> Any:
    """NumPy's rank rules: vectors are rows or columns, leading axes broadcast."""
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError("matmul: an operand is 0-d; use *")
    rows, columns = ("i" if x.ndim > 1 else ""), ("k" if y.ndim > 1 else "")
    inner_x, inner_y = x.shape[-1], y.shape[-2] if y.ndim > 1 else y.shape[0]
    if inner_x != inner_y:
        raise ShapeError(
            f"matmul: shapes {x.shape} and {y.shape} do not fit",
            why=f"The last axis of the first ({inner_x}) must match the second-to-last of the second ({inner_y}).",
        )
    lead_x, lead_y = x.shape[: max(0, x.ndim - 2)], y.shape[: max(0, y.ndim - 2)]
    count = max(len(lead_x), len(lead_y))
    try:
        batch = np.broadcast_shapes(lead_x, lead_y)
    except ValueError:
        raise ShapeError(f"matmul: leading axes of {x.shape} and {y.shape} do not broadcast") from None
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
@_product
def matmul(x: Any, y: Any, /, out: Any = None, *, axes: Any = None) -> Any:
    """np.matmul (the operator @): matrix product; vectors are rows or columns, leading axes broadcast.

    `axes` says which axes of the operands and of the result are those of the matrices.
    """
    refuse_out("matmul", out)
    a, b = _operands(x, y)
    if axes is None:
        return matmul_(a, b)
    result = matmul_(_last(a, axes[0]), _last(b, axes[1]))
    return _back(result, axes[2]) if len(axes) > 2 else result


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
@_product
def outer(x: Any, y: Any, out: Any = None) -> Any:
    """np.outer: all products of the elements of x and y."""
    refuse_out("outer", out)
    return outer_(*_operands(x, y))


METHODS["multiply.outer"] = lambda x, y: _outer_of(x, y)


def _outer_of(x: Any, y: Any) -> Any:
    a, b = _operands(x, y)
    in_x, in_y = ALPHABET[: a.ndim], ALPHABET[a.ndim : a.ndim + b.ndim]
    return ops.contract(a, b, labels=letters(in_x, in_y, in_x + in_y))


@implements(np.dot)
@_product
def dot(x: Any, y: Any, out: Any = None) -> Any:
    """np.dot: the sum over the last axis of x and the second-to-last of y."""
    refuse_out("dot", out)
    a, b = _operands(*[np.asarray(z) if isinstance(z, (int, float)) else z for z in (x, y)])  # numbers are arrays here
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul_(a, b)
    return tensordot(a, b, ((a.ndim - 1,), (max(0, b.ndim - 2),)))


METHODS["dot"] = lambda x, y: dot(x, y)


@implements(np.vecdot, ufunc=True)
@_product
def vecdot(x: Any, y: Any, /, out: Any = None, *, axis: Any = None, axes: Any = None, keepdims: bool = False) -> Any:
    """np.vecdot: products summed along one axis of each operand, the last by default; the others broadcast."""
    refuse_out("vecdot", out)
    if axes is not None and (axis is not None or keepdims):
        raise ShapeError("vecdot: axes= goes with neither axis= nor keepdims=")
    first, second = (-1 if axis is None else axis,) * 2 if axes is None else axes[:2]
    a, b = _operands(x, y)
    a, b = _last(a, first), _last(b, second)
    if a.shape[-1] != b.shape[-1]:
        raise ShapeError(f"vecdot: axes of lengths {a.shape[-1]} and {b.shape[-1]} do not fit")
    a, b = harmonize("vecdot", a, b)
    result = ops.sum(a * b, axes=(a.ndim - 1,))
    return expand_dims(result, first) if keepdims else result


@implements(np.inner)
@_product
def inner(x: Any, y: Any) -> Any:
    """np.inner: products summed over the last axes."""
    a, b = _operands(x, y)
    return a * b if a.ndim == 0 or b.ndim == 0 else tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


@implements(np.vdot)
@_product
def vdot(x: Any, y: Any) -> Any:
    """np.vdot of real arrays."""
    a, b = _operands(x, y)
    return dot(ops.reshape(a, shape=(a.size,)), ops.reshape(b, shape=(b.size,)))


@implements(np.tensordot)
@_product
def tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    """np.tensordot."""
    a, b = _operands(x, y)
    if isinstance(axes, int):
        over_x, over_y = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        over_x, over_y = ([part] if isinstance(part, int) else list(part) for part in axes)
    over_x = [normalize_axis("tensordot", axis, a.ndim) for axis in over_x]
    over_y = [normalize_axis("tensordot", axis, b.ndim) for axis in over_y]
    if len(over_x) != len(over_y):
        raise ShapeError(f"tensordot: axes {axes} pair different numbers of axes")
    in_x = list(ALPHABET[: a.ndim])
    in_y = list(ALPHABET[a.ndim : a.ndim + b.ndim])
    for i, j in zip(over_x, over_y, strict=True):
        in_y[j] = in_x[i]
    out = [c for c in in_x if c not in in_y] + [c for c in in_y if c not in in_x]
    return contract_letters(a, b, "".join(in_x), "".join(in_y), "".join(out))


# -- einsum ------------------------------------------------------------------------------------------------------------


def _einsum_parts(subscripts: str, shapes: list[tuple[int, ...]]) -> tuple[list[str], str]:
    text = subscripts.replace(" ", "")
    if not re.fullmatch(r"[A-Za-z.,]*(->[A-Za-z.]*)?", text):
        raise ShapeError(f"einsum: {subscripts!r} is not made of letters, commas, an ellipsis and an arrow")
    left, arrow, out = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(shapes):
        raise ShapeError(f"einsum: {subscripts!r} names {len(parts)} operands, got {len(shapes)}")
    spare = [c for c in ALPHABET if c not in text]
    widest = max([len(shape) - len(part.replace("...", "")) for part, shape in zip(parts, shapes, strict=True)] + [0])
    extra = "".join(spare[:widest])
    expanded = []
    for part, shape in zip(parts, shapes, strict=True):
        missing = len(shape) - len(part.replace("...", ""))
        if ("..." not in part and missing) or missing < 0 or part.count(".") not in (0, 3):
            raise ShapeError(f"einsum: {part!r} of {subscripts!r} does not name the axes of shape {shape}")
        expanded.append(part.replace("...", extra[len(extra) - missing :]))
    if arrow:
        out = out.replace("...", extra)
    else:
        letters_ = sorted({c for part in expanded for c in part if sum(p.count(c) for p in expanded) == 1} - set(extra))
        out = (extra if "..." in left else "") + "".join(letters_)
    if len(set(out)) != len(out) or any(all(c not in part for part in expanded) for c in out):
        raise ShapeError(f"einsum: the result {out!r} of {subscripts!r} has unknown or repeated letters")
    return expanded, out


def einsum(subscripts: Any, *operands: Any, optimize: Any = False, out: Any = None) -> Any:
    """np.einsum with letters and ellipses; several operands are contracted from left to right.

    With `optimize`, they are contracted in the order of NumPy's path.

    Raises:
        ShapeError: for letters that do not fit the shapes.
    """
    refuse_out("einsum", out)
    if not isinstance(subscripts, str):
        raise ShapeError("einsum: write the subscripts as a string, as in 'ij,jk->ik'")
    if not any_traced(operands):
        return np.einsum(subscripts, *operands, optimize=optimize)
    arrays = _operands(*operands)
    parts, result = _einsum_parts(subscripts, [x.shape for x in arrays])
    lengths: dict[str, int] = {}
    for part, x in zip(parts, arrays, strict=True):
        for letter, n in zip(part, x.shape, strict=True):
            known = lengths.setdefault(letter, n)
            if known != n and 1 not in (known, n):
                raise ShapeError(f"einsum: letter {letter!r} of {subscripts!r} has lengths {known} and {n}")
            lengths[letter] = max(known, n) if 0 not in (known, n) else 0
    arrays = [expand(x, tuple([lengths[letter] for letter in part])) for part, x in zip(parts, arrays, strict=True)]
    while len(arrays) > 2:
        i, j = _next_pair(parts, arrays, result, optimize)
        kept = "".join(dict.fromkeys(c for c in parts[i] + parts[j] if c in result or _elsewhere(c, parts, i, j)))
        joined = contract_letters(arrays[i], arrays[j], parts[i], parts[j], kept)
        arrays = [x for k, x in enumerate(arrays) if k not in (i, j)] + [joined]
        parts = [part for k, part in enumerate(parts) if k not in (i, j)] + [kept]
    if len(arrays) == 2:
        return contract_letters(arrays[0], arrays[1], parts[0], parts[1], result)
    x, part = _diagonalize(arrays[0], parts[0])
    x, part = _sum_lonely(x, part, result)
    return ops.permute(x, order=tuple([part.index(c) for c in result]))


def _elsewhere(letter: str, parts: list[str], i: int, j: int) -> bool:
    return any(letter in part for k, part in enumerate(parts) if k not in (i, j))


def _next_pair(parts: list[str], arrays: list[Any], result: str, optimize: Any) -> tuple[int, int]:
    if not optimize:
        return 0, 1
    text = ",".join(parts) + "->" + result
    shapes = [np.broadcast_to(0.0, x.shape) for x in arrays]
    path = np.einsum_path(text, *shapes, optimize="greedy")[0][1]
    return int(path[0]), int(path[1])


einsum = implements(np.einsum)(_product(einsum))


# -- diagonals ---------------------------------------------------------------------------------------------------------


def _diagonal(x: Any, *, axis1: int, axis2: int) -> Any:
    """Row-major, the main diagonal is every (n + 1)-th element of the first min(m, n) rows."""
    kept = [axis for axis in range(x.ndim) if axis not in (axis1, axis2)]
    moved = ops.permute(x, order=(*kept, axis1, axis2))
    rest, (m, n) = moved.shape[:-2], moved.shape[-2:]
    count = min(m, n)
    none = (0,) * len(rest)
    square = ops.slice_(moved, start=(*none, 0, 0), stop=(*rest, count, n), step=(1,) * x.ndim)
    flat = ops.reshape(square, shape=(*rest, count * n))
    step = (*(1,) * len(rest), n + 1)
    stop = (*rest, (count - 1) * (n + 1) + 1 if count else 0)
    return ops.slice_(flat, start=(*none, 0), stop=stop, step=step)


diagonal_: Primitive = composite(
    "diagonal",
    numpy=lambda x, *, axis1, axis2: np.diagonal(x, 0, axis1, axis2),
    lower=_diagonal,
    doc="The main diagonal of two axes, as a last axis.",
)
trace_: Primitive = composite(
    "trace",
    numpy=lambda x, *, axis1, axis2: np.trace(x, 0, axis1, axis2),
    lower=lambda x, *, axis1, axis2: _trace(x, axis1, axis2),
    doc="The sum of the main diagonal of two axes.",
)


def _trace(x: Any, axis1: int, axis2: int) -> Any:
    d = diagonal_(x, axis1=axis1, axis2=axis2)
    return ops.sum(d, axes=(d.ndim - 1,))


@implements(np.diagonal, method="diagonal")
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """np.diagonal."""
    first, second = (normalize_axis("diagonal", axis, x.ndim) for axis in (axis1, axis2))
    if first == second:
        raise ShapeError("diagonal: the two axes are the same")
    offset = operator.index(offset)
    if offset:
        index = [slice(None)] * x.ndim
        index[second if offset > 0 else first] = slice(abs(offset), None)
        x = x[tuple(index)]
    return diagonal_(x, axis1=first, axis2=second)


@implements(np.trace, method="trace")
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """np.trace: the sum of a diagonal. The trace of a Hessian is computed without the Hessian."""
    refuse_out("trace", out)
    x = convert(x, accumulator(x.dtype) if dtype is None else dtype)
    if offset:
        d = diagonal(x, offset, axis1, axis2)
        return ops.sum(d, axes=(d.ndim - 1,))
    first, second = (normalize_axis("trace", axis, x.ndim) for axis in (axis1, axis2))
    if first == second:
        raise ShapeError("trace: the two axes are the same")
    return trace_(x, axis1=first, axis2=second)


@implements(np.diag)
def diag(x: Any, k: int = 0) -> Any:
    """np.diag: the diagonal of a matrix, or the matrix with a given diagonal."""
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ShapeError(f"diag: needs one or two axes, got shape {x.shape}")
    return diag_matrix_(x, k=operator.index(k))


def _diag_matrix(x: Any, *, k: int) -> Any:
    """Elements n + 1 apart in row-major order, shifted by k."""
    count = x.shape[0]
    n = count + abs(k)
    if count == 0:
        return ops.reshape(ops.pad(x, low=(0,), high=(n * n,), interior=(0,)), shape=(n, n))
    low = k if k >= 0 else -k * n
    used = (count - 1) * (n + 1) + 1
    flat = ops.pad(x, low=(low,), high=(n * n - low - used,), interior=(n,))
    return ops.reshape(flat, shape=(n, n))


diag_matrix_: Primitive = composite(
    "diag", numpy=lambda x, *, k: np.diag(x, k), lower=_diag_matrix, doc="Matrix with a given diagonal."
)


@implements(np.kron)
@_product
def kron(x: Any, y: Any) -> Any:
    """np.kron of two arrays with the same number of axes."""
    a, b = _operands(x, y)
    if a.ndim != b.ndim:
        raise ShapeError("kron: operands must have the same number of axes")
    n = a.ndim
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
        raise ShapeError(f"cross: the vectors must have length 3, got shapes {x.shape} and {y.shape}")
    u, v = moveaxis(a, -1, 0), moveaxis(b, -1, 0)
    rows = [u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3] for i in range(3)]
    return moveaxis(ops.concatenate(*[row[None] for row in rows], axis=0), 0, axisc)


def _array(x: Any) -> Any:
    return x if isinstance(x, TracedArray) else np.asarray(x)


COMPOSITES = [matmul_, outer_, diagonal_, trace_, diag_matrix_]
