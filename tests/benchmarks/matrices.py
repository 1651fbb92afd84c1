"""Matrices: determinants, systems, spectra, a Gaussian process and a mixture, written once for arrays of any system.

Each is a function of the system's module of functions under NumPy's names that returns the function to differentiate.
"""


def logdet(np):
    return lambda a: np.sum(np.linalg.slogdet(a)[1])


def solve(np):
    return lambda a, b: np.sum(np.linalg.solve(a, b) ** 2)


def eigh(np):
    """A function of the vectors that does not depend on their signs, and of the values.

    Both triangles are read: where one is, some systems give the other the half of the derivative.
    """

    def loss(a, weights):
        values, vectors = np.linalg.eigh((a + np.swapaxes(a, -1, -2)) / 2.0)
        return np.sum(np.sin(values)) + np.sum(weights * vectors**2)

    return loss


def svd(np):
    def loss(a, weights):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(np.sin(s)) + np.sum(weights * u * np.swapaxes(vh, -1, -2))

    return loss


def by_elimination(np):
    """Return a function to (yᵀ a⁻¹ y, log det a)."""
    return lambda a, y: (y @ np.linalg.solve(a, y), np.linalg.slogdet(a)[1])


def by_cholesky(np, solve_triangular):
    """Return the same by Cholesky's factors."""

    def of(a, y):
        factor = np.linalg.cholesky(a)
        return np.sum(solve_triangular(factor, y) ** 2), 2.0 * np.sum(np.log(np.diagonal(factor)))

    return of


def evidence(np, fit_and_logdet=None):
    """The evidence of a Gaussian process in the logarithms of its amplitude, length and noise."""
    fit_and_logdet = fit_and_logdet or by_elimination(np)

    def loss(params, distances, one, y):
        amplitude, length, noise = np.exp(params[0]), np.exp(params[1]), np.exp(params[2])
        covariance = amplitude * np.exp(-0.5 * distances / length**2) + noise * one
        fit, logdet = fit_and_logdet(covariance, y)
        return -0.5 * (fit + logdet)

    return loss


def mixture(np):
    """The likelihood of a mixture of Gaussian densities, whose inverse covariances have triangular factors."""

    def loss(weights, means, factors, x):
        apart = np.swapaxes(x[:, None, :] - means, 0, 1)
        distances = np.sum((apart @ factors) ** 2, 2)
        logs = np.sum(np.log(np.abs(np.diagonal(factors, 0, 1, 2))), 1) + weights
        terms = logs[:, None] - 0.5 * distances
        largest = np.max(terms, 0)
        total = np.log(np.sum(np.exp(weights)))
        return np.sum(np.log(np.sum(np.exp(terms - largest), 0)) + largest - total)

    return loss


OF_MATRICES = {"logdet": logdet, "solve": solve, "eigh": eigh, "svd": svd, "evidence": evidence, "mixture": mixture}
MOVING = {"logdet": (0,), "solve": (0, 1), "eigh": (0,), "svd": (0,), "mixture": (0, 1, 2)}
"""The arguments that gradients are taken in; of the evidence it is the Hessian in the first."""
