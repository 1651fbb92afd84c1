"""A clamped plate: the biharmonic equation on a square.

    Δ²u = f  in (0, 1)²,    u = ∂u/∂n = 0 on the boundary,

with f such that u = sin²πx sin²πy. The load f is derived from u by SymPy, not typed. The deflection is zero on the
boundary by construction; the slope there is fitted.

Reference: the exact solution.
Reach: error 1e-5, seconds 60
Toy: error 0.05
"""

import numpy as np
import sympy

import primad
from primad import pde

X, Y = sympy.symbols("x y")
SHAPE = sympy.sin(sympy.pi * X) ** 2 * sympy.sin(sympy.pi * Y) ** 2
LOAD = sum(SHAPE.diff(*w) for w in ([X] * 4, [X, X, Y, Y], [X, X, Y, Y], [Y] * 4))
exact, load = primad.from_sympy(SHAPE, (X, Y)), primad.from_sympy(LOAD, (X, Y))


def equation(u, x, y):
    """Return (Δ²u − f) / 100."""
    return (pde.biharmonic(u) - load(x, y)) / 100


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    conditions = [pde.Dirichlet(u=0), pde.Neumann(u=0, weight=100.0)]
    problem = pde.Problem(equation, pde.Box(x=(0, 1), y=(0, 1)), conditions, network=pde.MLP(12 if toy else 24, 2))
    found = problem.solve(
        steps=40 if toy else 200,
        points=150 if toy else 1000,
        boundary_points=20 if toy else 100,
        seed=seed,
        progress=False,
    )
    x, y = np.meshgrid(np.linspace(0, 1, 81), np.linspace(0, 1, 81))
    return {"error": found.error(u=lambda x, y: exact(x, y))}, (x, y, found.u(x, y), exact(x, y))


def draw(*shown):
    """Draw the solution and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
