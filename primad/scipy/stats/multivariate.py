"""Distributions of vectors under SciPy's names: what all have in common, Dirichlet's and the multinomial one."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

from primad import numpy as pn
from primad.errors import ShapeError
from primad.numpy import special
from primad.numpy.elementwise.ufuncs import defined_where
from primad.numpy.promotion import any_traced
from primad.recording.traced_array import settled
from primad.scipy.stats.distribution import Frozen
from primad.scipy.stats.draws import counts, dtype_of, uniforms, without_key
from primad.scipy.stats.recorded_methods import other_method

__all__ = ["dirichlet", "multinomial"]


def recorded_method(compute: Callable[..., Any]) -> Any:
    """Return a method that is SciPy's own where nothing is traced."""

    @wraps(compute)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = settled(args), {key: settled(value) for key, value in kwargs.items()}
        if not any_traced([*args, *kwargs.values()]):
            return getattr(self._scipys, compute.__name__)(*args, **kwargs)
        return compute(self, *args, **kwargs)

    return method


class OfVectors:
    """A distribution of vectors or matrices: its name, its frozen form, and what is SciPy's alone."""

    def __getattr__(self, name: str) -> Any:
        """Return what is SciPy's alone, such as `cdf` and `fit`."""
        if name.startswith("_"):
            raise AttributeError(f"a distribution has no attribute {name!r}")
        return other_method(self.name, name)

    @property
    def name(self) -> str:
        """SciPy's name of the distribution."""
        return type(self).__name__.removesuffix("_gen")

    @property
    def _scipys(self) -> Any:
        """SciPy's distribution of that name."""
        return getattr(import_module("scipy.stats"), self.name)

    @property
    def recorded(self) -> list[str]:
        """Names of the methods that traced values have."""
        methods = ("logpdf", "pdf", "logpmf", "pmf", "mean", "mode", "var", "cov", "entropy", "rvs")
        return [name for name in methods if hasattr(type(self), name)]

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """Return the distribution with these parameters, whose methods take a point alone."""
        return Frozen(self, args, kwargs)


def one_number(name: str, value: Any) -> Any:
    """Return a parameter that is one number.

    Raises:
        ShapeError: where it is an array.
    """
    value = pn.asarray(value) * 1.0
    if value.ndim:
        raise ShapeError(
            f"scipy.stats.{name}: df of shape {value.shape}",
            why="As in SciPy all points have the same degrees of freedom.",
            fix="give one number, and map over several: primad.vmap(lambda df: …)(df).",
        )
    return value


def keyed(name: str, key: Any, random_state: Any, given: list[Any]) -> bool:
    """Say whether draws are ours, of a key; raise for traced parameters without one."""
    if key is None and any_traced(given):
        raise without_key(name)
    if key is not None and random_state is not None:
        raise TypeError(f"{name}.rvs takes a key or a random_state")
    return key is not None


def _sizes(size: Any) -> tuple[int, ...]:
    """Return the shape of draws."""
    return tuple(int(n) for n in np.atleast_1d(size))


def block(size: Any) -> tuple[int, ...]:
    """Return the shape of draws, where one draw, SciPy's size 1, has no axis of its own."""
    return () if np.ndim(size) == 0 and int(size) == 1 else _sizes(size)


def dirichlet_log_density(x: Any, alpha: Any) -> Any:
    """Return the logarithm of Dirichlet's density at shares along the first axis."""
    powers = pn.sum(special.xlogy(alpha - 1.0, x.T).T, axis=0)
    return powers - pn.sum(special.gammaln(alpha)) + special.gammaln(pn.sum(alpha))


