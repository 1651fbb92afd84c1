"""Equations by name.

Coefficients are numbers, SymPy expressions of the coordinates, or names of what is given at a call or learned. Each
function returns an `Equation`, whose unknowns are u (v, w) and p, and whose residual is zero where it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primad.errors import ShapeError
from primad.pde.equations.symbolic_equations import Equation
from primad.pde.written_names import names_in
from primad.system.deferred import sympy

__all__ = [
    "advection_diffusion",
    "allen_cahn",
    "beam",
    "black_scholes",
    "burgers",
    "darcy",
    "eikonal",
    "elasticity",
    "fokker_planck",
    "gray_scott",
    "heat",
    "helmholtz",
    "korteweg_de_vries",
    "kuramoto_sivashinsky",
    "navier_stokes",
    "plate",
    "poisson",
    "schroedinger",
    "sine_gordon",
    "stokes",
    "wave",
]

Symbols = Sequence[Any]


def _space(coordinates: str | Sequence[str]) -> list[Any]:
    names = names_in(coordinates)
    if not names or "t" in names:
        raise ShapeError(f"the coordinates of space, got {coordinates!r}", fix="name them without the time: 'x y'.")
    return [sympy.Symbol(name) for name in names]


def _space_and_time(coordinates: str | Sequence[str]) -> list[Any]:
    """Return the coordinates of space, and t."""
    return [*_space(coordinates), sympy.Symbol("t")]


def _coefficient(value: Any) -> Any:
    """Return a coefficient: a name is a symbol, which a call of the equation gives a value for."""
    return sympy.Symbol(value) if isinstance(value, str) else sympy.sympify(value)


def _unknown(name: str, *at: Any) -> Any:
    return sympy.Function(name)(*at)


def _laplacian(u: Any, space: Symbols) -> Any:
    return sympy.Add(*[u.diff(x, 2) for x in space])


def _flux(u: Any, weight: Any, space: Symbols) -> Any:
    """Return ∇·(k ∇u)."""
    return sympy.Add(*[(weight * u.diff(x)).diff(x) for x in space])


def _vector(values: Any, space: Symbols, what: str) -> list[Any]:
    found = [_coefficient(value) for value in (values if isinstance(values, (list, tuple)) else [values])]
    if len(found) == 1 and found[0] == 0:
        return found * len(space)
    if len(found) != len(space):
        raise ShapeError(
            f"{what} has {len(found)} components in {len(space)} dimensions",
            fix=f"pass {len(space)} of them, in a list.",
        )
    return found


def poisson(source: Any = 0, coordinates: str | Sequence[str] = "x y") -> Equation:
    """Return −Δu = f."""
    space = _space(coordinates)
    return Equation(-_laplacian(_unknown("u", *space), space) - _coefficient(source))


def helmholtz(wavenumber: Any, source: Any = 0, coordinates: str | Sequence[str] = "x y") -> Equation:
    """Return Δu + k²u = f."""
    space = _space(coordinates)
    u = _unknown("u", *space)
    return Equation(_laplacian(u, space) + _coefficient(wavenumber) ** 2 * u - _coefficient(source))


def heat(diffusivity: Any = 1, source: Any = 0, coordinates: str | Sequence[str] = "x") -> Equation:
    """Return u_t = ∇·(k∇u) + f."""
    *space, t = _space_and_time(coordinates)
    u = _unknown("u", *space, t)
    return Equation(u.diff(t) - _flux(u, _coefficient(diffusivity), space) - _coefficient(source))


def wave(speed: Any = 1, source: Any = 0, coordinates: str | Sequence[str] = "x") -> Equation:
    """Return u_tt = c²Δu + f."""
    *space, t = _space_and_time(coordinates)
    u = _unknown("u", *space, t)
    return Equation(u.diff(t, 2) - _coefficient(speed) ** 2 * _laplacian(u, space) - _coefficient(source))


def advection_diffusion(
    velocity: Any, diffusivity: Any, source: Any = 0, coordinates: str | Sequence[str] = "x"
) -> Equation:
    """Return u_t + a·∇u = ∇·(k∇u) + f."""
    *space, t = _space_and_time(coordinates)
    u = _unknown("u", *space, t)
    carried = sympy.Add(*[a * u.diff(x) for a, x in zip(_vector(velocity, space, "the velocity"), space, strict=True)])
    return Equation(u.diff(t) + carried - _flux(u, _coefficient(diffusivity), space) - _coefficient(source))


def burgers(viscosity: Any, coordinates: str | Sequence[str] = "x") -> Equation:
    """Return u_t + (u·∇)u = νΔu: of one unknown along a line, of as many as there are dimensions otherwise."""
    *space, t = _space_and_time(coordinates)
    unknowns = [_unknown(name, *space, t) for name in _names(space)]
    found = [_momentum(u, unknowns, _coefficient(viscosity), space) for u in unknowns]
    return Equation(found[0] if len(found) == 1 else tuple(found))


def allen_cahn(diffusivity: Any, rate: Any = 5, coordinates: str | Sequence[str] = "x") -> Equation:
    """Return u_t = DΔu + r(u − u³)."""
    *space, t = _space_and_time(coordinates)
    u = _unknown("u", *space, t)
    reaction = _coefficient(rate) * (u - u**3)
    return Equation(u.diff(t) - _coefficient(diffusivity) * _laplacian(u, space) - reaction)


def korteweg_de_vries(nonlinearity: Any = 6, dispersion: Any = 1) -> Equation:
    """Return u_t + a u u_x + b u_xxx = 0."""
    x, t = sympy.symbols("x t")
    u = _unknown("u", x, t)
    return Equation(u.diff(t) + _coefficient(nonlinearity) * u * u.diff(x) + _coefficient(dispersion) * u.diff(x, 3))


def kuramoto_sivashinsky(nonlinearity: Any = 1, growth: Any = 1, damping: Any = 1) -> Equation:
    """Return u_t + a u u_x + b u_xx + c u_xxxx = 0."""
    x, t = sympy.symbols("x t")
    u = _unknown("u", x, t)
    linear = _coefficient(growth) * u.diff(x, 2) + _coefficient(damping) * u.diff(x, 4)
    return Equation(u.diff(t) + _coefficient(nonlinearity) * u * u.diff(x) + linear)


def schroedinger(
    nonlinearity: Any = 1, potential: Any = 0, dispersion: Any = 0.5,
    coordinates: str | Sequence[str] = "x",
) -> Equation:  # fmt: skip
    """Return i h_t + d Δh + a|h|²h − V h = 0 for h = u + iv: its real and its imaginary part."""
    *space, t = _space_and_time(coordinates)
    u, v = (_unknown(name, *space, t) for name in "uv")
    inner = _coefficient(nonlinearity) * (u**2 + v**2) - _coefficient(potential)
    d = sympy.nsimplify(_coefficient(dispersion), rational=True)
    real = -v.diff(t) + d * _laplacian(u, space) + inner * u
    imaginary = u.diff(t) + d * _laplacian(v, space) + inner * v
    return Equation((real, imaginary))


def sine_gordon(coordinates: str | Sequence[str] = "x") -> Equation:
    """Return u_tt − Δu + sin u = 0."""
    *space, t = _space_and_time(coordinates)
    u = _unknown("u", *space, t)
    return Equation(u.diff(t, 2) - _laplacian(u, space) + sympy.sin(u))


def gray_scott(
    diffusivities: Sequence[Any], feed: Any, kill: Any, coordinates: str | Sequence[str] = "x y"
) -> Equation:
    """Return u_t = a Δu − uv² + F(1 − u) and v_t = b Δv + uv² − (F + k)v."""
    *space, t = _space_and_time(coordinates)
    u, v = (_unknown(name, *space, t) for name in "uv")
    a, b = (_coefficient(value) for value in diffusivities)
    f, k = _coefficient(feed), _coefficient(kill)
    first = u.diff(t) - a * _laplacian(u, space) + u * v**2 - f * (1 - u)
    return Equation((first, v.diff(t) - b * _laplacian(v, space) - u * v**2 + (f + k) * v))


def beam(load: Any = 0, stiffness: Any = 1, mass: Any | None = None) -> Equation:
    """Return (EI u_xx)_xx = q, the Euler–Bernoulli beam; with a mass per length, m u_tt + (EI u_xx)_xx = q."""
    x, t = sympy.symbols("x t")
    u = _unknown("u", x) if mass is None else _unknown("u", x, t)
    bent = (_coefficient(stiffness) * u.diff(x, 2)).diff(x, 2) - _coefficient(load)
    return Equation(bent if mass is None else bent + _coefficient(mass) * u.diff(t, 2))


def plate(load: Any = 0, stiffness: Any = 1, coordinates: str | Sequence[str] = "x y") -> Equation:
    """Return D Δ²u = q, the Kirchhoff–Love plate."""
    x, y = _space(coordinates)
    u = _unknown("u", x, y)
    biharmonic = u.diff(x, 4) + 2 * u.diff(x, 2, y, 2) + u.diff(y, 4)
    return Equation(_coefficient(stiffness) * biharmonic - _coefficient(load))


def elasticity(lam: Any, mu: Any, force: Any = 0, coordinates: str | Sequence[str] = "x y") -> Equation:
    """Return ∇·σ + f = 0, σ = λ tr(ε) I + 2με, with the displacement (u, v, w)."""
    space = _space(coordinates)
    unknowns = [_unknown(name, *space) for name in _names(space)]
    first, second = _coefficient(lam), _coefficient(mu)
    spread = sympy.Add(*[u.diff(x) for u, x in zip(unknowns, space, strict=True)])
    found = []
    for u, x, f in zip(unknowns, space, _vector(force, space, "the force"), strict=True):
        shear = [(second * (u.diff(y) + v.diff(x))).diff(y) for v, y in zip(unknowns, space, strict=True)]
        found.append((first * spread).diff(x) + sympy.Add(*shear) + f)
    return Equation(tuple(found))


def stokes(viscosity: Any = 1, force: Any = 0, coordinates: str | Sequence[str] = "x y") -> Equation:
    """Return −μΔu + ∇p = f and ∇·u = 0."""
    space = _space(coordinates)
    unknowns = [_unknown(name, *space) for name in _names(space)]
    p, mu = _unknown("p", *space), _coefficient(viscosity)
    forces = _vector(force, space, "the force")
    found = [p.diff(x) - mu * _laplacian(u, space) - f for u, x, f in zip(unknowns, space, forces, strict=True)]
    return Equation((*found, sympy.Add(*[u.diff(x) for u, x in zip(unknowns, space, strict=True)])))


def navier_stokes(
    viscosity: Any, force: Any = 0, coordinates: str | Sequence[str] = "x y", steady: bool = False
) -> Equation:
    """Return u_t + (u·∇)u + ∇p = νΔu + f and ∇·u = 0, in two or three dimensions."""
    *space, t = _space_and_time(coordinates)
    at = space if steady else [*space, t]
    unknowns = [_unknown(name, *at) for name in _names(space)]
    p, nu = _unknown("p", *at), _coefficient(viscosity)
    forces = _vector(force, space, "the force")
    found = [
        _momentum(u, unknowns, nu, space, steady) + p.diff(x) - f
        for u, x, f in zip(unknowns, space, forces, strict=True)
    ]
    return Equation((*found, sympy.Add(*[u.diff(x) for u, x in zip(unknowns, space, strict=True)])))


def darcy(permeability: Any, source: Any = 0, coordinates: str | Sequence[str] = "x y") -> Equation:
    """Return −∇·(k∇u) = f."""
    space = _space(coordinates)
    return Equation(-_flux(_unknown("u", *space), _coefficient(permeability), space) - _coefficient(source))


def fokker_planck(drift: Any, diffusion: Any, coordinates: str | Sequence[str] = "x") -> Equation:
    """Return u_t = −∇·(a u) + Δ(D u), for the density u."""
    *space, t = _space_and_time(coordinates)
    u = _unknown("u", *space, t)
    carried = sympy.Add(*[(a * u).diff(x) for a, x in zip(_vector(drift, space, "the drift"), space, strict=True)])
    return Equation(u.diff(t) + carried - _laplacian(_coefficient(diffusion) * u, space))


def black_scholes(volatility: Any, rate: Any) -> Equation:
    """Return u_t + ½σ²s²u_ss + r s u_s − r u = 0, for the price u(s, t) of an option."""
    s, t = sympy.symbols("s t")
    u, r = _unknown("u", s, t), _coefficient(rate)
    spread = _coefficient(volatility) ** 2 * s**2 * u.diff(s, 2) / 2
    return Equation(u.diff(t) + spread + r * s * u.diff(s) - r * u)


def eikonal(slowness: Any = 1, coordinates: str | Sequence[str] = "x y") -> Equation:
    """Return |∇u|² = n²."""
    space = _space(coordinates)
    u = _unknown("u", *space)
    return Equation(sympy.Add(*[u.diff(x) ** 2 for x in space]) - _coefficient(slowness) ** 2)


def _names(space: Symbols) -> str:
    if len(space) > 3:
        raise ShapeError(
            f"there are names for the components of vectors in three dimensions, not in {len(space)}",
            fix="write the equation with SymPy.",
        )
    return "uvw"[: len(space)]


def _momentum(u: Any, velocity: Symbols, viscosity: Any, space: Symbols, steady: bool = False) -> Any:
    carried = sympy.Add(*[v * u.diff(x) for v, x in zip(velocity, space, strict=True)])
    return carried - viscosity * _laplacian(u, space) + (0 if steady else u.diff(sympy.Symbol("t")))
