"""Inputs of every evaluation: drawn with a seed, of the published sizes and of smaller ones for tests."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Input = dict[str, Any]
BONES, VERTICES = 22, 10_000


def lse(rng: np.random.Generator, n: int) -> Input:
    return {"x": rng.uniform(size=n).tolist()}


def llsq(rng: np.random.Generator, n: int, m: int) -> Input:
    return {"x": rng.uniform(size=m).tolist(), "n": n}


def ode(rng: np.random.Generator, n: int, s: int) -> Input:
    return {"x": rng.uniform(size=n).tolist(), "s": s}


def det(rng: np.random.Generator, ell: int) -> Input:
    return {"A": rng.uniform(size=ell * ell).tolist(), "ell": ell}


def kmeans(rng: np.random.Generator, k: int, n: int, d: int) -> Input:
    """The centroids are points, so that each has one that is nearest to it."""
    points = rng.uniform(size=(n, d)).tolist()
    return {"points": points, "centroids": points[-k:]}


def gmm(rng: np.random.Generator, d: int, k: int, n: int) -> Input:
    return {
        "d": d, "k": k, "n": n, "m": 0, "gamma": 1.0,
        "x": rng.normal(size=(n, d)).tolist(),
        "mu": rng.uniform(size=(k, d)).tolist(),
        "q": rng.normal(size=(k, d)).tolist(),
        "l": rng.normal(size=(k, d * (d - 1) // 2)).tolist(),
        "alpha": rng.normal(size=k).tolist(),
    }  # fmt: skip


def lstm(rng: np.random.Generator, layers: int, characters: int, bits: int = 14) -> Input:
    return {
        "main_params": rng.uniform(size=(2 * layers, 4 * bits)).tolist(),
        "extra_params": rng.uniform(size=(3, bits)).tolist(),
        "state": rng.uniform(size=(2 * layers, bits)).tolist(),
        "sequence": rng.integers(0, 2, size=(characters, bits)).tolist(),
    }


def ba(rng: np.random.Generator, n: int, m: int, p: int) -> Input:
    """A camera some way from a point, with a little distortion."""
    camera = [*rng.normal(size=3) / 10, *rng.normal(size=2), -5.0, 400.0, *rng.normal(size=2), -1e-2, 1e-3]
    return {
        "n": n, "m": m, "p": p, "w": 0.9,
        "cam": [float(x) for x in camera],
        "x": rng.normal(size=3).tolist(),
        "feat": rng.normal(size=2).tolist(),
    }  # fmt: skip


def ht(rng: np.random.Generator, points: int, with_us: bool, vertices: int = VERTICES) -> Input:
    """A wrist, five fingers of four bones each and a forearm, with skin that follows a few bones at each place."""
    parents = [-1, *(0 if bone % 4 == 0 else bone for bone in range(BONES - 2)), 0]
    relatives = np.tile(np.eye(4), (BONES, 1, 1))
    relatives[:, :3, 3] = rng.normal(size=(BONES, 3)) / 2
    absolutes = relatives.copy()
    for bone, parent in enumerate(parents):
        if parent >= 0:
            absolutes[bone] = absolutes[parent] @ relatives[bone]
    weights = rng.uniform(size=(vertices, BONES)) ** 8
    places = np.concatenate([rng.normal(size=(vertices, 3)), np.ones((vertices, 1))], axis=1)
    triangles = rng.integers(0, vertices, size=(2 * vertices, 3))
    model = {
        "bone_count": BONES, "bone_names": [f"bone{i}" for i in range(BONES)], "parents": parents,
        "base_relatives": relatives.tolist(), "inverse_base_absolutes": np.linalg.inv(absolutes).tolist(),
        "base_positions": places.tolist(), "weights": (weights / weights.sum(1, keepdims=True)).tolist(),
        "triangles": triangles.tolist(), "is_mirrored": False,
    }  # fmt: skip
    data = {
        "model": model,
        "correspondences": rng.integers(0, len(triangles) if with_us else vertices, size=points).tolist(),
        "points": rng.normal(size=(points, 3)).tolist(),
    }
    us = rng.uniform(size=(points, 2)).tolist() if with_us else []
    return {"theta": (rng.normal(size=26) / 3).tolist(), "data": data, "us": us}


def particle(rng: np.random.Generator) -> Input:
    return {"w": 0.0}


def saddle(rng: np.random.Generator) -> Input:
    return {"start": [1.0, 1.0]}


MODES = ("rr", "ff", "fr", "rf")


@dataclass(frozen=True)
class Evaluation:
    """An evaluation, and the sizes of its inputs.

    Attributes:
        draw: makes an input of a generator and a size.
        functions: the value, and what takes derivatives; both, or all, are asked for each input.
        smallest: a size for tests.
        published: sizes of GradBench's own runs, from small to large: the ends of their ranges and one between.
    """

    draw: Callable[..., Input]
    functions: tuple[str, ...]
    smallest: tuple[Any, ...]
    published: tuple[tuple[Any, ...], ...]

    def inputs(self, sizes: tuple[tuple[Any, ...], ...]) -> Iterator[tuple[str, Input]]:
        """Return inputs of these sizes, one after the other, with their names."""
        for size in sizes:
            yield ",".join(map(str, size)), self.draw(np.random.default_rng(31337), *size)


EVALUATIONS = {
    "lse": Evaluation(lse, ("primal", "gradient"), (7,), ((2500,), (40_000,), (1_280_000,))),
    "llsq": Evaluation(llsq, ("primal", "gradient"), (5, 4), ((16, 128), (512, 128), (16_392, 128))),
    "ode": Evaluation(
        ode, ("primal", "gradient"), (4, 3), ((1000, 1), (1000, 100), (10_000, 10), (100_000, 1), (100_000, 100))
    ),
    "det": Evaluation(det, ("primal", "gradient"), (3,), ((5,), (7,), (9,), (11,))),
    "kmeans": Evaluation(kmeans, ("cost", "dir"), (2, 9, 3), ((10, 1000, 8), (100, 10_000, 8), (1000, 10_000, 16))),
    "gmm": Evaluation(
        gmm, ("objective", "jacobian"), (3, 2, 5), ((2, 5, 1000), (10, 25, 1000), (20, 100, 1000), (64, 100, 1000))
    ),
    "lstm": Evaluation(lstm, ("objective", "jacobian"), (2, 5, 3), ((2, 1024), (4, 1024), (4, 4096))),
    "ba": Evaluation(
        ba,
        ("objective", "jacobian"),
        (3, 4, 6),
        ((49, 7776, 31_843), (372, 47_423, 204_472), (356, 226_730, 1_255_268)),
    ),
    "ht": Evaluation(
        ht, ("objective", "jacobian"), (4, True, 30), ((100, True), (3200, True), (25_600, True), (3200, False))
    ),
    "particle": Evaluation(particle, MODES, (), ((),)),
    "saddle": Evaluation(saddle, MODES, (), ((),)),
}
