"""Derivatives at special points: at zeros, kinks and edges, and where squares of numbers overflow or vanish.

Definitions in high precision give one-sided difference quotients there. A derivative is one of these, or, at a kink,
lies between them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from primad.errors import PrimadError
from primad.ir.array_types import ArrayType
from primad.ops.record.primitive import Primitive
from primad.recording.tracing import trace
from primad.transforms import jvp, lower, vjp
from primad.verify.cases.drawn_cases import Case, Choices
from primad.verify.checks.decide import Wrong
from primad.verify.checks.trial import run_floats
from primad.verify.exact.high_precision import Precise
from primad.verify.exact.object_arrays import Evaluator, definition_of
from primad.verify.verdicts import Row

POINTS = (0.0, 1.0, -1.0, 2.5)
DISTANT = (1e-200, -1e-200, 1e200)
"""Further points, for primitives: a composite is a formula, with intermediate values of its own."""
NEAR = ("arctan2", "power", "remainder", "fmod")
"""Primitives that are not tried there: parts of derivatives overflow, exponents lose their last digit, steps are larger
than a divisor."""
DIGITS = 1100
"""Digits of high precision: as many as lie between the largest square and the smallest difference of it."""
STEPS = (-60, -90)
"""Decimal exponents of two steps. Quotients that differ tend to infinity, or to 0."""
CHOSEN = ("direction", "xlogy")
"""Ops whose derivative at 0 is a convention, no limit (see docs/maths.md)."""
ZERO, LEAST, MOST = "1e-500", "1e-290", "1e290"
"""What is 0 in high precision, and the range in which floats are compared."""
Point = tuple[float, ...]


class Slopes(NamedTuple):
    """What difference quotients at a point tend to; None where there is none."""

    low: Any
    high: Any
    second: Any


def slopes_row(case: Case, op: Primitive, source: Callable[[str], Choices]) -> Row | None:
    """Compare the derivatives of a pointwise op with one-sided difference quotients at special points."""
    example = case.draw(source(f"{op.name}, 0"))
    count = len(example.inputs)
    known = case.symbolic or definition_of(op) or op.lower
    if op.kind == "piecewise constant" or op.derivative.exempt or op.name in CHOSEN or case.slow or not known:
        return None
    if not 1 <= count <= 2 or len(example.operands) > count or not all(type.is_float for type in example.types):
        return None
    bounds = [(operand.low, operand.high) for operand in example.inputs] if case.bounded else []
    checks = [_Sloped(case, op, example.params, bounds, count, same) for same in (False, True)[:count]]
    if not all(check.is_pointwise for check in checks):
        return None
    try:
        found = sum(check.run() for check in checks)
    except Wrong as wrong:
        return Row(op.name, "special points", "failed", str(wrong))
    return Row(op.name, "special points", "tested", f"{found} derivatives")


class _Sloped:
    """An op as a function of numbers; of one number that both operands are, if `same`."""

    def __init__(
        self, case: Case, op: Primitive, params: dict[str, Any], bounds: Sequence[Point], count: int, same: bool
    ) -> None:
        self.op, self.params, self.bounds, self.same = op, params, bounds, same
        self.numbers = Precise(DIGITS)
        meaning = case.symbolic or definition_of(op)
        self.evaluator = Evaluator(self.numbers, {op: meaning} if meaning is not None else None)
        self.arity = 1 if same else count

    @property
    def is_smooth(self) -> bool:
        """Whether the record says that the op, so applied, has all derivatives at all numbers."""
        smooth = self.op.derivative.smooth
        program = trace(self._apply)(*[ArrayType((), np.float64)] * self.arity)
        return smooth is not None and any(node.op is self.op and smooth(node) for node in program.nodes)

    @property
    def is_pointwise(self) -> bool:
        """Whether it takes numbers without axes, and gives a float."""
        types = [ArrayType((), np.float64)] * self.arity
        try:
            return bool(lower(trace(self._apply)(*types)).outputs[0].type == types[0])
        except PrimadError:
            return False

    def _apply(self, *operands: Any) -> Any:
        return self.op(*(operands * 2 if self.same else operands), **self.params)

    def run(self) -> int:
        """Compare at all points; return how many derivatives there were."""
        known = POINTS if self.op.lower or self.op.name in NEAR else (*POINTS, *DISTANT)
        points = [point for point in itertools.product(known, repeat=self.arity) if self._is_within(point)]
        return sum(self._along(points, moving) for moving in range(self.arity)) if points else 0

    def _is_within(self, point: Point) -> bool:
        """Say whether a point lies where the op may be asked."""
        operands = point * 2 if self.same else point
        return not self.bounds or all(low <= x <= high for x, (low, high) in zip(operands, self.bounds, strict=True))

    def _along(self, points: Sequence[Point], moving: int) -> int:
        values, first, pulled, *twice = self._derivatives(points, moving)
        count, smooth = 0, self.is_smooth
        for place, (point, limits) in enumerate(zip(points, self._slopes(points, moving), strict=True)):
            where = f"{self.op.name}{point}" + (", of one operand twice" if self.same else "")
            slopes = limits if np.isfinite(values[place]) else None
            if smooth and (set(point) <= set(POINTS) if slopes is None else slopes.second is None):
                what = "a finite value, and one limit of difference quotients"
                raise Wrong(f"{where}, of an op that is said to be smooth", what, (float(values[place]), limits))
            if slopes is None:
                continue
            for what, found in (("forward", first), ("reverse", pulled)):
                self._inside(f"{where}, slope in operand {moving}, {what}", slopes.low, slopes.high, found[place])
                count += 1
            for mode, found in zip(("forward", "reverse"), twice if slopes.second is not None else (), strict=False):
                what = f"{where}, second derivative in operand {moving}, forward over {mode}"
                self._inside(what, slopes.second, slopes.second, found[place])
                count += 1
        return count

    def _derivatives(self, points: Sequence[Point], moving: int) -> list[Any]:
        """Return values and derivatives in forward and in reverse mode, then those of second order, in floats.

        In reverse mode these may be parts that overflow; of one operand twice, parts must cancel before they do.
        """
        columns = [np.array(column) for column in zip(*points, strict=True)]
        program = trace(lambda x: self._apply(*[x if i == moving else y for i, y in enumerate(columns)]))(
            ArrayType((len(points),), np.float64)
        )
        x, one, none = columns[moving], np.ones(len(points)), np.zeros(len(points))
        with np.errstate(all="ignore"):
            values, first = run_floats(jvp(program), [x, one])
            pulled = run_floats(vjp(program), [x, one])[1]
            twice = [
                run_floats(jvp(derived(program)), [x, one, one, none])[-1]
                for derived in ((jvp, vjp) if self.same else (jvp,))
            ]
        return [values, first, pulled, *twice]

    def _slopes(self, points: Sequence[Point], moving: int) -> Iterator[Slopes | None]:
        context = self.numbers.context
        for point in points:
            exact = [context.mpf(value) for value in point]
            middle = self._value(exact)
            if middle is None:
                yield None
                continue
            size = min([1, *[min(abs(value), 1 / abs(value)) for value in exact if value]])
            steps = [size * context.mpf(10) ** step for step in STEPS]
            slopes, curvatures = [], []
            for side in (1, -1):
                near, far = ([self._moved(exact, moving, side * k * h) for h in steps] for k in (1, 2))
                first = [None if y is None else (y - middle) / (side * h) for y, h in zip(near, steps, strict=True)]
                slopes.append(self._limit(*first))
                triples = zip(near, far, steps, strict=True)
                second = [None if y is None or z is None else (z - 2 * y + middle) / h**2 for y, z, h in triples]
                curvatures.append(self._limit(*second))
            found = [slope for slope in slopes if slope is not None]
            smooth = self._agree(*slopes) and self._agree(*curvatures)
            yield Slopes(min(found), max(found), curvatures[0] if smooth else None) if found else None

    def _moved(self, operands: Sequence[Any], moving: int, by: Any) -> Any:
        return self._value([x + by if i == moving else x for i, x in enumerate(operands)])

    def _agree(self, x: Any, y: Any) -> bool:
        """Say whether two limits are the same number."""
        if x is None or y is None or not self.numbers.context.isfinite(x):
            return False
        return bool(abs(x - y) <= self.numbers.context.mpf(10) ** -40 * abs(x))

    def _limit(self, far: Any, near: Any) -> Any:
        """Return what quotients tend to, of which the second has the smaller step."""
        if far is None or near is None:
            return None
        context = self.numbers.context
        if abs(near) < context.mpf(ZERO):
            return context.mpf(0)
        if abs(near - far) <= context.mpf(10) ** -10 * abs(far):
            return near
        return context.inf * context.sign(near) if abs(near) > abs(far) else context.mpf(0)

    def _value(self, operands: Sequence[Any]) -> Any:
        """Return the value at a point, None where there is none."""
        arrays = [np.array([x], object) for x in ([*operands, *operands] if self.same else operands)]
        try:
            (found,) = self.evaluator.apply(self.op, arrays, self.params, ArrayType((1,), np.float64))
        except (ArithmeticError, ValueError, TypeError):  # a pole, or a complex number that is compared
            return None
        context = self.numbers.context
        return found if isinstance(found, context.mpf) and context.isfinite(found) else None

    def _inside(self, what: str, low: Any, high: Any, got: Any) -> None:
        """Raise unless a float is between two numbers, up to rounding and the range of floats."""
        context = self.numbers.context
        digits, least, most = context.mpf("1e-6"), context.mpf(LEAST), context.mpf(MOST)

        def ranged(x: Any) -> Any:
            return context.inf * context.sign(x) if abs(x) > most else x

        found, low, high = (ranged(x) for x in (context.mpf(float(got)), low, high))
        below = found == low or found >= low - digits * abs(low) - least
        above = found == high or found <= high + digits * abs(high) + least
        if not (below and above):
            raise Wrong(what, f"from {context.nstr(low, 15)} to {context.nstr(high, 15)}", float(got))
