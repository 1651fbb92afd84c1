"""Cases of the factorizations of matrices, and of looking up one of an op's results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec.structs import replace

from primad import ops
from primad.ir.array_types import TupleType, Zero
from primad.ir.axes import stacks
from primad.numpy.linalg import least_squares, linear_systems
from primad.ops.linalg.factorization import adjoint, lower_part, matrix_product
from primad.ops.record.kinds import composite, linear
from primad.ops.record.primitive import Primitive
from primad.verify.cases.complex_cases import complex_one
from primad.verify.cases.drawn_cases import Case, Choices, Example, floats
from primad.verify.exact import exact_matrices


def _solve_triangular(choose: Choices) -> Example:
    batch = choose.among(((), (), (2,)))
    n, columns = choose.integer(1, 2), choose.integer(1, 2)
    params = {name: bool(choose.integer(0, 1)) for name in ("lower", "transpose", "unit")}
    return Example((floats((*batch, n, n), 0.5, 3.0), floats((*batch, n, columns))), params)


def _qr(choose: Choices) -> Example:
    return Example((replace(floats(choose.among(((1, 1), (3, 2), (3, 3), (2, 2, 1)))), independent=True),))


def _square(*shapes: tuple[int, ...]) -> Callable[[Choices], Example]:
    return lambda choose: Example((replace(floats(choose.among(shapes)), independent=True),))


SMALL = _square((1, 1), (2, 2))
STACKS = _square((2, 2), (2, 1, 1))
LARGER = _square((1, 1), (3, 3), (2, 2, 2))


def _either_triangle(choose: Choices) -> Example:
    return Example(LARGER(choose).operands, {"lower": bool(choose.integer(0, 1))})


def _solve(choose: Choices) -> Example:
    (a,) = SMALL(choose).operands
    return Example((a, floats((*a.type.shape[:-1], 1))))


def _matrix(choose: Choices) -> Example:
    return Example((replace(floats(choose.among(((2, 2), (3, 2), (2, 3), (2, 1, 1)))), independent=True),))


def _tall(choose: Choices) -> Example:
    return Example(_matrix(choose).operands, {"cutoff": choose.among((1e-15, 0.4, 0.9))})


def _fitted(choose: Choices) -> Example:
    (a,) = _matrix(choose).operands
    return Example((a, floats((*a.type.shape[:-1], 1))), {"cutoff": choose.among((1e-15, 0.4, 0.9))})


def _values(choose: Choices) -> Example:
    return Example((replace(floats(choose.among(((2,), (3,), (2, 2)))), independent=True),))


def _vectors(choose: Choices) -> Example:
    (a,) = LARGER(choose).operands
    told = floats((*a.type.shape[:-1], choose.among((0, 1))))
    return Example((complex_one(a), complex_one(floats(a.type.shape[:-1])), told))


def _changes(choose: Choices) -> Example:
    (values,) = _values(choose).operands
    return Example((floats((*values.type.shape, values.type.shape[-1])), values), {"singular": False})


def _cotangents(choose: Choices) -> Example:
    (values,) = _values(choose).operands
    return Example((floats(values.type.shape), values), {"singular": bool(choose.integer(0, 1))})


def _along(draw: Callable[[Choices], Example]) -> Callable[[Choices], Example]:
    def drawn(choose: Choices) -> Example:
        (a,) = draw(choose).operands
        return Example((a, floats(a.type.shape)))

    return drawn


def _positive(choose: Choices) -> Example:
    """Draw positive numbers, as matrices: they have logarithms. Those of larger ones are proved with `logm`."""
    (a,) = _square((1, 1), (2, 1, 1))(choose).operands
    return Example((replace(a, low=0.5), floats(a.type.shape)))


def _sylvester(choose: Choices) -> Example:
    """Draw one number and a matrix whose eigenvalues are smaller, so that no sum of the two is near 0."""
    batch, m, n = choose.among(((), (), (2,))), *choose.among(((1, 1), (2, 1), (1, 2)))
    a, b = (replace(floats((*batch, k, k), *bounds), independent=True) for k, bounds in _apart(m, n))
    return Example((a, b, floats((*batch, m, n))))


def _apart(m: int, n: int) -> list[tuple[int, tuple[float, float]]]:
    near, far = (-1.0, 1.0), (3.0, 4.0)
    return [(m, near), (n, far)] if n == 1 else [(m, far), (n, near)]


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

GRAM: Primitive = composite(
    "gram",
    numpy=lambda a: a @ np.swapaxes(a, -1, -2).conj() + np.eye(a.shape[-1], dtype=a.dtype),
    lower=lambda a: matrix_product(a, adjoint(a)) + np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape),
    infer=lambda a: a,
    doc="a aᴴ + 1: a Hermitian positive definite matrix.",
)

LEANING: Primitive = composite(
    "leaning",
    numpy=lambda a: np.tril(GRAM.numpy(a)) + np.triu(a, 1),
    lower=lambda a: lower_part(GRAM(a), True) + a - lower_part(a, True),
    infer=lambda a: a,
    doc="The lower triangle of a aᴴ + 1, which is that of a positive definite matrix, and anything above it.",
)

SHIFTED: Primitive = composite(
    "shifted",
    numpy=lambda a: a + 8 * np.eye(a.shape[-1], dtype=a.dtype),
    lower=lambda a: a + np.broadcast_to(8 * np.eye(a.shape[-1], dtype=a.dtype), a.shape),
    infer=lambda a: a,
    doc="a + 8: a matrix without negative eigenvalues.",
)

FACTORIZATION_CASES: tuple[Case, ...] = (
    Case(ops.solve_triangular, _solve_triangular, 8, exact_matrices.solve_triangular, numeric=True),
    Case(ops.qr, _qr, 6, exact_matrices.qr, numeric=True),
    Case(ops.lu, LARGER, 6, exact_matrices.lu, numeric=True),
    Case(ops.cholesky, LARGER, 6, exact_matrices.cholesky, numeric=True, through=LEANING),
    Case(ops.cofactors, LARGER, 4, exact_matrices.cofactors, numeric=True),
    Case(ops.cofactors_along, _along(LARGER), 4, exact_matrices.cofactors_along, numeric=True),
    Case(ops.eigh, _either_triangle, 6, exact_matrices.eigh, numeric=True, through=LEANING),
    Case(ops.eig, LARGER, 6, exact_matrices.eig, numeric=True),
    Case(ops.left_vectors, _vectors, 4, numeric=True),
    Case(ops.svd, _matrix, 8, exact_matrices.svd, numeric=True),
    Case(ops.gaps, _values, 4, exact_matrices.gaps),
    Case(ops.slopes, _changes, 4),
    Case(ops.spread, _cotangents, 4),
    Case(ops.expm, STACKS, 5, exact_matrices.expm, numeric=True),
    Case(ops.expm_frechet, _along(STACKS), 4, exact_matrices.expm_frechet, numeric=True),
    Case(ops.solve_sylvester, _sylvester, 5, exact_matrices.solve_sylvester, numeric=True),
    Case(ops.logm, STACKS, 2, numeric=True, through=SHIFTED),
    Case(ops.logm_frechet, _positive, 2, numeric=True),
    Case(ops.sqrtm, STACKS, 5, exact_matrices.sqrtm, numeric=True, through=SHIFTED),
    Case(least_squares.pinv_, _tall, 6, exact_matrices.pinv, numeric=True),
    Case(least_squares.lstsq_, _fitted, 6, exact_matrices.lstsq, numeric=True),
    Case(linear_systems.solve_, _solve, 3, exact_matrices.solve),
    Case(linear_systems.inv_, SMALL, 4, exact_matrices.inv),
    Case(linear_systems.logabsdet_, SMALL, 4, exact_matrices.logabsdet),
    Case(linear_systems.det_, SMALL, 4, exact_matrices.det),
    Case(ops.project, _pair, 4, lambda n, several, *, index: several[index], through=PAIR),
)
