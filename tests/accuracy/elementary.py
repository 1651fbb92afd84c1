"""Functions of the gamma and error families, entropies, transformations, degrees and zeta functions."""

from __future__ import annotations

from typing import Any

from tests.accuracy import grids, tails
from tests.accuracy.entries import Entry
from tests.accuracy.grids import GAMMA, INSIDE, POSITIVE, REAL, SMALL, UNIT, Piece, mirrored, up_to

EXPONENT = mirrored(up_to(700.0))
ANGLE = mirrored(up_to(1e4))
ABOVE = (*POSITIVE, Piece(2.0**-52, 1.0, 1, (-1.0,)), Piece(1e-300, 0.5, -1))
"""Numbers above −1."""
PROBABLE = (*up_to(700.0), *mirrored(SMALL))


def _sign(m: Any, x: Any, found: Any) -> Any:
    return found if x >= 0 else -found


def _beta(m: Any, a: Any, b: Any) -> Any:
    with m.extradps(_cancelling(m, a, b)):
        return m.beta(a, b)


def _betaln(m: Any, a: Any, b: Any) -> Any:
    with m.extradps(_cancelling(m, a, b)):
        return m.re(m.loggamma(a) + m.loggamma(b) - m.loggamma(a + b))


def _cancelling(m: Any, a: Any, b: Any) -> int:
    """Return how many digits logarithms of gamma functions have before the point, which cancel."""
    return 10 + max(0, int(0.31 * max(m.mag(a), m.mag(b))))


def _erfinv(m: Any, x: Any) -> Any:
    return m.erfinv(x) if abs(x) < 0.5 else _sign(m, x, tails.erfc_inverse(m, 1 - abs(x)))


def _ndtri(m: Any, p: Any) -> Any:
    return -m.sqrt(2) * tails.erfc_inverse(m, 2 * p)


def _degrees(name: str) -> Any:
    return lambda m, x: getattr(m, name)(x * m.pi / 180)


def _box(m: Any, log: Any, p: Any) -> Any:
    return m.expm1(p * log) / p if p else log


def _unbox(m: Any, y: Any, p: Any) -> Any:
    if 1 + p * y <= 0:
        raise tails.NoReferenceError
    return m.log1p(p * y) / p


def _huber(m: Any, d: Any, r: Any) -> Any:
    return r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2)


def _voigt(m: Any, x: Any, s: Any, g: Any) -> Any:
    z = m.mpc(x, g) / (s * m.sqrt(2))
    return m.re(m.exp(-z * z) * m.erfc(-1j * z)) / (s * m.sqrt(2 * m.pi))


def _owens(m: Any, h: Any, a: Any) -> Any:
    with m.workdps(min(m.dps, 120)):
        return m.quad(lambda x: m.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), [0, a]) / (2 * m.pi)


