"""Methods under SciPy's names, which are SciPy's own where nothing is traced."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

from primad import numpy as pn
from primad.errors import TracingError
from primad.numpy.promotion import any_traced
from primad.recording.traced_array import settled

__all__: list[str] = []


def at_points(compute: Callable[..., Any]) -> Any:
    """Return a method that is SciPy's own where nothing is traced."""
    name = compute.__name__
    point = list(inspect.signature(compute).parameters)[1]

    @wraps(compute)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = settled(args), {key: settled(value) for key, value in kwargs.items()}
        if not any_traced([*args, *kwargs.values()]):
            return getattr(getattr(import_module("scipy.stats"), self.name), name)(*args, **kwargs)
        if not args and point not in kwargs:
            raise TypeError(f"{self.name}.{name} takes {point}, then the parameters")
        x, *rest = args or (kwargs.pop(point),)
        shapes, loc, scale = self.bound(name, tuple(rest), kwargs)
        return compute(self, pn.asarray(x) if isinstance(x, list | tuple) else x, shapes, loc, scale)

    return method


def of_parameters(compute: Callable[..., Any]) -> Any:
    """Return a method without a point, of parameters alone, that is SciPy's own where nothing is traced."""
    name = compute.__name__

    @wraps(compute)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = settled(args), {key: settled(value) for key, value in kwargs.items()}
        if not any_traced([*args, *kwargs.values()]):
            return getattr(getattr(import_module("scipy.stats"), self.name), name)(*args, **kwargs)
        shapes, loc, scale = self.bound(name, args, kwargs)
        shapes = [np.float64(shape) if isinstance(shape, float | int) else shape for shape in shapes]
        with np.errstate(all="ignore"):  # where a moment is infinite
            return self.where_defined(compute(self, shapes, loc, scale), shapes, scale, loc == loc)

    return method


def other_method(distribution: str, name: str) -> Callable[..., Any]:
    """Return a method of SciPy's distribution that is not recorded, which takes plain arguments alone.

    Raises:
        AttributeError: where SciPy has none of this name.
    """
    own: Callable[..., Any] = getattr(getattr(import_module("scipy.stats"), distribution), name)
    if name.startswith("_") or not callable(own):
        raise AttributeError(f"{distribution} has no method {name!r}")

    def method(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = settled(args), {key: settled(value) for key, value in kwargs.items()}
        if any_traced([*args, *kwargs.values()]):
            raise TracingError(
                f"scipy.stats.{distribution}.{name} of traced values",
                why="It is not recorded here: SciPy's own computes on plain numbers.",
                fix="take a method that is recorded, such as logpdf or logpmf; draws are quantiles of uniform numbers, "
                "ppf(u, …), where it is recorded.",
            )
        return own(*args, **kwargs)

    return method
