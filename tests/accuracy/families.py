"""Bessel-like, elliptic and hypergeometric functions, integrals of elementary ones, and orthogonal polynomials."""

from __future__ import annotations

from typing import Any

from primad.ops.special.members import MEMBERS
from tests.accuracy.entries import Entry
from tests.accuracy.grids import BELOW_ONE, INSIDE, POSITIVE, REAL, SMALL, UNIT, Piece, beside, mirrored, up_to

FAR = up_to(1e5)
LARGE = up_to(700.0)
MODERATE = up_to(60.0)
ORDERS = ((0,), (1,), (2.5,), (20,))
SINE = (*mirrored(UNIT), *mirrored((Piece(1.0, 1e3),)))


def _bessel(name: str, derivative: int = 0) -> Any:
    return lambda m, v, x: (
        getattr(m, f"bessel{name}")(v, x, derivative) if derivative else getattr(m, f"bessel{name}")(v, x)
    )


def _plus(name: str, derivative: int, sign: int) -> Any:
    """Return exp(±x) times a Bessel function."""
    return lambda m, v, x: m.exp(sign * abs(x)) * getattr(m, f"bessel{name}")(v, x)


def _fixed(v: float, meaning: Any) -> Any:
    return lambda m, x: meaning(m, m.mpf(v), x)


def _half(letter: str, scale: Any) -> Any:
    return lambda m, n, x: m.sqrt(scale(m) / x) * getattr(m, f"bessel{letter}")(m.mpf(n) + m.mpf(1) / 2, x)


def _slope_of_kelvin(kind: str, turn: int) -> Any:
    """Return a real part, by as many more digits as it loses next to 0 (`m.re` of what is 1e-300 of the whole)."""
    of = MEMBERS["kelvin"].meaning

    def found(m: Any, x: Any) -> Any:
        with m.workdps(m.dps + max(0, 4 * int(-m.log10(abs(x))))):
            return -of(m, x, kind, 1, turn)

    return found


def _member(name: str) -> Any:
    return lambda m, *operands: MEMBERS[name].meaning(m, operands[-1], *operands[:-1])


def _jacobian(name: str) -> Any:
    return lambda m, u, k: m.ellipfun(name, u=u, m=k)


def _wright(m: Any, a: Any, b: Any, x: Any) -> Any:
    total, k = m.mpf(0), 0
    while True:
        term = x**k * m.rgamma(k + 1) * m.rgamma(a * k + b)
        total += term
        k += 1
        if k > 5 and abs(term) < m.eps * abs(total):
            return total


def _monic(m: Any, n: Any, p: Any, q: Any, x: Any) -> Any:
    return m.jacobi(n, p - q, q - 1, 2 * x - 1) / m.binomial(2 * n + p - 1, n)


def _parabolic(m: Any, v: Any, x: Any) -> Any:
    return x / 2 * m.pcfd(v, x) - m.pcfd(v + 1, x)


