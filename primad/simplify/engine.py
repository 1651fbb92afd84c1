"""Simplifying a program about to be planned."""

from __future__ import annotations

from primad import ops
from primad.ir.program import Program
from primad.simplify.axis_orders import permute_late
from primad.simplify.like_terms import add_once
from primad.simplify.scattered_sums import scatter_short_terms
from primad.simplify.slice_pushdown import take_early
from primad.transforms.lowering import lower

_TRANSFORMS = (ops.fft, ops.rfft, ops.irfft)


def simplify(program: Program, many: bool = False, compiled: bool = False) -> Program:
    """Return an equal program of primitives that costs less.

    Constructor laws apply to every node as it is built; what is left to do is to lower composites, whose definitions
    meet their consumers' laws then, to take no transform of what was transformed back
    (`primad.simplify.transformed_sums`), to leave out dead code and what is not read
    (`primad.simplify.slice_pushdown`), to permute axes after what is computed (`primad.simplify.axis_orders`), to add
    many short parts of an array at their places (`primad.simplify.scattered_sums`), and each term of a sum once
    (`primad.simplify.like_terms`).
    Derivative composites sum over their directions as they are lowered (`primad.simplify.collapse`). Laws that hold bit
    for bit or in exact arithmetic are applied, finite ones only to zeros that differentiation itself put there.

    Args:
        program: any program.
        many: as `lower` has it.
        compiled: as `lower` has it.

    Example:
        >>> import primad
        >>> program = primad.trace(lambda x: (x + x) * 1.0)(primad.ArrayType((), float))
        >>> print(primad.simplify(program))
        program(x: float64[]) {
          a: float64[] = mul 2.0 x
          return a
        }
    """
    lowered = lower(program, many, compiled)
    if not lowered.ops.isdisjoint(_TRANSFORMS):
        from primad.simplify.transformed_sums import transform_terms  # loads where there is something to do

        lowered = transform_terms(lowered)
    return add_once(scatter_short_terms(permute_late(take_early(lowered))))
