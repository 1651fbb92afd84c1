"""Time programs of 10 to 10⁵ nodes and arrays of 1 to 10⁷ elements: `python -m tests.benchmarks.sweep [options]`.

For each kind of program it prints the time of a call by node, or by element, and marks where that grows more than three
times from one size to the next: a cliff.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import primad

CLIFF = 3.0
"""A step of so many times is one."""
SECONDS = 0.2
"""A size is timed for about so long."""
Make = Callable[[int], tuple[Callable[..., Any], tuple[Any, ...]]]


@primad.opaque(result=lambda x: x)
def foreign(x: Any) -> Any:
    """A function of one's own, which has no native code."""
    return x * 0.5


def horner(nodes: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A polynomial, which repeats two ops with other numbers."""

    def run(x: Any) -> Any:
        total = x * 0.1
        for k in range(max(1, nodes // 2)):
            total = total * x + (0.1 + k * 1e-6)
        return total

    return run, (0.7,)


def loop(nodes: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The gradient of a simulation's steps, some 50 nodes each."""

    def run(y: Any) -> Any:
        for _ in range(max(1, nodes // 50)):
            a, b, c = y[0], y[1], y[2]
            y = y + 0.01 * np.stack([10.0 * (b - a), a * (28.0 - c) - b, a * b - 2.5 * c])
        return np.sum(y * y)

    return primad.grad(run), (np.array([1.0, 2.0, 3.0]),)


MIXED = (np.add, np.multiply, lambda a, b: np.sin(a), lambda a, b: np.tanh(a) - b)


def tangle(nodes: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Ops in an order that repeats nothing."""

    def run(x: Any) -> Any:
        draw = np.random.default_rng(0)
        values = [x, np.sin(x)]
        for _ in range(nodes):
            i, j = draw.integers(max(0, len(values) - 40), len(values), 2)
            kind = draw.integers(4)
            values.append(MIXED[kind](values[i], values[j]))
        return sum(values[-40:])

    return run, (np.linspace(0.1, 1.0, 8),)


def around(nodes: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A long program with one op in the middle that has no native code."""

    def run(x: Any) -> Any:
        for k in range(max(1, nodes // 4)):
            x = np.sin(x) * 0.9 + (0.1 + k * 1e-6)
        x = foreign(x)
        for k in range(max(1, nodes // 4)):
            x = np.cos(x) * 0.9 + (0.1 + k * 1e-6)
        return x

    return run, (np.linspace(0.1, 1.0, 8),)


def over(function: Callable[..., Any], columns: int = 1) -> Make:
    """Return programs that apply a function to arrays of any number of elements."""

    def make(size: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return function, (np.random.default_rng(0).uniform(0.1, 1.0, (-(-size // columns), columns)),)

    return make


WEIGHTS = np.random.default_rng(1).normal(size=(16, 16)) / 4
BY_NODES: dict[str, Make] = {"horner": horner, "loop": loop, "tangle": tangle, "own op inside": around}
BY_ELEMENTS: dict[str, Make] = {
    "pointwise": over(lambda x: np.sin(x) * x + np.tanh(x)),
    "gradient": over(primad.grad(lambda x: np.sum(np.tanh(x) ** 2))),
    "layers": over(lambda x: np.sum(np.tanh(np.tanh(x @ WEIGHTS) @ WEIGHTS), axis=0), 16),
    "gather": over(lambda x: np.sum(np.tanh(x[::-1]) * x, axis=0), 16),
    "running sum": over(lambda x: np.cumsum(np.tanh(x), axis=0) * 0.5, 16),
    "own op inside": over(lambda x: np.tanh(foreign(np.tanh(x @ WEIGHTS)) @ WEIGHTS), 16),
}


@dataclass(frozen=True)
class Point:
    """The time of a call at one size."""

    size: int
    first: float
    seconds: float


def sizes(least: int, most: int) -> list[int]:
    """Return sizes at equal steps of a logarithmic axis, two for each power of ten."""
    found, size = [], float(least)
    while size <= most * 1.01:
        found.append(round(size))
        size *= 10**0.5
    return found


def timed(make: Make, size: int) -> Point:
    """Time the first call, and the fastest of some others."""
    function, arguments = make(size)
    compiled = primad.jit(function)
    start = time.perf_counter()
    compiled(*arguments)
    first = time.perf_counter() - start
    best, begin, times = float("inf"), time.perf_counter(), 1
    while time.perf_counter() - begin < SECONDS:
        start = time.perf_counter()
        for _ in range(times):
            compiled(*arguments)
        spent = time.perf_counter() - start
        best = min(best, spent / times)
        times *= 2 if spent < SECONDS / 20 else 1
    return Point(size, first, best)


def cliffs(points: Sequence[Point]) -> list[int]:
    """Return the sizes at which the time of one node or element is more than three times that of the size before."""
    return [b.size for a, b in pairwise(points) if b.seconds / b.size > CLIFF * a.seconds / a.size]


def table(name: str, unit: str, points: Sequence[Point]) -> str:
    """Return the times of one kind of program as text."""
    steep = cliffs(points)
    lines = [f"{name}: {unit}, first call, call, call by {unit.rstrip('s')}"]
    lines += [
        f"{p.size:>10} {p.first * 1e3:>10.1f} ms {p.seconds * 1e6:>12.2f} µs {p.seconds / p.size * 1e9:>10.3f} ns"
        + ("   CLIFF" if p.size in steep else "")
        for p in points
    ]
    return "\n".join(lines)


WIDTH, HEIGHT, MARGIN = 420, 300, 56
COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#8e5ea2", "#b08900", "#444444")


def picture(panels: dict[str, dict[str, list[Point]]]) -> str:
    """Draw the time by node and by element over the size, both logarithmic, as SVG."""
    parts = []
    for number, (unit, kinds) in enumerate(panels.items()):
        parts += _panel(unit, kinds, number * WIDTH)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * len(panels)}" height="{HEIGHT}"'
    return f'{head} font-family="sans-serif" font-size="11">\n' + "\n".join(parts) + "\n</svg>\n"


def _panel(unit: str, kinds: dict[str, list[Point]], left: int) -> list[str]:
    points = [point for kind in kinds.values() for point in kind]
    across = np.log10([min(p.size for p in points), max(p.size for p in points)])
    times = [p.seconds / p.size for p in points]
    down = np.floor(np.log10(min(times))), np.ceil(np.log10(max(times)))

    def place(x: float, y: float) -> tuple[float, float]:
        wide, high = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
        share = (np.log10(x) - across[0]) / max(across[1] - across[0], 1e-9)
        return left + MARGIN + wide * share, HEIGHT - MARGIN - high * (np.log10(y) - down[0]) / (down[1] - down[0])

    parts = [f'<text x="{left + MARGIN}" y="20">seconds by {unit.rstrip("s")}, over {unit}</text>']
    for power in range(int(down[0]), int(down[1]) + 1):
        x, y = place(10 ** across[0], 10.0**power)
        parts.append(f'<line x1="{x:.0f}" x2="{left + WIDTH - MARGIN}" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 6:.0f}" y="{y + 4:.0f}" text-anchor="end">1e{power}</text>')
    for power in range(int(np.ceil(across[0])), int(across[1] + 0.01) + 1):
        x, y = place(10.0**power, 10.0 ** down[0])
        parts.append(f'<text x="{x:.0f}" y="{y + 16:.0f}" text-anchor="middle">1e{power}</text>')
    for kind, colour in zip(kinds.values(), COLOURS, strict=False):
        line = " ".join("{:.1f},{:.1f}".format(*place(p.size, p.seconds / p.size)) for p in kind)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        steep = cliffs(kind)
        for x, y in (place(p.size, p.seconds / p.size) for p in kind if p.size in steep):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="{colour}"/>')
    for number, (name, colour) in enumerate(zip(kinds, COLOURS, strict=False)):
        x = left + WIDTH - MARGIN - 90
        parts.append(f'<text x="{x}" y="{36 + 14 * number}" fill="{colour}">{escape(name)}</text>')
    return parts


def sweep(most_nodes: int, most_elements: int, report: Callable[[str], None]) -> dict[str, dict[str, list[Point]]]:
    """Time all kinds of programs at all sizes."""
    panels: dict[str, dict[str, list[Point]]] = {"nodes": {}, "elements": {}}
    for unit, kinds, within in (
        ("nodes", BY_NODES, (10, most_nodes)),
        ("elements", BY_ELEMENTS, (1, most_elements)),
    ):
        for name, make in kinds.items():
            points = panels[unit][name] = [timed(make, size) for size in sizes(*within)]
            report(table(name, unit, points))
    return panels


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; return the number of cliffs."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sweep", description=__doc__)
    parser.add_argument("--picture", type=Path, help="write a picture to this file (docs/pictures/sweep.svg)")
    parser.add_argument("--nodes", type=int, default=100_000, help="of the largest program")
    parser.add_argument("--elements", type=int, default=10_000_000, help="of the largest array")
    options = parser.parse_args(arguments)
    panels = sweep(options.nodes, options.elements, lambda text: print(text, flush=True))
    if options.picture:
        options.picture.write_text(picture(panels), encoding="utf-8")
    count = sum(len(cliffs(points)) for kinds in panels.values() for points in kinds.values())
    print(f"{count} cliffs")
    return count


if __name__ == "__main__":
    sys.exit(min(main(), 1))
