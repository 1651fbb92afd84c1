"""The largest von Mises stress at a hole in a plate under tension, and what it changes with.

The plate is elastic (plane stress, ν = 0.3) and pulled along y; the hole is an ellipse with the half axes a and b. A
quarter is cut into elements of nine nodes. The energy is a plain function: a gather, and a sum over elements. Its
gradient is the equation, and `implicit.root` makes its sparse Jacobian of the matrices of elements. One gradient
through the solution says what the stress at the end of the hole changes with: half axes, and the stiffness everywhere.

Reference: Inglis (1913), σ = 1 + 2a/b in an infinite plate, and its derivatives 2/b and −2a/b²; differences.
Reach: error 2e-3, error_by_a 5e-3, error_by_b 1e-2, difference 1e-6, seconds 60
Toy: error 0.03, error_by_a 0.05, error_by_b 0.05, difference 1e-6
"""

import numpy as np

import primad

AXES, FAR, POISSON = np.array([1.0, 0.8]), 80.0, 0.3
STIFFNESS = np.array([[1, POISSON, 0], [POISSON, 1, 0], [0, 0, (1 - POISSON) / 2]]) / (1 - POISSON**2)


def shapes():
    """Return weights of nine points of Gauss, and the slopes there and at nodes: of nine products of parabolas."""
    at = np.array([-1.0, 0.0, 1.0])
    roots, weights = np.polynomial.legendre.leggauss(3)

    def slopes(points):
        value = np.stack([points * (points - 1) / 2, 1 - points**2, points * (points + 1) / 2], axis=1)
        slope = np.stack([points - 0.5, -2 * points, points + 0.5], axis=1)
        pairs = [np.einsum("pi,qj->pqij", *pair) for pair in ((slope, value), (value, slope))]
        return np.stack(pairs, axis=-1).reshape(9, 9, 2)

    return np.outer(weights, weights).ravel(), slopes(roots), slopes(at)


class Quarter:
    """A quarter of a plate with a hole, on nodes along rays."""

    def __init__(self, around, outwards):
        shape = (2 * around + 1, 2 * outwards + 1)
        self.angle = np.linspace(0, np.pi / 2, shape[0])[:, None]
        self.share = (np.geomspace(1, FAR, shape[1]) - 1) / (FAR - 1)
        number = np.arange(np.prod(shape)).reshape(shape)
        corner = number[:-2:2, :-2:2].reshape(-1, 1)
        self.cells = corner + (np.arange(3)[:, None] * shape[1] + np.arange(3)).ravel()
        self.shape, self.edge = shape, number[:, 0]
        held = [(number[:, -1], 0), (number[:, -1], 1), (number[-1], 0), (number[0], 1)]
        self.held = np.unique(np.concatenate([2 * nodes + axis for nodes, axis in held]))
        self.free = np.setdiff1d(np.arange(2 * number.size), self.held)
        self.weights, self.inside, self.at_nodes = shapes()

    def nodes(self, axes):
        """Return the places of the nodes."""
        ray = np.concatenate([np.cos(self.angle), np.sin(self.angle)], axis=1)[:, None, :]
        return (ray * (axes + self.share[:, None] * (FAR - axes))).reshape(-1, 2)

    def strains(self, u, nodes, slopes):
        """Return the strains at the points of each element, and the areas that belong to them."""
        turned = np.einsum("pni,cnx->cpix", slopes, nodes[self.cells])
        by = np.linalg.solve(turned, np.einsum("pni,cny->cpiy", slopes, u.reshape(-1, 2)[self.cells]))
        return np.stack([by[..., 0, 0], by[..., 1, 1], by[..., 0, 1] + by[..., 1, 0]], axis=-1), np.linalg.det(turned)

    def displacements(self, nodes, stiffness):
        """Return the displacements where the energy is least, and those far away are of a plate without a hole."""
        far = (nodes * [-POISSON, 1.0]).ravel()[self.held]

        def energy(free, far, nodes, stiffness):
            u = primad.numpy.concatenate([free, far])[np.argsort(np.concatenate([self.free, self.held]))]
            strain, area = self.strains(u, nodes, self.inside)
            return 0.5 * np.sum(stiffness[:, None] * self.weights * area * np.sum(strain @ STIFFNESS * strain, axis=2))

        force = primad.grad(energy)
        free = primad.implicit.root(force, np.zeros(len(self.free)), far, nodes, stiffness)
        return primad.numpy.concatenate([free, far])[np.argsort(np.concatenate([self.free, self.held]))]

    def stresses(self, nodes, stiffness):
        """Return the von Mises stress at the nodes of each element."""
        strain, _ = self.strains(self.displacements(nodes, stiffness), nodes, self.at_nodes)
        x, y, xy = np.moveaxis(stiffness[:, None, None] * strain @ STIFFNESS, -1, 0)
        return np.sqrt(x**2 - x * y + y**2 + 3 * xy**2)


