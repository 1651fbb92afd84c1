"""Divided differences of a recorded function at all tuples of eigenvalues, also of equal and of nearly equal ones.

f[x₀, …, xₖ] = (f[x₁, …, xₖ] − f[x₀, …, xₖ₋₁]) / (xₖ − x₀) loses the digits that its two terms share. It is also the
integral of f⁽ᵏ⁾ over the simplex that the points span (Hermite and Genocchi), which has all digits where f is smooth
between them. So the integral, by Gauss' nodes, is taken wherever it is what the quotient is up to the rounding of
that: where f has a kink or an edge between the points the two differ, and the quotient is right.

Source: C. de Boor, "Divided differences", Surveys in Approximation Theory 1 (2005), for both forms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primad import ops
from primad.ir.program import ClosedProgram, Program
from primad.numpy.elementwise.ufuncs import absolute, where
from primad.ops.arrays.contraction import ALPHABET, letters
from primad.ops.linalg.equal_values import ROUNDING, spread
from primad.ops.record.primitive import full
from primad.programs.derived_programs import derived
from primad.recording.tracing import program_of
from primad.transforms import batching, forward
from primad.transforms.lowering import expand, extended, inline

NODES = 6
"""Gauss' nodes along each edge. Chosen: the integral then has all digits where the points are nearer to each other than
a fifth of the way to where f is no longer analytic, and beyond the quotient of the first order loses less than one.
Derivatives depend on it in their last digits."""
MARGIN = 64
"""Roundings by which values of f may be wrong. Chosen: the integral is taken where it differs from the quotient by less
than these do, so that of a kink which nobody could tell from rounding it is one."""


def slope(of: ClosedProgram, operand: int) -> ClosedProgram:
    """Return the program of the derivative in one operand, each of whose elements moves only what stands at its place.

    Args:
        of: the program of a function, of values and of further operands.
        operand: a place among the inputs of `of.hoisted`.
    """
    found: ClosedProgram = derived("slope", of, operand, lambda: ClosedProgram(_slope(of.hoisted, operand)))
    return found


def _slope(program: Program, operand: int) -> Program:
    pushed = forward.jvp(program, [i == operand for i in range(len(program.inputs))])
    return expand(program_of(program.in_types, lambda *xs: [inline(pushed, [*xs, full(1.0, xs[operand])])[1]]))


def simplex_rule(order: int) -> tuple[Any, Any]:
    """Return barycentric coordinates of nodes in a simplex, and their weights, which add up to its volume, 1/order!.

    Source: A. H. Stroud, Approximate Calculation of Multiple Integrals (1971), 2.4: products of Gauss' rules on a cube.

    Returns:
        shapes (nodes, order + 1) and (nodes,).
    """
    points, weights = (np.asarray(x) / 2 for x in np.polynomial.legendre.leggauss(NODES))
    places: list[list[float]] = []
    factors: list[float] = []
    for choice in itertools.product(range(NODES), repeat=order):
        left, factor, place = 1.0, 1.0, []
        for depth, i in enumerate(choice):
            u = points[i] + 0.5
            place.append(left * (1 - u))
            factor *= weights[i] * u ** (order - 1 - depth)
            left *= u
        places.append([*place, left])
        factors.append(factor)
    volumes = np.array(factors)
    return np.array(places), volumes / (volumes.sum() * math.factorial(order))


def divided_differences(program: Program, w: Any, params: Sequence[Any], order: int) -> Any:
    """Return f[w[i₀], …, w[iₖ]] for all tuples of places of each spectrum.

    Args:
        program: f: values and further operands to numbers.
        w: eigenvalues, shape (…, n), in an order in which the first and the last of any few are far apart where these
            are: real ones in ascending order.
        params: the further operands.
        order: how many values a tuple has, less 1.

    Returns:
        shape (…, n, …, n).
    """
    params = [_alike(p, w) if p.shape == w.shape else p for p in params]
    value = inline(program, [w, *params])[0]
    if not order:
        return value
    slopes = [_slope(program, 0)]
    for _ in range(order - 1):
        slopes.append(_slope(slopes[-1], 0))
    rate = inline(slopes[0], [w, *params])[0]
    value = _alike(value, w)
    rounding = MARGIN * float(np.finfo(w.dtype).eps)
    doubt = rounding * (absolute(value) + absolute(w * rate))
    for k in range(1, order + 1):
        value, doubt = _next(slopes[k - 1], w, params, k, (value, doubt), rounding)
    return value


def _alike(x: Any, w: Any) -> Any:
    """Return what stands beside the values; an error where equal values have different ones.

    Of general matrices `left_vectors` looks at what stands beside the values, as it knows how far rounding moves these.
    """
    if w.dtype.kind == "c":
        return x
    if x.dtype.kind == "c":
        return ops.complex_of(_alike(ops.real_part(x), w), _alike(ops.imaginary_part(x), w))
    if x.dtype.kind != "f":
        return x
    return ops.sum(spread(ops.cast(x, dtype=str(w.dtype)), w, singular=False), axes=(w.ndim,))


def _next(
    program: Program, w: Any, params: Sequence[Any], k: int, before: tuple[Any, Any], rounding: float
) -> tuple[Any, Any]:
    """Return the differences of an order, and by how much rounding may move them, from those of the order before."""
    lead, n = w.shape[:-1], w.shape[-1]
    shape = (*lead, *[n] * (k + 1))

    def at(x: Any, *places: int) -> Any:
        new = [len(lead) + i for i in range(k + 1) if i not in places]
        return ops.broadcast(x, shape=shape, axes=tuple(new))

    gap = at(w, k) - at(w, 0)
    far = absolute(gap) if gap.dtype.kind == "c" else gap  # in ascending order
    live, size = (where(far > 0, x, full(1.0, x)) for x in (gap, far))
    (low, high), (low_doubt, high_doubt) = ([at(x, *range(k)), at(x, *range(1, k + 1))] for x in before)
    quotient = (high - low) / live
    doubt = (low_doubt + high_doubt + rounding * (absolute(low) + absolute(high))) / size
    smooth = _mean_slope(program, w, params, k)
    largest = ops.reduce_max(absolute(w), axes=(len(lead),))
    equal = far <= at(largest) * (ROUNDING * n * float(np.finfo(w.dtype).eps))
    chosen = equal | (absolute(smooth - quotient) <= doubt)
    value = where(chosen, smooth, quotient)
    doubt = where(chosen, rounding * absolute(smooth), doubt)
    return _in_any_order(value, n, k), _in_any_order(doubt, n, k)


def _in_any_order(x: Any, n: int, k: int) -> Any:
    """Give tuples of places in any order what they have in ascending order: differences are symmetric."""
    lead = x.shape[: x.ndim - k - 1]
    places = np.sort(np.indices((n,) * (k + 1)).reshape(k + 1, -1), axis=0)
    flat = np.ravel_multi_index(tuple(places), (n,) * (k + 1)) if n else np.zeros(0, np.int64)
    rows = ops.reshape(x, shape=(*lead, n ** (k + 1)))
    return ops.reshape(ops.gather(rows, flat.astype(np.int64), axis=len(lead), batch=0), shape=x.shape)


def _mean_slope(program: Program, w: Any, params: Sequence[Any], k: int) -> Any:
    """Integrate a derivative over the simplices that tuples of values span."""
    lead, n = w.shape[:-1], w.shape[-1]
    coordinates, weights = simplex_rule(k)
    count = len(weights)
    shape = (count, *[n] * k, *lead, n)
    within = len(shape) - 1
    total = 0.0
    for i in range(k + 1):
        new = [axis for axis in range(k + 1) if axis != i or i == 0] + ([within] if i else [])
        order = range(len(lead) + 1) if i == 0 else (len(lead), *range(len(lead)))
        part = ops.broadcast(ops.permute(w, order=tuple(order)), shape=shape, axes=tuple(new))
        factor = np.broadcast_to(coordinates[:, i].astype(w.dtype).reshape(count, *[1] * within), shape)
        total = total + factor * part
    rows = count * n**k
    points = ops.reshape(total, shape=(rows, *lead, n))
    mapped = batching.vmap(program, extended((True,), program), rows) if rows else program
    found = ops.reshape(inline(mapped, [points, *params])[0], shape=shape)
    labels = letters(ALPHABET[: len(shape)], "a", ALPHABET[1 : len(shape)])
    scaled = ops.contract(found, weights.astype(found.dtype), labels=labels)
    order = (*range(k, k + len(lead)), k + len(lead), *range(k))
    return ops.permute(scaled, order=order)
