"""Problems on manifolds of pymanopt, which asks autograd for gradients and Hessians: real, complex, of products."""

import autograd.numpy as np
import numpy
import pymanopt
from pymanopt import manifolds, optimizers


def _derivatives(manifold, function, solve=True, hessian=True):
    """Return value, gradient and Hessian product at a point, and what two optimisers reach from there."""
    numpy.random.seed(0)
    cost = pymanopt.function.autograd(manifold)(function)
    problem = pymanopt.Problem(manifold, cost)
    point = manifold.random_point()
    vector = manifold.random_tangent_vector(point)
    found = [
        problem.cost(point),
        _arrays(problem.euclidean_gradient(point)),
        _arrays(problem.riemannian_gradient(point)),
    ]
    if hessian:
        found.append(_arrays(problem.euclidean_hessian(point, vector)))
    if solve:
        for optimizer in optimizers.ConjugateGradient, optimizers.TrustRegions:
            numpy.random.seed(1)
            result = optimizer(verbosity=0, max_iterations=40).run(problem, initial_point=point)
            found.append(result.cost)
    return found


def _arrays(found):
    return [numpy.array(each) for each in found] if isinstance(found, (list, tuple)) else numpy.array(found)


def _matrix(*shape, complex=False):
    rng = numpy.random.default_rng(len(shape) + sum(shape))
    real = rng.normal(size=shape)
    return real + 1j * rng.normal(size=shape) if complex else real


def _symmetric(n):
    a = _matrix(n, n)
    return a + a.T


def eigenvector_on_a_sphere():
    a = _symmetric(24)
    return _derivatives(manifolds.Sphere(24), lambda x: -x.T @ a @ x)


def subspace_by_a_stiefel_manifold():
    a = _symmetric(16)
    return _derivatives(manifolds.Stiefel(16, 3), lambda X: -np.trace(X.T @ a @ X))


def subspace_by_a_grassmannian():
    a = _symmetric(16)
    return _derivatives(manifolds.Grassmann(16, 3), lambda X: -np.trace(X.T @ a @ X))


def complex_subspace():
    a = _matrix(12, 12, complex=True)
    a = a + a.conj().T
    return _derivatives(manifolds.ComplexGrassmann(12, 2), lambda X: -np.real(np.trace(np.conj(X.T) @ a @ X)))


def complex_numbers_on_circles():
    a = _matrix(7, 7, complex=True)
    a = a + a.conj().T
    return _derivatives(manifolds.ComplexCircle(7), lambda z: np.real(np.conj(z) @ a @ z))


def unitary_matrices():
    a = _matrix(4, 4, complex=True)
    return _derivatives(manifolds.UnitaryGroup(4), lambda U: np.sum(np.abs(U - a) ** 2))


def rotations():
    a, b = _matrix(3, 4, 6), _matrix(3, 4, 6) * 0.5
    ab = numpy.array([p @ q.T for p, q in zip(a, b, strict=True)])
    return _derivatives(manifolds.SpecialOrthogonalGroup(4, k=3), lambda X: -np.tensordot(X, ab, axes=X.ndim))


def matrix_of_low_rank():
    a = _matrix(6, 5)
    return _derivatives(
        manifolds.FixedRankEmbedded(6, 5, 2),
        lambda u, s, vt: np.linalg.norm(u @ np.diag(s) @ vt - a) ** 2,
        solve=False,
        hessian=False,  # its tangents are no tangents of the arguments
    )


def positive_semidefinite_of_low_rank():
    a = _symmetric(8)
    return _derivatives(manifolds.PSDFixedRank(8, 2), lambda Y: np.linalg.norm(Y @ Y.T - a, "fro") ** 2)


def columns_of_norm_one():
    a = _matrix(6, 4)
    return _derivatives(manifolds.Oblique(6, 4), lambda X: 0.5 * np.sum((X - a) ** 2))


def correlation_of_low_rank():
    a = _symmetric(6)
    return _derivatives(manifolds.Oblique(2, 6), lambda X: 0.25 * np.linalg.norm(X.T @ X - a) ** 2)


def points_far_apart_on_a_sphere():
    def cost(X):
        Y = X @ X.T
        top = np.triu(Y, 1).max()
        spread = np.exp((Y - top) / 0.1)
        spread -= np.diag(np.diag(spread))
        return top + 0.1 * np.log(np.triu(spread, 1).sum())

    return _derivatives(manifolds.Elliptope(9, 3), cost, solve=False)


def principal_components():
    x = _matrix(40, 5)
    return _derivatives(manifolds.Stiefel(5, 2), lambda w: np.linalg.norm(x - x @ w @ w.T) ** 2)


def positive_definite_mean():
    samples = [a @ a.T + numpy.eye(3) for a in _matrix(4, 3, 3)]

    def cost(X):
        return sum(np.log(np.linalg.det(X)) + np.trace(np.linalg.solve(X, s)) for s in samples)

    return _derivatives(manifolds.SymmetricPositiveDefinite(3), cost)


def a_product_of_manifolds():
    a = _matrix(5, 4)
    manifold = manifolds.Product([manifolds.Sphere(5), manifolds.Euclidean(4), manifolds.Positive(1, 1)])
    return _derivatives(manifold, lambda u, v, s: np.sum((a - s * np.outer(u, v)) ** 2) + np.sum(s))
