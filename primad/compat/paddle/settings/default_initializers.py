"""Initial values of parameters (`paddle.nn.initializer`).

An initialiser is a function of (NumPy generator, shape, dtype) that returns an array. Eager layers call it; a static
startup program holds it as an operator of the type that Paddle uses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

Shape = Sequence[int]


class Initializer:
    """A way to fill a new parameter.

    Attributes:
        type: what Paddle calls the operator that does it.
    """

    type: ClassVar[str]

    def __call__(self, rng: np.random.Generator, shape: Shape, dtype: Any) -> np.ndarray[Any, Any]:
        """Return an array of a shape and dtype, drawing from the generator."""
        raise NotImplementedError

    def attributes(self, shape: Shape) -> dict[str, Any]:
        """Return what the text of a startup program says about it, by Paddle's names."""
        return {}


def fans(shape: Shape) -> tuple[int, int]:
    """Return how many inputs and outputs a weight connects: (in, out) for matrices, (out, in, *kernel) for kernels."""
    if len(shape) < 2:
        size = math.prod(shape)
        return size, size
    if len(shape) == 2:
        return shape[0], shape[1]
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


@dataclass(frozen=True)
class Constant(Initializer):
    """Fill with one value."""

    value: float = 0.0
    type: ClassVar[str] = "fill_constant"

    def __call__(self, rng: np.random.Generator, shape: Shape, dtype: Any) -> np.ndarray[Any, Any]:
        """Return an array filled with the value."""
        return np.full(tuple(shape), self.value, dtype)

    def attributes(self, shape: Shape) -> dict[str, Any]:
        """Return the value."""
        return {"value": float(self.value)}


@dataclass(frozen=True)
class Assign(Initializer):
    """Fill with given values."""

    value: Any
    type: ClassVar[str] = "assign_value"

    def __call__(self, rng: np.random.Generator, shape: Shape, dtype: Any) -> np.ndarray[Any, Any]:
        """Return a copy of the values, in the parameter's shape."""
        value = self.value.numpy() if hasattr(self.value, "numpy") else self.value
        return np.array(value, dtype).reshape(tuple(shape))


class UniformDraw(Initializer):
    """Draw uniformly from an interval that may depend on the shape."""

    type: ClassVar[str] = "uniform_random"

    def bounds(self, shape: Shape) -> tuple[float, float]:
        """Return the interval for a parameter of that shape."""
        raise NotImplementedError

    def __call__(self, rng: np.random.Generator, shape: Shape, dtype: Any) -> np.ndarray[Any, Any]:
        """Return an array drawn from the interval."""
        return rng.uniform(*self.bounds(shape), tuple(shape)).astype(dtype)

    def attributes(self, shape: Shape) -> dict[str, Any]:
        """Return the interval."""
        low, high = self.bounds(shape)
        return {"min": low, "max": high}


@dataclass(frozen=True)
class Uniform(UniformDraw):
    """Draw uniformly from [low, high)."""

    low: float = -1.0
    high: float = 1.0

    def bounds(self, shape: Shape) -> tuple[float, float]:
        """Return the interval."""
        return self.low, self.high


@dataclass(frozen=True)
class XavierUniform(UniformDraw):
    """Draw uniformly within ±√(6/(inputs + outputs)) (Glorot & Bengio 2010)."""

    fan_in: float | None = None
    fan_out: float | None = None
    gain: float = 1.0

    def bounds(self, shape: Shape) -> tuple[float, float]:
        """Return the interval for a parameter of that shape."""
        inputs, outputs = fans(shape)
        total = (self.fan_in or inputs) + (self.fan_out or outputs)
        limit = self.gain * math.sqrt(6.0 / total)
        return -limit, limit


@dataclass(frozen=True)
class KaimingUniform(UniformDraw):
    """Draw uniformly within ±√(6/inputs) for ReLU networks (He et al. 2015)."""

    fan_in: float | None = None
    negative_slope: float = 0.0
    nonlinearity: str = "relu"

    def bounds(self, shape: Shape) -> tuple[float, float]:
        """Return the interval for a parameter of that shape."""
        limit = _gain(self.nonlinearity, self.negative_slope) * math.sqrt(3.0 / (self.fan_in or fans(shape)[0]))
        return -limit, limit


class NormalDraw(Initializer):
    """Draw from a normal distribution, whose deviation may depend on the shape."""

    type: ClassVar[str] = "gaussian_random"
    mean: float = 0.0

    def deviation(self, shape: Shape) -> float:
        """Return the standard deviation for a parameter of that shape."""
        raise NotImplementedError

    def __call__(self, rng: np.random.Generator, shape: Shape, dtype: Any) -> np.ndarray[Any, Any]:
        """Return an array drawn from the distribution."""
        return rng.normal(self.mean, self.deviation(shape), tuple(shape)).astype(dtype)

    def attributes(self, shape: Shape) -> dict[str, Any]:
        """Return mean and standard deviation."""
        return {"mean": self.mean, "std": self.deviation(shape)}


@dataclass(frozen=True)
class Normal(NormalDraw):
    """Draw from a normal distribution."""

    mean: float = 0.0
    std: float = 1.0

    def deviation(self, shape: Shape) -> float:
        """Return the standard deviation."""
        return self.std


@dataclass(frozen=True)
class TruncatedNormal(NormalDraw):
    """Draw from a normal distribution, again where a draw is outside of [mean + a·std, mean + b·std]."""

    mean: float = 0.0
    std: float = 1.0
    a: float = -2.0
    b: float = 2.0
    type: ClassVar[str] = "truncated_gaussian_random"

    def deviation(self, shape: Shape) -> float:
        """Return the standard deviation."""
        return self.std

    def __call__(self, rng: np.random.Generator, shape: Shape, dtype: Any) -> np.ndarray[Any, Any]:
        """Return an array drawn from the distribution."""
        drawn = rng.standard_normal(tuple(shape))
        while (outside := (drawn < self.a) | (drawn > self.b)).any():
            drawn[outside] = rng.standard_normal(int(outside.sum()))
        return (self.mean + self.std * drawn).astype(dtype)


@dataclass(frozen=True)
class XavierNormal(NormalDraw):
    """Draw normally with deviation √(2/(inputs + outputs)) (Glorot & Bengio 2010)."""

    fan_in: float | None = None
    fan_out: float | None = None
    gain: float = 1.0

    def deviation(self, shape: Shape) -> float:
        """Return the standard deviation for a parameter of that shape."""
        inputs, outputs = fans(shape)
        return self.gain * math.sqrt(2.0 / ((self.fan_in or inputs) + (self.fan_out or outputs)))


@dataclass(frozen=True)
class KaimingNormal(NormalDraw):
    """Draw normally with deviation √(2/inputs) for ReLU networks (He et al. 2015)."""

    fan_in: float | None = None
    negative_slope: float = 0.0
    nonlinearity: str = "relu"

    def deviation(self, shape: Shape) -> float:
        """Return the standard deviation for a parameter of that shape."""
        return _gain(self.nonlinearity, self.negative_slope) / math.sqrt(self.fan_in or fans(shape)[0])


def _gain(nonlinearity: str, slope: float) -> float:
    gains = {"relu": math.sqrt(2.0), "leaky_relu": math.sqrt(2.0 / (1.0 + slope**2)), "tanh": 5.0 / 3.0}
    return gains.get(nonlinearity, 1.0)
