"""SciPy's special functions of one number and of plain parameters: a table of the families that they belong to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from primad import ops
from primad.numpy.promotion import as_float, implements
from primad.numpy.special_functions.families import plain_order
from primad.ops.special.members import MEMBERS
from primad.system.deferred import special


class Entry(NamedTuple):
    """How a function of SciPy's is made of members.

    Attributes:
        params: the names of its plain parameters, which come first.
        result: `(x, *params)`: a traced result, or a tuple of them.
        said: what it is.
    """

    params: Sequence[str]
    result: Callable[..., Any]
    said: str


def of(name: str, x: Any, *p: Any) -> Any:
    """Return a member of a family."""
    return ops.member(x, of=name, p=p)


def _one(name: str, *fixed: Any) -> Callable[..., Any]:
    return lambda x, *p: of(name, x, *fixed, *p)


def _several(*names: str) -> Callable[..., Any]:
    return lambda x: tuple([of(name, x) for name in names])


def _hankel(kind: int, scaled: bool) -> Callable[..., Any]:
    def function(x: Any, v: float) -> Any:
        found = ops.complex_of(ops.bessel_j(x, n=v), kind * ops.bessel_y(x, n=v))
        return found * ops.complex_of(ops.cos(x), -kind * ops.sin(x)) if scaled else found

    return function


def _slope(name: str, *fixed: Any) -> Callable[..., Any]:
    """Return the derivative of a member."""
    return lambda x, *p: MEMBERS[name].slope(of, of(name, x, *fixed, *p), x, *fixed, *p)


KELVIN = {"ber": ("j", 0, 0), "bei": ("j", 0, 6), "ker": ("k", 0, 0), "kei": ("k", 0, 6)}


def _kelvin(x: Any) -> tuple[Any, ...]:
    kinds = [(KELVIN[a], KELVIN[b]) for a, b in (("ber", "bei"), ("ker", "kei"))]
    pairs = [(of("kelvin", x, *a), of("kelvin", x, *b)) for a, b in kinds]
    pairs += [(_slope("kelvin", *a)(x), _slope("kelvin", *b)(x)) for a, b in kinds]
    return tuple([ops.complex_of(*pair) for pair in pairs])


def _monic(x: Any, n: float, p: float, q: float) -> Any:
    return of("jacobi", 2.0 * x - 1.0, n, p - q, q - 1) * (1.0 / float(special.binom(2 * n + p - 1, n)))


TABLE: dict[str, Entry] = {
    "struve": Entry("v", _one("struve"), "the Struve function."),
    "modstruve": Entry("v", _one("modstruve"), "the modified Struve function."),
    "itstruve0": Entry("", _one("itstruve0"), "the integral of the Struve function of order 0, of x > 0."),
    "it2struve0": Entry("", _one("it2struve0"), "the integral of H₀(t)/t from x > 0."),
    "itmodstruve0": Entry("", _one("itmodstruve0"), "the integral of the modified Struve function of order 0."),
    "itj0y0": Entry("", _several("itj0", "ity0"), "integrals of J₀ and Y₀, of x > 0."),
    "it2j0y0": Entry("", _several("it2j0", "it2y0"), "the integrals of (1 − J₀(t))/t and, from x > 0, of Y₀(t)/t."),
    "iti0k0": Entry("", _several("iti0", "itk0"), "integrals of I₀ and K₀, of x > 0."),
    "it2i0k0": Entry("", _several("it2i0", "it2k0"), "the integrals of (I₀(t) − 1)/t and, from x > 0, of K₀(t)/t."),
    "itairy": Entry("", _several(*[f"itairy{k}" for k in range(4)]), "integrals of Ai and Bi on both sides, of x > 0."),
    "jve": Entry("v", lambda x, v: ops.bessel_j(x, n=v), "jv of real numbers, which are not scaled."),
    "yve": Entry("v", lambda x, v: ops.bessel_y(x, n=v), "yv of real numbers, which are not scaled."),
    "ive": Entry("v", _one("ive"), "exp(−|x|) times iv."),
    "kve": Entry("v", _one("kve"), "exp(x) times kv."),
    "i0e": Entry("", lambda x: of("ive", x, 0), "exp(−|x|) times i0."),
    "i1e": Entry("", lambda x: of("ive", x, 1), "exp(−|x|) times i1."),
    "k0e": Entry("", lambda x: of("kve", x, 0), "exp(x) times k0."),
    "k1e": Entry("", lambda x: of("kve", x, 1), "exp(x) times k1."),
    "hankel1": Entry("v", _hankel(1, False), "the Hankel function J + iY, of real x > 0."),
    "hankel2": Entry("v", _hankel(-1, False), "the Hankel function J − iY, of real x > 0."),
    "hankel1e": Entry("v", _hankel(1, True), "exp(−ix) times hankel1."),
    "hankel2e": Entry("v", _hankel(-1, True), "exp(ix) times hankel2."),
    **{kind: Entry("", _one("kelvin", *which), "a Kelvin function.") for kind, which in KELVIN.items()},
    **{f"{k}p": Entry("", _slope("kelvin", *which), f"the derivative of {k}.") for k, which in KELVIN.items()},
    "kelvin": Entry("", _kelvin, "ber + i·bei, ker + i·kei and their derivatives, of x > 0."),
    "hyp0f1": Entry("v", _one("hyp0f1"), "the confluent hypergeometric limit function ₀F₁."),
    "hyp1f1": Entry("ab", _one("hyp1f1"), "the confluent hypergeometric function ₁F₁."),
    "hyp2f1": Entry("abc", _one("hyp2f1"), "Gauss's hypergeometric function ₂F₁."),
    "hyperu": Entry("ab", _one("hyperu"), "the confluent hypergeometric function U, of x > 0."),
    "wright_bessel": Entry("ab", _one("wright_bessel"), "Wright's generalised Bessel function."),
    "log_wright_bessel": Entry("ab", _one("log_wright_bessel"), "its logarithm."),
    "pbdv": Entry("v", lambda x, v: (of("pbdv", x, v), _slope("pbdv")(x, v)), "a parabolic cylinder function."),
    "spence": Entry("", _one("spence"), "Spence's function, the dilogarithm of 1 − x."),
    "wrightomega": Entry("", _one("wrightomega"), "the Wright omega function ω + log ω = x of real x."),
    "sici": Entry("", _several("si", "ci"), "the sine and cosine integrals."),
    "shichi": Entry("", _several("shi", "chi"), "the hyperbolic sine and cosine integrals."),
    "fresnel": Entry("", _several("fresnels", "fresnelc"), "Fresnel's integrals S and C."),
    "eval_legendre": Entry("n", _one("legendre"), "a Legendre polynomial."),
    "eval_chebyt": Entry("n", _one("chebyt"), "a Chebyshev polynomial T."),
    "eval_chebyu": Entry("n", _one("chebyu"), "a Chebyshev polynomial U."),
    "eval_chebyc": Entry("n", lambda x, n: 2.0 * of("chebyt", 0.5 * x, n), "a Chebyshev polynomial C on (−2, 2)."),
    "eval_chebys": Entry("n", lambda x, n: of("chebyu", 0.5 * x, n), "a Chebyshev polynomial S on (−2, 2)."),
    "eval_sh_legendre": Entry("n", lambda x, n: of("legendre", 2.0 * x - 1.0, n), "a shifted Legendre polynomial."),
    "eval_sh_chebyt": Entry("n", lambda x, n: of("chebyt", 2.0 * x - 1.0, n), "a shifted Chebyshev polynomial T."),
    "eval_sh_chebyu": Entry("n", lambda x, n: of("chebyu", 2.0 * x - 1.0, n), "a shifted Chebyshev polynomial U."),
    "eval_sh_jacobi": Entry("npq", _monic, "a shifted Jacobi polynomial."),
    "eval_jacobi": Entry(["n", "alpha", "beta"], _one("jacobi"), "a Jacobi polynomial."),
    "eval_gegenbauer": Entry(["n", "alpha"], _one("gegenbauer"), "a Gegenbauer polynomial."),
    "eval_hermite": Entry("n", _one("hermite"), "a Hermite polynomial of the physicists."),
    "eval_hermitenorm": Entry("n", _one("hermitenorm"), "a Hermite polynomial of the probabilists."),
    "eval_laguerre": Entry("n", lambda x, n: of("laguerre", x, n, 0), "a Laguerre polynomial."),
    "eval_genlaguerre": Entry(["n", "alpha"], _one("laguerre"), "a generalised Laguerre polynomial."),
    "lpmv": Entry("mv", _one("lpmv"), "the associated Legendre function of −1 < x < 1."),
}
"""Functions of SciPy's that are ufuncs, by name."""


