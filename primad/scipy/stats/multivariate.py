"""Distributions of vectors under SciPy's names: the normal one, Dirichlet's and the multinomial one."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

from primad import numpy as pn
from primad.errors import TracingError
from primad.numpy import special
from primad.numpy.elementwise.ufuncs import defined_where
from primad.numpy.promotion import any_traced
from primad.recording.traced_array import settled
from primad.scipy import linalg
from primad.scipy.stats.distribution import LOG_ROOT, Frozen
from primad.scipy.stats.draws import counts, dtype_of, uniforms, without_key
from primad.scipy.stats.recorded_methods import other_method

__all__ = ["dirichlet", "multinomial", "multivariate_normal"]


def _method(compute: Callable[..., Any]) -> Any:
    """Return a method that is SciPy's own where nothing is traced."""

    @wraps(compute)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = settled(args), {key: settled(value) for key, value in kwargs.items()}
        if not any_traced([*args, *kwargs.values()]):
            return getattr(getattr(import_module("scipy.stats"), self.name), compute.__name__)(*args, **kwargs)
        return compute(self, *args, **kwargs)

    return method


class _OfVectors:
    def __getattr__(self, name: str) -> Any:
        """Return what is SciPy's alone, such as `cdf` and `fit`."""
        if name.startswith("_"):
            raise AttributeError(f"a distribution has no attribute {name!r}")
        return other_method(self.name, name)

    @property
    def name(self) -> str:
        """SciPy's name of the distribution."""
        return type(self).__name__.removesuffix("_gen")

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """Return the distribution with these parameters, whose methods take a point alone."""
        return Frozen(self, args, kwargs)


def normal_log_density(away: Any, covariance: Any) -> Any:
    """Return the logarithm of a normal density, of distances from the mean (…, d) and a covariance (d, d).

    The covariance counts as its symmetric part, so that gradients in it are symmetric.
    """
    size = away.shape[-1]
    factor = pn.linalg.cholesky(0.5 * (covariance + covariance.T))
    rows = linalg.solve_triangular(factor, pn.reshape(away, (-1, size)).T, lower=True)
    log_det = 2.0 * pn.sum(pn.log(pn.diagonal(factor)))
    found = -0.5 * (pn.sum(rows * rows, axis=0) + log_det) - size * LOG_ROOT
    return pn.reshape(found, away.shape[:-1])


def _mean_and_covariance(mean: Any, cov: Any, allow_singular: bool = False) -> tuple[Any, Any]:
    if allow_singular or not (any_traced([cov]) or isinstance(cov, int | float | list | tuple) or hasattr(cov, "ndim")):
        raise TracingError(
            "multivariate_normal of traced values with a singular covariance, or one of scipy.stats.Covariance",
            why="The density is computed with a Cholesky factor of a matrix, which is to be positive definite.",
            fix="give cov as a positive definite matrix, as its diagonal, or as one number.",
        )
    cov = pn.asarray(cov) * 1.0
    if mean is None:
        mean = pn.zeros(cov.shape[0] if cov.ndim == 2 else 1)
    mean = pn.atleast_1d(pn.asarray(mean))
    size = mean.shape[0]
    return mean, cov if cov.ndim == 2 else pn.diag(pn.broadcast_to(cov, (size,)))


def _keyed(name: str, key: Any, random_state: Any, given: list[Any]) -> bool:
    """Say whether draws are ours, of a key; raise for traced parameters without one."""
    if key is None and any_traced(given):
        raise without_key(name)
    if key is not None and random_state is not None:
        raise TypeError(f"{name}.rvs takes a key or a random_state")
    return key is not None


def _sizes(size: Any) -> tuple[int, ...]:
    """Return the shape of draws; of SciPy's size 1 of a normal distribution, one draw without an axis."""
    return tuple(int(n) for n in np.atleast_1d(size))


class multivariate_normal_gen(_OfVectors):
    """The normal distribution of vectors: SciPy's mean and cov (a matrix, its diagonal, or one number).

    Example:
        >>> import numpy as np, primad, primad.scipy.stats as stats
        >>> primad.grad(lambda m: stats.multivariate_normal.logpdf(np.array([1.0, 2.0]), m, 4.0))(np.zeros(2))
        array([0.25, 0.5 ])
    """

    @_method
    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Return the logarithm of the density at points, whose coordinates are the last axis."""
        mean, cov = _mean_and_covariance(mean, cov, allow_singular)
        x = pn.asarray(x)
        single = x.ndim == 0 or (x.ndim == 1 and mean.shape[0] == 1)
        return normal_log_density((x[..., None] if single else x) - mean, cov)

    @_method
    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Return the density."""
        return pn.exp(self.logpdf(x, mean, cov, allow_singular))

    def rvs(self, mean: Any = None, cov: Any = 1, size: Any = 1, random_state: Any = None, *, key: Any = None) -> Any:
        """Draw at random from a key, differentiable in the mean and the covariance; without a key as SciPy does.

        Args:
            mean: of the vectors.
            cov: their covariance.
            size: the shape of the draws; of one draw there is no axis.
            random_state: SciPy's, without a key.
            key: an integer, which decides the draws.
        """
        mean, cov = settled(mean), settled(cov)
        if not _keyed(self.name, key, random_state, [mean, cov]):
            return getattr(import_module("scipy.stats"), self.name).rvs(mean, cov, size, random_state)
        mean, cov = _mean_and_covariance(mean, cov)
        shape, n = () if np.ndim(size) == 0 and int(size) == 1 else _sizes(size), mean.shape[0]
        z = pn.special.ndtri(uniforms(key, (*shape, n), dtype_of(mean, cov)))
        found = mean + z @ pn.linalg.cholesky(0.5 * (cov + cov.T)).T
        return found[..., 0] if n == 1 else found

    @_method
    def entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """Return the differential entropy in nats."""
        mean, cov = _mean_and_covariance(mean, cov)
        factor = pn.linalg.cholesky(0.5 * (cov + cov.T))
        return mean.shape[0] * (LOG_ROOT + 0.5) + pn.sum(pn.log(pn.diagonal(factor)))


