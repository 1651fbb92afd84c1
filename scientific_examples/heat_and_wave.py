"""Heat and waves on an L-shape and on a disk with a hole.

    u_t = ¼ Δu,  or  u_tt = ¼ Δu from rest;    u = 0 on the boundary.

Domains are unions and differences of simple ones. At the corner that points inwards the solution's derivatives are not
bounded, which no smooth network follows exactly. Waves carry that away from the corner, and folds from walls where the
start's Laplacian is not zero: they take more points than the others, drawn anew now and then, and a start that holds
by construction.

Reference: finite differences with 201 points each way, or 120 × 192 in polar coordinates (`primad.pde.references`).
Reach: l_heat 1e-3, l_wave 1e-3, ring_heat 1e-3, ring_wave 1e-3, seconds 400
Toy: l_heat 0.3, ring_wave 0.3
"""

import numpy as np

from primad import pde
from primad.pde import references

INNER = 0.3


def l_start(x, y):
    """Return the start on the L-shape."""
    return np.sin(np.pi * x) * np.sin(np.pi * y) * (1 + x / 2)


def ring_start(x, y):
    """Return the start on the ring: its Laplacian vanishes on the circles too, as the equations want it."""
    r = np.hypot(x, y)
    return (1 + x / r) * np.sin(np.pi * (r - INNER) / (1 - INNER)) / np.sqrt(r)


def l_shape(times, wave, n):
    """Return points of the L-shape, and the reference there."""
    line = np.linspace(-1, 1, n)
    x, y = np.meshgrid(line, line, indexing="ij")
    inside = (abs(x) < 1) & (abs(y) < 1) & ((x < -1e-9) | (y < -1e-9))
    matrix = references.masked_laplacian(inside, line[1] - line[0]) / 4
    return x[inside], y[inside], references.evolved(matrix, l_start(x, y)[inside], times, wave)


def ring(times, wave, n):
    """Return points of the ring, and the reference there."""
    r, angle, matrix = references.ring_laplacian(INNER, 1, 3 * n // 5, 24 * n // 25)
    x, y = r * np.cos(angle), r * np.sin(angle)
    return x, y, references.evolved(matrix / 4, ring_start(x, y), times, wave)


def heat(u):
    """Return u_t − ¼ Δu."""
    return u.t - pde.laplacian(u) / 4


def wave(u):
    """Return u_tt − ¼ Δu."""
    return u.tt - pde.laplacian(u) / 4


def solve(toy=False, seed=0):
    """Return four errors, and what to draw."""
    shapes = {
        "l": (pde.Box(x=(-1, 1), y=(-1, 1)) - pde.Box(x=(0, 1), y=(0, 1)), l_start, l_shape),
        "ring": (pde.Disk() - pde.Disk(radius=INNER), ring_start, ring),
    }
    times = np.linspace(0, 1, 5)
    figures, shown = {}, []
    for shape, (domain, start, reference) in shapes.items():
        for equation in (heat, wave):
            if toy and (shape == "l") == (equation is wave):
                continue
            corner = shape == "l" and equation is wave
            begin = {} if corner else {"hard": False, "weight": 10.0}
            conditions = [
                pde.Dirichlet(u=0, hard=False, weight=100.0 if corner else 10.0),
                pde.Initial(u=start, **begin),
            ]
            if equation is wave:
                conditions.append(pde.Initial(u=0, order=1, **begin))
            network = pde.MLP(16 if toy else 30, 2)
            problem = pde.Problem(equation, domain * pde.Time(0, 1), conditions, network=network)
            settings = {"steps": 30, "points": 300} if toy else {"steps": 200, "points": 3000}
            if corner and not toy:
                settings = {"steps": 300, "points": 5000, "boundary_points": 2000, "resample": 50}
            found = problem.solve(**settings, seed=seed, progress=False)
            x, y, right = reference(times, equation is wave, 51 if toy else 201)
            values = found.u(x[:, None], y[:, None], times)
            name = f"{shape}_{equation.__name__}"
            figures[name] = np.linalg.norm(values - right) / np.linalg.norm(right)
            shown.append((name, x, y, values, right))
    return figures, (times, shown)


def draw(times, shown):
    """Draw each solution at three times, and its error at the last one."""
    import matplotlib.pyplot as plt

    figure, rows = plt.subplots(len(shown), 4, figsize=(13, 3.2 * len(shown)), squeeze=False)
    for row, (name, x, y, values, right) in zip(rows, shown, strict=True):
        top = np.max(np.abs(right[:, 1:]))
        for axes, k in zip(row[:3], (1, 2, 4), strict=True):
            mesh = axes.scatter(x, y, c=values[:, k], s=6, cmap="RdBu_r", vmin=-top, vmax=top, rasterized=True)
            axes.set(title=f"{name}, t = {times[k]:.2f}", aspect="equal", xticks=[], yticks=[])
        figure.colorbar(mesh, ax=row[2])
        mesh = row[3].scatter(x, y, c=abs(values - right)[:, -1], s=6, cmap="magma", rasterized=True)
        row[3].set(title="|difference|", aspect="equal", xticks=[], yticks=[])
        figure.colorbar(mesh, ax=row[3])


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
