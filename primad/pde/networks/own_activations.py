"""Activations of the user's own: a network takes those whose derivatives are what they seem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import ProblemError
from primad.functional.derivatives.first_order import jvp

REACH, STEP = 4.0, 1 / 256
"""Where an activation is looked at, from −4 to 4, and how closely. Chosen: neurons are there when a search begins."""
JUMP = 1e-3
"""A change between two neighbours that is no integral of the derivative, as a part of the largest value, from which on
it is a jump. Chosen: sin(20 z) has 2e-5, and a kink as of relu's derivative 1."""


def check_activation(function: Callable[[Any], Any]) -> None:
    """Raise unless a function takes arrays element by element, and neither it nor its derivative jumps.

    The second derivative of what has a kink, as relu has, is zero nearly everywhere: a network of it would obey
    Laplace's equation with any parameters. A jump is a change between neighbours that the derivative does not explain.

    Raises:
        ProblemError: if not.
    """
    at = np.arange(-REACH, REACH, STEP) + 0.3 * STEP
    ones = np.ones_like(at)

    def slope(z: Any) -> Any:
        return jvp(function, (z,), (ones,))[1]

    values, slopes = jvp(function, (at,), (ones,))
    shape = np.shape(values)
    if shape != at.shape:
        raise ProblemError(
            f"MLP: the activation makes an array of the shape {shape} of one of the shape {at.shape}",
            why="It is applied to each neuron alone.",
            fix="pass a function of arrays element by element, as lambda z: z * np.tanh(z).",
        )
    curves = jvp(slope, (at,), (ones,))[1]
    for value, rise, what in ((values, slopes, "the activation"), (slopes, curves, "the derivative of the activation")):
        value, rise = np.asarray(value), np.asarray(rise)
        if not np.all(np.isfinite(value)):
            raise ProblemError(
                f"MLP: {what} is {value[~np.isfinite(value)][0]} at {at[~np.isfinite(value)][0]:.4g}",
                fix="pass a function that is finite for every number.",
            )
        unexplained = np.abs(np.diff(value) - 0.5 * STEP * (rise[1:] + rise[:-1]))
        if np.max(unexplained) > JUMP * np.max(np.abs(value)):
            place = at[int(np.argmax(unexplained))]
            raise ProblemError(
                f"MLP: {what} jumps near {place:.3g}",
                why="Second derivatives do not see it: a network would seem to solve equations that it does not.",
                fix="take a smooth one, primad.nn.softplus or primad.nn.gelu for primad.nn.relu.",
            )