BESSEL: dict[str, Entry] = {
    **{
        f"{kind}{n}": Entry((grid,), _fixed(n, _bessel(kind)))
        for kind, grid in (("j", mirrored(FAR)), ("y", FAR), ("i", mirrored(LARGE)), ("k", LARGE))
        for n in (0, 1)
    },
    **{f"{kind}{n}e": Entry((FAR,), _fixed(n, _plus(kind, 0, s))) for kind, s in (("i", -1), ("k", 1)) for n in (0, 1)},
    **{
        f"{kind}v": Entry((grid,), _bessel(kind), ORDERS)
        for kind, grid in (("j", FAR), ("y", FAR), ("i", LARGE), ("k", LARGE))
    },
    **{
        f"{kind}n": Entry((grid,), _bessel(kind), ((0,), (3,)))
        for kind, grid in (("j", FAR), ("y", FAR), ("k", LARGE))
    },
    **{
        f"{kind}vp": Entry((grid,), _bessel(kind, 1), ((0,), (2.5,)))
        for kind, grid in (("j", FAR), ("y", FAR), ("i", LARGE))
    },
    "kvp": Entry((LARGE,), lambda m, v, x: -(m.besselk(v - 1, x) + m.besselk(v + 1, x)) / 2, ((0,), (2.5,))),
    **{f"{kind}ve": Entry((FAR,), _bessel(kind), ORDERS[:3]) for kind in "jy"},
    "ive": Entry((FAR,), _plus("i", 0, -1), ORDERS[:3]),
    "kve": Entry((FAR,), _plus("k", 0, 1), ORDERS[:3]),
    "spherical_jn": Entry((up_to(1e3),), _half("j", lambda m: m.pi / 2), ((0,), (1,), (5,))),
    "spherical_yn": Entry((up_to(1e3),), _half("y", lambda m: m.pi / 2), ((0,), (1,), (5,))),
    "spherical_in": Entry((LARGE,), _half("i", lambda m: m.pi / 2), ((0,), (1,), (5,))),
    "spherical_kn": Entry((LARGE,), _half("k", lambda m: m.pi / 2), ((0,), (1,), (5,))),
    **{kind: Entry((MODERATE,), _fixed(0, lambda m, v, x, kind=kind: getattr(m, kind)(v, x)))
       for kind in ("ber", "bei", "ker", "kei")},
    "berp": Entry((MODERATE,), _slope_of_kelvin("j", 3)),
    "beip": Entry((MODERATE,), _slope_of_kelvin("j", 1)),
    "kerp": Entry((MODERATE,), _slope_of_kelvin("k", 1)),
    "keip": Entry((MODERATE,), _slope_of_kelvin("k", 7)),
    "struve": Entry((up_to(1e3),), lambda m, v, x: m.struveh(v, x), ((0,), (1,), (2.5,))),
    "modstruve": Entry((LARGE,), lambda m, v, x: m.struvel(v, x), ((0,), (1,), (2.5,))),
    **{name: Entry((MODERATE,), _member(name)) for name in ("itstruve0", "it2struve0", "itmodstruve0")},
    **{
        f"{name} {part}": Entry((MODERATE,), _member(family), part=part)
        for name, families in {
            "itj0y0": ("itj0", "ity0"), "iti0k0": ("iti0", "itk0"), "it2j0y0": ("it2j0", "it2y0"),
            "it2i0k0": ("it2i0", "it2k0"), "itairy": tuple([f"itairy{k}" for k in range(4)]),
        }.items()
        for part, family in enumerate(families)
    },
    **{
        f"airy {part}": Entry(
            (mirrored(up_to(100.0)),),
            lambda m, x, name=name, n=n: getattr(m, name)(x, derivative=n) if n else getattr(m, name)(x), part=part,
        )
        for part, (name, n) in enumerate((("airyai", 0), ("airyai", 1), ("airybi", 0), ("airybi", 1)))
    },
}  # fmt: skip
"""By name."""

