"""Functions that the user supplies, and their derivatives at points: all that are asked for at one point together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad import numpy as pnp
from primad.errors import ShapeError
from primad.functional.derivatives import jvp
from primad.functional.mapping import vmap
from primad.symbolic.values import common, like

Orders = tuple[int, ...]
Wanted = tuple[int | None, Orders]
"""A component of the function's result (None: the result itself), and how often each argument is differentiated in."""


class Jet:
    """A step that computes derivatives of a supplied function at one point, or at many.

    The function takes numbers, one for each argument, and is mapped over points. Each derivative is the one of lower
    order differentiated once more, the last argument outermost, so that all of them share their lower orders: `u_xx`
    and `u_t` cost four passes through u together, and `u_xxx` four.

    Args:
        name: the function, for messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.wanted: dict[Wanted, int] = {}

    def place_of(self, component: int | None, orders: Orders) -> int:
        """Return where a derivative will be among the results, which the step then computes."""
        return self.wanted.setdefault((component, orders), len(self.wanted))

    def __call__(self, function: Callable[..., Any], *point: Any) -> list[Any]:
        """Compute all the wanted derivatives, each with the common shape of the points' coordinates."""
        whole = common(point)
        point = tuple([like(x, whole) for x in point])
        if not pnp.shape(whole):
            return self._at(function, *point)
        found = vmap(lambda *one: self._at(function, *one))(*[pnp.reshape(x, (-1,)) for x in point])
        return [pnp.reshape(x, pnp.shape(whole)) for x in found]

    def _at(self, function: Callable[..., Any], *point: Any) -> list[Any]:
        known: dict[Orders, Callable[..., Any]] = {(0,) * len(point): function}
        values: dict[Orders, Any] = {}
        results = []
        for component, orders in self.wanted:
            if orders not in values:
                values[orders] = differentiated(known, orders)(*point)
            results.append(self._part(values[orders], component))
        return results

    def _part(self, value: Any, component: int | None) -> Any:
        part = value if component is None else value[component]
        if pnp.shape(part) != ():
            raise ShapeError(
                f"the function given for {self.name} has a result of shape {pnp.shape(part)} at a single point",
                why="It is called with one number for each coordinate and mapped over points.",
                fix="return a number, f(x, y)[0] for instance.",
            )
        return part


def differentiated(known: dict[Orders, Callable[..., Any]], orders: Orders) -> Callable[..., Any]:
    """Return a derivative of the function that `known` has for no orders, made of the one that is one order lower."""
    if orders not in known:
        position = max(i for i, order in enumerate(orders) if order)
        lower = tuple([order - (i == position) for i, order in enumerate(orders)])
        known[orders] = _along(differentiated(known, lower), position)
    return known[orders]


def _along(function: Callable[..., Any], position: int) -> Callable[..., Any]:
    def derivative(*point: Any) -> Any:
        def moved(x: Any) -> Any:
            return function(*point[:position], x, *point[position + 1 :])

        x = point[position]
        return jvp(moved, (x,), (pnp.ones_like(x),))[1]

    return derivative
