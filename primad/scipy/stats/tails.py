"""Distribution functions that are incomplete gamma and beta functions: of both tails, and their logarithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primad.numpy import special
from primad.numpy.special_functions.distributions import log_beta_tail, log_f_tail, log_gamma_tail

Function = Callable[..., Any]


def gamma_tails(operands: Function, falling: bool = False) -> dict[str, Function]:
    """Return the tails of what has a gamma distribution.

    Args:
        operands: (z, *shapes) -> the shape of the gamma distribution, and its variable.
        falling: whether that falls with z.
    """
    return _tails(special.gammainc, special.gammaincc, log_gamma_tail, operands, falling)


def beta_tails(operands: Function, falling: bool = False) -> dict[str, Function]:
    """Return the tails of what has a beta distribution: of two shapes and its variable, as those of `gamma_tails`."""
    return _tails(special.betainc, special.betaincc, log_beta_tail, operands, falling)


def f_tails(operands: Function) -> dict[str, Function]:
    """Return the tails of what has an F distribution: of its degrees of freedom and its variable."""
    return _tails(special.fdtr, special.fdtrc, log_f_tail, operands, False)


def _tails(below: Function, above: Function, log: Function, operands: Function, falling: bool) -> dict[str, Function]:
    lower, upper = ("sf", "cdf") if falling else ("cdf", "sf")
    return {
        lower: lambda *point: below(*operands(*point)),
        upper: lambda *point: above(*operands(*point)),
        f"log{lower}": lambda *point: log(*operands(*point), upper=False),
        f"log{upper}": lambda *point: log(*operands(*point), upper=True),
    }
