"""Which points lie outside of a domain, further than rounding explains."""

from __future__ import annotations

import numpy as np

from primad.pde.geometry.domains import Domain
from primad.pde.geometry.sampling import Array

SLACK = 1e-3
"""How far outside of a domain points may lie, relative to its size: they may be rounded, and it does no harm."""


def outside(domain: Domain, at: Array) -> Array:
    """Return which points, one a row, are further outside of a domain than rounding explains, by their places."""
    inside = domain.contains(at)
    for sign in (-1.0, 1.0):
        for shift in SLACK * np.ptp(domain.bounds, axis=1) * np.vstack([np.eye(at.shape[1]), np.ones(at.shape[1])]):
            left = np.flatnonzero(~inside)
            if not left.size:
                return left
            inside[left] = domain.contains(at[left] + sign * shift)
    return np.flatnonzero(~inside)


def place_of(domain: Domain, point: Array) -> str:
    """Return where a point is, in words."""
    return ", ".join(f"{name} = {value:g}" for name, value in zip(domain.names, point, strict=True))
