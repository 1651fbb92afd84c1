"""The shape of a cluster of thirteen atoms: trust-region minimisation with the Hessian, and its vibrations.

    E(x) = Σ_{i<j} 4 (r⁻¹² − r⁻⁶),   r = |xᵢ − xⱼ|

The energy is written as it stands; gradient, Hessian and products with the Hessian are derived. The Hessian at the
minimum has six eigenvalues that are zero, the motions of a rigid body, and the others are squares of frequencies.

Reference: the energy −44.326801 of the icosahedron, the global minimum (D. Wales & J. Doye, J. Phys. Chem. A 101
(1997) 5111).
Reach: error 1e-6, rigid 1e-8, seconds 10
Toy: error 1e-6, rigid 1e-8
"""

import numpy as np

import primad
from primad import optimize

KNOWN = -44.326801
FIRST, SECOND = np.triu_indices(13, 1)


def energy(x):
    """Return the energy of the atoms at x, of shape (13, 3)."""
    inverse = 1 / np.sum((x[FIRST] - x[SECOND]) ** 2, axis=1) ** 3
    return np.sum(4 * (inverse**2 - inverse))


def icosahedron():
    """Return the twelve corners and the centre, at about the right distance."""
    golden = (1 + np.sqrt(5)) / 2
    signs = [(a, b) for a in (-1, 1) for b in (-1, 1)]
    corners = [np.roll([0, a, b * golden], k) for k in range(3) for a, b in signs]
    return 1.1 * np.array([[0, 0, 0], *corners]) / np.hypot(1, golden)


def solve(toy=False, seed=0):
    """Return the error of the energy, the largest of the six frequencies that should be 0, and what to draw."""
    start = icosahedron() + 0.15 * np.random.default_rng(seed).normal(size=(13, 3))
    path = [energy(start)]
    method = {"method": "trust-exact", "options": {"gtol": 1e-9, "maxiter": 500}}
    found = optimize.minimize(energy, start, callback=lambda x: path.append(energy(np.reshape(x, (13, 3)))), **method)
    # Energies near the minimum differ by rounding alone, which may end the descent early; the gradient still tells.
    hessian = np.asarray(primad.hessian(energy)(found.x)).reshape(39, 39)
    step = np.linalg.lstsq(hessian, primad.grad(energy)(found.x).ravel(), rcond=1e-6)[0]
    x = found.x - step.reshape(13, 3)
    hessian = np.asarray(primad.hessian(energy)(x)).reshape(39, 39)
    squares = np.linalg.eigvalsh(hessian)
    rigid = np.sort(np.abs(squares))[:6]
    figures = {"error": abs(energy(x) - KNOWN), "rigid": rigid.max(), "steps": found.nit}
    return figures, (x, path, np.sqrt(np.sort(squares)[6:]))


def draw(x, path, frequencies):
    """Draw the cluster, the descent and the spectrum of vibrations."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(12, 4))
    space = figure.add_subplot(131, projection="3d")
    near = np.linalg.norm(x[FIRST] - x[SECOND], axis=1) < 1.3
    for i, j in zip(FIRST[near], SECOND[near], strict=True):
        space.plot(*x[[i, j]].T, color="C7", linewidth=0.8)
    space.scatter(*x.T, s=200, c=np.linalg.norm(x - x.mean(axis=0), axis=1) > 0.5, cmap="coolwarm_r")
    space.set(title="13 atoms", xticks=[], yticks=[], zticks=[])
    down = figure.add_subplot(132)
    down.semilogy(np.maximum(np.array(path) - KNOWN, 1e-8), "o-", markersize=3)
    down.set(title="Descent", xlabel="step", ylabel="energy above the known minimum")
    spectrum = figure.add_subplot(133)
    spectrum.vlines(frequencies, 0, 1)
    spectrum.set(
        title="Frequencies of the 33 vibrations", xlabel="√ of the Hessian's eigenvalue", yticks=[], ylim=(0, 1)
    )


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
