"""Cases of the factorizations of matrices, and of looking up one of an op's results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from primad import ops
from primad.axes import stacks
from primad.backends.matrices import qr, solve_triangular
from primad.kinds import linear
from primad.primitive import Primitive
from primad.types import TupleType, Zero
from primad.verify.cases import Case, Choices, Example, floats


def _solve_triangular(choose: Choices) -> Example:
    batch = choose.among(((), (), (2,)))
    n, columns = choose.integer(1, 2), choose.integer(1, 2)
    params = {"lower": bool(choose.integer(0, 1)), "transpose": bool(choose.integer(0, 1))}
    return Example((floats((*batch, n, n), 0.5, 3.0), floats((*batch, n, columns))), params)


def _qr(choose: Choices) -> Example:
    return Example((replace(floats(choose.among(((1, 1), (3, 2), (3, 3), (2, 2, 1)))), independent=True),))


def _pair(choose: Choices) -> Example:
    return Example((floats((2,)), floats((2,))), {"index": choose.integer(0, 1)})


def _pulled(total: Any, difference: Any) -> tuple[Any, Any]:
    if isinstance(total, Zero):
        return difference, -difference
    return (total, total) if isinstance(difference, Zero) else (total + difference, total - difference)


PAIR: Primitive = linear(
    "sum_and_difference",
    numpy=lambda x, y: (x + y, x - y),
    infer=lambda x, y: TupleType((x, y)),
    transpose=lambda ct, x, y: _pulled(*ct),
    axes=lambda x, y: stacks(x.ndim, [0, 0], [0, 0]),
    operands=None,
    doc="x + y and x − y: the smallest linear op with several results.",
)

FACTORIZATION_CASES: tuple[Case, ...] = (
    Case(ops.solve_triangular, _solve_triangular, 8, solve_triangular, numeric=True),
    Case(ops.qr, _qr, 6, qr, numeric=True),
    Case(ops.project, _pair, 4, lambda n, several, *, index: several[index], through=PAIR),
)
