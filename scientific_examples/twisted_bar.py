"""A bar of a square section that is twisted, in three dimensions: an elastic solid on tetrahedra.

    ∇·σ = 0,   σ = λ (∇·u) 1 + μ (∇u + ∇uᵀ);   σ n = 0 on the sides,
    u = −θ y z, v = θ x z at both ends of the piece, σ_zz = 0 there

Sections warp, and shear is largest in the middle of the sides and none at the edges. The bar is cut at its planes of
symmetry: on each of these two displacements are given, and one traction. The twisting moment is differentiated by the
shear modulus, to which it is proportional.

Reference: the moment 0.140577 μ θ a⁴ of a bar of width a, and its largest shear, 0.675314 μ θ a (A. Saint-Venant;
S. Timoshenko & J. Goodier, Theory of Elasticity, §109).
Reach: error_moment 0.001, error_shear 0.01, error_slope 1e-4, seconds 120
Toy: error_moment 0.001, error_shear 0.02, error_slope 1e-3
"""

import numpy as np

import primad
from primad import pde

FIRST, SECOND, TWIST = 1.2, 0.8, 0.1
"""Lamé's constants, of which the second is the shear modulus, and the angle for a unit of length."""
MOMENT, SHEAR = 0.140577, 0.675314
WIDTH, LENGTH = 0.5, 0.25  # of the quarter, and of the piece along the bar


def balance(u, v, w, mu):
    """Return ∇·σ: μ Δu + (λ + μ) ∇(∇·u)."""
    both = FIRST + mu
    return (
        mu * pde.laplacian(u) + both * (u.xx + v.d("xy") + w.d("xz")),
        mu * pde.laplacian(v) + both * (u.d("xy") + v.yy + w.d("yz")),
        mu * pde.laplacian(w) + both * (u.d("xz") + v.d("yz") + w.zz),
    )


def traction(u, v, w, n, mu):
    """Return σ n."""
    swelling = FIRST * (u.x + v.y + w.z)
    xy, xz, yz = mu * (u.y + v.x), mu * (u.z + w.x), mu * (v.z + w.y)
    return (
        (swelling + 2 * mu * u.x) * n.x + xy * n.y + xz * n.z,
        xy * n.x + (swelling + 2 * mu * v.y) * n.y + yz * n.z,
        xz * n.x + yz * n.y + (swelling + 2 * mu * w.z) * n.z,
    )


def bar():
    """Return the problem."""
    free = [lambda u, v, w, n, mu, axis=axis: traction(u, v, w, n, mu)[axis] for axis in range(3)]
    return pde.Problem(
        balance,
        pde.Box(x=(0, WIDTH), y=(0, WIDTH), z=(0, LENGTH)),
        [
            pde.Dirichlet(u=lambda y, z: -TWIST * y * z, v=lambda x, z: TWIST * x * z, on=["z-", "z+"], hard=False),
            pde.Condition(free[2], on=["z-", "z+"]),
            pde.Dirichlet(v=0, w=0, on="x-", hard=False),
            pde.Condition(free[0], on="x-"),
            pde.Dirichlet(u=0, w=0, on="y-", hard=False),
            pde.Condition(free[1], on="y-"),
            pde.Condition(traction, on=["x+", "y+"]),
        ],
        unknowns="u v w",
        constants={"mu": SECOND},
    )


def solve(toy=False):
    """Return the errors, and what to draw."""
    elements = pde.Elements(bar(), size=WIDTH / (4 if toy else 6), degree=2)
    steps, shares = np.polynomial.legendre.leggauss(24)
    line, shares = WIDTH / 2 * (steps + 1), WIDTH / 2 * shares
    x, y = (each.ravel() for each in np.meshgrid(line, line, indexing="ij"))
    at = np.stack([x, y, np.full(x.size, LENGTH / 2)], axis=1)
    slopes = {name: elements.interpolation(at, name[1], name[0]) for name in ("uz", "vz", "wx", "wy")}
    weights = np.outer(shares, shares).ravel()

    def moment(mu):
        found = elements.values(mu=mu)
        xz, yz = (
            mu * (slopes[one] @ found[one[0]] + slopes[two] @ found["w"]) for one, two in (("uz", "wx"), ("vz", "wy"))
        )
        return 4 * (weights @ (x * yz - y * xz))

    value, slope = primad.value_and_grad(moment)(SECOND)
    solution = elements.solve()
    side = WIDTH, 1e-9, LENGTH / 2
    largest = SECOND * (solution.v.d("z")(*side) + solution.w.d("y")(*side))
    figures = {
        "error_moment": abs(value / (SECOND * TWIST * MOMENT) - 1),
        "error_shear": abs(largest / (SECOND * TWIST * SHEAR) - 1),
        "error_slope": abs(slope * SECOND / value - 1),
    }
    return figures, (solution,)


def draw(solution):
    """Draw how the section warps, and the shear in it, of the whole bar."""
    import matplotlib.pyplot as plt

    line = np.linspace(-WIDTH, WIDTH, 81)
    x, y = np.meshgrid(line, line, indexing="ij")
    at = np.abs(x), np.abs(y), LENGTH / 2
    warping = solution.w(*at) * np.sign(x) * np.sign(y)
    xz, yz = (solution.u.d("z")(*at) + solution.w.d("x")(*at), solution.v.d("z")(*at) + solution.w.d("y")(*at))
    figure = plt.gcf()
    figure.set_size_inches(9, 4)
    left, right = figure.subplots(1, 2)
    shown = left.contourf(x, y, warping / TWIST, 20, cmap="RdBu_r")
    figure.colorbar(shown, ax=left, label="w / θ")
    shown = right.contourf(x, y, np.hypot(xz, yz) / TWIST, 20, cmap="viridis")
    figure.colorbar(shown, ax=right, label="shear / (μ θ)")
    arrows = [each[4::8, 4::8] for each in (x, y, xz * np.sign(y), yz * np.sign(x))]
    right.quiver(*arrows, color="white", width=0.005)
    for axes, title in ((left, "how the section warps"), (right, "shear")):
        axes.set(title=title, aspect="equal", xlabel="x", ylabel="y")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