class dirichlet_gen(OfVectors):
    """Dirichlet's distribution of shares that add up to 1; the last share may be left out, as in SciPy.

    Example:
        >>> import numpy as np, primad, primad.scipy.stats as stats
        >>> primad.grad(lambda x: stats.dirichlet.logpdf(np.array([0.5, 0.5]), np.array([x, 1.0])))(1.0).round(6)
        np.float64(0.306853)
    """

    @recorded_method
    def logpdf(self, x: Any, alpha: Any) -> Any:
        """Return the logarithm of the density, of shares along the first axis."""
        x, alpha = pn.asarray(x), pn.asarray(alpha) * 1.0
        if x.shape[0] == alpha.shape[0] - 1:
            x = pn.concatenate([x, 1.0 - pn.sum(x, axis=0, keepdims=True)])
        return pn.squeeze(defined_where(pn.all(alpha > 0.0), dirichlet_log_density(x, alpha)))

    @recorded_method
    def pdf(self, x: Any, alpha: Any) -> Any:
        """Return the density."""
        return pn.exp(self.logpdf(x, alpha))

    def rvs(self, alpha: Any, size: Any = 1, random_state: Any = None, *, key: Any = None) -> Any:
        """Draw shares at random from a key, along the last axis, differentiable in alpha; without a key as SciPy does.

        They are gamma numbers over their sum, by their logarithms, so that small alphas have shares too. A gamma number
        is one of alpha + 1 times a power of a uniform number (Marsaglia & Tsang 2000).

        Args:
            alpha: the concentrations.
            size: the shape of the draws.
            random_state: SciPy's, without a key.
            key: an integer, which decides the draws.
        """
        alpha = settled(alpha)
        if not keyed(self.name, key, random_state, [alpha]):
            return self._scipys.rvs(alpha, size, random_state)
        alpha = pn.asarray(alpha) * 1.0
        u, power = uniforms(key, (2, *_sizes(size), alpha.shape[0]), dtype_of(alpha))
        logits = pn.log(special.gammaincinv(alpha + 1.0, u)) + pn.log(power) / alpha
        return defined_where(pn.all(alpha > 0.0), special.softmax(logits, axis=-1))

    @recorded_method
    def mean(self, alpha: Any) -> Any:
        """Return the expected shares."""
        alpha = pn.asarray(alpha)
        return alpha / pn.sum(alpha)

    @recorded_method
    def var(self, alpha: Any) -> Any:
        """Return the variances of the shares."""
        alpha = pn.asarray(alpha) * 1.0
        total = pn.sum(alpha)
        return alpha * (total - alpha) / (total * total * (total + 1.0))

    @recorded_method
    def cov(self, alpha: Any) -> Any:
        """Return the covariances of the shares."""
        shares = self.mean(alpha)
        return (pn.diag(shares) - pn.outer(shares, shares)) / (pn.sum(pn.asarray(alpha)) + 1.0)

    @recorded_method
    def entropy(self, alpha: Any) -> Any:
        """Return the differential entropy in nats."""
        alpha = pn.asarray(alpha) * 1.0
        total = pn.sum(alpha)
        norm = pn.sum(special.gammaln(alpha)) - special.gammaln(total)
        rest = pn.sum((alpha - 1.0) * special.digamma(alpha))
        return norm + (total - alpha.shape[0]) * special.digamma(total) - rest


def _shares(n: Any, p: Any) -> tuple[Any, Any]:
    """Return the number of draws, and probabilities, of which the last one is what the others leave."""
    n, p = pn.asarray(n) * 1.0, pn.asarray(p)
    return n, pn.concatenate([p[..., :-1], 1.0 - pn.sum(p[..., :-1], axis=-1, keepdims=True)], axis=-1)


def _defined(n: Any, p: Any) -> Any:
    return (n >= 0.0) & (n == pn.floor(n)) & pn.all((p >= 0.0) & (p <= 1.0), axis=-1)


class multinomial_gen(OfVectors):
    """The multinomial distribution: counts, along the last axis, of n draws with probabilities p.

    As in SciPy the last probability counts as what the others leave, also in derivatives.

    Example:
        >>> import numpy as np, primad, primad.scipy.stats as stats
        >>> p = np.array([0.25, 0.75])
        >>> primad.grad(lambda p: stats.multinomial.logpmf([1, 2], 3, p))(p).round(6)
        array([1.333333, 0.      ])
    """

    @recorded_method
    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """Return the logarithm of the probability."""
        x, (n, p) = pn.asarray(x) * 1.0, _shares(n, p)
        found = special.gammaln(n + 1.0) + pn.sum(special.xlogy(x, p) - special.gammaln(x + 1.0), axis=-1)
        counts = pn.all((x >= 0.0) & (x == pn.floor(x)), axis=-1) & (pn.sum(x, axis=-1) == n)
        return defined_where(_defined(n, p), pn.where(counts, found, -math.inf))

    @recorded_method
    def mean(self, n: Any, p: Any) -> Any:
        """Return the expected counts."""
        n, p = _shares(n, p)
        return defined_where(_defined(n, p)[..., None], n[..., None] * p)

    @recorded_method
    def cov(self, n: Any, p: Any) -> Any:
        """Return the covariances of the counts."""
        n, p = _shares(n, p)
        each = pn.eye(p.shape[-1]) * p[..., None] - p[..., :, None] * p[..., None, :]
        return defined_where(_defined(n, p)[..., None, None], n[..., None, None] * each)

    def rvs(self, n: Any, p: Any, size: Any = 1, random_state: Any = None, *, key: Any = None) -> Any:
        """Draw counts at random from a key; they have no derivative. Without a key as SciPy does.

        Args:
            n: how many there are together.
            p: the probabilities.
            size: the shape of the draws.
            random_state: SciPy's, without a key.
            key: an integer, which decides the draws.
        """
        n, p = settled(n), settled(p)
        if not keyed(self.name, key, random_state, [n, p]):
            return self._scipys.rvs(n, p, size, random_state)
        return pn.asarray(counts(_sizes(size), key, pn.asarray(n), pn.asarray(p) * 1.0)).astype(np.int64)

    @recorded_method
    def pmf(self, x: Any, n: Any, p: Any) -> Any:
        """Return the probability."""
        return pn.exp(self.logpmf(x, n, p))


dirichlet = dirichlet_gen()
multinomial = multinomial_gen()
