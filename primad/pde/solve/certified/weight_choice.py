"""Which weight makes the bound of an error small, as samples tell; what is proven holds for any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.functional.control.mapping import vmap
from primad.optimize.scipy_solvers.scipy_minimizers import minimize
from primad.pde.geometry.sampling import Array
from primad.pde.solve.certified.error_equation import ErrorEquation
from primad.pde.solve.certified.faces import Face
from primad.pde.solve.certified.weights import DEGREE, Weight

SAMPLES = 150
"""Points of a slab at which the factors of the error's equation are looked at. Chosen: a thousand of eight slabs, a
hundred for each factor of ψ."""
FACE_SAMPLES = 64
"""Points of each face at which it is looked at by how much conditions are off."""
SHARPNESS = 30.0
"""How many times their spread sums of exponentials, which stand for the largest of samples, tell values apart."""
WORTH = 0.5
"""The part of the bound without a weight that one has to come below. Chosen: searches with it take several times as
long, and where they end early, less would be lost again."""
ROUNDING = 1e-13
"""By how much what holds by construction is off at least, relative to the sizes of what is given. Chosen: several
hundred units in the last place."""
SMALL = 1e-3
"""What is taken for small: what is divided by is a little more than 0 for less than this."""
TINY = 1e-12
"""What keeps differences that may be zero from being divided by."""
OUTWARD = 0.05
"""ε, the size of ψ to begin with. Chosen: half of that for which its curvature still outweighs its slopes."""


@dataclass(frozen=True)
class _Samples:
    """What a bound depends on, at points.

    Attributes:
        at: the points, slab by slab.
        second: A of L, a row of arrays for each coordinate of space.
        drift: b of L.
        reaction: c of L.
        residual: the size of the source.
        faces: for each condition in space, the face, points on it, and by how much it is off there.
        start: points of the start, and by how much the values are off there; None without time.
        steps: the lengths of slabs.
    """

    at: Array
    second: Sequence[Sequence[Array]]
    drift: Sequence[Array]
    reaction: Array
    residual: Array
    faces: Sequence[tuple[Face, Array, Array]]
    start: tuple[Array, Array] | None
    steps: Array


def chosen_weight(equation: ErrorEquation, ends: Array, times: Array | None) -> Weight:
    """Return the weight that gives the least bound, or none where it is worth little.

    Args:
        equation: of the error.
        ends: of the intervals of all coordinates, a row for each.
        times: the ends of slabs of time; None without time.
    """
    nothing = Weight.none(equation.space, ends)
    needed = any(face.slope for face in equation.faces)
    if equation.repeated or (equation.bends and not needed):  # a weight that repeats is left out
        return nothing
    samples = _sampled(equation, ends, times)

    def weight(factors: Any) -> Weight:
        rows = pnp.reshape(factors, (len(equation.space), DEGREE))
        return Weight(nothing.columns, nothing.middle, nothing.half, rows)

    begin = np.array([_begin(equation, column) for column in equation.space])
    found = minimize(lambda factors: _bound(samples, weight(factors)), begin.ravel(), method="BFGS")
    factors = np.asarray(found.x).reshape(begin.shape)
    if not np.all(np.isfinite(factors)):
        factors = begin
    best = float(_bound(samples, weight(factors)))
    if not needed and not best < float(_bound(samples, nothing)) + np.log(WORTH):
        return nothing
    return Weight(nothing.columns, nothing.middle, nothing.half, factors)


def _begin(equation: ErrorEquation, column: int) -> Array:
    """Return the factors to begin with: ψ is concave where it may be, and rises to ends with a slope condition.

    With a slope at one end, ε (2.2 s − s²) rises up to s = 1, and ψ″ + ψ′² is negative for ε < 0.11.
    """
    found = np.zeros(DEGREE)
    sides = [face.side for face in equation.faces if face.slope and face.column == column]
    if len(sides) == 1:
        found[:2] = 2.2 * OUTWARD * sides[0], -OUTWARD
    elif sides or equation.time is None:
        found[1] = OUTWARD if sides else -OUTWARD
    return found


def _sampled(equation: ErrorEquation, ends: Array, times: Array | None) -> _Samples:
    """Return the factors of the error's equation at points, those of ∂e/∂t = L e + ρ, or of −L e = ρ."""
    rng = np.random.default_rng(0)
    low, high = ends.T
    slabs = 1 if times is None else len(times) - 1
    spread = 0.5 - 0.5 * np.cos(np.pi * rng.uniform(size=(slabs * SAMPLES, len(ends))))
    at = low + (high - low) * spread  # more of them near the ends, where rates of polynomials are largest
    if times is not None:
        at[:, equation.time] = np.repeat(times[:-1], SAMPLES) + np.repeat(np.diff(times), SAMPLES) * rng.uniform(
            size=len(at)
        )
    known = vmap(lambda x: (equation.second(x), equation.drift(x), equation.reaction(x), equation.residual(x)))(at)
    second, drift, reaction, residual = known
    scale = np.sign(second[0][0][0]) if equation.time is None else -1.0 / equation.rate
    drifts = [scale * np.asarray(drift[i]) for i in equation.space]
    rows = [[scale * np.asarray(entry) for entry in row] for row in second]
    faces, start = [], None
    for face in equation.faces:
        points = rng.uniform(low, high, (FACE_SAMPLES, len(ends)))
        points[:, face.column] = ends[face.column][int(face.side > 0)]
        off = np.abs(np.asarray(vmap(equation.mismatch(face))(points)))
        if face.part == "initial":
            start = points, off
        else:
            faces.append((face, points, off))
    steps = np.ones(1) if times is None else np.diff(times)
    residual = np.abs(np.asarray(residual)) * (1.0 if equation.time is None else abs(1.0 / equation.rate))
    return _Samples(at, rows, drifts, scale * np.asarray(reaction), residual, faces, start, steps)


