"""A distribution under SciPy's name: its standard form's functions, moved by `loc` and stretched by `scale`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from operator import and_
from typing import Any

import numpy as np

from primad import numpy as pn
from primad.errors import TracingError
from primad.numpy.elementwise.ufuncs import defined_where
from primad.numpy.promotion import any_traced
from primad.scipy.stats.draws import draw, without_key
from primad.scipy.stats.moments import Moments
from primad.scipy.stats.recorded_methods import at_points, of_parameters, other_method

Function = Callable[..., Any]
"""(z, *shapes) -> value, on the support; or (q, *shapes) -> z."""

LOG_ROOT = 0.5 * math.log(2.0 * math.pi)
EULER = 0.5772156649015329
"""Euler's constant."""


def above_zero(*shapes: Any) -> tuple[Any, Any]:
    """Return the support of positive numbers."""
    return 0.0, math.inf


def within_one(*shapes: Any) -> tuple[Any, Any]:
    """Return the support of numbers between 0 and 1."""
    return 0.0, 1.0


def without_ends(*shapes: Any) -> bool:
    """Say, as `Distribution.with_ends`, that a density's formula does not hold at the ends of the support."""
    return False


def where_finite(condition: Any, moment: Any) -> Any:
    """Return a moment where it is finite, and infinity elsewhere."""
    return pn.where(condition, moment, math.inf)


def _positive(*shapes: Any) -> Any:
    return reduce(and_, [shape > 0 for shape in shapes], True)


def _inner(low: Any, high: Any) -> Any:
    """Return a finite point between two ends, either of which may be infinite."""
    if isinstance(low, float) and isinstance(high, float):  # Python's numbers, which leave 32 bits what they are
        left = low if low > -math.inf else high - 2.0 if high < math.inf else -1.0
        return 0.5 * (left + (high if high < math.inf else left + 2.0))
    left = pn.where(low > -math.inf, low, pn.where(high < math.inf, high - 2.0, -1.0))
    return 0.5 * (left + pn.where(high < math.inf, high, left + 2.0))


