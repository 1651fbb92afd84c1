"""The lid-driven cavity at Reynolds number 100: steady Navier–Stokes equations in a box whose lid moves.

    u·∇u + ∇p = Δu / Re,    ∇·u = 0;    u = 1 on the lid, 0 on the other walls.

The velocity is the curl of a stream function, so mass is conserved by construction, and the pressure is a network of
its own. The lid's speed falls to zero within the last 2 % at either corner, as in a real box; the table's does not.

Reference: the velocities along the two centre lines, from U. Ghia, K. Ghia & C. Shin, J. Comput. Phys. 48 (1982) 387.
Reach: error_u 0.01, error_v 0.01, seconds 300
Toy: error_u 0.5
"""

import numpy as np

from primad import pde

RE = 100.0
Y = np.array([0, 0.0547, 0.0625, 0.0703, 0.1016, 0.1719, 0.2813, 0.4531, 0.5, 0.6172, 0.7344, 0.8516, 0.9531, 0.9609,
              0.9688, 0.9766, 1])  # fmt: skip
U = np.array([0, -0.03717, -0.04192, -0.04775, -0.06434, -0.10150, -0.15662, -0.21090, -0.20581, -0.13641, 0.00332,
              0.23151, 0.68717, 0.73722, 0.78871, 0.84123, 1])  # fmt: skip
X = np.array([0, 0.0625, 0.0703, 0.0781, 0.0938, 0.1563, 0.2266, 0.2344, 0.5, 0.8047, 0.8594, 0.9063, 0.9453, 0.9531,
              0.9609, 0.9688, 1])  # fmt: skip
V = np.array([0, 0.09233, 0.10091, 0.10890, 0.12317, 0.16077, 0.17507, 0.17527, 0.05454, -0.24533, -0.22445, -0.16914,
              -0.10313, -0.08864, -0.07391, -0.05906, 0])  # fmt: skip


def momentum(s, p):
    """Return what is left of the balance of momentum, with u = s_y and v = −s_x."""
    u, v = s.y, -s.x
    return (
        u * s.d("xy") + v * s.d("yy") + p.x - (s.d("xxy") + s.d("yyy")) / RE,
        -u * s.d("xx") - v * s.d("xy") + p.y + (s.d("xxx") + s.d("xyy")) / RE,
    )


def lid(x):
    """Return the speed of the lid."""
    return np.tanh(100 * x) * np.tanh(100 * (1 - x))


def solve(toy=False, seed=0):
    """Return the largest differences from the table, and what to draw."""
    network = pde.MLP(16 if toy else 30, 2 if toy else 3)
    conditions = [
        pde.Dirichlet(s=0),
        pde.Condition(lambda s, x: s.y - lid(x), on="y+", weight=10.0, name="lid"),
        pde.Condition(lambda s: s.y, on="y-", weight=10.0, name="floor"),
        pde.Condition(lambda s: s.x, on=["x-", "x+"], weight=10.0, name="walls"),
        pde.Data(x=[0.5], y=[0.5], p=[0.0]),
        pde.Free("p"),
    ]
    problem = pde.Problem(
        momentum, pde.Box(x=(0, 1), y=(0, 1)), conditions, unknowns={"s": network, "p": pde.MLP(16, 2)}
    )
    found = problem.solve(
        steps=20 if toy else 300,
        points=120 if toy else 3000,
        boundary_points=40 if toy else 300,
        resample=0 if toy else 100,
        seed=seed,
        progress=False,
    )
    u, v = found.s.d("y"), found.s.d("x")
    figures = {"error_u": np.max(np.abs(u(0.5, Y) - U)), "error_v": np.max(np.abs(-v(X, 0.5) - V))}
    x, y = np.meshgrid(np.linspace(0, 1, 81), np.linspace(0, 1, 81))
    line = np.linspace(0, 1, 201)
    return figures, (x, y, u(x, y), -v(x, y), found.s(x, y), line, u(0.5, line), -v(line, 0.5))


def draw(x, y, u, v, stream, line, along_y, along_x):
    """Draw the flow, and its velocities beside the table."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8))
    mesh = left.pcolormesh(x, y, np.hypot(u, v), cmap="viridis", rasterized=True)
    left.contour(x, y, stream, 12, colors="white", linewidths=0.6)
    left.set(title="Speed and streamlines", aspect="equal", xlabel="x", ylabel="y")
    figure.colorbar(mesh, ax=left)
    for values, table, at, name in ((along_y, U, Y, "u(½, y)"), (along_x, V, X, "v(x, ½)")):
        (curve,) = right.plot(line, values, label=name)
        right.plot(at, table, "o", color=curve.get_color(), markersize=4)
    right.set(title="Centre lines; circles: Ghia et al.", xlabel="y or x")
    right.legend(frameon=False)


if __name__ == "__main__":
    from primad.gallery import run_file

    run_file(__file__)
