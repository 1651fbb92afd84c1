"""The lid-driven cavity at Reynolds numbers 100, 400 and 1000: steady Navier–Stokes equations in a box whose lid moves.

    u·∇u + ∇p = Δu / Re,    ∇·u = 0;    u = 1 on the lid, 0 on the other walls.

The velocity is the curl of a stream function, so mass is conserved by construction, and the pressure is a network of
its own. Each Reynolds number begins where the last one ended, 1000 by way of 700, and ends early: more steps fit the
equations at the points better, and the flow between them worse. The lid's speed falls to zero within the last 4 % at
either corner, as in a real box; the table's does not. One of the table's values, v at x = 0.9063 for Re = 400, is left
out: it does not lie on the curve of the others.

Reference: the velocities along the two centre lines, from U. Ghia, K. Ghia & C. Shin, J. Comput. Phys. 48 (1982) 387.
Reach: error_u_100 0.01, error_v_100 0.01, error_u_400 0.02, error_v_400 0.02, error_u_1000 0.05, error_v_1000 0.05,
    seconds 300
Toy: error_u_100 0.5
Published: error 3.6e-2 at Re = 100 in the whole box, the best of eleven methods (PINNacle, Z. Hao et al., 2023)
"""

import numpy as np

from primad import pde

Y = np.array([0, 0.0547, 0.0625, 0.0703, 0.1016, 0.1719, 0.2813, 0.4531, 0.5, 0.6172, 0.7344, 0.8516, 0.9531, 0.9609,
              0.9688, 0.9766, 1])  # fmt: skip
X = np.array([0, 0.0625, 0.0703, 0.0781, 0.0938, 0.1563, 0.2266, 0.2344, 0.5, 0.8047, 0.8594, 0.9063, 0.9453, 0.9531,
              0.9609, 0.9688, 1])  # fmt: skip
U = {
    100: [0, -0.03717, -0.04192, -0.04775, -0.06434, -0.10150, -0.15662, -0.21090, -0.20581, -0.13641, 0.00332,
          0.23151, 0.68717, 0.73722, 0.78871, 0.84123, 1],
    400: [0, -0.08186, -0.09266, -0.10338, -0.14612, -0.24299, -0.32726, -0.17119, -0.11477, 0.02135, 0.16256,
          0.29093, 0.55892, 0.61756, 0.68439, 0.75837, 1],
    1000: [0, -0.18109, -0.20196, -0.22220, -0.29730, -0.38289, -0.27805, -0.10648, -0.06080, 0.05702, 0.18719,
           0.33304, 0.46604, 0.51117, 0.57492, 0.65928, 1],
}  # fmt: skip
V = {
    100: [0, 0.09233, 0.10091, 0.10890, 0.12317, 0.16077, 0.17507, 0.17527, 0.05454, -0.24533, -0.22445, -0.16914,
          -0.10313, -0.08864, -0.07391, -0.05906, 0],
    400: [0, 0.18360, 0.19713, 0.20920, 0.22965, 0.28124, 0.30203, 0.30174, 0.05186, -0.38598, -0.44993, np.nan,
          -0.22847, -0.19254, -0.15663, -0.12146, 0],
    1000: [0, 0.27485, 0.29012, 0.30353, 0.32627, 0.37095, 0.33075, 0.32235, 0.02526, -0.31966, -0.42665, -0.51550,
           -0.39188, -0.33714, -0.27669, -0.21388, 0],
}  # fmt: skip


def momentum(s, p, number):
    """Return what is left of the balance of momentum, with u = s_y and v = −s_x."""
    u, v = s.y, -s.x
    return (
        u * s.d("xy") + v * s.d("yy") + p.x - (s.d("xxy") + s.d("yyy")) / number,
        -u * s.d("xx") - v * s.d("xy") + p.y + (s.d("xxx") + s.d("xyy")) / number,
    )


def lid(x):
    """Return the speed of the lid."""
    return np.tanh(50 * x) * np.tanh(50 * (1 - x))


def solve(toy=False, seed=0):
    """Return the largest differences from the tables, and what to draw."""
    networks = {"s": pde.MLP(16 if toy else 24, 2 if toy else 3), "p": pde.MLP(12, 2)}
    conditions = [
        pde.Dirichlet(s=0),
        pde.Condition(lambda s, x: s.y - lid(x), on="y+", weight=10.0, name="lid"),
        pde.Condition(lambda s: s.y, on="y-", weight=10.0, name="floor"),
        pde.Condition(lambda s: s.x, on=["x-", "x+"], weight=10.0, name="walls"),
        pde.Data(x=[0.5], y=[0.5], p=[0.0]),
        pde.Free("p"),
    ]
    box, figures, shown, params = pde.Box(x=(0, 1), y=(0, 1)), {}, {}, None
    for number, steps in {100: 20}.items() if toy else {100: 60, 400: 80, 700: 60, 1000: 100}.items():
        problem = pde.Problem(momentum, box, conditions, unknowns=networks, constants={"number": float(number)})
        found = problem.solve(
            params=params,
            steps=steps,
            points=120 if toy else 2000,
            boundary_points=40 if toy else 200,
            resample=0 if toy else 50,
            seed=seed,
            progress=False,
        )
        params, u, v = found.params, found.s.d("y"), found.s.d("x")
        if number not in U:
            continue
        figures[f"error_u_{number}"] = np.max(np.abs(u(0.5, Y) - U[number]))
        figures[f"error_v_{number}"] = np.nanmax(np.abs(-v(X, 0.5) - V[number]))
        line, (x, y) = np.linspace(0, 1, 201), np.meshgrid(np.linspace(0, 1, 81), np.linspace(0, 1, 81))
        shown[number] = (u(0.5, line), -v(line, 0.5), np.hypot(u(x, y), v(x, y)), found.s(x, y))
    return figures, (x, y, line, shown)


def draw(x, y, line, shown):
    """Draw the flow at the last Reynolds number, and the velocities beside the tables."""
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.8))
    *_, speed, stream = list(shown.values())[-1]
    mesh = left.pcolormesh(x, y, speed, cmap="viridis", rasterized=True)
    left.contour(x, y, stream, 12, colors="white", linewidths=0.6, linestyles="solid")
    left.set(title=f"Speed and streamlines, Re = {list(shown)[-1]}", aspect="equal", xlabel="x", ylabel="y")
    figure.colorbar(mesh, ax=left)
    for number, (along_y, along_x, *_) in shown.items():
        for axes, values, table, at in ((middle, along_y, U, Y), (right, along_x, V, X)):
            (curve,) = axes.plot(line, values, label=f"Re = {number}")
            axes.plot(at, table[number], "o", color=curve.get_color(), markersize=4)
    middle.set(title="u(½, y); circles: Ghia et al.", xlabel="y")
    right.set(title="v(x, ½)", xlabel="x")
    middle.legend(frameon=False)


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
