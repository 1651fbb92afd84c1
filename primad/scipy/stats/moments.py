"""Moments of a distribution of numbers, and means of functions, under SciPy's names."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from importlib import import_module
from typing import Any

from primad import numpy as pn
from primad.errors import TracingError
from primad.numpy import special
from primad.numpy.promotion import any_traced
from primad.scipy.stats.function_means import REACH, central, entropy_of, parts_of, power_mean, sum_of
from primad.scipy.stats.recorded_methods import at_points, of_parameters
from primad.scipy.traced_calls import is_recorded

Function = Callable[..., Any]


class Moments:
    """The methods of a distribution that are integrals, or made of moments."""

    name: str
    discrete: bool
    functions: dict[str, Function]
    known: Callable[..., Any]
    bound: Callable[..., Any]
    quantile: Callable[..., Any]
    where_defined: Callable[..., Any]
    logcdf: Any
    logsf: Any

    @property
    def integrated(self) -> bool:
        """Whether means of functions are integrals over quantiles, or sums that end."""
        return "tail" not in self.functions if self.discrete else "ppf" in self.functions

    @property
    def recorded(self) -> list[str]:
        """Names of the methods that traced values have."""
        raise NotImplementedError

    def _check_integrated(self) -> None:
        if self.discrete and not self.integrated:
            raise TracingError(
                f"means of functions of scipy.stats.{self.name} of traced values",
                why="Its probabilities fall like a power: no sum of as many as can be added is near the whole.",
                fix=f"{', '.join(self.recorded)} of {self.name} are recorded; add up what counts of pmf yourself.",
            )
        if not self.discrete:
            self.known("ppf")

    def number(self, name: str, shapes: list[Any]) -> Any:
        """Return mean, variance or entropy of the standard form, by an integral where there is no closed form."""
        if name in self.functions or not self.integrated:
            return self.known(name)(*shapes)
        if name == "entropy":
            return entropy_of(self, shapes)
        if name == "mean":
            return power_mean(self, 1, shapes)
        return power_mean(self, 2, shapes, self.number("mean", shapes))

    @of_parameters
    def mean(self, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the expected value."""
        return self.number("mean", shapes) * scale + loc

    @of_parameters
    def var(self, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the variance."""
        return self.number("var", shapes) * (scale * scale)

    @of_parameters
    def std(self, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the standard deviation."""
        return pn.sqrt(self.number("var", shapes)) * scale

    @at_points
    def interval(self, confidence: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the ends of the interval around the median that has this probability."""
        tail = 0.5 - 0.5 * confidence
        return self.quantile("ppf", tail, shapes, loc, scale), self.quantile("isf", tail, shapes, loc, scale)

    @at_points
    def moment(self, order: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return the mean of a power of x, by an integral or a sum."""
        self._check_integrated()
        found = power_mean(self, operator.index(order), shapes, -loc / scale, 1.0 / scale)
        return self.where_defined(found, shapes, scale)

    def stats(self, *args: Any, moments: str = "mv", **kwargs: Any) -> Any:
        """Return the mean, the variance, the skewness and the excess kurtosis, those of the letters "mvsk" asked for.

        The last two are integrals, where quantiles are recorded, or sums.
        """
        if not any_traced([*args, *kwargs.values()]):
            return getattr(import_module("scipy.stats"), self.name).stats(*args, moments=moments, **kwargs)
        makers = {"m": self.mean, "v": self.var, "s": self._skewness, "k": self._kurtosis}
        found = tuple(makers[letter](*args, **kwargs) for letter in "mvsk" if letter in moments)
        return found[0] if len(found) == 1 else found

    @of_parameters
    def _skewness(self, shapes: list[Any], loc: Any, scale: Any) -> Any:
        self._check_integrated()
        return central(self, 3, shapes)

    @of_parameters
    def _kurtosis(self, shapes: list[Any], loc: Any, scale: Any) -> Any:
        self._check_integrated()
        return central(self, 4, shapes) - 3.0

    def expect(
        self,
        func: Function | None = None,
        args: tuple[Any, ...] = (),
        loc: Any = 0.0,
        scale: Any = 1.0,
        lb: Any = None,
        ub: Any = None,
        conditional: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Return the mean of a function of x, by an integral or a sum; SciPy's own where nothing is traced.

        Args:
            func: (x) -> number, written with NumPy, of an array of whole numbers; x itself by default.
            args: the shapes, which are numbers.
            loc: as everywhere.
            scale: as everywhere.
            lb: the least x that counts.
            ub: the largest x that counts.
            conditional: whether to divide by the probability of what counts.
            **kwargs: SciPy's options, where nothing is traced.

        Example:
            >>> import numpy as np, primad, primad.scipy.stats as stats
            >>> call = lambda s: stats.lognorm.expect(lambda x: np.maximum(x - 1.0, 0.0), (s,), lb=1.0)
            >>> primad.grad(call)(0.5).round(6)
            np.float64(0.790707)
        """
        placed = [*args, loc, *(() if self.discrete else (scale,))]
        of_x: Function = func or (lambda x: x)
        if not is_recorded([placed, lb, ub], lambda: of_x(1.0)):
            own = {"loc": loc, "lb": lb, "ub": ub, "conditional": conditional} | kwargs
            own |= {} if self.discrete else {"scale": scale}
            return getattr(import_module("scipy.stats"), self.name).expect(func, args, **own)
        self._check_integrated()
        shapes, loc, scale = self.bound("expect", tuple(placed), {})
        if self.discrete:
            ends = -math.inf if lb is None else lb - loc, math.inf if ub is None else ub - loc
            found, share = sum_of(self, lambda z: of_x(z + loc), shapes, ends)
            return self.where_defined(found / share if conditional else found, shapes, scale)

        def log_odds(x: Any, end: float) -> Any:
            if x is None:
                return end
            odds = self.logcdf(x + 0.0 * loc, *shapes, loc, scale) - self.logsf(x + 0.0 * loc, *shapes, loc, scale)
            return pn.clip(odds, -REACH, REACH)

        ends = log_odds(lb, -REACH), log_odds(ub, REACH)
        found = sum(parts_of(self, lambda z: of_x(z * scale + loc), shapes, ends))
        if conditional:
            found = found / (special.expit(ends[1]) - special.expit(ends[0]))
        return self.where_defined(found, shapes, scale)
