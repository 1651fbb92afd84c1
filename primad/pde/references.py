"""Reference solutions that no network takes part in: by quadrature, spectral methods and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import ShapeError

Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["burgers", "evolved", "masked_laplacian", "periodic", "ring_laplacian"]


def burgers(x: Array, t: Array, nu: float, nodes: int = 100) -> Array:
    """Return the solution of u_t + u u_x = ν u_xx that is −sin πx at t = 0, of period 2.

    With f(y) = exp(−cos(πy) / 2πν) and η = 2√(νt) z,
    u(x, t) = −∫ sin π(x − η) f(x − η) exp(−z²) dz / ∫ f(x − η) exp(−z²) dz,
    by the Cole-Hopf transformation and Gauss-Hermite quadrature (C. Basdevant et al., Spectral and finite difference
    solutions of the Burgers equation, Computers & Fluids 14 (1986) 23-41).

    Args:
        x: positions.
        t: times, of the same shape.
        nu: the viscosity; below 0.002 the quadrature needs more nodes.
        nodes: of the quadrature.
    """
    z, weights = np.polynomial.hermite.hermgauss(nodes)
    x, t = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(t, np.float64))
    y = x[..., None] - 2 * np.sqrt(nu * t[..., None]) * z
    log_f = -np.cos(np.pi * y) / (2 * np.pi * nu)
    # f spans many decades: its exponents are shifted by their maximum, which cancels in the quotient.
    f = weights * np.exp(log_f - log_f.max(axis=-1, keepdims=True))
    return np.asarray(-(f * np.sin(np.pi * y)).sum(axis=-1) / f.sum(axis=-1))


def periodic(
    start: Array,
    length: float,
    times: Array,
    linear: Callable[[Array], Array],
    nonlinear: Callable[[Array], Any],
    outer: Callable[[Array], Array] = np.ones_like,
    step: float = 1e-3,
) -> Array:
    """Return the solution of û_t = L(k) û + M(k) F[N(u)] on a periodic interval, at given times.

    It is the spectral method with exponential time differencing of fourth order (S. Cox & P. Matthews, J. Comput. Phys.
    176 (2002) 430), whose coefficients are means over a circle (A.-K. Kassam & L. Trefethen, SIAM J. Sci. Comput. 26
    (2005) 1214). The upper third of the wave numbers of N(u) is left out.

    Args:
        start: u at time 0 at equidistant points; real or complex; of a system an array with the shape (unknowns,
            points), and then L and N return such arrays.
        length: of the interval.
        times: when the solution is wanted, increasing, from 0 on.
        linear: L of the wave numbers.
        nonlinear: N of u at the points.
        outer: M of the wave numbers, by default 1.
        step: of time, at most.

    Returns:
        an array with the shape (points, times), or (unknowns, points, times).

    Raises:
        ShapeError: if the times do not increase from 0 on.

    Example:
        >>> import numpy as np
        >>> x = np.linspace(0, 2 * np.pi, 32, endpoint=False)
        >>> heat = periodic(np.sin(x), 2 * np.pi, np.array([0.0, 1.0]), lambda k: -(k**2), lambda u: 0 * u)
        >>> np.allclose(heat[:, 1], np.exp(-1) * np.sin(x))
        True
    """
    times = np.asarray(times, np.float64)
    if times.ndim != 1 or np.any(np.diff(times) <= 0) or (times.size and times[0] < 0):
        raise ShapeError("the times of a solution must increase, from 0 on")
    count = np.shape(start)[-1]
    k = 2 * np.pi / length * np.fft.fftfreq(count, 1 / count)
    rate, factor = np.asarray(linear(k), complex), np.asarray(outer(k), complex)
    kept = np.abs(np.fft.fftfreq(count)) < 1 / 3
    real = not np.iscomplexobj(start)

    def bent(v: Array) -> Array:
        u = np.fft.ifft(v)
        return np.asarray(kept * factor * np.fft.fft(nonlinear(u.real if real else u)))

    found, v, now = [], np.fft.fft(start), 0.0
    made: dict[float, tuple[Array, ...]] = {}
    for end in times:
        steps = int(np.ceil((end - now) / step - 1e-9))
        h = (end - now) / steps if steps else 0.0
        key = round(h, 12)
        if key not in made:
            made = {key: _coefficients(rate, h)}
        for _ in range(steps):
            v = _stepped(v, bent, made[key])
        now = end
        u = np.fft.ifft(v)
        found.append(u.real if real else u)
    return np.stack(found, axis=-1)


def _coefficients(rate: Array, h: float) -> tuple[Array, ...]:
    """Return exp(hL), exp(hL/2) and the four weights of a step."""
    circle = np.exp(2j * np.pi * (np.arange(64) + 0.5) / 64)
    z = h * rate[..., None] + circle
    half = h * np.mean((np.exp(z / 2) - 1) / z, axis=-1)
    first = h * np.mean((-4 - z + np.exp(z) * (4 - 3 * z + z**2)) / z**3, axis=-1)
    middle = h * np.mean((2 + z + np.exp(z) * (z - 2)) / z**3, axis=-1)
    last = h * np.mean((-4 - 3 * z - z**2 + np.exp(z) * (4 - z)) / z**3, axis=-1)
    return np.exp(h * rate), np.exp(h * rate / 2), half, first, middle, last


def _stepped(v: Array, bent: Callable[[Array], Array], coefficients: tuple[Array, ...]) -> Array:
    """Return the solution a step later."""
    whole, half, weight, first, middle, last = coefficients
    n = bent(v)
    a = half * v + weight * n
    n_a = bent(a)
    b = half * v + weight * n_a
    n_b = bent(b)
    c = half * a + weight * (2 * n_b - n)
    return np.asarray(whole * v + first * n + 2 * middle * (n_a + n_b) + last * bent(c))


def masked_laplacian(inside: Array, spacing: float) -> Any:
    """Return the matrix of the five-point Laplacian on those points of a grid that are inside; it is 0 outside.

    Args:
        inside: a mask of a grid with two axes.
        spacing: of the grid.

    Returns:
        a sparse matrix; its rows are the points inside, in the order of `values[inside]`.
    """
    from scipy import sparse  # loads when it is called

    n, m = inside.shape
    lines = [sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(k, k)) for k in (n, m)]
    whole = sparse.kron(lines[0], sparse.eye(m)) + sparse.kron(sparse.eye(n), lines[1])
    kept = np.flatnonzero(inside)
    return (whole.tocsr()[kept][:, kept] / spacing**2).tocsr()


def ring_laplacian(inner: float, outer: float, across: int, around: int) -> tuple[Array, Array, Any]:
    """Return polar coordinates of points in a ring, and the matrix of the Laplacian there; it is 0 on the circles.

    Args:
        inner: radius of the inner circle.
        outer: radius of the outer one.
        across: points between them.
        around: points around.

    Returns:
        radii, angles, and a sparse matrix for values in the order of both.
    """
    from scipy import sparse  # loads when it is called

    h = (outer - inner) / (across + 1)
    r = inner + h * np.arange(1, across + 1)
    radial = sparse.diags([(1 - h / (2 * r[1:])), np.full(across, -2.0), 1 + h / (2 * r[:-1])], [-1, 0, 1]) / h**2
    k = 2 * np.pi / around
    turning = (
        sparse.diags([1.0, 1.0, -2.0, 1.0, 1.0], [1 - around, -1, 0, 1, around - 1], shape=(around, around)) / k**2
    )
    matrix = sparse.kron(radial, sparse.eye(around)) + sparse.kron(sparse.diags(1 / r**2), turning)
    radii, angles = np.meshgrid(r, k * np.arange(around), indexing="ij")
    return radii.ravel(), angles.ravel(), matrix.tocsr()


def evolved(laplacian: Any, start: Array, times: Array, wave: bool = False) -> Array:
    """Return the solution of u_t = L u, or of u_tt = L u from rest, at equidistant times from 0 on.

    Args:
        laplacian: the sparse matrix L.
        start: the values at time 0.
        times: 0, τ, 2τ, …
        wave: whether it is the wave equation.

    Returns:
        an array with the shape (points, times).
    """
    from scipy import sparse  # loads when it is called
    from scipy.sparse.linalg import expm_multiply

    count = len(start)
    matrix, first = laplacian, np.asarray(start, np.float64)
    if wave:
        matrix = sparse.block_array([[None, sparse.eye(count)], [laplacian, None]]).tocsr()
        first = np.concatenate([first, np.zeros(count)])
    found = expm_multiply(
        matrix, first, start=times[0], stop=times[-1], num=len(times), endpoint=True, traceA=matrix.trace()
    )
    return np.asarray(found[:, :count].T)
