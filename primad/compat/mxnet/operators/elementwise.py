"""Elementwise operators: of one array, of two arrays of one shape, of two that broadcast, of an array and a number.

Where a function has a kink, the side that MXNet takes at a tie is written as a choice (`where`), whose derivative is
that of the chosen branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.compat import functions
from primad.compat.functions import Function
from primad.compat.mxnet.graph.shape_rules import Shape, same, unify
from primad.compat.mxnet.imperative.operator_parameters import Settings, boolean, dtype, integer, real
from primad.compat.mxnet.operators.record import operator
from primad.functional.recorded_values import stop_gradient
from primad.nn import relu
from primad.numpy import special


def _as(result: Any, like: Any) -> Any:
    """Return a truth value as 0 or 1 in the dtype of the operand."""
    return result.astype(like.dtype)


def _fix(x: Any) -> Any:
    return np.where(x < 0, np.ceil(x), np.floor(x))


def _round(x: Any) -> Any:
    return np.where(x < 0, np.ceil(x - 0.5), np.floor(x + 0.5))


def _gamma(x: Any) -> Any:
    """Its sign changes at every pole, the integers below 1."""
    negative = np.logical_and(x < 0, np.mod(np.floor(x), 2.0) != 0)
    return np.where(negative, -1.0, 1.0).astype(x.dtype) * np.exp(special.gammaln(x))


_SAME = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh ceil cos cosh degrees erf erfinv exp expm1 floor gammaln log "
    "log10 log1p log2 negative radians reciprocal sign sin sinh sqrt square tan tanh"
)
"""The functions of one array that MXNet has as NumPy and SciPy have them."""
UNARY: dict[str, Function] = {
    **{name: functions.UNARY[name] for name in _SAME.split()},
    "cbrt": Function(pnp.cbrt, "Cube root, elementwise."),
    "fix": Function(_fix, "The integer towards 0, elementwise."),
    "gamma": Function(_gamma, "Γ(x), elementwise."),
    "logical_not": Function(lambda x: _as(x == 0, x), "1 where x is 0, 0 elsewhere."),
    "rcbrt": Function(lambda x: 1.0 / pnp.cbrt(x), "1 divided by the cube root, elementwise."),
    "relu": Function(relu, "max(x, 0), elementwise; its derivative at 0 is 0."),
    "rint": Function(lambda x: np.ceil(x - 0.5), "The nearest integer, the smaller one for halves, elementwise."),
    "round": Function(_round, "The nearest integer, the one away from 0 for halves, elementwise."),
    "rsqrt": Function(lambda x: 1.0 / np.sqrt(x), "1/√x, elementwise."),
    "sigmoid": functions.UNARY["expit"],
    "softsign": Function(lambda x: x / (1.0 + np.abs(x)), "x/(1 + |x|), elementwise."),
    "trunc": Function(_fix, "The integer towards 0, elementwise."),
}


def _documented(compute: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """Return what an operator computes, with the text that the documentation of its public function shows."""
    compute.__doc__ = doc
    return compute


for _name, _function in UNARY.items():
    operator(_name, shapes=same)(_documented(lambda settings, x, compute=_function.compute: compute(x), _function.doc))

operator("_copy", "identity", shapes=same)(lambda settings, x: x)
operator("_identity_with_attr_like_rhs", inputs=("lhs", "rhs"), shapes=same)(lambda settings, lhs, rhs: lhs)
operator("BlockGrad", "stop_gradient", shapes=same)(lambda settings, x: stop_gradient(x))
operator("zeros_like", shapes=same)(lambda settings, x: np.zeros(x.shape, x.dtype))
operator("ones_like", shapes=same)(lambda settings, x: np.ones(x.shape, x.dtype))


@operator("hard_sigmoid", parameters={"alpha": real(0.2), "beta": real(0.5)}, shapes=same)
def hard_sigmoid(settings: Settings, x: Any) -> Any:
    """alpha·x + beta held inside [0, 1]; constant at the edges and beyond."""
    line = settings.alpha * x + settings.beta
    return pnp.where(line <= 0, 0.0, pnp.where(line >= 1, 1.0, line))


@operator("clip", parameters={"a_min": real(), "a_max": real()}, shapes=same)
def clip(settings: Settings, x: Any) -> Any:
    """X held inside [a_min, a_max]; at an edge the derivative is 1."""
    kind = float if x.dtype.kind == "f" else int
    low, high = kind(settings.a_min), kind(settings.a_max)
    return pnp.where(x < low, low, pnp.where(x > high, high, x))


@operator("smooth_l1", parameters={"scalar": real(1.0)}, shapes=same)
def smooth_l1(settings: Settings, x: Any) -> Any:
    """(sx)²/2 where |x| < 1/s², else |x| − 1/(2s²)."""
    squared = settings.scalar**2
    size = pnp.abs(x)
    return pnp.where(size < 1.0 / squared, 0.5 * squared * x * x, size - 0.5 / squared)


# -- two arrays --------------------------------------------------------------------------------------------------------


def _divide(x: Any, y: Any) -> Any:
    return x / y if x.dtype.kind == "f" else x // y


def _hypot(x: Any, y: Any) -> Any:
    return np.hypot(x, y).astype(x.dtype)


def _leads(x: Any, condition: Any) -> Any:
    """Say where the first of two operands is the extremum: where the condition says so, and where it is NaN."""
    return np.logical_or(condition, x != x)


def _number_of(name: str) -> Function:
    """Return a comparison whose result is 0 or 1 in the dtype of the operand."""
    found = functions.BINARY[name]
    return Function(lambda x, y: _as(found.compute(x, y), x), f"1 where {found.doc.split(',')[0]}, 0 elsewhere.")


ARITHMETIC: dict[str, Function] = {
    "add": functions.BINARY["add"],
    "sub": functions.BINARY["subtract"],
    "mul": functions.BINARY["multiply"],
    "div": Function(_divide, "x / y, elementwise; rounded down for integers."),
    "mod": functions.BINARY["remainder"],
    "power": Function(pnp.power, "x to the power of y, elementwise."),
    "maximum": Function(
        lambda x, y: np.where(_leads(x, x >= y), x, y),
        "The larger of x and y, elementwise; where they are equal, the derivative is that of x.",
    ),
    "minimum": Function(
        lambda x, y: np.where(_leads(x, x <= y), x, y),
        "The smaller of x and y, elementwise; where they are equal, the derivative is that of x.",
    ),
    "hypot": Function(_hypot, functions.BINARY["hypot"].doc),
    "equal": _number_of("equal"),
    "not_equal": _number_of("not_equal"),
    "greater": _number_of("greater"),
    "greater_equal": _number_of("greater_equal"),
    "lesser": _number_of("less"),
    "lesser_equal": _number_of("less_equal"),
    "logical_and": Function(lambda x, y: _as(np.logical_and(x != 0, y != 0), x), "1 where neither is 0, else 0."),
    "logical_or": Function(lambda x, y: _as(np.logical_or(x != 0, y != 0), x), "1 where one is not 0, else 0."),
    "logical_xor": Function(lambda x, y: _as((x != 0) != (y != 0), x), "1 where just one of x and y is 0, else 0."),
}
_WORDS = {
    "add": ("plus", "Plus"),
    "sub": ("minus", "Minus"),
    "greater_equal": ("greater_equal", "Greater_Equal"),
    "lesser_equal": ("lesser_equal", "Lesser_Equal"),
    "not_equal": ("not_equal", "Not_Equal"),
    "logical_and": ("logical_and", "Logical_And"),
    "logical_or": ("logical_or", "Logical_Or"),
    "logical_xor": ("logical_xor", "Logical_Xor"),
}
"""What MXNet's registry calls an operation, where that is not its name and its name with a capital letter."""


