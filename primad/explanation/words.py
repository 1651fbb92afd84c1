"""Plans and quantities in words."""

from __future__ import annotations

import os

from primad.runtime.fusion import Group
from primad.runtime.interpreter import Plan
from primad.runtime.lanes import thread_count
from primad.runtime.tiles import NativeTiles
from primad.runtime.tiling import AnyPlan, StagedPlan, TiledPlan
from primad.runtime.whole import WholePlan


def summary(plan: AnyPlan | WholePlan) -> str:
    """Say in a line how a plan runs."""
    if isinstance(plan, WholePlan):
        return "one native function"
    if isinstance(plan, StagedPlan):
        return "two stages, one after the other: complete sums over the axis are needed along it again"
    if isinstance(plan, TiledPlan):
        tiles = plan.tiles
        return (
            f"{several(tiles.count, 'tile')} of {tiles.length} along an axis of {plan.dimension.length}, in "
            f"{several(tiles.lanes, 'lane')} on {several(min(tiles.lanes, thread_count()), 'thread')}"
        )
    return "step by step, untiled"


def details(plan: AnyPlan | WholePlan) -> list[str]:
    """Say line by line what a plan consists of."""
    if isinstance(plan, StagedPlan):
        return [
            line
            for name, part in zip(("first", "then"), plan.parts, strict=True)
            for line in (f"{name}: {summary(part)}", *[f"  {line}" for line in details(part)])
        ]
    if isinstance(plan, TiledPlan):
        before, tiles, after = plan.parts
        lines = [f"before the tiles: {_steps(before)}"] if before.units else []
        lines.append(f"each tile: {_as_function(tiles) if isinstance(tiles, NativeTiles) else _steps(tiles.plan)}")
        return [*lines, f"after the tiles: {_steps(after)}"] if after.units else lines
    return [] if isinstance(plan, WholePlan) else [_steps(plan)]


def _as_function(tiles: NativeTiles) -> str:
    text = f"one native function of {several(tiles.loops, 'loop')}"
    if tiles.products:
        text += f" and {several(tiles.products, 'matrix product')}"
    return f"{text}, {size(tiles.scratch)} of memory for a thread"


def _steps(plan: Plan) -> str:
    kernels = sum(isinstance(unit, Group) for unit in plan.units)
    products = sum(not isinstance(unit, Group) and unit.op.cost(unit).matmul_flops > 0 for unit in plan.units)
    kinds = [several(n, name) for n, name in ((products, "matrix product"), (kernels, "kernel")) if n]
    text = several(len(plan.units), "step") + (f" ({', '.join(kinds)})" if kinds else "")
    if plan.buffers:
        text += f", {several(len(plan.buffers), 'buffer')} of {size(sum(type.nbytes for type in plan.buffers))}"
    return text


def several(number: int, name: str) -> str:
    """Return a number with the name of what it counts."""
    return f"{number} {name}{'' if number == 1 else 's'}"


def count(value: float) -> str:
    """Return a count with three digits and a prefix; above a thousand exa as a power of ten."""
    number, prefix = _scaled(value)
    return f"{number} {prefix}".rstrip()


def quantity(value: float, unit: str) -> str:
    """Return a count of units with three digits and a prefix."""
    number, prefix = _scaled(value)
    return f"{number} {prefix}{unit}"


def _scaled(value: float) -> tuple[str, str]:
    value = float(f"{value:.3g}")
    if value >= 1e21:
        mantissa, _, exponent = f"{value:.1e}".partition("e+")
        return f"{mantissa}·10{exponent.lstrip('0').translate(_RAISED)}", ""
    for scale, prefix in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:.3g}", prefix
    return f"{value:.3g}", ""


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def size(value: float) -> str:
    """Return a number of bytes with three digits."""
    return quantity(value, "B") if value >= 1000 else f"{value:.0f} bytes"


def seconds(value: float) -> str:
    """Return a time with three digits."""
    value = float(f"{value:.3g}")
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def below_here(where: str) -> str:
    """Return a user's line with its file named from the working directory, if that holds it: pictures are shared."""
    here = os.getcwd() + os.sep
    return where.removeprefix(here)
