"""Geodesics and curvature of a metric: the line element is all that is written down.

    ds² = −(1 − 2M/r) dt² + dr² / (1 − 2M/r) + r² (dθ² + sin²θ dφ²)

Christoffel symbols are first derivatives of the metric, the Riemann tensor first derivatives of these; free fall
follows x″ᵃ = −Γᵃ_bc x′ᵇ x′ᶜ. Schwarzschild's metric has no Ricci curvature, and an orbit in it is a rosette: its
perihelion turns.

Reference: SymPy's Christoffel symbols and Riemann tensor of this metric; the Kretschmann scalar 48 M² / r⁶; the turn
of the perihelion by quadrature of the orbit's equation.
Reach: error 1e-12, ricci 1e-12, kretschmann 1e-12, perihelion 1e-8, seconds 20
Toy: error 1e-12, ricci 1e-12, kretschmann 1e-12, perihelion 1e-4
"""

import numpy as np
import sympy
from scipy.integrate import quad

import primad
from primad import optimize

MASS = 1.0


def metric(x):
    """Return g_ab at x = (t, r, θ, φ)."""
    _, r, theta, _ = x
    f = 1 - 2 * MASS / r
    return np.stack([-f, 1 / f, r**2, (r * np.sin(theta)) ** 2]) * np.eye(4)


def christoffel(x):
    """Return Γᵃ_bc = ½ gᵃᵈ (∂_b g_dc + ∂_c g_db − ∂_d g_bc)."""
    d = primad.jacobian(metric)(x)[...]  # d[a, b, c] = ∂_c g_ab
    lower = (np.transpose(d, (0, 2, 1)) + d - np.transpose(d, (2, 0, 1))) / 2
    return np.einsum("ad,dbc->abc", np.linalg.inv(metric(x)), lower)


def riemann(x):
    """Return Rᵃ_bcd = ∂_c Γᵃ_db − ∂_d Γᵃ_cb + Γᵃ_ce Γᵉ_db − Γᵃ_de Γᵉ_cb."""
    gamma = christoffel(x)
    half = np.transpose(primad.jacobian(christoffel)(x)[...], (0, 2, 3, 1)) + np.einsum("ace,edb->abcd", gamma, gamma)
    return half - np.transpose(half, (0, 1, 3, 2))


def by_sympy(at):
    """Return Γ and R of the same metric, by SymPy."""
    x = sympy.symbols("t r theta phi", positive=True)
    g = sympy.Matrix(primad.to_sympy(metric, sympy.Array(x)))
    inverse, n = g.inv(), range(4)

    def lower(d, b, c):
        return (g[d, c].diff(x[b]) + g[d, b].diff(x[c]) - g[b, c].diff(x[d])) / 2

    gamma = [[[sum(inverse[a, d] * lower(d, b, c) for d in n) for c in n] for b in n] for a in n]

    def curved(a, b, c, d):
        turned = sum(gamma[a][c][e] * gamma[e][d][b] - gamma[a][d][e] * gamma[e][c][b] for e in n)
        return gamma[a][d][b].diff(x[c]) - gamma[a][c][b].diff(x[d]) + turned

    tensor = [[[[curved(a, b, c, d) for d in n] for c in n] for b in n] for a in n]
    return [np.array(sympy.lambdify(x, t)(*at), float) for t in (gamma, tensor)]


def orbit(low, high, turns, tolerance):
    """Return the orbit between two radii, and the angle from one nearest point to the next."""
    # u = 1/r obeys u′² = 2M (u − u₁)(u − u₂)(u − u₃) with u₁ + u₂ + u₃ = 1/2M; the angular momentum follows.
    first, second = 1 / high, 1 / low
    third = 1 / (2 * MASS) - first - second
    momentum = 1 / np.sqrt(first * second + (first + second) * third)
    energy = np.sqrt((1 - 2 * MASS / low) * (1 + (momentum / low) ** 2))

    def fall(tau, state):
        return {"x": state["v"], "v": -np.einsum("abc,b,c->a", christoffel(state["x"]), state["v"], state["v"])}

    def nearest(tau, state):
        return state["v"][1] if tau > 1.0 else 1.0

    nearest.direction = 1
    speed = np.array([energy / (1 - 2 * MASS / low), 0.0, 0.0, momentum / low**2])
    start = {"x": np.array([0.0, low, np.pi / 2, 0.0]), "v": speed}
    when = np.linspace(0.0, 800.0 * turns, 300 * turns)
    found = optimize.solve_ivp(
        fall, (0.0, 800.0 * turns), start, method="DOP853", rtol=tolerance, atol=tolerance, events=nearest, t_eval=when
    )
    # The angle of a turn by quadrature, with u = the mean + half the difference times cos s.
    full = quad(
        lambda s: 2 / np.sqrt(2 * MASS * (third - (first + second) / 2 - (second - first) / 2 * np.cos(s))), 0, np.pi
    )
    return found.y["x"], found.y_events[0]["x"][3], full[0]


def solve(toy=False):
    """Return the errors of curvature and of the perihelion's turn, and the orbit."""
    at = np.array([0.3, 7.0, 1.1, 0.4])
    gamma, tensor = by_sympy(at)
    g, found = metric(at), riemann(at)
    up = np.linalg.inv(g)
    square = np.einsum("abcd,efgh,ae,bf,cg,dh", found, found, g, up, up, up)
    path, angles, turn = orbit(10.0, 30.0, 1 if toy else 3, 1e-6 if toy else 1e-10)
    figures = {
        "error": max(np.max(np.abs(christoffel(at) - gamma)), np.max(np.abs(found - tensor))),
        "ricci": np.max(np.abs(np.einsum("abac->bc", found))),
        "kretschmann": abs(square / (48 * MASS**2 / at[1] ** 6) - 1),
        "perihelion": abs(angles[0] / turn - 1),
    }
    return figures, (path,)


def draw(path):
    """Draw the orbit."""
    import matplotlib.pyplot as plt

    _, r, _, phi = path
    plt.figure(figsize=(5.5, 5.5))
    plt.plot(r * np.cos(phi), r * np.sin(phi), linewidth=1)
    plt.gca().add_patch(plt.Circle((0, 0), 2 * MASS, color="black"))
    plt.gca().set(title="Free fall around a black hole", aspect="equal", xlabel="x / M", ylabel="y / M")


if __name__ == "__main__":
    from primad.cli.gallery import run_file

    run_file(__file__)
