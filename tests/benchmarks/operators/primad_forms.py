"""The families in primad: derivatives by name of a field of many functions; nothing is shifted by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import families
import numpy as np

import primad
from primad import pde

RATE = 1e-3
"""Adam's learning rate where epochs are timed."""


def adam_step(family: families.Family) -> Callable[..., Any]:
    """Return a step of Adam: (parameters, moments, arrays, rate) -> the loss before it, new parameters and moments."""

    def fields(family: families.Family, parameters: Any, codes: Any, at: Any) -> Any:
        def solution(*point: Any) -> Any:
            return families.solutions(np, family, parameters, codes, np.stack(point))

        u = pde.Field(solution, " ".join(family.names), family=True)(at[:, 0], at[:, 1])
        return [
            sum(factor * (u.d(along) if along else u.value) for along, factor in one.items())
            for one in family.combinations
        ]

    value = primad.value_and_grad(families.loss(np, family, fields))
    rule = primad.nn.Adam()

    @primad.jit
    def advanced(parameters: Any, moments: Any, arrays: Any, rate: Any) -> Any:
        loss, gradient = value(parameters, arrays)
        return loss, *rule.update(parameters, gradient, moments, rate)

    return advanced


def step(form: str, name: str, data: dict[str, Any]) -> Callable[[], float]:
    """Return what makes a step of Adam, and returns the loss before it."""
    advanced = adam_step(families.FAMILIES[name])
    state = [data["parameters"], primad.nn.Adam().init(data["parameters"])]
    arrays = {key: found for key, found in data.items() if key != "parameters"}

    def advance() -> float:
        loss, *state[:] = advanced(*state, arrays, RATE)
        return float(loss)

    return advance
