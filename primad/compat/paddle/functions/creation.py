"""New tensors: filled, counted and drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from primad.compat.paddle.eager.operators import Value, apply, prototype
from primad.compat.paddle.settings.dtypes import as_dtype, default_numpy, get_default_dtype
from primad.compat.paddle.settings.errors import ArgumentTypeError


def shape_of(shape: Any) -> tuple[int, ...]:
    """Return a shape given as a list, a tuple, one number, or a tensor of integers.

    Raises:
        ArgumentTypeError: for a static variable: a shape must be known when the program is built.
    """
    if isinstance(shape, Value):
        if not hasattr(shape, "numpy"):
            raise ArgumentTypeError(
                "a shape was given as a static Variable",
                why="Shapes are part of a program; only −1 stands for a length that is known when it runs.",
                fix="give the lengths as numbers, or use a function with _like.",
            )
        return tuple(int(length) for length in np.atleast_1d(shape.numpy()))
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    return tuple(int(length) for length in shape)


# -- filled ------------------------------------------------------------------------------------------------------------


@prototype("fill_constant", inputs="", shape=(), value=0.0, dtype="float32")
def fill_constant_(*, shape: tuple[int, ...], value: float, dtype: str) -> Any:
    return np.full(shape, value, dtype)[()]


@prototype("fill_any_like", value=0.0, dtype=None)
def fill_any_like_(x: Any, *, value: float, dtype: str | None) -> Any:
    return np.full_like(x, value, dtype=dtype or x.dtype)


@prototype("assign_value", inputs="", values=None)
def assign_value_(*, values: np.ndarray[Any, Any]) -> Any:
    return np.array(values)


@prototype("assign")
def assign_(x: Any) -> Any:
    return x


def full(shape: Any, fill_value: Any, dtype: Any = None, name: Any = None) -> Any:
    """Return a tensor filled with one value; in the default data type, unless it is a boolean or one is given."""
    value = fill_value.item() if hasattr(fill_value, "item") else fill_value
    if dtype is None:
        dtype = "bool" if isinstance(value, bool) else get_default_dtype()
    return apply(fill_constant_, shape=shape_of(shape), value=value, dtype=as_dtype(dtype).name, name=name)


def zeros(shape: Any, dtype: Any = None, name: Any = None) -> Any:
    """Return a tensor of zeros, in the default data type unless one is given."""
    return full(shape, 0.0, dtype, name=name)


def ones(shape: Any, dtype: Any = None, name: Any = None) -> Any:
    """Return a tensor of ones, in the default data type unless one is given."""
    return full(shape, 1.0, dtype, name=name)


def full_like(x: Any, fill_value: Any, dtype: Any = None, name: Any = None) -> Any:
    """Return a tensor of the shape of x filled with one value."""
    return apply(
        fill_any_like_,
        x,
        layer="full_like",
        value=fill_value,
        dtype=None if dtype is None else as_dtype(dtype).name,
        name=name,
    )


def zeros_like(x: Any, dtype: Any = None, name: Any = None) -> Any:
    """Return a tensor of zeros of the shape of x."""
    return full_like(x, 0.0, dtype, name=name)


def ones_like(x: Any, dtype: Any = None, name: Any = None) -> Any:
    """Return a tensor of ones of the shape of x."""
    return full_like(x, 1.0, dtype, name=name)


# -- counted -----------------------------------------------------------------------------------------------------------


def _values(array: np.ndarray[Any, Any], dtype: Any, name: str | None = None) -> Any:
    """Return a tensor of values that are known."""
    wanted = array.dtype if dtype is None else as_dtype(dtype).numpy
    return apply(assign_value_, values=array.astype(wanted), name=name)


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None, name: Any = None) -> Any:
    """Return the numbers from start up to end, which is left out; int64 if all of them are integers."""
    numbers = [_number(value) for value in ((0, start, step) if end is None else (start, end, step))]
    if dtype is None:
        dtype = "int64" if all(isinstance(number, int) for number in numbers) else get_default_dtype()
    return _values(np.arange(*numbers), dtype, name)


def linspace(start: Any, stop: Any, num: Any, dtype: Any = None, name: Any = None) -> Any:
    """Return `num` numbers at equal distances, start and stop included."""
    return _values(np.linspace(_number(start), _number(stop), int(_number(num))), dtype or get_default_dtype(), name)


def eye(num_rows: int, num_columns: int | None = None, dtype: Any = None, name: Any = None) -> Any:
    """Return the identity matrix."""
    return _values(np.eye(num_rows, num_columns), dtype or get_default_dtype(), name)


# -- drawn -------------------------------------------------------------------------------------------------------------


def _draw_uniform(rng: np.random.Generator, *, shape: Any, min: float, max: float, dtype: str, seed: int) -> Any:
    return rng.uniform(min, max, shape).astype(dtype)


@prototype("uniform_random", inputs="", draw=_draw_uniform, shape=(), min=-1.0, max=1.0, dtype="float32", seed=0)
def uniform_random_(drawn: Any, **_: Any) -> Any:
    return drawn


def _draw_normal(rng: np.random.Generator, *, shape: Any, mean: float, std: float, dtype: str, seed: int) -> Any:
    return rng.normal(mean, std, shape).astype(dtype)


@prototype("gaussian_random", inputs="", draw=_draw_normal, shape=(), mean=0.0, std=1.0, dtype="float32", seed=0)
def gaussian_random_(drawn: Any, **_: Any) -> Any:
    return drawn


def _draw_integers(rng: np.random.Generator, *, shape: Any, low: int, high: int, dtype: str, seed: int) -> Any:
    return rng.integers(low, high, shape).astype(dtype)


@prototype("randint", inputs="", draw=_draw_integers, shape=(), low=0, high=2, dtype="int64", seed=0)
def randint_(drawn: Any, **_: Any) -> Any:
    return drawn


def _draw_permutation(rng: np.random.Generator, *, n: int, dtype: str, seed: int) -> Any:
    return rng.permutation(n).astype(dtype)


@prototype("randperm", inputs="", draw=_draw_permutation, n=0, dtype="int64", seed=0)
def randperm_(drawn: Any, **_: Any) -> Any:
    return drawn


def uniform(shape: Any, dtype: Any = None, min: float = -1.0, max: float = 1.0, seed: int = 0, name: Any = None) -> Any:
    """Return numbers drawn uniformly from [min, max)."""
    named = as_dtype(dtype or default_numpy()).name
    return apply(
        uniform_random_, shape=shape_of(shape), min=float(min), max=float(max), dtype=named, seed=seed, name=name
    )


def rand(shape: Any, dtype: Any = None, name: Any = None) -> Any:
    """Return numbers drawn uniformly from [0, 1)."""
    return uniform(shape, dtype, 0.0, 1.0, name=name)


def gaussian(
    shape: Any, mean: float = 0.0, std: float = 1.0, seed: int = 0, dtype: Any = None, name: Any = None
) -> Any:
    """Return numbers drawn from a normal distribution."""
    named = as_dtype(dtype or default_numpy()).name
    return apply(
        gaussian_random_, shape=shape_of(shape), mean=float(mean), std=float(std), dtype=named, seed=seed, name=name
    )


def normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: Any = None) -> Any:
    """Return numbers drawn from a normal distribution, or one for each mean or deviation in a tensor."""
    tensor = next((value for value in (mean, std) if isinstance(value, Value)), None)
    if tensor is not None:
        return mean + std * gaussian(tensor.shape, dtype=tensor.dtype)  # type: ignore[attr-defined]
    return gaussian(() if shape is None else shape, mean, std, name=name)


def randn(shape: Any, dtype: Any = None, name: Any = None) -> Any:
    """Return numbers drawn from the standard normal distribution."""
    return gaussian(shape, dtype=dtype, name=name)


standard_normal = randn


def randint(low: int = 0, high: int | None = None, shape: Any = (1,), dtype: Any = None, name: Any = None) -> Any:
    """Return integers drawn uniformly from [low, high); with one bound, from [0, low)."""
    low, high = (0, low) if high is None else (low, high)
    return apply(randint_, shape=shape_of(shape), low=low, high=high, dtype=as_dtype(dtype or "int64").name, name=name)


def randint_like(x: Any, low: int = 0, high: int | None = None, dtype: Any = None, name: Any = None) -> Any:
    """Return integers drawn uniformly from [low, high), in the shape and data type of x."""
    return randint(low, high, x.shape, dtype or x.dtype, name=name)


def _draw_bernoulli(rng: np.random.Generator, *, shape: Any, dtype: str, seed: int) -> Any:
    return rng.random(shape)


@prototype("bernoulli", inputs="X", draw=_draw_bernoulli, shape=(), dtype="float32", seed=0)
def bernoulli_(x: Any, drawn: Any, *, dtype: str, **_: Any) -> Any:
    return (drawn < x).astype(dtype)


def bernoulli(x: Any, name: Any = None) -> Any:
    """Return 1 with the probability that x says, else 0; no gradient passes."""
    return apply(bernoulli_, x.detach(), shape=shape_of(x.shape), dtype=as_dtype(x.dtype).name, name=name)


def randperm(n: int, dtype: Any = "int64", name: Any = None) -> Any:
    """Return the integers below n in random order."""
    return apply(randperm_, n=n, dtype=as_dtype(dtype).name, name=name)


def assign(x: Any, output: Any = None) -> Any:
    """Return a copy of a tensor, an array, a number or a list.

    Raises:
        ArgumentTypeError: with `output`, which is not supported here.
    """
    if output is not None:
        raise ArgumentTypeError("assign with output= is not supported", fix="use its result.")
    if isinstance(x, Value):
        return apply(assign_, x)
    array = np.asarray(x)
    return _values(array, get_default_dtype() if array.dtype == np.float64 and not isinstance(x, np.ndarray) else None)


__all__ = [
    "arange", "bernoulli", "eye", "full", "full_like", "gaussian", "linspace", "normal", "ones", "ones_like",
    "rand", "randint", "randint_like", "randn", "randperm", "standard_normal", "uniform", "zeros", "zeros_like",
]  # fmt: skip
