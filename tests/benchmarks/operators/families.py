"""The families, and their losses, for any system's array functions; the arrays are the same for all.

Sizes are those of W. Leng, R. Anand, J. Thiyagalingam et al., *Zero coordinate shift: whetted automatic differentiation
for physics-informed operator learning*, Journal of Computational Physics 505 (2024) 112904, and of its program. Input
functions are sums of sines with random factors, whatever they are there: what is computed does not depend on that.

A form of a system brings `fields`: a function of (network, points, combinations) that returns, for each combination of
derivatives, its values for all functions at all points. A combination is a dict from derivatives, as "xx", to numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

WIDTH = 128
DEPTH = 2
"""Hidden layers of the branch and of the trunk, each of that width."""
TERMS = 10
"""Sines in an input function of one coordinate."""
D_REACTION, K_REACTION = 0.01, 0.01
NU_BURGERS = 0.01
RIGIDITY = 0.01
Arrays = Mapping[str, Any]
Combinations = tuple[dict[str, float], ...]


@dataclass(frozen=True)
class Family:
    """A family of problems.

    Attributes:
        names: of the coordinates.
        functions: how many are in a batch.
        sensors: how many numbers the branch gets.
        inside, edge: points inside, and on the boundary.
        combinations: of derivatives, whose values residuals take inside.
        residual: of these values and of those of the input functions.
        features, transform: what the trunk gets of points, and what outputs are multiplied by: of an array module.
        ends: how many points on the boundary, the first, have a condition of their own.
    """

    names: str
    functions: int
    sensors: int
    inside: int
    edge: int
    combinations: Combinations
    residual: Callable[..., Any]
    features: Callable[[Any, Any], Any] | None = None
    transform: Callable[[Any, Any], Any] | None = None
    ends: int = 0

    @property
    def inputs(self) -> int:
        """How many numbers the trunk gets."""
        return len(self.names) if self.features is None else 5


def periodic(xp: Any, at: Any) -> Any:
    """Return two waves in x, and the time, of points (t, x), one a row or one alone."""
    t, x = at[..., 0], 2 * np.pi * at[..., 1]
    return xp.stack([xp.cos(x), xp.sin(x), xp.cos(2 * x), xp.sin(2 * x), t], -1)


def sine(xp: Any, at: Any) -> Any:
    """Return a product of sines that vanishes at the edges of the unit square."""
    return xp.sin(np.pi * at[..., 0]) * xp.sin(np.pi * at[..., 1])


def parabola(xp: Any, at: Any) -> Any:
    """Return a product of parabolas that vanishes at the edges of the unit square."""
    return at[..., 0] * (1 - at[..., 0]) * at[..., 1] * (1 - at[..., 1])


FAMILIES = {
    "reaction": Family(
        "xt", 50, 50, 1000, 300, ({"": 1.0}, {"t": 1.0, "xx": -D_REACTION}),
        lambda v, u, linear: linear + K_REACTION * u**2 - v, ends=200,
    ),
    "burgers": Family(
        "tx", 50, 128, 12_672, 128, ({"": 1.0}, {"x": 1.0}, {"t": 1.0, "xx": -NU_BURGERS}),
        lambda v, u, u_x, linear: linear + u * u_x, features=periodic,
    ),
    "plate": Family(
        "xy", 36, 100, 10_000, 0, ({"xxxx": 1.0, "xxyy": 2.0, "yyyy": 1.0},),
        lambda q, bending: bending - q / RIGIDITY, transform=sine,
    ),
}  # fmt: skip
TRAINED = {**FAMILIES, "plate": replace(FAMILIES["plate"], transform=parabola)}
"""The families of the published errors. The published program multiplies the plate's outputs by sines, and so did its
short runs, whose times are published; the long ones had another factor. Their graphs hold 12 arrays of a number for
each point less, and 136 less where memory is largest, which is so with parabolas; and their first losses are those of
the loads alone, as with parabolas, to which sines would add a tenth. With these losses fall as published, with sines
they hardly do."""


def arrays(name: str, functions: int, dtype: str, seed: int = 0) -> dict[str, Any]:
    """Return the arrays of a family: parameters, what the branch gets, points, and input functions at these.

    `edge` are the points on the boundary, where solutions are `wanted`; residuals are taken at `all` points.
    """
    family, rng = FAMILIES[name], np.random.default_rng(seed)
    inside = rng.random((family.inside, 2))
    edge = edge_points(name, family.edge, rng)
    every = np.concatenate([inside, edge])
    found: dict[str, Any] = {"edge": edge, "all": every}
    if name == "plate":
        factors = rng.standard_normal((functions, TERMS, TERMS))
        waves = np.sin(np.pi * np.arange(1, TERMS + 1)[:, None, None] * every.T)
        found["sensors"] = factors.reshape(functions, -1)
        found["v"] = np.einsum("fmn,mp,np->fp", factors, waves[:, 0], waves[:, 1])
        found["wanted"] = np.zeros((functions, 0))
    else:
        factors = rng.standard_normal((functions, TERMS)) / np.arange(1, TERMS + 1)
        sensors = np.arange(family.sensors) / family.sensors
        along = family.names.index("x")
        found["sensors"], found["v"], at_edge = (
            factors @ np.sin(2 * np.pi * np.arange(1, TERMS + 1)[:, None] * x)
            for x in (sensors, every[:, along], edge[:, along])
        )
        found["wanted"] = at_edge if name == "burgers" else np.zeros((functions, len(edge)))
    found["parameters"] = {
        "branch": _layers(rng, family.sensors), "trunk": _layers(rng, family.inputs), "bias": np.zeros(()),
    }  # fmt: skip
    return {key: _cast(value, dtype) for key, value in found.items()}


def edge_points(name: str, count: int, rng: np.random.Generator) -> Any:
    """Return points at the start, and of the reaction, two of three, at both ends."""
    if name == "burgers":
        return np.stack([np.zeros(count), np.arange(count) / count], axis=1)
    ends = np.stack([np.arange(2 * count // 3) % 2, rng.random(2 * count // 3)], axis=1)
    return np.concatenate([ends, np.stack([rng.random(count // 3), np.zeros(count // 3)], axis=1)])


def _layers(rng: np.random.Generator, inputs: int) -> list[Any]:
    sizes = [inputs] + [WIDTH] * (DEPTH + 1)
    return [(rng.standard_normal((n, m)) * np.sqrt(2 / (n + m)), np.zeros(m)) for n, m in pairwise(sizes)]


def _cast(value: Any, dtype: str) -> Any:
    if isinstance(value, dict):
        return {key: _cast(one, dtype) for key, one in value.items()}
    return type(value)(_cast(one, dtype) for one in value) if isinstance(value, (list, tuple)) else value.astype(dtype)


def branch(xp: Any, parameters: Any, sensors: Any) -> Any:
    """Return the codes of functions, one a row."""
    for weights, bias in parameters["branch"][:-1]:
        sensors = xp.tanh(sensors @ weights + bias)
    weights, bias = parameters["branch"][-1]
    return sensors @ weights + bias


def trunk(xp: Any, family: Family, parameters: Any, at: Any) -> Any:
    """Return the basis at points, or at one."""
    basis = at if family.features is None else family.features(xp, at)
    for weights, bias in parameters["trunk"]:
        basis = xp.tanh(basis @ weights + bias)
    return basis


def solutions(xp: Any, family: Family, parameters: Any, codes: Any, at: Any) -> Any:
    """Return the solutions for all functions, a row each, at points, or at one."""
    u = codes @ trunk(xp, family, parameters, at).T + parameters["bias"]
    return u if family.transform is None else u * family.transform(xp, at)


def loss(xp: Any, family: Family, fields: Callable[..., Any]) -> Callable[[Any, Arrays], Any]:
    """Return the sum of the mean squares of residuals, as a function of (parameters, the other arrays)."""

    def total(parameters: Any, data: Arrays) -> Any:
        codes = branch(xp, parameters, data["sensors"])
        values = fields(family, parameters, codes, data["all"])
        found = xp.mean(family.residual(data["v"], *values) ** 2)
        if family.edge:
            found = found + sum(
                xp.mean(part) for part in edge_parts(family, solutions(xp, family, parameters, codes, data["edge"])
                                                     - data["wanted"])
            )  # fmt: skip
        return found

    return total


def edge_parts(family: Family, off: Any) -> list[Any]:
    """Return the squares of what conditions are off by, for each condition: values for all functions at its points."""
    return [part**2 for part in (off[:, : family.ends], off[:, family.ends :]) if part.shape[1]]
