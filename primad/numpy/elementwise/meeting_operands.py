"""Operands of functions of elements: those that an op takes as they are, and the order of complex ones.

NumPy orders complex numbers by real parts, and by imaginary ones where these are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ops.record.primitive import Primitive
from primad.recording.traced_array import TracedArray

__all__: list[str] = []


def by_parts(compare: Primitive, x: Any, y: Any) -> Any:
    """Return what `ops.less` or `ops.less_equal` says of complex numbers.

    That of the imaginary parts counts where the real parts are equal. What has a NaN in a part is neither before nor
    after anything.
    """
    (a, b), (c, d) = ((ops.real_part(z), ops.imaginary_part(z)) for z in (x, y))
    known = ops.equal(b, b) & ops.equal(d, d)
    return (ops.less(a, c) & known) | (ops.equal(a, c) & compare(b, d))


def sorts_before(x: Any, y: Any) -> Any:
    """Say whether a complex number sorts before another: NaN comes last, at the very end that in the real part."""
    (a, b), (c, d) = ((ops.real_part(z), ops.imaginary_part(z)) for z in (x, y))
    (no_a, no_b), (no_c, no_d) = ((~ops.equal(part, part) for part in parts) for parts in ((a, b), (c, d)))
    both = no_a & no_c
    by_value = ops.less(a, c) | ((ops.equal(a, c) | both) & ops.less(b, d))
    same_real, same_imaginary = ops.equal(no_a, no_c), ops.equal(no_b, no_d)
    return (no_c & ~no_a) | (same_real & ((no_d & ~no_b) | (same_imaginary & by_value)))


def larger(x: Any, y: Any) -> Any:
    """Return np.maximum of complex numbers: the first of equal ones, and of those with NaN."""
    return ops.select(~ops.equal(x, x) | by_parts(ops.less_equal, y, x), x, y)


def smaller(x: Any, y: Any) -> Any:
    """Return np.minimum of complex numbers: the first of equal ones, and of those with NaN."""
    return ops.select(~ops.equal(x, x) | by_parts(ops.less_equal, x, y), x, y)


def agree(x: Any, y: Any, floats: bool) -> bool:
    """Say whether operands need no conversion: of one type (floats, if one is plain), or floats and a Python number."""
    if type(x) is not TracedArray:
        return _agrees(x, y.node.type)
    type_ = x.node.type
    if type(y) is not TracedArray:
        return _agrees(y, type_)
    kind = type_.dtype.kind  # booleans may become numbers
    return (type_ is y.node.type or type_ == y.node.type) and (kind == "f" or (kind != "b" and not floats))


def _agrees(value: Any, with_: ArrayType) -> bool:
    """Say whether a plain operand of an array needs no conversion: a Python number, or an array of the same type."""
    kind = type(value)
    if kind is np.ndarray:
        same = value.shape == with_.shape != () and value.dtype == with_.dtype
        return same and with_.dtype.kind == "f"
    return (kind is float or kind is int) and with_.dtype.kind == "f"


def with_number(primitive: Primitive, x: Any, y: Any) -> TracedArray | None:
    """Apply a primitive to a traced array of real floats and a Python float; None for other operands."""
    array = x if type(x) is TracedArray else y
    if type(array) is not TracedArray:
        return None
    node = array.node
    type_, trace = node.type, node.trace
    if type_.dtype.kind != "f" or trace.closed:
        return None
    nodes = (node, trace.literal(y, type_)) if array is x else (trace.literal(x, type_), node)
    return TracedArray(trace.build(primitive, nodes, ()))


def as_number(value: Any, other: Any) -> Any:
    """Return the Python number for a scalar of NumPy's that meets a traced array of its dtype, as when it is read."""
    same = value.__class__ is np.float64 and type(other) is TracedArray and other.node.type.dtype == value.dtype
    return float(value) if same else value
