"""Gibbs energy surfaces of a ternary mixture: chemical potentials, stability, and the limits of mixing.

    g(x, T) = RT Σ xᵢ log xᵢ + Σ_{i<j} xᵢ xⱼ (aᵢⱼ + bᵢⱼ (xᵢ − xⱼ))     (a sub-regular solution, Redlich–Kister)

Chemical potentials are first derivatives of g, the entropy is the one in T, and the smallest eigenvalue of the Hessian
says where the mixture is stable; where it is zero is the spinodal. Thermodynamic codes derive these by hand.

Reference: SymPy's derivatives of the same g; the identity g = Σ xᵢ μᵢ.
Reach: error 1e-12, gibbs_duhem 1e-12, seconds 20
Toy: error 1e-12, gibbs_duhem 1e-12
"""

import numpy as np
import sympy

import primad

GAS = 8.314462618
A = np.array([[0.0, 16e3, -4e3], [0.0, 0.0, 18e3], [0.0, 0.0, 0.0]])
B = np.array([[0.0, 3e3, 0.0], [0.0, 0.0, -4e3], [0.0, 0.0, 0.0]])


def amounts_energy(n, temperature):
    """Return G of amounts n: extensive, so that its derivatives are the chemical potentials."""
    total = np.sum(n)
    x = n / total
    pairs = x[:, None] * x[None, :]
    return total * (GAS * temperature * np.sum(x * np.log(x)) + np.sum(pairs * (A + B * (x[:, None] - x[None, :]))))


def energy(free, temperature):
    """Return g of the independent fractions (x₁, x₂)."""
    return amounts_energy(np.stack([free[0], free[1], 1 - free[0] - free[1]]), temperature)


@primad.jit
def properties(free, temperature):
    """Return g, its gradient and its Hessian in the fractions, the entropy and the heat capacity, at one point."""
    entropy = -primad.grad(energy, 1)(free, temperature)
    return (
        energy(free, temperature),
        primad.grad(energy)(free, temperature),
        primad.hessian(energy)(free, temperature)[...],
        entropy,
    )


def solve(toy=False):
    """Return the errors of derivatives, and the surface with its stability."""
    x, y, t = sympy.symbols("x y T", positive=True)
    g = primad.to_sympy(energy, sympy.Array([x, y]), t)
    formulas = [g.diff(x), g.diff(y), g.diff(x, 2), g.diff(x, y), g.diff(y, 2), -g.diff(t)]
    by_sympy = sympy.lambdify((x, y, t), formulas)

    fractions = np.random.default_rng(0).dirichlet([2, 2, 2], size=20)
    error = identity = 0.0
    for whole in fractions:
        value, slope, curved, entropy = properties(whole[:2], 900.0)
        found = np.array([*slope, curved[0, 0], curved[0, 1], curved[1, 1], entropy])
        known = np.array(by_sympy(*whole[:2], 900.0), float)
        error = max(error, np.max(np.abs(found - known)) / np.max(np.abs(known)))
        potentials = primad.grad(amounts_energy)(whole, 900.0)
        identity = max(identity, abs(whole @ potentials / value - 1))

    n = 40 if toy else 160
    a, b = (np.ravel(axis) for axis in np.meshgrid(*[(np.arange(n) + 0.5) / n] * 2))
    inside = a + b < 1
    points = np.stack([a[inside], b[inside]], axis=1)
    value, _, curved, _ = primad.vmap(properties, (0, None))(points, 900.0)
    stable = np.linalg.eigvalsh(curved)[:, 0]
    return {"error": error, "gibbs_duhem": identity}, (points, value, stable)


def draw(points, value, stable):
    """Draw the surface and where it is stable, over the triangle of compositions."""
    import matplotlib.pyplot as plt

    x, y = points[:, 0] + points[:, 1] / 2, points[:, 1] * np.sqrt(3) / 2
    figure = plt.figure(figsize=(11, 4.5))
    left = figure.add_subplot(121, projection="3d")
    left.plot_trisurf(x, y, value / 1e3, cmap="viridis")
    left.set(title="Gibbs energy at 900 K", zlabel="g (kJ/mol)", xticks=[], yticks=[])
    right = figure.add_subplot(122, aspect="equal")
    mesh = right.tricontourf(x, y, stable / 1e3, np.linspace(-40, 40, 17), cmap="RdBu", extend="both")
    right.tricontour(x, y, stable, [0.0], colors="black")
    right.set(title="Smallest curvature; black: the spinodal\n", xticks=[], yticks=[])
    for place, name in (((0, -0.06), "C"), ((1, -0.06), "A"), ((0.5, 0.89), "B")):
        right.text(*place, name, ha="center")
    plt.colorbar(mesh, ax=right, label="kJ/mol")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
