"""What a problem says besides its equations: on the boundary, at the start, at points of data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.geometry.domains import Domain
from primad.pde.written_names import names_in

__all__ = [
    "Condition",
    "Dirichlet",
    "Free",
    "Initial",
    "Neumann",
    "Periodic",
    "Robin",
]

Value = complex | Callable[..., Any]
"""A number, or a function of coordinates by name."""


class Condition:
    """Something that is to be zero on a part of the boundary; also the base of the conditions that have names.

    Args:
        residual: a function of what it asks for by name (unknowns, coordinates, coefficients, and `n`, the outward
            normal), that returns what is to be zero, or a tuple of it; or an equation of SymPy.
        on: the part of the boundary, or several; None for all in space.
        weight: of its mean square among the others; by default 1, or more where data have a noise (see `Data`).
        name: what it is called in histories.

    Example:
        >>> from primad import pde
        >>> radiation = pde.Condition(lambda u, n: n[0] * u.x + n[1] * u.y + 0.1 * u.value**4, on="x+")
    """

    kind = "condition"
    inside = False
    """Whether it may hold anywhere, and not on parts of the boundary."""
    unknowns: tuple[str, ...] = ()

    def __init__(
        self,
        residual: Callable[..., Any],
        on: str | Sequence[str] | None = None,
        *unnamed: Any,
        weight: float | None = None,
        name: str | None = None,
    ) -> None:
        if unnamed:
            raise ProblemError(
                "a condition takes one residual and one place without names", fix='write on=["x-", "y-"] for several.'
            )
        self.residual, self.name = residual, name
        self._place(on, weight)

    def _place(self, on: str | Sequence[str] | None, weight: float | None) -> None:
        listed = isinstance(on, (list, tuple)) and all(isinstance(part, str) for part in on)
        if not (on is None or isinstance(on, str) or listed):
            raise ProblemError(
                f"{self.what}: parts of a boundary have names, got {_in_words(on)} for `on`",
                why="`domain.parts` lists them.",
                fix='write on="x-"; or name a piece where a condition on coordinates holds, '
                'domain = domain.named(inlet=lambda x, y: x == 0), and write on="inlet".',
            )
        self.on = (on,) if isinstance(on, str) else None if on is None else tuple(on)
        if self.on == ():
            raise ProblemError(f"{self.what} is on no part of the boundary", fix="leave `on` out for all parts.")
        self.weight = weight_of(weight, f"{self.what}: the weight")

    @property
    def what(self) -> str:
        """What to call it in messages."""
        named = f" of {', '.join(self.unknowns)}" if self.unknowns else ""
        where = "" if getattr(self, "on", None) is None else f" on {', '.join(map(repr, self.on or ()))}"
        return f"the {self.kind}{named}{where}"

    def parts(self, domain: Domain) -> tuple[str, ...]:
        """Return the parts of a domain's boundary that it is on.

        Raises:
            ProblemError: if the boundary has no such part.
        """
        if self.on is None:
            return tuple([part for part in domain.parts if part != "initial"])
        for part in self.on:
            domain.check_part(part)
        return self.on


class Measured(Condition):
    """A condition that gives what was measured, or computed otherwise, at points; with its noise if that is known."""

    inside = True
    columns: dict[str, Any]
    noise: float | None

    def _told(self, columns: dict[str, Any], weight: float | None, name: str | None, noise: float | None) -> None:
        self.columns, self.name = columns, name
        self.noise = None if noise is None else positive(noise, "the noise of data")
        self._place(None, weight)

    @property
    def strictness(self) -> float:
        """The weight of what must hold beside these data, 1/σ², or 1 if their noise is not known."""
        return 1.0 if self.noise is None else 1.0 / self.noise**2

    @property
    def concerned(self) -> set[str]:
        """The names of coordinates, and of unknowns of which something was measured."""
        return {key.partition(".")[0] for key in self.columns}


class _Valued(Condition):
    """A condition that gives values to unknowns."""

    def __init__(
        self,
        *unnamed: Any,
        on: str | Sequence[str] | None = None,
        hard: bool | None = None,
        weight: float | None = None,
        **values: Value,
    ) -> None:
        if len(unnamed) == 1 and on is None and (values or isinstance(unnamed[0], (str, list, tuple))):
            on, unnamed = unnamed[0], ()
        if unnamed:
            raise _nameless(type(self).__name__, "" if on is None else f", on={on!r}")
        self.values, self.hard, self.name = _checked(values, type(self).__name__), hard, None
        self.unknowns = tuple(values)
        self._place(on, weight)


class Dirichlet(_Valued):
    """Unknowns have given values on the boundary: `Dirichlet(u=0)`, `Dirichlet(u=lambda x, t: …, on="x-")`.

    Where the domain allows it (boxes, balls, convex polygons and products of them), the condition holds by
    construction: what the network returns is multiplied by a function that vanishes there. Functions of coordinates
    must then be defined inside as well.

    Args:
        on: the part of the boundary, or several; None for all in space.
        hard: True to insist on it by construction, False to fit it at points; None for what is possible.
        weight: of its mean square, where it is fitted.
        **values: a number, or a function of coordinates by name, for each unknown.
    """

    kind = "Dirichlet condition"


class Neumann(_Valued):
    """Derivatives of unknowns along the outward normal have given values: `Neumann(u=0, on="x+")`.

    Where the values of the unknown hold by construction as well (a clamped beam or plate), so can these: what the
    network returns is multiplied by the square of a function that vanishes there.

    Args:
        on: the part of the boundary, or several; None for all in space.
        hard: True to insist on it by construction, False to fit it at points; None for what is possible.
        weight: of its mean square, where it is fitted.
        **values: a number, or a function of coordinates, and `n`, the outward normal, by name, for each unknown.
    """

    kind = "Neumann condition"


class Robin(_Valued):
    """a·u + b·∂u/∂n has a given value on the boundary: `Robin(u=0, a=1, b=0.5)`.

    Args:
        on: the part of the boundary, or several; None for all in space.
        a: what the unknown is multiplied by: a number, or a function of coordinates, and `n`, the outward normal.
        b: what the derivative along the outward normal is multiplied by.
        weight: of its mean square.
        **values: a number, or a function of coordinates by name, for each unknown.
    """

    kind = "Robin condition"

    def __init__(
        self,
        *unnamed: Any,
        on: str | Sequence[str] | None = None,
        a: Value = 1.0,
        b: Value = 1.0,
        weight: float | None = None,
        **values: Value,
    ) -> None:
        super().__init__(*unnamed, on=on, hard=False, weight=weight, **values)
        self.a, self.b = a, b


class Initial(_Valued):
    """Unknowns, or their derivatives in time, have given values at the start: `Initial(u=…)`, `Initial(u=0, order=1)`.

    Args:
        order: of the derivative in time: 0 for the values, 1 for the velocities.
        hard: True to insist on it by construction, False to fit it at points; None for what is possible.
        weight: of its mean square, where it is fitted.
        **values: a number, or a function of coordinates by name, for each unknown.
    """

    kind = "initial condition"

    def __init__(
        self, *unnamed: Any, order: int = 0, hard: bool | None = None, weight: float | None = None, **values: Value
    ) -> None:
        if unnamed:
            raise _nameless(type(self).__name__)
        if "on" in values:
            raise ProblemError(
                "an initial condition is at the start, and on no other part", fix="leave `on` out; or use Dirichlet."
            )
        if order not in (0, 1):
            raise ProblemError(
                f"an initial condition is of order 0 (values) or 1 (velocities), got {order!r}",
                fix="give higher derivatives by pde.Condition(lambda u: u.tt - …, on='initial').",
            )
        self.order = order
        super().__init__(on="initial", hard=hard, weight=weight, **values)
        if order:
            self.kind = "initial velocity"


class Periodic(Condition):
    """Unknowns repeat, with derivatives, at both ends of coordinates: `Periodic("x")`. Networks get cosine and sine.

    A further condition on one of the ends fixes what repetition leaves open: `Dirichlet(u=0, on="x-")`.

    Args:
        *coordinates: of intervals and boxes: `"x"`, `"x y"`.
        unknowns: which unknowns repeat; all by default.
    """

    kind = "periodic condition"

    def __init__(self, *coordinates: str, unknowns: str | Sequence[str] | None = None, **named: Any) -> None:
        coordinates = names_in(coordinates)
        if named or not coordinates or not all(isinstance(name, str) for name in coordinates):
            raise ProblemError("a periodic condition needs names of coordinates", fix='write Periodic("x").')
        self.coordinates, self.name = coordinates, None
        self.unknowns = names_in(unknowns or ())
        self._place([part for name in coordinates for part in (f"{name}-", f"{name}+")], None)


class Free(Condition):
    """Nothing is said of unknowns on parts of the boundary, on purpose: `Free("p")`, `Free("u", on="x+")`.

    Args:
        *unknowns: their names: `"u"`, `"u v"`.
        on: the part of the boundary, or several; None for all parts, the initial one included, on which no other
            condition says anything of them.
    """

    kind = "freedom"

    def __init__(self, *unknowns: str, on: str | Sequence[str] | None = None, **named: Any) -> None:
        unknowns = names_in(unknowns)
        if named or not unknowns or not all(isinstance(name, str) for name in unknowns):
            raise ProblemError("Free needs names of unknowns", fix=f'write Free("{next(iter(named), "p")}").')
        self.unknowns, self.name = unknowns, None
        self._place(on, None)

    def parts(self, domain: Domain) -> tuple[str, ...]:
        """Return the parts that it is on: all, if none are named."""
        return domain.parts if self.on is None else super().parts(domain)


def weight_of(value: Any, what: str) -> float | None:
    """Return a weight that is stated; None for one that is not.

    Raises:
        ProblemError: if it is no positive number.
    """
    return None if value is None else positive(value, what)


def positive(value: Any, what: str) -> float:
    if not (isinstance(value, (int, float, np.number)) and 0 < float(value) < np.inf):
        raise ProblemError(
            f"{what} must be a positive number, got {value!r}",
            fix="write a number greater than 0.",
        )
    return float(value)


def _nameless(kind: str, on: str = "") -> ProblemError:
    return ProblemError(
        f"{kind}: values are given to unknowns by their names",
        fix=f"write {kind}(u=0{on}), or {kind}(u=lambda x: np.sin(x){on}).",
    )


def _in_words(value: Any) -> str:
    """Return what a value is, briefly."""
    if callable(value):
        return "a function"
    shape = f" of shape {value.shape}" if isinstance(value, np.ndarray) else ""
    return f"{type(value).__name__}{shape}"


def _checked(values: Mapping[str, Value], what: str) -> dict[str, Value]:
    if not values:
        raise ProblemError(f"{what} says nothing of any unknown", fix=f"write {what}(u=0).")
    for name, value in values.items():
        if callable(value):
            continue
        if not (isinstance(value, (int, float, complex, np.number)) and np.isfinite(value)):
            got = repr(value) if isinstance(value, (int, float, complex, str, np.number)) else _in_words(value)
            raise ProblemError(
                f"{what}: the value of {name} is a number or a function of coordinates, got {got}",
                fix=f"write {what}({name}=lambda x: …); measured values are Data.",
            )
    return dict(values)