OTHERS: dict[str, Entry] = {
    "ellipk": Entry((BELOW_ONE,), lambda m, k: m.ellipk(k)),
    "ellipe": Entry((BELOW_ONE,), lambda m, k: m.ellipe(k)),
    "ellipkm1": Entry((POSITIVE,), lambda m, p: m.elliprf(0, p, 1)),
    "ellipkinc": Entry((SMALL, BELOW_ONE), lambda m, phi, k: m.ellipf(phi, k)),
    "ellipeinc": Entry((SMALL, BELOW_ONE), lambda m, phi, k: m.ellipe(phi, k)),
    **{
        f"ellipj {part}": Entry((SMALL, UNIT), _jacobian(name), part=part)
        for part, name in enumerate(("sn", "cn", "dn"))
    },
    "elliprf": Entry((POSITIVE,) * 3, lambda m, x, y, z: m.elliprf(x, y, z)),
    "elliprd": Entry((POSITIVE,) * 3, lambda m, x, y, z: m.elliprd(x, y, z)),
    "elliprg": Entry((POSITIVE,) * 3, lambda m, x, y, z: m.elliprg(x, y, z)),
    "elliprc": Entry((POSITIVE,) * 2, lambda m, x, y: m.elliprc(x, y)),
    "elliprj": Entry((POSITIVE,) * 4, lambda m, x, y, z, p: m.elliprj(x, y, z, p)),
    "agm": Entry((POSITIVE,) * 2, lambda m, a, b: m.agm(a, b)),
    "hyp0f1": Entry((mirrored(up_to(1e4)),), lambda m, b, x: m.hyp0f1(b, x), ((0.5,), (3,), (-1.5,))),
    "hyp1f1": Entry((mirrored(up_to(100.0)),), lambda m, a, b, x: m.hyp1f1(a, b, x), ((0.5, 1.5), (2, 3), (-1.5, 4))),
    "hyp2f1": Entry(
        (BELOW_ONE,), lambda m, a, b, c, x: m.hyp2f1(a, b, c, x), ((0.5, 0.25, 1.5), (1, 1, 2), (3, -2.5, 4))
    ),
    "hyperu": Entry((up_to(1e3),), lambda m, a, b, x: m.hyperu(a, b, x), ((0.5, 1.5), (1, 2), (2, 0.5))),
    "wright_bessel": Entry((up_to(100.0),), _wright, ((1, 1), (0.5, 1), (2, 0.5))),
    "log_wright_bessel": Entry((up_to(100.0),), lambda m, a, b, x: m.log(_wright(m, a, b, x)), ((1, 1), (0.5, 1))),
    "pbdv 0": Entry((SMALL,), lambda m, v, x: m.pcfd(v, x), ((0.5,), (2,), (-1.5,)), part=0),
    "pbdv 1": Entry((SMALL,), _parabolic, ((0.5,), (2,), (-1.5,)), part=1),
    "spence": Entry(((*POSITIVE, *beside(1.0, width=0.9)),), lambda m, x: m.re(m.polylog(2, 1 - x))),
    "expn": Entry((LARGE,), lambda m, n, x: m.expint(n, x), ((1,), (2,), (10,))),
    "exp1": Entry((LARGE,), lambda m, x: m.e1(x)),
    "expi": Entry((mirrored(LARGE),), lambda m, x: m.ei(x)),
    "sici 0": Entry((REAL,), lambda m, x: m.si(x), part=0),
    "sici 1": Entry((POSITIVE,), lambda m, x: m.ci(x), part=1),
    "shichi 0": Entry((mirrored(LARGE),), lambda m, x: m.shi(x), part=0),
    "shichi 1": Entry((LARGE,), lambda m, x: m.chi(x), part=1),
    "fresnel 0": Entry((mirrored(up_to(1e3)),), lambda m, x: m.fresnels(x), part=0),
    "fresnel 1": Entry((mirrored(up_to(1e3)),), lambda m, x: m.fresnelc(x), part=1),
    "eval_legendre": Entry((SINE,), lambda m, n, x: m.legendre(n, x), ((0,), (4,), (15,))),
    "eval_chebyt": Entry((SINE,), lambda m, n, x: m.chebyt(n, x), ((0,), (4,), (15,))),
    "eval_chebyu": Entry((SINE,), lambda m, n, x: m.chebyu(n, x), ((0,), (4,), (15,))),
    "eval_chebyc": Entry((SINE,), lambda m, n, x: 2 * m.chebyt(n, x / 2), ((0,), (4,), (15,))),
    "eval_chebys": Entry((SINE,), lambda m, n, x: m.chebyu(n, x / 2), ((0,), (4,), (15,))),
    "eval_sh_legendre": Entry((SINE,), lambda m, n, x: m.legendre(n, 2 * x - 1), ((0,), (4,), (15,))),
    "eval_sh_chebyt": Entry((SINE,), lambda m, n, x: m.chebyt(n, 2 * x - 1), ((0,), (4,), (15,))),
    "eval_sh_chebyu": Entry((SINE,), lambda m, n, x: m.chebyu(n, 2 * x - 1), ((0,), (4,), (15,))),
    "eval_sh_jacobi": Entry((UNIT,), _monic, ((3, 2.0, 1.0), (6, 2.5, 1.5))),
    "eval_jacobi": Entry((SINE,), lambda m, n, a, b, x: m.jacobi(n, a, b, x), ((0, 1, 1), (3, 0.5, 2), (10, 0.5, 1))),
    "eval_gegenbauer": Entry((SINE,), lambda m, n, a, x: m.gegenbauer(n, a, x), ((0, 0.5), (3, 1.5), (15, 2.0))),
    "eval_hermite": Entry((SMALL,), lambda m, n, x: m.hermite(n, x), ((0,), (4,), (15,))),
    "eval_hermitenorm": Entry(
        (SMALL,), lambda m, n, x: m.mpf(2) ** (-m.mpf(n) / 2) * m.hermite(n, x / m.sqrt(2)), ((0,), (4,), (15,))
    ),
    "eval_laguerre": Entry((MODERATE,), lambda m, n, x: m.laguerre(n, 0, x), ((0,), (4,), (15,))),
    "eval_genlaguerre": Entry((MODERATE,), lambda m, n, a, x: m.laguerre(n, a, x), ((0, 0), (3, 0.5), (15, 1.5))),
    "lpmv": Entry((INSIDE,), lambda m, u, v, x: m.legenp(v, u, x, type=2), ((1, 2), (2, 3.5), (0, 5))),
}  # fmt: skip
"""By name."""
