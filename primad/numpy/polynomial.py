"""numpy.polynomial: series in orthogonal polynomials, whose coefficients and arguments may be traced.

What is not here is NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from primad.numpy.promotion import any_traced, as_float, result_dtype, traced_operands
from primad.numpy.shaping import atleast_1d, reshape
from primad.trace import TracedArray, settled

__all__ = [
    "Chebyshev", "Hermite", "HermiteE", "Laguerre", "Legendre", "Polynomial", "chebyshev", "hermite", "hermite_e",
    "laguerre", "legendre", "polynomial",
]  # fmt: skip
_RECURRENCES: dict[str, tuple[str, Callable[[int], tuple[float, float, float]]]] = {
    "polynomial": ("polyval", lambda k: (1.0, 0.0, 0.0)),
    "chebyshev": ("chebval", lambda k: (2.0 if k else 1.0, 0.0, 1.0)),
    "legendre": ("legval", lambda k: ((2 * k + 1) / (k + 1), 0.0, k / (k + 1))),
    "hermite": ("hermval", lambda k: (2.0, 0.0, 2.0 * k)),
    "hermite_e": ("hermeval", lambda k: (1.0, 0.0, float(k))),
    "laguerre": ("lagval", lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1))),
}
"""The function that sums a series, and k → (a, b, c) of pₖ₊₁ = (a x + b) pₖ − c pₖ₋₁ (Abramowitz and Stegun, 22.7)."""


def _series(module: ModuleType, name: str, recurrence: Callable[[int], tuple[float, float, float]]) -> Any:
    """Return the function that sums a series, by Clenshaw's recurrence."""
    plain = getattr(module, name)

    @wraps(plain)
    def evaluate(x: Any, c: Any, tensor: bool = True) -> Any:
        x, c = settled(x), settled(c)
        if not any_traced([x, c]):
            return plain(x, c, tensor)
        result_dtype(x, c)  # which says what is no number
        x, c = traced_operands(x, c)
        c = as_float(atleast_1d(c))
        if tensor:
            c = reshape(c, (*c.shape, *[1] * x.ndim))
        after: Any = 0.0
        later: Any = 0.0
        for k in reversed(range(c.shape[0])):
            a, b, _ = recurrence(k)
            step = recurrence(k + 1)[2]
            after, later = c[k] + (a * x + b) * after - step * later, after
        return after + 0.0 * x

    return evaluate


def _class(plain: Any, evaluate: Any) -> type:
    """Return a class of series that may be called with traced values."""

    def call(self: Any, arg: Any) -> Any:
        arg = settled(arg)
        if not isinstance(arg, TracedArray):
            return plain.__call__(self, arg)
        shift, scale = np.polynomial.polyutils.mapparms(self.domain, self.window)
        return evaluate(shift + scale * arg, self.coef)

    doc = f"np.polynomial.{plain.__name__}, a series that may be called with traced values."
    return type(plain.__name__, (plain,), {"__call__": call, "__doc__": doc, "__module__": __name__})


def _family(name: str) -> ModuleType:
    """Return a module of NumPy's with the function, and the class, that take traced values."""
    module = getattr(np.polynomial, name)
    found = ModuleType(f"{__name__}.{name}", module.__doc__)
    vars(found).update(
        {key: value for key, value in vars(module).items() if key == "__all__" or not key.startswith("__")}
    )
    function, recurrence = _RECURRENCES[name]
    evaluate = _series(module, function, recurrence)
    kind = next(k for k in vars(module).values() if isinstance(k, type) and k.__module__ == module.__name__)
    vars(found).update({function: evaluate, kind.__name__: _class(kind, evaluate)})
    return found


polynomial, chebyshev, legendre, hermite, hermite_e, laguerre = map(_family, _RECURRENCES)
Polynomial, Chebyshev, Legendre = polynomial.Polynomial, chebyshev.Chebyshev, legendre.Legendre
Hermite, HermiteE, Laguerre = hermite.Hermite, hermite_e.HermiteE, laguerre.Laguerre


def __getattr__(name: str) -> Any:
    """Return what NumPy has by this name."""
    return getattr(np.polynomial, name)
