"""numpy.polynomial: series in orthogonal polynomials, whose coefficients and arguments may be traced.

What is not here is NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from primad.errors import ShapeError, TracingError
from primad.numpy.polynomial.orthogonal_series import functions as series
from primad.numpy.promotion import any_traced, as_float, result_dtype, traced_operands
from primad.numpy.shapes.shaping import atleast_1d, reshape
from primad.recording.traced_array import TracedArray, settled
from primad.system.process import made_once

_RECURRENCES: dict[str, tuple[str, Callable[[int], tuple[float, float, float]]]] = {
    "polynomial": ("polyval", lambda k: (1.0, 0.0, 0.0)),
    "chebyshev": ("chebval", lambda k: (2.0 if k else 1.0, 0.0, 1.0)),
    "legendre": ("legval", lambda k: ((2 * k + 1) / (k + 1), 0.0, k / (k + 1))),
    "hermite": ("hermval", lambda k: (2.0, 0.0, 2.0 * k)),
    "hermite_e": ("hermeval", lambda k: (1.0, 0.0, float(k))),
    "laguerre": ("lagval", lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1))),
}
"""The function that sums a series, and k → (a, b, c) of pₖ₊₁ = (a x + b) pₖ − c pₖ₋₁ (Abramowitz and Stegun, 22.7)."""

_CLASSES = {
    "Polynomial": "polynomial", "Chebyshev": "chebyshev", "Legendre": "legendre", "Hermite": "hermite",
    "HermiteE": "hermite_e", "Laguerre": "laguerre",
}  # fmt: skip
__all__ = [*_RECURRENCES, *_CLASSES]
_REFUSING = ["__truediv__", *(f"__r{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod"))]


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
        if not c.shape[0]:
            raise ShapeError(f"{name}: a series without coefficients", fix="give one coefficient at least, as [0.0].")
        if tensor:
            c = reshape(c, (*c.shape, *[1] * x.ndim))
        return _horner(x, c) if module is np.polynomial.polynomial else _clenshaw(x, c, recurrence)

    return evaluate


def _recording(plain: Callable[..., Any], recorded: Callable[..., Any]) -> Any:
    """Return a function of NumPy's that records where an argument is traced."""

    @wraps(plain)
    def call(*args: Any, **options: Any) -> Any:
        args, options = settled(args), {name: settled(value) for name, value in options.items()}
        return (recorded if any_traced([*args, *options.values()]) else plain)(*args, **options)

    return call


def _horner(x: Any, c: Any) -> Any:
    found = c[-1] + x * 0
    for k in reversed(range(c.shape[0] - 1)):
        found = c[k] + found * x
    return found


def _clenshaw(x: Any, c: Any, recurrence: Callable[[int], tuple[float, float, float]]) -> Any:
    """Sum a series as NumPy does: the two highest terms are kept in terms of the two polynomials below."""
    low, high = (c[0], 0.0) if c.shape[0] == 1 else (c[-2], c[-1])
    for k in reversed(range(1, c.shape[0] - 1)):
        a, b, step = recurrence(k)
        low, high = c[k - 1] - high * step, low + high * (a * x + b if b else a * x)
    a, b, _ = recurrence(0)
    return low + high * (a * x + b if b else a * x)


def _class(plain: Any, evaluate: Any) -> type:
    """Return a class of series that may be called with traced values."""

    def call(self: Any, arg: Any) -> Any:
        arg = settled(arg)
        if not isinstance(arg, TracedArray):
            return plain.__call__(self, arg)
        shift, scale = np.polynomial.polyutils.mapparms(self.domain, self.window)
        return evaluate(shift + scale * arg, self.coef)

    def refuse(*operands: Any) -> Any:
        raise TracingError(
            f"np.polynomial.{plain.__name__} with traced coefficients, or in arithmetic with a traced number",
            why="NumPy's classes of series hold plain coefficients.",
            fix=f"p(x) + y computes with values; {evaluate.__name__}(x, c) sums a series with traced coefficients.",
        )

    def start(self: Any, coef: Any, *args: Any, **options: Any) -> None:
        plain.__init__(self, refuse() if any_traced([settled(coef)]) else coef, *args, **options)

    def coefficients(self: Any, other: Any) -> Any:
        return plain._get_coefficients(self, refuse() if any_traced([settled(other)]) else other)

    def reflected(operation: str) -> Any:
        def apply(self: Any, other: Any) -> Any:
            return getattr(plain, operation)(self, refuse() if any_traced([settled(other)]) else other)

        return apply

    methods: dict[str, Any] = {"__init__": start, "_get_coefficients": coefficients, "__call__": call}
    methods |= {name: reflected(name) for name in _REFUSING}
    doc = f"np.polynomial.{plain.__name__}, a series that may be called with traced values."
    return type(plain.__name__, (plain,), {**methods, "__doc__": doc, "__module__": __name__})


@made_once()
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
    ours = {
        name: _recording(getattr(module, name), call) for name, call in series(module, evaluate, recurrence).items()
    }
    vars(found).update({**ours, function: evaluate, kind.__name__: _class(kind, evaluate)})
    return found


def __getattr__(name: str) -> Any:
    """Return the module or class of this name, made when it is first asked for, or what NumPy has."""
    if name in _RECURRENCES:
        return _family(name)
    family = _CLASSES.get(name)
    return getattr(np.polynomial, name) if family is None else getattr(_family(family), name)