def _function(name: str, entry: Entry) -> Any:
    """Return a function of plain parameters and a number, registered for SciPy's."""

    def function(*operands: Any) -> Any:
        *params, x = operands
        plain = [plain_order(name, p) for p in params]  # what is traced is x, then
        return entry.result(as_float(x), *plain)

    function.__name__ = function.__qualname__ = name
    said = f" for one plain {', '.join(entry.params)}" if entry.params else ""
    function.__doc__ = f"scipy.special.{name}{said}: {entry.said}"
    return implements(getattr(special, name), ufunc=True)(function)


FUNCTIONS: dict[str, Any] = {name: _function(name, entry) for name, entry in TABLE.items()}


def _spherical(name: str, said: str) -> Any:
    """Return a spherical Bessel function, which is Python code in SciPy."""

    def function(n: int, z: Any, derivative: bool = False) -> Any:
        order, z = plain_order(name, n, 0, whole=True), as_float(z)
        return (_slope(name) if derivative else _one(name))(z, order)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"scipy.special.{name} for one plain order n ≥ 0: {said}"
    return implements(getattr(special, name))(function)


FUNCTIONS |= {
    name: _spherical(name, said)
    for name, said in {
        "spherical_jn": "the spherical Bessel function of the first kind.",
        "spherical_yn": "the spherical Bessel function of the second kind.",
        "spherical_in": "the modified spherical Bessel function of the first kind.",
        "spherical_kn": "the modified spherical Bessel function of the second kind.",
    }.items()
}


