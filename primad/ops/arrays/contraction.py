"""One contraction of two operands over labelled axes: dot, matmul, tensordot and outer products are all this op.

`contract(x, y, labels="ab,bc->ac")` names every axis by a letter. In normal form each letter stands at most once in an
operand and in at least two of the three places; `letters` renames them in order of appearance, so that equal
contractions are equal nodes.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from primad.errors import ShapeError
from primad.ir.array_types import ArrayType
from primad.ir.axes import AxisMap, Change
from primad.ir.node import LITERAL, Node, Trace, literal_value
from primad.ir.program import Cost
from primad.ops.arrays.broadcasting import broadcast, sum
from primad.ops.arrays.generators import eye, identity
from primad.ops.arrays.reshaping import permute
from primad.ops.blocked.blocked_products import is_one_product, made_in_order, multiply, product, product_flops
from primad.ops.blocked.deep_products import as_matrices, einsum, matmul
from primad.ops.blocked.pieces import Each, Times, in_order
from primad.ops.record.fields import Law, MemoryUse, Work
from primad.ops.record.kinds import multilinear
from primad.ops.record.primitive import Primitive, apply, full
from primad.recording.traced_array import TracedArray

__all__ = ["contract"]

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@lru_cache(maxsize=4096)
def split(labels: str) -> tuple[str, str, str]:
    """Return the letters of x, of y and of the result."""
    operands, out = labels.split("->")
    x, y = operands.split(",")
    return x, y, out


@lru_cache(maxsize=4096)
def letters(x: str, y: str, out: str) -> str:
    """Return the labels with letters renamed in order of appearance."""
    names: dict[str, str] = {}
    for letter in x + y + out:
        if letter not in names:
            if len(names) == len(ALPHABET):
                raise ShapeError(f"contract: more than {len(ALPHABET)} axes", fix="merge axes with reshape first.")
            names[letter] = ALPHABET[len(names)]
    return "{},{}->{}".format(*("".join(names[letter] for letter in part) for part in (x, y, out)))


@lru_cache(maxsize=1024)
def matrix_form(labels: str) -> tuple[Any, ...] | None:
    """Split the letters into batch, rows, inner and columns, for one (batched) matrix product; None to use einsum."""
    x, y, out = split(labels)
    batch = [c for c in x if c in y and c in out]
    inner = [c for c in x if c in y and c not in out]
    rows = [c for c in x if c not in y]
    columns = [c for c in y if c not in x]
    if batch and not (rows and columns):
        return None
    x_order = tuple([x.index(c) for c in (*batch, *rows, *inner)])
    y_order = tuple([y.index(c) for c in (*batch, *inner, *columns)])
    result = [*batch, *rows, *columns]
    return x_order, y_order, len(batch), len(rows), len(inner), tuple([result.index(c) for c in out])


@lru_cache(maxsize=4096)
def _matrix_steps(labels: str, x_shape: tuple[int, ...], y_shape: tuple[int, ...]) -> tuple[Any, ...] | None:
    """Return what makes matrices of operands and an array of the product; None stands for what changes nothing."""
    form = matrix_form(labels)
    if form is None:
        return None
    x_order, y_order, batch, rows, inner, out_order = form
    x_shape, y_shape = (tuple([shape[i] for i in order]) for shape, order in ((x_shape, x_order), (y_shape, y_order)))
    depth = math.prod(y_shape[batch : batch + inner])
    row_count, column_count = math.prod(x_shape[batch : batch + rows]), math.prod(y_shape[batch + inner :])
    left, right = (*x_shape[:batch], row_count, depth), (*x_shape[:batch], depth, column_count)
    matrix = (*x_shape[:batch], row_count, column_count)
    result = (*x_shape[: batch + rows], *y_shape[batch + inner :])
    return (
        _moved(x_order),
        left if left != x_shape else None,
        _moved(y_order),
        right if right != y_shape else None,
        matrix if matrix != result else None,
        result,
        _moved(out_order),
    )


def _moved(order: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if order == tuple(range(len(order))) else order


@lru_cache(maxsize=1024)
def _unsummed(labels: str) -> tuple[Any, ...] | None:
    """Return the orders and indices that align the operands' axes with the result's; None where some are summed."""
    *parts, out = split(labels)
    if any(c not in out for part in parts for c in part):
        return None
    found: list[Any] = []
    for part in parts:
        found.append(tuple([part.index(c) for c in out if c in part]))
        found.append(tuple([slice(None) if c in part else None for c in out]))
    return tuple(found)


def _contract(
    x: Any, y: Any, *, labels: str, out: Any = None, each: Each = in_order, times: Times | None = None
) -> Any:
    x, y = np.asarray(x), np.asarray(y)
    aligned = _unsummed(labels)
    if aligned is not None:  # no sum, whose 0 would turn −0 into 0
        x_order, x_index, y_order, y_index = aligned
        return np.multiply(x.transpose(x_order)[x_index], y.transpose(y_order)[y_index], out=out)
    if x.dtype.kind in "fc":
        made = multiply(x, y, *split(labels), target=out, each=each, times=times or product)
        if made is not None:
            return made
    steps = _matrix_steps(labels, x.shape, y.shape)
    if steps is None or x.dtype == object:
        return np.einsum(labels, x, y, out=out) if x.dtype == object else einsum(labels, x, y, out)
    x, y = as_matrices(x, y, *steps[:4])
    matrix, result, out_order = steps[4:]
    multiplied = matmul if times is None or x.ndim > 2 else times
    if out is not None and out_order is None:
        multiplied(x, y, out if matrix is None else out.reshape(matrix))
        return out
    made = multiplied(x, y, None)
    if matrix is not None:
        made = made.reshape(result)
    if out_order is not None:
        made = made.transpose(out_order)
    if out is None:
        return made
    np.copyto(out, made)
    return out


def _contract_few(x: ArrayType, y: ArrayType, *, labels: str) -> Any:
    from primad.ops.blocked.small_products import aligned_product, summed_product

    if (aligned := _unsummed(labels)) is not None:
        return aligned_product(*aligned)
    steps = _matrix_steps(labels, x.shape, y.shape)
    if steps is None or x.dtype.kind != "f":
        return None
    in_x, in_y, out = split(labels)
    if not is_one_product(in_x, in_y, out, x.shape, y.shape, x.dtype):
        return None
    depth = math.prod([n for c, n in dict(zip(in_x, x.shape, strict=True)).items() if c in in_y and c not in out])
    return summed_product(steps, depth, partial(_contract, labels=labels))


def _contract_type(x: ArrayType, y: ArrayType, *, labels: str) -> ArrayType:
    in_x, in_y, out = split(labels)
    if x.dtype != y.dtype or x.dtype.kind == "b":
        raise ShapeError(
            f"contract: operands have dtypes {x.dtype} and {y.dtype}; both must be the same number type",
            fix="cast one of them.",
        )
    lengths: dict[str, int] = {}
    for type, part in ((x, in_x), (y, in_y)):
        if type.ndim != len(part) or len(set(part)) != len(part):
            raise ShapeError(
                f"contract: the letters {part!r} do not name the axes of shape {type.shape}",
                fix="give each axis of the operand one letter.",
            )
        for letter, length in zip(part, type.shape, strict=True):
            if lengths.setdefault(letter, length) != length:
                raise ShapeError(
                    f"contract: {labels!r} gives letter {letter!r} the lengths {lengths[letter]} and {length}",
                    fix="give axes of different lengths different letters.",
                )
    for letter in lengths:
        if (letter in in_x) + (letter in in_y) + (letter in out) < 2:
            raise ShapeError(
                f"contract: letter {letter!r} of {labels!r} stands in one place only; sum over it first",
                fix="keep the letter in the result, or sum that axis before.",
            )
    if len(set(out)) != len(out) or any(letter not in lengths for letter in out):
        raise ShapeError(
            f"contract: the result letters {out!r} of {labels!r} are not letters of the operands",
            fix="name the axes of the result by letters of the operands, each once.",
        )
    return ArrayType(tuple([lengths[letter] for letter in out]), x.dtype)


@lru_cache(maxsize=4096)
def _axis_map(labels: str) -> AxisMap:
    in_x, in_y, out = split(labels)
    return AxisMap((tuple(in_x), tuple(in_y)), (tuple(out),))


def _contract_adapt(change: Change, *, labels: str) -> dict[str, Any]:
    arrays = zip((*change.operands, change.result), split(labels), strict=True)
    return {"labels": letters(*("".join(axes.entries(part, "!")) for axes, part in arrays))}


def _contract_cost(node: Node) -> Cost:
    in_x, in_y, _ = split(dict(node.params)["labels"])
    lengths = dict(zip(in_x + in_y, node.inputs[0].type.shape + node.inputs[1].type.shape, strict=True))
    flops = product_flops(lengths, node.type.dtype)
    return Cost(flops, flops, node.type.nbytes, 1)


def _transpose_x(ct: Any, x: Any, y: Any, *, labels: str) -> Any:
    in_x, in_y, out = split(labels)
    return contract(ct, y, labels=letters(out, in_y, in_x))


def _transpose_y(ct: Any, x: Any, y: Any, *, labels: str) -> Any:
    in_x, in_y, out = split(labels)
    return contract(x, ct, labels=letters(in_x, out, in_y))


def _contract_identity(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """Contracting one axis with the identity matrix renames it (the seeds of a Jacobian cost nothing)."""
    in_x, in_y, out = split(params["labels"])
    for seed, other, ours, theirs in ((inputs[0], inputs[1], in_x, in_y), (inputs[1], inputs[0], in_y, in_x)):
        if seed.op is not eye:
            continue
        for inner, free in ((ours[0], ours[1]), (ours[1], ours[0])):
            if inner in theirs and inner not in out and free not in theirs:
                renamed = theirs.replace(inner, free)
                return apply(trace, permute, other, order=tuple([renamed.index(letter) for letter in out]))
    return None


def _contract_identities(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """Element by element, an identity matrix times itself is itself."""
    in_x, in_y, out = split(params["labels"])
    if inputs[0].op is not eye or inputs[0] is not inputs[1] or set(in_x) != set(in_y):
        return None
    kept = [letter for letter in in_x if letter in out]
    total = apply(trace, sum, inputs[0], axes=tuple([i for i, letter in enumerate(in_x) if letter not in out]))
    return apply(trace, permute, total, order=tuple([kept.index(letter) for letter in out]))


def _contract_broadcast(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """An axis along which an operand is constant, and that the other lacks, is broadcast after the product."""
    parts = list(split(params["labels"]))
    for i in (0, 1):
        x = inputs[i]
        if x.op is not broadcast:
            continue
        axes = dict(x.params)["axes"]
        constant = [
            parts[i][axis] for axis in axes if parts[i][axis] in parts[2] and parts[i][axis] not in parts[1 - i]
        ]
        if not constant:
            continue
        keep = [axis for axis in range(x.type.ndim) if parts[i][axis] not in constant]
        small_axes = tuple([keep.index(axis) for axis in axes if axis in keep])
        small = apply(
            trace, broadcast, x.inputs[0], shape=tuple([x.type.shape[axis] for axis in keep]), axes=small_axes
        )
        operands = [small, inputs[1]] if i == 0 else [inputs[0], small]
        lengths = dict(zip(parts[i], x.type.shape, strict=True))
        other = dict(zip(parts[1 - i], inputs[1 - i].type.shape, strict=True))
        out = parts[2]
        parts[i] = "".join(parts[i][axis] for axis in keep)
        rest = "".join(letter for letter in out if letter not in constant)
        product = apply(trace, contract, *operands, labels=letters(parts[0], parts[1], rest))
        shape = tuple([lengths[letter] if letter in lengths else other[letter] for letter in out])
        return apply(
            trace,
            broadcast,
            product,
            shape=shape,
            axes=tuple([out.index(letter) for letter in sorted(constant, key=out.index)]),
        )
    return None


def _contract_permuted(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """A permutation of an operand is absorbed into the letters."""
    in_x, in_y, out = split(params["labels"])
    x, y = inputs
    if x.op is permute:
        in_x = _unpermuted(in_x, dict(x.params)["order"])
        x = x.inputs[0]
    if y.op is permute:
        in_y = _unpermuted(in_y, dict(y.params)["order"])
        y = y.inputs[0]
    if (x, y) == inputs:
        return None
    return apply(trace, contract, x, y, labels=letters(in_x, in_y, out))


def _unpermuted(part: str, order: tuple[int, ...]) -> str:
    result = [""] * len(order)
    for letter, axis in zip(part, order, strict=True):
        result[axis] = letter
    return "".join(result)


def _contract_filled(trace: Trace, inputs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """Contracting with an operand that is filled with one number is a sum, scaled.

    An infinite number is no factor of a sum: times the zeros in it it is NaN.
    """
    parts = split(params["labels"])
    place = 1 if inputs[1].op is LITERAL else 0
    x, filled = inputs[1 - place], inputs[place]
    if filled.op is not LITERAL or x.op is LITERAL or not math.isfinite(literal_value(filled)):
        return None
    mine, other, out = parts[1 - place], parts[place], parts[2]
    kept = "".join(letter for letter in mine if letter in out)
    summed = apply(trace, sum, x, axes=tuple([axis for axis, letter in enumerate(mine) if letter not in out]))
    scaled = TracedArray(summed) * literal_value(filled)
    ordered = [letter for letter in out if letter in mine]
    result = apply(trace, permute, scaled.node, order=tuple([kept.index(letter) for letter in ordered]))
    lengths = dict(zip(mine + other, x.type.shape + filled.type.shape, strict=True))
    new = tuple([axis for axis, letter in enumerate(out) if letter not in mine])
    return apply(trace, broadcast, result, shape=tuple([lengths[letter] for letter in out]), axes=new)


def _is_made_in_order(node: Node) -> bool:
    """Say whether a result is made in its own order of axes: in another one it is better left than copied."""
    x, y = (operand.type.shape for operand in node.inputs)
    return made_in_order(*split(dict(node.params)["labels"]), x, y)


contract: Primitive = multilinear(
    "contract",
    numpy=_contract,
    infer=_contract_type,
    transpose=[_transpose_x, _transpose_y],
    axes=lambda x, y, *, labels: _axis_map(labels),
    adapt=_contract_adapt,
    memory=MemoryUse(out=_is_made_in_order, each=True, times=True),
    work=Work(flops=_contract_cost, few=_contract_few),
    doc="Multiply and sum over the letters that the result lacks.",
    laws=[
        Law(
            "contracting with the identity renames an axis",
            "finite",
            lambda x: (contract(identity(x, 3), x, labels="ab,bc->ac"), x),
            ((3, 2),),
            _contract_identity,
            ("eye",),
            complex="finite",
        ),
        Law(
            "identity matrices meet on their diagonals",
            "bitwise",
            lambda x: (contract(identity(x, 3), identity(x, 3), labels="ab,ab->a"), sum(identity(x, 3), axes=(1,))),
            ((3,),),
            _contract_identities,
            ("eye",),
            complex="real",
        ),
        Law(
            "a broadcast is outermost: contract",
            "real",
            lambda x, y: (
                contract(broadcast(x, shape=(4, 2, 3), axes=(0,)), y, labels="abc,cd->abd"),
                broadcast(contract(x, y, labels="ab,bc->ac"), shape=(4, 2, 2), axes=(0,)),
            ),
            ((2, 3), (3, 2)),
            _contract_broadcast,
            ("broadcast",),
            complex="real",
        ),
        Law(
            "a permutation of an operand is absorbed into the letters",
            "real",
            lambda x, y: (
                contract(permute(x, order=(1, 0)), y, labels="ab,bc->ac"),
                contract(x, y, labels="ab,ac->bc"),
            ),
            ((3, 2), (3, 4)),
            _contract_permuted,
            ("permute",),
            complex="real",
        ),
        Law(
            "contracting with a filled array is a scaled sum",
            "real",
            lambda x: (contract(x, full(2.0, x), labels="ab,ab->a"), sum(x, axes=(1,)) * 2.0),
            ((3, 2),),
            _contract_filled,
            ("literal",),
        ),
    ],
)