@dataclass(frozen=True, eq=False)
class Distribution(Moments):
    """A distribution with SciPy's parameters: shapes, then `loc` and (of a continuous one) `scale`.

    Attributes:
        name: SciPy's name.
        shapes: the names of its shapes.
        log_density: logarithm of the density, or of the probability, of the standard form.
        support: (*shapes) -> the least and the largest z.
        discrete: whether z is an integer; then there is no scale.
        functions: what else there is in closed form: `cdf`, `sf`, `logcdf`, `logsf`, `ppf`, `isf`, of the standard
            form; of the shapes alone its `mean`, `var`, `entropy`, and, where not all moments are finite, `tail`, the
            order below which they are; and how it is drawn and placed (`draw`, `placed`) where not as a quantile.
        with_ends: (*shapes) -> whether the formulas hold at the ends of the support; else the density is 0 there.
        valid: (*shapes) -> whether there is such a distribution; in general, whether all shapes are positive.
    """

    name: str
    shapes: tuple[str, ...]
    log_density: Function
    support: Callable[..., tuple[Any, Any]] = lambda *shapes: (-math.inf, math.inf)
    discrete: bool = False
    functions: dict[str, Function] = field(default_factory=dict)
    with_ends: Callable[..., Any] = lambda *shapes: True
    valid: Callable[..., Any] = _positive

    def __getattr__(self, name: str) -> Any:
        """Return what is SciPy's alone, such as `fit`."""
        if name.startswith("_"):
            raise AttributeError(f"a distribution has no attribute {name!r}")
        return other_method(self.name, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """Return the distribution with these parameters, whose methods take a point alone."""
        self.bound("", args, kwargs)
        return Frozen(self, args, kwargs)

    @property
    def recorded(self) -> list[str]:
        """Names of the methods that traced values have."""
        body = ["logpmf", "pmf"] if self.discrete else ["logpdf", "pdf"]
        tails = [name for name in ("cdf", "logcdf", "sf", "logsf") if {"cdf", "sf"} & set(self.functions)]
        quantiles = [name for name in ("ppf", "isf") if name in self.functions]
        known = {"mean": "mean", "var": "var", "std": "var", "entropy": "entropy", "median": "ppf", "interval": "ppf"}
        found = {*self.functions, *(("mean", "var", "entropy") if self.integrated else ())}
        numbers = [name for name, needed in known.items() if needed in found]
        return [*body, *tails, *quantiles, *numbers, *(("stats", "moment", "expect") if self.integrated else ()), "rvs"]

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
            called = f"{self.name}.{method} takes ({', '.join(names)}) after its first argument"
            raise TypeError(called if method else f"{self.name} takes ({', '.join(names)})")
        given |= kwargs
        given = {name: pn.asarray(value) if isinstance(value, list | tuple) else value for name, value in given.items()}
        shapes = [given[name] for name in self.shapes]
        if all(isinstance(shape, float | int) for shape in shapes) and not self.valid(*shapes):
            shapes = [math.nan for _ in shapes]  # Python would refuse to divide by 0
        return shapes, given.get("loc", 0.0), given.get("scale", 1.0)

    def _within(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> tuple[Any, Any, Any, Any]:
        """Return a standardised point, moved inside where it is not, and whether it is below, above, or a number."""
        z = (x - loc) / scale if not self.discrete else x - loc
        low, high = (end if any_traced([end]) or np.ndim(end) else float(end) for end in self.support(*shapes))
        without = pn.logical_not(self.with_ends(*shapes))
        below = (z < low) | (z == -math.inf) | (without & (z == low))
        above = (z > high) | (z == math.inf) | (without & (z == high))
        middle = _inner(low, high)
        inside = pn.where(below | above, pn.floor(middle) if self.discrete else middle, z)
        return inside, below, above, z

    def where_defined(self, found: Any, shapes: list[Any], scale: Any, also: Any = True) -> Any:
        """Return what was found, and NaN for parameters that no such distribution has, as SciPy does."""
        return defined_where(also & (scale > 0) & self.valid(*shapes), found)

    def known(self, name: str) -> Function:
        """Return a function of the standard form; raise where there is none."""
        found = self.functions.get(name)
        if found is None:
            raise TracingError(
                f"scipy.stats.{self.name}.{name} of traced values",
                why="It is not recorded: its derivatives in the parameters are not known in closed form here.",
                fix=f"{', '.join(self.recorded)} of {self.name} are recorded.",
            )
        return found

    def _log(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        z, below, above, plain = self._within(x, shapes, loc, scale)
        found = self.log_density(z, *shapes)
        if self.discrete:
            found = pn.where(below | above | (plain != pn.floor(plain)), -math.inf, found)
        else:
            found = pn.where(below | above, -math.inf, found - pn.log(scale * pn.ones_like(z)))
        return self.where_defined(found, shapes, scale, plain == plain)

    def _probability(self, name: str, ends: tuple[float, float], point: Any) -> Any:
        x, shapes, loc, scale = point
        z, below, above, plain = self._within(pn.floor(x - loc) + loc if self.discrete else x, shapes, loc, scale)
        found = pn.where(below, ends[0], pn.where(above, ends[1], self.known(name)(z, *shapes)))
        return self.where_defined(found, shapes, scale, plain == plain)

    def _log_probability(self, name: str, other: str, ends: tuple[float, float], point: Any) -> Any:
        """Return a logarithm in closed form, or that of the smaller one of a probability and its complement."""
        x, shapes, loc, scale = point
        z, below, above, plain = self._within(pn.floor(x - loc) + loc if self.discrete else x, shapes, loc, scale)
        closed = self.functions.get(f"log{name}")
        if closed is not None:
            found = closed(z, *shapes)
        else:
            own, rest = self.known(name)(z, *shapes), self.known(other)(z, *shapes)
            small = own < 0.5
            found = pn.where(small, pn.log(pn.where(small, own, 0.5)), pn.log1p(-pn.where(small, 0.5, rest)))
        found = pn.where(below, ends[0], pn.where(above, ends[1], found))
        return self.where_defined(found, shapes, scale, plain == plain)

    def quantile(self, name: str, q: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the value at a probability, which is `ppf`'s or `isf`'s."""
        found = self.known(name)(q, *shapes) * scale + loc
        return self.where_defined(found, shapes, scale, (q >= 0.0) & (q <= 1.0))

    def rvs(self, *args: Any, key: Any = None, **kwargs: Any) -> Any:
        """Draw at random, from a key: a continuous draw is differentiable in the parameters, at every order.

        Draws of whole numbers have no derivative, and say so when one is asked for. The key decides the draws, as in
        `primad.nn.uniform`; draw again with another key, or `primad.nn.split` it.

        Args:
            *args: the parameters, then SciPy's `size` and `random_state`.
            key: an integer, or an array of integers, each of which gives a block of draws. Without one, draws are
                SciPy's own, of plain parameters only.
            **kwargs: parameters, `size` and `random_state` by name.

        Returns:
            an array of shape `key.shape + size`, whose default is the shape of the parameters together.

        Raises:
            TracingError: for traced parameters without a key.
            ShapeError: where size does not fit the parameters.

        Example:
            >>> import numpy as np, primad, primad.scipy.stats as stats
            >>> mean = lambda a: np.mean(stats.gamma.rvs(a, scale=2.0, size=1000, key=0))
            >>> primad.grad(mean)(3.0).round(1)
            np.float64(2.0)
        """
        parameters = [*self.shapes, "loc", *(() if self.discrete else ("scale",))]
        given = dict(zip([*parameters, "size", "random_state"], args, strict=False)) | kwargs
        if key is None:
            if any_traced([*args, *kwargs.values()]):
                raise without_key(self.name)
            return getattr(import_module("scipy.stats"), self.name).rvs(*args, **kwargs)
        size = given.pop("size", None)
        if given.pop("random_state", None) is not None or len(args) > len(parameters) + 2:
            raise TypeError(f"{self.name}.rvs takes ({', '.join(parameters)}, size) and a key, or a random_state")
        return draw(self, key, size, self.bound("rvs", (), given))

    @at_points
    def logpdf(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the logarithm of the density."""
        return self._log(x, shapes, loc, scale)

    @at_points
    def pdf(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the density."""
        return pn.exp(self._log(x, shapes, loc, scale))

    @at_points
    def logpmf(self, k: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the logarithm of the probability, of a discrete distribution."""
        return self._log(k, shapes, loc, scale)

    @at_points
    def pmf(self, k: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the probability, of a discrete distribution."""
        return pn.exp(self._log(k, shapes, loc, scale))

    @at_points
    def cdf(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the probability of a value that is not larger."""
        return self._probability("cdf", (0.0, 1.0), (x, shapes, loc, scale))

    @at_points
    def sf(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the probability of a larger value, to relative precision."""
        return self._probability("sf", (1.0, 0.0), (x, shapes, loc, scale))

    @at_points
    def logcdf(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the logarithm of `cdf`."""
        return self._log_probability("cdf", "sf", (-math.inf, 0.0), (x, shapes, loc, scale))

    @at_points
    def logsf(self, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the logarithm of `sf`."""
        return self._log_probability("sf", "cdf", (0.0, -math.inf), (x, shapes, loc, scale))

    @at_points
    def ppf(self, q: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the value whose `cdf` is q, of 0 < q < 1."""
        return self.quantile("ppf", q, shapes, loc, scale)

    @at_points
    def isf(self, q: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the value whose `sf` is q, of 0 < q < 1."""
        return self.quantile("isf", q, shapes, loc, scale)

    @of_parameters
    def entropy(self, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the entropy in nats; the differential one of a continuous distribution."""
        return self.number("entropy", shapes) + (0.0 if self.discrete else pn.log(scale))

    @of_parameters
    def median(self, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the value that half of the probability is below."""
        return self.known("ppf")(0.5, *shapes) * scale + loc


@dataclass(frozen=True, eq=False)
class Frozen:
    """A distribution with its parameters, which may be traced: `gamma(2.0, scale=r).logpdf(x)`.

    Attributes:
        distribution: of which family.
        args: the parameters given by position.
        kwargs: and by name.
    """

    distribution: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def rvs(self, size: Any = None, random_state: Any = None, key: Any = None) -> Any:
        """Draw at random, as the distribution's `rvs` does."""
        options = {"size": size, "random_state": random_state, "key": key}
        given = {name: value for name, value in options.items() if value is not None}
        return self.distribution.rvs(*self.args, **self.kwargs, **given)

    def stats(self, moments: str = "mv") -> Any:
        """Return moments, as the distribution's `stats` does."""
        return self.distribution.stats(*self.args, **self.kwargs, moments=moments)

    def expect(self, func: Function | None = None, lb: Any = None, ub: Any = None, conditional: bool = False) -> Any:
        """Return the mean of a function of x, as the distribution's `expect` does."""
        shapes, loc, scale = self.distribution.bound("expect", self.args, self.kwargs)
        placed = {"loc": loc} if self.distribution.discrete else {"loc": loc, "scale": scale}
        return self.distribution.expect(func, tuple(shapes), **placed, lb=lb, ub=ub, conditional=conditional)

    def __getattr__(self, name: str) -> Any:
        """Return the distribution's method of this name, that takes no parameters any more."""
        if name.startswith("_"):
            raise AttributeError(f"a frozen distribution has no attribute {name!r}")
        family = self.distribution
        if not hasattr(type(family), name) and not any_traced([*self.args, *self.kwargs.values()]):
            return getattr(getattr(import_module("scipy.stats"), family.name)(*self.args, **self.kwargs), name)
        method = getattr(family, name)

        def of_point(*point: Any, **options: Any) -> Any:
            point += tuple(options.pop(key) for key in ("x", "k", "q") if key in options)
            return method(*point, *self.args, **options, **self.kwargs)

        return of_point
