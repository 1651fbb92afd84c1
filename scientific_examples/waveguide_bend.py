"""A sharp bend of a waveguide that light takes: its material by the gradient through a sparse complex system.

    (∂²/∂x² + ∂²/∂y² + k² ε) E = −source,    finite differences in the frequency domain, absorbing layers around

Light of the wavelength 1 comes from the left in a guide and is to leave through another one at the top. In a square
between them ε lies between those of the guide and of the cladding, pixel by pixel, smoothed. The power in the outgoing
mode is compared with that in a straight guide. A factorisation of the matrix serves the wave and the gradient.

Reference: reciprocity, light that comes from the top; and the wave number of the guide's mode in the straight guide.
Reach: loss 0.02, asymmetry 1e-7, wave_number 0.001, seconds 60
Toy: loss 0.3, asymmetry 1e-7, wave_number 0.001
"""

import numpy as np
import scipy.sparse

from primad import optimize
from primad.scipy import sparse

GUIDE, WIDTH, WAVES, LAYER = 4.0, 0.4, 2 * np.pi, 0.6


class Grid:
    """Square pixels, `fine` for a wavelength, over `size` wavelengths each way."""

    def __init__(self, fine, size):
        self.count, self.step = round(fine * size), 1 / fine
        self.x = self.step * (np.arange(self.count) + 0.5) - size / 2
        self.guide = np.abs(self.x) < WIDTH / 2
        self.design = np.abs(self.x) < 0.8
        self.port = round(fine * (LAYER + 0.2))
        d = scipy.sparse.kron(self.derivative(), np.eye(self.count))
        self.waves = (d + scipy.sparse.kron(np.eye(self.count), self.derivative())).tocsc()
        beside = np.eye(self.count, k=1) + np.eye(self.count, k=-1) - 2 * np.eye(self.count)
        squares = np.diag(WAVES**2 * np.where(self.guide, GUIDE, 1.0)) + beside * fine**2
        values, modes = np.linalg.eigh(squares)
        self.wave_number, self.mode = 2 * fine * np.arcsin(np.sqrt(values[-1]) / fine / 2), modes[:, -1]

    def derivative(self):
        """Return the second derivative along a line, in stretched coordinates that absorb waves near both ends."""
        half = np.linspace(self.x[0] - self.step / 2, self.x[-1] + self.step / 2, 2 * self.count + 1)
        deep = np.maximum(np.abs(half) - (half[-1] - LAYER), 0) / LAYER
        stretch = 1 / (1 + 1j * 3 * deep**2)
        outer, inner = stretch[::2], stretch[1::2]
        diagonals = [inner[1:] * outer[1:-1], -inner * (outer[1:] + outer[:-1]), inner[:-1] * outer[1:-1]]
        return scipy.sparse.diags_array(diagonals, offsets=[-1, 0, 1]) / self.step**2

    def wave(self, material, source):
        """Return E for ε and a source on the grid, whose axes are x and y."""
        matrix = sparse.diags_array(WAVES**2 * material.ravel()) + self.waves
        return np.reshape(sparse.linalg.spsolve(matrix.tocsc(), -source.ravel()), source.shape)

    def source(self, turned=False):
        """Return what sends the mode from the left, or from the top."""
        found = np.zeros((self.count, self.count), complex)
        found[self.port] = self.mode / self.step
        return found[::-1].T if turned else found

    def bend(self, density):
        """Return ε of guides from the left and to the top, with a design in the middle."""
        from_left = (self.x < 0)[:, None] * self.guide[None, :]
        base = np.where(from_left | from_left[::-1].T, 1.0, 0.0)
        near = np.exp(-(((self.x[self.design, None] - self.x[self.design]) / 0.08) ** 2))
        near = near / np.sum(near, axis=1, keepdims=True)
        placed = np.eye(self.count)[:, self.design]
        inside = placed @ (1 / (1 + np.exp(-6 * (near @ density @ near.T)))) @ placed.T
        outside = 1 - self.design[:, None] * self.design[None, :]
        return 1 + (GUIDE - 1) * (base * outside + inside)


def solve(toy=False, seed=0):
    """Return the loss, and how well the checks hold; what to draw."""
    grid = Grid(12 if toy else 20, 4.0)
    straight = grid.wave(np.where(grid.guide, GUIDE, 1.0) * np.ones((grid.count, 1)), grid.source())
    along = np.asarray(straight @ grid.mode)
    power = np.abs(along[-1 - grid.port]) ** 2

    def loss(density):
        arrived = grid.wave(grid.bend(density), grid.source())[:, -1 - grid.port] @ grid.mode
        return 1 - np.abs(arrived) ** 2 / power

    size = np.count_nonzero(grid.design)
    start = 0.1 * np.random.default_rng(seed).normal(size=(size, size))
    found = optimize.minimize(loss, start, method="L-BFGS-B", options={"maxiter": 8 if toy else 80})
    material = np.asarray(grid.bend(found.x))
    back = grid.wave(material, grid.source(turned=True))[grid.port] @ grid.mode
    middle = slice(grid.count // 3, -grid.count // 3)
    number = np.mean(np.diff(np.unwrap(np.angle(along[middle])))) / grid.step
    figures = {
        "loss": float(found.fun), "asymmetry": abs(1 - np.abs(back) ** 2 / power - found.fun),
        "wave_number": abs(abs(number) / grid.wave_number - 1), "before": float(loss(start)), "steps": found.nit,
    }  # fmt: skip
    return figures, (grid.x, material, np.asarray(grid.wave(material, grid.source())))


def draw(x, material, wave):
    """Draw the material, the wave and its size."""
    import matplotlib.pyplot as plt

    _, panels = plt.subplots(1, 3, figsize=(14, 4.2))
    largest = np.max(np.abs(wave))
    shown = (
        ("ε", material, {"cmap": "Greys"}),
        ("Re E", wave.real, {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}),
        ("|E|", np.abs(wave), {"cmap": "magma"}),
    )
    for axes, (title, values, colours) in zip(panels, shown, strict=True):
        plt.colorbar(axes.pcolormesh(x, x, values.T, **colours), ax=axes)
        axes.set(title=title, xlabel="x", aspect="equal")
    panels[0].set(ylabel="y")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
