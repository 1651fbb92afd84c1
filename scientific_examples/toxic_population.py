"""Volterra's population that poisons itself: an integral over all of the past, for three strengths of the poison.

    κ u′ = u − u² − u ∫₀ᵗ u(s) ds,    u(0) = 0.1

A population grows, competes, and dies of what it has ever excreted. With v = ln u, which keeps it positive, it is
written in SymPy with the integral as it stands: κ v′ = 1 − eᵛ − ∫ eᵛ ds.

Reference: the largest u is 1 + κ ln(κ / (1 + κ − u(0))) (K. TeBeest, SIAM Rev. 39 (1997) 484–493).
Reach: error 1e-4, seconds 60
Toy: error 1e-2
"""

import numpy as np
import sympy

from primad import pde

T, S, KAPPA = sympy.symbols("t s kappa")
V = sympy.Function("v")
PAST = sympy.Integral(sympy.exp(V(S)), (S, 0, T))
EQUATION = sympy.Eq(KAPPA * V(T).diff(T), 1 - sympy.exp(V(T)) - PAST)
START, END = 0.1, 5.0
STRENGTHS = (0.1, 0.2, 0.5)


def solve(toy=False, seed=0):
    """Return the largest relative error of a peak, and what to draw."""
    time, errors, curves = np.linspace(0, END, 2001), [], []
    for kappa in STRENGTHS[-1:] if toy else STRENGTHS:
        problem = pde.Problem(
            EQUATION,
            pde.Time(0, END),
            pde.Initial(v=np.log(START)),
            unknowns="v",
            constants={"kappa": kappa},
            network=pde.MLP(8 if toy else 16, 1),
            quadrature=32,
        )
        found = problem.solve(steps=40 if toy else 150, points=30 if toy else 100, seed=seed, progress=False)
        peak, u = 1 + kappa * np.log(kappa / (1 + kappa - START)), np.exp(found.v(time))
        errors.append(abs(np.max(u) - peak) / peak)
        curves.append((kappa, u, peak))
    return {"error": max(errors)}, (time, curves)


def draw(time, curves):
    """Draw the populations, and how high each may get."""
    import matplotlib.pyplot as plt

    for k, (kappa, u, peak) in enumerate(curves):
        plt.plot(time, u, color=f"C{k}", label=f"κ = {kappa}")
        plt.axhline(peak, color=f"C{k}", linewidth=0.8, linestyle=":")
    plt.gca().set(title="A population that poisons itself", xlabel="t", ylabel="u")
    plt.plot([], [], color="grey", linewidth=0.8, linestyle=":", label="exact peak")
    plt.legend(frameon=False)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
