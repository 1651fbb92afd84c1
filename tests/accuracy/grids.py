"""Points over whole domains: tiny, huge, subnormal, near transitions and near poles, on both sides of 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Piece:
    """A part of a domain: centre ± sizes that are log-uniform from `low` to `high`."""

    low: float
    high: float
    sign: int = 1
    centres: tuple[float, ...] = (0.0,)

    def draw(self, random: np.random.Generator) -> float:
        """Return a point."""
        size = np.exp(random.uniform(np.log(self.low), np.log(self.high)))
        return float(random.choice(self.centres) + self.sign * size)


Grid = tuple[Piece, ...]

TINY = (Piece(5e-324, 1e-300), Piece(1e-300, 1e-8))
MIDDLE = (Piece(1e-3, 1.0), Piece(0.3, 10.0), Piece(0.3, 10.0), Piece(1.0, 100.0))


def mirrored(grid: Grid) -> Grid:
    """Return a grid and its reflection."""
    return grid + tuple(Piece(p.low, p.high, -p.sign, tuple([-c for c in p.centres])) for p in grid)


def up_to(largest: float) -> Grid:
    """Return positive numbers from the least one, most of them near 1."""
    return (*TINY, *MIDDLE[: 3 if largest < 100 else 4], Piece(0.01 * largest, largest))


def beside(*centres: float, width: float = 0.1) -> Grid:
    """Return numbers at both sides of places, down to the next float."""
    closest = 2.0**-52
    return (Piece(closest, width, 1, centres), Piece(closest, width, -1, centres))


POSITIVE = up_to(1e300)
REAL = mirrored(POSITIVE)
SMALL = mirrored(up_to(30.0))
UNIT = (Piece(1e-300, 1e-8), Piece(1e-6, 0.9), Piece(0.1, 0.99), Piece(0.3, 0.7), Piece(2.0**-52, 0.3, -1, (1.0,)))
INSIDE = (*mirrored(UNIT), Piece(1e-3, 0.3))
POLES = tuple(-float(n) for n in range(6))
GAMMA = (*MIDDLE, *MIDDLE, Piece(0.1, 30.0, -1), Piece(1e-300, 1e-8), Piece(100.0, 1e300), *beside(*POLES, 1.0, 2.0))
SHAPE = (Piece(1e-300, 1e-8), Piece(1e-3, 1.0), Piece(0.3, 10.0), Piece(1.0, 100.0), Piece(100.0, 1e5))
BELOW_ONE = (*mirrored(TINY), *UNIT, Piece(0.1, 1e3, -1), Piece(1e3, 1e300, -1))


def points(grids: tuple[Grid, ...], count: int, seed: int) -> np.ndarray:
    """Return `count` points, a row each; pieces of the grids of several arguments are combined at random."""
    random = np.random.default_rng(seed)
    columns = []
    for grid in grids:
        order = random.permutation(np.arange(count) % len(grid))
        columns.append([grid[i].draw(random) for i in order])
    return np.array(columns).T
