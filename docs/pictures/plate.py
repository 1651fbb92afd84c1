"""Draws `plate.png`: the plate of the README, its solution and the residual of the equation."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from primad import pde


def heat(u, x, y):
    return u.xx + u.yy + 10 * np.exp(-10 * ((x + 0.5) ** 2 + y**2))


plate = pde.Box(x=(-1, 1), y=(-1, 1)) - pde.Disk((0.3, 0.2), 0.35)
cold = pde.Dirichlet(u=0, on=["x-", "x+", "y-", "y+"])
insulated = pde.Neumann(u=0, on="boundary")
solution = pde.Problem(heat, plate, [cold, insulated]).solve(steps=150, points=1500)

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
solution.plot("u", axes=left)
solution.plot_residual(axes=right)
figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)