def dirichlet_log_density(x: Any, alpha: Any) -> Any:
    """Return the logarithm of Dirichlet's density at shares along the first axis."""
    powers = pn.sum(special.xlogy(alpha - 1.0, x.T).T, axis=0)
    return powers - pn.sum(special.gammaln(alpha)) + special.gammaln(pn.sum(alpha))


class dirichlet_gen(_OfVectors):
    """Dirichlet's distribution of shares that add up to 1; the last share may be left out, as in SciPy.

    Example:
        >>> import numpy as np, primad, primad.scipy.stats as stats
        >>> primad.grad(lambda x: stats.dirichlet.logpdf(np.array([0.5, 0.5]), np.array([x, 1.0])))(1.0).round(6)
        np.float64(0.306853)
    """

    @_method
    def logpdf(self, x: Any, alpha: Any) -> Any:
        """Return the logarithm of the density, of shares along the first axis."""
        x, alpha = pn.asarray(x), pn.asarray(alpha) * 1.0
        if x.shape[0] == alpha.shape[0] - 1:
            x = pn.concatenate([x, 1.0 - pn.sum(x, axis=0, keepdims=True)])
        return defined_where(pn.all(alpha > 0.0), dirichlet_log_density(x, alpha))

    @_method
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
        if not _keyed(self.name, key, random_state, [alpha]):
            return getattr(import_module("scipy.stats"), self.name).rvs(alpha, size, random_state)
        alpha = pn.asarray(alpha) * 1.0
        u, power = uniforms(key, (2, *_sizes(size), alpha.shape[0]), dtype_of(alpha))
        logits = pn.log(special.gammaincinv(alpha + 1.0, u)) + pn.log(power) / alpha
        return defined_where(pn.all(alpha > 0.0), special.softmax(logits, axis=-1))

    @_method
    def mean(self, alpha: Any) -> Any:
        """Return the expected shares."""
        alpha = pn.asarray(alpha)
        return alpha / pn.sum(alpha)

    @_method
    def var(self, alpha: Any) -> Any:
        """Return the variances of the shares."""
        alpha = pn.asarray(alpha) * 1.0
        total = pn.sum(alpha)
        return alpha * (total - alpha) / (total * total * (total + 1.0))

    @_method
    def entropy(self, alpha: Any) -> Any:
        """Return the differential entropy in nats."""
        alpha = pn.asarray(alpha) * 1.0
        total = pn.sum(alpha)
        norm = pn.sum(special.gammaln(alpha)) - special.gammaln(total)
        rest = pn.sum((alpha - 1.0) * special.digamma(alpha))
        return norm + (total - alpha.shape[0]) * special.digamma(total) - rest


class multinomial_gen(_OfVectors):
    """The multinomial distribution: counts, along the last axis, of n draws with probabilities p.

    As in SciPy the last probability counts as what the others leave, also in derivatives.

    Example:
        >>> import numpy as np, primad, primad.scipy.stats as stats
        >>> p = np.array([0.25, 0.75])
        >>> primad.grad(lambda p: stats.multinomial.logpmf([1, 2], 3, p))(p).round(6)
        array([1.333333, 0.      ])
    """

    @_method
    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """Return the logarithm of the probability."""
        x, n, p = pn.asarray(x) * 1.0, pn.asarray(n) * 1.0, pn.asarray(p)
        p = pn.concatenate([p[..., :-1], 1.0 - pn.sum(p[..., :-1], axis=-1, keepdims=True)], axis=-1)
        found = special.gammaln(n + 1.0) + pn.sum(special.xlogy(x, p) - special.gammaln(x + 1.0), axis=-1)
        counts = pn.all((x >= 0.0) & (x == pn.floor(x)), axis=-1) & (pn.sum(x, axis=-1) == n)
        known = (n >= 0.0) & (n == pn.floor(n)) & pn.all((p >= 0.0) & (p <= 1.0), axis=-1)
        return defined_where(known, pn.where(counts, found, -math.inf))

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
        if not _keyed(self.name, key, random_state, [n, p]):
            return getattr(import_module("scipy.stats"), self.name).rvs(n, p, size, random_state)
        return pn.asarray(counts(_sizes(size), key, pn.asarray(n), pn.asarray(p) * 1.0)).astype(np.int64)

    @_method
    def pmf(self, x: Any, n: Any, p: Any) -> Any:
        """Return the probability."""
        return pn.exp(self.logpmf(x, n, p))


multivariate_normal = multivariate_normal_gen()
dirichlet = dirichlet_gen()
multinomial = multinomial_gen()
