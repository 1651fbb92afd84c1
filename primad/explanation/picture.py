"""The picture of a program before and after the laws: a dot for each value, large where it costs much."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from textwrap import wrap

from primad.errors import shown_place
from primad.explanation.graph_layout import Layered
from primad.ir.node import INPUT, Leaf, Node
from primad.ir.program import Program
from primad.native.emit.pointwise import is_function
from primad.system.quantities import quantity
from primad.transforms.dimensions import axis_map

WIDTH, MARGIN = 1200, 36
COLUMN, LONGEST_BAR = 720, 190
SMALLEST = 1.8
LEGEND = 530
"""Width of the names of the colours."""
TALLEST = 300.0
"""A program's drawing is at most so high."""
COLOURS = {
    "matrix products": "#e4572e",
    "functions": "#8a4fd0",
    "arithmetic": "#3d7fc4",
    "sums": "#1f9d83",
    "moves": "#aab2bd",
    "inputs": "#22303f",
}
STYLE = (
    ".primad text{font-family:system-ui,'Segoe UI','DejaVu Sans',sans-serif;fill:#22303f}"
    ".primad .t{font-size:19px;font-weight:600}.primad .h{font-size:14px;font-weight:600}"
    ".primad .s{font-size:12px}.primad .q{font-size:12px;fill:#66717f}.primad path{fill:none}"
    ".primad circle{stroke:#fff;stroke-width:.6}.primad circle:hover,.primad .o{stroke:#22303f;stroke-width:1.6}"
)
"""It names the picture's own elements only: pages put several pictures beside each other."""
Bar = tuple[str, float, str]


@dataclass(frozen=True)
class Drawing:
    """A program and what to write above it."""

    title: str
    program: Program


def category(node: Node) -> str:
    """Return what a node is, for its colour."""
    if isinstance(node.op, Leaf):
        return "inputs"
    if node.op.memory.views:
        return "moves"
    if node.op.cost(node).matmul_flops:
        return "matrix products"
    if is_function(node):
        return "functions"
    if node.op.axes.pointwise:
        return "arithmetic"
    map = axis_map(node)
    summed = any(map.role(label) == "summed" for labels in map.operands for label in labels)
    return "sums" if summed else "moves"


def picture(
    title: str,
    before: Drawing,
    after: Drawing,
    costs: Sequence[Bar],
    times: Sequence[Bar],
    remark: str,
    plan: Sequence[str],
) -> str:
    """Return the picture as SVG.

    Args:
        title: of the whole.
        before: the program before the laws.
        after: the program that runs, drawn to the same scale.
        costs: (name, flops, caption) of the program after each family of laws.
        times: (name, seconds, caption).
        remark: what to say below the costs.
        plan: how it runs, in lines.
    """
    layouts = [Layered(drawing.program) for drawing in (before, after)]
    scale = _Scale((before.program, after.program), layouts)
    room = int((WIDTH - 2 * MARGIN - LEGEND) / 12)  # characters, of the widest of the fonts
    heading = title if len(title) <= room else f"{title[: room - 1]}…"
    parts = [f'<text class="t" x="{MARGIN}" y="40">{escape(heading)}</text>', *_legend()]
    top = 84.0
    for drawing, layout in zip((before, after), layouts, strict=True):
        drawn, height = _program(drawing.program, layout, scale, top + 34)
        parts += [f'<text class="h" x="{MARGIN}" y="{top + 12:.0f}">{escape(drawing.title)}</text>', *drawn]
        top += height + 70
    parts += _bars("flops after each family of laws", costs, MARGIN, top, 150, "#e4572e")
    end = top + 24 + 24 * len(costs)
    parts.append(f'<text class="q" x="{MARGIN}" y="{end + 16:.0f}">{escape(remark)}</text>')
    parts += _bars("time of a run", times, COLUMN, top, 80, "#1f9d83")
    at = top + 24 + 24 * len(times) + 26
    parts.append(f'<text class="h" x="{COLUMN}" y="{at:.0f}">plan</text>')
    room = int((WIDTH - MARGIN - COLUMN) / 6.7)
    lines = [part for line in plan for part in wrap(line.strip(), room)]
    for i, line in enumerate(lines):
        parts.append(f'<text class="s" x="{COLUMN}" y="{at + 20 + 19 * i:.0f}">{escape(line)}</text>')
    height = max(end + 30, at + 20 + 19 * len(lines)) + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="primad" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}"'
        f' role="img" style="max-width:100%;height:auto"><title>{escape(title)}</title><style>{STYLE}</style>'
        f'<rect width="{WIDTH}" height="{height:.0f}" rx="10" fill="#fff"/>{"".join(parts)}</svg>'
    )


