"""Reference solutions that no network takes part in: by quadrature, spectral methods and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primad.errors import ProblemError, ShapeError

Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "burgers",
    "evolved",
    "harmonic",
    "masked_laplacian",
    "periodic",
    "riemann",
    "ring_laplacian",
    "square_laplacian",
]


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
    linear: Callable[..., Array],
    nonlinear: Callable[[Array], Any],
    outer: Callable[..., Array] | None = None,
    step: float = 1e-3,
    dimensions: int = 1,
) -> Array:
    """Return the solution of û_t = L(k) û + M(k) F[N(u)] on a periodic interval, square or cube, at given times.

    It is the spectral method with exponential time differencing of fourth order (S. Cox & P. Matthews, J. Comput. Phys.
    176 (2002) 430), whose coefficients are means over a circle (A.-K. Kassam & L. Trefethen, SIAM J. Sci. Comput. 26
    (2005) 1214). The upper third of the wave numbers of N(u) is left out.

    Args:
        start: u at time 0 at equidistant points; real or complex; of a system an array with the shape (unknowns,
            points), and then L and N return such arrays. In the plane points are (points along x, points along y).
        length: of the interval, or of each side.
        times: when the solution is wanted, increasing, from 0 on.
        linear: L of the wave numbers; in the plane of those along x and those along y.
        nonlinear: N of u at the points.
        outer: M of the wave numbers, by default 1.
        step: of time, at most.
        dimensions: of the space.

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
    if times.ndim != 1 or not times.size or np.any(np.diff(times) <= 0) or times[0] < 0:
        raise ShapeError(
            "the times of a solution must increase, from 0 on",
            fix="pass np.linspace(0, 1, 11), say.",
        )
    axes = tuple(range(-dimensions, 0))
    shares = np.meshgrid(*(np.fft.fftfreq(count) for count in np.shape(start)[-dimensions:]), indexing="ij")
    k = [2 * np.pi / length * share * count for share, count in zip(shares, np.shape(start)[-dimensions:], strict=True)]
    rate, factor = np.asarray(linear(*k), complex), np.asarray(outer(*k) if outer else 1.0, complex)
    kept = np.all([np.abs(share) < 1 / 3 for share in shares], axis=0)
    real = not np.iscomplexobj(start)

    def values(v: Array) -> Array:
        u = np.fft.ifftn(v, axes=axes)
        return u.real if real else u

    def bent(v: Array) -> Array:
        return np.asarray(kept * factor * np.fft.fftn(nonlinear(values(v)), axes=axes))

    found, v, now = [], np.fft.fftn(start, axes=axes), 0.0
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
        found.append(values(v))
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


def square_laplacian(n: int) -> tuple[Array, Array, Array]:
    """Return Chebyshev's points inside the unit square, and the matrix of the Laplacian there; it is 0 on the boundary.

    The derivative is that of the polynomial through the points (L. Trefethen, Spectral Methods in MATLAB, 2000).

    Args:
        n: points along each side inside are n − 1.

    Returns:
        both coordinates, and a matrix for values in their order.
    """
    s = np.cos(np.pi * np.arange(n + 1) / n)
    ends = np.where(np.arange(n + 1) % n == 0, 2.0, 1.0) * (-1.0) ** np.arange(n + 1)
    first = np.outer(ends, 1 / ends) / (s[:, None] - s + np.eye(n + 1))
    first -= np.diag(first.sum(axis=1))
    second = 4 * (first @ first)[1:-1, 1:-1]  # the square is half as wide as Chebyshev's interval
    one = np.eye(n - 1)
    x, y = np.meshgrid((1 + s[1:-1]) / 2, (1 + s[1:-1]) / 2, indexing="ij")
    return x.ravel(), y.ravel(), np.kron(second, one) + np.kron(one, second)


def harmonic(at: Array, values: Array, poles: Array, degree: int) -> Callable[[Array, Array], Array]:
    """Return the solution of Laplace's equation in the plane that has given values at points of the boundary.

    It is the real part of Σ aₖ zᵏ, and for each pole p of b log(z − p) + Σ bₖ (z − p)⁻ᵏ, fitted by least squares.

    Args:
        at: points of the boundary, with the shape (points, 2).
        values: the values there.
        poles: points outside the domain with a length each, with the shape (poles, 3): the middles and radii of holes;
            mirrored at straight parts of the boundary they help as well.
        degree: the highest power k.

    Example:
        >>> import numpy as np
        >>> turn = 2 * np.pi * np.arange(32) / 32
        >>> circle = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
        >>> ring = harmonic(np.concatenate([circle, 2 * circle]), np.repeat([0.0, 1.0], 32), [(0, 0, 1)], 3)
        >>> np.allclose(ring(0.0, 1.5), np.log(1.5) / np.log(2))
        True
    """
    size, k = np.max(np.hypot(*np.transpose(at))), np.arange(1, degree + 1)

    def terms(x: Array, y: Array) -> Array:
        z = (np.asarray(x, np.float64) + 1j * np.asarray(y, np.float64))[..., None]
        away = [((z - (a + 1j * b)), radius) for a, b, radius in poles]
        powers = np.concatenate([(z / size) ** k, *((radius / w) ** k for w, radius in away)], axis=-1)
        logs = np.concatenate([z.real**0, *(np.log(np.abs(w)) for w, _ in away)], axis=-1)
        return np.concatenate([logs, powers.real, powers.imag], axis=-1)

    fitted = np.linalg.lstsq(terms(*np.transpose(at)), values, rcond=None)[0]
    return lambda x, y: np.asarray(terms(x, y) @ fitted)


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