def solve(toy=False):
    """Return errors of the largest stress and of its derivatives, and what to draw."""
    plate = Quarter(*((12, 24) if toy else (48, 90)))
    ones = np.ones(len(plate.cells))

    def largest(nodes, stiffness):
        return plate.stresses(nodes, stiffness)[0, 0]  # at the end of the hole: (a, 0)

    at_axes = primad.jit(primad.value_and_grad(lambda axes: largest(plate.nodes(axes), ones)))
    (a, b), (value, slope) = AXES, at_axes(AXES)
    difference = [(at_axes(AXES + h)[0] - at_axes(AXES - h)[0]) / 2e-4 for h in 1e-4 * np.eye(2)]
    nodes, others = plate.nodes(AXES), np.linspace(0.5, 2, 7)
    by_stiffness = primad.grad(lambda stiffness: largest(nodes, stiffness))(ones)
    errors = np.abs(np.array([value, *slope]) / [1 + 2 * a / b, 2 / b, -2 * a / b**2] - 1)
    figures = dict(zip(("error", "error_by_a", "error_by_b"), errors, strict=True))
    figures["difference"] = np.max(np.abs(slope / difference - 1))
    slopes = [at_axes(np.array([1.0, b]))[1][1] for b in others]
    return figures, (plate, nodes, plate.stresses(nodes, ones), by_stiffness, others, slopes)


def draw(plate, nodes, stress, by_stiffness, others, slopes):
    """Draw the stress, how the largest one changes with the stiffness of elements, and with the half axis b."""
    import matplotlib.pyplot as plt

    figure = plt.gcf()
    figure.set_size_inches(12, 3.6)
    panels = figure.subplots(1, 3)
    x, y = nodes[plate.cells[:, 4]].T.reshape(2, *[n // 2 for n in plate.shape])
    area = plate.strains(np.zeros(nodes.size), nodes, plate.inside)[1] @ plate.weights
    shown = {"von Mises stress": stress[:, 4], "change with stiffness": by_stiffness / area}
    for axes, (title, values), colours in zip(panels, shown.items(), ("viridis", "RdBu_r"), strict=False):
        most = np.quantile(np.abs(values), 0.99)
        limits = {"vmin": most * (axes is panels[0]) - most, "vmax": most * (1 + (axes is panels[0])), "cmap": colours}
        figure.colorbar(axes.pcolormesh(x, y, values.reshape(x.shape), shading="gouraud", **limits), ax=axes)
        axes.set(title=title, xlim=(0, 3), ylim=(0, 3), aspect="equal", xlabel="x", ylabel="y")
    panels[2].plot(others, slopes, "o", label="gradient")
    b = np.linspace(0.5, 2)
    panels[2].plot(b, -2 / b**2, label="Inglis")
    panels[2].set(title="change with b (a = 1)", xlabel="half axis b")
    panels[2].legend()


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
