"""The ground state of helium, by the local energy of a trial function and a variational search.

    H ψ = −½ Δψ − (2/r₁ + 2/r₂ − 1/r₁₂) ψ,     ψ = exp(−k s / 2) P(ks, kt, ku)
    s = r₁ + r₂,  t = r₁ − r₂,  u = r₁₂

Only ψ of the two electrons' positions is written down (Hylleraas, 1929). The Laplacian in six dimensions is
`primad.laplacian`; the energy ⟨ψ|Hψ⟩ / ⟨ψ|ψ⟩ is a quadrature in s, t and u, and its minimum in k and the coefficients
of P is found with the gradient and the Hessian of all that: derivatives of the fourth order. The local energy Hψ/ψ of
the true ψ would be the same everywhere: its deviation says how good ψ is.

Reference: the non-relativistic energy −2.903724377 hartree of a nucleus of infinite mass.
Reach: error 1e-3, seconds 30
Toy: error 2e-3
"""

import numpy as np

import primad
from primad import optimize

KNOWN = -2.903724377034
POWERS = [(0, 0, 1), (0, 2, 0), (1, 0, 0), (2, 0, 0), (0, 0, 2), (1, 0, 1), (0, 2, 1), (0, 0, 3), (0, 2, 2)]
"""The powers of s, t and u in P, beside 1."""


def psi(p, r):
    """Return ψ at the positions r, of shape (2, 3)."""
    r1, r2, u = [p["k"] * np.sqrt(np.sum(d**2)) for d in (r[0], r[1], r[0] - r[1])]
    s, t = r1 + r2, r1 - r2
    polynomial = 1 + sum(p["c"][i] * s**a * t**b * u**c for i, (a, b, c) in enumerate(POWERS[: p["c"].size]))
    return np.exp(-s / 2) * polynomial


def hamiltonian(p, r):
    """Return Hψ."""
    r1, r2, u = [np.sqrt(np.sum(d**2)) for d in (r[0], r[1], r[0] - r[1])]
    return -0.5 * primad.laplacian(psi, 1)(p, r) - (2 / r1 + 2 / r2 - 1 / u) * psi(p, r)


def quadrature(n):
    """Return positions and weights: Laguerre's in s, Legendre's in u < s and in t < u."""
    s, ws = np.polynomial.laguerre.laggauss(n)
    v, wv = np.polynomial.legendre.leggauss(n)
    v, wv = (v + 1) / 2, wv / 2
    s, u, t = np.meshgrid(s / 3.4, v, v, indexing="ij")
    weights = np.einsum("i,j,k->ijk", ws * np.exp(3.4 * s[:, 0, 0]), wv, wv) * s * (u * s)
    u = u * s
    t = t * u
    weights = weights * u * (s**2 - t**2)
    r1, r2 = (s + t) / 2, (s - t) / 2
    cosine = (r1**2 + r2**2 - u**2) / (2 * r1 * r2)
    zero = np.zeros_like(s)
    first = np.stack([r1, zero, zero], axis=-1)
    second = np.stack([r2 * cosine, r2 * np.sqrt(1 - cosine**2), zero], axis=-1)
    return np.stack([first, second], axis=-2).reshape(-1, 2, 3), weights.ravel()


def energy(p, r, weights):
    """Return ⟨ψ|Hψ⟩ / ⟨ψ|ψ⟩."""
    value, applied = (primad.vmap(f, (None, 0))(p, r) for f in (psi, hamiltonian))
    return np.sum(weights * value * applied) / np.sum(weights * value**2)


def solve(toy=False):
    """Return the error of the energy, the deviation of the local energy, and what to draw."""
    r, weights = quadrature(8 if toy else 14)
    start = {"k": 3.6, "c": np.zeros(2 if toy else len(POWERS))}
    history = []
    compiled = primad.jit(energy)
    found = optimize.minimize(
        energy,
        start,
        args=(r, weights),
        method="trust-exact",
        callback=lambda p: history.append(compiled(p, r, weights)),
        tol=1e-6,
    )
    value, applied = (primad.vmap(f, (None, 0))(found.x, r) for f in (psi, hamiltonian))
    deviation = np.sqrt(np.average((applied / value - found.fun) ** 2, weights=weights * value**2))
    return {"error": abs(found.fun - KNOWN), "energy": found.fun, "deviation": deviation}, (found.x, history)


def draw(p, history):
    """Draw the descent, and ψ of one electron around the other."""
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4))
    left.semilogy(np.array(history) - KNOWN)
    left.set(title="Energy above the true one", xlabel="step", ylabel="hartree")
    x = np.linspace(-2, 2, 121)
    r = np.stack(np.broadcast_arrays([[[0.5, 0, 0]]], np.stack([*np.meshgrid(x, x), np.full((121, 121), 1e-9)], -1)), 2)
    values = primad.vmap(psi, (None, 0))(p, r.reshape(-1, 2, 3)).reshape(121, 121)
    mesh = right.contourf(x, x, values, 20)
    right.plot([0.5], [0], "w+", markersize=9)
    right.set(title="ψ around the other electron, the cross", xlabel="x (bohr)", ylabel="y (bohr)", aspect="equal")
    plt.colorbar(mesh, ax=right)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
