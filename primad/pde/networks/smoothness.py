"""Where functions of coordinates are not smooth inside a domain: steps, kinks, jumps of derivatives, and poles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import NotDifferentiableError, PrimadError
from primad.ir.node import Leaf, Node
from primad.ir.walks import dependents
from primad.pde.fields.named_fields import Field
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.point_arguments import FEW
from primad.pde.geometry.sampling import Array
from primad.recording.tracing import trace
from primad.transforms.lowering import lower, without_calls

LINES = 24
"""Lines along each coordinate on which a function is looked at: what crosses a tenth of the domain crosses some."""
STATIONS = 20
"""Pieces of a line, which tell how large a function is, and how far what a jump does is looked at."""
JUMP_ORDERS = 4
"""Up to which order derivatives must not jump. A jump of a higher one hardly shows in what a network can tell."""
JUMP = 1e-5
"""What a jump may make of a function, relative to its size."""
FOLLOWED = 4
"""Pieces with the largest jumps that are halved, and points with the largest values that are moved."""
HALVINGS = 24
"""How often points are moved, by half as much each time. Pieces are halved as often over the order of the derivative
that is integrated: by then what is no jump is gone, and rounding, which derivatives magnify as often, is not there."""
GROWTH = 0.05
"""By which part the largest value goes on growing in the last third of the steps towards a pole; it halts at a peak."""
NODES, SHARES = np.polynomial.legendre.leggauss(6)

Function = Callable[[Any], Any]
"""Of all coordinates in one array."""


def roughness(function: Function, domain: Domain) -> str:
    """Return where a function is not smooth inside a domain, in words; "" if no such place is found.

    A residual is looked at in points: it cannot tell that a derivative which it takes jumps between two of them.
    """
    if not may_be_rough(function, domain.dimension):
        return ""
    u = Field(function, f"({' '.join(domain.names)})")
    for count, stations in ((LINES, STATIONS), (LINES // 4, 32 * STATIONS)):
        lines = domain.interior(count, "sobol", 1).at
        for place, name in enumerate(domain.names[:FEW]):
            low, high = domain.bounds[place]
            cuts = low + (high - low) * (0.0013 + 0.9961 * np.arange(stations + 1) / stations)  # not at the middle
            pieces = np.stack([np.tile(cuts[:-1], len(lines)), np.tile(cuts[1:], len(lines))], axis=1)
            found = _jump(u, domain, np.repeat(lines, stations, axis=0), place, pieces)
            if found is not None:
                order, at = found
                what = f"the derivative of order {order} in {name}" if order else "the value"
                does = "jump" if np.isfinite(np.asarray(u.on(at[None]).value)[0]) else "not be finite"
                return f"{what} would {does} inside the domain, near {_said(domain, at)}"
    return _unbounded(u, domain)


def may_be_rough(function: Function, dimension: int) -> bool:
    """Say whether a function applies an op that is not smooth everywhere to what depends on coordinates."""
    try:
        program = lower(without_calls(trace(function)(np.full(dimension, 0.5))))
    except PrimadError:
        return True
    depending = dependents(program.nodes, program.inputs)
    computed = [node for node in program.nodes if node in depending and not isinstance(node.op, Leaf)]
    return not all(_is_smooth(node, depending) for node in computed)


def _is_smooth(node: Node, depending: set[Node]) -> bool:
    """Say whether a node is a smooth function of operands that depend on coordinates."""
    alone = [place for place, operand in enumerate(node.inputs) if operand in depending]
    if len(alone) == 1 and alone[0] in (node.op.derivative.linear_operands or ()):
        return True
    real = getattr(node.type, "dtype", np.dtype(bool)).kind == "f"  # no comparison, and no index
    smooth = node.op.derivative.smooth
    return real and (node.op.kind in ("linear", "multilinear") or (smooth is not None and smooth(node)))


def _jump(u: Field, domain: Domain, rows: Array, place: int, pieces: Array) -> tuple[int, Array] | None:
    """Return the order of a derivative along a coordinate that jumps in a piece of a line, and where; None if none do.

    What a derivative changes by from end to end, beyond the integral of the next one, is a jump, or is gone where the
    piece is halved.

    Args:
        u: the function.
        domain: the domain.
        rows: a point of each piece's line.
        place: of the coordinate.
        pieces: where the coordinate begins and ends in each.
    """
    inside = np.all([domain.contains(_moved(rows, place, pieces @ share)) for share in ENDS_AND_MIDDLE], axis=0)
    rows, pieces = rows[inside], pieces[inside]
    size, step = 0.0, np.ptp(domain.bounds[place]) / STATIONS
    for order in range(JUMP_ORDERS):
        scale = step**order / math.factorial(order)
        try:
            with np.errstate(all="ignore"):
                if not order:
                    values = np.abs(np.asarray(u.on(_moved(rows, place, pieces[:, 0])).value))
                    size = float(np.max(values, where=np.isfinite(values), initial=0.0))
                beyond = _beyond(u, rows, place, pieces, order) * scale
        except NotDifferentiableError:  # an equation that needs it says so
            break
        if not np.any(wrong := ~(beyond <= JUMP * size)):
            continue
        worst = np.resize(np.argsort(np.where(np.isnan(beyond), np.inf, beyond))[::-1][: np.sum(wrong)], FOLLOWED)
        found, ends = rows[worst], pieces[worst]
        for _ in range(HALVINGS // (order + 1)):
            middle = np.mean(ends, axis=1)
            halves = np.stack([np.stack([ends[:, 0], middle], 1), np.stack([middle, ends[:, 1]], 1)], axis=1)
            with np.errstate(all="ignore"):
                beyond = _beyond(u, np.repeat(found, 2, axis=0), place, halves.reshape(-1, 2), order) * scale
            beyond = np.where(np.isnan(beyond), np.inf, beyond).reshape(-1, 2)
            ends = halves[np.arange(FOLLOWED), np.argmax(beyond, axis=1)]
        still = np.max(beyond, axis=1)
        at = _moved(found, place, np.mean(ends, axis=1))
        still[~domain.contains(at)] = 0.0
        if np.any(still > JUMP * size):
            return order, at[np.argmax(still)]
    return None


ENDS_AND_MIDDLE = np.array([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [0.0, 1.0]])


def _beyond(u: Field, rows: Array, place: int, pieces: Array, order: int) -> Array:
    """Return by how much derivatives change in pieces beyond the integral of the next ones."""
    name = u.coordinates.names[place]
    length = pieces[:, 1] - pieces[:, 0]
    inside = pieces[:, :1] + length[:, None] * (NODES + 1) / 2
    many = np.repeat(rows, len(NODES), axis=0)
    slopes = np.asarray(u.on(_moved(many, place, inside.ravel())).d(" ".join([name] * (order + 1))))
    ends = np.asarray(u.on(_moved(np.repeat(rows, 2, axis=0), place, pieces.ravel())).d(" ".join([name] * order)))
    change = ends.reshape(-1, 2)[:, 1] - ends.reshape(-1, 2)[:, 0]
    found: Array = np.abs(change - length / 2 * (slopes.reshape(-1, len(NODES)) @ SHARES))
    return found


def _moved(rows: Array, place: int, values: Array) -> Array:
    """Return points with other values of a coordinate."""
    found = rows.copy()
    found[:, place] = values
    return found


def _unbounded(u: Field, domain: Domain) -> str:
    """Return where a function, or a slope or a curvature of it, grows without end, in words; "" if none does.

    A curvature does so inside of a domain at the tip of a cone, of which few lines hit the kink. At an edge it may, as
    that of a root's third power: nothing jumps there.
    """
    for order, what in enumerate(("the value", "a slope", "a curvature")):
        try:
            pole = _pole(u, domain, order)
        except NotDifferentiableError:  # an equation that needs it says so
            break
        if pole is not None and (order < 2 or _is_inner(domain, pole)):
            where = "inside" if order != 1 or _is_inner(domain, pole) else "at the edge of"
            return f"{what} would have no bound {where} the domain, near {_said(domain, pole)}"
    return ""


def _is_inner(domain: Domain, at: Array) -> bool:
    """Say whether a point is inside of a domain, and not at its edge."""
    moves = 0.1 * 0.5 ** (HALVINGS // 3) * np.diag(np.ptp(domain.bounds, axis=1))
    return bool(np.all(domain.contains(np.concatenate([at + moves, at - moves]))))


def _pole(u: Field, domain: Domain, order: int) -> Array | None:
    """Return a point in a domain towards which derivatives of a function grow without end; None if none is found."""
    start, halvings = domain.interior(256, "sobol", 2).at, HALVINGS if not order else HALVINGS // 2

    def size(at: Array) -> Array:
        with np.errstate(all="ignore"):
            here = u.on(at)
            along = [np.abs(np.asarray(here.d(" ".join([name] * order)))) for name in domain.names[:FEW]]
        values = np.max(along if order else along[:1], axis=0)
        return np.where(domain.contains(at), np.where(np.isnan(values), np.inf, values), -1.0)

    values = size(start)
    usual = float(np.median(values))
    at, grown = start[np.argsort(values)[::-1][:FOLLOWED]], []
    for halved in range(halvings):
        for place, (low, high) in enumerate(domain.bounds[:FEW]):
            tried = np.repeat(at[:, None], 3, axis=1)
            tried[:, :, place] += 0.1 * (high - low) * 0.5**halved * np.array([0.0, 1.0, -1.0])
            sizes = size(tried.reshape(-1, domain.dimension)).reshape(-1, 3)
            at = tried[np.arange(FOLLOWED), np.argmax(sizes, axis=1)]
        grown.append(np.max(sizes, axis=1))
    before, after = grown[2 * halvings // 3], grown[-1]
    with np.errstate(invalid="ignore"):
        goes_on = ~(after - before <= GROWTH * (before - usual) + 1e-12 * usual)
    return at[np.argmax(goes_on)] if np.any(goes_on) else None


def _said(domain: Domain, at: Array) -> str:
    return ", ".join(f"{name} = {value:.3g}" for name, value in zip(domain.names[:FEW], at, strict=False))
