"""Large problems give SciPy's solvers sparse Jacobians, found from the function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import threadpoolctl
from scipy import integrate, optimize, sparse

import primad
from primad import optimize as ours
from primad.optimize.scipy_solvers import scipy_integration
from primad.system import machine

N = 12


def brusselator(t: Any, u: Any, a: float = 3.4, diffusion: float = 0.1) -> Any:
    """Two substances that react, and diffuse on a periodic grid."""
    x, y = u.reshape(2, N, N)

    def spread(z: Any) -> Any:
        near = np.roll(z, 1, 0) + np.roll(z, -1, 0) + np.roll(z, 1, 1) + np.roll(z, -1, 1)
        return diffusion * N * N * (near - 4 * z)

    reaction = x * x * y
    return np.stack([1 + reaction - (a + 1) * x + spread(x), a * x - reaction + spread(y)]).ravel()


def start() -> Any:
    points = np.arange(N) / N
    x = 22 * np.tile(points * (1 - points) ** 1.5, (N, 1))
    return np.concatenate([x.ravel(), 27 * x.T.ravel() / 22])


@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_stiff_systems_get_a_sparse_jacobian(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    theirs = integrate.solve_ivp

    def watched(slope: Any, *args: Any, **given: Any) -> Any:
        seen.append(given["jac"](0.0, start()))
        return theirs(slope, *args, **given)

    monkeypatch.setattr(integrate, "solve_ivp", watched)
    found = ours.solve_ivp(brusselator, (0.0, 0.05), start(), method=method, rtol=1e-6)
    (J,) = seen
    assert sparse.issparse(J) and J.nnz == 2 * N * N * 6
    np.testing.assert_allclose(J.toarray(), primad.jacobian(brusselator, 1)(0.0, start())[:, :], atol=1e-12)
    plain = theirs(lambda t, u: brusselator(t, u), (0.0, 0.05), start(), method=method, rtol=1e-6)
    np.testing.assert_allclose(found.y[:, -1], plain.y[:, -1], rtol=1e-4)


class Derived(integrate.BDF):
    """A class of a user's."""


@pytest.mark.parametrize("method", ["BDF", "Radau", integrate.BDF, Derived])
def test_matrices_of_stiff_systems_are_ordered(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps are those of the method itself; a class of a user's gets the Jacobian, and factors as it likes."""
    counted = []
    kept = scipy_integration.sparse_factors
    monkeypatch.setattr(scipy_integration, "sparse_factors", lambda A: counted.append(A.shape) or kept(A))
    jacobian = primad.jit(lambda t, u: primad.jacobian(brusselator, 1)(t, u).sparse("csc"))
    with np.errstate(invalid="ignore", over="ignore"):  # SciPy's BDF subtracts differences that nothing has set yet
        found = ours.solve_ivp(brusselator, (0.0, 0.05), start(), method)
        plain = integrate.solve_ivp(brusselator, (0.0, 0.05), start(), method, jac=jacobian)
    assert (found.nfev, found.njev, found.nlu) == (plain.nfev, plain.njev, plain.nlu)
    np.testing.assert_allclose(found.y, plain.y, rtol=1e-9)
    assert len(counted) == (0 if method is Derived else found.nlu)


@pytest.mark.parametrize("method", ["BDF", "Radau"])
def test_steps_with_sparse_matrices_keep_blas_on_one_thread(method: str) -> None:
    """Each dot product of a long state would leave threads that wait for the next one, and take processor time."""
    libraries, seen = machine.blas().lib_controllers, []

    def watched(t: Any, u: Any) -> Any:
        if t > 0:
            seen.append([library.num_threads for library in libraries])
        return brusselator(t, u)

    with threadpoolctl.threadpool_limits(2, "blas"):
        ours.solve_ivp(watched, (0.0, 0.01), start(), method, first_step=1e-3, compiled=False)
        assert seen and all(count == 1 for counts in seen for count in counts)
        assert all(library.num_threads == 2 for library in libraries)


def test_constraints_of_many_parameters_are_sparse() -> None:
    """A chain of given length hangs least where its links all have their length."""
    n = 101
    along = np.linspace(0, 1, n)
    start = np.concatenate([along, -0.2 * np.sin(np.pi * along)])

    def links(p: Any) -> Any:
        x, y = p.reshape(2, n)
        return np.concatenate([np.diff(x) ** 2 + np.diff(y) ** 2, np.stack([x[0], y[0], x[-1] - 1, y[-1]])])

    lengths = np.concatenate([np.full(n - 1, (1.2 / (n - 1)) ** 2), np.zeros(4)])
    kinds: list[Any] = []

    def height(p: Any) -> Any:
        return np.mean(p[n:])

    found = ours.minimize(
        height, start, method="trust-constr", constraints=optimize.NonlinearConstraint(links, lengths, lengths),
        options={"maxiter": 15}, callback=lambda x, state: kinds.append(state.jac[0]),
    )  # fmt: skip
    assert kinds and all(sparse.issparse(J) and J.nnz <= 4 * n for J in kinds)
    assert found.constr_violation < 1e-4 and found.fun < height(start)


def test_declared_zeros_are_checked() -> None:
    def differences(x: Any) -> Any:
        return np.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])

    x0 = np.full(300, 0.5)
    pattern = primad.jacobian(differences)(x0).pattern()
    found = ours.least_squares(differences, x0, jac_sparsity=pattern)
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)
    dense = ours.least_squares(differences, x0, jac_sparsity=np.ones(pattern.shape))
    np.testing.assert_allclose(dense.x, found.x, rtol=1e-6)
    missing = pattern.toarray()
    missing[3, 4] = False
    with pytest.raises(primad.ShapeError, match="derivative of residual 3 in parameter 4 is 10"):
        ours.least_squares(differences, x0, jac_sparsity=missing)
