"""Functions that the user supplies, and their derivatives at points: all that are asked for at one point together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad import numpy as pnp
from primad.errors import ShapeError, TracingError
from primad.functional.control.mapping import vmap
from primad.functional.derived_calls import Call
from primad.programs.jacobians.differential_operators import Term, partial_
from primad.symbolic.argument_values import common, is_complex, like

Orders = tuple[int, ...]
Wanted = tuple[int | None, Orders]
"""A component of the function's result (None: the result itself), and how often each argument is differentiated in."""


class Jet:
    """A step that computes derivatives of a supplied function at one point, or at many.

    The function takes numbers, one for each argument, and is mapped over points. Each derivative is a node of the
    function that it is of (see `primad.programs.jacobians.differential_operators`), so sums of them are one
    differential operator, and what they are made of is computed once: `u_xx` and `u_t` cost four passes through u
    together, and `u_t - u_xx` three.

    Args:
        name: the function, for messages.
        complex: whether its values may be complex.
    """

    def __init__(self, name: str, complex: bool) -> None:
        self.name = name
        self.complex = complex
        self.wanted: dict[Wanted, int] = {}

    def place_of(self, component: int | None, orders: Orders) -> int:
        """Return where a derivative will be among the results, which the step then computes."""
        return self.wanted.setdefault((component, orders), len(self.wanted))

    def __call__(self, function: Callable[..., Any], *point: Any) -> list[Any]:
        """Compute all the wanted derivatives, each with the common shape of the points' coordinates."""
        whole = common(point)
        shape = pnp.shape(whole)
        point = tuple([like(x, whole) for x in point])
        if any(map(is_complex, point)) and any(any(orders) for _, orders in self.wanted):
            raise TracingError(
                f"derivatives of {self.name} by complex numbers",
                why="They depend on the direction in the plane.",
                fix="give a function for the derivative, too, and write it as an unknown function of its own.",
            )

        def components(*one: Any) -> Any:
            return self._components(function(*one))

        flat = [pnp.reshape(x, (-1,)) for x in point] if shape else point
        call = Call(vmap(components) if shape else components, flat)
        results = []
        for component, orders in self.wanted:
            term: Term = tuple([(place, None) for place, times in enumerate(orders) for _ in range(times)])
            (found,) = call.run(
                partial_, output=0, component=component or 0, groups=((1, (term,)),), points=int(bool(shape))
            )
            results.append(pnp.reshape(found, shape))
        return results

    def _components(self, value: Any) -> Any:
        """Return what the function gives at a point as an array, of one element where it is a number."""
        if all(component is None for component, _ in self.wanted):
            return pnp.reshape(self._number(value), (1,))
        count = 1 + max(component or 0 for component, _ in self.wanted)
        return pnp.stack([self._number(value[i]) for i in range(count)])

    def _number(self, value: Any) -> Any:
        if pnp.shape(value) != ():
            raise ShapeError(
                f"the function given for {self.name} has a result of shape {pnp.shape(value)} at a single point",
                why="It is called with one number for each coordinate and mapped over points.",
                fix="return a number, f(x, y)[0] for instance.",
            )
        if not self.complex and is_complex(value if hasattr(value, "dtype") else np.asarray(value)):
            raise TracingError(
                f"the function given for {self.name} has complex values",
                why="An unknown function is read as a real one, of which SymPy makes another formula.",
                fix=f"make it a complex one, sympy.Function({self.name!r}, complex=True), wherever it stands.",
            )
        return value