ELEMENTARY: dict[str, Entry] = {
    "cbrt": Entry((REAL,), lambda m, x: _sign(m, x, m.cbrt(abs(x)))),
    "exp2": Entry((EXPONENT,), lambda m, x: m.mpf(2) ** x),
    "exp10": Entry((mirrored(up_to(300.0)),), lambda m, x: m.mpf(10) ** x),
    "expm1": Entry((EXPONENT,), lambda m, x: m.expm1(x)),
    "log1p": Entry((ABOVE,), lambda m, x: m.log1p(x)),
    "cosm1": Entry((ANGLE,), lambda m, x: -2 * m.sin(x / 2) ** 2),
    "exprel": Entry((EXPONENT,), lambda m, x: m.expm1(x) / x),
    "powm1": Entry((POSITIVE, SMALL), lambda m, x, y: m.expm1(y * m.log(x))),
    "sindg": Entry((ANGLE,), _degrees("sin")),
    "cosdg": Entry((ANGLE,), _degrees("cos")),
    "tandg": Entry((ANGLE,), _degrees("tan")),
    "cotdg": Entry((ANGLE,), _degrees("cot")),
    "diric": Entry(
        (ANGLE,), lambda m, n, x: m.sin(n * x / 2) / (n * m.sin(x / 2)), ((1,), (4,), (7,)),
        call=lambda s, n, x: s.diric(x, n),
    ),
    "expit": Entry((EXPONENT,), lambda m, x: 1 / (1 + m.exp(-x))),
    "log_expit": Entry((EXPONENT,), lambda m, x: -m.log1p(m.exp(-x))),
    "logit": Entry((UNIT,), lambda m, x: m.log(x / (1 - x))),
    "entr": Entry((POSITIVE,), lambda m, x: -x * m.log(x)),
    "rel_entr": Entry((POSITIVE, POSITIVE), lambda m, x, y: x * m.log(x / y)),
    "kl_div": Entry((POSITIVE, POSITIVE), lambda m, x, y: x * m.log(x / y) - x + y),
    "xlogy": Entry((REAL, POSITIVE), lambda m, x, y: x * m.log(y)),
    "xlog1py": Entry((REAL, ABOVE), lambda m, x, y: x * m.log1p(y)),
    "huber": Entry((POSITIVE, REAL), _huber),
    "pseudo_huber": Entry((POSITIVE, REAL), lambda m, d, r: r * r / (m.sqrt(1 + (r / d) ** 2) + 1)),
    "boxcox": Entry((POSITIVE, SMALL), lambda m, x, p: _box(m, m.log(x), p)),
    "boxcox1p": Entry((ABOVE, SMALL), lambda m, x, p: _box(m, m.log1p(x), p)),
    "inv_boxcox": Entry((SMALL, SMALL), lambda m, y, p: m.exp(_unbox(m, y, p))),
    "inv_boxcox1p": Entry((SMALL, SMALL), lambda m, y, p: m.expm1(_unbox(m, y, p))),
    "erf": Entry((SMALL,), lambda m, x: m.erf(x)),
    "erfc": Entry((SMALL,), lambda m, x: m.erfc(x)),
    "erfcx": Entry((mirrored(up_to(25.0)) + up_to(1e300),), lambda m, x: m.exp(x * x) * m.erfc(x)),
    "erfi": Entry((mirrored(up_to(25.0)),), lambda m, x: m.erfi(x)),
    "dawsn": Entry((mirrored(up_to(1e4)),), lambda m, x: m.sqrt(m.pi) / 2 * m.exp(-x * x) * m.erfi(x)),
    "erfinv": Entry((INSIDE,), _erfinv),
    "erfcinv": Entry(((*UNIT, *grids.beside(1.0, 2.0, width=0.9)),), tails.erfc_inverse),
    "ndtr": Entry((mirrored(up_to(37.0)),), tails.normal),
    "log_ndtr": Entry((mirrored(up_to(1e4)),), lambda m, x: m.log(tails.normal(m, x))),
    "ndtri": Entry((UNIT,), _ndtri),
    "ndtri_exp": Entry(
        (tuple([Piece(p.low, p.high, -1) for p in up_to(1e4)]),), lambda m, y: _ndtri(m, m.exp(y))
    ),
    "nrdtrimn": Entry((UNIT, POSITIVE, SMALL), lambda m, p, std, x: x - std * _ndtri(m, p)),
    "nrdtrisd": Entry((SMALL, UNIT, SMALL), lambda m, mn, p, x: (x - mn) / _ndtri(m, p)),
    "voigt_profile": Entry((SMALL, up_to(30.0), up_to(30.0)), _voigt),
    "owens_t": Entry((SMALL, SMALL), _owens),
    "gamma": Entry((GAMMA,), lambda m, x: m.gamma(x)),
    "rgamma": Entry((GAMMA,), lambda m, x: m.rgamma(x)),
    "gammaln": Entry((GAMMA,), lambda m, x: m.re(m.loggamma(x))),
    "loggamma": Entry((POSITIVE,), lambda m, x: m.loggamma(x)),
    "factorial": Entry((up_to(165.0),), lambda m, x: m.gamma(x + 1)),
    "digamma": Entry((GAMMA,), lambda m, x: m.psi(0, x)),
    "polygamma": Entry((up_to(1e8),), lambda m, n, x: m.psi(n, x), ((1,), (2,), (5,))),
    "multigammaln": Entry(
        ((*up_to(1e8), *grids.beside(1.0, width=1.0)),),
        lambda m, d, a: m.log(m.pi) * d * (d - 1) / 4 + sum([m.loggamma(a - m.mpf(j) / 2) for j in range(d)]),
        ((1,), (2,)), call=lambda s, d, a: s.multigammaln(a, d),
    ),
    "beta": Entry((GAMMA, GAMMA), _beta),
    "betaln": Entry((GAMMA, GAMMA), _betaln),
    "binom": Entry((grids.SHAPE, grids.SHAPE), lambda m, n, k: m.binomial(n, k)),
    "comb": Entry((grids.SHAPE, grids.SHAPE), lambda m, n, k: m.binomial(n, k) if k <= n else m.nan),
    "poch": Entry((grids.SHAPE, grids.SHAPE), lambda m, x, n: m.rf(x, n)),
    "perm": Entry((grids.SHAPE, up_to(30.0)), lambda m, n, k: m.rf(n - k + 1, k) if k <= n else m.nan),
    "zeta": Entry((up_to(60.0) + grids.beside(1.0), up_to(1e4)), lambda m, s, q: m.zeta(s, q)),
    "zetac": Entry(((Piece(1.0, 50.0), Piece(1e-3, 1.0), *grids.beside(1.0, width=0.9)),), lambda m, s: m.zeta(s) - 1),
    "lambertw": Entry(
        ((*POSITIVE, *[Piece(1e-300, 0.36, -1)] * 2),), lambda m, x: m.lambertw(x),
        call=lambda s, x: s.lambertw(x).real,
    ),
    "wrightomega": Entry((mirrored(up_to(1e4)),), lambda m, x: m.lambertw(m.exp(x))),
    "softplus": Entry((EXPONENT,), lambda m, x: m.log1p(m.exp(x))),
}  # fmt: skip
"""By name."""
