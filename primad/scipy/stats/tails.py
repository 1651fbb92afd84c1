"""Distribution functions of both tails, and their logarithms, which go on where a tail is no number."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from primad import numpy as pn
from primad.numpy import special
from primad.numpy.special_functions.distributions import log_beta_tail, log_f_tail, log_gamma_tail
from primad.numpy.special_functions.formulas import log1p_over

Function = Callable[..., Any]

LOG_2 = math.log(2.0)
NEXT_TO_ZERO = -30.0 * LOG_2
"""The logarithm of a number whose square is less than the last bit of 1, which is 2⁻⁵². Derived from that."""
ALL = 1e4
"""A cumulative hazard beyond which nothing survives: exp(−745) is the least number. Chosen."""


@cache
def gauss_rule(nodes: int) -> tuple[Any, Any]:
    """Return points and weights of the Gauss-Legendre rule on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(nodes)
    return 0.5 * points + 0.5, 0.5 * weights


FAR = 2.0**27
"""A number from whose square on 1 is less than its last bit, 2⁻⁵⁴ of it. Derived from that."""


def log1p_ratio(z: Any, scale: Any) -> Any:
    """Return log(1 + z²/scale) of scale > 0, also where z² is no number."""
    size = pn.abs(z)
    far = size > FAR * pn.sqrt(scale)
    near = pn.where(far, 0.0, z)
    return pn.where(far, 2.0 * pn.log(pn.where(far, size, 1.0)) - pn.log(scale), pn.log1p(near * (near / scale)))


def log_angle(z: Any, half_turns: float) -> Any:
    """Return the logarithm of the angle with the cotangent z as a share of half turns, 1 or of z > 0 a half.

    It has derivatives also where 1/z² is no number.
    """
    whole = half_turns * math.pi
    far, most = z > FAR, z < (0.0 if half_turns == 1.0 else 1.0)
    rest = pn.where(most, z, -1.0 if half_turns == 1.0 else 0.0)
    rest = pn.arctan2(1.0, -rest) if half_turns == 1.0 else pn.arctan(rest)
    share = pn.arctan2(1.0, pn.where(far | most, 1.0, z)) / whole
    beyond = -pn.log(pn.where(far, z, 1.0)) - math.log(whole)
    return pn.where(far, beyond, pn.where(most, pn.log1p(-rest / whole), pn.log(share)))


def log1m_exp(y: Any) -> Any:
    """Return log(1 − e⁻ʸ) of y > 0, to relative precision."""
    small = y < LOG_2
    near = pn.log(-pn.expm1(-pn.where(small, y, 0.5)))
    return pn.where(small, near, pn.log1p(-pn.exp(-pn.where(small, 1.0, y))))


def survival(hazard: Any) -> Any:
    """Return exp(−y) of a cumulative hazard, with the derivative 0 also where that has an infinite one."""
    return pn.where(hazard >= ALL, 0.0, pn.exp(-hazard))


def _death(hazard: Any) -> Any:
    return pn.where(hazard >= ALL, 1.0, -pn.expm1(-hazard))


def log1m_exp_exp(w: Any) -> Any:
    """Return log(1 − exp(−eʷ)), also where eʷ vanishes."""
    small = w < math.log(LOG_2)
    inner = pn.where(small, w, -1.0)
    far = pn.log1p(-survival(pn.exp(pn.where(small, 0.0, w))))
    return pn.where(small, inner + pn.log(special.exprel(-pn.exp(inner))), far)


def log_log1p_exp(x: Any) -> Any:
    """Return log log(1 + eˣ), also where eˣ vanishes."""
    small = x < 0.0
    inner = pn.where(small, x, 0.0)
    return pn.where(small, inner + pn.log(log1p_over(1.0, pn.exp(inner))), pn.log(special.softplus(x)))


def log_less_log(y: Any, rest: Any) -> Any:
    """Return log(−log(1 − e⁻ʸ)) of y > 0, also where e⁻ʸ vanishes.

    Args:
        y: minus the logarithm of a probability.
        rest: the logarithm of what is left of 1, log(1 − e⁻ʸ).
    """
    large = y > LOG_2
    inner = pn.where(large, y, 1.0)
    far = pn.log(log1p_over(1.0, -pn.exp(-inner))) - inner
    return pn.where(large, far, pn.log(-pn.where(large, -1.0, rest)))


def log_erfc(x: Any) -> Any:
    """Return log erfc(x) of x ≥ 0, to relative precision."""
    small = x < 0.5
    far = LOG_2 + special.log_ndtr(-math.sqrt(2.0) * pn.where(small, 1.0, x))
    return pn.where(small, pn.log1p(-special.erf(pn.where(small, x, 0.0))), far)


def log_of_odd(function: Function, slope: float, w: Any) -> Any:
    """Return log f(eʷ) of an odd function with that slope at 0, also where eʷ vanishes."""
    small = w < NEXT_TO_ZERO
    return pn.where(small, w + math.log(slope), pn.log(function(pn.exp(pn.where(small, 0.0, w)))))


def hazard_tails(hazard: Function, log_hazard: Function, falling: bool = False) -> dict[str, Function]:
    """Return the tails of what has the survival function exp(−y).

    Args:
        hazard: (z, *shapes) -> y, the cumulative hazard.
        log_hazard: (z, *shapes) -> its logarithm, which goes on where y vanishes.
        falling: whether that falls with z: then it is the distribution function that is exp(−y).
    """
    lower, upper = ("sf", "cdf") if falling else ("cdf", "sf")
    return {
        lower: lambda *point: _death(hazard(*point)),
        upper: lambda *point: survival(hazard(*point)),
        f"log{lower}": lambda *point: log1m_exp_exp(log_hazard(*point)),
        f"log{upper}": lambda *point: -hazard(*point),
    }


def gamma_tails(operands: Function, falling: bool = False, log: Function | None = None) -> dict[str, Function]:
    """Return the tails of what has a gamma distribution.

    Args:
        operands: (z, *shapes) -> the shape of the gamma distribution, and its variable.
        falling: whether that falls with z.
        log: (z, *shapes) -> the logarithm of the variable, where that may vanish though z does not.
    """
    found = _tails(special.gammainc, special.gammaincc, log_gamma_tail, operands, falling)
    return found if log is None else {name: _by_log(name, of, operands, log, falling) for name, of in found.items()}


def _by_log(name: str, tail: Function, operands: Function, log_variable: Function, falling: bool) -> Function:
    """Return a tail that is known by the logarithm of its variable x where x vanishes: P is xᵃ/Γ(a + 1) there.

    Where x is infinite, which a z that is not may make it, the tail is constant.
    """
    upper = name.endswith("cdf") if falling else name.endswith("sf")
    log = name.startswith("log")
    at_infinity = (-math.inf if log else 0.0) if upper else (0.0 if log else 1.0)

    def function(*point: Any) -> Any:
        (a, x), log_x = operands(*point), log_variable(*point)
        gone = (x < np.finfo(x.dtype).tiny) & (log_x > -math.inf)
        lead = a * pn.where(gone, log_x, -1.0) - special.gammaln(a + 1.0)
        probability = -pn.expm1(lead) if upper else pn.exp(lead)
        logarithm = log1m_exp(-lead) if upper else lead
        return pn.where(gone, logarithm if log else probability, pn.where(x == math.inf, at_infinity, tail(*point)))

    return function


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
