"""The stiffest cantilever of half the material: 80 × 25 finite elements, with a sparse solve inside of the function.

    minimise fᵀ u(ρ),   K(ρ) u = f,   K(ρ) = Σ (10⁻⁹ + ρ̃ₑ³) Kₑ,   mean ρ̃ ≤ 1/2

Each element has a density ρ; neighbours' densities are averaged (ρ̃), so that the shape has no chequers. The stiffness
matrix has a value in each place of each element, as `primad.scipy.sparse.coo_array` adds them up, and
`primad.scipy.sparse.linalg.spsolve` solves the system: the gradient by 2000 densities takes the same factors once more.
Densities are moved by the optimality criterion (Bendsøe 1995; Andreassen et al., Struct. Multidisc. Optim. 43 (2011)).

Reference: the textbook's adjoint, −3 ρ̃² uₑᵀ Kₑ uₑ by the averages' matrix; differences in a random direction.
Reach: adjoint 1e-10, difference 1e-6, left 0.21, seconds 60
Toy: adjoint 1e-10, difference 1e-6, left 0.33
"""

import numpy as np
from scipy.sparse import csr_array

import primad
from primad.scipy import sparse

SOFT, POWER, SHARE, RADIUS = 1e-9, 3, 0.5, 1.5


def element(poisson=0.3):
    """Return the stiffness of a square of four nodes in plane stress."""
    a = np.array([[12, 3, -6, -3], [3, 12, 3, 0], [-6, 3, 12, -3], [-3, 0, -3, 12]])
    b = np.array([[-6, -3, 0, 3], [-3, -6, -3, -6], [0, -3, -6, 3], [3, -6, 3, -6]])
    c = np.array([[-4, 3, -2, 9], [3, -4, -9, 4], [-2, -9, -4, -3], [9, 4, -3, -4]])
    d = np.array([[2, -3, 4, -9], [-3, 2, 9, -2], [4, 9, 2, 3], [-9, -2, 3, 2]])
    return (np.block([[a, b], [b.T, a]]) + poisson * np.block([[c, d], [d.T, c]])) / (24 * (1 - poisson**2))


def mesh(width, height):
    """Return the numbers of unknowns of each element, those that are free, and the load at the middle of the end."""
    corner = (np.arange(width)[:, None] * (height + 1) + np.arange(height)).ravel()
    nodes = corner[:, None] + np.array([1, height + 2, height + 1, 0])
    unknowns = (2 * nodes[:, :, None] + [0, 1]).reshape(-1, 8)
    load = np.zeros(2 * (width + 1) * (height + 1))
    load[2 * width * (height + 1) + height // 2 * 2 + 1] = -1.0
    return unknowns, np.arange(2 * (height + 1), len(load)), load


def averages(width, height):
    """Return the matrix that takes the densities to means over neighbours, with weights that fall linearly."""
    x, y = (z.ravel() for z in np.meshgrid(np.arange(width), np.arange(height), indexing="ij"))
    weights = np.maximum(0, RADIUS - np.hypot(x[:, None] - x, y[:, None] - y))
    return csr_array(weights / weights.sum(axis=1, keepdims=True))


def cantilever(width, height):
    """Return the functions of averaged densities to displacements, and of densities to the work of the load."""
    unknowns, free, load = mesh(width, height)
    number = np.full(len(load), -1)
    number[free] = np.arange(len(free))
    rows, columns = np.repeat(number[unknowns], 8, axis=1).ravel(), np.tile(number[unknowns], 8).ravel()
    kept = np.flatnonzero((rows >= 0) & (columns >= 0))
    mean = averages(width, height)

    def displacements(rho):
        values = ((SOFT + rho**POWER)[:, None] * element().ravel()).ravel()[kept]
        K = sparse.coo_array((values, (rows[kept], columns[kept])), shape=(len(free), len(free)))
        return sparse.linalg.spsolve(K.tocsc(), load[free])

    def compliance(rho):
        return load[free] @ displacements(mean @ rho)

    def adjoint(rho):
        """Return the gradient of the compliance as textbooks have it."""
        u = np.zeros(len(load))
        u[free] = displacements(mean @ rho)
        energy = np.einsum("ei,ij,ej->e", u[unknowns], element(), u[unknowns])
        return mean.T @ (-POWER * (mean @ rho) ** (POWER - 1) * energy)

    return compliance, adjoint, mean


def moved(rho, slope, volume, mean):
    """Return densities by the optimality criterion, with the multiplier at which they are the share of the whole."""
    low, high = 1e-9, 1e9
    while high > low * (1 + 1e-6):
        middle = np.sqrt(low * high)
        wanted = rho * np.sqrt(np.maximum(0, -slope / volume / middle))
        found = np.clip(np.clip(wanted, rho - 0.2, rho + 0.2), 0, 1)
        low, high = (middle, high) if np.mean(mean @ found) > SHARE else (low, middle)
    return found


def solve(toy=False):
    """Return errors of the gradient, the work that is left of what equal densities have, and what to draw."""
    width, height = (24, 8) if toy else (80, 25)
    compliance, adjoint, mean = cantilever(width, height)
    both = primad.jit(primad.value_and_grad(compliance))
    rho, volume, works, shapes = np.full(width * height, SHARE), mean.T @ np.ones(width * height), [], []
    for _ in range(20 if toy else 80):
        work, slope = both(rho)
        works.append(work)
        shapes.append((mean @ rho).reshape(width, height))
        rho = moved(rho, slope, volume, mean)
    rng = np.random.default_rng(0)
    rho, along = rng.uniform(0.3, 0.7, rho.size), rng.normal(size=rho.size)
    slope = both(rho)[1]
    off = np.max(np.abs(slope - adjoint(rho))) / np.max(np.abs(slope))
    difference = (both(rho + 1e-5 * along)[0] - both(rho - 1e-5 * along)[0]) / 2e-5
    figures = {"adjoint": off, "difference": abs(difference / (slope @ along) - 1), "left": works[-1] / works[0]}
    return figures, (shapes, works)


def draw(shapes, works):
    """Draw the shape on the way and at the end, and the work of the load."""
    import matplotlib.pyplot as plt

    figure = plt.gcf()
    figure.set_size_inches(9, 4)
    panels = figure.subplots(2, 2).ravel()
    for axes, number in zip(panels, (len(shapes) - 1, 2, 10), strict=False):
        axes.imshow(shapes[number].T, cmap="gray_r", vmin=0, vmax=1)
        axes.set(title=f"after {number + 1} solutions", xticks=[], yticks=[])
    panels[3].plot(works)
    panels[3].set(title="work of the load", xlabel="solutions", ylim=(0, None))


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