def _broadcast_shapes(settings: Settings, inputs: list[Shape], outputs: list[Shape]) -> None:
    left, right = inputs
    if left is None or right is None or len(left) != len(right):
        return
    found = []
    for a, b in zip(left, right, strict=True):
        found.append(a if b == 1 else b if a == 1 else 0 if not (a and b) else a if a == b else 0)
    if all(found):
        outputs[0] = unify(tuple(found), outputs[0])


def _pair(function: Function) -> Callable[..., Any]:
    return _documented(lambda settings, lhs, rhs: function.compute(lhs, rhs), function.doc)


for _name, _of_two in ARITHMETIC.items():
    _word, _title = _WORDS.get(_name, (_name, _name.capitalize()))
    _names = (
        [f"elemwise_{_name}", f"_{_word}", f"_{_title}", *({f"_{_name}"} - {f"_{_word}"})]
        if _name in ("add", "sub", "mul", "div")
        else [f"_{_word}", f"_{_title}"]
    )
    operator(*_names, inputs=("lhs", "rhs"), shapes=same)(_pair(_of_two))
    _wide = [f"broadcast_{_name}"] + ([f"broadcast_{_word}"] if _word != _name else [])
    operator(*_wide, inputs=("lhs", "rhs"), shapes=_broadcast_shapes)(_pair(_of_two))


# -- an array and a number ---------------------------------------------------------------------------------------------


def _number(settings: Settings, x: Any) -> Any:
    """Return the number as a Python scalar of the array's kind, which adopts its dtype."""
    return float(settings.scalar) if x.dtype.kind == "f" else int(settings.scalar)


def _scalar_form(function: Function, reflected: bool) -> Callable[..., Any]:
    def compute(settings: Settings, x: Any) -> Any:
        number = _number(settings, x)
        return function.compute(x.dtype.type(number), x) if reflected else function.compute(x, number)

    return _documented(compute, f"{function.doc} {'x' if reflected else 'y'} is the number.")


_NUMBER = {"scalar": real(1.0), "is_int": boolean(True)}
_REFLECTED = {"sub": "rminus", "div": "rdiv", "mod": "rmod", "power": "rpower"}
_TITLES = {"rminus": "RMinus", "rdiv": "RDiv", "rmod": "RMod", "rpower": "RPower"}
for _name, _of_two in ARITHMETIC.items():
    _word, _title = _WORDS.get(_name, (_name, _name.capitalize()))
    _both = f"_{_word}_scalar", f"_{_title.replace('_', '')}Scalar"
    operator(*_both, parameters=_NUMBER, shapes=same)(_scalar_form(_of_two, False))
    if _name in _REFLECTED:
        _word = _REFLECTED[_name]
        _both = f"_{_word}_scalar", f"_{_TITLES[_word]}Scalar"
        operator(*_both, parameters=_NUMBER, shapes=same)(_scalar_form(_of_two, True))


@operator("add_n", "ElementWiseSum", inputs=None, parameters={"num_args": integer(minimum=1)}, shapes=same)
def add_n(settings: Settings, *arrays: Any) -> Any:
    """The sum of arrays of one shape."""
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return total


def _cast_types(settings: Settings, inputs: list[Any], outputs: list[Any]) -> None:
    outputs[0] = settings.dtype


@operator("Cast", "cast", parameters={"dtype": dtype()}, shapes=same, types=_cast_types)
def cast(settings: Settings, x: Any) -> Any:
    """X in another dtype."""
    return x.astype(settings.dtype)
