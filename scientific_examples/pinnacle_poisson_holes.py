"""Laplace's equation on a square with four round holes (PINNacle's problem Poisson2d-C).

    Δu = 0 in the square (−½, ½)² without disks of radius 0.1 around (±0.3, ±0.3);
    u = 1 on the sides of the square, 0 on the circles.

Reference: a series of powers around the middle and of each hole, fitted to the boundary (`primad.pde.references`).
Reach: error 1e-3, seconds 120
Toy: error 0.1
Published: error 1.23e-2 with weights by the neural tangent kernel, the best of eleven methods (Z. Hao et al., 2023)
"""

import numpy as np

from primad import pde
from primad.pde import references

HOLES = [(x, y, 0.1) for x in (-0.3, 0.3) for y in (-0.3, 0.3)]


def domain():
    """Return the square without the holes, and the names of both kinds of boundary."""
    room = pde.Box(x=(-0.5, 0.5), y=(-0.5, 0.5))
    for x, y, radius in HOLES:
        room = room - pde.Disk((x, y), radius)
    sides = ["x-", "x+", "y-", "y+"]
    return room, sides, [part for part in room.parts if part not in sides]


def reference(x, y):
    """Return the solution."""
    s, one = np.linspace(-0.5, 0.5, 101), np.full(101, 0.5)
    turn = 2 * np.pi * np.arange(100) / 100
    square = [(s, one), (s, -one), (one, s), (-one, s)]
    circles = [(a + r * np.cos(turn), b + r * np.sin(turn)) for a, b, r in HOLES]
    at = np.concatenate([np.stack(each, axis=-1) for each in square + circles])
    places = (-0.7, -0.3, 0.3, 0.7)  # of the holes, and of their mirror images at the sides
    poles = [(a, b, 0.1) for a in places for b in places]
    return references.harmonic(at, np.repeat([1.0, 0.0], [404, 400]), poles, 12)(x, y)


def solve(toy=False, seed=0):
    """Return the relative error, and what to draw."""
    room, sides, circles = domain()
    problem = pde.Problem(
        lambda u: pde.laplacian(u),
        room,
        [pde.Dirichlet(u=1, on=sides, weight=100.0), pde.Dirichlet(u=0, on=circles, weight=100.0)],
        network=pde.MLP(16 if toy else 32, 2),
    )
    found = problem.solve(
        steps=40 if toy else 300,
        points=300 if toy else 2000,
        boundary_points=50 if toy else 300,
        resample=0 if toy else 100,
        seed=seed,
        progress=False,
    )
    x, y = np.meshgrid(np.linspace(-0.5, 0.5, 121), np.linspace(-0.5, 0.5, 121))
    outside = np.all([np.hypot(x - a, y - b) >= r for a, b, r in HOLES], axis=0)
    values, right = np.full((2, *x.shape), np.nan)
    values[outside], right[outside] = found.u(x[outside], y[outside]), reference(x[outside], y[outside])
    error = np.linalg.norm((values - right)[outside]) / np.linalg.norm(right[outside])
    return {"error": error}, (x, y, values, right)


def draw(*shown):
    """Draw the solution and its error."""
    pde.plot_comparison(*shown)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
