"""Which conditions hold by construction: those that agree with each other, and whose extension is smooth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primad.errors import NotDifferentiableError, ProblemError
from primad.functional.derivatives.first_order import jvp
from primad.pde.fields.named_fields import Field
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.intervals import space_of
from primad.pde.geometry.point_arguments import FEW, Place, Point, as_normal, number
from primad.pde.geometry.sampling import Points
from primad.pde.networks.hard_constraints import Function, Imposed, as_function
from primad.pde.networks.smoothness import JUMP, JUMP_ORDERS, STATIONS, roughness
from primad.pde.problem.conditions import Condition, Dirichlet, Initial, Neumann

TRIED = 128
"""Points of all the boundary at which it is tried what holds by construction, 16 of a part at most."""
JUMPS_TRIED = 16
"""Points of a periodic end at which it is tried whether an unknown repeats."""


@dataclass(frozen=True)
class Left:
    """A condition that could not hold by construction, and is fitted.

    Attributes:
        condition: the condition.
        name: of the unknown.
        why: in words.
        surprise: what an unknown is that makes this a surprise, ", which is periodic," say: a warning says it. None
            where it is none.
    """

    condition: Condition
    name: str
    why: str
    surprise: str | None = None


def imposed(
    name: str, domain: Domain, conditions: Sequence[Condition], periodic: Sequence[str] = ()
) -> tuple[Imposed, list[Condition], list[Left]]:
    """Return what can hold of an unknown by construction, the conditions that then do, and those that cannot.

    Args:
        name: of the unknown.
        domain: of the problem.
        conditions: all of the problem's.
        periodic: the coordinates in which the unknown repeats.

    Raises:
        ProblemError: if a condition insists on it and it cannot be.
    """
    found, used, left = Imposed(domain), list[Condition](), list[Left]()
    # One after the other: values alone may be possible where a velocity, or a slope, is not.
    for kind, belongs in STAGES.items():
        wished: list[Any] = [c for c in conditions if belongs(c)]
        wished = [c for c in wished if name in c.values and c.hard is not False]

        def more(held: Sequence[Any], found: Imposed = found, kind: str = kind) -> Imposed:
            given: Any = {part: value for c in held for part, value in _by_part(c, name, domain).items()}
            return replace(found, **{kind: given})

        if wished and kind != "values" and not set(getattr(more(wished), kind)) <= set(found.values):
            left += [Left(c, name, "the values there do not hold by construction") for c in wished]
            continue
        for condition in list(wished):
            why, surprise = _alone(more([condition]), condition, periodic)
            if why:
                left.append(Left(condition, name, why, surprise))
                wished.remove(condition)
        if wished:
            together = more(wished)
            why = _obstacle(together) or (_jump(together, periodic) if len(wished) > 1 else "")
            if why:
                left += [Left(c, name, why) for c in wished]
            else:
                found, used = together, [*used, *wished]
    for one in left:
        if getattr(one.condition, "hard", None):
            raise ProblemError(
                f"{one.condition.what} cannot hold by construction",
                why=f"For {name}: {one.why}.",
                fix="leave `hard` out: then it is fitted at points.",
            )
    return found, used, left


STAGES: dict[str, Callable[[Any], bool]] = {
    "values": lambda c: isinstance(c, Dirichlet) or (isinstance(c, Initial) and not c.order),
    "velocities": lambda c: isinstance(c, Initial) and c.order == 1,
    "slopes": lambda c: isinstance(c, Neumann),
}
"""What can hold by construction, and which conditions say it."""


def _by_part(condition: Any, name: str, domain: Domain) -> dict[str, Function]:
    value = as_function(condition.values[name])
    return dict.fromkeys(condition.parts(domain), value)


def _alone(found: Imposed, condition: Condition, periodic: Sequence[str]) -> tuple[str, str | None]:
    """Return why a condition alone cannot hold by construction, and what makes that a surprise; "" if it can.

    What has no form at all is left to `_obstacle`.
    """
    _check_finite(found)
    if _formless(found):
        return "", None
    if why := _jump(found, periodic):
        ends = {part for each in periodic for part in (f"{each}-", f"{each}+")}
        return why, None if ends & set(condition.parts(found.domain)) else ", which is periodic,"

    def extension(coordinates: Any) -> Any:
        return found.around(lambda: 0.0, Place(found.domain.names, coordinates)) + 0.0 * coordinates[0]

    return roughness(extension, found.domain), ""


def _check_finite(found: Imposed) -> None:
    """Raise if what is given on a part of the boundary is not finite there."""
    domain = found.domain
    for part, value in found.values.items():
        for row in _tried(domain, part).at:
            wanted = number(value(_point(domain, row)))
            if not np.isfinite(wanted):
                place = ", ".join(f"{name} = {value:g}" for name, value in zip(domain.names, row[:FEW], strict=False))
                raise ProblemError(
                    f"the value on {part!r} is {wanted} at {place}",
                    fix="give a function that is finite on all of that part, or a condition for each piece of it.",
                )


def _tried(domain: Domain, part: str) -> Points:
    """Return the points of a part of the boundary at which it is tried what holds."""
    return domain.boundary(part, min(16, max(2, TRIED // len(domain.parts))), "sobol", 1)


def _formless(found: Imposed) -> str:
    """Return why nothing is known that has the values, or vanishes where they are; "" if something is."""
    part, domain = next(iter(found.values)), found.domain
    point = _point(domain, domain.boundary(part, 1, "sobol", 1).at[0])
    if domain.vanishing(list(found.values), point) is None:
        return f"no smooth function is known that vanishes on {', '.join(map(repr, found.values))} only"
    if domain.extended(found.values, point) is None:
        return "the parts of the boundary have different values, and nothing smooth is known between them"
    return ""


def _obstacle(found: Imposed) -> str:
    """Return why something cannot hold by construction; "" if it can. Points of the boundary tell."""
    domain = found.domain
    if why := _formless(found):
        return why
    for part, value in found.values.items():
        for row in _tried(domain, part).at:
            point = _point(domain, row)
            wanted, have = number(value(point)), number(found.around(lambda: 1.0, point))
            if not _meet(wanted, have):
                return f"the conditions do not meet at the edge of {part!r} ({have:.3g} is not {wanted:.3g})"
    for part, slope in found.slopes.items():
        edge = _tried(domain, part)
        for row, normal in zip(edge.at, np.asarray(edge.normals), strict=True):
            point = {
                **dict(zip(domain.names, row, strict=True)),
                "n": as_normal(normal, domain.names, space_of(domain)),
            }
            wanted, have = number(slope(point)), _slope(found, row, normal)
            if not _meet(wanted, have):
                return f"the slope on {part!r} would be {have:.3g} and not {wanted:.3g}"
    return ""


def _meet(wanted: float | complex, have: float | complex) -> bool:
    """Say whether two numbers are equal up to rounding; NaN is equal to none."""
    return abs(wanted - have) <= 1e-8 * max(1.0, abs(wanted))


def _jump(found: Imposed, periodic: Sequence[str]) -> str:
    """Return where an unknown would not repeat, though its network does; "" if it would.

    A jump of the derivative of order k counts as what it makes of the function within a distance h, hᵏ/k! of it.
    """
    domain = found.domain
    for coordinate in periodic:
        low, high = domain.bounds[domain.names.index(coordinate)]
        faces = domain.boundary(f"{coordinate}-", JUMPS_TRIED, "sobol", 1).at
        rows = np.repeat(faces, STATIONS, axis=0)
        rows[:, domain.names.index(coordinate)] = np.tile(np.linspace(low, high, STATIONS), len(faces))
        for network in (0.0, 1.0):  # what is given, and with it what vanishes
            u = Field(lambda *point, n=network: _at(found, n, point), domain.names).on(rows)
            size = 0.0
            for order in range(JUMP_ORDERS + 1):
                try:
                    lines = np.reshape(u.d(" ".join([coordinate] * order)), (-1, STATIONS))
                except NotDifferentiableError:  # an equation that needs it says so
                    break
                if not order:
                    size = float(np.max(np.abs(lines), where=np.isfinite(lines), initial=0.0))
                before, after = lines[:, 0], lines[:, -1]
                step = ((high - low) / STATIONS) ** order / math.factorial(order)
                with np.errstate(invalid="ignore"):
                    wrong = np.flatnonzero(~(np.abs(after - before) * step <= JUMP * size))
                if wrong.size:
                    what = f"the derivative of order {order} in {coordinate}" if order else f"the value in {coordinate}"
                    return f"{what} would be {before[wrong[0]]:.3g} at one end and {after[wrong[0]]:.3g} at the other"
    return ""


def _at(found: Imposed, network: float, coordinates: Sequence[Any]) -> Any:
    """Return what is imposed around a network that is a number."""
    point = dict(zip(found.domain.names, coordinates, strict=True))
    return found.around(lambda: network, point) + 0.0 * coordinates[0]


def _point(domain: Domain, row: Any) -> Point:
    few = len(domain.names) <= FEW
    return dict(zip(domain.names, row, strict=True)) if few else Place(domain.names, row)


def _slope(found: Imposed, at: Any, normal: Any) -> float | complex:
    """Return the derivative of what is imposed, around a network that is 1, along a normal."""
    return number(jvp(lambda *point: _at(found, 1.0, point), tuple(at), tuple(normal))[1])