def riemann(
    left: tuple[float, float, float], right: tuple[float, float, float], gamma: float = 1.4
) -> Callable[[Any], tuple[Any, Any, Any]]:
    """Return the exact solution of the Riemann problem of an ideal gas: of two states that meet at x = 0, t = 0.

    Two waves, fans or shocks, and a contact between them, by the root of the pressure between the waves (E. F. Toro,
    Riemann Solvers and Numerical Methods for Fluid Dynamics, 3rd edition, Springer 2009, chapter 4).

    Args:
        left: density, velocity and pressure for x < 0.
        right: those for x > 0.
        gamma: the ratio of specific heats.

    Returns:
        a function of x/t that returns density, velocity and pressure.

    Raises:
        ProblemError: if a density or pressure is not positive, or the states leave a vacuum between them.

    Example:
        >>> from primad.pde.references import riemann
        >>> sod = riemann((1.0, 0.0, 1.0), (0.125, 0.0, 0.1))
        >>> print("{:.5f} {:.5f} {:.5f}".format(*sod(0.5)))
        0.42632 0.92745 0.30313
    """
    outer = (left, right)
    if not all(rho > 0 and p > 0 for rho, _, p in outer):
        raise ProblemError(f"riemann: the states {left} and {right}", fix="give positive densities and pressures.")
    sounds = [np.sqrt(gamma * p / rho) for rho, _, p in outer]
    if 2 * sum(sounds) / (gamma - 1) <= right[1] - left[1]:
        raise ProblemError(
            f"riemann: {left} and {right} leave a vacuum between them", fix="take velocities that are less far apart."
        )

    def apart(pressure: float) -> float:
        return float(sum(_gained(pressure, rho, p, gamma) for rho, _, p in outer) + right[1] - left[1])

    highest = max(left[2], right[2])
    while apart(highest) < 0:
        highest *= 2.0
    from scipy.optimize import brentq  # loads when it is called

    smallest = np.finfo(np.float64).tiny
    middle = float(brentq(apart, smallest, highest, xtol=smallest))
    speed = left[1] - _gained(middle, left[0], left[2], gamma)

    def solution(s: Any) -> tuple[Any, Any, Any]:
        s = np.asarray(s, np.float64)
        mirrored = _ahead(-s, (left[0], -left[1], left[2]), -speed, middle, gamma)
        before = (mirrored[0], -mirrored[1], mirrored[2])
        rho, u, p = [
            np.where(s < speed, a, b) for a, b in zip(before, _ahead(s, right, speed, middle, gamma), strict=True)
        ]
        return rho, u, p

    return solution


def _gained(pressure: float, rho: float, p: float, gamma: float) -> float:
    """Return the velocity, away from a gas, that a wave into it adds to it, where it leaves another pressure."""
    if pressure > p:
        return float((pressure - p) * np.sqrt(2 / rho / ((gamma + 1) * pressure + (gamma - 1) * p)))
    ratio = (pressure / p) ** ((gamma - 1) / (2 * gamma))
    return float(2 * np.sqrt(gamma * p / rho) / (gamma - 1) * (ratio - 1))


def _ahead(s: Array, state: tuple[float, float, float], v: float, middle: float, gamma: float) -> list[Array]:
    """Return density, velocity and pressure right of the contact.

    Args:
        s: x/t.
        state: the outer state on the right.
        v: the velocity of the contact.
        middle: the pressure there.
        gamma: the ratio of specific heats.
    """
    (rho, u, p), share = state, (gamma - 1) / (gamma + 1)
    c, ratio = np.sqrt(gamma * p / rho), middle / p
    if ratio > 1:
        shock = u + c * np.sqrt((gamma + 1) / (2 * gamma) * ratio + (gamma - 1) / (2 * gamma))
        inner = (rho * (ratio + share) / (share * ratio + 1), v, middle)
        return [np.where(s < shock, a, b) for a, b in zip(inner, state, strict=True)]
    tail = v + c * ratio ** ((gamma - 1) / (2 * gamma))
    scale = np.clip(2 / (gamma + 1) - share * (u - s) / c, 0.0, None)
    fan = (
        rho * scale ** (2 / (gamma - 1)),
        2 / (gamma + 1) * (-c + (gamma - 1) / 2 * u + s),
        p * scale ** (2 * gamma / (gamma - 1)),
    )
    inner = (rho * ratio ** (1 / gamma), v, middle)
    every = zip(inner, fan, state, strict=True)
    return [np.where(s < tail, a, np.where(s < u + c, b, outside)) for a, b, outside in every]
