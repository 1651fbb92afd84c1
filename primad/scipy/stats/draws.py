"""Random draws of distributions, from keys: functions of the parameters, and differentiable in them where one is.

A continuous distribution is drawn as its quantile at a uniform number, or as a function of normal numbers. The
derivative of a draw in a parameter is then that of the value at a fixed probability, dx/dθ = −(∂F/∂θ)/f. Means of
functions of draws have unbiased derivatives so (Figurnov, Mohamed & Mnih 2018, Implicit reparameterization gradients).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from primad import nn
from primad import numpy as pn
from primad.errors import NotDifferentiableError, ShapeError, TracingError
from primad.functional.derivatives.first_order import jvp
from primad.functional.recorded_values import stop_gradient
from primad.functional.rules.custom_rules import custom_jvp
from primad.functional.rules.opaque import opaque
from primad.ir.array_types import ArrayType

Function = Callable[..., Any]


def drawn_shape(name: str, size: Any, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape of draws: that of the parameters, or a given one that they fit.

    Raises:
        ShapeError: where they do not fit.
    """
    own = np.broadcast_shapes(*shapes)
    if size is None:
        return own
    wanted = tuple(int(n) for n in np.atleast_1d(size))
    if len(own) > len(wanted) or any(
        n not in (1, m) for n, m in zip(own, wanted[len(wanted) - len(own) :], strict=True)
    ):
        raise ShapeError(
            f"scipy.stats.{name}.rvs: parameters of shape {own} do not fit size={size}",
            why="Each draw has parameters of its own: size is the shape of all draws together, as in SciPy.",
            fix=f"leave size out, or let it end in {own}.",
        )
    return wanted


def dtype_of(*parameters: Any) -> np.dtype[Any]:
    """Return the floats that draws with these parameters are: of 64 bits, unless all arrays have fewer."""
    found = np.result_type(*[p.dtype for p in parameters if hasattr(p, "dtype")] or [np.float64])
    return found if found.kind == "f" else np.dtype(np.float64)


