"""NumPy's order of complex numbers: by real parts, and by imaginary ones where these are equal."""

from __future__ import annotations

from typing import Any

from primad import ops
from primad.ops.record.primitive import Primitive

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
