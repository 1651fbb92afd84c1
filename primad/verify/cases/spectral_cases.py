"""Cases of functions of matrices: of polynomials, whose derivatives are sums of products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any

import numpy as np

from primad import ops
from primad.ir.array_types import ArrayType
from primad.ir.program import ClosedProgram
from primad.programs.spectra.spectral_ops import spectral_function, spectral_sum
from primad.recording.tracing import trace
from primad.verify.cases import meanings
from primad.verify.cases.complex_cases import complex_one
from primad.verify.cases.drawn_cases import Case, Choices, Example, floats
from primad.verify.exact.exact_matrices import eig, eigh
from primad.verify.exact.high_precision import Precise
from primad.verify.exact.number_systems import Numbers

Array = np.ndarray[Any, Any]


def _cubic(w: Any, p: Any) -> Any:
    p = ops.cast(ops.broadcast(p, shape=w.shape, axes=(w.ndim - 1,)), dtype=str(w.dtype))
    return w * w + p * w * w * w


def _draw_function(choose: Choices, several: bool) -> Example:
    lead = (2,) if choose.among((True, False)) else ()
    n = choose.integer(1, 2)
    lower = choose.among((True, False, None))
    values = ArrayType((*lead, n), complex if lower is None else float)
    of = ClosedProgram(trace(_cubic)(values, ArrayType(lead, float)))
    order = choose.integer(0, 3 - n) if several else 0
    stack = (2,) if order == 1 and choose.among((True, False)) else ()
    repeated = len(lead) if choose.among((True, False)) else 0
    options: dict[str, Any] = {"of": of, "lower": lower, "dtype": "float64", "repeated": repeated}
    options |= {"order": order, "stack": stack} if several else {}
    shapes = [(*lead[repeated:], n, n), lead, *[(*stack, *lead, n, n)] * order]
    drawn = [floats(shape, -1.5, 1.5) for shape in shapes]
    if lower is None:
        drawn[2:] = [complex_one(x) for x in drawn[2:]]
    return Example(tuple(drawn), options)


def _whole_triangle(a: Array, lower: bool | None) -> Array:
    if lower is None:
        return a
    part = np.tril(np.ones(a.shape[-2:], bool)) if lower else np.triu(np.ones(a.shape[-2:], bool))
    found: Array = np.where(part, a, np.swapaxes(a, -1, -2))
    return found


def _words(a: Array, changes: Sequence[Array], degree: int) -> Any:
    """Return the sum of all products of so many matrices in which the changes stand in order, and a elsewhere."""
    if not degree:
        return 0 * a + np.eye(a.shape[-1], dtype=int) if not changes else 0 * changes[0]
    found = a @ _words(a, changes, degree - 1)
    return found + changes[0] @ _words(a, changes[1:], degree - 1) if changes else found


def _coefficients(n: Numbers, of: ClosedProgram, spectrum: tuple[int, ...], params: Sequence[Array]) -> list[Array]:
    """Return the coefficients of the polynomial that a program is, from the constant on, for each matrix."""
    import sympy  # only a proof needs it

    w = sympy.Symbol("w")
    given = np.full(spectrum, w, object)
    values = np.asarray(meanings.same(n, given, *params, of=of), object)[..., 0]
    found = [np.zeros(values.shape, object) for _ in range(4)]
    for place in np.ndindex(values.shape):
        for (power,), coefficient in sympy.Poly(values[place], w).terms():
            found[power][place] = coefficient
    return found


def _interpolating(
    n: Precise, a: Array, of: ClosedProgram, params: Sequence[Array], lower: bool | None, order: int
) -> list[Array]:
    """Return the coefficients of polynomials that agree with a program at each matrix, and along so many changes.

    They agree with it at the eigenvalues, which are to differ, in value and derivatives up to the order: no result
    depends on more (Hermite's interpolation; Higham, Functions of Matrices, 2008, section 1.2.2).
    """
    spectrum = of.program.in_types[0].shape
    a = np.broadcast_to(a, (*spectrum, spectrum[-1]))
    values = eig(n, a)[0] if lower is None else eigh(n, a, lower=lower)[0]
    nodes = np.repeat(values, order + 1, axis=-1)
    found = [np.zeros(spectrum[:-1], object) for _ in range(nodes.shape[-1])]
    for place in np.ndindex(spectrum[:-1]):

        def slope(node: int, times: int, place: tuple[int, ...] = place) -> Any:
            def value(w: Any) -> Any:
                spread = np.asarray(meanings.same(n, np.full(spectrum, w, object), *params, of=of), object)
                return spread[*place, node // (order + 1)]  # a program may weigh one eigenvalue unlike another

            return n.differentiated(value, (nodes[*place, node],), (times,)) / factorial(times)

        column, basis = [slope(node, 0) for node in range(nodes.shape[-1])], [1]
        for k, x in enumerate(nodes[place]):
            for power, coefficient in enumerate(basis):
                found[power][place] += column[0] * coefficient
            basis = [low - x * high for low, high in zip([0, *basis], [*basis, 0], strict=True)]
            column = [
                slope(node, k + 1) if node // (order + 1) == (node + k + 1) // (order + 1)
                else (column[node + 1] - column[node]) / (nodes[*place, node + k + 1] - nodes[*place, node])
                for node in range(len(column) - 1)
            ]  # fmt: skip
    return found


def _function(
    n: Numbers, a: Array, *rest: Array, of: ClosedProgram, lower: bool | None, order: int = 0, **params: Any
) -> Any:
    a = _whole_triangle(a, lower)
    count = len(rest) - order
    if isinstance(n, Precise):
        coefficients = _interpolating(n, a, of, rest[:count], lower, order)
    else:
        coefficients = _coefficients(n, of, of.program.in_types[0].shape, rest[:count])
    return sum(c[..., None, None] * _words(a, rest[count:], power) for power, c in enumerate(coefficients))


def _sum(n: Numbers, a: Array, *rest: Array, **params: Any) -> Any:
    return np.trace(_function(n, a, *rest, **params), axis1=-2, axis2=-1)


SPECTRAL_CASES: tuple[Case, ...] = (
    Case(spectral_function, lambda choose: _draw_function(choose, True), 6, _function, rounded=True),
    Case(
        spectral_sum,
        lambda choose: _draw_function(choose, False),
        3,
        _sum,
        rounded=True,
        others={spectral_function: _function},
    ),
)
