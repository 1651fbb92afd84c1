"""Functions of one coordinate that a family of problems is over: drawn, and known by their values at sensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.sampling import Array, generator
from primad.recording.foreign import plain
from primad.scipy.interpolate import BSpline

__all__ = ["FourierSeries", "GaussianProcess", "GivenFunctions"]

DEGREE = 3
"""Of the splines between sensors: with two continuous derivatives."""
SAMPLES_A_WAVE = 4
"""Sensors that a wave of a Fourier series has at least, so that a spline through them is no other function."""
JITTER = 1e-10
"""What is added to a covariance, relative to the variance, so that rounding leaves it positive: samples change by its
root, 1e-5 of their deviation."""


class InputFunctions(ABC):
    """Functions of one coordinate, known by their values at sensors: even steps from its lowest to its highest value.

    Between the sensors they are cubic splines. Networks get the values at the sensors, in units of `scale`.
    """

    coordinate: str
    count: int
    sensors: int

    @property
    @abstractmethod
    def scale(self) -> float:
        """The size of the values."""

    @abstractmethod
    def drawn(self, grid: Array, rng: np.random.Generator) -> Array:
        """Return the values of `count` functions at the sensors, a function a row.

        Args:
            grid: the sensors, from the lowest value of the coordinate to the highest.
            rng: for what is random.
        """

    def _check(self, *names: str, whole: tuple[str, ...] = ("count", "sensors")) -> None:
        """Raise if a size is not positive, or there are too few sensors for a spline."""
        what = type(self).__name__
        if not isinstance(self.coordinate, str):
            raise ProblemError(
                f"{what}: functions are of one coordinate, by name, got {self.coordinate!r}",
                fix=f'write {what}("x", …).',
            )
        for name in (*names, *whole):
            value, kinds = getattr(self, name), (int, np.integer) if name in whole else (int, float, np.number)
            if isinstance(value, bool) or not isinstance(value, kinds) or not value > 0:
                kind = "integer" if name in whole else "number"
                raise ProblemError(
                    f"{what}: {name} must be a positive {kind}, got {value!r}", fix=f"write {name}=10, say."
                )
        if self.sensors <= DEGREE:
            raise ProblemError(
                f"{what}: {self.sensors} sensors are too few",
                why="Between them is a cubic spline.",
                fix="have 20, say.",
            )


@dataclass(frozen=True)
class GaussianProcess(InputFunctions):
    """Samples of a Gaussian process with mean 0 and covariance deviation² exp(−(x − y)²/(2 length²)).

    Attributes:
        coordinate: of which they are functions.
        length: over which a sample changes, in units of the coordinate.
        deviation: standard deviation of the values.
        count: how many functions are drawn at a time.
        sensors: at how many points networks get a function.

    Example:
        >>> import numpy as np
        >>> from primad import pde
        >>> process = pde.GaussianProcess("x", length=0.2, count=5, sensors=20)
        >>> process.drawn(np.linspace(0, 1, 20), np.random.default_rng(0)).shape
        (5, 20)
    """

    coordinate: str
    length: float = 0.2
    deviation: float = 1.0
    count: int = 100
    sensors: int = 50

    def __post_init__(self) -> None:
        self._check("length", "deviation")

    @property
    def scale(self) -> float:
        """The deviation."""
        return self.deviation

    def drawn(self, grid: Array, rng: np.random.Generator) -> Array:
        """Return the values of samples at the sensors, a function a row."""
        covariance = np.exp(-((grid[:, None] - grid) ** 2) / (2 * self.length**2))
        root = np.linalg.cholesky(covariance + JITTER * np.eye(len(grid)))
        found: Array = self.deviation * rng.standard_normal((self.count, len(grid))) @ root.T
        return found


@dataclass(frozen=True)
class FourierSeries(InputFunctions):
    """Fourier series with random coefficients, a + Σ k^(−decay) (aₖ cos 2πks + bₖ sin 2πks), s from 0 to 1.

    Attributes:
        coordinate: of which they are functions; they repeat at its ends.
        terms: up to which k.
        decay: how fast coefficients become small: functions are smoother where it is larger.
        deviation: standard deviation of a, aₖ and bₖ.
        count: how many functions are drawn at a time.
        sensors: at how many points networks get a function.

    Example:
        >>> import numpy as np
        >>> from primad import pde
        >>> waves = pde.FourierSeries("x", terms=3, count=5).drawn(np.linspace(0, 1, 64), np.random.default_rng(0))
        >>> bool(np.allclose(waves[:, 0], waves[:, -1]))
        True
    """

    coordinate: str
    terms: int = 5
    decay: float = 1.0
    deviation: float = 1.0
    count: int = 100
    sensors: int = 64

    def __post_init__(self) -> None:
        self._check("deviation", whole=("terms", "count", "sensors"))
        if self.sensors < SAMPLES_A_WAVE * self.terms:
            raise ProblemError(
                f"FourierSeries: {self.sensors} sensors are too few for {self.terms} waves",
                fix=f"have {SAMPLES_A_WAVE * self.terms} sensors at least, or fewer terms.",
            )

    @property
    def scale(self) -> float:
        """The deviation."""
        return self.deviation

    def drawn(self, grid: Array, rng: np.random.Generator) -> Array:
        """Return the values of random series at the sensors, a function a row."""
        waves = np.arange(1, self.terms + 1)
        phase = 2 * np.pi * waves[:, None] * (grid - grid[0]) / (grid[-1] - grid[0])
        sizes = waves[:, None] ** -float(self.decay)
        basis = np.concatenate([np.ones((1, len(grid))), sizes * np.cos(phase), sizes * np.sin(phase)])
        found: Array = self.deviation * rng.standard_normal((self.count, len(basis))) @ basis
        return found


@dataclass(frozen=True, eq=False)
class GivenFunctions(InputFunctions):
    """Functions that are given by their values at even steps of a coordinate, both ends included.

    Attributes:
        coordinate: of which they are functions.
        values: a function a row.
        count: how many of them are drawn at a time; None for all.

    Example:
        >>> import numpy as np
        >>> from primad import pde
        >>> bumps = [np.exp(-10 * (np.linspace(0, 1, 20) - middle) ** 2) for middle in (0.3, 0.5, 0.7)]
        >>> pde.GivenFunctions("x", bumps).sensors
        20
    """

    coordinate: str
    values: Any
    count: int = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if callable(self.values) or (isinstance(self.values, (list, tuple)) and any(map(callable, self.values))):
            raise ProblemError(
                "GivenFunctions: functions are given by their values at even steps, got functions of Python",
                fix="with x = np.linspace(…) from one end of the coordinate to the other pass [f(x) for f in …].",
            )
        values = plain(self.values, np.float64)
        if values.ndim != 2 or not np.all(np.isfinite(values)):
            raise ProblemError(
                f"GivenFunctions: values are an array with a function a row, got the shape {values.shape}"
                if values.ndim != 2
                else "GivenFunctions: a value is NaN or infinite",
                fix="pass np.stack([…]) of the finite values of functions at even steps.",
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "count", len(values) if self.count is None else self.count)
        self._check()
        if self.count > len(values):
            raise ProblemError(
                f"GivenFunctions: there are {len(values)} functions, fewer than {self.count}",
                fix="leave count out, for all.",
            )

    @property
    def sensors(self) -> int:  # type: ignore[override]
        """At how many points the functions are given."""
        return int(self.values.shape[1])

    @cached_property
    def scale(self) -> float:
        """The root of the mean square of all values."""
        return float(np.sqrt(np.mean(self.values**2))) or 1.0

    def drawn(self, grid: Array, rng: np.random.Generator) -> Array:
        """Return the values of all functions, or of some that are drawn, a function a row."""
        if self.count == len(self.values):
            return np.array(self.values)
        found: Array = self.values[np.sort(rng.choice(len(self.values), self.count, replace=False))]
        return found


def spline(grid: Array, values: Any, degree: int = DEGREE) -> Callable[[Any], Any]:
    """Return the splines through values at a grid, a function a row, as one function of a number.

    They are sums of those that are 1 at one point of the grid, which all functions share.
    """
    from scipy.interpolate import make_interp_spline  # loads when a family is made

    unit = make_interp_spline(grid, np.eye(len(grid)), degree)
    each = BSpline(unit.t, unit.c, degree)
    return lambda x: values @ each(x)


def generated(functions: InputFunctions, grid: Array, seed: tuple[int, ...]) -> Array:
    """Return functions that belong to some integers."""
    return functions.drawn(grid, generator(*seed))
