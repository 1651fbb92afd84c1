"""Derivatives to order 3 of every elementwise op and of reductions, at special points, against 500 digits.

The functions are made from the table of cases, so a new op is tried without a line here. At a point where the reference
has no derivative the limit from both sides is expected, if there is one; else a convention holds, which
test_special_values.py states.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import primad
from primad.numpy.special import expit, xlogy
from primad.ops.special.series import repeated_integral
from primad.verify.cases.drawn_cases import Case, Example, Seeded
from primad.verify.exact.object_arrays import Evaluator
from tests.cases import CASES
from tests.series import ORDER, Jet, Jets
from tests.sweeps import thinned

Function = Callable[[Any], Any]

SIZES = (
    1e-300, 1e-160, 1e-20, 1e-8, 0.3, 1 - 2**-53, 1.0, 1.5, 6.0, 40.0, 100.0, 710.0, 1e9, 1e16, 1e104, 1e155, 1e200,
)  # fmt: skip
POINTS = np.array([0.0, *SIZES, *(-size for size in SIZES)])
COMPANIONS = (1.0, 1e-200)
"""What the other operand of an op of two is."""
MODES = ("", "f", "r", "ff", "fr", "rf", "rr", "fff", "frf", "rfr", "rrr")
TINY = 1e-250
"""Below it an intermediate value may have underflowed; above its inverse one may have overflowed."""

MEANINGS = {case.op: case.symbolic for case in CASES.values() if case.symbolic is not None and not case.symbols_only}
NO_ACCURACY = {
    "mul", "contract", "select", "add", "sub", "neg", "cast",  # exact, or a rounding
    "sign", "floor", "floor_divide", "stop_gradient", "truncate", "draw", "dropout",  # constants by pieces or by decree
}  # fmt: skip
IN_JETS = {"erfinv", "bessel_i"}
"""Special functions whose derivatives the reference knows; the others are compared in test_special_functions.py."""


def _examples(case: Case) -> Iterator[Example]:
    for seed in range(40):
        example = case.draw(Seeded(seed))
        if all(operand.array is None and operand.type.dtype == np.float64 for operand in example.operands):
            yield example


def _pointwise(name: str, op: Any, params: dict[str, Any], count: int) -> Iterator[tuple[str, Function]]:
    if count == 1:
        yield name, lambda x: op(x, **params)
        return
    for c in COMPANIONS:
        yield f"{name}(x, {c})", lambda x, c=c: op(x, np.full(x.shape, c), **params)
        yield f"{name}({c}, x)", lambda x, c=c: op(np.full(x.shape, c), x, **params)


def _along(op: Any, params: dict[str, Any], scale: float) -> Function:
    def function(x: Any) -> Any:
        stacked = np.stack([x, scale * x, np.ones(x.shape)], axis=-1)
        own = {key: ((x.ndim,) if key == "axes" else x.ndim if key == "axis" else v) for key, v in params.items()}
        result = op(stacked, **own)
        return result if result.shape == x.shape else result[..., 0]

    return function


def _functions() -> Iterator[tuple[str, Function]]:
    for name, case in CASES.items():
        op = case.op
        if (
            name in NO_ACCURACY
            or (case.slow and name not in IN_JETS)
            or op.holds_program
            or case.reverse_only
            or not (op.axes.pointwise or op.kind == "composite" or name.startswith("reduce"))
        ):
            continue
        for example in _examples(case):
            if any(operand.independent for operand in example.operands):  # a matrix
                break
            shapes = {operand.type.shape for operand in example.operands}
            types = [operand.type for operand in example.operands]
            if op.infer(*types, **example.params).is_complex or any(type.is_complex for type in types):
                break  # functions of one real number
            if len(shapes) == 1 and {"axes", "axis"} & set(example.params) and len(types) == 1:
                if set(example.params) <= {"axes", "axis", "ddof"} and op.infer(*types, **example.params).is_float:
                    yield f"{name}[x, 0, 1]", _along(op, example.params, 0.0)
                    yield f"{name}[x, 2x, 1]", _along(op, example.params, 2.0)
                break
            if types and len(shapes) == 1 and not {"axes", "axis"} & set(example.params):
                result = op.infer(*types, **example.params)
                if isinstance(result, primad.ArrayType) and result.shape in shapes and result.is_float:
                    yield from _pointwise(name, op, example.params, len(types))
                break


FUNCTIONS: dict[str, Function] = {
    **dict(_functions()),
    "xlogy(x, x)": lambda x: xlogy(x, x),
    "−log(expit(−x)) by logaddexp": lambda x: np.logaddexp(0.0, x),
    "expit(2x)": lambda x: expit(2.0 * x),
}


# -- the reference -----------------------------------------------------------------------------------------------------


def _series(program: Any, x: Any, numbers: Jets) -> tuple[list[Any] | None, bool]:
    """Return value and derivatives, None where there are none, and whether the point is at a kink."""
    numbers.kink = False
    start = np.empty((), object)
    start[()] = numbers.variable(x)
    try:
        (out,) = Evaluator(numbers, MEANINGS).run(program, [start])
    except (ZeroDivisionError, ValueError, OverflowError, TypeError):
        return None, False
    found = [numbers.context.mpmathify(c) * math.factorial(k) for k, c in enumerate(Jet.of(out[()]).c)]
    real = all(isinstance(value, numbers.context.mpf) and numbers.context.isfinite(value) for value in found)
    return (found if real else None), numbers.kink


def expected(program: Any, x: float, numbers: Jets) -> list[Any]:
    """Return value and derivatives: numbers, NaN outside of the domain, None where a convention holds."""
    found, kink = _series(program, x, numbers)
    if found is not None and not kink:
        return found
    ten = numbers.context.mpf(10)
    sides = [[_series(program, x + sign * ten**-k, numbers)[0] for k in (200, 400)] for sign in (1, -1)]
    result: list[Any] = []
    for order in range(ORDER + 1):
        limits = [_limit(*(None if s is None else s[order] for s in side)) for side in sides]
        known = [limit for limit in limits if limit is not None]
        agree = len({round(float(limit), 8) if abs(limit) < 1e300 else limit for limit in known}) == 1
        result.append(math.nan if all(s is None for side in sides for s in side) else known[0] if agree else None)
    return result


def _limit(near: Any, nearer: Any) -> Any:
    """Return the limit of what has two values on the way there; None if they tell none."""
    if near is None or nearer is None:
        return None
    if abs(near - nearer) <= 1e-20 * abs(nearer):
        return nearer
    if abs(nearer) > 1.2 * abs(near):
        return math.copysign(math.inf, nearer)
    return 0.0 if abs(near) > 1.2 * abs(nearer) else None


def is_right(found: float, truth: Any) -> bool:
    """Say whether a number is right to 1e-8, where nothing overflows or underflows."""
    if truth is None:
        return True
    if abs(truth) >= 1 / TINY:
        return bool(abs(found) >= 1 / TINY and (found > 0) == (truth > 0))
    return bool(abs(found - truth) <= 1e-8 * abs(truth) + TINY)


def is_zero_beside(found: float, exact: list[Any], order: int, beside: list[Any]) -> bool:
    """Say whether a derivative vanishes next to a point, and is one between those at the floats beside it.

    The last bit of the point then decides all bits of the derivative: of a formula in floats no more is known.
    """
    sides = [side[order] for side in beside]
    if not order or any(value is None for value in (*sides, *exact[:order])):
        return False
    vanishes = max(map(abs, sides)) <= 1e-8 * max(map(abs, exact[:order]))
    return bool(vanishes and min(sides) <= found <= max(sides))


# -- the check ---------------------------------------------------------------------------------------------------------


def derivative(f: Function, mode: str) -> Function:
    for letter in mode:
        f = _forward(f) if letter == "f" else primad.grad(lambda x, g=f: np.sum(g(x)))
    return f


def _forward(f: Function) -> Function:
    return lambda x: primad.jvp(f, (x,), (np.ones_like(x),))[1]


Known = Callable[[int, float], bool]
EXCEPTIONS: dict[str, tuple[str, Known]] = {
    "safe_sqrt": ("its derivatives at 0 are 0 by definition", lambda order, x: x == 0),
    "power": ("x^(y − 3) overflows before a factor makes it finite", lambda order, x: abs(x) <= 1e-160),
    "hypot": ("the length cubed is below the least float", lambda order, x: order > 1 and abs(x) <= 1e-160),
    "arctan2": ("the length squared is below the least float", lambda order, x: order > 1 and abs(x) <= 1e-160),
    "direction": ("the length squared is below the least float", lambda order, x: order > 1 and abs(x) <= 1e-160),
    "arccosh": ("a pole, where terms of both signs are infinite", lambda order, x: order > 1 and x == 1),
    "cbrt": ("a pole, near which the square of the root underflows", lambda order, x: order > 2 and abs(x) <= 1e-160),
    "remainder": ("division by zero is NaN", lambda order, x: x == 0),
    "fmod": ("division by zero is NaN", lambda order, x: x == 0),
    "var": ("as NumPy's, it overflows", lambda order, x: abs(x) >= 1e155),
    "std": ("as NumPy's, it overflows; else as norm", lambda order, x: abs(x) >= 1e155 or (order > 1 and abs(x) > 1e8)),
    "prod": ("the product of the others overflows", lambda order, x: abs(x) >= 1e155),
    "norm": ("what is off the direction of x cancels", lambda order, x: order > 1 and abs(x) > 1e8),
    "logsumexp": ("one element outweighs the others", lambda order, x: order > 1 and abs(x) > 30),
    "softmax": ("one element outweighs the others", lambda order, x: order > 0 and abs(x) > 30),
    "log_softmax": ("one element outweighs the others", lambda order, x: abs(x) > 30),
    "xlogy": ("a convention at 0; 1/x² overflows", lambda order, x: x == 0 or (order > 2 and abs(x) <= 1e-160)),
    "gelu": ("an infinite power of x times 0", lambda order, x: order > 2 and abs(x) >= 1e155),
    "softsign": ("a convention: that of the second derivative of |x|", lambda order, x: x == 0),
    "tanhshrink": ("defined as a difference", lambda order, x: abs(x) <= 1e-8),
    "mish": ("terms cancel in the right tail", lambda order, x: order > 1 and x > 30),
    "huber": ("the edge of the parabola, after rounding", lambda order, x: x == 0.3),
    "binary_cross_entropy_with_logits": ("targets are between 0 and 1", lambda order, x: abs(x) > 1),
    "binary_cross_entropy_with_logits(1e-200, x)": (
        "the derivative by a target is a difference",
        lambda order, x: True,
    ),
    "binary_cross_entropy": ("its logarithms are those of limited numbers", lambda order, x: abs(x) <= 1e-8),
}
"""Where derivatives are off, and why, at these orders and points: by name of a function, or of an op for all of its."""


@pytest.mark.one_in(12)
@thinned(2, name=list(FUNCTIONS), part=range(2))
def test_derivatives_are_accurate(name: str, part: int) -> None:
    """In half of the modes, of which each is among those of every second function."""
    f, numbers = FUNCTIONS[name], Jets()
    program = primad.trace(f)(primad.ArrayType((), np.float64))
    truth = [expected(program, float(x), numbers) for x in POINTS]
    _, known = EXCEPTIONS.get(name) or EXCEPTIONS.get(re.split(r"[(\[]", name)[0], ("", lambda order, x: False))
    off: list[str] = []
    for mode in ("", *MODES[1:][part::2]):
        with np.errstate(all="ignore"):
            values = np.broadcast_to(np.asarray(derivative(f, mode)(POINTS)), POINTS.shape)
        for x, value, exact in zip(POINTS.tolist(), values.tolist(), truth, strict=True):
            order = len(mode)
            if (isinstance(exact[0], float) and math.isnan(exact[0])) or is_right(value, exact[order]):
                continue
            if known(order, x):
                continue
            beside = [expected(program, float(np.nextafter(x, side)), numbers) for side in (-np.inf, np.inf)]
            if not is_zero_beside(value, exact, order, beside):
                off.append(f"mode {mode or 'value'} at {x:g}: {value!r}, not {float(exact[order])!r}")
    assert not off, "\n".join(off)


# -- both operands of one number ---------------------------------------------------------------------------------------


def _of_two() -> Iterator[tuple[str, Function]]:
    for name in FUNCTIONS:
        op, _, rest = name.partition("(")
        if rest == "x, 1.0)":
            two, params = CASES[op].op, next(_examples(CASES[op])).params
            yield f"{op}(x, x)", lambda x, two=two, params=params: two(x, x, **params)
            yield f"{op}(x, 2x)", lambda x, two=two, params=params: two(x, 2.0 * x, **params)
            yield f"{op}(-x, x)", lambda x, two=two, params=params: two(-x, x, **params)


UNBOUNDED: dict[str, tuple[str, Known]] = {
    "div": ("0/0 is NaN; parts that cancel overflow", lambda order, x: x == 0 or (order > 1 and abs(x) <= 1e-160)),
    "power": ("parts that cancel overflow", lambda order, x: order > 1 and abs(x) <= 1e-160),
    "arctan2": ("parts that cancel overflow", lambda order, x: order > 1 and abs(x) <= 1e-160),
    "direction": ("parts that cancel overflow", lambda order, x: order > 1 and abs(x) <= 1e-160),
    "remainder": ("division by zero is NaN", lambda order, x: x == 0),
    "fmod": ("division by zero is NaN", lambda order, x: x == 0),
}
"""Where derivatives of ops are not finite though the true ones are, and why."""


OF_TWO = dict(_of_two())


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", OF_TWO)
def test_derivatives_along_lines_are_finite(name: str) -> None:
    """Both operands depend on one number: contributions of both are added, and may cancel."""
    f, numbers = OF_TWO[name], Jets()
    program = primad.trace(f)(primad.ArrayType((), np.float64))
    truth = [expected(program, float(x), numbers) for x in POINTS]
    _, known = UNBOUNDED.get(name.partition("(")[0], ("", lambda order, x: False))
    off = []
    for mode in MODES[:7]:
        with np.errstate(all="ignore"):
            values = np.broadcast_to(np.asarray(derivative(f, mode)(POINTS)), POINTS.shape)
        for x, value, exact in zip(POINTS.tolist(), values.tolist(), truth, strict=True):
            there = [exact[k] for k in (0, len(mode))]
            if all(y is not None and abs(y) < 1 / TINY for y in there) and not math.isfinite(value):
                off += [] if known(len(mode), x) else [f"mode {mode or 'value'} at {x:g}: {value!r}"]
    assert not off, "\n".join(off)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 10])
def test_repeated_integrals_of_the_error_function_far_out(n: int) -> None:
    """exp(x²)·iⁿerfc(x) = 2/√π ∫ sⁿ/n! exp(−s² − 2xs) ds over s > 0 (DLMF 7.18.2), by Gauss and Laguerre's rule."""
    nodes, weights = np.polynomial.laguerre.laggauss(60)
    for x in (2.1, 3.0, 7.0, 50.0, 1e4):
        s = nodes / (2 * x)
        expected = 2 / math.sqrt(math.pi) * np.sum(weights * s**n * np.exp(-s * s)) / (2 * x * math.factorial(n))
        assert float(repeated_integral(x, n=n)) == pytest.approx(expected, rel=1e-12 if x > 3 else 1e-6)
