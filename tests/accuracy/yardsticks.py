"""Two published comparisons: derivatives of incomplete gamma and beta functions in their shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import primad
import primad.scipy.special as recorded
from tests.accuracy.distributions import DISTRIBUTIONS
from tests.accuracy.reference import slopes

Region = Callable[[np.random.Generator, int], tuple[np.ndarray, ...]]
SEED = 1


def _log(low: float, high: float) -> Any:
    return lambda random, count: np.exp(random.uniform(np.log(low), np.log(high), count))


def _gamma_anywhere(random: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
    return _log(1e-3, 1e5)(random, count), _log(1e-3, 1e5)(random, count)


def _gamma_transition(low: float, high: float) -> Region:
    def draw(random: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
        a = _log(low, high)(random, count)
        return a, np.abs(a + random.normal(size=count) * np.sqrt(a))

    return draw


def _beta(a: tuple[float, float], b: tuple[float, float], x: tuple[float, float] | None) -> Region:
    def draw(random: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
        shapes = _log(*a)(random, count), _log(*b)(random, count)
        return *shapes, random.uniform(*x, count) if x else np.clip(random.beta(*shapes), 1e-300, 1 - 2.0**-53)

    return draw


@dataclass(frozen=True)
class Yardstick:
    """Points by region, and what was published of them."""

    function: str
    shapes: tuple[int, ...]
    regions: dict[str, tuple[int, Region]]
    published: str


YARDSTICKS: dict[str, Yardstick] = {
    "gammainc": Yardstick(
        "gammainc",
        (0,),
        {
            "a, z from 1e-3 to 1e5": (35_000, _gamma_anywhere),
            "a near z, 1e-3 to 10": (5_000, _gamma_transition(1e-3, 10.0)),
            "a near z, 10 to 1e3": (5_000, _gamma_transition(10.0, 1e3)),
            "a near z, 1e3 to 1e5": (5_000, _gamma_transition(1e3, 1e5)),
        },
        "published of others: 6379 not finite and 5.2e-3 at the median of the worst region; none, 6.5e-14 at the "
        "median, 3e-11 at the worst but 5.2e-6 near a = z = 1e4",
    ),
    "betainc": Yardstick(
        "betainc",
        (0, 1),
        {
            "shapes 1e-3 to 1": (2_000, _beta((1e-3, 1.0), (1e-3, 1.0), (0.0, 1.0))),
            "shapes 1 to 100": (2_000, _beta((1.0, 100.0), (1.0, 100.0), (0.0, 1.0))),
            "shapes 100 to 1e4, near the mean": (2_000, _beta((100.0, 1e4), (100.0, 1e4), None)),
            "a 1e-3 to 1, b 1 to 1e4": (2_000, _beta((1e-3, 1.0), (1.0, 1e4), None)),
            "a 1 to 1e4, b 1e-3 to 1": (2_000, _beta((1.0, 1e4), (1e-3, 1.0), None)),
            "a 500 to 5000, b 1 to 5, x from 0.99": (2_000, _beta((500.0, 5e3), (1.0, 5.0), (0.99, 1.0))),
            "a 1 to 5, b 500 to 5000, x to 0.01": (2_000, _beta((1.0, 5.0), (500.0, 5e3), (1e-6, 0.01))),
            "shapes 1 to 1e4, near the mean": (2_000, _beta((1.0, 1e4), (1.0, 1e4), None)),
            "shapes 1e-3 to 1e3, x 1e-6 to 1e-3": (2_000, _beta((1e-3, 1e3), (1e-3, 1e3), (1e-6, 1e-3))),
        },
        "published of an older method: 12 % off at (2500, 2, 0.999)",
    ),
}
"""By function: the number of points of each region, and how they are drawn."""
HEAD = "| region | derivative in | points | not finite | references | median | worst | worst at |\n" + "|---" * 8 + "|"


def table(name: str, sample: int, seconds: float = 10.0) -> str:
    """Return a table: all points of a yardstick for what is not finite, a random part of them for errors."""
    yardstick, random = YARDSTICKS[name], np.random.default_rng(SEED)
    function, meaning = getattr(recorded, name), DISTRIBUTIONS[name].meaning
    rows = []
    for region, (count, draw) in yardstick.regions.items():
        at = draw(random, count)
        share = max(1, round(sample / len(yardstick.regions)))
        chosen = random.choice(count, min(count, share), replace=False)
        exact = {k: slopes(meaning, [x[k] for x in at], yardstick.shapes, seconds) for k in chosen}
        for i in yardstick.shapes:
            with np.errstate(all="ignore"):
                found = np.asarray(primad.derivative(function, 1, argnums=i)(*at))
            off = {
                k: abs(found[k] - row[i]) / abs(row[i])
                for k, row in exact.items()
                if row is not None and abs(row[i]) > np.finfo(np.float64).tiny
            }
            worst = max(off, key=lambda k: off[k])
            place = ", ".join([f"{x[worst]:.6g}" for x in at])
            cells = (count, int((~np.isfinite(found)).sum()), len(off), f"{np.median(list(off.values())):.1e}")
            rows.append(f"| {region} | {'ab'[i]} | {' | '.join(map(str, cells))} | {off[worst]:.1e} | {place} |")
    return "\n".join([HEAD, *rows, "", yardstick.published + "."])
