"""A distribution under SciPy's name: its standard form's functions, moved by `loc` and stretched by `scale`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from typing import Any

from primad import numpy as pn
from primad.errors import TracingError
from primad.numpy.elementwise.ufuncs import defined_where
from primad.numpy.promotion import any_traced
from primad.recording.traced_array import settled

Function = Callable[..., Any]
"""(z, *shapes) -> value, on the support; or (q, *shapes) -> z."""


def _method(compute: Callable[..., Any]) -> Any:
    """Return a method that is SciPy's own where nothing is traced."""
    name = compute.__name__

    @wraps(compute)
    def method(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        x, args, kwargs = settled(x), settled(args), {key: settled(value) for key, value in kwargs.items()}
        if not any_traced([x, *args, *kwargs.values()]):
            return getattr(getattr(import_module("scipy.stats"), self.name), name)(x, *args, **kwargs)
        shapes, loc, scale = self.bound(name, args, kwargs)
        return compute(self, x, shapes, loc, scale)

    return method


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution with SciPy's parameters: shapes, then `loc` and (of a continuous one) `scale`.

    Attributes:
        name: SciPy's name.
        shapes: the names of its shapes.
        log_density: logarithm of the density, or of the probability, of the standard form.
        support: (*shapes) -> the least and the largest z.
        discrete: whether z is an integer; then there is no scale.
        functions: what else there is in closed form: `cdf`, `sf`, `logcdf`, `logsf`, `ppf`, `isf`.
    """

    name: str
    shapes: tuple[str, ...]
    log_density: Function
    support: Callable[..., tuple[Any, Any]] = lambda *shapes: (-math.inf, math.inf)
    discrete: bool = False
    functions: dict[str, Function] = field(default_factory=dict)

    def bound(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any, Any]:
        """Return shapes, loc and scale from a method's arguments.

        Raises:
            TypeError: for too many arguments, unknown ones, and missing shapes.
        """
        names = [*self.shapes, "loc", *(() if self.discrete else ("scale",))]
        given = dict(zip(names, args, strict=False))
        unknown = [key for key in kwargs if key not in names or key in given]
        lacking = [key for key in self.shapes if key not in given and key not in kwargs]
        if len(args) > len(names) or unknown or lacking:
            raise TypeError(f"{self.name}.{method} takes ({', '.join(names)}) after its first argument")
        given |= kwargs
        return [given[name] for name in self.shapes], given.get("loc", 0.0), given.get("scale", 1.0)

    def _within(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> tuple[Any, Any, Any, Any]:
        """Return a standardised point, moved inside where it is not, and whether it is below, above, or a number."""
        z = (x - loc) / scale if not self.discrete else x - loc
        low, high = self.support(*shapes)
        below, above = z < low, z > high
        middle = low + 0.5 * (high - low) if self.discrete or high < math.inf else low + 1.0 if low > -math.inf else 0.0
        return pn.where(below | above, middle, z), below, above, z

    def _where_defined(self, found: Any, shapes: list[Any], scale: Any, also: Any = True) -> Any:
        """Return what was found, and NaN for parameters that no such distribution has, as SciPy does."""
        known = also & (scale > 0)
        for shape in shapes:
            known = known & ((shape >= 0) if self.discrete else (shape > 0))
        return defined_where(known, found)

    def _known(self, name: str) -> Function:
        found = self.functions.get(name)
        if found is None:
            raise TracingError(
                f"scipy.stats.{self.name}.{name} of traced values",
                why="It is not recorded: its derivatives in the parameters are not known in closed form here.",
                fix=f"{', '.join(['logpdf', 'pdf', *self.functions])} of {self.name} are recorded.",
            )
        return found

    def _log(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        z, below, above, plain = self._within(x, shapes, loc, scale)
        found = self.log_density(z, *shapes)
        if self.discrete:
            found = pn.where(below | above | (plain != pn.floor(plain)), -math.inf, found)
        else:
            found = pn.where(below | above, -math.inf, found - pn.log(scale * pn.ones_like(z)))
        return self._where_defined(found, shapes, scale)

    def _probability(self, name: str, ends: tuple[float, float], point: Any) -> Any:
        x, shapes, loc, scale = point
        z, below, above, _ = self._within(pn.floor(x - loc) + loc if self.discrete else x, shapes, loc, scale)
        found = pn.where(below, ends[0], pn.where(above, ends[1], self._known(name)(z, *shapes)))
        return self._where_defined(found, shapes, scale)

    def _log_probability(self, name: str, other: str, ends: tuple[float, float], point: Any) -> Any:
        """Return a logarithm in closed form, or that of the smaller one of a probability and its complement."""
        x, shapes, loc, scale = point
        z, below, above, _ = self._within(pn.floor(x - loc) + loc if self.discrete else x, shapes, loc, scale)
        closed = self.functions.get(f"log{name}")
        if closed is not None:
            found = closed(z, *shapes)
        else:
            own, rest = self._known(name)(z, *shapes), self._known(other)(z, *shapes)
            small = own < 0.5
            found = pn.where(small, pn.log(pn.where(small, own, 0.5)), pn.log1p(-pn.where(small, 0.5, rest)))
        found = pn.where(below, ends[0], pn.where(above, ends[1], found))
        return self._where_defined(found, shapes, scale)

    def _quantile(self, name: str, q: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        found = self._known(name)(q, *shapes) * scale + loc
        return self._where_defined(found, shapes, scale, (q >= 0.0) & (q <= 1.0))

    @_method
    def logpdf(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the logarithm of the density."""
        return self._log(x, shapes, loc, scale)

    @_method
    def pdf(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the density."""
        return pn.exp(self._log(x, shapes, loc, scale))

    @_method
    def logpmf(self, k: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the logarithm of the probability, of a discrete distribution."""
        return self._log(k, shapes, loc, scale)

    @_method
    def pmf(self, k: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the probability, of a discrete distribution."""
        return pn.exp(self._log(k, shapes, loc, scale))

    @_method
    def cdf(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the probability of a value that is not larger."""
        return self._probability("cdf", (0.0, 1.0), (x, shapes, loc, scale))

    @_method
    def sf(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the probability of a larger value, to relative precision."""
        return self._probability("sf", (1.0, 0.0), (x, shapes, loc, scale))

    @_method
    def logcdf(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the logarithm of `cdf`."""
        return self._log_probability("cdf", "sf", (-math.inf, 0.0), (x, shapes, loc, scale))

    @_method
    def logsf(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the logarithm of `sf`."""
        return self._log_probability("sf", "cdf", (0.0, -math.inf), (x, shapes, loc, scale))

    @_method
    def ppf(self, q: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the value whose `cdf` is q, of 0 < q < 1."""
        return self._quantile("ppf", q, shapes, loc, scale)

    @_method
    def isf(self, q: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the value whose `sf` is q, of 0 < q < 1."""
        return self._quantile("isf", q, shapes, loc, scale)
