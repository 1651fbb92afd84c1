"""Conductivity as an unknown field, from noisy temperatures (PINNacle's problem HInv).

    u_t = ∇·(a ∇u) + f  in (−1, 1)²,  0 ≤ t ≤ 1,    a(x, y) given on the boundary;
    u is measured at 2500 points, noise 0.1.

Nothing is said of u at the start and on the boundary. The source f is derived by SymPy from the fields that the data
were made with.

Reference: u = exp(−t) sin πx sin πy, a = 2 + sin πx sin πy.
Reach: error 0.03, error_u 0.05, seconds 180
Toy: error_u 0.9
Published: error 5.3e-2 of both fields together, the best of eleven methods (Z. Hao et al., 2023)
"""

import numpy as np
import sympy

import primad
from primad import pde

X, Y, T = sympy.symbols("x y t")
SHAPE = sympy.sin(sympy.pi * X) * sympy.sin(sympy.pi * Y)
U, A = sympy.exp(-T) * SHAPE, 2 + SHAPE
SOURCE = U.diff(T) - sum(sympy.diff(A * U.diff(each), each) for each in (X, Y))
temperature, conductivity, source = (primad.from_sympy(each, (X, Y, T)) for each in (U, A, SOURCE))


def equation(u, a, x, y, t):
    """Return u_t − ∇·(a ∇u) − f, and a_t: the conductivity does not change."""
    return u.t - pde.diffusion(u, a) - source(x, y, t), a.t


def solve(toy=False, seed=0):
    """Return the errors of both fields, and what to draw."""
    rng = np.random.default_rng(seed)
    x, y, t = rng.uniform([[-1], [-1], [0]], 1, size=(3, 1000 if toy else 2500))
    data = pde.Data(x=x, y=y, t=t, u=temperature(x, y, t) + 0.1 * rng.normal(size=x.size), noise=0.1)
    given = pde.Dirichlet(a=lambda x, y, t: conductivity(x, y, t), hard=False, weight=1e4)
    problem = pde.Problem(
        equation,
        pde.Box(x=(-1, 1), y=(-1, 1)) * pde.Time(0, 1),
        [pde.Free("u"), given, pde.Free("a", on="initial"), data],
        unknowns={"u": pde.MLP(12 if toy else 16, 2), "a": pde.MLP(8 if toy else 12, 2)},
    )
    found = problem.solve(
        steps=100 if toy else 200,
        points=500 if toy else 2000,
        weights={"equation": 1e3},
        seed=seed,
        progress=False,
    )
    figures = {
        "error": found.error(a=lambda x, y, t: conductivity(x, y, t)),
        "error_u": found.error(u=lambda x, y, t: temperature(x, y, t)),
    }
    x, y = np.meshgrid(np.linspace(-1, 1, 81), np.linspace(-1, 1, 81))
    return figures, (x, y, found.a(x, y, 0.5), conductivity(x, y, 0.5))


def draw(*shown):
    """Draw the conductivity and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
