"""Input functions and points of the families as they are trained on, and solutions to compare with.

They are distributed as the published ones: sources of the reaction are a Gaussian process of length 0.2, states that
Burgers' equation begins with one of covariance 49² (49 − ∂²)^(−5/2) without its mean (Z. Li and others,
Physics-informed neural operator, 2021, whose file is not read here), loads of the plate sums of 100 products of sines
with normal factors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import families
import numpy as np
from scipy.interpolate import make_interp_spline

Array = np.ndarray[Any, Any]
LENGTH = 0.2
"""Over which sources of the reaction change."""
NODES = 100
"""At which these are drawn; between them are cubic splines."""
JITTER = 1e-10
"""Added to their covariance, which rounding would leave indefinite."""
POOL = 20_000
"""Points from which those of an epoch are taken: splines at all of them take 16 MB."""
MODES = 20
"""Waves of states that Burgers' equation begins with. Those left out have less than 1e-3 of the size of the first."""
ROUGHNESS = 49.0
"""Of these states: what is added to −∂² in their covariance, and its factor."""
STEPS = 2000
"""In time, of solutions to compare with."""
REFINED = 4
"""Points of theirs for each point at which they are compared, in each direction."""


class ReactionDraws:
    """Sources of the reaction."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        grid = np.linspace(0, 1, NODES)
        covariance = np.exp(-((grid[:, None] - grid) ** 2) / (2 * LENGTH**2))
        self._root = np.linalg.cholesky(covariance + JITTER * np.eye(NODES))
        self._spline = make_interp_spline(grid, np.eye(NODES))
        self._pool = rng.random((POOL, 2))
        self._there = self._spline(self._pool[:, 0])

    def functions(self, count: int) -> Array:
        """Return sources at the nodes."""
        return self.rng.standard_normal((count, NODES)) @ self._root.T

    def at(self, drawn: Array, x: Array) -> Array:
        """Return sources at points."""
        return drawn @ self._spline(x).T

    def epoch(self, count: int, inside: int) -> dict[str, Array]:
        """Return the arrays of an epoch."""
        drawn = self.functions(count)
        rows = self.rng.integers(POOL, size=inside)
        edge = families.edge_points("reaction", 300, self.rng)
        v = np.concatenate([drawn @ self._there[rows].T, self.at(drawn, edge[:, 0])], axis=1)
        every = np.concatenate([self._pool[rows], edge])
        return {"sensors": self.sensors(drawn), "v": v, "all": every, "edge": edge, "wanted": np.zeros((count, 300))}

    def sensors(self, drawn: Array) -> Array:
        """Return what the branch gets."""
        return self.at(drawn, np.linspace(0, 1, families.FAMILIES["reaction"].sensors))

    def solved(self, drawn: Array, side: int) -> tuple[Array, Array]:
        """Return points (x, t), and solutions there by the rule of Crank and Nicolson, the reaction as by Adams."""
        count = REFINED * side + 1
        x, dt = np.linspace(0, 1, count), 1 / STEPS
        bend = families.D_REACTION * (np.eye(count - 2, k=1) + np.eye(count - 2, k=-1) - 2 * np.eye(count - 2))
        half = dt / 2 * bend * (count - 1) ** 2
        ahead = np.linalg.inv(np.eye(count - 2) - half)
        source = self.at(drawn, x[1:-1])
        u = np.zeros_like(source)
        before = source
        states = [u]
        for _ in range(STEPS):
            now = source - families.K_REACTION * u**2
            u = (u + u @ half + dt * (1.5 * now - 0.5 * before)) @ ahead
            before = now
            states.append(u)
        kept = np.pad(np.stack(states[:: STEPS // side], axis=1), ((0, 0), (0, 0), (1, 1)))[:, :, ::REFINED]
        t, x = np.meshgrid(np.linspace(0, 1, side + 1), x[::REFINED], indexing="ij")
        return np.stack([x.ravel(), t.ravel()], axis=1), kept.reshape(len(drawn), -1)


class BurgersDraws:
    """States that Burgers' equation begins with."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        wave = 2 * np.pi * np.arange(1, MODES + 1)
        self._sizes = np.sqrt(2) * ROUGHNESS / (wave**2 + ROUGHNESS) ** 1.25
        self._sensors = np.arange(128) / 128

    def functions(self, count: int) -> Array:
        """Return factors of cosines and sines."""
        return self.rng.standard_normal((count, 2, MODES)) * self._sizes

    def at(self, drawn: Array, x: Array) -> Array:
        """Return states at points."""
        angle = 2 * np.pi * np.arange(1, MODES + 1)[:, None] * x
        return drawn[:, 0] @ np.cos(angle) + drawn[:, 1] @ np.sin(angle)

    def epoch(self, count: int, inside: int) -> dict[str, Array]:
        """Return the arrays of an epoch; residuals ask for no input function."""
        sensors = self.sensors(self.functions(count))
        edge = families.edge_points("burgers", 128, self.rng)
        every = np.concatenate([self.rng.random((inside, 2)), edge])
        return {"sensors": sensors, "v": np.zeros((1, 1)), "all": every, "edge": edge, "wanted": sensors}

    def sensors(self, drawn: Array) -> Array:
        """Return what the branch gets."""
        return self.at(drawn, self._sensors)

    def solved(self, drawn: Array, side: int) -> tuple[Array, Array]:
        """Return points (t, x), and solutions there by Fourier series, with the rule of Heun and exact diffusion."""
        count, dt = REFINED * side, 1 / STEPS
        wave = 2j * np.pi * np.arange(count // 2 + 1)
        keep = np.exp(families.NU_BURGERS * dt * (wave**2).real)
        below = np.arange(count // 2 + 1) <= count // 3

        def transport(modes: Array) -> Array:
            return -0.5 * wave * below * np.fft.rfft(np.fft.irfft(modes, count) ** 2)

        modes = np.fft.rfft(self.at(drawn, np.arange(count) / count))
        states = [modes]
        for _ in range(STEPS):
            now = transport(modes)
            ahead = keep * (modes + dt * now)
            modes = keep * (modes + dt / 2 * now) + dt / 2 * transport(ahead)
            states.append(modes)
        kept = np.fft.irfft(np.stack(states[:: STEPS // side], axis=1), count)[:, :, ::REFINED]
        t, x = np.meshgrid(np.linspace(0, 1, side + 1), np.arange(side) / side, indexing="ij")
        return np.stack([t.ravel(), x.ravel()], axis=1), kept.reshape(len(drawn), -1)


class PlateDraws:
    """Loads of the plate."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self._numbers = np.arange(1, families.TERMS + 1)

    def functions(self, count: int) -> Array:
        """Return factors of products of sines."""
        return self.rng.standard_normal((count, families.TERMS**2))

    def at(self, drawn: Array, points: Array) -> Array:
        """Return sums of products of sines at points."""
        first, second = (np.sin(np.pi * self._numbers * along[:, None]) for along in points.T)
        return drawn @ (first[:, :, None] * second[:, None, :]).reshape(len(points), -1).T

    def epoch(self, count: int, inside: int) -> dict[str, Array]:
        """Return the arrays of an epoch; there is a point in each of equal squares, whose number is a square."""
        drawn, side = self.functions(count).astype(np.float32), round(inside**0.5)
        corners = np.stack(np.meshgrid(*[np.arange(side)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
        points = (corners + self.rng.random((side * side, 2))) / side
        edge, wanted = np.zeros((0, 2)), np.zeros((count, 0))
        return {
            "sensors": drawn, "v": self.at(drawn, points.astype(np.float32)), "all": points, "edge": edge,
            "wanted": wanted,
        }  # fmt: skip

    def sensors(self, drawn: Array) -> Array:
        """Return what the branch gets."""
        return drawn

    def solved(self, drawn: Array, side: int) -> tuple[Array, Array]:
        """Return points, and the exact solutions there."""
        along = np.linspace(0, 1, side)
        points = np.stack([one.ravel() for one in np.meshgrid(along, along, indexing="ij")], axis=1)
        bends = ((self._numbers**2)[:, None] + self._numbers**2).ravel() ** 2 * np.pi**4 * families.RIGIDITY
        return points, self.at(drawn / bends, points)


DRAWS: dict[str, Callable[[np.random.Generator], Any]] = {
    "reaction": ReactionDraws, "burgers": BurgersDraws, "plate": PlateDraws,
}  # fmt: skip