def uniforms(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Draw numbers between 0 and 1, without either: where a draw is 0, half of the least other one."""
    return pn.maximum(nn.uniform(key, shape, dtype), 0.25 * np.finfo(dtype).eps)


def normals(key: Any, count: int, shape: tuple[int, ...], dtype: Any) -> list[Any]:
    """Draw normal numbers, several arrays of them."""
    keys = pn.asarray(nn.split(key, count))
    return [pn.special.ndtri(uniforms(keys[..., i], shape, dtype)) for i in range(count)]


def without_key(name: str) -> TracingError:
    """Return the error for draws with traced parameters that no key decides."""
    return TracingError(
        f"scipy.stats.{name}.rvs of traced parameters without a key",
        why="A recorded function has to be pure: a key, and no hidden state, decides its draws.",
        fix="pass key=, an integer, which may be traced too; primad.nn.split makes new ones of it.",
    )


def draw(family: Any, key: Any, size: Any, parameters: tuple[list[Any], Any, Any]) -> Any:
    """Return draws of a distribution of numbers.

    Args:
        family: the distribution.
        key: an integer, or an array of integers, each of which gives a block of draws.
        size: the shape of a block, as SciPy's.
        parameters: its shapes, loc and scale.
    """
    shapes, loc, scale = parameters
    given = [*shapes, loc, scale]
    shape, dtype = drawn_shape(family.name, size, [np.shape(p) for p in given]), dtype_of(*given)
    if family.discrete:
        u = uniforms(key, shape, np.float64)
        return pn.asarray(_whole(family.name, u, *[pn.broadcast_to(s, u.shape) for s in shapes]) + loc).astype(np.int64)
    drawn = family.functions.get("draw")
    z = drawn(key, shape, dtype, *shapes) if drawn else family.functions["ppf"](uniforms(key, shape, dtype), *shapes)
    placed = family.functions.get("placed", lambda z, loc, scale: z * scale + loc)
    return family.where_defined(placed(z, loc, scale), shapes, scale)


# -- whole numbers -----------------------------------------------------------------------------------------------------


@opaque(result=lambda u, *shapes, of: ArrayType(u.shape, u.dtype), vmap="vectorized", name="quantile")
def _quantile(u: Any, *shapes: Any, of: tuple[str, str]) -> Any:
    """Return SciPy's quantiles."""
    name, method = of
    return np.asarray(getattr(getattr(import_module("scipy.stats"), name), method)(u, *shapes), u.dtype)


def middle_of(name: str, shapes: list[Any]) -> Any:
    """Return the median of a distribution of whole numbers, without derivatives."""
    whole = np.broadcast_shapes(*[np.shape(shape) for shape in shapes])
    given = [pn.broadcast_to(pn.asarray(shape) * 1.0, whole) for shape in shapes]
    return _quantile(pn.full(whole, 0.5), *stop_gradient(given), of=(name, "ppf"))


def _whole_quantile(name: str, u: Any, *shapes: Any) -> Any:
    return _quantile(u, *shapes, of=(name, "ppf"))


_whole = custom_jvp(_whole_quantile, nondiff_argnums=(0,))


@_whole.defjvp
def _whole_rule(name: str, primals: Any, tangents: Any) -> Any:
    raise _no_derivative(name)


def _no_derivative(name: str) -> NotDifferentiableError:
    return NotDifferentiableError(
        f"draws of scipy.stats.{name} in its parameters",
        why="They are whole numbers, which jump where a parameter moves: the derivative of a mean of theirs is "
        "not the mean of their derivatives, which are 0.",
        fix=f"draw with primad.stop_gradient of the parameters, and multiply by the derivative of {name}.logpmf(draws, "
        "…), whose mean is the derivative of the mean; or sum over all values, weighted by pmf.",
    )


@opaque(result=lambda key, n, p, *, shape: ArrayType((*key.shape, *shape, *p.shape), p.dtype), name="multinomial")
def _multinomial(key: Any, n: Any, p: Any, *, shape: tuple[int, ...]) -> Any:
    """Return counts by NumPy's generator."""
    out = np.empty((*np.shape(key), *shape, *p.shape), p.dtype)
    for index in np.ndindex(np.shape(key)):
        generator = np.random.Generator(np.random.Philox(key=int(np.asarray(key)[index]) % 2**64))
        out[index] = generator.multinomial(int(n), p, size=shape)
    return out


def _draw_counts(shape: tuple[int, ...], key: Any, n: Any, p: Any) -> Any:
    return _multinomial(key, n, p, shape=shape)


counts = custom_jvp(_draw_counts, nondiff_argnums=(0,))


@counts.defjvp
def _counts_rule(shape: tuple[int, ...], primals: Any, tangents: Any) -> Any:
    raise _no_derivative("multinomial")


# -- draws as solutions of cdf(x) = u ----------------------------------------------------------------------------------


def solution_of(probability: Function, density: Function, sign: float = 1.0) -> Function:
    """Return (x, u, *shapes) -> x, with the derivatives of the solution of probability(x, *shapes) = u.

    Args:
        probability: (x, *shapes) -> that of a value below, or of one above.
        density: (x, *shapes) -> the density.
        sign: 1.0 for that of a value below, −1.0 for that of one above.
    """

    @custom_jvp
    def solution(x: Any, u: Any, *shapes: Any) -> Any:
        return x + 0.0 * u

    @solution.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        found, shapes = solution(*primals), primals[2:]
        change = tangents[1]
        if shapes:
            change = change - jvp(lambda *shapes: probability(found, *shapes), tuple(shapes), tuple(tangents[2:]))[1]
        return found, sign * change / density(found, *shapes)

    return solution


def scipys_quantile(name: str, method: str, probability: Function, density: Function) -> Function:
    """Return a quantile function whose values are SciPy's, with derivatives by those of the probability.

    Args:
        name: of the distribution.
        method: "ppf" or "isf".
        probability: the cdf, or the survival function.
        density: of the distribution.
    """
    solution = solution_of(probability, density, 1.0 if method == "ppf" else -1.0)

    def quantile(q: Any, *shapes: Any) -> Any:
        whole = np.broadcast_shapes(*[np.shape(p) for p in (q, *shapes)])
        given = [pn.broadcast_to(pn.asarray(p) * 1.0, whole) for p in (q, *shapes)]
        return solution(_quantile(*stop_gradient(given), of=(name, method)), *given)

    return quantile


@opaque(result=lambda like, key, kappa: like, name="vonmises")
def _on_circle(like: Any, key: Any, kappa: Any) -> Any:
    """Return draws by NumPy's generator, which rejects candidates: no function of a fixed number of uniform ones."""
    out = np.empty_like(like)
    for index in np.ndindex(np.shape(key)):
        generator = np.random.Generator(np.random.Philox(key=int(np.asarray(key)[index]) % 2**64))
        out[index] = generator.vonmises(0.0, kappa[index])
    return out


def circle_draws(probability: Function, density: Function) -> Function:
    """Return (key, shape, dtype, kappa) -> angles, of which these are the probability of a value below and the density.

    Args:
        probability: (angle, kappa) -> probability.
        density: (angle, kappa) -> density.
    """
    solution = solution_of(probability, density)

    def drawn(key: Any, shape: tuple[int, ...], dtype: Any, kappa: Any) -> Any:
        like = nn.uniform(key, shape, dtype)
        kappa = pn.broadcast_to(pn.asarray(kappa) * 1.0, like.shape)
        z = _on_circle(like, key, stop_gradient(pn.where(kappa >= 0.0, kappa, 0.0)))
        return solution(z, pn.zeros(like.shape, dtype), kappa)

    return drawn
