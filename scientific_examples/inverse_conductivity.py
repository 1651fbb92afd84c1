"""Conductivity as an unknown field, from noisy measurements of the potential.

    −∇·(k ∇u) = f  in (0, 1)²,    u = 0 and k given on the boundary;  u is measured at 2500 points, noise 0.1.

Potential and the logarithm of the conductivity, which keeps it positive, are networks of their own, both fitted at
once; the source f is derived by SymPy from the fields that the data were made with.

Reference: u = sin πx sin πy, k = 1 / (1 + x² + y² + (x − 1)² + (y − 1)²).
Reach: error 0.02, error_u 0.02, seconds 60
Toy: error 0.3
Published: error 2.4e-2 of both fields together, the best of eleven methods (PINNacle PInv, Z. Hao et al., 2023)
"""

import numpy as np
import sympy

import primad
from primad import pde

X, Y = sympy.symbols("x y")
U = sympy.sin(sympy.pi * X) * sympy.sin(sympy.pi * Y)
K = 1 / (1 + X**2 + Y**2 + (X - 1) ** 2 + (Y - 1) ** 2)
SOURCE = -sum(sympy.diff(K * U.diff(each), each) for each in (X, Y))
potential, conductivity, source = (primad.from_sympy(each, (X, Y)) for each in (U, K, SOURCE))


def equation(u, s, x, y):
    """Return −∇·(k ∇u) − f for k = exp s."""
    return -np.exp(s.value) * (pde.laplacian(u) + s.x * u.x + s.y * u.y) - source(x, y)


def solve(toy=False, seed=0):
    """Return the errors of both fields, and what to draw."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(size=(2, 400 if toy else 2500))
    data = pde.Data(x=x, y=y, u=potential(x, y) + 0.1 * rng.normal(size=x.size), noise=0.1)
    known = pde.Dirichlet(s=lambda x, y: np.log(conductivity(x, y)), hard=False, weight=1e4)
    problem = pde.Problem(
        equation,
        pde.Box(x=(0, 1), y=(0, 1)),
        [pde.Dirichlet(u=0), known, data],
        unknowns={"u": pde.MLP(8, 2), "s": pde.MLP(8, 1)},
    )
    found = problem.solve(
        steps=20 if toy else 150,
        points=200 if toy else 1000,
        weights={"equation": 1e6},
        seed=seed,
        progress=False,
    )
    x, y = np.meshgrid(np.linspace(0, 1, 81), np.linspace(0, 1, 81))
    k, right = np.exp(found.s(x, y)), conductivity(x, y)
    figures = {
        "error": np.linalg.norm(k - right) / np.linalg.norm(right),
        "error_u": found.error(u=lambda x, y: potential(x, y)),
    }
    return figures, (x, y, k, right)


def draw(*shown):
    """Draw the conductivity and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
