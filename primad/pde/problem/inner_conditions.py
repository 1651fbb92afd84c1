"""What holds elsewhere than on the boundary: between materials, in the mean, in a part of it, before the start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.pde.equations.symbolic_equations import Equation
from primad.pde.fields.problem_formulas import is_symbolic
from primad.pde.geometry.domains import Domain
from primad.pde.geometry.sampling import Points
from primad.pde.problem.conditions import Condition, Initial, Value, weight_of

__all__ = ["Integral", "Interface", "Past", "Within"]


class Interface(Condition):
    """Something is to be zero on the boundary of another domain that lies inside the problem's.

    Args:
        residual: a function of what it asks for by name, `n` (the normal, out of that domain) included.
        of: the other domain, with the same coordinates.
        on: the part of its boundary, or several; None for all.
        weight: of its mean square.
        name: what it is called in histories.

    Example:
        >>> from primad import pde
        >>> left = pde.Box(x=(0, 0.5), y=(0, 1))
        >>> jump = pde.Interface(lambda u, v: (u.value - v.value, u.x - 10 * v.x), of=left, on="x+")
    """

    kind = "interface condition"

    def __init__(
        self,
        residual: Callable[..., Any],
        of: Domain,
        on: str | Sequence[str] | None = None,
        *,
        weight: float | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(residual, on, weight=weight, name=name or "interface")
        self.of = of


class Integral(Condition):
    """An integral over the domain, or over a part of its boundary, has a given value.

    Args:
        integrand: a function of what it asks for by name, or an expression of SymPy.
        value: of the integral.
        on: the part of the boundary; None for the domain itself.
        weight: of the square of the difference.
        order: points for each coordinate.
        name: what it is called in histories.

    Example:
        >>> from primad import pde
        >>> normalised = pde.Integral(lambda u: u.value**2, 1.0)
    """

    kind = "integral"

    def __init__(
        self,
        integrand: Callable[..., Any],
        value: float,
        on: str | None = None,
        *,
        weight: float | None = None,
        order: int = 20,
        name: str | None = None,
    ) -> None:
        if not (isinstance(value, (int, float, np.number)) and np.isfinite(value)):
            raise ProblemError(
                f"the value of an integral must be a number, got {value!r}",
                fix="write pde.Integral(lambda u: u.value, 1.0); what is not known is a coefficient in the integrand.",
            )
        if order < 1:
            raise ProblemError(
                f"an integral needs at least one point, got order={order}",
                fix="leave `order` out, or ask for 20.",
            )
        super().__init__(integrand, on, weight=weight, name=name)
        self.value, self.order = float(value), order

    def points(self, domain: Domain) -> Points:
        """Return the points and weights of the sum that stands for the integral."""
        if self.on is None:
            return domain.quadrature(self.order)
        return domain.boundary_quadrature(self.on[0], self.order)


class Within:
    """An equation that holds in a part of the domain only, as in one of two materials.

    Args:
        domain: that part, with the coordinates of the problem.
        equation: a function that returns what is to be zero.
        weight: of its mean square.
    """

    def __init__(self, domain: Domain, equation: Callable[..., Any], *, weight: float | None = None) -> None:
        self.domain, self.equation = domain, equation
        self.weight = weight_of(weight, "the weight of an equation")


class Past(Initial):
    """Unknowns have given values at the start and before it, where delays ask for them: `Past(u=lambda t: np.cos(t))`.

    Equations ask by calling unknowns: `lambda u, t: u.t + u(t - 1)`.

    Args:
        hard: of the values at the start: True to insist on them by construction, False to fit them at points; None for
            what is possible.
        weight: of their mean square, where they are fitted.
        **values: a number, or a function of coordinates by name, for each unknown.

    Example:
        >>> import numpy as np
        >>> from primad import pde
        >>> def oscillator(u, t):
        ...     return u.t + u(t - np.pi / 2)
        >>> p = pde.Problem(oscillator, pde.Time(0, 2), pde.Past(u=lambda t: np.cos(t)), network=pde.MLP(8, 1))
        >>> bool(p.solve(steps=30, points=30, progress=False).error(u=lambda t: np.cos(t)) < 1e-3)
        True
    """

    def __init__(self, *unnamed: Any, hard: bool | None = None, weight: float | None = None, **values: Value) -> None:
        super().__init__(*unnamed, order=0, hard=hard, weight=weight, **values)


def computed(condition: Condition, domain: Domain) -> Condition:
    """Return a condition whose residual is a function, also where it is written in SymPy.

    Args:
        condition: any.
        domain: of the problem.
    """
    written = getattr(condition, "residual", None)
    if not is_symbolic(written):
        return condition
    found = copy(condition)
    found.residual = Equation(written, name=condition.name or condition.kind, coordinates=domain.names)
    return found