def _bound(samples: _Samples, weight: Weight) -> Any:
    """Return the logarithm of the bound that a weight gives, smoothly, as far as samples tell."""
    slabs = len(samples.steps)
    rates = weight.rate(samples.second, samples.drift, samples.reaction, samples.at).reshape(slabs, -1)
    size = pnp.exp(-weight.value(samples.at))
    sources = (samples.residual * size).reshape(slabs, -1)
    tiny = ROUNDING * (1.0 + float(np.max(samples.residual)))
    level: Any = 0.0
    for face, points, off in samples.faces:
        i = weight.columns.index(face.column)
        push = face.value + face.slope * face.side * weight.slopes(points)[i][0]
        off = pnp.max(off * pnp.exp(-weight.value(points))) + tiny
        level = level + off / _positive(push)
    if samples.start is None:
        fall = _positive(-_largest(rates[0], pnp.sum))
        return pnp.log(level + _largest(sources[0]) / fall) + _largest(weight.value(samples.at))
    points, off = samples.start
    level = level + pnp.max(off * pnp.exp(-weight.value(points))) + tiny
    for k, step in enumerate(samples.steps):
        passed = _largest(rates[k]) * step
        near = pnp.abs(passed) < SMALL**2
        growing = pnp.where(near, 1.0, pnp.expm1(passed) / pnp.where(near, 1.0, passed))
        level = level * pnp.exp(passed) + _largest(sources[k]) * step * growing
    return pnp.log(level) + _largest(weight.value(samples.at))


def _largest(values: Any, joined: Any = pnp.mean) -> Any:
    """Return a little less than the largest of some values, smoothly; with a sum a little more."""
    most = pnp.max(values)
    spread = most - pnp.min(values) + TINY
    return most + pnp.log(joined(pnp.exp((values - most) * (SHARPNESS / spread)))) * spread / SHARPNESS


def _positive(x: Any) -> Any:
    """Return x where it is well above 0, and below what is small and falls, but is positive."""
    return SMALL * pnp.logaddexp(0.0, x / SMALL) + TINY
