"""Directions on a circle."""

from __future__ import annotations

import math
from typing import Any

from primad import numpy as pn
from primad.numpy import special
from primad.numpy.special_functions.members import FUNCTIONS
from primad.scipy.stats.distribution import LOG_ROOT, Distribution
from primad.scipy.stats.draws import circle_draws
from primad.scipy.stats.tails import gauss_rule

__all__ = ["vonmises"]

NODES = 64
"""Points of the Gauss-Legendre rule for a probability: a normal density over `REACH` takes fewer for all digits."""
REACH = 13.5
"""How far a density reaches, times 1/√κ: there exp(κ·(cos z − 1)) is less than 1e-16 of its largest value."""
i0e, i1e = FUNCTIONS["i0e"], FUNCTIONS["i1e"]


def _vonmises_entropy(kappa: Any) -> Any:
    scaled = i0e(kappa)
    return kappa * (scaled - i1e(kappa)) / scaled + 2.0 * LOG_ROOT + pn.log(scaled)


def _log_density(z: Any, kappa: Any) -> Any:
    return kappa * special.cosm1(z) - 2.0 * LOG_ROOT - pn.log(i0e(kappa))


def _probability(z: Any, kappa: Any) -> Any:
    """Return the probability of a smaller angle, of −π ≤ z ≤ π, to absolute precision."""
    points, weights = gauss_rule(NODES)
    end = pn.clip(z, -REACH / pn.sqrt(pn.maximum(kappa, 1.0)), REACH / pn.sqrt(pn.maximum(kappa, 1.0)))
    inside = pn.exp(_log_density(end[..., None] * points, pn.asarray(kappa)[..., None]))
    return 0.5 + end * pn.sum(inside * weights, axis=-1)


def _wrapped(z: Any, loc: Any, scale: Any) -> Any:
    """Return an angle between −π and π, as SciPy's draws are."""
    return pn.mod(z * scale + loc + math.pi, 2.0 * math.pi) - math.pi


vonmises = Distribution(
    "vonmises",
    ("kappa",),
    _log_density,
    functions={
        "entropy": _vonmises_entropy,
        "draw": circle_draws(_probability, lambda z, kappa: pn.exp(_log_density(z, kappa))),
        "placed": _wrapped,
    },
    valid=lambda kappa: kappa >= 0,
)
