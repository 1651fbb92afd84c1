"""Elementwise operators: of one array, of two arrays of one shape, of two that broadcast, of an array and a number.

Where a function has a kink, the side that MXNet takes at a tie is written as a choice (`where`), whose derivative is
that of the chosen branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.compat.mxnet.graph.shape_rules import Shape, same, unify
from primad.compat.mxnet.imperative.operator_parameters import Settings, boolean, dtype, integer, real
from primad.compat.mxnet.operators.record import operator
from primad.functional.recorded_values import stop_gradient
from primad.nn import relu, sigmoid
from primad.numpy import special

Binary = Callable[[Any, Any], Any]


def _one(x: Any) -> Any:
    return np.ones(x.shape, x.dtype)


def _as(result: Any, like: Any) -> Any:
    """Return a truth value as 0 or 1 in the dtype of the operand."""
    return result.astype(like.dtype)


def _trunc(x: Any) -> Any:
    return pnp.where(x < 0, pnp.ceil(x), pnp.floor(x))


def _round(x: Any) -> Any:
    """Half away from zero."""
    return pnp.where(x < 0, pnp.ceil(x - 0.5), pnp.floor(x + 0.5))


def _rint(x: Any) -> Any:
    """Half down."""
    return pnp.ceil(x - 0.5)


def _gamma(x: Any) -> Any:
    """Its sign changes at every pole, the integers below 1."""
    negative = pnp.logical_and(x < 0, pnp.mod(pnp.floor(x), 2.0) != 0)
    return pnp.where(negative, -1.0, 1.0).astype(x.dtype) * pnp.exp(special.gammaln(x))


UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": pnp.abs,
    "sign": pnp.sign,
    "round": _round,
    "rint": _rint,
    "ceil": pnp.ceil,
    "floor": pnp.floor,
    "trunc": _trunc,
    "fix": _trunc,
    "square": pnp.square,
    "sqrt": pnp.sqrt,
    "rsqrt": lambda x: 1.0 / pnp.sqrt(x),
    "exp": pnp.exp,
    "expm1": pnp.expm1,
    "log": pnp.log,
    "log10": pnp.log10,
    "log2": pnp.log2,
    "log1p": pnp.log1p,
    "sin": pnp.sin,
    "cos": pnp.cos,
    "tan": pnp.tan,
    "arcsin": pnp.arcsin,
    "arccos": pnp.arccos,
    "arctan": pnp.arctan,
    "arcsinh": pnp.arcsinh,
    "arccosh": pnp.arccosh,
    "arctanh": pnp.arctanh,
    "cbrt": pnp.cbrt,
    "rcbrt": lambda x: 1.0 / pnp.cbrt(x),
    "gamma": _gamma,
    "gammaln": special.gammaln,
    "erfinv": special.erfinv,
    "sinh": pnp.sinh,
    "cosh": pnp.cosh,
    "tanh": pnp.tanh,
    "degrees": lambda x: x * (180.0 / math.pi),
    "radians": lambda x: x * (math.pi / 180.0),
    "reciprocal": lambda x: 1.0 / x,
    "relu": relu,
    "sigmoid": sigmoid,
    "softsign": lambda x: x / (1.0 + pnp.abs(x)),
    "erf": special.erf,
    "negative": pnp.negative,
    "logical_not": lambda x: _as(x == 0, x),
}
for _name, _function in UNARY.items():
    operator(_name, shapes=same)(lambda settings, x, function=_function: function(x))

operator("_copy", "identity", shapes=same)(lambda settings, x: x)
operator("_identity_with_attr_like_rhs", inputs=("lhs", "rhs"), shapes=same)(lambda settings, lhs, rhs: lhs)
operator("BlockGrad", "stop_gradient", shapes=same)(lambda settings, x: stop_gradient(x))
operator("zeros_like", shapes=same)(lambda settings, x: np.zeros(x.shape, x.dtype))
operator("ones_like", shapes=same)(lambda settings, x: _one(x))


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
    return pnp.hypot(x, y).astype(x.dtype)


def _leads(x: Any, condition: Any) -> Any:
    """Say where the first of two operands is the extremum: where the condition says so, and where it is NaN."""
    return pnp.logical_or(condition, x != x)


ARITHMETIC: dict[str, Binary] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": _divide,
    "mod": lambda x, y: pnp.mod(x, y),
    "power": lambda x, y: pnp.power(x, y),
    "maximum": lambda x, y: pnp.where(_leads(x, x >= y), x, y),
    "minimum": lambda x, y: pnp.where(_leads(x, x <= y), x, y),
    "hypot": _hypot,
    "equal": lambda x, y: _as(x == y, x),
    "not_equal": lambda x, y: _as(x != y, x),
    "greater": lambda x, y: _as(x > y, x),
    "greater_equal": lambda x, y: _as(x >= y, x),
    "lesser": lambda x, y: _as(x < y, x),
    "lesser_equal": lambda x, y: _as(x <= y, x),
    "logical_and": lambda x, y: _as(pnp.logical_and(x != 0, y != 0), x),
    "logical_or": lambda x, y: _as(pnp.logical_or(x != 0, y != 0), x),
    "logical_xor": lambda x, y: _as((x != 0) != (y != 0), x),
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


def _pair(function: Binary) -> Callable[..., Any]:
    return lambda settings, lhs, rhs: function(lhs, rhs)


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


def _scalar_form(function: Binary, reflected: bool) -> Callable[..., Any]:
    def compute(settings: Settings, x: Any) -> Any:
        number = _number(settings, x)
        return function(number, x) if reflected else function(x, number)

    return compute


def _with_number(function: Binary) -> Binary:
    """Let a function of two arrays take a number first."""
    return lambda number, x: function(x.dtype.type(number), x)


_REFLECTED = {"sub": "rminus", "div": "rdiv", "mod": "rmod", "power": "rpower"}
_TITLES = {"rminus": "RMinus", "rdiv": "RDiv", "rmod": "RMod", "rpower": "RPower"}
for _name, _of_two in ARITHMETIC.items():
    _word, _title = _WORDS.get(_name, (_name, _name.capitalize()))
    operator(
        f"_{_word}_scalar",
        f"_{_title.replace('_', '')}Scalar",
        parameters={"scalar": real(1.0), "is_int": boolean(True)},
        shapes=same,
    )(_scalar_form(_of_two, False))
    if _name in _REFLECTED:
        _word = _REFLECTED[_name]
        operator(
            f"_{_word}_scalar",
            f"_{_TITLES[_word]}Scalar",
            parameters={"scalar": real(1.0), "is_int": boolean(True)},
            shapes=same,
        )(_scalar_form(_with_number(_of_two), True))


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