def _derivative(name: str, record: Any, sign: float) -> Any:
    """Return a derivative of any order of a Bessel function (DLMF 10.6.7 and 10.29.5)."""

    def function(v: Any, z: Any, n: int = 1) -> Any:
        order, times = plain_order(name, v), plain_order(name, n, 0, whole=True)
        z = as_float(z)
        flipped = -1.0 if name == "kvp" else 1.0
        terms = [
            (flipped**times * 0.5**times * math.comb(times, k) * sign**k) * record(z, n=order - times + 2 * k)
            for k in range(times + 1)
        ]
        return sum(terms[1:], terms[0])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"scipy.special.{name} for one plain order and n: the derivative of order n of {name[:-1]}."
    return implements(getattr(special, name))(function)


FUNCTIONS |= {
    name: _derivative(name, record, sign)
    for name, record, sign in (
        ("jvp", ops.bessel_j, -1.0), ("yvp", ops.bessel_y, -1.0), ("ivp", ops.bessel_i, 1.0), ("kvp", ops.bessel_k, 1.0)
    )
}  # fmt: skip


def _hankel_derivative(name: str, kind: int) -> Any:
    """Return a derivative of any order of a Hankel function: its parts are those of J and Y."""

    def function(v: Any, z: Any, n: int = 1) -> Any:
        return ops.complex_of(FUNCTIONS["jvp"](v, z, n), kind * FUNCTIONS["yvp"](v, z, n))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"scipy.special.{name} for one plain order and n: the derivative of order n of hankel{name[1]}."
    return implements(getattr(special, name))(function)


FUNCTIONS |= {"h1vp": _hankel_derivative("h1vp", 1), "h2vp": _hankel_derivative("h2vp", -1)}

__all__ = sorted(FUNCTIONS)


def __getattr__(name: str) -> Any:
    """Return a function of the tables."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(name)
