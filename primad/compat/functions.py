"""Functions that more than one system has under a name of its own: what each computes, and what it is, once.

The keys are NumPy's and SciPy's names. A layer says what it calls a function; where its system computes something else
(another side at a tie, other roundings of halves, other results for integers), the layer writes that one itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primad.numpy import special


class Function(NamedTuple):
    """A function of arrays.

    Attributes:
        compute: takes arrays or traced arrays.
        doc: what it is, for the documentation of what is made of it.
        floats: whether its results are floats for operands of any dtype.
    """

    compute: Callable[..., Any]
    doc: str
    floats: bool = True


UNARY = {
    "abs": Function(np.abs, "|x|, elementwise; its derivative at 0 is 0.", floats=False),
    "arccos": Function(np.arccos, "Inverse cosine, elementwise, in radians."),
    "arccosh": Function(np.arccosh, "Inverse hyperbolic cosine, elementwise."),
    "arcsin": Function(np.arcsin, "Inverse sine, elementwise, in radians."),
    "arcsinh": Function(np.arcsinh, "Inverse hyperbolic sine, elementwise."),
    "arctan": Function(np.arctan, "Inverse tangent, elementwise, in radians."),
    "arctanh": Function(np.arctanh, "Inverse hyperbolic tangent, elementwise."),
    "ceil": Function(np.ceil, "Smallest integer that is not less, elementwise."),
    "cos": Function(np.cos, "Cosine, elementwise, of radians."),
    "cosh": Function(np.cosh, "Hyperbolic cosine, elementwise."),
    "degrees": Function(lambda x: x * (180.0 / math.pi), "Radians as degrees, elementwise."),
    "erf": Function(special.erf, "Error function, elementwise."),
    "erfinv": Function(special.erfinv, "The inverse of erf, elementwise."),
    "exp": Function(np.exp, "Exponential, elementwise."),
    "expit": Function(special.expit, "1/(1 + exp(−x)), elementwise, stable at both ends."),
    "expm1": Function(np.expm1, "exp(x) − 1, elementwise, exact near 0."),
    "floor": Function(np.floor, "Largest integer that is not greater, elementwise."),
    "gammaln": Function(special.gammaln, "Logarithm of |Γ(x)|, elementwise."),
    "log": Function(np.log, "Natural logarithm, elementwise."),
    "log10": Function(np.log10, "Logarithm to base 10, elementwise."),
    "log1p": Function(np.log1p, "log(1 + x), elementwise, exact near 0."),
    "log2": Function(np.log2, "Logarithm to base 2, elementwise."),
    "negative": Function(np.negative, "−x, elementwise."),
    "radians": Function(lambda x: x * (math.pi / 180.0), "Degrees as radians, elementwise."),
    "reciprocal": Function(lambda x: 1.0 / x, "1/x, elementwise."),
    "sign": Function(np.sign, "−1, 0 or 1, elementwise.", floats=False),
    "sin": Function(np.sin, "Sine, elementwise, of radians."),
    "sinh": Function(np.sinh, "Hyperbolic sine, elementwise."),
    "sqrt": Function(np.sqrt, "Square root, elementwise."),
    "square": Function(np.square, "x·x, elementwise.", floats=False),
    "tan": Function(np.tan, "Tangent, elementwise, of radians."),
    "tanh": Function(np.tanh, "Hyperbolic tangent, elementwise."),
}
"""Functions of one array."""

BINARY = {
    "add": Function(np.add, "x + y, elementwise.", floats=False),
    "equal": Function(np.equal, "x = y, elementwise.", floats=False),
    "greater": Function(np.greater, "x > y, elementwise.", floats=False),
    "greater_equal": Function(np.greater_equal, "x ≥ y, elementwise.", floats=False),
    "hypot": Function(np.hypot, "√(x² + y²), elementwise, without overflow."),
    "less": Function(np.less, "x < y, elementwise.", floats=False),
    "less_equal": Function(np.less_equal, "x ≤ y, elementwise.", floats=False),
    "multiply": Function(np.multiply, "x · y, elementwise.", floats=False),
    "not_equal": Function(np.not_equal, "x ≠ y, elementwise.", floats=False),
    "remainder": Function(np.remainder, "Remainder of x / y with the sign of y, elementwise.", floats=False),
    "subtract": Function(np.subtract, "x − y, elementwise.", floats=False),
}
"""Functions of two arrays that broadcast."""

REDUCTIONS = {
    "max": Function(np.max, "The maximum over axes, by default over all.", floats=False),
    "mean": Function(np.mean, "The mean over axes, by default over all."),
    "min": Function(np.min, "The minimum over axes, by default over all.", floats=False),
    "prod": Function(np.prod, "The product over axes, by default over all.", floats=False),
    "sum": Function(np.sum, "The sum over axes, by default over all.", floats=False),
}
"""Functions of an array, `axis` and `keepdims`."""
