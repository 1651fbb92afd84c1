"""Cases of special functions whose meaning is too slow for numbers of hundreds of digits."""

from __future__ import annotations

from typing import Any

from primad import ops
from primad.ops.record.primitive import Primitive
from primad.ops.special.members import MEMBERS
from primad.verify.cases.drawn_cases import POSITIVE, Case, Choices, Example, pointwise, varied

NEAR = (-2.5, 2.5)
"""The domain of functions that grow too fast for the values that programs compute."""
SHORT = (0.125, 1.5)
"""The domain of the number of factors of what grows as their product."""
FEW = ((2, 1),)
"""Shapes for functions that take seconds for an array of numbers of high precision."""

DRAWN: dict[Primitive, Any] = {
    ops.erfinv: pointwise((-0.875, 0.875)),
    ops.gammaln: pointwise(POSITIVE),
    ops.polygamma: varied(pointwise(POSITIVE), n=(0, 1, 3)),
    ops.gamma: pointwise(POSITIVE),
    ops.rgamma: pointwise(POSITIVE),
    ops.polygamma_gap: varied(pointwise(POSITIVE, POSITIVE), n=(0, 1, 2)),
    ops.poch: pointwise(POSITIVE, SHORT),
    ops.beta: pointwise(POSITIVE, POSITIVE),
    ops.betaln: pointwise(POSITIVE, POSITIVE),
    ops.binom: pointwise((4.0, 6.0), (0.5, 3.0)),
    ops.erfcinv: pointwise((0.25, 1.75)),
    ops.erfi: pointwise(NEAR),
    ops.ndtri: pointwise((0.25, 0.75)),
    ops.log_ndtr: pointwise(NEAR),
    ops.ndtri_exp: pointwise((-1.5, -0.25)),
    ops.logit: pointwise((0.125, 0.875)),
    ops.scaled_erfc: varied(pointwise(NEAR), n=(0, 1, 2)),
    ops.dawsn: varied(pointwise(NEAR), n=(0, 1, 2)),
    ops.bessel_i: varied(pointwise(POSITIVE), n=(0, 1, 2, 5, 1.5)),
    ops.bessel_j: varied(pointwise(POSITIVE), n=(0, 1, 2, -0.5)),
    ops.bessel_y: varied(pointwise(POSITIVE), n=(0, 1, 2, 0.25)),
    ops.bessel_k: varied(pointwise(POSITIVE), n=(0, 1, 2, 0.5)),
    ops.airy: varied(pointwise(NEAR), n=(0, 1, 2, 3)),
    ops.exp1: pointwise(POSITIVE),
    ops.expi: pointwise(POSITIVE),
    ops.expn: varied(pointwise(POSITIVE), n=(1, 2, 4)),
    ops.exprel: varied(pointwise(POSITIVE), n=(0, 1, 2)),
}


def _of_some_family(choose: Choices) -> Example:
    """Draw a family of the table, params that it is tried with, and numbers of its domain."""
    name = choose.among([name for name, family in sorted(MEMBERS.items()) if family.tried])
    family = MEMBERS[name]
    operands = pointwise(family.domain, shapes=FEW)(choose).operands
    return Example(operands, {"of": name, "p": choose.among(family.tried)})


SHAPE, PART, SMALL = (1.5, 3.0), (0.25, 0.75), (0.125, 0.375)
NUMERIC: dict[Primitive, Any] = {
    ops.gamma_density: varied(pointwise(SHAPE, POSITIVE, shapes=FEW), n=(0, 1)),
    ops.gammainc: varied(pointwise(SHAPE, (0.5, 3.0), shapes=FEW), n=(0, 1)),
    ops.gammaincc: pointwise(SHAPE, (0.5, 3.0), shapes=FEW),
    ops.gammaincinv: pointwise(SHAPE, PART, shapes=FEW),
    ops.gammainccinv: pointwise(SHAPE, PART, shapes=FEW),
    ops.beta_density: varied(pointwise(SHAPE, SHAPE, PART, shapes=FEW), n=((0, 0), (1, 0), (1, 1))),
    ops.betainc: varied(pointwise(SHAPE, SHAPE, SMALL, shapes=FEW), n=((0, 0), (0, 1), (1, 0))),
    ops.betaincc: pointwise(SHAPE, SHAPE, SMALL, shapes=FEW),
    ops.betaincinv: pointwise(SHAPE, SHAPE, SMALL, shapes=FEW),
    ops.betainccinv: pointwise(SHAPE, SHAPE, PART, shapes=FEW),
    ops.log_gamma_tail: varied(pointwise(SHAPE, (0.5, 3.0), shapes=FEW), n=(0, 1), upper=(False, True)),
    ops.gamma_hazard: varied(pointwise(SHAPE, (0.5, 3.0), shapes=FEW), n=((0, 0), (1, 0), (0, 1)), upper=(False, True)),
    ops.log_beta_tail: varied(
        pointwise(SHAPE, SHAPE, SMALL, shapes=FEW), n=((0, 0), (0, 1), (1, 0)), upper=(False, True)
    ),
    ops.beta_hazard: varied(pointwise(SHAPE, SHAPE, SMALL, shapes=FEW), n=((0, 0), (1, 0)), upper=(False, True)),
    ops.power_integral: varied(
        pointwise(POSITIVE, POSITIVE, POSITIVE, POSITIVE, shapes=FEW),
        power=(0.0,),
        powers=((0.5, 0.5, 0.5, 0.0), (0.0, 0.5, 0.5, 0.5)),
    ),
    ops.jacobi_amplitude: pointwise((0.25, 1.25), (0.125, 0.875), shapes=FEW),
    ops.carlson_second: pointwise(POSITIVE, POSITIVE, POSITIVE, shapes=FEW),
    ops.legendre_integral: varied(pointwise((0.25, 1.25), (0.125, 0.875), shapes=FEW), n=(0, 1), power=(0.5, -0.5)),
    ops.hurwitz: varied(pointwise((1.5, 4.0), (0.5, 2.0), shapes=FEW), n=(0, 1)),
    ops.owens_t: pointwise(SHAPE, SHAPE, shapes=FEW),
    ops.lambertw: varied(pointwise((0.5, 2.5), shapes=FEW), k=(0,)),
    ops.member: _of_some_family,
}
"""What is checked at numbers of high precision."""

SPECIAL_CASES = [Case(op, draw, 6, slow=True) for op, draw in DRAWN.items()]
SPECIAL_CASES += [Case(op, draw, 2, slow=True, numeric=True) for op, draw in NUMERIC.items()]