def page(svg: str, text: str) -> str:
    """Return a page with the picture and the report."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>primad.explain</title>'
        "<style>body{margin:2rem auto;max-width:1240px;background:#f3f5f8;font-family:system-ui,sans-serif}"
        "svg{max-width:100%;height:auto;box-shadow:0 1px 8px #0002;border-radius:10px}"
        "pre{background:#fff;padding:1.2rem;border-radius:10px;overflow:auto;box-shadow:0 1px 8px #0002}</style></head>"
        f"<body>{svg}<pre>{escape(text)}</pre></body></html>\n"
    )


class _Scale:
    """What the drawings of both programs have in common: the radius of a dot, and how much room its layer takes.

    The radius is the third root of the work, so that what is small is still seen beside what is large.
    """

    def __init__(self, programs: Sequence[Program], layouts: Sequence[Layered]) -> None:
        self.largest = min(20.0, max(8.0, 700 / max(layout.layers for layout in layouts)))
        self._most = max([_work(node) for program in programs for node in program.nodes], default=0.0)
        widest = max(sum(self._widths(layout)) for layout in layouts)
        self._stretch = min(2.5, (WIDTH - 2 * MARGIN) / widest)

    def columns(self, layout: Layered) -> list[float]:
        """Return where the layers of a program stand, from left to right."""
        ends = list(accumulate(self._widths(layout)))
        starts = [0.0, *ends]
        return [MARGIN + self._stretch * (start + end) / 2 for start, end in zip(starts, ends, strict=False)]

    def _widths(self, layout: Layered) -> list[float]:
        widths = [0.0] * layout.layers
        for node in layout.nodes:
            place = layout.layer[node]
            widths[place] = max(widths[place], 2 * self.radius(node))
        return [width + 0.5 * self.largest for width in widths]

    def radius(self, node: Node) -> float:
        """Return the radius of a node's dot."""
        share = _work(node) / self._most if self._most else 0.0
        return SMALLEST + (self.largest - SMALLEST) * float(share ** (1 / 3))


def _work(node: Node) -> float:
    if isinstance(node.op, Leaf) or category(node) == "moves":
        return 0.0
    cost = node.op.cost(node)
    return float(8 * cost.flops if is_function(node) else cost.flops)


def _program(program: Program, layout: Layered, scale: _Scale, top: float) -> tuple[list[str], float]:
    """Draw a program; return its elements and its height."""
    radius = {node: scale.radius(node) for node in layout.nodes}
    heights = layout.heights(radius, 0.35 * scale.largest)
    edges = [heights[node] + sign * radius[node] for node in layout.nodes for sign in (-1, 1)] or [0.0]
    low, high = min(edges), max(edges)
    squeeze = min(1.0, TALLEST / (high - low)) if high > low else 1.0
    columns = scale.columns(layout)
    x = {node: columns[layout.layer[node]] for node in layout.nodes}
    y = {node: top + squeeze * (heights[node] - low) for node in layout.nodes}
    lines = []
    for source, target in layout.edges:
        middle = (x[source] + x[target]) / 2
        opacity = max(0.14, 0.75 / (1 + (layout.layer[target] - layout.layer[source]) / 5))
        lines.append(
            f'<path d="M{x[source]:.1f} {y[source]:.1f}C{middle:.1f} {y[source]:.1f} {middle:.1f} {y[target]:.1f}'
            f' {x[target]:.1f} {y[target]:.1f}" stroke="{COLOURS[category(source)]}" stroke-opacity="{opacity:.2f}"/>'
        )
    names = dict(zip(program.inputs, program.names, strict=True))
    outputs = set(program.outputs)
    for node in sorted(layout.nodes, key=lambda node: -radius[node]):
        ring = ' class="o"' if node in outputs else ""
        lines.append(
            f'<circle{ring} cx="{x[node]:.1f}" cy="{y[node]:.1f}" r="{radius[node]:.1f}"'
            f' fill="{COLOURS[category(node)]}"><title>{escape(_tip(program, node, names))}</title></circle>'
        )
    return lines, squeeze * (high - low)


def _tip(program: Program, node: Node, names: dict[Node, str]) -> str:
    if node.op is INPUT:
        return f"{names.get(node, 'input')}: {node.type}"
    if isinstance(node.op, Leaf):
        return f"{node.op.name}: {node.type}"
    cost = node.op.cost(node)
    line = f"\n{below_here(program.lines[node])}" if node in program.lines else ""
    return f"{node.op.name}: {node.type}\n{quantity(cost.flops, 'flop')}, {quantity(cost.bytes, 'B')} written{line}"


def _legend() -> list[str]:
    parts = [
        f'<text class="q" x="{MARGIN}" y="57">a dot is a value, the larger the more flops; rings are results</text>'
    ]
    x = float(WIDTH - MARGIN)
    for name, colour in reversed(COLOURS.items()):
        x -= 7.0 * len(name) + 28
        parts.append(f'<circle cx="{x:.0f}" cy="35" r="5.5" fill="{colour}"/>')
        parts.append(f'<text class="s" x="{x + 10:.0f}" y="39">{name}</text>')
    return parts


def _bars(title: str, bars: Sequence[Bar], left: float, top: float, named: float, colour: str) -> list[str]:
    """Draw horizontal bars, with names before them and captions after them."""
    lines = [f'<text class="h" x="{left}" y="{top + 12:.0f}">{escape(title)}</text>']
    most = max([value for _, value, _ in bars], default=0.0) or 1.0
    for i, (name, value, caption) in enumerate(bars):
        y = top + 24 + 24 * i
        length = max(2.0, LONGEST_BAR * value / most)
        lines.append(f'<text class="s" x="{left}" y="{y + 13:.0f}">{escape(name)}</text>')
        lines.append(f'<rect x="{left + named}" y="{y:.0f}" width="{length:.1f}" height="17" rx="3" fill="{colour}"/>')
        lines.append(f'<text class="q" x="{left + named + length + 8:.1f}" y="{y + 13:.0f}">{escape(caption)}</text>')
    return lines


def below_here(where: str) -> str:
    """Return a user's line with its file named from the working directory, if that holds it: pictures are shared."""
    here = os.getcwd() + os.sep
    return shown_place(where).removeprefix(here)
