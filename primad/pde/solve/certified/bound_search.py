"""The search for what the equation of an error has in it, and what follows from it."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.enclosures import IntervalArray, Range, enclose
from primad.errors import EnclosureError
from primad.functional.control.mapping import vmap
from primad.pde.solve.certified.box_budget import BoxBudget
from primad.pde.solve.certified.comparison_bounds import Above, Barrier, Least
from primad.pde.solve.certified.error_equation import ErrorEquation, refuse
from primad.pde.solve.certified.faces import Face
from primad.pde.solve.certified.seams import Addition
from primad.pde.solve.certified.weight_choice import chosen_weight
from primad.pde.solve.certified.weights import Weight, Weighted, grown, upper

SAMPLES = 2048
"""Points of a slab at which a residual is looked at first, to know how close its bound is worth to be."""
CLOSE = 0.05
"""How close the bounds of factors are, relative to what they are divided into or multiplied with. Chosen: they
contribute a few per cent to the bound."""
SMALL = 0.01
"""How close the bound of what is off at the boundary is, as a part of what the residual contributes."""
RESONANCE = 0.99
"""How close to resonance, −a v″ = g v, a bound is computed. Chosen: at this part it is a hundred times the residual's,
and of no use beyond; and roundings do not reach over the rest."""
ROUNDS = 8
"""Sizes of an error that are tried as a hypothesis, each twice what the last one led to."""
RESIDUALS = 0.75
"""The part of the boxes that searches for residuals may use together. Chosen: they are what takes time; all others are
done with a few hundred boxes in most problems."""


Found = tuple[float, float, float, float, Above]
"""The bound, the residual, the mismatch and the growth that it is made of, and where it holds."""


class BoundSearch:
    """Bounds of what the equation of an error has in it, and what follows from them."""

    def __init__(self, equation: ErrorEquation, factor: float, budget: BoxBudget) -> None:
        self.equation, self.factor, self.budget = equation, factor, budget
        self.ends = np.asarray(equation.problem.domain.bounds, float)
        self.box = IntervalArray(*self.ends.T)
        self.plain = Weight.none(equation.space, self.ends)

    def with_correction(self, most: float, correction: Addition) -> float:
        """Return how far a solution is off at most, if it is so far off with a correction."""
        points = np.random.default_rng(0).uniform(self.box.low, self.box.high, (SAMPLES, self.box.low.size))
        width = CLOSE * float(np.max(np.abs(vmap(correction.value)(points)))) + SMALL * most
        size = self._size(self.budget.range("correction", correction.value, self.box, width=width))
        return upper(lambda most, size: most + size, most, size)

    # -- space alone ---------------------------------------------------------------------------------------------------

    def without_time(self) -> Found:
        """Return the bound of a problem without time: by barriers where values are given, else by a weight.

        Raises:
            ProblemError: if the equation is not elliptic, or its error may feed itself.
        """
        sign = float(np.sign(np.asarray(self.equation.second(self.box.middle)[0][0])))
        diffusion = self._diffusion(self.box, sign, 0.0)
        if not any(face.slope for face in self.equation.faces):
            found = self._by_barriers(diffusion, sign)
            if found is not None:
                return found
        return self._by_weight(diffusion, sign)

    def _by_barriers(self, diffusion: list[float], sign: float) -> Found | None:
        equation, barriers, reached = self.equation, list[tuple[int, float, float, float]](), math.inf
        for i, along in enumerate(equation.space):
            half = 0.5 * float(self.box.width[along])
            if diffusion[i] > 0 and along not in equation.repeated:
                scale = diffusion[i] / half
                drifting = partial(lambda i, at: equation.drift(at)[i], along)
                drift = self._size(self.budget.range("drift", drifting, self.box, width=CLOSE * scale))
                growth = max(0.0, self._growth(self.box, sign, CLOSE * scale / half))
                if not (growth and drift) and growth * half**2 < RESONANCE * diffusion[i] * (0.5 * math.pi) ** 2:
                    barriers.append((along, diffusion[i], drift, growth))
                    reached = min(reached, half**2 / (2.0 * diffusion[i]))
        if not barriers:
            return None
        residual = self._residual("residual", self.box, RESIDUALS, self.plain)
        mismatch = max([self._off(face, SMALL * reached * residual, self.plain)[0] for face in equation.faces])
        ends = self.ends.tolist()
        bounds = [Barrier(i, ends[i][0], ends[i][1], a, b, g, residual, mismatch) for i, a, b, g in barriers]
        middle = self.ends.mean(axis=1)[None]
        most = min(float(one.at(middle)[0]) for one in bounds)
        return most, residual, mismatch, max(one.growth for one in bounds), Least(bounds)

    def _by_weight(self, diffusion: list[float], sign: float) -> Found:
        fall, weight = 0.0, self.plain
        if min(diffusion) >= 0:
            weight = chosen_weight(self.equation, self.ends, None)
            scale = max(diffusion) / float(np.min(self.box.width)) ** 2
            fall = -self._growth(self.box, sign, CLOSE * scale, weight=weight)
        if not fall > 0:
            refuse(
                "an equation that is not proven to be elliptic, or whose error may feed itself",
                "−A∇∇u + b·∇u + c u = f with A positive and c ≥ 0, or c a little below",
            )
        residual = self._residual("residual", self.box, RESIDUALS, weight)
        level = upper(lambda residual, fall: residual / fall, residual, fall)
        offs = [self._off(face, SMALL * level, weight) for face in self.equation.faces]
        level, peak = max([level, *[ratio for _, ratio in offs]]), weight.most(self.box)
        bound = Weighted(None, np.zeros(0), np.array([level]), weight)
        return product(level, peak), product(residual, peak), max([0.0, *[off for off, _ in offs]]), -fall, bound

    # -- time ----------------------------------------------------------------------------------------------------------

    def in_time(self, slabs: int) -> Found:
        """Return the bound of a problem in time.

        The growth of an error depends on its size, in a nonlinear equation. A size is a hypothesis, in each slab: if
        what follows from it is less, the error, which is continuous in time, never reaches it.

        Raises:
            EnclosureError: if no hypothesis holds.
        """
        equation = self.equation
        assert equation.time is not None
        begin, end = map(float, self.ends[equation.time])
        times = np.linspace(begin, end, slabs + 1)
        weight = chosen_weight(equation, self.ends, times)
        boxes = [self._slab(*pair) for pair in pairwise(times)]
        many = self.budget.boxes + RESIDUALS * self.budget.left
        sources = []
        for i, box in enumerate(boxes):
            share = (many - self.budget.boxes) / ((slabs - i) * max(1, self.budget.left))
            what = f"residual, time {i + 1} of {slabs}"
            sources.append(self._by_rate(self._residual(what, box, share, weight)))
        reached = sum(source * step for source, step in zip(sources, np.diff(times), strict=True))
        offs = {face.part: self._off(face, SMALL * reached, weight) for face in equation.faces}
        least = max([0.0, *[ratio for part, (_, ratio) in offs.items() if part != "initial"]])
        levels, rates = [max(least, offs["initial"][1])], list[float]()
        for i, box in enumerate(boxes):
            given = sources[i], levels[-1], least, CLOSE / (end - begin)
            level, rate = self._through(box, (times[i], times[i + 1]), given, weight)
            levels.append(level)
            rates.append(rate)
        peak, bound = weight.most(self.box), Weighted(equation.time, times, np.array(levels), weight)
        mismatch = max(off for off, _ in offs.values())
        return product(max(levels), peak), product(max(sources), peak), mismatch, max(rates), bound

    def _through(
        self, box: IntervalArray, time: tuple[float, float], given: tuple[float, float, float, float], weight: Weight
    ) -> tuple[float, float]:
        """Return the level at the end of a slab, and the largest growth in it.

        Args:
            box: the slab.
            time: its ends.
            given: the largest source in it, the level where it begins, that below which it never is, since conditions
                at the boundary are off by so much, and how close the growth's bound is to be.
            weight: ψ.

        Raises:
            EnclosureError: if no hypothesis holds.
        """
        source, level, least, width = given
        error, varies = 0.0, self.equation.varies or (self.equation.moves and not weight.is_none)
        peak = weight.most(box)
        if varies:
            error = 2.0 * product(grown(level, source, 0.0, *time), peak) + float(np.finfo(float).tiny)
        for _ in range(ROUNDS):
            tried, rate = error, self._rate(box, error, width, weight)
            after = max(least, grown(level, source, rate, *time))
            found = product(max(level, after), peak)
            if np.isfinite(found) and (found < tried or not varies):
                return after, rate
            if not np.isfinite(found):
                break
            error = 2.0 * found
        fix = "make the residual smaller, the time shorter, or pass more slabs."
        if not self.budget.finished:
            fix += f" Searches ended after {self.budget.boxes} boxes: pass a larger most= as well."
        raise EnclosureError(
            "certify_error: no bound of the error is proven to hold up to the last time",
            why=f"An error of {tried:.3g} may grow at the rate {rate:.3g}, to {found:.3g}, at {time[1]:.3g}.",
            fix=fix,
        )

    def _slab(self, begin: float, end: float) -> IntervalArray:
        low, high = self.box.low.copy(), self.box.high.copy()
        low[self.equation.time], high[self.equation.time] = begin, end
        return IntervalArray(low, high)

    def _rate(self, box: IntervalArray, error: float, width: float, weight: Weight) -> float:
        """Return the largest rate of growth in a slab, of an error of a size at most."""
        sign = -float(np.sign(self.equation.rate))
        diffusion = self._diffusion(box, sign, error)
        if min(diffusion) < 0:
            refuse("second derivatives that are not proven to smooth in time", "∂u/∂t = A∇∇u + … with A ≥ 0")
        return self._by_rate(self._growth(box, sign, width * abs(self.equation.rate), error, weight))

    def _by_rate(self, size: float) -> float:
        """Return a size divided by that of the factor of ∂u/∂t, rounded upwards."""
        equation = self.equation

        def divided(at: Any, size: Any) -> Any:
            assert equation.time is not None
            return size / pnp.abs(equation.drift(at)[equation.time])

        return float(enclose(divided, self.box, size).high)

    # -- factors -------------------------------------------------------------------------------------------------------

    def _diffusion(self, box: IntervalArray, sign: float, error: float) -> list[float]:
        """Return for each coordinate of space how much its factor is above the sizes of the mixed ones, at least.

        A symmetric matrix for which these are not negative has no negative eigenvalue.
        """
        equation, sizes, search = self.equation, range(len(self.equation.space)), self.budget.range
        off = IntervalArray(-error, error)
        found = []
        for i in sizes:

            def dominant(at: Any, off: Any, i: int = i) -> Any:
                row = equation.second(at, off)[i]
                return sign * row[i] - sum([pnp.abs(row[j]) for j in sizes if j != i], 0.0)

            middle = abs(float(np.asarray(dominant(box.middle, 0.0))))
            width = CLOSE * middle + float(np.finfo(float).tiny)
            found.append(float(search("diffusion", dominant, box, off, width=width).bounds.low))
        if min(found) < 0 and equation.time is None:
            return [-math.inf for _ in found]
        return found

    def _growth(
        self, box: IntervalArray, sign: float, width: float, error: float = 0.0, weight: Weight | None = None
    ) -> float:
        """Return the largest factor with which an error of a size at most feeds itself, with its weight."""
        equation = self.equation

        def feeding(at: Any, off: Any) -> Any:
            reaction = equation.reaction(at, off)
            if weight is None or weight.is_none:
                return sign * reaction
            drift = equation.drift(at, off)
            return sign * weight.rate(equation.second(at, off), [drift[i] for i in equation.space], reaction, at)

        found = self.budget.range("growth", feeding, box, IntervalArray(-error, error), width=width)
        return float(found.bounds.high)

    def _residual(self, what: str, box: IntervalArray, share: float, weight: Weight) -> float:
        """Return the largest size of the residual in a box, with its weight, from a part of the boxes that are left."""
        equation = self.equation
        points = np.random.default_rng(0).uniform(box.low, box.high, (SAMPLES, box.low.size))
        sampled = np.asarray(vmap(equation.residual)(points)) * np.exp(-np.asarray(weight.value(points)))
        width = max(self.factor * float(np.max(np.abs(sampled))), float(np.finfo(float).tiny))
        return self._size(
            self.budget.range(what, self._weighted(equation.residual, weight), box, width=width, share=share)
        )

    def _off(self, face: Face, width: float, weight: Weight) -> tuple[float, float]:
        """Return by how much a condition is off at most, and the level of a bound that reaches over it.

        Raises:
            EnclosureError: if the weight does not rise to an end where a slope is given.
        """
        low, high = self.box.low.copy(), self.box.high.copy()
        low[face.column] = high[face.column] = self.ends[face.column][int(face.side > 0)]
        place, off = IntervalArray(low, high), self._weighted(self.equation.mismatch(face), weight)
        push = face.value
        if face.slope:
            i = self.equation.space.index(face.column)
            push = float(enclose(lambda at: face.value + face.slope * face.side * weight.slopes(at)[i], place).low)
        if not push > 0:
            raise EnclosureError(
                f"certify_error: no weight is found by which the condition on {face.part} bounds an error",
                why="The logarithm of the weight has to rise to an end where a slope is given.",
                fix="solution.certify() bounds the residuals.",
            )
        if np.all(low == high):
            size = float(np.max(np.abs([enclose(off, place).low, enclose(off, place).high])))
        else:
            close = max(width * push, float(np.finfo(float).tiny))
            size = self._size(self.budget.range(f"what is given on {face.part}", off, place, width=close))
        return product(size, weight.most(place)), upper(lambda size, push: size / push, size, push)

    @staticmethod
    def _weighted(function: Any, weight: Weight) -> Any:
        return function if weight.is_none else lambda at: function(at) * pnp.exp(-weight.value(at))

    @staticmethod
    def _size(found: Range) -> float:
        return max(abs(float(found.bounds.low)), abs(float(found.bounds.high)))


def product(x: float, y: float) -> float:
    """Return a product of two numbers, rounded upwards."""
    return x if y == 1.0 else upper(lambda x, y: x * y, x, y)
