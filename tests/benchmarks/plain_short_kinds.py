"""Short loops on long arrays, and sums over windows, in plain Python and as `scan`; `plain_loops` times them."""

from __future__ import annotations

from typing import Any

import numpy as np

import primad

LAYERS, STEPS = 12, 16
_RNG = np.random.default_rng(8)


def layer(weights: Any) -> Any:
    h = HIDDEN
    for _ in range(LAYERS):
        h = np.tanh(weights @ h) + 0.1 * h
    return np.sum(h**2)


def layer_scan(weights: Any) -> Any:
    return np.sum(primad.scan(lambda h, _: (np.tanh(weights @ h) + 0.1 * h, None), HIDDEN, length=LAYERS)[0] ** 2)


HIDDEN = _RNG.normal(size=256)


def warmed(u: Any) -> Any:
    """Take a step of a heat equation whose conductivity grows with the temperature."""
    return u + 0.1 * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1)) * (1.0 + u * u)


def long_heat(u: Any) -> Any:
    for _ in range(STEPS):
        u = warmed(u)
    return np.sum(u**2)


def long_heat_scan(u: Any) -> Any:
    return np.sum(primad.scan(lambda u, _: (warmed(u), None), u, length=STEPS)[0] ** 2)


def windows(y: Any) -> Any:
    total: Any = 0.0
    for start in STARTS:
        total = total + np.sum(y[start : start + 8]) ** 2
    return total


def windows_scan(y: Any) -> Any:
    places = np.array(STARTS)[:, None] + np.arange(8)
    return primad.scan(lambda total, at: (total + np.sum(primad.numpy.take(y, at)) ** 2, None), 0.0, places)[0]


STARTS = _RNG.integers(0, 3992, 342).tolist()

SHORT: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "layer": (layer, layer_scan, (_RNG.normal(size=(256, 256)) / 16.0,)),
    "windows": (windows, windows_scan, (_RNG.normal(size=4000),)),
    "long heat": (long_heat, long_heat_scan, (0.1 * _RNG.normal(size=2**18),)),
}
"""The plain form, the form with `scan` and the point of each kind."""
