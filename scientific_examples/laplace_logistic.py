"""Laplace's approximation of a Bayesian logistic regression: the Hessian of the posterior is the uncertainty.

    log p(w | data) = −Σ log(1 + exp(−yᵢ w·xᵢ)) − |w|²/2 + const

The posterior is taken as the Gaussian at its maximum whose precision is the Hessian there. Both derivatives are those
of the line above.

Reference: the Hessian XᵀSX + 1 by hand; the evidence by quadrature on a grid, from which Laplace's differs a little.
Reach: error 1e-12, evidence_difference 0.05, seconds 5
Toy: error 1e-12, evidence_difference 0.05
"""

import numpy as np
import scipy.special

import primad
from primad import nn, optimize


def negative_log_posterior(w, x, y):
    """Return −log p(w | data), up to a constant."""
    return np.sum(nn.softplus(-y * (x @ w))) + np.sum(w**2) / 2


def solve(toy=False, seed=0):
    """Return the error of the Hessian, how far Laplace's evidence is from quadrature's, and what to draw."""
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], 60)
    x = np.column_stack([rng.normal(size=(120, 2)) + 0.7 * y[:, None] * [1.0, 0.6], np.ones(120)])
    found = optimize.minimize(negative_log_posterior, np.zeros(3), args=(x, y), method="trust-exact")
    w = found.x
    precision = np.asarray(primad.hessian(negative_log_posterior)(w, x, y))

    p = scipy.special.expit(x @ w)
    by_hand = (x.T * (p * (1 - p))) @ x + np.eye(3)
    laplace = -found.fun - np.linalg.slogdet(precision)[1] / 2

    # The integral of the posterior over 6 standard deviations, in the coordinates in which it is round.
    n = 17 if toy else 33
    grid = np.stack(np.meshgrid(*[np.linspace(-6, 6, n)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    root = np.linalg.inv(np.linalg.cholesky(precision))
    logs = -primad.jit(primad.vmap(negative_log_posterior, (0, None, None)))(w + grid @ root, x, y)
    cell = (12 / (n - 1)) ** 3 * np.linalg.det(root) / (2 * np.pi) ** 1.5
    figures = {
        "error": np.max(np.abs(precision - by_hand)) / np.max(np.abs(by_hand)),
        "evidence_difference": abs(laplace - scipy.special.logsumexp(logs) - np.log(cell)),
    }
    return figures, (x, y, w, np.linalg.inv(precision))


def draw(x, y, w, covariance):
    """Draw the data and the probability with the uncertainty of the weights taken in."""
    import matplotlib.pyplot as plt

    a, b = np.meshgrid(np.linspace(-4, 4, 200), np.linspace(-4, 4, 200))
    points = np.stack([a, b, np.ones_like(a)], axis=-1)
    variance = np.einsum("...i,ij,...j", points, covariance, points)
    plain = scipy.special.expit(points @ w)
    averaged = scipy.special.expit(points @ w / np.sqrt(1 + np.pi * variance / 8))
    _, panels = plt.subplots(1, 2, figsize=(10, 4.4))
    for axes, p, title in ((panels[0], plain, "At the maximum"), (panels[1], averaged, "Averaged over the posterior")):
        mesh = axes.contourf(a, b, p, np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.8)
        axes.scatter(*x[:, :2].T, c=y, cmap="RdBu_r", edgecolor="black", linewidth=0.5, s=18)
        axes.set(title=title, xlabel="x₁", ylabel="x₂", aspect="equal")
    plt.colorbar(mesh, ax=panels, label="probability of the second class")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
